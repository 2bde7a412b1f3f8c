// A place in a source file that a diagnostic, an access or a term can point at.
#pragma once

#include <cstdint>
#include <string>

namespace coequal {

// Line and column count from 1; 0 means "not known" (the whole file, or no column).
struct SourceSpan {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;

  friend bool operator==(const SourceSpan&, const SourceSpan&) = default;
};

// "file:line:column", with the parts that are known.
std::string to_string(const SourceSpan& span);

}  // namespace coequal
