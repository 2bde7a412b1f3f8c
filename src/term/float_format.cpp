// Exact decoding and encoding of floating-point bit patterns.
#include "term/float_format.h"

#include "base/check.h"

namespace coequal::term {
namespace {

constexpr FloatLayout kLayouts[] = {
    {64, 11, 52, 0, true},  // F64
    {32, 8, 23, 0, true},   // F32
    {16, 5, 10, 0, true},   // F16
    {16, 8, 7, 0, true},    // BF16
    {32, 8, 10, 13, true},  // TF32
    {8, 4, 3, 0, false},    // E4M3
    {8, 5, 2, 0, true},     // E5M2
};

}  // namespace

const FloatLayout& layout_of(FloatFormat format) { return kLayouts[static_cast<size_t>(format)]; }

int bits_of(FloatFormat format) { return layout_of(format).bits; }

DecodedFloat decode_float(FloatFormat format, uint64_t bits) {
  const FloatLayout& f = layout_of(format);
  DecodedFloat result;
  result.negative = bits & f.sign_bit();
  const uint64_t mantissa_mask = (uint64_t{1} << f.mantissa_bits) - 1;
  const uint64_t exponent_mask = (uint64_t{1} << f.exponent_bits) - 1;
  const uint64_t mantissa = (bits >> f.padding) & mantissa_mask;
  const uint64_t exponent = (bits >> (f.padding + f.mantissa_bits)) & exponent_mask;
  if (exponent == exponent_mask) {
    if (f.has_infinity) {
      result.cls = mantissa ? DecodedFloat::Class::NaN : DecodedFloat::Class::Infinite;
      return result;
    }
    if (mantissa == mantissa_mask) {
      result.cls = DecodedFloat::Class::NaN;
      return result;
    }
  }
  const int64_t scale =
      (exponent ? static_cast<int64_t>(exponent) : 1) - f.bias() - f.mantissa_bits;
  const uint64_t significand = exponent ? mantissa | (mantissa_mask + 1) : mantissa;
  result.value = Rational::from_u64(significand) * Rational::power_of_two(scale);
  if (result.negative) result.value = -result.value;
  return result;
}

std::optional<uint64_t> encode_float(FloatFormat format, const Rational& value) {
  const FloatLayout& f = layout_of(format);
  if (value.is_zero()) return 0;
  const fmpz* numerator = fmpq_numref(value.get());
  const fmpz* denominator = fmpq_denref(value.get());
  const int64_t denominator_log = static_cast<int64_t>(fmpz_bits(denominator)) - 1;
  if (static_cast<int64_t>(fmpz_val2(denominator)) != denominator_log) return std::nullopt;
  // value = odd * 2^low with `length` significant bits.
  const int64_t trailing = static_cast<int64_t>(fmpz_val2(numerator));
  const int64_t length = static_cast<int64_t>(fmpz_bits(numerator)) - trailing;
  const int64_t low = trailing - denominator_log;
  const int64_t top = low + length - 1;
  const int64_t min_exponent = 1 - f.bias();
  const int64_t exponent = std::max(top, min_exponent);
  const int64_t unit = exponent - f.mantissa_bits;
  if (low < unit) return std::nullopt;
  const Rational scaled = value * Rational::power_of_two(-unit);
  CHECK(scaled.is_integer());
  fmpz_t magnitude;
  fmpz_init(magnitude);
  fmpz_abs(magnitude, fmpq_numref(scaled.get()));
  const bool fits = fmpz_bits(magnitude) <= static_cast<flint_bitcnt_t>(f.mantissa_bits + 1);
  const uint64_t significand = fits ? fmpz_get_ui(magnitude) : 0;
  fmpz_clear(magnitude);
  CHECK(fits);
  const uint64_t mantissa_mask = (uint64_t{1} << f.mantissa_bits) - 1;
  const uint64_t exponent_mask = (uint64_t{1} << f.exponent_bits) - 1;
  uint64_t field = 0;
  if (significand > mantissa_mask) {
    const int64_t biased = exponent + f.bias();
    if (biased > static_cast<int64_t>(exponent_mask)) return std::nullopt;
    field = static_cast<uint64_t>(biased);
  }
  const uint64_t mantissa = significand & mantissa_mask;
  if (field == exponent_mask && (f.has_infinity || mantissa == mantissa_mask)) return std::nullopt;
  const uint64_t body = ((field << f.mantissa_bits) | mantissa) << f.padding;
  return value.sign() < 0 ? body | f.sign_bit() : body;
}

std::optional<uint64_t> encode_infinity(FloatFormat format, bool negative) {
  const FloatLayout& f = layout_of(format);
  if (!f.has_infinity) return std::nullopt;
  const uint64_t exponent_mask = (uint64_t{1} << f.exponent_bits) - 1;
  return (exponent_mask << (f.mantissa_bits + f.padding)) | (negative ? f.sign_bit() : 0);
}

}  // namespace coequal::term
