// Guest addresses and the allocations behind them.
#include "replay/memory.h"

#include <algorithm>

#include "base/check.h"

namespace coequal::replay {

uint64_t Memory::allocate(std::string name, std::vector<uint8_t> bytes, uint64_t alignment) {
  constexpr uint64_t kGap = 4096;
  alignment = std::max<uint64_t>(alignment, 256);
  const uint64_t address = (next_ + alignment - 1) / alignment * alignment;
  next_ = address + bytes.size() + kGap;
  allocations_.push_back({std::move(name), address, std::move(bytes)});
  return address;
}

const Memory::Allocation* Memory::nearest(uint64_t address) const {
  const auto after = std::upper_bound(
      allocations_.begin(), allocations_.end(), address,
      [](uint64_t at, const Allocation& allocation) { return at < allocation.address; });
  return after == allocations_.begin() ? nullptr : &*(after - 1);
}

Memory::Allocation* Memory::find(uint64_t address, uint64_t size) {
  Allocation* found = const_cast<Allocation*>(nearest(address));
  return found && found->holds(address, size) ? found : nullptr;
}

std::vector<uint8_t>& Memory::bytes(uint64_t address) {
  Allocation* found = find(address, 0);
  CHECK(found && found->address == address);
  return found->bytes;
}

}  // namespace coequal::replay
