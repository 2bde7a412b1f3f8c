// Rounded constants read as the exact values that they stand for (the assumption `constant-snap`).
//
// A constant is read as another value only if it is exactly the float nearest to it: a named
// irrational times a power of two, or 1/N, if the table has just one such; else its shortest
// decimal, if that is short enough to be what was written; else the one small fraction, root of a
// small fraction, or small multiple of a named irrational that it is nearest to, or computed from
// in floats. What is left of a named irrational beyond one literal may be a second literal
// (x hi + x lo). Below comparisons, roundings to integers and bit patterns constants are left as
// they are: there the rounded value decides.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "term/ball.h"
#include "term/store.h"

namespace coequal::decide {

class Snapper {
 public:
  explicit Snapper(term::TermStore& store) : store_(store) {}

  // The terms with their constants read so; what was changed is added to `ledger`: "0x3fb8aa3b is
  // read as log2(e)". What a constant is read as depends on these terms alone.
  std::vector<term::Term> operator()(std::initializer_list<term::Term> terms,
                                     std::map<std::string, std::string>& ledger);
  term::Term operator()(const term::Term& t, std::map<std::string, std::string>& ledger) {
    return (*this)({t}, ledger)[0];
  }

 private:
  // A value that constants are multiples of.
  struct Base {
    term::Term term;
    term::Ball value;
    std::string name;
    int64_t exponent = 0;  // of its leading bit
  };
  struct Reading {
    bool changed = false;
    term::Term value;
    std::string constant, meaning;
  };
  using Rests = std::map<uint64_t, Reading>;  // by payload of the constant

  const std::vector<Base>& bases();
  const Reading& read(const term::Term& constant);
  Reading find(const term::Rational& c, bool is_double);
  // Of the inverse of a constant too: a division by it has become a product.
  Reading find_quotient(const term::Rational& c, bool is_double);
  // Literals that continue another one.
  Rests find_rests(std::initializer_list<term::Term> terms);
  term::Term rebuilt(const term::Term& t, std::map<std::string, std::string>& ledger);

  term::TermStore& store_;
  std::vector<Base> bases_;
  absl::flat_hash_map<term::Term, term::Term> done_;
  absl::flat_hash_map<uint64_t, Reading> readings_;  // by payload of the constant
  Rests rests_;
};

// m * 2^e with m odd.
struct Dyadic {
  int64_t bits = 0;      // of m
  int64_t exponent = 0;  // of the leading bit
};
// Nothing if c is not of this form.
std::optional<Dyadic> dyadic(const term::Rational& c);

// Whether terms of a kind depend on the bits of the constants below.
bool keeps_bits(term::Kind kind);

// Whether a float is a neighbour of the one nearest to a named constant times a power of two:
// perhaps that constant, computed in floats.
bool beside_named_constant(const term::Rational& c);

}  // namespace coequal::decide
