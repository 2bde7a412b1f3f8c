// Who wrote each cell of a tensor last: pieces over an older version, down to the initial contents.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "tensor/piece.h"

namespace coequal::tensor {

// One write as seen from a cell.
struct Writer {
  const LaunchPieces* launch = nullptr;
  uint32_t cls = 0;      // index into launch->classes
  uint32_t piece = 0;    // index into classes[cls].tensors
  uint32_t store = 0;    // index into stores, or into atomics
  uint32_t ordinal = 0;  // CTA: index into motions->ctas()
  bool atomic = false;

  const ClassPieces& class_pieces() const { return launch->classes[cls]; }
  const TensorPiece& tensor_piece() const { return class_pieces().tensors[piece]; }
  const CellStore& cell_store() const { return tensor_piece().stores[store]; }
  const AtomicUpdate& update() const { return tensor_piece().atomics[store]; }
  const Origin& origin() const { return atomic ? update().origin : cell_store().origin; }
  const Cta& cta() const { return class_pieces().motions->ctas()[ordinal]; }
  bool same_cta(const Writer& other) const { return cls == other.cls && ordinal == other.ordinal; }
};

// What an atomic of the kind leaves a cell as it is with.
term::Term neutral(AtomicKind kind, term::Type type, term::TermStore& store);

// `t`, made for a class, as its CTA of that ordinal has it: anchors moved, motions gone.
term::Term at_cta(const term::Term& t, const MotionTable& motions, size_t ordinal,
                  const term::TermStore& store);

// A launch writes a tensor in more places than a table can number or hold; callers turn it into a
// refusal.
class TooManyWrites : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The content of a cell: a writer, gathered atomics over older content, or the initial content.
//
// A version is immutable once built; a launch makes the next one from it. A version over a launch
// numbers every store of every living CTA and keeps one number a cell: in an array, or in a hash
// table where few cells were written.
class TensorVersion {
 public:
  // The initial version. `poison_group`: leaves of uninitialised cells of this program's copy
  // (Init::Empty, gaps between strided elements).
  TensorVersion(const TensorInfo& info, term::GroupId poison_group);
  ~TensorVersion();

  // The version after a launch. Reports writers of one cell in different CTAs through `overlaps`
  // (grid_facts decides what they are); the first of them is kept, or all are joined by their
  // guards. Cells that atomics updated hold a gathered term; where atomics of one launch do not
  // commute or mix with plain stores the cell holds poison, and grid_facts names the reason.
  // Throws TooManyWrites beyond 2^32 writes or `most_bytes` of memory for their numbers.
  struct Overlap {
    int64_t cell;
    Writer first, second;
  };
  static std::shared_ptr<const TensorVersion> after(std::shared_ptr<const TensorVersion> before,
                                                    std::shared_ptr<const LaunchPieces> launch,
                                                    TensorId tensor, term::TermStore& store,
                                                    std::vector<Overlap>& overlaps,
                                                    uint64_t most_bytes = UINT64_MAX);
  // The same contents, but for `cells`: each holds leaf(group, cell). For cells whose value is no
  // function of the inputs.
  static std::shared_ptr<const TensorVersion> with_poison(
      std::shared_ptr<const TensorVersion> before, std::vector<int64_t> cells, term::GroupId group);

  const TensorInfo& info() const { return *info_; }
  // The value of a cell, standing where the cell stands (motions 0).
  term::Term value(int64_t cell, term::TermStore& store) const;
  bool is_written(int64_t cell) const;
  // The last plain store to the cell, else one of the atomics that updated it last.
  std::optional<Writer> writer(int64_t cell) const;
  // Plain store of the launch that made this version, if any; its atomics; older launches do not
  // count.
  std::optional<Writer> own_writer(int64_t cell) const;
  std::vector<Writer> own_atomics(int64_t cell) const;
  // Cells that atomics of this version's launch updated, ascending.
  std::vector<int64_t> own_atomic_cells() const;
  // Smallest and largest cell that this version's launch stored to or updated; low > high if none.
  std::pair<int64_t, int64_t> own_range() const;
  // Where faults of the last launch show first: cells that it stored from the first and last lane
  // of a warp in its first and last CTA, and one a class of CTAs. At most a thousand or so.
  std::vector<int64_t> edge_cells() const;
  // True while no launch has written any cell.
  bool is_initial() const { return !older_; }
  const std::shared_ptr<const TensorVersion>& older() const { return older_; }
  // The version that a launch made, if this one is that with some cells poisoned.
  const TensorVersion& as_written() const {
    return poisoned_.empty() ? *this : older_->as_written();
  }

  // The value at `cell + motion(cta)` for every living CTA of a reading class. CTAs for which it
  // has another shape than for the representative leave the class (`motions.narrow`).
  term::Term value_moving(int64_t cell, MotionId motion, MotionTable& motions,
                          term::TermStore& store) const;
  // The integer at `cell + motion(cta)` for every CTA (0 for the dead), zero-extended, where all
  // living CTAs find a known one.
  std::optional<std::vector<int64_t>> known_integers(int64_t cell, MotionId motion,
                                                     const MotionTable& motions,
                                                     term::TermStore& store) const;

  // Where a cell's value comes from, and for how many cells from there on the answer goes on
  // regularly.
  struct Run {
    enum class Kind : uint8_t {
      Initial,  // the initial content
      Stored,  // consecutive stores of one CTA, whose terms have one shape and anchors that advance
               // by a constant step
      Gathered,  // atomics, or stores of several CTAs under guards
      Poisoned,  // with_poison
    };
    Kind kind = Kind::Initial;
    const TensorVersion* version = nullptr;  // that holds it
    Writer writer;                           // Stored: of the first cell
    int64_t length = 1;
  };
  // The run that starts at `cell`, at most `limit` cells long.
  Run run(int64_t cell, int64_t limit) const;

 private:
  struct Table;

  term::Term initial_value(int64_t cell, term::TermStore& store) const;
  std::optional<term::Term> initial_moving(int64_t cell, MotionId motion, MotionTable& motions,
                                           term::TermStore& store) const;
  // value_moving where readers stay in one patch of what this version's launch stored.
  std::optional<term::Term> patch_moving(int64_t cell, MotionId motion, const term::Term& first,
                                         MotionTable& motions, const term::TermStore& store) const;
  // Of several CTAs that store to the cell under guards of which no two hold together.
  term::Term joined(int64_t cell, term::TermStore& store) const;
  term::Term gathered(int64_t cell, term::TermStore& store) const;

  const TensorInfo* info_;
  term::GroupId poison_group_ = 0;
  std::shared_ptr<const TensorVersion> older_;
  std::shared_ptr<const LaunchPieces> launch_;
  std::shared_ptr<const Table> table_;
  std::vector<int64_t> poisoned_;  // with_poison: ascending
};

}  // namespace coequal::tensor
