#include "instance/validate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace coequal::instance {
namespace {

constexpr int64_t kMaxThreads = 1024;
constexpr Dim3 kMaxBlock = {1024, 1024, 64};
constexpr Dim3 kMaxGrid = {2147483647, 65535, 65535};
constexpr int64_t kMaxClusterCtas = 16;
constexpr int64_t kMaxDynamicShared = 227 * 1024;
constexpr char kAxis[] = {'x', 'y', 'z'};

struct IntegerRange {
  int64_t low;
  uint64_t high;
};

IntegerRange integer_range(DType dtype) {
  if (dtype == DType::Bool) return {0, 1};
  int bits = 8 * dtype_size(dtype);
  if (is_signed_integer(dtype))
    return {static_cast<int64_t>(-(uint64_t{1} << (bits - 1))), (uint64_t{1} << (bits - 1)) - 1};
  return {0, bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1};
}

// Magnitudes from here on round to infinity: the largest finite value plus half a unit in its last
// place.
double overflow_threshold(DType dtype) {
  double max = dtype_max_finite(dtype);
  int bits = 0;
  switch (dtype) {
    case DType::F32:
      bits = 24;
      break;
    case DType::F16:
    case DType::TF32:
      bits = 11;
      break;
    case DType::BF16:
      bits = 8;
      break;
    case DType::F8E4M3:
      bits = 4;
      break;
    case DType::F8E5M2:
      bits = 3;
      break;
    default:
      return HUGE_VAL;
  }
  return max + std::ldexp(1.0, std::ilogb(max) - bits);
}

// Insertions, deletions, substitutions and swaps of neighbours that turn one into the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

// Whether two cells may share an element. Dimensions are nested by stride: each must step over all
// that the smaller ones reach. Never false for a tensor whose cells do share.
bool may_share_storage(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, extent
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return false;
    if (shape[d] > 1) dims.emplace_back(strides[d], shape[d]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  for (const auto& [stride, extent] : dims) {
    if (stride <= reach) return true;
    reach += (extent - 1) * stride;
  }
  return false;
}

// Collects what is wrong with one instance.
class Validator {
 public:
  explicit Validator(const Instance& instance) : instance_(instance) {}

  std::vector<Diagnostic> run() {
    for (const Tensor& tensor : instance_.tensors) check_tensor(tensor);
    for (const Scalar& scalar : instance_.scalars) check_scalar(scalar);
    check_names();
    check_program(instance_.program_a, "program_a");
    if (instance_.program_b) check_program(*instance_.program_b, "program_b");
    check_outputs();
    check_assumptions();
    check_expectation();
    check_budget();
    return std::move(problems_);
  }

 private:
  template <class... Args>
  void fail(SourceSpan span, fmt::format_string<Args...> text, Args&&... args) {
    problems_.push_back(make_diagnostic(DiagnosticCode::InstanceInvalid, std::move(span),
                                        fmt::format(text, std::forward<Args>(args)...)));
  }

  std::vector<std::string_view> tensor_names() const {
    std::vector<std::string_view> names;
    for (const Tensor& tensor : instance_.tensors) names.push_back(tensor.name);
    return names;
  }

  // The tensor, or a complaint that there is none of this name.
  const Tensor* find_tensor(const std::string& name, const SourceSpan& span) {
    const Tensor* tensor = instance_.find_tensor(name);
    if (!tensor) {
      std::vector<std::string_view> names = tensor_names();
      fail(
          span, "no tensor '{}' is declared{}{}", name, nearest_hint(name, names),
          names.empty() ? std::string() : fmt::format("; declared are {}", fmt::join(names, ", ")));
    }
    return tensor;
  }

  void check_name(const std::string& name, const SourceSpan& span) {
    if (name.empty() || name.find_first_of("[](){}=,;:\"' \t\n") != std::string::npos)
      fail(span, "expected a name without spaces, brackets and punctuation, found '{}'", name);
  }

  void check_names() {
    for (size_t i = 0; i < instance_.tensors.size(); ++i) {
      const Tensor& tensor = instance_.tensors[i];
      check_name(tensor.name, tensor.span);
      for (size_t j = 0; j < i; ++j)
        if (instance_.tensors[j].name == tensor.name)
          fail(tensor.span, "tensor '{}' is declared twice", tensor.name);
    }
    for (size_t i = 0; i < instance_.scalars.size(); ++i) {
      const Scalar& scalar = instance_.scalars[i];
      check_name(scalar.name, scalar.span);
      if (instance_.find_tensor(scalar.name))
        fail(scalar.span, "'{}' is declared as a tensor and as a scalar", scalar.name);
      for (size_t j = 0; j < i; ++j)
        if (instance_.scalars[j].name == scalar.name)
          fail(scalar.span, "scalar '{}' is declared twice", scalar.name);
    }
  }

  template <class T>
  void check_bounds(const T& thing, const std::string& who) {
    const Bounds& bounds = thing.bounds;
    const std::pair<const char*, const std::optional<Number>*> all[] = {{"min", &bounds.min},
                                                                        {"max", &bounds.max},
                                                                        {"above", &bounds.above},
                                                                        {"below", &bounds.below}};
    bool sound = true;
    for (const auto& [key, bound] : all) {
      if (!*bound) continue;
      std::string reason = why_not_value(thing.dtype, **bound, false);
      if (reason.empty()) continue;
      fail(span_of(thing, key), "{}, {}: {}", who, key, reason);
      sound = false;
    }
    if (!sound) return;
    const std::pair<const char*, const std::optional<Number>*> lows[] = {{"min", &bounds.min},
                                                                         {"above", &bounds.above}};
    const std::pair<const char*, const std::optional<Number>*> highs[] = {{"max", &bounds.max},
                                                                          {"below", &bounds.below}};
    for (const auto& [low_key, low] : lows)
      for (const auto& [high_key, high] : highs) {
        if (!*low || !*high) continue;
        bool open_low = low == &bounds.above, open_high = high == &bounds.below;
        bool empty;
        if (is_float(thing.dtype)) {
          int order = compare(**low, **high);
          empty = order > 0 || (order == 0 && (open_low || open_high));
        } else {
          __int128 first = __int128{(*low)->integer} + open_low;
          __int128 last = __int128{(*high)->integer} - open_high;
          empty = first > last;
        }
        if (empty)
          fail(span_of(thing, low_key), "{}: no value is {} {} and {} {}", who,
               open_low ? "above" : "at least", (*low)->text, open_high ? "below" : "at most",
               (*high)->text);
      }
  }

  void check_tensor(const Tensor& tensor) {
    std::string who = fmt::format("tensor '{}'", tensor.name);
    for (int64_t extent : tensor.shape)
      if (extent < 0) {
        fail(span_of(tensor, "shape"), "{}: expected extents of 0 or more, found {}", who, extent);
        return;
      }
    if (tensor.strides.size() != tensor.shape.size()) {
      fail(span_of(tensor, "strides"), "{}: expected {} strides for the shape [{}], found {}", who,
           tensor.shape.size(), fmt::join(tensor.shape, ", "), tensor.strides.size());
      return;
    }
    for (int64_t stride : tensor.strides)
      if (stride < 0) {
        fail(span_of(tensor, "strides"), "{}: expected strides of 0 or more, found {}", who,
             stride);
        return;
      }
    std::optional<int64_t> cells = checked_numel(tensor.shape);
    std::optional<int64_t> elements = checked_storage_elements(tensor.shape, tensor.strides);
    int64_t bytes = 0;
    if (!cells || !elements ||
        __builtin_mul_overflow(*elements, int64_t{dtype_size(tensor.dtype)}, &bytes)) {
      fail(span_of(tensor, tensor.key_spans.count("strides") ? "strides" : "shape"),
           "{}: a size of 2^63 bytes or more is not addressable", who);
      return;
    }
    size_t wanted = tensor.init == Init::Full ? 1 : 0;
    if (tensor.init == Init::Values) {
      if (static_cast<int64_t>(tensor.values.size()) != *cells)
        fail(span_of(tensor, "values"), "{}: expected {} values for the shape [{}], found {}", who,
             *cells, fmt::join(tensor.shape, ", "), tensor.values.size());
    } else if (tensor.values.size() != wanted) {
      fail(tensor.span, "{}: expected {}, found {} values", who,
           wanted ? "one value with init = \"full\"" : "no values with this init",
           tensor.values.size());
    }
    for (size_t i = 0; i < tensor.values.size(); ++i) {
      std::string reason = why_not_value(tensor.dtype, tensor.values[i], true);
      if (reason.empty()) continue;
      if (tensor.init == Init::Full)
        fail(span_of(tensor, "value"), "{}, value: {}", who, reason);
      else
        fail(span_of(tensor, "values"), "{}, value {}: {}", who, i, reason);
      break;
    }
    if (tensor.init != Init::Input) {
      if (tensor.bounds.any())
        fail(tensor.span, "{}: only a tensor with init = \"input\" has bounds", who);
      if (tensor.sorted)
        fail(span_of(tensor, "sorted"), "{}: only a tensor with init = \"input\" is sorted", who);
    }
    // Cells that share storage cannot hold different known values, nor be ordered freely.
    if ((tensor.init == Init::Values || tensor.sorted) &&
        may_share_storage(tensor.shape, tensor.strides))
      fail(span_of(tensor, "strides"), "{}: cells that share storage cannot be {}", who,
           tensor.sorted ? "sorted" : "given values each");
    check_bounds(tensor, who);
  }

  void check_scalar(const Scalar& scalar) {
    std::string who = fmt::format("scalar '{}'", scalar.name);
    if (scalar.value) {
      std::string reason = why_not_value(scalar.dtype, *scalar.value, true);
      if (!reason.empty()) fail(span_of(scalar, "value"), "{}, value: {}", who, reason);
      if (scalar.bounds.any()) fail(scalar.span, "{}: a scalar with a value has no bounds", who);
    }
    check_bounds(scalar, who);
  }

  bool check_dimensions(const Launch& launch, std::string_view key, const Dim3& dims,
                        const Dim3& limits) {
    for (int axis = 0; axis < 3; ++axis) {
      if (dims[axis] >= 1 && dims[axis] <= limits[axis]) continue;
      fail(span_of(launch, key), "{}: expected {} from 1 to {}, found {}", key, kAxis[axis],
           limits[axis], dims[axis]);
      return false;
    }
    return true;
  }

  void check_launch(const Launch& launch) {
    if (launch.kernel.empty()) fail(span_of(launch, "kernel"), "expected the name of a kernel");
    bool grid_ok = check_dimensions(launch, "grid", launch.grid, kMaxGrid);
    if (check_dimensions(launch, "block", launch.block, kMaxBlock) &&
        launch.threads_per_block() > kMaxThreads)
      fail(span_of(launch, "block"), "block: expected at most {} threads, found {}", kMaxThreads,
           launch.threads_per_block());
    if (check_dimensions(launch, "cluster", launch.cluster,
                         {kMaxClusterCtas, kMaxClusterCtas, kMaxClusterCtas})) {
      int64_t ctas = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
      if (ctas > kMaxClusterCtas)
        fail(span_of(launch, "cluster"), "cluster: expected at most {} blocks, found {}",
             kMaxClusterCtas, ctas);
      for (int axis = 0; grid_ok && axis < 3; ++axis)
        if (launch.grid[axis] % launch.cluster[axis] != 0)
          fail(span_of(launch, "cluster"), "cluster: expected {} to divide the grid's {}, found {}",
               kAxis[axis], launch.grid[axis], launch.cluster[axis]);
    }
    if (launch.shared < 0 || launch.shared > kMaxDynamicShared)
      fail(span_of(launch, "shared"), "shared: expected from 0 to {} bytes, found {}",
           kMaxDynamicShared, launch.shared);
    for (const Argument& argument : launch.args) check_argument(argument);
  }

  void check_argument(const Argument& argument) {
    switch (argument.kind) {
      case Argument::Kind::Tensor: {
        const Tensor* tensor = find_tensor(argument.name, argument.span);
        if (!tensor || tensor->shape.size() != tensor->strides.size()) return;
        std::optional<int64_t> elements = checked_storage_elements(tensor->shape, tensor->strides);
        if (elements && (argument.offset < 0 || argument.offset > *elements))
          fail(argument.span, "offset: expected from 0 to {} elements of '{}', found {}", *elements,
               argument.name, argument.offset);
        return;
      }
      case Argument::Kind::Scalar:
        if (!instance_.find_scalar(argument.name)) {
          std::vector<std::string_view> names;
          for (const Scalar& scalar : instance_.scalars) names.push_back(scalar.name);
          fail(argument.span, "no scalar '{}' is declared{}", argument.name,
               nearest_hint(argument.name, names));
        }
        return;
      case Argument::Kind::Literal: {
        std::string reason = why_not_value(argument.dtype, argument.literal, true);
        if (!reason.empty())
          fail(argument.span, "argument of type {}: {}", dtype_name(argument.dtype), reason);
        return;
      }
      case Argument::Kind::Bytes:
        return;
      case Argument::Kind::TensorMap:
        check_tensor_map(argument);
        return;
    }
  }

  // The rules of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col.
  void check_tensor_map(const Argument& argument) {
    const TensorMap& map = argument.map;
    const Tensor* tensor = find_tensor(map.tensor, argument.span);
    if (!tensor || tensor->shape.size() != tensor->strides.size()) return;
    const SourceSpan& span = argument.span;
    const bool view = !map.shape.empty() || !map.strides.empty();
    const std::vector<int64_t>& shape = view ? map.shape : tensor->shape;
    const std::vector<int64_t>& strides = view ? map.strides : tensor->strides;
    if (shape.size() != strides.size()) {
      fail(span,
           "tensor_map: expected as many strides as the shape has dimensions, found {} and {}",
           strides.size(), shape.size());
      return;
    }
    __int128 last = map.offset;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (strides[d] < 0)
        fail(span, "tensor_map, strides: expected at least 0, found {}", strides[d]);
      last += __int128{shape[d] - 1} * strides[d];
    }
    if (map.offset < 0 || last * dtype_size(tensor->dtype) >= tensor->storage_bytes())
      fail(span, "tensor_map: the view reaches beyond tensor '{}'", map.tensor);
    if (map.offset * dtype_size(tensor->dtype) % 16 != 0)
      fail(span, "tensor_map, offset: expected a multiple of 16 bytes, found {} elements",
           map.offset);
    size_t rank = shape.size();
    bool im2col = map.mode == TensorMapMode::Im2col;
    size_t least = im2col || map.interleave != Interleave::None ? 3 : 1;
    if (rank < least || rank > 5) {
      fail(span, "tensor_map: expected a tensor of {} to 5 dimensions, '{}' has {}", least,
           map.tensor, rank);
      return;
    }
    int64_t size = dtype_size(tensor->dtype);
    if (strides.back() != 1)
      fail(span, "tensor_map: expected stride 1 in the last dimension of '{}', found {}",
           map.tensor, strides.back());
    int64_t alignment = map.interleave == Interleave::B32 ? 32 : 16;
    for (size_t d = 0; d + 1 < rank; ++d) {
      __int128 bytes = __int128{strides[d]} * size;
      if (bytes % alignment != 0 || bytes >= (__int128{1} << 40))
        fail(span, "tensor_map: expected strides of a multiple of {} bytes below 2^40, '{}' has {}",
             alignment, map.tensor, strides[d] * size);
    }
    for (int64_t extent : shape)
      if (extent < 1 || extent > (int64_t{1} << 32))
        fail(span, "tensor_map: expected extents from 1 to 2^32, '{}' has {}", map.tensor, extent);
    check_list(span, "element_strides", map.element_strides, rank, 1, 8);
    int64_t inner = 0;
    if (im2col) {
      const int64_t most = rank == 3 ? 32767 : rank == 4 ? 127 : 15;
      const bool listed = check_list(span, "lower", map.lower, rank - 2, -most - 1, most) &&
                          check_list(span, "upper", map.upper, rank - 2, -most - 1, most);
      for (size_t d = 0; listed && d < rank - 2; ++d)
        if (map.lower[d] > shape[d + 1] - 1 + map.upper[d])
          fail(span, "tensor_map: the corners {} and {} leave nothing of an extent of {}",
               map.lower[d], map.upper[d], shape[d + 1]);
      if (map.channels < 1 || map.channels > 256)
        fail(span, "tensor_map, channels: expected from 1 to 256, found {}", map.channels);
      if (map.pixels < 1 || map.pixels > 1024)
        fail(span, "tensor_map, pixels: expected from 1 to 1024, found {}", map.pixels);
      inner = map.channels;
    } else if (check_list(span, "box", map.box, rank, 1, 256)) {
      inner = map.box.back();
    }
    int64_t widest = map.swizzle == Swizzle::B32    ? 32
                     : map.swizzle == Swizzle::B64  ? 64
                     : map.swizzle == Swizzle::B128 ? 128
                                                    : 0;
    int64_t inner_bytes = inner * size;
    if (map.interleave == Interleave::None && widest && inner_bytes > widest)
      fail(span,
           "tensor_map: swizzle needs at most {} bytes in the last dimension of the box, found {}",
           widest, inner_bytes);
    if (map.interleave == Interleave::None && inner_bytes % 16 != 0)
      fail(span,
           "tensor_map: expected a multiple of 16 bytes in the last dimension of the box, found {}",
           inner_bytes);
    if (map.interleave == Interleave::B32 && map.swizzle != Swizzle::B32)
      fail(span, "tensor_map: interleave \"32B\" needs swizzle \"32B\"");
    if (map.fill == OutOfBoundsFill::Nan && !is_float(tensor->dtype))
      fail(span, "tensor_map: fill \"nan\" needs a tensor of a float dtype, '{}' has {}",
           map.tensor, dtype_name(tensor->dtype));
  }

  bool check_list(const SourceSpan& span, std::string_view key, const std::vector<int64_t>& list,
                  size_t count, int64_t low, int64_t high) {
    if (list.size() != count) {
      fail(span, "tensor_map, {}: expected {} integers, found {}", key, count, list.size());
      return false;
    }
    for (int64_t value : list)
      if (value < low || value > high) {
        fail(span, "tensor_map, {}: expected from {} to {}, found {}", key, low, high, value);
        return false;
      }
    return true;
  }

  void check_program(const Program& program, const std::string& key) {
    if (program.launches.empty()) fail(program.span, "expected at least one [[{}.launch]]", key);
    for (const Launch& launch : program.launches) check_launch(launch);
    check_symbols(program, key);
    for (const auto& [output, name] : program.outputs) {
      SourceSpan span = span_of(program, "outputs");
      if (std::find(instance_.outputs.begin(), instance_.outputs.end(), output) ==
          instance_.outputs.end()) {
        fail(span, "{}.outputs: '{}' is not an output; outputs are {}", key, output,
             instance_.outputs.empty() ? "none"
                                       : fmt::format("{}", fmt::join(instance_.outputs, ", ")));
        continue;
      }
      const Tensor* tensor = find_tensor(name, span);
      const Tensor* wanted = instance_.find_tensor(output);
      if (!tensor || !wanted) continue;
      if (tensor->dtype != wanted->dtype)
        fail(span, "{}.outputs: '{}' is {} and '{}' is {}; expected equal dtypes", key, output,
             dtype_name(wanted->dtype), name, dtype_name(tensor->dtype));
      if (tensor->shape != wanted->shape)
        fail(span, "{}.outputs: '{}' is [{}] and '{}' is [{}]; expected equal shapes", key, output,
             fmt::join(wanted->shape, ", "), name, fmt::join(tensor->shape, ", "));
    }
  }

  // What a variable of module scope holds is nowhere else.
  void check_symbols(const Program& program, const std::string& key) {
    std::set<std::string> bound;
    for (const auto& [symbol, name] : program.symbols) {
      const SourceSpan span = span_of(program, "symbols");
      const Tensor* tensor = find_tensor(name, span);
      if (!tensor) continue;
      if (!bound.insert(name).second) fail(span, "{}.symbols: '{}' is named twice", key, name);
      if (may_read(program, name) || may_write(program, name))
        fail(span, "{}.symbols: '{}' is an argument of a launch as well", key, name);
      if (!tensor->is_contiguous())
        fail(span, "{}.symbols: '{}' has strides; expected a contiguous tensor", key, name);
    }
  }

  void check_outputs() {
    std::set<std::string> seen;
    for (const std::string& name : instance_.outputs) {
      find_tensor(name, span_of(instance_, "outputs"));
      if (!seen.insert(name).second)
        fail(span_of(instance_, "outputs"), "outputs: '{}' is listed twice", name);
    }
    for (const std::string& name : instance_.unwritten) {
      const Tensor* tensor = find_tensor(name, span_of(instance_, "unwritten"));
      if (!tensor) continue;
      if (!seen.count(name))
        fail(span_of(instance_, "unwritten"), "unwritten: '{}' is not an output", name);
      bool empty = tensor->init == Init::Empty;
      for (const Program* program :
           {&instance_.program_a, instance_.program_b ? &*instance_.program_b : nullptr}) {
        const Tensor* mapped = program ? instance_.find_tensor(program->tensor_of(name)) : nullptr;
        empty = empty || (mapped && mapped->init == Init::Empty);
      }
      if (!empty)
        fail(span_of(instance_, "unwritten"),
             "unwritten: '{}' is initialised; expected an output with init = \"empty\"", name);
    }
  }

  void check_assumptions() {
    std::vector<std::string_view> known(known_assumptions().begin(), known_assumptions().end());
    const std::pair<const char*, const std::set<std::string>*> lists[] = {
        {"assume.on", &instance_.assume_on}, {"assume.off", &instance_.assume_off}};
    for (const auto& [key, names] : lists)
      for (const std::string& name : *names)
        if (!known_assumptions().count(name))
          fail(span_of(instance_, key), "{}: no assumption '{}'{}; known are {}", key, name,
               nearest_hint(name, known), fmt::join(known, ", "));
    for (const std::string& name : instance_.assume_on)
      if (instance_.assume_off.count(name))
        fail(span_of(instance_, "assume.off"), "assume: '{}' is both on and off", name);
  }

  void check_expectation() {
    if (!instance_.expect) return;
    const Expectation& expect = *instance_.expect;
    bool defect = expect.verdict == ExpectedVerdict::Defect;
    if (expect.defect && !defect)
      fail(span_of(instance_, "expect.defect"),
           "expect.defect needs verdict = \"defect\", found \"{}\"",
           expected_verdict_name(expect.verdict));
    if (expect.program && !defect)
      fail(span_of(instance_, "expect.program"),
           "expect.program needs verdict = \"defect\", found \"{}\"",
           expected_verdict_name(expect.verdict));
    if (expect.program == 'b' && !instance_.program_b)
      fail(span_of(instance_, "expect.program"),
           "expect.program is \"b\", but there is no [program_b]");
  }

  void check_budget() {
    const BudgetRequest& budget = instance_.budget;
    if (budget.seconds && !(*budget.seconds > 0 && std::isfinite(*budget.seconds)))
      fail(span_of(instance_, "budget.seconds"),
           "budget.seconds: expected a number above 0, found {}", *budget.seconds);
    if (budget.cells && *budget.cells != -1 && *budget.cells < 1)
      fail(span_of(instance_, "budget.cells"),
           "budget.cells: expected \"all\" or 1 or more, found {}", *budget.cells);
  }

  const Instance& instance_;
  std::vector<Diagnostic> problems_;
};

}  // namespace

std::vector<Diagnostic> validate(const Instance& instance) { return Validator(instance).run(); }

std::vector<std::string> default_outputs(const Instance& instance) {
  std::vector<std::string> outputs;
  for (const Tensor& tensor : instance.tensors) {
    bool a = may_write(instance.program_a, instance.program_a.tensor_of(tensor.name));
    bool b = instance.program_b
                 ? may_write(*instance.program_b, instance.program_b->tensor_of(tensor.name))
                 : a;
    if ((a && b) || (tensor.init != Init::Empty && (a || b))) outputs.push_back(tensor.name);
  }
  return outputs;
}

std::string why_not_value(DType dtype, const Number& number, bool allow_infinite) {
  if (std::isnan(number.real)) return "expected a number, found nan";
  if (is_float(dtype)) {
    if (std::isinf(number.real)) {
      bool written = number.text == "inf" || number.text == "-inf";
      if (!written) return fmt::format("{} is outside every dtype", number.text);
      if (!allow_infinite) return fmt::format("expected a finite number, found {}", number.text);
      if (dtype == DType::F8E4M3) return "f8e4m3 has no infinity";
      return "";
    }
    if (std::abs(number.real) >= overflow_threshold(dtype))
      return fmt::format("{} is outside {}, -{} to {}", number.text, dtype_name(dtype),
                         dtype_max_finite(dtype), dtype_max_finite(dtype));
    return "";
  }
  if (!number.is_integer) return fmt::format("expected an integer, found {}", number.text);
  IntegerRange range = integer_range(dtype);
  if (number.integer < range.low ||
      (number.integer >= 0 && static_cast<uint64_t>(number.integer) > range.high))
    return fmt::format("{} is outside {}, {} to {}", number.text, dtype_name(dtype), range.low,
                       range.high);
  return "";
}

std::string nearest_hint(std::string_view name, const std::vector<std::string_view>& known) {
  std::string_view best;
  size_t distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (std::string_view candidate : known) {
    size_t d = edit_distance(name, candidate);
    if (d < distance && d < std::max(name.size(), candidate.size())) {
      distance = d;
      best = candidate;
    }
  }
  return best.empty() ? std::string() : fmt::format(" (did you mean '{}'?)", best);
}

}  // namespace coequal::instance
