// Concrete inputs of an instance, and one program's launches on them.
#include "check/concrete.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/float_bits.h"
#include "term/rational.h"

namespace coequal::check {
namespace {

// tf32 lies in the upper bits of four bytes.
int unused_bits(DType dtype) { return dtype == DType::TF32 ? 13 : 0; }

Bytes to_bytes(uint64_t word, DType dtype) {
  Bytes bytes(static_cast<size_t>(dtype_size(dtype)));
  std::memcpy(bytes.data(), &word, bytes.size());
  return bytes;
}

uint64_t to_word(const uint8_t* bytes, DType dtype) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, static_cast<size_t>(dtype_size(dtype)));
  return word;
}

int64_t to_integer(const uint8_t* bytes, DType dtype) {
  const uint64_t word = to_word(bytes, dtype);
  if (!is_signed_integer(dtype)) return static_cast<int64_t>(word);
  const int shift = 64 - 8 * dtype_size(dtype);
  return static_cast<int64_t>(word << shift) >> shift;
}

Bytes number_bytes(const instance::Number& number, DType dtype) {
  return is_float(dtype) ? element_bytes(number.real, dtype)
                         : to_bytes(static_cast<uint64_t>(number.integer), dtype);
}

Bytes repeat(const Bytes& element, int64_t count) {
  Bytes bytes;
  bytes.reserve(element.size() * static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) bytes.insert(bytes.end(), element.begin(), element.end());
  return bytes;
}

// An interval of doubles for floats, of words for integers.
struct FloatRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool open_low = false, open_high = false;

  bool contains(double v) const {
    return (open_low ? v > low : v >= low) && (open_high ? v < high : v <= high);
  }
};

FloatRange float_range(const instance::Bounds& bounds, DType dtype) {
  FloatRange range{-dtype_max_finite(dtype), dtype_max_finite(dtype), false, false};
  const auto raise = [&](const std::optional<instance::Number>& n, bool open) {
    if (n && n->real >= range.low) range.low = n->real, range.open_low = open;
  };
  const auto lower = [&](const std::optional<instance::Number>& n, bool open) {
    if (n && n->real <= range.high) range.high = n->real, range.open_high = open;
  };
  raise(bounds.min, false);
  raise(bounds.above, true);
  lower(bounds.max, false);
  lower(bounds.below, true);
  return range;
}

struct IntegerRange {
  __int128 low, high;
  __int128 nearest(__int128 v) const { return std::clamp(v, low, high); }
};

IntegerRange integer_range(const instance::Bounds& bounds, DType dtype) {
  const int width = 8 * dtype_size(dtype);
  IntegerRange range;
  if (dtype == DType::Bool)
    range = {0, 1};
  else if (is_signed_integer(dtype))
    range = {-(__int128{1} << (width - 1)), (__int128{1} << (width - 1)) - 1};
  else
    range = {0, (__int128{1} << width) - 1};
  const auto value = [](const instance::Number& n, double rounded) {
    return n.is_integer ? __int128{n.integer} : static_cast<__int128>(rounded);
  };
  if (bounds.min) range.low = std::max(range.low, value(*bounds.min, std::ceil(bounds.min->real)));
  if (bounds.above)
    range.low = std::max(range.low, value(*bounds.above, std::floor(bounds.above->real)) + 1);
  if (bounds.max)
    range.high = std::min(range.high, value(*bounds.max, std::floor(bounds.max->real)));
  if (bounds.below)
    range.high = std::min(range.high, value(*bounds.below, std::ceil(bounds.below->real)) - 1);
  range.high = std::max(range.low, range.high);
  return range;
}

// Of the dtype's values, one within the range that is near `want`.
Bytes float_within(double want, const FloatRange& range, DType dtype) {
  const auto fits = [&](const Bytes& b) { return range.contains(element_value(b.data(), dtype)); };
  Bytes bytes = element_bytes(std::clamp(want, range.low, range.high), dtype);
  if (fits(bytes)) return bytes;
  // At an open or unrepresentable end: inwards by halves of the interval, then by single values.
  const double low = std::max(range.low, -1e30), high = std::min(range.high, 1e30);
  const bool at_low = want <= range.low;
  for (double part = std::ldexp(1.0, -20); part <= 0.5; part *= 2) {
    const double width = std::min(high - low, 2.0) * part;
    bytes = element_bytes(at_low ? low + width : high - width, dtype);
    if (fits(bytes)) return bytes;
  }
  for (const double end : {low, high})
    for (const FloatRounding rounding : {FloatRounding::Up, FloatRounding::Down}) {
      const uint64_t bits = float_from_double(float_spec(dtype), end, {rounding, false});
      bytes = to_bytes(bits << unused_bits(dtype), dtype);
      if (fits(bytes)) return bytes;
    }
  return element_bytes((low + high) / 2, dtype);
}

Bytes nearest_element(const instance::Bounds& bounds, DType dtype) {
  if (is_float(dtype)) return float_within(0, float_range(bounds, dtype), dtype);
  return to_bytes(static_cast<uint64_t>(integer_range(bounds, dtype).nearest(0)), dtype);
}

// Splitmix64: the numbers are the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t count) { return count ? next() % count : next(); }
  double unit() { return std::ldexp(static_cast<double>(next() >> 11), -53); }

 private:
  uint64_t state_;
};

constexpr int kSmall = 4;

Bytes random_float(const instance::Bounds& bounds, DType dtype, RandomValues values,
                   Random& random) {
  const FloatRange range = float_range(bounds, dtype);
  const double reach = values == RandomValues::Integers ? kSmall : 1;
  double low = std::max(range.low, -reach), high = std::min(range.high, reach);
  if (low > high) {  // the bounds lie beyond the usual reach
    if (range.low > reach)
      low = range.low, high = std::min(range.high, range.low + 2 * reach);
    else
      high = range.high, low = std::max(range.low, range.high - 2 * reach);
  }
  if (values == RandomValues::Integers) {
    double first = std::ceil(low), last = std::floor(high);
    if (range.open_low && first == range.low) ++first;
    if (range.open_high && last == range.high) --last;
    if (first <= last) {
      const auto count = static_cast<uint64_t>(last - first) + 1;
      const Bytes bytes = element_bytes(first + static_cast<double>(random.below(count)), dtype);
      if (range.contains(element_value(bytes.data(), dtype))) return bytes;
    }
    // No integer within: a multiple of a sixteenth of the interval.
    const double step = (high - low) / 16;
    return float_within(low + step * static_cast<double>(1 + random.below(15)), range, dtype);
  }
  return float_within(low + (high - low) * random.unit(), range, dtype);
}

Bytes random_integer(const instance::Bounds& bounds, DType dtype, RandomValues values,
                     Random& random) {
  IntegerRange range = integer_range(bounds, dtype);
  if (values == RandomValues::Integers || random.below(2)) {
    const __int128 middle = range.nearest(0);
    // A bounded tensor holds indices or labels: all of a small range, so that each turns up.
    const __int128 reach = bounds.any() ? 4096 : kSmall;
    range = {std::max(range.low, middle - reach), std::min(range.high, middle + reach)};
  }
  const auto count = static_cast<uint64_t>(range.high - range.low + 1);
  return to_bytes(static_cast<uint64_t>(range.low) + random.below(count), dtype);
}

Bytes random_element(const instance::Bounds& bounds, DType dtype, RandomValues values,
                     Random& random) {
  return is_float(dtype) ? random_float(bounds, dtype, values, random)
                         : random_integer(bounds, dtype, values, random);
}

// What lies between the elements of a strided tensor; empty for uninitialised contents.
Bytes gap_element(const instance::Tensor& tensor) {
  switch (tensor.init) {
    case instance::Init::Input:
      return nearest_element(tensor.bounds, tensor.dtype);
    case instance::Init::Zeros:
      return element_bytes(0, tensor.dtype);
    case instance::Init::Full:
      return number_bytes(tensor.values.at(0), tensor.dtype);
    case instance::Init::Empty:
    case instance::Init::Values:
      return {};
  }
  return {};
}

// Elements of a tensor before the first launch; empty for uninitialised contents.
Bytes first_elements(const instance::Tensor& tensor, const ConcreteInputs& inputs) {
  if (const auto given = inputs.tensors.find(tensor.name); given != inputs.tensors.end())
    return given->second;
  switch (tensor.init) {
    case instance::Init::Input:
      return repeat(nearest_element(tensor.bounds, tensor.dtype), tensor.numel());
    case instance::Init::Empty:
      return {};
    case instance::Init::Zeros:
      return repeat(element_bytes(0, tensor.dtype), tensor.numel());
    case instance::Init::Full:
      return repeat(number_bytes(tensor.values.at(0), tensor.dtype), tensor.numel());
    case instance::Init::Values: {
      Bytes bytes;
      for (const instance::Number& n : tensor.values) {
        const Bytes element = number_bytes(n, tensor.dtype);
        bytes.insert(bytes.end(), element.begin(), element.end());
      }
      return bytes;
    }
  }
  return {};
}

replay::TensorMap concrete_map(const exec::TensorMap& from, DType dtype, uint64_t address) {
  replay::TensorMap map;
  map.address = address + static_cast<uint64_t>(from.offset * dtype_size(dtype));
  map.rank = static_cast<uint8_t>(from.extents.size());
  map.size = static_cast<uint8_t>(dtype_size(dtype));
  map.swizzle = static_cast<uint8_t>(from.swizzle);
  map.fills_nan = from.fills_nan;
  map.type = tensor::scalar_type(dtype);
  for (size_t d = 0; d < from.extents.size(); ++d) {
    map.strides[d] = static_cast<uint64_t>(from.strides[d]) * map.size;
    map.last[d] = static_cast<uint32_t>(from.extents[d] - 1);
    if (!from.im2col) map.box[d] = static_cast<uint16_t>(from.box[d]);
    map.steps[d] = static_cast<uint8_t>(from.steps[d]);
  }
  map.im2col = from.im2col;
  if (from.im2col) {
    map.box[0] = static_cast<uint16_t>(from.channels);
    map.box[1] = static_cast<uint16_t>(from.pixels);
  }
  for (size_t d = 0; d < from.lower.size(); ++d) {
    map.lower[d] = static_cast<int16_t>(from.lower[d]);
    map.upper[d] = static_cast<int16_t>(from.upper[d]);
  }
  return map;
}

}  // namespace

Bytes element_bytes(double value, DType dtype) {
  if (is_float(dtype))
    return to_bytes(float_from_double(float_spec(dtype), value) << unused_bits(dtype), dtype);
  if (std::isnan(value)) return to_bytes(0, dtype);
  const IntegerRange range = integer_range({}, dtype);
  const double rounded = std::clamp(std::nearbyint(value), -1e30, 1e30);
  return to_bytes(static_cast<uint64_t>(range.nearest(static_cast<__int128>(rounded))), dtype);
}

double element_value(const uint8_t* bytes, DType dtype) {
  if (is_float(dtype))
    return float_to_double(float_spec(dtype), to_word(bytes, dtype) >> unused_bits(dtype));
  if (is_signed_integer(dtype)) return static_cast<double>(to_integer(bytes, dtype));
  return static_cast<double>(to_word(bytes, dtype));
}

std::string element_text(const uint8_t* bytes, DType dtype) {
  if (is_float(dtype) && std::isnan(element_value(bytes, dtype))) return "nan";
  if (dtype == DType::F64) return fmt::format("{}", element_value(bytes, dtype));
  if (is_float(dtype)) return fmt::format("{}", static_cast<float>(element_value(bytes, dtype)));
  if (is_signed_integer(dtype)) return std::to_string(to_integer(bytes, dtype));
  return std::to_string(to_word(bytes, dtype));
}

std::optional<Bytes> element_from_text(std::string_view text, DType dtype) {
  const std::optional<term::Rational> value = term::Rational::from_text(text);
  if (!value) return std::nullopt;
  if (!is_float(dtype) && value->is_integer()) {
    if (const std::optional<int64_t> word = value->as_int64())
      return to_bytes(static_cast<uint64_t>(*word), dtype);
    uint64_t word = 0;
    const std::string digits = value->to_string();
    if (std::from_chars(digits.data(), digits.data() + digits.size(), word).ec == std::errc())
      return to_bytes(word, dtype);
  }
  return element_bytes(value->to_double(), dtype);
}

int64_t storage_cell(const instance::Tensor& tensor, int64_t element) {
  int64_t cell = 0;
  for (size_t d = tensor.shape.size(); d-- > 0;) {
    cell += element % tensor.shape[d] * tensor.strides[d];
    element /= tensor.shape[d];
  }
  return cell;
}

std::optional<int64_t> element_of_index(const instance::Tensor& tensor, std::string_view index) {
  int64_t element = 0;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    int64_t at = 0;
    const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), at);
    if (error != std::errc() || at < 0 || at >= tensor.shape[d]) return std::nullopt;
    element = element * tensor.shape[d] + at;
    index.remove_prefix(static_cast<size_t>(end - index.data()));
    if (d + 1 < tensor.shape.size()) {
      if (!index.starts_with(',')) return std::nullopt;
      index.remove_prefix(1);
    }
  }
  if (!index.empty()) return std::nullopt;
  return element;
}

ConcreteInputs nearest_inputs(const instance::Instance& instance) {
  ConcreteInputs inputs;
  for (const instance::Tensor& t : instance.tensors)
    if (t.init == instance::Init::Input)
      inputs.tensors[t.name] = repeat(nearest_element(t.bounds, t.dtype), t.numel());
  for (const instance::Scalar& s : instance.scalars)
    if (!s.value) inputs.scalars[s.name] = nearest_element(s.bounds, s.dtype);
  return inputs;
}

ConcreteInputs random_inputs(const instance::Instance& instance, uint64_t seed,
                             RandomValues values) {
  ConcreteInputs inputs;
  Random random(seed);
  for (const instance::Tensor& t : instance.tensors) {
    if (t.init != instance::Init::Input) continue;
    std::vector<Bytes> elements;
    elements.reserve(static_cast<size_t>(t.numel()));
    for (int64_t i = 0; i < t.numel(); ++i)
      elements.push_back(random_element(t.bounds, t.dtype, values, random));
    if (t.sorted)
      std::stable_sort(elements.begin(), elements.end(), [&](const Bytes& a, const Bytes& b) {
        return element_value(a.data(), t.dtype) < element_value(b.data(), t.dtype);
      });
    Bytes& bytes = inputs.tensors[t.name];
    for (const Bytes& e : elements) bytes.insert(bytes.end(), e.begin(), e.end());
  }
  for (const instance::Scalar& s : instance.scalars)
    if (!s.value) inputs.scalars[s.name] = random_element(s.bounds, s.dtype, values, random);
  return inputs;
}

Result<ConcreteRun> run_concrete(const instance::Instance& instance,
                                 const instance::Program& program, const ConcreteInputs& inputs,
                                 KernelCache& kernels, const replay::RunOptions& run,
                                 const Options& options, const Budget& budget) {
  term::TermStore store;
  SharedInputs shared = lower_inputs(instance, store);
  std::map<uint32_t, const instance::Scalar*> free_scalars;
  for (const auto& [name, id] : shared.free_scalars) free_scalars[id] = instance.find_scalar(name);
  Result<std::vector<exec::Launch>> launches =
      lower_program(instance, program, shared, store, kernels, options, budget);
  if (!launches) return launches.error();

  replay::Memory memory;
  std::vector<uint64_t> addresses;
  for (const instance::Tensor& t : instance.tensors) {
    const auto size = static_cast<size_t>(dtype_size(t.dtype));
    Bytes storage(static_cast<size_t>(t.storage_bytes()), run.fill);
    const Bytes elements = first_elements(t, inputs);
    // Between strided rows there is what the instance says of the tensor as a whole.
    if (const auto gap = gap_element(t); !gap.empty())
      for (size_t i = 0; i < storage.size(); ++i) storage[i] = gap[i % gap.size()];
    for (size_t i = 0; i * size < elements.size(); ++i)
      std::memcpy(
          storage.data() + size * static_cast<size_t>(storage_cell(t, static_cast<int64_t>(i))),
          elements.data() + i * size, size);
    addresses.push_back(memory.allocate(t.name, std::move(storage)));
  }

  ConcreteRun out;
  std::map<const ptx::Module*, replay::LoadedModule> loaded;
  // Those that a tensor fills: it, and the variable's address.
  std::map<const ptx::Variable*, std::pair<tensor::TensorId, uint64_t>> variables;
  for (const exec::Launch& launch : *launches) {
    const ptx::Module& module = *launch.kernel->module;
    // As parsed: the executor may have its own form of the kernel.
    const ptx::Function* parsed = module.find_function(launch.kernel->function->name);
    CHECK(parsed);
    const ptx::Function& function = *parsed;
    replay::LaunchConfig config;
    const auto dim3 = [](const std::array<uint32_t, 3>& d) {
      return replay::Dim3{d[0], d[1], d[2]};
    };
    config.grid = dim3(launch.grid);
    config.block = dim3(launch.block);
    config.cluster = dim3(launch.cluster);
    config.explicit_cluster = launch.explicit_cluster;
    config.shared_bytes = launch.dynamic_shared;
    if (launch.workspace) config.workspace = memory.allocate("grid workspace", Bytes(8));
    const std::vector<uint64_t> offsets = replay::param_offsets(function);
    config.params.resize(offsets.back());
    for (size_t i = 0; i < launch.args.size(); ++i) {
      const exec::Argument& argument = launch.args[i];
      Bytes bytes = argument.bytes;
      if (argument.kind == exec::Argument::Kind::Tensor) {
        const uint64_t address =
            addresses[argument.tensor] + static_cast<uint64_t>(argument.byte_offset);
        bytes.resize(8);
        std::memcpy(bytes.data(), &address, 8);
      } else if (argument.kind == exec::Argument::Kind::TensorMap) {
        const replay::TensorMap map =
            concrete_map(argument.map, instance.tensors[argument.map.tensor].dtype,
                         addresses[argument.map.tensor]);
        bytes.resize(128);
        std::memcpy(bytes.data(), &map, sizeof map);
      } else if (argument.kind == exec::Argument::Kind::Scalar) {
        const instance::Scalar& scalar = *free_scalars.at(argument.scalar);
        const auto given = inputs.scalars.find(scalar.name);
        bytes = given != inputs.scalars.end() ? given->second
                                              : nearest_element(scalar.bounds, scalar.dtype);
      }
      CHECK(offsets[i] + bytes.size() <= config.params.size());
      std::copy(bytes.begin(), bytes.end(),
                config.params.begin() + static_cast<std::ptrdiff_t>(offsets[i]));
    }
    const auto found = loaded.try_emplace(&module, module, memory).first;
    for (const auto& [variable, at] : launch.variables) {
      if (!at.given || variables.contains(variable)) continue;
      const uint64_t address = *found->second.address_of(variable->name);
      variables[variable] = {at.tensor, address};
      memory.bytes(address) = memory.bytes(addresses[at.tensor]);
    }
    replay::RunOptions part = run;
    part.step_limit = run.step_limit - out.steps;
    replay::Outcome outcome = found->second.launch(function, config, part, budget);
    out.steps += outcome.steps;
    out.floats.merge(outcome.floats);
    out.launch = launch.index;
    if (!outcome.ok() || out.steps >= run.step_limit) {
      out.fault = outcome.ok()
                      ? replay::Fault{replay::FaultKind::StepLimit, "too many steps", {}, {}, {}}
                      : std::move(*outcome.fault);
      break;
    }
  }
  for (const auto& [variable, at] : variables)
    memory.bytes(addresses[at.first]) = memory.bytes(at.second);
  for (size_t k = 0; k < instance.tensors.size(); ++k) {
    const instance::Tensor& t = instance.tensors[k];
    const auto size = static_cast<size_t>(dtype_size(t.dtype));
    const Bytes& storage = memory.bytes(addresses[k]);
    Bytes& elements = out.tensors[t.name];
    elements.resize(size * static_cast<size_t>(t.numel()));
    for (size_t i = 0; i * size < elements.size(); ++i)
      std::memcpy(
          elements.data() + i * size,
          storage.data() + size * static_cast<size_t>(storage_cell(t, static_cast<int64_t>(i))),
          size);
  }
  return out;
}

}  // namespace coequal::check
