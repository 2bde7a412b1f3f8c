// mma.sync: fragments of A, B, C and D spread over the lanes of a warp (PTX ISA 9.7.14.5).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "isa/semantics.h"
#include "replay/machine.h"

namespace coequal::replay {
namespace {

using ptx::ScalarType;

struct Shape {
  int m, n, k;
};

Shape shape_of(const ptx::Instruction& text) {
  for (const std::string& word : text.modifiers) {
    Shape s{};
    if (std::sscanf(word.c_str(), "m%dn%dk%d", &s.m, &s.n, &s.k) == 3) return s;
  }
  return {0, 0, 0};
}

// Position of element `i` that lane `lane` holds. Fragments are tiles of 8 rows (A, C, D) or 8
// columns (B), in which a lane has row lane / 4 and `per` neighbours from column per * (lane % 4)
// on: per elements a register for A and B, 2 for C and D.
struct Place {
  int row, column;
};

// A: tiles go down the rows first, then along k.
Place place_a(Shape s, int per, int lane, int i) {
  const int tile = i / per, rows = s.m / 8;
  return {lane / 4 + 8 * (tile % rows), per * (lane % 4) + i % per + 4 * per * (tile / rows)};
}
// B: k runs within a register; a tile is 4 * per deep.
Place place_b(int per, int lane, int i) {
  return {per * (lane % 4) + i % per + 4 * per * (i / per), lane / 4};
}
Place place_c(int lane, int i) { return {lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2}; }

double number(ScalarType type, uint64_t bits) {
  switch (type) {
    case ScalarType::F64:
      return float_to_double(kF64, bits);
    case ScalarType::F32:
      return float_to_double(kF32, bits);
    case ScalarType::TF32:
      return float_to_double(kF32, bits & 0xffffe000);  // the low bits are not read
    case ScalarType::F16:
      return float_to_double(kF16, bits);
    case ScalarType::BF16:
      return float_to_double(kBF16, bits);
    case ScalarType::S8:
      return static_cast<double>(isa::sign_extend(bits, 8));
    case ScalarType::U8:
      return static_cast<double>(bits);
    default:
      return static_cast<double>(isa::sign_extend(bits, 32));
  }
}

int width_of(ScalarType type) { return type == ScalarType::TF32 ? 32 : ptx::bits_of(type); }

}  // namespace

// Sums are formed in double precision and rounded once: within what the manual leaves open.
bool Warp::multiply_matrices(const Code& code, uint32_t lanes) {
  const isa::Decoded& d = *code.decoded;
  if (lanes != ~0u)
    return fail(FaultKind::Invalid, static_cast<uint32_t>(std::countr_zero(lanes)),
                "a matrix instruction in part of a warp");
  const Shape s = shape_of(*d.text);
  std::vector<ScalarType> types;  // of D, A, B, C
  for (const std::string& word : d.text->modifiers)
    if (const auto type = ptx::type_from_text(word)) types.push_back(*type);
  const ScalarType type_d = types.at(0), type_a = types.at(1), type_b = types.at(2),
                   type_c = types.at(3);
  const int width_a = width_of(type_a), width_c = width_of(type_c), width_d = width_of(type_d);
  const int per_a = std::max(1, 32 / width_a);
  const int count_a = s.m * s.k / 32, count_b = s.k * s.n / 32, count_c = s.m * s.n / 32;
  // Registers of one operand hold as many elements as fit.
  const auto fetch = [&](uint32_t first, int width, int i, uint32_t lane) {
    const int per = std::max(1, 32 / width);
    const uint64_t word = read(source(code, first + static_cast<uint32_t>(i / per)), lane);
    return (word >> (width * (i % per))) & isa::mask_of(width);
  };
  const auto registers = [&](int count, int width) {
    const int per = std::max(1, 32 / width);
    return static_cast<uint32_t>((count + per - 1) / per);
  };
  const uint32_t first_b = registers(count_a, width_a);
  const uint32_t first_c = first_b + registers(count_b, width_a);
  if (code.source_count != first_c + registers(count_c, width_c) ||
      code.destination_count != registers(count_c, width_d))
    return fail(FaultKind::Invalid, 0, "fragments of '" + d.text->spelling() + "' of another size");

  std::vector<double> a(static_cast<size_t>(s.m * s.k)), b(static_cast<size_t>(s.k * s.n)),
      c(static_cast<size_t>(s.m * s.n));
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const int l = static_cast<int>(lane);
    for (int i = 0; i < count_a; ++i) {
      const Place p = place_a(s, per_a, l, i);
      a[static_cast<size_t>(p.row * s.k + p.column)] = number(type_a, fetch(0, width_a, i, lane));
    }
    for (int i = 0; i < count_b; ++i) {
      const Place p = place_b(per_a, l, i);
      b[static_cast<size_t>(p.row * s.n + p.column)] =
          number(type_b, fetch(first_b, width_a, i, lane));
    }
    for (int i = 0; i < count_c; ++i) {
      const Place p = place_c(l, i);
      c[static_cast<size_t>(p.row * s.n + p.column)] =
          number(type_c, fetch(first_c, width_c, i, lane));
    }
  }
  for (int row = 0; row < s.m; ++row)
    for (int column = 0; column < s.n; ++column) {
      double& sum = c[static_cast<size_t>(row * s.n + column)];
      for (int k = 0; k < s.k; ++k)
        sum = std::fma(a[static_cast<size_t>(row * s.k + k)],
                       b[static_cast<size_t>(k * s.n + column)], sum);
    }
  if (launch_.watch && type_d != ScalarType::S32) {
    const auto precision = [](ScalarType type) { return isa::spec_of(type).fraction_bits + 1; };
    for (const double x : a) launch_.watch->matrix_value(x, precision(type_a));
    for (const double x : b) launch_.watch->matrix_value(x, precision(type_b));
    for (const double x : c)
      launch_.watch->matrix_sum(
          x, float_to_double(isa::spec_of(type_d), float_from_double(isa::spec_of(type_d), x)));
  }
  const auto result_bits = [&](double value) -> uint64_t {
    if (type_d == ScalarType::S32) {
      if (d.satfinite) value = std::min(std::max(value, -2147483648.0), 2147483647.0);
      return static_cast<uint64_t>(static_cast<int64_t>(value)) & isa::mask_of(32);
    }
    return float_from_double(isa::spec_of(type_d), value);
  };
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const int per = std::max(1, 32 / width_d);
    for (int r = 0; r < code.destination_count; ++r) {
      uint64_t word = 0;
      for (int k = 0; k < per; ++k) {
        const Place p = place_c(static_cast<int>(lane), r * per + k);
        word |= result_bits(c[static_cast<size_t>(p.row * s.n + p.column)]) << (width_d * k);
      }
      write(destination(code, static_cast<uint32_t>(r)), lane, word);
    }
  }
  return true;
}

}  // namespace coequal::replay
