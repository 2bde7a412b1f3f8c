// Composed functions against the C library, and where they are not defined.
#include <gtest/gtest.h>

#include <cmath>

#include "term/evaluate.h"
#include "term/functions.h"

namespace coequal::term {
namespace {

class Functions : public ::testing::Test {
 protected:
  TermStore s;
  GroupId g = s.add_group({.name = "x"});
  Term x = s.leaf(g, {0, 0}), y = s.leaf(g, {1, 0});

  double at(const Term& t, double a, double b = 0) {
    MapAssignment values;
    values.set_leaf(g, 0, Rational::from_double(a));
    values.set_leaf(g, 1, Rational::from_double(b));
    const Value v = evaluate_ball(s, t, values, 200);
    if (v.kind != Value::Kind::Real) return std::nan("");
    return v.exact ? v.exact->to_double() : v.ball.midpoint();
  }
};

TEST_F(Functions, OfOneArgumentAgreeWithTheLibrary) {
  struct Row {
    Term (*make)(TermStore&, const Term&);
    double (*library)(double);
  };
  const Row rows[] = {
      {make_exp, std::exp},     {make_expm1, std::expm1}, {make_log, std::log},
      {make_log10, std::log10}, {make_log1p, std::log1p}, {make_sinh, std::sinh},
      {make_cosh, std::cosh},   {make_asinh, std::asinh}, {make_acosh, std::acosh},
      {make_atanh, std::atanh}, {make_tan, std::tan},     {make_asin, std::asin},
      {make_acos, std::acos},   {make_erfc, std::erfc},   {make_cbrt, std::cbrt},
  };
  for (const Row& row : rows)
    for (double a : {-2.5, -1.0, -0.75, -0.125, 0.0, 0.25, 0.5, 1.0, 1.5, 7.0}) {
      double want = row.library(a);
      if (!std::isfinite(want)) want = std::nan("");  // poles are not defined
      const double have = at(row.make(s, x), a);
      EXPECT_EQ(std::isnan(have), std::isnan(want)) << &row - rows << " at " << a;
      if (std::isnan(want)) continue;
      EXPECT_NEAR(have, want, 4e-16 * (1 + std::fabs(want))) << &row - rows << " at " << a;
    }
  EXPECT_NEAR(at(make_exp10(s, x), 0.5), std::sqrt(10.0), 1e-15);
  EXPECT_NEAR(at(make_normcdf(s, x), 1), 0.84134474606854294859, 1e-16);
}

TEST_F(Functions, OfTwoArgumentsAgreeWithTheLibrary) {
  struct Row {
    Term (*make)(TermStore&, const Term&, const Term&);
    double (*library)(double, double);
  };
  const Row rows[] = {{make_atan2, std::atan2},
                      {make_hypot, std::hypot},
                      {make_pow, std::pow},
                      {make_fmod, std::fmod},
                      {make_remainder, std::remainder}};
  const double points[] = {-3, -2.5, -1, -0.5, 0, 0.5, 1, 2, 3.25};
  for (const Row& row : rows)
    for (double a : points)
      for (double b : points) {
        double want = row.library(a, b);
        if (!std::isfinite(want)) want = std::nan("");
        const double have = at(row.make(s, x, y), a, b);
        EXPECT_EQ(std::isnan(have), std::isnan(want)) << &row - rows << " at " << a << ", " << b;
        if (std::isnan(want)) continue;
        EXPECT_NEAR(have, want, 4e-16 * (1 + std::fabs(want)))
            << &row - rows << " at " << a << ", " << b;
      }
}

TEST_F(Functions, ConstantPowersAreProductsAndRoots) {
  const Term square = s.make(Kind::Mul, {x, x}), root = s.make(Kind::Sqrt, {x});
  EXPECT_EQ(make_pow(s, x, s.real(2)), square);
  EXPECT_EQ(make_pow(s, x, s.real(0)), s.real(1));
  EXPECT_EQ(make_pow(s, x, s.real(-2)), s.make(Kind::Div, {s.real(1), square}));
  EXPECT_EQ(make_pow(s, x, s.real(Rational(1, 2))), root);
  EXPECT_EQ(make_pow(s, x, s.real(Rational(3, 2))), s.make(Kind::Mul, {x, root}));
  for (double e : {17.0, 0.3, -33.0})
    for (double a : {-1.5, 0.7, 2.0}) {
      const double want = std::pow(a, e);
      const double have = at(make_pow(s, x, s.real(Rational::from_double(e))), a);
      EXPECT_EQ(std::isnan(have), std::isnan(want));
      if (std::isnan(want)) continue;
      EXPECT_NEAR(have, want, 1e-15 * std::fabs(want));
    }
}

}  // namespace
}  // namespace coequal::term
