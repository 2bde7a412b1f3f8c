// The parts of canonical values: rational coefficient times a monomial, a product of atoms to
// rational powers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "term/rational.h"
#include "term/term.h"

namespace coequal::decide {

using term::Rational;

using AtomId = uint32_t;
using MonoId = uint32_t;
using CondId = uint32_t;  // a condition; `id ^ 1` is its negation
using WordId = uint32_t;  // a machine word

inline constexpr MonoId kOne = 0;  // the empty product
inline constexpr CondId kTrue = 0, kFalse = 1;

// Sorted by atom, exponents not 0.
struct Factor {
  AtomId atom;
  Rational exponent;
  friend bool operator==(const Factor&, const Factor&) = default;
};

// coefficient * monomial. Zero is 0 * kOne.
struct Value {
  Rational c;
  MonoId m = kOne;

  bool is_zero() const { return c.is_zero(); }
  bool is_number() const { return m == kOne; }
  friend bool operator==(const Value& a, const Value& b) { return a.m == b.m && a.c == b.c; }
};

// What is proved of a value wherever it is defined. Absent bounds are infinite.
struct Range {
  std::optional<Rational> lo, hi;
  bool lo_open = false, hi_open = false;
  bool nonzero = false;

  bool nonnegative() const { return lo && lo->sign() >= 0; }
  bool positive() const {
    return lo && (lo->sign() > 0 || (lo->is_zero() && (lo_open || nonzero)));
  }
  bool nonpositive() const { return hi && hi->sign() <= 0; }
  bool negative() const {
    return hi && (hi->sign() < 0 || (hi->is_zero() && (hi_open || nonzero)));
  }
  bool not_zero() const { return nonzero || positive() || negative(); }
};

enum class AtomKind : uint8_t {
  Leaf,    // a: group, b: cell
  Poison,  // a: group, b: cell
  Scalar,  // a: index
  Symbol,  // a: NamedConstant, one of Log2E, Log2_10, Pi (all others are products of these)
  Prime,   // b: the number; only its powers between 0 and 1 occur. A product of primes too large to
           // factor counts as one
  Infinity,  // plus infinity
  Undefined,
  Exp,     // args[0]: 2 to the power of a monomial
  Sum,     // args: at least two terms; no common factor, first coefficient 1. A lazy one has sums
           // among its terms
  Max,     // args: at least two, first coefficient 1 or -1
  Abs,     // args[0]: an atom that may be negative
  Root,    // args[0]: square root of what may be negative: a product, or a negated atom
  Log,     // args[0]: binary logarithm
  Select,  // condition, args: then, else
  Indicator,  // condition: 1 where it holds, 0 elsewhere
  Function,   // a: term::Kind, args: what is not understood further
  OfWord,     // a: term::Kind, b: payload, word
};

struct Atom {
  AtomKind kind{};
  bool total = false;  // defined and finite for all finite inputs
  bool may_be_infinite = false;
  uint32_t a = 0;
  int64_t b = 0;
  CondId condition = 0;
  WordId word = 0;
  uint32_t depth = 0;  // above every atom that it mentions
  std::vector<Value> args;
  Range range;
};

enum class CondKind : uint8_t {
  True,
  Positive,  // value > 0; the coefficient is 1 or -1
  Zero,      // value = 0; the coefficient is 1
  Word,      // a: term::Kind (BvEq, BvUlt, BvSlt), words
  Or,        // args, sorted, at least two
};

// The positive half of a pair; the odd id is its negation. "v >= 0" is the negation of "-v > 0".
struct Cond {
  CondKind kind{};
  bool total = false;  // defined for all finite inputs
  uint32_t a = 0;
  Value value;
  WordId left = 0, right = 0;
  std::vector<CondId> args;
  uint32_t depth = 0;
};

struct Word {
  term::Kind kind{};
  uint8_t width = 0;
  bool total = false;
  uint64_t payload = 0;  // constant bits, group, scalar, extraction offset, format
  int64_t cell = 0;
  std::vector<WordId> words;
  std::vector<CondId> conds;
  std::vector<Value> values;
  uint32_t depth = 0;
  // Between which numbers it lies, in either reading.
  int64_t signed_low = 0, signed_high = 0;
  uint64_t unsigned_low = 0, unsigned_high = 0;
};

}  // namespace coequal::decide
