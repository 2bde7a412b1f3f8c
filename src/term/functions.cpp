#include "term/functions.h"

namespace coequal::term {
namespace {

constexpr int64_t kMaxProduct = 16;  // a power that is written as a product

Term one(TermStore& s, Kind kind, const Term& x) { return s.make(kind, {x}); }
Term add(TermStore& s, const Term& x, const Term& y) { return s.make(Kind::Add, {x, y}); }
Term mul(TermStore& s, const Term& x, const Term& y) { return s.make(Kind::Mul, {x, y}); }
Term div(TermStore& s, const Term& x, const Term& y) { return s.make(Kind::Div, {x, y}); }
Term neg(TermStore& s, const Term& x) { return mul(s, s.real(-1), x); }
Term sub(TermStore& s, const Term& x, const Term& y) { return add(s, x, neg(s, y)); }
Term sqrt(TermStore& s, const Term& x) { return one(s, Kind::Sqrt, x); }
Term select(TermStore& s, const Term& c, const Term& x, const Term& y) {
  return s.make(Kind::Select, {c, x, y});
}
Term less(TermStore& s, const Term& x, const Term& y) { return s.make(Kind::Less, {x, y}); }
Term equal(TermStore& s, const Term& x, const Term& y) { return s.make(Kind::Equal, {x, y}); }
Term half(TermStore& s, const Term& x) { return mul(s, s.real(Rational(1, 2)), x); }

// x^n for n > 0.
Term product(TermStore& s, const Term& x, int64_t n) {
  Term result = x;
  for (int64_t i = 1; i < n; ++i) result = mul(s, result, x);
  return result;
}

}  // namespace

Term make_exp(TermStore& s, const Term& x) {
  return one(s, Kind::Exp2, mul(s, s.symbol(NamedConstant::Log2E), x));
}
Term make_exp10(TermStore& s, const Term& x) {
  return one(s, Kind::Exp2, mul(s, s.symbol(NamedConstant::Log2_10), x));
}
Term make_expm1(TermStore& s, const Term& x) { return add(s, make_exp(s, x), s.real(-1)); }
Term make_log(TermStore& s, const Term& x) {
  return mul(s, s.symbol(NamedConstant::Ln2), one(s, Kind::Log2, x));
}
Term make_log10(TermStore& s, const Term& x) {
  return mul(s, s.symbol(NamedConstant::Log10_2), one(s, Kind::Log2, x));
}
Term make_log1p(TermStore& s, const Term& x) { return make_log(s, add(s, s.real(1), x)); }

Term make_sinh(TermStore& s, const Term& x) {
  return half(s, sub(s, make_exp(s, x), make_exp(s, neg(s, x))));
}
Term make_cosh(TermStore& s, const Term& x) {
  return half(s, add(s, make_exp(s, x), make_exp(s, neg(s, x))));
}
Term make_asinh(TermStore& s, const Term& x) {
  return make_log(s, add(s, x, sqrt(s, add(s, mul(s, x, x), s.real(1)))));
}
Term make_acosh(TermStore& s, const Term& x) {
  return make_log(s, add(s, x, sqrt(s, add(s, mul(s, x, x), s.real(-1)))));
}
Term make_atanh(TermStore& s, const Term& x) {
  return half(s, make_log(s, div(s, add(s, s.real(1), x), sub(s, s.real(1), x))));
}

Term make_tan(TermStore& s, const Term& x) {
  return div(s, one(s, Kind::Sin, x), one(s, Kind::Cos, x));
}
Term make_asin(TermStore& s, const Term& x) {
  // Half the angle: no pole at 1.
  const Term root = sqrt(s, sub(s, s.real(1), mul(s, x, x)));
  return mul(s, s.real(2), one(s, Kind::Atan, div(s, x, add(s, s.real(1), root))));
}
Term make_acos(TermStore& s, const Term& x) {
  return sub(s, s.symbol(NamedConstant::HalfPi), make_asin(s, x));
}
Term make_atan2(TermStore& s, const Term& y, const Term& x) {
  const Term zero = s.real(0), pi = s.symbol(NamedConstant::Pi),
             half_pi = s.symbol(NamedConstant::HalfPi);
  const Term below = less(s, y, zero), angle = one(s, Kind::Atan, div(s, y, x));
  const Term left = add(s, angle, select(s, below, neg(s, pi), pi));
  const Term upright =
      select(s, equal(s, y, zero), zero, select(s, below, neg(s, half_pi), half_pi));
  return select(s, less(s, zero, x), angle, select(s, less(s, x, zero), left, upright));
}

Term make_erfc(TermStore& s, const Term& x) { return sub(s, s.real(1), one(s, Kind::Erf, x)); }
Term make_normcdf(TermStore& s, const Term& x) {
  const Term scaled = mul(s, s.symbol(NamedConstant::InvSqrt2), x);
  return half(s, add(s, s.real(1), one(s, Kind::Erf, scaled)));
}

Term make_cbrt(TermStore& s, const Term& x) {
  const Term third = mul(s, s.real(Rational(1, 3)), one(s, Kind::Log2, one(s, Kind::Abs, x)));
  return select(s, equal(s, x, s.real(0)), s.real(0),
                s.make(Kind::CopySign, {one(s, Kind::Exp2, third), x}));
}
Term make_hypot(TermStore& s, const Term& x, const Term& y) {
  return sqrt(s, add(s, mul(s, x, x), mul(s, y, y)));
}

Term make_pow(TermStore& s, const Term& x, const Term& y) {
  const Term zero = s.real(0), one_ = s.real(1);
  if (const Rational* c = s.as_rational(y)) {
    if (c->is_zero()) return one_;
    if (const std::optional<int64_t> n = c->as_int64(); n && std::abs(*n) <= kMaxProduct) {
      const Term p = product(s, x, std::abs(*n));
      return *n > 0 ? p : div(s, one_, p);
    }
    const Term doubled = s.real(*c * Rational(2));
    if (const std::optional<int64_t> n = s.as_rational(doubled)->as_int64();
        n && std::abs(*n) <= 2 * kMaxProduct) {  // halves: a root
      const int64_t whole = (std::abs(*n) - 1) / 2;
      const Term root = sqrt(s, x);
      const Term p = whole == 0 ? root : mul(s, product(s, x, whole), root);
      return *n > 0 ? p : div(s, one_, p);
    }
  }
  auto power = [&](const Term& size) {
    return one(s, Kind::Exp2, mul(s, y, one(s, Kind::Log2, size)));
  };
  const Term whole = equal(s, y, one(s, Kind::Floor, y));
  const Term halved = half(s, y);
  const Term even = equal(s, halved, one(s, Kind::Floor, halved));
  const Term size = power(one(s, Kind::Abs, x));
  const Term of_negative = select(s, whole, select(s, even, size, neg(s, size)), s.undefined());
  const Term of_zero =
      select(s, less(s, zero, y), zero, select(s, equal(s, y, zero), one_, s.undefined()));
  return select(s, less(s, zero, x), power(x), select(s, less(s, x, zero), of_negative, of_zero));
}

Term make_fmod(TermStore& s, const Term& x, const Term& y) {
  return sub(s, x, mul(s, y, one(s, Kind::Trunc, div(s, x, y))));
}
Term make_remainder(TermStore& s, const Term& x, const Term& y) {
  return sub(s, x, mul(s, y, one(s, Kind::RoundEven, div(s, x, y))));
}

}  // namespace coequal::term
