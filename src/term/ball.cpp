// Conversions of balls and enclosures of the named constants.
#include "term/ball.h"

#include "base/check.h"

namespace coequal::term {

Ball Ball::of_constant(NamedConstant constant, int precision) {
  const slong prec = precision + 8;
  Ball r;
  arb_ptr x = r.get();
  auto inverse = [&] { arb_inv(x, x, prec); };
  switch (constant) {
    case NamedConstant::Log2E:
      arb_const_log2(x, prec);
      inverse();
      break;
    case NamedConstant::Ln2:
      arb_const_log2(x, prec);
      break;
    case NamedConstant::Log10_2:
    case NamedConstant::Log2_10: {
      Ball ln2;
      arb_const_log2(ln2.get(), prec);
      arb_const_log10(x, prec);
      arb_div(x, x, ln2.get(), prec);
      if (constant == NamedConstant::Log10_2) inverse();
      break;
    }
    case NamedConstant::InvLn10:
      arb_const_log10(x, prec);
      inverse();
      break;
    case NamedConstant::Pi:
      arb_const_pi(x, prec);
      break;
    case NamedConstant::InvPi:
      arb_const_pi(x, prec);
      inverse();
      break;
    case NamedConstant::TwoOverPi:
      arb_const_pi(x, prec);
      inverse();
      arb_mul_2exp_si(x, x, 1);
      break;
    case NamedConstant::HalfPi:
      arb_const_pi(x, prec);
      arb_mul_2exp_si(x, x, -1);
      break;
    case NamedConstant::InvSqrt2:
      arb_sqrt_ui(x, 2, prec);
      inverse();
      break;
    case NamedConstant::Sqrt2:
      arb_sqrt_ui(x, 2, prec);
      break;
    case NamedConstant::SqrtTwoOverPi:
      arb_const_pi(x, prec);
      inverse();
      arb_mul_2exp_si(x, x, 1);
      arb_sqrt(x, x, prec);
      break;
    case NamedConstant::InvSqrtPi:
      arb_const_pi(x, prec);
      arb_rsqrt(x, x, prec);
      break;
    case NamedConstant::TwoOverSqrtPi:
      arb_const_pi(x, prec);
      arb_rsqrt(x, x, prec);
      arb_mul_2exp_si(x, x, 1);
      break;
    case NamedConstant::InvSqrtTwoPi:
      arb_const_pi(x, prec);
      arb_mul_2exp_si(x, x, 1);
      arb_rsqrt(x, x, prec);
      break;
  }
  return r;
}

std::optional<int> Ball::sign() const {
  if (arb_is_positive(value_)) return 1;
  if (arb_is_negative(value_)) return -1;
  if (arb_is_zero(value_)) return 0;
  return std::nullopt;
}

std::optional<Rational> Ball::unique_integer() const {
  Rational r;
  if (!arb_get_unique_fmpz(fmpq_numref(r.get()), value_)) return std::nullopt;
  return r;
}

double Ball::midpoint() const { return arf_get_d(arb_midref(value_), ARF_RND_NEAR); }
double Ball::radius() const { return mag_get_d(arb_radref(value_)); }

std::string Ball::to_string(int digits) const {
  char* text = arb_get_str(value_, digits, 0);
  std::string result(text);
  flint_free(text);
  return result;
}

}  // namespace coequal::term
