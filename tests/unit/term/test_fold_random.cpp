// Random programs: what the constructors fold evaluates to what plain step-by-step arithmetic
// gives.
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "term/evaluate.h"
#include "term/float_format.h"
#include "term/words.h"

namespace coequal::term {
namespace {

// ---- Machine words ----

class RandomWords : public ::testing::TestWithParam<int> {
 protected:
  struct Known {
    Term term;
    uint64_t bits;
  };
  TermStore s;
  MapAssignment values;
  std::mt19937_64 random{static_cast<uint64_t>(GetParam())};
  std::vector<Known> words, conditions;

  uint64_t pick(uint64_t n) { return random() % n; }
  int width(const Known& k) { return s.type(k.term).width; }
  Known any_word() { return words[pick(words.size())]; }
  // A word of a given width, cut or extended when none is at hand.
  Known word_of(int w) {
    for (int tries = 0; tries < 4; ++tries)
      if (Known k = any_word(); width(k) == w) return k;
    Known k = any_word();
    if (width(k) > w) {
      const uint64_t low = pick(static_cast<uint64_t>(width(k) - w + 1));
      return unary(Kind::BvExtract, k, low, w);
    }
    return unary(pick(2) ? Kind::BvZeroExtend : Kind::BvSignExtend, k, 0, w);
  }
  Known unary(Kind kind, const Known& a, uint64_t payload, int w) {
    return {s.make(kind, {a.term}, payload, w),
            *apply_word(kind, {Word{a.bits, width(a)}, Word{}}, payload, w)};
  }
  Known constant(int w) {
    const uint64_t masks[] = {random(),
                              random() & random() & random(),
                              (uint64_t{1} << pick(64)) - 1,
                              ~((uint64_t{1} << pick(64)) - 1),
                              uint64_t{1} << pick(64),
                              0x0f0f0f0f0f0f0f0full,
                              0x8000800080008000ull,
                              0x7fff7fff7fff7fffull,
                              pick(70)};
    const uint64_t bits = masks[pick(std::size(masks))];
    const Term t = s.bits(bits, w);
    return {t, *s.as_bits(t)};
  }
  void add_leaves() {
    for (int w : {8, 16, 32, 64, 1}) {
      const GroupId g = s.add_group({.name = "n", .dtype = DType::U64, .type = bv(w)});
      for (int cell = 0; cell < 3; ++cell) {
        const uint64_t bits = wrapped_bits(Rational::from_u64(random() >> pick(64)), w);
        values.set_leaf(g, cell, Rational::from_u64(bits));
        words.push_back({s.leaf(g, {cell, 0}), bits});
      }
    }
    // Floats whose value every format holds, and not 0: a real has no sign of zero.
    const GroupId g = s.add_group({.name = "x"});
    for (int cell = 0; cell < 4; ++cell) {
      const Rational value(static_cast<int64_t>(1 + pick(7)) * (pick(2) ? 1 : -1), 4);
      values.set_leaf(g, cell, value);
      for (FloatFormat format : {FloatFormat::F32, FloatFormat::F16, FloatFormat::BF16})
        words.push_back(
            {s.make(Kind::BitsOfReal, {s.leaf(g, {cell, 0})}, static_cast<uint64_t>(format)),
             *encode_float(format, value)});
    }
  }
  void step() {
    constexpr Kind kBinary[] = {Kind::BvAdd,  Kind::BvMul,  Kind::BvAnd,  Kind::BvOr,
                                Kind::BvXor,  Kind::BvAnd,  Kind::BvOr,   Kind::BvXor,
                                Kind::BvUdiv, Kind::BvUrem, Kind::BvSdiv, Kind::BvSrem};
    constexpr Kind kShift[] = {Kind::BvShl, Kind::BvLshr, Kind::BvAshr};
    constexpr Kind kCompare[] = {Kind::BvEq, Kind::BvUlt, Kind::BvSlt};
    const Known a = any_word();
    const int w = width(a);
    switch (pick(12)) {
      case 0:
      case 1:
      case 2: {
        const Kind kind = kBinary[pick(std::size(kBinary))];
        const Known b = pick(2) ? constant(w) : word_of(w);
        const auto bits = apply_word(kind, {Word{a.bits, w}, Word{b.bits, w}}, 0, w);
        if (!bits) return;  // by zero
        words.push_back({s.make(kind, {a.term, b.term}), *bits});
        return;
      }
      case 3: {
        const Kind kind = kShift[pick(3)];
        const uint64_t n = pick(static_cast<uint64_t>(w) + 2);
        const Known b = pick(4) ? Known{s.bits(n, w), *s.as_bits(s.bits(n, w))} : word_of(w);
        words.push_back({s.make(kind, {a.term, b.term}),
                         *apply_word(kind, {Word{a.bits, w}, Word{b.bits, w}}, 0, w)});
        return;
      }
      case 4: {
        const int to = static_cast<int>(1 + pick(static_cast<uint64_t>(w)));
        words.push_back(unary(Kind::BvExtract, a, pick(static_cast<uint64_t>(w - to + 1)), to));
        return;
      }
      case 5: {
        const Known b = pick(3) ? any_word() : constant(static_cast<int>(1 + pick(16)));
        if (w + width(b) > 64) return;
        words.push_back({s.make(Kind::BvConcat, {a.term, b.term}),
                         *apply_word(Kind::BvConcat, {Word{a.bits, w}, Word{b.bits, width(b)}}, 0,
                                     w + width(b))});
        return;
      }
      case 6: {
        const int to = w + static_cast<int>(pick(static_cast<uint64_t>(65 - w)));
        words.push_back(unary(pick(2) ? Kind::BvZeroExtend : Kind::BvSignExtend, a, 0, to));
        return;
      }
      case 7: {
        const Kind kind = kCompare[pick(3)];
        const Known b = pick(2) ? constant(w) : word_of(w);
        conditions.push_back({s.make(kind, {a.term, b.term}),
                              *apply_word(kind, {Word{a.bits, w}, Word{b.bits, w}}, 0, 1)});
        return;
      }
      case 8: {
        if (conditions.empty()) return;
        const Known c = conditions[pick(conditions.size())];
        const Known b = pick(2) ? constant(w) : word_of(w);
        words.push_back({s.make(Kind::Select, {c.term, a.term, b.term}), c.bits ? a.bits : b.bits});
        words.push_back(
            {s.make(Kind::BvOfBool, {c.term}, 0, 1 + static_cast<int>(pick(32))), c.bits});
        return;
      }
      case 9: {
        if (conditions.empty()) return;
        const Known c = conditions[pick(conditions.size())],
                    d = conditions[pick(conditions.size())];
        switch (pick(4)) {
          case 0:
            conditions.push_back({s.make(Kind::And, {c.term, d.term}), c.bits & d.bits});
            break;
          case 1:
            conditions.push_back({s.make(Kind::Or, {c.term, d.term}), c.bits | d.bits});
            break;
          case 2:
            conditions.push_back({s.make(Kind::Not, {c.term}), 1 - c.bits});
            break;
          default:
            conditions.push_back({s.make(Kind::Select, {c.term, d.term, s.boolean(pick(2))}), 0});
            conditions.back().bits = c.bits ? d.bits : *evaluate_bits(conditions.back().term);
        }
        return;
      }
      case 10: {
        constexpr Kind kUnary[] = {Kind::BvNot, Kind::BvReverse, Kind::BvPopcount, Kind::BvClz};
        const Kind kind = kUnary[pick(4)];
        const bool count = kind == Kind::BvPopcount || kind == Kind::BvClz;
        words.push_back(unary(kind, a, 0, count ? 32 : w));
        return;
      }
      default: {  // to a real and back, exact when the target is wide enough
        const bool is_signed = pick(2);
        const int to = std::min(64, w + static_cast<int>(pick(8)));
        const Term real = s.make(is_signed ? Kind::RealOfSigned : Kind::RealOfUnsigned, {a.term});
        words.push_back({s.make(Kind::BvOfReal, {real}, is_signed, to),
                         *apply_word(is_signed ? Kind::BvSignExtend : Kind::BvZeroExtend,
                                     {Word{a.bits, w}, Word{}}, 0, to)});
      }
    }
  }
  std::optional<uint64_t> evaluate_bits(const Term& t) {
    const std::optional<Value> v = evaluate_exact(s, t, values);
    return v ? std::optional(v->bits) : std::nullopt;
  }
};

TEST_P(RandomWords, FoldedWordsKeepTheirValue) {
  add_leaves();
  Evaluator evaluate = make_evaluator(s, values, 0);
  for (int i = 0; i < 150; ++i) {
    const size_t old_words = words.size(), old_conditions = conditions.size();
    step();
    for (size_t k = old_words; k < words.size(); ++k) {
      const Value& v = evaluate(words[k].term);
      ASSERT_EQ(v.kind, Value::Kind::Bits) << i;
      ASSERT_EQ(v.bits, words[k].bits) << i << " width " << width(words[k]);
    }
    for (size_t k = old_conditions; k < conditions.size(); ++k) {
      const Value& v = evaluate(conditions[k].term);
      ASSERT_EQ(v.kind, Value::Kind::Bool);
      ASSERT_EQ(v.bits, conditions[k].bits);
    }
  }
  // Read as floats.
  for (const Known& word : words)
    for (FloatFormat format :
         {FloatFormat::F32, FloatFormat::F16, FloatFormat::BF16, FloatFormat::E4M3}) {
      if (bits_of(format) != width(word)) continue;
      const Value& v =
          evaluate(s.make(Kind::RealOfBits, {word.term}, static_cast<uint64_t>(format)));
      const DecodedFloat d = decode_float(format, word.bits);
      switch (d.cls) {
        case DecodedFloat::Class::Finite:
          ASSERT_EQ(v.kind, Value::Kind::Real);
          ASSERT_EQ(*v.exact, d.value);
          break;
        case DecodedFloat::Class::Infinite:
          ASSERT_EQ(v.kind, d.negative ? Value::Kind::MinusInfinity : Value::Kind::PlusInfinity);
          break;
        case DecodedFloat::Class::NaN:
          ASSERT_EQ(v.kind, Value::Kind::Undefined);
          break;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWords, ::testing::Range(0, 300));

// ---- Extended reals ----

// Plain extended arithmetic: rank 0 finite, +-1 infinite, nothing: undefined.
struct Extended {
  int rank = 0;
  Rational value;
};
using MaybeReal = std::optional<Extended>;

int sign(const Extended& x) { return x.rank ? x.rank : x.value.sign(); }
int order(const Extended& x, const Extended& y) {
  if (x.rank || y.rank) return x.rank < y.rank ? -1 : x.rank > y.rank;
  return x.value < y.value ? -1 : x.value > y.value;
}

MaybeReal plain(Kind kind, const MaybeReal& p, const MaybeReal& q) {
  if (!p || !q) return std::nullopt;
  const Extended &x = *p, &y = *q;
  switch (kind) {
    case Kind::Add:
      if (x.rank && y.rank && x.rank != y.rank) return std::nullopt;
      if (x.rank || y.rank) return Extended{x.rank ? x.rank : y.rank, 0};
      return Extended{0, x.value + y.value};
    case Kind::Mul:
      if (x.rank || y.rank) {
        if (sign(x) == 0 || sign(y) == 0) return std::nullopt;
        return Extended{sign(x) * sign(y), 0};
      }
      return Extended{0, x.value * y.value};
    case Kind::Div:
      if (sign(y) == 0 || (x.rank && y.rank)) return std::nullopt;
      if (y.rank) return Extended{0, 0};
      if (x.rank) return Extended{x.rank * sign(y), 0};
      return Extended{0, x.value / y.value};
    case Kind::Min:
      return order(x, y) <= 0 ? x : y;
    case Kind::Max:
      return order(x, y) >= 0 ? x : y;
    case Kind::CopySign: {
      const bool negative = sign(y) < 0;
      if (x.rank) return Extended{negative ? -1 : 1, 0};
      const Rational size = x.value.sign() < 0 ? -x.value : x.value;
      return Extended{0, negative ? -size : size};
    }
    case Kind::Abs:
      return plain(Kind::CopySign, p, Extended{0, 1});
    case Kind::Floor:
      return x.rank ? x : Extended{0, x.value.floor()};
    case Kind::Ceil:
      return x.rank ? x : Extended{0, -(-x.value).floor()};
    case Kind::Tanh:  // of 0 and the infinities only
      if (x.rank) return Extended{0, x.rank};
      return Extended{0, 0};
    default:
      ADD_FAILURE();
      return std::nullopt;
  }
}

class RandomReals : public ::testing::TestWithParam<int> {};

TEST_P(RandomReals, FoldedRealsKeepValueAndDefinedness) {
  TermStore s;
  MapAssignment values;
  std::mt19937_64 random{static_cast<uint64_t>(GetParam())};
  auto pick = [&](size_t n) { return random() % n; };
  struct Known {
    Term term;
    MaybeReal value;
  };
  struct Condition {
    Term term;
    std::optional<bool> value;
  };
  std::vector<Known> reals;
  std::vector<Condition> conditions{{s.boolean(true), true}};
  const GroupId g = s.add_group({.name = "x"});
  for (int cell = 0; cell < 4; ++cell) {
    const Rational value(static_cast<int64_t>(pick(5)) - 2, static_cast<int64_t>(1 + pick(2)));
    values.set_leaf(g, cell, value);
    reals.push_back({s.leaf(g, {cell, 0}), Extended{0, value}});
  }
  for (int64_t c : {-1, 0, 1, 2}) reals.push_back({s.real(c), Extended{0, c}});
  reals.push_back({s.infinity(false), Extended{1, 0}});
  reals.push_back({s.infinity(true), Extended{-1, 0}});
  reals.push_back({s.undefined(), std::nullopt});

  Evaluator evaluate = make_evaluator(s, values, 0);
  constexpr Kind kBinary[] = {Kind::Add, Kind::Mul, Kind::Div,
                              Kind::Min, Kind::Max, Kind::CopySign};
  constexpr Kind kUnary[] = {Kind::Abs, Kind::Floor, Kind::Ceil};
  constexpr Kind kCompare[] = {Kind::Less, Kind::LessEq, Kind::Equal};
  for (int i = 0; i < 120; ++i) {
    const Known a = reals[pick(reals.size())], b = reals[pick(reals.size())];
    const Condition c = conditions[pick(conditions.size())],
                    d = conditions[pick(conditions.size())];
    switch (pick(6)) {
      case 0: {
        const Kind kind = kUnary[pick(3)];
        reals.push_back({s.make(kind, {a.term}), plain(kind, a.value, Extended{})});
        break;
      }
      case 1: {
        const Kind kind = kCompare[pick(3)];
        std::optional<bool> value;
        if (a.value && b.value) {
          const int o = order(*a.value, *b.value);
          value = kind == Kind::Less ? o < 0 : kind == Kind::LessEq ? o <= 0 : o == 0;
        }
        conditions.push_back({s.make(kind, {a.term, b.term}), value});
        conditions.push_back({s.make(Kind::IsNumber, {a.term}), a.value.has_value()});
        break;
      }
      case 2: {
        const bool is_and = pick(2);
        std::optional<bool> value;
        if (c.value && d.value) value = is_and ? *c.value && *d.value : *c.value || *d.value;
        if (c.value == !is_and || d.value == !is_and) value = !is_and;
        conditions.push_back({s.make(is_and ? Kind::And : Kind::Or, {c.term, d.term}), value});
        conditions.push_back(
            {s.make(Kind::Not, {c.term}), c.value ? std::optional(!*c.value) : std::nullopt});
        break;
      }
      case 3: {
        // Equal arms do not ask for the condition; below a select they may become equal unseen
        // here.
        if (!c.value && (s.kind(a.term) == Kind::Select || s.kind(b.term) == Kind::Select)) break;
        MaybeReal value;
        if (c.value) value = *c.value ? a.value : b.value;
        if (a.term == b.term) value = a.value;
        reals.push_back({s.make(Kind::Select, {c.term, a.term, b.term}), value});
        break;
      }
      default: {
        const Kind kind = kBinary[pick(6)];
        reals.push_back({s.make(kind, {a.term, b.term}), plain(kind, a.value, b.value)});
      }
    }
    const Value v = evaluate(reals.back().term);
    if (!reals.back().value) {
      ASSERT_EQ(v.kind, Value::Kind::Undefined) << i;
    } else if (const int rank = reals.back().value->rank) {
      ASSERT_EQ(v.kind, rank > 0 ? Value::Kind::PlusInfinity : Value::Kind::MinusInfinity) << i;
    } else {
      ASSERT_EQ(v.kind, Value::Kind::Real) << i;
      ASSERT_EQ(*v.exact, reals.back().value->value) << i;
    }
    const Value w = evaluate(conditions.back().term);
    if (!conditions.back().value) {
      ASSERT_EQ(w.kind, Value::Kind::Undefined) << i;
    } else {
      ASSERT_EQ(w.kind, Value::Kind::Bool) << i;
      ASSERT_EQ(w.bits != 0, *conditions.back().value) << i;
    }
    // Flags promise what the values keep.
    if (s.is_total(reals.back().term)) {
      ASSERT_EQ(v.kind, Value::Kind::Real);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomReals, ::testing::Range(0, 300));

}  // namespace
}  // namespace coequal::term
