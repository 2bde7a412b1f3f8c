// What a check is asked to do; a plain value, fixed when the check starts.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace coequal {

struct Options {
#define OPTION(name, type, value, flag, key, help) type name = value;
#include "base/options.def"
#undef OPTION

  // Named assumptions added to and taken from the defaults (`--assume`, `--no-assume`, `[assume]`).
  std::set<std::string> assume;
  std::set<std::string> no_assume;
  // Names of the options that the caller set: an instance's own settings do not replace these.
  std::set<std::string> given;

  // Whether a named assumption holds: withdrawn, added, or on by default.
  bool assumes(const std::string& name) const;
};

// A row of options.def, with its default as text.
struct OptionRow {
  std::string_view name, type, default_text, flag, key, help;
};
const std::vector<OptionRow>& option_rows();

// "finite-inputs", "no-overflow", ... : the assumptions that hold unless withdrawn.
const std::set<std::string>& default_assumptions();
// All names that --assume and --no-assume accept.
const std::set<std::string>& known_assumptions();

}  // namespace coequal
