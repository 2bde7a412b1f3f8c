// Values of canonical forms in a prime field at random points: what is equal has equal signatures;
// the converse is only a proposal, or the probabilistic tier (see probable_zero).
//
// The primes are p = 2q + 1 with q prime. Atoms that are not sums take random quadratic residues,
// whose powers are defined for exponents mod q, so that fractional exponents have a meaning.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "decide/canonical/algebra.h"

namespace coequal::decide {

class Signature {
 public:
  // One field and one point; `seed` chooses the point.
  Signature(const Algebra& algebra, int prime, uint64_t seed);

  static constexpr int kPrimes = 4;
  uint64_t modulus() const { return p_; }

  // Empty where a denominator vanishes.
  std::optional<uint64_t> of_atom(AtomId id);
  std::optional<uint64_t> of_monomial(MonoId m);
  std::optional<uint64_t> of(const Value& v);
  std::optional<uint64_t> of(const std::vector<Value>& sum);

  uint64_t multiply(uint64_t a, uint64_t b) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % p_);
  }
  uint64_t add(uint64_t a, uint64_t b) const { return a + b >= p_ ? a + b - p_ : a + b; }
  uint64_t power(uint64_t base, uint64_t exponent) const;
  uint64_t inverse(uint64_t a) const;  // a != 0
  std::optional<uint64_t> of_rational(const Rational& c, uint64_t modulus) const;
  // The rational with small numerator and denominator that has this residue, if there is one.
  std::optional<Rational> reconstruct(uint64_t residue) const;

 private:
  std::optional<uint64_t> compute(AtomId id);
  std::optional<uint64_t> power_of(AtomId id, uint64_t value, const Rational& exponent);
  uint64_t random_residue(uint64_t key) const;

  const Algebra& algebra_;
  uint64_t p_, q_, seed_;
  struct Slot {
    bool known = false, valid = false;
    uint64_t value = 0;
  };
  std::vector<Slot> slots_;
};

}  // namespace coequal::decide
