// Row patterns, parsed: which modifiers and operands a row takes, and how an instruction's text is
// bound to them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.h"

namespace coequal::isa {

struct ModifierPattern {
  std::vector<std::string_view> words;  // alternatives
  bool optional = false;
  bool ordered = false;  // types and matrix layouts: their order in the text counts
};

struct OperandPattern {
  enum class Role : uint8_t { Destination, Source, Address, Free };
  enum class TypeRule : uint8_t {
    Own,
    Source,
    Fixed
  };  // the instruction's type, its src_type, or `type`
  Role role = Role::Source;
  TypeRule type_rule = TypeRule::Own;
  ptx::ScalarType type = ptx::ScalarType::None;
  bool optional = false;
  bool pair = false;       // the q of d|q; optional if `optional`
  bool immediate = false;  // a constant, by the manual
};

struct Pattern {
  std::string_view opcode;
  std::vector<ModifierPattern> modifiers;
  std::vector<OperandPattern> operands;
  bool any_operands = false;
};

// CHECKs that the text is well formed.
Pattern parse_pattern(std::string_view text);

// How many modifiers of `text`, from the first, the pattern accepts; `complete` if it accepts all
// and misses none.
struct ModifierMatch {
  size_t accepted = 0;
  bool complete = false;
};
ModifierMatch match_modifiers(const Pattern& pattern, const std::vector<std::string>& text);

// The pattern of each operand, or nothing if they do not fit.
std::optional<std::vector<const OperandPattern*>> match_operands(
    const Pattern& pattern, const std::vector<ptx::Operand>& operands);

// Whether one text could match both. May say yes wrongly, never no.
bool may_overlap(const Pattern& a, const Pattern& b);

}  // namespace coequal::isa
