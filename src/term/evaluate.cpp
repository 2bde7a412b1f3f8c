// Exact and ball evaluation: one domain, so that both give the operators the same meaning.
#include "term/evaluate.h"

#include <arb_hypgeom.h>

#include <cmath>
#include <limits>

#include "base/float_bits.h"
#include "term/float_format.h"
#include "term/words.h"

namespace coequal::term {
namespace {

using K = Value::Kind;

// Beyond these sizes exact values give way to balls (or to "unknown" without a precision).
constexpr int64_t kMaxExactExponent = 4096;
constexpr size_t kMaxExactBitsBeforeBall = 2048;
constexpr size_t kMaxExactBits = size_t{1} << 22;

Value of_kind(K kind) {
  Value v;
  v.kind = kind;
  return v;
}
Value of_bool(bool truth) {
  Value v;
  v.kind = K::Bool;
  v.bits = truth;
  return v;
}
Value of_bits(uint64_t bits) {
  Value v;
  v.kind = K::Bits;
  v.bits = bits;
  return v;
}
bool is_infinite(const Value& v) { return v.kind == K::PlusInfinity || v.kind == K::MinusInfinity; }
Value infinite(int sign) { return of_kind(sign < 0 ? K::MinusInfinity : K::PlusInfinity); }

size_t size_of(const Rational& r) {
  return fmpz_bits(fmpq_numref(r.get())) + fmpz_bits(fmpq_denref(r.get()));
}

Rational round_rational(Kind kind, const Rational& x) {
  switch (kind) {
    case Kind::Floor:
      return x.floor();
    case Kind::Ceil:
      return -(-x).floor();
    case Kind::Trunc:
      return x.sign() < 0 ? -(-x).floor() : x.floor();
    default: {
      const Rational up = (x + Rational(1, 2)).floor();
      const bool tie = up - x == Rational(1, 2);
      const bool odd = !(up / Rational(2)).is_integer();
      return tie && odd ? up - Rational(1) : up;
    }
  }
}

}  // namespace

std::string Value::to_string() const {
  switch (kind) {
    case Kind::Real:
      return exact ? exact->to_string() : ball.to_string();
    case Kind::PlusInfinity:
      return "inf";
    case Kind::MinusInfinity:
      return "-inf";
    case Kind::Bool:
      return bits ? "true" : "false";
    case Kind::Bits:
      return std::to_string(bits);
    case Kind::Undecided:
      return "undecided";
    case Kind::Undefined:
      return "undefined";
    case Kind::Poison:
      return "uninitialised";
    case Kind::Unknown:
      return "unknown";
  }
  return "";
}

std::optional<bool> same_value(const Value& a, const Value& b) {
  if (!a.is_defined() || !b.is_defined()) return std::nullopt;
  if (a.kind == K::Undecided || b.kind == K::Undecided) return std::nullopt;
  if (a.kind != b.kind) return false;
  if (a.kind == K::Bool || a.kind == K::Bits) return a.bits == b.bits;
  if (a.kind != K::Real) return true;
  if (a.exact && b.exact) return *a.exact == *b.exact;
  // A rational is compared with a ball at the precision of the ball.
  auto as_ball = [](const Value& v, const Value& other) {
    return v.exact
               ? Ball(*v.exact, static_cast<int>(std::max<slong>(64, arb_bits(other.ball.get()))))
               : v.ball;
  };
  if (surely_differ(as_ball(a, b), as_ball(b, a))) return false;
  return std::nullopt;
}

// ---- Building values ----

Value ValueDomain::of_rational(Rational value) const {
  Value v;
  v.kind = K::Real;
  const size_t size = size_of(value);
  if (precision_ > 0 && size > kMaxExactBitsBeforeBall + 4 * static_cast<size_t>(precision_)) {
    v.ball = Ball(value, precision_);
    return v;
  }
  if (size > kMaxExactBits) return of_kind(K::Unknown);
  v.exact = std::move(value);
  return v;
}

Value ValueDomain::of_ball(Ball ball) const {
  if (precision_ == 0 || !ball.is_finite()) return of_kind(K::Unknown);
  Value v;
  v.kind = K::Real;
  v.ball = std::move(ball);
  return v;
}

std::optional<int> ValueDomain::sign_of(const Value& v) const {
  if (v.kind == K::PlusInfinity) return 1;
  if (v.kind == K::MinusInfinity) return -1;
  if (v.exact) return v.exact->sign();
  return v.ball.sign();
}

Value ValueDomain::variable(const Term& t) const {
  const std::optional<Rational> value = variable_value(store_, t, assignment_);
  if (!value) return of_kind(K::Poison);
  const Type type = store_.type(t);
  if (type.cls == TypeClass::Real) return of_rational(*value);
  return of_bits(wrapped_bits(*value, type.width));
}

int ValueDomain::choose(const Value& condition) const {
  if (condition.kind != K::Bool) return 0;
  return condition.bits ? 1 : 2;
}

Value ValueDomain::select(const Value& condition, const Value& a, const Value& b) const {
  if (condition.kind == K::Poison || condition.kind == K::Undefined) return condition;
  if (condition.kind != K::Undecided) return of_kind(K::Unknown);
  if (same_value(a, b) == true) return a;
  if (precision_ > 0 && a.kind == K::Real && b.kind == K::Real) {
    Ball hull;
    arb_union(hull.get(), ball_of(a).get(), ball_of(b).get(), precision_);
    return of_ball(std::move(hull));
  }
  auto is_condition = [](const Value& v) { return v.kind == K::Bool || v.kind == K::Undecided; };
  if (is_condition(a) && is_condition(b)) return of_kind(K::Undecided);
  return of_kind(K::Unknown);
}

// ---- Operators ----

Value ValueDomain::apply(const Term& t, const std::array<const Value*, 3>& args) const {
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
      if (precision_ == 0) return of_kind(K::Unknown);
      return of_ball(Ball::of_constant(static_cast<NamedConstant>(payload), precision_));
    case Kind::BoolConst:
      return of_bool(payload);
    case Kind::BvConst:
      return of_bits(payload);
    case Kind::Leaf:
    case Kind::Poison:
    case Kind::Scalar:
      return variable(t);
    case Kind::Select:
      return select(*args[0], *args[1], *args[2]);
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
  const Value& a = *args[0];
  switch (kind) {
    case Kind::IsNumber:
      if (any_undefined) return of_bool(false);
      return any_unknown ? of_kind(K::Undecided) : of_bool(true);
    case Kind::And:
    case Kind::Or: {
      const Value& b = *args[1];
      const uint64_t absorbing = kind == Kind::Or;
      for (const Value* v : {&a, &b})
        if (v->kind == K::Bool && v->bits == absorbing) return of_bool(absorbing);
      if (any_unknown) return of_kind(K::Unknown);
      if (any_undefined) {
        // The other operand, if undecided, might still decide.
        return of_kind(a.kind == K::Undecided || b.kind == K::Undecided ? K::Unknown
                                                                        : K::Undefined);
      }
      return a.kind == K::Undecided ? a : b.kind == K::Undecided ? b : of_bool(!absorbing);
    }
    default:
      break;
  }
  if (any_undefined) return of_kind(K::Undefined);
  if (any_unknown) return of_kind(K::Unknown);
  if (kind == Kind::Not) return a.kind == K::Undecided ? a : of_bool(!a.bits);
  if (kind == Kind::BvOfBool) return a.kind == K::Undecided ? of_kind(K::Unknown) : of_bits(a.bits);
  switch (kind) {
    case Kind::Less:
    case Kind::LessEq:
    case Kind::Equal:
      return compare(kind, a, *args[1]);
    case Kind::RealOfSigned:
    case Kind::RealOfUnsigned: {
      const int width = store_.type(store_.child(t, 0)).width;
      Rational value = Rational::from_u64(a.bits);
      if (kind == Kind::RealOfSigned && (a.bits >> (width - 1) & 1))
        value = value - Rational::power_of_two(width);
      return of_rational(std::move(value));
    }
    case Kind::RealOfBits: {
      const DecodedFloat d = decode_float(static_cast<FloatFormat>(payload), a.bits);
      if (d.cls == DecodedFloat::Class::NaN) return of_kind(K::Undefined);
      if (d.cls == DecodedFloat::Class::Infinite) return infinite(d.negative ? -1 : 1);
      return of_rational(d.value);
    }
    case Kind::BitsOfReal: {
      const FloatFormat format = static_cast<FloatFormat>(payload);
      std::optional<uint64_t> bits;
      if (is_infinite(a)) bits = encode_infinity(format, a.kind == K::MinusInfinity);
      if (a.exact) bits = encode_float(format, *a.exact);
      return bits ? of_bits(*bits) : of_kind(K::Unknown);  // a rounded encoding is not determined
    }
    case Kind::BvOfReal: {
      const bool is_signed = payload == 1;
      if (is_infinite(a)) {
        const WordRange range = word_range(type.width, is_signed);
        return of_bits(
            wrapped_bits(a.kind == K::MinusInfinity ? range.low : range.high, type.width));
      }
      const std::optional<Rational> integer = a.exact ? a.exact : a.ball.unique_integer();
      if (!integer || !integer->is_integer()) return of_kind(K::Unknown);
      return of_bits(clamped_bits(*integer, type.width, is_signed));
    }
    default:
      break;
  }
  if (type.cls == TypeClass::Real) return arity == 1 ? unary(kind, a) : binary(kind, a, *args[1]);

  std::array<Word, 2> words;
  for (int i = 0; i < arity; ++i)
    words[static_cast<size_t>(i)] = {args[static_cast<size_t>(i)]->bits,
                                     store_.type(store_.child(t, i)).width};
  const std::optional<uint64_t> bits = apply_word(kind, words, payload, type.width);
  if (!bits) return of_kind(K::Undefined);
  return type.cls == TypeClass::Bool ? of_bool(*bits) : of_bits(*bits);
}

Value ValueDomain::compare(Kind kind, const Value& a, const Value& b) const {
  if (is_infinite(a) || is_infinite(b)) {
    auto rank = [](const Value& v) {
      return v.kind == K::PlusInfinity ? 1 : v.kind == K::MinusInfinity ? -1 : 0;
    };
    const int x = rank(a), y = rank(b);
    return of_bool(kind == Kind::Less ? x < y : kind == Kind::LessEq ? x <= y : x == y);
  }
  if (a.exact && b.exact)
    return of_bool(kind == Kind::Less     ? *a.exact < *b.exact
                   : kind == Kind::LessEq ? *a.exact <= *b.exact
                                          : *a.exact == *b.exact);
  const Ball x = ball_of(a), y = ball_of(b);
  switch (kind) {
    case Kind::Less:
      if (surely_less(x, y)) return of_bool(true);
      if (surely_at_most(y, x)) return of_bool(false);
      break;
    case Kind::LessEq:
      if (surely_at_most(x, y)) return of_bool(true);
      if (surely_less(y, x)) return of_bool(false);
      break;
    default:
      if (surely_differ(x, y)) return of_bool(false);
  }
  return of_kind(K::Undecided);
}

Value ValueDomain::binary(Kind kind, const Value& a, const Value& b) const {
  const bool infinite_a = is_infinite(a), infinite_b = is_infinite(b);
  const std::optional<int> p = sign_of(a), q = sign_of(b);
  Ball r;
  switch (kind) {
    case Kind::Add:
      if (infinite_a || infinite_b) {
        if (infinite_a && infinite_b && a.kind != b.kind) return of_kind(K::Undefined);
        return infinite_a ? a : b;
      }
      if (a.exact && b.exact) return of_rational(*a.exact + *b.exact);
      arb_add(r.get(), ball_of(a).get(), ball_of(b).get(), precision_);
      return of_ball(std::move(r));
    case Kind::Mul:
      if (infinite_a || infinite_b) {
        if (p == 0 || q == 0) return of_kind(K::Undefined);
        if (!p || !q) return of_kind(K::Unknown);
        return infinite(*p * *q);
      }
      if (a.exact && b.exact) return of_rational(*a.exact * *b.exact);
      if (p == 0 || q == 0) return of_rational(0);
      arb_mul(r.get(), ball_of(a).get(), ball_of(b).get(), precision_);
      return of_ball(std::move(r));
    case Kind::Div:
      if (q == 0) return of_kind(K::Undefined);
      if (!q) return of_kind(K::Unknown);
      if (infinite_b) return infinite_a ? of_kind(K::Undefined) : of_rational(0);
      if (infinite_a) return infinite(*p * *q);
      if (a.exact && b.exact) return of_rational(*a.exact / *b.exact);
      if (p == 0) return of_rational(0);
      arb_div(r.get(), ball_of(a).get(), ball_of(b).get(), precision_);
      return of_ball(std::move(r));
    case Kind::Min:
    case Kind::Max: {
      const Value less = compare(Kind::LessEq, a, b);
      if (less.kind == K::Bool) return (less.bits != 0) == (kind == Kind::Min) ? a : b;
      if (kind == Kind::Min)
        arb_min(r.get(), ball_of(a).get(), ball_of(b).get(), precision_);
      else
        arb_max(r.get(), ball_of(a).get(), ball_of(b).get(), precision_);
      return of_ball(std::move(r));
    }
    case Kind::CopySign: {
      const Value size = unary(Kind::Abs, a);
      const bool sign_known = q || (b.kind == K::Real && arb_is_nonnegative(ball_of(b).get()));
      if (!sign_known) {
        if (infinite_a) return of_kind(K::Unknown);
        arb_neg(r.get(), ball_of(size).get());
        arb_union(r.get(), r.get(), ball_of(size).get(), precision_);
        return of_ball(std::move(r));
      }
      if (!q || *q >= 0) return size;
      if (infinite_a) return infinite(-1);
      if (size.exact) return of_rational(-*size.exact);
      arb_neg(r.get(), size.ball.get());
      return of_ball(std::move(r));
    }
    default:
      CHECK(false);
  }
  return of_kind(K::Unknown);
}

Value ValueDomain::rounded(Kind kind, const Value& x) const {
  if (x.exact) return of_rational(round_rational(kind, *x.exact));
  // The rounding functions ascend: equal at both ends, constant between them.
  Rational ends[2];
  for (int i = 0; i < 2; ++i) {
    arf_t end;
    arf_init(end);
    if (i == 0)
      arb_get_lbound_arf(end, x.ball.get(), 2 * precision_ + 64);
    else
      arb_get_ubound_arf(end, x.ball.get(), 2 * precision_ + 64);
    // An end far out is not worth an exact integer of that size.
    const bool small = arf_cmpabs_2exp_si(end, 1 << 14) < 0;
    if (small) arf_get_fmpq(ends[i].get(), end);
    arf_clear(end);
    if (!small) return of_kind(K::Unknown);
    ends[i] = round_rational(kind, ends[i]);
  }
  if (ends[0] == ends[1]) return of_rational(ends[0]);
  Ball hull;
  arb_union(hull.get(), Ball(ends[0], precision_).get(), Ball(ends[1], precision_).get(),
            precision_);
  return of_ball(std::move(hull));
}

Value ValueDomain::unary(Kind kind, const Value& x) const {
  const std::optional<int> sign = sign_of(x);
  const bool infinity = is_infinite(x);
  Ball r;
  switch (kind) {
    case Kind::Abs:
      if (infinity) return infinite(1);
      if (x.exact) return of_rational(*sign < 0 ? -*x.exact : *x.exact);
      arb_abs(r.get(), x.ball.get());
      return of_ball(std::move(r));
    case Kind::Sqrt:
      if (sign && *sign < 0) return of_kind(K::Undefined);
      if (infinity) return x;
      if (x.exact)
        if (std::optional<Rational> root = x.exact->exact_sqrt()) return of_rational(*root);
      if (precision_ == 0 || !arb_is_nonnegative(ball_of(x).get())) return of_kind(K::Unknown);
      arb_sqrt(r.get(), ball_of(x).get(), precision_);
      return of_ball(std::move(r));
    case Kind::Exp2: {
      if (infinity) return x.kind == K::MinusInfinity ? of_rational(0) : x;
      if (x.exact)
        if (std::optional<int64_t> n = x.exact->as_int64(); n && std::abs(*n) <= kMaxExactExponent)
          return of_rational(Rational::power_of_two(*n));
      if (precision_ == 0) return of_kind(K::Unknown);
      Ball ln2;
      arb_const_log2(ln2.get(), precision_ + 64);
      arb_mul(r.get(), ball_of(x).get(), ln2.get(), precision_ + 64);
      arb_exp(r.get(), r.get(), precision_);
      return of_ball(std::move(r));
    }
    case Kind::Log2: {
      if (sign && *sign <= 0) return of_kind(K::Undefined);
      if (infinity) return x;
      if (x.exact) {
        // An exact power of two.
        const fmpz* n = fmpq_numref(x.exact->get());
        const fmpz* d = fmpq_denref(x.exact->get());
        if (fmpz_bits(n) == fmpz_val2(n) + 1 && fmpz_bits(d) == fmpz_val2(d) + 1)
          return of_rational(static_cast<int64_t>(fmpz_val2(n)) -
                             static_cast<int64_t>(fmpz_val2(d)));
      }
      if (precision_ == 0 || !sign) return of_kind(K::Unknown);
      arb_log_base_ui(r.get(), ball_of(x).get(), 2, precision_);
      return of_ball(std::move(r));
    }
    case Kind::Sin:
    case Kind::Cos:
      if (infinity) return of_kind(K::Undefined);
      if (sign == 0) return of_rational(kind == Kind::Cos ? 1 : 0);
      if (precision_ == 0) return of_kind(K::Unknown);
      if (kind == Kind::Sin)
        arb_sin(r.get(), ball_of(x).get(), precision_);
      else
        arb_cos(r.get(), ball_of(x).get(), precision_);
      return of_ball(std::move(r));
    case Kind::Tanh:
    case Kind::Erf:
      if (infinity) return of_rational(*sign);
      if (sign == 0) return of_rational(0);
      if (precision_ == 0) return of_kind(K::Unknown);
      if (kind == Kind::Tanh)
        arb_tanh(r.get(), ball_of(x).get(), precision_);
      else
        arb_hypgeom_erf(r.get(), ball_of(x).get(), precision_);
      return of_ball(std::move(r));
    case Kind::Atan:
      if (sign == 0) return of_rational(0);
      if (precision_ == 0) return of_kind(K::Unknown);
      if (infinity) {
        arb_const_pi(r.get(), precision_);
        arb_mul_2exp_si(r.get(), r.get(), -1);
        if (*sign < 0) arb_neg(r.get(), r.get());
      } else {
        arb_atan(r.get(), ball_of(x).get(), precision_);
      }
      return of_ball(std::move(r));
    case Kind::ErfInv: {
      if (infinity) return of_kind(K::Undefined);
      if (sign == 0) return of_rational(0);
      const Value inside = compare(Kind::Less, unary(Kind::Abs, x), of_rational(1));
      if (inside.kind == K::Bool && !inside.bits) return of_kind(K::Undefined);
      if (precision_ == 0 || inside.kind != K::Bool) return of_kind(K::Unknown);
      arb_hypgeom_erfinv(r.get(), ball_of(x).get(), precision_);
      return of_ball(std::move(r));
    }
    case Kind::Gamma:
    case Kind::LogGamma: {
      if (infinity) return *sign < 0 ? of_kind(K::Undefined) : x;
      if (x.exact && x.exact->is_integer()) {
        if (*sign <= 0) return of_kind(K::Undefined);
        if (kind == Kind::LogGamma && *x.exact <= Rational(2)) return of_rational(0);
      }
      if (precision_ == 0) return of_kind(K::Unknown);
      const Ball at = ball_of(x);
      if (kind == Kind::LogGamma && arb_is_positive(at.get())) {
        arb_lgamma(r.get(), at.get(), precision_);
        return of_ball(std::move(r));
      }
      arb_gamma(r.get(), at.get(), precision_);
      if (kind == Kind::LogGamma) {
        arb_abs(r.get(), r.get());
        arb_log(r.get(), r.get(), precision_);
      }
      return of_ball(std::move(r));
    }
    case Kind::Floor:
    case Kind::Ceil:
    case Kind::Trunc:
    case Kind::RoundEven:
      return infinity ? x : rounded(kind, x);
    default:
      CHECK(false);
  }
  return of_kind(K::Unknown);
}

// ---- Entry points ----

Value CodeDomain::apply(const Term& t, const std::array<const Value*, 3>& args) const {
  if (store_.kind(t) != Kind::BitsOfReal || args[0]->kind != Value::Kind::Real)
    return exact_.apply(t, args);
  const Value& x = *args[0];
  const double near = x.exact ? x.exact->to_double() : x.ball.midpoint();
  const auto encoded = [&](DType dtype) {
    Value v;
    v.kind = Value::Kind::Bits;
    v.bits = float_from_double(float_spec(dtype), near);
    return v;
  };
  switch (static_cast<FloatFormat>(store_.payload(t))) {
    case FloatFormat::F64:
      return encoded(DType::F64);
    case FloatFormat::F32:
      return encoded(DType::F32);
    case FloatFormat::F16:
      return encoded(DType::F16);
    default:
      return exact_.apply(t, args);
  }
}

std::optional<Value> evaluate_exact(const TermStore& store, const Term& term,
                                    const Assignment& assignment) {
  Evaluator evaluate = make_evaluator(store, assignment, 0);
  const Value& v = evaluate(term);
  if (v.kind == K::Unknown || v.kind == K::Undecided) return std::nullopt;
  return v;
}

Value evaluate_ball(const TermStore& store, const Term& term, const Assignment& assignment,
                    int precision) {
  CHECK(precision > 0);
  Evaluator evaluate = make_evaluator(store, assignment, precision);
  return evaluate(term);
}

double evaluate_double(const TermStore& store, const Term& term, const Assignment& assignment) {
  const Value v = evaluate_ball(store, term, assignment, 53);
  switch (v.kind) {
    case K::Real:
      return v.exact ? v.exact->to_double() : v.ball.midpoint();
    case K::PlusInfinity:
      return std::numeric_limits<double>::infinity();
    case K::MinusInfinity:
      return -std::numeric_limits<double>::infinity();
    case K::Bool:
    case K::Bits:
      return static_cast<double>(v.bits);
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

}  // namespace coequal::term
