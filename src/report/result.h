// What a check found: plain data that every form of report is written from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/defect.h"
#include "base/diagnostic.h"
#include "base/source_span.h"
#include "base/statistics.h"
#include "instance/instance.h"

namespace coequal::report {

// In the order of "worst": the verdict of a run is the greatest of its instances'.
enum class Verdict : uint8_t {
  Equivalent,
  Unknown,
  Refused,
  Inequivalent,
  Defect,
  Invalid,   // the instance or its sources are wrong
  Internal,  // our own fault
  Interrupted,
};

std::string_view verdict_name(
    Verdict verdict);            // "equivalent", ..., "invalid", "internal", "interrupted"
int exit_code(Verdict verdict);  // 0, 3, 4, 1, 1, 2, 70 and 130
Verdict worst(Verdict a, Verdict b);

struct Refusal {
  std::string instruction;  // "tex.2d.v4.f32.f32", an operator's name, or empty for a construct
                            // that is neither
  SourceSpan span;
  std::string reason;
  char program = 0;   // 'a', 'b', or 0 when it is neither's
  int64_t cells = 0;  // output cells that depend on it
  std::string which;  // those cells in words ("out[0..7]"), or empty
};

struct Undecided {
  std::string reason;
  SourceSpan span;
  int64_t cells = 0;   // 0 for an obligation that belongs to no output cell
  std::string which;   // a cell of the group ("out[3,5]"), or empty
  std::string detail;  // what was left to show, printed with -v
};

// A condition under which only one side, or neither, is defined; the verdict holds elsewhere.
struct Exclusion {
  std::string condition;  // "x[3] = 0"
  std::string side;       // "a", "b" or "both": the programs that are undefined there
  std::string sample;     // an input that meets it
  SourceSpan span;
  int64_t cells = 0;
};

struct WitnessValue {
  std::string exact;    // "1/3", "exp(2)"
  std::string decimal;  // "0.333333", empty when `exact` is a decimal itself
};

struct WitnessInput {
  std::string name;   // tensor or scalar
  std::string index;  // "3,4", empty for a scalar
  std::string value;
};

struct Witness {
  std::string cell;  // "out[3,5]"
  WitnessValue value_a, value_b;
  std::vector<WitnessInput> inputs;  // those that matter; every other input is `others`
  std::string others = "0";
  SourceSpan store_a, store_b;
  std::optional<std::string> replay;  // what the programs do on it in IEEE arithmetic
  // Some intermediate's IEEE rounding is infinite: shown, but no refutation while `no-overflow` is
  // assumed.
  bool overflow_only = false;
};

struct Assumption {
  std::string name;    // "constant-snap", "toolchain", ...
  std::string detail;  // "1.442695 is log2(e), softmax.cu:12"
};

struct CellCounts {
  int64_t total = 0;
  int64_t proved_exact = 0;
  int64_t proved_probabilistic = 0;
  int64_t refuted = 0;
  int64_t undecided = 0;

  int64_t proved() const { return proved_exact + proved_probabilistic; }
};

struct Proof {
  enum class Tier : uint8_t { None, Exact, Probabilistic };
  Tier tier = Tier::None;  // of the weakest cell
  double bound = 0;        // on the probability that a cell called equal is not; 0 when exact
  uint64_t seed = 0;
};
std::string_view tier_name(Proof::Tier tier);  // "none", "exact", "probabilistic"

struct InstanceResult {
  std::string name;
  std::string title;
  std::string file;
  Verdict verdict = Verdict::Unknown;
  bool defects_only = false;  // there is no second program: "equivalent" means "no defect"
  std::optional<instance::Expectation> expected;
  std::vector<coequal::Defect> defects;
  CellCounts cells;
  std::optional<Witness> witness;
  std::vector<Refusal> refusals;
  std::vector<Undecided> undecided;
  std::vector<Exclusion> exclusions;
  Proof proof;
  std::vector<char> vacuous;  // 'a', 'b': programs that write no output or touch no memory
  std::vector<Assumption> assumptions;
  std::vector<std::string> notes;    // what deserves a word but is no defect
  std::vector<Diagnostic> problems;  // why the verdict is Invalid or Internal
  Statistics statistics;
  instance::SourceTexts texts;  // sources that are no files, to be quoted
};

// The verdict that the findings support: defect, inequivalent, refused, unknown, equivalent, in
// this order of precedence. Equivalent only when every cell is proved and nothing at all is left
// open; an overflow-only witness refutes nothing. Invalid, Internal and Interrupted are the
// caller's to set.
Verdict derive_verdict(const InstanceResult& result);

// Whether the result is what its [expect] says; nullopt without one.
std::optional<bool> as_expected(const InstanceResult& result);

struct Tool {
  std::string name = "coequal";
  std::string version;
  std::string compiler;  // "nvcc 12.4", empty when none was needed
  std::string solver;    // "z3 4.13.0"
};

struct RunResult {
  Tool tool;
  std::vector<InstanceResult> instances;  // in the order they were asked for
  bool interrupted = false;

  Verdict worst_verdict() const;
  // `expect`: 0 when every instance is as expected and 1 otherwise, in place of 0, 1, 3 and 4.
  int exit_code(bool expect) const;
};

}  // namespace coequal::report
