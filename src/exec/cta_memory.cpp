// Addresses, loads and stores of one CTA, with their bounds and conflicts.
#include <algorithm>
#include <bit>

#include "exec/bits.h"
#include "exec/cta.h"
#include "exec/data_condition.h"
#include "term/traverse.h"

namespace coequal::exec {

using isa::OperandType;
using ptx::StateSpace;
using term::Kind;
using Accessed = coequal::Access;

namespace {

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

OperandType CtaExecutor::element_type(DType dtype) {
  const auto bits = static_cast<uint8_t>(8 * dtype_size(dtype));
  if (is_float(dtype)) return {OperandType::Class::Float, bits, false, tensor::float_format(dtype)};
  return {OperandType::Class::Bits, bits, false, {}};
}

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
      l = locate_generic(at);
      if (l.place != Place::Tensor) l = locate_variable(Place::Const, at);
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
      known = l.object < state_.tensors->size() && is_of(l.object, space);
      break;
    case Place::Shared:
      // As the CTA names its own, as mapa those of each rank, and of a rank that is none.
      known = l.object < shared_.size() + 2 * shared_count();
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
      abort(pc, "'" + op.text + "': " + kFilledByHost);
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
    if (base.object.is_derived()) {
      abort(pc, "an address that is no fixed distance from where its object lies");
      return {};
    }
    const bool tensor = base.object.place() == Place::Tensor;
    const bool generic = tensor ? is_of(base.object.object(), space)
                                : space == StateSpace::Generic || space == StateSpace::Global;
    // The window of shared or local memory is no global memory.
    const bool elsewhere = space == StateSpace::Global && (base.object.place() == Place::Shared ||
                                                           base.object.place() == Place::Local);
    if (!elsewhere && (generic || base.object.place() == place_of(space)))
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
  if (!settle(*l, space, thread, pc, is_write)) return {};
  Addresses one;
  one.push_back({*l, motion, {}});
  return one;
}

CtaExecutor::Addresses CtaExecutor::data_addresses(const Term& base, int64_t offset,
                                                   StateSpace space, uint32_t thread, uint32_t pc,
                                                   bool is_write) {
  constexpr int64_t kMostPlaces = 4096;
  // Where the access does not happen its address does not matter.
  IndexLimits limits;
  const Term g = guard(static_cast<int>(thread % kWarpSize));
  if (g.valid()) add_limits(store_, g, true, limits);
  const auto range = index_range(store_, *motions_, base, limits);
  // A range holds a word that few integers decide more loosely than these do.
  std::optional<std::vector<IndexPlace>> places =
      index_places(store_, *motions_, base, limits,
                   range ? std::min(range->count() - 1, kMostPlaces) : kMostPlaces);
  if (!places) {
    if (!range || range->count() > kMostPlaces) {
      abort(pc,
            "an address depends on data whose declared bounds do not limit it to a few thousand "
            "places");
      return {};
    }
    places.emplace();
    for (int64_t v = range->known + range->low; v <= range->known + range->high; v += range->step)
      places->push_back({v, range->motion, index_equals(store_, *motions_, base, v, limits)});
  }
  Addresses found;
  for (const IndexPlace& place : *places) {
    const uint64_t at = static_cast<uint64_t>(place.value + offset);
    auto l = locate(at, space);
    MotionId motion = place.motion;
    if ((!l || l->place != Place::Tensor) && motion) {
      concretize(Word::concrete(0, motion), 64);
      motion = 0;
    }
    const auto known = store_.as_bool(place.when);
    if (known && !*known) continue;
    const bool outside = !l || l->offset < 0 || l->offset >= size_of(*l);
    if (!known && outside && is_impossible(store_, *motions_, conjunction(g, place.when))) continue;
    if (!l) {
      when_ = known ? Term{} : place.when;
      report_wild(at, space, thread, pc, is_write);
      when_ = {};
      if (known) return {};
      continue;
    }
    when_ = known ? Term{} : place.when;
    const bool settled = settle(*l, space, thread, pc, is_write);
    when_ = {};
    if (!settled) {
      if (known) return {};
      continue;
    }
    if (known) return {{*l, motion, {}}};
    found.push_back({*l, motion, place.when});
  }
  return found;
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
    return byte < 0 || byte > size - width || (is_write && element_gap(byte));
  };
  const auto moved = [&](size_t i) {
    return static_cast<int64_t>(static_cast<uint64_t>(offset) +
                                static_cast<uint64_t>(m.value(at.motion, i)));
  };
  const bool bad = outside(offset);
  if (at.motion) {
    const auto range = m.range(at.motion);
    // A representative that is inside keeps these sums from wrapping.
    const bool all_inside =
        !bad && !info.strided && range.min >= -offset && range.max <= size - width - offset;
    if (!all_inside) m.narrow([&](size_t i) { return outside(moved(i)) == bad; });
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
    m.narrow([&](size_t i) { return (moved(i) % alignment != 0) == misaligned; });
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
  const bool bad = offset < 0 || offset > size - width;
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

bool CtaExecutor::is_raced(Place place, uint32_t object, int64_t offset, int width) const {
  if (raced_before_.places.empty()) return false;
  for (int64_t g = offset >> 2; g <= (offset + width - 1) >> 2; ++g)
    if (raced_before_.places.count({place, object, g})) return true;
  return false;
}

AccessEvent CtaExecutor::event(uint32_t thread, uint32_t pc, Role role, uint16_t atomic_op) const {
  return {thread, pc, role, atomic_op, guard(static_cast<int>(thread % kWarpSize)), {}, 0, 0};
}

AccessEvent CtaExecutor::read_event(uint32_t thread, uint32_t pc, int64_t offset, int width) const {
  AccessEvent e = event(thread, pc, Role::Read);
  e.at = offset, e.size = width;
  return e;
}

AccessEvent CtaExecutor::write_event(uint32_t thread, uint32_t pc, int64_t offset,
                                     const Word& value, int width) const {
  AccessEvent e = event(thread, pc, Role::Write);
  e.value = value, e.at = offset, e.size = width;
  return e;
}

void CtaExecutor::track(RaceShadow& shadow, Place place, uint32_t object, int64_t offset, int width,
                        const AccessEvent& now) {
  const AccessHistory::Finding found =
      shadow.access(offset, width, now, order_,
                    [&](const AccessEvent& a, const AccessEvent& b) { return agreement(a, b); });
  if (out_.wants_histories) return;
  if (found.same_writes)
    out_.notes.insert(fmt::format(
        "{}: several threads of a block write the same value to one place of '{}'",
        to_string(span(now.instruction)),
        place == Place::Shared ? shared_[object].name : (*state_.tensors)[object].name));
  if (!found.conflicts.empty()) report_races(place, object, offset, width, found, now);
  if (!found.raced_loads.empty()) note_raced_loads(place, object, offset, width, found, now);
}

Defect CtaExecutor::race_between(Place place, uint32_t object, int64_t offset, int width,
                                 const AccessEvent& earlier, const AccessEvent& now) const {
  const auto kind = [](Role r) {
    return r == Role::Read    ? Accessed::Kind::Read
           : r == Role::Write ? Accessed::Kind::Write
                              : Accessed::Kind::Atomic;
  };
  Defect defect;
  defect.kind = place == Place::Shared ? DefectKind::SharedRace : DefectKind::GlobalRace;
  defect.program = state_.name;
  defect.message = "two accesses that nothing orders, at least one a write";
  Accessed first = access(kind(earlier.role), earlier.thread, earlier.instruction);
  Accessed second = access(kind(now.role), now.thread, now.instruction);
  first.where = second.where =
      place == Place::Shared ? shared_[object].name : (*state_.tensors)[object].name;
  first.index = second.index =
      place == Place::Shared ? std::to_string(offset) : tensor_index(object, offset);
  first.bytes = second.bytes = width;
  std::vector<Defect> one;
  defect.accesses = {std::move(first), std::move(second)};
  add_defect(one, std::move(defect));
  return one[0];
}

void CtaExecutor::report_races(Place place, uint32_t object, int64_t offset, int width,
                               const AccessHistory::Finding& found, const AccessEvent& now) {
  for (const AccessHistory::Conflict& conflict : found.conflicts) {
    if (conflict.mixed_atomics) {
      abort(now.instruction,
            "atomics of different kinds on one cell without an order between them");
      return;
    }
    Term both = conjunction(conflict.earlier.guard, now.guard);
    if (conflict.may_agree) {
      const Word &a = conflict.earlier.value, &b = now.value;
      const bool reals = a.tag == Tag::Real;
      if (reals)
        out_.assumptions.insert(
            {"signed-zero", "a zero is positive where threads store one value"});
      both = conjunction(both, store_.make(Kind::Not, {store_.make(reals ? Kind::Equal : Kind::BvEq,
                                                                   {a.term, b.term})}));
      if (const auto known = store_.as_bool(both); known && !*known) continue;
    }
    if (!both.valid())
      for (int64_t g = offset >> 2; g <= (offset + width - 1) >> 2; ++g)
        out_.raced.places.insert({place, object, g});
    report_under(both, race_between(place, object, offset, width, conflict.earlier, now),
                 /*race=*/true);
  }
}

Word CtaExecutor::load_variable(const Location& at, const ByteMemory& memory, int width,
                                std::optional<tensor::Origin> by) {
  reads_place_ = at.place;
  reads_object_ = at.object;
  reads_by_ = by;
  return memory.load(at.offset, width, *this);
}

// A load that races with a store of the very same bytes returns what some store left there, and
// leaves all else as it is (PTX ISA, "Limitations on Mixed-size Data-races": the axioms hold).
// So it is a defect only if what it returned matters.
void CtaExecutor::note_raced_loads(Place place, uint32_t object, int64_t offset, int width,
                                   const AccessHistory::Finding& found, const AccessEvent& now) {
  const auto note = [&](const Moment& when, uint32_t load, uint32_t storing, const Defect& race) {
    for (int64_t g = offset >> 2; g <= (offset + width - 1) >> 2; ++g)
      out_.raced.loads.try_emplace(
          RacedLoad{place, object, g, when.epoch, when.thread, when.clock, load, storing}, race);
  };
  for (const AccessHistory::Conflict& c : found.raced_loads) {
    const Defect race = race_between(place, object, offset, width, c.earlier, now);
    if (now.role == Role::Read) {
      note(moment(now.thread), now.instruction, 0, race);
      break;
    }
    const uint32_t first = c.earlier.thread / kWarpSize * kWarpSize;
    for (uint32_t m = c.lanes; m; m &= m - 1)
      note({first + static_cast<uint32_t>(std::countr_zero(m)), c.epoch, c.clock},
           c.earlier.instruction, 0, race);
    if (found.more_loads) note({RacedLoad::kEveryThread, order_.epoch(), 0}, 0, now.thread, race);
  }
}

std::optional<Word> CtaExecutor::raced_load(Place place, uint32_t object, int64_t offset, int width,
                                            uint32_t thread, uint32_t pc) {
  const auto& loads = raced_before_.loads;
  if (loads.empty()) return std::nullopt;
  for (int64_t g = offset >> 2; g <= (offset + width - 1) >> 2; ++g) {
    auto it =
        loads.find(RacedLoad{place, object, g, order_.epoch(), thread, order_.clock(thread), pc});
    if (it == loads.end()) {
      it = loads.lower_bound(
          RacedLoad{place, object, g, order_.epoch(), RacedLoad::kEveryThread, 0, 0});
      const auto is_others = [&](const RacedLoad& r) {
        return r.place == place && r.object == object && r.granule == g &&
               r.epoch == order_.epoch() && r.thread == RacedLoad::kEveryThread;
      };
      while (it != loads.end() && is_others(it->first) && it->first.storing == thread) ++it;
      if (it == loads.end() || !is_others(it->first)) continue;
    }
    const std::string name =
        place == Place::Shared ? shared_[object].name : (*state_.tensors)[object].name;
    out_.notes.insert(
        fmt::format("{}: a load of '{}' races with a store; what it returns counts as undefined",
                    to_string(span(pc)), name));
    const Defect& race = it->second;
    std::string what = fmt::format("{} {} race", state_.name, launch_.index);
    for (const Accessed& a : race.accesses)
      what += fmt::format(" {} {} {}", a.address(), to_string(a.span), fmt::join(a.block, ","));
    return Word::symbolic(poison_term(what, term::bv(8 * width), offset,
                                      {PoisonSource::Kind::Defective, "", {}, race}));
  }
  return std::nullopt;
}

Word CtaExecutor::load_shared(const Address& at, int width, uint32_t thread, uint32_t pc) {
  SharedVariable& v = shared_[at.location.object];
  const int64_t offset = at.location.offset;
  if (reads_copied(v, offset, width, thread, pc)) return tainted_word(width);
  if (const auto raced = raced_load(Place::Shared, at.location.object, offset, width, thread, pc))
    return *raced;
  if (!track_own(v.shadow, offset, width, thread, pc, Role::Read, nullptr))
    track(v.shadow, Place::Shared, at.location.object, offset, width,
          read_event(thread, pc, offset, width));
  if (is_raced(Place::Shared, at.location.object, offset, width)) return tainted_word(width);
  return load_variable(at.location, v.memory, width, tensor::Origin{thread, pc});
}

void CtaExecutor::store_shared(const Address& at, int width, const Word& word, uint32_t thread,
                               uint32_t pc) {
  SharedVariable& v = shared_[at.location.object];
  const int64_t offset = at.location.offset;
  overwrites_copy(v, offset, width, thread, pc);
  note_generic_write(v, offset, width, thread, pc);
  const Word sent = leaving_thread(remembered(word), pc);
  if (!track_own(v.shadow, offset, width, thread, pc, Role::Write, &sent))
    track(v.shadow, Place::Shared, at.location.object, offset, width,
          write_event(thread, pc, offset, sent, width));
  const Term g = guard(static_cast<int>(thread % kWarpSize));
  const Word now =
      g.valid() ? select_word(g, sent, load_variable(at.location, v.memory, width), 8 * width)
                : sent;
  v.memory.store(offset, width,
                 is_raced(Place::Shared, at.location.object, offset, width) ? tainted_word(width)
                                                                            : remembered(now));
}

Word CtaExecutor::load_param(const Location& at, int width, uint32_t pc) {
  const Argument& a = launch_.args[at.object];
  const int64_t size = a.kind == Argument::Kind::Tensor      ? 8
                       : a.kind == Argument::Kind::TensorMap ? 128
                       : a.kind == Argument::Kind::Scalar    ? dtype_size(a.dtype)
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
      Word word = word_of(store_.free_scalar(a.scalar), type);
      if (histories_) word.history = histories_->leaf(uint64_t{2} << 32, a.scalar, 0, true);
      return extract(word, dtype_size(a.dtype), static_cast<int>(at.offset), width);
    }
    case Argument::Kind::TensorMap:
      abort(pc, "the bytes of a tensor map are read");
      return Word{};
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
      return load_global(at, width, thread, pc, d.non_coherent,
                         d.semantics == isa::Semantics::Weak && !d.is_volatile);
    case Place::Shared:
      return load_shared(at, width, thread, pc);
    case Place::Local: {
      ByteMemory& memory = local(thread, at.location.object);
      Word w = load_variable(at.location, memory, width, tensor::Origin{thread, pc});
      // What the same guard stored is there for certain.
      if (const Term g = guard(static_cast<int>(thread % kWarpSize)); g.valid() && w.term.valid())
        w.term = under(g, w.term);
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
      const Term g = guard(static_cast<int>(thread % kWarpSize));
      memory.store(
          at.location.offset, width,
          remembered(
              g.valid() ? select_word(g, word, load_variable(at.location, memory, width), 8 * width)
                        : word));
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
  const CasLoop* const cas = cas_load(pc);
  if (!cas && only_waits(pc))
    return abort(pc, "a loop that waits until another thread has stored something");
  if (!cas && load_alike(warp, mask, d, pc)) return Step::Next;
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
        const Word w = !ok                         ? tainted_word(width)
                       : cas && places.size() == 1 ? opaque_old(*cas, part, width, thread, pc)
                                                   : load_at(part, width, thread, pc, d);
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
  Word wide = word_of(store_.make(Kind::BvSignExtend, {term_of(word, bits_type(from))}, 0, to),
                      bits_type(to));
  if (histories_)
    wide.history = history_by("sign-extend", static_cast<uint64_t>(to), history_of(word));
  return wide;
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
        if (w.tag == Tag::Bits && store_.type(w.term).width > 8 * width) {
          const uint32_t history =
              histories_ ? history_by("extract", static_cast<uint64_t>(width), history_of(w)) : 0;
          w = word_of(term_of(w, bits_type(8 * width)), bits_type(8 * width));
          w.history = history;
        }
        Address part = at;
        part.location.offset += i * width;
        const bool flag =
            waits_ && d.semantics != isa::Semantics::Weak &&
            (at.location.place == Place::Tensor || at.location.place == Place::Shared);
        const Word before = flag ? content_at(part, width) : Word{};
        store_at(part, width, w, thread, pc);
        if (out_.aborted) return Step::Aborted;
        if (waits_ && !flag) note_weak_store(part.location, thread, pc);
        if (flag)
          note_update(part.location,
                      at.location.place == Place::Tensor ? cell_motion(at.motion, width) : 0,
                      guard(lane).valid() ? tensor::FlagUpdate::Kind::Other
                                          : tensor::FlagUpdate::Kind::Store,
                      before, w, w, width, thread, d, pc);
      }
    }
    when_ = {};
  }
  return Step::Next;
}

}  // namespace coequal::exec
