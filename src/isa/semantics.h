// What the rows' meanings are written with: words of some width, formats of types, and short names
// for terms.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/float_bits.h"
#include "isa/inst_row.h"
#include "term/rational.h"
#include "term/store.h"

namespace coequal::isa {

using ptx::ScalarType;
using term::Kind;
using term::Term;
using term::TermStore;

// --- Machine words: zero-extended in 64 bits.

constexpr uint64_t mask_of(int width) {
  return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
}
constexpr int64_t sign_extend(uint64_t value, int width) {
  const int shift = 64 - width;
  return static_cast<int64_t>(value << shift) >> shift;
}
// A shift by 64 or more gives zeros.
constexpr uint64_t shift_left(uint64_t value, uint64_t amount) {
  return amount > 63 ? 0 : value << amount;
}
constexpr uint64_t shift_right(uint64_t value, uint64_t amount) {
  return amount > 63 ? 0 : value >> amount;
}

// --- Types.

inline int width_of(ScalarType type) { return ptx::bits_of(type); }
bool is_signed(ScalarType type);
bool is_float(ScalarType type);  // packed pairs too
bool is_packed(ScalarType type);
// Of a float type, or of one half of a packed one.
FloatSpec spec_of(ScalarType type);
term::FloatFormat format_of(ScalarType type);

bool combine(BoolOp op, bool p, bool q);

// --- Concrete floats.

// Rounding to an integer in a mode.
Kind rounding_kind(FloatRounding rounding);
inline FloatOptions options_of(const Decoded& d) { return {d.rounding, d.ftz}; }
uint64_t one_bits(FloatSpec spec);
// Subnormals to zero of their sign.
uint64_t flush(FloatSpec spec, uint64_t a);
// .sat: into [0, 1], NaN to +0. .relu: negative to +0, NaN stays.
uint64_t saturate(FloatSpec spec, uint64_t a);
uint64_t relu(FloatSpec spec, uint64_t a);
uint64_t canonical_nan(FloatSpec spec);

// Applies `f(spec, operands) -> bits` to the value, or to each half of packed ones, with .sat and
// .relu after it.
template <int kArity, class F>
void float_lanes(const Decoded& d, const uint64_t* src, uint64_t* dst, F f) {
  const FloatSpec spec = spec_of(d.type);
  const auto finish = [&](uint64_t value) {
    if (d.sat) value = saturate(spec, value);
    if (d.relu) value = relu(spec, value);
    return value;
  };
  if (!is_packed(d.type)) {
    dst[0] = finish(f(spec, src));
    return;
  }
  uint64_t result = 0;
  for (int lane = 0; lane < 2; ++lane) {
    uint64_t args[kArity];
    for (int i = 0; i < kArity; ++i) args[i] = (src[i] >> (16 * lane)) & 0xffff;
    result |= finish(f(spec, args)) << (16 * lane);
  }
  dst[0] = result;
}

// --- Terms.

// Builds terms; one a call of a row's meaning.
class Build {
 public:
  explicit Build(TermStore& store) : s_(store) {}

  TermStore& store() { return s_; }
  int width(Term a) const { return s_.type(a).width; }
  Term bits(uint64_t value, int width) { return s_.bits(value & mask_of(width), width); }

  // Words. Both operands have one width, except shift amounts.
  Term add(Term a, Term b) { return s_.make(Kind::BvAdd, {a, b}); }
  Term mul(Term a, Term b) { return s_.make(Kind::BvMul, {a, b}); }
  Term neg(Term a) { return mul(a, bits(~uint64_t{0}, width(a))); }
  Term sub(Term a, Term b) { return add(a, neg(b)); }
  Term bit_and(Term a, Term b) { return s_.make(Kind::BvAnd, {a, b}); }
  Term bit_or(Term a, Term b) { return s_.make(Kind::BvOr, {a, b}); }
  Term bit_xor(Term a, Term b) { return s_.make(Kind::BvXor, {a, b}); }
  Term bit_not(Term a) { return s_.make(Kind::BvNot, {a}); }
  Term shl(Term a, Term n) { return s_.make(Kind::BvShl, {a, n}); }
  Term lshr(Term a, Term n) { return s_.make(Kind::BvLshr, {a, n}); }
  Term ashr(Term a, Term n) { return s_.make(Kind::BvAshr, {a, n}); }
  Term shr(Term a, Term n, bool is_signed_value) {
    return is_signed_value ? ashr(a, n) : lshr(a, n);
  }
  Term extract(Term a, int low, int width);  // all of `a`: `a` itself
  Term concat(Term high, Term low) { return s_.make(Kind::BvConcat, {high, low}); }
  // To `width` bits: truncated, or extended by sign or zeros.
  Term resize(Term a, int width, bool is_signed_value);
  Term ult(Term a, Term b) { return s_.make(Kind::BvUlt, {a, b}); }
  Term less(Term a, Term b, bool is_signed_value) {
    return s_.make(is_signed_value ? Kind::BvSlt : Kind::BvUlt, {a, b});
  }
  Term bv_eq(Term a, Term b) { return s_.make(Kind::BvEq, {a, b}); }
  Term of_bool(Term p, int width) { return s_.make(Kind::BvOfBool, {p}, 0, width); }
  Term min(Term a, Term b, bool is_signed_value) {
    return select(less(b, a, is_signed_value), b, a);
  }
  Term max(Term a, Term b, bool is_signed_value) {
    return select(less(a, b, is_signed_value), b, a);
  }

  // Conditions.
  Term truth(bool value) { return s_.boolean(value); }
  Term logic_not(Term p) { return s_.make(Kind::Not, {p}); }
  Term logic_and(Term p, Term q) { return s_.make(Kind::And, {p, q}); }
  Term logic_or(Term p, Term q) { return s_.make(Kind::Or, {p, q}); }
  Term logic_xor(Term p, Term q) {
    return logic_or(logic_and(p, logic_not(q)), logic_and(logic_not(p), q));
  }
  Term combine(BoolOp op, Term p, Term q);
  Term select(Term c, Term a, Term b) { return s_.make(Kind::Select, {c, a, b}); }

  // Reals.
  Term real(int64_t value) { return s_.real(term::Rational(value)); }
  Term op1(Kind kind, Term a) { return s_.make(kind, {a}); }
  Term op2(Kind kind, Term a, Term b) { return s_.make(kind, {a, b}); }
  Term real_add(Term a, Term b) { return op2(Kind::Add, a, b); }
  Term real_mul(Term a, Term b) { return op2(Kind::Mul, a, b); }
  Term real_neg(Term a) { return real_mul(real(-1), a); }
  Term real_sub(Term a, Term b) { return real_add(a, real_neg(b)); }
  Term decode(Term word, term::FloatFormat format) {
    return s_.make(Kind::RealOfBits, {word}, static_cast<uint64_t>(format));
  }
  Term encode(Term value, term::FloatFormat format) {
    return s_.make(Kind::BitsOfReal, {value}, static_cast<uint64_t>(format));
  }
  Term saturate(Term a) { return op2(Kind::Max, real(0), op2(Kind::Min, a, real(1))); }
  Term relu(Term a) { return op2(Kind::Max, real(0), a); }
  // a < b, ...; the unordered forms hold when an operand is not a number.
  Term compare(Compare compare, Term a, Term b);

 private:
  TermStore& s_;
};

// float_lanes for terms: `f(build, operands) -> real`.
template <int kArity, class F>
void real_lanes(TermStore& store, const Decoded& d, const Term* src, Term* dst, F f) {
  Build b(store);
  const auto finish = [&](Term value) {
    if (d.sat) value = b.saturate(value);
    if (d.relu) value = b.relu(value);
    return value;
  };
  if (!is_packed(d.type)) {
    dst[0] = finish(f(b, src));
    return;
  }
  const term::FloatFormat format = format_of(d.type);
  Term halves[2];
  for (int lane = 0; lane < 2; ++lane) {
    Term args[kArity];
    for (int i = 0; i < kArity; ++i) args[i] = b.decode(b.extract(src[i], 16 * lane, 16), format);
    halves[lane] = b.encode(finish(f(b, args)), format);
  }
  dst[0] = b.concat(halves[1], halves[0]);
}

}  // namespace coequal::isa
