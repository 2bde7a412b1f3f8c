// Runs PTX kernels on byte buffers with IEEE arithmetic: the concrete witness of the symbolic
// executor, from which it shares only the instruction table.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/budget.h"
#include "base/result.h"
#include "base/source_span.h"
#include "ptx/module.h"
#include "replay/float_watch.h"
#include "replay/memory.h"

namespace coequal::replay {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

struct LaunchConfig {
  Dim3 grid, block, cluster;
  bool explicit_cluster = false;
  uint64_t shared_bytes = 0;    // dynamic shared memory
  std::vector<uint8_t> params;  // as the kernel's .param variables lie (param_offsets)
  uint64_t workspace = 0;       // of a cooperative launch: what %envreg1 and %envreg2 hold
};

// A tensor map as it stands in the 128 bytes of its argument. Lists begin with the innermost
// dimension.
struct TensorMap {
  uint64_t is_map = kIsMap;
  uint64_t address = 0;
  uint64_t strides[5] = {};              // bytes
  uint32_t last[5] = {};                 // extents, less one
  uint16_t box[5] = {};                  // extents of a box; of im2col channels and pixels
  int16_t lower[3] = {}, upper[3] = {};  // of im2col: where the pixels' part of an image begins and
                                         // ends, from its first and last one
  uint8_t steps[5] = {};                 // of its elements
  uint8_t rank = 0, size = 0;            // bytes of an element
  uint8_t swizzle = 0;                   // bytes of a row of the pattern; 0: none
  bool fills_nan = false, im2col = false;
  ptx::ScalarType type = ptx::ScalarType::None;  // of an element, if it can be reduced

  static constexpr uint64_t kIsMap = 0x70616d20726f7365;
};
static_assert(sizeof(TensorMap) <= 128);

// Byte offset of each parameter, then the size of all.
std::vector<uint64_t> param_offsets(const ptx::Function& kernel);

// Which of the legal interleavings runs. A correct program gives the same results in all.
enum class Order : uint8_t {
  Forward,      // CTAs and warps in order, each warp as far as it gets
  Backward,     // the same from the last to the first
  Random,       // random CTAs, warps and lengths
  Interleaved,  // the warps of a CTA in turn, one instruction each
};

struct RunOptions {
  Order order = Order::Forward;
  uint64_t seed = 1;
  // Every lane runs alone as far as it gets; otherwise the lanes of a warp that stand together go
  // together.
  bool lanes_apart = false;
  // Asynchronous copies happen when they are waited for, not when they are issued.
  bool late_copies = false;
  // What uninitialised registers, local and shared memory hold.
  uint8_t fill = 0xff;
  uint64_t step_limit = uint64_t{1} << 36;  // thread-instructions
  bool watch_floats = false;                // fills Outcome::floats; some times slower
};

enum class FaultKind : uint8_t {
  OutOfBounds,
  Misaligned,
  Deadlock,  // nobody can go on: a barrier or collective that is not reached by all
  Trap,      // trap, brkpt, a failed device assert
  StepLimit,
  BudgetSpent,
  Refused,  // an instruction that is not modelled was reached
  Invalid,  // the launch itself, or an operand the manual forbids
};
std::string_view fault_name(FaultKind kind);

struct Fault {
  FaultKind kind;
  std::string message;
  SourceSpan span;
  Dim3 ctaid{0, 0, 0}, tid{0, 0, 0};
};

struct Outcome {
  std::optional<Fault> fault;
  uint64_t steps = 0;  // thread-instructions executed
  FloatEvents floats = {};
  bool ok() const { return !fault; }
};

// A module whose .global and .const variables live in `memory`; both must outlive it. Launches see
// the variables as earlier ones left them.
class LoadedModule {
 public:
  LoadedModule(const ptx::Module& module, Memory& memory);
  ~LoadedModule();
  LoadedModule(LoadedModule&&) noexcept;

  // Address of a .global or .const variable.
  std::optional<uint64_t> address_of(std::string_view variable) const;
  Outcome launch(const ptx::Function& kernel, const LaunchConfig& config,
                 const RunOptions& options = {}, const Budget& budget = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace coequal::replay
