// From one instance to its result.
#pragma once

#include <atomic>
#include <memory>

#include "base/options.h"
#include "base/workers.h"
#include "check/lower.h"
#include "instance/instance.h"
#include "report/result.h"

namespace coequal::check {

// Checks one instance with `options` as instance::options_for() gives them. The time budget starts
// after compilation. Stops early, with what is known by then and Verdict::Interrupted, once
// `*interrupted` is set (it may be null). Errors come back as verdicts; only InternalError is
// thrown. `modules` may be shared with other checks, as may `workers`: the threads that are free
// when there is work for them.
report::InstanceResult check_instance(
    const instance::Instance& instance, const Options& options, Workers& workers,
    const std::atomic<bool>* interrupted,
    std::shared_ptr<ModuleCache> modules = std::make_shared<ModuleCache>());

}  // namespace coequal::check
