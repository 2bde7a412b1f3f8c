// Which rounded constants are read as what.
#include "decide/snap.h"
#include "fixture.h"

namespace coequal::decide {
namespace {

using term::Kind;
using term::NamedConstant;
using term::Rational;
using term::Term;

class Snaps : public ::testing::Test, public Terms {
 protected:
  Term f32(float value) { return c(Rational::from_double(value)); }
  Term f64(double value) { return c(Rational::from_double(value)); }
  std::string meaning(const Term& constant) {
    Snapper snap(store);
    std::map<std::string, std::string> ledger;
    snap(mul(x(), constant), ledger);
    return ledger.empty() ? "" : ledger.begin()->second;
  }
};

TEST_F(Snaps, TheNearestFloatOnly) {
  EXPECT_EQ(meaning(f32(1.44269504f)), "log2(e)");
  EXPECT_EQ(meaning(f64(1.4426950408889634)), "log2(e)");
  EXPECT_EQ(meaning(f32(0.1f)), "1/10");
  EXPECT_EQ(meaning(f32(0.4f)), "2/5");
  EXPECT_EQ(meaning(f32(1.0f / 7)), "1/7");
  EXPECT_EQ(meaning(f32(0.044715f)), "8943/200000");
  EXPECT_EQ(meaning(f32(-0.1f)), "-1/10");
  EXPECT_EQ(meaning(f32(0.375f)), "");
  EXPECT_EQ(meaning(f32(3.0f)), "");
  EXPECT_EQ(meaning(f32(0.797885f)),
            "159577/200000");  // six digits: not the float nearest to sqrt(2 / pi)
  EXPECT_EQ(meaning(f32(0.79788456f)), "sqrt(2/pi)");
  EXPECT_EQ(meaning(f32(0.123456789f)), "");  // says no more than its bits
}

TEST_F(Snaps, DecisionsListWhatTheyRead) {
  const Answer answer = decide(exp2(mul(x(), f32(1.44269504f))), exp(x()));
  ASSERT_EQ(answer.outcome, Outcome::Proved) << describe(answer);
  ASSERT_EQ(answer.assumptions.size(), 1u);
  EXPECT_EQ(answer.assumptions[0].name, "constant-snap");
  EXPECT_REFUTED(exp2(mul(x(), f32(1.4427f))), exp(x()));
  EXPECT_PROVED(add(mul(f32(0.505f), x()), mul(f32(0.495f), x())), x());
  EXPECT_REFUTED(mul(f32(0.797885f), x()), mul(store.symbol(NamedConstant::SqrtTwoOverPi), x()));
}

TEST_F(Snaps, WithdrawnMeansBits) {
  options.no_assume.insert("constant-snap");
  EXPECT_REFUTED(mul(f32(0.1f), x()), div(x(), c(10)));
}

TEST_F(Snaps, ComparisonsKeepTheirBits) {
  // Not read as 1/10: at x = the float itself the two comparisons fall apart.
  const Term bits = f32(0.1f);
  EXPECT_REFUTED(select(less(x(), bits), y(), z()), select(less_eq(x(), bits), y(), z()));
  // As reals the thresholds 1/10 and the float differ, though no float lies between them.
  EXPECT_NE(
      outcome(select(less(mul(x(), c(10)), c(1)), y(), z()), select(less(x(), bits), y(), z())),
      Outcome::Proved);
}

TEST_F(Snaps, EqualAsWrittenNeedsNone) {
  const Answer answer =
      decide(mul(f32(0.1f), add(x(), y())), add(mul(f32(0.1f), x()), mul(f32(0.1f), y())));
  ASSERT_EQ(answer.outcome, Outcome::Proved);
  EXPECT_TRUE(answer.assumptions.empty());
}

}  // namespace
}  // namespace coequal::decide
