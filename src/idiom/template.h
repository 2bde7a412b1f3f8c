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
  // What fills it must be computed from 16-bit floats alone: their library takes liberties with
  // constants that stand beside plain instructions.
  bool narrow = false;
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

// What the topmost nodes of terms that the template may be have in common, as words: the kind,
// where an argument stands that no filling changes (3: of two in any order, 4: there is none), its
// kind, and its constant or payload.
std::vector<std::string> root_labels(const Template& t);

// Text of templates: a line a node, nodes that several share once; a line that begins with = ends a
// template, those with @ below it are its root labels; those with # say something to people.
std::string to_text(std::span<const Template> templates);

// Text that stays where it is, of which single templates are read.
class TemplateText {
 public:
  explicit TemplateText(std::string_view text);

  size_t size() const { return ends_.size(); }
  Result<Template> read(size_t index) const;
  std::span<const std::string_view> root_labels(size_t index) const {
    return std::span(labels_).subspan(ends_[index].first_label, ends_[index].labels);
  }

 private:
  friend Result<std::vector<Template>> from_text(std::string_view text);
  struct End {
    std::string_view line;
    size_t nodes;  // that stand above it
    size_t first_label, labels;
  };
  Diagnostic bad(std::string_view line, const char* what) const;
  Result<Node> node(size_t index) const;

  std::string_view text_;
  std::vector<std::string_view> nodes_;
  std::vector<End> ends_;
  std::vector<std::string_view> labels_;
};

// Reads back what to_text writes.
Result<std::vector<Template>> from_text(std::string_view text);

std::vector<std::string_view> words_of(std::string_view line);
std::optional<term::Kind> kind_named(std::string_view name);

}  // namespace coequal::idiom
