// Warp collectives: shuffles, votes and warp barriers, with their member masks. (PTX ISA, "shfl.sync", "vote.sync", "bar.warp.sync".)
#include <bit>

#include "exec/cta.h"

namespace coequal::exec {

using isa::OperandType;
using term::Kind;
using Accessed = coequal::Access;

namespace {

constexpr OperandType kPred{OperandType::Class::Pred, 1, false, {}};
constexpr OperandType kBits32{OperandType::Class::Bits, 32, false, {}};

}  // namespace

bool CtaExecutor::members_present(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d,
                                  const ptx::Operand& member_operand, std::array<uint32_t, kWarpSize>& members) {
  const uint32_t pc = fragment.pc;
  uint32_t missing = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const Word w = operand(warp, lane, member_operand, 32);
    if (w.tag != Tag::Concrete) {
      abort(pc, "the member mask of '" + d.text->spelling() + "' depends on data");
      return true;
    }
    members[lane] = static_cast<uint32_t>(concretize(w, 32));
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    missing |= members[lane] & warp.living & ~mask;
  }
  if (missing && !fragment.forced) {
    fragment.wait = Wait::Warp;
    return false;
  }
  fragment.forced = false;
  const uint32_t base = warp.index * kWarpSize;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (!(members[lane] >> lane & 1)) {
      report(DefectKind::InactiveLane,
             fmt::format("lane {} executes '{}' with member mask {:#010x}, which does not name it", lane,
                         d.text->spelling(), members[lane]),
             {access(Accessed::Kind::Other, base + static_cast<uint32_t>(lane), pc)});
      continue;
    }
    // A living lane that is named takes part with the same mask, or the mask is wrong.
    const uint32_t absent = members[lane] & warp.living & ~mask;
    if (absent) {
      const int other = std::countr_zero(absent);
      uint32_t elsewhere = pc;
      for (const Fragment& f : warp.fragments)
        if (f.mask >> other & 1) elsewhere = f.pc;
      report(DefectKind::InactiveLane,
             fmt::format("'{}' names lane {}, which does not take part", d.text->spelling(), other),
             {access(Accessed::Kind::Other, base + static_cast<uint32_t>(lane), pc),
              access(Accessed::Kind::Other, base + static_cast<uint32_t>(other), elsewhere)});
    }
  }
  return true;
}

CtaExecutor::Step CtaExecutor::execute_warp_barrier(Warp& warp, Fragment& fragment, uint32_t mask,
                                                    const isa::Decoded& d) {
  std::array<uint32_t, kWarpSize> members{};
  if (!members_present(warp, fragment, mask, d, d.text->operands[0], members)) return Step::Parked;
  if (out_.aborted) return Step::Aborted;
  uint32_t done = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (done >> lane & 1) continue;
    uint32_t together = 0;
    for (uint32_t n = mask; n; n &= n - 1) {
      const int other = std::countr_zero(n);
      if (members[other] == members[lane] && members[lane] >> other & 1) together |= 1u << other;
    }
    done |= together;
    if (together) order_.warp_barrier(warp.index, together);
  }
  return Step::Next;
}

CtaExecutor::Step CtaExecutor::execute_shuffle(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d) {
  const uint32_t pc = fragment.pc;
  const std::vector<ptx::Operand>& ops = d.text->operands;
  // shfl.sync.mode.b32 d{|p}, a, b, c, membermask
  const bool pair = ops[0].has_pair;
  const size_t first = pair ? 2 : 1;
  std::array<uint32_t, kWarpSize> members{};
  if (!members_present(warp, fragment, mask, d, ops[first + 3], members)) return Step::Parked;
  if (out_.aborted) return Step::Aborted;

  std::array<Word, kWarpSize> values;
  std::array<bool, kWarpSize> within{};
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const Word b_word = operand(warp, lane, ops[first + 1], 32), c_word = operand(warp, lane, ops[first + 2], 32);
    if (b_word.tag != Tag::Concrete || c_word.tag != Tag::Concrete)
      return abort(pc, "the lane of '" + d.text->spelling() + "' depends on data");
    const uint32_t b = static_cast<uint32_t>(concretize(b_word, 32)), c = static_cast<uint32_t>(concretize(c_word, 32));
    const int bval = static_cast<int>(b & 31), clamp = static_cast<int>(c & 31), segment = static_cast<int>(c >> 8 & 31);
    const int max_lane = (lane & segment) | (clamp & ~segment & 31), min_lane = lane & segment;
    int from = lane;
    bool inside = true;
    switch (static_cast<isa::ShflMode>(d.mode)) {
      case isa::ShflMode::Up:
        from = lane - bval;
        inside = from >= max_lane;
        break;
      case isa::ShflMode::Down:
        from = lane + bval;
        inside = from <= max_lane;
        break;
      case isa::ShflMode::Bfly:
        from = lane ^ bval;
        inside = from <= max_lane;
        break;
      case isa::ShflMode::Idx:
        from = min_lane | (bval & ~segment & 31);
        inside = from <= max_lane;
        break;
    }
    if (!inside) from = lane;
    within[lane] = inside;
    const bool takes_part = (mask >> from & 1) && (members[lane] >> from & 1) &&
                            (from == lane || members[from] == members[lane]);
    if (takes_part) {
      values[lane] = operand(warp, from, ops[first], 32);
    } else {
      Defect defect;
      defect.kind = DefectKind::InactiveLane;
      defect.program = state_.name;
      defect.message = fmt::format("lane {} takes a value from lane {}, which {}", lane, from,
                                   warp.living >> from & 1 ? "does not take part" : "has exited or does not exist");
      defect.accesses = {access(Accessed::Kind::Other, warp.index * kWarpSize + static_cast<uint32_t>(lane), pc)};
      values[lane] = Word::symbolic(
          poison_term(fmt::format("{} {} absent lane", kernel_.function->name, pc), term::bv(32),
                      warp.index * kWarpSize + lane, {PoisonSource::Kind::InactiveLane, "", {}, std::move(defect)}));
    }
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    write(warp, lane, ops[0], values[lane]);
    if (pair) write(warp, lane, ops[1], Word::concrete(within[lane]));
  }
  return Step::Next;
}

CtaExecutor::Step CtaExecutor::execute_vote(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d) {
  // vote.sync.mode d, a, membermask
  const std::vector<ptx::Operand>& ops = d.text->operands;
  std::array<uint32_t, kWarpSize> members{};
  if (!members_present(warp, fragment, mask, d, ops[2], members)) return Step::Parked;
  if (out_.aborted) return Step::Aborted;
  std::array<Term, kWarpSize> votes;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    votes[lane] = term_of(operand(warp, lane, ops[1], 1), kPred);
    if (ops[1].negated) votes[lane] = store_.make(Kind::Not, {votes[lane]});
  }
  absl::flat_hash_map<uint32_t, Word> by_members;
  std::array<Word, kWarpSize> results;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    auto [it, fresh] = by_members.try_emplace(members[lane]);
    if (fresh) {
      std::optional<Term> all, any;
      Term ballot = store_.bits(0, 32);
      for (uint32_t n = mask & members[lane]; n; n &= n - 1) {
        const int other = std::countr_zero(n);
        const Term v = votes[other];
        all = all ? store_.make(Kind::And, {*all, v}) : v;
        any = any ? store_.make(Kind::Or, {*any, v}) : v;
        if (static_cast<isa::VoteMode>(d.mode) == isa::VoteMode::Ballot) {
          const Term bit = store_.make(Kind::BvOfBool, {v}, 0, 32);
          ballot = store_.make(Kind::BvOr, {ballot, store_.make(Kind::BvShl, {bit, store_.bits(static_cast<uint64_t>(other), 32)})});
        }
      }
      if (!all) all = any = store_.boolean(false);
      switch (static_cast<isa::VoteMode>(d.mode)) {
        case isa::VoteMode::All: it->second = word_of(*all, kPred); break;
        case isa::VoteMode::Any: it->second = word_of(*any, kPred); break;
        case isa::VoteMode::Uni:
          it->second = word_of(store_.make(Kind::Or, {*all, store_.make(Kind::Not, {*any})}), kPred);
          break;
        case isa::VoteMode::Ballot: it->second = word_of(ballot, kBits32); break;
      }
    }
    results[lane] = it->second;
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    write(warp, lane, ops[0], results[lane]);
  }
  return Step::Next;
}

}  // namespace coequal::exec
