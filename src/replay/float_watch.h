// Whether a run's floating-point arithmetic was that of the reals, and how far off it can be.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "isa/inst_row.h"

namespace coequal::replay {

struct FloatEvents {
  bool rounded = false;      // some result is not the exact one
  bool overflowed = false;   // a result of finite operands is infinite or no number
  bool special = false;      // some operand is infinite or no number
  bool underflowed = false;  // some result, or flushed operand, is too small for its format
  bool decided = false;      // a comparison of floats, or a conversion to an integer
  // The greatest finite magnitude of operands, results and reciprocals of divisors.
  double largest = 0;
  int precision = 53;  // significant bits of the coarsest format that was computed in

  // No operation rounded: the run computed what real numbers give.
  bool exact() const { return !rounded && !overflowed && !underflowed && !special; }
  void merge(const FloatEvents& other);
};

// Looks at instructions after they were executed. An operation has rounded exactly if rounding its
// result up and down give different ones.
class FloatWatch {
 public:
  void pure(const isa::Decoded& decoded, const uint64_t* in, const uint64_t* out);
  // An addition to memory, or another atomic on floats.
  void atomic(const isa::Decoded& decoded, uint64_t old, uint64_t operand);
  // A value that a matrix instruction read or summed up, and its sum before and after rounding.
  void matrix_value(double value, int precision);
  void matrix_sum(double sum, double stored);

  const FloatEvents& events() const { return events_; }

 private:
  struct Directed {
    isa::Decoded down, up;
  };
  const Directed& directed(const isa::Decoded& decoded);
  // Whether it is finite.
  bool value(FloatSpec spec, uint64_t bits, bool flushes);

  FloatEvents events_;
  std::map<const isa::Decoded*, std::unique_ptr<Directed>> directed_;
};

}  // namespace coequal::replay
