// Element types of tensors and scalars, named as instances name them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace coequal {

enum class DType : uint8_t {
  F64,
  F32,
  F16,
  BF16,
  TF32,
  F8E4M3,
  F8E5M2,
  I64,
  I32,
  I16,
  I8,
  U64,
  U32,
  U16,
  U8,
  Bool,
};

std::string_view dtype_name(DType type);
std::optional<DType> dtype_from_name(std::string_view name);
// Storage size in bytes (tf32 is stored in 4).
int dtype_size(DType type);
bool is_float(DType type);
bool is_signed_integer(DType type);
// Largest finite value of a float type.
double dtype_max_finite(DType type);

}  // namespace coequal
