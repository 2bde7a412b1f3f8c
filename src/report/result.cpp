#include "report/result.h"

#include <algorithm>

#include "base/check.h"

namespace coequal::report {

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::Equivalent:
      return "equivalent";
    case Verdict::Unknown:
      return "unknown";
    case Verdict::Refused:
      return "refused";
    case Verdict::Inequivalent:
      return "inequivalent";
    case Verdict::Defect:
      return "defect";
    case Verdict::Invalid:
      return "invalid";
    case Verdict::Internal:
      return "internal";
    case Verdict::Interrupted:
      return "interrupted";
  }
  CHECK(false);
  return "";
}

int exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::Equivalent:
      return 0;
    case Verdict::Unknown:
      return 3;
    case Verdict::Refused:
      return 4;
    case Verdict::Inequivalent:
      return 1;
    case Verdict::Defect:
      return 1;
    case Verdict::Invalid:
      return 2;
    case Verdict::Internal:
      return 70;
    case Verdict::Interrupted:
      return 130;
  }
  CHECK(false);
  return 70;
}

Verdict worst(Verdict a, Verdict b) { return std::max(a, b); }

std::string_view tier_name(Proof::Tier tier) {
  switch (tier) {
    case Proof::Tier::None:
      return "none";
    case Proof::Tier::Exact:
      return "exact";
    case Proof::Tier::Probabilistic:
      return "probabilistic";
  }
  CHECK(false);
  return "";
}

Verdict derive_verdict(const InstanceResult& result) {
  const CellCounts& cells = result.cells;
  bool refuted = result.witness && !result.witness->overflow_only;
  if (!result.defects.empty()) return Verdict::Defect;
  if (refuted) return Verdict::Inequivalent;
  // Counts without a confirmed witness refute nothing, and leave their cells open below.
  if (!result.refusals.empty()) return Verdict::Refused;
  bool complete = result.undecided.empty() && result.vacuous.empty() && !result.witness &&
                  cells.proved() == cells.total && cells.refuted == 0 && cells.undecided == 0;
  if (!complete) return Verdict::Unknown;
  // Nothing compared is nothing proved, unless nothing was to be compared.
  if (!result.defects_only && cells.total == 0) return Verdict::Unknown;
  return Verdict::Equivalent;
}

std::optional<bool> as_expected(const InstanceResult& result) {
  if (!result.expected) return std::nullopt;
  const instance::Expectation& expected = *result.expected;
  if (verdict_name(result.verdict) != instance::expected_verdict_name(expected.verdict))
    return false;
  if (expected.verdict != instance::ExpectedVerdict::Defect) return true;
  return std::any_of(result.defects.begin(), result.defects.end(),
                     [&](const coequal::Defect& defect) {
                       return (!expected.defect || defect.kind == *expected.defect) &&
                              (!expected.program || defect.program == expected.program);
                     });
}

Verdict RunResult::worst_verdict() const {
  Verdict verdict = interrupted ? Verdict::Interrupted : Verdict::Equivalent;
  for (const InstanceResult& result : instances) verdict = worst(verdict, result.verdict);
  return verdict;
}

int RunResult::exit_code(bool expect) const {
  Verdict verdict = worst_verdict();
  if (!expect || verdict >= Verdict::Invalid) return report::exit_code(verdict);
  bool all = std::all_of(instances.begin(), instances.end(), [](const InstanceResult& result) {
    return as_expected(result).value_or(false);
  });
  return all ? 0 : 1;
}

}  // namespace coequal::report
