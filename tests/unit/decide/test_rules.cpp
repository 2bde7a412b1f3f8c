// Every row of the rule table: proved where its condition holds, refuted where it says that the
// condition matters.
#include "decide/rules/rule_row.h"
#include "fixture.h"

namespace coequal::decide {
namespace {

class Rules : public ::testing::Test, public Terms {};

TEST_F(Rules, HoldUnderTheirConditions) {
  for (const RuleRow& row : list_rules()) {
    const term::Term first = row.needs == RuleRow::Needs::PositiveFirst ? p(0) : x(0);
    const term::Term args[] = {first, y(0), z(0)};
    const Answer answer = decide(row.make_left(store, args), row.make_right(store, args));
    EXPECT_EQ(answer.outcome, Outcome::Proved) << row.name << ": " << describe(answer);
    EXPECT_TRUE(answer.exact) << row.name;
  }
}

TEST_F(Rules, DoNotApplyWithoutTheirConditions) {
  int tried = 0;
  for (const RuleRow& row : list_rules()) {
    if (!row.fails) continue;
    ++tried;
    const term::Term args[] = {x(0), y(0), z(0)};
    const Answer answer = decide(row.make_left(store, args), row.make_right(store, args));
    EXPECT_EQ(answer.outcome, Outcome::Refuted) << row.name << ": " << describe(answer);
  }
  EXPECT_GE(tried, 3);
}

// The number that a product or a sum of words stands for is the product or sum of their numbers
// where it cannot wrap: (-128) (-128) = 2^14 fits 16 signed bits, twice that does not.
TEST_F(Rules, WordsThatCannotWrapAreIntegers) {
  term::Group bytes;
  bytes.name = "bytes";
  bytes.dtype = DType::I8;
  bytes.type = term::bv(8);
  const term::GroupId group = store.add_group(bytes);
  const auto extended = [&](int64_t i, int width) {
    return store.make(Kind::BvSignExtend, {store.leaf(group, {i, 0})}, 0, width);
  };
  const auto product = [&](int64_t i, int width) {
    return store.make(Kind::BvMul, {extended(i, width), extended(i + 1, width)});
  };
  const auto real = [&](Term word) { return store.make(Kind::RealOfSigned, {word}); };
  const auto sum = [&](int terms, int width) {
    Term word = product(0, width), reals = real(product(0, 32));
    for (int i = 1; i < terms; ++i) {
      word = store.make(Kind::BvAdd, {word, product(2 * i, width)});
      reals = add(reals, real(product(2 * i, 32)));
    }
    return std::pair(real(word), reals);
  };
  const auto outcome = [&](int terms, int width) {
    const auto [word, reals] = sum(terms, width);
    return decide(word, reals).outcome;
  };
  EXPECT_EQ(outcome(1, 16), Outcome::Proved);
  EXPECT_EQ(outcome(1, 32), Outcome::Proved);
  EXPECT_EQ(outcome(7, 32), Outcome::Proved);
  EXPECT_NE(outcome(2, 16), Outcome::Proved);  // 2 * 2^14 = 2^15 wraps
  EXPECT_NE(outcome(4, 16), Outcome::Proved);
}

}  // namespace
}  // namespace coequal::decide
