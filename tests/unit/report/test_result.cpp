// Verdicts, their order and their exit codes, by the tables of the specification.
#include <gtest/gtest.h>

#include "report/result.h"

namespace coequal::report {
namespace {

InstanceResult proved(int64_t cells) {
  InstanceResult result;
  result.cells.total = result.cells.proved_exact = cells;
  return result;
}

coequal::Defect defect_of(coequal::DefectKind kind, char side) {
  coequal::Defect defect;
  defect.kind = kind;
  defect.program = side;
  return defect;
}

TEST(Verdicts, HaveTheExitCodesOfTheSpecification) {
  EXPECT_EQ(exit_code(Verdict::Equivalent), 0);
  EXPECT_EQ(exit_code(Verdict::Inequivalent), 1);
  EXPECT_EQ(exit_code(Verdict::Defect), 1);
  EXPECT_EQ(exit_code(Verdict::Invalid), 2);
  EXPECT_EQ(exit_code(Verdict::Unknown), 3);
  EXPECT_EQ(exit_code(Verdict::Refused), 4);
  EXPECT_EQ(exit_code(Verdict::Internal), 70);
  EXPECT_EQ(exit_code(Verdict::Interrupted), 130);
}

TEST(Verdicts, TheWorstOfARunCounts) {
  // 130, 70, 2, then defect, inequivalent, refused, unknown, equivalent.
  const Verdict order[] = {Verdict::Interrupted, Verdict::Internal,     Verdict::Invalid,
                           Verdict::Defect,      Verdict::Inequivalent, Verdict::Refused,
                           Verdict::Unknown,     Verdict::Equivalent};
  for (size_t i = 0; i < std::size(order); ++i)
    for (size_t j = i; j < std::size(order); ++j) {
      EXPECT_EQ(worst(order[i], order[j]), order[i]);
      EXPECT_EQ(worst(order[j], order[i]), order[i]);
    }
}

TEST(Verdicts, EquivalentNeedsEveryCellProvedAndNothingOpen) {
  EXPECT_EQ(derive_verdict(proved(4)), Verdict::Equivalent);
  InstanceResult mixed = proved(4);
  mixed.cells.proved_exact = 1;
  mixed.cells.proved_probabilistic = 3;
  EXPECT_EQ(derive_verdict(mixed), Verdict::Equivalent);

  InstanceResult some = proved(4);
  some.cells.proved_exact = 3;
  EXPECT_EQ(derive_verdict(some), Verdict::Unknown);
  InstanceResult counted = proved(4);
  counted.cells.refuted = 1;  // without a confirmed witness
  EXPECT_EQ(derive_verdict(counted), Verdict::Unknown);
  InstanceResult open = proved(4);
  open.undecided.push_back({"an index may be out of bounds", {}, 0, "", ""});
  EXPECT_EQ(derive_verdict(open), Verdict::Unknown);
  InstanceResult vacuous = proved(4);
  vacuous.vacuous = {'b'};
  EXPECT_EQ(derive_verdict(vacuous), Verdict::Unknown);
  EXPECT_EQ(derive_verdict(InstanceResult{}), Verdict::Unknown);
}

TEST(Verdicts, WithoutASecondProgramNoDefectIsEnough) {
  InstanceResult result;
  result.defects_only = true;
  EXPECT_EQ(derive_verdict(result), Verdict::Equivalent);
  result.undecided.push_back({"budget", {}, 0, "", ""});
  EXPECT_EQ(derive_verdict(result), Verdict::Unknown);
}

TEST(Verdicts, TheOrderOfPrecedenceHolds) {
  InstanceResult result = proved(4);
  result.cells.undecided = 1;
  EXPECT_EQ(derive_verdict(result), Verdict::Unknown);
  result.refusals.push_back({});
  EXPECT_EQ(derive_verdict(result), Verdict::Refused);
  result.witness.emplace();
  EXPECT_EQ(derive_verdict(result), Verdict::Inequivalent);
  result.defects.push_back(defect_of(coequal::DefectKind::SharedRace, 'a'));
  EXPECT_EQ(derive_verdict(result), Verdict::Defect);
}

TEST(Verdicts, AnOverflowOnlyWitnessRefutesNothing) {
  InstanceResult result = proved(4);
  result.cells.proved_exact = 3;
  result.witness.emplace();
  result.witness->overflow_only = true;
  EXPECT_EQ(derive_verdict(result), Verdict::Unknown);
  result.cells.proved_exact = 4;
  EXPECT_EQ(derive_verdict(result), Verdict::Unknown);
}

TEST(Expectations, CompareVerdictDefectAndProgram) {
  InstanceResult result;
  EXPECT_EQ(as_expected(result), std::nullopt);
  result.verdict = Verdict::Defect;
  result.defects = {defect_of(coequal::DefectKind::GlobalRace, 'a'),
                    defect_of(coequal::DefectKind::SharedRace, 'b')};
  instance::Expectation expected;
  expected.verdict = instance::ExpectedVerdict::Defect;
  result.expected = expected;
  EXPECT_EQ(as_expected(result), true);
  result.expected->defect = coequal::DefectKind::SharedRace;  // among those reported
  EXPECT_EQ(as_expected(result), true);
  result.expected->program = 'b';
  EXPECT_EQ(as_expected(result), true);
  result.expected->program = 'a';  // a's is another kind
  EXPECT_EQ(as_expected(result), false);
  result.expected->program = 0;
  result.expected->defect = coequal::DefectKind::InactiveLane;
  EXPECT_EQ(as_expected(result), false);
  result.expected = instance::Expectation{};
  EXPECT_EQ(as_expected(result), false);
}

TEST(Runs, ExitCodes) {
  RunResult run;
  InstanceResult good = proved(1);
  good.verdict = Verdict::Equivalent;
  good.expected = instance::Expectation{};
  InstanceResult unknown;
  unknown.verdict = Verdict::Unknown;
  unknown.expected = instance::Expectation{instance::ExpectedVerdict::Unknown, std::nullopt, 0};
  run.instances = {good, unknown};
  EXPECT_EQ(run.exit_code(false), 3);
  EXPECT_EQ(run.exit_code(true), 0);
  run.instances[0].expected->verdict = instance::ExpectedVerdict::Inequivalent;
  EXPECT_EQ(run.exit_code(true), 1);
  run.instances[0].expected.reset();  // nothing expected is not "as expected"
  EXPECT_EQ(run.exit_code(true), 1);
  run.instances[0].verdict = Verdict::Invalid;
  EXPECT_EQ(run.exit_code(true), 2);
  run.instances[1].verdict = Verdict::Internal;
  EXPECT_EQ(run.exit_code(true), 70);
  run.interrupted = true;
  EXPECT_EQ(run.exit_code(true), 130);
  EXPECT_EQ(run.exit_code(false), 130);
}

TEST(Defects, AreSpeltAsInTheSpecification) {
  const char* names[] = {"shared-race",         "global-race",          "out-of-bounds-read",
                         "out-of-bounds-write", "shared-out-of-bounds", "misaligned-access",
                         "uninitialized-read",  "barrier-divergence",   "inactive-lane",
                         "unwaited-copy",       "access-violation"};
  ASSERT_EQ(std::size(coequal::kDefectKinds), std::size(names));
  for (const char* name : names) {
    std::optional<coequal::DefectKind> kind = coequal::defect_from_name(name);
    ASSERT_TRUE(kind) << name;
    EXPECT_EQ(coequal::defect_name(*kind), name);
  }
}

}  // namespace
}  // namespace coequal::report
