// The rows, a function a section family of the PTX manual; all_rows() joins them.
#pragma once

#include <span>

#include "isa/inst_row.h"

namespace coequal::isa {

std::span<const InstRow> integer_rows();
std::span<const InstRow> float_rows();
std::span<const InstRow> compare_rows();
std::span<const InstRow> logic_rows();
std::span<const InstRow> convert_rows();
std::span<const InstRow> memory_rows();
std::span<const InstRow> control_rows();
std::span<const InstRow> barrier_rows();
std::span<const InstRow> warp_rows();
std::span<const InstRow> async_rows();
std::span<const InstRow> matrix_rows();
std::span<const InstRow> real_rows();

}  // namespace coequal::isa
