// Deciders on copies of a store answer as the one on the store itself does.
#include "decide/parallel.h"
#include "fixture.h"

namespace coequal::decide {
namespace {

TEST(AnswerAll, AgreesWithOneDecider) {
  Terms t;
  std::vector<std::pair<term::Term, term::Term>> pairs;
  for (int i = 0; i < 20; ++i) {
    // (x + i)^2 = x^2 + 2ix + i^2, and every third pair is off by one.
    const term::Term sum = t.add(t.x(), t.c(i));
    const term::Term square = t.mul(t.x(), t.x());
    const term::Term other =
        t.add(square, t.add(t.mul(t.c(2 * i), t.x()), t.c(i * i + (i % 3 == 0))));
    pairs.emplace_back(t.mul(sum, sum), other);
  }
  Options options;
  Statistics statistics;
  Decider decider(t.store, options, statistics);
  Workers workers(3);
  const auto answers = answer_all(pairs, decider, t.store, options, statistics,
                                  idiom::Library::shipped(), no_equations(), Budget(60), workers);
  ASSERT_EQ(answers.size(), pairs.size());
  for (int i = 0; i < 20; ++i) {
    const std::optional<Answer>& answer = answers[static_cast<size_t>(i)];
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->outcome, i % 3 == 0 ? Outcome::Refuted : Outcome::Proved) << i;
  }
  EXPECT_EQ(statistics.counters.at("decide.identical.asked"), 20);
  EXPECT_EQ(workers.claim(9).count(), 3);
}

TEST(AnswerAll, AnswersNothingWithoutAThreadMore) {
  Terms t;
  Options options;
  Statistics statistics;
  Decider decider(t.store, options, statistics);
  Workers workers(0);
  const std::vector<std::pair<term::Term, term::Term>> pairs(2, {t.x(), t.y()});
  EXPECT_TRUE(answer_all(pairs, decider, t.store, options, statistics, idiom::Library::shipped(),
                         no_equations(), Budget(60), workers)
                  .empty());
}

}  // namespace
}  // namespace coequal::decide
