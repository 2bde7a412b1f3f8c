// Defects of a program: what makes its result no function of its declared inputs, or touches
// foreign memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_span.h"

namespace coequal {

enum class DefectKind : uint8_t {
#define DEFECT(kind, name, meaning) kind,
#include "base/defect_kinds.def"
#undef DEFECT
};

struct DefectKindRow {
  DefectKind kind;
  std::string_view name;
  std::string_view meaning;
};

inline constexpr DefectKindRow kDefectKinds[] = {
#define DEFECT(kind, name, meaning) {DefectKind::kind, name, meaning},
#include "base/defect_kinds.def"
#undef DEFECT
};

constexpr std::string_view defect_name(DefectKind kind) {
  return kDefectKinds[static_cast<size_t>(kind)].name;
}

constexpr std::optional<DefectKind> defect_from_name(std::string_view name) {
  for (const DefectKindRow& row : kDefectKinds)
    if (row.name == name) return row.kind;
  return std::nullopt;
}

// One access, or one arrival at a barrier, of one thread.
struct Access {
  enum class Kind : uint8_t { Read, Write, Atomic, Copy, Barrier, Other };
  Kind kind = Kind::Other;
  std::array<int64_t, 3> thread = {0, 0, 0};
  std::array<int64_t, 3> block = {0, 0, 0};
  int32_t launch = 0;  // index among the program's launches
  // What is accessed: a tensor or a shared variable ("x", "part", "shared" for the dynamic part),
  // and the index in it: "3,4" (cells, row-major) or "128" (byte offset in shared memory). Both are
  // empty for a barrier.
  std::string where;
  std::string index;
  int32_t bytes = 0;  // size of the access, 0 when it has none
  SourceSpan span;

  // "x[3,4]", "part[128]", or empty.
  std::string address() const { return index.empty() ? where : where + "[" + index + "]"; }
};

struct Defect {
  DefectKind kind = DefectKind::OutOfBoundsRead;
  char program = 'a';  // 'a' or 'b'
  std::string message;
  std::vector<Access> accesses;  // one, or the two that conflict
  // An input under which it happens, when it needs one: "x[3] = 1".
  std::vector<std::string> inputs;
  // Consequences and repetitions folded under this one, each a line of text.
  std::vector<std::string> also;
  int64_t count =
      1;  // how often it was seen, `accesses` being the first in the order of add_defect
};

// Adds a finding. The same one at another place (kind, program, launches, lines and objects agree)
// counts once more, and of both the accesses of the lowest block and thread are kept: what is
// reported does not depend on the order of execution.
void add_defect(std::vector<Defect>& to, Defect found);

// Whether they are the same one in that sense.
bool same_finding(const Defect& a, const Defect& b);

}  // namespace coequal
