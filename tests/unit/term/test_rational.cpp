// Exact rationals: texts, doubles, roots; expectations by arithmetic.
#include <gtest/gtest.h>

#include <cmath>

#include "base/check.h"
#include "term/rational.h"

namespace coequal::term {
namespace {

TEST(Rational, ReadsExactDecimals) {
  EXPECT_EQ(Rational::from_text("-12"), Rational(-12));
  EXPECT_EQ(Rational::from_text("3/4"), Rational(3, 4));
  EXPECT_EQ(Rational::from_text("-6/8"), Rational(-3, 4));
  EXPECT_EQ(Rational::from_text("0.1"), Rational(1, 10));
  EXPECT_EQ(Rational::from_text("1e-5"), Rational(1, 100000));
  EXPECT_EQ(Rational::from_text("-2.50E2"), Rational(-250));
  EXPECT_EQ(Rational::from_text(".5"), Rational(1, 2));
}

TEST(Rational, RejectsWhatIsNotANumber) {
  for (const char* text :
       {"", "-", "1/0", "1/", "a", "1.2.3", "1e", "e5", "0x10", "1 ", "1e999999", "."})
    EXPECT_EQ(Rational::from_text(text), std::nullopt) << text;
}

TEST(Rational, DoublesAreExact) {
  EXPECT_EQ(Rational::from_double(0.75), Rational(3, 4));
  EXPECT_EQ(Rational::from_double(-0x1p-1074), -Rational::power_of_two(-1074));
  EXPECT_EQ(Rational::from_double(0.1), Rational(3602879701896397) * Rational::power_of_two(-55));
  EXPECT_EQ(Rational(1, 10).to_double(), 0.1);
  EXPECT_EQ(Rational::power_of_two(2000).to_double(), HUGE_VAL);
  EXPECT_THROW(Rational::from_double(HUGE_VAL), InternalError);
}

TEST(Rational, FloorPowersAndRoots) {
  EXPECT_EQ(Rational(-7, 2).floor(), Rational(-4));
  EXPECT_EQ(Rational(7, 2).floor(), Rational(3));
  EXPECT_EQ(Rational(2, 3).pow(-3), Rational(27, 8));
  EXPECT_EQ(Rational(9, 16).exact_sqrt(), Rational(3, 4));
  EXPECT_EQ(Rational(2).exact_sqrt(), std::nullopt);
  EXPECT_EQ(Rational(-4).exact_sqrt(), std::nullopt);
  EXPECT_THROW(Rational(0).pow(-1), InternalError);
  EXPECT_THROW(Rational(1) / Rational(0), InternalError);
}

TEST(Rational, GrowsBeyondAWord) {
  const Rational big = Rational(3).pow(200);
  EXPECT_EQ(big / Rational(3).pow(199), Rational(3));
  EXPECT_EQ(big.as_int64(), std::nullopt);
  EXPECT_EQ((big - big + Rational(5)).as_int64(), 5);
  EXPECT_EQ(Rational(1, 3).as_int64(), std::nullopt);
  EXPECT_EQ(big.hash(), (Rational(9).pow(100)).hash());
  EXPECT_NE(big.hash(), (-big).hash());
}

}  // namespace
}  // namespace coequal::term
