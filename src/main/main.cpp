// The coequal command.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "cli/cli.h"

int main(int argc, char** argv) {
  try {
    return coequal::cli::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "coequal: internal error: {}\n", error.what());
    return 70;
  }
}
