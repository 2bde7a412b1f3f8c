// Definedness conditions: literal cases, and agreement with evaluation on random programs.
#include <gtest/gtest.h>

#include <random>

#include "term/definedness.h"
#include "term/evaluate.h"

namespace coequal::term {
namespace {

class DefinednessTest : public ::testing::Test {
 protected:
  TermStore s;
  GroupId g = s.add_group({.name = "x"});
  GroupId w = s.add_group({.name = "n", .dtype = DType::U32, .type = bv(32)});
  GroupId bad = s.add_group({.kind = Group::Kind::Poison, .name = "p"});
  Term x = s.leaf(g, {0, 0}), y = s.leaf(g, {1, 0}), n = s.leaf(w, {0, 0}),
       poison = s.leaf(bad, {0, 0});
  Term yes = s.boolean(true), no = s.boolean(false), zero = s.real(0);
  Definedness d{s};

  Term make(Kind kind, std::initializer_list<Term> args, uint64_t payload = 0) {
    return s.make(kind, args, payload);
  }
};

TEST_F(DefinednessTest, LiteralCases) {
  const Term nonzero = make(Kind::Not, {make(Kind::Equal, {x, zero})});
  EXPECT_EQ(d.defined(make(Kind::Add, {x, y})), yes);
  EXPECT_EQ(d.defined(make(Kind::Div, {y, x})), nonzero);
  EXPECT_EQ(d.defined(make(Kind::Log2, {x})), make(Kind::Less, {zero, x}));
  EXPECT_EQ(d.defined(make(Kind::Sqrt, {x})), make(Kind::LessEq, {zero, x}));
  EXPECT_EQ(d.defined(make(Kind::ErfInv, {x})),
            make(Kind::Less, {make(Kind::Abs, {x}), s.real(1)}));
  EXPECT_EQ(d.defined(make(Kind::Gamma, {x})),
            make(Kind::Not, {make(Kind::And, {make(Kind::LessEq, {x, zero}),
                                              make(Kind::Equal, {x, make(Kind::Floor, {x})})})}));
  EXPECT_EQ(d.defined(make(Kind::Atan, {x})), yes);
  EXPECT_EQ(d.defined(s.undefined()), no);
  EXPECT_EQ(d.defined(s.infinity(true)), yes);
  EXPECT_EQ(d.finite(s.infinity(true)), no);
  EXPECT_EQ(d.defined(poison), no);
  EXPECT_EQ(d.poisoned(make(Kind::Mul, {poison, x})), yes);
  // A guard protects.
  const Term is_zero = make(Kind::Equal, {x, zero});
  EXPECT_EQ(d.defined(make(Kind::Select, {is_zero, y, make(Kind::Div, {y, x})})),
            make(Kind::Or, {is_zero, nonzero}));
  const Term less = make(Kind::Less, {x, y});
  EXPECT_EQ(d.poisoned(make(Kind::Select, {less, x, poison})), make(Kind::LessEq, {y, x}));
  EXPECT_EQ(d.defined(make(Kind::Select, {less, x, poison})), less);
  EXPECT_EQ(d.defined(make(Kind::IsNumber, {make(Kind::Log2, {x})})), yes);
}

TEST_F(DefinednessTest, InfiniteFormsAreConditions) {
  const Term masked = make(Kind::Select, {make(Kind::Less, {x, y}), x, s.infinity(true)});
  const Term hidden = make(Kind::LessEq, {y, x});
  EXPECT_EQ(d.minus_infinite(masked), hidden);
  EXPECT_EQ(d.plus_infinite(masked), no);
  EXPECT_EQ(d.defined(masked), yes);
  EXPECT_EQ(d.finite(masked), make(Kind::Less, {x, y}));
  // masked - masked: undefined where it is infinite.
  const Term difference = make(Kind::Add, {masked, make(Kind::Mul, {s.real(-1), masked})});
  EXPECT_EQ(d.defined(difference), make(Kind::Less, {x, y}));
}

TEST_F(DefinednessTest, TestsForNaNSeeThroughPoisonedArms) {
  // Nothing of the inner select is defined, so the test is false and the outer select takes y.
  const Term never = make(Kind::Less, {s.undefined(), x});
  const Term inner = make(Kind::Select, {never, poison, zero});
  const Term outer = make(Kind::Select, {make(Kind::IsNumber, {inner}), s.undefined(), y});
  MapAssignment values;
  EXPECT_EQ(evaluate_exact(s, outer, values)->kind, Value::Kind::Real);
  EXPECT_EQ(d.defined(outer), yes);
}

TEST_F(DefinednessTest, ConditionsMoveWithTheirTerm) {
  const Term here = d.defined(make(Kind::Div, {s.real(1), make(Kind::Add, {x, y})}));
  const Term there = d.defined(
      make(Kind::Div, {s.real(1), make(Kind::Add, {s.leaf(g, {10, 4}), s.leaf(g, {11, 4})})}));
  EXPECT_EQ(here.shape(), there.shape());
  EXPECT_EQ(s.anchor_in(there, g)->cell, 10);
  EXPECT_EQ(s.anchor_in(there, g)->motion, 4u);
}

TEST_F(DefinednessTest, EncodingsOfNaN) {
  const Term value = make(Kind::RealOfBits, {n}, static_cast<uint64_t>(FloatFormat::F32));
  const Term defined = d.defined(value), plus = d.plus_infinite(value),
             minus = d.minus_infinite(value);
  auto at = [&](const Term& condition, int64_t bits) {
    MapAssignment values;
    values.set_leaf(w, 0, bits);
    const auto v = evaluate_exact(s, condition, values);
    EXPECT_TRUE(v && v->kind == Value::Kind::Bool);
    return v && v->bits;
  };
  EXPECT_TRUE(at(defined, 0x3f800000));
  EXPECT_TRUE(at(defined, 0x7f800000));
  EXPECT_FALSE(at(defined, 0x7fc00000));
  EXPECT_FALSE(at(defined, 0xff800001));
  EXPECT_TRUE(at(plus, 0x7f800000));
  EXPECT_FALSE(at(plus, 0xff800000));
  EXPECT_TRUE(at(minus, 0xff800000));
}

class RandomDefinedness : public ::testing::TestWithParam<int> {};

TEST_P(RandomDefinedness, AgreesWithEvaluation) {
  TermStore s;
  std::mt19937_64 random{static_cast<uint64_t>(GetParam())};
  auto pick = [&](size_t n) { return random() % n; };
  const GroupId g = s.add_group({.name = "x"}),
                bad = s.add_group({.kind = Group::Kind::Poison, .name = "p"});
  std::vector<Term> reals{s.real(0),        s.real(1),     s.real(-2),         s.infinity(false),
                          s.infinity(true), s.undefined(), s.leaf(bad, {0, 0})};
  for (int cell = 0; cell < 5; ++cell) reals.push_back(s.leaf(g, {cell, 0}));
  std::vector<Term> conditions;
  constexpr Kind kBinary[] = {Kind::Add, Kind::Mul, Kind::Div,
                              Kind::Min, Kind::Max, Kind::CopySign};
  constexpr Kind kUnary[] = {Kind::Abs,  Kind::Floor,  Kind::Sqrt,  Kind::Log2,
                             Kind::Exp2, Kind::ErfInv, Kind::Gamma, Kind::LogGamma};
  constexpr Kind kCompare[] = {Kind::Less, Kind::LessEq, Kind::Equal};
  for (int i = 0; i < 80; ++i) {
    const Term a = reals[pick(reals.size())], b = reals[pick(reals.size())];
    switch (pick(5)) {
      case 0:
        reals.push_back(s.make(kUnary[pick(std::size(kUnary))], {a}));
        break;
      case 1:
        conditions.push_back(s.make(kCompare[pick(3)], {a, b}));
        break;
      case 2: {
        if (conditions.empty()) break;
        const Term c = conditions[pick(conditions.size())], e = conditions[pick(conditions.size())];
        conditions.push_back(s.make(pick(2) ? Kind::And : Kind::Or, {c, e}));
        conditions.push_back(pick(2) ? s.make(Kind::Not, {c}) : s.make(Kind::IsNumber, {a}));
        break;
      }
      case 3:
        if (!conditions.empty())
          reals.push_back(s.make(Kind::Select, {conditions[pick(conditions.size())], a, b}));
        break;
      default:
        reals.push_back(s.make(kBinary[pick(6)], {a, b}));
    }
  }
  Definedness d(s);
  for (int round = 0; round < 4; ++round) {
    MapAssignment values;
    for (int cell = 0; cell < 5; ++cell)
      values.set_leaf(g, cell, Rational(static_cast<int64_t>(pick(5)) - 2));
    Evaluator evaluate = make_evaluator(s, values, 64);
    auto holds = [&](const Term& condition) -> std::optional<bool> {
      const Value v = evaluate(condition);
      if (v.kind == Value::Kind::Undecided || v.kind == Value::Kind::Unknown) return std::nullopt;
      EXPECT_EQ(v.kind, Value::Kind::Bool);
      return v.bits != 0;
    };
    auto check = [&](const Term& t) {
      const Value v = evaluate(t);
      if (v.kind == Value::Kind::Unknown) return;
      if (const auto defined = holds(d.defined(t))) {
        EXPECT_EQ(*defined, v.is_defined());
      }
      if (const auto poisoned = holds(d.poisoned(t));
          poisoned && v.kind != Value::Kind::Undefined) {
        EXPECT_EQ(*poisoned, v.kind == Value::Kind::Poison);
      }
      if (!v.is_defined()) return;
      if (const auto plus = holds(d.plus_infinite(t))) {
        EXPECT_EQ(*plus, v.kind == Value::Kind::PlusInfinity);
      }
      if (const auto minus = holds(d.minus_infinite(t))) {
        EXPECT_EQ(*minus, v.kind == Value::Kind::MinusInfinity);
      }
    };
    for (const Term& t : reals) check(t);
    for (const Term& t : conditions) check(t);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomDefinedness, ::testing::Range(0, 100));

}  // namespace
}  // namespace coequal::term
