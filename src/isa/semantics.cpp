// Types and formats, concrete clamps, and the terms that several rows share.
#include "isa/semantics.h"

namespace coequal::isa {

bool is_signed(ScalarType type) {
  return type == ScalarType::S8 || type == ScalarType::S16 || type == ScalarType::S32 ||
         type == ScalarType::S64;
}

bool is_packed(ScalarType type) { return type == ScalarType::F16X2 || type == ScalarType::BF16X2; }

bool is_float(ScalarType type) {
  switch (type) {
    case ScalarType::F16:
    case ScalarType::BF16:
    case ScalarType::F32:
    case ScalarType::F64:
    case ScalarType::TF32:
      return true;
    default:
      return is_packed(type);
  }
}

FloatSpec spec_of(ScalarType type) {
  switch (type) {
    case ScalarType::F64:
      return kF64;
    case ScalarType::F32:
      return kF32;
    case ScalarType::F16:
    case ScalarType::F16X2:
      return kF16;
    case ScalarType::BF16:
    case ScalarType::BF16X2:
      return kBF16;
    case ScalarType::TF32:
      return kTF32;
    case ScalarType::E4M3:
    case ScalarType::E4M3X2:
      return kE4M3;
    case ScalarType::E5M2:
    case ScalarType::E5M2X2:
      return kE5M2;
    default:
      CHECK(is_float(type));
      return kF32;
  }
}

term::FloatFormat format_of(ScalarType type) {
  using term::FloatFormat;
  switch (type) {
    case ScalarType::F64:
      return FloatFormat::F64;
    case ScalarType::F32:
      return FloatFormat::F32;
    case ScalarType::F16:
    case ScalarType::F16X2:
      return FloatFormat::F16;
    case ScalarType::BF16:
    case ScalarType::BF16X2:
      return FloatFormat::BF16;
    case ScalarType::TF32:
      return FloatFormat::TF32;
    case ScalarType::E4M3:
    case ScalarType::E4M3X2:
      return FloatFormat::E4M3;
    case ScalarType::E5M2:
    case ScalarType::E5M2X2:
      return FloatFormat::E5M2;
    default:
      CHECK(is_float(type));
      return FloatFormat::F32;
  }
}

bool combine(BoolOp op, bool p, bool q) {
  switch (op) {
    case BoolOp::None:
      return p;
    case BoolOp::And:
      return p && q;
    case BoolOp::Or:
      return p || q;
    case BoolOp::Xor:
      return p != q;
  }
  return p;
}

uint64_t one_bits(FloatSpec spec) {
  return ((uint64_t{1} << (spec.exponent_bits - 1)) - 1) << spec.fraction_bits;
}

uint64_t canonical_nan(FloatSpec spec) { return float_convert(spec, kF32, 0x7fffffff); }

uint64_t flush(FloatSpec spec, uint64_t a) {
  return float_is_subnormal(spec, a) ? a & (uint64_t{1} << (spec.width() - 1)) : a;
}

uint64_t saturate(FloatSpec spec, uint64_t a) {
  if (float_is_nan(spec, a) || float_sign(spec, a)) return 0;
  const uint64_t one = one_bits(spec);
  return float_less(spec, one, a) ? one : a;
}

uint64_t relu(FloatSpec spec, uint64_t a) {
  if (float_is_nan(spec, a)) return canonical_nan(spec);
  return float_sign(spec, a) ? 0 : a;
}

Kind rounding_kind(FloatRounding rounding) {
  switch (rounding) {
    case FloatRounding::TowardZero:
      return Kind::Trunc;
    case FloatRounding::Down:
      return Kind::Floor;
    case FloatRounding::Up:
      return Kind::Ceil;
    default:
      return Kind::RoundEven;
  }
}

Term Build::extract(Term a, int low, int wide) {
  if (low == 0 && wide == width(a)) return a;
  return s_.make(Kind::BvExtract, {a}, static_cast<uint64_t>(low), wide);
}

Term Build::resize(Term a, int wide, bool is_signed_value) {
  const int from = width(a);
  if (wide <= from) return extract(a, 0, wide);
  return s_.make(is_signed_value ? Kind::BvSignExtend : Kind::BvZeroExtend, {a}, 0, wide);
}

Term Build::combine(BoolOp op, Term p, Term q) {
  switch (op) {
    case BoolOp::None:
      return p;
    case BoolOp::And:
      return logic_and(p, q);
    case BoolOp::Or:
      return logic_or(p, q);
    case BoolOp::Xor:
      return logic_xor(p, q);
  }
  return p;
}

Term Build::compare(Compare compare, Term a, Term b) {
  const auto is_number = [&](Term x) { return op1(Kind::IsNumber, x); };
  const auto unordered = [&](Term condition) {
    return logic_or(condition, logic_or(logic_not(is_number(a)), logic_not(is_number(b))));
  };
  switch (compare) {
    case Compare::Eq:
      return op2(Kind::Equal, a, b);
    case Compare::Ne:
      return logic_not(op2(Kind::Equal, a, b));
    case Compare::Lt:
      return op2(Kind::Less, a, b);
    case Compare::Le:
      return op2(Kind::LessEq, a, b);
    case Compare::Gt:
      return op2(Kind::Less, b, a);
    case Compare::Ge:
      return op2(Kind::LessEq, b, a);
    case Compare::Equ:
      return unordered(op2(Kind::Equal, a, b));
    case Compare::Neu:
      return unordered(logic_not(op2(Kind::Equal, a, b)));
    case Compare::Ltu:
      return unordered(op2(Kind::Less, a, b));
    case Compare::Leu:
      return unordered(op2(Kind::LessEq, a, b));
    case Compare::Gtu:
      return unordered(op2(Kind::Less, b, a));
    case Compare::Geu:
      return unordered(op2(Kind::LessEq, b, a));
    case Compare::Num:
      return logic_and(is_number(a), is_number(b));
    case Compare::Nan:
      return logic_or(logic_not(is_number(a)), logic_not(is_number(b)));
  }
  return truth(false);
}

}  // namespace coequal::isa
