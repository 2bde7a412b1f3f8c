// A real number enclosed by a midpoint and a radius, rounded outward (Arb).
#pragma once

#include <arb.h>

#include <optional>
#include <string>

#include "term/rational.h"
#include "term/term.h"

namespace coequal::term {

class Ball {
 public:
  Ball() { arb_init(value_); }
  Ball(const Rational& value, int precision) : Ball() {
    arb_set_fmpq(value_, value.get(), precision);
  }
  Ball(const Ball& other) : Ball() { arb_set(value_, other.value_); }
  Ball(Ball&& other) noexcept : Ball() { arb_swap(value_, other.value_); }
  Ball& operator=(const Ball& other) {
    arb_set(value_, other.value_);
    return *this;
  }
  Ball& operator=(Ball&& other) noexcept {
    arb_swap(value_, other.value_);
    return *this;
  }
  ~Ball() { arb_clear(value_); }

  static Ball of_constant(NamedConstant constant, int precision);

  bool is_finite() const { return arb_is_finite(value_); }
  bool contains_zero() const { return arb_contains_zero(value_); }
  // The sign of every number in the ball: -1, 0, 1, or nothing if they differ.
  std::optional<int> sign() const;
  // Certainly less / disjoint.
  friend bool surely_less(const Ball& a, const Ball& b) { return arb_lt(a.value_, b.value_); }
  friend bool surely_at_most(const Ball& a, const Ball& b) { return arb_le(a.value_, b.value_); }
  friend bool surely_differ(const Ball& a, const Ball& b) {
    return !arb_overlaps(a.value_, b.value_);
  }
  // The one integer in the ball, if there is exactly one.
  std::optional<Rational> unique_integer() const;
  double midpoint() const;
  double radius() const;
  std::string to_string(int digits = 15) const;

  const arb_struct* get() const { return value_; }
  arb_struct* get() { return value_; }

 private:
  arb_t value_;
};

}  // namespace coequal::term
