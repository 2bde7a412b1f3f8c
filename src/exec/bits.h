// Words of a given width in bits.
#pragma once

#include <cstdint>

#include "isa/inst_row.h"

namespace coequal::exec {

inline isa::OperandType bits_type(int width) {
  return {isa::OperandType::Class::Bits, static_cast<uint8_t>(width), false, {}};
}

inline uint64_t low_mask(int width) { return width >= 64 ? ~0ull : (1ull << width) - 1; }

inline int64_t sign_extend(uint64_t bits, int width) {
  if (width >= 64) return static_cast<int64_t>(bits);
  const uint64_t sign = 1ull << (width - 1);
  return static_cast<int64_t>(((bits & low_mask(width)) ^ sign) - sign);
}

}  // namespace coequal::exec
