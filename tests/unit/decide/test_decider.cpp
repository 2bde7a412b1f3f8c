// Decisions on small terms: what must be proved, what must not, and why.
#include "fixture.h"

namespace coequal::decide {
namespace {

using term::Kind;
using term::Rational;
using term::Term;

class Decisions : public ::testing::Test, public Terms {};

TEST_F(Decisions, IdenticalTermsAreProved) {
  EXPECT_EQ(decide(add(x(), y()), add(x(), y())).procedure, "identical");
}

TEST_F(Decisions, UndefinedEverywhereIsNotProved) {
  const Term t = log2(sub(c(-1), mul(x(), x())));
  const Answer answer = decide(t, t);
  EXPECT_EQ(answer.outcome, Outcome::Undecided);
  EXPECT_EQ(answer.reason, "empty-domain");
}

TEST_F(Decisions, RootOfASquareIsTheAbsoluteValue) {
  EXPECT_REFUTED(sqrt(mul(x(), x())), x());
  EXPECT_PROVED(sqrt(mul(x(), x())), abs(x()));
  EXPECT_PROVED(sqrt(mul(p(), p())), p());
  EXPECT_PROVED(mul(sqrt(p()), sqrt(p())), p());
  EXPECT_REFUTED(sqrt(mul(x(), mul(x(), mul(x(), x())))), mul(c(-1), mul(x(), x())));
}

TEST_F(Decisions, RootOfAProductIsNotTheProductOfRoots) {
  // sqrt(x y) is defined for two negative numbers, sqrt(x) sqrt(y) is not; where both are they
  // agree.
  const Answer answer = decide(sqrt(mul(x(), y())), mul(sqrt(x()), sqrt(y())));
  EXPECT_NE(answer.outcome, Outcome::Refuted) << describe(answer);
  options.no_assume.insert("domain-exclusion");
  EXPECT_NE(outcome(sqrt(mul(x(), y())), mul(sqrt(x()), sqrt(y()))), Outcome::Proved);
}

TEST_F(Decisions, CancelledDivisorIsAnExclusion) {
  const Answer answer = decide(div(mul(x(), x()), x()), x());
  ASSERT_EQ(answer.outcome, Outcome::Proved) << describe(answer);
  ASSERT_EQ(answer.exclusions.size(), 1u);
  EXPECT_EQ(answer.exclusions[0].condition, "x[0] = 0");
  EXPECT_EQ(answer.exclusions[0].side, "a");
  EXPECT_TRUE(answer.exclusions[0].sample.has_value());
}

TEST_F(Decisions, WithdrawnDomainExclusionRefutes) {
  options.no_assume.insert("domain-exclusion");
  const Answer answer = decide(div(mul(x(), x()), x()), x());
  ASSERT_EQ(answer.outcome, Outcome::Refuted) << describe(answer);
  EXPECT_TRUE(answer.refutation->one_side_undefined);
  EXPECT_EQ(answer.refutation->undefined_side, "a");
}

TEST_F(Decisions, AGuardedDivisorExcludesNothing) {
  const Term guarded = select(equal(y(), c(0)), c(0), div(x(), y()));
  const Answer answer = decide(add(guarded, guarded), mul(c(2), guarded));
  ASSERT_EQ(answer.outcome, Outcome::Proved) << describe(answer);
  EXPECT_TRUE(answer.exclusions.empty());
  // Without the guard the input y = 0 is excluded, with another value at y = 0 it is found.
  EXPECT_EQ(decide(guarded, div(x(), y())).outcome, Outcome::Proved);
  EXPECT_REFUTED(guarded, select(equal(y(), c(0)), c(1), div(x(), y())));
}

TEST_F(Decisions, AlgebraicIdentities) {
  EXPECT_PROVED(mul(add(x(), y()), add(x(), y())),
                add(add(mul(x(), x()), mul(c(2), mul(x(), y()))), mul(y(), y())));
  EXPECT_PROVED(mul(add(x(), y()), sub(x(), y())), sub(mul(x(), x()), mul(y(), y())));
  EXPECT_PROVED(add(div(x(), p()), div(y(), p())), div(add(x(), y()), p()));
  EXPECT_PROVED(sub(c(1), div(x(0), add(p(0), p(1)))),
                div(sub(add(p(0), p(1)), x(0)), add(p(0), p(1))));
  EXPECT_REFUTED(mul(add(x(), y()), add(x(), y())), add(mul(x(), x()), mul(y(), y())));
  EXPECT_REFUTED(add(x(), c(Rational(1, 1000000))), x());
}

TEST_F(Decisions, ExponentialLaws) {
  EXPECT_PROVED(exp(add(x(), y())), mul(exp(x()), exp(y())));
  EXPECT_PROVED(mul(exp(x()), exp(neg(x()))), c(1));
  EXPECT_PROVED(log2(exp2(mul(x(), y()))), mul(x(), y()));
  EXPECT_PROVED(exp2(log2(p())), p());
  EXPECT_PROVED(exp2(mul(c(Rational(1, 2)), x())), sqrt(exp2(x())));
  EXPECT_PROVED(log2(mul(p(0), p(1))), add(log2(p(0)), log2(p(1))));
  EXPECT_PROVED(tanh(x()), div(sub(exp(mul(c(2), x())), c(1)), add(exp(mul(c(2), x())), c(1))));
  EXPECT_PROVED(div(c(1), add(c(1), exp(neg(x())))),
                mul(c(Rational(1, 2)), add(c(1), tanh(mul(c(Rational(1, 2)), x())))));
  EXPECT_REFUTED(exp(add(x(), y())), add(exp(x()), exp(y())));
  EXPECT_REFUTED(exp2(mul(x(), y())), mul(exp2(x()), exp2(y())));
}

TEST_F(Decisions, LogarithmOfASquareNeedsTheAbsoluteValue) {
  EXPECT_PROVED(log2(mul(x(), x())), mul(c(2), log2(abs(x()))));
  const Answer answer = decide(log2(mul(x(), x())), mul(c(2), log2(x())));
  ASSERT_EQ(answer.outcome, Outcome::Proved) << describe(answer);  // where x > 0
  ASSERT_FALSE(answer.exclusions.empty());
}

TEST_F(Decisions, MaximaTakePositiveFactorsOnly) {
  EXPECT_PROVED(max(mul(c(2), x()), mul(c(2), y())), mul(c(2), max(x(), y())));
  EXPECT_PROVED(max(mul(p(), x()), mul(p(), y())), mul(p(), max(x(), y())));
  EXPECT_REFUTED(max(mul(z(), x()), mul(z(), y())), mul(z(), max(x(), y())));
  EXPECT_PROVED(neg(max(neg(x()), neg(y()))), min(x(), y()));
  EXPECT_PROVED(max(x(0), max(x(1), x(2))), max(max(x(2), x(0)), max(x(1), x(0))));
  EXPECT_PROVED(max(exp(x()), c(0)), exp(x()));
  EXPECT_PROVED(max(x(), neg(x())), abs(x()));
}

TEST_F(Decisions, SelectsOfComparisons) {
  EXPECT_PROVED(select(less(x(), y()), y(), x()), max(x(), y()));
  EXPECT_PROVED(select(less_eq(x(), y()), y(), x()), max(x(), y()));
  EXPECT_PROVED(select(less(c(0), x()), x(), c(0)), max(x(), c(0)));
  EXPECT_PROVED(select(less(x(), c(0)), mul(c(Rational(1, 100)), x()), x()),
                max(x(), mul(c(Rational(1, 100)), x())));
  EXPECT_REFUTED(select(less(x(), y()), x(), y()), max(x(), y()));
  // The threshold itself: x = 1 goes to different sides.
  EXPECT_REFUTED(select(less(x(), c(1)), c(0), y()), select(less_eq(x(), c(1)), c(0), y()));
}

TEST_F(Decisions, AbsoluteValues) {
  EXPECT_PROVED(mul(abs(x()), abs(x())), mul(x(), x()));
  EXPECT_PROVED(abs(mul(x(), y())), mul(abs(x()), abs(y())));
  EXPECT_PROVED(abs(mul(c(-3), p())), mul(c(3), p()));
  EXPECT_REFUTED(abs(x()), x());
  EXPECT_REFUTED(abs(add(x(), y())), add(abs(x()), abs(y())));
}

TEST_F(Decisions, Softmax) {
  const int n = 40;
  Term m = x(0);
  for (int i = 1; i < n; ++i) m = max(m, x(i));
  std::vector<Term> e;
  for (int i = 0; i < n; ++i) e.push_back(exp(sub(x(i), m)));
  const Term two_pass = div(exp(sub(x(3), m)), tree(e));
  Term running = x(0), d = c(1), unscaled = c(1);
  for (int i = 1; i < n; ++i) {
    const Term next = max(running, x(i));
    d = add(mul(d, exp(sub(running, next))), exp(sub(x(i), next)));
    unscaled = add(unscaled, exp(sub(x(i), next)));
    running = next;
  }
  const Answer answer = decide(two_pass, div(exp(sub(x(3), running)), d));
  EXPECT_EQ(answer.outcome, Outcome::Proved) << describe(answer);
  EXPECT_TRUE(answer.exclusions.empty());
  EXPECT_REFUTED(two_pass, div(exp(sub(x(3), running)), unscaled));  // the rescaling is missing
}

TEST_F(Decisions, LayerNorm) {
  const int n = 70;
  std::vector<Term> v, squares, deviations;
  for (int i = 0; i < n; ++i) v.push_back(x(i)), squares.push_back(mul(x(i), x(i)));
  const Term weight = c(Rational(1, n)), eps = c(Rational(1, 100000));
  const Term mean = mul(chain(v), weight);
  for (int i = 0; i < n; ++i) deviations.push_back(mul(sub(x(i), mean), sub(x(i), mean)));
  const Term two_pass =
      mul(sub(x(5), mean), div(c(1), sqrt(add(mul(chain(deviations), weight), eps))));
  const Term mean2 = mul(tree(v), weight);
  const Term moments =
      div(sub(x(5), mean2), sqrt(add(sub(mul(tree(squares), weight), mul(mean2, mean2)), eps)));
  EXPECT_PROVED(two_pass, moments);
  Term m = x(0), q = c(0);
  for (int k = 1; k < n; ++k) {
    const Term delta = sub(x(k), m);
    m = add(m, div(delta, c(k + 1)));
    q = add(q, mul(delta, sub(x(k), m)));
  }
  EXPECT_PROVED(two_pass, div(sub(x(5), m), sqrt(add(div(q, c(n)), eps))));
  EXPECT_REFUTED(two_pass, div(sub(x(5), m), sqrt(add(div(q, c(n - 1)), eps))));
}

TEST_F(Decisions, LabelsAndMasks) {
  std::vector<Term> one_hot, sum;
  for (int k = 0; k < 10; ++k) {
    const Term hit = same_word(label(), word(k, 32));
    sum.push_back(select(hit, x(k), c(0)));
  }
  Term chosen = x(9);
  for (int k = 8; k >= 0; --k) chosen = select(same_word(label(), word(k, 32)), x(k), chosen);
  EXPECT_PROVED(chain(sum), chosen);  // labels are 0 to 9
  Term shifted = x(9);
  for (int k = 8; k >= 0; --k)
    shifted = select(same_word(label(), word(k, 32)), x(k == 4 ? 5 : k), shifted);
  EXPECT_REFUTED(chain(sum), shifted);
  EXPECT_PROVED(mul(select(masked(0), x(), c(0)), y()), select(masked(0), mul(x(), y()), c(0)));
  EXPECT_REFUTED(select(masked(0), x(), c(0)), select(masked(1), x(), c(0)));
}

TEST_F(Decisions, DataMaskedSoftmax) {
  const int n = 6;
  std::vector<Term> s, e;
  for (int i = 0; i < n; ++i) s.push_back(select(masked(i), x(i), store.infinity(true)));
  Term m = s[0];
  for (int i = 1; i < n; ++i) m = max(m, s[static_cast<size_t>(i)]);
  for (int i = 0; i < n; ++i) e.push_back(exp(sub(s[static_cast<size_t>(i)], m)));
  const Term two_pass = div(e[2], chain(e));
  Term running = s[0], d = exp(sub(s[0], s[0]));
  for (int i = 1; i < n; ++i) {
    const Term next = max(running, s[static_cast<size_t>(i)]);
    d = add(mul(d, exp(sub(running, next))), exp(sub(s[static_cast<size_t>(i)], next)));
    running = next;
  }
  const Answer answer = decide(two_pass, div(exp(sub(s[2], running)), d));
  EXPECT_EQ(answer.outcome, Outcome::Proved) << describe(answer);
}

TEST_F(Decisions, CasesAtThresholds) {
  // relu written three ways; hard-swish with clamps in either order.
  EXPECT_PROVED(mul(c(Rational(1, 2)), add(x(), abs(x()))), max(x(), c(0)));
  const Term clamp1 = min(max(add(x(), c(3)), c(0)), c(6)),
             clamp2 = max(min(add(x(), c(3)), c(6)), c(0));
  EXPECT_PROVED(mul(x(), clamp1), mul(x(), clamp2));
  EXPECT_PROVED(select(less(x(), c(-1)), c(-1), select(less(c(1), x()), c(1), x())),
                max(c(-1), min(c(1), x())));
  EXPECT_PROVED(add(max(x(), y()), min(x(), y())), add(x(), y()));
  EXPECT_REFUTED(min(max(x(), c(1)), c(0)), max(min(x(), c(0)), c(1)));
}

TEST_F(Decisions, PoisonIsFollowedThroughSelects) {
  term::Group g;
  g.name = "uninitialised";
  g.kind = term::Group::Kind::Poison;
  const term::GroupId id = store.add_group(g);
  const Term bad = store.leaf(id, {3, 0});
  decide(x(), x());
  const PoisonAnswer reached = decider->poison(select(less(x(), c(1)), y(), bad), Budget(5));
  ASSERT_EQ(reached.kind, PoisonAnswer::Kind::Reached);
  ASSERT_TRUE(reached.cell.has_value());
  EXPECT_EQ(reached.cell->second, 3);
  EXPECT_EQ(decider->poison(mul(c(0), bad), Budget(5)).kind, PoisonAnswer::Kind::Reached);
  EXPECT_EQ(decider->poison(select(less(exp(x()), c(0)), bad, y()), Budget(5)).kind,
            PoisonAnswer::Kind::Never);
  EXPECT_EQ(outcome(add(bad, y()), add(bad, y())), Outcome::Undecided);
}

}  // namespace
}  // namespace coequal::decide
