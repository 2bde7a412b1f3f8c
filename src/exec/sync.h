// What is ordered inside one CTA, and which accesses to one place are not.
//
// Happens-before is kept as an epoch for whole-CTA barriers (all living threads pass one together) and, inside a
// warp, a vector clock per lane for warp barriers. Shuffles and votes order nothing. (PTX ISA, memory consistency model.)
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include "exec/word.h"

namespace coequal::exec {

class HappensBefore {
 public:
  explicit HappensBefore(uint32_t threads);

  uint32_t epoch() const { return epoch_; }
  uint32_t clock(uint32_t thread) const { return clocks_[thread][thread % kWarpSize]; }
  // Whether what `lane` of `thread`'s own warp did up to its clock `clock` is ordered before what `thread` does now.
  bool sees(uint32_t thread, uint32_t lane, uint32_t clock) const {
    return clock <= clocks_[thread][lane];
  }
  void cta_barrier() { ++epoch_; }
  void warp_barrier(uint32_t warp, uint32_t mask);

 private:
  uint32_t epoch_ = 0;
  std::vector<std::array<uint32_t, kWarpSize>> clocks_;
};

enum class Role : uint8_t { Read, Write, Atomic };

struct AccessEvent {
  uint32_t thread = 0;
  uint32_t instruction = 0;
  Role role = Role::Read;
  uint8_t atomic_op = 0;  // Atomic: operations of one kind commute
  Term guard;             // the condition on data under which it happens; invalid: always
};

// The accesses to one place (a byte, or four that are always accessed together) that later ones may conflict with.
// A read that happens before a later read is dropped (ordering is transitive); so is everything before an ordered write.
// Accesses under a guard on data may not happen: they drop nothing, and their conflicts depend on both guards.
class AccessHistory {
 public:
  struct Conflict {
    AccessEvent earlier;
    bool mixed_atomics = false;  // two unordered atomics of different kinds
  };
  using Conflicts = absl::InlinedVector<Conflict, 1>;

  // Checks `now` against the history and records it. Of the conflicts that always happen at most one is returned, the root
  // one; of those under guards all.
  // `same_value`: a write that stores the bits that the place already holds; other writes of the kind do not conflict.
  Conflicts access(const AccessEvent& now, bool same_value, const HappensBefore& order);

 private:
  // Lanes of one warp that made the same access at the same clock.
  struct Group {
    uint32_t warp, mask, clock, epoch, instruction;
    Role role;
    uint8_t atomic_op;
    bool same_value;
    Term guard;
  };
  // The first lane of `group` that is not ordered before `thread`, or -1.
  static int unordered_lane(const Group& group, uint32_t thread, const HappensBefore& order);

  absl::InlinedVector<Group, 2> groups_;
};

// Histories of a memory, by byte offset.
class RaceShadow {
 public:
  AccessHistory::Conflicts access(int64_t offset, int width, const AccessEvent& now, bool same_value,
                                  const HappensBefore& order);

 private:
  struct Granule {
    AccessHistory whole;
    std::vector<AccessHistory> bytes;  // four, once an access covered only part of it
  };
  Granule& granule(int64_t index);

  std::vector<Granule> dense_;                          // small offsets
  absl::flat_hash_map<int64_t, Granule> sparse_;
};

}  // namespace coequal::exec
