// Memory accesses of a warp: generic addresses, loads, stores, atomics, asynchronous copies.
#include <algorithm>
#include <bit>
#include <cstring>

#include "isa/semantics.h"
#include "replay/machine.h"

namespace coequal::replay {
namespace {

using isa::AtomOp;
using isa::mask_of;
using isa::Op;
using isa::sign_extend;
using ptx::ScalarType;

uint64_t load_bytes(const uint8_t* at, uint32_t size) {
  uint64_t value = 0;
  std::memcpy(&value, at, size);
  return value;
}

uint64_t combine_float(AtomOp op, FloatSpec spec, uint64_t a, uint64_t b, FloatOptions options) {
  switch (op) {
    case AtomOp::Add:
      return float_add(spec, a, b, options);
    case AtomOp::Min:
      return float_min(spec, a, b);
    default:
      return float_max(spec, a, b);
  }
}

void finish(const PendingCopy& copy) {
  if (copy.bytes) std::memcpy(copy.to, copy.from, copy.bytes);
  std::memset(copy.to + copy.bytes, 0, copy.size - copy.bytes);
}

std::string_view window_name(uint64_t address) {
  switch (address & kWindowMask) {
    case kSharedWindow:
      return "shared";
    case kLocalWindow:
      return "local";
    case kParamWindow:
      return "parameter";
    default:
      return "global";
  }
}

}  // namespace

uint64_t combine(const isa::Decoded& d, uint64_t old, uint64_t b, uint64_t other) {
  const AtomOp op = static_cast<AtomOp>(d.mode);
  const int width = isa::width_of(d.type);
  if (isa::is_float(d.type)) {
    FloatOptions options;
    // The manual: single-precision additions to global memory flush subnormals, those to shared
    // memory do not.
    options.flush = d.type == ScalarType::F32 && d.space != ptx::StateSpace::Shared;
    const FloatSpec spec = isa::spec_of(d.type);
    if (!isa::is_packed(d.type)) return combine_float(op, spec, old, b, options);
    const uint64_t low = combine_float(op, spec, old & 0xffff, b & 0xffff, options);
    return (combine_float(op, spec, old >> 16, b >> 16, options) << 16) | low;
  }
  const bool less =
      isa::is_signed(d.type) ? sign_extend(old, width) < sign_extend(b, width) : old < b;
  switch (op) {
    case AtomOp::Add:
      return (old + b) & mask_of(width);
    case AtomOp::Min:
      return less ? old : b;
    case AtomOp::Max:
      return less ? b : old;
    case AtomOp::And:
      return old & b;
    case AtomOp::Or:
      return old | b;
    case AtomOp::Xor:
      return old ^ b;
    case AtomOp::Exch:
      return b;
    case AtomOp::Cas:
      return old == b ? other : old;
    case AtomOp::Inc:
      return old >= b ? 0 : old + 1;
    case AtomOp::Dec:
      return old == 0 || old > b ? b : old - 1;
  }
  return old;
}

uint64_t Warp::full_address(const Code& code, uint32_t which, uint32_t lane) const {
  const Address& address = function_->addresses[code.addresses + which];
  return read(address.base, lane) + static_cast<uint64_t>(address.offset) + address.window;
}

uint8_t* Warp::locate(uint32_t lane, uint64_t address, uint64_t size, bool is_write) {
  uint64_t offset = address & ~kWindowMask;
  const auto inside = [&](uint64_t bytes) { return offset <= bytes && size <= bytes - offset; };
  uint8_t* found = nullptr;
  switch (address & kWindowMask) {
    case 0:
      if (!recent_ || !recent_->holds(address, size)) recent_ = launch_.memory.find(address, size);
      if (recent_) found = recent_->bytes.data() + (address - recent_->address);
      break;
    case kSharedWindow:
      if (Cta* of = owner(address)) {
        offset &= ~kRankMask;
        if (inside(of->shared().size())) found = of->shared().data() + offset;
      }
      break;
    case kLocalWindow:
      if (inside(local_[lane].size())) found = local_[lane].data() + offset;
      break;
    case kParamWindow:
      // Parameters are constant.
      if (!is_write && inside(launch_.config.params.size()))
        found = const_cast<uint8_t*>(launch_.config.params.data()) + offset;
      break;
    default:
      break;
  }
  const char* what = is_write ? "write" : "read";
  if (!found) {
    std::string message = fmt::format("{} of {} bytes at {:#x}", what, size, address);
    if ((address & kWindowMask) != 0) {
      message = fmt::format("{} of {} bytes at {} address {:#x}", what, size, window_name(address),
                            offset);
    } else if (const Memory::Allocation* near = launch_.memory.nearest(address)) {
      message += fmt::format(", byte {} of '{}', which has {}", address - near->address, near->name,
                             near->bytes.size());
    }
    fail(FaultKind::OutOfBounds, lane, std::move(message));
    return nullptr;
  }
  if (offset % size) {
    fail(FaultKind::Misaligned, lane,
         fmt::format("{} of {} bytes at {} address {:#x}", what, size, window_name(address),
                     offset));
    return nullptr;
  }
  return found;
}

bool Warp::load(const Code& code, uint32_t active) {
  const uint32_t element = static_cast<uint32_t>(isa::width_of(code.decoded->type)) / 8;
  const uint32_t count = code.destination_count;
  for (uint32_t lanes = active; lanes; lanes &= lanes - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(lanes));
    const uint8_t* at = locate(lane, full_address(code, 0, lane), uint64_t{element} * count, false);
    if (!at) return false;
    for (uint32_t i = 0; i < count; ++i)
      write(destination(code, i), lane, load_bytes(at + i * element, element));
  }
  return true;
}

bool Warp::store(const Code& code, uint32_t active) {
  const uint32_t element = static_cast<uint32_t>(isa::width_of(code.decoded->type)) / 8;
  const uint32_t count = static_cast<uint32_t>(code.decoded->vector);  // a cache policy may follow
  for (uint32_t lanes = active; lanes; lanes &= lanes - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(lanes));
    uint8_t* at = locate(lane, full_address(code, 0, lane), uint64_t{element} * count, true);
    if (!at) return false;
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t value = read(source(code, i), lane);
      std::memcpy(at + i * element, &value, element);
    }
  }
  return true;
}

bool Warp::atomic(const Code& code, uint32_t active) {
  const isa::Decoded& d = *code.decoded;
  const uint32_t element = static_cast<uint32_t>(isa::width_of(d.type)) / 8;
  const uint32_t count = static_cast<uint32_t>(d.vector);
  const bool swaps = static_cast<AtomOp>(d.mode) == AtomOp::Cas;
  for (uint32_t lanes = active; lanes; lanes &= lanes - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(lanes));
    uint8_t* at = locate(lane, full_address(code, 0, lane), uint64_t{element} * count, true);
    if (!at) return false;
    std::array<uint64_t, 8> old{};
    for (uint32_t i = 0; i < count; ++i) {
      old[i] = load_bytes(at + i * element, element);
      if (launch_.watch) launch_.watch->atomic(d, old[i], read(source(code, i), lane));
      const uint64_t value =
          combine(d, old[i], read(source(code, i), lane), swaps ? read(source(code, 1), lane) : 0);
      std::memcpy(at + i * element, &value, element);
    }
    for (uint32_t i = 0; i < code.destination_count; ++i) write(destination(code, i), lane, old[i]);
  }
  return true;
}

bool Warp::copy_async(const Code& code, uint32_t active) {
  const bool has_policy = code.decoded->text->has("L2::cache_hint");
  const uint32_t numbers = code.source_count - (has_policy ? 1u : 0u);
  for (uint32_t lanes = active; lanes; lanes &= lanes - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(lanes));
    PendingCopy copy{};
    copy.size = static_cast<uint32_t>(read(source(code, 0), lane));
    copy.bytes = numbers > 1 ? static_cast<uint32_t>(read(source(code, 1), lane)) : copy.size;
    if ((copy.size != 4 && copy.size != 8 && copy.size != 16) || copy.bytes > copy.size)
      return fail(FaultKind::Invalid, lane,
                  fmt::format("a copy of {} of {} bytes", copy.bytes, copy.size));
    copy.to = locate(lane, full_address(code, 0, lane), copy.size, true);
    if (!copy.to) return false;
    const uint64_t from = full_address(code, 1, lane);
    if (from % copy.size)
      return fail(FaultKind::Misaligned, lane,
                  fmt::format("read of {} bytes at global address {:#x}", copy.size, from));
    if (copy.bytes > 0) {
      // Part of the source only: any length, at an address that suits the whole.
      Memory::Allocation* source_memory = launch_.memory.find(from, copy.bytes);
      if (!source_memory) {
        locate(lane, from, copy.size, false);  // reports
        return false;
      }
      copy.from = source_memory->bytes.data() + (from - source_memory->address);
    }
    copies_[lane].open.push_back(copy);
    if (!launch_.options.late_copies) {
      finish(copy);
      copies_[lane].open.clear();
    }
  }
  return true;
}

Cta* Warp::owner(uint64_t address) const {
  const uint64_t rank = (address & kRankMask) >> kRankShift;
  if (rank == 0) return &cta_;
  Cta* const of = cta_.cluster().cta(static_cast<uint32_t>(rank - 1));
  return of && (of == &cta_ || !of->finished()) ? of : nullptr;
}

Mbarrier* Warp::find_mbarrier(uint64_t address, bool is_new, uint32_t lane) {
  if (!locate(lane, address, 8, true)) return nullptr;
  std::map<uint64_t, Mbarrier>& mbarriers = owner(address)->mbarriers();
  const uint64_t place = address & ~kRankMask;
  if (is_new) return &mbarriers[place];
  const auto found = mbarriers.find(place);
  if (found != mbarriers.end()) return &found->second;
  fail(FaultKind::Invalid, lane, "an mbarrier that was not initialised");
  return nullptr;
}

bool Warp::mbarrier(const Code& code, uint32_t active) {
  const ptx::Instruction& text = *code.decoded->text;
  for (uint32_t lanes = active; lanes; lanes &= lanes - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(lanes));
    const uint64_t address = full_address(code, 0, lane);
    Mbarrier* barrier = find_mbarrier(address, code.op == Op::MbarInit, lane);
    if (!barrier) return false;
    const uint64_t number = code.source_count > 0 ? read(source(code, 0), lane) : 1;
    switch (code.op) {
      case Op::MbarInit:
        *barrier = {};
        barrier->expected = barrier->pending = static_cast<uint32_t>(number);
        break;
      case Op::MbarInval:
        owner(address)->mbarriers().erase(address & ~kRankMask);
        break;
      case Op::MbarExpect:
        barrier->bytes += static_cast<int64_t>(number);
        break;
      case Op::MbarWait: {
        const bool complete =
            text.has("parity") ? (barrier->phase & 1) != (number & 1) : number < barrier->phase;
        write(destination(code, 0), lane, complete);
        yields_ |= !complete;
        break;
      }
      default: {
        const bool transfers = text.has("expect_tx");
        const uint64_t count = code.op == Op::CpAsyncMbarArrive || transfers ? 1 : number;
        if (transfers) barrier->bytes += static_cast<int64_t>(number);
        if (text.has("arrive_drop"))
          barrier->expected -= std::min(barrier->expected, static_cast<uint32_t>(count));
        if (code.op == Op::CpAsyncMbarArrive) {
          copies_[lane].groups.push_back(std::move(copies_[lane].open));
          copies_[lane].open.clear();
          complete_copies(lane, 0);
          if (!text.has("noinc")) ++barrier->pending;
        } else {
          write(destination(code, 0), lane, barrier->phase);
        }
        if (count > barrier->pending)
          return fail(FaultKind::Invalid, lane,
                      fmt::format("{} arrivals at an mbarrier that waits for {} more", count,
                                  barrier->pending));
        barrier->pending -= static_cast<uint32_t>(count);
        barrier->complete();
      }
    }
  }
  return true;
}

bool Warp::map_shared(const Code& code, uint32_t active) {
  for (uint32_t lanes = active; lanes; lanes &= lanes - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(lanes));
    const uint64_t address = read(source(code, 0), lane);
    const uint64_t of = (address & kRankMask) >> kRankShift;
    uint64_t result = of ? of - 1 : cta_.rank();
    if (code.op == Op::Mapa) {
      const uint64_t rank = std::min<uint64_t>(read(source(code, 1), lane), 254);
      result = (address & ~kRankMask) | (rank + 1) << kRankShift;
    }
    write(destination(code, 0), lane, result);
  }
  return true;
}

bool Warp::store_async(const Code& code, uint32_t active) {
  const bool blocks = code.op == Op::SharedBulk;  // [d], [s], n, [m]; else [a], b, [m]
  const uint32_t element =
      blocks ? 16 : static_cast<uint32_t>(isa::width_of(code.decoded->type)) / 8;
  for (uint32_t lanes = active; lanes; lanes &= lanes - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(lanes));
    const uint64_t to = full_address(code, 0, lane);
    Mbarrier* barrier = find_mbarrier(full_address(code, blocks ? 2 : 1, lane), false, lane);
    if (!barrier) return false;
    const uint64_t count =
        blocks ? read(source(code, 0), lane) / 16 : static_cast<uint64_t>(code.decoded->vector);
    if (blocks && read(source(code, 0), lane) % 16)
      return fail(FaultKind::Misaligned, lane, "a bulk copy of no multiple of 16 bytes");
    for (uint64_t i = 0; i < count; ++i) {
      uint8_t* into = locate(lane, to + i * element, element, true);
      if (!into) return false;
      if (blocks) {
        const uint8_t* from = locate(lane, full_address(code, 1, lane) + i * 16, 16, false);
        if (!from) return false;
        std::memmove(into, from, 16);
      } else {
        const uint64_t value = read(source(code, static_cast<uint32_t>(i)), lane);
        std::memcpy(into, &value, element);
      }
    }
    barrier->bytes -= static_cast<int64_t>(count * element);
    barrier->complete();
  }
  return true;
}

// All groups but the `keep` latest ones.
void Warp::complete_copies(uint32_t lane, size_t keep) {
  auto& groups = copies_[lane].groups;
  if (groups.size() <= keep) return;
  const auto end = groups.end() - static_cast<std::ptrdiff_t>(keep);
  for (auto group = groups.begin(); group != end; ++group)
    for (const PendingCopy& copy : *group) {
      finish(copy);
    }
  groups.erase(groups.begin(), end);
}

}  // namespace coequal::replay
