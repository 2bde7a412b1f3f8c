#include "exec/sync.h"

#include <algorithm>
#include <bit>

namespace coequal::exec {

HappensBefore::HappensBefore(uint32_t threads) : clocks_(threads) {
  for (uint32_t t = 0; t < threads; ++t) clocks_[t][t % kWarpSize] = 1;
}

void HappensBefore::warp_barrier(uint32_t warp, uint32_t mask) {
  std::array<uint32_t, kWarpSize> joined{};
  const uint32_t first = warp * kWarpSize;
  for (uint32_t m = mask; m; m &= m - 1) {
    const auto& clock = clocks_[first + std::countr_zero(m)];
    for (int i = 0; i < kWarpSize; ++i) joined[i] = std::max(joined[i], clock[i]);
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    clocks_[first + lane] = joined;
    ++clocks_[first + lane][lane];
  }
}

int AccessHistory::unordered_lane(const Group& group, uint32_t thread, const HappensBefore& order) {
  if (group.epoch < order.epoch()) return -1;
  const uint32_t own = group.warp == thread / kWarpSize ? 1u << thread % kWarpSize : 0;
  uint32_t others = group.mask & ~own;
  if (!own) return others ? std::countr_zero(others) : -1;
  for (; others; others &= others - 1) {
    const int lane = std::countr_zero(others);
    if (!order.sees(thread, lane, group.clock)) return lane;
  }
  return -1;
}

AccessHistory::Conflicts AccessHistory::access(const AccessEvent& now, bool same_value, const HappensBefore& order) {
  const uint32_t warp = now.thread / kWarpSize, lane = now.thread % kWarpSize;
  Conflicts conflicts;
  bool certain = false, merged = false, two_warps = false;
  uint32_t seen_warp = ~0u;
  size_t kept = 0;
  for (size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    const int other = unordered_lane(group, now.thread, order);
    const bool guarded = group.guard.valid() || now.guard.valid();
    if (other >= 0) {
      const AccessEvent earlier{group.warp * kWarpSize + static_cast<uint32_t>(other), group.instruction, group.role,
                                group.atomic_op, group.guard};
      const bool reads = now.role == Role::Read && group.role == Role::Read;
      const bool atomics = now.role == Role::Atomic && group.role == Role::Atomic;
      const bool same_writes = now.role == Role::Write && group.role == Role::Write && same_value &&
                               now.instruction == group.instruction;
      const bool mixed = atomics && now.atomic_op != group.atomic_op;
      if (mixed || (!reads && !atomics && !same_writes)) {
        if (guarded) {
          conflicts.push_back({earlier, mixed});
        } else if (!certain) {
          conflicts.insert(conflicts.begin(), {earlier, mixed});
          certain = true;
        }
      }
    }
    // Ordered before `now`, or of the same thread: implied by it from here on, unless other lanes share the group.
    const bool same_kind = group.role == now.role && group.atomic_op == now.atomic_op && !guarded;
    if (same_kind && group.warp == warp && group.epoch == order.epoch() &&
        group.clock == order.clock(now.thread) && group.same_value == same_value &&
        group.instruction == now.instruction) {
      group.mask |= 1u << lane;
      merged = true;
    } else if (other < 0 && !now.guard.valid() && (group.role == now.role || now.role == Role::Write)) {
      continue;  // dropped
    }
    if (same_kind) {
      if (seen_warp != ~0u && seen_warp != group.warp) two_warps = true;
      seen_warp = group.warp;
    }
    if (kept != i) groups_[kept] = groups_[i];
    ++kept;
  }
  groups_.resize(kept);
  if (now.role == Role::Write && certain) groups_.clear();
  // Two unordered groups of different warps already conflict with any later access of another kind.
  if (!merged && !(two_warps && now.role != Role::Write))
    groups_.push_back({warp, 1u << lane, order.clock(now.thread), order.epoch(), now.instruction, now.role, now.atomic_op,
                       same_value, now.guard});
  return conflicts;
}

RaceShadow::Granule& RaceShadow::granule(int64_t index) {
  constexpr int64_t kDense = 1 << 16;
  if (index < 0 || index >= kDense) return sparse_[index];
  if (index >= static_cast<int64_t>(dense_.size()))
    dense_.resize(static_cast<size_t>(std::min<int64_t>(kDense, std::max<int64_t>(index + 1, 2 * static_cast<int64_t>(dense_.size())))));
  return dense_[static_cast<size_t>(index)];
}

AccessHistory::Conflicts RaceShadow::access(int64_t offset, int width, const AccessEvent& now, bool same_value,
                                            const HappensBefore& order) {
  AccessHistory::Conflicts conflicts;
  const auto note = [&](AccessHistory::Conflicts&& found) {
    for (const auto& c : found)
      if (conflicts.empty() || (c.earlier.guard.valid() || now.guard.valid())) conflicts.push_back(c);
  };
  for (int64_t at = offset; at < offset + width;) {
    Granule& g = granule(at >> 2);
    const int first = static_cast<int>(at & 3);
    const int count = static_cast<int>(std::min<int64_t>(4 - first, offset + width - at));
    if (count == 4 && g.bytes.empty()) {
      note(g.whole.access(now, same_value, order));
    } else {
      if (g.bytes.empty()) g.bytes.assign(4, g.whole);
      for (int i = 0; i < count; ++i) note(g.bytes[static_cast<size_t>(first + i)].access(now, same_value, order));
    }
    at += count;
  }
  return conflicts;
}

}  // namespace coequal::exec
