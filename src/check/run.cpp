#include "check/run.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <exception>
#include <mutex>

#include "check/checker.h"

namespace coequal::check {
namespace {

report::InstanceResult failed(const instance::Instance& instance, const std::string& what) {
  report::InstanceResult result = blank_result(instance);
  result.verdict = report::Verdict::Internal;
  result.problems.push_back(make_diagnostic(DiagnosticCode::InternalFault, {}, what));
  return result;
}

report::InstanceResult check_guarded(const CheckFunction& check, const instance::Instance& instance,
                                     const Options& asked, Workers& workers,
                                     const std::atomic<bool>* interrupted) {
  const Workers::Claim own = workers.claim(1);
  if (interrupted && interrupted->load(std::memory_order_relaxed)) {
    report::InstanceResult result = blank_result(instance);
    result.verdict = report::Verdict::Interrupted;
    return result;
  }
  try {
    return check(instance, instance::options_for(instance, asked), workers, interrupted);
  } catch (const std::bad_alloc&) {
    return failed(instance, "out of memory");
  } catch (const std::exception& error) {
    return failed(instance, error.what());
  } catch (...) {
    return failed(instance, "unknown exception");
  }
}

}  // namespace

report::InstanceResult blank_result(const instance::Instance& instance) {
  report::InstanceResult result;
  result.name = instance.name;
  result.title = instance.title;
  result.file = instance.file;
  result.expected = instance.expect;
  result.texts = instance.texts;
  result.defects_only = !instance.program_b;
  return result;
}

report::RunResult check_all(const std::vector<instance::Instance>& instances, const Options& asked,
                            const ProgressCallback& progress, const std::atomic<bool>* interrupted,
                            const std::shared_ptr<ModuleCache>& modules) {
  return check_all_with(
      [&](const instance::Instance& instance, const Options& options, Workers& workers,
          const std::atomic<bool>* stop) {
        return check_instance(instance, options, workers, stop, modules);
      },
      instances, asked, progress, interrupted);
}

report::RunResult check_all_with(const CheckFunction& check,
                                 const std::vector<instance::Instance>& instances,
                                 const Options& asked, const ProgressCallback& progress,
                                 const std::atomic<bool>* interrupted) {
  report::RunResult run;
  run.instances.resize(instances.size());
  std::mutex reporting;
  size_t done = 0;
  int jobs = asked.jobs > 0 ? asked.jobs : tbb::this_task_arena::max_concurrency();
  // Lets an arena have more workers than there are cores, when that is what was asked for.
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                            static_cast<size_t>(jobs));
  tbb::task_arena arena(jobs);
  Workers workers(jobs);
  arena.execute([&] {
    tbb::parallel_for(
        size_t{0}, instances.size(),
        [&](size_t i) {
          // A worker that waits inside one check must not begin another there: its time would count
          // as the first's.
          tbb::this_task_arena::isolate([&] {
            run.instances[i] = check_guarded(check, instances[i], asked, workers, interrupted);
          });
          std::lock_guard lock(reporting);
          ++done;
          if (progress) progress(done, instances.size(), run.instances[i]);
        },
        tbb::simple_partitioner());
  });
  run.interrupted = interrupted && interrupted->load(std::memory_order_relaxed);
  return run;
}

}  // namespace coequal::check
