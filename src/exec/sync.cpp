#include "exec/sync.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace coequal::exec {

void HappensBefore::join(Clock& into, const Clock& from) {
  into.resize(std::max(into.size(), from.size()));
  for (size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

HappensBefore::HappensBefore(uint32_t threads, bool crosses_warps)
    : wide_(crosses_warps), clocks_(threads, Clock(crosses_warps ? threads : kWarpSize)) {
  for (uint32_t t = 0; t < threads; ++t) clocks_[t][slot(t)] = 1;
}

void HappensBefore::warp_barrier(uint32_t warp, uint32_t mask) {
  const uint32_t first = warp * kWarpSize;
  Clock joined(clocks_[first].size());
  for (uint32_t m = mask; m; m &= m - 1)
    join(joined, clocks_[first + static_cast<uint32_t>(std::countr_zero(m))]);
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint32_t thread = first + static_cast<uint32_t>(std::countr_zero(m));
    clocks_[thread] = joined;
    ++clocks_[thread][slot(thread)];
  }
}

void HappensBefore::cta_barrier() {
  if (!ended_.empty()) {
    ends_.resize(clocks_.size());
    for (const uint32_t t : ended_) ends_[t].epoch = epoch_;
    for (const uint32_t t : ended_) {
      const size_t first = wide_ ? 0 : t / kWarpSize * kWarpSize;
      const size_t last = wide_ ? clocks_.size() : std::min(first + kWarpSize, clocks_.size());
      for (size_t u = first; u < last; ++u)
        if (ends_[u].epoch == ~0u) ends_[t].known = std::max(ends_[t].known, clocks_[u][slot(t)]);
    }
    ended_.clear();
  }
  ++epoch_;
}

uint32_t HappensBefore::lasting(uint32_t warp, uint32_t lanes, uint32_t epoch,
                                uint32_t clock) const {
  if (epoch >= epoch_) return lanes;
  if (ends_.empty()) return 0;
  uint32_t left = 0;
  for (uint32_t m = lanes; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (!is_over(warp * kWarpSize + static_cast<uint32_t>(lane), epoch, clock)) left |= 1u << lane;
  }
  return left;
}

void HappensBefore::arrive(std::span<const uint32_t> threads, Clock& barrier) {
  CHECK(wide_);
  for (const uint32_t t : threads) {
    join(barrier, clocks_[t]);
    ++clocks_[t][t];
  }
}

void HappensBefore::depart(std::span<const uint32_t> threads, const Clock& barrier) {
  for (const uint32_t t : threads) join(clocks_[t], barrier);
}

int AccessHistory::unordered_lane(const Group& group, uint32_t lanes, uint32_t thread,
                                  const HappensBefore& order) {
  const uint32_t own = group.warp == thread / kWarpSize ? 1u << thread % kWarpSize : 0;
  for (uint32_t others = lanes & ~own; others; others &= others - 1) {
    const int lane = std::countr_zero(others);
    if (!order.sees(thread, group.warp * kWarpSize + static_cast<uint32_t>(lane), group.clock))
      return lane;
  }
  return -1;
}

AccessHistory::Finding AccessHistory::access(const AccessEvent& now, const HappensBefore& order,
                                             Agree agree) {
  const uint32_t warp = now.thread / kWarpSize, lane = now.thread % kWarpSize;
  Finding found;
  bool certain = false, asked = false, merged = false, two_warps = false;
  uint32_t seen_warp = ~0u;
  size_t kept = 0;
  for (size_t i = 0; i < groups_.size(); ++i) {
    Group& group = groups_[i];
    if (group.epoch < order.epoch()) {
      group.mask = order.lasting(group.warp, group.mask, group.epoch, group.clock);
      if (!group.mask) continue;
    }
    const int other = unordered_lane(group, group.mask, now.thread, order);
    const bool guarded = group.guard.valid() || now.guard.valid();
    const bool same_bytes = group.at == now.at && group.size == now.size && now.size > 0;
    const bool same_kind = group.role == now.role && group.atomic_op == now.atomic_op &&
                           (now.role != Role::Read || same_bytes || now.size == 0);
    const bool writes = now.role == Role::Write && group.role == Role::Write;
    const auto earlier = [&] {
      return AccessEvent{group.warp * kWarpSize + static_cast<uint32_t>(other),
                         group.instruction,
                         group.role,
                         group.atomic_op,
                         group.guard,
                         group.value,
                         group.at,
                         group.size};
    };
    Agreement agreement = Agreement::Different;
    if (other >= 0 && writes && now.at == group.at && now.size == group.size) {
      if (now.value.is_number() && same_word(now.value, group.value))
        agreement = Agreement::Same;
      else
        agreement = agree(earlier(), now);
    }
    const bool same_write = agreement == Agreement::Same;
    if (other >= 0) {
      const bool reads = now.role == Role::Read && group.role == Role::Read;
      const bool atomics = now.role == Role::Atomic && group.role == Role::Atomic;
      const bool mixed = atomics && now.atomic_op != group.atomic_op;
      found.same_writes |= same_write;
      if (mixed || (!reads && !atomics && !same_write)) {
        Conflict conflict{earlier(), mixed};
        conflict.epoch = group.epoch, conflict.clock = group.clock;
        conflict.may_agree = agreement == Agreement::Perhaps && same_bytes;
        const bool plain = now.role != Role::Atomic && group.role != Role::Atomic;
        if (plain && !writes && !guarded && same_bytes) {
          uint32_t rest = group.mask >> other << other;
          for (int at = other; at >= 0; at = unordered_lane(group, rest, now.thread, order)) {
            conflict.lanes |= 1u << at;
            rest &= ~(1u << at);
          }
          found.raced_loads.push_back(std::move(conflict));
        } else if (conflict.may_agree) {
          // Equality is transitive through a store that happens for certain.
          if (!asked) found.conflicts.push_back(std::move(conflict));
          asked |= !group.guard.valid();
        } else if (guarded) {
          found.conflicts.push_back(std::move(conflict));
        } else if (!certain) {
          found.conflicts.insert(found.conflicts.begin(), std::move(conflict));
          certain = true;
        }
      }
    }
    if (same_kind && !guarded && group.warp == warp && group.epoch == order.epoch() &&
        group.clock == order.clock(now.thread) && group.instruction == now.instruction &&
        (now.role != Role::Write || same_write)) {
      group.mask |= 1u << lane;
      merged = true;
    } else if (other < 0 && !now.guard.valid() && same_kind) {
      continue;  // `now` stands for it
    }
    if (same_kind && !guarded) {
      if (seen_warp != ~0u && seen_warp != group.warp) two_warps = true;
      seen_warp = group.warp;
    }
    if (kept != i) groups_[kept] = std::move(groups_[i]);
    ++kept;
  }
  groups_.resize(kept);
  if (now.role == Role::Write && certain) groups_.clear();
  found.more_loads = !found.raced_loads.empty() && cut_ == order.epoch() + 1;
  // While nothing orders different warps, two groups of two warps already conflict with any later
  // access of another kind.
  const bool enough = two_warps && now.role != Role::Write && !order.crosses_warps();
  if (enough && now.role == Role::Read) cut_ = order.epoch() + 1;
  if (!merged && !enough)
    groups_.push_back({warp, 1u << lane, order.clock(now.thread), order.epoch(), now.instruction,
                       now.role, now.atomic_op, now.guard, now.value, now.at, now.size});
  return found;
}

void AccessHistory::add_own(const AccessEvent& now, const HappensBefore& order) {
  // The new access stands for an older one of its kind, and is the last.
  const size_t same = groups_.empty()               ? 1
                      : groups_[0].role == now.role ? 0
                      : groups_.size() == 2         ? 1
                                                    : 2;
  if (groups_.size() == 2 && same == 0) {
    std::swap(groups_[0], groups_[1]);
  } else if (same >= groups_.size()) {
    groups_.emplace_back();
  }
  Group& g = groups_.back();
  g.warp = now.thread / kWarpSize;
  g.mask = 1u << now.thread % kWarpSize;
  g.clock = order.clock(now.thread);
  g.epoch = order.epoch();
  g.instruction = now.instruction;
  g.role = now.role;
  g.atomic_op = 0;
  g.value = now.value;
  g.at = now.at;
  g.size = now.size;
}

AccessHistory::Finding AccessHistory::look(const AccessEvent& now,
                                           const HappensBefore& order) const {
  Finding found;
  for (const Group& group : groups_) {
    if (group.role == Role::Read && now.role == Role::Read) continue;
    const uint32_t lanes = order.lasting(group.warp, group.mask, group.epoch, group.clock);
    const int other = unordered_lane(group, lanes, now.thread, order);
    if (other < 0) continue;
    found.conflicts.push_back(
        {{group.warp * kWarpSize + static_cast<uint32_t>(other), group.instruction, group.role,
          group.atomic_op, group.guard, group.value, group.at, group.size}});
    if (!group.guard.valid()) break;
  }
  return found;
}

RaceShadow::Granule& RaceShadow::granule(int64_t index) {
  const int64_t number = index >> 5;
  static_assert(kPage == 1 << 5);
  if (!last_ || number != last_number_) {
    std::unique_ptr<Page>& page = pages_[number];
    if (!page) page = std::make_unique<Page>();
    last_ = page.get(), last_number_ = number;
  }
  return (*last_)[static_cast<size_t>(index & (kPage - 1))];
}

AccessHistory::Finding RaceShadow::access(int64_t offset, int width, const AccessEvent& now,
                                          const HappensBefore& order, Agree agree) {
  AccessHistory::Finding all;
  const auto note = [&](AccessHistory::Finding&& found) {
    all.same_writes |= found.same_writes;
    all.more_loads |= found.more_loads;
    for (auto& c : found.conflicts)
      if (all.conflicts.empty() || c.may_agree || c.earlier.guard.valid() || now.guard.valid())
        all.conflicts.push_back(std::move(c));
    std::move(found.raced_loads.begin(), found.raced_loads.end(),
              std::back_inserter(all.raced_loads));
  };
  for (int64_t at = offset; at < offset + width;) {
    Granule& g = granule(at >> 2);
    const int first = static_cast<int>(at & 3);
    const int count = static_cast<int>(std::min<int64_t>(4 - first, offset + width - at));
    if (count == 4 && g.bytes.empty()) {
      note(g.whole.access(now, order, agree));
    } else {
      if (g.bytes.empty()) g.bytes.assign(4, g.whole);
      for (int i = 0; i < count; ++i)
        note(g.bytes[static_cast<size_t>(first + i)].access(now, order, agree));
    }
    at += count;
  }
  return all;
}

bool RaceShadow::own(uint32_t thread, uint32_t instruction, Role role, int64_t offset, int width,
                     const Word* value, const HappensBefore& order) {
  if ((offset | width) & 3) return false;
  for (int64_t at = offset >> 2; at < (offset + width) >> 2; ++at) {
    const Granule& g = granule(at);
    if (!g.bytes.empty() || !g.whole.is_own(thread, role, offset, width)) return false;
  }
  AccessEvent now;
  now.thread = thread, now.instruction = instruction, now.role = role;
  now.at = offset, now.size = width;
  if (value) now.value = *value;
  for (int64_t at = offset >> 2; at < (offset + width) >> 2; ++at)
    granule(at).whole.add_own(now, order);
  return true;
}

void RaceShadow::forget(int64_t offset, int width) {
  for (int64_t at = offset; at < offset + width;) {
    Granule& g = granule(at >> 2);
    const int first = static_cast<int>(at & 3);
    const int count = static_cast<int>(std::min<int64_t>(4 - first, offset + width - at));
    if (count == 4) {
      std::destroy_at(&g);
      std::construct_at(&g);
    } else {
      if (g.bytes.empty()) g.bytes.assign(4, g.whole);
      for (int i = 0; i < count; ++i) {
        AccessHistory& byte = g.bytes[static_cast<size_t>(first + i)];
        std::destroy_at(&byte);
        std::construct_at(&byte);
      }
    }
    at += count;
  }
}

AccessHistory::Finding RaceShadow::look(int64_t offset, int width, const AccessEvent& now,
                                        const HappensBefore& order) {
  for (int64_t at = offset >> 2; at <= (offset + width - 1) >> 2; ++at) {
    const Granule& g = granule(at);
    AccessHistory::Finding found;
    if (g.bytes.empty()) found = g.whole.look(now, order);
    for (const AccessHistory& byte : g.bytes)
      if (found.conflicts.empty()) found = byte.look(now, order);
    if (!found.conflicts.empty()) return found;
  }
  return {};
}

}  // namespace coequal::exec
