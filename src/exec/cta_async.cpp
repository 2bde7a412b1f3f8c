// Asynchronous copies of one CTA: their completion, and what may not be touched before it.
#include <algorithm>
#include <bit>

#include "exec/cta.h"

namespace coequal::exec {

using ptx::StateSpace;
using Accessed = coequal::Access;

CtaExecutor::Step CtaExecutor::execute_copy_async(Warp& warp, uint32_t mask, const isa::Decoded& d,
                                                  uint32_t pc) {
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
    ThreadState& state = thread_states_[thread];
    if (d.op == isa::Op::CpAsyncCommit) {
      state.copy_groups.push_back(std::move(state.open_copies));
      state.open_copies.clear();
      continue;
    }
    if (d.op == isa::Op::CpAsyncWaitGroup) {
      wait_copies(thread, concretize(operand(warp, lane, d.text->operands[0], 32), 32));
      continue;
    }
    if (d.op == isa::Op::CpAsyncWaitAll) {
      state.copy_groups.push_back(std::move(state.open_copies));
      state.open_copies.clear();
      wait_copies(thread, 0);
      continue;
    }
    // cp.async [dst], [src], size{, src_size}: the rest of the destination is filled with zeros.
    const ptx::Operand& size_operand = d.text->operands[2];
    if (size_operand.kind != ptx::Operand::Kind::Immediate)
      return abort(pc, "the size of an asynchronous copy is no constant");
    const int size = static_cast<int>(size_operand.bits);
    int source_size = size;
    if (d.text->operands.size() > 3) {
      const Word w = operand(warp, lane, d.text->operands[3], 32);
      if (!w.is_number())
        return abort(pc, "the source size of an asynchronous copy depends on data");
      source_size = static_cast<int>(concretize(w, 32));
      if (source_size > size)
        return abort(pc, "the source size of an asynchronous copy is larger than its size");
    }
    const Addresses targets =
        addresses(warp, lane, d.text->operands[0], StateSpace::Shared, pc, true);
    if (out_.aborted) return Step::Aborted;
    if (targets.empty()) continue;
    if (targets.size() != 1)
      return abort(pc, "the destination of an asynchronous copy depends on data");
    const Address& to = targets[0];
    if (!check(to, size, size, true, thread, pc)) continue;
    AsyncCopy copy;
    copy.id = ++copies_;
    copy.instruction = pc;
    copy.variable = to.location.object;
    copy.offset = to.location.offset;
    bool ok = true;
    if (source_size > 0) {
      const Addresses sources =
          addresses(warp, lane, d.text->operands[1], StateSpace::Global, pc, false);
      if (out_.aborted) return Step::Aborted;
      if (sources.size() > 1)
        return abort(pc, "the source of an asynchronous copy depends on data");
      const Address from = sources.empty() ? Address{} : sources[0];
      ok = !sources.empty() && check_global(from, source_size, size, false, thread, pc);
      const int step = ok ? std::min(4, (*state_.tensors)[from.location.object].element_size()) : 4;
      for (int done = 0; done < source_size; done += step) {
        Address part = from;
        part.location.offset += done;
        copy.parts.emplace_back(
            ok ? load_global(part, step, thread, pc, false, true) : tainted_word(step), step);
      }
      if (ok && tensors_[from.location.object].tracked) {
        const int element = (*state_.tensors)[from.location.object].element_size();
        copy.tensor = from.location.object;
        const int64_t last = (from.location.offset + source_size - 1) / element;
        for (int64_t c = from.location.offset / element; c <= last; ++c) {
          copy.cells.push_back(c);
          tensors_[copy.tensor].copied_from[c].push_back({copy.id, {thread, pc}, nullptr});
        }
      }
    }
    for (int done = source_size; done < size;) {
      const int step = done % 4 ? 4 - done % 4 : 4;
      copy.parts.emplace_back(Word::concrete(0), step);
      done += step;
    }
    SharedVariable& v = shared_[copy.variable];
    track(v.shadow, Place::Shared, copy.variable, copy.offset, size,
          write_event(thread, pc, copy.offset, Word::concrete(copy.id)));
    overwrites_copy(v, copy.offset, size, thread, pc);
    for (int64_t b = copy.offset; b < copy.offset + size; ++b)
      v.pending_copies[b] = {copy.id, {thread, pc}, nullptr};
    state.open_copies.push_back(std::move(copy));
    if (out_.aborted) return Step::Aborted;
  }
  return Step::Next;
}

void CtaExecutor::wait_copies(uint32_t thread, size_t outstanding) {
  ThreadState& state = thread_states_[thread];
  while (state.copy_groups.size() > outstanding) {
    for (const AsyncCopy& copy : state.copy_groups.front()) {
      SharedVariable& v = shared_[copy.variable];
      int64_t at = copy.offset;
      for (const auto& [word, width] : copy.parts) {
        // The copy counts as the waiting thread's write at the wait: a barrier after it shows it to
        // the others.
        track(v.shadow, Place::Shared, copy.variable, at, width,
              write_event(thread, copy.instruction, at, word));
        note_generic_write(v, at, width, thread, copy.instruction);
        v.memory.store(
            at, width,
            is_raced(Place::Shared, copy.variable, at, width) ? tainted_word(width) : word);
        for (int b = 0; b < width; ++b)
          if (const auto it = v.pending_copies.find(at + b);
              it != v.pending_copies.end() && it->second.copy == copy.id)
            v.pending_copies.erase(it);
        at += width;
      }
      for (const int64_t c : copy.cells) {
        std::vector<PendingCopy>& readers = tensors_[copy.tensor].copied_from[c];
        std::erase_if(readers, [&](const PendingCopy& p) { return p.copy == copy.id; });
      }
    }
    state.copy_groups.erase(state.copy_groups.begin());
  }
}

bool CtaExecutor::is_complete(const PendingCopy& copy, uint32_t thread) const {
  return copy.done && is_over(*copy.done, thread);
}

bool CtaExecutor::reads_copied(const SharedVariable& v, int64_t offset, int width, uint32_t thread,
                               uint32_t pc) {
  if (v.pending_copies.empty()) return false;
  for (int64_t b = offset; b < offset + width; ++b) {
    const auto it = v.pending_copies.find(b);
    if (it == v.pending_copies.end() || is_complete(it->second, thread)) continue;
    Accessed a =
        access(Accessed::Kind::Copy, it->second.origin.thread, it->second.origin.instruction);
    Accessed r = access(Accessed::Kind::Read, thread, pc);
    a.where = r.where = v.name;
    a.index = r.index = std::to_string(b);
    a.bytes = r.bytes = width;
    report(DefectKind::UnwaitedCopy,
           "an asynchronous copy is used before it is known to be complete", {a, r});
    return true;
  }
  return false;
}

void CtaExecutor::overwrites_copy(const SharedVariable& v, int64_t offset, int width,
                                  uint32_t thread, uint32_t pc) {
  overwrites_async_read(v, offset, width, thread, pc);
  if (v.pending_copies.empty()) return;
  for (int64_t b = offset; b < offset + width; ++b)
    if (const auto it = v.pending_copies.find(b);
        it != v.pending_copies.end() && !is_complete(it->second, thread)) {
      Accessed a =
          access(Accessed::Kind::Copy, it->second.origin.thread, it->second.origin.instruction);
      Accessed w = access(Accessed::Kind::Write, thread, pc);
      a.where = w.where = v.name;
      a.index = w.index = std::to_string(b);
      a.bytes = w.bytes = width;
      report(DefectKind::UnwaitedCopy,
             "the destination of an asynchronous copy is written before the copy is complete",
             {a, w});
      return;
    }
}

void CtaExecutor::overwrites_source(TensorId id, int64_t cell, uint32_t thread, uint32_t pc) {
  GlobalTensor& t = tensors_[id];
  const auto it = t.copied_from.find(cell);
  if (it == t.copied_from.end()) return;
  const tensor::TensorInfo& info = (*state_.tensors)[id];
  for (const PendingCopy& pending : it->second) {
    if (is_complete(pending, thread)) continue;
    Accessed a = access(Accessed::Kind::Copy, pending.origin.thread, pending.origin.instruction);
    Accessed w = access(Accessed::Kind::Write, thread, pc);
    a.where = w.where = info.name;
    a.index = w.index = info.index_text(cell);
    a.bytes = w.bytes = info.element_size();
    Defect defect;
    defect.kind = DefectKind::UnwaitedCopy;
    defect.message = "the source of an asynchronous copy is written before the copy is complete";
    defect.accesses = {std::move(a), std::move(w)};
    report_under(guard(static_cast<int>(thread % kWarpSize)), std::move(defect), /*race=*/true);
    ThreadState& owner = thread_states_[pending.origin.thread];
    const auto spoil = [&](std::vector<AsyncCopy>& copies) {
      for (AsyncCopy& copy : copies)
        if (copy.id == pending.copy)
          for (auto& [word, width] : copy.parts) word = tainted_word(width);
    };
    spoil(owner.open_copies);
    for (auto& group : owner.copy_groups) spoil(group);
  }
}

}  // namespace coequal::exec
