// Bulk copies of one CTA: of blocks of memory, and of boxes of a tensor through its map. (PTX ISA,
// "cp.async.bulk", "cp.async.bulk.tensor", "Tensors".)
//
// Copies to shared memory count their bytes at an mbarrier; those to global memory are committed in
// groups, for which their thread waits: until the copy has read, or until all of it is done.
#include <algorithm>
#include <bit>

#include "exec/bits.h"
#include "exec/cta.h"

namespace coequal::exec {

using isa::Op;
using ptx::Operand;
using ptx::StateSpace;
using Accessed = coequal::Access;

namespace {

// Elements of a box along each dimension.
std::vector<int64_t> counts_of(const TensorMap& map) {
  std::vector<int64_t> counts;
  for (size_t d = 0; d < map.box.size(); ++d)
    counts.push_back((map.box[d] + map.steps[d] - 1) / map.steps[d]);
  return counts;
}

}  // namespace

const TensorMap* CtaExecutor::tensor_map(Warp& warp, int lane, const Operand& op, uint32_t pc) {
  const Addresses places = addresses(warp, lane, op, StateSpace::Generic, pc, false);
  if (out_.aborted) return nullptr;
  if (places.size() == 1 && places[0].location.place == Place::Param &&
      places[0].location.offset == 0) {
    const Argument& a = launch_.args[places[0].location.object];
    if (a.kind == Argument::Kind::TensorMap) return &a.map;
  }
  abort(pc, "an address of a tensor map at which no argument says what it holds");
  return nullptr;
}

bool CtaExecutor::block_elements(const Address& global, int64_t size, bool is_write,
                                 uint32_t thread, uint32_t pc, const Location& shared,
                                 std::vector<BulkElement>& out) {
  if (!check_global(global, static_cast<int>(size), 16, is_write, thread, pc)) return false;
  const int element = (*state_.tensors)[global.location.object].element_size();
  for (int64_t done = 0; done < size; done += element) {
    Address part = global;
    part.location.offset += done;
    out.push_back({shared.offset + done, part, true});
  }
  return true;
}

bool CtaExecutor::box_elements(const Warp& warp, int lane, const TensorMap& map,
                               const Operand& where, uint32_t pc, const Location& shared,
                               std::vector<BulkElement>& out) {
  const tensor::TensorInfo& info = (*state_.tensors)[map.tensor];
  const int64_t size = info.element_size();
  const size_t rank = map.extents.size();
  if (where.elements.size() != rank) {
    abort(pc, fmt::format("{} coordinates for a tensor map of {} dimensions", where.elements.size(),
                          rank));
    return false;
  }
  const std::vector<int64_t> counts = counts_of(map);
  const int64_t row = counts[0] * size;
  if (map.swizzle && row != map.swizzle) {
    abort(pc, fmt::format("rows of {} bytes in a box that is swizzled by {}", row, map.swizzle));
    return false;
  }
  if (map.swizzle && !aligned_by_launch(shared.object, static_cast<uint32_t>(8 * map.swizzle), pc))
    return false;

  std::vector<int64_t> start(rank);
  MotionId motion = 0;
  for (size_t d = 0; d < rank; ++d) {
    const Word w = operand(warp, lane, where.elements[d], 32);
    if (!w.is_number()) {
      abort(pc, "a coordinate of a box depends on data");
      return false;
    }
    start[d] = sign_extend(w.bits, 32);
    if (!w.motion) continue;
    // CTAs whose boxes reach beyond the tensor by as much stay together.
    const int64_t extent = map.extents[d], box = map.box[d];
    const auto reach = [&](int64_t at) {
      return std::pair(std::clamp<int64_t>(-at, 0, box), std::clamp<int64_t>(extent - at, 0, box));
    };
    const auto at = [&](size_t i) {
      return sign_extend(w.bits + static_cast<uint64_t>(motions_->value(w.motion, i)), 32);
    };
    const auto own = reach(start[d]);
    motions_->narrow([&](size_t i) {
      return reach(at(i)) == own && at(i) == start[d] + motions_->value(w.motion, i);
    });
    motion = motions_->add(motion, motions_->scale(w.motion, map.strides[d] * size));
  }
  std::vector<int64_t> index(rank);
  int64_t at = shared.offset;
  for (;; at += size) {
    BulkElement e;
    e.at = map.swizzle ? at ^ (at >> 7 & (map.swizzle / 16 - 1)) << 4 : at;
    int64_t cell = map.offset;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t position = start[d] + index[d] * map.steps[d];
      e.inside = e.inside && position >= 0 && position < map.extents[d];
      cell += position * map.strides[d];
    }
    e.global.location = {Place::Tensor, map.tensor, cell * size};
    e.global.motion = motion;
    out.push_back(std::move(e));
    size_t d = 0;
    while (d < rank && ++index[d] == counts[d]) index[d++] = 0;
    if (d == rank) break;
  }
  std::sort(out.begin(), out.end(),
            [](const BulkElement& a, const BulkElement& b) { return a.at < b.at; });
  return true;
}

std::optional<std::pair<Location, std::vector<CtaExecutor::BulkElement>>>
CtaExecutor::bulk_elements(Warp& warp, int lane, const isa::Decoded& d, uint32_t pc,
                           const TensorMap** map) {
  const std::vector<Operand>& ops = d.text->operands;
  const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
  const bool loads = d.op == Op::CpAsyncBulk || d.op == Op::TensorLoad;
  const bool boxes = d.op == Op::TensorLoad || d.op == Op::TensorStore || d.op == Op::TensorReduce;
  // d, [a], ... or [a], s; a box's coordinates follow its map.
  const size_t at_global = loads ? 1 : 0, at_shared = loads ? 0 : boxes ? 2 : 1;
  const Addresses here = addresses(warp, lane, ops[at_shared], StateSpace::Shared, pc, loads);
  if (out_.aborted) return std::nullopt;
  if (here.size() > 1) {
    abort(pc, "an address of a bulk copy depends on data");
    return std::nullopt;
  }
  std::pair<Location, std::vector<BulkElement>> out;
  int64_t size = 0;
  Addresses there;
  if (boxes) {
    *map = tensor_map(warp, lane, ops[at_global], pc);
    if (!*map) return std::nullopt;
    size = (*state_.tensors)[(*map)->tensor].element_size();
    for (const int64_t count : counts_of(**map)) size *= count;
  } else {
    const Word count = operand(warp, lane, ops[2], 32);
    if (!count.is_number()) {
      abort(pc, "the size of a bulk copy depends on data");
      return std::nullopt;
    }
    size = static_cast<int64_t>(concretize(count, 32));
    if (size == 0 || size % 16) {
      abort(pc, fmt::format("a bulk copy of {} bytes, no positive multiple of 16", size));
      return std::nullopt;
    }
    there = addresses(warp, lane, ops[at_global], StateSpace::Global, pc, !loads);
    if (out_.aborted) return std::nullopt;
    if (there.size() > 1) {
      abort(pc, "an address of a bulk copy depends on data");
      return std::nullopt;
    }
  }
  if (here.empty() || (!boxes && there.empty()) ||
      !check(here[0], static_cast<int>(size), boxes ? 128 : 16, loads, thread, pc))
    return std::nullopt;
  out.first = here[0].location;
  const bool good =
      boxes ? box_elements(warp, lane, **map, ops[at_global + 1], pc, out.first, out.second)
            : block_elements(there[0], size, !loads, thread, pc, out.first, out.second);
  return good ? std::optional(std::move(out)) : std::nullopt;
}

CtaExecutor::Step CtaExecutor::execute_bulk_copy(Warp& warp, uint32_t mask, const isa::Decoded& d,
                                                 uint32_t pc) {
  const bool loads = d.op == Op::CpAsyncBulk || d.op == Op::TensorLoad;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
    Mbarrier* b = nullptr;
    if (loads) {
      b = mbarrier(warp, lane, d.text->operands[3], StateSpace::Shared, pc);
      if (out_.aborted || (b && !knows_phase(*b, thread, pc))) return Step::Aborted;
    }
    const TensorMap* map = nullptr;
    const auto elements = bulk_elements(warp, lane, d, pc, &map);
    if (out_.aborted) return Step::Aborted;
    if (!elements || (loads && !b)) continue;
    if (loads)
      bulk_load(warp, lane, d, pc, *b, elements->first, elements->second, map);
    else
      bulk_store(warp, lane, d, pc, elements->first, elements->second);
    if (out_.aborted) return Step::Aborted;
  }
  return Step::Next;
}

void CtaExecutor::bulk_load(Warp& warp, int lane, const isa::Decoded&, uint32_t pc, Mbarrier& b,
                            const Location& to, const std::vector<BulkElement>& elements,
                            const TensorMap* map) {
  const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
  const TensorId id = elements.front().global.location.object;
  const tensor::TensorInfo& info = (*state_.tensors)[id];
  const int element = info.element_size();
  const auto size = static_cast<int64_t>(elements.size()) * element;
  AsyncCopy copy;
  copy.id = ++copies_;
  copy.instruction = pc;
  copy.variable = to.object;
  copy.offset = to.offset;
  copy.tensor = id;
  for (const BulkElement& e : elements) {
    if (!e.inside) {
      const Word nan = Word::concrete(low_mask(8 * element - 1));
      copy.parts.emplace_back(map->fills_nan ? nan : Word::concrete(0), element);
      continue;
    }
    copy.parts.emplace_back(load_global(e.global, element, thread, pc, false, true), element);
    if (!tensors_[id].tracked) continue;
    const int64_t cell = e.global.location.offset / element;
    copy.cells.push_back(cell);
    tensors_[id].copied_from[cell].push_back({copy.id, {thread, pc}, nullptr});
  }
  SharedVariable& v = shared_[to.object];
  track(v.shadow, Place::Shared, to.object, to.offset, static_cast<int>(size),
        write_event(thread, pc, to.offset, Word::concrete(copy.id)));
  overwrites_copy(v, to.offset, static_cast<int>(size), thread, pc);
  crosses_proxy(v, to.offset, static_cast<int>(size), thread, pc);
  async_write(v, to.offset, static_cast<int>(size));
  for (int64_t at = to.offset; at < to.offset + size; ++at)
    v.pending_copies[at] = {copy.id, {thread, pc}, nullptr};
  land(copy, b);
  // The bytes arrive like a thread: what is known of the phase includes them.
  b.arrivals.push_back(moment(thread));
  const uint32_t threads[] = {thread};
  order_.arrive(threads, b.clock);
  b.bytes -= size;
  complete_phase(b);
}

void CtaExecutor::bulk_store(Warp& warp, int lane, const isa::Decoded& d, uint32_t pc,
                             const Location& from, const std::vector<BulkElement>& elements) {
  const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
  const TensorId id = elements.front().global.location.object;
  const tensor::TensorInfo& info = (*state_.tensors)[id];
  const int element = info.element_size();
  const ptx::ScalarType type = d.op == Op::TensorReduce ? tensor::scalar_type(info.dtype) : d.type;
  const auto kind = gathered_kind(static_cast<isa::AtomOp>(d.mode), type);
  if (d.op == Op::TensorReduce && type == ptx::ScalarType::None) {
    abort(pc, fmt::format("a reduction of boxes of {}", dtype_name(info.dtype)));
    return;
  }
  ThreadState& state = thread_states_[thread];
  // Reads of one thread end in their order; owners are told apart from those of warpgroups.
  const uint32_t read = new_async_read(thread, pc, uint64_t{1} << 32 | thread);
  state.open_bulk.reads.push_back(read);
  const uint32_t copy = ++copies_;
  SharedVariable& v = shared_[from.object];
  int64_t good_from = -1;
  bool good = false;
  for (const BulkElement& e : elements) {
    if (!e.inside) continue;
    if (e.at >> 4 != good_from) {
      good_from = e.at >> 4;
      good = async_read({Place::Shared, from.object, good_from << 4}, 16, warp.index, 1u << lane,
                        pc, read);
    }
    const Word word = good ? load_variable({Place::Shared, from.object, e.at}, v.memory, element,
                                           tensor::Origin{thread, pc})
                           : tainted_word(element);
    const int64_t cell = e.global.location.offset / element;
    if (d.op == Op::BulkReduce || d.op == Op::TensorReduce) {
      atomic_at(e.global, type, *kind, word, warp.index, lane, d, pc);
    } else {
      store_global(e.global, element, word, thread, pc);
    }
    if (out_.aborted) return;
    state.open_bulk.written.emplace_back(id, cell, copy);
    tensors_[id].copied_to[cell] = {moment(thread), {copy, {thread, pc}, nullptr}};
  }
}

CtaExecutor::Step CtaExecutor::execute_bulk_group(const Warp& warp, uint32_t mask,
                                                  const isa::Decoded& d) {
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
    ThreadState& state = thread_states_[thread];
    if (d.op == Op::BulkCommit) {
      state.bulk_groups.push_back(std::move(state.open_bulk));
      state.open_bulk = {};
      continue;
    }
    const size_t keep = concretize(operand(warp, lane, d.text->operands[0], 32), 32);
    if (state.bulk_groups.size() <= keep) continue;
    const size_t over = state.bulk_groups.size() - keep;
    const auto now = std::make_shared<const std::vector<Moment>>(1, moment(thread));
    for (size_t i = 0; i < over; ++i) {
      BulkGroup& group = state.bulk_groups[i];
      for (const uint32_t read : group.reads) async_reads_[read].done.push_back(moment(thread));
      group.reads.clear();
      if (d.text->has("read")) continue;
      for (const auto& [tensor, cell, copy] : group.written) {
        const auto found = tensors_[tensor].copied_to.find(cell);
        if (found != tensors_[tensor].copied_to.end() && found->second.second.copy == copy)
          found->second.second.done = now;
      }
    }
    if (!d.text->has("read"))
      state.bulk_groups.erase(state.bulk_groups.begin(),
                              state.bulk_groups.begin() + static_cast<ptrdiff_t>(over));
  }
  return Step::Next;
}

void CtaExecutor::touches_unfinished(TensorId id, int64_t cell, bool is_write, uint32_t thread,
                                     uint32_t pc) {
  const auto found = tensors_[id].copied_to.find(cell);
  if (found == tensors_[id].copied_to.end()) return;
  const auto& [since, copy] = found->second;
  // What not even the copy's start is ordered before is a race.
  if (is_complete(copy, thread) || !is_before(since, thread)) return;
  const tensor::TensorInfo& info = (*state_.tensors)[id];
  const tensor::Origin& origin = copy.origin;
  Accessed a = access(Accessed::Kind::Copy, origin.thread, origin.instruction);
  Accessed b = access(is_write ? Accessed::Kind::Write : Accessed::Kind::Read, thread, pc);
  a.where = b.where = info.name;
  a.index = b.index = info.index_text(cell);
  a.bytes = b.bytes = info.element_size();
  Defect defect;
  defect.kind = DefectKind::UnwaitedCopy;
  defect.message = "a cell that a bulk copy writes is used before the copy is waited for";
  defect.accesses = {std::move(a), std::move(b)};
  report_under(guard(static_cast<int>(thread % kWarpSize)), std::move(defect), /*race=*/true);
}

}  // namespace coequal::exec
