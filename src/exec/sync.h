// What is ordered inside one CTA, and which accesses to one place are not.
//
// Happens-before is kept as an epoch for whole-CTA barriers (all living threads pass one together)
// and, inside an epoch, a vector clock per thread for warp barriers and named barriers of part of
// the CTA. Shuffles and votes order nothing. (PTX ISA, memory consistency model.)
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>
#include <absl/functional/function_ref.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exec/word.h"

namespace coequal::exec {

class HappensBefore {
 public:
  // `crosses_warps`: named barriers of part of the CTA may order threads of different warps inside
  // an epoch.
  explicit HappensBefore(uint32_t threads, bool crosses_warps = false);

  uint32_t epoch() const { return epoch_; }
  uint32_t clock(uint32_t thread) const { return clocks_[thread][slot(thread)]; }
  bool crosses_warps() const { return wide_; }
  // Whether what `other` did in this epoch up to its clock `clock` is ordered before what `thread`
  // does now.
  bool sees(uint32_t thread, uint32_t other, uint32_t clock) const {
    if (!wide_ && thread / kWarpSize != other / kWarpSize) return false;
    return clock <= clocks_[thread][slot(other)];
  }
  // Whether what a thread did in that epoch up to its clock came before the whole-CTA barrier that
  // ended it, and so before all that comes now.
  bool is_over(uint32_t thread, uint32_t epoch, uint32_t clock) const {
    return epoch < epoch_ &&
           (ends_.empty() || ends_[thread].epoch != epoch || clock <= ends_[thread].known);
  }
  // Lanes of a warp for which it is not.
  uint32_t lasting(uint32_t warp, uint32_t lanes, uint32_t epoch, uint32_t clock) const;
  // All living threads pass a barrier. A thread that has ended did not arrive there: what it did
  // since its last barrier is ordered before the others only where one of them knew of it. (PTX
  // ISA: a barrier orders the accesses of the threads that participate; the exit of a thread only
  // releases those that wait.)
  void cta_barrier();
  void end(uint32_t thread) { ended_.push_back(thread); }
  void warp_barrier(uint32_t warp, uint32_t mask);

  // What threads that arrived at a named barrier had done: one entry a thread, empty before the
  // first arrival.
  using Clock = std::vector<uint32_t>;
  static void join(Clock& into, const Clock& from);
  void arrive(std::span<const uint32_t> threads, Clock& barrier);
  // The threads go on when the barrier opens: all that arrived is ordered before what they do from
  // here on.
  void depart(std::span<const uint32_t> threads, const Clock& barrier);

 private:
  size_t slot(uint32_t thread) const { return wide_ ? thread : thread % kWarpSize; }

  uint32_t epoch_ = 0;
  bool wide_;  // clocks have an entry for every thread of the CTA, not of the warp alone
  std::vector<Clock> clocks_;  // by thread
  // Threads that ended since the last whole-CTA barrier.
  std::vector<uint32_t> ended_;
  struct End {
    uint32_t epoch = ~0u;
    uint32_t known = 0;  // its last clock that the others knew of at the barrier
  };
  std::vector<End> ends_;  // by thread; empty: none ended before a barrier
};

enum class Role : uint8_t { Read, Write, Atomic };

struct AccessEvent {
  uint32_t thread = 0;
  uint32_t instruction = 0;
  Role role = Role::Read;
  uint16_t atomic_op = 0;  // Atomic: operations of one kind commute
  Term guard{};            // the condition on data under which it happens; invalid: always
  Word value{};            // Write: what is stored
  int64_t at = 0;          // where the value that is read or stored begins
  int32_t size = 0;        // its bytes; 0: not those of a plain load or store
};

// Whether two stores of the very same bytes leave the same bits. Of stores that nothing orders; not
// asked where both store known numbers that are equal.
enum class Agreement : uint8_t { Same, Perhaps, Different };  // Perhaps: to be decided
using Agree = absl::FunctionRef<Agreement(const AccessEvent& a, const AccessEvent& b)>;
// By their values as they stand, of one instruction.
inline constexpr auto kAsTheyStand = [](const AccessEvent& a, const AccessEvent& b) {
  return a.instruction == b.instruction && same_word(a.value, b.value) ? Agreement::Same
                                                                       : Agreement::Different;
};

// The accesses to one place (a byte, or four that are always accessed together) that later ones may
// conflict with. Whatever an earlier epoch did is ordered before all that comes, but for what
// threads did that have ended (HappensBefore::cta_barrier). Inside an epoch an
// access is dropped when a later one that it is ordered before stands for it: a read for a read, an
// atomic for one of its kind, a write for a write. (A write does not stand for a read: another
// write of the same value does not conflict with the write but does with the read. A write that is
// ordered before another leaves no trace, so a third that agrees with the other need not agree with
// it.) Accesses under a guard on data may not happen: they drop nothing, and their conflicts depend
// on both guards.
class AccessHistory {
 public:
  struct Conflict {
    AccessEvent earlier;
    bool mixed_atomics = false;     // two unordered atomics of different kinds
    bool may_agree = false;         // two stores that conflict only where their values differ
    uint32_t lanes = 0;             // of a raced load's conflict: all unordered lanes of the warp
    uint32_t epoch = 0, clock = 0;  // of the earlier one
  };
  struct Finding {
    // Of the conflicts that always happen at most one, the root one; of those under guards all, and
    // of stores that may agree one: equality is transitive.
    absl::InlinedVector<Conflict, 1> conflicts;
    // Loads and stores of the very same bytes: the load gets what some store left, and nothing else
    // is touched by the race.
    absl::InlinedVector<Conflict, 1> raced_loads;
    bool more_loads = false;   // and others of this epoch that are not kept
    bool same_writes = false;  // an unordered write stored the same bits: no conflict
  };

  // Checks `now` against the history and records it.
  Finding access(const AccessEvent& now, const HappensBefore& order, Agree agree = kAsTheyStand);
  // Records an access that always happens, by the only thread of which accesses are known here;
  // false, and nothing is done, if that is not so. The same as access(), for what most accesses
  // are.
  bool is_own(uint32_t thread, Role role, int64_t at, int32_t size) const {
    if (groups_.size() > 2 || (groups_.size() == 2 && groups_[0].role == groups_[1].role))
      return false;
    for (const Group& g : groups_)
      if (g.warp != thread / kWarpSize || g.mask != 1u << thread % kWarpSize || g.guard.valid() ||
          g.role == Role::Atomic ||
          (role == Role::Read && g.role == role && (g.at != at || g.size != size)))
        return false;
    return true;
  }
  void add_own(const AccessEvent& now, const HappensBefore& order);
  // Conflicts of a read or write that leaves no trace here: it goes on after its instruction, and
  // when it is over is known elsewhere.
  Finding look(const AccessEvent& now, const HappensBefore& order) const;

 private:
  // Lanes of one warp that made the same access at the same clock.
  struct Group {
    uint32_t warp, mask, clock, epoch, instruction;
    Role role;
    uint16_t atomic_op;
    Term guard;
    Word value;
    int64_t at;
    int32_t size;
  };
  // The first lane of `lanes`, a part of `group`, that is not ordered before `thread`, or -1.
  static int unordered_lane(const Group& group, uint32_t lanes, uint32_t thread,
                            const HappensBefore& order);

  absl::InlinedVector<Group, 1> groups_;
  uint32_t cut_ = 0;  // one more than the last epoch in which a load was not kept
};

// Histories of a memory, by byte offset.
class RaceShadow {
 public:
  AccessHistory::Finding access(int64_t offset, int width, const AccessEvent& now,
                                const HappensBefore& order, Agree agree = kAsTheyStand);
  // The access by access(), if it needs no more than AccessHistory::add_own.
  bool own(uint32_t thread, uint32_t instruction, Role role, int64_t offset, int width,
           const Word* value, const HappensBefore& order);
  AccessHistory::Finding look(int64_t offset, int width, const AccessEvent& now,
                              const HappensBefore& order);
  // Nothing that was done there is of any further concern.
  void forget(int64_t offset, int width);

 private:
  struct Granule {
    AccessHistory whole;
    std::vector<AccessHistory> bytes;  // four, once an access covered only part of it
  };
  // Neighbours are touched together; a CTA touches little of a large tensor.
  static constexpr int64_t kPage = 32;
  using Page = std::array<Granule, kPage>;
  Granule& granule(int64_t index);

  absl::flat_hash_map<int64_t, std::unique_ptr<Page>> pages_;
  int64_t last_number_ = -1;
  Page* last_ = nullptr;
};

}  // namespace coequal::exec
