// An open-addressing index from hashes to arena ids; contents stay in the arena and are compared
// there.
#pragma once

#include <cstdint>
#include <vector>

namespace coequal::term {

class IdTable {
 public:
  static constexpr uint32_t kNone = ~0u;

  // The id with this hash for which `equal(id)` holds, or kNone.
  template <class Equal>
  uint32_t find(uint64_t hash, Equal&& equal) const {
    if (slots_.empty()) return kNone;
    const uint32_t tag = tag_of(hash);
    for (size_t i = tag & mask_;; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.id == kNone) return kNone;
      if (slot.tag == tag && equal(slot.id)) return slot.id;
    }
  }

  void insert(uint64_t hash, uint32_t id) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    place({tag_of(hash), id});
    ++size_;
  }

  size_t bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    uint32_t tag = 0;
    uint32_t id = kNone;
  };

  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash ^ (hash >> 32)); }
  void place(Slot slot) {
    size_t i = slot.tag & mask_;
    while (slots_[i].id != kNone) i = (i + 1) & mask_;
    slots_[i] = slot;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old)
      if (slot.id != kNone) place(slot);
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t size_ = 0;
};

}  // namespace coequal::term
