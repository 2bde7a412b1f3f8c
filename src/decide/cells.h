// Classes of output cells: cells whose pairs of values are translates of each other share one
// decision.
//
// The key of a cell is (shape A, shape B, for each group that both sides mention: the distance of
// their anchors). Leaf attributes belong to groups, constants and definedness to shapes, so equal
// keys carry both answers over. Leaves of known values (iota, known data) are not free to move: a
// proof for a class treats them as unknowns, and where that does not succeed the class is split
// once more by where they stand (split_absolute).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/budget.h"
#include "tensor/writer_map.h"
#include "term/store.h"

namespace coequal::decide {

// What was added to the cells of a group's leaves to come from normalised terms to those of an
// actual output cell.
using Shifts = std::vector<std::pair<term::GroupId, int64_t>>;

// A pair of values in the position that stands for its class: the least anchor of both sides is 0
// in every group that may move, and stays where it is in groups of known values.
struct PlacedPair {
  term::Term a, b;
  Shifts shifts;  // ascending groups
};
PlacedPair place(const term::Term& a, const term::Term& b, const term::TermStore& store);

struct CellClass {
  term::Term a, b;              // normalised, of the first member
  Shifts shifts;                // to the first member
  int64_t count = 0;            // elements of the output
  int64_t first_element = 0;    // row-major, the least
  std::vector<int64_t> sample;  // the first members, ascending
  bool unchanged =
      false;  // no launch of either program touched the cells, and they started out equal
};

// The cells of one output: the final versions of the tensors that hold it in A and in B, element by
// element.
struct OutputPair {
  const tensor::TensorVersion* a = nullptr;
  const tensor::TensorVersion* b = nullptr;

  // The elements to look at, ascending; nothing: all.
  std::optional<std::vector<int64_t>> chosen = {};

  int64_t elements() const { return a->info().elements(); }
  // The pair of values at one element; with its shifts, for a member other than the first.
  PlacedPair at(int64_t element, term::TermStore& store) const;
};

struct Classification {
  std::vector<CellClass> classes;  // in order of their first element
  int64_t elements = 0;            // looked at
  bool complete = true;            // false: the budget ended before all were
};

Classification classify(const OutputPair& output, term::TermStore& store, const Budget& budget);

// Elements in the order in which a run that cannot look at all of them should: the tensor's
// corners, what the edges of warps, CTAs and grids wrote, one cell a class of CTAs; then others at
// random. At most `count`, no element twice.
std::vector<int64_t> search_order(const OutputPair& output, int64_t count, uint64_t seed);
// Puts classes with cells that come early in that order first, and the others in a random order.
void sort_by_search_order(const OutputPair& output, term::TermStore& store, uint64_t seed,
                          std::vector<CellClass>& classes);

// The members of one class, split so that leaves of known values stand at the same cells in all
// members of a part.
Classification split_absolute(const OutputPair& output, const CellClass& cls,
                              term::TermStore& store, const Budget& budget);

}  // namespace coequal::decide
