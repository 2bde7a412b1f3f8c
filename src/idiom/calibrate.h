// Compares the value of a probe with the function that it is said to compute, in balls.
#pragma once

#include <string>

#include "idiom/function.h"
#include "idiom/probe.h"

namespace coequal::idiom {

// How the code of a probe was made.
struct CodeProperties {
  DType dtype = DType::F32;
  uint32_t sizes = 0;    // bit i: it was given the absolute value of argument i
  bool flushes = false;  // subnormal arguments count as zero
};

// Why the term is not the function to within its stated error; empty if it is, at points all over
// the range of floats and on both sides of every constant that the term compares with or computes
// with.
std::string calibrate(term::TermStore& store, const ProbedTerm& probed, const Function& function,
                      const CodeProperties& code);

// Whether the term is made of instructions that have a function's meaning alone: no bits of floats,
// no case distinction.
bool is_direct(const term::TermStore& store, const term::Term& t);

}  // namespace coequal::idiom
