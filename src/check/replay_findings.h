// Runs both programs on what a check found: shows it in floats, and catches findings that are not
// real.
#pragma once

#include "base/budget.h"
#include "base/options.h"
#include "check/lower.h"
#include "instance/instance.h"
#include "report/result.h"

namespace coequal::check {

// Fills the witness's `replay`, and notes under races and uninitialised reads what other orders and
// contents change. A witness that a replay contradicts is taken back, and the verdict is Internal.
// What is too large, or left no budget, is noted as not replayed.
void replay_findings(const instance::Instance& instance, KernelCache& kernels,
                     const Options& options, const Budget& budget, report::InstanceResult& result);

}  // namespace coequal::check
