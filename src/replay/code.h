// Functions compiled to compact instructions: operands resolved to registers, constants, frame
// offsets.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isa/inst_row.h"
#include "replay/memory.h"

namespace coequal::replay {

// Windows of the generic address space. Global and constant addresses stand for themselves.
inline constexpr uint64_t kSharedWindow = uint64_t{1} << 56;
inline constexpr uint64_t kLocalWindow = uint64_t{2} << 56;
inline constexpr uint64_t kParamWindow = uint64_t{3} << 56;
inline constexpr uint64_t kCodeWindow = uint64_t{4} << 56;
// Shared memory of a CTA of the cluster by its rank, as mapa makes it: one more than the rank
// stands here. A CTA's own addresses have zeros.
inline constexpr int kRankShift = 24;
inline constexpr uint64_t kRankMask = uint64_t{0xff} << kRankShift;
inline constexpr uint64_t kWindowMask = uint64_t{0xff} << 56;

enum class SpecialRegister : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  ClusteridX,
  ClusteridY,
  ClusteridZ,
  NclusteridX,
  NclusteridY,
  NclusteridZ,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtarank,
  ClusterNctarank,
  IsExplicitCluster,
  Envreg1,
  Envreg2,
  Laneid,
  Warpid,
  Nwarpid,
  LanemaskEq,
  LanemaskLe,
  LanemaskLt,
  LanemaskGe,
  LanemaskGt,
  Clock,
  DynamicSharedSize,
  TotalSharedSize,
  Zero,
};

struct Source {
  enum class Kind : uint8_t {
    Register,   // index
    Immediate,  // value
    Special,    // index: SpecialRegister
    Frame,      // value: offset in the thread's frame; read as a local address
  };
  Kind kind = Kind::Immediate;
  bool negated = false;
  uint32_t index = 0;
  uint64_t value = 0;
  uint64_t mask = ~uint64_t{0};  // of the bits that the instruction reads
};

struct Destination {
  uint32_t reg = 0;
  bool sink = false;
  uint8_t sign_from = 0;         // width to sign-extend from; 0: none
  uint64_t mask = ~uint64_t{0};  // of the register's bits
};

struct Address {
  Source base;
  int64_t offset = 0;
  uint64_t window = 0;  // added to an address in its own space
};

struct Code {
  const isa::Decoded* decoded = nullptr;
  isa::Op op = isa::Op::Nop;
  bool guarded = false, guard_negated = false;
  uint8_t source_count = 0, destination_count = 0, address_count = 0;
  uint32_t guard = 0;
  uint32_t sources = 0, destinations = 0, addresses = 0;  // first, in the function's pools
  uint32_t target = 0;                                    // of bra
  int32_t refusal = -1;  // index of a message: reaching it is a fault
};

// One call: a slot an argument and a result, in the order of the callee's declaration.
struct CallSite {
  struct Slot {
    enum class Kind : uint8_t { Frame, Value, Sink };
    Kind kind = Kind::Frame;
    uint64_t frame_offset = 0;  // Frame: a variable of the caller
    uint64_t size = 0;
    Source source;            // Value: an argument in a register, or a constant
    Destination destination;  // Value: a result in a register
  };
  std::vector<Slot> arguments, results;
  bool indirect = false;
  Source callee;          // indirect: the address
  uint32_t function = 0;  // direct
};

struct FunctionCode {
  const ptx::Function* function = nullptr;
  isa::DecodedFunction decoded;
  std::vector<Code> code;  // parallel to the body
  std::vector<Source> sources;
  std::vector<Destination> destinations;
  std::vector<Address> addresses;
  std::map<uint32_t, CallSite> calls;                        // by instruction
  std::map<uint32_t, std::vector<uint32_t>> branch_targets;  // brx.idx, by instruction
  std::vector<std::string> refusals;
  // Of a kernel, offsets in its parameters; else in the frame.
  std::vector<uint64_t> param_at, return_at;
  // Of a function, those that are registers instead; kNoRegister for the others.
  static constexpr uint32_t kNoRegister = ~0u;
  std::vector<uint32_t> param_register, return_register;
  uint32_t register_count = 0;  // with the condition code as the last one
  std::vector<uint64_t> register_masks;
  uint64_t frame_size = 0;
};

// A kernel with every function it may reach.
struct Image {
  std::vector<FunctionCode>
      functions;  // by Module::functions index; those not reached have no code
  uint32_t kernel = 0;
  uint64_t static_shared = 0;  // bytes, with padding up to the dynamic part
};

Image compile(const ptx::Module& module, const ptx::Function& kernel,
              const std::map<std::string, uint64_t>& globals);

}  // namespace coequal::replay
