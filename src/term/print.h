// Readable text of a term, for witnesses and residuals.
#pragma once

#include <functional>
#include <string>

#include "term/store.h"

namespace coequal::term {

struct PrintOptions {
  int max_nodes = 200;  // beyond, "..." stands for what is left out
  // Name of a leaf; by default the group's name and the flat cell, "x[3]".
  std::function<std::string(GroupId group, int64_t cell)> leaf = {};
};

std::string print(const TermStore& store, const Term& term, const PrintOptions& options = {});
std::string_view name_of(NamedConstant constant);  // "log2(e)"
std::string_view name_of(FloatFormat format);      // "bf16"

}  // namespace coequal::term
