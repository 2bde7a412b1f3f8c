// Parses row patterns and matches instructions against them.
#include "isa/pattern.h"

#include <algorithm>
#include <span>

#include "base/check.h"

namespace coequal::isa {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::string_view kRnd[] = {"rn", "rz", "rm", "rp"};
constexpr std::string_view kRndi[] = {"rni", "rzi", "rmi", "rpi"};
constexpr std::string_view kIntegerCompare[] = {"eq", "ne", "lt", "le", "gt",
                                                "ge", "lo", "ls", "hi", "hs"};
constexpr std::string_view kFloatCompare[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                              "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
constexpr std::string_view kBool[] = {"and", "or", "xor"};
constexpr std::string_view kInt[] = {"u16", "u32", "u64", "s16", "s32", "s64"};
constexpr std::string_view kAnyInt[] = {"u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"};
constexpr std::string_view kBits[] = {"b16", "b32", "b64"};
constexpr std::string_view kFloat[] = {"f16", "bf16", "f16x2", "bf16x2", "f32", "f64"};
constexpr std::string_view kScalarFloat[] = {"f16", "bf16", "f32", "f64"};
constexpr std::string_view kMemory[] = {"b8",  "b16", "b32", "b64", "u8",  "u16", "u32",
                                        "u64", "s8",  "s16", "s32", "s64", "f32", "f64"};
constexpr std::string_view kRegister[] = {"b16", "b32", "b64", "u16", "u32", "u64",
                                          "s16", "s32", "s64", "f32", "f64"};
constexpr std::string_view kSpace[] = {"const",  "global",       "local",
                                       "param",  "param::entry", "param::func",
                                       "shared", "shared::cta",  "shared::cluster"};
constexpr std::string_view kCacheOperator[] = {"ca", "cg", "cs", "cv", "lu", "wb", "wt"};
constexpr std::string_view kEvictL1[] = {"L1::evict_normal", "L1::evict_unchanged",
                                         "L1::evict_first", "L1::evict_last", "L1::no_allocate"};
constexpr std::string_view kEvictL2[] = {"L2::evict_normal", "L2::evict_first", "L2::evict_last"};
constexpr std::string_view kFetchL2[] = {"L2::64B", "L2::128B", "L2::256B"};
constexpr std::string_view kVector[] = {"v2", "v4", "v8"};
constexpr std::string_view kScope[] = {"cta", "cluster", "gpu", "sys"};
// Shapes of wgmma: m64, n a multiple of 8 up to 256, and k as the type of the factors has it.
#define COEQUAL_WGMMA_SHAPES(k)                                                                  \
  "m64n8" k, "m64n16" k, "m64n24" k, "m64n32" k, "m64n40" k, "m64n48" k, "m64n56" k, "m64n64" k, \
      "m64n72" k, "m64n80" k, "m64n88" k, "m64n96" k, "m64n104" k, "m64n112" k, "m64n120" k,     \
      "m64n128" k, "m64n136" k, "m64n144" k, "m64n152" k, "m64n160" k, "m64n168" k, "m64n176" k, \
      "m64n184" k, "m64n192" k, "m64n200" k, "m64n208" k, "m64n216" k, "m64n224" k, "m64n232" k, \
      "m64n240" k, "m64n248" k, "m64n256" k
constexpr std::string_view kWgmma8[] = {COEQUAL_WGMMA_SHAPES("k8")};
constexpr std::string_view kWgmma16[] = {COEQUAL_WGMMA_SHAPES("k16")};
constexpr std::string_view kWgmma32[] = {COEQUAL_WGMMA_SHAPES("k32")};
#undef COEQUAL_WGMMA_SHAPES
constexpr std::string_view kOrdering[] = {"relaxed", "acquire", "release", "acq_rel"};

struct NamedSet {
  std::string_view name;
  Words words;
};
constexpr NamedSet kSets[] = {
    {"rnd", kRnd},
    {"rndi", kRndi},
    {"icmp", kIntegerCompare},
    {"fcmp", kFloatCompare},
    {"bool", kBool},
    {"int", kInt},
    {"anyint", kAnyInt},
    {"bits", kBits},
    {"float", kFloat},
    {"sfloat", kScalarFloat},
    {"memtype", kMemory},
    {"regtype", kRegister},
    {"space", kSpace},
    {"cop", kCacheOperator},
    {"evictL1", kEvictL1},
    {"evictL2", kEvictL2},
    {"fetchL2", kFetchL2},
    {"vec", kVector},
    {"scope", kScope},
    {"sem", kOrdering},
    {"m64k8", kWgmma8},
    {"m64k16", kWgmma16},
    {"m64k32", kWgmma32},
};

void add_words(std::vector<std::string_view>* words, std::string_view word) {
  CHECK(!word.empty());
  for (const NamedSet& set : kSets)
    if (set.name == word) {
      words->insert(words->end(), set.words.begin(), set.words.end());
      return;
    }
  words->push_back(word);
}

bool is_ordered_word(std::string_view word) {
  return word == "row" || word == "col" || ptx::type_from_text(word).has_value();
}

// Comma-separated words, with or without dots before them.
ModifierPattern parse_alternatives(std::string_view text, bool optional) {
  ModifierPattern out;
  out.optional = optional;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    if (word.front() == '.') word.remove_prefix(1);
    add_words(&out.words, word);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  out.ordered = std::any_of(out.words.begin(), out.words.end(), is_ordered_word);
  return out;
}

OperandPattern parse_operand(std::string_view text, bool optional, bool pair) {
  OperandPattern out;
  out.optional = optional;
  out.pair = pair;
  CHECK(!text.empty());
  if (text.front() == '[') {
    out.role = OperandPattern::Role::Address;
    return out;
  }
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  if (name.front() == 'd' || name.front() == 'q') {
    out.role = OperandPattern::Role::Destination;
  } else if (name.front() == 't') {
    out.role = OperandPattern::Role::Free;
  } else {
    out.immediate = name == "imm";
  }
  if (colon == std::string_view::npos) return out;
  const std::string_view type = text.substr(colon + 1);
  if (type == "S") {
    out.type_rule = OperandPattern::TypeRule::Source;
    return out;
  }
  const auto named = ptx::type_from_text(type);
  CHECK(named.has_value());
  out.type_rule = OperandPattern::TypeRule::Fixed;
  out.type = *named;
  return out;
}

bool contains(const ModifierPattern& pattern, std::string_view word) {
  return std::find(pattern.words.begin(), pattern.words.end(), word) != pattern.words.end();
}

bool share_a_word(const ModifierPattern& a, const ModifierPattern& b) {
  return std::any_of(a.words.begin(), a.words.end(),
                     [&](std::string_view word) { return contains(b, word); });
}

// Some modifier that `a` requires cannot stand in `b` at all.
bool requires_foreign_word(const Pattern& a, const Pattern& b) {
  return std::any_of(a.modifiers.begin(), a.modifiers.end(), [&](const ModifierPattern& need) {
    return !need.optional &&
           std::none_of(b.modifiers.begin(), b.modifiers.end(),
                        [&](const ModifierPattern& have) { return share_a_word(need, have); });
  });
}

struct Count {
  size_t least = 0, most = 0;
};
Count operand_count(const Pattern& pattern) {
  Count count;
  for (const OperandPattern& operand : pattern.operands) {
    ++count.most;
    if (!operand.optional) ++count.least;
  }
  return count;
}

std::vector<const ModifierPattern*> ordered_of(const Pattern& pattern) {
  std::vector<const ModifierPattern*> out;
  for (const ModifierPattern& modifier : pattern.modifiers)
    if (modifier.ordered) out.push_back(&modifier);
  return out;
}

}  // namespace

Pattern parse_pattern(std::string_view text) {
  Pattern out;
  size_t at = text.find_first_of(".{ ");
  out.opcode = text.substr(0, at);
  at = std::min(at, text.size());
  while (at < text.size() && text[at] != ' ') {
    if (text[at] == '{') {  // {.ftz} or {.cta,.gpu}
      const size_t end = text.find('}', at);
      CHECK(end != std::string_view::npos);
      out.modifiers.push_back(parse_alternatives(text.substr(at + 1, end - at - 1), true));
      at = end + 1;
      continue;
    }
    CHECK(text[at] == '.');
    ++at;
    if (text[at] == '{') {  // .{u16,u32}
      const size_t end = text.find('}', at);
      CHECK(end != std::string_view::npos);
      out.modifiers.push_back(parse_alternatives(text.substr(at + 1, end - at - 1), false));
      at = end + 1;
    } else {
      const size_t end = std::min(text.find_first_of(".{ ", at), text.size());
      out.modifiers.push_back(parse_alternatives(text.substr(at, end - at), false));
      at = end;
    }
  }
  CHECK(out.modifiers.size() <= 32);
  while (at < text.size()) {
    bool optional = false, pair = false;
    if (text[at] == '{') {
      optional = true;
      ++at;
    }
    if (text[at] == '|') {
      pair = true;
      ++at;
    }
    while (text[at] == ' ' || text[at] == ',') ++at;
    const size_t end = std::min(text.find_first_of(",{|} ", at), text.size());
    const std::string_view operand = text.substr(at, end - at);
    if (operand == "*") {
      out.any_operands = true;
    } else {
      out.operands.push_back(parse_operand(operand, optional, pair));
    }
    at = end;
    if (optional) {
      CHECK(at < text.size() && text[at] == '}');
      ++at;
    }
  }
  return out;
}

ModifierMatch match_modifiers(const Pattern& pattern, const std::vector<std::string>& text) {
  const size_t count = pattern.modifiers.size();
  uint32_t used = 0;
  size_t next_ordered = 0;  // ordered patterns before this one are used or were passed over
  ModifierMatch match;
  for (const std::string& word : text) {
    size_t found = count;
    bool blocked = false;  // an earlier ordered pattern still waits for its word
    for (size_t i = 0; i < count && found == count; ++i) {
      const ModifierPattern& candidate = pattern.modifiers[i];
      if (used & (1u << i)) continue;
      if (candidate.ordered && (blocked || i < next_ordered)) continue;
      if (contains(candidate, word)) {
        found = i;
      } else if (candidate.ordered && !candidate.optional) {
        blocked = true;
      }
    }
    if (found == count) return match;
    used |= 1u << found;
    if (pattern.modifiers[found].ordered) next_ordered = found + 1;
    ++match.accepted;
  }
  match.complete = true;
  for (size_t i = 0; i < count; ++i)
    if (!pattern.modifiers[i].optional && !(used & (1u << i))) match.complete = false;
  return match;
}

std::optional<std::vector<const OperandPattern*>> match_operands(
    const Pattern& pattern, const std::vector<ptx::Operand>& operands) {
  std::vector<const OperandPattern*> out;
  if (pattern.any_operands) return out;
  size_t needed = 0;
  for (const OperandPattern& p : pattern.operands)
    if (!p.optional && !p.pair) ++needed;
  size_t at = 0;
  for (const OperandPattern& p : pattern.operands) {
    if (p.pair) {
      const bool written = at > 0 && at < operands.size() && operands[at - 1].has_pair;
      if (!written && !p.optional) return std::nullopt;
      if (!written) continue;
    } else {
      if (at > 0 && operands[at - 1].has_pair) return std::nullopt;
      if (p.optional && operands.size() - at <= needed) continue;
      if (at == operands.size()) return std::nullopt;
      if (!p.optional) --needed;
    }
    const bool is_address = operands[at].kind == ptx::Operand::Kind::Address;
    if (is_address != (p.role == OperandPattern::Role::Address)) return std::nullopt;
    if (p.immediate && operands[at].kind != ptx::Operand::Kind::Immediate) return std::nullopt;
    out.push_back(&p);
    ++at;
  }
  if (at != operands.size() || (at > 0 && operands[at - 1].has_pair)) return std::nullopt;
  return out;
}

bool may_overlap(const Pattern& a, const Pattern& b) {
  if (a.opcode != b.opcode) return false;
  if (requires_foreign_word(a, b) || requires_foreign_word(b, a)) return false;
  if (!a.any_operands && !b.any_operands) {
    const Count ca = operand_count(a), cb = operand_count(b);
    if (ca.most < cb.least || cb.most < ca.least) return false;
  }
  const auto oa = ordered_of(a), ob = ordered_of(b);
  const auto required = [](const ModifierPattern* m) { return !m->optional; };
  if (std::all_of(oa.begin(), oa.end(), required) && std::all_of(ob.begin(), ob.end(), required)) {
    if (oa.size() != ob.size()) return false;
    for (size_t i = 0; i < oa.size(); ++i)
      if (!share_a_word(*oa[i], *ob[i])) return false;
  }
  return true;
}

}  // namespace coequal::isa
