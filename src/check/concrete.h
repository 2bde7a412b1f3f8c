// Runs one program of an instance on numbers: concrete inputs, IEEE arithmetic, a chosen order of
// the threads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/budget.h"
#include "base/options.h"
#include "base/result.h"
#include "check/lower.h"
#include "instance/instance.h"
#include "replay/interpreter.h"

namespace coequal::check {

using Bytes = std::vector<uint8_t>;

// The element of the dtype that is nearest to a value, and back (exact except for 64-bit integers).
Bytes element_bytes(double value, DType dtype);
double element_value(const uint8_t* bytes, DType dtype);
// For messages: "-0.5", "nan", exact for integers.
std::string element_text(const uint8_t* bytes, DType dtype);
// An element written as a decimal or a fraction ("1/3"); nullopt if it is no number.
std::optional<Bytes> element_from_text(std::string_view text, DType dtype);

// Storage cell of a row-major element.
int64_t storage_cell(const instance::Tensor& tensor, int64_t element);
// Row-major element of an index as reports print it ("3,4", "" for a tensor without dimensions);
// nullopt if it lies outside.
std::optional<int64_t> element_of_index(const instance::Tensor& tensor, std::string_view index);

// What the instance leaves open: elements of `init = "input"` tensors in row-major order, and
// scalars without a value. Other tensors and scalars are as the instance says; an entry for one of
// them replaces its contents.
struct ConcreteInputs {
  std::map<std::string, Bytes> tensors;
  std::map<std::string, Bytes> scalars;
};

// Zeros, or the nearest values within the bounds.
ConcreteInputs nearest_inputs(const instance::Instance& instance);

enum class RandomValues : uint8_t {
  Reals,     // floats in [-1, 1) or a like range within the bounds; integers of all sizes
  Integers,  // small integers, which short sums and products of any float dtype keep exact
};
// Within the bounds, sorted where the instance says so.
ConcreteInputs random_inputs(const instance::Instance& instance, uint64_t seed,
                             RandomValues values);

struct ConcreteRun {
  std::optional<replay::Fault> fault;
  int launch = 0;  // the one that the fault ended
  uint64_t steps = 0;
  replay::FloatEvents floats;            // with `run.watch_floats`
  std::map<std::string, Bytes> tensors;  // elements of every tensor in row-major order
};

// Uninitialised tensor cells hold `run.fill`. `run.step_limit` is for all launches together.
Result<ConcreteRun> run_concrete(const instance::Instance& instance,
                                 const instance::Program& program, const ConcreteInputs& inputs,
                                 KernelCache& kernels, const replay::RunOptions& run,
                                 const Options& options, const Budget& budget);

}  // namespace coequal::check
