// Modular images: the primes, identities that must hold, differences that must show, and agreement
// of the intervals.
#include <flint/ulong_extras.h>
#include <gtest/gtest.h>

#include "term/evaluate.h"
#include "term/modular.h"

namespace coequal::term {
namespace {

using K = ModularValue::Kind;

TEST(ModularFields, ArePairsOfPrimes) {
  for (int i = 0; i < kModularFields; ++i) {
    const auto [p, q] = modular_field(i);
    EXPECT_TRUE(n_is_prime(p)) << i;
    EXPECT_TRUE(n_is_prime(q)) << i;
    EXPECT_EQ(p, 2 * q + 1);
    EXPECT_EQ(p % 16, 15u);
    EXPECT_GT(p, 1ull << 60);
    EXPECT_LT(p, 1ull << 61);
  }
}

class Modular : public ::testing::TestWithParam<int> {
 protected:
  TermStore s;
  GroupId g = s.add_group({.name = "x"});
  GroupId positive = s.add_group({.name = "a", .bounds = {.above = Rational(0)}});
  Term x = s.leaf(g, {0, 0}), y = s.leaf(g, {1, 0}), z = s.leaf(g, {2, 0}),
       a = s.leaf(positive, {0, 0});
  RandomAssignment at{s, static_cast<uint64_t>(GetParam())};

  Term make(Kind kind, std::initializer_list<Term> args) { return s.make(kind, args); }
  Term add(const Term& p, const Term& q) { return make(Kind::Add, {p, q}); }
  Term mul(const Term& p, const Term& q) { return make(Kind::Mul, {p, q}); }
  Term div(const Term& p, const Term& q) { return make(Kind::Div, {p, q}); }
  Term exp2(const Term& p) { return make(Kind::Exp2, {p}); }
  Term exp(const Term& p) { return exp2(mul(p, s.symbol(NamedConstant::Log2E))); }
  std::optional<bool> same(const Term& p, const Term& q) {
    ModularEvaluator e = make_modular_evaluator(s, at, GetParam() % kModularFields, 77);
    const ModularValue v = e(p);
    return same_image(v, e(q));
  }
};

TEST_P(Modular, IdentitiesHold) {
  EXPECT_EQ(
      same(mul(add(x, y), add(x, y)), add(add(mul(x, x), mul(y, y)), mul(s.real(2), mul(x, y)))),
      true);
  EXPECT_EQ(
      same(div(add(mul(x, x), mul(s.real(-1), mul(y, y))), add(x, y)), add(x, mul(s.real(-1), y))),
      true);
  EXPECT_EQ(same(exp2(add(x, y)), mul(exp2(x), exp2(y))), true);
  EXPECT_EQ(
      same(mul(exp2(div(x, s.real(3))), mul(exp2(div(x, s.real(3))), exp2(div(x, s.real(3))))),
           exp2(x)),
      true);
  EXPECT_EQ(same(exp2(add(x, s.real(3))), mul(s.real(8), exp2(x))), true);
  EXPECT_EQ(same(mul(exp(x), exp(mul(s.real(-1), x))), s.real(1)), true);
  // softmax with and without the maximum.
  const Term m = make(Kind::Max, {x, make(Kind::Max, {y, z})}), minus = mul(s.real(-1), m);
  const Term plain = div(exp(x), add(exp(x), add(exp(y), exp(z))));
  const Term shifted =
      div(exp(add(x, minus)), add(exp(add(x, minus)), add(exp(add(y, minus)), exp(add(z, minus)))));
  EXPECT_EQ(same(plain, shifted), true);
  EXPECT_EQ(same(make(Kind::Max, {make(Kind::Max, {z, y}), x}), m), true);
  // tanh and the logistic function by exponentials.
  const Term e = exp(mul(s.real(2), x));
  EXPECT_EQ(same(make(Kind::Tanh, {x}), div(add(e, s.real(-1)), add(e, s.real(1)))), true);
  EXPECT_EQ(same(make(Kind::Tanh, {mul(s.real(-1), x)}), mul(s.real(-1), make(Kind::Tanh, {x}))),
            true);
  const Term sine = make(Kind::Sin, {x}), cosine = make(Kind::Cos, {x});
  EXPECT_EQ(same(add(mul(sine, sine), mul(cosine, cosine)), s.real(1)), true);
  EXPECT_EQ(same(make(Kind::Erf, {mul(s.real(-1), x)}), mul(s.real(-1), make(Kind::Erf, {x}))),
            true);
  for (Kind odd : {Kind::Atan, Kind::ErfInv}) {
    const Term small = div(x, add(s.real(1), mul(x, x)));
    EXPECT_EQ(same(make(odd, {mul(s.real(-1), small)}), mul(s.real(-1), make(odd, {small}))), true);
  }
  const Term root = make(Kind::Sqrt, {a});
  EXPECT_EQ(same(mul(root, make(Kind::Sqrt, {add(a, s.real(1))})),
                 make(Kind::Sqrt, {mul(a, add(a, s.real(1)))})),
            true);
  EXPECT_EQ(same(mul(s.symbol(NamedConstant::Ln2), s.symbol(NamedConstant::Log2E)), s.real(1)),
            true);
  EXPECT_EQ(
      same(mul(s.symbol(NamedConstant::SqrtTwoOverPi), s.symbol(NamedConstant::SqrtTwoOverPi)),
           s.symbol(NamedConstant::TwoOverPi)),
      true);
  EXPECT_EQ(
      same(make(Kind::Sqrt, {s.symbol(NamedConstant::InvPi)}), s.symbol(NamedConstant::InvSqrtPi)),
      true);
}

TEST_P(Modular, DifferencesShow) {
  EXPECT_EQ(same(mul(x, y), mul(x, z)), false);
  EXPECT_EQ(same(add(x, s.real({1, 1000000007})), x), false);
  EXPECT_EQ(same(exp2(mul(x, y)), mul(exp2(x), exp2(y))), false);
  EXPECT_EQ(same(exp(x), exp2(x)), false);
  EXPECT_EQ(same(make(Kind::Max, {x, y}), make(Kind::Min, {x, y})), false);
  EXPECT_EQ(same(make(Kind::Sin, {x}), make(Kind::Cos, {x})), false);
  EXPECT_EQ(same(make(Kind::Log2, {a}), make(Kind::Log2, {add(a, s.real(1))})), false);
  EXPECT_EQ(same(make(Kind::Gamma, {a}), make(Kind::LogGamma, {a})), false);
  EXPECT_EQ(same(s.real(1), s.boolean(true)), false);
}

TEST_P(Modular, OrderAndDefinednessFollowTheRealValue) {
  ModularEvaluator e = make_modular_evaluator(s, at, GetParam() % kModularFields, 5);
  const Value real_x = evaluate_ball(s, x, at, 64), real_y = evaluate_ball(s, y, at, 64);
  EXPECT_EQ(e(make(Kind::Less, {x, y})).bits != 0, *real_x.exact < *real_y.exact);
  EXPECT_EQ(e(make(Kind::Log2, {mul(s.real(-1), a)})).kind, K::Undefined);
  EXPECT_EQ(e(div(x, add(mul(x, y), mul(mul(s.real(-1), y), x)))).kind, K::Undefined);
  EXPECT_EQ(e(make(Kind::Floor, {s.leaf(g, {9, 0})})).p, e(s.real(at.leaf(g, 9).floor())).p);
  EXPECT_EQ(e(make(Kind::Less, {exp2(add(x, y)), mul(exp2(x), exp2(y))})).bits, 0u);
  const Term masked = make(Kind::Select, {make(Kind::Less, {a, s.real(0)}), x, s.infinity(true)});
  EXPECT_EQ(e(masked).kind, K::MinusInfinity);
  EXPECT_EQ(e(add(masked, mul(s.real(-1), masked))).kind, K::Undefined);
}

TEST_P(Modular, IntervalsEncloseTheBall) {
  const Term beyond_doubles = mul(exp2(mul(s.real(500), x)), exp2(mul(s.real(600), y)));
  const Term terms[] = {exp(x),
                        make(Kind::Tanh, {y}),
                        make(Kind::Sin, {mul(x, s.real(40))}),
                        make(Kind::Erf, {x}),
                        make(Kind::Atan, {mul(x, s.real(5))}),
                        make(Kind::Log2, {a}),
                        make(Kind::Sqrt, {a}),
                        div(x, add(mul(y, y), s.real({1, 3}))),
                        beyond_doubles,
                        s.symbol(NamedConstant::InvSqrtTwoPi),
                        make(Kind::Cos, {div(s.real(1), a)})};
  ModularEvaluator e = make_modular_evaluator(s, at, 0, 5);
  for (const Term& t : terms) {
    const ModularValue v = e(t);
    const Value b = evaluate_ball(s, t, at, 200);
    ASSERT_EQ(v.kind, K::Real);
    ASSERT_EQ(b.kind, Value::Kind::Real);
    const Ball value = b.exact ? Ball(*b.exact, 200) : b.ball;
    if (std::isfinite(v.real.low)) {
      EXPECT_TRUE(surely_at_most(Ball(Rational::from_double(v.real.low), 200), value));
    }
    if (std::isfinite(v.real.high)) {
      EXPECT_TRUE(surely_at_most(value, Ball(Rational::from_double(v.real.high), 200)));
    }
    if (t != beyond_doubles) {
      EXPECT_LT(v.real.high - v.real.low, 1e-9 * (1 + std::fabs(v.real.low)));
    }
  }
}

TEST_P(Modular, OneSidedIntervalsEncloseTheBall) {
  const Term terms[] = {make(Kind::ErfInv, {div(x, add(s.real(1), mul(x, x)))}),
                        make(Kind::Gamma, {a}), make(Kind::LogGamma, {a})};
  ModularEvaluator e = make_modular_evaluator(s, at, 0, 5);
  for (const Term& t : terms) {
    const ModularValue v = e(t);
    const Value b = evaluate_ball(s, t, at, 200);
    ASSERT_EQ(v.kind, K::Real);
    ASSERT_EQ(b.kind, Value::Kind::Real);
    const Ball value = b.exact ? Ball(*b.exact, 200) : b.ball;
    if (std::isfinite(v.real.low)) {
      EXPECT_TRUE(surely_at_most(Ball(Rational::from_double(v.real.low), 200), value));
    }
    if (std::isfinite(v.real.high)) {
      EXPECT_TRUE(surely_at_most(value, Ball(Rational::from_double(v.real.high), 200)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Modular, ::testing::Range(0, 16));

}  // namespace
}  // namespace coequal::term
