// Exact rationals: one machine word each for numerator and denominator, GMP beyond (FLINT's fmpq).
#pragma once

#include <flint/fmpq.h>
#include <gmp.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coequal::term {

class Rational {
 public:
  Rational() { fmpq_init(value_); }
  Rational(int64_t value) : Rational() { fmpz_set_si(fmpq_numref(value_), value); }
  Rational(int64_t numerator, int64_t denominator) : Rational() {
    fmpq_set_si(value_, numerator, 1);
    fmpq_t d;
    fmpq_init(d);
    fmpq_set_si(d, denominator, 1);
    fmpq_div(value_, value_, d);
    fmpq_clear(d);
  }
  Rational(const Rational& other) : Rational() { fmpq_set(value_, other.value_); }
  Rational(Rational&& other) noexcept : Rational() { fmpq_swap(value_, other.value_); }
  Rational& operator=(const Rational& other) {
    fmpq_set(value_, other.value_);
    return *this;
  }
  Rational& operator=(Rational&& other) noexcept {
    fmpq_swap(value_, other.value_);
    return *this;
  }
  ~Rational() { fmpq_clear(value_); }

  static Rational from_u64(uint64_t value) {
    Rational r;
    fmpz_set_ui(fmpq_numref(r.value_), value);
    return r;
  }
  // Exact value of a finite double. CHECKs that it is finite.
  static Rational from_double(double value);
  // "-12", "3/4", "0.1", "1e-5": the exact decimal. Empty if the text is not a number.
  static std::optional<Rational> from_text(std::string_view text);
  // 2^exponent.
  static Rational power_of_two(int64_t exponent);

  bool is_zero() const { return fmpq_is_zero(value_); }
  bool is_one() const { return fmpq_is_one(value_); }
  bool is_integer() const { return fmpz_is_one(fmpq_denref(value_)); }
  int sign() const { return fmpq_sgn(value_); }
  // The value, if it is an integer that fits.
  std::optional<int64_t> as_int64() const;
  // Nearest double, ties unspecified; infinite when out of range.
  double to_double() const;
  // Largest integer that is not greater.
  Rational floor() const;
  Rational pow(int64_t exponent) const;  // CHECKs that 0 is not raised to a negative power
  // The exact square root, if it is rational.
  std::optional<Rational> exact_sqrt() const;
  std::string to_string() const;
  uint64_t hash() const;

  const fmpq* get() const { return value_; }
  fmpq* get() { return value_; }

  friend Rational operator+(const Rational& a, const Rational& b) {
    Rational r;
    fmpq_add(r.value_, a.value_, b.value_);
    return r;
  }
  friend Rational operator-(const Rational& a, const Rational& b) {
    Rational r;
    fmpq_sub(r.value_, a.value_, b.value_);
    return r;
  }
  friend Rational operator*(const Rational& a, const Rational& b) {
    Rational r;
    fmpq_mul(r.value_, a.value_, b.value_);
    return r;
  }
  friend Rational operator/(const Rational& a, const Rational& b);  // CHECKs b != 0
  friend Rational operator-(const Rational& a) {
    Rational r;
    fmpq_neg(r.value_, a.value_);
    return r;
  }
  friend bool operator==(const Rational& a, const Rational& b) {
    return fmpq_equal(a.value_, b.value_);
  }
  friend std::strong_ordering operator<=>(const Rational& a, const Rational& b) {
    return fmpq_cmp(a.value_, b.value_) <=> 0;
  }

 private:
  fmpq_t value_;
};

// Gives back what exact arithmetic keeps for the calling thread, which is about to end. Values that
// it made stay good.
void end_exact_arithmetic();

}  // namespace coequal::term
