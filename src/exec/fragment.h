// Fragments of matrices: which elements a lane's registers hold (PTX ISA 9.7.14, 9.7.15).
#pragma once

#include <cstdio>
#include <vector>

#include "base/check.h"
#include "isa/inst_row.h"

namespace coequal::exec {

struct Shape {
  int m = 0, n = 0, k = 0;
};

inline Shape shape_of(const ptx::Instruction& text) {
  for (const std::string& word : text.modifiers) {
    Shape s;
    if (std::sscanf(word.c_str(), "m%dn%dk%d", &s.m, &s.n, &s.k) == 3) return s;
  }
  return {};
}

inline std::vector<ptx::ScalarType> types_of(const ptx::Instruction& text) {
  std::vector<ptx::ScalarType> types;
  for (const std::string& word : text.modifiers)
    if (const auto type = ptx::type_from_text(word)) types.push_back(*type);
  return types;
}

inline bool is_integer(ptx::ScalarType type) {
  using ptx::ScalarType;
  return type == ScalarType::S8 || type == ScalarType::U8 || type == ScalarType::S32;
}

inline isa::OperandType element_of(ptx::ScalarType type) {
  using Class = isa::OperandType::Class;
  using ptx::ScalarType;
  switch (type) {
    case ScalarType::F64:
      return {Class::Float, 64, false, term::FloatFormat::F64};
    case ScalarType::F16:
      return {Class::Float, 16, false, term::FloatFormat::F16};
    case ScalarType::BF16:
      return {Class::Float, 16, false, term::FloatFormat::BF16};
    // In a register as the single-precision number that it is.
    case ScalarType::F32:
    case ScalarType::TF32:
      return {Class::Float, 32, false, term::FloatFormat::F32};
    case ScalarType::E4M3:
      return {Class::Float, 8, false, term::FloatFormat::E4M3};
    case ScalarType::E5M2:
      return {Class::Float, 8, false, term::FloatFormat::E5M2};
    case ScalarType::S8:
    case ScalarType::U8:
      return {Class::Bits, 8, type == ScalarType::S8, {}};
    case ScalarType::S32:
      return {Class::Bits, 32, true, {}};
    default:
      CHECK(false);
  }
}

inline std::vector<const ptx::Operand*> registers_of(const ptx::Operand& op) {
  std::vector<const ptx::Operand*> out;
  if (op.kind != ptx::Operand::Kind::Vector) out.push_back(&op);
  for (const ptx::Operand& e : op.elements) out.push_back(&e);
  return out;
}

// Where element `i` of a lane's part lies. Parts are tiles of 8 rows (A, C, D) or 8 columns (B), in
// which a lane has row lane / 4 and `per` neighbours from column per * (lane % 4) on: as many as a
// register holds for A and B, 2 for C and D.
struct Position {
  int row, column;
};
inline Position in_a(const Shape& s, int per, int lane, int i) {
  const int tile = i / per, rows = s.m / 8;
  return {lane / 4 + 8 * (tile % rows), per * (lane % 4) + i % per + 4 * per * (tile / rows)};
}
inline Position in_b(const Shape&, int per, int lane, int i) {
  return {per * (lane % 4) + i % per + 4 * per * (i / per), lane / 4};
}
inline Position in_c(const Shape& s, int, int lane, int i) {
  const int tile = i / 2, rows = s.m / 8;
  return {lane / 4 + 8 * (tile % rows), 2 * (lane % 4) + i % 2 + 8 * (tile / rows)};
}

}  // namespace coequal::exec
