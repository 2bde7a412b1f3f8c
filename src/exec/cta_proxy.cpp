// Accesses of the asynchronous proxy to shared memory. (PTX ISA, "Async proxy", "membar, fence".)
//
// What the asynchronous proxy reads or overwrites must be ordered behind ordinary writes by a proxy
// fence as well: one that the write comes before and that comes before the access. Its own writes
// are seen by whoever has waited for them. Its reads go on behind the instruction that starts them,
// until someone has waited for their end.
#include <algorithm>
#include <bit>

#include "exec/cta.h"

namespace coequal::exec {

using Accessed = coequal::Access;

void CtaExecutor::note_generic_write(SharedVariable& v, int64_t offset, int width, uint32_t thread,
                                     uint32_t pc) {
  if (!async_proxy_) return;
  const Moment now = moment(thread);
  if (last_generic_.empty()) last_generic_.resize(threads_);
  uint32_t& last = last_generic_[thread];
  if (last == 0 || generic_writes_[last - 1].when.epoch != now.epoch ||
      generic_writes_[last - 1].when.clock != now.clock ||
      !generic_writes_[last - 1].fences.empty()) {
    generic_writes_.push_back({now, {}});
    last = static_cast<uint32_t>(generic_writes_.size());
    unsettled_.push_back(last - 1);
  }
  const uint32_t write = last - 1;
  for (int64_t at = offset >> 2; at <= (offset + width - 1) >> 2; ++at) {
    auto& writes = v.generic[at];
    if (offset <= 4 * at && 4 * at + 4 <= offset + width) writes.clear();
    if (std::none_of(writes.begin(), writes.end(),
                     [&](const auto& entry) { return entry.first == write; }))
      writes.emplace_back(write, pc);
  }
}

void CtaExecutor::fence_proxy(uint32_t thread) {
  if (!async_proxy_) return;
  std::erase_if(unsettled_, [&](uint32_t write) {
    GenericWrite& w = generic_writes_[write];
    // An earlier fence of a thread stands for its later ones.
    bool own = false;
    for (const Moment& fence : w.fences) {
      if (order_.is_over(fence.thread, fence.epoch, fence.clock)) return true;
      own |= fence.thread == thread;
    }
    if (!own && is_before(w.when, thread)) w.fences.push_back(moment(thread));
    return false;
  });
}

bool CtaExecutor::crosses_proxy(const SharedVariable& v, int64_t offset, int width, uint32_t thread,
                                uint32_t pc) {
  if (v.generic.empty()) return true;
  for (int64_t at = offset >> 2; at <= (offset + width - 1) >> 2; ++at) {
    const auto found = v.generic.find(at);
    if (found == v.generic.end()) continue;
    for (const auto& [write, instruction] : found->second) {
      const GenericWrite& w = generic_writes_[write];
      if (std::any_of(w.fences.begin(), w.fences.end(),
                      [&](const Moment& m) { return is_before(m, thread); }))
        continue;
      Accessed first = access(Accessed::Kind::Write, w.when.thread, instruction);
      Accessed second = access(Accessed::Kind::Copy, thread, pc);
      first.where = second.where = v.name;
      first.index = second.index = std::to_string(4 * at);
      first.bytes = second.bytes = 4;
      report(DefectKind::SharedRace,
             "no fence.proxy.async orders a write to shared memory before an access of the "
             "asynchronous proxy",
             {first, second});
      return false;
    }
  }
  return true;
}

void CtaExecutor::async_write(SharedVariable& v, int64_t offset, int width) {
  if (v.generic.empty()) return;
  for (int64_t at = offset >> 2; at <= (offset + width - 1) >> 2; ++at) v.generic.erase(at);
}

uint32_t CtaExecutor::new_async_read(uint32_t thread, uint32_t pc, uint64_t owner) {
  async_reads_.push_back({{thread, pc}, owner, {}, nullptr});
  return static_cast<uint32_t>(async_reads_.size() - 1);
}

bool CtaExecutor::async_read(const Location& at, int width, uint32_t warp, uint32_t lanes,
                             uint32_t pc, uint32_t read) {
  SharedVariable& v = shared_[at.object];
  const int64_t offset = at.offset;
  const uint32_t base = warp * kWarpSize;
  const uint32_t first = base + static_cast<uint32_t>(std::countr_zero(lanes));
  bool good = true;
  for (uint32_t m = lanes; m && good; m &= m - 1) {
    const uint32_t thread = base + static_cast<uint32_t>(std::countr_zero(m));
    if (!v.pending_copies.empty())
      for (int64_t b = offset; b < offset + width && good; b += 4) {
        const auto it = v.pending_copies.find(b);
        if (it == v.pending_copies.end() || is_complete(it->second, thread)) continue;
        Accessed a =
            access(Accessed::Kind::Copy, it->second.origin.thread, it->second.origin.instruction);
        Accessed r = access(Accessed::Kind::Read, thread, pc);
        a.where = r.where = v.name;
        a.index = r.index = std::to_string(b);
        a.bytes = r.bytes = 4;
        report(DefectKind::UnwaitedCopy,
               "an asynchronous copy is used before it is known to be complete", {a, r});
        good = false;
      }
    const AccessEvent now = event(thread, pc, Role::Read);
    const AccessHistory::Finding found = v.shadow.look(offset, width, now, order_);
    if (!found.conflicts.empty()) {
      report_races(Place::Shared, at.object, offset, width, found, now);
      good = false;
    }
  }
  good = good && crosses_proxy(v, offset, width, first, pc);
  const uint64_t owner = async_reads_[read].owner;
  for (int64_t part = offset >> 4; part <= (offset + width - 1) >> 4; ++part) {
    auto& readers = v.readers[part];
    if (!readers.empty() && readers.back() == read) continue;
    std::erase_if(readers, [&](uint32_t id) { return async_reads_[id].owner == owner; });
    readers.push_back(read);
  }
  return good && !is_raced(Place::Shared, at.object, offset, width);
}

void CtaExecutor::overwrites_async_read(const SharedVariable& v, int64_t offset, int width,
                                        uint32_t thread, uint32_t pc) {
  if (v.readers.empty()) return;
  for (int64_t part = offset >> 4; part <= (offset + width - 1) >> 4; ++part) {
    const auto found = v.readers.find(part);
    if (found == v.readers.end()) continue;
    for (const uint32_t id : found->second) {
      const AsyncRead& read = async_reads_[id];
      if (read.end && is_over(*read.end, thread)) continue;
      if (std::any_of(read.done.begin(), read.done.end(),
                      [&](const Moment& m) { return is_before(m, thread); }))
        continue;
      Accessed a = access(Accessed::Kind::Copy, read.origin.thread, read.origin.instruction);
      Accessed w = access(Accessed::Kind::Write, thread, pc);
      a.where = w.where = v.name;
      a.index = w.index = std::to_string(offset);
      a.bytes = w.bytes = width;
      report(DefectKind::UnwaitedCopy,
             "shared memory is written while an asynchronous operation may still read it", {a, w});
      return;
    }
  }
}

}  // namespace coequal::exec
