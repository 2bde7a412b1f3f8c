// Executes the CTAs of a launch that behave like one of them.
#pragma once

#include <set>
#include <vector>

#include "exec/cta.h"

namespace coequal::exec {

// What all classes of a launch have in common.
struct Setting {
  const ProgramState& state;
  const Launch& launch;
  const LastPhase* last = nullptr;
  const std::vector<Round>& rounds;
  const TicketCounts* sharing = nullptr;
  bool histories = false;        // kept from the start; else where a class asks for them
  std::set<TensorId> tracked{};  // tensors whose reads are kept
  TicketCounts tickets{};        // of the classes so far
  bool alone = false;            // one class after the other: they count the numbers taken so far

  // It stored where nothing said so: reads before that were not kept, and all has to be done again.
  bool has_to_track_more(const CtaOutcome& outcome) const {
    for (const TensorId id : outcome.written_unexpectedly)
      if (!tracked.contains(id)) return true;
    return false;
  }
};

// `group`: CTAs that may share the class, the representative first; with options.whole_grid it is
// alone. If it has to track more, the outcome holds no more than that.
CtaOutcome run_class(Session& session, const Setting& setting,
                     const std::vector<tensor::Cta>& group);

}  // namespace coequal::exec
