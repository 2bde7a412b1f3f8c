// Folding of conditions and selects.
//
// A condition over undefined operands is undefined. "and" and "or" are defined as soon as one
// operand decides them (a false "and", a true "or"); poison in either operand is strict. A select
// is defined if its condition and the chosen arm are.
#include "term/fold.h"

namespace coequal::term {

namespace {

// Whether nodes of these kinds can be each other's negation; keeps "not" nodes from being made for
// the question.
bool may_negate(Kind a, Kind b) {
  return a == Kind::Not || b == Kind::Not || (a == Kind::Less && b == Kind::LessEq) ||
         (a == Kind::LessEq && b == Kind::Less);
}

}  // namespace

using Folded = std::optional<Term>;

Folded TermStore::Folder::fold_condition(Kind kind, std::span<const Term> args) {
  const Term& a = args[0];
  switch (kind) {
    case Kind::Less:
    case Kind::LessEq:
    case Kind::Equal:
      return fold_real_comparison(kind, a, args[1]);
    case Kind::BvEq:
    case Kind::BvUlt:
    case Kind::BvSlt:
      return fold_word_comparison(kind, a, args[1]);
    case Kind::And:
    case Kind::Or:
      return fold_logic(kind, a, args[1]);
    case Kind::IsNumber:
      if (total(a) || is_infinity(a)) return s.boolean(true);
      if (is_undefined(a)) return s.boolean(false);
      return std::nullopt;
    case Kind::Not:
      if (std::optional<bool> c = s.as_bool(a)) return s.boolean(!*c);
      switch (s.kind(a)) {
        case Kind::Not:
          return s.child(a, 0);
        // The order is total wherever both sides are defined.
        case Kind::Less:
          return s.make(Kind::LessEq, {s.child(a, 1), s.child(a, 0)});
        case Kind::LessEq:
          return s.make(Kind::Less, {s.child(a, 1), s.child(a, 0)});
        default:
          return std::nullopt;
      }
    default:
      CHECK(false);
  }
  return std::nullopt;
}

Folded TermStore::Folder::fold_real_comparison(Kind kind, const Term& a, const Term& b) {
  const Rational* p = rational(a);
  const Rational* q = rational(b);
  if (p && q) {
    if (kind == Kind::Less) return s.boolean(*p < *q);
    if (kind == Kind::LessEq) return s.boolean(*p <= *q);
    return s.boolean(*p == *q);
  }
  // Negations of both sides, or of one beside a constant, turn the order round: compilers compare
  // the number itself.
  const Folded minus_a = p ? s.real(-*p) : negation_of(a),
               minus_b = q ? s.real(-*q) : negation_of(b);
  if (minus_a && minus_b) return s.make(kind, {*minus_b, *minus_a});
  const bool known = (total(a) || is_infinity(a)) && (total(b) || is_infinity(b));
  if (!known) return std::nullopt;  // an undefined side would make the condition undefined
  if (a == b) return s.boolean(kind != Kind::Less);
  if (kind == Kind::Less && q && q->sign() <= 0 && is_nonnegative(a)) return s.boolean(false);
  if (kind == Kind::LessEq && p && p->sign() <= 0 && is_nonnegative(b)) return s.boolean(true);
  if (kind == Kind::LessEq && q && q->sign() <= 0 && is_positive(a)) return s.boolean(false);
  if (kind == Kind::Less && p && p->sign() <= 0 && is_positive(b)) return s.boolean(true);
  // -1, 0, 1: below all finite values, finite, above.
  auto rank = [&](const Term& t) { return !is_infinity(t) ? 0 : is_negative_infinity(t) ? -1 : 1; };
  const int x = rank(a), y = rank(b);
  if (x != y) return s.boolean(kind != Kind::Equal && x < y);
  return std::nullopt;
}

Folded TermStore::Folder::fold_word_comparison(Kind kind, const Term& a, const Term& b) {
  const int width = s.type(a).width;
  const std::optional<uint64_t> p = s.as_bits(a), q = s.as_bits(b);
  if (p && q) {
    if (kind == Kind::BvEq) return s.boolean(*p == *q);
    if (kind == Kind::BvUlt) return s.boolean(*p < *q);
    return s.boolean(sign_extended(*p, width) < sign_extended(*q, width));
  }
  if (poison(a) || poison(b)) return std::nullopt;
  if (a == b) return s.boolean(kind == Kind::BvEq);
  if (kind == Kind::BvUlt && q == 0) return s.boolean(false);
  if (kind == Kind::BvUlt && p == low_mask(width)) return s.boolean(false);

  // A choice between constants against a constant: logic.
  for (int swap = 0; swap < 2; ++swap) {
    const Term& x = swap ? b : a;
    const Term& c = swap ? a : b;
    if (!s.as_bits(c) || s.kind(x) != Kind::Select) continue;
    const Term then = s.child(x, 1), other = s.child(x, 2);
    if (!s.as_bits(then) && !s.as_bits(other)) continue;
    auto compare = [&](const Term& arm) {
      return swap ? s.make(kind, {c, arm}) : s.make(kind, {arm, c});
    };
    return s.make(Kind::Select, {s.child(x, 0), compare(then), compare(other)});
  }
  if (kind == Kind::BvEq && width == 1 && (p || q)) {
    const Term& x = p ? b : a;
    const bool value = (p ? *p : *q) != 0;
    if (s.kind(x) == Kind::BvOfBool) return value ? s.child(x, 0) : negate(s.child(x, 0));
    // A single bit is asked whether it is set.
    if (!value) return negate(s.make(Kind::BvEq, {x, s.bits(1, 1)}));
  }
  // The constant part of a word equals that of a constant, or nothing does.
  if (kind == Kind::BvEq && (p || q)) {
    const Term& x = p ? b : a;
    if (s.kind(x) == Kind::BvConcat) {
      const Term high = s.child(x, 0), low = s.child(x, 1);
      const int cut = s.type(low).width;
      const uint64_t value = p ? *p : *q;
      const auto equals = [&](const Term& part, uint64_t bits) {
        return s.make(kind, {part, s.bits(bits, s.type(part).width)});
      };
      if (const std::optional<uint64_t> bits = s.as_bits(low); bits && !poison(high))
        return *bits == (value & low_mask(cut)) ? equals(high, value >> cut) : s.boolean(false);
      if (const std::optional<uint64_t> bits = s.as_bits(high); bits && !poison(low))
        return *bits == value >> cut ? equals(low, value & low_mask(cut)) : s.boolean(false);
    }
  }

  // Compare below a common extension. A constant side is cut when it lies in the range of the
  // extension.
  auto extension = [&](const Term& t, Kind extend) {
    return s.kind(t) == extend ? s.type(s.child(t, 0)).width : 0;
  };
  for (Kind extend : {Kind::BvZeroExtend, Kind::BvSignExtend}) {
    const int u = extension(a, extend), v = extension(b, extend);
    if (u == 0 && v == 0) continue;
    const int narrow = std::max(u, v);
    const bool is_signed = extend == Kind::BvSignExtend;
    auto value_fits = [&](const Term& t, int from) {
      if (from) return true;
      const std::optional<uint64_t> c = s.as_bits(t);
      if (!c) return false;
      const uint64_t cut = *c & low_mask(narrow);
      return *c == (is_signed ? static_cast<uint64_t>(sign_extended(cut, narrow)) & low_mask(width)
                              : cut);
    };
    if (!value_fits(a, u) || !value_fits(b, v)) {
      // A zero extension never reaches a constant beyond its range.
      const std::optional<uint64_t> c = u ? q : p;
      if (is_signed || !c) continue;
      if (kind == Kind::BvEq) return s.boolean(false);
      if (kind == Kind::BvUlt) return s.boolean(u != 0);
      const bool constant_negative = sign_extended(*c, width) < 0;
      return s.boolean((u != 0) != constant_negative);
    }
    // Orders: a zero extension is not negative in the wide type; a sign extension keeps both
    // orders.
    const Kind below = !is_signed && kind == Kind::BvSlt ? Kind::BvUlt : kind;
    auto cut = [&](const Term& t) { return s.make(Kind::BvExtract, {t}, 0, narrow); };
    return s.make(below, {cut(a), cut(b)});
  }
  return std::nullopt;
}

Folded TermStore::Folder::fold_logic(Kind kind, const Term& a, const Term& b) {
  if (a == b) return a;
  const bool absorbing = kind == Kind::Or;
  for (int swap = 0; swap < 2; ++swap) {
    const Term& c = swap ? b : a;
    const Term& x = swap ? a : b;
    if (std::optional<bool> value = s.as_bool(c)) {
      if (*value != absorbing) return x;
      if (!poison(x)) return c;
    }
    if (total(c) && may_negate(s.kind(c), s.kind(x)) && x == negate(c))
      return s.boolean(absorbing);  // excluded middle, where defined
    // c & (c & y) = c & y
    if (s.kind(x) == kind && !poison(x))
      for (int i = 0; i < 2; ++i)
        if (s.child(x, i) == c) return x;
  }
  return std::nullopt;
}

// The smaller or larger one of a constant and of the word of a real is the word of the smaller or
// larger real: such words are clamped, which keeps the order.
Folded TermStore::Folder::fold_extreme_of_words(const Term& condition, const Term& a,
                                                const Term& b) {
  const Kind kind = s.kind(condition);
  if (kind != Kind::BvSlt && kind != Kind::BvUlt) return std::nullopt;
  const Term x = s.child(condition, 0), y = s.child(condition, 1);
  const bool smaller = a == x && b == y;
  if (!smaller && !(a == y && b == x)) return std::nullopt;
  const bool is_signed = kind == Kind::BvSlt;
  for (int swap = 0; swap < 2; ++swap) {
    const Term& word = swap ? y : x;
    const std::optional<uint64_t> c = s.as_bits(swap ? x : y);
    if (!c || s.kind(word) != Kind::BvOfReal || (s.payload(word) == 1) != is_signed) continue;
    const int width = s.type(word).width;
    if (!is_signed && *c >> 63) return std::nullopt;
    const Term number = s.real(is_signed ? sign_extended(*c, width) : static_cast<int64_t>(*c));
    return s.make(Kind::BvOfReal,
                  {s.make(smaller ? Kind::Min : Kind::Max, {s.child(word, 0), number})}, is_signed,
                  width);
  }
  return std::nullopt;
}

Folded TermStore::Folder::fold_select(const Term& condition, const Term& a, const Term& b) {
  if (std::optional<bool> c = s.as_bool(condition)) return *c ? a : b;
  if (a == b && !poison(condition)) return a;
  if (s.kind(condition) == Kind::Not) return s.make(Kind::Select, {s.child(condition, 0), b, a});
  // The same condition below is decided by the one above.
  if (s.kind(a) == Kind::Select && s.child(a, 0) == condition)
    return s.make(Kind::Select, {condition, s.child(a, 1), b});
  if (s.kind(b) == Kind::Select && s.child(b, 0) == condition)
    return s.make(Kind::Select, {condition, a, s.child(b, 2)});
  const TypeClass cls = s.type(a).cls;
  if (cls == TypeClass::Bool && !poison(condition) && !poison(a) && !poison(b)) {
    const std::optional<bool> p = s.as_bool(a), q = s.as_bool(b);
    if (p == true && q == false) return condition;
    if (p == false && q == true) return negate(condition);
    if (p == true) return s.make(Kind::Or, {condition, b});
    if (q == false) return s.make(Kind::And, {condition, a});
    if (p == false) return s.make(Kind::And, {negate(condition), b});
    if (q == true) return s.make(Kind::Or, {negate(condition), a});
  }
  if (cls == TypeClass::Bv) {
    const std::optional<uint64_t> p = s.as_bits(a), q = s.as_bits(b);
    const int width = s.type(a).width;
    if (p == 1 && q == 0) return s.make(Kind::BvOfBool, {condition}, 0, width);
    if (p == 0 && q == 1) return s.make(Kind::BvOfBool, {negate(condition)}, 0, width);
    return fold_extreme_of_words(condition, a, b);
  }
  return std::nullopt;
}

}  // namespace coequal::term
