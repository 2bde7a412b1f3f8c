// Warp collectives and their member masks: shuffles, votes, matches, reductions, elections and warp
// barriers. (PTX ISA, "shfl.sync", "vote.sync", "match.sync", "redux.sync", "elect.sync",
// "bar.warp.sync".)
#include <bit>

#include "exec/cta.h"

namespace coequal::exec {

using isa::Op;
using isa::OperandType;
using term::Kind;
using Accessed = coequal::Access;

namespace {

constexpr OperandType kPred{OperandType::Class::Pred, 1, false, {}};
constexpr OperandType kBits32{OperandType::Class::Bits, 32, false, {}};

}  // namespace

bool CtaExecutor::is_collective(isa::Op op) {
  switch (op) {
    case Op::Shfl:
    case Op::Vote:
    case Op::Match:
    case Op::Redux:
    case Op::Elect:
    case Op::BarWarpSync:
      return true;
    default:
      return false;
  }
}

const ptx::Operand& CtaExecutor::member_operand(const isa::Decoded& d) {
  return d.text->operands.back();
}

CtaExecutor::Step CtaExecutor::reach_collective(Warp& warp, Fragment& fragment, uint32_t mask,
                                                const isa::Decoded& d) {
  Meeting meeting;
  meeting.mask = mask;
  for (uint32_t m = mask; m; m &= m - 1)
    meeting.text[static_cast<size_t>(std::countr_zero(m))] = &d;
  const uint32_t absent = name_members(warp, meeting);
  if (out_.aborted) return Step::Aborted;
  fragment.passed &= ~mask;
  if (absent && !fragment.forced) {
    fragment.wait = Wait::Warp;
    fragment.absent = absent;
    // Lanes whose predicate is false do not wait with the others.
    if (mask != fragment.mask) {
      const uint32_t rest = fragment.mask & ~mask;
      fragment.mask = mask;
      warp.fragments.push_back({.mask = rest, .pc = fragment.pc + 1, .fork = fragment.fork});
    }
    return Step::Parked;
  }
  fragment.forced = false;
  return meet(warp, meeting);
}

uint32_t CtaExecutor::name_members(const Warp& warp, Meeting& meeting) {
  uint32_t absent = 0;
  for (uint32_t m = meeting.mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const isa::Decoded& d = meeting.at(lane);
    const Word w = operand(warp, lane, member_operand(d), 32);
    if (!w.is_number()) {
      abort(pc_of(d), "the member mask of '" + d.text->spelling() + "' depends on data");
      return 0;
    }
    meeting.members[static_cast<size_t>(lane)] = static_cast<uint32_t>(concretize(w, 32));
    absent |= meeting.members[static_cast<size_t>(lane)] & warp.living & ~meeting.mask;
  }
  return absent;
}

bool CtaExecutor::comes_after(uint32_t pc, uint32_t collective) {
  const ptx::Cfg& cfg = *kernel_.cfg;
  const uint32_t from = cfg.block_of(collective), to = cfg.block_of(pc);
  if (from == to && pc > collective) return true;
  const auto [it, fresh] = after_.try_emplace({collective, to});
  if (!fresh) return it->second;
  std::vector<bool> seen(cfg.blocks().size());
  std::vector<uint32_t> todo = cfg.blocks()[from].successors;
  while (!todo.empty() && !seen[to]) {
    const uint32_t block = todo.back();
    todo.pop_back();
    if (block == ptx::Cfg::kExit || seen[block]) continue;
    seen[block] = true;
    const std::vector<uint32_t>& next = cfg.blocks()[block].successors;
    todo.insert(todo.end(), next.begin(), next.end());
  }
  return it->second = seen[to];
}

void CtaExecutor::note_passing(Warp& warp, const Fragment& fragment) {
  const Op op = kernel_.decoded.body[fragment.pc].op;
  if (op == Op::Ret || op == Op::Exit) return;
  for (Fragment& f : warp.fragments) {
    if (f.wait != Wait::Warp) continue;
    const uint32_t lanes = fragment.mask & f.absent & ~f.passed;
    if (!lanes || !comes_after(fragment.pc, f.pc)) continue;
    if (!f.passed) f.passed_at = fragment.pc;
    f.passed |= lanes;
  }
}

void CtaExecutor::report_passed(const Warp& warp, uint32_t leaving) {
  const uint32_t base = warp.index * kWarpSize;
  for (const Fragment& f : warp.fragments) {
    const uint32_t lanes = f.wait == Wait::Warp ? leaving & f.passed : 0;
    if (!lanes) continue;
    const int lane = std::countr_zero(f.mask), other = std::countr_zero(lanes);
    report(DefectKind::InactiveLane,
           fmt::format("'{}' names lane {}, which goes on without taking part",
                       kernel_.function->body[f.pc].spelling(), other),
           {access(Accessed::Kind::Other, base + static_cast<uint32_t>(lane), f.pc),
            access(Accessed::Kind::Other, base + static_cast<uint32_t>(other), f.passed_at)});
  }
}

bool CtaExecutor::release_warp_waits() {
  for (Warp& warp : warps_) {
    std::vector<Fragment*> waiting;
    for (Fragment& f : warp.fragments)
      if (f.wait == Wait::Warp) waiting.push_back(&f);
    if (waiting.empty()) continue;
    // Lanes may execute one collective at different positions of the text: the same instruction for
    // the same members.
    for (Fragment* first : waiting) {
      const isa::Decoded& d = kernel_.decoded.body[first->pc];
      if (!is_collective(d.op)) continue;
      Meeting meeting;
      std::vector<Fragment*> together;
      const auto join = [&](Fragment* f) {
        together.push_back(f);
        meeting.mask |= f->mask;
        for (uint32_t m = f->mask; m; m &= m - 1)
          meeting.text[static_cast<size_t>(std::countr_zero(m))] = &kernel_.decoded.body[f->pc];
      };
      for (Fragment* f : waiting)
        if (f->fork == first->fork &&
            kernel_.decoded.body[f->pc].text->spelling() == d.text->spelling())
          join(f);
      if (together.size() < 2) continue;
      const uint32_t absent = name_members(warp, meeting);
      if (out_.aborted) return true;
      if (absent) continue;
      for (Fragment* f : together) {
        f->wait = Wait::Run;
        ++f->pc;
      }
      if (meet(warp, meeting) == Step::Aborted) out_.aborted = true;
      return true;
    }
  }
  // Nobody else comes: each goes on without the lanes that are missing, and says so.
  bool any = false;
  for (Warp& warp : warps_)
    for (Fragment& fragment : warp.fragments)
      if (fragment.wait == Wait::Warp) {
        fragment.wait = Wait::Run;
        fragment.forced = true;
        any = true;
        break;
      }
  return any;
}

CtaExecutor::Step CtaExecutor::meet(Warp& warp, const Meeting& meeting) {
  const uint32_t base = warp.index * kWarpSize;
  for (uint32_t m = meeting.mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const isa::Decoded& d = meeting.at(lane);
    const uint32_t pc = pc_of(d), members = meeting.members[static_cast<size_t>(lane)];
    if (!(members >> lane & 1)) {
      report(DefectKind::InactiveLane,
             fmt::format("lane {} executes '{}' with member mask {:#010x}, which does not name it",
                         lane, d.text->spelling(), members),
             {access(Accessed::Kind::Other, base + static_cast<uint32_t>(lane), pc)});
      continue;
    }
    // A living lane that is named takes part with the same mask, or the mask is wrong.
    uint32_t absent = members & warp.living & ~meeting.mask;
    for (uint32_t n = members & meeting.mask; n; n &= n - 1)
      if (meeting.members[static_cast<size_t>(std::countr_zero(n))] != members)
        absent |= n & (0u - n);
    if (absent) {
      const int other = std::countr_zero(absent);
      uint32_t elsewhere = pc;
      for (const Fragment& f : warp.fragments)
        if (f.mask >> other & 1) elsewhere = f.pc;
      report(DefectKind::InactiveLane,
             fmt::format("'{}' names lane {}, which does not take part{}", d.text->spelling(),
                         other, meeting.mask >> other & 1 ? " with the same mask" : ""),
             {access(Accessed::Kind::Other, base + static_cast<uint32_t>(lane), pc),
              access(Accessed::Kind::Other, base + static_cast<uint32_t>(other), elsewhere)});
    }
  }
  for (uint32_t m = meeting.mask; m && mbarriers_ > 0;) {
    const uint32_t together = meeting.partners(std::countr_zero(m));
    note_meeting(warp, together);
    m &= ~(together | (m & (0u - m)));
  }
  switch (meeting.at(std::countr_zero(meeting.mask)).op) {
    case Op::Shfl:
      return execute_shuffle(warp, meeting);
    case Op::Vote:
      return execute_vote(warp, meeting);
    case Op::Match:
      return execute_match(warp, meeting);
    case Op::Redux:
      return execute_redux(warp, meeting);
    case Op::Elect:
      return execute_elect(warp, meeting);
    case Op::BarWarpSync:
      return execute_warp_barrier(warp, meeting);
    default:
      CHECK(false);
  }
}

CtaExecutor::Step CtaExecutor::execute_warp_barrier(Warp& warp, const Meeting& meeting) {
  uint32_t done = 0;
  for (uint32_t m = meeting.mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (done >> lane & 1) continue;
    const uint32_t together = meeting.partners(lane);
    done |= together;
    if (together) order_.warp_barrier(warp.index, together);
  }
  return Step::Next;
}

CtaExecutor::Step CtaExecutor::execute_shuffle(Warp& warp, const Meeting& meeting) {
  const uint32_t mask = meeting.mask;
  std::array<Word, kWarpSize> values;
  std::array<bool, kWarpSize> within{};
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const isa::Decoded& d = meeting.at(lane);
    const std::vector<ptx::Operand>& ops = d.text->operands;
    // shfl.sync.mode.b32 d{|p}, a, b, c, membermask
    const size_t first = ops[0].has_pair ? 2 : 1;
    const Word b_word = operand(warp, lane, ops[first + 1], 32),
               c_word = operand(warp, lane, ops[first + 2], 32);
    if (!b_word.is_number() || !c_word.is_number())
      return abort(pc_of(d), "the lane of '" + d.text->spelling() + "' depends on data");
    const uint32_t b = static_cast<uint32_t>(concretize(b_word, 32)),
                   c = static_cast<uint32_t>(concretize(c_word, 32));
    const int bval = static_cast<int>(b & 31), clamp = static_cast<int>(c & 31),
              segment = static_cast<int>(c >> 8 & 31);
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
    if (meeting.partners(lane) >> from & 1) {
      const std::vector<ptx::Operand>& theirs = meeting.at(from).text->operands;
      values[lane] =
          leaving_thread(operand(warp, from, theirs[theirs[0].has_pair ? 2 : 1], 32), pc_of(d));
    } else {
      Defect defect;
      defect.kind = DefectKind::InactiveLane;
      defect.program = state_.name;
      defect.message = fmt::format(
          "lane {} takes a value from lane {}, which {}", lane, from,
          warp.living >> from & 1 ? "does not take part" : "has exited or does not exist");
      const uint32_t pc = pc_of(d);
      defect.accesses = {
          access(Accessed::Kind::Other, warp.index * kWarpSize + static_cast<uint32_t>(lane), pc)};
      values[lane] =
          Word::symbolic(poison_term(fmt::format("{} {} absent lane", kernel_.function->name, pc),
                                     term::bv(32), warp.index * kWarpSize + lane,
                                     {PoisonSource::Kind::Defective, "", {}, std::move(defect)}));
    }
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::vector<ptx::Operand>& ops = meeting.at(lane).text->operands;
    write(warp, lane, ops[0], values[lane]);
    if (ops[0].has_pair) write(warp, lane, ops[1], Word::concrete(within[lane]));
  }
  return Step::Next;
}

CtaExecutor::Step CtaExecutor::execute_vote(Warp& warp, const Meeting& meeting) {
  // vote.sync.mode d, a, membermask
  const uint32_t mask = meeting.mask;
  const auto mode = static_cast<isa::VoteMode>(meeting.at(std::countr_zero(mask)).mode);
  std::array<Term, kWarpSize> votes;
  std::vector<Word> words(kWarpSize, Word::concrete(0));
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::vector<ptx::Operand>& ops = meeting.at(lane).text->operands;
    words[static_cast<size_t>(lane)] = operand(warp, lane, ops[1], 1);
    votes[lane] = term_of(words[static_cast<size_t>(lane)], kPred);
    if (ops[1].negated) votes[lane] = store_.make(Kind::Not, {votes[lane]});
    if (ops[1].negated && histories_) {
      Word& w = words[static_cast<size_t>(lane)];
      const uint32_t history = history_by("negated", 0, history_of(w));
      w = Word::boolean(votes[lane]);
      w.history = history;
    }
  }
  absl::flat_hash_map<uint32_t, Word> by_members;
  std::array<Word, kWarpSize> results;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    auto [it, fresh] = by_members.try_emplace(meeting.partners(lane));
    if (fresh) {
      std::optional<Term> all, any;
      Term ballot = store_.bits(0, 32);
      for (uint32_t n = meeting.partners(lane); n; n &= n - 1) {
        const int other = std::countr_zero(n);
        const Term v = votes[other];
        all = all ? store_.make(Kind::And, {*all, v}) : v;
        any = any ? store_.make(Kind::Or, {*any, v}) : v;
        if (mode == isa::VoteMode::Ballot) {
          const Term bit = store_.make(Kind::BvOfBool, {v}, 0, 32);
          ballot = store_.make(
              Kind::BvOr,
              {ballot,
               store_.make(Kind::BvShl, {bit, store_.bits(static_cast<uint64_t>(other), 32)})});
        }
      }
      if (!all) all = any = store_.boolean(false);
      switch (mode) {
        case isa::VoteMode::All:
          it->second = word_of(*all, kPred);
          break;
        case isa::VoteMode::Any:
          it->second = word_of(*any, kPred);
          break;
        case isa::VoteMode::Uni:
          it->second =
              word_of(store_.make(Kind::Or, {*all, store_.make(Kind::Not, {*any})}), kPred);
          break;
        case isa::VoteMode::Ballot:
          it->second = word_of(ballot, kBits32);
          break;
      }
      if (histories_)
        it->second.history = history_by("vote", static_cast<uint64_t>(mode) << 32 | it->first,
                                        history_of_all("votes", words));
    }
    results[lane] = it->second;
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    write(warp, lane, meeting.at(lane).text->operands[0], results[lane]);
  }
  return Step::Next;
}

Term CtaExecutor::same_bits(const Word& a, const Word& b, int width) {
  if (a.is_number() && b.is_number())
    return store_.boolean(concretize(a, width) == concretize(b, width));
  const OperandType type{OperandType::Class::Bits, static_cast<uint8_t>(width), false, {}};
  return store_.make(Kind::BvEq, {term_of(a, type), term_of(b, type)});
}

CtaExecutor::Step CtaExecutor::execute_match(Warp& warp, const Meeting& meeting) {
  // match.any.sync d, a, membermask; match.all.sync d{|p}, a, membermask
  const isa::Decoded& form = meeting.at(std::countr_zero(meeting.mask));
  const int width = ptx::bits_of(form.src_type);
  std::array<Word, kWarpSize> values;
  for (uint32_t m = meeting.mask; m; m &= m - 1) {
    const auto lane = static_cast<size_t>(std::countr_zero(m));
    const std::vector<ptx::Operand>& ops = meeting.text[lane]->text->operands;
    values[lane] = operand(warp, static_cast<int>(lane), ops[ops[0].has_pair ? 2 : 1], width);
  }
  const auto bit = [&](const Term& condition, uint32_t bits) {
    return store_.make(Kind::Select, {condition, store_.bits(bits, 32), store_.bits(0, 32)});
  };
  for (uint32_t m = meeting.mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::vector<ptx::Operand>& ops = meeting.at(lane).text->operands;
    const uint32_t partners = meeting.partners(lane);
    Term found = store_.bits(0, 32), all = store_.boolean(true);
    for (uint32_t n = partners; n; n &= n - 1) {
      const int other = std::countr_zero(n);
      const Term same =
          same_bits(values[static_cast<size_t>(lane)], values[static_cast<size_t>(other)], width);
      if (static_cast<isa::MatchMode>(form.mode) == isa::MatchMode::Any)
        found = store_.make(Kind::BvOr, {found, bit(same, 1u << other)});
      else
        all = store_.make(Kind::And, {all, same});
    }
    if (static_cast<isa::MatchMode>(form.mode) == isa::MatchMode::Any) {
      write(warp, lane, ops[0], word_of(found, kBits32));
    } else {
      write(warp, lane, ops[0], word_of(bit(all, partners), kBits32));
      if (ops[0].has_pair) write(warp, lane, ops[1], word_of(all, kPred));
    }
  }
  return Step::Next;
}

CtaExecutor::Step CtaExecutor::execute_redux(Warp& warp, const Meeting& meeting) {
  // redux.sync.op.type d, a, membermask
  const isa::Decoded& form = meeting.at(std::countr_zero(meeting.mask));
  const bool is_signed = form.type == ptx::ScalarType::S32;
  std::array<Term, kWarpSize> values;
  std::vector<Word> words(kWarpSize, Word::concrete(0));
  for (uint32_t m = meeting.mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    words[static_cast<size_t>(lane)] = operand(warp, lane, meeting.at(lane).text->operands[1], 32);
    values[static_cast<size_t>(lane)] = term_of(words[static_cast<size_t>(lane)], kBits32);
  }
  const uint32_t history = histories_ ? history_of_all("redux", words) : 0;
  const auto combine = [&](const Term& a, const Term& b) {
    const auto least = [&](const Term& x, const Term& y) {
      return store_.make(Kind::Select,
                         {store_.make(is_signed ? Kind::BvSlt : Kind::BvUlt, {x, y}), a, b});
    };
    switch (static_cast<isa::ReduxOp>(form.mode)) {
      case isa::ReduxOp::Add:
        return store_.make(Kind::BvAdd, {a, b});
      case isa::ReduxOp::And:
        return store_.make(Kind::BvAnd, {a, b});
      case isa::ReduxOp::Or:
        return store_.make(Kind::BvOr, {a, b});
      case isa::ReduxOp::Xor:
        return store_.make(Kind::BvXor, {a, b});
      case isa::ReduxOp::Min:
        return least(a, b);
      case isa::ReduxOp::Max:
        return least(b, a);
    }
    CHECK(false);
  };
  for (uint32_t m = meeting.mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    std::optional<Term> result;
    for (uint32_t n = meeting.partners(lane); n; n &= n - 1) {
      const Term& value = values[static_cast<size_t>(std::countr_zero(n))];
      result = result ? combine(*result, value) : value;
    }
    // A lane that its own mask does not name was reported.
    Word word = result ? word_of(*result, kBits32) : tainted_word(4);
    if (history)
      word.history =
          history_by("redux", uint64_t{form.mode} << 32 | meeting.partners(lane), history);
    write(warp, lane, meeting.at(lane).text->operands[0], word);
  }
  return Step::Next;
}

CtaExecutor::Step CtaExecutor::execute_elect(Warp& warp, const Meeting& meeting) {
  // elect.sync d|p, membermask: which lane is the leader is the hardware's choice, the same at
  // every call.
  out_.assumptions.insert({"elected-lane", "elect.sync chooses the lowest lane that takes part"});
  for (uint32_t m = meeting.mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const std::vector<ptx::Operand>& ops = meeting.at(lane).text->operands;
    const uint32_t partners = meeting.partners(lane);
    if (!partners) continue;
    const int leader = std::countr_zero(partners);
    write(warp, lane, ops[0], Word::concrete(static_cast<uint32_t>(leader)));
    write(warp, lane, ops[1], Word::concrete(lane == leader));
  }
  return Step::Next;
}

}  // namespace coequal::exec
