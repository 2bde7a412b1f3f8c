// Results as the checker could make them, one of each verdict, for the tests of the reports.
#pragma once

#include "report/result.h"

namespace coequal::report {

inline InstanceResult sample_equivalent() {
  InstanceResult result;
  result.name = "row_sum";
  result.title = "row sum: one thread per row against a warp per row";
  result.file = "row_sum.toml";
  result.verdict = Verdict::Equivalent;
  result.expected = instance::Expectation{};
  result.cells = {1048576, 1048576, 0, 0, 0};
  result.proof.tier = Proof::Tier::Exact;
  result.exclusions.push_back({"n = 0", "b", "n = 0", {"no/such/row_sum.cu", 12, 5}, 8});
  result.assumptions = {{"finite-inputs", ""},
                        {"constant-snap", "1.442695 is log2(e), row_sum.cu:12"},
                        {"constant-snap", "0.3333333 is 1/3, row_sum.cu:14"},
                        {"toolchain", "nvcc 12.4, sm_80"}};
  result.statistics.seconds = {{"compile", 0.25}, {"decide", 1.5}};
  result.statistics.counters = {{"terms", 2052}};
  return result;
}

inline InstanceResult sample_inequivalent() {
  InstanceResult result;
  result.name = "softmax";
  result.title = "softmax: online against two passes";
  result.file = "softmax.toml";
  result.verdict = Verdict::Inequivalent;
  result.cells = {16, 15, 0, 1, 0};
  result.proof.tier = Proof::Tier::Exact;
  Witness witness;
  witness.cell = "out[3,5]";
  witness.value_a = {"7/3", "2.333333"};
  witness.value_b = {"2", ""};
  witness.inputs = {{"x", "3,5", "2"}, {"eps", "", "1/4"}};
  witness.store_a = {"no/such/softmax.cu", 14, 3};
  witness.store_b = {"no/such/softmax.cu", 31, 3};
  witness.replay = "A gives 2.3333333 and B gives 2, on the CPU in the programs' own arithmetic";
  result.witness = witness;
  return result;
}

inline InstanceResult sample_defect() {
  InstanceResult result;
  result.name = "buggy";
  result.title = "group staging: padding lanes store over the sum and the magnitude";
  result.file = "pad/buggy.toml";
  result.verdict = Verdict::Defect;
  result.expected = instance::Expectation{instance::ExpectedVerdict::Defect,
                                          coequal::DefectKind::SharedRace, 'a'};
  result.cells = {80, 0, 0, 0, 80};
  coequal::Defect race;
  race.kind = coequal::DefectKind::SharedRace;
  race.program = 'a';
  race.message = "two threads of a block write one byte with nothing that orders them";
  coequal::Access first;
  first.kind = coequal::Access::Kind::Write;
  first.thread = {16, 0, 0};
  first.where = "stage";
  first.index = "64";
  first.bytes = 4;
  first.span = {"no/such/kernels.cu", 12, 1};
  coequal::Access second = first;
  second.thread = {0, 2, 0};
  second.block = {4, 0, 1};
  second.span.line = 19;
  race.accesses = {first, second};
  race.inputs = {"x[3] = 1"};
  race.also = {"the same at stage[68], by threads 17 and 8"};
  race.count = 1200;
  result.defects = {race};
  result.undecided.push_back(
      {"depends on a raced byte", {"no/such/kernels.cu", 25, 0}, 80, "y[0,0]", ""});
  return result;
}

inline InstanceResult sample_refused() {
  InstanceResult result;
  result.name = "texture";
  result.file = "texture.toml";
  result.verdict = Verdict::Refused;
  result.cells = {8, 0, 0, 0, 8};
  result.refusals.push_back({"tex.2d.v4.f32.f32",
                             {"no/such/k.cu", 7, 0},
                             "texture fetches are not modelled",
                             'a',
                             8,
                             "out[0..7]"});
  return result;
}

inline InstanceResult sample_unknown() {
  InstanceResult result;
  result.name = "gram";
  result.file = "gram.toml";
  result.verdict = Verdict::Unknown;
  result.cells = {8, 1, 2, 0, 5};
  result.proof = {Proof::Tier::Probabilistic, 0x1p-103, 7};
  result.undecided.push_back({"no proof within 60 s", {}, 5, "out[3]", "(+ a b) against (+ b c)"});
  result.vacuous = {'b'};
  result.notes = {"a masked load reads no byte"};
  return result;
}

inline InstanceResult sample_invalid() {
  InstanceResult result;
  result.name = "bad";
  result.file = "bad.toml";
  result.verdict = Verdict::Invalid;
  result.problems.push_back(make_diagnostic(DiagnosticCode::InstanceInvalid, {"bad.toml", 3, 1},
                                            "expected an integer, found a string"));
  return result;
}

}  // namespace coequal::report
