// The probabilistic tier: whether a sum is zero as a rational function of its atoms, by evaluation
// at random points of fields of random 61-bit primes, with a bound on the probability of error.
//
// Atoms that are not sums are independent unknowns, so a sum that vanishes as a function of them
// vanishes for all values they take. An unknown with fractional powers is written as the power of
// one unit; fractional powers of sums are unknowns of their own. A sum that is not zero vanishes by
// accident if the point is a root of its numerator (at most its degree over the size of the field)
// or if the prime divides a coefficient (at most their bits over 60 such primes, of the 2^54 that
// there are).
#pragma once

#include <optional>
#include <random>
#include <vector>

#include "base/budget.h"
#include "decide/canonical/algebra.h"

namespace coequal::decide {

class ProbableZero {
 public:
  static constexpr double kAcceptable = -100;  // log2 of the largest error that counts as a proof

  ProbableZero(const Algebra& algebra, uint64_t seed)
      : algebra_(algebra), random_(seed ^ 0x5bd1e995u) {}

  // log2 of a bound on the error of "it is zero"; empty if it is not, or if no good enough bound
  // holds.
  std::optional<double> zero(const std::vector<Value>& terms, const Budget& budget);

 private:
  struct Plan;  // the atoms below the terms, in order, with units and degrees

  const Algebra& algebra_;
  std::mt19937_64 random_;
};

}  // namespace coequal::decide
