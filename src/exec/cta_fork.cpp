// Branches on data: both arms run under complementary guards and meet at the post-dominator.
//
// Sound because an arm's effects reach memory only as "guard ? new : old", and a register after the
// join is "condition ? first arm : second arm": for every input one of the two runs is the thread's
// own.
#include <algorithm>
#include <bit>

#include "exec/cta.h"
#include "exec/data_condition.h"
#include "term/traverse.h"

namespace coequal::exec {

using isa::OperandType;
using term::Kind;

namespace {

constexpr OperandType kPred{OperandType::Class::Pred, 1, false, {}};
// A loop bounded by data forks once a turn; deeper than this it is refused.
constexpr int kMostForks = 96;

// Whether the arms of a branch do nothing but compute registers, without a turn back, up to where
// they meet.
bool chooses_registers(const Kernel& kernel, uint32_t pc) {
  constexpr size_t kMost = 1024;
  const std::vector<isa::Decoded>& body = kernel.decoded.body;
  const uint32_t meet = kernel.cfg->reconvergence(pc);
  if (body[pc].op != isa::Op::Bra || meet == ptx::Cfg::kExit) return false;
  std::set<uint32_t> seen;
  std::vector<uint32_t> todo{pc + 1, body[pc].text->operands[0].target};
  while (!todo.empty()) {
    const uint32_t at = todo.back();
    todo.pop_back();
    if (at == meet || !seen.insert(at).second) continue;
    if (at <= pc || at >= body.size() || seen.size() > kMost || !body[at].row) return false;
    const isa::Decoded& d = body[at];
    if (d.op == isa::Op::Bra) {
      const uint32_t target = d.text->operands[0].target;
      if (target != meet && target <= at) return false;
      todo.push_back(target);
      if (!d.text->guard) continue;
    } else if (d.op != isa::Op::Pure && d.op != isa::Op::Mov && d.op != isa::Op::Nop) {
      return false;
    }
    todo.push_back(at + 1);
  }
  return true;
}

}  // namespace

Term CtaExecutor::conjunction(const Term& a, const Term& b) {
  if (!a.valid()) return b;
  if (!b.valid()) return a;
  return store_.make(Kind::And, {a, b});
}

Term CtaExecutor::guard(int lane) const {
  Term g;
  if (fork_) g = fork_->guard[static_cast<size_t>(lane)];
  if (predicated_ >> lane & 1) {
    const Term& p = predicate_[static_cast<size_t>(lane)];
    g = g.valid() ? store_.make(Kind::And, {g, p}) : p;
  }
  if (when_.valid()) g = g.valid() ? store_.make(Kind::And, {g, when_}) : when_;
  return g;
}

Term CtaExecutor::under(const Term& guard, Term value) {
  constexpr size_t kMostParts = 64;
  std::vector<Term> parts{guard};
  for (size_t i = 0; i < parts.size() && parts.size() < kMostParts; ++i)
    if (store_.kind(parts[i]) == Kind::And)
      for (int k = 0; k < 2; ++k) parts.push_back(store_.child(parts[i], k));
  const auto holds = [&](const Term& condition) {
    return std::find(parts.begin(), parts.end(), condition) != parts.end();
  };
  while (store_.kind(value) == Kind::Select) {
    const Term condition = store_.child(value, 0);
    if (holds(condition))
      value = store_.child(value, 1);
    else if (holds(store_.make(Kind::Not, {condition})))
      value = store_.child(value, 2);
    else
      break;
  }
  return value;
}

void CtaExecutor::report_under(const Term& guard, Defect defect, bool race) {
  if (!guard.valid()) {
    report(defect.kind, std::move(defect.message), std::move(defect.accesses));
    return;
  }
  // The defect happens exactly where the guard holds: there a poisoned arm is chosen.
  const Term leaf =
      poison_term("guarded", term::bv(32), 0, {PoisonSource::Kind::Tainted, "", {}, {}});
  const Term value = store_.make(Kind::Select, {guard, leaf, store_.bits(0, 32)});
  if (store_.as_bits(value)) return;
  // Of alike findings a few different guards are enough to ask about, and all of them have to be
  // refuted.
  constexpr size_t kMost = 4096;
  defect.program = state_.name;
  if (out_.suspicions.size() < kMost)
    out_.suspicions.push_back({std::move(defect), value, race});
  else
    out_.refusals.push_back(
        {"", span(0), "more conflicts under conditions on data than are followed"}),
        out_.aborted = true;
}

bool CtaExecutor::branch_on_poison(const Term& condition, int lane, uint32_t thread, uint32_t pc) {
  if (!store_.has_poison(condition) || is_cas_exit(condition, pc)) return false;
  if (const Refusal* why = refusal_below(condition)) {
    abort(pc, "a branch depends on '" + why->instruction + "': " + why->reason);
    return true;
  }
  // What a load that races gave is one of some values. A branch that only chooses what registers
  // hold is a select of theirs: it matters where they do.
  bool raced = chooses_registers(kernel_, pc);
  if (raced)
    term::Postorder(store_).walk(
        condition, [&](const Term& x) { return store_.has_poison(x); },
        [&](const Term& x) {
          if (store_.kind(x) != Kind::Poison) return;
          const auto it = session_.poison.find(store_.groups(x)[0]);
          raced &= it != session_.poison.end() &&
                   it->second.kind == PoisonSource::Kind::Defective &&
                   (it->second.defect.kind == DefectKind::SharedRace ||
                    it->second.defect.kind == DefectKind::GlobalRace);
        });
  if (raced) return false;
  Defect defect;
  defect.kind = DefectKind::UninitializedRead;
  defect.program = state_.name;
  defect.message = "an undefined value decides a branch";
  defect.accesses = {access(coequal::Access::Kind::Other, thread, pc)};
  const Term word = store_.make(Kind::BvOfBool, {condition}, 0, 32);
  const Term g = guard(lane);
  const Term value = g.valid() ? store_.make(Kind::Select, {g, word, store_.bits(0, 32)}) : word;
  out_.suspicions.push_back({std::move(defect), value, false});
  return true;
}

const std::vector<uint32_t>& CtaExecutor::registers_written(uint32_t branch_pc) {
  const auto [it, fresh] = written_registers_.try_emplace(branch_pc);
  if (!fresh) return it->second;
  const ptx::Cfg& cfg = *kernel_.cfg;
  const auto& body = kernel_.function->body;
  const uint32_t stop = cfg.reconvergence(branch_pc);
  std::set<uint32_t> found;
  std::vector<bool> seen(cfg.blocks().size());
  std::vector<uint32_t> todo = cfg.blocks()[cfg.block_of(branch_pc)].successors;
  // A predicated exit continues in its own block.
  if (branch_pc + 1 < body.size()) todo.push_back(cfg.block_of(branch_pc + 1));
  while (!todo.empty()) {
    const uint32_t block = todo.back();
    todo.pop_back();
    if (block == ptx::Cfg::kExit || seen[block]) continue;
    seen[block] = true;
    const ptx::Block& b = cfg.blocks()[block];
    if (b.begin == stop) continue;
    for (uint32_t i = b.begin; i < b.end; ++i) {
      const auto add = [&](const ptx::Operand& op, auto&& self) -> void {
        if (op.kind == ptx::Operand::Kind::Register) found.insert(op.reg);
        for (const ptx::Operand& e : op.elements) self(e, self);
      };
      const auto& operands = body[i].operands;
      // Destinations come first; taking one source for a destination costs a copy and nothing else.
      for (size_t k = 0; k < operands.size() && k < 2; ++k) add(operands[k], add);
    }
    todo.insert(todo.end(), b.successors.begin(), b.successors.end());
  }
  it->second.assign(found.begin(), found.end());
  return it->second;
}

CtaExecutor::Step CtaExecutor::fork(Warp& warp, Fragment& fragment, uint32_t symbolic,
                                    uint32_t taken, uint32_t target) {
  const uint32_t pc = fragment.pc;
  const ptx::Operand& predicate = *kernel_.function->body[pc].guard;
  std::array<Term, kWarpSize> condition;
  std::array<uint32_t, kWarpSize> history{};
  for (uint32_t m = symbolic; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
    const Word decides = operand(warp, lane, predicate, 1);
    if (histories_) history[static_cast<size_t>(lane)] = history_of(decides);
    Term c = term_of(decides, kPred);
    if (predicate.negated) c = store_.make(Kind::Not, {c});
    condition[static_cast<size_t>(lane)] = c;
    if (branch_on_poison(c, lane, thread, pc) &&
        (out_.aborted || store_.kind(store_.child(c, 0)) == Kind::Poison)) {
      out_.aborted = true;
      return Step::Aborted;
    }
    // What an enclosing arm has already decided is not asked again.
    for (const Fork* f = fragment.fork.get(); f; f = f->parent.get()) {
      if (!(f->mask >> lane & 1)) continue;
      const Term& outer = f->condition[static_cast<size_t>(lane)];
      const bool same = outer == c, opposite = store_.make(Kind::Not, {outer}) == c;
      if (!same && !opposite) continue;
      symbolic &= ~(1u << lane);
      if (same != f->second) taken |= 1u << lane;
      break;
    }
    // Nor what the declared bounds decide, so that a loop ends whose turns they limit.
    if (!fragment.fork || !(symbolic >> lane & 1)) continue;
    if (const auto known =
            known_truth(store_, *motions_, c, fragment.fork->guard[static_cast<size_t>(lane)])) {
      symbolic &= ~(1u << lane);
      if (*known) taken |= 1u << lane;
    }
  }
  const int depth = fragment.fork ? fragment.fork->depth + 1 : 1;
  if (symbolic && depth > kMostForks)
    return abort(pc, "a loop whose number of turns depends on data");

  const uint32_t known = fragment.mask & ~symbolic;
  const uint32_t jump = known & taken, stay = known & ~taken;
  const std::shared_ptr<Fork> outer = fragment.fork;
  std::vector<Fragment> parts;
  if (jump) parts.push_back({.mask = jump, .pc = target, .fork = outer});
  if (stay) parts.push_back({.mask = stay, .pc = pc + 1, .fork = outer});
  if (symbolic) {
    auto f = std::make_shared<Fork>();
    f->parent = outer;
    f->depth = depth;
    f->mask = symbolic;
    f->reconverge = kernel_.cfg->reconvergence(pc);
    f->other_target = pc + 1;
    f->condition = condition;
    f->history = history;
    for (uint32_t m = symbolic; m; m &= m - 1) {
      const auto lane = static_cast<size_t>(std::countr_zero(m));
      f->guard[lane] = conjunction(outer ? outer->guard[lane] : Term{}, condition[lane]);
    }
    for (const uint32_t reg : registers_written(pc))
      f->saved.emplace_back(reg, warp.registers[reg]);
    parts.push_back({.mask = symbolic, .pc = target, .fork = std::move(f)});
  }
  fragment = parts.front();
  warp.fragments.insert(warp.fragments.end(), parts.begin() + 1, parts.end());
  return Step::Jumped;
}

void CtaExecutor::arrive(Warp& warp, std::shared_ptr<Fork> f, uint32_t mask) {
  f->arrived |= mask;
  if (f->arrived != f->mask) return;
  if (!f->second) {
    f->second = true;
    f->arrived = 0;
    for (uint32_t m = f->mask; m; m &= m - 1) {
      const auto lane = static_cast<size_t>(std::countr_zero(m));
      const Term other = store_.make(Kind::Not, {f->condition[lane]});
      f->guard[lane] = conjunction(f->parent ? f->parent->guard[lane] : Term{}, other);
      for (auto& [reg, bank] : f->saved) {
        const Word before = bank.get(static_cast<int>(lane));
        bank.set(static_cast<int>(lane), warp.registers[reg].get(static_cast<int>(lane)));
        warp.registers[reg].set(static_cast<int>(lane), before);
      }
      // No carry chain goes over a branch on data.
      warp.condition_code.set(static_cast<int>(lane), Word{});
    }
    warp.fragments.push_back({.mask = f->mask, .pc = f->other_target, .fork = f});
    return;
  }
  const uint32_t gone = f->ended[0] & f->ended[1];
  const uint32_t done = f->reconverge == ptx::Cfg::kExit ? f->mask : gone;
  if (done) {
    if (f->parent) {
      f->parent->ended[f->parent->second] |= gone;
      arrive(warp, f->parent, done);
    } else {
      end_lanes(warp, done);
    }
  }
  if (done == f->mask) return;
  for (uint32_t m = f->mask & ~done; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    warp.condition_code.set(lane, Word{});
    for (const auto& [reg, bank] : f->saved) {
      const Word first = bank.get(lane), second = warp.registers[reg].get(lane);
      // An input that leads to an arm that ends the launch is a defect: for all others the lane
      // comes from the other arm.
      if (f->ended[1] >> lane & 1)
        warp.registers[reg].set(lane, first);
      else if (!(f->ended[0] >> lane & 1) && !same_machine_word(first, second))
        warp.registers[reg].set(lane, join(reg, f->condition[static_cast<size_t>(lane)],
                                           f->history[static_cast<size_t>(lane)], first, second));
    }
  }
  warp.fragments.push_back({.mask = f->mask & ~done, .pc = f->reconverge, .fork = f->parent});
}

CtaExecutor::Step CtaExecutor::split(const Warp& warp, int lane, uint32_t pc,
                                     const std::string& reason) {
  // The order in which CTAs come to a counter or wait for each other is not followed on several
  // paths.
  if (!waits_ && rounds_.empty() && !last_ && !ticket_ && opaque_.empty() &&
      raced_before_.loads.empty() && raced_before_.places.empty()) {
    const Fork* outermost = fork_;
    while (outermost && outermost->parent) outermost = outermost->parent.get();
    if (outermost) {
      out_.split = outermost->condition[static_cast<size_t>(lane)];
    } else {
      const ptx::Operand& guard = *kernel_.decoded.body[pc].text->guard;
      out_.split = term_of(operand(warp, lane, guard, 1), kPred);
    }
  }
  return abort(pc, reason);
}

bool CtaExecutor::report_end(int lane, uint32_t thread, uint32_t pc, const std::string& what) {
  const Term g = guard(lane);
  Defect defect;
  defect.kind = DefectKind::UninitializedRead;
  defect.message = what + ": the launch ends and leaves its results undefined";
  defect.accesses = {access(coequal::Access::Kind::Other, thread, pc)};
  report_under(g, std::move(defect), false);
  return g.valid();
}

CtaExecutor::Step CtaExecutor::end_launch(Warp& warp, Fragment& fragment, uint32_t mask,
                                          const std::string& what) {
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
    if (!report_end(lane, thread, fragment.pc, what)) out_.aborted = true;
    if (out_.aborted) return Step::Aborted;
  }
  const std::shared_ptr<Fork> fork = fragment.fork;
  CHECK(fork);
  fork->ended[fork->second] |= mask;
  fragment.mask &= ~mask;
  const bool rest = fragment.mask != 0;
  arrive(warp, fork, mask);
  return rest ? Step::Next : Step::Ended;
}

Word CtaExecutor::join(uint32_t reg, const Term& condition, uint32_t decided_by, const Word& first,
                       const Word& second) {
  // A temporary of one arm: nothing sensible reads it after the join.
  if (first.tag == Tag::Unset && second.tag == Tag::Unset) return first;
  OperandType type;
  const ptx::ScalarType declared = kernel_.function->registers[reg].type;
  const int width = ptx::bits_of(declared);
  if (declared == ptx::ScalarType::Pred) {
    type = kPred;
  } else if (first.tag == Tag::Real || second.tag == Tag::Real) {
    const term::FloatFormat format = first.tag == Tag::Real ? first.format : second.format;
    const bool agree =
        first.tag != Tag::Real || second.tag != Tag::Real || first.format == second.format;
    type = agree && term::bits_of(format) == width
               ? OperandType{OperandType::Class::Float, static_cast<uint8_t>(width), false, format}
               : OperandType{OperandType::Class::Bits, static_cast<uint8_t>(width), false, {}};
  } else {
    type = {OperandType::Class::Bits, static_cast<uint8_t>(width), false, {}};
  }
  Word both = word_of(
      store_.make(Kind::Select, {condition, term_of(first, type), term_of(second, type)}), type);
  if (histories_)
    both.history = history_by("join", 0, decided_by,
                              history_by("arms", 0, history_of(first), history_of(second)));
  return both;
}

}  // namespace coequal::exec
