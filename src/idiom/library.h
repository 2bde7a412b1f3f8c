// Where templates come from: probes compiled with a compiler and its flags, or the text that ships
// with the program.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "idiom/template.h"
#include "ptx/module.h"

namespace coequal::idiom {

// One probe kernel: what it computes, and in which type.
struct Probe {
  std::string kernel;
  std::string function;  // name in functions()
  DType dtype = DType::F32;
  uint32_t sizes = 0;   // bit i: argument i is an absolute value
  bool square = false;  // of a positive argument: it is 1 + x^2, not 1 + |x|
  bool again = false;   // calls what gives the function together with something else
  std::string text;     // its CUDA C++
};
const std::vector<Probe>& probes();
// All probes as one source.
std::string probe_source();

// What became of one probe.
struct ProbeOutcome {
  const Probe* probe = nullptr;
  bool direct = false;  // the compiler calls an instruction: nothing to recognise
  bool recognised = false;
  std::string why;  // neither
};
// Runs the probes of a module compiled from probe_source(), and adds templates for what those at
// hand do not recognise yet; `origin` names the compiler flags.
std::vector<ProbeOutcome> run_probes(const ptx::Module& module, const std::string& origin,
                                     std::vector<Template>& known);

// The templates of a folder of PTX made elsewhere: FUNCTION_DTYPE_SIZES.ptx (exp_f32_0.ptx), each
// with a kernel named `probe`.
std::vector<ProbeOutcome> run_ptx_probes(const std::string& folder, const std::string& origin,
                                         std::vector<Template>& known);

// The text that ships with the program: the compiler that it was made with, what became of each
// probe, the templates.
std::string shipped_text(const std::string& compiler_version,
                         const std::vector<std::vector<ProbeOutcome>>& outcomes,
                         const std::vector<std::string>& origins,
                         const std::vector<Template>& templates);
// It, in parts.
std::span<const std::string_view> shipped_texts();
// Read from it: the compiler's version.
std::string_view shipped_compiler();
// A table for people: each function in each type, with each set of flags.
std::string list_shipped();

}  // namespace coequal::idiom
