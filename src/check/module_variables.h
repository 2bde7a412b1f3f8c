// Variables of module scope as tensors: what kernels keep there from one launch to the next, and
// what the host puts there.
#pragma once

#include <optional>

#include "check/lower.h"

namespace coequal::check {

// Gives `launch` its kernel's variables that are tensors, made when a program first mentions them:
// those that the program's `symbols` name, and those of global memory that are zero at the start or
// that some kernel of the module visibly stores to. Both programs share a variable of one module,
// each with its own contents, as they share the instance's tensors. A diagnostic: a tensor that
// does not fit its variable.
std::optional<Diagnostic> add_module_variables(const instance::Program& program,
                                               SharedInputs& inputs, term::TermStore& store,
                                               exec::Launch& launch);

// What `symbols` names and no kernel of the program mentions.
std::optional<Diagnostic> unknown_symbol(const instance::Program& program,
                                         const std::vector<exec::Launch>& launches);

}  // namespace coequal::check
