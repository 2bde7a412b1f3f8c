#include "decide/parallel.h"

#include <atomic>
#include <memory>

namespace coequal::decide {

std::vector<std::optional<Answer>> answer_all(
    std::span<const std::pair<term::Term, term::Term>> pairs, Decider& decider,
    const term::TermStore& store, const Options& options, Statistics& statistics,
    const idiom::Library& library, const std::vector<Equation>& equations, const Budget& budget,
    Workers& workers) {
  std::vector<std::optional<Answer>> answers;
  const Workers::Claim claim =
      workers.claim_with_copies(pairs.size(), store.bytes(), options.memory_mib);
  if (claim.count() == 0) return answers;
  answers.resize(pairs.size());
  struct Helper {
    std::unique_ptr<term::TermStore> store;
    Statistics statistics;
  };
  std::vector<Helper> helpers(static_cast<size_t>(claim.count()));
  for (Helper& h : helpers) h.store = store.clone();
  std::atomic<size_t> next = 0;
  const auto answer = [&](Decider& own) {
    for (size_t i = next++; i < pairs.size() && !budget.spent(); i = next++) {
      try {
        answers[i] = own.decide(pairs[i].first, pairs[i].second, budget);
      } catch (const std::exception&) {
        // Asked again, the question throws where its caller can tell why.
      }
    }
  };
  run_beside(claim.count(), [&](int i) {
    if (i == 0) return answer(decider);
    Helper& h = helpers[static_cast<size_t>(i) - 1];
    {
      Decider own(*h.store, options, h.statistics, library, equations);
      answer(own);
    }
    h.store.reset();
    term::end_exact_arithmetic();
  });
  for (const Helper& h : helpers) statistics.merge(h.statistics);
  return answers;
}

}  // namespace coequal::decide
