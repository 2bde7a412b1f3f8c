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

}  // namespace
}  // namespace coequal::decide
