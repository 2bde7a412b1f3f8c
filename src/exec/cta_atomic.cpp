// Atomics of one CTA: gathered in global memory, applied in order in shared memory.
#include <algorithm>
#include <bit>

#include "exec/cta.h"

namespace coequal::exec {

using isa::OperandType;
using term::Kind;
using Accessed = coequal::Access;

Word CtaExecutor::with_atomics(const GlobalTensor& t, DType dtype, int64_t cell,
                               const Word& value) {
  const auto it = t.atomics_of.find(cell);
  if (it == t.atomics_of.end()) return value;
  // A read that is ordered after all of them sees their sum; one that is not was reported as a
  // conflict, and with another CTA's updates of the cell it conflicts in the grid.
  const OperandType type = element_type(dtype);
  Term content = term_of(value, type);
  for (const uint32_t i : it->second) {
    const tensor::AtomicUpdate& u = t.atomics[i];
    const Term now = combined(u.kind, is_float(dtype), content, u.value);
    content = u.guard.valid() ? store_.make(Kind::Select, {u.guard, now, content}) : now;
  }
  return word_of(content, type);
}
namespace {

tensor::FlagUpdate::Kind update_kind(tensor::AtomicKind kind, const Term& guard) {
  return kind == tensor::AtomicKind::Add && !guard.valid() ? tensor::FlagUpdate::Kind::Add
                                                           : tensor::FlagUpdate::Kind::Other;
}

bool is_float_type(ptx::ScalarType type) {
  return type == ptx::ScalarType::F32 || type == ptx::ScalarType::F64 ||
         type == ptx::ScalarType::F16 || type == ptx::ScalarType::BF16;
}

}  // namespace

std::optional<tensor::AtomicKind> CtaExecutor::gathered_kind(isa::AtomOp op, ptx::ScalarType type) {
  const bool is_signed = type == ptx::ScalarType::S32 || type == ptx::ScalarType::S64;
  switch (op) {
    case isa::AtomOp::Add:
      return tensor::AtomicKind::Add;
    case isa::AtomOp::Min:
      return is_signed ? tensor::AtomicKind::MinSigned : tensor::AtomicKind::Min;
    case isa::AtomOp::Max:
      return is_signed ? tensor::AtomicKind::MaxSigned : tensor::AtomicKind::Max;
    case isa::AtomOp::And:
      return tensor::AtomicKind::And;
    case isa::AtomOp::Or:
      return tensor::AtomicKind::Or;
    case isa::AtomOp::Xor:
      return tensor::AtomicKind::Xor;
    default:
      return std::nullopt;
  }
}

CtaExecutor::Step CtaExecutor::execute_atomic(Warp& warp, uint32_t mask, const isa::Decoded& d,
                                              uint32_t pc) {
  if (static_cast<isa::AtomOp>(d.mode) == isa::AtomOp::Cas) return execute_cas(warp, mask, d, pc);
  if (static_cast<isa::AtomOp>(d.mode) == isa::AtomOp::Exch && waits_ && d.op == isa::Op::Atom &&
      d.text->operands[2].kind != ptx::Operand::Kind::Vector)
    return execute_exchange(warp, mask, d, pc);
  const bool returns = d.op == isa::Op::Atom;
  const ptx::Operand& target = d.text->operands[returns ? 1 : 0];
  const ptx::Operand& source = d.text->operands[returns ? 2 : 1];
  // An increment that does not wrap is an addition of one; whether it wraps is asked below.
  const bool increments = static_cast<isa::AtomOp>(d.mode) == isa::AtomOp::Inc;
  const auto kind = increments ? tensor::AtomicKind::Add
                               : gathered_kind(static_cast<isa::AtomOp>(d.mode), d.type);
  if (!kind || (increments && !returns))
    return abort(pc, "'" + d.text->spelling() + "' is no commuting atomic");
  const bool vector = source.kind == ptx::Operand::Kind::Vector;
  const int count = vector ? static_cast<int>(source.elements.size()) : 1;
  // Two halves in one register are two atomics.
  ptx::ScalarType type = d.type;
  if (type == ptx::ScalarType::F16X2) type = ptx::ScalarType::F16;
  if (type == ptx::ScalarType::BF16X2) type = ptx::ScalarType::BF16;
  const int whole = ptx::bits_of(d.type) / 8, width = ptx::bits_of(type) / 8;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
    const Addresses places = addresses(warp, lane, target, d.space, pc, true);
    if (out_.aborted) return Step::Aborted;
    if (behind_ticket(thread)) return abort(pc, "atomics of the last block that shares a counter");
    contents_ = &contents_in(round_);
    std::optional<Word> ticket, old;
    if (returns && ranks_ == 1 && (!waits_ || !reads_ctaid()) && !vector && places.size() == 1 &&
        !is_float_type(type) && *kind == tensor::AtomicKind::Add && std::popcount(mask) == 1) {
      const Word value = operand(warp, lane, source, 8 * whole);
      if (value.is_number() && !value.motion && check(places[0], whole, whole, true, thread, pc))
        ticket = take_ticket(places[0], increments ? 1 : value.bits, thread, d, pc);
      if (increments && ticket) {
        // Old values up to the bound less one stay below it; the last may reach it and wrap.
        const Ticket& t = *ticket_;
        const uint64_t most = t.start + static_cast<uint64_t>(t.place.sharing) - 1;
        if (most > value.bits) return abort(pc, "a counter that wraps while numbers are taken");
        if (most == value.bits) ticket_->wraps = true;
      }
    }
    if (increments && !ticket)
      return abort(pc, "'" + d.text->spelling() + "' is no commuting atomic");
    for (const Address& at : places) {
      when_ = at.when;
      if (!check(at, whole * count, whole * count, true, thread, pc)) continue;
      for (int first = 0; first < whole * count; first += width) {
        const ptx::Operand& element =
            vector ? source.elements[static_cast<size_t>(first / whole)] : source;
        Word value = operand(warp, lane, element, 8 * whole);
        if (increments)
          value = Word::concrete(ticket_->wraps && ticket_->place.sharing == 1
                                     ? (0 - ticket_->start) & 0xffffffffu
                                     : 1);
        Address part = at;
        part.location.offset += first;
        atomic_at(part, type, *kind, extract(value, whole, first % whole, width), warp.index, lane,
                  d, pc);
        if (out_.aborted) return Step::Aborted;
        if (waits_ && returns && !vector && width == whole && *kind == tensor::AtomicKind::Add)
          old = old_number(part, value, width, thread, pc);
      }
    }
    when_ = {};
    if (!returns) continue;
    const ptx::Operand& result = d.text->operands[0];
    for (int i = 0; i < count; ++i)
      write(warp, lane, vector ? result.elements[static_cast<size_t>(i)] : result,
            ticket ? *ticket
            : old  ? *old
                   : old_value(pc));
  }
  return Step::Next;
}

// Each is a value of its own: two old values are not known to be equal.
Word CtaExecutor::old_value(uint32_t pc) {
  return Word::symbolic(poison_term(
      fmt::format("{} {} old value", kernel_.function->name, pc), term::bv(64), ++opaques_,
      {PoisonSource::Kind::Refused,
       "",
       {kernel_.function->body[pc].spelling(), span(pc), "the old value of an atomic is used"},
       {}}));
}

// Floats of one sign are ordered as their bits are, or the other way round: a signed maximum with
// bits of v >= 0 is a maximum of floats, and so is an unsigned minimum with bits of v < 0. Which
// sign v has must follow from the guard.
std::optional<tensor::AtomicKind> CtaExecutor::float_order(tensor::AtomicKind kind,
                                                           const Term& value, const Term& guard) {
  const Term zero = store_.real(0);
  const Term negative = store_.make(Kind::Less, {value, zero});
  const Term sign[] = {store_.make(Kind::Not, {negative}), store_.make(Kind::LessEq, {zero, value}),
                       store_.make(Kind::Less, {zero, value})};
  bool below = false, above = false;
  const auto note = [&](const Term& t) {
    below |= t == negative;
    above |= std::find(std::begin(sign), std::end(sign), t) != std::end(sign);
  };
  if (const auto known = store_.as_bool(negative)) *known ? below = true : above = true;
  std::vector<Term> todo;
  if (guard.valid()) todo.push_back(guard);
  while (!todo.empty()) {
    const Term t = todo.back();
    todo.pop_back();
    note(t);
    if (store_.kind(t) == Kind::And)
      todo.insert(todo.end(), {store_.child(t, 0), store_.child(t, 1)});
    if (store_.kind(t) == Kind::Not && store_.kind(store_.child(t, 0)) == Kind::Or)
      for (int i = 0; i < 2; ++i)
        todo.push_back(store_.make(Kind::Not, {store_.child(store_.child(t, 0), i)}));
  }
  using tensor::AtomicKind;
  if (above && kind == AtomicKind::MaxSigned) return AtomicKind::Max;
  if (below && kind == AtomicKind::Min) return AtomicKind::Max;
  if (above && kind == AtomicKind::MinSigned) return AtomicKind::Min;
  if (below && kind == AtomicKind::Max) return AtomicKind::Min;
  return std::nullopt;
}

void CtaExecutor::atomic_at(const Address& at, ptx::ScalarType scalar, tensor::AtomicKind kind,
                            const Word& value, uint32_t warp, int lane, const isa::Decoded& d,
                            uint32_t pc) {
  const Location& l = at.location;
  const int64_t offset = l.offset;
  const uint32_t thread = warp * kWarpSize + static_cast<uint32_t>(lane);
  bool floats = is_float_type(scalar);
  const int width = ptx::bits_of(scalar) / 8;
  const Term g = guard(lane);
  if (!floats && value.tag == Tag::Real && term::bits_of(value.format) == 8 * width)
    if (const auto order = float_order(kind, value.term, g)) {
      kind = *order;
      floats = true;
    }
  const AccessEvent now = event(thread, pc, Role::Atomic, atomic_class(kind, thread, d));
  if (l.place == Place::Tensor) {
    note_effect(thread, pc);
    const uint32_t order = note_access(thread);
    const TensorId id = l.object;
    const tensor::TensorInfo& info = (*state_.tensors)[id];
    GlobalTensor& t = tensors_[id];
    if (!t.may_write) {
      Accessed a = access(Accessed::Kind::Atomic, thread, pc);
      a.where = info.name;
      a.index = tensor_index(id, offset);
      report_at(g, DefectKind::AccessViolation,
                fmt::format("tensor '{}' is declared read and is written", info.name), a);
    }
    if (!t.tracked) {
      out_.written_unexpectedly.insert(id);
      t.tracked = true;
    }
    if (width != info.element_size() || offset % width || floats != info.is_float()) {
      abort(pc,
            fmt::format("an atomic of another type than the elements of tensor '{}'", info.name));
      return;
    }
    const MotionId motion = cell_motion(at.motion, width);
    const int64_t cell = offset / width;
    separate(t.written_cells, cell, motion);
    separate(t.read_cells, cell, motion);
    touch(t.written_cells, cell, motion);
    overwrites_source(id, cell, thread, pc);
    track(t.shadow, Place::Tensor, id, offset, width, now);
    if (round_ && !ordered_with_rounds(id, cell, motion, true, thread, pc)) return;
    // A store of this CTA that is not ordered before it was reported; an ordered one is what the
    // atomic adds to.
    if (const auto it = t.stores.find(cell); it != t.stores.end()) it->second.before_atomics = true;
    std::vector<uint32_t>& updates = t.atomics_of[cell];
    const Term operand = term_of(value, element_type(info.dtype));
    // Both arms of a branch on data may take the extreme with one value: once, under either guard.
    const bool idempotent = kind != tensor::AtomicKind::Add && kind != tensor::AtomicKind::Mul &&
                            kind != tensor::AtomicKind::Xor;
    for (size_t i = updates.size();
         idempotent && g.valid() && i-- > 0 && updates.size() - i <= 64;) {
      tensor::AtomicUpdate& u = t.atomics[updates[i]];
      if (u.origin.thread != thread || u.kind != kind || u.motion != motion || u.value != operand ||
          !u.guard.valid())
        continue;
      u.guard = store_.make(Kind::Or, {u.guard, g});
      if (const auto known = store_.as_bool(u.guard); known && *known) u.guard = Term{};
      return;
    }
    const Word before = waits_ ? content_at(at, width) : Word{};
    const bool narrow = d.scope == isa::Scope::Cta || d.scope == isa::Scope::Cluster;
    updates.push_back(static_cast<uint32_t>(t.atomics.size()));
    t.atomics.push_back({cell, motion, kind, operand, {thread, pc}, narrow, g, false, order});
    t.atomic_moments.emplace_back(moment(thread), std::nullopt);
    if (waits_ && !floats)
      note_update(l, motion, update_kind(kind, g), before, value, content_at(at, width), width,
                  thread, d, pc);
    return;
  }
  if (l.place != Place::Shared) {
    abort(pc, "an atomic outside global and shared memory");
    return;
  }
  SharedVariable& v = shared_[l.object];
  track(v.shadow, Place::Shared, l.object, offset, width, now);
  overwrites_copy(v, offset, width, thread, pc);
  note_generic_write(v, offset, width, thread, pc);
  const Word old = is_raced(Place::Shared, l.object, offset, width)
                       ? tainted_word(width)
                       : load_variable(l, v.memory, width);
  const term::FloatFormat format = value.tag == Tag::Real            ? value.format
                                   : width == 8                      ? term::FloatFormat::F64
                                   : width == 4                      ? term::FloatFormat::F32
                                   : scalar == ptx::ScalarType::BF16 ? term::FloatFormat::BF16
                                                                     : term::FloatFormat::F16;
  const OperandType type =
      floats
          ? OperandType{OperandType::Class::Float, static_cast<uint8_t>(8 * width), false, format}
          : OperandType{OperandType::Class::Bits, static_cast<uint8_t>(8 * width), false, {}};
  const Term a = term_of(old, type);
  Term now_there = combined(kind, floats, a, term_of(value, type));
  if (g.valid()) now_there = store_.make(Kind::Select, {g, now_there, a});
  v.memory.store(offset, width, word_of(now_there, type));
  if (waits_ && !floats)
    note_update(l, 0, update_kind(kind, g), old, value, word_of(now_there, type), width, thread, d,
                pc);
}

// Those whose scope is one CTA commute with those of that CTA alone.
uint16_t CtaExecutor::atomic_class(tensor::AtomicKind kind, uint32_t thread,
                                   const isa::Decoded& d) const {
  const auto op = static_cast<uint16_t>(kind);
  if (ranks_ == 1 || d.scope != isa::Scope::Cta) return op;
  return static_cast<uint16_t>(op | (rank_of(thread) + 1) << 8);
}

Term CtaExecutor::combined(tensor::AtomicKind kind, bool floats, const Term& a, const Term& b) {
  const auto choose = [&](Kind less, bool least) {
    const Term condition = least ? store_.make(less, {a, b}) : store_.make(less, {b, a});
    return store_.make(Kind::Select, {condition, a, b});
  };
  switch (kind) {
    case tensor::AtomicKind::Add:
      return store_.make(floats ? Kind::Add : Kind::BvAdd, {a, b});
    case tensor::AtomicKind::Mul:
      return store_.make(Kind::Mul, {a, b});
    case tensor::AtomicKind::And:
      return store_.make(Kind::BvAnd, {a, b});
    case tensor::AtomicKind::Or:
      return store_.make(Kind::BvOr, {a, b});
    case tensor::AtomicKind::Xor:
      return store_.make(Kind::BvXor, {a, b});
    case tensor::AtomicKind::Min:
      return floats ? store_.make(Kind::Min, {a, b}) : choose(Kind::BvUlt, true);
    case tensor::AtomicKind::Max:
      return floats ? store_.make(Kind::Max, {a, b}) : choose(Kind::BvUlt, false);
    case tensor::AtomicKind::MinSigned:
      return choose(Kind::BvSlt, true);
    case tensor::AtomicKind::MaxSigned:
      return choose(Kind::BvSlt, false);
  }
  CHECK(false);
}

}  // namespace coequal::exec
