// Whether a sum of canonical values is identically zero: exact, as a rational function of the atoms
// that are not sums.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <functional>
#include <optional>
#include <vector>

#include "base/budget.h"
#include "decide/canonical/signature.h"

namespace coequal::decide {

class ZeroTest {
 public:
  // `lookup(r)`: an atom whose values at the two points have the quotient r, if one is known.
  using Lookup = std::function<std::optional<AtomId>(uint64_t)>;
  ZeroTest(Algebra& algebra, Signature& first, Signature& second, Lookup lookup)
      : algebra_(algebra), first_(first), second_(second), lookup_(std::move(lookup)) {}

  // true: zero wherever defined. false: not zero as a function of independent atoms (which may
  // still be dependent). Nothing: more than `limit` products, or out of budget.
  std::optional<bool> zero(const std::vector<Value>& terms, size_t limit, const Budget& budget);

 private:
  using Polynomial = absl::flat_hash_map<MonoId, Rational>;

  // The sum with all sums of positive power written out; empty if that takes more than `credit`
  // products.
  std::optional<Polynomial> eliminate(const std::vector<Value>& terms, size_t& credit,
                                      const Budget& budget, int nesting);
  std::optional<std::vector<Value>> shorten(const std::vector<Value>& terms, AtomId below,
                                            size_t& credit, const Budget& budget, int nesting);
  // The cofactor of `sum` with a multiple of `sum` in place of the terms that are one; unchanged if
  // that is not shorter.
  std::vector<Value> gather(std::vector<Value> cofactor, AtomId sum);
  const std::vector<Value>& flat(AtomId sum);

  Algebra& algebra_;
  Signature& first_;
  Signature& second_;
  Lookup lookup_;
  absl::flat_hash_map<AtomId, std::vector<Value>> flat_;
};

}  // namespace coequal::decide
