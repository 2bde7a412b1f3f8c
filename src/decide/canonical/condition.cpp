// Conditions: signs of canonical values, comparisons of words, and their combinations in negation normal form.
#include <algorithm>

#include "decide/canonical/algebra.h"
#include "term/hash.h"

namespace coequal::decide {

using term::Kind;
using term::mix;

namespace {

bool is_even_integer(const Rational& x) { return (x * Rational(1, 2)).is_integer(); }

}  // namespace

CondId Algebra::assumed(CondId c) const {
  if (assumed_.empty()) return c;
  const auto it = assumed_.find(c);
  return it == assumed_.end() ? c : it->second ? kTrue : kFalse;
}

CondId Algebra::intern_cond(Cond cond) {
  uint64_t h = mix(mix(static_cast<uint64_t>(cond.kind), cond.a), mix(cond.value.c.hash(), cond.value.m));
  h = mix(mix(h, cond.left), cond.right);
  for (CondId c : cond.args) h = mix(h, c);
  const uint32_t found = cond_index_.find(h, [&](uint32_t id) {
    const Cond& other = conds_[id];
    return other.kind == cond.kind && other.a == cond.a && other.value == cond.value &&
           other.left == cond.left && other.right == cond.right && other.args == cond.args;
  });
  if (found != term::IdTable::kNone) return found << 1;
  switch (cond.kind) {
    case CondKind::True: break;
    case CondKind::Positive:
    case CondKind::Zero:
      cond.total = total(cond.value.m);
      cond.depth = depth(cond.value.m) + 1;
      break;
    case CondKind::Word:
      cond.total = words_[cond.left].total && words_[cond.right].total;
      cond.depth = std::max(words_[cond.left].depth, words_[cond.right].depth) + 1;
      break;
    case CondKind::Or:
      cond.total = true;
      for (CondId c : cond.args) {
        cond.total = cond.total && this->cond(c).total;
        cond.depth = std::max(cond.depth, this->cond(c).depth + 1);
      }
      break;
  }
  const auto id = static_cast<uint32_t>(conds_.size());
  bytes_ += sizeof(Cond) + cond.args.size() * sizeof(CondId);
  conds_.push_back(std::move(cond));
  cond_index_.insert(h, id);
  return id << 1;
}

CondId Algebra::positive(const Value& v) {
  if (v.is_zero()) return kFalse;
  if (is_infinity(v)) return v.c.sign() > 0 ? kTrue : kFalse;
  const Range whole = range(v);
  if (whole.positive()) return kTrue;
  if (whole.nonpositive()) return kFalse;
  int sign = v.c.sign();
  std::vector<Factor> kept;
  for (const Factor& f : monos_[v.m]) {
    if (power_range(f.atom, f.exponent).positive()) continue;
    if (!f.exponent.is_integer()) {  // a root is defined where its base is not negative, and positive where it is not 0
      if (f.exponent.sign() > 0) kept.push_back({f.atom, Rational(1)});
      continue;
    }
    if (is_even_integer(f.exponent)) {
      if (f.exponent.sign() > 0) kept.push_back({f.atom, Rational(2)});
      continue;  // an even inverse is positive where it is defined
    }
    if (power_range(f.atom, f.exponent).negative()) {
      sign = -sign;
      continue;
    }
    kept.push_back({f.atom, Rational(1)});
  }
  if (kept.empty()) return sign > 0 ? kTrue : kFalse;
  if (std::all_of(kept.begin(), kept.end(), [](const Factor& f) { return is_even_integer(f.exponent); })) {
    // A product of squares is positive where it is not 0.
    if (sign < 0) return kFalse;
    return negation(zero({Rational(1), intern_mono(std::move(kept))}));
  }
  Cond cond;
  cond.kind = CondKind::Positive;
  cond.value = {Rational(sign), intern_mono(std::move(kept))};
  return assumed(intern_cond(std::move(cond)));
}

CondId Algebra::zero(const Value& v) {
  if (v.is_zero()) return kTrue;
  if (is_infinity(v)) return kFalse;
  if (range(v).not_zero()) return kFalse;
  std::vector<CondId> any_of;
  for (const Factor& f : monos_[v.m]) {
    const Atom& atom = atoms_[f.atom];
    if (f.exponent.sign() < 0 || atom.range.not_zero()) continue;
    switch (atom.kind) {
      case AtomKind::Abs:
      case AtomKind::Root: any_of.push_back(zero(atom.args[0])); continue;
      case AtomKind::Indicator: any_of.push_back(negation(atom.condition)); continue;
      default: break;
    }
    Cond cond;
    cond.kind = CondKind::Zero;
    cond.value = {Rational(1), intern_mono({{f.atom, Rational(1)}})};
    any_of.push_back(assumed(intern_cond(std::move(cond))));
  }
  return any(std::move(any_of));
}

// Whether a value is the infinity of the given sign.
CondId Algebra::infinite_condition(const Value& v, bool negative) {
  if (is_infinity(v)) return (v.c.sign() < 0) == negative ? kTrue : kFalse;
  if (v.is_zero() || !may_be_infinite(v.m)) return kFalse;
  // c f x, f positive and finite: as x.
  std::vector<Factor> infinite;
  for (const Factor& f : monos_[v.m]) {
    if (atoms_[f.atom].may_be_infinite)
      infinite.push_back(f);
    else if (!power_range(f.atom, f.exponent).positive())
      infinite.push_back(f);
  }
  if (infinite.size() == 1 && infinite[0].exponent.is_one()) {
    const Atom atom = atoms_[infinite[0].atom];
    const bool flipped = v.c.sign() < 0;
    const bool wanted_negative = negative != flipped;
    switch (atom.kind) {
      case AtomKind::Select:
        return choose(atom.condition, infinite_condition(atom.args[0], wanted_negative),
                      infinite_condition(atom.args[1], wanted_negative));
      case AtomKind::Max: {
        std::vector<CondId> parts;
        for (const Value& x : atom.args) parts.push_back(infinite_condition(x, wanted_negative));
        return wanted_negative ? all(std::move(parts)) : any(std::move(parts));
      }
      case AtomKind::Sum: {
        std::vector<CondId> parts;  // opposite infinities leave the sum undefined
        for (const Value& x : atom.args) parts.push_back(infinite_condition(x, wanted_negative));
        return any(std::move(parts));
      }
      default: break;
    }
  }
  Cond cond;  // not understood: a question of its own
  cond.kind = CondKind::Zero;
  Atom atom;
  atom.kind = AtomKind::Function;
  atom.a = static_cast<uint32_t>(negative ? Kind::Infinity : Kind::Abs);
  atom.args = {v};
  cond.value = of_atom(std::move(atom));
  return intern_cond(std::move(cond));
}

CondId Algebra::less(const Value& a, const Value& b) {
  if (is_infinity(a) && is_infinity(b)) return a.c < b.c ? kTrue : kFalse;
  if (is_infinity(a)) return a.c.sign() > 0 ? kFalse : negation(infinite_condition(b, true));
  if (is_infinity(b)) return b.c.sign() < 0 ? kFalse : negation(infinite_condition(a, false));
  return positive(sub(b, a));
}

CondId Algebra::equal(const Value& a, const Value& b) {
  if (is_infinity(a) && is_infinity(b)) return a == b ? kTrue : kFalse;
  if (is_infinity(a)) return infinite_condition(b, a.c.sign() < 0);
  if (is_infinity(b)) return infinite_condition(a, b.c.sign() < 0);
  return zero(sub(a, b));
}

CondId Algebra::any(std::vector<CondId> args) {
  std::vector<CondId> flat;
  for (CondId c : args) {
    if (c == kTrue) return kTrue;
    if (c == kFalse) continue;
    if (!(c & 1) && cond(c).kind == CondKind::Or)
      for (CondId inner : cond(c).args) flat.push_back(inner);
    else
      flat.push_back(c);
  }
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  for (size_t i = 0; i + 1 < flat.size(); ++i)
    if ((flat[i] ^ 1) == flat[i + 1]) return kTrue;
  // Signs of one value: v = 0 or v > 0 is v >= 0; v > 0 implies v >= 0; v >= 0 or -v >= 0 is true.
  if (flat.size() <= 64) {
    for (size_t i = 0; i < flat.size(); ++i) {
      const CondId c = flat[i];
      if (c == kFalse || cond(c).kind != CondKind::Positive) continue;
      const Value v = cond(c).value;
      const Value opposite = negate(v);
      for (size_t j = 0; j < flat.size(); ++j) {
        const CondId d = flat[j];
        if (i == j || d == kFalse) continue;
        const Cond& other = cond(d);
        if (!(c & 1)) {
          // c: v > 0
          if (other.kind == CondKind::Positive && (d & 1) && other.value == opposite) {
            flat[i] = kFalse;  // v >= 0 is there
            break;
          }
          if (other.kind == CondKind::Zero && !(d & 1) && other.value.m == v.m) {
            flat[j] = kFalse;
            flat[i] = nonnegative(v);
            break;
          }
        } else {
          // c: v <= 0
          if (other.kind == CondKind::Positive && (d & 1) && other.value == opposite) return kTrue;
          if (other.kind == CondKind::Zero && (d & 1) && other.value.m == v.m) return kTrue;
          if (other.kind == CondKind::Zero && !(d & 1) && other.value.m == v.m) flat[j] = kFalse;
        }
      }
    }
    std::erase(flat, kFalse);
    if (std::find(flat.begin(), flat.end(), kTrue) != flat.end()) return kTrue;
    std::sort(flat.begin(), flat.end());
    flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  }
  // Absorption: a or (a and b) is a.
  if (flat.size() <= 64) {
    std::erase_if(flat, [&](CondId c) {
      if (!(c & 1) || cond(c).kind != CondKind::Or) return false;
      for (CondId negated : cond(c).args)
        if (std::binary_search(flat.begin(), flat.end(), negation(negated))) return true;
      return false;
    });
  }
  if (flat.empty()) return kFalse;
  if (flat.size() == 1) return flat[0];
  Cond cond;
  cond.kind = CondKind::Or;
  cond.args = std::move(flat);
  return assumed(intern_cond(std::move(cond)));
}

CondId Algebra::all(std::vector<CondId> args) {
  for (CondId& c : args) c = negation(c);
  return negation(any(std::move(args)));
}

// ---- Words ----

namespace {

uint64_t mask_of(int width) { return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1; }
int64_t signed_value(uint64_t bits, int width) {
  const int shift = 64 - width;
  return static_cast<int64_t>(bits << shift) >> shift;
}

}  // namespace

WordId Algebra::word(Word w) {
  if (term::is_commutative(w.kind) && w.words.size() == 2 && w.words[1] < w.words[0])
    std::swap(w.words[0], w.words[1]);
  if (w.kind == Kind::Select && w.conds.size() == 1) {
    if (w.conds[0] == kTrue) return w.words[0];
    if (w.conds[0] == kFalse) return w.words[1];
    if (w.words[0] == w.words[1]) return w.words[0];
    if (w.conds[0] & 1) {
      w.conds[0] ^= 1;
      std::swap(w.words[0], w.words[1]);
    }
  }
  if (w.kind == Kind::BvOfBool && w.conds[0] <= kFalse) {
    const bool value = w.conds[0] == kTrue;
    w.kind = Kind::BvConst;
    w.conds.clear();
    w.payload = value;
  }
  uint64_t h = mix(mix(static_cast<uint64_t>(w.kind), w.width), mix(w.payload, static_cast<uint64_t>(w.cell)));
  for (WordId x : w.words) h = mix(h, x);
  for (CondId x : w.conds) h = mix(h, x);
  for (const Value& v : w.values) h = mix(h, mix(v.c.hash(), v.m));
  const uint32_t found = word_index_.find(h, [&](uint32_t id) {
    const Word& other = words_[id];
    return other.kind == w.kind && other.width == w.width && other.payload == w.payload &&
           other.cell == w.cell && other.words == w.words && other.conds == w.conds && other.values == w.values;
  });
  if (found != term::IdTable::kNone) return found;
  w.total = w.kind != Kind::Poison && w.kind != Kind::BvUdiv && w.kind != Kind::BvSdiv &&
            w.kind != Kind::BvUrem && w.kind != Kind::BvSrem;
  for (WordId x : w.words) {
    w.total = w.total && words_[x].total;
    w.depth = std::max(w.depth, words_[x].depth + 1);
  }
  for (CondId x : w.conds) {
    w.total = w.total && cond(x).total;
    w.depth = std::max(w.depth, cond(x).depth + 1);
  }
  for (const Value& v : w.values) {
    w.total = w.total && total(v.m);
    w.depth = std::max(w.depth, depth(v.m) + 1);
  }
  const auto id = static_cast<WordId>(words_.size());
  bytes_ += sizeof(Word) + 64;
  words_.push_back(std::move(w));
  word_index_.insert(h, id);
  return id;
}

CondId Algebra::compare_words(Kind kind, WordId a, WordId b) {
  if (a == b) return kind == Kind::BvEq ? kTrue : kFalse;
  const int width = words_[a].width;
  const bool const_a = words_[a].kind == Kind::BvConst, const_b = words_[b].kind == Kind::BvConst;
  if (const_a && const_b) {
    const uint64_t x = words_[a].payload, y = words_[b].payload;
    const bool value = kind == Kind::BvEq    ? x == y
                       : kind == Kind::BvUlt ? x < y
                                             : signed_value(x, width) < signed_value(y, width);
    return value ? kTrue : kFalse;
  }
  for (int swap = 0; swap < 2; ++swap) {
    const WordId x = swap ? b : a, c = swap ? a : b;
    if (words_[c].kind != Kind::BvConst) continue;
    const Word& w = words_[x];
    const uint64_t constant = words_[c].payload;
    // A flag against a constant, a choice between constants against a constant.
    if (w.kind == Kind::BvOfBool && kind == Kind::BvEq)
      return constant == 0 ? negation(w.conds[0]) : constant == 1 ? w.conds[0] : kFalse;
    if (w.kind == Kind::Select &&
        (words_[w.words[0]].kind == Kind::BvConst || words_[w.words[1]].kind == Kind::BvConst)) {
      const CondId condition = w.conds[0];
      const WordId then = w.words[0], other = w.words[1];
      return choose(condition, swap ? compare_words(kind, c, then) : compare_words(kind, then, c),
                    swap ? compare_words(kind, c, other) : compare_words(kind, other, c));
    }
    // Declared bounds of a leaf.
    if (w.kind == Kind::Leaf || w.kind == Kind::Scalar) {
      const bool leaf = w.kind == Kind::Leaf;
      const term::Bounds& bounds = leaf ? store_.group(static_cast<term::GroupId>(w.payload)).bounds
                                        : store_.scalar(static_cast<uint32_t>(w.payload)).bounds;
      const DType dtype = leaf ? store_.group(static_cast<term::GroupId>(w.payload)).dtype
                               : store_.scalar(static_cast<uint32_t>(w.payload)).dtype;
      const bool is_signed = is_signed_integer(dtype);
      std::optional<Rational> lo = bounds.min, hi = bounds.max;
      if (bounds.above && (!lo || *bounds.above + Rational(1) > *lo)) lo = bounds.above->floor() + Rational(1);
      if (bounds.below && (!hi || *bounds.below - Rational(1) < *hi)) hi = -(-*bounds.below).floor() - Rational(1);
      if (dtype == DType::Bool) {
        if (!lo) lo = Rational(0);
        if (!hi) hi = Rational(1);
      }
      const Rational value = is_signed ? Rational(signed_value(constant, width)) : Rational::from_u64(constant);
      // The order asked about must be the order in which the bounds are stated.
      const bool same_order = kind == Kind::BvEq || (kind == Kind::BvSlt) == is_signed ||
                              (lo && lo->sign() >= 0 && signed_value(constant, width) >= 0 &&
                               (is_signed || (hi && *hi <= Rational(signed_value(mask_of(width) >> 1, width)))));
      if (same_order) {
        if (kind == Kind::BvEq) {
          if ((lo && value < *lo) || (hi && value > *hi)) return kFalse;
          if (lo && hi && *lo == *hi && value == *lo) return kTrue;
        } else if (!swap) {  // leaf < constant
          if (hi && *hi < value) return kTrue;
          if (lo && *lo >= value) return kFalse;
        } else {  // constant < leaf
          if (lo && *lo > value) return kTrue;
          if (hi && *hi <= value) return kFalse;
        }
      }
    }
  }
  Cond cond;
  cond.kind = CondKind::Word;
  cond.a = static_cast<uint32_t>(kind);
  cond.left = a;
  cond.right = b;
  if (kind == Kind::BvEq && b < a) std::swap(cond.left, cond.right);
  return assumed(intern_cond(std::move(cond)));
}

Value Algebra::of_word(Kind kind, uint64_t payload, WordId id) {
  const Word& w = words_[id];
  if (kind == Kind::RealOfSigned || kind == Kind::RealOfUnsigned) {
    const bool is_signed = kind == Kind::RealOfSigned;
    if (w.kind == Kind::BvConst)
      return number(is_signed ? Rational(signed_value(w.payload, w.width)) : Rational::from_u64(w.payload));
    if (w.kind == Kind::BvZeroExtend) return of_word(Kind::RealOfUnsigned, 0, w.words[0]);
    if (w.kind == Kind::BvSignExtend && is_signed) return of_word(kind, 0, w.words[0]);
    if (w.kind == Kind::Select) {
      const CondId c = w.conds[0];
      const WordId then = w.words[0], other = w.words[1];
      return select(c, of_word(kind, 0, then), of_word(kind, 0, other));
    }
    if (w.kind == Kind::BvOfBool)
      return select(w.conds[0], number(is_signed && w.width == 1 ? -1 : 1), number(0));
  }
  if (kind == Kind::RealOfBits && w.kind == Kind::BitsOfReal && w.payload == payload) return w.values[0];
  Atom atom;
  atom.kind = AtomKind::OfWord;
  atom.a = static_cast<uint32_t>(kind);
  atom.b = static_cast<int64_t>(payload);
  atom.word = id;
  return of_atom(std::move(atom));
}

}  // namespace coequal::decide
