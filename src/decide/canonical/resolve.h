// Equality of canonical values whose forms differ: sums proved equal are merged, the leaves first,
// and the rest is compared as rational functions of the remaining atoms.
//
// Signatures propose which sums could be multiples of each other; every merge is proved exactly
// (zero.h). A merge replaces a newer sum by an older one, so what was resolved before stays
// resolved: the cells of a kernel's other classes, which share their sums, cost a lookup.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <vector>

#include "base/statistics.h"
#include "decide/canonical/probable.h"
#include "decide/canonical/rebuild.h"
#include "decide/canonical/signature.h"
#include "decide/canonical/zero.h"

namespace coequal::decide {

class Resolver {
 public:
  Resolver(Algebra& algebra, uint64_t seed, Statistics& statistics);

  std::optional<Value> resolve(const Value& v, const Budget& budget);
  std::optional<CondId> resolve_condition(CondId c, const Budget& budget);

  enum class Verdict : uint8_t {
    Equal,      // proved
    Different,  // as functions of independent atoms; what relates the atoms may still make them
                // equal
    Likely,     // equal signatures, but the proof took too long
    Unknown,
  };
  Verdict compare(const Value& a, const Value& b, const Budget& budget);
  // The probabilistic tier, where exact proofs took too long: log2 of a bound on the error, if they
  // are equal.
  std::optional<double> compare_probably(const Value& a, const Value& b, const Budget& budget);

  Signature& signature() { return *first_; }

 private:
  Value merge(const Value& rebuilt, const Budget& budget);
  struct Known {
    bool replaced = false;
    Value by;
  };
  const Known& representative(AtomId id, const Budget& budget);
  Known find_equal(AtomId id, const Budget& budget);

  Algebra& algebra_;
  Statistics& statistics_;
  std::unique_ptr<Signature> first_, second_;
  ZeroTest zero_;
  Rebuilder rebuild_;
  const Budget* budget_ = nullptr;
  absl::flat_hash_map<AtomId, Known> merged_;
  absl::flat_hash_map<uint64_t, std::vector<AtomId>> by_ratio_;

  // The second tier keeps its merges apart from the proved ones.
  Value merge_probably(const Value& rebuilt);
  ProbableZero probable_;
  Rebuilder rebuild_probably_;
  absl::flat_hash_map<AtomId, Known> merged_probably_;
  double errors_ = 0;  // the sum of the bounds of the merges so far
};

}  // namespace coequal::decide
