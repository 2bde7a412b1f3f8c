// What a step leaves behind: pieces of tensors, the one structure that everything after execution
// sees.
//
// A piece belongs to one class of CTAs of one launch: the final value of every cell that the
// representative wrote, and how cell and value move for the other CTAs of the class. A CTA's value
// of a store is the store's term with every anchor moved.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/source_span.h"
#include "tensor/history.h"
#include "tensor/motion.h"
#include "tensor/tensor.h"
#include "term/store.h"

namespace coequal::tensor {

// Where an access comes from. `instruction` indexes the kernel's body.
struct Origin {
  uint32_t thread = 0;  // linear index in the CTA
  uint32_t instruction = 0;
};

// The last value that the representative stored to one storage cell. Kept per (tensor, motion) in
// ascending cell order.
struct CellStore {
  int64_t cell = 0;
  MotionId motion = 0;  // of the cell index
  term::Term value;     // Real or Bv of the tensor's leaf type
  Origin origin;
  bool guarded =
      false;  // stored under a condition on data: `value` is a Select with the older content
  // The CTA also updates the cell by atomics, all of them ordered after this store. Without it such
  // cells are refused.
  bool before_atomics = false;
  // With `guarded`: the condition under which some store of the CTA to the cell happens, where it
  // is known.
  term::Term guard{};
  // With `guarded`: what each of those stores puts there, if that is one value.
  term::Term stored{};
  // By a fence before the CTA took its ticket; what the last CTA stores: acquired by one behind it.
  bool released = false;
  // Before this store the CTA updated the cell by atomics, or stored other bits there.
  bool other_writes = false;
  // Its machine bits are known, and encode the value.
  bool known_bits = false;
  uint32_t order = 0;  // see FlagUpdate
  // Of `value` and of `stored`, where histories are kept.
  Histories::Id history = 0, stored_history = 0;
};

enum class AtomicKind : uint8_t { Add, Mul, Min, Max, And, Or, Xor, MinSigned, MaxSigned };

// One atomic without use of its old value, gathered at the end of the launch.
struct AtomicUpdate {
  int64_t cell = 0;
  MotionId motion = 0;
  AtomicKind kind = AtomicKind::Add;
  term::Term value;
  Origin origin;
  bool scope_cta = false;  // .cta scope: covers only the threads of its CTA
  term::Term guard{};      // the condition on data under which it happens; invalid: always
  bool released = false;   // by a fence before the CTA took its ticket
  uint32_t order = 0;      // see FlagUpdate
};

// The counter from which a CTA took a number, and how many CTAs share it.
struct Ticket {
  TensorId tensor = 0;
  int64_t cell = 0;
  MotionId motion = 0;
  int64_t sharing = 0;
  bool decides = false;  // what the CTA does depends on whether its number is the last
};

// A load of global memory, kept where the tensor may be written in the same launch. Its order
// among the accesses of its own CTA is the executor's business; here it meets those of other CTAs.
struct GlobalRead {
  TensorId tensor = 0;
  int64_t cell = 0;  // first storage cell touched
  int32_t cells = 1;
  MotionId motion = 0;
  Origin origin;
  bool non_coherent = false;  // ld.global.nc
  term::Term guard{};         // the condition on data under which it happens; invalid: always
  uint32_t order = 0;         // see FlagUpdate
};

// A store or an atomic as those see it that wait for its cell. Where CTAs wait for each other, the
// accesses of one to global memory are numbered in the order in which it makes them.
struct FlagUpdate {
  enum class Kind : uint8_t { Store, Add, Other } kind = Kind::Other;
  TensorId tensor = 0;
  int64_t cell = 0;
  MotionId motion = 0;
  term::Term value;  // what is stored or added
  Origin origin;
  bool scope_cta = false;
  uint32_t order = 0;
  // Earlier accesses of the CTA that it does not release: nothing orders them before it, or no
  // fence stands between. Ascending.
  std::shared_ptr<const std::vector<uint32_t>> unreleased;
};

// The end of a wait for a cell: the updates of all rounds up to that of `last`, and there up to its
// number, come before what the CTA does after it.
struct FlagPass {
  TensorId tensor = 0;
  int64_t cell = 0;
  MotionId motion = 0;
  uint32_t round = 0, last = 0;
  uint32_t order = 0;
};

struct TensorPiece {
  TensorId tensor = 0;
  std::vector<CellStore> stores;
  std::vector<AtomicUpdate> atomics;
};

// The outcome of executing one class of CTAs.
struct ClassPieces {
  std::shared_ptr<MotionTable> motions;  // with the CTAs that stayed in the class
  std::vector<TensorPiece> tensors;
  std::vector<GlobalRead> reads;
  std::optional<Ticket> ticket;
  std::vector<FlagUpdate> updates;
  std::vector<FlagPass> passes;
  uint32_t last_order = 0;
  std::shared_ptr<const Histories> histories;  // none: not kept
};

// All classes of one launch, and how to name its instructions.
struct LaunchPieces {
  int launch = 0;  // index in the program
  std::string kernel;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  // A class whose CTAs stand for clusters: the first CTA of each, and threads that are numbered
  // through the cluster, `rank_stride` numbers a CTA.
  std::array<uint32_t, 3> cluster{1, 1, 1};
  uint32_t rank_stride = 0;
  std::vector<ClassPieces> classes;
  std::vector<SourceSpan> spans;  // per instruction of the kernel's body

  std::array<uint32_t, 3> block_index(const Cta& cta, uint32_t linear) const {
    const uint32_t rank = rank_stride ? linear / rank_stride : 0;
    return {cta[0] + rank % cluster[0], cta[1] + rank / cluster[0] % cluster[1],
            cta[2] + rank / cluster[0] / cluster[1]};
  }
  std::array<uint32_t, 3> thread_index(uint32_t linear) const {
    if (rank_stride) linear %= rank_stride;
    return {linear % block[0], linear / block[0] % block[1], linear / block[0] / block[1]};
  }
};

}  // namespace coequal::tensor
