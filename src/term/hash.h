// Mixing of 64-bit words; the same on every platform, so that orders by hash are reproducible.
#pragma once

#include <cstdint>

namespace coequal::term {

inline uint64_t mix(uint64_t hash, uint64_t word) {
  hash ^= word + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdull;
  return hash ^ (hash >> 32);
}

}  // namespace coequal::term
