#include "exec/class_workers.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string>

namespace coequal::exec {

std::optional<ClassWorkers> ClassWorkers::claim(Session& session, const Setting& setting,
                                                size_t groups) {
  Workers::Claim claim =
      session.workers->claim_with_copies(groups, session.store.bytes(), session.options.memory_mib);
  if (claim.count() == 0) return std::nullopt;
  return ClassWorkers(session, setting, std::move(claim));
}

ClassWorkers::ClassWorkers(Session& session, const Setting& setting, Workers::Claim claim)
    : session_(session), setting_(setting), claim_(std::move(claim)) {
  for (int i = 0; i <= claim_.count(); ++i) {
    std::unique_ptr<term::TermStore> store = session.store.clone();
    term::Import import(*store, session.store);
    workers_.push_back({std::move(store), std::move(import)});
  }
}

std::vector<ClassWorkers::Left> ClassWorkers::run(
    const std::vector<std::vector<tensor::Cta>>& groups) {
  std::vector<Left> left(groups.size());
  Options options = session_.options;
  options.memory_mib /= static_cast<int64_t>(workers_.size()) + 1;
  std::atomic<size_t> next = 0;
  const int helpers = std::min(claim_.count(), static_cast<int>(groups.size()) - 1);
  run_beside(helpers, [&](int thread) {
    Worker& worker = workers_[static_cast<size_t>(thread)];
    for (size_t i = next++; i < groups.size() && !session_.budget.spent(); i = next++) {
      // Its own reasons alone, beside those from before: whose they are tells which is told.
      Session own{*worker.store, options, session_.budget, worker.statistics, session_.poison};
      CtaOutcome outcome = run_class(own, setting_, groups[i]);
      if (outcome.out_of_budget && !session_.budget.spent()) break;
      left[i].outcome = std::move(outcome);
      left[i].poison = std::move(own.poison);
      left[i].worker = static_cast<size_t>(thread);
    }
    if (thread > 0) term::end_exact_arithmetic();
  });
  for (Worker& worker : workers_) session_.statistics.merge(std::exchange(worker.statistics, {}));
  return left;
}

CtaOutcome ClassWorkers::bring(Left left) {
  Worker& worker = workers_[left.worker];
  term::Import& import = worker.import;
  CtaOutcome& outcome = *left.outcome;
  // In an order that does not depend on what else the thread has executed.
  std::map<std::string, term::GroupId> reasons;
  for (const auto& [id, source] : left.poison) reasons[worker.store->group(id).name] = id;
  for (const auto& [name, id] : reasons) {
    PoisonSource& source = left.poison.at(id);
    const auto [have, fresh] = session_.poison.try_emplace(import.group(id), source);
    if (!fresh) have->second.join(std::move(source));
  }
  for (tensor::TensorPiece& piece : outcome.pieces.tensors) {
    for (tensor::CellStore& s : piece.stores)
      for (Term* t : {&s.value, &s.guard, &s.stored}) *t = import(*t);
    for (tensor::AtomicUpdate& u : piece.atomics)
      for (Term* t : {&u.value, &u.guard}) *t = import(*t);
  }
  for (tensor::GlobalRead& r : outcome.pieces.reads) r.guard = import(r.guard);
  for (tensor::FlagUpdate& u : outcome.pieces.updates) u.value = import(u.value);
  for (Suspicion& s : outcome.suspicions) s.value = import(s.value);
  return std::move(outcome);
}

}  // namespace coequal::exec
