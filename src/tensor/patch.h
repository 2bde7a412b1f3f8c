// Patches: stores of one class whose cells and terms follow one linear rule, so that a moving
// reader need not look at every CTA.
//
// Thread tiles, rows and blocks make the stores of a class nested arithmetic progressions: along
// each dimension the cell and every anchor advance by a constant step. Together with the block
// index they cover whole regions of a tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensor/piece.h"

namespace coequal::tensor {

// One direction in which to go from a store to another.
struct PatchDimension {
  int64_t count = 1;
  int64_t cell_step = 0;
  std::vector<int64_t> anchor_steps;
  friend bool operator==(const PatchDimension&, const PatchDimension&) = default;
};

// The stores of one piece, dealt to patches.
class Patches {
 public:
  Patches(const std::vector<CellStore>& stores, const term::TermStore& store);

  // The dimensions of the patch that a store of the piece lies in, and its coordinate along each.
  struct Position {
    const std::vector<PatchDimension>* dimensions;
    std::vector<int64_t> coordinates;
  };
  Position position(uint32_t store) const;

 private:
  struct Item {
    std::vector<uint32_t> stores;  // innermost dimension fastest
    std::vector<PatchDimension> dimensions;
  };
  std::vector<Item> items_;
  std::vector<std::pair<uint32_t, uint32_t>> place_;  // of a store: item and index in it
};

// How the value moves that a class of readers finds at `cell + motion(cta)`: for each anchor of the
// store that the representative finds there, its motion. `writer` is that store's CTA. Answers only
// when the bounds of the readers lie within the cells that the patch covers; the caller makes sure
// that nothing else wrote there.
std::optional<std::vector<MotionId>> follow_patch(const Patches& patches,
                                                  const MotionTable& writers, uint32_t store,
                                                  uint32_t ordinal, const CellStore& stored,
                                                  const term::TermStore& terms, MotionId motion,
                                                  MotionTable& readers);

}  // namespace coequal::tensor
