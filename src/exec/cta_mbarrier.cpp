// mbarrier objects: phases that complete when so many arrivals and bytes have come. (PTX ISA,
// "Parallel Synchronization and Communication Instructions: mbarrier".)
//
// Arrivals of one phase are ordered before whatever follows a wait that saw the phase complete, as
// far as their scope and the wait's reach; what a bulk copy's bytes complete is ordered before
// nothing but the use of the copy. A
// wait is followed only as part of a loop that does nothing but wait: then a thread simply stays
// until its phase is complete, whatever the schedule. An arrival counts for the phase that is open
// when it comes; that this is the same one in every schedule is known if the thread knows all
// arrivals of the phase before. What changes or asks for a phase without being one of the arrivals
// that it needs (bytes to expect, a wait that the phase before lets pass) must come before one of
// them, else the phase may be over when it comes.
#include <algorithm>
#include <bit>

#include "exec/cta.h"

namespace coequal::exec {

using isa::Op;
using ptx::Operand;
using ptx::StateSpace;
using Accessed = coequal::Access;

namespace {

// Of Role::Atomic events: operations on one mbarrier do not conflict with each other.
constexpr uint16_t kMbarrierOperation = 0xff;
constexpr const char* kUnknownPhase =
    "which phase of an mbarrier this is for depends on how threads are scheduled";
// Completed phases whose order is kept.
constexpr uint64_t kKeptPhases = 32;

}  // namespace

bool CtaExecutor::only_waits(uint32_t pc) {
  const auto [known, fresh] = wait_loops_.try_emplace(pc);
  if (!fresh) return known->second;
  const auto& body = kernel_.decoded.body;
  const auto& blocks = kernel_.cfg->blocks();
  const std::set<uint32_t> loop = innermost_loop(kernel_.cfg->block_of(pc));
  if (loop.empty() || body[pc].text->guard ||
      body[pc].text->operands[0].kind != Operand::Kind::Register)
    return false;
  // What depends on the wait's answer, and on nothing else that the loop makes.
  std::set<uint32_t> answers{body[pc].text->operands[0].reg}, made;
  for (const uint32_t b : loop)
    for (uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) {
      const isa::Decoded& d = body[i];
      const bool allowed =
          d.row && (d.op == Op::Pure || d.op == Op::Mov || d.op == Op::Cvta || d.op == Op::Nop ||
                    d.op == Op::Bra || d.op == Op::Fence || i == pc);
      if (!allowed) return false;
      if (d.text->operands.size() > 0 && d.op != Op::Bra &&
          d.text->operands[0].kind == Operand::Kind::Register)
        made.insert(d.text->operands[0].reg);
      for (const Operand& op : d.text->operands)
        if (op.kind == Operand::Kind::Special &&
            (op.text.starts_with("%clock") || op.text.starts_with("%globaltimer")))
          return false;
    }
  for (bool changed = true; changed;) {
    changed = false;
    for (const uint32_t b : loop)
      for (uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) {
        const isa::Decoded& d = body[i];
        if ((d.op != Op::Pure && d.op != Op::Mov) || d.text->guard) continue;
        const auto& operands = d.text->operands;
        bool from_answer = false, else_constant = true;
        for (size_t k = 1; k < operands.size(); ++k) {
          const bool is_register = operands[k].kind == Operand::Kind::Register;
          from_answer |= is_register && answers.contains(operands[k].reg);
          else_constant &=
              is_register ? answers.contains(operands[k].reg) || !made.contains(operands[k].reg)
                          : operands[k].kind == Operand::Kind::Immediate ||
                                operands[k].kind == Operand::Kind::Special;
        }
        if (from_answer && else_constant && operands[0].kind == Operand::Kind::Register)
          changed |= answers.insert(operands[0].reg).second;
      }
  }
  for (const uint32_t b : loop)
    for (const uint32_t n : blocks[b].successors) {
      if (loop.contains(n)) continue;
      const isa::Decoded& last = body[blocks[b].end - 1];
      if (last.op != Op::Bra || !last.text->guard || !answers.contains(last.text->guard->reg))
        return false;
    }
  return wait_loops_[pc] = true;
}

CtaExecutor::Mbarrier* CtaExecutor::mbarrier(Warp& warp, int lane, const Operand& op,
                                             StateSpace space, uint32_t pc, uint32_t rank) {
  const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
  const bool initializes = kernel_.decoded.body[pc].op == Op::MbarInit;
  const bool writes = initializes || kernel_.decoded.body[pc].op == Op::MbarInval;
  const Addresses places = addresses(warp, lane, op, space, pc, true);
  if (out_.aborted) return nullptr;
  if (places.size() != 1 || places[0].location.place != Place::Shared) {
    if (!places.empty()) abort(pc, "an mbarrier outside shared memory");
    return nullptr;
  }
  const Location at = rank == kNoRank ? places[0].location : in_rank(places[0].location, rank);
  if (!check(places[0], 8, 8, true, thread, pc)) return nullptr;
  if ((writes || kernel_.decoded.body[pc].op == Op::MbarWait) &&
      at.object / shared_count() != rank_of(thread)) {
    abort(pc, "an mbarrier of another block, at which threads can arrive only");
    return nullptr;
  }
  SharedVariable& v = shared_[at.object];
  const auto found = v.mbarriers.find(at.offset);
  if (initializes) {
    // Like a write it comes behind all that was done here; what follows asks knows_object.
    const AccessHistory::Finding before =
        v.shadow.look(at.offset, 8, event(thread, pc, Role::Read), order_);
    if (!before.conflicts.empty())
      report_races(Place::Shared, at.object, at.offset, 8, before,
                   write_event(thread, pc, at.offset, Word::concrete(pc)));
  }
  track(v.shadow, Place::Shared, at.object, at.offset, 8,
        writes && !initializes ? write_event(thread, pc, at.offset, Word::concrete(pc))
                               : event(thread, pc, Role::Atomic, kMbarrierOperation));
  if (found != v.mbarriers.end()) {
    if (!initializes) knows_object(found->second, at, thread, pc);
    return &found->second;
  }
  if (initializes) return &v.mbarriers[at.offset];
  out_.aborted = true;
  // Made invalid in no order with this: the race is the cause.
  if (v.invalidated.contains(at.offset) &&
      out_.raced.places.contains({Place::Shared, at.object, at.offset >> 2}))
    return nullptr;
  Defect defect;
  defect.kind = DefectKind::UninitializedRead;
  Accessed a = access(Accessed::Kind::Barrier, thread, pc);
  a.where = v.name;
  a.index = std::to_string(at.offset);
  a.bytes = 8;
  report(DefectKind::UninitializedRead, "an mbarrier is used that was not initialised", {a});
  return nullptr;
}

bool CtaExecutor::knows_object(const Mbarrier& b, const Location& at, uint32_t thread,
                               uint32_t pc) {
  if (is_before(b.made, thread)) return true;
  const auto made = made_known_.find(thread);
  if (made != made_known_.end() && b.made.thread < made->second.size() &&
      made->second[b.made.thread] >= b.made.clock)
    return true;
  AccessHistory::Finding found;
  found.conflicts.push_back({event(b.made.thread, b.made_by, Role::Write)});
  report_races(Place::Shared, at.object, at.offset, 8, found,
               event(thread, pc, Role::Atomic, kMbarrierOperation));
  return false;
}

bool CtaExecutor::reaches_cluster(uint32_t pc) {
  if (ranks_ == 1) return true;
  const isa::Decoded& d = kernel_.decoded.body[pc];
  if (d.scope == isa::Scope::Cta) return false;
  if (d.scope == isa::Scope::None) {
    // The manual's default is the block.
    if (!session_.options.assumes("cluster-scope")) return false;
    out_.assumptions.insert(
        {"cluster-scope", fmt::format("'{}' at {} orders what blocks of a cluster do",
                                      d.text->spelling(), to_string(span(pc)))});
  }
  return true;
}

bool CtaExecutor::is_over(const PhaseEnd& phase, uint32_t thread) const {
  const auto before = [&](const Moment& m) { return is_before(m, thread); };
  if (!phase.silent && std::all_of(phase.arrivals.begin(), phase.arrivals.end(), before))
    return true;
  return std::any_of(phase.seen.begin(), phase.seen.end(), before);
}

bool CtaExecutor::has_reached(const Moment& m, uint32_t thread) const {
  if (is_before(m, thread)) return true;
  const auto found = reached_.find(thread);
  return found != reached_.end() && m.thread < found->second.size() &&
         found->second[m.thread] >= m.clock;
}

bool CtaExecutor::has_passed(const PhaseEnd& phase, uint32_t thread) const {
  const auto reached = [&](const Moment& m) { return has_reached(m, thread); };
  if (!phase.silent && std::all_of(phase.arrivals.begin(), phase.arrivals.end(), reached))
    return true;
  return std::any_of(phase.seen.begin(), phase.seen.end(), reached);
}

bool CtaExecutor::knows_phase(const Mbarrier& b, uint32_t thread, uint32_t pc) {
  const bool over = has_passed(*b.before, thread);
  if (!over) abort(pc, kUnknownPhase);
  return over;
}

bool CtaExecutor::arrive_at_mbarrier(Mbarrier& b, uint32_t thread, uint32_t count, uint32_t pc) {
  if (!knows_phase(b, thread, pc)) return false;
  if (count == 0 || count > b.pending) {
    abort(pc, fmt::format("{} arrivals at an mbarrier that waits for {} more", count, b.pending));
    return false;
  }
  const uint32_t threads[] = {thread};
  HappensBefore::Clock ignored;
  b.open->arrivals.push_back(moment(thread));
  if (const auto reached = reached_.find(thread); reached != reached_.end())
    HappensBefore::join(b.released.reached, reached->second);
  if (kernel_.decoded.body[pc].text->has("relaxed")) {
    b.open->silent = true;
    order_.arrive(threads, ignored);
  } else if (ranks_ == 1) {
    order_.arrive(threads, b.released.wide);
  } else if (b.rank == rank_of(thread)) {
    order_.arrive(threads, b.released.near);
  } else if (reaches_cluster(pc)) {
    order_.arrive(threads, b.released.wide);
  } else {
    b.open->silent = true;
    order_.arrive(threads, ignored);
  }
  b.pending -= count;
  std::erase_if(b.loose, [&](const Mbarrier::Loose& entry) {
    const auto before = [&](const Moment& m) { return has_reached(m, thread); };
    return before(entry.when) ||
           (entry.met && std::any_of(entry.met->begin(), entry.met->end(), before));
  });
  complete_phase(b);
  return !out_.aborted;
}

void CtaExecutor::complete_phase(Mbarrier& b) {
  if (b.pending || b.bytes) return;
  if (!b.loose.empty()) {
    abort(b.loose.front().instruction, kUnknownPhase);
    return;
  }
  b.done[b.phase] = std::move(b.released);
  if (b.phase >= kKeptPhases) b.done.erase(b.phase - kKeptPhases);
  b.released = {};
  b.earlier = std::move(b.before);
  b.before = std::move(b.open);
  b.open = std::make_shared<PhaseEnd>();
  b.pending = b.expected;
  ++b.phase;
  // Copies that the phase stood for have landed, for those who know of it.
  const std::shared_ptr<const PhaseEnd> known = b.before;
  for (const uint32_t read : b.reads) async_reads_[read].end = known;
  b.reads.clear();
  for (const auto& [variable, offset, copy] : b.copies)
    if (const auto it = shared_[variable].pending_copies.find(offset);
        it != shared_[variable].pending_copies.end() && it->second.copy == copy)
      it->second.done = known;
  for (const auto& [tensor, cell, copy] : b.sources)
    for (PendingCopy& p : tensors_[tensor].copied_from[cell])
      if (p.copy == copy) p.done = known;
  b.copies.clear();
  b.sources.clear();
}

void CtaExecutor::note_meeting(const Warp& warp, uint32_t lanes) {
  if (mbarriers_ == 0) return;
  const uint32_t base = warp.index * kWarpSize, first = rank_of(base) * shared_count();
  std::shared_ptr<const std::vector<Moment>> met;
  for (uint32_t i = first; i < first + shared_count(); ++i)
    for (auto& [offset, b] : shared_[i].mbarriers)
      for (Mbarrier::Loose& entry : b.loose) {
        if (entry.met || entry.when.thread / kWarpSize != warp.index ||
            !(lanes >> entry.when.thread % kWarpSize & 1))
          continue;
        if (!met) {
          std::vector<Moment> now;
          for (uint32_t m = lanes; m; m &= m - 1)
            now.push_back(moment(base + static_cast<uint32_t>(std::countr_zero(m))));
          met = std::make_shared<const std::vector<Moment>>(std::move(now));
        }
        entry.met = met;
      }
}

Word CtaExecutor::mbarrier_state(const Mbarrier& b) {
  return Word::symbolic(poison_term(fmt::format("{} mbarrier state", kernel_.function->name),
                                    term::bv(64), static_cast<int64_t>(b.serial << 32 | b.phase),
                                    {PoisonSource::Kind::Refused,
                                     "",
                                     {"mbarrier.arrive", {}, "the state of an mbarrier is a value"},
                                     {}}));
}

std::optional<uint64_t> CtaExecutor::awaited_phase(Warp& warp, int lane, const Mbarrier& b,
                                                   const isa::Decoded& d, uint32_t pc) {
  const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
  const Word w = operand(warp, lane, d.text->operands[2], 64);
  const std::string unknown = "the phase that '" + d.text->spelling() + "' names is not known";
  if (d.text->has("parity")) {
    if (w.tag != Tag::Concrete) {
      abort(pc, unknown);
      return std::nullopt;
    }
    const uint64_t parity = concretize(w, 32) & 1;
    // The next phase of that parity that the thread has not waited for.
    const auto waited = b.waited.find(thread);
    uint64_t phase = waited == b.waited.end() ? 0 : waited->second + 1;
    if ((phase & 1) != parity) ++phase;
    // The phase before the open one is complete: a fresh object has completed one of parity 1, and
    // who has waited for the last one finds it complete again.
    if (phase == b.phase + 1) return UINT64_MAX;
    return phase;
  }
  if (w.tag != Tag::Bits || store_.kind(w.term) != term::Kind::Poison) {
    abort(pc, unknown);
    return std::nullopt;
  }
  const auto token = static_cast<uint64_t>(store_.anchor(w.term, 0).cell);
  if (mbarrier_state(b).term.shape() != w.term.shape() || token >> 32 != b.serial) {
    abort(pc, unknown);
    return std::nullopt;
  }
  return token & 0xffffffff;
}

CtaExecutor::Step CtaExecutor::execute_mbarrier(Warp& warp, Fragment& fragment, uint32_t mask,
                                                const isa::Decoded& d) {
  const uint32_t pc = fragment.pc;
  const auto& operands = d.text->operands;
  const auto number = [&](int lane, const Operand& op) -> std::optional<uint32_t> {
    const Word w = operand(warp, lane, op, 32);
    if (w.tag == Tag::Concrete) return static_cast<uint32_t>(concretize(w, 32));
    abort(pc, "a count of '" + d.text->spelling() + "' depends on data");
    return std::nullopt;
  };
  if (d.op == Op::MbarWait) return wait_at_mbarrier(warp, fragment, mask, d);
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
    const bool answers = d.op == Op::MbarArrive;
    Mbarrier* b = mbarrier(warp, lane, operands[answers ? 1 : 0], d.space, pc);
    if (!b) {
      if (out_.aborted) return Step::Aborted;
      continue;
    }
    switch (d.op) {
      case Op::MbarInit: {
        const auto count = number(lane, operands[1]);
        if (!count) return Step::Aborted;
        *b = Mbarrier{};
        b->serial = ++mbarriers_;
        b->made = moment(thread);
        b->made_by = pc;
        b->rank = rank_of(thread);
        b->expected = b->pending = *count;
        break;
      }
      case Op::MbarInval: {
        SharedVariable& v =
            shared_[addresses(warp, lane, operands[0], d.space, pc, true)[0].location.object];
        std::erase_if(v.mbarriers, [&](const auto& entry) {
          if (&entry.second != b) return false;
          v.invalidated.insert(entry.first);
          return true;
        });
        break;
      }
      case Op::MbarArrive: {
        const bool transfers = d.text->has("expect_tx");
        std::optional<uint32_t> count = 1;
        if (operands.size() > 2) count = number(lane, operands[2]);
        if (!count) return Step::Aborted;
        const Word state = mbarrier_state(*b);
        if (transfers) b->bytes += *count;
        // Later phases wait for fewer arrivals.
        if (d.text->has("arrive_drop"))
          b->expected -= std::min(b->expected, transfers ? 1 : *count);
        if (!arrive_at_mbarrier(*b, thread, transfers ? 1 : *count, pc)) return Step::Aborted;
        write(warp, lane, operands[0], state);
        break;
      }
      case Op::MbarExpect: {
        const auto count = number(lane, operands[1]);
        if (!count || !knows_phase(*b, thread, pc)) return Step::Aborted;
        b->bytes += *count;
        b->loose.push_back({moment(thread), pc});
        break;
      }
      case Op::CpAsyncMbarArrive: {
        // Arrives when all copies that the thread has issued are complete; without .noinc the phase
        // waits for one more arrival, which this is. They have landed when the phase is complete.
        ThreadState& state = thread_states_[thread];
        state.copy_groups.push_back(std::move(state.open_copies));
        state.open_copies.clear();
        for (const auto& group : state.copy_groups)
          for (const AsyncCopy& copy : group) {
            // Who knows of this instruction need not know that they are complete.
            b->open->silent = true;
            land(copy, *b);
            int64_t size = 0;
            for (const auto& part : copy.parts) size += part.second;
            note_generic_write(shared_[copy.variable], copy.offset, static_cast<int>(size), thread,
                               copy.instruction);
          }
        state.copy_groups.clear();
        const bool extra = !d.text->has("noinc");
        if (extra) ++b->pending;
        if (!arrive_at_mbarrier(*b, thread, 1, pc)) return Step::Aborted;
        if (extra) b->loose.push_back({moment(thread), pc});
        break;
      }
      default:
        CHECK(false);
    }
  }
  return Step::Next;
}

void CtaExecutor::land(const AsyncCopy& copy, Mbarrier& b) {
  SharedVariable& v = shared_[copy.variable];
  int64_t at = copy.offset;
  for (const auto& [word, width] : copy.parts) {
    v.memory.store(at, width,
                   is_raced(Place::Shared, copy.variable, at, width) ? tainted_word(width) : word);
    for (int i = 0; i < width; ++i) b.copies.push_back({copy.variable, at + i, copy.id});
    at += width;
  }
  for (const int64_t c : copy.cells) b.sources.push_back({copy.tensor, c, copy.id});
}

CtaExecutor::Step CtaExecutor::wait_at_mbarrier(Warp& warp, Fragment& fragment, uint32_t mask,
                                                const isa::Decoded& d) {
  const uint32_t pc = fragment.pc;
  if (!only_waits(pc))
    return abort(pc,
                 "a test of an mbarrier outside a loop that only waits: its answer depends on how "
                 "threads are scheduled");
  uint32_t ready = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
    Mbarrier* b = mbarrier(warp, lane, d.text->operands[1], d.space, pc);
    if (!b) {
      if (out_.aborted) return Step::Aborted;
      ready |= 1u << lane;
      continue;
    }
    const auto phase = awaited_phase(warp, lane, *b, d, pc);
    if (!phase) return Step::Aborted;
    if (*phase != UINT64_MAX) {
      // A parity names another phase if the thread comes while an earlier one is open.
      const bool parity = d.text->has("parity");
      if (*phase >= b->phase) {
        if (parity && !knows_phase(*b, thread, pc)) return Step::Aborted;
        continue;
      }
      const auto done = b->done.find(*phase);
      if (done == b->done.end() || *phase + 1 != b->phase)
        return abort(pc, "a wait for a phase of an mbarrier that is long over");
      if (parity && !has_passed(*b->earlier, thread)) return abort(pc, kUnknownPhase);
      const uint32_t threads[] = {thread};
      const auto see = [&](const HappensBefore::Clock& clock) {
        if (!clock.empty()) order_.depart(threads, clock);
      };
      see(done->second.near);
      if (!done->second.wide.empty() && reaches_cluster(pc)) see(done->second.wide);
      if (!done->second.reached.empty())
        HappensBefore::join(reached_[thread], done->second.reached);
      b->before->seen.push_back(moment(thread));
      b->waited[thread] = *phase;
    }
    // Were the open phase over already, the wait would be for another one.
    b->loose.push_back({moment(thread), pc});
    write(warp, lane, d.text->operands[0], Word::concrete(1));
    ready |= 1u << lane;
  }
  const uint32_t rest = fragment.mask & ~mask, waiting = mask & ~ready;
  if (!waiting) return Step::Next;
  const std::shared_ptr<Fork> fork = fragment.fork;
  fragment.mask = waiting;
  fragment.wait = Wait::Mbarrier;
  if (rest | ready) warp.fragments.push_back({.mask = rest | ready, .pc = pc + 1, .fork = fork});
  return Step::Parked;
}

bool CtaExecutor::release_mbarrier_waits() {
  // Whoever waits looks again if some phase has completed since.
  uint64_t phases = 0;
  for (const SharedVariable& v : shared_)
    for (const auto& [offset, b] : v.mbarriers) phases += b.phase + b.serial;
  if (phases == phases_seen_) return false;
  phases_seen_ = phases;
  bool any = false;
  for (Warp& warp : warps_)
    for (Fragment& f : warp.fragments)
      if (f.wait == Wait::Mbarrier) {
        f.wait = Wait::Run;
        any = true;
      }
  return any;
}

}  // namespace coequal::exec
