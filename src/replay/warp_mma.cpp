// mma.sync and wmma: fragments of A, B, C and D spread over the lanes of a warp (PTX ISA 9.7.14).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>

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
    case ScalarType::E4M3:
    case ScalarType::E5M2:
      return float_to_double(isa::spec_of(type), bits);
    case ScalarType::U8:
      return static_cast<double>(bits);
    default:
      return static_cast<double>(isa::sign_extend(bits, 32));
  }
}

int width_of(ScalarType type) { return type == ScalarType::TF32 ? 32 : ptx::bits_of(type); }

uint64_t bits_of_number(const isa::Decoded& d, ScalarType type, double value) {
  if (type != ScalarType::S32) return float_from_double(isa::spec_of(type), value);
  if (d.satfinite) value = std::min(std::max(value, -2147483648.0), 2147483647.0);
  return static_cast<uint64_t>(static_cast<int64_t>(value)) & isa::mask_of(32);
}

// c += a * b. Sums are formed in double precision and rounded once: within what the manual leaves
// open.
void multiply_add(FloatWatch* watch, Shape s, ScalarType type_a, ScalarType type_b,
                  ScalarType type_d, const std::vector<double>& a, const std::vector<double>& b,
                  std::vector<double>& c) {
  for (int row = 0; row < s.m; ++row)
    for (int column = 0; column < s.n; ++column) {
      double& sum = c[static_cast<size_t>(row * s.n + column)];
      for (int k = 0; k < s.k; ++k)
        sum = std::fma(a[static_cast<size_t>(row * s.k + k)],
                       b[static_cast<size_t>(k * s.n + column)], sum);
    }
  if (!watch || type_d == ScalarType::S32) return;
  const auto precision = [](ScalarType type) { return isa::spec_of(type).fraction_bits + 1; };
  for (const double x : a) watch->matrix_value(x, precision(type_a));
  for (const double x : b) watch->matrix_value(x, precision(type_b));
  for (const double x : c)
    watch->matrix_sum(
        x, float_to_double(isa::spec_of(type_d), float_from_double(isa::spec_of(type_d), x)));
}

std::vector<ScalarType> types_of(const ptx::Instruction& text) {
  std::vector<ScalarType> types;
  for (const std::string& word : text.modifiers)
    if (const auto type = ptx::type_from_text(word)) types.push_back(*type);
  return types;
}

uint32_t register_count(const ptx::Operand& operand) {
  return operand.kind == ptx::Operand::Kind::Vector ? static_cast<uint32_t>(operand.elements.size())
                                                    : 1;
}

// How a wmma fragment lies in the registers. The manual leaves that open: here the elements, row by
// row, fill the lanes one after the other, and again from the first one if there is room for more.
struct Fragment {
  int width;
  uint32_t per_register, per_lane;

  Fragment(ScalarType type, uint32_t registers)
      : width(width_of(type)),
        per_register(static_cast<uint32_t>(std::max(1, 32 / width))),
        per_lane(registers * per_register) {}
  uint32_t room() const { return per_lane * kWarpSize; }
  uint32_t element(uint32_t lane, uint32_t reg, uint32_t part) const {
    return lane * per_lane + reg * per_register + part;
  }
};

}  // namespace

bool Warp::multiply_matrices(const Code& code, uint32_t lanes) {
  const isa::Decoded& d = *code.decoded;
  if (lanes != ~0u)
    return fail(FaultKind::Invalid, static_cast<uint32_t>(std::countr_zero(lanes)),
                "a matrix instruction in part of a warp");
  const Shape s = shape_of(*d.text);
  const std::vector<ScalarType> types = types_of(*d.text);  // of D, A, B, C
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
  multiply_add(launch_.watch, s, type_a, type_b, type_d, a, b, c);
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const int per = std::max(1, 32 / width_d);
    for (int r = 0; r < code.destination_count; ++r) {
      uint64_t word = 0;
      for (int k = 0; k < per; ++k) {
        const Place p = place_c(static_cast<int>(lane), r * per + k);
        word |= bits_of_number(d, type_d, c[static_cast<size_t>(p.row * s.n + p.column)])
                << (width_d * k);
      }
      write(destination(code, static_cast<uint32_t>(r)), lane, word);
    }
  }
  return true;
}

// wmma.load.{a,b,c} r, [p]{, stride} and wmma.store.d [p], r{, stride}.
bool Warp::move_fragment(const Code& code, uint32_t lanes) {
  const isa::Decoded& d = *code.decoded;
  if (lanes != ~0u)
    return fail(FaultKind::Invalid, static_cast<uint32_t>(std::countr_zero(lanes)),
                "a matrix instruction in part of a warp");
  const bool loads = d.op == isa::Op::WmmaLoad;
  const Shape s = shape_of(*d.text);
  const std::string& which = d.text->modifiers.at(1);
  const auto rows = static_cast<uint32_t>(which == "b" ? s.k : s.m);
  const auto columns = static_cast<uint32_t>(which == "a" ? s.k : s.n);
  const uint32_t registers = register_count(d.text->operands.at(loads ? 0 : 1));
  const Fragment fragment(types_of(*d.text).back(), registers);
  const auto bytes = static_cast<uint64_t>(fragment.width / 8);
  const bool by_rows = d.text->has("row");
  if (fragment.room() < rows * columns || fragment.room() % (rows * columns) != 0)
    return fail(FaultKind::Invalid, 0,
                "a fragment of '" + d.text->spelling() + "' of another size");
  const uint32_t stride_at = loads ? 0 : registers;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const uint64_t first = full_address(code, 0, lane);
    const uint64_t stride = code.source_count > stride_at
                                ? read(source(code, stride_at), lane) & isa::mask_of(32)
                                : (by_rows ? columns : rows);
    for (uint32_t r = 0; r < registers; ++r) {
      uint64_t word = loads ? 0 : read(source(code, r), lane);
      for (uint32_t part = 0; part < fragment.per_register; ++part) {
        const uint32_t e = fragment.element(lane, r, part) % (rows * columns);
        const uint64_t row = e / columns, column = e % columns;
        uint8_t* at =
            locate(lane, first + bytes * (by_rows ? row * stride + column : column * stride + row),
                   bytes, !loads);
        if (!at) return false;
        const uint32_t shift = static_cast<uint32_t>(fragment.width) * part;
        if (loads) {
          uint64_t element = 0;
          std::memcpy(&element, at, bytes);
          word |= element << shift;
        } else {
          const uint64_t element = word >> shift;
          std::memcpy(at, &element, bytes);
        }
      }
      if (loads) write(destination(code, r), lane, word);
    }
  }
  return true;
}

bool Warp::multiply_fragments(const Code& code, uint32_t lanes) {
  const isa::Decoded& d = *code.decoded;
  if (lanes != ~0u)
    return fail(FaultKind::Invalid, static_cast<uint32_t>(std::countr_zero(lanes)),
                "a matrix instruction in part of a warp");
  const Shape s = shape_of(*d.text);
  // Of D and C where A and B are f16, else of D, A, B, C.
  const std::vector<ScalarType> types = types_of(*d.text);
  const bool all = types.size() == 4;
  const ScalarType type_a = all ? types[1] : ScalarType::F16,
                   type_b = all ? types[2] : ScalarType::F16;
  uint32_t next = 0;  // source
  bool fits = true;
  const auto gather = [&](size_t operand, ScalarType type, int count) {
    const uint32_t registers = register_count(d.text->operands.at(operand));
    const Fragment fragment(type, registers);
    std::vector<double> values(static_cast<size_t>(count));
    fits &= fragment.room() >= values.size();
    for (uint32_t e = 0; fits && e < values.size(); ++e) {
      const uint32_t slot = e % fragment.per_lane;
      const uint64_t word =
          read(source(code, next + slot / fragment.per_register), e / fragment.per_lane);
      const auto shift = static_cast<uint32_t>(fragment.width) * (slot % fragment.per_register);
      values[e] = number(type, (word >> shift) & isa::mask_of(fragment.width));
    }
    next += registers;
    return values;
  };
  const std::vector<double> a = gather(1, type_a, s.m * s.k), b = gather(2, type_b, s.k * s.n);
  std::vector<double> c = gather(3, types.back(), s.m * s.n);
  const uint32_t targets = register_count(d.text->operands.at(0));
  const Fragment result(types[0], targets);
  if (!fits || result.room() != c.size())
    return fail(FaultKind::Invalid, 0, "fragments of '" + d.text->spelling() + "' of another size");
  multiply_add(launch_.watch, s, type_a, type_b, types[0], a, b, c);
  for (uint32_t lane = 0; lane < kWarpSize; ++lane)
    for (uint32_t r = 0; r < targets; ++r) {
      uint64_t word = 0;
      for (uint32_t part = 0; part < result.per_register; ++part)
        word |= bits_of_number(d, types[0], c[result.element(lane, r, part)])
                << (static_cast<uint32_t>(result.width) * part);
      write(destination(code, r), lane, word);
    }
  return true;
}

}  // namespace coequal::replay
