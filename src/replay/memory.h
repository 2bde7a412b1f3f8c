// Device memory of a replay: allocations at guest addresses, kept apart so that no access reaches a
// neighbour unseen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coequal::replay {

// Addresses are never reused and grow, so allocations stay sorted.
class Memory {
 public:
  struct Allocation {
    std::string name;
    uint64_t address = 0;
    std::vector<uint8_t> bytes;

    // `size` bytes at `at` lie inside.
    bool holds(uint64_t at, uint64_t size) const {
      return at >= address && at - address <= bytes.size() && size <= bytes.size() - (at - address);
    }
  };

  // At least 256-byte aligned. An empty allocation has an address, too.
  uint64_t allocate(std::string name, std::vector<uint8_t> bytes, uint64_t alignment = 256);

  // The allocation that holds the bytes, or null.
  Allocation* find(uint64_t address, uint64_t size);
  // The one that begins at or before the address and is nearest to it, for messages; null if there
  // is none.
  const Allocation* nearest(uint64_t address) const;
  // CHECKs that an allocation begins there.
  std::vector<uint8_t>& bytes(uint64_t address);
  const std::vector<Allocation>& allocations() const { return allocations_; }

 private:
  std::vector<Allocation> allocations_;
  uint64_t next_ = 0x7f0000000000;
};

}  // namespace coequal::replay
