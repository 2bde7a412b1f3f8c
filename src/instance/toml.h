// Reads the TOML form of instances.
#pragma once

#include <string>

#include "base/result.h"
#include "instance/instance.h"

namespace coequal::instance {

// Reads and validates one file. The error is the first one found, with file, line and what was
// expected; further ones of the same file are its notes.
Result<Instance> read_toml(const std::string& path);

// The same for text that is already in memory; `path` names it in messages and resolves its
// sources, those of `texts` excepted.
Result<Instance> read_toml_text(const std::string& text, const std::string& path,
                                const SourceTexts& texts = {});

// Whether a readable TOML file has a [program_a] table; a file that cannot be parsed counts when a
// line of it starts that table, so that its error is reported and not skipped.
bool is_instance_file(const std::string& path);

}  // namespace coequal::instance
