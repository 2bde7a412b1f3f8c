// `coequal init`: a first instance for the kernels of a source, to be filled in.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "ptx/module.h"

namespace coequal::cli {

struct InitRequest {
  std::string source;  // .cu or .ptx
  std::vector<std::string> kernels;
  std::string output;  // empty: the source's name with .toml
  Options options;
};

void declare_init(CLI::App& app, InitRequest& request);

// Exit code: 0, 2 when the source does not compile, has no such kernels or the file exists already.
int write_first_instance(const InitRequest& request);

// The text of an instance that is valid as it stands. `source` is how it names the source, `text`
// that source if it is C++, where the names of parameters are taken from.
Result<std::string> first_instance(const ptx::Module& module, const std::string& source,
                                   const std::string& text,
                                   const std::vector<std::string>& kernels);

}  // namespace coequal::cli
