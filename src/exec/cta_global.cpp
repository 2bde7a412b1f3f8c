// Global memory as one CTA sees it: contents of cells, loads and stores, which CTAs stay together.
#include <algorithm>
#include <bit>

#include "exec/cta.h"
#include "term/hash.h"

namespace coequal::exec {

using isa::OperandType;
using term::Kind;
using Accessed = coequal::Access;

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
    const bool older = last_ && contents_ == &last_->after;
    if (const auto it = t.stores.find(cell); it != t.stores.end() && (!older || it->second.behind))
      return with_atomics(t, dtype, cell, it->second.word);
    if (!older && t.atomics_of.contains(cell))
      return with_atomics(t, dtype, cell, older_content(id, cell, motion));
    if (by && t.declared && !t.may_read && contents_->versions[id] == state_.versions[id]) {
      Accessed a = access(Accessed::Kind::Read, by->thread, by->instruction);
      a.where = info.name;
      a.index = info.index_text(cell);
      report_at(
          guard(static_cast<int>(by->thread % kWarpSize)), DefectKind::AccessViolation,
          fmt::format("tensor '{}' is declared write and is read before it is written", info.name),
          a);
    }
  }
  Word w = older_content(id, cell, motion);
  if (histories_ && w.tag >= Tag::Real) {
    // What the launch finds in a cell, or what it does in a later round.
    const auto& version = contents_->versions[id];
    uint64_t contents = 0;
    while (contents < rounds_.size() &&
           contents_in(static_cast<uint32_t>(contents)).versions[id] != version)
      ++contents;
    if (last_ && contents_ == &last_->after) contents = ~uint64_t{0};
    w.history = histories_->leaf(term::mix(uint64_t{3} << 32 | id, contents), cell, motion,
                                 version->is_initial());
  }
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
  defect.message = fmt::format("read of cell {} of tensor '{}', which lies between its elements",
                               cell, info.name);
  Accessed a = access(Accessed::Kind::Read, by.thread, by.instruction);
  a.where = info.name;
  a.index = info.index_text(cell);
  a.bytes = info.element_size();
  defect.accesses = {std::move(a)};
  const Term any =
      poison_term(fmt::format("{} {} between elements of {}", by.instruction, by.thread, info.name),
                  term::bv(8 * info.element_size()), cell,
                  {PoisonSource::Kind::Defective, "", {}, std::move(defect)});
  return Word::symbolic(store_.leaf(store_.groups(any)[0], {cell, motion}));
}

Word CtaExecutor::older_content(TensorId id, int64_t cell, MotionId motion) {
  const tensor::TensorInfo& info = (*state_.tensors)[id];
  const DType dtype = info.dtype;
  const tensor::TensorVersion& version = *contents_->versions[id];
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
                              bool non_coherent, bool weak, bool copies) {
  const TensorId id = at.location.object;
  const tensor::TensorInfo& info = (*state_.tensors)[id];
  const int element = info.element_size();
  const int64_t offset = at.location.offset;
  const int64_t first = offset / element, last = (offset + width - 1) / element;
  const MotionId motion = cell_motion(at.motion, element);
  GlobalTensor& t = tensors_[id];
  const bool behind = behind_ticket(thread);
  contents_ = behind ? &last_->after : &contents_in(round_);
  const uint32_t order = note_access(thread);
  if (round_)
    for (int64_t c = first; c <= last; ++c)
      if (!ordered_with_rounds(id, c, motion, false, thread, pc)) return tainted_word(width);
  if (behind)
    for (int64_t c = first; c <= last; ++c) {
      const auto own = t.stores.find(c);
      if (own != t.stores.end() && own->second.behind) continue;
      if (!reads_released(id, c, motion, weak, thread, pc)) return tainted_word(width);
    }
  std::optional<Word> raced;
  if (t.tracked) {
    if (!t.copied_to.empty())
      for (int64_t c = first; c <= last; ++c) touches_unfinished(id, c, false, thread, pc);
    raced = raced_load(Place::Tensor, id, offset, width, thread, pc);
    if (!raced && copies) {
      const AccessEvent now = read_event(thread, pc, offset, width);
      const AccessHistory::Finding found = t.shadow.look(offset, width, now, order_);
      if (!found.conflicts.empty()) report_races(Place::Tensor, id, offset, width, found, now);
    } else if (!raced && !track_own(t.shadow, offset, width, thread, pc, Role::Read, nullptr)) {
      track(t.shadow, Place::Tensor, id, offset, width, read_event(thread, pc, offset, width));
    }
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
          out_.raced.places.insert({Place::Tensor, id, offset >> 2});
        }
    const Term g = guard(static_cast<int>(thread % kWarpSize));
    if (waits_ || g.valid() || t.read_seen.insert({first, motion, pc}).second) {
      t.reads.push_back({id,
                         first,
                         static_cast<int32_t>(last - first + 1),
                         motion,
                         {thread, pc},
                         non_coherent,
                         g,
                         order});
      for (int64_t c = first; c <= last; ++c) touch(t.read_cells, c, motion);
    }
    const bool tainted = is_raced(Place::Tensor, id, offset, width);
    if (tainted || raced) {
      // Only for CTAs for which the cell meets the same stores.
      for (int64_t c = first; c <= last; ++c) separate(t.written_cells, c, motion);
      return tainted ? tainted_word(width) : *raced;
    }
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

void CtaExecutor::store_global(const Address& at, int width, const Word& given, uint32_t thread,
                               uint32_t pc) {
  const Word word = remembered(given);
  const TensorId id = at.location.object;
  const tensor::TensorInfo& info = (*state_.tensors)[id];
  const int element = info.element_size();
  const int64_t offset = at.location.offset;
  GlobalTensor& t = tensors_[id];
  const bool behind = behind_ticket(thread);
  contents_ = behind ? &last_->after : &contents_in(round_);
  note_effect(thread, pc);
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
    Word part = remembered(extract(word, width, i * element, element));
    if (part.object.is_address()) part = refused_at(pc, "an address is stored in a tensor");
    separate(t.written_cells, cell, motion);
    separate(t.read_cells, cell, motion);
    const uint32_t order = note_access(thread);
    if (round_ && !ordered_with_rounds(id, cell, motion, true, thread, pc))
      part = tainted_word(element);
    touch(t.written_cells, cell, motion);
    overwrites_source(id, cell, thread, pc);
    if (!t.copied_to.empty()) touches_unfinished(id, cell, true, thread, pc);
    const Term g = guard(static_cast<int>(thread % kWarpSize));
    Word now = part;
    if (g.valid())
      now =
          remembered(select_word(g, part, load_cell(id, cell, motion, std::nullopt), 8 * element));
    // Ordered after this CTA's atomics on the cell, the store holds all that they did (an unordered
    // one was reported).
    bool after_atomics = false;
    if (const auto updates = t.atomics_of.find(cell); updates != t.atomics_of.end()) {
      after_atomics = true;
      t.overwritten.insert(updates->second.begin(), updates->second.end());
      t.atomics_of.erase(updates);
    }
    auto [it, fresh] = t.stores.try_emplace(cell);
    // Whose atomics a store under a guard replaces is known for one CTA only: where others store to
    // the cell, that is refused as a store under a guard that is not known.
    const bool guarded = g.valid() && (after_atomics || fresh || it->second.guarded);
    Term either;
    if (guarded && !after_atomics)
      either = fresh                      ? g
               : it->second.guard.valid() ? store_.make(Kind::Or, {it->second.guard, g})
                                          : Term{};
    const bool agrees = fresh || same_machine_word(it->second.stored, part);
    const bool other_writes = after_atomics || (!fresh && it->second.other_writes) || !agrees;
    it->second = {motion, now, {thread, pc}, guarded, either};
    if (agrees) it->second.stored = part;
    it->second.other_writes = other_writes;
    it->second.when = moment(thread);
    it->second.behind = behind;
    it->second.order = order;
    it->second.released = it->second.behind && has_acquired(thread);
  }
  if (!track_own(t.shadow, offset, width, thread, pc, Role::Write, &word))
    track(t.shadow, Place::Tensor, id, offset, width, write_event(thread, pc, offset, word, width));
  if (is_raced(Place::Tensor, id, offset, width))
    for (int i = 0; i < width / element; ++i)
      t.stores[offset / element + i].word = tainted_word(element);
}

}  // namespace coequal::exec
