// Encodings of floats; expectations from IEEE 754 and the OCP 8-bit formats.
#include <gtest/gtest.h>

#include <bit>

#include "term/float_format.h"

namespace coequal::term {
namespace {

TEST(FloatFormat, DecodesKnownPatterns) {
  EXPECT_EQ(decode_float(FloatFormat::F32, 0x3f800000).value, Rational(1));
  EXPECT_EQ(decode_float(FloatFormat::F32, 0xc0490fdb).value, Rational::from_double(-0x1.921fb6p1));
  EXPECT_EQ(decode_float(FloatFormat::F32, 1).value, Rational::power_of_two(-149));
  EXPECT_EQ(decode_float(FloatFormat::F64, 0x4009000000000000).value, Rational(25, 8));
  EXPECT_EQ(decode_float(FloatFormat::F16, 0x7bff).value, Rational(65504));
  EXPECT_EQ(decode_float(FloatFormat::F16, 0x6400).value, Rational(1024));
  EXPECT_EQ(decode_float(FloatFormat::BF16, 0x4049).value, Rational(201, 64));
  EXPECT_EQ(decode_float(FloatFormat::E4M3, 0x7e).value, Rational(448));
  EXPECT_EQ(decode_float(FloatFormat::E4M3, 0x01).value, Rational(1, 512));
  EXPECT_EQ(decode_float(FloatFormat::E5M2, 0x7b).value, Rational(57344));
  EXPECT_EQ(decode_float(FloatFormat::TF32, 0x3f801fff).value, Rational(1));
}

TEST(FloatFormat, SpecialValues) {
  using Class = DecodedFloat::Class;
  EXPECT_EQ(decode_float(FloatFormat::F32, 0x7f800000).cls, Class::Infinite);
  EXPECT_EQ(decode_float(FloatFormat::F32, 0x7fc00000).cls, Class::NaN);
  EXPECT_EQ(decode_float(FloatFormat::E4M3, 0x7f).cls, Class::NaN);
  EXPECT_EQ(decode_float(FloatFormat::E5M2, 0x7c).cls, Class::Infinite);
  EXPECT_TRUE(decode_float(FloatFormat::F32, 0x80000000).negative);
  EXPECT_EQ(encode_infinity(FloatFormat::F32, true), 0xff800000u);
  EXPECT_EQ(encode_infinity(FloatFormat::E4M3, false), std::nullopt);
}

TEST(FloatFormat, EncodesExactlyOrNotAtAll) {
  EXPECT_EQ(encode_float(FloatFormat::F32, Rational(1, 10)), std::nullopt);
  EXPECT_EQ(encode_float(FloatFormat::F16, Rational(2049)), std::nullopt);
  EXPECT_EQ(encode_float(FloatFormat::F16, Rational(65536)), std::nullopt);
  EXPECT_EQ(encode_float(FloatFormat::F16, Rational::power_of_two(-25)), std::nullopt);
  EXPECT_EQ(encode_float(FloatFormat::F16, Rational::power_of_two(-24)), 1u);
  EXPECT_EQ(encode_float(FloatFormat::E4M3, Rational(480)), std::nullopt);
  EXPECT_EQ(encode_float(FloatFormat::F32, Rational::power_of_two(5000)), std::nullopt);
  EXPECT_EQ(encode_float(FloatFormat::F32, Rational(-1)), 0xbf800000u);
  EXPECT_EQ(encode_float(FloatFormat::F64, Rational(-5, 2)), std::bit_cast<uint64_t>(-2.5));
  EXPECT_EQ(encode_float(FloatFormat::TF32, Rational(1) + Rational::power_of_two(-10)),
            0x3f802000u);
  EXPECT_EQ(encode_float(FloatFormat::TF32, Rational(1) + Rational::power_of_two(-11)),
            std::nullopt);
}

TEST(FloatFormat, EveryShortPatternRoundTrips) {
  for (FloatFormat format :
       {FloatFormat::F16, FloatFormat::BF16, FloatFormat::E4M3, FloatFormat::E5M2}) {
    for (uint64_t bits = 0; bits < (uint64_t{1} << bits_of(format)); ++bits) {
      const DecodedFloat d = decode_float(format, bits);
      if (d.cls != DecodedFloat::Class::Finite) continue;
      const bool negative_zero = d.negative && d.value.is_zero();
      ASSERT_EQ(encode_float(format, d.value), negative_zero ? 0 : bits) << bits;
    }
  }
}

}  // namespace
}  // namespace coequal::term
