// Evaluation modulo 61-bit primes: tells "almost surely equal" from "different" in linear time, and
// proves nothing.
//
// A field is a pair of primes p = 2q + 1. A real has a residue modulo p and, for its use as an
// exponent of 2, one modulo q; 2 generates the subgroup of order q, so 2^(a+b) = 2^a 2^b. An
// interval of doubles beside them, rounded outward, gives order: min, max, comparisons, selects and
// rounding follow it. Named constants get random images that keep their relations (ln 2 * log2 e =
// 1); tanh is computed from the power of 2; square roots are multiplicative; the functions that
// have no image get a random one keyed by the image of the argument (sin and cos: a random point of
// the unit circle).
#pragma once

#include <cstdint>
#include <optional>

#include "term/assignment.h"
#include "term/store.h"
#include "term/traverse.h"

namespace coequal::term {

struct ModularField {
  uint64_t p, q;  // p = 2q + 1 prime, q prime, p = 15 modulo 16 (2 is a square modulo both)
};
inline constexpr int kModularFields = 8;
const ModularField& modular_field(int index);

// Encloses the real value. An end may be infinite: a finite value that is too large for a double.
struct Interval {
  double low = 0, high = 0;
};

struct ModularValue {
  enum class Kind : uint8_t {
    Real,
    PlusInfinity,
    MinusInfinity,
    Bool,
    Bits,
    Undefined,
    Poison,
    Unknown
  };
  Kind kind = Kind::Unknown;
  uint64_t p = 0, q = 0;  // of Real
  Interval real;
  uint64_t bits = 0;  // of Bool and Bits

  bool is_defined() const { return kind <= Kind::Bits; }
};

// Whether two values have the same image; nothing if one is undefined or unknown.
std::optional<bool> same_image(const ModularValue& a, const ModularValue& b);

class ModularDomain {
 public:
  using Value = ModularValue;

  ModularDomain(const TermStore& store, const Assignment& assignment, int field, uint64_t seed);

  Value apply(const Term& t, const std::array<const Value*, 3>& args) const;
  int choose(const Value& condition) const;

 private:
  Value of_rational(const Rational& value) const;
  Value of_symbol(NamedConstant constant) const;
  Value unary(Kind kind, const Value& x) const;
  Value binary(Kind kind, const Value& x, const Value& y) const;
  Value compare(Kind kind, const Value& x, const Value& y) const;
  Value power_of_two(const Value& x) const;
  Value negated(const Value& x) const;
  uint64_t keyed(uint64_t what, uint64_t key, uint64_t modulus) const;
  // A random function with f(-x) = -f(x).
  uint64_t odd_keyed(uint64_t what, uint64_t x, uint64_t modulus) const;

  const TermStore& store_;
  const Assignment& assignment_;
  ModularField field_;
  uint64_t seed_;
};

using ModularEvaluator = Evaluation<ModularDomain>;
inline ModularEvaluator make_modular_evaluator(const TermStore& store, const Assignment& assignment,
                                               int field, uint64_t seed) {
  return ModularEvaluator(store, ModularDomain(store, assignment, field, seed));
}

}  // namespace coequal::term
