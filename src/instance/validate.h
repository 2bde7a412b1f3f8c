// The rules of instances that need no compiler, the same for every form an instance comes in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "instance/instance.h"

namespace coequal::instance {

// Everything that is wrong, in the order of the instance; empty when it is valid.
std::vector<Diagnostic> validate(const Instance& instance);

// The outputs of an instance that names none: tensors that both programs may write, and initialised
// tensors that either may write, in declaration order.
std::vector<std::string> default_outputs(const Instance& instance);

// Why a number is not a value of the dtype ("expected an integer, found 0.5"; "300 is outside u8, 0
// to 255"), or empty. Floats may be infinite when `allow_infinite`, never NaN, and are rounded to
// the dtype, not rejected for it.
std::string why_not_value(DType dtype, const Number& number, bool allow_infinite);

// " (did you mean 'sorted'?)" for the nearest of the known names, or empty when none is near.
std::string nearest_hint(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace coequal::instance
