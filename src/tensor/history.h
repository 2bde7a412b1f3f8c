// How machine values came about: what was loaded, and what was done to it, without any rewriting.
//
// Terms are exact reals, and narrowing or a sum in another order changes none. Whether two stores
// leave the same bits is asked of histories: equal ones are the same operations on the same bits.
// They are kept for the launches in which that is asked, in a second execution.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <compare>
#include <cstdint>
#include <vector>

#include "tensor/motion.h"

namespace coequal::tensor {

// The histories of one class of CTAs. Equal ones have one id; 0 is none. Those that stand for the
// same operations on the same bits in two classes, or in two CTAs of one, have one hash.
class Histories {
 public:
  using Id = uint32_t;
  struct Hash {
    uint64_t high = 0, low = 0;
    friend auto operator<=>(const Hash&, const Hash&) = default;
    template <class H>
    friend H AbslHashValue(H h, const Hash& x) {
      return H::combine(std::move(h), x.high, x.low);
    }
  };

  Histories() : nodes_(1) {}

  // The bits at a place that `what` and `cell` name. `exact`: they encode the value that the term
  // has.
  Id leaf(uint64_t what, int64_t cell, MotionId motion, bool exact);
  // An operation on one or two values. `exact`: it rounds nothing, so on exact operands the result
  // encodes what the term says. `commutes`: its operands may be exchanged.
  Id node(uint64_t operation, Id a, Id b, bool exact, bool commutes);
  // Of a value of which is not known how it came about: that of no other, only of its copies.
  Id unknown();

  bool is_exact(Id id) const { return nodes_[id].exact; }
  bool is_known(Id id) const { return nodes_[id].known; }
  // Of a known one, for the CTA of that ordinal.
  Hash at_cta(Id id, const MotionTable& motions, size_t ordinal) const;
  // Of the operations and constants alone, with their numbers: the same for lanes that did the same
  // with their operands in other places.
  Hash steps(Id id) const;

 private:
  struct Node {
    uint64_t what = 0;
    int64_t cell = 0;
    Id a = 0, b = 0;
    MotionId motion = 0;
    bool is_leaf = false, exact = false, known = false, commutes = false, moves = false;
    Hash hash{};  // for the representative; with the motions for one that moves
  };

  static Hash of_leaf(uint64_t what, int64_t cell, MotionId motion);
  static Hash of_node(uint64_t operation, bool commutes, Hash a, Hash b);
  Id intern(const Node& node);

  std::vector<Node> nodes_;
  absl::flat_hash_map<Hash, Id> index_;
  mutable absl::flat_hash_map<std::pair<Id, size_t>, Hash> moved_;
};

}  // namespace coequal::tensor
