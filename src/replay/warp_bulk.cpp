// Bulk copies: blocks of memory, and boxes of a tensor through its map (PTX ISA 9.7.9.25.4, 5).
#include <bit>
#include <cstring>

#include "isa/semantics.h"
#include "replay/machine.h"

namespace coequal::replay {

using isa::Op;

bool Warp::read_map(uint64_t address, uint32_t lane, TensorMap* map) {
  uint8_t bytes[128];
  for (uint64_t i = 0; i < sizeof bytes; i += 8) {
    const uint8_t* at = locate(lane, address + i, 8, false);
    if (!at) return false;
    std::memcpy(bytes + i, at, 8);
  }
  std::memcpy(map, bytes, sizeof *map);
  if (map->is_map == TensorMap::kIsMap) return true;
  return fail(FaultKind::Invalid, lane, "bytes that are no tensor map");
}

template <class F>
bool Warp::for_pixels(const TensorMap& map, std::array<int64_t, 8> at, uint64_t shared, F one) {
  const uint32_t images = map.rank - 1u;
  uint64_t done = 0;
  for (uint32_t pixel = 0; pixel < map.box[1]; ++pixel) {
    for (int64_t channel = at[0]; channel < at[0] + map.box[0]; ++channel, done += map.size) {
      std::array<int64_t, 5> position{channel, at[1], at[2], at[3], at[4]};
      for (uint32_t d = 1; d < images; ++d) position[d] += at[4 + d];
      uint64_t address = map.address;
      bool inside = true;
      for (uint32_t d = 0; d < map.rank; ++d) {
        inside = inside && position[d] >= 0 && position[d] <= int64_t{map.last[d]};
        address += static_cast<uint64_t>(position[d]) * map.strides[d];
      }
      uint64_t to = shared + done;
      if (const uint64_t parts = map.swizzle / 16u) to ^= (to / 128 % parts) * 16;
      if (!one(to, inside ? address : 0)) return false;
    }
    uint32_t d = 1;
    while (d < images && (at[d] += map.steps[d]) > int64_t{map.last[d]} + map.upper[d - 1]) {
      at[d] = map.lower[d - 1];
      ++d;
    }
    if (d == images) at[images] += map.steps[images];
  }
  return true;
}

template <class F>
bool Warp::for_box(const TensorMap& map, const std::array<int64_t, 8>& at, uint64_t shared, F one) {
  if (map.im2col) return for_pixels(map, at, shared, one);
  std::array<int64_t, 5> index{};
  const uint64_t parts = map.swizzle / 16u;
  for (uint64_t done = 0;; done += map.size) {
    uint64_t address = map.address;
    bool inside = true;
    for (uint32_t d = 0; d < map.rank; ++d) {
      const int64_t position = at[d] + index[d];
      inside = inside && position >= 0 && position <= int64_t{map.last[d]};
      address += static_cast<uint64_t>(position) * map.strides[d];
    }
    // The 16-byte parts of each 128 bytes, or of what is swizzled of them, change places by the
    // number of the 128 bytes.
    uint64_t to = shared + done;
    if (parts) to ^= (to / 128 % parts) * 16;
    if (!one(to, inside ? address : 0)) return false;
    uint32_t d = 0;
    for (; d < map.rank; ++d) {
      index[d] += map.steps[d];
      if (index[d] < map.box[d]) break;
      index[d] = 0;
    }
    if (d == map.rank) return true;
  }
}

bool Warp::copy_bulk(const Code& code, uint32_t active) {
  const bool boxes =
      code.op == Op::TensorLoad || code.op == Op::TensorStore || code.op == Op::TensorReduce;
  const bool loads = code.op == Op::TensorLoad || code.op == Op::CpAsyncBulk;
  for (uint32_t lanes = active; lanes; lanes &= lanes - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(lanes));
    BulkStore copy{&code, full_address(code, 1, lane), full_address(code, 0, lane), 0, {}};
    TensorMap map;
    if (boxes) {
      if (!read_map(loads ? copy.from : copy.to, lane, &map)) return false;
      for (uint32_t d = 0; d < map.rank; ++d)
        copy.at[d] = static_cast<int32_t>(read(source(code, d), lane));
      if (map.im2col != code.decoded->text->has("im2col"))
        return fail(FaultKind::Invalid, lane, "a tensor map of another mode than the copy's");
      for (uint32_t d = 2; map.im2col && d < map.rank; ++d)
        copy.at[3 + d] = static_cast<int64_t>(read(source(code, map.rank + d - 2u), lane) & 0xffff);
    } else {
      copy.size = read(source(code, 0), lane);
    }
    const uint64_t aligned = boxes ? 128 : 16;
    if (copy.size % 16 || (loads ? copy.to : copy.from) % aligned ||
        (!boxes && (loads ? copy.from : copy.to) % 16))
      return fail(FaultKind::Misaligned, lane,
                  fmt::format("a bulk copy of {} bytes from {:#x} to {:#x}", copy.size, copy.from,
                              copy.to));
    if (!loads) {
      copies_[lane].open_bulk.push_back(copy);
      if (launch_.options.late_copies) continue;
      copies_[lane].open_bulk.pop_back();
      if (!store_bulk(copy, lane)) return false;
      continue;
    }
    const uint64_t at = full_address(code, 2, lane);
    if (!code.decoded->text->has("multicast::cluster")) {
      if (!load_bulk(code, copy, map, copy.to, at, lane)) return false;
      continue;
    }
    const uint32_t sources = !boxes ? 1u : map.im2col ? 2u * map.rank - 2 : map.rank;
    const uint64_t ranks = read(source(code, sources), lane) & 0xffff;
    for (uint64_t rank = 0; rank < 16; ++rank) {
      const uint64_t of = (rank + 1) << kRankShift;
      if (ranks >> rank & 1 &&
          !load_bulk(code, copy, map, (copy.to & ~kRankMask) | of, (at & ~kRankMask) | of, lane))
        return false;
    }
  }
  return true;
}

bool Warp::load_bulk(const Code& code, BulkStore& copy, const TensorMap& map, uint64_t to_address,
                     uint64_t at, uint32_t lane) {
  const bool boxes = code.op == Op::TensorLoad;
  if (boxes) copy.size = 0;
  Mbarrier* barrier = find_mbarrier(at, false, lane);
  if (!barrier) return false;
  if (boxes) {
    const bool good = for_box(map, copy.at, to_address, [&](uint64_t to, uint64_t from) {
      uint8_t* into = locate(lane, to, map.size, true);
      if (!into) return false;
      copy.size += map.size;
      const uint8_t* out_of = from ? locate(lane, from, map.size, false) : nullptr;
      if (from && !out_of) return false;
      const uint64_t nan = isa::mask_of(8 * map.size - 1);
      if (out_of)
        std::memcpy(into, out_of, map.size);
      else if (map.fills_nan)
        std::memcpy(into, &nan, map.size);
      else
        std::memset(into, 0, map.size);
      return true;
    });
    if (!good) return false;
  }
  for (uint64_t done = 0; !boxes && done < copy.size; done += 16) {
    uint8_t* into = locate(lane, to_address + done, 16, true);
    const uint8_t* out_of = into ? locate(lane, copy.from + done, 16, false) : nullptr;
    if (!out_of) return false;
    std::memcpy(into, out_of, 16);
  }
  barrier->bytes -= static_cast<int64_t>(copy.size);
  barrier->complete();
  return true;
}

bool Warp::store_bulk(const BulkStore& copy, uint32_t lane) {
  isa::Decoded d = *copy.code->decoded;
  const bool reduces = d.op == Op::BulkReduce || d.op == Op::TensorReduce;
  const auto one = [&](uint64_t from, uint64_t to, uint32_t size) {
    const uint8_t* out_of = locate(lane, from, size, false);
    uint8_t* into = out_of ? locate(lane, to, size, true) : nullptr;
    if (!into) return false;
    uint64_t value = 0, old = 0;
    std::memcpy(&value, out_of, size);
    std::memcpy(&old, into, size);
    if (reduces) {
      if (launch_.watch) launch_.watch->atomic(d, old, value);
      value = combine(d, old, value, 0);
    }
    std::memcpy(into, &value, size);
    return true;
  };
  if (d.op == Op::TensorStore || d.op == Op::TensorReduce) {
    TensorMap map;
    if (!read_map(copy.to, lane, &map)) return false;
    if (d.op == Op::TensorReduce) d.type = map.type;
    if (reduces && d.type == ptx::ScalarType::None)
      return fail(FaultKind::Refused, lane, "a reduction of boxes of this type is not modelled");
    return for_box(map, copy.at, copy.from,
                   [&](uint64_t from, uint64_t to) { return to == 0 || one(from, to, map.size); });
  }
  const uint32_t step = reduces ? static_cast<uint32_t>(ptx::bits_of(d.type)) / 8 : 8;
  for (uint64_t done = 0; done < copy.size; done += step)
    if (!one(copy.from + done, copy.to + done, step)) return false;
  return true;
}

bool Warp::finish_bulk(uint32_t lane, uint64_t keep) {
  auto& groups = copies_[lane].bulk_groups;
  for (; groups.size() > keep; groups.erase(groups.begin()))
    for (const BulkStore& copy : groups.front())
      if (!store_bulk(copy, lane)) return false;
  return true;
}

bool Warp::commit_bulk(const Code& code, uint32_t active) {
  for (uint32_t lanes = active; lanes; lanes &= lanes - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(lanes));
    if (code.op == Op::BulkCommit) {
      copies_[lane].bulk_groups.push_back(std::move(copies_[lane].open_bulk));
      copies_[lane].open_bulk.clear();
    } else if (!finish_bulk(lane, read(source(code, 0), lane))) {
      return false;
    }
  }
  return true;
}

}  // namespace coequal::replay
