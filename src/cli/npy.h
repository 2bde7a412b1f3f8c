// NumPy's .npy files, versions 1 and 2, for the element types of tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace coequal::cli {

struct NpyArray {
  std::string type;  // NumPy's name of the element type: "<f4", "|b1"
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;  // row-major
};

// The NumPy type that holds a dtype; types that NumPy lacks (bf16, 8-bit floats, tf32) are unsigned
// integers of their size, bit for bit.
std::string npy_type(DType dtype);

Result<NpyArray> read_npy(const std::string& path);
Result<void> write_npy(const std::string& path, const NpyArray& array);

}  // namespace coequal::cli
