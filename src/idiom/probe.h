// Runs a kernel that applies a function to its inputs, and hands out the term that it stores.
#pragma once

#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "ptx/module.h"
#include "term/store.h"

namespace coequal::idiom {

// A kernel (in_0, ..., in_n, out) of which one block, of the size that it asks for or of one
// thread, stores out[0] = f(in_0[0], ...). The term over `holes`, leaves of one group each; a
// refusal where the kernel is not understood or its value mentions anything else than the holes.
struct ProbedTerm {
  term::Term value;
  std::vector<term::Term> holes;
};
Result<ProbedTerm> run_probe(term::TermStore& store, const ptx::Module& module,
                             const std::string& kernel, const std::vector<DType>& inputs,
                             DType output);

}  // namespace coequal::idiom
