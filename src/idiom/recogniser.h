// Replaces inlined library code in terms by the functions that it computes (the assumption
// `library-approximation`).
#pragma once

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "idiom/function.h"
#include "idiom/template.h"
#include "term/store.h"

namespace coequal::idiom {

// Templates with an index over their topmost nodes. Those of a text are read when one is first
// asked for. What it answers never changes; it may be shared by threads.
class Library {
 public:
  explicit Library(std::vector<Template> templates) : Library(nullptr, std::move(templates)) {}
  // Those of another library, which stays, and more.
  Library(const Library& base, std::vector<Template> more) : Library(&base, std::move(more)) {}
  // Those of texts that stay.
  explicit Library(std::span<const std::string_view> texts);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // The templates that ship with the program.
  static const Library& shipped();

  size_t size() const;
  const Template& at(size_t index) const { return slot(index).made; }
  std::vector<Template> templates() const;
  // Function of a template, as its index in functions().
  size_t function_of(size_t index) const { return slot(index).function; }
  // Templates whose root may be the node.
  void candidates(const term::TermStore& store, const term::Term& t,
                  std::vector<uint16_t>& into) const;

 private:
  struct Slot {
    Template made;
    size_t function = 0;
  };
  struct Shelf;
  Library(const Library* base, std::vector<Template> more);
  const Slot& slot(size_t index) const;
  void enter(size_t index, std::string_view label);

  const Library* base_ = nullptr;
  std::unique_ptr<Shelf> shelf_;
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
