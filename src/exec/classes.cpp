// Covers a grid by classes of CTAs: one execution each, until every CTA belongs to one.
#include <algorithm>
#include <iterator>
#include <random>

#include "exec/cta.h"

namespace coequal::exec {

namespace {

std::vector<tensor::Cta> all_ctas(const std::array<uint32_t, 3>& grid) {
  std::vector<tensor::Cta> ctas;
  ctas.reserve(static_cast<size_t>(grid[0]) * grid[1] * grid[2]);
  for (uint32_t z = 0; z < grid[2]; ++z)
    for (uint32_t y = 0; y < grid[1]; ++y)
      for (uint32_t x = 0; x < grid[0]; ++x) ctas.push_back({x, y, z});
  return ctas;
}

// The order in which blocks stand for their classes.
void arrange(std::vector<tensor::Cta>& ctas, const Options& options) {
  if (options.order == "backward") std::reverse(ctas.begin(), ctas.end());
  if (options.order == "random")
    std::shuffle(ctas.begin(), ctas.end(), std::mt19937_64(options.seed));
}

// The same finding of another class counts once more, with the first one's accesses.
void merge_defects(std::vector<Defect>& into, std::vector<Defect>&& from, int64_t ctas) {
  const auto same = [](const Defect& a, const Defect& b) {
    if (a.kind != b.kind || a.accesses.size() != b.accesses.size()) return false;
    for (size_t i = 0; i < a.accesses.size(); ++i)
      if (!(a.accesses[i].span == b.accesses[i].span) || a.accesses[i].where != b.accesses[i].where)
        return false;
    return true;
  };
  for (Defect& d : from) {
    d.count *= ctas;
    const auto it =
        std::find_if(into.begin(), into.end(), [&](const Defect& have) { return same(have, d); });
    if (it != into.end())
      it->count += d.count;
    else
      into.push_back(std::move(d));
  }
}

}  // namespace

LaunchResult run_launch(Session& session, const ProgramState& state, const Launch& launch) {
  LaunchResult result;
  result.pieces = std::make_shared<tensor::LaunchPieces>();
  result.pieces->launch = launch.index;
  result.pieces->kernel = launch.kernel->function->name;
  result.pieces->grid = launch.grid;
  result.pieces->block = launch.block;
  for (const ptx::Instruction& i : launch.kernel->function->body)
    result.pieces->spans.push_back(launch.kernel->module->span_of(i));

  constexpr uint64_t kMostCtas = uint64_t{1} << 24;
  const uint64_t total = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  if (total > kMostCtas) {
    result.refusals.push_back(
        {launch.kernel->function->name,
         {},
         fmt::format("a grid of {} CTAs; at most {} are followed", total, kMostCtas)});
    result.aborted_ctas = static_cast<int64_t>(total);
    return result;
  }

  const bool too_large =
      std::any_of(state.tensors->begin(), state.tensors->end(),
                  [](const tensor::TensorInfo& t) { return t.storage_bytes() > kLargestTensor; });
  if (too_large || state.tensors->size() > kMostTensors) {
    result.refusals.push_back({launch.kernel->function->name,
                               {},
                               fmt::format("more than {} tensors, or one of more than {} bytes",
                                           kMostTensors, kLargestTensor)});
    result.aborted_ctas = static_cast<int64_t>(total);
    return result;
  }

  std::set<std::string> notes;
  std::set<TensorId> tracked;
  std::vector<tensor::Cta> rest = all_ctas(launch.grid);
  arrange(rest, session.options);
  while (!rest.empty()) {
    const auto start = [&]() -> std::vector<tensor::Cta> {
      return session.options.whole_grid ? std::vector<tensor::Cta>{rest.front()} : rest;
    };
    std::set<RacedPlace> raced;
    CtaOutcome outcome = CtaExecutor(session, state, launch, start(), tracked, raced).run();
    result.thread_instructions += outcome.thread_instructions;
    if (!outcome.written_unexpectedly.empty()) {
      // Reads before the unexpected store were not kept: everything again, this time with them.
      const size_t before = tracked.size();
      tracked.insert(outcome.written_unexpectedly.begin(), outcome.written_unexpectedly.end());
      if (tracked.size() != before) {
        result.pieces->classes.clear();
        result.defects.clear();
        result.suspicions.clear();
        result.refusals.clear();
        result.aborted_ctas = 0;
        result.classes = 0;
        rest = all_ctas(launch.grid);
        arrange(rest, session.options);
        continue;
      }
    }
    // Values read before a race was found may be one interleaving's: again with the raced bytes
    // known, until none is new.
    while (!outcome.aborted &&
           !std::includes(raced.begin(), raced.end(), outcome.raced.begin(), outcome.raced.end())) {
      raced.insert(outcome.raced.begin(), outcome.raced.end());
      CtaOutcome again = CtaExecutor(session, state, launch, start(), tracked, raced).run();
      result.thread_instructions += again.thread_instructions;
      outcome.pieces = std::move(again.pieces);
      outcome.raced = std::move(again.raced);
      outcome.aborted = again.aborted;
      outcome.out_of_budget = again.out_of_budget;
      outcome.refusals = std::move(again.refusals);
      outcome.suspicions = std::move(again.suspicions);
      for (Defect& d : again.defects) {
        const bool known = std::any_of(
            outcome.defects.begin(), outcome.defects.end(),
            [&](const Defect& have) { return have.kind == d.kind && have.message == d.message; });
        if (!known) outcome.defects.push_back(std::move(d));
      }
    }
    ++result.classes;
    const tensor::MotionTable& motions = *outcome.pieces.motions;
    const auto members = static_cast<int64_t>(motions.alive_count());
    notes.insert(outcome.notes.begin(), outcome.notes.end());
    result.assumptions.insert(outcome.assumptions.begin(), outcome.assumptions.end());
    merge_defects(result.defects, std::move(outcome.defects), members);
    std::move(outcome.suspicions.begin(), outcome.suspicions.end(),
              std::back_inserter(result.suspicions));
    for (Refusal& r : outcome.refusals)
      if (std::find(result.refusals.begin(), result.refusals.end(), r) == result.refusals.end())
        result.refusals.push_back(std::move(r));

    std::vector<tensor::Cta> left;
    for (size_t i = 0; i < motions.size(); ++i)
      if (!motions.alive(i)) left.push_back(motions.ctas()[i]);
    if (session.options.whole_grid) left.assign(rest.begin() + 1, rest.end());
    rest = std::move(left);

    if (outcome.aborted) result.aborted_ctas += members;
    result.pieces->classes.push_back(std::move(outcome.pieces));
    if (outcome.out_of_budget || session.budget.spent()) {
      result.out_of_budget = true;
      result.aborted_ctas += static_cast<int64_t>(rest.size());
      break;
    }
  }
  result.notes.assign(notes.begin(), notes.end());
  return result;
}

}  // namespace coequal::exec
