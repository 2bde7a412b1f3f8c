// When the tanh form of gelu is read as its erf form.
#include "decide/gelu.h"
#include "fixture.h"

namespace coequal::decide {
namespace {

using term::Kind;
using term::NamedConstant;
using term::Rational;
using term::Term;

class Gelu : public ::testing::Test, public Terms {
 protected:
  // u = sqrt(2 / pi) (x + k x^3)
  Term inner(Term u, Rational k = Rational(44715, 1000000)) {
    return mul(store.symbol(NamedConstant::SqrtTwoOverPi), add(u, mul(c(k), mul(u, mul(u, u)))));
  }
  Term by_tanh(Term u) { return mul(mul(u, c(Rational(1, 2))), add(c(1), tanh(inner(u)))); }
  Term by_erf(Term u) {
    const Term erf = store.make(Kind::Erf, {mul(u, store.symbol(NamedConstant::InvSqrt2))});
    return mul(mul(u, c(Rational(1, 2))), add(c(1), erf));
  }
  // u / (1 + exp(-2 u'))
  Term by_sigmoid(Term u) { return div(u, add(c(1), exp(mul(c(-2), inner(u))))); }
};

TEST_F(Gelu, TwoFunctionsUnlessAssumedOne) {
  EXPECT_REFUTED(by_tanh(x()), by_erf(x()));
  options.assume.insert("gelu-tanh=gelu-erf");
  const Answer answer = decide(by_tanh(x()), by_erf(x()));
  ASSERT_EQ(answer.outcome, Outcome::Proved) << describe(answer);
  ASSERT_EQ(answer.assumptions.size(), 1u);
  EXPECT_EQ(answer.assumptions[0].name, "gelu-tanh=gelu-erf");
}

TEST_F(Gelu, WritingDoesNotMatter) {
  options.assume.insert("gelu-tanh=gelu-erf");
  EXPECT_PROVED(by_sigmoid(x()), by_erf(x()));
  EXPECT_PROVED(by_tanh(add(x(), y())), by_erf(add(y(), x())));
}

TEST_F(Gelu, OtherCoefficientsStay) {
  options.assume.insert("gelu-tanh=gelu-erf");
  const Term other = mul(mul(x(), c(Rational(1, 2))), add(c(1), tanh(inner(x(), Rational(1, 22)))));
  EXPECT_REFUTED(other, by_erf(x()));
}

}  // namespace
}  // namespace coequal::decide
