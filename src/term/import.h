// Terms of a store's clone, made in the store it was cloned from.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <vector>

#include "term/store.h"

namespace coequal::term {

// Keeps what it has made, so one serves all that a clone brings back. No scalars may have been
// added to the clone, and nothing but what this brings over to the store.
class Import {
 public:
  // When the clone has just been made.
  Import(const TermStore& clone, TermStore& store);

  // A group of the clone: one of the same kind and name if the store has it by now, else a new one.
  GroupId group(GroupId id);
  // The same function of the same leaves. Nothing is folded anew.
  Term operator()(const Term& t);

 private:
  Term made(const Term& t) const;  // of a shape in shapes_
  Term at_zero(ShapeId shape) const;
  Term make(ShapeId shape);

  const TermStore& clone_;
  TermStore& store_;
  size_t common_nodes_, common_groups_;
  std::vector<GroupId> groups_;                // of those that came later
  absl::flat_hash_map<ShapeId, Term> shapes_;  // of those that came later: with all cells 0
};

}  // namespace coequal::term
