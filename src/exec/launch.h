// A launch to execute, the tensors it works on, and what executing it brings back.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/budget.h"
#include "base/defect.h"
#include "base/options.h"
#include "base/statistics.h"
#include "base/workers.h"
#include "exec/inline.h"
#include "isa/inst_row.h"
#include "ptx/cfg.h"
#include "tensor/piece.h"
#include "tensor/writer_map.h"

namespace coequal::exec {

using tensor::TensorId;

enum class Access : uint8_t { Read, Write, ReadWrite };

// How bulk copies find the boxes of a tensor. Lists begin with the innermost dimension.
struct TensorMap {
  TensorId tensor = 0;
  int64_t offset = 0;                     // of the first element
  std::vector<int64_t> extents, strides;  // strides in elements
  std::vector<int64_t> box, steps;        // a box takes every steps-th element of its extent
  int swizzle = 0;                        // bytes of a row of the pattern; 0: none
  bool fills_nan = false;                 // what is outside reads as NaN, else as zero
  // Of im2col: the box holds so many channels of so many pixels, one after the other from the
  // coordinates on, in the part of each image that begins at `lower` and ends `upper` before (or
  // behind) its last pixel.
  bool im2col = false;
  std::vector<int64_t> lower, upper;
  int64_t channels = 0, pixels = 0;
};

// One kernel argument, matched against the kernel's .param list by the caller.
struct Argument {
  enum class Kind : uint8_t { Tensor, Bytes, Scalar, TensorMap } kind = Kind::Bytes;
  TensorId tensor = 0;           // Tensor
  int64_t byte_offset = 0;       // Tensor
  Access access = Access::Read;  // Tensor
  std::vector<uint8_t> bytes;    // Bytes
  uint32_t scalar = 0;           // Scalar: index of a free scalar of the store
  DType dtype = DType::F32;      // Scalar
  TensorMap map;                 // TensorMap
};

// A kernel ready to run.
struct Kernel {
  const ptx::Module* module = nullptr;
  const ptx::Function* entry = nullptr;  // as it stands in the module
  InlinedFunction inlined;
  const ptx::Function* function = nullptr;  // with the functions that it calls in place
  isa::DecodedFunction decoded;
  std::unique_ptr<ptx::Cfg> cfg;

  Kernel(const ptx::Module& m, const ptx::Function& f)
      : module(&m),
        entry(&f),
        inlined(inline_calls(m, f)),
        function(inlined.function ? inlined.function.get() : &f),
        decoded(isa::decode_function(m, *function)),
        cfg(std::make_unique<ptx::Cfg>(*function)) {}
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
};

struct Launch {
  int index = 0;  // among the program's launches
  const Kernel* kernel = nullptr;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::array<uint32_t, 3> cluster{1, 1, 1};
  bool explicit_cluster = false;
  uint32_t dynamic_shared = 0;
  std::vector<Argument> args;
  bool cooperative = false;           // all its CTAs are resident at once
  std::optional<TensorId> workspace;  // of a cooperative launch: what %envreg1 and %envreg2 tell
  // Variables of the module that are tensors: what launches leave in them stays there.
  struct Variable {
    TensorId tensor = 0;
    bool given = false;  // the instance says what the host puts there
  };
  std::map<const ptx::Variable*, Variable> variables;

  uint32_t cta_threads() const { return block[0] * block[1] * block[2]; }
  uint32_t ranks() const { return cluster[0] * cluster[1] * cluster[2]; }
  // Threads of a cluster are numbered through it, each CTA's from a multiple of this on: whole
  // warpgroups.
  uint32_t rank_stride() const {
    return ranks() == 1 ? cta_threads() : (cta_threads() + 127) / 128 * 128;
  }
};

// One program's tensors before a launch, and the pseudo-groups of its poison.
struct ProgramState {
  char name = 'a';
  const std::vector<tensor::TensorInfo>* tensors = nullptr;
  std::vector<std::shared_ptr<const tensor::TensorVersion>> versions;
};

struct Refusal {
  std::string instruction;
  SourceSpan span;
  std::string reason;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

// Why a group of Poison or Refused leaves exists: what the caller reports when one reaches an
// output.
struct PoisonSource {
  // Defective: what is a defect if it reaches an output. Tainted: what a reported defect (a race,
  // an access out of bounds) left behind.
  enum class Kind : uint8_t {
    Uninitialized,
    Defective,
    Refused,
    Tainted
  } kind = Kind::Uninitialized;
  std::string what;  // "shared variable 'part'", "register %f3"
  Refusal refusal;   // Refused
  Defect defect;     // Defective
  // Uninitialized: the first load of a cell, for some of the cells.
  std::map<int64_t, coequal::Access> reads{};

  static constexpr size_t kMostReads = 4096;
  // Another class has come to the same: of defects the one with the lowest block is told, of reads
  // the first.
  void join(PoisonSource other);
};

// A defect that happens under some inputs only: it is one exactly if the poison in `value` can
// reach it.
struct Suspicion {
  Defect defect;
  term::Term value;
  bool race = false;  // what is computed after it may be one interleaving's
};

// What was assumed on the way: name and detail.
using Assumptions = std::set<std::pair<std::string, std::string>>;

// The second execution of a launch whose last CTA works on what the others left (cta_ticket.cpp):
// what the first one left, and its pieces.
struct LastPhase {
  const ProgramState& after;
  const tensor::LaunchPieces& first;
};

// What CTAs that wait for each other did between two waits (cta_wait.cpp): a launch of which some
// wait is executed once more a round, each time up to the next one.
struct Round {
  struct Update {
    const tensor::FlagUpdate* update = nullptr;
    uint32_t cta = 0;  // by number
    term::Term value;
  };
  struct Reader {
    uint32_t cta = 0;
    const tensor::GlobalRead* read = nullptr;
  };
  struct Member {
    const tensor::ClassPieces* pieces = nullptr;
    uint32_t ordinal = 0;
  };
  using Cell = std::pair<TensorId, int64_t>;

  ProgramState after;
  std::shared_ptr<const tensor::LaunchPieces> pieces;
  absl::flat_hash_map<Cell, std::vector<Update>> updates;
  absl::flat_hash_map<Cell, std::vector<Reader>> readers;
  bool too_many_readers = false;
  std::vector<Member> members;  // by number of the CTA
};

Round make_round(ProgramState after, std::shared_ptr<const tensor::LaunchPieces> pieces,
                 const term::TermStore& store);
uint32_t cta_number(const tensor::Cta& cta, const std::array<uint32_t, 3>& grid);

struct LaunchResult {
  bool has_last = false;  // a second execution has to follow
  bool has_next = false;  // another round has to follow
  std::shared_ptr<tensor::LaunchPieces> pieces;
  std::vector<Defect> defects;
  std::vector<Suspicion> suspicions;
  std::set<std::string> notes;
  Assumptions assumptions;
  // Constructs that ended the execution of a class: its cells are undecided.
  std::vector<Refusal> refusals;
  int64_t aborted_ctas = 0;  // CTAs of classes that did not finish
  bool out_of_budget = false;
  int64_t thread_instructions = 0;
  int64_t classes = 0;
};

// Everything that outlives one launch of one program.
struct Session {
  term::TermStore& store;
  const Options& options;
  const Budget& budget;
  Statistics& statistics;
  // By group: why its leaves are poison.
  absl::flat_hash_map<term::GroupId, PoisonSource> poison;
  // The threads that may execute classes of CTAs beside this one; null: none.
  Workers* workers = nullptr;
};

// The group of that kind and name, made if there is none.
term::GroupId named_group(term::TermStore& store, term::Group group);

// A value that poison reaches exactly where the condition holds: it stands for what happens there.
term::Term value_where(Session& session, const term::Term& condition);

// Executes the launch class by class (or every CTA with options.whole_grid). `state` is read only;
// the caller makes the next versions from the pieces. `histories`: the pieces have those of what
// they store.
LaunchResult run_launch(Session& session, const ProgramState& state, const Launch& launch,
                        const LastPhase* last = nullptr, const std::vector<Round>& rounds = {},
                        bool histories = false);

}  // namespace coequal::exec
