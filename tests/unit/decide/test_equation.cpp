// Declared equations: what they prove, what they leave open, and how they are read.
#include <algorithm>

#include "decide/equation.h"
#include "fixture.h"

namespace coequal::decide {
namespace {

using term::Term;

std::string refused(const std::string& text) {
  const Result<Equation> equation = Equation::parse(text, {});
  return equation ? "" : equation.error().message;
}

class Equations : public ::testing::Test, public Terms {
 protected:
  Term op(const std::string& name, std::vector<Term> args) {
    for (const FormulaOp& o : formula_ops())
      if (o.name == name) return o.make(store, args);
    ADD_FAILURE() << name;
    return {};
  }
  Answer ask(const std::string& text, const Term& a, const Term& b) {
    Result<Equation> equation = Equation::parse(text, {});
    EXPECT_TRUE(equation) << equation.error().message;
    const std::vector<Equation> declared{*equation};
    Decider own(store, options, statistics, idiom::Library::shipped(), declared);
    return own.decide(a, b, Budget(20));
  }
  static bool lists(const Answer& answer, const std::string& equation) {
    return std::count(answer.assumptions.begin(), answer.assumptions.end(),
                      AssumptionUse{"equation", equation}) == 1;
  }
};

// The two forms differ by up to 5e-4: only the equation makes them equal, and it is in the ledger.
TEST_F(Equations, TheTwoFormsOfGelu) {
  const std::string equation = "(gelu-tanh x) = (gelu-erf x)";
  const Term sum = add(x(), y());
  for (const Term& t : {x(), sum, mul(x(), y())}) {
    const Term a = mul(z(), op("gelu-tanh", {t})), b = mul(op("gelu-erf", {t}), z());
    const Answer answer = ask(equation, a, b);
    EXPECT_EQ(answer.outcome, Outcome::Proved);
    EXPECT_TRUE(lists(answer, equation));
    EXPECT_EQ(Decider(store, options, statistics).decide(a, b, Budget(20)).outcome,
              Outcome::Refuted);
  }
}

TEST_F(Equations, OneThatSaysNothingOfTheValuesChangesNothing) {
  const Answer proved = ask("(sin a) = a", add(x(), x()), mul(c(2), x()));
  EXPECT_EQ(proved.outcome, Outcome::Proved);
  EXPECT_TRUE(proved.assumptions.empty());
  EXPECT_EQ(ask("(sin a) = a", x(), mul(c(2), x())).outcome, Outcome::Refuted);
}

// The numbers of a witness need not satisfy the equation, so a difference is not shown by numbers.
TEST_F(Equations, WhatTheyLeaveOpenIsNotRefuted) {
  const Answer answer = ask("(sin a) = a", op("sin", {x()}), mul(c(2), x()));
  EXPECT_EQ(answer.outcome, Outcome::Undecided);
  EXPECT_EQ(answer.reason, "the declared equations do not make the sides equal");
}

// a sin(a) = a a says nothing of sin(0), but at 0 the sides below are equal as they are; those with
// cos(0) = 1 and 0 are not.
TEST_F(Equations, WhereSolvingWouldDivideByZeroTheSidesAreComparedAsTheyAre) {
  EXPECT_EQ(ask("(* a (sin a)) = (* a a)", mul(x(), op("sin", {x()})), mul(x(), x())).outcome,
            Outcome::Proved);
  EXPECT_NE(ask("(* a (cos a)) = (* a a)", op("cos", {x()}), x()).outcome, Outcome::Proved);
}

// sqrt(x y) = sqrt(x) sqrt(y) where both have a value: that of x = y < 0 is none, so |x| = x does
// not follow, nor does anything at 0 from sides that are divided by x.
TEST_F(Equations, TheySayNothingWhereASideHasNoValue) {
  EXPECT_NE(ask("(sqrt (* a b)) = (* (sqrt a) (sqrt b))", abs(x()), x()).outcome, Outcome::Proved);
  EXPECT_NE(
      ask("(/ (exp a) a) = (/ (+ (cos a) 5) a)", op("exp", {x()}), add(op("cos", {x()}), c(5)))
          .outcome,
      Outcome::Proved);
  // Where the sides of the question have no value there either, they do.
  EXPECT_EQ(ask("(+ (sqrt a) (sin a)) = (+ (sqrt a) a)", add(op("sqrt", {x()}), op("sin", {x()})),
                add(op("sqrt", {x()}), x()))
                .outcome,
            Outcome::Proved);
}

TEST_F(Equations, TwoVariables) {
  EXPECT_EQ(ask("(max a b) = (+ a b)", max(x(), y()), add(y(), x())).outcome, Outcome::Proved);
}

TEST(Equation, MistakesAreNamed) {
  const std::pair<std::string, std::string> mistakes[] = {
      {"(sin x)", "expected '='"},
      {"(sin x) = (f x)", "no operator 'f'"},
      {"(sin x = (cos x)", "'=' is no operand"},
      {"(sin x y) = x", "'sin' has 2 operands, and takes 1"},
      {"(sin x) = x)", "')' after the right side"},
      {"(sin x) =", "it ends too soon"},
      {"(+ x (+ y z)) = x", "3 variables"},
      {"(+ 1 1) = 2", "no variable"},
      {"(sin ?) = x", "neither a number nor a name"},
      {std::string(1000, '('), "no operator '('"},
  };
  for (const auto& [text, what] : mistakes)
    EXPECT_NE(refused(text).find(what), std::string::npos) << text << ": " << refused(text);
}

}  // namespace
}  // namespace coequal::decide
