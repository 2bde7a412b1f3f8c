// Folding of real-valued nodes, over extended reals with "undefined".
#include "term/float_format.h"
#include "term/fold.h"

namespace coequal::term {
namespace {

constexpr int64_t kMaxExponent = 1100;  // of a power of two that is written out
constexpr int64_t kMaxFactorial = 171;  // beyond it gamma leaves the range of f64

Rational rounded(Kind kind, const Rational& x) {
  switch (kind) {
    case Kind::Floor:
      return x.floor();
    case Kind::Ceil:
      return -(-x).floor();
    case Kind::Trunc:
      return x.sign() >= 0 ? x.floor() : -(-x).floor();
    default:
      break;
  }
  // To nearest, ties to even.
  const Rational low = x.floor();
  const Rational rest = x - low;
  const Rational half(1, 2);
  if (rest < half) return low;
  if (rest > half) return low + Rational(1);
  return (low * half).is_integer() ? low : low + Rational(1);
}

std::optional<int64_t> exact_log2(const Rational& x) {
  if (x.sign() <= 0) return std::nullopt;
  const fmpz* n = fmpq_numref(x.get());
  const fmpz* d = fmpq_denref(x.get());
  const auto n_log = static_cast<int64_t>(fmpz_bits(n)) - 1;
  const auto d_log = static_cast<int64_t>(fmpz_bits(d)) - 1;
  if (static_cast<int64_t>(fmpz_val2(n)) != n_log || static_cast<int64_t>(fmpz_val2(d)) != d_log)
    return std::nullopt;
  return n_log - d_log;
}

// Whether a constant has few digits, so that it stands for itself alone.
bool is_short(const Rational& c) {
  constexpr slong kBits = 12;
  return fmpz_bits(fmpq_numref(c.get())) <= kBits && fmpz_bits(fmpq_denref(c.get())) <= kBits;
}
// Whether a factor may be merged with another one. Two rounded constants stay apart: each may stand
// for an exact value.
bool merges(const Rational& c, const Rational& d) {
  const auto power_of_two = [](const Rational& x) {
    return exact_log2(x.sign() < 0 ? -x : x).has_value();
  };
  return power_of_two(c) || power_of_two(d) || (is_short(c) && is_short(d)) || is_short(c * d);
}
// The same of summands: rounded ones fill their mantissas.
bool fills_mantissa(const Rational& c) {
  constexpr slong kBits = 18;
  return !c.is_integer() && fmpz_bits(fmpq_numref(c.get())) > kBits;
}
bool adds_up(const Rational& c, const Rational& d) {
  return (!fills_mantissa(c) && !fills_mantissa(d)) || (c + d).is_zero();
}

}  // namespace

using Folded = std::optional<Term>;

Folded TermStore::Folder::negation_of(const Term& x) const {
  if (s.kind(x) != Kind::Mul) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    const Rational* c = rational(s.child(x, i));
    if (c && *c == Rational(-1)) return s.child(x, 1 - i);
  }
  return std::nullopt;
}

// Whether a term is above 0 wherever it is defined and finite, where that is plain to see.
bool TermStore::Folder::is_positive(const Term& x, int depth) const {
  switch (s.kind(x)) {
    case Kind::RealConst:
      return rational(x)->sign() > 0;
    case Kind::Exp2:
      return total(x);
    case Kind::Symbol:
      return true;
    case Kind::Mul:
      return depth > 0 && is_positive(s.child(x, 0), depth - 1) &&
             is_positive(s.child(x, 1), depth - 1);
    case Kind::Add:
      for (int i = 0; i < 2; ++i)
        if (depth > 0 && is_positive(s.child(x, i), depth - 1) &&
            is_nonnegative(s.child(x, 1 - i), depth - 1))
          return true;
      return false;
    default:
      return false;
  }
}

// Whether a term is at least 0 wherever it is defined, where that is plain to see.
bool TermStore::Folder::is_nonnegative(const Term& x, int depth) const {
  switch (s.kind(x)) {
    case Kind::RealConst:
      return rational(x)->sign() >= 0;
    case Kind::Infinity:
      return !is_negative_infinity(x);
    case Kind::Abs:
    case Kind::Exp2:
    case Kind::Sqrt:
    case Kind::Symbol:
    case Kind::RealOfUnsigned:
      return true;
    case Kind::Mul:
      if (s.child(x, 0) == s.child(x, 1)) return true;
      [[fallthrough]];
    case Kind::Add:
      return depth > 0 && is_nonnegative(s.child(x, 0), depth - 1) &&
             is_nonnegative(s.child(x, 1), depth - 1);
    case Kind::Max:
      return depth > 0 &&
             (is_nonnegative(s.child(x, 0), depth - 1) || is_nonnegative(s.child(x, 1), depth - 1));
    default:
      return false;
  }
}

bool TermStore::Folder::is_integer_valued(const Term& t) const {
  // Clamped to integers.
  Term x = t;
  for (int level = 0; level < 2 && (s.kind(x) == Kind::Min || s.kind(x) == Kind::Max); ++level)
    for (int i = 0; i < 2; ++i)
      if (const Rational* c = rational(s.child(x, i)); c && c->is_integer()) {
        x = s.child(x, 1 - i);
        break;
      }
  switch (s.kind(x)) {
    case Kind::RealOfSigned:
    case Kind::RealOfUnsigned:
    case Kind::Floor:
    case Kind::Ceil:
    case Kind::Trunc:
    case Kind::RoundEven:
      return true;
    case Kind::Add:  // one level: an integer beside it
      for (int i = 0; i < 2; ++i)
        if (const Rational* c = rational(s.child(x, i)); c && c->is_integer())
          return s.kind(s.child(x, 1 - i)) != Kind::Add && is_integer_valued(s.child(x, 1 - i));
      return false;
    default:
      return false;
  }
}

// Whether a term that is never 0 nor undefined is negative, where that is plain to see.
std::optional<bool> TermStore::Folder::negative_sign(const Term& x) const {
  if (is_infinity(x)) return is_negative_infinity(x);
  if (!total(x)) return std::nullopt;
  switch (s.kind(x)) {
    case Kind::RealConst:
      return rational(x)->is_zero() ? std::nullopt : std::optional(rational(x)->sign() < 0);
    case Kind::Symbol:
    case Kind::Exp2:
      return false;
    case Kind::Mul: {
      // One level: factors of a product are constants, symbols and powers of two.
      bool negative = false;
      for (int i = 0; i < 2; ++i) {
        const Term factor = s.child(x, i);
        if (s.kind(factor) == Kind::Mul) return std::nullopt;
        const std::optional<bool> sign = negative_sign(factor);
        if (!sign) return std::nullopt;
        negative = negative != *sign;
      }
      return negative;
    }
    default:
      return std::nullopt;
  }
}

Folded TermStore::Folder::fold_real(Kind kind, std::span<const Term> args, uint64_t payload) {
  // Undefined is strict in arithmetic; poison beside it must stay visible.
  for (const Term& arg : args)
    if (is_undefined(arg)) {
      for (const Term& other : args)
        if (poison(other)) return std::nullopt;
      return s.undefined();
    }
  switch (kind) {
    case Kind::Add:
      return fold_add(args[0], args[1]);
    case Kind::Mul:
      return fold_mul(args[0], args[1]);
    case Kind::Div:
      return fold_div(args[0], args[1]);
    case Kind::Min:
    case Kind::Max:
      return fold_min_max(kind, args[0], args[1]);
    case Kind::CopySign:
      return fold_copy_sign(args[0], args[1]);
    case Kind::RealOfSigned:
    case Kind::RealOfUnsigned:
      return fold_real_of_word(kind, args[0]);
    case Kind::RealOfBits:
      return fold_real_of_bits(static_cast<FloatFormat>(payload), args[0]);
    default:
      return fold_unary(kind, args[0]);
  }
}

Folded TermStore::Folder::fold_add(const Term& a, const Term& b) {
  const Rational* p = rational(a);
  const Rational* q = rational(b);
  if (p && q) return s.real(*p + *q);
  for (int swap = 0; swap < 2; ++swap) {
    const Term& c = swap ? b : a;
    const Term& x = swap ? a : b;
    const Rational* r = rational(c);
    if (r && r->is_zero()) return x;  // also for infinite and undefined x
    if (r && s.kind(x) == Kind::Add)  // (d + y) + c: one finite constant
      for (int i = 0; i < 2; ++i)
        if (const Rational* d = rational(s.child(x, i)); d && adds_up(*r, *d))
          return s.make(Kind::Add, {s.real(*r + *d), s.child(x, 1 - i)});
    if (is_infinity(c)) {
      if (is_infinity(x)) return s.payload(c) == s.payload(x) ? c : s.undefined();
      if (total(x)) return c;  // a finite term cannot move an infinity
    }
    if (Folded y = negation_of(x); y && *y == c && total(c)) return s.real(0);  // finite: x - x
  }
  return std::nullopt;
}

Folded TermStore::Folder::fold_mul(const Term& a, const Term& b) {
  const Rational* p = rational(a);
  const Rational* q = rational(b);
  if (p && q) return s.real(*p * *q);
  if (const Folded x = negation_of(a), y = negation_of(b); x && y)
    return s.make(Kind::Mul, {*x, *y});
  for (int swap = 0; swap < 2; ++swap) {
    const Term& c = swap ? b : a;
    const Term& x = swap ? a : b;
    const Rational* r = rational(c);
    if (r && r->is_one()) return x;
    if (r && r->is_zero()) {
      if (is_infinity(x)) return s.undefined();
      if (total(x)) return c;  // 0 * x needs x finite and defined
      continue;
    }
    // c * (d * y), d and c not 0: the same poles and infinities.
    if (r && s.kind(x) == Kind::Mul)
      for (int i = 0; i < 2; ++i)
        if (const Rational* d = rational(s.child(x, i)); d && !d->is_zero() && merges(*r, *d))
          return s.make(Kind::Mul, {s.real(*r * *d), s.child(x, 1 - i)});
    if (is_infinity(c))
      if (std::optional<bool> negative = negative_sign(x))
        return s.infinity(is_negative_infinity(c) != *negative);
  }
  return std::nullopt;
}

Folded TermStore::Folder::fold_div(const Term& a, const Term& b) {
  if (const Rational* d = rational(b)) {
    if (!d->is_zero()) return s.make(Kind::Mul, {s.real(Rational(1) / *d), a});
    if (!poison(a)) return s.undefined();  // no value of the numerator defines it
    return std::nullopt;
  }
  if (is_infinity(b)) {
    if (total(a)) return s.real(0);
    if (is_infinity(a)) return s.undefined();
  }
  return std::nullopt;
}

Folded TermStore::Folder::fold_min_max(Kind kind, const Term& a, const Term& b) {
  if (a == b) return a;
  const bool is_max = kind == Kind::Max;
  const Rational* p = rational(a);
  const Rational* q = rational(b);
  if (p && q) return (*p < *q) == is_max ? b : a;
  for (int swap = 0; swap < 2; ++swap) {
    const Term& c = swap ? b : a;
    const Term& x = swap ? a : b;
    if (is_infinity(c)) {
      if (is_negative_infinity(c) == is_max) return x;  // the neutral element
      if (total(x) || is_infinity(x)) return c;
    }
    // min(c, min(d, y)) with constants: one constant.
    if (const Rational* r = rational(c); r && s.kind(x) == kind)
      for (int i = 0; i < 2; ++i)
        if (const Rational* d = rational(s.child(x, i)))
          return s.make(kind, {(*r < *d) == is_max ? s.child(x, i) : c, s.child(x, 1 - i)});
  }
  return std::nullopt;
}

Folded TermStore::Folder::fold_copy_sign(const Term& magnitude, const Term& sign) {
  if (const Rational* c = rational(sign)) {
    const Term size = s.make(Kind::Abs, {magnitude});
    return c->sign() < 0 ? negated(size) : size;
  }
  if (is_infinity(sign)) {
    const Term size = s.make(Kind::Abs, {magnitude});
    return is_negative_infinity(sign) ? negated(size) : size;
  }
  if (magnitude == sign) return magnitude;
  if (const Rational* c = rational(magnitude); c && c->is_zero() && total(sign)) return magnitude;
  if (total(sign) && is_nonnegative(sign)) return s.make(Kind::Abs, {magnitude});
  if (s.kind(magnitude) == Kind::Abs) return s.make(Kind::CopySign, {s.child(magnitude, 0), sign});
  if (Folded y = negation_of(magnitude)) return s.make(Kind::CopySign, {*y, sign});
  return std::nullopt;
}

Folded TermStore::Folder::fold_unary(Kind kind, const Term& x) {
  const Rational* c = rational(x);
  const bool infinite = is_infinity(x), negative = is_negative_infinity(x);
  switch (kind) {
    case Kind::Abs:
      if (c) return s.real(c->sign() < 0 ? -*c : *c);
      if (infinite) return s.infinity(false);
      if (is_nonnegative(x)) return x;
      if (Folded y = negation_of(x)) return s.make(Kind::Abs, {*y});
      return std::nullopt;
    case Kind::Sqrt:
      if (c && c->sign() < 0) return s.undefined();
      if (c)
        if (std::optional<Rational> root = c->exact_sqrt()) return s.real(*root);
      if (infinite) return negative ? s.undefined() : x;
      return std::nullopt;
    case Kind::Exp2:
      if (c)
        if (std::optional<int64_t> n = c->as_int64();
            n && *n >= -kMaxExponent && *n <= kMaxExponent)
          return s.real(Rational::power_of_two(*n));
      if (infinite) return negative ? s.real(0) : x;
      return std::nullopt;
    case Kind::Log2:
      if (c && c->sign() <= 0) return s.undefined();
      if (c)
        if (std::optional<int64_t> n = exact_log2(*c)) return s.real(*n);
      if (infinite) return negative ? s.undefined() : x;
      if (s.kind(x) == Kind::Exp2 && total(x)) return s.child(x, 0);  // the power is positive
      return std::nullopt;
    case Kind::Sin:
      if (c && c->is_zero()) return x;
      return infinite ? Folded(s.undefined()) : std::nullopt;
    case Kind::Cos:
      if (c && c->is_zero()) return s.real(1);
      return infinite ? Folded(s.undefined()) : std::nullopt;
    case Kind::Tanh:
    case Kind::Erf:
      if (c && c->is_zero()) return x;
      if (infinite) return s.real(negative ? -1 : 1);
      return std::nullopt;
    case Kind::Atan: {
      if (c && c->is_zero()) return x;
      if (infinite || (c && (c->is_one() || *c == Rational(-1))))
        return s.make(
            Kind::Mul,
            {s.real(Rational(negative || (c && c->sign() < 0) ? -1 : 1, infinite ? 2 : 4)),
             s.symbol(NamedConstant::Pi)});
      return std::nullopt;
    }
    case Kind::ErfInv:
      if (c && c->is_zero()) return x;
      if (infinite || (c && (*c >= Rational(1) || *c <= Rational(-1)))) return s.undefined();
      return std::nullopt;
    case Kind::Gamma:
    case Kind::LogGamma: {
      if (infinite) return negative ? s.undefined() : x;
      if (!c || !c->is_integer()) return std::nullopt;
      if (c->sign() <= 0) return s.undefined();
      if (kind == Kind::LogGamma) {
        if (*c <= Rational(2)) return s.real(0);
        return std::nullopt;
      }
      if (*c > Rational(kMaxFactorial)) return std::nullopt;
      Rational product(1);
      for (Rational k(2); k < *c; k = k + Rational(1)) product = product * k;
      return s.real(product);
    }
    case Kind::Floor:
    case Kind::Ceil:
    case Kind::Trunc:
    case Kind::RoundEven:
      if (c) return s.real(rounded(kind, *c));
      if (infinite || is_integer_valued(x)) return x;
      if (s.kind(x) == Kind::Add && kind != Kind::Trunc)
        for (int i = 0; i < 2; ++i) {
          // An integer moves out of a rounding; out of one with ties to even, an even one.
          const Rational* d = rational(s.child(x, i));
          if (!d || !d->is_integer()) continue;
          if (kind == Kind::RoundEven && !(*d * Rational(1, 2)).is_integer()) continue;
          return s.make(Kind::Add, {s.child(x, i), s.make(kind, {s.child(x, 1 - i)})});
        }
      return std::nullopt;
    default:
      CHECK(false);
  }
  return std::nullopt;
}

Folded TermStore::Folder::fold_real_of_word(Kind kind, const Term& x) {
  const int width = s.type(x).width;
  if (std::optional<uint64_t> bits = s.as_bits(x)) {
    if (kind == Kind::RealOfSigned) return s.real(sign_extended(*bits, width));
    return s.real(Rational::from_u64(*bits));
  }
  switch (s.kind(x)) {
    case Kind::BvZeroExtend:
      return s.make(Kind::RealOfUnsigned, {s.child(x, 0)});  // top bit is 0
    case Kind::BvSignExtend:
      if (kind == Kind::RealOfSigned) return s.make(kind, {s.child(x, 0)});
      break;
    case Kind::BvOfBool:
      return s.make(Kind::Select,
                    {s.child(x, 0), s.real(kind == Kind::RealOfSigned ? -1 : 1), s.real(0)});
    case Kind::Select: {  // of constants: the condition alone matters
      const Term a = s.child(x, 1), b = s.child(x, 2);
      if (s.as_bits(a) || s.as_bits(b))
        return s.make(Kind::Select, {s.child(x, 0), s.make(kind, {a}), s.make(kind, {b})});
      break;
    }
    default:
      break;
  }
  return std::nullopt;
}

// The number that is left when the low bits of a word are dropped: the word is an f32, perhaps with
// half of the last bit that is kept added for rounding, less a little where ties go to even.
Folded TermStore::Folder::narrowed_by(int dropped, const Term& word) {
  if (s.type(word).width != 32) return std::nullopt;
  uint64_t added = 0;
  std::vector<Term> summands, rest{word};
  while (!rest.empty()) {
    const Term t = rest.back();
    rest.pop_back();
    if (const std::optional<uint64_t> c = s.as_bits(t))
      added += *c;
    else if (s.kind(t) == Kind::BvAdd && summands.size() + rest.size() < 2)
      rest.insert(rest.end(), {s.child(t, 0), s.child(t, 1)});
    else
      summands.push_back(t);
  }
  if (summands.size() == 2 && s.kind(summands[1]) == Kind::BitsOfReal)
    std::swap(summands[0], summands[1]);
  if (summands.empty() || s.kind(summands[0]) != Kind::BitsOfReal) return std::nullopt;
  const auto format = static_cast<FloatFormat>(s.payload(summands[0]));
  if (format != FloatFormat::F32 && format != FloatFormat::TF32) return std::nullopt;
  const uint64_t half = uint64_t{1} << (dropped - 1);
  bool narrows = false;
  if (summands.size() == 1) {
    narrows = added == 0 || added == half;
  } else if (summands.size() == 2 && added == half - 1) {
    const Term last = s.make(Kind::BvExtract, {summands[0]}, static_cast<uint64_t>(dropped), 1);
    narrows = summands[1] == s.make(Kind::BvZeroExtend, {last}, 0, 32);
  }
  return narrows ? Folded(s.child(summands[0], 0)) : std::nullopt;
}

Folded TermStore::Folder::fold_real_of_bits(FloatFormat format, const Term& bits) {
  const FloatLayout& layout = layout_of(format);
  if (std::optional<uint64_t> pattern = s.as_bits(bits)) {
    const DecodedFloat value = decode_float(format, *pattern);
    switch (value.cls) {
      case DecodedFloat::Class::NaN:
        return s.undefined();
      case DecodedFloat::Class::Infinite:
        return s.infinity(value.negative);
      case DecodedFloat::Class::Finite:
        return s.real(value.value);
    }
  }
  auto format_of = [&](const Term& t) { return static_cast<FloatFormat>(s.payload(t)); };
  auto reads_as = [&](FloatFormat source) {  // f32 and tf32 share one encoding
    auto same = [](FloatFormat f) { return f == FloatFormat::TF32 ? FloatFormat::F32 : f; };
    return same(source) == same(format);
  };
  if (s.kind(bits) == Kind::BitsOfReal && reads_as(format_of(bits))) return s.child(bits, 0);
  if (s.kind(bits) == Kind::Select) {
    const Term a = s.child(bits, 1), b = s.child(bits, 2);
    auto simple = [&](const Term& t) {
      return s.as_bits(t) || s.kind(t) == Kind::BitsOfReal || s.kind(t) == Kind::Select;
    };
    if (simple(a) || simple(b))  // a masked load of encoded values
      return s.make(Kind::Select,
                    {s.child(bits, 0), s.make(Kind::RealOfBits, {a}, static_cast<uint64_t>(format)),
                     s.make(Kind::RealOfBits, {b}, static_cast<uint64_t>(format))});
    return std::nullopt;
  }
  const Fields fields = fields_of(bits);
  const bool is_f32 = format == FloatFormat::F32 || format == FloatFormat::TF32;
  // A bf16 is the upper half of an f32: widening by a shift, and narrowing by taking the upper half
  // (toward zero, or rounded).
  if (is_f32 && fields.size() == 2 && fields[0].is_constant(0) && fields[0].width == 16 &&
      !fields[1].is_constant() && fields[1].low == 0 &&
      s.kind(fields[1].base) == Kind::BitsOfReal && format_of(fields[1].base) == FloatFormat::BF16)
    return s.child(fields[1].base, 0);
  if (format == FloatFormat::BF16 && fields.size() == 1 && !fields[0].is_constant() &&
      fields[0].low == 16)
    if (Folded value = narrowed_by(16, fields[0].base)) return value;
  // Clearing the low bits of an f32 down to a tf32 or bf16: narrowing as well.
  if (is_f32 && fields.size() == 2 && fields[0].is_constant(0) &&
      (fields[0].width == 13 || fields[0].width == 16) && !fields[1].is_constant() &&
      fields[1].low == fields[0].width)
    if (Folded value = narrowed_by(fields[0].width, fields[1].base)) return value;
  // The sign of one value over the magnitude of another.
  if (fields.size() == 2 && !fields[0].is_constant() && !fields[1].is_constant() &&
      fields[1].width == 1 && fields[0].low == 0 && fields[0].width == layout.bits - 1 &&
      s.kind(fields[0].base) == Kind::BitsOfReal && reads_as(format_of(fields[0].base)) &&
      s.kind(fields[1].base) == Kind::BitsOfReal &&
      fields[1].low == layout_of(format_of(fields[1].base)).bits - 1)
    return s.make(Kind::CopySign, {s.child(fields[0].base, 0), s.child(fields[1].base, 0)});
  // The sign of a value over a constant: of a zero, say.
  if (layout.padding == 0 && fields.size() == 2 && fields[0].is_constant() &&
      fields[0].width == layout.bits - 1 && !fields[1].is_constant() && fields[1].width == 1 &&
      s.kind(fields[1].base) == Kind::BitsOfReal &&
      fields[1].low == layout_of(format_of(fields[1].base)).bits - 1)
    if (const DecodedFloat d = decode_float(format, fields[0].value);
        d.cls == DecodedFloat::Class::Finite)
      return s.make(Kind::CopySign, {s.real(d.value), s.child(fields[1].base, 0)});
  // A constant sign and exponent make the value linear in the mantissa (the magic-number conversion
  // of packed integers).
  const Fields head =
      slice(fields, layout.bits - 1 - layout.exponent_bits, layout.exponent_bits + 1);
  if (layout.padding == 0 && head.size() == 1 && head[0].is_constant()) {
    const uint64_t exponent_mask = low_mask(layout.exponent_bits);
    const uint64_t exponent = head[0].value & exponent_mask;
    if (exponent != exponent_mask) {
      const bool negative = head[0].value >> layout.exponent_bits;
      const Rational unit = Rational::power_of_two((exponent ? static_cast<int64_t>(exponent) : 1) -
                                                   layout.bias() - layout.mantissa_bits);
      const Rational base =
          exponent ? unit * Rational::power_of_two(layout.mantissa_bits) : Rational(0);
      const Term mantissa = from_fields(slice(fields, 0, layout.mantissa_bits));
      const Term value = s.make(
          Kind::Add, {s.real(base),
                      s.make(Kind::Mul, {s.real(unit), s.make(Kind::RealOfUnsigned, {mantissa})})});
      return negative ? negated(value) : value;
    }
  }
  return std::nullopt;
}

}  // namespace coequal::term
