// Between which integers a machine word lies, read as a signed and as an unsigned number, and words
// whose operation does not wrap as sums and products of integers.
//
// A word is congruent modulo 2^width to the same operation on the readings of its operands. Where
// the result of that, over the integers, fits the reading, it is the reading: for every input.
#include <algorithm>

#include "decide/canonical/algebra.h"

namespace coequal::decide {

using term::Kind;

namespace {

using Integer = __int128;

constexpr Integer kLargest = Integer{1} << 62;  // of a product that is followed

int64_t signed_value(uint64_t bits, int width) {
  return static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
}

struct Interval {
  Integer low, high;

  bool within(const Interval& other) const { return low >= other.low && high <= other.high; }
};

// All numbers that a word of this width can be.
Interval all_of(int width, bool is_signed) {
  return is_signed ? Interval{-(Integer{1} << (width - 1)), (Integer{1} << (width - 1)) - 1}
                   : Interval{0, (Integer{1} << width) - 1};
}

Interval reading(const Word& w, bool is_signed) {
  return is_signed ? Interval{w.signed_low, w.signed_high}
                   : Interval{w.unsigned_low, w.unsigned_high};
}

Interval product(const Interval& a, const Interval& b) {
  const auto [low, high] =
      std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return {low, high};
}

// What the declared bounds leave of an integer's range; they are of the dtype's reading.
Interval declared(const term::Bounds& bounds, DType dtype, int width) {
  const bool is_signed = is_signed_integer(dtype);
  Interval r = dtype == DType::Bool ? Interval{0, 1} : all_of(width, is_signed);
  const auto at_least = [&](const Rational& bound) {
    if (const auto n = bound.as_int64()) r.low = std::max(r.low, Integer{*n});
  };
  const auto at_most = [&](const Rational& bound) {
    if (const auto n = bound.as_int64()) r.high = std::min(r.high, Integer{*n});
  };
  if (bounds.min) at_least(-(-*bounds.min).floor());
  if (bounds.above) at_least(bounds.above->floor() + Rational(1));
  if (bounds.max) at_most(bounds.max->floor());
  if (bounds.below) at_most(-(-*bounds.below).floor() - Rational(1));
  return r;
}

// The operation on the readings of its operands, if that is the reading of the word.
std::optional<Interval> unwrapped(const Word& w, bool is_signed, const std::deque<Word>& words,
                                  const term::TermStore& store) {
  const auto of = [&](WordId x, bool sign) { return reading(words[x], sign); };
  Interval r{0, 0};
  switch (w.kind) {
    case Kind::BvConst:
      r.low = r.high = is_signed ? Integer{signed_value(w.payload, w.width)} : Integer{w.payload};
      break;
    case Kind::BvOfBool:
      r = is_signed && w.width == 1 ? Interval{-1, 0} : Interval{0, 1};
      break;
    case Kind::Leaf:
    case Kind::Scalar: {
      const bool leaf = w.kind == Kind::Leaf;
      const DType dtype = leaf ? store.group(static_cast<term::GroupId>(w.payload)).dtype
                               : store.scalar(static_cast<uint32_t>(w.payload)).dtype;
      if (is_float(dtype) || 8 * dtype_size(dtype) != w.width) return std::nullopt;
      r = declared(leaf ? store.group(static_cast<term::GroupId>(w.payload)).bounds
                        : store.scalar(static_cast<uint32_t>(w.payload)).bounds,
                   dtype, w.width);
      // The other reading is the same number only below the sign bit.
      if (is_signed_integer(dtype) != is_signed && !r.within(all_of(w.width, is_signed)))
        return std::nullopt;
      break;
    }
    case Kind::BvZeroExtend:
      r = of(w.words[0], false);
      break;
    case Kind::BvSignExtend:
      r = of(w.words[0], true);
      if (!is_signed && r.low < 0) return std::nullopt;
      break;
    case Kind::Select: {
      const Interval a = of(w.words[0], is_signed), b = of(w.words[1], is_signed);
      r = {std::min(a.low, b.low), std::max(a.high, b.high)};
      break;
    }
    case Kind::BvAdd:
      r = {signed_value(w.payload, w.width), signed_value(w.payload, w.width)};
      for (WordId x : w.words) {
        const Interval part = of(x, is_signed);
        r = {r.low + part.low, r.high + part.high};
      }
      break;
    case Kind::BvMul:
      r = {1, 1};
      for (WordId x : w.words) {
        r = product(r, of(x, is_signed));
        if (!r.within({-kLargest, kLargest})) return std::nullopt;
      }
      break;
    default:
      return std::nullopt;
  }
  if (!r.within(all_of(w.width, is_signed))) return std::nullopt;
  return r;
}

}  // namespace

void Algebra::bound_word(Word& w) const {
  const Interval as_signed = unwrapped(w, true, words_, store_).value_or(all_of(w.width, true));
  const Interval as_unsigned = unwrapped(w, false, words_, store_).value_or(all_of(w.width, false));
  w.signed_low = static_cast<int64_t>(as_signed.low);
  w.signed_high = static_cast<int64_t>(as_signed.high);
  w.unsigned_low = static_cast<uint64_t>(as_unsigned.low);
  w.unsigned_high = static_cast<uint64_t>(as_unsigned.high);
}

std::optional<Value> Algebra::unwrapped_word(Kind kind, const Word& w) {
  const bool is_signed = kind == Kind::RealOfSigned;
  if ((w.kind != Kind::BvAdd && w.kind != Kind::BvMul) || !unwrapped(w, is_signed, words_, store_))
    return std::nullopt;
  const std::vector<WordId> operands = w.words;
  if (w.kind == Kind::BvMul) {
    Value out = number(1);
    for (WordId x : operands) out = mul(out, of_word(kind, 0, x));
    return out;
  }
  std::vector<Value> terms{number(Rational(signed_value(w.payload, w.width)))};
  for (WordId x : operands) terms.push_back(of_word(kind, 0, x));
  return sum(std::move(terms));
}

}  // namespace coequal::decide
