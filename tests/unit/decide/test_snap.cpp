// Which rounded constants are read as what.
#include <cmath>

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

TEST_F(Snaps, SmallMultiplesAndRootsToo) {
  for (const auto& [value, name] :
       {std::pair(2.302585093f, "ln(10)"), std::pair(0.6666666667f, "2/3"),
        std::pair(0.86602540378f, "sqrt(3/4)"), std::pair(2.50662827463f, "2 sqrt(pi/2)")}) {
    EXPECT_EQ(meaning(f32(value)), name);
    // The neighbours in floats stand for something else, if for anything.
    EXPECT_NE(meaning(f32(std::nextafter(value, 0.0f))), name);
    EXPECT_NE(meaning(f32(std::nextafter(value, 100.0f))), name);
  }
  EXPECT_EQ(meaning(f32(1.7724538509f)), "sqrt(pi)");
  EXPECT_EQ(meaning(f32(0.0174532925f)), "1/180 pi");
  EXPECT_EQ(meaning(f32(57.2957795131f)), "180 1/pi");
  EXPECT_EQ(meaning(f64(2.302585092994045684)), "ln(10)");
  EXPECT_EQ(meaning(f64(0.017453292519943295769)), "1/180 pi");
  EXPECT_EQ(meaning(f64(2.0 / 3.0)), "2/3");
}

TEST_F(Snaps, ProductsOfLiterals) {
  // Rounded once more by the compiler, or kept by the terms' own folding.
  EXPECT_EQ(meaning(f32(0.3f * 1.44269504f)), "3/10 log2(e)");
  EXPECT_EQ(meaning(f64(double{0.3f} * double{1.44269504f})), "3/10 log2(e)");
  EXPECT_EQ(meaning(f32(0.3001f * 1.44269504f)), "");
  // The root of the rounded square is one unit below the nearest float.
  EXPECT_EQ(meaning(f32(std::sqrt(2.0f / 3.14159265358979f))), "sqrt(2/pi)");
}

TEST_F(Snaps, ASecondLiteralContinuesTheFirst) {
  const Term whole = mul(store.symbol(NamedConstant::Pi), x());
  const auto split = [&](float high, float low) {
    return add(mul(f32(high), x()), mul(f32(low), x()));
  };
  EXPECT_PROVED(split(3.14159274f, -8.74227766e-8f), whole);
  // 3.140625 is not read as pi: the second literal is all the rest.
  EXPECT_PROVED(split(3.140625f, 9.67653589793e-4f), whole);
  EXPECT_NE(outcome(split(3.140625f, 9.6766e-4f), whole), Outcome::Proved);
}

TEST_F(Snaps, DifferencesWithinTheRoundingOfLiteralsAreNone) {
  // Neither literal is known; as reals the sum of the first two may be the third.
  const Term sum = add(mul(f32(0.12345671f), x()), mul(f32(0.34567891f), x()));
  const auto product = [&](float c) { return mul(f32(c), x()); };
  EXPECT_EQ(outcome(sum, product(0.12345671f + 0.34567891f)), Outcome::Undecided);
  EXPECT_REFUTED(sum, product(0.4691358f));
  EXPECT_REFUTED(product(0.12345671f), product(std::nextafter(0.12345671f, 1.0f)));
  // What both sides share explains nothing.
  const Term five = add(add(add(sum, mul(f32(0.78912345f), y())), mul(f32(0.91234567f), z())),
                        mul(f32(0.56789123f), mul(x(), y())));
  EXPECT_REFUTED(five, add(five, mul(c(Rational::power_of_two(-40)), z())));
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
