// The value of a probe as a tree over holes, apart from any store: what inlined code is compared
// with.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "term/store.h"

namespace coequal::idiom {

struct Node {
  term::Kind kind{};  // Leaf: a hole
  uint8_t width = 0;  // of a word
  uint8_t arity = 0;
  // As kinds.def says; of a hole: its index. Unused for RealConst.
  uint64_t payload = 0;
  term::Rational constant;  // of RealConst
  std::array<uint32_t, 3> args{};
  // What a hole is filled with may fold this node into another one.
  bool soft = false;
  // A filling whose sign is known may decide this condition, or the choice of this select.
  bool decidable = false;
};

// Children come before their parents; the last node is the root.
struct Template {
  std::string function;  // name in functions()
  std::string origin;    // what it was compiled from: "f32", "f32 -ftz=true"
  uint32_t sizes = 0;    // bit h: the function is applied to the size of hole h
  // The function is factor * code + offset: constants at its end fold into what follows.
  term::Rational factor = 1, offset = 0;
  int holes = 0;
  std::vector<Node> nodes;
  // Per hole: the way down from the root that says most surely what fills it, as argument indices.
  std::vector<std::vector<uint8_t>> paths;
};

// The nodes that the root may fold to.
std::vector<uint32_t> roots_of(const Template& t);

// The term over hole leaves as a template; nothing if it is a hole itself, or mentions other
// leaves than those.
std::optional<Template> make_template(const term::TermStore& store, const term::Term& value,
                                      std::span<const term::Term> holes);

// The value of the code, from that of the function.
term::Term result_of(term::TermStore& store, const Template& t, const term::Term& function);

// The arguments of the function that the template with these fillings is.
std::vector<term::Term> arguments_of(term::TermStore& store, uint32_t sizes,
                                     std::vector<term::Term> fillings);

// The term that the template stands for, its holes filled.
term::Term instantiate(term::TermStore& store, const Template& t,
                       std::span<const term::Term> fillings);

// Fillings under which the template is exactly `t`; nothing if there are none, or none is found.
std::optional<std::vector<term::Term>> match(term::TermStore& store, const Template& t,
                                             const term::Term& term);

// Text of templates: a line a node, nodes that several share once; lines that begin with # say
// something to people. Reads back what it writes.
std::string to_text(std::span<const Template> templates);
Result<std::vector<Template>> from_text(std::string_view text);

}  // namespace coequal::idiom
