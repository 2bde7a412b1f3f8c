// What the lanes of a warp do together: shuffles, votes, reductions, matrices in registers.
#include <bit>
#include <cstring>

#include "isa/semantics.h"
#include "replay/machine.h"

namespace coequal::replay {
namespace {

using isa::Op;

template <class F>
void for_lanes(uint32_t lanes, F f) {
  while (lanes) {
    f(static_cast<uint32_t>(std::countr_zero(lanes)));
    lanes &= lanes - 1;
  }
}

bool is_matrix(Op op) {
  return op == Op::LdMatrix || op == Op::StMatrix || op == Op::MovMatrix || op == Op::Mma ||
         op == Op::WmmaLoad || op == Op::WmmaStore || op == Op::WmmaMma || op == Op::Wgmma ||
         op == Op::WgmmaFence || op == Op::WgmmaCommit || op == Op::WgmmaWait;
}

}  // namespace

// Lanes wait until all living members of their mask are here. A warp barrier may be another one in
// the text.
bool Warp::collective(const Code& code, uint32_t active) {
  const uint32_t pc = group_pc_, depth = group_depth_;
  const uint32_t function = frames_[std::countr_zero(active)].back().function;
  const uint32_t rest = group_ & ~active;
  for (uint32_t lanes = active; lanes; lanes &= lanes - 1) {
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(lanes));
    const uint32_t mask =
        is_matrix(code.op)
            ? ~0u
            : static_cast<uint32_t>(read(source(code, code.source_count - 1u), lane));
    if (!((mask >> lane) & 1))
      return fail(FaultKind::Invalid, lane,
                  fmt::format("lane {} is not in its own member mask {:#x}", lane, mask));
    member_mask_[lane] = mask;
    pc_[lane] = pc;
    set_state(lane, State::Collective);
  }
  group_ = rest;
  ++group_pc_;
  bool all_here = true;
  while (active) {
    const uint32_t mask = member_mask_[static_cast<size_t>(std::countr_zero(active))];
    uint32_t here = 0;
    for_lanes(living_ & mask, [&](uint32_t lane) {
      if (state_[lane] != State::Collective || member_mask_[lane] != mask) return;
      const FunctionCode& code_of = launch_.image.functions[frames_[lane].back().function];
      const bool same =
          depth_[lane] == depth && frames_[lane].back().function == function && pc_[lane] == pc;
      const bool warp_barriers =
          code.op == Op::BarWarpSync && code_of.code[pc_[lane]].op == Op::BarWarpSync;
      if (same || warp_barriers) here |= 1u << lane;
    });
    active &= ~here;
    if ((living_ & mask) != here) {
      all_here = false;
      continue;
    }
    if (!execute_collective(code, here, mask)) return false;
    for_lanes(here, [&](uint32_t lane) {
      ++pc_[lane];
      set_state(lane, State::Running);
    });
  }
  // The usual case: the whole group goes on together.
  if (all_here && rest == 0 && alone_) {
    for_lanes(running_, [&](uint32_t lane) {
      if (pc_[lane] == pc + 1 && depth_[lane] == depth && frames_[lane].back().function == function)
        group_ |= 1u << lane;
    });
    if (group_ == running_) return true;
    group_ = 0;
  }
  return false;
}

bool Warp::execute_collective(const Code& code, uint32_t lanes, uint32_t mask) {
  const isa::Decoded& d = *code.decoded;
  switch (code.op) {
    case Op::BarWarpSync:
      return true;
    case Op::Shfl:
      shuffle(code, lanes);
      return true;
    case Op::LdMatrix:
      return load_matrix(code, lanes);
    case Op::StMatrix:
      return store_matrix(code, lanes);
    case Op::MovMatrix:
      move_matrix(code);
      return true;
    case Op::Mma:
      return multiply_matrices(code, lanes);
    case Op::WmmaLoad:
    case Op::WmmaStore:
      return move_fragment(code, lanes);
    case Op::WmmaMma:
      return multiply_fragments(code, lanes);
    case Op::Wgmma:
    case Op::WgmmaFence:
    case Op::WgmmaCommit:
    case Op::WgmmaWait:
      return wgmma(code, lanes);
    case Op::Elect: {
      const uint32_t leader = static_cast<uint32_t>(std::countr_zero(mask & living_));
      for_lanes(lanes, [&](uint32_t lane) {
        write(destination(code, 0), lane, leader);
        write(destination(code, 1), lane, lane == leader);
      });
      return true;
    }
    case Op::Vote: {
      uint32_t ballot = 0;
      for_lanes(lanes, [&](uint32_t lane) {
        ballot |= static_cast<uint32_t>(read(source(code, 0), lane) & 1) << lane;
      });
      uint64_t result = ballot;
      switch (static_cast<isa::VoteMode>(d.mode)) {
        case isa::VoteMode::All:
          result = ballot == lanes;
          break;
        case isa::VoteMode::Any:
          result = ballot != 0;
          break;
        case isa::VoteMode::Uni:
          result = ballot == 0 || ballot == lanes;
          break;
        case isa::VoteMode::Ballot:
          break;
      }
      for_lanes(lanes, [&](uint32_t lane) { write(destination(code, 0), lane, result); });
      return true;
    }
    case Op::Match: {
      std::array<uint64_t, kWarpSize> values{};
      for_lanes(lanes, [&](uint32_t lane) { values[lane] = read(source(code, 0), lane); });
      std::array<uint32_t, kWarpSize> equal{};
      bool all = true;
      for_lanes(lanes, [&](uint32_t lane) {
        for_lanes(lanes, [&](uint32_t other) {
          if (values[other] == values[lane]) equal[lane] |= 1u << other;
        });
        all = all && equal[lane] == lanes;
      });
      for_lanes(lanes, [&](uint32_t lane) {
        const bool is_all = static_cast<isa::MatchMode>(d.mode) == isa::MatchMode::All;
        write(destination(code, 0), lane, is_all ? (all ? lanes : 0) : equal[lane]);
        if (code.destination_count > 1) write(destination(code, 1), lane, all);
      });
      return true;
    }
    case Op::Redux: {
      bool first = true;
      uint64_t result = 0;
      for_lanes(lanes, [&](uint32_t lane) {
        const uint64_t value = read(source(code, 0), lane);
        if (first) {
          result = value;
          first = false;
          return;
        }
        const bool less = isa::is_signed(d.type)
                              ? isa::sign_extend(value, 32) < isa::sign_extend(result, 32)
                              : value < result;
        switch (static_cast<isa::ReduxOp>(d.mode)) {
          case isa::ReduxOp::Add:
            result = (result + value) & isa::mask_of(32);
            break;
          case isa::ReduxOp::Min:
            result = less ? value : result;
            break;
          case isa::ReduxOp::Max:
            result = less ? result : value;
            break;
          case isa::ReduxOp::And:
            result &= value;
            break;
          case isa::ReduxOp::Or:
            result |= value;
            break;
          case isa::ReduxOp::Xor:
            result ^= value;
            break;
        }
      });
      for_lanes(lanes, [&](uint32_t lane) { write(destination(code, 0), lane, result); });
      return true;
    }
    default:
      return true;
  }
}

// PTX ISA, shfl.sync: the source lane by mode, within a segment that c describes.
void Warp::shuffle(const Code& code, uint32_t lanes) {
  std::array<uint64_t, kWarpSize> values{};
  // A lane that does not take part has an unpredictable value.
  values.fill(uint64_t{0x01010101} * launch_.options.fill);
  std::array<uint32_t, kWarpSize> from{};
  std::array<bool, kWarpSize> in_range{};
  for_lanes(lanes, [&](uint32_t lane) {
    values[lane] = read(source(code, 0), lane);
    const uint32_t b = static_cast<uint32_t>(read(source(code, 1), lane)) & 31;
    const uint32_t c = static_cast<uint32_t>(read(source(code, 2), lane));
    const uint32_t segment = (c >> 8) & 31, clamp = c & 31;
    const uint32_t last = (lane & segment) | (clamp & ~segment & 31), first = lane & segment;
    uint32_t j = 0;
    bool valid = false;
    switch (static_cast<isa::ShflMode>(code.decoded->mode)) {
      case isa::ShflMode::Up:
        j = lane - b;
        valid = static_cast<int32_t>(j) >= static_cast<int32_t>(last);
        break;
      case isa::ShflMode::Down:
        j = lane + b, valid = j <= last;
        break;
      case isa::ShflMode::Bfly:
        j = lane ^ b, valid = j <= last;
        break;
      case isa::ShflMode::Idx:
        j = first | (b & ~segment & 31), valid = j <= last;
        break;
    }
    from[lane] = valid ? j : lane;
    in_range[lane] = valid;
  });
  for_lanes(lanes, [&](uint32_t lane) {
    write(destination(code, 0), lane, values[from[lane] & 31]);
    if (code.destination_count > 1) write(destination(code, 1), lane, in_range[lane]);
  });
}

// Row r of matrix i comes from the address of lane 8 i + r; element pairs go round the lanes: lane
// l holds columns 2 (l % 4) and the next of row l / 4, or the same place of the transposed matrix.
bool Warp::load_matrix(const Code& code, uint32_t lanes) {
  const uint32_t count = static_cast<uint32_t>(code.decoded->vector);
  if (lanes != ~0u)
    return fail(FaultKind::Invalid, static_cast<uint32_t>(std::countr_zero(lanes)),
                "a matrix instruction in part of a warp");
  const bool transposed = code.decoded->text->has("trans");
  std::array<std::array<uint16_t, 64>, 4> matrix{};
  for (uint32_t row = 0; row < 8 * count; ++row) {
    const uint8_t* at = locate(row, full_address(code, 0, row), 16, false);
    if (!at) return false;
    std::memcpy(&matrix[row / 8][row % 8 * 8], at, 16);
  }
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      uint32_t value = 0;
      for (uint32_t k = 0; k < 2; ++k) {
        const uint32_t row = lane / 4, column = 2 * (lane % 4) + k;
        value |= uint32_t{matrix[i][transposed ? column * 8 + row : row * 8 + column]} << (16 * k);
      }
      write(destination(code, i), lane, value);
    }
  return true;
}

bool Warp::store_matrix(const Code& code, uint32_t lanes) {
  const uint32_t count = static_cast<uint32_t>(code.decoded->vector);
  if (lanes != ~0u)
    return fail(FaultKind::Invalid, static_cast<uint32_t>(std::countr_zero(lanes)),
                "a matrix instruction in part of a warp");
  const bool transposed = code.decoded->text->has("trans");
  for (uint32_t i = 0; i < count; ++i) {
    std::array<uint16_t, 64> matrix{};
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      const uint64_t value = read(source(code, i), lane);
      for (uint32_t k = 0; k < 2; ++k) {
        const uint32_t row = lane / 4, column = 2 * (lane % 4) + k;
        matrix[transposed ? column * 8 + row : row * 8 + column] =
            static_cast<uint16_t>(value >> (16 * k));
      }
    }
    for (uint32_t row = 0; row < 8; ++row) {
      uint8_t* at = locate(8 * i + row, full_address(code, 0, 8 * i + row), 16, true);
      if (!at) return false;
      std::memcpy(at, &matrix[row * 8], 16);
    }
  }
  return true;
}

// movmatrix: an 8 x 8 matrix of 16-bit elements, transposed.
void Warp::move_matrix(const Code& code) {
  std::array<uint64_t, kWarpSize> values{};
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) values[lane] = read(source(code, 0), lane);
  const auto element = [&](uint32_t row, uint32_t column) {
    return (values[row * 4 + column / 2] >> (16 * (column % 2))) & 0xffff;
  };
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const uint32_t row = lane / 4, column = 2 * (lane % 4);
    write(destination(code, 0), lane, element(column, row) | (element(column + 1, row) << 16));
  }
}

}  // namespace coequal::replay
