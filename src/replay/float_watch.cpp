// Detection of rounding, overflow and underflow, instruction by instruction.
#include "replay/float_watch.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "isa/semantics.h"

namespace coequal::replay {
namespace {

using isa::OperandType;
using ptx::ScalarType;

FloatSpec spec_of(term::FloatFormat format) {
  using term::FloatFormat;
  switch (format) {
    case FloatFormat::F64:
      return kF64;
    case FloatFormat::F16:
      return kF16;
    case FloatFormat::BF16:
      return kBF16;
    case FloatFormat::TF32:
      return kTF32;
    case FloatFormat::E4M3:
      return kE4M3;
    case FloatFormat::E5M2:
      return kE5M2;
    default:
      return kF32;
  }
}

// What the instruction does to real numbers is the same function, only rounded.
bool is_rounding(std::string_view opcode) {
  static constexpr std::string_view kNames[] = {"add", "sub", "mul",  "fma", "mad",
                                                "div", "rcp", "sqrt", "cvt"};
  return std::find(std::begin(kNames), std::end(kNames), opcode) != std::end(kNames);
}

// Results are never what the function gives, with exceptions that are not worth telling apart.
bool is_approximate(const isa::Decoded& d, std::string_view opcode) {
  static constexpr std::string_view kNames[] = {"ex2", "lg2", "sin", "cos", "tanh", "rsqrt"};
  return d.approx || d.full ||
         std::find(std::begin(kNames), std::end(kNames), opcode) != std::end(kNames);
}

bool is_decision(std::string_view opcode) {
  static constexpr std::string_view kNames[] = {"setp", "set", "slct", "testp", "copysign"};
  return std::find(std::begin(kNames), std::end(kNames), opcode) != std::end(kNames);
}

bool is_float(const OperandType& type) { return type.cls == OperandType::Class::Float; }

}  // namespace

void FloatEvents::merge(const FloatEvents& other) {
  rounded |= other.rounded;
  overflowed |= other.overflowed;
  special |= other.special;
  underflowed |= other.underflowed;
  decided |= other.decided;
  largest = std::max(largest, other.largest);
  precision = std::min(precision, other.precision);
}

const FloatWatch::Directed& FloatWatch::directed(const isa::Decoded& decoded) {
  std::unique_ptr<Directed>& both = directed_[&decoded];
  if (!both) {
    both.reset(new Directed{decoded, decoded});
    both->down.rounding = FloatRounding::Down;
    both->up.rounding = FloatRounding::Up;
  }
  return *both;
}

bool FloatWatch::value(FloatSpec spec, uint64_t bits, bool flushes) {
  if (float_is_nan(spec, bits) || float_is_infinite(spec, bits)) return false;
  if (flushes && float_is_subnormal(spec, bits)) events_.underflowed = true;
  events_.largest = std::max(events_.largest, std::abs(float_to_double(spec, bits)));
  return true;
}

void FloatWatch::pure(const isa::Decoded& d, const uint64_t* in, const uint64_t* out) {
  const std::string_view opcode = d.text->opcode;
  const bool packed = d.type != ScalarType::None && isa::is_float(d.type) && isa::is_packed(d.type);
  bool any = packed;
  for (const OperandType& type : d.src_types) any |= is_float(type);
  for (const OperandType& type : d.dst_types) any |= is_float(type);
  if (!any || opcode == "mov" || opcode == "selp") return;

  const auto each = [&](const OperandType& type, uint64_t bits, bool flushes) {
    if (is_float(type)) return value(spec_of(type.format), bits, flushes);
    if (!packed || type.width != 32) return true;
    const bool low = value(isa::spec_of(d.type), bits & 0xffff, flushes);
    return value(isa::spec_of(d.type), bits >> 16, flushes) && low;
  };
  bool special = false;
  for (size_t i = 0; i < d.src_types.size(); ++i) special |= !each(d.src_types[i], in[i], d.ftz);
  for (size_t i = 0; i < d.dst_types.size(); ++i)
    if (!each(d.dst_types[i], out[i], false) && !special) events_.overflowed = true;
  events_.special |= special;

  if (is_decision(opcode)) {
    events_.decided = true;
    return;
  }
  if (is_approximate(d, opcode)) {
    events_.rounded = true;
  } else if (!is_rounding(opcode)) {
    return;
  }
  // A rounding to an integer is what the program asks for.
  const bool to_integer = opcode == "cvt" && (d.round_to_integer || !isa::is_float(d.type));
  if (to_integer) {
    events_.decided = true;
    return;
  }
  const bool scalar = !packed && is_float(d.dst_types[0]);
  const FloatSpec spec = scalar ? spec_of(d.dst_types[0].format) : isa::spec_of(d.type);
  events_.precision = std::min(events_.precision, spec.fraction_bits + 1);
  if (!is_approximate(d, opcode)) {
    const Directed& both = directed(d);
    uint64_t down[8] = {}, up[8] = {};
    both.down.conc(both.down, in, down);
    both.up.conc(both.up, in, up);
    // An exact zero has the sign of the direction.
    const auto differ = [&](uint64_t a, uint64_t b) {
      return a != b && !(float_is_zero(spec, a) && float_is_zero(spec, b));
    };
    if (packed)
      events_.rounded |=
          differ(down[0] & 0xffff, up[0] & 0xffff) || differ(down[0] >> 16, up[0] >> 16);
    else
      events_.rounded |= differ(down[0], up[0]);
  }
  if (!scalar) {
    // Not looked at one by one.
    events_.rounded |= !packed;
    events_.underflowed |= events_.rounded;
    return;
  }
  const double result = float_to_double(spec, out[0]);
  const double least = std::ldexp(1.0, 3 - (1 << (spec.exponent_bits - 1)));  // with some margin
  const auto operand = [&](size_t i) {
    return float_to_double(spec_of(d.src_types[i].format), in[i]);
  };
  if (opcode == "mul" || opcode == "fma" || opcode == "mad") {
    const double x = operand(0), y = operand(1);
    if (x != 0 && y != 0 && std::abs(x * y) < least) events_.underflowed = true;
  } else if (is_float(d.src_types[0]) && operand(0) != 0 && opcode != "add" && opcode != "sub" &&
             opcode != "lg2" && opcode != "cos" && std::abs(result) < least) {
    events_.underflowed = true;
  }
  const double divisor = opcode == "div" ? operand(1) : opcode == "rcp" ? operand(0) : 1;
  if (divisor != 0) events_.largest = std::max(events_.largest, 1 / std::abs(divisor));
}

void FloatWatch::atomic(const isa::Decoded& d, uint64_t old, uint64_t operand) {
  if (!isa::is_float(d.type)) return;
  if (isa::is_packed(d.type)) {
    events_.rounded = events_.underflowed = true;
    return;
  }
  const FloatSpec spec = isa::spec_of(d.type);
  const bool flushes = d.type == ScalarType::F32 && d.space != ptx::StateSpace::Shared;
  const bool finite = value(spec, old, flushes);
  if (!value(spec, operand, flushes) || !finite) {
    events_.special = true;
    return;
  }
  if (static_cast<isa::AtomOp>(d.mode) != isa::AtomOp::Add) return;
  events_.precision = std::min(events_.precision, spec.fraction_bits + 1);
  const uint64_t down = float_add(spec, old, operand, {FloatRounding::Down, false});
  const uint64_t up = float_add(spec, old, operand, {FloatRounding::Up, false});
  if (!value(spec, up, false)) events_.overflowed = true;
  events_.rounded |= down != up && !(float_is_zero(spec, down) && float_is_zero(spec, up));
}

void FloatWatch::matrix_value(double v, int precision) {
  if (!std::isfinite(v)) {
    events_.special = true;
    return;
  }
  events_.largest = std::max(events_.largest, std::abs(v));
  events_.precision = std::min(events_.precision, precision);
  // Sums of products of small integers are exact in any order.
  if (v != std::trunc(v) || std::abs(v) > 0x1p20) events_.rounded = true;
}

void FloatWatch::matrix_sum(double sum, double stored) {
  if (!std::isfinite(stored))
    events_.overflowed = true;
  else
    events_.largest = std::max(events_.largest, std::abs(stored));
  if (sum != stored) events_.rounded = true;
}

}  // namespace coequal::replay
