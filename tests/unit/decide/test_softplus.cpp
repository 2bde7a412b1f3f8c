// When PyTorch's switch of softplus at 20 is left out.
#include "decide/softplus.h"
#include "fixture.h"

namespace coequal::decide {
namespace {

using term::Kind;
using term::NamedConstant;
using term::Rational;
using term::Term;

class Softplus : public ::testing::Test, public Terms {
 protected:
  // log(1 + exp(beta u)) / beta
  Term plain(Term u, Rational beta = Rational(1)) {
    return div(mul(store.symbol(NamedConstant::Ln2), log2(add(c(1), exp(mul(c(beta), u))))),
               c(beta));
  }
  Term switched(Term u, Rational beta = Rational(1), int64_t threshold = 20) {
    return select(less(c(threshold), mul(c(beta), u)), u, plain(u, beta));
  }
};

TEST_F(Softplus, SwitchAtTwentyIsLeftOutAndListed) {
  const Answer answer = decide(switched(x()), plain(x()));
  ASSERT_EQ(answer.outcome, Outcome::Proved) << describe(answer);
  ASSERT_EQ(answer.assumptions.size(), 1u);
  EXPECT_EQ(answer.assumptions[0].name, "softplus-threshold");
  EXPECT_PROVED(switched(x(), Rational(5, 2)), plain(x(), Rational(5, 2)));
  EXPECT_PROVED(mul(x(), switched(add(x(), y()))), mul(x(), plain(add(y(), x()))));
}

TEST_F(Softplus, DirectionAndWritingDoNotMatter) {
  const Term u = x();
  EXPECT_PROVED(select(less_eq(u, c(20)), plain(u), u), plain(u));
  EXPECT_PROVED(select(less(u, c(20)), plain(u), u), switched(u));
}

TEST_F(Softplus, WithdrawnTheyAreTwoFunctions) {
  options.no_assume.insert("softplus-threshold");
  EXPECT_REFUTED(switched(x()), plain(x()));
  EXPECT_PROVED(switched(x()), switched(x()));
}

TEST_F(Softplus, OtherSwitchesStay) {
  EXPECT_REFUTED(switched(x(), Rational(1), 2), plain(x()));  // 0.13 is lost at 2
  EXPECT_REFUTED(select(less(c(20), x()), y(), plain(x())), plain(x()));
  EXPECT_REFUTED(select(less(x(), c(20)), x(), plain(x())), plain(x()));
}

}  // namespace
}  // namespace coequal::decide
