#include "base/dtype.h"

#include "base/check.h"

namespace coequal {
namespace {

struct Row {
  std::string_view name;
  int size;
  bool is_float;
  bool is_signed;
  double max_finite;
};

constexpr Row kRows[] = {
    {"f64", 8, true, true, 0x1.fffffffffffffp1023},
    {"f32", 4, true, true, 0x1.fffffep127},
    {"f16", 2, true, true, 65504.0},
    {"bf16", 2, true, true, 0x1.fep127},
    {"tf32", 4, true, true, 0x1.ffcp127},
    {"f8e4m3", 1, true, true, 448.0},
    {"f8e5m2", 1, true, true, 57344.0},
    {"i64", 8, false, true, 0},
    {"i32", 4, false, true, 0},
    {"i16", 2, false, true, 0},
    {"i8", 1, false, true, 0},
    {"u64", 8, false, false, 0},
    {"u32", 4, false, false, 0},
    {"u16", 2, false, false, 0},
    {"u8", 1, false, false, 0},
    {"bool", 1, false, false, 0},
};

const Row& row(DType type) { return kRows[static_cast<size_t>(type)]; }

}  // namespace

std::string_view dtype_name(DType type) { return row(type).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (kRows[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

int dtype_size(DType type) { return row(type).size; }
bool is_float(DType type) { return row(type).is_float; }
bool is_signed_integer(DType type) { return !row(type).is_float && row(type).is_signed; }
double dtype_max_finite(DType type) { return row(type).max_finite; }

}  // namespace coequal
