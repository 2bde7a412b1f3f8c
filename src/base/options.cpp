#include "base/options.h"

namespace coequal {

const std::set<std::string>& default_assumptions() {
  static const std::set<std::string> names = {"finite-inputs",  "no-overflow",
                                              "library-approximation", "constant-snap",
                                              "softplus-threshold", "domain-exclusion"};
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

bool Options::assumes(const std::string& name) const {
  if (no_assume.count(name)) return false;
  return assume.count(name) || default_assumptions().count(name);
}

}  // namespace coequal
