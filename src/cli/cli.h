// The coequal command as a function, for the program of that name and for the Python package.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "instance/instance.h"

namespace coequal::cli {

// Instances in a form other than TOML, which the caller of run() knows how to read.
struct OtherForm {
  // Whether an argument names such instances ("cases.py", "cases.py::Case").
  std::function<bool(const std::string& argument)> owns;
  // Whether a file that was found in a folder holds some.
  std::function<bool(const std::string& path)> has_instances;
  // The names of all that an argument or a file stands for ("cases.py::Case").
  std::function<std::vector<std::string>(const std::string& argument)> names;
  std::function<Result<instance::Instance>(const std::string& name, const Options& options)> read;
};

// Parses the arguments, does what they ask for and prints it. Returns the exit code.
int run(int argc, const char* const* argv, const OtherForm* other = nullptr);

}  // namespace coequal::cli
