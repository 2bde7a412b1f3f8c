// Exact, ball and double evaluation; expected values from exact arithmetic and tabulated constants.
#include <gtest/gtest.h>

#include <cmath>

#include "term/evaluate.h"

namespace coequal::term {
namespace {

using K = Value::Kind;

class Evaluate : public ::testing::Test {
 protected:
  TermStore s;
  GroupId g = s.add_group({.name = "x"});
  GroupId w = s.add_group({.name = "n", .dtype = DType::I32, .type = bv(32)});
  GroupId bad = s.add_group({.kind = Group::Kind::Poison, .name = "p"});
  Term x = s.leaf(g, {0, 0}), y = s.leaf(g, {1, 0}), n = s.leaf(w, {0, 0}),
       poison = s.leaf(bad, {0, 0});
  MapAssignment at;

  Term make(Kind kind, std::initializer_list<Term> args, uint64_t payload = 0, int width = 0) {
    return s.make(kind, args, payload, width);
  }
  void set(int cell, Rational value) { at.set_leaf(g, cell, std::move(value)); }
  K exact_kind(const Term& t) {
    const std::optional<Value> v = evaluate_exact(s, t, at);
    return v ? v->kind : K::Unknown;
  }
  Rational exact(const Term& t) {
    const std::optional<Value> v = evaluate_exact(s, t, at);
    EXPECT_TRUE(v && v->exact);
    return v && v->exact ? *v->exact : Rational(0);
  }
  double ball(const Term& t) {
    const Value v = evaluate_ball(s, t, at, 120);
    EXPECT_EQ(v.kind, K::Real);
    return v.exact ? v.exact->to_double() : v.ball.midpoint();
  }
};

TEST_F(Evaluate, RationalArithmeticIsExact) {
  set(0, {1, 3});
  set(1, {-2, 7});
  EXPECT_EQ(exact(make(Kind::Add, {x, y})), Rational(1, 21));
  EXPECT_EQ(exact(make(Kind::Div, {x, y})), Rational(-7, 6));
  EXPECT_EQ(exact(make(Kind::RoundEven, {make(Kind::Mul, {x, s.real({9, 2})})})), Rational(2));
  EXPECT_EQ(exact(make(Kind::CopySign, {x, y})), Rational(-1, 3));
  set(0, {4, 9});
  EXPECT_EQ(exact(make(Kind::Sqrt, {x})), Rational(2, 3));
  set(0, 5);
  EXPECT_EQ(exact(make(Kind::Exp2, {x})), Rational(32));
  EXPECT_EQ(exact_kind(make(Kind::Sqrt, {x})), K::Unknown);
  EXPECT_EQ(exact_kind(make(Kind::Mul, {x, s.symbol(NamedConstant::Pi)})), K::Unknown);
}

TEST_F(Evaluate, UndefinedIsStrictAndGuardsProtect) {
  const Term quotient = make(Kind::Div, {y, x});
  const Term is_zero = make(Kind::Equal, {x, s.real(0)});
  const Term guarded = make(Kind::Select, {is_zero, y, quotient});
  set(0, 0);
  set(1, 3);
  EXPECT_EQ(exact_kind(quotient), K::Undefined);
  EXPECT_EQ(exact_kind(make(Kind::Mul, {quotient, s.real(0)})), K::Undefined);
  EXPECT_EQ(exact_kind(make(Kind::Less, {quotient, y})), K::Undefined);
  EXPECT_EQ(exact_kind(make(Kind::Select, {make(Kind::Less, {quotient, y}), x, y})), K::Undefined);
  EXPECT_EQ(evaluate_exact(s, make(Kind::IsNumber, {quotient}), at)->bits, 0u);
  EXPECT_EQ(exact(guarded), Rational(3));
  EXPECT_EQ(exact_kind(make(Kind::Log2, {x})), K::Undefined);
  const Term decided = make(Kind::And, {make(Kind::Less, {quotient, y}), make(Kind::Less, {y, x})});
  EXPECT_EQ(exact_kind(decided), K::Bool);
  set(0, 2);
  EXPECT_EQ(exact(guarded), Rational(3, 2));
}

TEST_F(Evaluate, PoisonIsStrict) {
  const Term choice = make(Kind::Select, {make(Kind::Less, {x, y}), x, poison});
  set(0, 1);
  set(1, 2);
  EXPECT_EQ(exact(choice), Rational(1));
  EXPECT_EQ(exact_kind(make(Kind::Mul, {poison, s.real(0)})), K::Poison);
  set(0, 3);
  EXPECT_EQ(exact_kind(choice), K::Poison);
  EXPECT_EQ(exact_kind(make(Kind::And, {make(Kind::Less, {x, y}), make(Kind::Less, {poison, y})})),
            K::Poison);
}

TEST_F(Evaluate, InfinitiesFollowTheExtendedReals) {
  const Term masked = make(Kind::Select, {make(Kind::Less, {x, s.real(0)}), s.infinity(true), x});
  set(0, -1);
  EXPECT_EQ(exact_kind(masked), K::MinusInfinity);
  EXPECT_EQ(exact(make(Kind::Exp2, {masked})), Rational(0));
  EXPECT_EQ(exact(make(Kind::Max, {masked, s.real(-7)})), Rational(-7));
  EXPECT_EQ(exact_kind(make(Kind::Add, {masked, make(Kind::Mul, {s.real(-1), masked})})),
            K::Undefined);
  EXPECT_EQ(exact_kind(make(Kind::Mul, {masked, make(Kind::Add, {x, s.real(1)})})), K::Undefined);
}

TEST_F(Evaluate, BallsEncloseIrrationalValues) {
  set(0, {1, 2});
  set(1, 2);
  EXPECT_DOUBLE_EQ(ball(make(Kind::Exp2, {x})), M_SQRT2);
  EXPECT_DOUBLE_EQ(ball(make(Kind::Sqrt, {y})), M_SQRT2);
  EXPECT_DOUBLE_EQ(ball(make(Kind::Log2, {make(Kind::Add, {y, s.real(1)})})), std::log2(3.0));
  EXPECT_DOUBLE_EQ(ball(make(Kind::Tanh, {x})), std::tanh(0.5));
  EXPECT_DOUBLE_EQ(ball(make(Kind::Erf, {x})), std::erf(0.5));
  EXPECT_DOUBLE_EQ(ball(make(Kind::Sin, {x})), std::sin(0.5));
  EXPECT_DOUBLE_EQ(ball(make(Kind::Cos, {x})), std::cos(0.5));
  EXPECT_DOUBLE_EQ(ball(make(Kind::Exp2, {make(Kind::Mul, {x, s.symbol(NamedConstant::Log2E)})})),
                   std::exp(0.5));
  EXPECT_EQ(ball(make(Kind::Floor, {make(Kind::Exp2, {x})})), 1);
  EXPECT_DOUBLE_EQ(evaluate_double(s, make(Kind::Sqrt, {y}), at), M_SQRT2);
  EXPECT_TRUE(
      std::isnan(evaluate_double(s, make(Kind::Sqrt, {make(Kind::Mul, {s.real(-1), y})}), at)));
}

TEST_F(Evaluate, SpecialFunctionsAtTabulatedPoints) {
  set(0, {1, 2});
  set(1, {-3, 2});
  const double root_pi = 1.77245385090551602730;  // gamma(1/2)
  EXPECT_DOUBLE_EQ(ball(make(Kind::Atan, {y})), std::atan(-1.5));
  EXPECT_DOUBLE_EQ(ball(make(Kind::ErfInv, {make(Kind::Erf, {x})})), 0.5);
  EXPECT_DOUBLE_EQ(ball(make(Kind::ErfInv, {x})), 0.47693627620446987338);
  EXPECT_DOUBLE_EQ(ball(make(Kind::Gamma, {x})), root_pi);
  EXPECT_DOUBLE_EQ(ball(make(Kind::Gamma, {y})), root_pi * 4 / 3);  // gamma(x + 1) = x gamma(x)
  EXPECT_DOUBLE_EQ(ball(make(Kind::LogGamma, {x})), std::log(root_pi));
  EXPECT_DOUBLE_EQ(ball(make(Kind::LogGamma, {y})), std::log(root_pi * 4 / 3));
  EXPECT_EQ(exact_kind(make(Kind::ErfInv, {y})), K::Undefined);
  set(1, 3);
  EXPECT_DOUBLE_EQ(ball(make(Kind::LogGamma, {y})), M_LN2);
  set(1, -3);
  EXPECT_EQ(exact_kind(make(Kind::Gamma, {y})), K::Undefined);
  EXPECT_EQ(exact_kind(make(Kind::LogGamma, {y})), K::Undefined);
}

TEST_F(Evaluate, NamedConstantsHaveTheirValues) {
  const std::pair<NamedConstant, double> kTable[] = {
      {NamedConstant::Log2E, M_LOG2E},
      {NamedConstant::Ln2, M_LN2},
      {NamedConstant::Log10_2, M_LN2 / M_LN10},
      {NamedConstant::Log2_10, M_LN10 / M_LN2},
      {NamedConstant::InvLn10, M_LOG10E},
      {NamedConstant::Pi, M_PI},
      {NamedConstant::InvPi, M_1_PI},
      {NamedConstant::TwoOverPi, M_2_PI},
      {NamedConstant::HalfPi, M_PI_2},
      {NamedConstant::InvSqrt2, M_SQRT1_2},
      {NamedConstant::Sqrt2, M_SQRT2},
      {NamedConstant::SqrtTwoOverPi, 0.79788456080286535588},
      {NamedConstant::InvSqrtPi, M_2_SQRTPI / 2},
      {NamedConstant::TwoOverSqrtPi, M_2_SQRTPI},
      {NamedConstant::InvSqrtTwoPi, 0.39894228040143267794}};
  for (auto [constant, value] : kTable) EXPECT_NEAR(ball(s.symbol(constant)), value, 1e-15);
}

TEST_F(Evaluate, UndecidedComparisonsStayOpen) {
  // sqrt(2)^2 is 2, which balls cannot show.
  set(0, 2);
  const Term square = make(Kind::Mul, {make(Kind::Sqrt, {x}), make(Kind::Sqrt, {x})});
  EXPECT_EQ(evaluate_ball(s, make(Kind::Less, {square, x}), at, 200).kind, K::Undecided);
  EXPECT_EQ(evaluate_ball(s, make(Kind::Less, {square, s.real({21, 10})}), at, 64).bits, 1u);
  EXPECT_EQ(same_value(evaluate_ball(s, square, at, 100), evaluate_ball(s, x, at, 100)),
            std::nullopt);
  EXPECT_EQ(same_value(evaluate_ball(s, square, at, 100), evaluate_ball(s, s.real(3), at, 100)),
            false);
  // A pole that the ball may contain: not known to be defined.
  const Term difference = make(Kind::Add, {square, s.real(-2)});
  EXPECT_EQ(evaluate_ball(s, make(Kind::Div, {s.real(1), difference}), at, 100).kind, K::Unknown);
  // Both arms of an undecided select.
  const Term select = make(Kind::Select, {make(Kind::Less, {square, x}), s.real(1), s.real(3)});
  const Value hull = evaluate_ball(s, select, at, 100);
  ASSERT_EQ(hull.kind, K::Real);
  EXPECT_LE(hull.ball.midpoint() - hull.ball.radius(), 1);
  EXPECT_GE(hull.ball.midpoint() + hull.ball.radius(), 3);
}

TEST_F(Evaluate, WordsAndKnownCells) {
  at.set_leaf(w, 0, -3);
  EXPECT_EQ(exact(make(Kind::RealOfSigned, {n})), Rational(-3));
  EXPECT_EQ(exact(make(Kind::RealOfUnsigned, {n})), Rational(4294967293));
  EXPECT_EQ(exact_kind(make(Kind::BvUdiv, {n, make(Kind::BvXor, {n, s.bits(0xfffffffd, 32)})})),
            K::Undefined);
  const GroupId iota = s.add_group({.kind = Group::Kind::Iota, .name = "iota", .type = bv(64)});
  EXPECT_EQ(exact(make(Kind::RealOfSigned, {s.leaf(iota, {41, 0})})), Rational(41));
  const GroupId known = s.add_group({.kind = Group::Kind::Known,
                                     .name = "table",
                                     .values = std::make_shared<std::vector<Rational>>(
                                         std::vector<Rational>{Rational(7), Rational(1, 3)})});
  EXPECT_EQ(exact(make(Kind::Exp2, {s.leaf(known, {0, 0})})), Rational(128));
  EXPECT_EQ(exact(s.leaf(known, {1, 0})), Rational(1, 3));
}

TEST_F(Evaluate, LongChainsNeedNoCallStack) {
  Term sum = x;
  for (int i = 0; i < 200000; ++i)
    sum = make(Kind::Add, {make(Kind::Mul, {sum, s.real({1, 2})}), y});
  set(0, 0);
  set(1, 1);
  EXPECT_NEAR(ball(sum), 2, 1e-15);
}

TEST(RandomAssignment, RespectsBoundsAndOrder) {
  TermStore s;
  const GroupId unit =
      s.add_group({.name = "u", .bounds = {.above = Rational(0), .below = Rational(1)}});
  const GroupId index = s.add_group({.name = "i",
                                     .dtype = DType::I64,
                                     .type = bv(64),
                                     .bounds = {.min = Rational(-2), .max = Rational(2)}});
  const GroupId sorted = s.add_group({.name = "s", .sorted = true});
  const GroupId flag = s.add_group({.name = "b", .dtype = DType::Bool, .type = bv(8)});
  const RandomAssignment at(s, 1), other(s, 2);
  bool low = false, high = false, differs = false;
  for (int cell = 0; cell < 200; ++cell) {
    EXPECT_GT(at.leaf(unit, cell), Rational(0));
    EXPECT_LT(at.leaf(unit, cell), Rational(1));
    const Rational i = at.leaf(index, cell);
    EXPECT_TRUE(i.is_integer() && i >= Rational(-2) && i <= Rational(2));
    low = low || i == Rational(-2);
    high = high || i == Rational(2);
    EXPECT_LT(at.leaf(sorted, cell), at.leaf(sorted, cell + 1));
    EXPECT_TRUE(at.leaf(flag, cell) == Rational(0) || at.leaf(flag, cell) == Rational(1));
    differs = differs || at.leaf(unit, cell) != other.leaf(unit, cell);
  }
  EXPECT_TRUE(low && high && differs);
}

}  // namespace
}  // namespace coequal::term
