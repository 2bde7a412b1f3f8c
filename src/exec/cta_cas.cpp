// Loops around a compare-and-swap that apply one commuting operation to a cell: old = cell; do new
// = f(old) while the swap of old by new fails.
//
// Whatever the schedule, such a loop ends when the cell has gone from some old value to f(old) in
// one step, so it is an atomic that applies f, if
//  - in a turn nothing but the swap touches memory, and a turn is a function of the value that it
//    expects: the only register that one turn hands to the next is what the swap returned;
//  - a turn that swaps leaves the loop only where the swap succeeded;
//  - f(old) is old combined with something that does not depend on old.
// Execution makes one turn with an opaque old value and reads f off the term that would be stored.
// A loop may also end before the swap by a condition on old (a maximum that is reached already):
// then f is the select of both, and only minima and maxima are taken, which an outdated old value
// cannot mislead.
#include <algorithm>
#include <bit>

#include "exec/cta.h"
#include "term/traverse.h"

namespace coequal::exec {

using isa::Op;
using isa::OperandType;
using tensor::AtomicKind;
using term::Kind;

namespace {

using Operand = ptx::Operand;

void add_registers(const Operand& op, std::set<uint32_t>& into) {
  if (op.kind == Operand::Kind::Register ||
      (op.kind == Operand::Kind::Address && op.base_is_register))
    into.insert(op.reg);
  for (const Operand& e : op.elements) add_registers(e, into);
}

size_t destinations(const isa::Decoded& d) {
  switch (d.op) {
    case Op::Bra:
    case Op::Nop:
      return 0;
    case Op::Ld:
    case Op::Atom:
      return 1;
    default: {
      // As many operands as make up the destination types.
      size_t count = 0, types = 0;
      while (count < d.text->operands.size() && types < d.dst_types.size()) {
        const Operand& op = d.text->operands[count++];
        types += op.kind == Operand::Kind::Vector ? op.elements.size() : 1;
      }
      return std::max<size_t>(count, 1);
    }
  }
}

bool is_register(const Operand& op, uint32_t reg) {
  return op.kind == Operand::Kind::Register && op.reg == reg;
}

}  // namespace

void CtaExecutor::find_cas_loops() {
  const auto& body = kernel_.decoded.body;
  for (uint32_t pc = 0; pc < body.size(); ++pc)
    if (body[pc].row && body[pc].op == Op::Atom &&
        static_cast<isa::AtomOp>(body[pc].mode) == isa::AtomOp::Cas)
      if (auto loop = cas_loop(pc)) cas_loops_.emplace(pc, std::move(*loop));
}

std::set<uint32_t> CtaExecutor::innermost_loop(uint32_t block) const {
  const auto& blocks = kernel_.cfg->blocks();
  std::set<uint32_t> loop;  // the innermost one found so far
  std::set<uint32_t> within, heads;
  for (uint32_t b = 0; b < blocks.size(); ++b) within.insert(b);
  while (true) {
    // Blocks on a cycle through it that enters no head of an outer loop.
    const auto reached = [&](uint32_t from) {
      std::set<uint32_t> seen;
      std::vector<uint32_t> todo{from};
      while (!todo.empty()) {
        const uint32_t b = todo.back();
        todo.pop_back();
        for (const uint32_t n : blocks[b].successors)
          if (within.contains(n) && !heads.contains(n) && seen.insert(n).second) todo.push_back(n);
      }
      return seen;
    };
    const std::set<uint32_t> forward = reached(block);
    if (!forward.contains(block)) return loop;
    loop.clear();
    for (const uint32_t b : forward)
      if (b == block || reached(b).contains(block)) loop.insert(b);
    std::vector<uint32_t> entries;
    for (const uint32_t b : loop) {
      bool entered = b == 0;
      for (uint32_t p = 0; p < blocks.size(); ++p)
        entered |= !loop.contains(p) &&
                   std::find(blocks[p].successors.begin(), blocks[p].successors.end(), b) !=
                       blocks[p].successors.end();
      if (entered) entries.push_back(b);
    }
    if (entries.size() != 1) return loop;
    heads.insert(entries[0]);
    within = loop;
  }
}

std::optional<CtaExecutor::CasLoop> CtaExecutor::cas_loop(uint32_t cas) const {
  const auto& body = kernel_.decoded.body;
  const ptx::Cfg& cfg = *kernel_.cfg;
  const auto& blocks = cfg.blocks();
  const uint32_t own = cfg.block_of(cas);
  const isa::Decoded& swap = body[cas];
  if (swap.text->guard || swap.text->operands.size() < 4) return std::nullopt;
  const Operand &result = swap.text->operands[0], &expected = swap.text->operands[2];
  if (result.kind != Operand::Kind::Register || expected.kind != Operand::Kind::Register)
    return std::nullopt;

  const std::set<uint32_t> loop = innermost_loop(own);
  if (loop.empty()) return std::nullopt;
  std::vector<std::vector<uint32_t>> before(blocks.size());
  for (uint32_t b = 0; b < blocks.size(); ++b)
    for (const uint32_t n : blocks[b].successors)
      if (n != ptx::Cfg::kExit) before[n].push_back(b);
  std::optional<uint32_t> head;
  for (const uint32_t b : loop) {
    const bool entered =
        b == cfg.block_of(0) || std::any_of(before[b].begin(), before[b].end(),
                                            [&](uint32_t p) { return !loop.contains(p); });
    if (!entered) continue;
    if (head) return std::nullopt;
    head = b;
  }
  if (!head) return std::nullopt;

  // Registers that the loop writes, and those that a turn reads before it writes them.
  std::set<uint32_t> written;
  std::map<uint32_t, std::set<uint32_t>> uses, sets;
  for (const uint32_t b : loop)
    for (uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) {
      const isa::Decoded& d = body[i];
      const bool allowed = d.row && (d.op == Op::Pure || d.op == Op::Mov || d.op == Op::Cvta ||
                                     d.op == Op::Isspacep || d.op == Op::Nop || d.op == Op::Bra ||
                                     d.op == Op::Ld || i == cas);
      if (!allowed || d.writes_cc || d.reads_cc) return std::nullopt;
      const auto& operands = d.text->operands;
      const size_t outputs = destinations(d);
      std::set<uint32_t> reads, writes;
      for (size_t k = 0; k < operands.size(); ++k)
        add_registers(operands[k], k < outputs ? writes : reads);
      if (d.text->guard) {
        reads.insert(d.text->guard->reg);
        reads.insert(writes.begin(), writes.end());  // may keep its old value
      }
      for (const uint32_t r : reads)
        if (!sets[b].contains(r)) uses[b].insert(r);
      sets[b].insert(writes.begin(), writes.end());
      written.insert(writes.begin(), writes.end());
    }
  std::map<uint32_t, std::set<uint32_t>> live = uses;
  for (bool changed = true; changed;) {
    changed = false;
    for (const uint32_t b : loop)
      for (const uint32_t n : blocks[b].successors) {
        if (!loop.contains(n)) continue;
        for (const uint32_t r : live[n])
          if (!sets[b].contains(r)) changed |= live[b].insert(r).second;
      }
  }
  std::optional<uint32_t> carried;
  for (const uint32_t r : live[*head]) {
    if (!written.contains(r)) continue;
    if (carried) return std::nullopt;
    carried = r;
  }

  // The swap alone makes its result, and what goes to the next turn is that.
  std::set<uint32_t> aliases{expected.reg};
  for (const uint32_t b : loop)
    for (uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) {
      const isa::Decoded& d = body[i];
      const auto& operands = d.text->operands;
      const size_t outputs = destinations(d);
      for (size_t k = 0; k < outputs && k < operands.size(); ++k) {
        std::set<uint32_t> writes;
        add_registers(operands[k], writes);
        if (i != cas && writes.contains(result.reg) && carried != result.reg) return std::nullopt;
        if (!carried || !writes.contains(*carried) || i == cas) continue;
        const bool moves = d.op == Op::Mov && !d.text->guard && operands.size() == 2 &&
                           is_register(operands[1], result.reg);
        if (!moves) return std::nullopt;
      }
    }
  // Loads whose result the first turn expects.
  for (bool changed = true; changed;) {
    changed = false;
    for (const isa::Decoded& d : body)
      if (d.row && d.op == Op::Mov && d.text->operands.size() == 2 &&
          d.text->operands[0].kind == Operand::Kind::Register &&
          d.text->operands[1].kind == Operand::Kind::Register &&
          aliases.contains(d.text->operands[0].reg) && d.text->operands[1].reg != result.reg)
        changed |= aliases.insert(d.text->operands[1].reg).second;
  }
  CasLoop found;
  const int width = ptx::bits_of(swap.type);
  for (uint32_t i = 0; i < body.size(); ++i)
    if (body[i].row && body[i].op == Op::Ld && ptx::bits_of(body[i].type) == width &&
        !body[i].non_coherent && body[i].text->operands[0].kind == Operand::Kind::Register &&
        aliases.contains(body[i].text->operands[0].reg))
      found.loads.insert(i);
  if (found.loads.empty()) return std::nullopt;
  for (const uint32_t b : loop)
    for (uint32_t i = blocks[b].begin; i < blocks[b].end; ++i)
      for (const auto* types : {&body[i].dst_types, &body[i].src_types})
        for (const OperandType& type : *types)
          if (body[i].op == Op::Pure && type.cls == OperandType::Class::Float &&
              type.width == width)
            found.format = type.format;

  // Where the loop is left: behind the swap only if it succeeded.
  std::set<uint32_t> behind{own};
  for (std::vector<uint32_t> todo{own}; !todo.empty();) {
    const uint32_t block = todo.back();
    todo.pop_back();
    for (const uint32_t n : blocks[block].successors)
      if (loop.contains(n) && n != *head && behind.insert(n).second) todo.push_back(n);
  }
  for (const uint32_t b : loop)
    for (const uint32_t n : blocks[b].successors) {
      if (loop.contains(n)) continue;
      const uint32_t last = blocks[b].end - 1;
      const isa::Decoded& d = body[last];
      if (d.op != Op::Bra || !d.text->guard) return std::nullopt;
      if (!behind.contains(b)) {
        found.exits.insert(last);
        continue;
      }
      // setp.ne or .eq of the swap's result and what it expected, between the swap and the branch.
      if (b != own) return std::nullopt;
      bool tested = false, equal = false, intact = true;
      for (uint32_t i = cas + 1; i < last; ++i) {
        const isa::Decoded& t = body[i];
        const auto& operands = t.text->operands;
        if (t.op == Op::Pure && t.text->opcode == "setp" && operands.size() == 3 && intact &&
            t.dst_types.size() == 1 && t.src_types[0].cls == OperandType::Class::Bits &&
            is_register(operands[0], d.text->guard->reg) && !t.text->guard &&
            (t.compare == isa::Compare::Eq || t.compare == isa::Compare::Ne) &&
            ((is_register(operands[1], result.reg) && is_register(operands[2], expected.reg)) ||
             (is_register(operands[2], result.reg) && is_register(operands[1], expected.reg))) &&
            t.src_types[0].width == width) {
          tested = true;
          found.tests.insert(i);
          equal = t.compare == isa::Compare::Eq;
          continue;
        }
        for (size_t k = 0; k < destinations(t) && k < operands.size(); ++k) {
          std::set<uint32_t> writes;
          add_registers(operands[k], writes);
          if (writes.contains(d.text->guard->reg)) tested = false;
          if (writes.contains(expected.reg) || writes.contains(result.reg)) intact = false;
        }
      }
      if (d.text->guard->negated) equal = !equal;
      const bool jumps_out = cfg.block_of(d.text->operands[0].target) == n;
      if (!tested || jumps_out != equal) return std::nullopt;
    }
  return found;
}

const CtaExecutor::CasLoop* CtaExecutor::cas_load(uint32_t pc) const {
  for (const auto& [cas, loop] : cas_loops_)
    if (loop.loads.contains(pc)) return &loop;
  return nullptr;
}

const CtaExecutor::CasLoop* CtaExecutor::cas_test(uint32_t pc) const {
  for (const auto& [cas, loop] : cas_loops_)
    if (loop.tests.contains(pc)) return &loop;
  return nullptr;
}

bool CtaExecutor::is_cas_exit(const Term& condition, uint32_t pc) const {
  const bool exits = std::any_of(cas_loops_.begin(), cas_loops_.end(), [&](const auto& entry) {
    return entry.second.exits.contains(pc);
  });
  if (!exits) return false;
  bool only = true;
  term::Postorder(store_).walk(
      condition, [&](const Term& t) { return store_.has_poison(t); },
      [&](const Term& t) {
        if (store_.kind(t) == Kind::Poison) only &= opaque_groups_.contains(store_.groups(t)[0]);
      });
  return only;
}

bool CtaExecutor::mentions_opaque(const Term& t) const {
  bool found = false;
  term::Postorder(store_).walk(
      t, [&](const Term& x) { return store_.has_poison(x); },
      [&](const Term& x) {
        found |= store_.kind(x) == Kind::Poison && opaque_groups_.contains(store_.groups(x)[0]);
      });
  return found;
}

Word CtaExecutor::opaque_old(const CasLoop& loop, const Address& at, int width, uint32_t thread,
                             uint32_t pc) {
  const auto make = [&](const OperandType& type) {
    const Term leaf = poison_term(
        fmt::format("{} {} old value", kernel_.function->name, pc), type.term_type(), ++opaques_,
        {PoisonSource::Kind::Refused,
         "",
         {kernel_.function->body[pc].spelling(), span(pc), "the old value of an atomic is used"},
         {}});
    opaque_groups_.insert(store_.groups(leaf)[0]);
    return word_of(leaf, type);
  };
  const OperandType bits{OperandType::Class::Bits, static_cast<uint8_t>(8 * width), false, {}};
  Word word;
  if (at.location.place == Place::Tensor) {
    const DType dtype = (*state_.tensors)[at.location.object].dtype;
    const int element = dtype_size(dtype);
    if (width % element || at.location.offset % element) {
      word = make(bits);
    } else {
      word = make(element_type(dtype));
      for (int done = element; done < width; done += element)
        word = concat(word, done, make(element_type(dtype)), element);
    }
  } else {
    const bool real = loop.format && term::bits_of(*loop.format) == 8 * width;
    word = make(real ? OperandType{OperandType::Class::Float, static_cast<uint8_t>(8 * width),
                                   false, *loop.format}
                     : bits);
  }
  opaque_[thread] = {at.location, at.motion, word};
  return word;
}

std::optional<std::pair<AtomicKind, Term>> CtaExecutor::update_of(const Term& result,
                                                                  const Term& old) {
  // What is combined with the old value, from the outermost operation inwards.
  std::optional<AtomicKind> kind;
  std::vector<Term> others;
  Term t = result;
  const auto peel = [&](AtomicKind k, const Term& a, const Term& b) {
    if (kind && *kind != k) return false;
    const bool first = mentions_opaque(a), second = mentions_opaque(b);
    if (first == second) return false;
    kind = k;
    others.push_back(first ? b : a);
    t = first ? a : b;
    return true;
  };
  while (t != old) {
    bool ok = false;
    switch (store_.kind(t)) {
      case Kind::Add:
      case Kind::BvAdd:
        ok = peel(AtomicKind::Add, store_.child(t, 0), store_.child(t, 1));
        break;
      case Kind::Mul:
        ok = peel(AtomicKind::Mul, store_.child(t, 0), store_.child(t, 1));
        break;
      case Kind::Min:
        ok = peel(AtomicKind::Min, store_.child(t, 0), store_.child(t, 1));
        break;
      case Kind::Max:
        ok = peel(AtomicKind::Max, store_.child(t, 0), store_.child(t, 1));
        break;
      case Kind::BvAnd:
        ok = peel(AtomicKind::And, store_.child(t, 0), store_.child(t, 1));
        break;
      case Kind::BvOr:
        ok = peel(AtomicKind::Or, store_.child(t, 0), store_.child(t, 1));
        break;
      case Kind::BvXor:
        ok = peel(AtomicKind::Xor, store_.child(t, 0), store_.child(t, 1));
        break;
      case Kind::Select: {
        // "a < b ? a : b" and its kin.
        Term condition = store_.child(t, 0), then = store_.child(t, 1), other = store_.child(t, 2);
        if (store_.kind(condition) == Kind::Not) {
          condition = store_.child(condition, 0);
          std::swap(then, other);
        }
        const Kind k = store_.kind(condition);
        const bool real = k == Kind::Less || k == Kind::LessEq;
        if (!real && k != Kind::BvUlt && k != Kind::BvSlt) break;
        const Term a = store_.child(condition, 0), b = store_.child(condition, 1);
        const bool least = then == a && other == b, greatest = then == b && other == a;
        if (!least && !greatest) break;
        if (k == Kind::BvSlt)
          ok = peel(least ? AtomicKind::MinSigned : AtomicKind::MaxSigned, a, b);
        else
          ok = peel(least ? AtomicKind::Min : AtomicKind::Max, a, b);
        break;
      }
      default:
        break;
    }
    if (!ok) return std::nullopt;
  }
  if (!kind) return std::nullopt;
  const bool floats = store_.type(old) == term::kReal;
  Term value = others[0];
  for (size_t i = 1; i < others.size(); ++i) value = combined(*kind, floats, value, others[i]);
  if (mentions_opaque(value)) return std::nullopt;
  return std::pair(*kind, value);
}

// A condition as a conjunction of one on the old value and the rest. That the old value is a number
// is left out: where the cell is undefined, so is what comes of it.
void CtaExecutor::split_opaque(const Term& g, Term& on_old, Term& rest) {
  const Kind kind = store_.kind(g);
  if (kind == Kind::And) {
    split_opaque(store_.child(g, 0), on_old, rest);
    split_opaque(store_.child(g, 1), on_old, rest);
    return;
  }
  if (kind == Kind::Not) {
    const Term inner = store_.child(g, 0);
    if (store_.kind(inner) == Kind::Or) {
      for (int i = 0; i < 2; ++i)
        split_opaque(store_.make(Kind::Not, {store_.child(inner, i)}), on_old, rest);
      return;
    }
  }
  const bool opaque = mentions_opaque(g);
  if (kind == Kind::IsNumber && opaque) return;
  Term& into = opaque ? on_old : rest;
  into = conjunction(into, g);
}

CtaExecutor::Step CtaExecutor::execute_cas(Warp& warp, uint32_t mask, const isa::Decoded& d,
                                           uint32_t pc) {
  const std::string unknown =
      "a compare-and-swap that is no loop around one commuting operation (a lock, for example)";
  const auto loop = cas_loops_.find(pc);
  if (loop == cas_loops_.end()) return abort(pc, unknown);
  const int width = ptx::bits_of(d.type) / 8;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
    const Word expected = operand(warp, lane, d.text->operands[2], 8 * width);
    const Word stored = operand(warp, lane, d.text->operands[3], 8 * width);
    // A condition on the old value belongs to the update; the fork's other arm leaves the loop.
    Term early;
    Fork inner;
    const Fork* const outer = fork_;
    if (const Term g = guard(lane); g.valid() && mentions_opaque(g)) {
      if (!fork_ || predicated_) return abort(pc, unknown);
      Term rest;
      split_opaque(g, early, rest);
      inner.guard[static_cast<size_t>(lane)] = rest;
      fork_ = rest.valid() ? &inner : nullptr;
    }
    const Addresses places = addresses(warp, lane, d.text->operands[1], d.space, pc, true);
    Step step = out_.aborted ? Step::Aborted : Step::Next;
    if (step == Step::Next && !places.empty()) {
      const auto old = opaque_.find(thread);
      const bool same =
          places.size() == 1 && old != opaque_.end() && old->second.at == places[0].location &&
          old->second.motion == places[0].motion && same_word(old->second.word, expected);
      if (!same)
        step = abort(pc, unknown);
      else if (check(places[0], width, width, true, thread, pc))
        step = swap_at(places[0], width, expected, stored, early, warp.index, lane, d, pc, unknown);
    }
    fork_ = outer;
    if (step != Step::Next) return step;
    write(warp, lane, d.text->operands[0], expected);
  }
  return Step::Next;
}

CtaExecutor::Step CtaExecutor::swap_at(const Address& at, int width, const Word& expected,
                                       const Word& stored, const Term& early, uint32_t warp,
                                       int lane, const isa::Decoded& d, uint32_t pc,
                                       const std::string& unknown) {
  OperandType type{OperandType::Class::Bits, static_cast<uint8_t>(8 * width), false, {}};
  int element = width;
  if (at.location.place == Place::Tensor) {
    const DType dtype = (*state_.tensors)[at.location.object].dtype;
    element = dtype_size(dtype);
    type = element_type(dtype);
    if (width % element || at.location.offset % element) return abort(pc, unknown);
  } else if (expected.tag == Tag::Real) {
    type = {OperandType::Class::Float, static_cast<uint8_t>(8 * width), false, expected.format};
  }
  const auto scalar = [&]() -> std::optional<ptx::ScalarType> {
    if (type.cls == OperandType::Class::Float) switch (type.format) {
        case term::FloatFormat::F64:
          return ptx::ScalarType::F64;
        case term::FloatFormat::F32:
          return ptx::ScalarType::F32;
        case term::FloatFormat::F16:
          return ptx::ScalarType::F16;
        case term::FloatFormat::BF16:
          return ptx::ScalarType::BF16;
        default:
          return std::nullopt;
      }
    return element == 8   ? ptx::ScalarType::U64
           : element == 4 ? ptx::ScalarType::U32
           : element == 2 ? ptx::ScalarType::U16
                          : std::optional<ptx::ScalarType>();
  }();
  if (!scalar) return abort(pc, unknown);
  // The swap stores the whole word: a neighbour that it leaves alone is updated by what is neutral.
  std::optional<AtomicKind> kind;
  std::vector<std::pair<int, std::optional<Term>>> parts;
  for (int first = 0; first < width; first += element) {
    const Term old = term_of(extract(expected, width, first, element), type);
    Term now = term_of(extract(stored, width, first, element), type);
    parts.emplace_back(first, std::nullopt);
    if (now == old) continue;
    if (early.valid()) now = store_.make(Kind::Select, {early, now, old});
    const auto update = update_of(now, old);
    const bool extreme =
        update &&
        (update->first == AtomicKind::Min || update->first == AtomicKind::Max ||
         update->first == AtomicKind::MinSigned || update->first == AtomicKind::MaxSigned);
    if (!update || (early.valid() && !extreme)) return abort(pc, unknown);
    if (kind && *kind != update->first)
      return abort(pc, "a compare-and-swap that updates the parts of a word in different ways");
    kind = update->first;
    parts.back().second = update->second;
  }
  if (!kind) kind = AtomicKind::Add;
  for (const auto& [first, value] : parts) {
    Address part = at;
    part.location.offset += first;
    atomic_at(part, *scalar, *kind,
              word_of(value ? *value : tensor::neutral(*kind, type.term_type(), store_), type),
              warp, lane, d, pc);
    if (out_.aborted) return Step::Aborted;
  }
  return Step::Next;
}

}  // namespace coequal::exec
