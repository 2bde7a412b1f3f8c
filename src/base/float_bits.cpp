// IEEE arithmetic on bit patterns: exact results in 128-bit integers, rounded once.
#include "base/float_bits.h"

#include <bit>
#include <utility>

#include "base/check.h"

namespace coequal {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr uint64_t low_mask(int bits) {
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

int bias_of(FloatSpec s) { return (1 << (s.exponent_bits - 1)) - 1; }
int least_exponent(FloatSpec s) { return 1 - bias_of(s); }
uint64_t exponent_field_max(FloatSpec s) { return low_mask(s.exponent_bits); }
uint64_t sign_bit(FloatSpec s) { return uint64_t{1} << (s.width() - 1); }
uint64_t infinity_bits(FloatSpec s) { return exponent_field_max(s) << s.fraction_bits; }
uint64_t max_finite_bits(FloatSpec s) {
  return s.has_infinity ? infinity_bits(s) - 1 : low_mask(s.width() - 1) - 1;
}

uint64_t nan_bits(FloatSpec s) {
  // Double precision keeps the NaN that the hardware makes; the others are all ones below the sign.
  if (s.fraction_bits == 52) return 0xfff8000000000000;
  return low_mask(s.width() - 1);
}

enum class Class : uint8_t { Zero, Finite, Infinite, Nan };

// Finite: mantissa * 2^exponent with the leading one at bit `fraction_bits`.
struct Unpacked {
  Class cls;
  bool negative;
  uint64_t mantissa;
  int exponent;
};

Unpacked unpack(FloatSpec s, uint64_t bits, bool flush) {
  const bool negative = bits & sign_bit(s);
  const uint64_t field = (bits >> s.fraction_bits) & exponent_field_max(s);
  const uint64_t fraction = bits & low_mask(s.fraction_bits);
  if (field == exponent_field_max(s)) {
    if (s.has_infinity) return {fraction ? Class::Nan : Class::Infinite, negative, 0, 0};
    if (fraction == low_mask(s.fraction_bits)) return {Class::Nan, negative, 0, 0};
  }
  if (field == 0) {
    if (fraction == 0 || flush) return {Class::Zero, negative, 0, 0};
    const int shift = s.fraction_bits - (std::bit_width(fraction) - 1);
    return {Class::Finite, negative, fraction << shift,
            least_exponent(s) - s.fraction_bits - shift};
  }
  return {Class::Finite, negative, fraction | (uint64_t{1} << s.fraction_bits),
          static_cast<int>(field) - bias_of(s) - s.fraction_bits};
}

int top_bit(Wide value) {
  const uint64_t high = static_cast<uint64_t>(value >> 64);
  return high ? 64 + std::bit_width(high) - 1 : std::bit_width(static_cast<uint64_t>(value)) - 1;
}

uint64_t signed_zero(FloatSpec s, bool negative) { return negative ? sign_bit(s) : 0; }
uint64_t signed_infinity(FloatSpec s, bool negative) {
  if (!s.has_infinity) return nan_bits(s) | (negative ? sign_bit(s) : 0);
  return infinity_bits(s) | (negative ? sign_bit(s) : 0);
}

// What is lost below the kept part, as a fraction of its last place.
enum class Lost : uint8_t { Nothing, BelowHalf, Half, AboveHalf };

bool rounds_away(FloatRounding rounding, bool negative, bool odd, Lost lost) {
  switch (rounding) {
    case FloatRounding::NearestEven:
      return lost == Lost::AboveHalf || (lost == Lost::Half && odd);
    case FloatRounding::NearestAway:
      return lost >= Lost::Half;
    case FloatRounding::TowardZero:
      return false;
    case FloatRounding::Down:
      return negative && lost != Lost::Nothing;
    case FloatRounding::Up:
      return !negative && lost != Lost::Nothing;
  }
  return false;
}

// Shifts right by `shift` >= 0 and says what was lost; `sticky` stands for something below the last
// bit.
Wide shift_out(Wide value, int shift, bool sticky, Lost* lost) {
  if (shift == 0) {
    *lost = sticky ? Lost::BelowHalf : Lost::Nothing;
    return value;
  }
  if (shift > 127) {
    *lost = value || sticky ? Lost::BelowHalf : Lost::Nothing;
    return 0;
  }
  const Wide half = Wide{1} << (shift - 1);
  const Wide rest = value & ((half << 1) - 1);
  if (rest > half || (rest == half && sticky)) {
    *lost = Lost::AboveHalf;
  } else if (rest == half) {
    *lost = Lost::Half;
  } else {
    *lost = rest || sticky ? Lost::BelowHalf : Lost::Nothing;
  }
  return value >> shift;
}

// Rounds (-1)^negative * (mantissa + sticky) * 2^exponent, mantissa != 0, 0 <= sticky < 1. With
// sticky the mantissa has more bits than the format keeps.
uint64_t round_pack(FloatSpec s, bool negative, Wide mantissa, int exponent, bool sticky,
                    FloatOptions options, bool saturate_finite = false) {
  const int value_exponent = exponent + top_bit(mantissa);
  const int least = least_exponent(s);
  int quantum = (value_exponent > least ? value_exponent : least) - s.fraction_bits;
  const int shift = quantum - exponent;
  Lost lost = Lost::Nothing;
  Wide kept;
  if (shift <= 0) {
    DCHECK(!sticky);
    kept = mantissa << -shift;
  } else {
    kept = shift_out(mantissa, shift, sticky, &lost);
  }
  if (rounds_away(options.rounding, negative, kept & 1, lost)) ++kept;
  if (kept >> (s.fraction_bits + 1)) {
    kept >>= 1;
    ++quantum;
  }
  const uint64_t sign = negative ? sign_bit(s) : 0;
  const uint64_t hidden = uint64_t{1} << s.fraction_bits;
  if (kept < hidden) {
    if (options.flush) return sign;
    return sign | static_cast<uint64_t>(kept);
  }
  const int64_t field = int64_t{quantum} + s.fraction_bits + bias_of(s);
  const uint64_t magnitude = field > static_cast<int64_t>(exponent_field_max(s))
                                 ? ~uint64_t{0} >> 1
                                 : (static_cast<uint64_t>(field) << s.fraction_bits) +
                                       (static_cast<uint64_t>(kept) - hidden);
  if (magnitude <= max_finite_bits(s)) return sign | magnitude;
  const bool to_finite = saturate_finite || options.rounding == FloatRounding::TowardZero ||
                         (options.rounding == FloatRounding::Down && !negative) ||
                         (options.rounding == FloatRounding::Up && negative);
  return to_finite ? sign | max_finite_bits(s) : signed_infinity(s, negative);
}

// The exact sum of two terms m * 2^e with m < 2^107, m having its leading one at bit `width - 1`;
// rounded.
struct Summand {
  bool negative;
  Wide mantissa;
  int exponent;
};

uint64_t round_sum(FloatSpec s, Summand a, Summand b, FloatOptions options) {
  if (a.exponent + top_bit(a.mantissa) < b.exponent + top_bit(b.mantissa)) std::swap(a, b);
  // `a` is the larger (or equal) one. Move its leading one to bit 124; then align `b`, keeping what
  // falls off as sticky.
  const int up = 124 - top_bit(a.mantissa);
  const Wide large = a.mantissa << up;
  const int exponent = a.exponent - up;
  const int shift = b.exponent - exponent;
  bool sticky = false;
  Wide small;
  if (shift >= 0) {
    small = b.mantissa << shift;
  } else if (-shift > 127) {
    small = 0;
    sticky = true;
  } else {
    small = b.mantissa >> -shift;
    sticky = (small << -shift) != b.mantissa;
  }
  if (a.negative == b.negative)
    return round_pack(s, a.negative, large + small, exponent, sticky, options);
  // large - (small + fraction) = (large - small - 1) + (1 - fraction). When bits fell off, small is
  // far below large.
  if (sticky) return round_pack(s, a.negative, large - small - 1, exponent, true, options);
  if (large == small) return signed_zero(s, options.rounding == FloatRounding::Down);
  if (large < small) return round_pack(s, b.negative, small - large, exponent, false, options);
  return round_pack(s, a.negative, large - small, exponent, false, options);
}

uint64_t add_unpacked(FloatSpec s, Unpacked a, Unpacked b, FloatOptions options) {
  if (a.cls == Class::Nan || b.cls == Class::Nan) return nan_bits(s);
  if (a.cls == Class::Infinite || b.cls == Class::Infinite) {
    if (a.cls == b.cls && a.negative != b.negative) return nan_bits(s);
    return signed_infinity(s, a.cls == Class::Infinite ? a.negative : b.negative);
  }
  if (a.cls == Class::Zero && b.cls == Class::Zero) {
    if (a.negative == b.negative) return signed_zero(s, a.negative);
    return signed_zero(s, options.rounding == FloatRounding::Down);
  }
  if (a.cls == Class::Zero)
    return round_pack(s, b.negative, b.mantissa, b.exponent, false, options);
  if (b.cls == Class::Zero)
    return round_pack(s, a.negative, a.mantissa, a.exponent, false, options);
  return round_sum(s, {a.negative, a.mantissa, a.exponent}, {b.negative, b.mantissa, b.exponent},
                   options);
}

// Signed integer value of a rounded float, saturated far outside 64 bits.
struct Integral {
  bool negative;
  Wide magnitude;
};

Integral round_to_integer(Unpacked u, FloatRounding rounding) {
  if (u.cls != Class::Finite) return {u.negative, 0};
  if (u.exponent >= 0)
    return {u.negative, u.exponent > 70 ? Wide{1} << 120 : Wide{u.mantissa} << u.exponent};
  Lost lost;
  Wide kept = shift_out(u.mantissa, -u.exponent, false, &lost);
  if (rounds_away(rounding, u.negative, kept & 1, lost)) ++kept;
  return {u.negative, kept};
}

// Order of numbers as integers; zeros coincide.
int64_t order_key(FloatSpec s, uint64_t bits) {
  const int64_t magnitude = static_cast<int64_t>(bits & low_mask(s.width() - 1));
  return bits & sign_bit(s) ? -magnitude : magnitude;
}

}  // namespace

FloatSpec float_spec(DType dtype) {
  switch (dtype) {
    case DType::F64:
      return kF64;
    case DType::F32:
      return kF32;
    case DType::F16:
      return kF16;
    case DType::BF16:
      return kBF16;
    case DType::TF32:
      return kTF32;
    case DType::F8E4M3:
      return kE4M3;
    case DType::F8E5M2:
      return kE5M2;
    default:
      break;
  }
  CHECK(false);
}

uint64_t float_add(FloatSpec s, uint64_t a, uint64_t b, FloatOptions options) {
  return add_unpacked(s, unpack(s, a, options.flush), unpack(s, b, options.flush), options);
}

uint64_t float_sub(FloatSpec s, uint64_t a, uint64_t b, FloatOptions options) {
  return float_add(s, a, b ^ sign_bit(s), options);
}

uint64_t float_mul(FloatSpec s, uint64_t a, uint64_t b, FloatOptions options) {
  const Unpacked x = unpack(s, a, options.flush), y = unpack(s, b, options.flush);
  if (x.cls == Class::Nan || y.cls == Class::Nan) return nan_bits(s);
  const bool negative = x.negative != y.negative;
  if (x.cls == Class::Infinite || y.cls == Class::Infinite) {
    if (x.cls == Class::Zero || y.cls == Class::Zero) return nan_bits(s);
    return signed_infinity(s, negative);
  }
  if (x.cls == Class::Zero || y.cls == Class::Zero) return signed_zero(s, negative);
  return round_pack(s, negative, Wide{x.mantissa} * y.mantissa, x.exponent + y.exponent, false,
                    options);
}

uint64_t float_div(FloatSpec s, uint64_t a, uint64_t b, FloatOptions options) {
  const Unpacked x = unpack(s, a, options.flush), y = unpack(s, b, options.flush);
  if (x.cls == Class::Nan || y.cls == Class::Nan) return nan_bits(s);
  const bool negative = x.negative != y.negative;
  if (x.cls == Class::Infinite)
    return y.cls == Class::Infinite ? nan_bits(s) : signed_infinity(s, negative);
  if (y.cls == Class::Zero)
    return x.cls == Class::Zero ? nan_bits(s) : signed_infinity(s, negative);
  if (x.cls == Class::Zero || y.cls == Class::Infinite) return signed_zero(s, negative);
  const Wide numerator = Wide{x.mantissa} << 66;
  const Wide quotient = numerator / y.mantissa;
  return round_pack(s, negative, quotient, x.exponent - 66 - y.exponent,
                    quotient * y.mantissa != numerator, options);
}

uint64_t float_fma(FloatSpec s, uint64_t a, uint64_t b, uint64_t c, FloatOptions options) {
  const Unpacked x = unpack(s, a, options.flush), y = unpack(s, b, options.flush),
                 z = unpack(s, c, options.flush);
  if (x.cls == Class::Nan || y.cls == Class::Nan || z.cls == Class::Nan) return nan_bits(s);
  const bool negative = x.negative != y.negative;
  if (x.cls == Class::Infinite || y.cls == Class::Infinite) {
    if (x.cls == Class::Zero || y.cls == Class::Zero) return nan_bits(s);
    if (z.cls == Class::Infinite && z.negative != negative) return nan_bits(s);
    return signed_infinity(s, negative);
  }
  if (z.cls == Class::Infinite) return signed_infinity(s, z.negative);
  if (x.cls == Class::Zero || y.cls == Class::Zero)
    return add_unpacked(s, {Class::Zero, negative, 0, 0}, z, options);
  const Wide product = Wide{x.mantissa} * y.mantissa;
  const int exponent = x.exponent + y.exponent;
  if (z.cls == Class::Zero) return round_pack(s, negative, product, exponent, false, options);
  return round_sum(s, {negative, product, exponent}, {z.negative, z.mantissa, z.exponent}, options);
}

uint64_t float_sqrt(FloatSpec s, uint64_t a, FloatOptions options) {
  const Unpacked x = unpack(s, a, options.flush);
  if (x.cls == Class::Nan) return nan_bits(s);
  if (x.cls == Class::Zero) return signed_zero(s, x.negative);
  if (x.negative) return nan_bits(s);
  if (x.cls == Class::Infinite) return signed_infinity(s, false);
  // mantissa * 2^exponent = radicand * 4^k with a radicand of more than 120 bits: its root has more
  // than 60.
  int shift = 124 - top_bit(x.mantissa);
  if ((x.exponent - shift) & 1) --shift;
  const Wide radicand = Wide{x.mantissa} << shift;
  Wide root = 0;
  for (int bit = 62; bit >= 0; --bit) {
    const Wide trial = root | (Wide{1} << bit);
    if (trial * trial <= radicand) root = trial;
  }
  return round_pack(s, false, root, (x.exponent - shift) / 2, root * root != radicand, options);
}

uint64_t float_convert(FloatSpec to, FloatSpec from, uint64_t a, FloatOptions options,
                       bool saturate_finite) {
  const Unpacked x = unpack(from, a, options.flush);
  switch (x.cls) {
    case Class::Nan:
      return nan_bits(to);
    case Class::Zero:
      return signed_zero(to, x.negative);
    case Class::Infinite:
      if (saturate_finite) return (x.negative ? sign_bit(to) : 0) | max_finite_bits(to);
      return signed_infinity(to, x.negative);
    case Class::Finite:
      break;
  }
  return round_pack(to, x.negative, x.mantissa, x.exponent, false, options, saturate_finite);
}

uint64_t float_round_integral(FloatSpec s, uint64_t a, FloatRounding rounding) {
  const Unpacked x = unpack(s, a, false);
  if (x.cls == Class::Nan) return nan_bits(s);
  if (x.cls != Class::Finite || x.exponent >= 0) return a;
  const Integral value = round_to_integer(x, rounding);
  if (value.magnitude == 0) return signed_zero(s, x.negative);
  return round_pack(s, x.negative, value.magnitude, 0, false, {rounding, false});
}

uint64_t float_from_unsigned(FloatSpec s, uint64_t value, FloatRounding rounding) {
  return value ? round_pack(s, false, value, 0, false, {rounding, false}) : 0;
}

uint64_t float_from_signed(FloatSpec s, int64_t value, FloatRounding rounding) {
  if (value >= 0) return float_from_unsigned(s, static_cast<uint64_t>(value), rounding);
  return round_pack(s, true, uint64_t{0} - static_cast<uint64_t>(value), 0, false,
                    {rounding, false});
}

uint64_t float_to_signed(FloatSpec s, uint64_t a, int width, FloatRounding rounding) {
  const Unpacked x = unpack(s, a, false);
  const uint64_t largest = low_mask(width - 1);
  const uint64_t least = uint64_t{1} << (width - 1);
  if (x.cls == Class::Nan) return 0;
  if (x.cls == Class::Infinite) return x.negative ? least : largest;
  const Integral value = round_to_integer(x, rounding);
  if (value.negative) {
    if (value.magnitude >= least) return least;
    return (uint64_t{0} - static_cast<uint64_t>(value.magnitude)) & low_mask(width);
  }
  return value.magnitude > largest ? largest : static_cast<uint64_t>(value.magnitude);
}

uint64_t float_to_unsigned(FloatSpec s, uint64_t a, int width, FloatRounding rounding) {
  const Unpacked x = unpack(s, a, false);
  if (x.cls == Class::Nan) return 0;
  if (x.negative) return 0;
  if (x.cls == Class::Infinite) return low_mask(width);
  const Integral value = round_to_integer(x, rounding);
  return value.magnitude > low_mask(width) ? low_mask(width)
                                           : static_cast<uint64_t>(value.magnitude);
}

bool float_is_nan(FloatSpec s, uint64_t a) { return unpack(s, a, false).cls == Class::Nan; }
bool float_is_infinite(FloatSpec s, uint64_t a) {
  return unpack(s, a, false).cls == Class::Infinite;
}
bool float_is_zero(FloatSpec s, uint64_t a) { return (a & low_mask(s.width() - 1)) == 0; }
bool float_sign(FloatSpec s, uint64_t a) { return a & sign_bit(s); }

bool float_is_subnormal(FloatSpec s, uint64_t a) {
  return ((a >> s.fraction_bits) & exponent_field_max(s)) == 0 && (a & low_mask(s.fraction_bits));
}

bool float_less(FloatSpec s, uint64_t a, uint64_t b) {
  if (float_is_nan(s, a) || float_is_nan(s, b)) return false;
  return order_key(s, a) < order_key(s, b);
}

bool float_equal(FloatSpec s, uint64_t a, uint64_t b) {
  if (float_is_nan(s, a) || float_is_nan(s, b)) return false;
  return order_key(s, a) == order_key(s, b);
}

uint64_t float_min(FloatSpec s, uint64_t a, uint64_t b, bool propagate_nan) {
  const bool nan_a = float_is_nan(s, a), nan_b = float_is_nan(s, b);
  if ((nan_a && nan_b) || (propagate_nan && (nan_a || nan_b))) return nan_bits(s);
  if (nan_a) return b;
  if (nan_b) return a;
  if (float_is_zero(s, a) && float_is_zero(s, b)) return a | b;
  return order_key(s, a) < order_key(s, b) ? a : b;
}

uint64_t float_max(FloatSpec s, uint64_t a, uint64_t b, bool propagate_nan) {
  const bool nan_a = float_is_nan(s, a), nan_b = float_is_nan(s, b);
  if ((nan_a && nan_b) || (propagate_nan && (nan_a || nan_b))) return nan_bits(s);
  if (nan_a) return b;
  if (nan_b) return a;
  if (float_is_zero(s, a) && float_is_zero(s, b)) return a & b;
  return order_key(s, a) < order_key(s, b) ? b : a;
}

FloatParts float_parts(FloatSpec s, uint64_t a) {
  const Unpacked x = unpack(s, a, false);
  CHECK(x.cls == Class::Zero || x.cls == Class::Finite);
  return {x.negative, x.mantissa, x.exponent};
}

double float_to_double(FloatSpec s, uint64_t a) {
  return std::bit_cast<double>(float_convert(kF64, s, a));
}

uint64_t float_from_double(FloatSpec s, double value, FloatOptions options) {
  return float_convert(s, kF64, std::bit_cast<uint64_t>(value), options);
}

}  // namespace coequal
