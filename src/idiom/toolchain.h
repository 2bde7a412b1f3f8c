// Templates of the compiler that a program was compiled with: probed on first use, kept beside its
// PTX.
#pragma once

#include <string>
#include <vector>

#include "base/budget.h"
#include "base/result.h"
#include "idiom/library.h"

namespace coequal::idiom {

// A compiler, and those of its flags that change the code of library functions.
struct Toolchain {
  std::string compiler;  // path
  std::string arch;
  std::vector<std::string> flags;
  friend auto operator<=>(const Toolchain&, const Toolchain&) = default;
};
// The flags that matter, of those that a source is compiled with.
std::vector<std::string> code_flags(const std::vector<std::string>& flags);

// Compiles and runs the probes, and adds to `known` the templates that they need.
Result<std::vector<ProbeOutcome>> probe_toolchain(const Toolchain& toolchain, const Budget& budget,
                                                  std::vector<Template>& known,
                                                  std::string* version = nullptr);
// The text that ships, made with a compiler: its templates for the usual flags.
Result<std::string> make_shipped(const std::string& compiler, const std::string& arch,
                                 const Budget& budget);
// The same of a folder of PTX (run_ptx_probes), beside what `ships` already.
std::string make_shipped_of_ptx(const std::string& folder, const std::string& name,
                                std::vector<Template> ships);
// Whether the templates that ship were made with this toolchain.
bool is_shipped(const Toolchain& toolchain, const std::string& version);
// The templates of the toolchains beyond those that ship, each probed once and then read from the
// cache; toolchains that fail to compile the probes add none.
std::vector<Template> templates_for(const std::vector<Toolchain>& toolchains,
                                    const std::string& cache_dir, const Budget& budget);

}  // namespace coequal::idiom
