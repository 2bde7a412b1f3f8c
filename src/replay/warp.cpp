// Warps: choice of the lanes that run, control flow, arithmetic, barriers.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "replay/machine.h"

namespace coequal::replay {
namespace {

using isa::Op;

// Calls `f` for every set bit.
template <class F>
void for_lanes(uint32_t lanes, F f) {
  while (lanes) {
    f(static_cast<uint32_t>(std::countr_zero(lanes)));
    lanes &= lanes - 1;
  }
}

uint64_t fill_pattern(uint8_t fill) { return uint64_t{0x0101010101010101} * fill; }

constexpr uint32_t kMaxDepth = 256;
constexpr size_t kMaxRegisterParams = 64;

}  // namespace

Warp::Warp(LaunchState& launch, Cta& cta, uint32_t index, uint32_t lanes)
    : launch_(launch), cta_(cta), index_(index) {
  living_ = running_ = lanes == kWarpSize ? ~0u : (1u << lanes) - 1;
  state_.fill(State::Exited);
  const FunctionCode& kernel = launch.image.functions[launch.image.kernel];
  levels_.push_back(std::make_unique<uint64_t[]>(size_t{launch.max_registers} * kWarpSize));
  const uint64_t pattern = fill_pattern(launch.options.fill);
  for (uint32_t r = 0; r < kernel.register_count; ++r)
    std::fill_n(&levels_[0][size_t{r} * kWarpSize], kWarpSize, pattern & kernel.register_masks[r]);
  const Dim3& block = launch.config.block;
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    const uint32_t thread = index * kWarpSize + lane;
    tid_[lane] = {thread % block.x, thread / block.x % block.y, thread / block.x / block.y};
    state_[lane] = State::Running;
    frames_[lane].push_back({launch.image.kernel, 0, 0});
    local_[lane].assign(kernel.frame_size, launch.options.fill);
  }
}

bool Warp::fail(FaultKind kind, uint32_t lane, std::string message) {
  const auto& body = function_->function->body;
  SourceSpan span;
  if (group_pc_ < body.size()) span = launch_.module.span_of(body[group_pc_]);
  launch_.fault = Fault{kind, std::move(message), std::move(span), cta_.ctaid(), tid_[lane]};
  return false;
}

Fault Warp::waiting_fault(const std::string& what) const {
  return fault_at(static_cast<uint32_t>(std::countr_zero(waiting_lanes())), what);
}

Fault Warp::fault_at(uint32_t lane, std::string what) const {
  const ptx::Function& function = *launch_.image.functions[frames_[lane].back().function].function;
  // Barriers have been passed when a lane waits at them.
  const bool passed = state_[lane] == State::Barrier || state_[lane] == State::Cluster;
  const uint32_t pc = passed ? pc_[lane] - 1 : pc_[lane];
  return {FaultKind::Deadlock, std::move(what), launch_.module.span_of(function.body[pc]),
          cta_.ctaid(), tid_[lane]};
}

uint32_t Warp::misplaced(uint32_t lanes) const {
  if (!lanes) return kWarpSize;
  const auto code = [&](uint32_t lane) {
    return &launch_.image.functions[frames_[lane].back().function].code[pc_[lane] - 1];
  };
  const Code* first = code(static_cast<uint32_t>(std::countr_zero(lanes)));
  uint32_t found = kWarpSize;
  for_lanes(lanes, [&](uint32_t lane) {
    const Code* other = code(lane);
    if (found == kWarpSize && other != first &&
        (first->decoded->aligned || other->decoded->aligned))
      found = lane;
  });
  return found;
}

void Warp::set_state(uint32_t lane, State state) {
  state_[lane] = state;
  const uint32_t bit = 1u << lane;
  running_ = state == State::Running ? running_ | bit : running_ & ~bit;
}

void Warp::store_pcs() {
  for_lanes(group_, [&](uint32_t lane) { pc_[lane] = group_pc_; });
  group_ = 0;
}

// Deepest calls first, then the least program counter; now and then any lane, so that lanes that
// spin cannot keep those back for which they wait.
bool Warp::select() {
  if (!running_) return false;
  const RunOptions& options = launch_.options;
  const bool any = std::exchange(yields_, false) || ++selections_ % 64 == 0 ||
                   (options.order == Order::Random && options.lanes_apart);
  uint32_t chosen = kWarpSize;
  if (any) {
    uint32_t skip = static_cast<uint32_t>(launch_.next_random() %
                                          static_cast<uint64_t>(std::popcount(running_)));
    for_lanes(running_, [&](uint32_t lane) {
      if (skip-- == 0) chosen = lane;
    });
  } else if (options.lanes_apart) {
    chosen =
        static_cast<uint32_t>(options.order == Order::Backward ? 31 - std::countl_zero(running_)
                                                               : std::countr_zero(running_));
  } else {
    for_lanes(running_, [&](uint32_t lane) {
      if (chosen == kWarpSize) {
        chosen = lane;
        return;
      }
      const uint32_t f = frames_[lane].back().function, g = frames_[chosen].back().function;
      if (depth_[lane] != depth_[chosen] ? depth_[lane] > depth_[chosen]
          : f != g                       ? f < g
                                         : pc_[lane] < pc_[chosen])
        chosen = lane;
    });
  }
  group_pc_ = pc_[chosen];
  group_depth_ = depth_[chosen];
  const uint32_t function = frames_[chosen].back().function;
  function_ = &launch_.image.functions[function];
  registers_ = levels_[group_depth_].get();
  group_ = 1u << chosen;
  merge_pc_ = kNoPc;
  if (!options.lanes_apart)
    for_lanes(running_, [&](uint32_t lane) {
      if (depth_[lane] != group_depth_ || frames_[lane].back().function != function) return;
      if (pc_[lane] == group_pc_) {
        group_ |= 1u << lane;
      } else if (pc_[lane] > group_pc_) {
        merge_pc_ = std::min(merge_pc_, pc_[lane]);
      }
    });
  alone_ = group_ == running_;
  return true;
}

Warp::Status Warp::run(uint64_t limit) {
  while (limit > 0) {
    if (!select()) break;
    while (limit > 0) {
      --limit;
      if (launch_.steps >= launch_.next_check) {
        launch_.next_check = launch_.steps + (1 << 22);
        if (launch_.steps >= launch_.options.step_limit) {
          fail(FaultKind::StepLimit, static_cast<uint32_t>(std::countr_zero(group_)),
               fmt::format("more than {} instructions", launch_.options.step_limit));
          return Status::Fault;
        }
        if (launch_.budget.spent()) {
          fail(FaultKind::BudgetSpent, static_cast<uint32_t>(std::countr_zero(group_)),
               "out of time");
          return Status::Fault;
        }
      }
      if (group_pc_ >= function_->code.size()) {
        leave(group_);
        break;
      }
      const Code& code = function_->code[group_pc_];
      uint32_t active = group_;
      if (code.guarded) {
        const uint64_t* guard = registers_ + size_t{code.guard} * kWarpSize;
        uint32_t set = 0;
        for_lanes(group_,
                  [&](uint32_t lane) { set |= static_cast<uint32_t>(guard[lane] & 1) << lane; });
        active = code.guard_negated ? group_ & ~set : set;
      }
      launch_.steps += static_cast<uint64_t>(std::popcount(group_));
      if (active == 0) {
        ++group_pc_;
      } else if (!step(code, active)) {
        break;
      }
      if (group_pc_ >= merge_pc_) break;
    }
    if (launch_.fault) return Status::Fault;
    store_pcs();
  }
  if (launch_.fault) return Status::Fault;
  if (finished()) return Status::Finished;
  return running_ ? Status::Paused : Status::Blocked;
}

const Source& Warp::source(const Code& code, uint32_t i) const {
  DCHECK(i < code.source_count);
  return function_->sources[code.sources + i];
}
const Destination& Warp::destination(const Code& code, uint32_t i) const {
  DCHECK(i < code.destination_count);
  return function_->destinations[code.destinations + i];
}

uint64_t Warp::read(const Source& source, uint32_t lane) const {
  uint64_t value = source.value;
  switch (source.kind) {
    case Source::Kind::Register:
      value = registers_[size_t{source.index} * kWarpSize + lane];
      break;
    case Source::Kind::Immediate:
      break;
    case Source::Kind::Special:
      value = special(static_cast<SpecialRegister>(source.index), lane);
      break;
    case Source::Kind::Frame:
      value += frames_[lane].back().base;
      break;
  }
  if (source.negated) value ^= 1;
  return value & source.mask;
}

void Warp::write(const Destination& destination, uint32_t lane, uint64_t value) {
  if (destination.sink) return;
  if (destination.sign_from) {
    const int shift = 64 - destination.sign_from;
    value = static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
  }
  registers_[size_t{destination.reg} * kWarpSize + lane] = value & destination.mask;
}

uint64_t Warp::special(SpecialRegister special, uint32_t lane) const {
  using S = SpecialRegister;
  const LaunchConfig& config = launch_.config;
  switch (special) {
    case S::TidX:
      return tid_[lane].x;
    case S::TidY:
      return tid_[lane].y;
    case S::TidZ:
      return tid_[lane].z;
    case S::NtidX:
      return config.block.x;
    case S::NtidY:
      return config.block.y;
    case S::NtidZ:
      return config.block.z;
    case S::CtaidX:
      return cta_.ctaid().x;
    case S::CtaidY:
      return cta_.ctaid().y;
    case S::CtaidZ:
      return cta_.ctaid().z;
    case S::NctaidX:
      return config.grid.x;
    case S::NctaidY:
      return config.grid.y;
    case S::NctaidZ:
      return config.grid.z;
    case S::ClusteridX:
      return cta_.ctaid().x / config.cluster.x;
    case S::ClusteridY:
      return cta_.ctaid().y / config.cluster.y;
    case S::ClusteridZ:
      return cta_.ctaid().z / config.cluster.z;
    case S::NclusteridX:
      return config.grid.x / config.cluster.x;
    case S::NclusteridY:
      return config.grid.y / config.cluster.y;
    case S::NclusteridZ:
      return config.grid.z / config.cluster.z;
    case S::Envreg1:
      return config.workspace >> 32;
    case S::Envreg2:
      return config.workspace & 0xffffffff;
    case S::ClusterCtaidX:
      return cta_.ctaid().x % config.cluster.x;
    case S::ClusterCtaidY:
      return cta_.ctaid().y % config.cluster.y;
    case S::ClusterCtaidZ:
      return cta_.ctaid().z % config.cluster.z;
    case S::ClusterCtarank:
      return cta_.rank();
    case S::ClusterNctaidX:
      return config.cluster.x;
    case S::ClusterNctaidY:
      return config.cluster.y;
    case S::ClusterNctaidZ:
      return config.cluster.z;
    case S::ClusterNctarank:
      return config.cluster.count();
    case S::IsExplicitCluster:
      return config.explicit_cluster;
    case S::Laneid:
      return lane;
    case S::Warpid:
      return index_;
    case S::Nwarpid:
      return cta_.warp_count();
    case S::LanemaskEq:
      return uint64_t{1} << lane;
    case S::LanemaskLe:
      return (uint64_t{2} << lane) - 1;
    case S::LanemaskLt:
      return (uint64_t{1} << lane) - 1;
    case S::LanemaskGe:
      return ~((uint64_t{1} << lane) - 1) & 0xffffffff;
    case S::LanemaskGt:
      return ~((uint64_t{2} << lane) - 1) & 0xffffffff;
    case S::Clock:
      return launch_.steps;
    case S::DynamicSharedSize:
      return config.shared_bytes;
    case S::TotalSharedSize:
      return cta_.shared().size();
    case S::Zero:
      return 0;
  }
  return 0;
}

bool Warp::step(const Code& code, uint32_t active) {
  if (code.refusal >= 0)
    return fail(FaultKind::Refused, static_cast<uint32_t>(std::countr_zero(active)),
                function_->refusals[static_cast<size_t>(code.refusal)]);
  switch (code.op) {
    case Op::Pure:
    case Op::Mov:
      pure(code, active);
      break;
    case Op::Cvta: {
      const ptx::StateSpace space = code.decoded->space;
      uint64_t window = 0;
      if (space == ptx::StateSpace::Shared) window = kSharedWindow;
      if (space == ptx::StateSpace::Local) window = kLocalWindow;
      if (space == ptx::StateSpace::Param) window = kParamWindow;
      if (code.decoded->to_space) window = uint64_t{0} - window;
      for_lanes(active, [&](uint32_t lane) {
        write(destination(code, 0), lane, read(source(code, 0), lane) + window);
      });
      break;
    }
    case Op::Isspacep:
      for_lanes(active, [&](uint32_t lane) {
        const uint64_t address = read(source(code, 0), lane), window = address & kWindowMask;
        bool inside = false;
        switch (code.decoded->space) {
          case ptx::StateSpace::Shared:
            inside = window == kSharedWindow &&
                     (code.decoded->text->has("shared::cluster") || (address & kRankMask) == 0);
            break;
          case ptx::StateSpace::Local:
            inside = window == kLocalWindow;
            break;
          case ptx::StateSpace::Param:
            inside = window == kParamWindow;
            break;
          case ptx::StateSpace::Global:
            inside = window == 0;
            break;
          default:
            break;
        }
        write(destination(code, 0), lane, inside);
      });
      break;
    case Op::Ld:
      if (!load(code, active)) return false;
      break;
    case Op::St:
      if (!store(code, active)) return false;
      break;
    case Op::Atom:
    case Op::Red:
      if (!atomic(code, active)) return false;
      break;
    case Op::CpAsync:
      if (!copy_async(code, active)) return false;
      break;
    case Op::CpAsyncCommit:
      for_lanes(active, [&](uint32_t lane) {
        copies_[lane].groups.push_back(std::move(copies_[lane].open));
        copies_[lane].open.clear();
      });
      break;
    case Op::CpAsyncWaitGroup:
      for_lanes(active, [&](uint32_t lane) { complete_copies(lane, read(source(code, 0), lane)); });
      break;
    case Op::CpAsyncWaitAll:
      for_lanes(active, [&](uint32_t lane) {
        copies_[lane].groups.push_back(std::move(copies_[lane].open));
        copies_[lane].open.clear();
        complete_copies(lane, 0);
      });
      break;
    case Op::Bra:
      return branch(code, active);
    case Op::BrxIdx:
      return branch_indexed(code, active);
    case Op::Call:
      return call(active);
    case Op::Ret:
      return leave(active);
    case Op::Exit:
      exit_lanes(active);
      ++group_pc_;
      return false;
    case Op::Trap:
      return fail(FaultKind::Trap, static_cast<uint32_t>(std::countr_zero(active)),
                  code.decoded->text->opcode);
    case Op::CpAsyncBulk:
    case Op::BulkStore:
    case Op::BulkReduce:
    case Op::TensorLoad:
    case Op::TensorStore:
    case Op::TensorReduce:
      if (!copy_bulk(code, active)) return false;
      break;
    case Op::SharedBulk:
    case Op::StAsync:
      if (!store_async(code, active)) return false;
      break;
    case Op::Mapa:
    case Op::GetCtaRank:
      map_shared(code, active);
      break;
    case Op::ClusterArrive:
    case Op::ClusterWait:
      return cluster_barrier(code, active);
    case Op::BulkCommit:
    case Op::BulkWait:
      if (!commit_bulk(code, active)) return false;
      break;
    case Op::MbarInit:
    case Op::MbarInval:
    case Op::MbarArrive:
    case Op::MbarExpect:
    case Op::MbarWait:
    case Op::CpAsyncMbarArrive:
      if (!mbarrier(code, active)) return false;
      if (!yields_) break;
      ++group_pc_;
      return false;
    case Op::BarSync:
    case Op::BarArrive:
    case Op::BarRed:
      return barrier(code, active);
    case Op::Activemask:
      for_lanes(active, [&](uint32_t lane) { write(destination(code, 0), lane, active); });
      break;
    case Op::BarWarpSync:
    case Op::Shfl:
    case Op::Vote:
    case Op::Match:
    case Op::Redux:
    case Op::Elect:
    case Op::LdMatrix:
    case Op::StMatrix:
    case Op::MovMatrix:
    case Op::Mma:
    case Op::WmmaLoad:
    case Op::WmmaStore:
    case Op::WmmaMma:
    case Op::Wgmma:
    case Op::WgmmaFence:
    case Op::WgmmaCommit:
    case Op::WgmmaWait:
      return collective(code, active);
    case Op::Prefetch:
    case Op::SetMaxNReg:
    case Op::Fence:
    case Op::Nop:
      break;
    default:
      return fail(FaultKind::Refused, static_cast<uint32_t>(std::countr_zero(active)),
                  "instruction '" + code.decoded->text->spelling() + "' is not modelled");
  }
  ++group_pc_;
  return true;
}

void Warp::pure(const Code& code, uint32_t active) {
  constexpr uint32_t kMaxOperands = 8;
  const isa::Decoded& d = *code.decoded;
  const uint32_t sources = code.source_count, destinations = code.destination_count;
  CHECK(sources <= kMaxOperands && destinations <= kMaxOperands);
  const Source* first = function_->sources.data() + code.sources;
  const Destination* to = function_->destinations.data() + code.destinations;
  // Operands as columns of lanes: registers in place, constants as a column of stride 0, the rest
  // written out.
  struct Column {
    const uint64_t* values;
    uint32_t stride;
    uint64_t mask, flip;
  };
  Column columns[kMaxOperands];
  uint64_t written[kMaxOperands][kWarpSize];
  for (uint32_t i = 0; i < sources; ++i) {
    const Source& source = first[i];
    if (source.kind == Source::Kind::Register) {
      columns[i] = {registers_ + size_t{source.index} * kWarpSize, 1, source.mask, source.negated};
    } else if (source.kind == Source::Kind::Immediate) {
      columns[i] = {&source.value, 0, source.mask, source.negated};
    } else {
      for_lanes(active, [&](uint32_t lane) { written[i][lane] = read(source, lane); });
      columns[i] = {written[i], 1, source.mask, 0};
    }
  }
  const auto value = [&](uint32_t i, uint32_t lane) {
    const Column& c = columns[i];
    return (c.values[c.stride * lane] ^ c.flip) & c.mask;
  };
  // One value from place to place is most of what kernels do besides arithmetic.
  if (code.op == Op::Mov && sources == 1 && destinations == 1) {
    for_lanes(active, [&](uint32_t lane) { write(*to, lane, value(0, lane)); });
    return;
  }
  uint64_t in[kMaxOperands], out[kMaxOperands];
  const isa::ConcFn conc = d.conc;
  for_lanes(active, [&](uint32_t lane) {
    for (uint32_t i = 0; i < sources; ++i) in[i] = value(i, lane);
    conc(d, in, out);
    if (launch_.watch) launch_.watch->pure(d, in, out);
    for (uint32_t i = 0; i < destinations; ++i) write(to[i], lane, out[i]);
  });
}

bool Warp::branch(const Code& code, uint32_t active) {
  const bool backward = code.target <= group_pc_;
  if (active == group_) {
    group_pc_ = code.target;
    return alone_ || (!backward && code.target < merge_pc_);
  }
  const uint32_t rest = group_ & ~active;
  for_lanes(active, [&](uint32_t lane) { pc_[lane] = code.target; });
  group_ = rest;
  ++group_pc_;
  return false;
}

bool Warp::branch_indexed(const Code& code, uint32_t active) {
  const std::vector<uint32_t>& targets = function_->branch_targets.at(group_pc_);
  const uint32_t rest = group_ & ~active;
  bool ok = true;
  for_lanes(active, [&](uint32_t lane) {
    const uint64_t index = read(source(code, 0), lane);
    if (index >= targets.size()) {
      if (ok)
        ok = fail(FaultKind::Invalid, lane,
                  fmt::format("branch index {} of {} targets", index, targets.size()));
      return;
    }
    pc_[lane] = targets[index];
  });
  if (!ok) return false;
  group_ = rest;
  ++group_pc_;
  return false;
}

bool Warp::call(uint32_t active) {
  const CallSite& site = function_->calls.at(group_pc_);
  const uint32_t rest = group_ & ~active;
  const uint32_t pc = group_pc_;
  for (uint32_t lanes = active; lanes; lanes &= lanes - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(lanes));
    pc_[lane] = pc + 1;
    if (!call_one(site, lane)) return false;
  }
  group_ = rest;
  ++group_pc_;
  return false;
}

bool Warp::call_one(const CallSite& site, uint32_t lane) {
  uint64_t index = site.function;
  if (site.indirect) {
    const uint64_t address = read(site.callee, lane);
    index = (address - kCodeWindow) / 16;
    if (address < kCodeWindow || address % 16 || index >= launch_.module.functions.size())
      return fail(FaultKind::Invalid, lane,
                  fmt::format("call of {:#x}, which is no function", address));
  }
  const FunctionCode& callee = launch_.image.functions[index];
  const ptx::Function& function = launch_.module.functions[index];
  if (function.is_declaration) {
    if (function.name == "__assertfail")
      return fail(FaultKind::Trap, lane, "a device assertion fails");
    if (function.name != "vprintf")
      return fail(FaultKind::Refused, lane, "call of '" + function.name + "', which has no body");
    // Nothing is printed; the count of arguments is not looked at by anyone.
    for (const CallSite::Slot& slot : site.results)
      if (slot.kind == CallSite::Slot::Kind::Frame)
        std::memset(local_[lane].data() + frames_[lane].back().base + slot.frame_offset, 0,
                    slot.size);
    return true;
  }
  if (depth_[lane] + 1 >= kMaxDepth)
    return fail(FaultKind::Invalid, lane, "calls are nested too deeply");
  if (!callee.function || callee.param_at.size() != site.arguments.size())
    return fail(FaultKind::Invalid, lane, "call of '" + function.name + "' with other parameters");
  if (site.arguments.size() > kMaxRegisterParams)
    return fail(FaultKind::Refused, lane, "calls with that many parameters are not modelled");
  std::vector<uint8_t>& stack = local_[lane];
  const uint64_t caller_base = frames_[lane].back().base, base = stack.size();
  stack.resize(base + callee.frame_size, launch_.options.fill);
  uint64_t values[kMaxRegisterParams] = {};
  for (size_t i = 0; i < site.arguments.size(); ++i) {
    const CallSite::Slot& slot = site.arguments[i];
    if (callee.param_register[i] != FunctionCode::kNoRegister) {
      if (slot.kind == CallSite::Slot::Kind::Value) {
        values[i] = read(slot.source, lane);
      } else if (slot.kind == CallSite::Slot::Kind::Frame) {
        std::memcpy(&values[i], stack.data() + caller_base + slot.frame_offset,
                    std::min<uint64_t>(slot.size, 8));
      }
      continue;
    }
    uint8_t* to = stack.data() + base + callee.param_at[i];
    const uint64_t size = std::min(slot.size, function.params[i].size);
    if (slot.kind == CallSite::Slot::Kind::Value) {
      const uint64_t value = read(slot.source, lane);
      std::memcpy(to, &value, std::min<uint64_t>(function.params[i].size, 8));
    } else if (slot.kind == CallSite::Slot::Kind::Frame) {
      std::memcpy(to, stack.data() + caller_base + slot.frame_offset, size);
    }
  }
  const uint32_t depth = ++depth_[lane];
  if (levels_.size() <= depth)
    levels_.push_back(std::make_unique<uint64_t[]>(size_t{launch_.max_registers} * kWarpSize));
  const uint64_t pattern = fill_pattern(launch_.options.fill);
  for (uint32_t r = 0; r < callee.register_count; ++r)
    levels_[depth][size_t{r} * kWarpSize + lane] = pattern & callee.register_masks[r];
  for (size_t i = 0; i < site.arguments.size(); ++i)
    if (const uint32_t r = callee.param_register[i]; r != FunctionCode::kNoRegister)
      levels_[depth][size_t{r} * kWarpSize + lane] = values[i] & callee.register_masks[r];
  frames_[lane].push_back({static_cast<uint32_t>(index), pc_[lane], base});
  pc_[lane] = 0;
  return true;
}

// ret, or the end of the body.
bool Warp::leave(uint32_t active) {
  if (group_depth_ == 0) {
    exit_lanes(active);
    ++group_pc_;
    return false;
  }
  const uint32_t rest = group_ & ~active;
  for_lanes(active, [&](uint32_t lane) {
    const Frame frame = frames_[lane].back();
    frames_[lane].pop_back();
    const Frame& caller = frames_[lane].back();
    const FunctionCode& from = launch_.image.functions[frame.function];
    const FunctionCode& to = launch_.image.functions[caller.function];
    const CallSite& site = to.calls.at(frame.return_pc - 1);
    std::vector<uint8_t>& stack = local_[lane];
    --depth_[lane];
    for (size_t i = 0; i < site.results.size() && i < from.return_at.size(); ++i) {
      const CallSite::Slot& slot = site.results[i];
      const uint8_t* value = stack.data() + frame.base + from.return_at[i];
      uint64_t in_register = 0;
      if (const uint32_t r = from.return_register[i]; r != FunctionCode::kNoRegister) {
        in_register = levels_[depth_[lane] + 1][size_t{r} * kWarpSize + lane];
        value = reinterpret_cast<const uint8_t*>(&in_register);
      }
      if (slot.kind == CallSite::Slot::Kind::Frame) {
        std::memcpy(stack.data() + caller.base + slot.frame_offset, value,
                    std::min(slot.size, from.function->returns[i].size));
      } else if (slot.kind == CallSite::Slot::Kind::Value) {
        uint64_t bits = 0;
        std::memcpy(&bits, value, std::min<uint64_t>(from.function->returns[i].size, 8));
        levels_[depth_[lane]][size_t{slot.destination.reg} * kWarpSize + lane] =
            bits & slot.destination.mask;
      }
    }
    stack.resize(frame.base);
    pc_[lane] = frame.return_pc;
  });
  group_ = rest;
  ++group_pc_;
  return false;
}

void Warp::exit_lanes(uint32_t lanes) {
  // Bulk copies that nobody has waited for happen all the same.
  for_lanes(lanes, [&](uint32_t lane) {
    copies_[lane].bulk_groups.push_back(std::move(copies_[lane].open_bulk));
    copies_[lane].open_bulk.clear();
    finish_bulk(lane, 0);
  });
  for_lanes(lanes, [&](uint32_t lane) { set_state(lane, State::Exited); });
  living_ &= ~lanes;
  group_ &= ~lanes;
  at_cluster_ &= ~lanes;
  // Those who wait for these lanes look again.
  for_lanes(living_, [&](uint32_t lane) {
    if (state_[lane] == State::Collective) set_state(lane, State::Running);
  });
  cta_.open_barriers();
  cta_.cluster().open_barrier();
}

bool Warp::cluster_barrier(const Code& code, uint32_t active) {
  const bool waits = code.op == Op::ClusterWait;
  const uint32_t wrong = waits ? active & ~to_wait_ : active & to_wait_;
  if (wrong)
    return fail(FaultKind::Invalid, static_cast<uint32_t>(std::countr_zero(wrong)),
                waits ? "a wait at the cluster's barrier without an arrival"
                      : "a second arrival at the cluster's barrier without a wait");
  const uint32_t rest = group_ & ~active;
  for_lanes(active, [&](uint32_t lane) {
    pc_[lane] = group_pc_ + 1;
    if (waits && at_cluster_ >> lane & 1) set_state(lane, State::Cluster);
  });
  if (waits) {
    to_wait_ &= ~active;
  } else {
    at_cluster_ |= active;
    to_wait_ |= active;
  }
  group_ = rest;
  ++group_pc_;
  cta_.cluster().open_barrier();
  return false;
}

void Warp::open_cluster_barrier() {
  at_cluster_ = 0;
  for_lanes(living_, [&](uint32_t lane) {
    if (state_[lane] == State::Cluster) set_state(lane, State::Running);
  });
}

bool Warp::barrier(const Code& code, uint32_t active) {
  const bool waits = code.op != Op::BarArrive;
  const bool reduces = code.op == Op::BarRed;
  const uint32_t numbers = code.source_count - (reduces ? 1 : 0);
  const uint32_t rest = group_ & ~active;
  for (uint32_t lanes = active; lanes; lanes &= lanes - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(lanes));
    const uint64_t id = read(source(code, 0), lane);
    const uint64_t count = numbers > 1 ? read(source(code, 1), lane) : 0;
    if (id > 15) return fail(FaultKind::Invalid, lane, fmt::format("barrier {} of 16", id));
    if (count % kWarpSize)
      return fail(FaultKind::Invalid, lane,
                  fmt::format("a barrier for {} threads, no multiple of 32", count));
    const bool predicate = reduces && read(source(code, code.source_count - 1u), lane);
    pc_[lane] = group_pc_ + 1;
    if (waits) set_state(lane, State::Barrier);
    cta_.arrive(static_cast<uint32_t>(id), static_cast<uint32_t>(count), index_, lane, waits,
                predicate);
  }
  group_ = rest;
  ++group_pc_;
  cta_.open_barriers();
  return false;
}

void Warp::release(uint32_t lanes, uint32_t popc, bool all, bool any) {
  for_lanes(lanes, [&](uint32_t lane) {
    set_state(lane, State::Running);
    const FunctionCode& function = launch_.image.functions[frames_[lane].back().function];
    const Code& code = function.code[pc_[lane] - 1];
    if (code.op != Op::BarRed) return;
    uint64_t result = popc;
    switch (static_cast<isa::BarRedOp>(code.decoded->mode)) {
      case isa::BarRedOp::Popc:
        break;
      case isa::BarRedOp::And:
        result = all;
        break;
      case isa::BarRedOp::Or:
        result = any;
        break;
    }
    const Destination& to = function.destinations[code.destinations];
    if (!to.sink) levels_[depth_[lane]][size_t{to.reg} * kWarpSize + lane] = result & to.mask;
  });
}

}  // namespace coequal::replay
