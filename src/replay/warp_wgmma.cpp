// wgmma: each warp of a warpgroup makes 16 rows of a product, from matrices that descriptors find
// in shared memory (PTX ISA 9.7.15).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include "isa/semantics.h"
#include "replay/machine.h"

namespace coequal::replay {
namespace {

using isa::Op;
using ptx::ScalarType;

struct Form {
  int n = 0, k = 0;
  ScalarType d = ScalarType::None, a = ScalarType::None, b = ScalarType::None;

  explicit Form(const ptx::Instruction& text) {
    std::vector<ScalarType> types;
    for (const std::string& word : text.modifiers) {
      std::sscanf(word.c_str(), "m64n%dk%d", &n, &k);
      if (const auto type = ptx::type_from_text(word)) types.push_back(*type);
    }
    d = types.at(0), a = types.at(1), b = types.at(2);
  }
};

// The address of an element: matrices are made of cores of 8 rows of 16 bytes each.
uint64_t element_address(uint64_t descriptor, uint32_t size, bool transposed, uint32_t outer,
                         uint32_t k) {
  const auto bytes = [&](int at) { return (descriptor >> at & 0x3fff) * 16; };
  const uint64_t mode = descriptor >> 62;
  const uint64_t side = mode == 0 ? 1 : uint64_t{16} >> mode;  // cores side by side in a pattern
  // A row runs along k, or if transposed along the other dimension.
  const uint32_t row = transposed ? k : outer, along = transposed ? outer : k;
  const uint32_t core_row = row / 8, core = along * size / 16;
  uint64_t address = bytes(0) + row % 8 * side * 16 + along * size % 16;
  if (mode == 0)
    address += transposed ? core_row * bytes(16) + core * bytes(32)
                          : core_row * bytes(32) + core * bytes(16);
  else
    address += core_row * bytes(32) + core % side * 16 + core / side * bytes(16);
  // The pattern repeats every 8 rows; a row's number moves its cores.
  return address ^ ((address / 128 % side) * 16);
}

double value_of(ScalarType type, uint64_t bits) {
  if (type == ScalarType::S8) return static_cast<double>(isa::sign_extend(bits, 8));
  if (type == ScalarType::S32) return static_cast<double>(isa::sign_extend(bits, 32));
  if (type == ScalarType::U8) return static_cast<double>(bits);
  if (type == ScalarType::TF32) return float_to_double(kF32, bits & 0xffffe000);
  return float_to_double(isa::spec_of(type), bits);
}

uint32_t bytes_of(ScalarType type) {
  return type == ScalarType::TF32 ? 4 : static_cast<uint32_t>(ptx::bits_of(type)) / 8;
}

}  // namespace

bool Warp::wgmma(const Code& code, uint32_t lanes) {
  if (lanes != ~0u)
    return fail(FaultKind::Invalid, static_cast<uint32_t>(std::countr_zero(lanes)),
                "a matrix instruction in part of a warp");
  switch (code.op) {
    case Op::Wgmma: {
      const bool described = code.decoded->text->operands.at(1).kind != ptx::Operand::Kind::Vector;
      const uint32_t at = described ? 1 : 4;
      Product product{&code, function_, registers_, 0, 0, false};
      if (described) product.a = read(source(code, 0), 0);
      product.b = read(source(code, at), 0);
      product.adds = read(source(code, at + 1), 0) & 1;
      if (!launch_.options.late_copies) return multiply_wgmma(product);
      open_products_.push_back(product);
      return true;
    }
    case Op::WgmmaCommit:
      product_groups_.push_back(std::move(open_products_));
      open_products_.clear();
      return true;
    case Op::WgmmaWait: {
      const uint64_t keep = read(source(code, 0), 0);
      while (product_groups_.size() > keep) {
        for (const Product& product : product_groups_.front())
          if (!multiply_wgmma(product)) return false;
        product_groups_.erase(product_groups_.begin());
      }
      return true;
    }
    default:
      return true;
  }
}

bool Warp::multiply_wgmma(const Product& product) {
  const Code& code = *product.code;
  const std::vector<ptx::Operand>& operands = code.decoded->text->operands;
  // The wait may stand in another function.
  const FunctionCode* const function = std::exchange(function_, product.function);
  uint64_t* const registers = std::exchange(registers_, product.registers);
  const auto done = [&](bool good) {
    function_ = function;
    registers_ = registers;
    return good;
  };
  const Form f(*code.decoded->text);
  const bool described = operands.at(1).kind != ptx::Operand::Kind::Vector;
  const auto number = [&](size_t i) {
    return i < operands.size() ? static_cast<int32_t>(operands[i].bits) : 0;
  };
  const bool signs = operands.size() > 4;
  const double sign = signs ? number(4) * number(5) : 1;
  const auto n_count = static_cast<uint32_t>(f.n), k_count = static_cast<uint32_t>(f.k);
  bool good = true;
  const auto shared = [&](uint64_t descriptor, ScalarType type, bool transposed, uint32_t outer,
                          uint32_t k) {
    const uint32_t size = bytes_of(type);
    const uint8_t* at = locate(
        0, kSharedWindow + element_address(descriptor, size, transposed, outer, k), size, false);
    uint64_t bits = 0;
    if (at) std::memcpy(&bits, at, size);
    good &= at != nullptr;
    return value_of(type, bits);
  };
  std::vector<double> a(16 * k_count), b(n_count * k_count);
  const uint32_t per = 4 / bytes_of(f.a);
  for (uint32_t row = 0; row < 16 && good; ++row)
    for (uint32_t k = 0; k < k_count && good; ++k) {
      if (described) {
        a[row * k_count + k] = shared(product.a, f.a, number(6) == 1, index_ % 4 * 16 + row, k);
        continue;
      }
      // Registers are tiles of 8 rows, down first; a lane has `per` neighbours of one row.
      const uint32_t reg = row / 8 + 2 * (k / (4 * per)), lane = row % 8 * 4 + k % (4 * per) / per;
      const uint64_t word = read(source(code, reg), lane);
      const uint32_t width = 32 / per;
      a[row * k_count + k] =
          value_of(f.a, (word >> (width * (k % per))) & isa::mask_of(static_cast<int>(width)));
    }
  for (uint32_t n = 0; n < n_count && good; ++n)
    for (uint32_t k = 0; k < k_count && good; ++k)
      b[n * k_count + k] = shared(product.b, f.b, number(described ? 7 : 6) == 1, n, k);
  if (!good) return done(false);
  if (FloatWatch* watch = launch_.watch; watch && f.d != ScalarType::S32) {
    for (const double x : a) watch->matrix_value(x, isa::spec_of(f.a).fraction_bits + 1);
    for (const double x : b) watch->matrix_value(x, isa::spec_of(f.b).fraction_bits + 1);
  }
  const uint32_t held = 4 / bytes_of(f.d), width = 32 / held;
  for (uint32_t row = 0; row < 16; ++row)
    for (uint32_t n = 0; n < n_count; n += held) {
      // Tiles of 8 x 8, down first; a lane has two neighbours of a row.
      const uint32_t lane = row % 8 * 4 + n % 8 / 2;
      const uint32_t reg = (n / 8 * 4 + row / 8 * 2 + n % 2) / held;
      const Destination& to = destination(code, reg);
      uint64_t word = registers_[size_t{to.reg} * kWarpSize + lane], result = 0;
      for (uint32_t part = 0; part < held; ++part) {
        double sum =
            product.adds
                ? value_of(f.d, word >> (width * part) & isa::mask_of(static_cast<int>(width)))
                : 0;
        double terms = 0;
        for (uint32_t k = 0; k < k_count; ++k)
          terms = std::fma(a[row * k_count + k], b[(n + part) * k_count + k], terms);
        sum += sign * terms;
        uint64_t bits;
        if (f.d == ScalarType::S32) {
          if (code.decoded->satfinite) sum = std::clamp(sum, -2147483648.0, 2147483647.0);
          bits = static_cast<uint64_t>(static_cast<int64_t>(sum));
        } else {
          bits = float_from_double(isa::spec_of(f.d), sum);
          if (launch_.watch)
            launch_.watch->matrix_sum(sum, float_to_double(isa::spec_of(f.d), bits));
        }
        result |= (bits & isa::mask_of(static_cast<int>(width))) << (width * part);
      }
      write(to, lane, result);
    }
  return done(true);
}

}  // namespace coequal::replay
