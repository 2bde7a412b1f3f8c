// Who wrote each cell of a tensor last: pieces over an older version, down to the initial contents.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tensor/piece.h"

namespace coequal::tensor {

// One write as seen from a cell.
struct Writer {
  const LaunchPieces* launch = nullptr;
  uint32_t cls = 0;          // index into launch->classes
  uint32_t piece = 0;        // index into classes[cls].tensors
  uint32_t store = 0;        // index into stores
  uint32_t ordinal = 0;      // CTA: index into motions->ctas()
};

// The content of a cell: a writer, gathered atomics over older content, or the initial content.
// A version is immutable once built; a launch makes the next one from it.
class TensorVersion {
 public:
  // The initial version. `poison_group`: leaves of uninitialised cells of this program's copy (Init::Empty).
  TensorVersion(const TensorInfo& info, term::GroupId poison_group);

  // The version after a launch. Reports writers of one cell in different CTAs through `conflicts` (grid_facts decides what
  // they are). Cells that atomics updated hold a gathered term.
  struct Overlap { int64_t cell; Writer first, second; };
  static std::shared_ptr<const TensorVersion> after(std::shared_ptr<const TensorVersion> before,
                                                    std::shared_ptr<const LaunchPieces> launch, TensorId tensor,
                                                    term::TermStore& store, std::vector<Overlap>& overlaps);

  const TensorInfo& info() const { return *info_; }
  // The value of a cell, standing where the cell stands (motions 0).
  term::Term value(int64_t cell, term::TermStore& store) const;
  bool is_written(int64_t cell) const;
  std::optional<Writer> writer(int64_t cell) const;
  // True while no launch has written any cell.
  bool is_initial() const { return !older_; }

  // The value at `cell + motion(cta)` for every living CTA of a reading class. CTAs for which it has another shape than for the
  // representative leave the class (`motions.narrow`).
  term::Term value_moving(int64_t cell, MotionId motion, MotionTable& motions, term::TermStore& store) const;

 private:
  const TensorInfo* info_;
  term::GroupId poison_group_ = 0;
  std::shared_ptr<const TensorVersion> older_;
  std::shared_ptr<const LaunchPieces> launch_;
  struct Table;
  std::shared_ptr<const Table> table_;
};

}  // namespace coequal::tensor
