// The IEEE-like encodings that BitsOfReal and RealOfBits name: layout, exact decoding and encoding.
#pragma once

#include <cstdint>
#include <optional>

#include "term/rational.h"
#include "term/term.h"

namespace coequal::term {

struct FloatLayout {
  int bits;  // of the storage
  int exponent_bits;
  int mantissa_bits;
  int padding;        // low bits that carry nothing (tf32 in 32 bits)
  bool has_infinity;  // without: only the all-ones pattern is NaN (e4m3)

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint64_t sign_bit() const { return uint64_t{1} << (bits - 1); }
};

const FloatLayout& layout_of(FloatFormat format);

struct DecodedFloat {
  enum class Class : uint8_t { Finite, Infinite, NaN };
  Class cls = Class::Finite;
  bool negative = false;
  Rational value;  // of Finite; the sign of zero is in `negative` alone
};

DecodedFloat decode_float(FloatFormat format, uint64_t bits);
// The encoding of a value that the format represents exactly (zero: the positive one).
std::optional<uint64_t> encode_float(FloatFormat format, const Rational& value);
std::optional<uint64_t> encode_infinity(FloatFormat format, bool negative);

}  // namespace coequal::term
