// Barriers of the CTA and named barriers of part of it. (PTX ISA, "bar, barrier".)
//
// A warp arrives when all its living lanes have reached the barrier, and counts as 32 threads. A
// barrier without a count opens when every warp that still lives waits there; one with a count when
// so many have arrived. Which warps meet in one round must not depend on the schedule: an arrival
// is accepted for a round only if the round before is known to be over, from the order of memory
// alone.
#include <algorithm>
#include <bit>

#include "exec/cta.h"

namespace coequal::exec {

using isa::Op;
using term::Kind;

namespace {

constexpr isa::OperandType kPred{isa::OperandType::Class::Pred, 1, false, {}};
constexpr isa::OperandType kBits32{isa::OperandType::Class::Bits, 32, false, {}};

}  // namespace

CtaExecutor::Step CtaExecutor::reach_barrier(Warp& warp, Fragment& fragment, uint32_t mask,
                                             const isa::Decoded& d) {
  const uint32_t pc = fragment.pc;
  if (d.op == Op::BarRed)
    for (uint32_t m = mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      const ptx::Operand& p = d.text->operands.back();
      Word value = operand(warp, lane, p, 1);
      if (p.negated) {
        const uint32_t history = histories_ ? history_by("negated", 0, history_of(value)) : 0;
        value = word_of(store_.make(Kind::Not, {term_of(value, kPred)}), kPred);
        value.history = history;
      }
      thread_states_[warp.index * kWarpSize + static_cast<uint32_t>(lane)].barrier_predicate =
          value;
    }
  fragment.wait = Wait::Barrier;
  fragment.arrived = false;
  if (mask != fragment.mask) {
    const uint32_t rest = fragment.mask & ~mask;
    fragment.mask = mask;
    warp.fragments.push_back({.mask = rest, .pc = pc + 1, .fork = fragment.fork});
  }
  return Step::Parked;
}

std::optional<std::pair<uint32_t, uint32_t>> CtaExecutor::barrier_operands(
    const Warp& warp, const Fragment& fragment) {
  // bar.sync a{, b}; bar.arrive a, b; bar.red.op d, a{, b}, p
  const isa::Decoded& d = kernel_.decoded.body[fragment.pc];
  const size_t first = d.op == Op::BarRed ? 1 : 0;
  const size_t given = d.text->operands.size() - first - (d.op == Op::BarRed ? 1 : 0);
  std::optional<std::pair<uint32_t, uint32_t>> found;
  for (uint32_t m = fragment.mask; m; m &= m - 1) {
    uint32_t values[2] = {0, 0};
    for (size_t i = 0; i < std::min<size_t>(given, 2); ++i) {
      const Word w = operand(warp, std::countr_zero(m), d.text->operands[first + i], 32);
      if (!w.is_number()) {
        abort(fragment.pc, "the barrier that '" + d.text->spelling() + "' names depends on data");
        return std::nullopt;
      }
      values[i] = static_cast<uint32_t>(concretize(w, 32));
    }
    if (values[0] > 15 || (given > 1 && (values[1] == 0 || values[1] % kWarpSize != 0))) {
      abort(fragment.pc,
            fmt::format(
                "barrier {} of {} threads: ids are at most 15, counts multiples of the warp size",
                values[0], values[1]));
      return std::nullopt;
    }
    if (found && *found != std::pair(values[0], values[1])) {
      abort(fragment.pc, "the lanes of a warp name different barriers");
      return std::nullopt;
    }
    found = {values[0], values[1]};
  }
  return found;
}

CtaExecutor::Arrival CtaExecutor::arrive_at_barrier(Warp& warp) {
  std::vector<Fragment*> here;
  uint32_t lanes = 0;
  for (Fragment& f : warp.fragments)
    if (f.wait == Wait::Barrier && !f.arrived) {
      here.push_back(&f);
      lanes |= f.mask;
    }
  if (here.empty()) return Arrival::Missing;
  const auto named = barrier_operands(warp, *here[0]);
  if (!named) return Arrival::Failed;
  const auto [id, count] = *named;
  const bool arrives = kernel_.decoded.body[here[0]->pc].op == Op::BarArrive;
  for (size_t i = 1; i < here.size(); ++i) {
    const auto other = barrier_operands(warp, *here[i]);
    if (!other) return Arrival::Failed;
    const isa::Decoded &a = kernel_.decoded.body[here[i - 1]->pc],
                       &b = kernel_.decoded.body[here[i]->pc];
    if (a.aligned || b.aligned) {
      const uint32_t base = warp.index * kWarpSize;
      report(DefectKind::BarrierDivergence,
             "lanes of one warp wait at different barrier instructions",
             {access(coequal::Access::Kind::Barrier,
                     base + static_cast<uint32_t>(std::countr_zero(here[i - 1]->mask)),
                     here[i - 1]->pc),
              access(coequal::Access::Kind::Barrier,
                     base + static_cast<uint32_t>(std::countr_zero(here[i]->mask)), here[i]->pc)});
      return Arrival::Failed;
    }
    if (*other != *named) return Arrival::Missing;
    if ((b.op == Op::BarArrive) != arrives) {
      abort(here[i]->pc, "lanes of one warp that arrive at a barrier and others that wait there");
      return Arrival::Failed;
    }
  }
  if (lanes != warp.living) return Arrival::Missing;

  const uint32_t rank = rank_of(warp.index * kWarpSize);
  Barrier& barrier = barriers_[rank << 4 | id];
  const uint32_t pc = here[0]->pc;
  if (barrier.warps > 0 && (barrier.counts != (count > 0) || barrier.expected != count)) {
    abort(pc, fmt::format("barrier {} is given different thread counts in one round", id));
    return Arrival::Failed;
  }
  std::vector<uint32_t> threads;
  for (uint32_t m = lanes; m; m &= m - 1)
    threads.push_back(warp.index * kWarpSize + static_cast<uint32_t>(std::countr_zero(m)));
  if (count > 0) {
    const bool again = std::find(barrier.seen_warps.begin(), barrier.seen_warps.end(),
                                 warp.index) != barrier.seen_warps.end();
    const bool over =
        !barrier.used || barrier.last_epoch < order_.epoch() ||
        std::any_of(barrier.departed.begin(), barrier.departed.end(), [&](const auto& d) {
          return std::any_of(threads.begin(), threads.end(),
                             [&](uint32_t t) { return order_.sees(t, d.first, d.second); });
        });
    if (again || !over) {
      abort(pc,
            fmt::format("which warps meet at barrier {} depends on how they are scheduled", id));
      return Arrival::Failed;
    }
  }
  // Where there are other CTAs, the barrier of one is no epoch.
  if ((count > 0 && order_.crosses_warps()) || ranks_ > 1) order_.arrive(threads, barrier.clock);
  barrier.expected = count;
  barrier.counts = count > 0;
  barrier.arrived += kWarpSize;
  ++barrier.warps;
  barrier.seen_warps.push_back(warp.index);
  for (Fragment* f : here) {
    if (arrives) {
      f->wait = Wait::Run;
      ++f->pc;
    } else {
      f->arrived = true;
      barrier.waiting.emplace_back(warp.index, f->pc);
    }
  }
  return Arrival::Counted;
}

bool CtaExecutor::open_barriers() {
  std::vector<uint32_t> living_of(ranks_);
  for (const Warp& w : warps_) living_of[rank_of(w.index * kWarpSize)] += w.living != 0;
  bool any = false;
  for (auto& [id, barrier] : barriers_) {
    if (barrier.warps == 0) continue;
    const uint32_t living = living_of[id >> 4];
    if (barrier.counts ? barrier.arrived < barrier.expected : barrier.warps < living) continue;
    complete_barrier(barrier);
    any = true;
  }
  return any;
}

bool CtaExecutor::release_barrier(bool last_resort) {
  bool any = open_barriers();
  for (Warp& warp : warps_) {
    const Arrival arrival = arrive_at_barrier(warp);
    if (arrival == Arrival::Failed) return false;
    if (arrival == Arrival::Missing) continue;
    any = true;
    open_barriers();
  }
  if (!any && last_resort) report_deadlock();
  return any;
}

void CtaExecutor::report_deadlock() {
  std::vector<coequal::Access> accesses;
  std::set<uint32_t> seen;
  uint32_t waiting = 0;
  for (Warp& warp : warps_)
    for (Fragment& fragment : warp.fragments) {
      waiting += static_cast<uint32_t>(std::popcount(fragment.mask));
      if (!seen.insert(fragment.pc).second || accesses.size() > 3) continue;
      accesses.push_back(
          access(coequal::Access::Kind::Barrier,
                 warp.index * kWarpSize + static_cast<uint32_t>(std::countr_zero(fragment.mask)),
                 fragment.pc));
    }
  report(DefectKind::BarrierDivergence,
         fmt::format("a barrier can never be satisfied: {} thread{} wait{}", waiting,
                     waiting == 1 ? "" : "s", waiting == 1 ? "s" : ""),
         std::move(accesses));
}

void CtaExecutor::complete_barrier(Barrier& barrier) {
  std::vector<std::pair<Warp*, Fragment*>> waiting;
  uint32_t waiting_threads = 0, living = 0;
  const uint32_t rank = rank_of(barrier.seen_warps.front() * kWarpSize);
  for (Warp& warp : warps_) {
    if (rank_of(warp.index * kWarpSize) != rank) continue;
    living += static_cast<uint32_t>(std::popcount(warp.living));
    for (Fragment& f : warp.fragments)
      if (f.arrived && std::find(barrier.waiting.begin(), barrier.waiting.end(),
                                 std::pair(warp.index, f.pc)) != barrier.waiting.end()) {
        waiting.emplace_back(&warp, &f);
        waiting_threads += static_cast<uint32_t>(std::popcount(f.mask));
      }
  }
  std::optional<Term> all, any;
  Term count = store_.bits(0, 32);
  std::vector<Word> words;
  for (auto [warp, fragment] : waiting) {
    if (kernel_.decoded.body[fragment->pc].op != Op::BarRed) continue;
    for (uint32_t m = fragment->mask; m; m &= m - 1) {
      const Word& word =
          thread_states_[warp->index * kWarpSize + static_cast<uint32_t>(std::countr_zero(m))]
              .barrier_predicate;
      words.push_back(word);
      const Term p = term_of(word, kPred);
      count = store_.make(Kind::BvAdd, {count, store_.make(Kind::BvOfBool, {p}, 0, 32)});
      all = all ? store_.make(Kind::And, {*all, p}) : p;
      any = any ? store_.make(Kind::Or, {*any, p}) : p;
    }
  }
  const uint32_t history = histories_ && any ? history_of_all("barrier", words) : 0;
  const auto answer = [&](const Term& t, const isa::OperandType& type, uint8_t mode) {
    Word w = word_of(t, type);
    if (history) w.history = history_by("barrier", mode, history);
    return w;
  };
  std::vector<uint32_t> threads;
  barrier.departed.clear();
  for (auto [warp, fragment] : waiting) {
    const isa::Decoded& d = kernel_.decoded.body[fragment->pc];
    for (uint32_t m = fragment->mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      threads.push_back(warp->index * kWarpSize + static_cast<uint32_t>(lane));
      if (d.op != Op::BarRed) continue;
      switch (static_cast<isa::BarRedOp>(d.mode)) {
        case isa::BarRedOp::Popc:
          write(*warp, lane, d.text->operands[0], answer(count, kBits32, d.mode));
          break;
        case isa::BarRedOp::And:
          write(*warp, lane, d.text->operands[0], answer(*all, kPred, d.mode));
          break;
        case isa::BarRedOp::Or:
          write(*warp, lane, d.text->operands[0], answer(*any, kPred, d.mode));
          break;
      }
    }
  }
  if ((barrier.counts && order_.crosses_warps()) || ranks_ > 1)
    order_.depart(threads, barrier.clock);
  // Where all living threads wait, everything they did is ordered before everything that comes.
  const bool everyone = waiting_threads == living;
  if (everyone && living < launch_.cta_threads())
    out_.notes.insert("some threads have exited before a barrier; it does not wait for them");
  barrier.used = true;
  barrier.last_epoch = order_.epoch();
  for (const uint32_t t : threads) barrier.departed.emplace_back(t, order_.clock(t));
  if (everyone && ranks_ == 1) order_.cta_barrier();
  barrier.expected = barrier.arrived = barrier.warps = 0;
  barrier.counts = false;
  barrier.clock.clear();
  barrier.waiting.clear();
  barrier.seen_warps.clear();
  for (auto [warp, fragment] : waiting) {
    fragment->wait = Wait::Run;
    fragment->arrived = false;
    ++fragment->pc;
  }
}

}  // namespace coequal::exec
