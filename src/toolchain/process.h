// Runs another program, without a shell, under a budget.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/budget.h"

namespace coequal::toolchain {

struct ProcessResult {
  enum class End {
    Exited,      // code: exit status
    Signalled,   // code: signal
    Stopped,     // the budget was spent: the program and its children were killed
    NotStarted,  // code: errno
  };
  End end = End::NotStarted;
  int code = 0;
  std::string out, err;  // at most 64 MiB of each

  bool succeeded() const { return end == End::Exited && code == 0; }
};

// Runs argv[0], looked up in PATH if it has no slash, with nothing on its standard input and
// `environment` on top of our own. The program leads a process group of its own, so that killing it
// takes its children along.
ProcessResult run_process(const std::vector<std::string>& argv,
                          const std::map<std::string, std::string>& environment,
                          const Budget& budget);

}  // namespace coequal::toolchain
