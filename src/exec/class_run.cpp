#include "exec/class_run.h"

#include <algorithm>
#include <utility>

#include "exec/paths.h"

namespace coequal::exec {

namespace {

bool stores_poison(const tensor::ClassPieces& pieces, const term::TermStore& store) {
  const auto poisoned = [&](const auto& what) { return store.has_poison(what.value); };
  return std::any_of(pieces.tensors.begin(), pieces.tensors.end(), [&](const auto& piece) {
    return std::any_of(piece.stores.begin(), piece.stores.end(), poisoned) ||
           std::any_of(piece.atomics.begin(), piece.atomics.end(), poisoned);
  });
}

// Adds the races that a run has found to those known; whether that calls for another run.
bool learn(const CtaOutcome& outcome, Raced& known) {
  const size_t loads = known.loads.size(), places = known.places.size();
  known.loads.insert(outcome.raced.loads.begin(), outcome.raced.loads.end());
  // Of the loads that two instructions race about, the defect that is shown is the same one.
  std::vector<Defect> shown;
  for (const auto& [load, race] : known.loads) add_defect(shown, race);
  for (auto& [load, race] : known.loads) {
    race = *std::find_if(shown.begin(), shown.end(),
                         [&, &r = race](const Defect& d) { return same_finding(d, r); });
    race.count = 1;
  }
  known.places.insert(outcome.raced.places.begin(), outcome.raced.places.end());
  return known.loads.size() != loads || (!outcome.aborted && known.places.size() != places);
}

// Values read before a race was found may be one interleaving's: again with the raced bytes and
// loads known, until none is new.
template <class Again>
void settle(Raced& raced, CtaOutcome& found, Again again) {
  while (learn(found, raced)) {
    std::vector<Defect> earlier = std::move(found.defects);
    found = again();
    // What a load gave that only now counts as undefined shows no defects.
    if (raced.places.empty()) continue;
    for (Defect& d : found.defects) {
      const bool known = std::any_of(earlier.begin(), earlier.end(), [&](const Defect& have) {
        return have.kind == d.kind && have.message == d.message;
      });
      if (!known) earlier.push_back(std::move(d));
    }
    found.defects = std::move(earlier);
  }
  // Whether it matters what such a load returned was not seen.
  if (found.aborted && !found.out_of_budget)
    for (const auto& [load, race] : raced.loads) add_defect(found.defects, race);
}

}  // namespace

CtaOutcome run_class(Session& session, const Setting& setting,
                     const std::vector<tensor::Cta>& group) {
  const auto start = [&]() -> std::vector<tensor::Cta> {
    return session.options.whole_grid ? std::vector<tensor::Cta>{group.front()} : group;
  };
  Raced raced;
  int64_t thread_instructions = 0;
  bool histories = setting.histories;
  const auto execute = [&](Session& in, const std::vector<tensor::Cta>& ctas, const Path& path,
                           const Raced& known) {
    while (true) {
      CtaOutcome one = CtaExecutor(in, setting.state, setting.launch,
                                   path.motions ? std::vector<tensor::Cta>{} : ctas,
                                   setting.tracked, known, setting.tickets, setting.sharing,
                                   setting.last, setting.rounds, path, histories)
                           .run();
      thread_instructions += one.thread_instructions;
      if (!one.wants_histories) return one;
      CHECK(!histories);
      histories = true;
    }
  };
  const auto run = [&](Session& in, const std::vector<tensor::Cta>& ctas) {
    const ClassRuns runs{
        [&](const Path& path, const Raced& known) { return execute(in, ctas, path, known); },
        [&](const Path& path, Raced& known, CtaOutcome& found) {
          settle(known, found, [&] { return execute(in, ctas, path, known); });
        }};
    return follow_paths(in, setting.state, raced, runs);
  };
  const bool forward = session.options.order == "forward";
  const auto poison = forward ? decltype(session.poison){} : session.poison;
  CtaOutcome outcome = run(session, start());
  if (setting.has_to_track_more(outcome)) return outcome;
  settle(raced, outcome, [&] { return run(session, start()); });
  // What there is to report is told as it is found with warps in order and the class's first CTA
  // as its representative. Kinds that only the other order has found stay: there should be none.
  const bool tells = !outcome.defects.empty() || !outcome.suspicions.empty() ||
                     !outcome.refusals.empty() || !raced.loads.empty() ||
                     !outcome.waiting.empty() || stores_poison(outcome.pieces, session.store);
  if (!forward && tells && !outcome.out_of_budget) {
    Options options = session.options;
    options.order = "forward";
    Session in{session.store, options, session.budget, session.statistics, poison};
    std::vector<tensor::Cta> ctas = start();
    const tensor::MotionTable& motions = *outcome.pieces.motions;
    std::vector<tensor::Cta> members;
    for (size_t i = 0; i < motions.size(); ++i)
      if (motions.alive(i)) members.push_back(motions.ctas()[i]);
    const auto number = [&](const tensor::Cta& c) { return cta_number(c, setting.launch.grid); };
    const auto before = [&](const auto& a, const auto& b) { return number(a) < number(b); };
    std::sort(ctas.begin(), ctas.end(), before);
    const auto first = std::find(ctas.begin(), ctas.end(),
                                 *std::min_element(members.begin(), members.end(), before));
    std::rotate(ctas.begin(), first, first + 1);
    raced = {};
    CtaOutcome told = run(in, ctas);
    settle(raced, told, [&] { return run(in, ctas); });
    session.poison = std::move(in.poison);
    for (Defect& d : outcome.defects)
      if (std::none_of(told.defects.begin(), told.defects.end(),
                       [&](const Defect& have) { return have.kind == d.kind; }))
        add_defect(told.defects, std::move(d));
    outcome = std::move(told);
  }
  outcome.thread_instructions = thread_instructions;
  return outcome;
}

}  // namespace coequal::exec
