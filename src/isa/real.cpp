// An extension of PTX: real functions by name, `real.exp.f64 d, a`. No compiler writes them;
// kernels that state a meaning do (the operators of the Python package), where PTX has only
// approximations or library code. On terms they are the functions themselves, on bits the nearest
// that the C++ library has.
#include <bit>
#include <cmath>

#include "isa/rows.h"
#include "isa/semantics.h"

namespace coequal::isa {
namespace {

using term::NamedConstant;

// `kFunction(double...)` on the bits of the sources.
template <auto kFunction>
void conc(const Decoded& d, const uint64_t* s, uint64_t* o) {
  const auto value = [&](int i) { return std::bit_cast<double>(s[i]); };
  double result = 0;
  if constexpr (requires { kFunction(0.0); })
    result = kFunction(value(0));
  else
    result = kFunction(value(0), value(1));
  o[0] = std::isnan(result) ? canonical_nan(spec_of(d.type)) : std::bit_cast<uint64_t>(result);
}

// `kFunction(Build&, Term...)` of the sources.
template <auto kFunction>
void sym(TermStore& store, const Decoded&, const Term* s, Term* o) {
  Build b(store);
  if constexpr (requires { kFunction(b, s[0]); })
    o[0] = kFunction(b, s[0]);
  else
    o[0] = kFunction(b, s[0], s[1]);
}

Term half(Build& b) { return b.store().real(term::Rational(1, 2)); }
Term exp(Build& b, Term a) {
  return b.op1(Kind::Exp2, b.real_mul(a, b.store().symbol(NamedConstant::Log2E)));
}
Term log(Build& b, Term a) {
  return b.real_mul(b.store().symbol(NamedConstant::Ln2), b.op1(Kind::Log2, a));
}
// sqrt(a^2 + c)
Term leg(Build& b, Term a, int64_t c) {
  return b.op1(Kind::Sqrt, b.real_add(b.real_mul(a, a), b.real(c)));
}

// a^e as C and IEEE 754 have it, over the reals: of a negative number for whole exponents only. At
// a = 0 a negative exponent is undefined, as a quotient by zero is.
Term pow(Build& b, Term a, Term e) {
  const Term zero = b.real(0), one = b.real(1);
  const Term magnitude = b.op1(Kind::Exp2, b.real_mul(e, b.op1(Kind::Log2, b.op1(Kind::Abs, a))));
  const auto whole = [&](Term t) { return b.op2(Kind::Equal, b.op1(Kind::Floor, t), t); };
  const Term even = whole(b.real_mul(half(b), e));
  const Term negative =
      b.select(even, magnitude, b.select(whole(e), b.real_neg(magnitude), b.store().undefined()));
  const Term at_zero =
      b.select(b.op2(Kind::Less, zero, e), zero,
               b.select(b.op2(Kind::Equal, e, zero), one, b.op2(Kind::Div, one, a)));
  return b.select(b.op2(Kind::Less, zero, a), magnitude,
                  b.select(b.op2(Kind::Less, a, zero), negative, at_zero));
}

constexpr InstRow kRows[] = {
    {.pattern = "real.exp.f64 d, a",
     .conc = conc<[](double a) { return std::exp(a); }>,
     .sym = sym<[](Build& b, Term a) { return exp(b, a); }>,
     .manual = "extension"},
    {.pattern = "real.exp2.f64 d, a",
     .conc = conc<[](double a) { return std::exp2(a); }>,
     .sym = sym<[](Build& b, Term a) { return b.op1(Kind::Exp2, a); }>,
     .manual = "extension"},
    {.pattern = "real.expm1.f64 d, a",
     .conc = conc<[](double a) { return std::expm1(a); }>,
     .sym = sym<[](Build& b, Term a) { return b.real_sub(exp(b, a), b.real(1)); }>,
     .manual = "extension"},
    {.pattern = "real.log.f64 d, a",
     .conc = conc<[](double a) { return std::log(a); }>,
     .sym = sym<[](Build& b, Term a) { return log(b, a); }>,
     .manual = "extension"},
    {.pattern = "real.log2.f64 d, a",
     .conc = conc<[](double a) { return std::log2(a); }>,
     .sym = sym<[](Build& b, Term a) { return b.op1(Kind::Log2, a); }>,
     .manual = "extension"},
    {.pattern = "real.log10.f64 d, a",
     .conc = conc<[](double a) { return std::log10(a); }>,
     .sym = sym<[](Build& b, Term a) {
       return b.real_mul(b.store().symbol(NamedConstant::Log10_2), b.op1(Kind::Log2, a));
     }>,
     .manual = "extension"},
    {.pattern = "real.log1p.f64 d, a",
     .conc = conc<[](double a) { return std::log1p(a); }>,
     .sym = sym<[](Build& b, Term a) { return log(b, b.real_add(b.real(1), a)); }>,
     .manual = "extension"},
    {.pattern = "real.pow.f64 d, a, b",
     .conc = conc<[](double a, double e) { return std::pow(a, e); }>,
     .sym = sym<[](Build& b, Term a, Term e) { return pow(b, a, e); }>,
     .manual = "extension"},
    {.pattern = "real.sin.f64 d, a",
     .conc = conc<[](double a) { return std::sin(a); }>,
     .sym = sym<[](Build& b, Term a) { return b.op1(Kind::Sin, a); }>,
     .manual = "extension"},
    {.pattern = "real.cos.f64 d, a",
     .conc = conc<[](double a) { return std::cos(a); }>,
     .sym = sym<[](Build& b, Term a) { return b.op1(Kind::Cos, a); }>,
     .manual = "extension"},
    {.pattern = "real.tan.f64 d, a",
     .conc = conc<[](double a) { return std::tan(a); }>,
     .sym = sym<[](Build& b, Term a) {
       return b.op2(Kind::Div, b.op1(Kind::Sin, a), b.op1(Kind::Cos, a));
     }>,
     .manual = "extension"},
    {.pattern = "real.sinh.f64 d, a",
     .conc = conc<[](double a) { return std::sinh(a); }>,
     .sym = sym<[](Build& b, Term a) {
       return b.real_mul(half(b), b.real_sub(exp(b, a), exp(b, b.real_neg(a))));
     }>,
     .manual = "extension"},
    {.pattern = "real.cosh.f64 d, a",
     .conc = conc<[](double a) { return std::cosh(a); }>,
     .sym = sym<[](Build& b, Term a) {
       return b.real_mul(half(b), b.real_add(exp(b, a), exp(b, b.real_neg(a))));
     }>,
     .manual = "extension"},
    {.pattern = "real.tanh.f64 d, a",
     .conc = conc<[](double a) { return std::tanh(a); }>,
     .sym = sym<[](Build& b, Term a) { return b.op1(Kind::Tanh, a); }>,
     .manual = "extension"},
    {.pattern = "real.asinh.f64 d, a",
     .conc = conc<[](double a) { return std::asinh(a); }>,
     .sym = sym<[](Build& b, Term a) { return log(b, b.real_add(a, leg(b, a, 1))); }>,
     .manual = "extension"},
    {.pattern = "real.acosh.f64 d, a",
     .conc = conc<[](double a) { return std::acosh(a); }>,
     // At -1 and below the logarithm's argument is negative.
     .sym = sym<[](Build& b, Term a) { return log(b, b.real_add(a, leg(b, a, -1))); }>,
     .manual = "extension"},
    {.pattern = "real.atanh.f64 d, a",
     .conc = conc<[](double a) { return std::atanh(a); }>,
     .sym = sym<[](Build& b, Term a) {
       const Term one = b.real(1);
       return b.real_mul(half(b), log(b, b.op2(Kind::Div, b.real_add(one, a), b.real_sub(one, a))));
     }>,
     .manual = "extension"},
    {.pattern = "real.erf.f64 d, a",
     .conc = conc<[](double a) { return std::erf(a); }>,
     .sym = sym<[](Build& b, Term a) { return b.op1(Kind::Erf, a); }>,
     .manual = "extension"},
    {.pattern = "real.erfc.f64 d, a",
     .conc = conc<[](double a) { return std::erfc(a); }>,
     .sym = sym<[](Build& b, Term a) { return b.real_sub(b.real(1), b.op1(Kind::Erf, a)); }>,
     .manual = "extension"},
};

}  // namespace

std::span<const InstRow> real_rows() { return kRows; }

}  // namespace coequal::isa
