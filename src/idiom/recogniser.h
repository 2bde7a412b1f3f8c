// Replaces inlined library code in terms by the functions that it computes (the assumption
// `library-approximation`).
#pragma once

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <vector>

#include "idiom/function.h"
#include "idiom/template.h"
#include "term/store.h"

namespace coequal::idiom {

// Templates with an index over their topmost nodes. Immutable once made; may be shared by threads.
class Library {
 public:
  explicit Library(std::vector<Template> templates);

  // The templates that ship with the program.
  static const Library& shipped();

  const std::vector<Template>& templates() const { return templates_; }
  // Function of a template, as its index in functions().
  size_t function_of(size_t index) const { return functions_[index]; }
  // Templates whose root may be the node.
  void candidates(const term::TermStore& store, const term::Term& t,
                  std::vector<uint16_t>& into) const;

 private:
  std::vector<Template> templates_;
  std::vector<size_t> functions_;
  // By kind of the root, and for one of its arguments that no filling changes, or none, its
  // position and label.
  absl::flat_hash_map<uint64_t, std::vector<uint16_t>> index_;
  std::array<bool, 256> kinds_{};  // of roots
};

class Recogniser {
 public:
  Recogniser(term::TermStore& store, const Library& library) : store_(store), library_(library) {}

  struct Reading {
    term::Term term;
    FunctionSet used;  // functions that were recognised somewhere below
  };
  // The outermost matches win; what fills them is read in the same way.
  Reading operator()(const term::Term& t);

 private:
  struct Entry {
    term::Term at;  // where it was read
    Reading reading;
  };
  struct Match {
    size_t index;  // of the template
    std::vector<term::Term> fillings;
  };
  std::optional<Match> find(const term::Term& t);
  Reading moved(const Entry& entry, const term::Term& t) const;

  term::TermStore& store_;
  const Library& library_;
  absl::flat_hash_map<term::ShapeId, Entry> done_;
  std::vector<uint16_t> candidates_;
};

}  // namespace coequal::idiom
