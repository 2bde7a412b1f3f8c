// What compilers write besides PTX: error messages and dependency files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace coequal::toolchain {

// The first error in what the compiler wrote, with its place; the lines behind it, and those in
// front that say which file included which, are notes. If no line is an error, `otherwise` is the
// message and all lines are notes.
Diagnostic compile_error(std::string_view output, std::string_view otherwise);

// The prerequisites of a make rule, as -MD writes it.
std::vector<std::string> prerequisites(std::string_view rule);

}  // namespace coequal::toolchain
