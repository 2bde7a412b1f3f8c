// Clusters: CTAs that run at once, reach each other's shared memory and meet at a barrier of their
// own. (PTX ISA, "barrier.cluster", "mapa", "Thread Hierarchy: Cluster of CTAs".)
//
// A cluster is executed as one larger CTA. The CTAs of a class then stand for clusters, by the
// first CTA of each; every CTA of the cluster, a rank, has warps, barriers and shared variables of
// its own, and its block index is that of the first one plus what its rank says. So whatever is
// found inside one executor (races, order, contents) holds between ranks as it does between warps.
// Only a barrier at which the whole cluster meets is an epoch; __syncthreads() orders the threads
// of one rank by their clocks.
//
// An address of a shared variable is relative to the CTA that uses it, as on the device: it names a
// slot below the number of variables. What mapa makes names a slot above, of one variable of one
// rank. An access to another rank's memory must come behind that CTA's start and before its exit
// (CUDA C++ Programming Guide, "Distributed Shared Memory"): some thread of the CTA is then known
// to be there.
#include <algorithm>
#include <bit>

#include "exec/cta.h"

namespace coequal::exec {

using isa::Op;
using ptx::StateSpace;
using term::Kind;
using Accessed = coequal::Access;

tensor::Cta CtaExecutor::cta_of(uint32_t thread) const {
  const uint32_t rank = rank_of(thread);
  const auto& c = launch_.cluster;
  tensor::Cta cta = motions_->representative();
  cta[0] += rank % c[0], cta[1] += rank / c[0] % c[1], cta[2] += rank / c[0] / c[1];
  return cta;
}

Location CtaExecutor::in_rank(Location at, uint32_t rank) const {
  at.object = rank * shared_count() + at.object % shared_count();
  return at;
}

bool CtaExecutor::settle(Location& at, StateSpace space, uint32_t thread, uint32_t pc,
                         bool is_write) {
  if (at.place != Place::Shared) return true;
  const uint32_t count = shared_count(), own = rank_of(thread);
  if (at.object < count) {
    at.object += own * count;
    return true;
  }
  const uint32_t rank = at.object / count - 1;
  const isa::Decoded& d = kernel_.decoded.body[pc];
  const bool inside = space != StateSpace::Shared || d.text->has("shared::cluster");
  if (rank >= ranks_ || !inside) {
    Accessed a = access(is_write ? Accessed::Kind::Write : Accessed::Kind::Read, thread, pc);
    a.where = shared_[at.object % count].name;
    a.index = std::to_string(at.offset);
    report_at(
        guard(static_cast<int>(thread % kWarpSize)), DefectKind::SharedOutOfBounds,
        rank >= ranks_
            ? fmt::format("shared memory of a block that the cluster, of {}, does not have", ranks_)
            : "an address in the cluster's shared memory where one in the block's own is taken",
        a);
    return false;
  }
  at.object -= count;
  return rank == own || note_remote(rank, thread, pc);
}

bool CtaExecutor::note_remote(uint32_t rank, uint32_t thread, uint32_t pc) {
  remote_[{rank, thread, pc}] = moment(thread);
  if (order_.epoch() > 0 || started_.contains({rank, thread})) return true;
  const uint32_t first = rank * rank_stride_;
  for (uint32_t u = first; u < first + launch_.cta_threads(); ++u)
    if (order_.sees(thread, u, 1)) {
      started_.insert({rank, thread});
      return true;
    }
  report_at(guard(static_cast<int>(thread % kWarpSize)), DefectKind::SharedOutOfBounds,
            "an access to the shared memory of a block of the cluster that is not known to have "
            "started",
            access(Accessed::Kind::Other, thread, pc));
  started_.insert({rank, thread});
  return true;
}

void CtaExecutor::check_remote() {
  if (ranks_ == 1) return;
  const auto before_exit = [&](const Moment& m, uint32_t rank) {
    const uint32_t first = rank * rank_stride_;
    for (uint32_t u = first; u < first + launch_.cta_threads(); ++u)
      if (m.thread == u || m.epoch < exits_[u] || order_.sees(u, m.thread, m.clock)) return true;
    return false;
  };
  for (const auto& [key, when] : remote_) {
    const auto& [rank, thread, pc] = key;
    const isa::Decoded& d = kernel_.decoded.body[pc];
    // What an asynchronous operation does there is over when its phase is.
    if (d.effect == isa::Effect::Async || before_exit(when, rank)) continue;
    report(DefectKind::SharedOutOfBounds,
           "the block whose shared memory is accessed may have exited: nothing orders the access "
           "before that",
           {access(Accessed::Kind::Other, thread, pc)});
  }
  for (const auto& [key, copy] : remote_copies_) {
    const auto& [rank, pc, unused] = key;
    const PhaseEnd& phase = *copy.first;
    const bool known =
        (!phase.silent && !phase.arrivals.empty() &&
         std::all_of(phase.arrivals.begin(), phase.arrivals.end(),
                     [&, r = rank](const Moment& m) { return before_exit(m, r); })) ||
        std::any_of(phase.seen.begin(), phase.seen.end(),
                    [&, r = rank](const Moment& m) { return before_exit(m, r); });
    if (!known)
      report(DefectKind::SharedOutOfBounds,
             "the block whose shared memory a copy writes may have exited: none of its threads "
             "waits for the copy",
             {access(Accessed::Kind::Copy, copy.second, pc)});
  }
}

Word CtaExecutor::cluster_register(const Warp& warp, int lane, const std::string& name) {
  const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
  const uint32_t rank = rank_of(thread);
  const auto& c = launch_.cluster;
  if (name == "%cluster_ctarank") return Word::concrete(rank);
  if (name == "%cluster_nctarank") return Word::concrete(ranks_);
  if (name == "%is_explicit_cluster") return Word::concrete(launch_.explicit_cluster);
  const int d = name.size() > 2 && name[name.size() - 2] == '.' ? name.back() - 'x' : -1;
  if (d < 0 || d > 2) return Word{};
  const std::string base = name.substr(0, name.size() - 2);
  const uint32_t place[] = {rank % c[0], rank / c[0] % c[1], rank / c[0] / c[1]};
  if (base == "%cluster_ctaid") return Word::concrete(place[d]);
  if (base == "%cluster_nctaid") return Word::concrete(c[d]);
  if (base == "%nclusterid") return Word::concrete(launch_.grid[d] / c[d]);
  if (base == "%clusterid")
    return Word::concrete(motions_->representative()[d] / c[d],
                          motions_->divide_exact(motions_->ctaid(d), c[d]));
  return Word{};
}

CtaExecutor::Step CtaExecutor::execute_mapa(Warp& warp, uint32_t mask, const isa::Decoded& d,
                                            uint32_t pc) {
  const auto& ops = d.text->operands;
  const int width = ptx::bits_of(d.type);
  const uint32_t count = shared_count();
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
    const Word a = operand(warp, lane, ops[1], width);
    if (a.tag != Tag::Concrete || !a.object.is_address() || a.object.is_derived() ||
        a.object.is_mixed() || a.object.place() != Place::Shared) {
      write(warp, lane, ops[0], refused_at(pc, "an address of no one shared variable"));
      continue;
    }
    const uint32_t slot = a.object.object();
    if (d.op == Op::GetCtaRank) {
      write(warp, lane, ops[0], Word::concrete(slot < count ? rank_of(thread) : slot / count - 1));
      continue;
    }
    const auto mapped = [&](uint32_t rank) {
      const uint32_t to = count * (1 + std::min(rank, ranks_)) + slot % count;
      return Word::concrete(
          (a.bits + variable_base(to) - variable_base(slot)) & (width == 32 ? ~0u : ~uint64_t{0}),
          a.motion, Provenance::of(Place::Shared, to));
    };
    const Word rank = operand(warp, lane, ops[2], 32);
    if (rank.is_number()) {
      write(warp, lane, ops[0], mapped(static_cast<uint32_t>(concretize(rank, 32))));
      continue;
    }
    if (rank.tag != Tag::Bits) {
      write(warp, lane, ops[0], refused_at(pc, "a rank that is no integer"));
      continue;
    }
    // The variables of one rank after the other: linear in the rank, as far as there are ranks.
    const isa::OperandType type{
        isa::OperandType::Class::Bits, static_cast<uint8_t>(width), false, {}};
    const Term number = term_of(rank, {isa::OperandType::Class::Bits, 32, false, {}});
    const Term known =
        store_.make(Kind::Select, {store_.make(Kind::BvUlt, {number, store_.bits(ranks_, 32)}),
                                   number, store_.bits(ranks_, 32)});
    Term wide = width == 32 ? known : store_.make(Kind::BvZeroExtend, {known}, 0, width);
    wide = store_.make(Kind::BvMul, {wide, store_.bits(uint64_t{count} << kVariableShift, width)});
    const Term base = term_of(mapped(0), type);
    write(warp, lane, ops[0], word_of(store_.make(Kind::BvAdd, {base, wide}), type));
  }
  return out_.aborted ? Step::Aborted : Step::Next;
}

CtaExecutor::Step CtaExecutor::reach_cluster_barrier(Warp& warp, Fragment& fragment, uint32_t mask,
                                                     const isa::Decoded& d) {
  const uint32_t pc = fragment.pc;
  const auto park = [&] {
    const std::shared_ptr<Fork> fork = fragment.fork;
    const uint32_t rest = fragment.mask & ~mask;
    fragment.mask = mask;
    fragment.wait = Wait::Cluster;
    if (rest) warp.fragments.push_back({.mask = rest, .pc = pc + 1, .fork = fork});
    return Step::Parked;
  };
  // The lanes of a warp execute an aligned one together.
  if (d.aligned && mask != warp.living) return park();
  const uint32_t base = warp.index * kWarpSize;
  const auto wrong = [&](uint32_t lanes, const char* what) {
    report(DefectKind::BarrierDivergence, what,
           {access(Accessed::Kind::Barrier, base + static_cast<uint32_t>(std::countr_zero(lanes)),
                   pc)});
    return Step::Aborted;
  };
  if (d.op == Op::ClusterArrive) {
    if (const uint32_t again = mask & warp.to_wait)
      return wrong(again, "a thread arrives at the cluster's barrier again without having waited");
    const bool releases = !d.text->has("relaxed");
    // Whether the threads do nothing but wait before the barrier opens.
    const auto& body = kernel_.decoded.body;
    uint32_t next = pc + 1;
    while (next < body.size() && body[next].row && !body[next].text->guard &&
           (body[next].op == Op::Pure || body[next].op == Op::Mov || body[next].op == Op::Nop))
      ++next;
    if (next >= body.size() || body[next].op != Op::ClusterWait || body[next].text->guard ||
        !releases)
      cluster_direct_ = false;
    for (uint32_t m = mask; m; m &= m - 1) {
      const uint32_t thread = base + static_cast<uint32_t>(std::countr_zero(m));
      if (releases) {
        const uint32_t threads[] = {thread};
        order_.arrive(threads, cluster_open_);
      }
      if (const auto made = made_released_.find(thread); made != made_released_.end())
        HappensBefore::join(made_open_, made->second);
    }
    warp.at_cluster |= mask;
    warp.to_wait |= mask;
    open_cluster_barrier();
    return Step::Next;
  }
  if (const uint32_t early = mask & ~warp.to_wait)
    return wrong(early, "a thread waits at the cluster's barrier without having arrived");
  if (mask & warp.at_cluster) return park();
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint32_t thread = base + static_cast<uint32_t>(std::countr_zero(m));
    const uint32_t threads[] = {thread};
    if (!cluster_whole_) order_.depart(threads, cluster_done_);
    if (!made_done_.empty()) HappensBefore::join(made_known_[thread], made_done_);
    for (uint32_t rank = 0; rank < ranks_; ++rank) started_.insert({rank, thread});
  }
  warp.to_wait &= ~mask;
  return Step::Next;
}

void CtaExecutor::open_cluster_barrier() {
  bool some = false;
  uint32_t living = 0;
  for (const Warp& warp : warps_) {
    if (warp.living & ~warp.at_cluster) return;
    some |= warp.at_cluster != 0;
    living += static_cast<uint32_t>(std::popcount(warp.living));
  }
  if (!some) return;
  // Nothing but pure instructions stands between an arrival and its wait, and nobody has exited:
  // all that was done comes before all that will be.
  cluster_whole_ = cluster_direct_ && living == ranks_ * launch_.cta_threads();
  if (cluster_whole_) order_.cta_barrier();
  if (living < ranks_ * launch_.cta_threads())
    out_.notes.insert("some threads have exited before a barrier; it does not wait for them");
  cluster_done_ = std::move(cluster_open_);
  cluster_open_.clear();
  made_done_ = std::move(made_open_);
  made_open_.clear();
  cluster_direct_ = true;
  for (Warp& warp : warps_) {
    warp.at_cluster = 0;
    for (Fragment& f : warp.fragments)
      if (f.wait == Wait::Cluster) f.wait = Wait::Run;
  }
}

}  // namespace coequal::exec
