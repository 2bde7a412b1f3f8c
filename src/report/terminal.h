// Results as text for people: the verdict first, then what explains it.
#pragma once

#include <string>

#include "report/result.h"

namespace coequal::report {

struct TerminalOptions {
  bool verbose = false;  // times, counters and what was left to show
  bool color = false;    // ANSI colours
  bool quiet = false;    // the verdict line only
  bool expect = false;   // say whether the result is as [expect] has it
};

// Ends in a line feed. Lines are at most 100 columns wide, except where a path or a number alone is
// longer; source lines are quoted where their files can be read.
std::string render_terminal(const InstanceResult& result, const TerminalOptions& options);

// One line on all instances of a run, as in "3 instances: 1 defect, 2 equivalent".
std::string render_summary(const RunResult& run, const TerminalOptions& options);

}  // namespace coequal::report
