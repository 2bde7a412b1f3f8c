// Bulk copies of one CTA: of blocks of memory, and of boxes of a tensor through its map. (PTX ISA,
// "cp.async.bulk", "cp.async.bulk.tensor", "Tensors".)
//
// Copies to shared memory count their bytes at an mbarrier; those to global memory are committed in
// groups, for which their thread waits: until the copy has read, or until all of it is done. The
// bytes of a copy release nothing of what its thread did: who has waited for them may use the copy.
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
  if (map.im2col) return {map.channels, map.pixels};
  std::vector<int64_t> counts;
  for (size_t d = 0; d < map.box.size(); ++d)
    counts.push_back((map.box[d] + map.steps[d] - 1) / map.steps[d]);
  return counts;
}

// The 16-byte parts of a row change places by its number.
int64_t swizzled(const TensorMap& map, int64_t at) {
  return map.swizzle ? at ^ (at >> 7 & (map.swizzle / 16 - 1)) << 4 : at;
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

bool CtaExecutor::suits_swizzle(const TensorMap& map, int64_t row, uint32_t variable, uint32_t pc) {
  if (!map.swizzle) return true;
  if (row != map.swizzle) {
    abort(pc, fmt::format("rows of {} bytes in a box that is swizzled by {}", row, map.swizzle));
    return false;
  }
  return aligned_by_launch(variable, static_cast<uint32_t>(8 * map.swizzle), pc);
}

// The pixels stand in the order of the images' dimensions, from the coordinates on: behind the last
// one of a row of the bounding box comes the first one of the next. Each is read at an offset from
// where it stands. (PTX ISA, "Im2col mode".)
bool CtaExecutor::pixel_elements(const Warp& warp, int lane, const TensorMap& map,
                                 const Operand& where, const Operand& offsets, uint32_t pc,
                                 const Location& shared, std::vector<BulkElement>& out) {
  const int64_t size = (*state_.tensors)[map.tensor].element_size();
  const size_t rank = map.extents.size();
  if (where.elements.size() != rank || offsets.elements.size() != rank - 2) {
    abort(pc, fmt::format("{} coordinates and {} offsets for a tensor map of {} dimensions",
                          where.elements.size(), offsets.elements.size(), rank));
    return false;
  }
  if (!suits_swizzle(map, map.channels * size, shared.object, pc)) return false;
  std::vector<int64_t> at(rank), shift(rank);
  for (size_t d = 0; d < rank; ++d) {
    const Word w = operand(warp, lane, where.elements[d], 32);
    const Word o = d > 0 && d + 1 < rank ? operand(warp, lane, offsets.elements[d - 1], 16)
                                         : Word::concrete(0);
    if (!w.is_number() || !o.is_number()) {
      abort(pc, "a coordinate of a box depends on data");
      return false;
    }
    at[d] = sign_extend(concretize(w, 32), 32);
    shift[d] = static_cast<int64_t>(concretize(o, 16) & 0xffff);
  }
  for (size_t d = 1; d + 1 < rank; ++d)
    if (at[d] < map.lower[d - 1] || at[d] > map.extents[d] - 1 + map.upper[d - 1]) {
      abort(pc, fmt::format("pixels from {} on, outside the bounding box from {} to {}", at[d],
                            map.lower[d - 1], map.extents[d] - 1 + map.upper[d - 1]));
      return false;
    }
  for (int64_t pixel = 0; pixel < map.pixels; ++pixel) {
    bool inside = at[rank - 1] >= 0 && at[rank - 1] < map.extents[rank - 1];
    int64_t cell = map.offset + at[rank - 1] * map.strides[rank - 1];
    for (size_t d = 1; d + 1 < rank; ++d) {
      const int64_t position = at[d] + shift[d];
      inside = inside && position >= 0 && position < map.extents[d];
      cell += position * map.strides[d];
    }
    for (int64_t c = 0; c < map.channels; ++c) {
      BulkElement e;
      e.at = swizzled(map, shared.offset + (pixel * map.channels + c) * size);
      e.inside = inside && at[0] + c >= 0 && at[0] + c < map.extents[0];
      e.global.location = {Place::Tensor, map.tensor, (cell + (at[0] + c) * map.strides[0]) * size};
      out.push_back(std::move(e));
    }
    for (size_t d = 1; d < rank; ++d) {
      at[d] += map.steps[d];
      if (d + 1 == rank || at[d] <= map.extents[d] - 1 + map.upper[d - 1]) break;
      at[d] = map.lower[d - 1];
    }
  }
  std::sort(out.begin(), out.end(),
            [](const BulkElement& a, const BulkElement& b) { return a.at < b.at; });
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
  if (!suits_swizzle(map, counts[0] * size, shared.object, pc)) return false;

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
    e.at = swizzled(map, at);
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
    if ((*map)->im2col != d.text->has("im2col")) {
      abort(pc, "a tensor map of another mode than the copy's");
      return std::nullopt;
    }
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
      boxes && (*map)->im2col
          ? pixel_elements(warp, lane, **map, ops[2], ops[4], pc, out.first, out.second)
      : boxes ? box_elements(warp, lane, **map, ops[at_global + 1], pc, out.first, out.second)
              : block_elements(there[0], size, !loads, thread, pc, out.first, out.second);
  return good ? std::optional(std::move(out)) : std::nullopt;
}

CtaExecutor::Step CtaExecutor::execute_bulk_copy(Warp& warp, uint32_t mask, const isa::Decoded& d,
                                                 uint32_t pc) {
  const bool loads = d.op == Op::CpAsyncBulk || d.op == Op::TensorLoad;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
    std::vector<std::pair<uint32_t, Mbarrier*>> barriers;  // by the rank that the copy goes to
    if (loads) {
      const auto targets = copy_targets(warp, lane, d, pc);
      if (!targets) return Step::Aborted;
      for (const uint32_t rank : *targets) {
        // kNoRank: where the operands say.
        const Operand& op = d.text->operands[3];
        Mbarrier* b = mbarrier(warp, lane, op, StateSpace::Shared, pc, rank);
        if (out_.aborted) return Step::Aborted;
        barriers.emplace_back(rank, b);
      }
    }
    const TensorMap* map = nullptr;
    const auto elements = bulk_elements(warp, lane, d, pc, &map);
    if (out_.aborted) return Step::Aborted;
    if (!elements) continue;
    for (const auto& [rank, b] : barriers) {
      if (!b) continue;
      Location to = elements->first;
      if (rank != kNoRank) {
        to = in_rank(to, rank);
        if (rank != rank_of(thread)) note_remote(rank, thread, pc);
      }
      if (!has_passed(*b->before, thread)) {
        // Whoever does not know that may overwrite what is still in use: that tells more.
        const int64_t element =
            (*state_.tensors)[elements->second.front().global.location.object].element_size();
        overwrites_copy(shared_[to.object], to.offset,
                        static_cast<int>(element * static_cast<int64_t>(elements->second.size())),
                        thread, pc);
        knows_phase(*b, thread, pc);
        return Step::Aborted;
      }
      bulk_load(warp, lane, d, pc, *b, to, elements->second, map);
      if (out_.aborted) return Step::Aborted;
    }
    if (!loads) bulk_store(warp, lane, d, pc, elements->first, elements->second);
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
    copy.parts.emplace_back(load_global(e.global, element, thread, pc, false, true, true), element);
    if (!tensors_[id].tracked) continue;
    const int64_t cell = e.global.location.offset / element;
    copy.cells.push_back(cell);
    // Those that were over before this one began are over when it is.
    std::vector<PendingCopy>& readers = tensors_[id].copied_from[cell];
    std::erase_if(readers, [&](const PendingCopy& p) { return is_complete(p, thread); });
    readers.push_back({copy.id, {thread, pc}, nullptr});
  }
  land_bulk(std::move(copy), b, thread, pc);
}

void CtaExecutor::land_bulk(AsyncCopy copy, Mbarrier& b, uint32_t thread, uint32_t pc) {
  const Location to{Place::Shared, copy.variable, copy.offset};
  int64_t size = 0;
  for (const auto& part : copy.parts) size += part.second;
  SharedVariable& v = shared_[to.object];
  // What was done there comes before the copy; what follows asks whether the copy is complete.
  const AccessEvent now = write_event(thread, pc, to.offset, Word::concrete(copy.id));
  const AccessHistory::Finding found =
      v.shadow.look(to.offset, static_cast<int>(size), now, order_);
  if (!found.conflicts.empty())
    report_races(Place::Shared, to.object, to.offset, static_cast<int>(size), found, now);
  v.shadow.forget(to.offset, static_cast<int>(size));
  overwrites_copy(v, to.offset, static_cast<int>(size), thread, pc);
  const bool bulk = kernel_.decoded.body[pc].op != Op::StAsync;
  if (bulk) {
    crosses_proxy(v, to.offset, static_cast<int>(size), thread, pc);
    async_write(v, to.offset, static_cast<int>(size));
  } else {
    note_generic_write(v, to.offset, static_cast<int>(size), thread, pc);
  }
  for (int64_t at = to.offset; at < to.offset + size; ++at)
    v.pending_copies[at] = {copy.id, {thread, pc}, nullptr};
  land(copy, b);
  if (const uint32_t rank = to.object / shared_count(); rank != rank_of(thread))
    remote_copies_.try_emplace({rank, pc, b.open.get()}, b.open, thread);
  const uint32_t threads[] = {thread};
  // It is complete for those who waited, not for those who know that it was issued. An asynchronous
  // store releases, at the scope of the cluster.
  b.open->silent = true;
  if (!bulk) b.open->arrivals.push_back(moment(thread));
  order_.arrive(threads, bulk ? b.released.reached : b.released.wide);
  b.bytes -= size;
  complete_phase(b);
}

std::optional<std::vector<uint32_t>> CtaExecutor::copy_targets(Warp& warp, int lane,
                                                               const isa::Decoded& d, uint32_t pc) {
  if (!d.text->has("multicast::cluster")) return std::vector<uint32_t>{kNoRank};
  const Word mask = operand(warp, lane, d.text->operands[d.text->has("im2col") ? 5 : 4], 16);
  if (!mask.is_number()) {
    abort(pc, "the CTAs that a copy goes to depend on data");
    return std::nullopt;
  }
  const uint64_t ranks = concretize(mask, 16) & 0xffff;
  if (ranks == 0 || ranks >> ranks_) {
    abort(pc, fmt::format("a copy to the CTAs {:#x} of a cluster of {}", ranks, ranks_));
    return std::nullopt;
  }
  std::vector<uint32_t> targets;
  for (uint32_t rank = 0; rank < ranks_; ++rank)
    if (ranks >> rank & 1) targets.push_back(rank);
  return targets;
}

CtaExecutor::Step CtaExecutor::execute_store_async(Warp& warp, uint32_t mask, const isa::Decoded& d,
                                                   uint32_t pc) {
  const std::vector<Operand>& ops = d.text->operands;
  const bool blocks = d.op == Op::SharedBulk;  // [d], [s], n, [m]; else [a], b, [m]
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
    Mbarrier* b = mbarrier(warp, lane, ops[blocks ? 3 : 2], StateSpace::Shared, pc);
    if (out_.aborted || (b && !knows_phase(*b, thread, pc))) return Step::Aborted;
    const Addresses to = addresses(warp, lane, ops[0], StateSpace::Shared, pc, true);
    if (out_.aborted) return Step::Aborted;
    if (to.size() > 1) return abort(pc, "an address of an asynchronous store depends on data");
    if (to.empty() || !b) continue;
    AsyncCopy copy;
    copy.id = ++copies_;
    copy.instruction = pc;
    copy.variable = to[0].location.object;
    copy.offset = to[0].location.offset;
    if (!blocks) {
      const int width = ptx::bits_of(d.type) / 8;
      const bool vector = ops[1].kind == Operand::Kind::Vector;
      const size_t count = vector ? ops[1].elements.size() : 1;
      const int size = width * static_cast<int>(count);
      if (!check(to[0], size, size, true, thread, pc)) continue;
      for (size_t i = 0; i < count; ++i)
        copy.parts.emplace_back(
            leaving_thread(operand(warp, lane, vector ? ops[1].elements[i] : ops[1], 8 * width),
                           pc),
            width);
    } else {
      const Word count = operand(warp, lane, ops[2], 32);
      if (!count.is_number()) return abort(pc, "the size of a bulk copy depends on data");
      const auto size = static_cast<int64_t>(concretize(count, 32));
      if (size == 0 || size % 16)
        return abort(pc, fmt::format("a bulk copy of {} bytes, no positive multiple of 16", size));
      const Addresses from = addresses(warp, lane, ops[1], StateSpace::Shared, pc, false);
      if (out_.aborted) return Step::Aborted;
      if (from.size() > 1) return abort(pc, "an address of a bulk copy depends on data");
      const int bytes = static_cast<int>(size);
      if (from.empty() || !check(to[0], bytes, 16, true, thread, pc) ||
          !check(from[0], bytes, 16, false, thread, pc))
        continue;
      const Location& source = from[0].location;
      if (source.object / shared_count() != rank_of(thread))
        return abort(pc, "a bulk copy out of another block's shared memory");
      const uint32_t read = new_async_read(thread, pc, uint64_t{2} << 32 | copies_);
      SharedVariable& v = shared_[source.object];
      for (int64_t at = 0; at < size; at += 16) {
        Location part = source;
        part.offset += at;
        const bool good = async_read(part, 16, warp.index, 1u << lane, pc, read);
        for (int64_t i = 0; i < 16; i += 4, part.offset += 4)
          copy.parts.emplace_back(
              good ? load_variable(part, v.memory, 4, tensor::Origin{thread, pc}) : tainted_word(4),
              4);
      }
      b->reads.push_back(read);
    }
    land_bulk(std::move(copy), *b, thread, pc);
    if (out_.aborted) return Step::Aborted;
  }
  return Step::Next;
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
    const auto now = std::make_shared<const PhaseEnd>(PhaseEnd{{moment(thread)}, {}, false});
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
