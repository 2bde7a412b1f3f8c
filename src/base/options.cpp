#include "base/options.h"

namespace coequal {

const std::set<std::string>& default_assumptions() {
  static const std::set<std::string> names = {
      "finite-inputs",      "no-overflow",      "library-approximation", "constant-snap",
      "softplus-threshold", "domain-exclusion", "signed-zero",           "same-rounding",
      "resident-blocks",    "volatile-order",   "object-placement",      "module-variables",
      "cluster-scope"};
  return names;
}

const std::set<std::string>& known_assumptions() {
  static const std::set<std::string> names = [] {
    std::set<std::string> all = default_assumptions();
    all.insert({"gelu-tanh=gelu-erf", "warp-lockstep"});
    return all;
  }();
  return names;
}

const std::vector<OptionRow>& option_rows() {
  static const std::vector<OptionRow> rows = {
#define OPTION(name, type, value, flag, key, help) {#name, #type, #value, flag, key, help},
#include "base/options.def"
#undef OPTION
  };
  return rows;
}

bool Options::assumes(const std::string& name) const {
  if (no_assume.count(name)) return false;
  return assume.count(name) || default_assumptions().count(name);
}

}  // namespace coequal
