// Tensors of an instance as storage: what each cell holds before the first step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "term/store.h"

namespace coequal::ptx {
enum class ScalarType : uint8_t;
}

namespace coequal::tensor {

using TensorId = uint32_t;

// Storage cells are elements of the dtype, counted from the start of the allocation (with strides,
// gaps included).
struct TensorInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // elements; contiguous row-major unless declared
  int64_t storage_cells = 0;     // 0 for an empty tensor
  bool strided = false;          // declared strides: some storage cells may be no element

  enum class Init : uint8_t { Input, Empty, Zeros, Full, Values };
  Init init = Init::Input;
  term::Rational full_value;                                  // Full
  std::shared_ptr<const std::vector<term::Rational>> values;  // Values: one per element, row-major
  term::GroupId input_group = 0;                              // Input: its leaves
  term::GroupId known_group = 0;  // Values: leaves of known data under a moving index

  int element_size() const { return dtype_size(dtype); }
  int64_t storage_bytes() const { return storage_cells * element_size(); }
  bool is_float() const { return coequal::is_float(dtype); }
  // Whether a storage cell is an element (false in the gaps of a strided tensor).
  bool is_element(int64_t cell) const;
  int64_t elements() const;
  // Storage cell of a row-major element index, and back: the index as messages print it in brackets
  // ("3,5", empty for a tensor without dimensions). Cells outside the tensor have one too, as if
  // the first dimension went on.
  int64_t cell_of_element(int64_t element) const;
  std::string index_text(int64_t cell) const;
  // One row-major element that lies at the cell (several may where strides overlap), or -1.
  int64_t element_of_cell(int64_t cell) const;
};

term::FloatFormat float_format(DType dtype);
// As which instructions compute with elements; None for those that they do not compute with.
ptx::ScalarType scalar_type(DType dtype);
// Type of a leaf of the tensor: Real for floats, Bv of the element's width otherwise.
term::Type leaf_type(DType dtype);

}  // namespace coequal::tensor
