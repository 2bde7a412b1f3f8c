// Rounded constants read as the exact values that they stand for (the assumption `constant-snap`).
//
// A constant is read as another value only if it is exactly the float nearest to it: a named
// irrational times a power of two, or 1/N, if the table has just one such; else its shortest
// decimal, if that is short enough to be what was written. Below comparisons, roundings to integers
// and bit patterns constants are left as they are: there the rounded value decides.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <map>
#include <string>

#include "term/store.h"

namespace coequal::decide {

class Snapper {
 public:
  explicit Snapper(term::TermStore& store) : store_(store) {}

  // The term with its constants read so; what was changed is added to `ledger`: "0x3fb8aa3b is read
  // as log2(e)".
  term::Term operator()(const term::Term& t, std::map<std::string, std::string>& ledger);

 private:
  struct Reading {
    bool changed = false;
    term::Term value;
    std::string constant, meaning;
  };
  const Reading& read(const term::Term& constant);
  Reading find(const term::Rational& c, bool is_double) const;
  // Of the inverse of a constant too: a division by it has become a product.
  Reading find_quotient(const term::Rational& c, bool is_double);

  term::TermStore& store_;
  absl::flat_hash_map<term::Term, term::Term> done_;
  absl::flat_hash_map<uint64_t, Reading> readings_;  // by payload of the constant
};

// Whether a float is a neighbour of the one nearest to a named constant times a power of two:
// perhaps that constant, computed in floats.
bool beside_named_constant(const term::Rational& c);

}  // namespace coequal::decide
