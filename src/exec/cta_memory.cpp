// Loads, stores, atomics and asynchronous copies of one CTA, with their bounds, conflicts and
// completion.
#include <algorithm>
#include <bit>

#include "exec/cta.h"

namespace coequal::exec {

using isa::OperandType;
using ptx::StateSpace;
using term::Kind;
using Accessed = coequal::Access;

namespace {

OperandType bits_type(int width) {
  return {OperandType::Class::Bits, static_cast<uint8_t>(width), false, {}};
}

OperandType element_type(DType dtype) {
  if (is_float(dtype))
    return {OperandType::Class::Float, static_cast<uint8_t>(8 * dtype_size(dtype)), false,
            tensor::float_format(dtype)};
  return bits_type(8 * dtype_size(dtype));
}

Place place_of(StateSpace space) {
  switch (space) {
    case StateSpace::Shared:
      return Place::Shared;
    case StateSpace::Local:
      return Place::Local;
    case StateSpace::Const:
      return Place::Const;
    case StateSpace::Param:
      return Place::Param;
    default:
      return Place::Tensor;
  }
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

}  // namespace

std::optional<Location> CtaExecutor::locate(uint64_t at, StateSpace space) const {
  Location l;
  switch (space) {
    case StateSpace::Shared:
      l = locate_variable(Place::Shared, at & 0xffffffffu);
      break;
    case StateSpace::Local:
      l = locate_variable(Place::Local, at & 0xffffffffu);
      break;
    case StateSpace::Const:
      l = locate_variable(Place::Const, at);
      break;
    case StateSpace::Param:
      l = locate_variable(Place::Param, at);
      break;
    default:
      l = locate_generic(at);
      break;
  }
  bool known = true;
  switch (l.place) {
    case Place::Tensor:
      known = l.object < state_.tensors->size();
      break;
    case Place::Shared:
      known = l.object < shared_.size();
      break;
    case Place::Local:
      known = l.object < local_variables_.size();
      break;
    case Place::Const:
      known = l.object < const_variables_.size();
      break;
    case Place::Param:
      known = l.object < launch_.args.size();
      break;
    case Place::Nowhere:
      known = false;
      break;
  }
  return known ? std::optional(l) : std::nullopt;
}

void CtaExecutor::report_wild(uint64_t at, StateSpace space, uint32_t thread, uint32_t pc,
                              bool is_write) {
  const DefectKind kind = space == StateSpace::Shared ? DefectKind::SharedOutOfBounds
                          : is_write                  ? DefectKind::OutOfBoundsWrite
                                                      : DefectKind::OutOfBoundsRead;
  report_at(guard(static_cast<int>(thread % kWarpSize)), kind,
            fmt::format("an address ({:#x}) that points into no tensor or variable", at),
            access(is_write ? Accessed::Kind::Write : Accessed::Kind::Read, thread, pc));
}

CtaExecutor::Addresses CtaExecutor::addresses(Warp& warp, int lane, const ptx::Operand& op,
                                              StateSpace space, uint32_t pc, bool is_write) {
  Word base;
  const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
  if (op.base_is_register) {
    base = warp.registers[op.reg].get(lane);
    if (base.tag != Tag::Concrete) {
      const Term value = with_addresses_known(term_of(base, bits_type(64)));
      if (!store_.has_poison(value))
        return data_addresses(value, op.offset, space, thread, pc, is_write);
      if (const Refusal* why = refusal_below(value)) {
        abort(pc, "the address depends on '" + why->instruction + "': " + why->reason);
        return {};
      }
      Defect defect;
      defect.kind = DefectKind::UninitializedRead;
      defect.program = state_.name;
      defect.message = "an undefined value is used as an address";
      defect.accesses = {access(Accessed::Kind::Other, thread, pc)};
      const Term g = guard(lane);
      out_.suspicions.push_back(
          {std::move(defect),
           g.valid() ? store_.make(Kind::Select, {g, value, store_.bits(0, 64)}) : value, false});
      out_.aborted = true;
      return {};
    }
  } else if (!op.text.empty()) {
    const auto symbol = symbol_address(op);
    if (!symbol) {
      abort(pc,
            "'" + op.text + "': variables of module scope without initial values are not modelled");
      return {};
    }
    base = *symbol;
    // A call's parameters are kept beside local variables.
    if (op.home == ptx::Operand::Home::Local &&
        kernel_.function->locals[op.index].space == StateSpace::Param)
      space = StateSpace::Local;
  }
  const uint64_t at = base.bits + static_cast<uint64_t>(op.offset);
  MotionId motion = base.motion;
  if (base.object.is_mixed()) {
    abort(pc, "an address is computed from the addresses of several objects");
    return {};
  }
  std::optional<Location> l;
  if (base.object.is_address()) {
    const bool generic = space == StateSpace::Generic || space == StateSpace::Global;
    if (generic || base.object.place() == place_of(space))
      l = locate_object(base.object, at, generic);
  } else if (locate(at, space)) {
    abort(pc, "an address that no tensor's or variable's address went into");
    return {};
  }
  if (!l) {
    if (motion)
      motions_->narrow([&](size_t i) {
        return !locate(at + static_cast<uint64_t>(motions_->value(motion, i)), space);
      });
    report_wild(at, space, thread, pc, is_write);
    return {};
  }
  if (l->place != Place::Tensor && motion) {
    concretize(base, 64);
    motion = 0;
  }
  return {{*l, motion, {}}};
}

CtaExecutor::Addresses CtaExecutor::data_addresses(const Term& base, int64_t offset,
                                                   StateSpace space, uint32_t thread, uint32_t pc,
                                                   bool is_write) {
  constexpr int64_t kMostPlaces = 4096;
  // Where the access does not happen its address does not matter.
  IndexLimits limits;
  if (const Term g = guard(static_cast<int>(thread % kWarpSize)); g.valid())
    add_limits(store_, g, true, limits);
  const auto range = index_range(store_, *motions_, base, limits);
  if (!range || range->count() > kMostPlaces) {
    abort(pc,
          "an address depends on data whose declared bounds do not limit it to a few thousand "
          "places");
    return {};
  }
  Addresses places;
  for (int64_t v = range->low; v <= range->high; v += range->step) {
    const uint64_t at = static_cast<uint64_t>(range->known + v + offset);
    const auto l = locate(at, space);
    MotionId motion = range->motion;
    if ((!l || l->place != Place::Tensor) && motion) {
      concretize(Word::concrete(0, motion), 64);
      motion = 0;
    }
    const Term when = index_equals(store_, *motions_, base, range->known + v, limits);
    const auto known = store_.as_bool(when);
    if (known && !*known) continue;
    if (!l) {
      when_ = known ? Term{} : when;
      report_wild(at, space, thread, pc, is_write);
      when_ = {};
      if (known) return {};
      continue;
    }
    if (known) return {{*l, motion, {}}};
    places.push_back({*l, motion, when});
  }
  return places;
}

int64_t CtaExecutor::size_of(const Location& at) const {
  switch (at.place) {
    case Place::Tensor:
      return (*state_.tensors)[at.object].storage_bytes();
    case Place::Shared:
      return shared_[at.object].memory.size();
    case Place::Local:
      return static_cast<int64_t>(local_variables_[at.object]->size);
    case Place::Const:
      return static_cast<int64_t>(const_variables_[at.object]->size);
    default:
      return INT64_MAX;
  }
}

bool CtaExecutor::check(const Address& at, int width, int alignment, bool is_write, uint32_t thread,
                        uint32_t pc) {
  if (at.location.place == Place::Tensor)
    return check_global(at, width, alignment, is_write, thread, pc);
  if (at.location.place == Place::Param) return true;
  return check_variable(at, size_of(at.location), width, alignment, is_write, thread, pc);
}

std::string CtaExecutor::tensor_index(TensorId id, int64_t byte_offset) const {
  const tensor::TensorInfo& info = (*state_.tensors)[id];
  return info.index_text(floor_div(byte_offset, info.element_size()));
}

bool CtaExecutor::check_global(const Address& at, int width, int alignment, bool is_write,
                               uint32_t thread, uint32_t pc) {
  const TensorId id = at.location.object;
  const tensor::TensorInfo& info = (*state_.tensors)[id];
  const int64_t offset = at.location.offset, size = info.storage_bytes();
  const int element = info.element_size();
  tensor::MotionTable& m = *motions_;
  const auto element_gap = [&](int64_t byte) {
    if (!info.strided) return false;
    for (int64_t c = byte / element; c * element < byte + width; ++c)
      if (!info.is_element(c)) return true;
    return false;
  };
  const auto outside = [&](int64_t byte) {
    return byte < 0 || byte + width > size || (is_write && element_gap(byte));
  };
  const bool bad = outside(offset);
  if (at.motion) {
    const auto range = m.range(at.motion);
    const bool all_inside =
        !info.strided && offset + range.min >= 0 && offset + range.max + width <= size;
    if (bad || !all_inside)
      m.narrow([&](size_t i) { return outside(offset + m.value(at.motion, i)) == bad; });
  }
  if (bad) {
    Accessed a = access(is_write ? Accessed::Kind::Write : Accessed::Kind::Read, thread, pc);
    a.where = info.name;
    a.index = tensor_index(id, offset);
    a.bytes = width;
    report_at(guard(static_cast<int>(thread % kWarpSize)),
              is_write ? DefectKind::OutOfBoundsWrite : DefectKind::OutOfBoundsRead,
              fmt::format("{} of {} bytes at byte {} of tensor '{}', which has {}",
                          is_write ? "write" : "read", width, offset, info.name, size),
              a);
    return false;
  }
  const bool misaligned = offset % alignment != 0;
  if (at.motion && (misaligned || !m.divisible(at.motion, alignment)))
    m.narrow([&](size_t i) {
      return ((offset + m.value(at.motion, i)) % alignment != 0) == misaligned;
    });
  if (misaligned) {
    Accessed a = access(is_write ? Accessed::Kind::Write : Accessed::Kind::Read, thread, pc);
    a.where = info.name;
    a.index = tensor_index(id, offset);
    a.bytes = width;
    report_at(
        guard(static_cast<int>(thread % kWarpSize)), DefectKind::MisalignedAccess,
        fmt::format("access of {} bytes at byte {} of tensor '{}'", alignment, offset, info.name),
        a);
    return false;
  }
  return true;
}

bool CtaExecutor::check_variable(const Address& at, int64_t size, int width, int alignment,
                                 bool is_write, uint32_t thread, uint32_t pc) {
  const int64_t offset = at.location.offset;
  const bool shared = at.location.place == Place::Shared;
  const std::string name = shared ? shared_[at.location.object].name
                           : at.location.place == Place::Local
                               ? local_variables_[at.location.object]->name
                               : "constant or parameter";
  const bool bad = offset < 0 || offset + width > size;
  if (!bad && offset % alignment == 0) return true;
  Accessed a = access(is_write ? Accessed::Kind::Write : Accessed::Kind::Read, thread, pc);
  a.where = name;
  a.index = std::to_string(offset);
  a.bytes = width;
  if (!bad) {
    report_at(guard(static_cast<int>(thread % kWarpSize)), DefectKind::MisalignedAccess,
              fmt::format("access of {} bytes at byte {} of '{}'", alignment, offset, name), a);
  } else {
    const DefectKind kind = shared     ? DefectKind::SharedOutOfBounds
                            : is_write ? DefectKind::OutOfBoundsWrite
                                       : DefectKind::OutOfBoundsRead;
    report_at(guard(static_cast<int>(thread % kWarpSize)), kind,
              fmt::format("{} of {} bytes at byte {} of '{}', which has {}",
                          is_write ? "write" : "read", width, offset, name, size),
              a);
  }
  return false;
}

void CtaExecutor::report_at(const Term& under, DefectKind kind, std::string message, Accessed at) {
  Defect defect;
  defect.kind = kind;
  defect.message = std::move(message);
  defect.accesses = {std::move(at)};
  report_under(under, std::move(defect), false);
}

Word CtaExecutor::select_word(const Term& condition, const Word& then, const Word& otherwise,
                              int width) {
  OperandType type = bits_type(width);
  for (const Word* w : {&then, &otherwise})
    if (w->tag == Tag::Real && term::bits_of(w->format) == width)
      type = {OperandType::Class::Float, static_cast<uint8_t>(width), false, w->format};
  return word_of(
      store_.make(Kind::Select, {condition, term_of(then, type), term_of(otherwise, type)}), type);
}

MotionId CtaExecutor::cell_motion(MotionId bytes, int element_size) {
  if (!bytes || element_size == 1) return bytes;
  if (!motions_->divisible(bytes, element_size))
    motions_->narrow([&](size_t i) { return motions_->value(bytes, i) % element_size == 0; });
  return motions_->divide_exact(bytes, element_size);
}

void CtaExecutor::separate(const std::vector<Touched>& cells, int64_t cell, MotionId motion) {
  tensor::MotionTable& m = *motions_;
  for (const Touched& other : cells) {
    if (other.motion == motion) continue;
    const bool meets = other.cells.contains(cell);
    const MotionId gap = m.sub(motion, other.motion);
    const auto range = m.range(gap);
    if (!meets && (cell + range.max < other.low || cell + range.min > other.high)) continue;
    m.narrow([&](size_t i) {
      const int64_t shift = m.value(gap, i);
      return meets ? shift == 0 : !other.cells.contains(cell + shift);
    });
  }
}

void CtaExecutor::touch(std::vector<Touched>& cells, int64_t cell, MotionId motion) {
  auto it = std::find_if(cells.begin(), cells.end(),
                         [&](const Touched& t) { return t.motion == motion; });
  if (it == cells.end()) {
    cells.emplace_back();
    it = cells.end() - 1;
    it->motion = motion;
  }
  it->low = std::min(it->low, cell);
  it->high = std::max(it->high, cell);
  it->cells.insert(cell);
}

bool CtaExecutor::is_raced(Place place, uint32_t object, int64_t offset, int width) const {
  if (raced_before_.empty()) return false;
  for (int64_t g = offset >> 2; g <= (offset + width - 1) >> 2; ++g)
    if (raced_before_.count({place, object, g})) return true;
  return false;
}

AccessEvent CtaExecutor::event(uint32_t thread, uint32_t pc, Role role, uint8_t atomic_op) const {
  return {thread, pc, role, atomic_op, guard(static_cast<int>(thread % kWarpSize)), {}, 0};
}

AccessEvent CtaExecutor::write_event(uint32_t thread, uint32_t pc, int64_t offset,
                                     const Word& value) const {
  return {thread, pc, Role::Write, 0, guard(static_cast<int>(thread % kWarpSize)), value, offset};
}

void CtaExecutor::track(RaceShadow& shadow, Place place, uint32_t object, int64_t offset, int width,
                        const AccessEvent& now) {
  const AccessHistory::Finding found = shadow.access(offset, width, now, order_);
  if (found.same_writes)
    out_.notes.insert(fmt::format(
        "{}: several threads of a block write the same value to one place of '{}'",
        to_string(span(now.instruction)),
        place == Place::Shared ? shared_[object].name : (*state_.tensors)[object].name));
  if (!found.conflicts.empty()) report_races(place, object, offset, width, found, now);
}

void CtaExecutor::report_races(Place place, uint32_t object, int64_t offset, int width,
                               const AccessHistory::Finding& found, const AccessEvent& now) {
  const auto kind = [](Role r) {
    return r == Role::Read    ? Accessed::Kind::Read
           : r == Role::Write ? Accessed::Kind::Write
                              : Accessed::Kind::Atomic;
  };
  for (const AccessHistory::Conflict& conflict : found.conflicts) {
    if (conflict.mixed_atomics) {
      abort(now.instruction,
            "atomics of different kinds on one cell without an order between them");
      return;
    }
    const Term both = conjunction(conflict.earlier.guard, now.guard);
    if (!both.valid())
      for (int64_t g = offset >> 2; g <= (offset + width - 1) >> 2; ++g)
        out_.raced.insert({place, object, g});
    Defect defect;
    defect.kind = place == Place::Shared ? DefectKind::SharedRace : DefectKind::GlobalRace;
    defect.message = "two accesses that nothing orders, at least one a write";
    Accessed first =
        access(kind(conflict.earlier.role), conflict.earlier.thread, conflict.earlier.instruction);
    Accessed second = access(kind(now.role), now.thread, now.instruction);
    first.where = second.where =
        place == Place::Shared ? shared_[object].name : (*state_.tensors)[object].name;
    first.index = second.index =
        place == Place::Shared ? std::to_string(offset) : tensor_index(object, offset);
    first.bytes = second.bytes = width;
    defect.accesses = {std::move(first), std::move(second)};
    report_under(both, std::move(defect), /*race=*/true);
  }
}

Word CtaExecutor::load_cell(TensorId id, int64_t cell, MotionId motion,
                            std::optional<tensor::Origin> by) {
  const tensor::TensorInfo& info = (*state_.tensors)[id];
  const DType dtype = info.dtype;
  GlobalTensor& t = tensors_[id];
  if (info.strided && by) {
    const bool gap = !info.is_element(cell);
    motions_->narrow(
        [&](size_t i) { return info.is_element(cell + motions_->value(motion, i)) != gap; });
    if (gap) return between_elements(id, cell, motion, *by);
  }
  if (t.tracked) {
    separate(t.written_cells, cell, motion);
    if (const auto it = t.stores.find(cell); it != t.stores.end())
      return with_atomics(t, dtype, cell, it->second.word);
    if (t.atomics_of.contains(cell))
      return with_atomics(t, dtype, cell, older_content(id, cell, motion));
    if (by && t.declared && !t.may_read) {
      Accessed a = access(Accessed::Kind::Read, by->thread, by->instruction);
      a.where = info.name;
      a.index = info.index_text(cell);
      report_at(
          guard(static_cast<int>(by->thread % kWarpSize)), DefectKind::AccessViolation,
          fmt::format("tensor '{}' is declared write and is read before it is written", info.name),
          a);
    }
  }
  const Word w = older_content(id, cell, motion);
  if (by && w.tag >= Tag::Real && store_.has_poison(w.term))
    note_read(w.term, by->thread, by->instruction, info.name, info.index_text(cell));
  return w;
}

Word CtaExecutor::between_elements(TensorId id, int64_t cell, MotionId motion,
                                   const tensor::Origin& by) {
  const tensor::TensorInfo& info = (*state_.tensors)[id];
  Defect defect;
  defect.kind = DefectKind::OutOfBoundsRead;
  defect.program = state_.name;
  defect.message = fmt::format(
      "read of cell {} of tensor '{}', which lies between its elements", cell, info.name);
  Accessed a = access(Accessed::Kind::Read, by.thread, by.instruction);
  a.where = info.name;
  a.index = info.index_text(cell);
  a.bytes = info.element_size();
  defect.accesses = {std::move(a)};
  const Term any = poison_term(fmt::format("{} {} between elements of {}", by.instruction,
                                           by.thread, info.name),
                               term::bv(8 * info.element_size()), cell,
                               {PoisonSource::Kind::Defective, "", {}, std::move(defect)});
  return Word::symbolic(store_.leaf(store_.groups(any)[0], {cell, motion}));
}

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

Word CtaExecutor::older_content(TensorId id, int64_t cell, MotionId motion) {
  const tensor::TensorInfo& info = (*state_.tensors)[id];
  const DType dtype = info.dtype;
  const tensor::TensorVersion& version = *state_.versions[id];
  if (info.init == tensor::TensorInfo::Init::Input && version.is_initial()) {
    const Term leaf = store_.leaf(info.input_group, {cell, motion});
    return is_float(dtype) ? Word::real(leaf, tensor::float_format(dtype)) : Word::symbolic(leaf);
  }
  if (motion && !is_float(dtype)) {
    if (auto values = version.known_integers(cell, motion, *motions_, store_)) {
      const int bits = 8 * dtype_size(dtype);
      const uint64_t rep = static_cast<uint64_t>((*values)[0]);
      // Differences of the readings in the tensor's own type stay small, so that the index
      // arithmetic that follows need not wrap.
      if (is_signed_integer(dtype) || bits >= 32)
        for (int64_t& v : *values)
          v = static_cast<int64_t>(static_cast<uint64_t>(v) << (64 - bits)) >> (64 - bits);
      const int64_t base = (*values)[0];
      for (int64_t& v : *values) v -= base;
      return Word::concrete(rep, motions_->from_values(std::move(*values)));
    }
  }
  const Term value = version.value_moving(cell, motion, *motions_, store_);
  const OperandType type = element_type(dtype);
  Word w = word_of(value, type);
  // Known floats keep their machine value beside the real one.
  if (is_float(dtype) && dtype != DType::TF32)
    if (const term::Rational* r = store_.as_rational(value)) {
      const double as_double = r->to_double();
      if (term::Rational::from_double(as_double) == *r) {
        w.shadow = true;
        w.bits = float_from_double(float_spec(dtype), as_double);
      }
    }
  return w;
}

Word CtaExecutor::load_global(const Address& at, int width, uint32_t thread, uint32_t pc,
                              bool non_coherent) {
  const TensorId id = at.location.object;
  const tensor::TensorInfo& info = (*state_.tensors)[id];
  const int element = info.element_size();
  const int64_t offset = at.location.offset;
  const int64_t first = offset / element, last = (offset + width - 1) / element;
  const MotionId motion = cell_motion(at.motion, element);
  GlobalTensor& t = tensors_[id];
  if (t.tracked) {
    track(t.shadow, Place::Tensor, id, offset, width, event(thread, pc, Role::Read));
    if (non_coherent)
      for (int64_t c = first; c <= last; ++c)
        if (const auto it = t.stores.find(c);
            it != t.stores.end() && it->second.origin.thread == thread) {
          Accessed a = access(Accessed::Kind::Write, thread, it->second.origin.instruction);
          Accessed b = access(Accessed::Kind::Read, thread, pc);
          a.where = b.where = info.name;
          a.index = b.index = info.index_text(c);
          report(DefectKind::GlobalRace, "a read-only load of a cell that the same launch writes",
                 {a, b});
          out_.raced.insert({Place::Tensor, id, offset >> 2});
        }
    const Term g = guard(static_cast<int>(thread % kWarpSize));
    if (g.valid() || t.read_seen.insert({first, motion, pc}).second) {
      t.reads.push_back({id,
                         first,
                         static_cast<int32_t>(last - first + 1),
                         motion,
                         {thread, pc},
                         non_coherent,
                         g});
      for (int64_t c = first; c <= last; ++c) touch(t.read_cells, c, motion);
    }
    if (is_raced(Place::Tensor, id, offset, width)) return tainted_word(width);
  }
  if (first == last && width == element)
    return load_cell(id, first, motion, tensor::Origin{thread, pc});
  // Wider or narrower than the element: the cells joined, then the bytes cut out.
  Word joined = load_cell(id, first, motion, tensor::Origin{thread, pc});
  for (int64_t c = first + 1; c <= last; ++c)
    joined = concat(joined, element * static_cast<int>(c - first),
                    load_cell(id, c, motion, tensor::Origin{thread, pc}), element);
  return extract(joined, element * static_cast<int>(last - first + 1),
                 static_cast<int>(offset - first * element), width);
}

void CtaExecutor::store_global(const Address& at, int width, const Word& word, uint32_t thread,
                               uint32_t pc) {
  const TensorId id = at.location.object;
  const tensor::TensorInfo& info = (*state_.tensors)[id];
  const int element = info.element_size();
  const int64_t offset = at.location.offset;
  GlobalTensor& t = tensors_[id];
  if (!t.may_write) {
    Accessed a = access(Accessed::Kind::Write, thread, pc);
    a.where = info.name;
    a.index = tensor_index(id, offset);
    report_at(guard(static_cast<int>(thread % kWarpSize)), DefectKind::AccessViolation,
              fmt::format("tensor '{}' is {} and is written", info.name,
                          t.declared ? "declared read" : "no argument"),
              a);
  }
  if (!t.tracked) {
    out_.written_unexpectedly.insert(id);
    t.tracked = true;
  }
  if (width < element || offset % element) {
    abort(pc, fmt::format("a store of {} bytes into part of an element of tensor '{}'", width,
                          info.name));
    return;
  }
  const MotionId motion = cell_motion(at.motion, element);
  for (int i = 0; i < width / element; ++i) {
    const int64_t cell = offset / element + i;
    Word part = extract(word, width, i * element, element);
    if (part.object.is_address()) part = refused_at(pc, "an address is stored in a tensor");
    separate(t.written_cells, cell, motion);
    separate(t.read_cells, cell, motion);
    touch(t.written_cells, cell, motion);
    overwrites_source(id, cell, thread, pc);
    const Term g = guard(static_cast<int>(thread % kWarpSize));
    Word now = part;
    if (g.valid())
      now = select_word(g, part, load_cell(id, cell, motion, std::nullopt), 8 * element);
    // Ordered after this CTA's atomics on the cell, the store holds all that they did (an unordered
    // one was reported).
    bool after_atomics = false;
    if (const auto updates = t.atomics_of.find(cell); updates != t.atomics_of.end()) {
      after_atomics = true;
      t.overwritten.insert(updates->second.begin(), updates->second.end());
      t.atomics_of.erase(updates);
    }
    auto [it, fresh] = t.stores.try_emplace(cell);
    const bool guarded = !after_atomics && (fresh || it->second.guarded) && g.valid();
    const Term either = !guarded ? Term{}
                        : fresh  ? g
                                 : store_.make(Kind::Or, {it->second.guard, g});
    it->second = {motion, now, {thread, pc}, guarded, either};
  }
  track(t.shadow, Place::Tensor, id, offset, width, write_event(thread, pc, offset, word));
  if (is_raced(Place::Tensor, id, offset, width))
    for (int i = 0; i < width / element; ++i)
      t.stores[offset / element + i].word = tainted_word(element);
}

Word CtaExecutor::load_shared(const Address& at, int width, uint32_t thread, uint32_t pc) {
  SharedVariable& v = shared_[at.location.object];
  const int64_t offset = at.location.offset;
  if (!v.pending_copies.empty())
    for (int64_t b = offset; b < offset + width; ++b)
      if (const auto it = v.pending_copies.find(b); it != v.pending_copies.end()) {
        Accessed a =
            access(Accessed::Kind::Copy, it->second.origin.thread, it->second.origin.instruction);
        Accessed r = access(Accessed::Kind::Read, thread, pc);
        a.where = r.where = v.name;
        a.index = r.index = std::to_string(b);
        a.bytes = r.bytes = width;
        report(DefectKind::UnwaitedCopy,
               "an asynchronous copy is used before it is known to be complete", {a, r});
        return tainted_word(width);
      }
  track(v.shadow, Place::Shared, at.location.object, offset, width, event(thread, pc, Role::Read));
  if (is_raced(Place::Shared, at.location.object, offset, width)) return tainted_word(width);
  unwritten_name_ = "shared variable '" + v.name + "'";
  unwritten_where_ = v.name;
  unwritten_by_ = tensor::Origin{thread, pc};
  const Word w = v.memory.load(offset, width, *this);
  unwritten_by_.reset();
  return w;
}

void CtaExecutor::store_shared(const Address& at, int width, const Word& word, uint32_t thread,
                               uint32_t pc) {
  SharedVariable& v = shared_[at.location.object];
  const int64_t offset = at.location.offset;
  overwrites_copy(v, offset, width, thread, pc);
  unwritten_name_ = "shared variable '" + v.name + "'";
  const Word sent = leaving_thread(word, pc);
  track(v.shadow, Place::Shared, at.location.object, offset, width,
        write_event(thread, pc, offset, sent));
  const Term g = guard(static_cast<int>(thread % kWarpSize));
  const Word now =
      g.valid() ? select_word(g, sent, v.memory.load(offset, width, *this), 8 * width) : sent;
  v.memory.store(
      offset, width,
      is_raced(Place::Shared, at.location.object, offset, width) ? tainted_word(width) : now);
}

void CtaExecutor::overwrites_copy(const SharedVariable& v, int64_t offset, int width,
                                  uint32_t thread, uint32_t pc) {
  if (v.pending_copies.empty()) return;
  for (int64_t b = offset; b < offset + width; ++b)
    if (const auto it = v.pending_copies.find(b); it != v.pending_copies.end()) {
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

Word CtaExecutor::load_param(const Location& at, int width, uint32_t pc) {
  const Argument& a = launch_.args[at.object];
  const int64_t size = a.kind == Argument::Kind::Tensor   ? 8
                       : a.kind == Argument::Kind::Scalar ? dtype_size(a.dtype)
                                                          : static_cast<int64_t>(a.bytes.size());
  if (at.offset < 0 || at.offset + width > size) {
    abort(pc, "a parameter is read past its end");
    return Word{};
  }
  switch (a.kind) {
    case Argument::Kind::Tensor:
      return extract(Word::concrete(tensor_base(a.tensor) + static_cast<uint64_t>(a.byte_offset), 0,
                                    Provenance::of(Place::Tensor, a.tensor)),
                     8, static_cast<int>(at.offset), width);
    case Argument::Kind::Scalar: {
      const OperandType type = element_type(a.dtype);
      return extract(word_of(store_.free_scalar(a.scalar), type), dtype_size(a.dtype),
                     static_cast<int>(at.offset), width);
    }
    case Argument::Kind::Bytes: {
      uint64_t bits = 0;
      for (int i = 0; i < width; ++i) bits |= uint64_t{a.bytes[at.offset + i]} << (8 * i);
      return Word::concrete(bits);
    }
  }
  CHECK(false);
}

Word CtaExecutor::load_at(const Address& at, int width, uint32_t thread, uint32_t pc,
                          const isa::Decoded& d) {
  switch (at.location.place) {
    case Place::Tensor:
      return load_global(at, width, thread, pc, d.non_coherent);
    case Place::Shared:
      return load_shared(at, width, thread, pc);
    case Place::Local: {
      ByteMemory& memory = local(thread, at.location.object);
      unwritten_name_ = "local variable '" + local_variables_[at.location.object]->name + "'";
      unwritten_where_ = local_variables_[at.location.object]->name;
      unwritten_by_ = tensor::Origin{thread, pc};
      const Word w = memory.load(at.location.offset, width, *this);
      unwritten_by_.reset();
      return w;
    }
    case Place::Const: {
      const ptx::Variable& v = *const_variables_[at.location.object];
      if (!v.relocations.empty()) {
        abort(pc, "constant data that holds addresses");
        return Word{};
      }
      uint64_t bits = 0;
      for (int b = 0; b < width; ++b) {
        const auto byte = static_cast<size_t>(at.location.offset + b);
        if (byte < v.initial.size()) bits |= uint64_t{v.initial[byte]} << (8 * b);
      }
      return Word::concrete(bits);
    }
    case Place::Param:
      return load_param(at.location, width, pc);
    case Place::Nowhere:
      break;
  }
  CHECK(false);
}

ByteMemory& CtaExecutor::local(uint32_t thread, uint32_t variable) {
  auto& locals = thread_states_[thread].locals;
  if (locals.empty())
    for (const ptx::Variable* v : local_variables_)
      locals.emplace_back(static_cast<int64_t>(v->size));
  return locals[variable];
}

void CtaExecutor::store_at(const Address& at, int width, const Word& word, uint32_t thread,
                           uint32_t pc) {
  switch (at.location.place) {
    case Place::Tensor:
      store_global(at, width, word, thread, pc);
      return;
    case Place::Shared:
      store_shared(at, width, word, thread, pc);
      return;
    case Place::Local: {
      ByteMemory& memory = local(thread, at.location.object);
      unwritten_name_ = "local variable '" + local_variables_[at.location.object]->name + "'";
      const Term g = guard(static_cast<int>(thread % kWarpSize));
      memory.store(
          at.location.offset, width,
          g.valid() ? select_word(g, word, memory.load(at.location.offset, width, *this), 8 * width)
                    : word);
      return;
    }
    default:
      abort(pc, "a store to constant or parameter space");
  }
}

CtaExecutor::Step CtaExecutor::execute_load(Warp& warp, uint32_t mask, const isa::Decoded& d,
                                            uint32_t pc) {
  const ptx::Operand& dst = d.text->operands[0];
  const int width = ptx::bits_of(d.type) / 8;
  const bool vector = dst.kind == ptx::Operand::Kind::Vector;
  const int count = vector ? static_cast<int>(dst.elements.size()) : 1;
  const bool is_signed = d.type == ptx::ScalarType::S8 || d.type == ptx::ScalarType::S16 ||
                         d.type == ptx::ScalarType::S32;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
    const Addresses places = addresses(warp, lane, d.text->operands[1], d.space, pc, false);
    if (out_.aborted) return Step::Aborted;
    std::array<Word, 8> loaded;
    CHECK(count <= 8);
    if (places.empty()) loaded.fill(tainted_word(width));
    for (size_t p = 0; p < places.size(); ++p) {
      when_ = places[p].when;
      const bool ok = check(places[p], width * count, width * count, false, thread, pc);
      for (int i = 0; i < count; ++i) {
        Address part = places[p];
        part.location.offset += i * width;
        // Out of bounds: the defect is reported, and what was read is nobody's.
        const Word w = ok ? load_at(part, width, thread, pc, d) : tainted_word(width);
        if (out_.aborted) return Step::Aborted;
        // The places are all that there are: the first needs no condition.
        loaded[static_cast<size_t>(i)] =
            p == 0 ? w : select_word(places[p].when, w, loaded[static_cast<size_t>(i)], 8 * width);
      }
    }
    when_ = {};
    for (int i = 0; i < count; ++i) {
      const ptx::Operand& target = vector ? dst.elements[static_cast<size_t>(i)] : dst;
      if (target.kind != ptx::Operand::Kind::Register) continue;
      const int reg = ptx::bits_of(kernel_.function->registers[target.reg].type);
      write(warp, lane, target, widened(loaded[static_cast<size_t>(i)], 8 * width, reg, is_signed));
    }
  }
  return Step::Next;
}

Word CtaExecutor::widened(const Word& word, int from, int to, bool is_signed) {
  // A narrow result in a wider register: signed types fill it with the sign, others with zeros.
  if (to <= from) return word;
  if (!is_signed) {
    if (word.tag != Tag::Concrete || extends_exactly(word.bits, word.motion, from, false))
      return word;
    return Word::concrete(concretize(word, from), 0, word.object.derived());
  }
  if (word.tag == Tag::Concrete) {
    const bool exact = extends_exactly(word.bits, word.motion, from, true);
    const uint64_t bits = exact ? word.bits : concretize(word, from);
    const uint64_t sign = 1ull << (from - 1);
    const uint64_t wide = ((bits & ((sign << 1) - 1)) ^ sign) - sign;
    return Word::concrete(to >= 64 ? wide : wide & ((1ull << to) - 1), exact ? word.motion : 0,
                          word.object.derived());
  }
  if (word.tag != Tag::Bits && word.tag != Tag::Real) return word;
  return word_of(store_.make(Kind::BvSignExtend, {term_of(word, bits_type(from))}, 0, to),
                 bits_type(to));
}

CtaExecutor::Step CtaExecutor::execute_store(Warp& warp, uint32_t mask, const isa::Decoded& d,
                                             uint32_t pc) {
  const ptx::Operand& src = d.text->operands[1];
  const int width = ptx::bits_of(d.type) / 8;
  const bool vector = src.kind == ptx::Operand::Kind::Vector;
  const int count = vector ? static_cast<int>(src.elements.size()) : 1;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
    const Addresses places = addresses(warp, lane, d.text->operands[0], d.space, pc, true);
    if (out_.aborted) return Step::Aborted;
    for (const Address& at : places) {
      when_ = at.when;
      if (!check(at, width * count, width * count, true, thread, pc)) continue;
      for (int i = 0; i < count; ++i) {
        Word w =
            operand(warp, lane, vector ? src.elements[static_cast<size_t>(i)] : src, 8 * width);
        // The register may be wider than what is stored.
        if (w.tag == Tag::Concrete && width < 8) w.bits &= (1ull << (8 * width)) - 1;
        if (w.tag == Tag::Bits && store_.type(w.term).width > 8 * width)
          w = word_of(term_of(w, bits_type(8 * width)), bits_type(8 * width));
        Address part = at;
        part.location.offset += i * width;
        store_at(part, width, w, thread, pc);
        if (out_.aborted) return Step::Aborted;
      }
    }
    when_ = {};
  }
  return Step::Next;
}

namespace {

std::optional<tensor::AtomicKind> gathered_kind(isa::AtomOp op, ptx::ScalarType type) {
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

bool is_float_type(ptx::ScalarType type) {
  return type == ptx::ScalarType::F32 || type == ptx::ScalarType::F64 ||
         type == ptx::ScalarType::F16 || type == ptx::ScalarType::BF16;
}

}  // namespace

CtaExecutor::Step CtaExecutor::execute_atomic(Warp& warp, uint32_t mask, const isa::Decoded& d,
                                              uint32_t pc) {
  const bool returns = d.op == isa::Op::Atom;
  const ptx::Operand& target = d.text->operands[returns ? 1 : 0];
  const ptx::Operand& source = d.text->operands[returns ? 2 : 1];
  const auto kind = gathered_kind(static_cast<isa::AtomOp>(d.mode), d.type);
  if (!kind) return abort(pc, "'" + d.text->spelling() + "' is no commuting atomic");
  if (source.kind == ptx::Operand::Kind::Vector)
    return abort(pc, "vector atomics are not modelled");
  // Two halves in one register are two atomics.
  ptx::ScalarType type = d.type;
  if (type == ptx::ScalarType::F16X2) type = ptx::ScalarType::F16;
  if (type == ptx::ScalarType::BF16X2) type = ptx::ScalarType::BF16;
  if (is_float_type(type) && *kind != tensor::AtomicKind::Add)
    return abort(pc, "'" + d.text->spelling() + "' is not modelled");
  const int whole = ptx::bits_of(d.type) / 8, width = ptx::bits_of(type) / 8;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
    const Addresses places = addresses(warp, lane, target, d.space, pc, true);
    if (out_.aborted) return Step::Aborted;
    const Word value = operand(warp, lane, source, 8 * whole);
    for (const Address& at : places) {
      when_ = at.when;
      if (!check(at, whole, whole, true, thread, pc)) continue;
      for (int first = 0; first < whole; first += width) {
        Address part = at;
        part.location.offset += first;
        atomic_at(part, type, *kind, extract(value, whole, first, width), warp.index, lane, d, pc);
        if (out_.aborted) return Step::Aborted;
      }
    }
    when_ = {};
    if (returns)
      write(warp, lane, d.text->operands[0], refused_at(pc, "the old value of an atomic is used"));
  }
  return Step::Next;
}

void CtaExecutor::atomic_at(const Address& at, ptx::ScalarType scalar, tensor::AtomicKind kind,
                            const Word& value, uint32_t warp, int lane, const isa::Decoded& d,
                            uint32_t pc) {
  const Location& l = at.location;
  const int64_t offset = l.offset;
  const uint32_t thread = warp * kWarpSize + static_cast<uint32_t>(lane);
  const bool floats = is_float_type(scalar);
  const int width = ptx::bits_of(scalar) / 8;
  const Term g = guard(lane);
  const AccessEvent now = event(thread, pc, Role::Atomic, static_cast<uint8_t>(kind));
  if (l.place == Place::Tensor) {
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
    // A store of this CTA that is not ordered before it was reported; an ordered one is what the
    // atomic adds to.
    if (const auto it = t.stores.find(cell); it != t.stores.end()) it->second.before_atomics = true;
    t.atomics_of[cell].push_back(static_cast<uint32_t>(t.atomics.size()));
    t.atomics.push_back({cell,
                         motion,
                         kind,
                         term_of(value, element_type(info.dtype)),
                         {thread, pc},
                         d.scope == isa::Scope::Cta,
                         g});
    return;
  }
  if (l.place != Place::Shared) {
    abort(pc, "an atomic outside global and shared memory");
    return;
  }
  SharedVariable& v = shared_[l.object];
  track(v.shadow, Place::Shared, l.object, offset, width, now);
  overwrites_copy(v, offset, width, thread, pc);
  unwritten_name_ = "shared variable '" + v.name + "'";
  const Word old = is_raced(Place::Shared, l.object, offset, width)
                       ? tainted_word(width)
                       : v.memory.load(offset, width, *this);
  const term::FloatFormat format = width == 8                       ? term::FloatFormat::F64
                                   : width == 4                     ? term::FloatFormat::F32
                                   : scalar == ptx::ScalarType::F16 ? term::FloatFormat::F16
                                                                    : term::FloatFormat::BF16;
  const OperandType type = floats ? OperandType{OperandType::Class::Float,
                                                static_cast<uint8_t>(8 * width), false, format}
                                  : bits_type(8 * width);
  const Term a = term_of(old, type);
  Term now_there = combined(kind, floats, a, term_of(value, type));
  if (g.valid()) now_there = store_.make(Kind::Select, {g, now_there, a});
  v.memory.store(offset, width, word_of(now_there, type));
}

Term CtaExecutor::combined(tensor::AtomicKind kind, bool floats, const Term& a, const Term& b) {
  const auto choose = [&](Kind less, bool least) {
    const Term condition = least ? store_.make(less, {a, b}) : store_.make(less, {b, a});
    return store_.make(Kind::Select, {condition, a, b});
  };
  switch (kind) {
    case tensor::AtomicKind::Add:
      return store_.make(floats ? Kind::Add : Kind::BvAdd, {a, b});
    case tensor::AtomicKind::And:
      return store_.make(Kind::BvAnd, {a, b});
    case tensor::AtomicKind::Or:
      return store_.make(Kind::BvOr, {a, b});
    case tensor::AtomicKind::Xor:
      return store_.make(Kind::BvXor, {a, b});
    case tensor::AtomicKind::Min:
      return choose(Kind::BvUlt, true);
    case tensor::AtomicKind::Max:
      return choose(Kind::BvUlt, false);
    case tensor::AtomicKind::MinSigned:
      return choose(Kind::BvSlt, true);
    case tensor::AtomicKind::MaxSigned:
      return choose(Kind::BvSlt, false);
  }
  CHECK(false);
}

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
            ok ? load_global(part, step, thread, pc, false) : tainted_word(step), step);
      }
      if (ok && tensors_[from.location.object].tracked) {
        const int element = (*state_.tensors)[from.location.object].element_size();
        copy.tensor = from.location.object;
        copy.first_cell = from.location.offset / element;
        copy.last_cell = (from.location.offset + source_size - 1) / element;
        for (int64_t c = copy.first_cell; c <= copy.last_cell; ++c)
          tensors_[copy.tensor].copied_from[c].push_back({copy.id, {thread, pc}});
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
      v.pending_copies[b] = {copy.id, {thread, pc}};
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
        v.memory.store(
            at, width,
            is_raced(Place::Shared, copy.variable, at, width) ? tainted_word(width) : word);
        for (int b = 0; b < width; ++b)
          if (const auto it = v.pending_copies.find(at + b);
              it != v.pending_copies.end() && it->second.copy == copy.id)
            v.pending_copies.erase(it);
        at += width;
      }
      for (int64_t c = copy.first_cell; c <= copy.last_cell; ++c) {
        std::vector<PendingCopy>& readers = tensors_[copy.tensor].copied_from[c];
        std::erase_if(readers, [&](const PendingCopy& p) { return p.copy == copy.id; });
      }
    }
    state.copy_groups.erase(state.copy_groups.begin());
  }
}

}  // namespace coequal::exec
