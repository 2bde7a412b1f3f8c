// Checks many instances at once.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/workers.h"
#include "check/lower.h"
#include "instance/instance.h"
#include "report/result.h"

namespace coequal::check {

// Called after each instance, one call at a time, from any worker: how many are done, of how many,
// and its result.
using ProgressCallback =
    std::function<void(size_t done, size_t total, const report::InstanceResult& result)>;

using CheckFunction = std::function<report::InstanceResult(
    const instance::Instance&, const Options&, Workers&, const std::atomic<bool>* interrupted)>;

// Results come in the order of `instances`, whatever the number of workers (`asked.jobs`, 0: one a
// core). An exception of one instance becomes its verdict, Internal, and stops no other. Once
// `*interrupted` is set (it may be null) no further instance begins; those not begun are
// Interrupted.
report::RunResult check_all(
    const std::vector<instance::Instance>& instances, const Options& asked,
    const ProgressCallback& progress, const std::atomic<bool>* interrupted,
    const std::shared_ptr<ModuleCache>& modules = std::make_shared<ModuleCache>());
// The same with another function in place of check_instance().
report::RunResult check_all_with(const CheckFunction& check,
                                 const std::vector<instance::Instance>& instances,
                                 const Options& asked, const ProgressCallback& progress,
                                 const std::atomic<bool>* interrupted);

// The frame of a result: names, title and expectation of the instance.
report::InstanceResult blank_result(const instance::Instance& instance);

}  // namespace coequal::check
