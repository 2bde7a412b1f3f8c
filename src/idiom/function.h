// The library functions that are looked for: how they are called, what they mean, how precise they
// are.
#pragma once

#include <bitset>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "term/store.h"

namespace coequal::idiom {

struct Function {
  std::string_view name;
  int arity;
  // The call in CUDA C++ in float and in double, $0 and $1 for the arguments; empty: none.
  std::string_view single_call, double_call;
  term::Term (*meaning)(term::TermStore& store, std::span<const term::Term> args);
  // Largest error that the CUDA programming guide states, in units in the last place; where it
  // states none, or one for a part of the range only, one that the code keeps everywhere tested.
  double ulps;
  // The same for small values beside zeros of the function, in units of the last place of 1.
  double absolute = 0;
  // The code for a first argument that the compiler knows to be positive. The meaning must be
  // undefined for others.
  bool positive = false;
};

inline constexpr size_t kMaxFunctions = 128;
using FunctionSet = std::bitset<kMaxFunctions>;

const std::vector<Function>& functions();
// The index in functions(); nothing if there is none of that name.
std::optional<size_t> find_function(std::string_view name);

}  // namespace coequal::idiom
