// Merging of equal sums, and comparison.
#include "decide/canonical/resolve.h"

#include <algorithm>
#include <cmath>

namespace coequal::decide {
namespace {

constexpr size_t kMergeCredit = 200'000;      // products for one merge
constexpr size_t kCompareCredit = 1'500'000;  // products for the final comparison

}  // namespace

Resolver::Resolver(Algebra& algebra, uint64_t seed, Statistics& statistics)
    : algebra_(algebra),
      statistics_(statistics),
      first_(std::make_unique<Signature>(algebra, 0, seed * 2 + 1)),
      second_(std::make_unique<Signature>(algebra, 0, seed * 2 + 2)),
      zero_(algebra, *first_, *second_,
            [this](uint64_t ratio) -> std::optional<AtomId> {
              const auto it = by_ratio_.find(ratio);
              if (it == by_ratio_.end() || it->second.empty()) return std::nullopt;
              return it->second[0];
            }),
      rebuild_(algebra, [this](AtomId, const Value& v) { return merge(v, *budget_); }),
      probable_(algebra, seed),
      rebuild_probably_(algebra, [this](AtomId, const Value& v) { return merge_probably(v); }) {}

std::optional<Value> Resolver::resolve(const Value& v, const Budget& budget) {
  budget_ = &budget;
  auto out = rebuild_(v, budget);
  budget_ = nullptr;
  return out;
}

std::optional<CondId> Resolver::resolve_condition(CondId c, const Budget& budget) {
  budget_ = &budget;
  auto out = rebuild_.condition(c, budget);
  budget_ = nullptr;
  return out;
}

Value Resolver::merge(const Value& rebuilt, const Budget& budget) {
  Value out = rebuilt;
  const std::vector<Factor> factors = algebra_.factors(rebuilt.m);
  for (const Factor& f : factors) {
    const Known& other = representative(f.atom, budget);
    if (!other.replaced || !f.exponent.is_integer()) continue;
    out = algebra_.mul(out, algebra_.atom_power(f.atom, -f.exponent));
    out = algebra_.mul(out, algebra_.power(other.by, f.exponent));
  }
  return out;
}

const Resolver::Known& Resolver::representative(AtomId id, const Budget& budget) {
  const auto it = merged_.find(id);
  if (it != merged_.end()) return it->second;
  return merged_[id] = find_equal(id, budget);
}

Resolver::Known Resolver::find_equal(AtomId id, const Budget& budget) {
  const auto x = first_->of_atom(id), y = second_->of_atom(id);
  if (!x || !y) return {};
  const bool is_sum = algebra_.atom(id).kind == AtomKind::Sum;
  const Value self = algebra_.atom_power(id, Rational(1));
  if (*x == 0 || *y == 0) {
    const bool vanishes =
        *x == 0 && *y == 0 && is_sum && zero_.zero({self}, kMergeCredit, budget) == true;
    return {vanishes, {}};
  }
  // The quotient of the values at two points is the same for all multiples of a sum.
  const uint64_t ratio = first_->multiply(*x, first_->inverse(*y));
  const std::vector<AtomId> known = by_ratio_[ratio];
  for (size_t i = 0; is_sum && i < known.size() && i < 2; ++i) {
    const auto z = first_->of_atom(known[i]);
    const auto c = first_->reconstruct(first_->multiply(*x, first_->inverse(*z)));
    if (!c) continue;
    const Value other{*c, algebra_.atom_power(known[i], Rational(1)).m};
    statistics_.count("merge.proposed");
    if (zero_.zero({self, Algebra::negate(other)}, kMergeCredit, budget) == true) {
      statistics_.count("merge.proved");
      // What is known of the sign of one form holds for the other: a sum of squares against its
      // moments.
      if (algebra_.atom(id).total) {
        const Range range =
            algebra_.range({Rational(1) / *c, algebra_.atom_power(id, Rational(1)).m});
        algebra_.refine_range(known[i], range);
      }
      return {true, other};
    }
  }
  by_ratio_[ratio].push_back(id);
  return {};
}

Resolver::Verdict Resolver::compare(const Value& a, const Value& b, const Budget& budget) {
  if (a == b) return Verdict::Equal;
  const auto x = resolve(a, budget), y = resolve(b, budget);
  if (!x || !y) return Verdict::Unknown;
  if (*x == *y) return Verdict::Equal;
  if (algebra_.is_undefined(*x) || algebra_.is_undefined(*y) || algebra_.is_infinity(*x) ||
      algebra_.is_infinity(*y))
    return Verdict::Different;
  // Common factors first: they are not zero wherever both sides are defined, or both sides vanish
  // with them.
  const Value difference_b = Algebra::negate(*y);
  const std::vector<Value> terms = algebra_.without_common_factor({*x, difference_b});
  const auto p = first_->of(terms);
  if (p && *p != 0) return Verdict::Different;
  const auto result = zero_.zero(terms, kCompareCredit, budget);
  if (result == true) return Verdict::Equal;
  if (result == false) return Verdict::Different;
  return p ? Verdict::Likely : Verdict::Unknown;
}

// Sums whose signatures agree although no proof was found in time.
Value Resolver::merge_probably(const Value& rebuilt) {
  Value out = rebuilt;
  const std::vector<Factor> factors = algebra_.factors(rebuilt.m);
  for (const Factor& f : factors) {
    if (algebra_.atom(f.atom).kind != AtomKind::Sum || !f.exponent.is_integer()) continue;
    auto it = merged_probably_.find(f.atom);
    if (it == merged_probably_.end()) {
      Known found;
      const auto x = first_->of_atom(f.atom), y = second_->of_atom(f.atom);
      if (x && y && *x != 0 && *y != 0) {
        const uint64_t ratio = first_->multiply(*x, first_->inverse(*y));
        const std::vector<AtomId> known = by_ratio_[ratio];
        const Value self = algebra_.atom_power(f.atom, Rational(1));
        for (size_t i = 0; i < known.size() && i < 2 && !found.replaced; ++i) {
          if (known[i] == f.atom) break;
          const auto z = first_->of_atom(known[i]);
          const auto c = first_->reconstruct(first_->multiply(*x, first_->inverse(*z)));
          if (!c) continue;
          const Value other{*c, algebra_.atom_power(known[i], Rational(1)).m};
          const auto bound = probable_.zero({self, Algebra::negate(other)}, *budget_);
          if (!bound) continue;
          errors_ += std::exp2(*bound);
          found = {true, other};
        }
        if (!found.replaced && std::find(known.begin(), known.end(), f.atom) == known.end())
          by_ratio_[ratio].push_back(f.atom);
      }
      it = merged_probably_.emplace(f.atom, found).first;
    }
    if (!it->second.replaced) continue;
    out = algebra_.mul(out, algebra_.atom_power(f.atom, -f.exponent));
    out = algebra_.mul(out, algebra_.power(it->second.by, f.exponent));
  }
  return out;
}

std::optional<double> Resolver::compare_probably(const Value& a, const Value& b,
                                                 const Budget& budget) {
  const auto x = resolve(a, budget), y = resolve(b, budget);
  if (!x || !y) return std::nullopt;
  budget_ = &budget;
  const auto u = rebuild_probably_(*x, budget),
             v = u ? rebuild_probably_(*y, budget) : std::nullopt;
  budget_ = nullptr;
  if (!u || !v) return std::nullopt;
  double total = errors_;
  if (!(*u == *v)) {
    const std::vector<Value> terms = algebra_.without_common_factor({*u, Algebra::negate(*v)});
    if (const auto at_a_point = first_->of(terms); at_a_point && *at_a_point != 0)
      return std::nullopt;
    const auto bound = probable_.zero(terms, budget);
    if (!bound) return std::nullopt;
    total += std::exp2(*bound);
  }
  if (total == 0) return ProbableZero::kAcceptable;
  const double bound = std::log2(total);
  return bound < ProbableZero::kAcceptable ? std::optional(bound) : std::nullopt;
}

}  // namespace coequal::decide
