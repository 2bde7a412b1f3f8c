// `coequal run`: one program of an instance on numbers, in IEEE arithmetic.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/options.h"

namespace coequal::cli {

struct RunRequest {
  std::string path;
  std::string program = "a";
  std::vector<std::string> inputs, outputs, prints;
  std::string order = "forward";
  bool late_copies = false;
  bool integers = false;
  int fill = 0xff;
  Options options;
};

void declare_run(CLI::App& app, RunRequest& request);

// Exit code: 0, 1 after a fault of the program, 2 when the request or the instance is wrong, 4 when
// something that is not modelled was met.
int run_program(const RunRequest& request);

}  // namespace coequal::cli
