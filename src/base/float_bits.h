// IEEE arithmetic on bit patterns in every rounding mode and format that PTX has; independent of
// the host's rounding mode.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace coequal {

enum class FloatRounding : uint8_t { NearestEven, TowardZero, Down, Up, NearestAway };

// A binary interchange format: sign, exponent, fraction. E4M3 has no infinities and one NaN pattern
// a sign.
struct FloatSpec {
  int exponent_bits;
  int fraction_bits;
  bool has_infinity = true;
  int width() const { return 1 + exponent_bits + fraction_bits; }
};
inline constexpr FloatSpec kF64{11, 52}, kF32{8, 23}, kF16{5, 10}, kBF16{8, 7}, kTF32{8, 10},
    kE5M2{5, 2}, kE4M3{4, 3, false};

// The format of a float dtype.
FloatSpec float_spec(DType dtype);

struct FloatOptions {
  FloatRounding rounding = FloatRounding::NearestEven;
  bool flush = false;  // subnormal inputs and results become zero of their sign
};

// Results are canonical NaNs as the PTX manual gives them (0x7fffffff for f32, 0x7fff for f16 and
// bf16, ...).
uint64_t float_add(FloatSpec spec, uint64_t a, uint64_t b, FloatOptions options = {});
uint64_t float_sub(FloatSpec spec, uint64_t a, uint64_t b, FloatOptions options = {});
uint64_t float_mul(FloatSpec spec, uint64_t a, uint64_t b, FloatOptions options = {});
uint64_t float_div(FloatSpec spec, uint64_t a, uint64_t b, FloatOptions options = {});
uint64_t float_fma(FloatSpec spec, uint64_t a, uint64_t b, uint64_t c, FloatOptions options = {});
uint64_t float_sqrt(FloatSpec spec, uint64_t a, FloatOptions options = {});
// `saturate_finite`: overflow gives the largest finite value (.satfinite).
uint64_t float_convert(FloatSpec to, FloatSpec from, uint64_t a, FloatOptions options = {},
                       bool saturate_finite = false);
// Rounds to an integral value of the same format.
uint64_t float_round_integral(FloatSpec spec, uint64_t a, FloatRounding rounding);
uint64_t float_from_signed(FloatSpec spec, int64_t value, FloatRounding rounding);
uint64_t float_from_unsigned(FloatSpec spec, uint64_t value, FloatRounding rounding);
// Rounds, then clamps to the integer type of `width` bits; NaN gives 0 (PTX ISA, cvt). Result
// zero-extended.
uint64_t float_to_signed(FloatSpec spec, uint64_t a, int width, FloatRounding rounding);
uint64_t float_to_unsigned(FloatSpec spec, uint64_t a, int width, FloatRounding rounding);

bool float_is_nan(FloatSpec spec, uint64_t a);
bool float_is_infinite(FloatSpec spec, uint64_t a);
bool float_is_zero(FloatSpec spec, uint64_t a);
bool float_is_subnormal(FloatSpec spec, uint64_t a);
bool float_sign(FloatSpec spec, uint64_t a);
// a < b, a == b for numbers; false if either is NaN. Zeros of either sign are equal.
bool float_less(FloatSpec spec, uint64_t a, uint64_t b);
bool float_equal(FloatSpec spec, uint64_t a, uint64_t b);
// min and max as PTX has them: a NaN operand yields the other one, or NaN with `propagate_nan`; -0
// < +0.
uint64_t float_min(FloatSpec spec, uint64_t a, uint64_t b, bool propagate_nan = false);
uint64_t float_max(FloatSpec spec, uint64_t a, uint64_t b, bool propagate_nan = false);

// Finite a = (-1)^negative * mantissa * 2^exponent. CHECKs that it is finite.
struct FloatParts {
  bool negative;
  uint64_t mantissa;
  int exponent;
};
FloatParts float_parts(FloatSpec spec, uint64_t a);
// The nearest double of any format (exact for all but none of them).
double float_to_double(FloatSpec spec, uint64_t a);
uint64_t float_from_double(FloatSpec spec, double value, FloatOptions options = {});

}  // namespace coequal
