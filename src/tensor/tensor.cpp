// Elements and storage cells of tensors: layout, and the types of their leaves.
#include "tensor/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "base/check.h"
#include "ptx/module.h"

namespace coequal::tensor {
namespace {

struct Axis {
  int64_t stride, extent;
  size_t dimension;
};

// Looks for coordinates with sum of coordinate * stride = rest, the axes in order of falling
// strides.
bool find_coordinates(std::span<const Axis> axes, std::span<const int64_t> reach, int64_t rest,
                      std::vector<int64_t>& index) {
  if (axes.empty()) return rest == 0;
  const Axis& axis = axes.front();
  if (rest < 0 || rest > reach.front()) return false;
  if (axis.stride == 0) {
    index[axis.dimension] = 0;
    return find_coordinates(axes.subspan(1), reach.subspan(1), rest, index);
  }
  int64_t last = std::min(rest / axis.stride, axis.extent - 1);
  for (int64_t i = last; i >= 0; --i) {
    int64_t left = rest - i * axis.stride;
    if (left > reach[1]) return false;  // and further ones leave more
    index[axis.dimension] = i;
    if (find_coordinates(axes.subspan(1), reach.subspan(1), left, index)) return true;
  }
  return false;
}

bool find_index(const TensorInfo& info, int64_t cell, std::vector<int64_t>& index) {
  std::vector<Axis> axes;
  for (size_t d = 0; d < info.shape.size(); ++d) {
    if (info.shape[d] == 0) return false;
    axes.push_back({info.strides[d], info.shape[d], d});
  }
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  std::vector<int64_t> reach(axes.size() + 1, 0);
  for (size_t i = axes.size(); i-- > 0;)
    reach[i] = reach[i + 1] + axes[i].stride * (axes[i].extent - 1);
  index.assign(info.shape.size(), 0);
  return find_coordinates(axes, reach, cell, index);
}

}  // namespace

int64_t TensorInfo::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

bool TensorInfo::is_element(int64_t cell) const {
  if (cell < 0 || cell >= storage_cells) return false;
  if (!strided) return true;
  std::vector<int64_t> index;
  return find_index(*this, cell, index);
}

int64_t TensorInfo::cell_of_element(int64_t element) const {
  if (!strided) return element;
  int64_t cell = 0;
  for (size_t d = shape.size(); d-- > 0;) {
    cell += element % shape[d] * strides[d];
    element /= shape[d];
  }
  return cell;
}

int64_t TensorInfo::element_of_cell(int64_t cell) const {
  if (cell < 0 || cell >= storage_cells) return -1;
  if (!strided) return cell;
  std::vector<int64_t> index;
  if (!find_index(*this, cell, index)) return -1;
  int64_t element = 0;
  for (size_t d = 0; d < shape.size(); ++d) element = element * shape[d] + index[d];
  return element;
}

std::string TensorInfo::index_text(int64_t cell) const {
  if (strided) {
    int64_t element = element_of_cell(cell);
    if (element < 0) return fmt::format("storage cell {}", cell);
    cell = element;
  } else if (shape.empty()) {
    return cell == 0 ? "" : std::to_string(cell);
  }
  std::string text;
  for (size_t d = shape.size(); d-- > 0;) {
    int64_t here = cell;
    if (d > 0) {
      if (shape[d] == 0) return std::to_string(cell);
      here = cell % shape[d];
      if (here < 0) here += shape[d];
      cell = (cell - here) / shape[d];
    }
    text = text.empty() ? std::to_string(here) : fmt::format("{},{}", here, text);
  }
  return text;
}

ptx::ScalarType scalar_type(DType dtype) {
  using ptx::ScalarType;
  switch (dtype) {
    case DType::F64:
      return ScalarType::F64;
    case DType::F32:
      return ScalarType::F32;
    case DType::F16:
      return ScalarType::F16;
    case DType::BF16:
      return ScalarType::BF16;
    case DType::I64:
      return ScalarType::S64;
    case DType::I32:
      return ScalarType::S32;
    case DType::U64:
      return ScalarType::U64;
    case DType::U32:
      return ScalarType::U32;
    default:
      return ScalarType::None;
  }
}

term::FloatFormat float_format(DType dtype) {
  switch (dtype) {
    case DType::F64:
      return term::FloatFormat::F64;
    case DType::F32:
      return term::FloatFormat::F32;
    case DType::F16:
      return term::FloatFormat::F16;
    case DType::BF16:
      return term::FloatFormat::BF16;
    case DType::TF32:
      return term::FloatFormat::TF32;
    case DType::F8E4M3:
      return term::FloatFormat::E4M3;
    case DType::F8E5M2:
      return term::FloatFormat::E5M2;
    default:
      check_failed("a float dtype", __FILE__, __LINE__);
  }
}

term::Type leaf_type(DType dtype) {
  return coequal::is_float(dtype) ? term::kReal : term::bv(8 * dtype_size(dtype));
}

}  // namespace coequal::tensor
