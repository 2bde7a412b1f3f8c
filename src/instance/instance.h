// One question as data: two programs, the tensors and scalars they share, and what is asked about
// them.
//
// Plain values, as the TOML form of an instance states them; read_toml() and validate() make them,
// and what they return satisfies every rule that needs no compiler: names resolve, values fit their
// dtypes, every size fits in 63 bits of bytes, and every launch is one that a device could accept.
// Tensors may be far larger than memory: sizes are numbers, nothing here allocates by them.
// Argument lists are compared with a kernel's parameters later.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/defect.h"
#include "base/dtype.h"
#include "base/options.h"
#include "base/source_span.h"

namespace coequal::instance {

// A number as written. `text` is its decimal text without underscores and plus sign ("0.1", "-3",
// "-inf", "1e-05"); hexadecimal, octal and binary integers are given in decimal. `integer` is exact
// and only meaningful when `is_integer`; `real` is the nearest double to the text, in either case.
struct Number {
  std::string text;
  double real = 0;
  int64_t integer = 0;
  bool is_integer = false;

  static Number of(int64_t value);

  friend bool operator==(const Number&, const Number&) = default;
};

// Exact order of two finite numbers as written: decimals are never rounded to be compared.
int compare(const Number& a, const Number& b);

// Where the keys of a table were given, for messages.
using KeySpans = std::map<std::string, SourceSpan, std::less<>>;

// The range of a free variable; `above` and `below` are exclusive. All are finite.
struct Bounds {
  std::optional<Number> min, max, above, below;

  bool any() const { return min || max || above || below; }
};

enum class Init : uint8_t {
  Input,  // one free variable a cell, within `bounds`
  Empty,  // uninitialised
  Zeros,
  Full,    // values[0] everywhere
  Values,  // known data, row-major, one value a logical cell
};

struct Tensor {
  std::string name;
  DType dtype = DType::F32;
  // Row-major; empty for a single cell, zeros allowed.
  std::vector<int64_t> shape;
  // Elements, one a dimension, never negative; zero and overlapping ones are allowed.
  std::vector<int64_t> strides;
  Init init = Init::Input;
  std::vector<Number> values;
  Bounds bounds;
  bool sorted = false;  // the free cells are non-decreasing in row-major order
  SourceSpan span;
  KeySpans key_spans;

  // Logical cells.
  int64_t numel() const;
  // Elements from the first to the last cell that the shape and strides reach, gaps included; 0
  // without cells.
  int64_t storage_elements() const;
  int64_t storage_bytes() const { return storage_elements() * dtype_size(dtype); }
  bool is_contiguous() const;
};

// Both are nullopt when a number does not fit in 63 bits. Shapes and strides must not be negative.
std::optional<int64_t> checked_numel(const std::vector<int64_t>& shape);
std::optional<int64_t> checked_storage_elements(const std::vector<int64_t>& shape,
                                                const std::vector<int64_t>& strides);
// Row-major strides in elements; dimensions of extent 0 count as 1.
std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape);

struct Scalar {
  std::string name;
  DType dtype = DType::F32;
  std::optional<Number> value;  // none: a free variable that both programs share
  Bounds bounds;
  SourceSpan span;
  KeySpans key_spans;
};

enum class Access : uint8_t { Read, Write, ReadWrite };

enum class Swizzle : uint8_t { None, B32, B64, B128 };
enum class Interleave : uint8_t { None, B16, B32 };
enum class OutOfBoundsFill : uint8_t { Zeros, Nan };
enum class TensorMapMode : uint8_t { Tiled, Im2col };

// A descriptor as cuTensorMapEncode makes it. Lists follow the order of the tensor's shape,
// outermost first (the CUDA call takes them innermost first).
struct TensorMap {
  std::string tensor;
  std::vector<int64_t> shape, strides;  // of the view that is mapped; empty: the tensor's own
  int64_t offset = 0;                   // its first element
  TensorMapMode mode = TensorMapMode::Tiled;
  std::vector<int64_t> box;              // tiled: one extent a dimension
  std::vector<int64_t> element_strides;  // one a dimension
  Swizzle swizzle = Swizzle::None;
  Interleave interleave = Interleave::None;
  OutOfBoundsFill fill = OutOfBoundsFill::Zeros;
  std::vector<int64_t> lower, upper;  // im2col: corners, one a spatial dimension (rank - 2)
  int64_t channels = 0;               // im2col: channels a pixel
  int64_t pixels = 0;                 // im2col: pixels a column
};

struct Argument {
  enum class Kind : uint8_t {
    Tensor,     // access, name, offset: the address of element `offset`
    Scalar,     // name
    Literal,    // dtype, literal
    Bytes,      // bytes, as they lie in parameter space
    TensorMap,  // map
  };
  Kind kind = Kind::Literal;
  Access access = Access::Read;
  std::string name;
  int64_t offset = 0;  // elements
  DType dtype = DType::I32;
  Number literal;
  std::vector<uint8_t> bytes;
  TensorMap map;
  SourceSpan span;
};

using Dim3 = std::array<int64_t, 3>;  // x, y, z

struct Launch {
  std::string source;  // path, or a name in Instance::texts
  std::vector<std::string> flags;
  std::string kernel;
  Dim3 grid = {1, 1, 1};
  Dim3 block = {1, 1, 1};
  Dim3 cluster = {1, 1, 1};
  bool has_cluster = false;  // `cluster` was given, if only as [1]
  bool cooperative = false;
  int64_t shared = 0;  // dynamic shared memory in bytes
  std::vector<Argument> args;
  SourceSpan span;
  KeySpans key_spans;

  int64_t threads_per_block() const { return block[0] * block[1] * block[2]; }
};

struct Program {
  std::vector<Launch> launches;
  // Output name to this program's tensor, where they differ.
  std::map<std::string, std::string> outputs;
  // Variable of module scope to the tensor that the host puts there before the first launch.
  std::map<std::string, std::string> symbols;
  SourceSpan span;
  KeySpans key_spans;

  // The tensor that holds `output` in this program.
  const std::string& tensor_of(const std::string& output) const;
};

// Whether some launch may write, or may read, the tensor.
bool may_write(const Program& program, const std::string& tensor);
bool may_read(const Program& program, const std::string& tensor);

// An equation that the instance declares to hold, both sides in the rule syntax.
struct Equation {
  std::string text;
  SourceSpan span;
};

enum class ExpectedVerdict : uint8_t { Equivalent, Inequivalent, Defect, Unknown, Refused };
std::string_view expected_verdict_name(ExpectedVerdict verdict);

struct Expectation {
  ExpectedVerdict verdict = ExpectedVerdict::Equivalent;
  std::optional<coequal::DefectKind> defect;  // only with verdict Defect
  char program = 0;                           // 'a', 'b', or 0 for either
};

struct BudgetRequest {
  std::optional<double> seconds;
  std::optional<int64_t> cells;  // -1: all
  std::optional<bool> exact_only;
};

// PTX that is held in memory, by the name that launches give as their source.
using SourceTexts = std::map<std::string, std::shared_ptr<const std::string>, std::less<>>;

// A construct outside the model that was met while a program was recorded: the program is not
// whole.
struct Unrecorded {
  char program = 'a';
  std::string construct;
  std::string reason;
  SourceSpan span;
};

struct Instance {
  std::string name;   // the file's stem
  std::string title;  // empty when not given
  std::string file;   // as it was opened
  // Names of the compared outputs; read_toml() fills in the default, which is empty when no tensor
  // qualifies.
  std::vector<std::string> outputs;
  std::vector<std::string> unwritten;  // outputs that may stay unwritten
  std::vector<Tensor> tensors;         // in file order
  std::vector<Scalar> scalars;         // in file order
  Program program_a;
  std::optional<Program> program_b;  // none: checked for defects alone
  std::set<std::string> assume_on;
  std::set<std::string> assume_off;
  std::vector<Equation> equations;
  std::optional<Expectation> expect;
  BudgetRequest budget;
  SourceTexts texts;
  std::vector<Unrecorded> unrecorded;
  KeySpans key_spans;  // of the top-level keys, and "expect.defect" and the like

  const Tensor* find_tensor(std::string_view wanted) const;
  const Scalar* find_scalar(std::string_view wanted) const;
};

// Where `key` of a tensor, scalar, launch, program or instance was given, or where the whole of it
// begins.
template <class T>
SourceSpan span_of(const T& thing, std::string_view key) {
  auto found = thing.key_spans.find(key);
  if (found != thing.key_spans.end()) return found->second;
  if constexpr (requires { thing.span; }) {
    return thing.span;
  } else {
    return {thing.file, 0, 0};
  }
}

// What the caller asked for together with the instance's own [budget] and [assume]; the caller's
// word is last: a setting named in `asked.given`, and every assumption named by the caller, stays
// as asked.
Options options_for(const Instance& instance, const Options& asked);

}  // namespace coequal::instance
