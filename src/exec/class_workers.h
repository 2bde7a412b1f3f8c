// Executes several classes of CTAs at once, each on a copy of the term store.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "exec/class_run.h"
#include "term/import.h"

namespace coequal::exec {

// While it lives nothing else may add to the session's store. What the copies make is brought back
// class by class, in an order that the caller chooses: with one order the store is the same,
// whichever thread executed which class.
class ClassWorkers {
 public:
  // On the threads that are free, for so many groups; none if there are none or the copies would
  // take more than half of the memory limit.
  static std::optional<ClassWorkers> claim(Session& session, const Setting& setting, size_t groups);

  // What a class left, in terms of one of the copies. No outcome: the budget ended before, or a
  // copy has used up its share of the memory.
  struct Left {
    std::optional<CtaOutcome> outcome = {};
    absl::flat_hash_map<term::GroupId, PoisonSource> poison = {};
    size_t worker = 0;
  };
  // One for each group (run_class says what a group is).
  std::vector<Left> run(const std::vector<std::vector<tensor::Cta>>& groups);
  // The same in terms of the session's store; the reasons for poison go into the session.
  CtaOutcome bring(Left left);

 private:
  struct Worker {
    std::unique_ptr<term::TermStore> store;
    term::Import import;
    Statistics statistics = {};
  };

  ClassWorkers(Session& session, const Setting& setting, Workers::Claim claim);

  Session& session_;
  const Setting& setting_;
  Workers::Claim claim_;
  std::deque<Worker> workers_;  // that of this thread first
};

}  // namespace coequal::exec
