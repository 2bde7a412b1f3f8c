// Scheduling and control of one CTA: fragments, branches, barriers, the end.
#include "exec/cta.h"

#include <cxxabi.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <random>

namespace coequal::exec {

using isa::Op;
using ptx::StateSpace;

namespace {

// An arrival without waiting, or a count that may not be that of the whole CTA.
bool has_partial_barriers(const Kernel& kernel, uint32_t threads) {
  const uint32_t whole = (threads + kWarpSize - 1) / kWarpSize * kWarpSize;
  return std::any_of(
      kernel.decoded.body.begin(), kernel.decoded.body.end(), [&](const isa::Decoded& d) {
        if (d.op == Op::BarArrive || d.op == Op::MbarArrive || d.op == Op::CpAsyncMbarArrive ||
            d.op == Op::CpAsyncBulk || d.op == Op::TensorLoad || d.op == Op::StAsync ||
            d.op == Op::SharedBulk || d.op == Op::ClusterArrive)
          return true;
        const size_t at = d.op == Op::BarSync ? 1 : 2;
        const bool counts = (d.op == Op::BarSync && d.text->operands.size() > 1) ||
                            (d.op == Op::BarRed && d.text->operands.size() > 3);
        return counts && (d.text->operands[at].kind != ptx::Operand::Kind::Immediate ||
                          d.text->operands[at].bits != whole);
      });
}

}  // namespace

CtaExecutor::CtaExecutor(Session& session, const ProgramState& state, const Launch& launch,
                         std::vector<tensor::Cta> ctas, const std::set<TensorId>& tracked,
                         const Raced& raced, const TicketCounts& tickets, const TicketCounts* known,
                         const LastPhase* last, const std::vector<Round>& rounds, const Path& path,
                         bool keeps_histories)
    : session_(session),
      store_(session.store),
      state_(state),
      launch_(launch),
      kernel_(*launch.kernel),
      raced_before_(raced),
      tickets_(tickets),
      known_tickets_(known),
      last_(last),
      motions_(path.motions ? path.motions
                            : std::make_shared<tensor::MotionTable>(std::move(ctas))),
      ranks_(launch.ranks()),
      rank_stride_(launch.rank_stride()),
      threads_(ranks_ * rank_stride_),
      thread_states_(threads_),
      order_(threads_, ranks_ > 1 || has_partial_barriers(kernel_, threads_)),
      histories_(keeps_histories ? std::make_shared<tensor::Histories>() : nullptr),
      lockstep_(session.options.assumes("warp-lockstep")),
      takes_tickets_(std::any_of(kernel_.decoded.body.begin(), kernel_.decoded.body.end(),
                                 [](const isa::Decoded& d) { return d.row && d.op == Op::Atom; })),
      contents_(&state),
      path_(path),
      rounds_(rounds),
      exits_(threads_) {
  const ptx::Function& f = *kernel_.function;
  for (uint32_t first = 0; first < threads_; first += kWarpSize) {
    Warp warp;
    warp.index = first / kWarpSize;
    const uint32_t in_cta = first % rank_stride_, size = launch.cta_threads();
    const uint32_t lanes = in_cta < size ? std::min<uint32_t>(kWarpSize, size - in_cta) : 0;
    warp.living = lanes == kWarpSize ? ~0u : (1u << lanes) - 1;
    if (lanes) warp.fragments.push_back({.mask = warp.living, .fork = nullptr});
    warp.registers.resize(f.registers.size());
    warps_.push_back(std::move(warp));
  }

  const auto declare = [&](const ptx::Variable& v) {
    if (launch.variables.contains(&v)) return;
    if (v.space == StateSpace::Shared) {
      if (v.is_extern || v.is_unsized) {
        // All unsized arrays are views of the one dynamic part.
        if (!dynamic_shared_) {
          dynamic_shared_ = static_cast<uint32_t>(shared_.size());
          shared_.push_back({"shared", v.alignment, ByteMemory(launch.dynamic_shared), {}, {}, {}});
        }
        symbols_[&v] = {Place::Shared, *dynamic_shared_};
      } else {
        symbols_[&v] = {Place::Shared, static_cast<uint32_t>(shared_.size())};
        shared_.push_back({ptx::source_name(v.name),
                           v.alignment,
                           ByteMemory(static_cast<int64_t>(v.size)),
                           {},
                           {},
                           {}});
      }
    } else if (v.space == StateSpace::Local || v.space == StateSpace::Param) {
      // A call's parameters are each thread's own.
      symbols_[&v] = {Place::Local, static_cast<uint32_t>(local_variables_.size())};
      local_variables_.push_back(&v);
    } else if ((v.space == StateSpace::Const || v.space == StateSpace::Global) &&
               !v.initial.empty()) {
      // Initialised data of module scope; a store to it is refused.
      symbols_[&v] = {Place::Const, static_cast<uint32_t>(const_variables_.size())};
      const_variables_.push_back(&v);
    }
  };
  for (const ptx::Variable& v : kernel_.module->variables) declare(v);
  for (const ptx::Variable& v : f.locals) declare(v);
  // Each CTA of a cluster has its own.
  const size_t variables = shared_.size();
  shared_.reserve(variables * ranks_);
  for (size_t i = variables; i < variables * ranks_; ++i)
    shared_.push_back({shared_[i % variables].name,
                       shared_[i % variables].alignment,
                       ByteMemory(shared_[i % variables].memory.size()),
                       {},
                       {},
                       {}});

  tensors_.resize(state.tensors->size());
  const bool stores_boxes = std::any_of(
      kernel_.decoded.body.begin(), kernel_.decoded.body.end(),
      [](const isa::Decoded& d) { return d.op == Op::TensorStore || d.op == Op::TensorReduce; });
  for (const Argument& a : launch.args) {
    if (a.kind == Argument::Kind::TensorMap) {
      GlobalTensor& t = tensors_[a.map.tensor];
      t.declared = t.may_read = true;
      t.may_write |= stores_boxes;
    }
    if (a.kind != Argument::Kind::Tensor) continue;
    GlobalTensor& t = tensors_[a.tensor];
    t.declared = true;
    t.may_read |= a.access != Access::Write;
    t.may_write |= a.access != Access::Read;
  }
  for (const auto& [variable, at] : launch.variables) {
    GlobalTensor& t = tensors_[at.tensor];
    t.declared = t.may_read = true;
    t.constant = variable->space == StateSpace::Const;
    t.may_write = !t.constant;
    if (!at.given)
      out_.assumptions.insert(
          {"module-variables",
           fmt::format("variable '{}' of module scope begins with its initial value",
                       ptx::source_name(variable->name))});
  }
  if (launch.workspace) {
    GlobalTensor& t = tensors_[*launch.workspace];
    t.declared = t.may_read = t.may_write = true;
  }
  for (TensorId t = 0; t < tensors_.size(); ++t)
    tensors_[t].tracked = tensors_[t].may_write || tracked.count(t) > 0;
  async_proxy_ = std::any_of(kernel_.decoded.body.begin(), kernel_.decoded.body.end(),
                             [](const isa::Decoded& d) {
                               return d.op == Op::Wgmma || d.op == Op::SharedBulk ||
                                      (d.op >= Op::CpAsyncBulk && d.op <= Op::TensorReduce);
                             });
  find_cas_loops();
  waits_ = find_waits();
  if (ranks_ > 1 && waits_)
    abort(flag_loops_.begin()->first, "a wait for a flag in a launch of clusters");
  if (ranks_ > 1 && shared_.size() + 2 * shared_count() > kMostSharedSlots)
    abort(0, "too many shared variables in a cluster");
  if (waits_) order_ = HappensBefore(threads_, /*crosses_warps=*/true);
  store_.set_reconciler(this);
  if (lockstep_) out_.assumptions.insert({"warp-lockstep", "the lanes of a warp run in lockstep"});
}

CtaExecutor::~CtaExecutor() { store_.set_reconciler(nullptr); }

CtaOutcome CtaExecutor::run() {
  std::vector<size_t> turns(warps_.size());
  std::iota(turns.begin(), turns.end(), size_t{0});
  if (session_.options.order == "backward") std::reverse(turns.begin(), turns.end());
  std::mt19937_64 random(session_.options.seed);
  while (!out_.aborted) {
    bool ran = false;
    if (session_.options.order == "random") std::shuffle(turns.begin(), turns.end(), random);
    for (const size_t turn : turns) {
      Warp& warp = warps_[turn];
      const bool runnable = std::any_of(warp.fragments.begin(), warp.fragments.end(),
                                        [](const Fragment& f) { return f.wait == Wait::Run; });
      if (!runnable) continue;
      run_warp(warp);
      ran = true;
      if (out_.aborted) break;
    }
    if (ran) continue;
    const bool all_gone = std::all_of(warps_.begin(), warps_.end(),
                                      [](const Warp& w) { return w.fragments.empty(); });
    if (all_gone) {
      if (!next_round()) break;
      continue;
    }
    if (release_mbarrier_waits() || release_flag_waits()) continue;
    if (waits_for_flag()) {
      if (release_barrier(false) || out_.aborted || next_round()) continue;
      break;
    }
    if (release_warp_waits()) continue;
    if (!release_barrier()) out_.aborted = true;
  }
  check_ticket();
  if (!out_.aborted) check_warpgroups();
  if (!out_.aborted) check_remote();
  for (const ThreadState& state : thread_states_)
    for (const BulkGroup& group : state.bulk_groups)
      if (!group.reads.empty())
        out_.notes.insert(
            fmt::format("{}: the block may end while this copy still reads its shared memory",
                        to_string(span(async_reads_[group.reads[0]].origin.instruction))));
  finish(out_);
  return std::move(out_);
}

void CtaExecutor::merge(Warp& warp) {
  auto& fragments = warp.fragments;
  for (size_t i = 0; i < fragments.size(); ++i)
    for (size_t j = i + 1; j < fragments.size();) {
      if (fragments[i].pc == fragments[j].pc && fragments[i].wait == fragments[j].wait &&
          fragments[i].fork == fragments[j].fork) {
        fragments[i].mask |= fragments[j].mask;
        fragments[i].passed |= fragments[j].passed;
        fragments[i].forced = false;
        // A collective that waited for lanes looks again.
        if (fragments[i].wait == Wait::Warp || fragments[i].wait == Wait::Cluster)
          fragments[i].wait = Wait::Run;
        fragments.erase(fragments.begin() + static_cast<ptrdiff_t>(j));
      } else {
        ++j;
      }
    }
}

void CtaExecutor::run_warp(Warp& warp) {
  while (!out_.aborted) {
    merge(warp);
    size_t best = warp.fragments.size();
    for (size_t i = 0; i < warp.fragments.size(); ++i)
      if (warp.fragments[i].wait == Wait::Run &&
          (best == warp.fragments.size() || warp.fragments[i].pc < warp.fragments[best].pc))
        best = i;
    if (best == warp.fragments.size()) return;
    const Step step = run_fragment(warp, best);
    if (step == Step::Ended)
      warp.fragments.erase(warp.fragments.begin() + static_cast<ptrdiff_t>(best));
    if (step == Step::Aborted) out_.aborted = true;
    if (step == Step::Parked) {
      // Lanes that wait at the same collective already join this fragment.
      merge(warp);
    }
  }
}

CtaExecutor::Step CtaExecutor::run_fragment(Warp& warp, size_t index) {
  const auto& body = kernel_.decoded.body;
  while (true) {
    // Another fragment at or before this position: the lower one first, equal ones together.
    uint32_t limit = ~0u;
    bool watched = false;
    for (size_t i = 0; i < warp.fragments.size(); ++i) {
      if (i != index && warp.fragments[i].wait == Wait::Run)
        limit = std::min(limit, warp.fragments[i].pc);
      watched |= warp.fragments[i].wait == Wait::Warp;
    }
    while (true) {
      Fragment& fragment = warp.fragments[index];
      fork_ = fragment.fork.get();
      if (fork_ && fragment.pc == fork_->reconverge) {
        arrive(warp, fragment.fork, fragment.mask);
        return Step::Ended;
      }
      if (fragment.pc >= body.size()) {
        leave(warp, fragment, fragment.mask);
        return Step::Ended;
      }
      out_.thread_instructions += std::popcount(fragment.mask);
      if ((++ticks_ & 255) == 0 && (session_.budget.spent() || memory_spent())) {
        out_.out_of_budget = true;
        return Step::Aborted;
      }
      if (watched) note_passing(warp, fragment);
      const size_t fragments = warp.fragments.size();
      const Step result = step(warp, fragment, body[fragment.pc]);
      if (result == Step::Parked || result == Step::Ended || result == Step::Aborted) return result;
      if (result == Step::Next) ++warp.fragments[index].pc;
      if (warp.fragments.size() != fragments) break;  // diverged: a new limit
      if (warp.fragments[index].pc >= limit) return Step::Next;
    }
    // After a split the fragment with the lower position goes first.
    return Step::Next;
  }
}

CtaExecutor::Step CtaExecutor::step(Warp& warp, Fragment& fragment, const isa::Decoded& d) {
  const uint32_t pc = fragment.pc;
  pc_ = pc;
  if (!d.row) {
    for (const Diagnostic& diagnostic : kernel_.decoded.refusals)
      out_.refusals.push_back(
          {kernel_.function->body[pc].spelling(), diagnostic.span, diagnostic.message});
    return Step::Aborted;
  }
  if (d.op == Op::Bra) {
    uint32_t taken = fragment.mask, symbolic = 0;
    if (d.text->guard) taken = guard_mask(warp, fragment.mask, *d.text->guard, &symbolic);
    if (out_.aborted) return Step::Aborted;
    if (symbolic) return fork(warp, fragment, symbolic, taken, d.text->operands[0].target);
    return branch(warp, fragment, taken, d.text->operands[0].target);
  }

  uint32_t active = fragment.mask, symbolic = 0;
  if (d.text->guard) active = guard_mask(warp, fragment.mask, *d.text->guard, &symbolic);
  if (out_.aborted) return Step::Aborted;

  switch (d.op) {
    case Op::Pure:
    case Op::Mov:
    case Op::Cvta:
    case Op::Mapa:
    case Op::GetCtaRank:
    case Op::Isspacep: {
      if (!(active | symbolic)) return Step::Next;
      if (cas_test(pc)) {
        for (uint32_t m = active; m; m &= m - 1)
          write(warp, std::countr_zero(m), d.text->operands[0],
                Word::concrete(d.compare == isa::Compare::Eq));
        return Step::Next;
      }
      // Under a guard on data the destination keeps its old value where the guard is false.
      std::vector<Word> old;
      std::vector<Word> guards;
      std::vector<const ptx::Operand*> targets;
      if (symbolic) {
        if (d.writes_cc) return abort(pc, "a carry chain under a guard on data");
        for (size_t i = 0; targets.size() < d.dst_types.size(); ++i) {
          const ptx::Operand& op = d.text->operands[i];
          if (op.kind != ptx::Operand::Kind::Vector) targets.push_back(&op);
          for (const ptx::Operand& e : op.elements) targets.push_back(&e);
        }
        for (uint32_t m = symbolic; m; m &= m - 1) {
          const int lane = std::countr_zero(m);
          guards.push_back(operand(warp, lane, *d.text->guard, 1));
          for (size_t i = 0; i < targets.size(); ++i)
            old.push_back(operand(warp, lane, *targets[i], d.dst_types[i].width));
        }
      }
      if (d.op == Op::Pure) {
        OperandHistories sources;
        if (histories_) sources = operand_histories(warp, active | symbolic, d);
        execute_pure(warp, active | symbolic, d, pc);
        if (histories_) set_histories(warp, active | symbolic, d, pc, sources);
        if (ticket_ && d.text->opcode == "setp") decide_by_ticket(warp, active | symbolic, d);
      } else if (d.op == Op::Mapa || d.op == Op::GetCtaRank) {
        execute_mapa(warp, active | symbolic, d, pc);
      } else {
        execute_mov(warp, active | symbolic, d);
      }
      if (symbolic) {
        size_t at = 0, which = 0;
        for (uint32_t m = symbolic; m; m &= m - 1, ++which) {
          const int lane = std::countr_zero(m);
          Term condition = term_of(guards[which], {isa::OperandType::Class::Pred, 1, false, {}});
          if (d.text->guard->negated) condition = store_.make(term::Kind::Not, {condition});
          for (const ptx::Operand* target : targets) {
            const Word& before = old[at++];
            if (target->kind != ptx::Operand::Kind::Register) continue;
            const Word now = warp.registers[target->reg].get(lane);
            if (!same_machine_word(now, before))
              write(warp, lane, *target,
                    join(target->reg, condition, histories_ ? history_of(guards[which]) : 0, now,
                         before));
          }
        }
      }
      return out_.aborted ? Step::Aborted : Step::Next;
    }
    case Op::Nop:
    case Op::Prefetch:
      return Step::Next;
    case Op::Fence:
      execute_fence(warp, active | symbolic, d);
      if (d.text->has("proxy") && d.text->has("async") && !d.text->has("global"))
        for (uint32_t m = active; m; m &= m - 1)
          fence_proxy(warp.index * kWarpSize + static_cast<uint32_t>(std::countr_zero(m)));
      return Step::Next;
    default:
      break;
  }
  const bool ends = d.op == Op::Ret || d.op == Op::Exit;
  const bool touches = d.op == Op::Ld || d.op == Op::St || d.op == Op::Atom || d.op == Op::Red;
  if (symbolic && touches && wait_loop(pc)) return abort(pc, "a wait under a guard on data");
  if (symbolic && ends)
    return fork(warp, fragment, symbolic, active, static_cast<uint32_t>(body_size()));
  if (symbolic && d.op == Op::Trap) {
    predicated_ = symbolic;
    for (uint32_t m = symbolic; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
      guard_by_data(warp, lane, d, thread);
      report_end(lane, thread, pc, "a trap is reached");
    }
    predicated_ = 0;
    return out_.aborted ? Step::Aborted
           : active     ? end_launch(warp, fragment, active, "a trap is reached")
                        : Step::Next;
  }
  if (symbolic && !touches)
    return split(warp, std::countr_zero(symbolic), pc,
                 "'" + d.text->spelling() + "' under a guard on data");
  if (fork_ && !touches && !ends && d.effect != isa::Effect::Control)
    return split(warp, std::countr_zero(fragment.mask), pc,
                 "'" + d.text->spelling() + "' in a branch that depends on data");
  // Lanes that execute one instruction together are ordered before the next one. Arms of a branch
  // on data have no order.
  if (lockstep_ && !fork_ && (touches || d.effect == isa::Effect::Async))
    order_.warp_barrier(warp.index, fragment.mask);
  std::vector<std::pair<const ptx::Operand*, std::array<Word, kWarpSize>>> kept;
  std::array<uint32_t, kWarpSize> decided_by{};
  predicated_ = symbolic;
  if (symbolic) {
    for (uint32_t m = symbolic; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      guard_by_data(warp, lane, d, warp.index * kWarpSize + static_cast<uint32_t>(lane));
      if (histories_)
        decided_by[static_cast<size_t>(lane)] = history_of(operand(warp, lane, *d.text->guard, 1));
    }
    // What a guarded load or atomic does not write keeps its old value.
    const auto keep = [&](const ptx::Operand& op, auto&& self) -> void {
      for (const ptx::Operand& e : op.elements) self(e, self);
      if (op.kind != ptx::Operand::Kind::Register) return;
      kept.emplace_back(&op, std::array<Word, kWarpSize>{});
      for (uint32_t m = symbolic; m; m &= m - 1)
        kept.back().second[static_cast<size_t>(std::countr_zero(m))] =
            warp.registers[op.reg].get(std::countr_zero(m));
    };
    if (d.op == Op::Ld || d.op == Op::Atom) keep(d.text->operands[0], keep);
    active |= symbolic;
    const Step done = d.op == Op::Ld   ? execute_load(warp, active, d, pc)
                      : d.op == Op::St ? execute_store(warp, active, d, pc)
                                       : execute_atomic(warp, active, d, pc);
    predicated_ = 0;
    for (const auto& [op, words] : kept)
      for (uint32_t m = symbolic; m; m &= m - 1) {
        const int lane = std::countr_zero(m);
        const Word now = warp.registers[op->reg].get(lane);
        const Word& old = words[static_cast<size_t>(lane)];
        if (!same_machine_word(now, old))
          warp.registers[op->reg].set(lane, join(op->reg, predicate_[static_cast<size_t>(lane)],
                                                 decided_by[static_cast<size_t>(lane)], now, old));
      }
    return done;
  }

  switch (d.op) {
    case Op::Ld:
      if (active && wait_loop(pc)) return wait_for_flag(warp, fragment, active);
      return active ? execute_load(warp, active, d, pc) : Step::Next;
    case Op::St:
      return active ? execute_store(warp, active, d, pc) : Step::Next;
    case Op::Atom:
    case Op::Red:
      if (active && wait_loop(pc)) return wait_for_flag(warp, fragment, active);
      return active ? execute_atomic(warp, active, d, pc) : Step::Next;
    case Op::CpAsync:
    case Op::CpAsyncCommit:
    case Op::CpAsyncWaitGroup:
    case Op::CpAsyncWaitAll:
      return active ? execute_copy_async(warp, active, d, pc) : Step::Next;
    case Op::CpAsyncBulk:
    case Op::BulkStore:
    case Op::BulkReduce:
    case Op::TensorLoad:
    case Op::TensorStore:
    case Op::TensorReduce:
      return active ? execute_bulk_copy(warp, active, d, pc) : Step::Next;
    case Op::SharedBulk:
    case Op::StAsync:
      return active ? execute_store_async(warp, active, d, pc) : Step::Next;
    case Op::ClusterArrive:
    case Op::ClusterWait:
      return active ? reach_cluster_barrier(warp, fragment, active, d) : Step::Next;
    case Op::BulkCommit:
    case Op::BulkWait:
      return active ? execute_bulk_group(warp, active, d) : Step::Next;
    case Op::MbarInit:
    case Op::MbarInval:
    case Op::MbarArrive:
    case Op::MbarExpect:
    case Op::MbarWait:
    case Op::CpAsyncMbarArrive:
      return active ? execute_mbarrier(warp, fragment, active, d) : Step::Next;
    case Op::Shfl:
    case Op::Vote:
    case Op::Match:
    case Op::Redux:
    case Op::Elect:
    case Op::BarWarpSync:
      return active ? reach_collective(warp, fragment, active, d) : Step::Next;
    case Op::Mma:
      return active ? execute_mma(warp, fragment, active, d) : Step::Next;
    case Op::LdMatrix:
    case Op::StMatrix:
    case Op::MovMatrix:
      return active ? execute_matrix_move(warp, fragment, active, d) : Step::Next;
    case Op::WmmaLoad:
    case Op::WmmaStore:
    case Op::WmmaMma:
      return active ? execute_wmma(warp, fragment, active, d) : Step::Next;
    case Op::Wgmma:
    case Op::WgmmaFence:
    case Op::WgmmaCommit:
    case Op::WgmmaWait:
    case Op::SetMaxNReg:
      return active ? execute_wgmma(warp, fragment, active, d) : Step::Next;
    case Op::Activemask:
      for (uint32_t m = active; m; m &= m - 1)
        write(warp, std::countr_zero(m), d.text->operands[0],
              refused_at(pc, "which lanes run together depends on how they are scheduled"));
      return Step::Next;
    case Op::Ret:
    case Op::Exit: {
      if (!active) return Step::Next;
      fragment.mask &= ~active;
      const bool rest = fragment.mask != 0;
      leave(warp, fragment, active);
      return out_.aborted ? Step::Aborted : rest ? Step::Next : Step::Ended;
    }
    case Op::BarSync:
    case Op::BarArrive:
    case Op::BarRed:
      return active ? reach_barrier(warp, fragment, active, d) : Step::Next;
    case Op::BrxIdx:
      return active ? branch_by_index(warp, fragment, active, d) : Step::Next;
    case Op::Call:
      return active ? execute_call(warp, fragment, active, d) : Step::Next;
    case Op::Trap:
      return active ? end_launch(warp, fragment, active, "a trap is reached") : Step::Next;
    default:
      if (!active) return Step::Next;
      return abort(pc, "'" + d.text->spelling() + "' is not executed yet");
  }
}

void CtaExecutor::guard_by_data(const Warp& warp, int lane, const isa::Decoded& d,
                                uint32_t thread) {
  Term condition = term_of(operand(warp, lane, *d.text->guard, 1),
                           {isa::OperandType::Class::Pred, 1, false, {}});
  if (d.text->guard->negated) condition = store_.make(term::Kind::Not, {condition});
  predicate_[static_cast<size_t>(lane)] = condition;
  branch_on_poison(condition, lane, thread, pc_);
}

CtaExecutor::Step CtaExecutor::branch_by_index(Warp& warp, Fragment& fragment, uint32_t active,
                                               const isa::Decoded& d) {
  const uint32_t pc = fragment.pc;
  const std::vector<uint32_t>& targets =
      kernel_.function->branch_lists.at(d.text->operands[1].text);
  std::map<uint32_t, uint32_t> lanes;  // by where they go
  uint32_t beyond = 0;
  for (uint32_t m = active; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const Word w = operand(warp, lane, d.text->operands[0], 32);
    if (!w.is_number()) {
      beyond |= 1u << lane;  // each place of the table was compared with it (exec/inline.cpp)
      continue;
    }
    const uint64_t index = concretize(w, 32);
    if (index >= targets.size())
      return abort(pc, fmt::format("a jump through a table of {} places at index {}",
                                   targets.size(), index));
    lanes[targets[index]] |= 1u << lane;
  }
  if (beyond) {
    const Step step = end_launch(
        warp, fragment, beyond,
        fmt::format("a jump through a table of {} places at an index beyond them", targets.size()));
    return step == Step::Next ? Step::Jumped : step;  // the other lanes come here again
  }
  if (const uint32_t rest = fragment.mask & ~active) lanes[pc + 1] |= rest;
  fragment.pc = lanes.begin()->first;
  fragment.mask = lanes.begin()->second;
  const std::shared_ptr<Fork> outer = fragment.fork;
  for (auto it = std::next(lanes.begin()); it != lanes.end(); ++it)
    warp.fragments.push_back({.mask = it->second, .pc = it->first, .fork = outer});
  return Step::Jumped;
}

CtaExecutor::Step CtaExecutor::execute_call(Warp& warp, Fragment& fragment, uint32_t mask,
                                            const isa::Decoded& d) {
  const uint32_t pc = fragment.pc;
  const auto frame = kernel_.inlined.frames.find(pc);
  if (frame == kernel_.inlined.frames.end()) {
    const auto& operands = d.text->operands;
    const auto target = std::find_if(operands.begin(), operands.end(), [](const ptx::Operand& op) {
      return op.kind == ptx::Operand::Kind::CallTarget;
    });
    if (target == operands.end()) return abort(pc, "a call through a register is reached");
    if (target->text == "__assertfail")
      return end_launch(warp, fragment, mask, "an assertion fails");
    if (target->text != "vprintf") return abort(pc, "a call of '" + target->text + "' is reached");
    // What is printed is no output. The count that comes back is not modelled.
    for (auto op = operands.begin(); op != target; ++op)
      for (const ptx::Operand& result : op->elements)
        for (uint32_t m = mask; m; m &= m - 1) {
          const int lane = std::countr_zero(m);
          const Word count = refused_at(pc, "the result of vprintf");
          write(warp, lane, result, count);
          if (result.kind != ptx::Operand::Kind::Symbol) continue;
          const ptx::Variable& variable = kernel_.function->locals[result.index];
          ByteMemory& memory = local(warp.index * kWarpSize + static_cast<uint32_t>(lane),
                                     symbols_.at(&variable).second);
          memory = ByteMemory(static_cast<int64_t>(variable.size));
          memory.store(0, static_cast<int>(variable.size),
                       extract(count, 8, 0, static_cast<int>(variable.size)));
        }
    return Step::Next;
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t first = frame->second.first_register;
    for (uint32_t r = first; r < first + frame->second.register_count; ++r)
      warp.registers[r].set(lane, Word{});
    for (const uint32_t v : frame->second.locals) {
      const ptx::Variable& variable = kernel_.function->locals[v];
      local(warp.index * kWarpSize + static_cast<uint32_t>(lane), symbols_.at(&variable).second) =
          ByteMemory(static_cast<int64_t>(variable.size));
    }
  }
  return Step::Next;
}

void CtaExecutor::end_lanes(Warp& warp, uint32_t mask) {
  warp.living &= ~mask;
  warp.at_cluster &= ~mask;
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(std::countr_zero(m));
    exits_[thread] = order_.epoch();
    order_.end(thread);
  }
  for (Fragment& f : warp.fragments)
    if (f.wait == Wait::Cluster) f.wait = Wait::Run;
  open_cluster_barrier();
}

void CtaExecutor::leave(Warp& warp, const Fragment& fragment, uint32_t mask) {
  if (!fragment.fork) {
    report_passed(warp, mask);
    end_lanes(warp, mask);
  } else {
    // A thread can end inside an arm only if the arms meet at the exit.
    CHECK(fragment.fork->reconverge == ptx::Cfg::kExit);
    const std::shared_ptr<Fork> fork = fragment.fork;
    arrive(warp, fork, mask);
  }
}

CtaExecutor::Step CtaExecutor::branch(Warp& warp, Fragment& fragment, uint32_t taken,
                                      uint32_t target) {
  const uint32_t rest = fragment.mask & ~taken;
  if (!taken) return Step::Next;
  const uint32_t next = fragment.pc + 1;
  fragment.pc = target;
  fragment.mask = taken;
  if (rest) warp.fragments.push_back({.mask = rest, .pc = next, .fork = fragment.fork});
  return Step::Jumped;
}

void CtaExecutor::finish(CtaOutcome& out) {
  out.pieces.motions = motions_;
  if (ticket_) out.pieces.ticket = ticket_->place;
  out.pieces.last_order = accesses_ - 1;
  out.pieces.histories = histories_;
  for (TensorId id = 0; id < tensors_.size(); ++id) {
    GlobalTensor& t = tensors_[id];
    std::move(t.reads.begin(), t.reads.end(), std::back_inserter(out.pieces.reads));
    if (last_ && ticket_ && ticket_->wraps && ticket_->place.tensor == id) {
      GlobalEntry zero;
      zero.motion = ticket_->place.motion;
      zero.word = Word::concrete(0);
      zero.origin = {ticket_->when.thread, ticket_->instruction};
      zero.behind = true;
      auto [it, fresh] = t.stores.try_emplace(ticket_->place.cell, zero);
      if (!fresh && !it->second.behind) it->second = zero;
    }
    if (t.stores.empty() && t.atomics.empty()) continue;
    const DType dtype = (*state_.tensors)[id].dtype;
    const int bits = 8 * dtype_size(dtype);
    const isa::OperandType type =
        is_float(dtype)
            ? isa::OperandType{isa::OperandType::Class::Float, static_cast<uint8_t>(bits), false,
                               tensor::float_format(dtype)}
            : isa::OperandType{
                  isa::OperandType::Class::Bits, static_cast<uint8_t>(bits), false, {}};
    tensor::TensorPiece piece;
    piece.tensor = id;
    for (uint32_t i = 0; i < t.atomics.size() && !last_; ++i)
      if (!t.overwritten.contains(i)) piece.atomics.push_back(std::move(t.atomics[i]));
    piece.stores.reserve(t.stores.size());
    for (const auto& [cell, entry] : t.stores) {
      if (last_ && !entry.behind) continue;
      const bool stored = entry.guarded && entry.stored.tag != Tag::Unset;
      tensor::CellStore s{cell,
                          entry.motion,
                          term_of(entry.word, type),
                          entry.origin,
                          entry.guarded,
                          entry.before_atomics,
                          entry.guard,
                          stored ? term_of(entry.stored, type) : Term{},
                          entry.released,
                          entry.other_writes,
                          false,
                          entry.order};
      // The value does not tell the sign of a zero.
      const term::Rational* number = store_.as_rational(s.value);
      s.known_bits = entry.word.tag == Tag::Concrete || (entry.word.has_bits() && number);
      s.known_bits &= !(number && number->is_zero() && entry.word.bits);
      if (histories_) s.history = history_of(entry.word);
      if (histories_ && stored) s.stored_history = history_of(entry.stored);
      piece.stores.push_back(std::move(s));
    }
    std::sort(piece.stores.begin(), piece.stores.end(),
              [](const tensor::CellStore& a, const tensor::CellStore& b) {
                return std::pair(a.motion, a.cell) < std::pair(b.motion, b.cell);
              });
    out.pieces.tensors.push_back(std::move(piece));
  }
}

SourceSpan CtaExecutor::span(uint32_t pc) const {
  const auto& body = kernel_.function->body;
  return pc < body.size() ? kernel_.module->span_of(body[pc])
                          : SourceSpan{kernel_.module->path, 0, 0};
}

coequal::Access CtaExecutor::access(coequal::Access::Kind kind, uint32_t thread,
                                    uint32_t pc) const {
  coequal::Access a;
  a.kind = kind;
  const auto& b = launch_.block;
  const tensor::Cta cta = cta_of(thread);
  thread %= rank_stride_;
  a.thread = {thread % b[0], thread / b[0] % b[1], thread / b[0] / b[1]};
  a.block = {cta[0], cta[1], cta[2]};
  a.launch = launch_.index;
  a.span = span(pc);
  return a;
}

void CtaExecutor::report(DefectKind kind, std::string message,
                         std::vector<coequal::Access> accesses) {
  Defect defect;
  defect.kind = kind;
  defect.program = state_.name;
  defect.message = std::move(message);
  defect.accesses = std::move(accesses);
  add_defect(out_.defects, std::move(defect));
}

CtaExecutor::Step CtaExecutor::abort(uint32_t pc, std::string reason) {
  out_.refusals.push_back({kernel_.function->body[pc].spelling(), span(pc), std::move(reason)});
  out_.aborted = true;
  return Step::Aborted;
}

}  // namespace coequal::exec
