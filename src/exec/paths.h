// Executes a class of CTAs one way and the other where threads come to a barrier, or to what lanes
// do together, in a branch on data; and joins what the executions leave.
//
// In one execution the arms of such a branch run one after the other (cta_fork.cpp). A barrier
// cannot: it would order memory for the arm without it, too. So the class is executed once with the
// branch's condition given and once with its negation, each time from the start. For every input
// exactly one of the executions is what the CTAs do: what one of them stores, reads or updates
// belongs to the class under its condition, and so do its defects.
#pragma once

#include <functional>

#include "exec/cta.h"

namespace coequal::exec {

// Of a class on a path: `execute` with the races known so far, and `settle` with the outcome of
// that executes it again until no new race is found.
struct ClassRuns {
  std::function<CtaOutcome(const Path&, const Raced&)> execute;
  std::function<void(const Path&, Raced&, CtaOutcome&)> settle;
};

// The class with the races known, which the caller settles if it is executed on one path.
CtaOutcome follow_paths(Session& session, const ProgramState& state, const Raced& raced,
                        const ClassRuns& runs);

}  // namespace coequal::exec
