// The procedures behind the canonical form: Z3 and the probabilistic tier, and what they must not
// claim.
#include <cmath>

#include "decide/canonical/build.h"
#include "decide/canonical/probable.h"
#include "fixture.h"

namespace coequal::decide {
namespace {

using term::Kind;
using term::Rational;
using term::Term;

class Tiers : public ::testing::Test, public Terms {
 protected:
  // Variance by merging halves (a tree), and by two passes (a chain).
  std::pair<Term, Term> merged_and_two_pass(int n, const Rational& weight) {
    struct Part {
      Term mean, square;
      int64_t count;
    };
    std::vector<Part> parts;
    std::vector<Term> values, deviations;
    for (int i = 0; i < n; ++i) parts.push_back({x(i), c(0), 1}), values.push_back(x(i));
    while (parts.size() > 1) {
      std::vector<Part> next;
      for (size_t i = 0; i + 1 < parts.size(); i += 2) {
        const Part &l = parts[i], &r = parts[i + 1];
        const int64_t count = l.count + r.count;
        const Term delta = sub(r.mean, l.mean);
        next.push_back({add(l.mean, mul(delta, c(Rational(r.count, count)))),
                        add(add(l.square, r.square),
                            mul(mul(delta, delta), c(Rational(l.count * r.count, count)))),
                        count});
      }
      if (parts.size() % 2) next.push_back(parts.back());
      parts = next;
    }
    const Term mean = mul(chain(values), c(Rational(1, n)));
    for (int i = 0; i < n; ++i) deviations.push_back(mul(sub(x(i), mean), sub(x(i), mean)));
    return {mul(parts[0].square, c(weight)), mul(chain(deviations), c(Rational(1, n)))};
  }
};

TEST_F(Tiers, MergedVarianceIsProved) {
  const auto [merged, two_pass] = merged_and_two_pass(96, Rational(1, 96));
  const Answer answer = decide(merged, two_pass);
  EXPECT_EQ(answer.outcome, Outcome::Proved) << describe(answer);
  EXPECT_TRUE(answer.exact);
  const auto [wrong, same] = merged_and_two_pass(96, Rational(1, 95));
  EXPECT_REFUTED(wrong, same);
}

TEST_F(Tiers, RandomPointsTellZeroFromNotZero) {
  Algebra algebra(store);
  Builder builder(algebra, store, [&](const Term&) { return store.boolean(true); });
  ProbableZero probable(algebra, 3);
  auto difference = [&](const Term& a, const Term& b) {
    return std::vector<Value>{*builder.value(a, Budget()),
                              Algebra::negate(*builder.value(b, Budget()))};
  };
  const auto [merged, two_pass] = merged_and_two_pass(200, Rational(1, 200));
  const auto bound = probable.zero(difference(merged, two_pass), Budget());
  ASSERT_TRUE(bound.has_value());
  EXPECT_LT(*bound, -100);
  const auto [wrong, same] = merged_and_two_pass(200, Rational(1, 199));
  EXPECT_FALSE(probable.zero(difference(wrong, same), Budget()).has_value());
  // Fractional powers of exponentials and of sums.
  const Term s = add(mul(x(0), x(0)), c(1));
  EXPECT_TRUE(probable
                  .zero(difference(mul(exp2(mul(c(Rational(1, 3)), x(0))),
                                       exp2(mul(c(Rational(2, 3)), x(0)))),
                                   exp2(x(0))),
                        Budget())
                  .has_value());
  EXPECT_FALSE(probable.zero(difference(sqrt(s), s), Budget()).has_value());
  EXPECT_FALSE(probable.zero(difference(sqrt(s), add(x(0), c(1))), Budget()).has_value());
}

TEST_F(Tiers, WordsByZ3) {
  const Term a = mask(0), b = mask(1);
  const Term exclusive = store.make(Kind::BvXor, {a, b});
  const Term either = store.make(Kind::BvOr, {a, b}), both = store.make(Kind::BvAnd, {a, b});
  const Term minus_both = store.make(Kind::BvMul, {word(255, 8), both});
  EXPECT_PROVED(exclusive, store.make(Kind::BvAdd, {either, minus_both}));
  EXPECT_REFUTED(exclusive, either);
}

TEST_F(Tiers, OrderQuestions) {
  // The median of three by two networks.
  const Term median = max(min(x(0), x(1)), min(max(x(0), x(1)), x(2)));
  const Term other = min(max(x(1), x(2)), max(min(x(1), x(2)), x(0)));
  EXPECT_PROVED(median, other);
  EXPECT_REFUTED(median, max(min(x(0), x(1)), min(x(1), x(2))));
}

}  // namespace
}  // namespace coequal::decide
