// Residues and intervals, operator by operator.
#include "term/modular.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "term/float_format.h"
#include "term/hash.h"
#include "term/words.h"

namespace coequal::term {
namespace {

using K = ModularValue::Kind;

constexpr ModularField field(uint64_t p) { return {p, (p - 1) / 2}; }
constexpr ModularField kFields[kModularFields] = {
    field(0x1ffffffffffff3af), field(0x1fbfffffffffafaf), field(0x1f7fffffffff8fdf),
    field(0x1f3fffffffff5f8f), field(0x1effffffffff2fcf), field(0x1ebfffffffff120f),
    field(0x1e7ffffffffef53f), field(0x1e3ffffffffee79f)};

// ---- Residues ----

uint64_t add(uint64_t a, uint64_t b, uint64_t m) {
  const uint64_t sum = a + b;  // below 2^62
  return sum >= m ? sum - m : sum;
}
uint64_t negate(uint64_t a, uint64_t m) { return a ? m - a : 0; }
uint64_t mul(uint64_t a, uint64_t b, uint64_t m) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % m);
}
uint64_t power(uint64_t base, uint64_t exponent, uint64_t m) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base = mul(base, base, m))
    if (exponent & 1) result = mul(result, base, m);
  return result;
}
// By Euclid; 0 for 0.
uint64_t inverse(uint64_t a, uint64_t m) {
  int64_t x = 0, y = 1;
  uint64_t r = m, s = a;
  while (s) {
    const uint64_t quotient = r / s;
    std::tie(r, s) = std::pair(s, r - quotient * s);
    std::tie(x, y) = std::pair(y, x - static_cast<int64_t>(quotient) * y);
  }
  if (r != 1) return 0;
  return x < 0 ? m - static_cast<uint64_t>(-x) : static_cast<uint64_t>(x);
}
// A square root of squares; multiplicative on everything (the primes are 3 modulo 4).
uint64_t root(uint64_t a, uint64_t m) { return power(a, (m + 1) / 4, m); }

uint64_t residue(const Rational& value, uint64_t m) {
  const uint64_t n = fmpz_fdiv_ui(fmpq_numref(value.get()), m);
  if (value.is_integer()) return n;
  return mul(n, inverse(fmpz_fdiv_ui(fmpq_denref(value.get()), m), m), m);
}

// ---- Intervals ----

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargest = std::numeric_limits<double>::max();

double below(double x) {
  if (x == kInfinity) return kLargest;
  return x == -kInfinity ? x : x - (std::fabs(x) * 0x1p-52 + 0x1p-1074);
}
double above(double x) { return -below(-x); }

// Sum, product and quotient with the direction of the rounding error, so that exact results stay
// exact.
struct Rounded {
  double value;
  double error;  // its sign is that of (exact - value)
};
double lower(Rounded r) { return r.error < 0 || std::isnan(r.error) ? below(r.value) : r.value; }
double upper(Rounded r) { return r.error > 0 || std::isnan(r.error) ? above(r.value) : r.value; }

Rounded sum(double a, double b) {
  const double s = a + b, part = s - a;
  return {s, (a - (s - part)) + (b - part)};
}
Rounded product(double a, double b) {
  const double r = a * b;
  if (r == 0 ? a != 0 && b != 0 : std::fabs(r) < 0x1p-900) return {r, std::nan("")};
  return {r, std::fma(a, b, -r)};
}
Rounded quotient(double a, double b) {
  const double r = a / b;
  if (a != 0 && (std::fabs(r) < 0x1p-900 || std::fabs(a) < 0x1p-900)) return {r, std::nan("")};
  const double rest = std::fma(-r, b, a);
  return {r, b < 0 ? -rest : rest};
}

Interval everything() { return {-kInfinity, kInfinity}; }
Interval sane(Interval x) { return std::isnan(x.low) || std::isnan(x.high) ? everything() : x; }
bool is_point(const Interval& x) { return x.low == x.high && std::isfinite(x.low); }

Interval operator+(const Interval& x, const Interval& y) {
  return sane({lower(sum(x.low, y.low)), upper(sum(x.high, y.high))});
}
template <class F>
Interval corners(const Interval& x, const Interval& y, F f) {
  const Rounded r[] = {f(x.low, y.low), f(x.low, y.high), f(x.high, y.low), f(x.high, y.high)};
  Interval result{kInfinity, -kInfinity};
  for (const Rounded& corner : r) {
    if (std::isnan(corner.value)) return everything();
    result.low = std::min(result.low, lower(corner));
    result.high = std::max(result.high, upper(corner));
  }
  return result;
}
Interval operator*(const Interval& x, const Interval& y) { return corners(x, y, product); }

// The library's functions are off by a few units in the last place at most.
double wide_below(double x) {
  for (int i = 0; i < 4; ++i) x = below(x);
  return x;
}
double wide_above(double x) { return -wide_below(-x); }

template <class F>
Interval ascending(const Interval& x, F f) {
  return sane({wide_below(f(x.low)), wide_above(f(x.high))});
}
// A function whose slope is at most 1 and whose values lie in [-1, 1].
template <class F>
Interval bounded(const Interval& x, F f) {
  const double width = above(x.high - x.low);
  if (!(width < 1)) return {-1, 1};
  const double y = f(x.low);
  return {std::max(-1.0, wide_below(y - width)), std::min(1.0, wide_above(y + width))};
}

Interval enclose(const Rational& value) {
  const double d = value.to_double();
  if (std::isinf(d)) return d > 0 ? Interval{kLargest, d} : Interval{d, -kLargest};
  const Rational back = Rational::from_double(d);
  return {back <= value ? d : below(d), back >= value ? d : above(d)};
}

// ---- Values ----

ModularValue of_kind(K kind) {
  ModularValue v;
  v.kind = kind;
  return v;
}
ModularValue of_word(K kind, uint64_t bits) {
  ModularValue v = of_kind(kind);
  v.bits = bits;
  return v;
}
ModularValue of_real(uint64_t p, uint64_t q, Interval real) {
  ModularValue v = of_kind(K::Real);
  v.p = p;
  v.q = q;
  v.real = real;
  return v;
}
bool is_infinite(const ModularValue& v) {
  return v.kind == K::PlusInfinity || v.kind == K::MinusInfinity;
}
ModularValue infinite(int sign) { return of_kind(sign < 0 ? K::MinusInfinity : K::PlusInfinity); }

bool is_zero_image(const ModularValue& v) { return v.kind == K::Real && v.p == 0 && v.q == 0; }

std::optional<int> sign_of(const ModularValue& v) {
  if (v.kind == K::PlusInfinity) return 1;
  if (v.kind == K::MinusInfinity) return -1;
  if (v.real.low > 0) return 1;
  if (v.real.high < 0) return -1;
  if (is_zero_image(v)) return 0;
  // Not 0, since its image is not: an interval that only touches 0 decides (2^x for large negative
  // x).
  if (v.real.low == 0) return 1;
  if (v.real.high == 0) return -1;
  return std::nullopt;
}

double round_even(double x) {
  const double low = std::floor(x), rest = x - low;
  if (rest != 0.5) return rest < 0.5 ? low : low + 1;
  return std::fmod(low, 2) == 0 ? low : low + 1;
}

}  // namespace

const ModularField& modular_field(int index) {
  CHECK(index >= 0 && index < kModularFields);
  return kFields[index];
}

std::optional<bool> same_image(const ModularValue& a, const ModularValue& b) {
  if (!a.is_defined() || !b.is_defined()) return std::nullopt;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case K::Real:
      return a.p == b.p;
    case K::Bool:
    case K::Bits:
      return a.bits == b.bits;
    default:
      return true;
  }
}

ModularDomain::ModularDomain(const TermStore& store, const Assignment& assignment, int field_index,
                             uint64_t seed)
    : store_(store), assignment_(assignment), field_(modular_field(field_index)), seed_(seed) {}

int ModularDomain::choose(const Value& condition) const {
  if (condition.kind != K::Bool) return 0;
  return condition.bits ? 1 : 2;
}

uint64_t ModularDomain::keyed(uint64_t what, uint64_t key, uint64_t modulus) const {
  return mix(mix(mix(seed_, what), key), modulus) % modulus;
}

uint64_t ModularDomain::odd_keyed(uint64_t what, uint64_t x, uint64_t modulus) const {
  const uint64_t other = negate(x, modulus);
  if (x == other) return 0;
  const uint64_t y = keyed(what, std::min(x, other), modulus);
  return x < other ? y : negate(y, modulus);
}

ModularDomain::Value ModularDomain::of_rational(const Rational& value) const {
  return of_real(residue(value, field_.p), residue(value, field_.q), enclose(value));
}

ModularDomain::Value ModularDomain::of_symbol(NamedConstant constant) const {
  auto image = [&](uint64_t m) {
    // Random images of log2(e), log2(10) and, as a square so that it is the root of its own square,
    // sqrt(pi).
    const uint64_t log2e = keyed(1, 0, m) | 1, log2_10 = keyed(2, 0, m) | 1;
    const uint64_t r = keyed(3, 0, m) | 1, sqrt_pi = mul(r, r, m), sqrt2 = root(2, m);
    const uint64_t pi = mul(sqrt_pi, sqrt_pi, m);
    switch (constant) {
      case NamedConstant::Log2E:
        return log2e;
      case NamedConstant::Ln2:
        return inverse(log2e, m);
      case NamedConstant::Log10_2:
        return inverse(log2_10, m);
      case NamedConstant::Log2_10:
        return log2_10;
      case NamedConstant::InvLn10:
        return mul(log2e, inverse(log2_10, m), m);
      case NamedConstant::Pi:
        return pi;
      case NamedConstant::InvPi:
        return inverse(pi, m);
      case NamedConstant::TwoOverPi:
        return mul(2, inverse(pi, m), m);
      case NamedConstant::HalfPi:
        return mul(pi, inverse(2, m), m);
      case NamedConstant::InvSqrt2:
        return inverse(sqrt2, m);
      case NamedConstant::Sqrt2:
        return sqrt2;
      case NamedConstant::SqrtTwoOverPi:
        return mul(sqrt2, inverse(sqrt_pi, m), m);
      case NamedConstant::InvSqrtPi:
        return inverse(sqrt_pi, m);
      case NamedConstant::TwoOverSqrtPi:
        return mul(2, inverse(sqrt_pi, m), m);
      case NamedConstant::InvSqrtTwoPi:
        return inverse(mul(sqrt2, sqrt_pi, m), m);
    }
    return uint64_t{0};
  };
  auto value = [&]() -> double {
    constexpr double kPi = 3.14159265358979323846, kLn2 = 0.69314718055994530942,
                     kLn10 = 2.30258509299404568402;
    switch (constant) {
      case NamedConstant::Log2E:
        return 1 / kLn2;
      case NamedConstant::Ln2:
        return kLn2;
      case NamedConstant::Log10_2:
        return kLn2 / kLn10;
      case NamedConstant::Log2_10:
        return kLn10 / kLn2;
      case NamedConstant::InvLn10:
        return 1 / kLn10;
      case NamedConstant::Pi:
        return kPi;
      case NamedConstant::InvPi:
        return 1 / kPi;
      case NamedConstant::TwoOverPi:
        return 2 / kPi;
      case NamedConstant::HalfPi:
        return kPi / 2;
      case NamedConstant::InvSqrt2:
        return std::sqrt(0.5);
      case NamedConstant::Sqrt2:
        return std::sqrt(2.0);
      case NamedConstant::SqrtTwoOverPi:
        return std::sqrt(2 / kPi);
      case NamedConstant::InvSqrtPi:
        return 1 / std::sqrt(kPi);
      case NamedConstant::TwoOverSqrtPi:
        return 2 / std::sqrt(kPi);
      case NamedConstant::InvSqrtTwoPi:
        return 1 / std::sqrt(2 * kPi);
    }
    return 0;
  };
  const double d = value();
  return of_real(image(field_.p), image(field_.q), {wide_below(d), wide_above(d)});
}

ModularDomain::Value ModularDomain::apply(const Term& t,
                                          const std::array<const Value*, 3>& args) const {
  const Kind kind = store_.kind(t);
  const uint64_t payload = store_.payload(t);
  const Type type = store_.type(t);
  switch (kind) {
    case Kind::RealConst:
      return of_rational(store_.rational(t));
    case Kind::Infinity:
      return infinite(payload ? -1 : 1);
    case Kind::Undefined:
      return of_kind(K::Undefined);
    case Kind::Symbol:
      return of_symbol(static_cast<NamedConstant>(payload));
    case Kind::BoolConst:
      return of_word(K::Bool, payload);
    case Kind::BvConst:
      return of_word(K::Bits, payload);
    case Kind::Leaf:
    case Kind::Poison:
    case Kind::Scalar: {
      const std::optional<Rational> value = variable_value(store_, t, assignment_);
      if (!value) return of_kind(K::Poison);
      if (type.cls == TypeClass::Real) return of_rational(*value);
      return of_word(K::Bits, wrapped_bits(*value, type.width));
    }
    case Kind::Select: {  // the condition is not known to be true or false
      const Value& condition = *args[0];
      if (condition.kind == K::Poison || condition.kind == K::Undefined) return condition;
      return of_kind(K::Unknown);
    }
    default:
      break;
  }
  const int arity = store_.arity(t);
  bool any_undefined = false, any_unknown = false;
  for (int i = 0; i < arity; ++i) {
    const K k = args[static_cast<size_t>(i)]->kind;
    if (k == K::Poison) return of_kind(K::Poison);
    any_undefined = any_undefined || k == K::Undefined;
    any_unknown = any_unknown || k == K::Unknown;
  }
  const Value& x = *args[0];
  if (kind == Kind::And || kind == Kind::Or) {
    const uint64_t absorbing = kind == Kind::Or;
    for (int i = 0; i < 2; ++i)
      if (args[static_cast<size_t>(i)]->kind == K::Bool &&
          args[static_cast<size_t>(i)]->bits == absorbing)
        return of_word(K::Bool, absorbing);
    if (any_unknown) return of_kind(K::Unknown);
    return any_undefined ? of_kind(K::Undefined) : of_word(K::Bool, !absorbing);
  }
  if (kind == Kind::IsNumber) {
    if (any_unknown) return of_kind(K::Unknown);
    return of_word(K::Bool, !any_undefined);
  }
  if (any_undefined) return of_kind(K::Undefined);
  if (any_unknown) return of_kind(K::Unknown);
  switch (kind) {
    case Kind::Not:
      return of_word(K::Bool, !x.bits);
    case Kind::BvOfBool:
      return of_word(K::Bits, x.bits);
    case Kind::Less:
    case Kind::LessEq:
    case Kind::Equal:
      return compare(kind, x, *args[1]);
    case Kind::RealOfSigned:
    case Kind::RealOfUnsigned: {
      const int width = store_.type(store_.child(t, 0)).width;
      const bool below_zero = kind == Kind::RealOfSigned && (x.bits >> (width - 1) & 1);
      const Rational value = Rational::from_u64(x.bits);
      return of_rational(below_zero ? value - Rational::power_of_two(width) : value);
    }
    case Kind::RealOfBits: {
      const DecodedFloat d = decode_float(static_cast<FloatFormat>(payload), x.bits);
      if (d.cls == DecodedFloat::Class::NaN) return of_kind(K::Undefined);
      if (d.cls == DecodedFloat::Class::Infinite) return infinite(d.negative ? -1 : 1);
      return of_rational(d.value);
    }
    case Kind::BitsOfReal: {
      const FloatFormat format = static_cast<FloatFormat>(payload);
      std::optional<uint64_t> bits;
      if (is_infinite(x))
        bits = encode_infinity(format, x.kind == K::MinusInfinity);
      else if (is_point(x.real))
        bits = encode_float(format, Rational::from_double(x.real.low));
      return bits ? of_word(K::Bits, *bits) : of_kind(K::Unknown);
    }
    case Kind::BvOfReal: {
      const bool is_signed = payload == 1;
      if (is_infinite(x)) {
        const WordRange range = word_range(type.width, is_signed);
        return of_word(
            K::Bits, wrapped_bits(x.kind == K::MinusInfinity ? range.low : range.high, type.width));
      }
      const double integer = std::ceil(x.real.low);
      if (integer != std::floor(x.real.high) || !std::isfinite(integer)) return of_kind(K::Unknown);
      return of_word(K::Bits, clamped_bits(Rational::from_double(integer), type.width, is_signed));
    }
    default:
      break;
  }
  if (type.cls == TypeClass::Real) return arity == 1 ? unary(kind, x) : binary(kind, x, *args[1]);

  std::array<Word, 2> words;
  for (int i = 0; i < arity; ++i)
    words[static_cast<size_t>(i)] = {args[static_cast<size_t>(i)]->bits,
                                     store_.type(store_.child(t, i)).width};
  const std::optional<uint64_t> bits = apply_word(kind, words, payload, type.width);
  if (!bits) return of_kind(K::Undefined);
  return of_word(type.cls == TypeClass::Bool ? K::Bool : K::Bits, *bits);
}

ModularDomain::Value ModularDomain::compare(Kind kind, const Value& x, const Value& y) const {
  auto rank = [](const Value& v) {
    return v.kind == K::PlusInfinity ? 1 : v.kind == K::MinusInfinity ? -1 : 0;
  };
  int order = 0;
  if (is_infinite(x) || is_infinite(y)) {
    order = rank(x) - rank(y);
  } else if (x.p != y.p || x.q != y.q || x.real.high < y.real.low || x.real.low > y.real.high) {
    // The images differ, so the values do; which is larger may be too close to tell.
    if (x.real.high <= y.real.low)
      order = -1;
    else if (x.real.low >= y.real.high)
      order = 1;
    else
      return kind == Kind::Equal ? of_word(K::Bool, 0) : of_kind(K::Unknown);
  }
  return of_word(K::Bool, kind == Kind::Less     ? order < 0
                          : kind == Kind::LessEq ? order <= 0
                                                 : order == 0);
}

ModularDomain::Value ModularDomain::negated(const Value& x) const {
  if (is_infinite(x)) return infinite(x.kind == K::PlusInfinity ? -1 : 1);
  return of_real(negate(x.p, field_.p), negate(x.q, field_.q), {-x.real.high, -x.real.low});
}

ModularDomain::Value ModularDomain::binary(Kind kind, const Value& x, const Value& y) const {
  const auto [p, q] = field_;
  const bool infinite_x = is_infinite(x), infinite_y = is_infinite(y);
  switch (kind) {
    case Kind::Add:
      if (infinite_x || infinite_y) {
        if (infinite_x && infinite_y && x.kind != y.kind) return of_kind(K::Undefined);
        return infinite_x ? x : y;
      }
      return of_real(add(x.p, y.p, p), add(x.q, y.q, q), x.real + y.real);
    case Kind::Mul: {
      if (!infinite_x && !infinite_y)
        return of_real(mul(x.p, y.p, p), mul(x.q, y.q, q), x.real * y.real);
      const std::optional<int> s = sign_of(x), t = sign_of(y);
      if (s == 0 || t == 0) return of_kind(K::Undefined);
      if (!s || !t) return of_kind(K::Unknown);
      return infinite(*s * *t);
    }
    case Kind::Div: {
      const std::optional<int> s = sign_of(x), t = sign_of(y);
      if (t == 0) return of_kind(K::Undefined);
      if (infinite_y) return infinite_x ? of_kind(K::Undefined) : of_rational(0);
      if (infinite_x) return t ? infinite(*s * *t) : of_kind(K::Unknown);
      if (y.p == 0 || y.q == 0) return of_kind(K::Unknown);  // no image of the quotient
      const Interval real =
          y.real.low <= 0 && y.real.high >= 0 ? everything() : corners(x.real, y.real, quotient);
      return of_real(mul(x.p, inverse(y.p, p), p), mul(x.q, inverse(y.q, q), q), real);
    }
    case Kind::Min:
    case Kind::Max: {
      const Value less = compare(Kind::LessEq, x, y);
      if (less.kind != K::Bool) return of_kind(K::Unknown);
      return (less.bits != 0) == (kind == Kind::Min) ? x : y;
    }
    case Kind::CopySign: {
      const std::optional<int> s = sign_of(x), t = sign_of(y);
      if (!s || !t) return of_kind(K::Unknown);
      return (*s < 0) == (*t < 0) || *s == 0 ? x : negated(x);
    }
    default:
      CHECK(false);
  }
  return of_kind(K::Unknown);
}

ModularDomain::Value ModularDomain::power_of_two(const Value& x) const {
  const Interval real = ascending(x.real, [](double v) { return std::exp2(v); });
  const uint64_t image = power(2, x.q, field_.p);
  Value result = of_real(image, keyed(4, image, field_.q), {std::max(real.low, 0.0), real.high});
  if (is_point(x.real) && std::fabs(x.real.low) <= 1000 && x.real.low == std::floor(x.real.low))
    result = of_rational(Rational::power_of_two(static_cast<int64_t>(x.real.low)));
  return result;
}

ModularDomain::Value ModularDomain::unary(Kind kind, const Value& x) const {
  const auto [p, q] = field_;
  const bool infinity = is_infinite(x);
  const std::optional<int> sign = sign_of(x);
  const uint64_t what = 16 + static_cast<uint64_t>(kind);
  switch (kind) {
    case Kind::Abs:
      if (!sign) return of_kind(K::Unknown);
      return *sign < 0 ? negated(x) : x;
    case Kind::Sqrt: {
      if (!sign) return of_kind(K::Unknown);
      if (*sign < 0) return of_kind(K::Undefined);
      if (infinity) return x;
      if (*sign == 0) return of_rational(0);
      return of_real(root(x.p, p), root(x.q, q),
                     ascending(x.real, [](double v) { return std::sqrt(v); }));
    }
    case Kind::Exp2:
      if (infinity) return x.kind == K::MinusInfinity ? of_rational(0) : x;
      return power_of_two(x);
    case Kind::Log2:
      if (!sign) return of_kind(K::Unknown);
      if (*sign <= 0) return of_kind(K::Undefined);
      if (infinity) return x;
      return of_real(keyed(what, x.p, p), keyed(what, x.p, q),
                     ascending(x.real, [](double v) { return std::log2(v); }));
    case Kind::Tanh: {
      if (infinity) return of_rational(*sign);
      // (e - 1) / (e + 1) with e = exp(2x); e + 1 is not 0, since -1 is no square.
      const Value log2e = of_symbol(NamedConstant::Log2E);
      const Value e = power_of_two(binary(Kind::Mul, x, binary(Kind::Mul, of_rational(2), log2e)));
      const Value image = binary(Kind::Div, binary(Kind::Add, e, of_rational(-1)),
                                 binary(Kind::Add, e, of_rational(1)));
      return of_real(image.p, image.q, bounded(x.real, [](double v) { return std::tanh(v); }));
    }
    case Kind::Sin:
    case Kind::Cos: {
      if (infinity) return of_kind(K::Undefined);
      // A point of the unit circle by its rational parameter, odd in x; 1 + t^2 is not 0.
      auto image = [&](uint64_t v, uint64_t m) {
        const uint64_t t = odd_keyed(5, v, m), square = mul(t, t, m),
                       scale = inverse(add(1, square, m), m);
        return mul(kind == Kind::Sin ? add(t, t, m) : add(1, negate(square, m), m), scale, m);
      };
      return of_real(image(x.p, p), image(x.q, q), bounded(x.real, [&](double v) {
                       return kind == Kind::Sin ? std::sin(v) : std::cos(v);
                     }));
    }
    case Kind::Erf: {
      if (infinity) return of_rational(*sign);
      Interval real = ascending(x.real, [](double v) { return std::erf(v); });
      return of_real(odd_keyed(what, x.p, p), odd_keyed(what, x.q, q),
                     {std::max(real.low, -1.0), std::min(real.high, 1.0)});
    }
    case Kind::Atan: {
      if (infinity)
        return binary(Kind::Mul, of_rational(Rational(*sign, 2)), of_symbol(NamedConstant::Pi));
      return of_real(odd_keyed(what, x.p, p), odd_keyed(what, x.q, q),
                     ascending(x.real, [](double v) { return std::atan(v); }));
    }
    case Kind::ErfInv: {
      if (infinity || x.real.low >= 1 || x.real.high <= -1) return of_kind(K::Undefined);
      if (x.real.low <= -1 || x.real.high >= 1) return of_kind(K::Unknown);
      // It has the sign of its argument and at least sqrt(pi)/2 times its size.
      const Interval real{x.real.low < 0 ? -kInfinity : below(x.real.low * 0.88),
                          x.real.high > 0 ? kInfinity : above(x.real.high * 0.88)};
      return of_real(odd_keyed(what, x.p, p), odd_keyed(what, x.q, q), real);
    }
    case Kind::Gamma:
    case Kind::LogGamma: {
      if (infinity) return *sign < 0 ? of_kind(K::Undefined) : x;
      if (!(x.real.low > 0)) return of_kind(K::Unknown);  // may be a pole
      if (is_point(x.real) && (x.real.low == 1 || (x.real.low == 2)))
        return of_rational(kind == Kind::Gamma ? 1 : 0);
      const Interval real =
          kind == Kind::Gamma ? Interval{0.88, kInfinity} : Interval{-0.13, kInfinity};
      return of_real(keyed(what, x.p, p), keyed(what, x.q, q), real);
    }
    case Kind::Floor:
    case Kind::Ceil:
    case Kind::Trunc:
    case Kind::RoundEven: {
      if (infinity) return x;
      auto rounded = [&](double v) {
        switch (kind) {
          case Kind::Floor:
            return std::floor(v);
          case Kind::Ceil:
            return std::ceil(v);
          case Kind::Trunc:
            return std::trunc(v);
          default:
            return round_even(v);
        }
      };
      const double low = rounded(x.real.low), high = rounded(x.real.high);
      if (low != high || !std::isfinite(low)) return of_kind(K::Unknown);
      return of_rational(Rational::from_double(low));
    }
    default:
      CHECK(false);
  }
  return of_kind(K::Unknown);
}

}  // namespace coequal::term
