// Many instances at once: order, settings, exceptions and interruption.
#include <gtest/gtest.h>

#include <stdexcept>

#include "check/run.h"

namespace coequal::check {
namespace {

std::vector<instance::Instance> numbered(int count) {
  std::vector<instance::Instance> instances(count);
  for (int i = 0; i < count; ++i) instances[i].name = std::to_string(i);
  return instances;
}

report::InstanceResult equivalent(const instance::Instance& instance, const Options&, Workers&,
                                  const std::atomic<bool>*) {
  report::InstanceResult result = blank_result(instance);
  result.verdict = report::Verdict::Equivalent;
  return result;
}

TEST(CheckAll, ResultsComeInTheOrderOfTheInstances) {
  for (int jobs : {1, 4}) {
    Options options;
    options.jobs = jobs;
    report::RunResult run = check_all_with(equivalent, numbered(100), options, nullptr, nullptr);
    ASSERT_EQ(run.instances.size(), 100u);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(run.instances[i].name, std::to_string(i));
    EXPECT_EQ(run.exit_code(false), 0);
    EXPECT_FALSE(run.interrupted);
  }
}

TEST(CheckAll, AnExceptionIsTheVerdictOfItsInstanceAlone) {
  auto check = [](const instance::Instance& instance, const Options& options, Workers& workers,
                  const std::atomic<bool>* flag) {
    if (instance.name == "1") throw std::runtime_error("lost the thread");
    if (instance.name == "2") throw 3;
    return equivalent(instance, options, workers, flag);
  };
  report::RunResult run = check_all_with(check, numbered(4), Options{}, nullptr, nullptr);
  EXPECT_EQ(run.instances[0].verdict, report::Verdict::Equivalent);
  EXPECT_EQ(run.instances[1].verdict, report::Verdict::Internal);
  ASSERT_EQ(run.instances[1].problems.size(), 1u);
  EXPECT_EQ(run.instances[1].problems[0].message, "internal error: lost the thread");
  EXPECT_EQ(run.instances[1].name, "1");
  EXPECT_EQ(run.instances[2].verdict, report::Verdict::Internal);
  EXPECT_EQ(run.instances[3].verdict, report::Verdict::Equivalent);
  EXPECT_EQ(run.exit_code(false), 70);
  EXPECT_EQ(run.exit_code(true), 70);
}

// Inside an instance there are as many threads more as no other instance uses.
TEST(CheckAll, InstancesLeaveTheWorkersThatTheyDoNotUse) {
  Options options;
  options.jobs = 3;
  int free = -1;
  auto check = [&](const instance::Instance& instance, const Options& asked, Workers& workers,
                   const std::atomic<bool>* flag) {
    free = workers.claim(10).count();
    EXPECT_EQ(workers.claim(1).count(), 1);  // the claim above has ended
    return equivalent(instance, asked, workers, flag);
  };
  check_all_with(check, numbered(1), options, nullptr, nullptr);
  EXPECT_EQ(free, 2);
}

TEST(CheckAll, NothingBeginsAfterAnInterruption) {
  std::atomic<bool> interrupted{false};
  Options options;
  options.jobs = 1;
  int begun = 0;
  auto check = [&](const instance::Instance& instance, const Options& asked, Workers& workers,
                   const std::atomic<bool>* flag) {
    if (++begun == 3) interrupted = true;
    return equivalent(instance, asked, workers, flag);
  };
  report::RunResult run = check_all_with(check, numbered(10), options, nullptr, &interrupted);
  EXPECT_EQ(begun, 3);
  EXPECT_TRUE(run.interrupted);
  ASSERT_EQ(run.instances.size(), 10u);
  int left = 0;
  for (const report::InstanceResult& result : run.instances)
    left += result.verdict == report::Verdict::Interrupted;
  EXPECT_EQ(left, 7);
  EXPECT_EQ(run.exit_code(true), 130);
}

TEST(CheckAll, ProgressCountsEveryInstanceOnce) {
  size_t last = 0;
  report::RunResult run = check_all_with(
      equivalent, numbered(50), Options{},
      [&](size_t done, size_t total, const report::InstanceResult& result) {
        EXPECT_EQ(done, last + 1);
        EXPECT_EQ(total, 50u);
        EXPECT_FALSE(result.name.empty());
        last = done;
      },
      nullptr);
  EXPECT_EQ(last, 50u);
}

TEST(CheckAll, EachInstanceGetsItsOwnSettings) {
  std::vector<instance::Instance> instances = numbered(2);
  instances[1].budget.cells = 3;
  auto check = [](const instance::Instance& instance, const Options& options, Workers& workers,
                  const std::atomic<bool>* flag) {
    report::InstanceResult result = equivalent(instance, options, workers, flag);
    result.cells.total = options.cells;
    return result;
  };
  report::RunResult run = check_all_with(check, instances, Options{}, nullptr, nullptr);
  EXPECT_EQ(run.instances[0].cells.total, -1);
  EXPECT_EQ(run.instances[1].cells.total, 3);
}

TEST(BlankResult, CarriesTheFrame) {
  instance::Instance instance;
  instance.name = "n";
  instance.title = "t";
  instance.file = "f.toml";
  instance.expect = instance::Expectation{};
  report::InstanceResult result = blank_result(instance);
  EXPECT_EQ(result.name, "n");
  EXPECT_EQ(result.title, "t");
  EXPECT_EQ(result.file, "f.toml");
  EXPECT_TRUE(result.expected);
  EXPECT_TRUE(result.defects_only);
  instance.program_b.emplace();
  EXPECT_FALSE(blank_result(instance).defects_only);
}

}  // namespace
}  // namespace coequal::check
