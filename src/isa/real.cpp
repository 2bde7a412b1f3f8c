// An extension of PTX: real functions by name, `real.exp.f64 d, a`. No compiler writes them;
// kernels that state a meaning do (the operators of the Python package), where PTX has only
// approximations or library code. On terms they are the functions themselves, on bits the nearest
// that the C++ library has.
#include <bit>
#include <cmath>
#include <numbers>

#include "isa/rows.h"
#include "isa/semantics.h"
#include "term/functions.h"

namespace coequal::isa {
namespace {

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

// `kFunction(TermStore&, Term...)` of the sources.
template <auto kFunction>
void sym(TermStore& store, const Decoded&, const Term* s, Term* o) {
  if constexpr (requires { kFunction(store, s[0]); })
    o[0] = kFunction(store, s[0]);
  else
    o[0] = kFunction(store, s[0], s[1]);
}

// By Newton's method from 0: to the right of it erf is concave, so the steps never pass the root.
double inverse_erf(double a) {
  if (!(std::fabs(a) < 1)) return std::fabs(a) == 1 ? std::copysign(HUGE_VAL, a) : std::nan("");
  const double target = std::fabs(a);
  double y = 0;
  for (int i = 0; i < 100; ++i) {
    const double step =
        (target - std::erf(y)) * std::exp(y * y) / (2 * std::numbers::inv_sqrtpi_v<double>);
    if (!(step > 0) || y + step == y) break;
    y += step;
  }
  return std::copysign(y, a);
}

constexpr InstRow kRows[] = {
    {.pattern = "real.exp.f64 d, a",
     .conc = conc<[](double a) { return std::exp(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return term::make_exp(s, a); }>,
     .manual = "extension"},
    {.pattern = "real.exp2.f64 d, a",
     .conc = conc<[](double a) { return std::exp2(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return s.make(Kind::Exp2, {a}); }>,
     .manual = "extension"},
    {.pattern = "real.expm1.f64 d, a",
     .conc = conc<[](double a) { return std::expm1(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return term::make_expm1(s, a); }>,
     .manual = "extension"},
    {.pattern = "real.log.f64 d, a",
     .conc = conc<[](double a) { return std::log(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return term::make_log(s, a); }>,
     .manual = "extension"},
    {.pattern = "real.log2.f64 d, a",
     .conc = conc<[](double a) { return std::log2(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return s.make(Kind::Log2, {a}); }>,
     .manual = "extension"},
    {.pattern = "real.log10.f64 d, a",
     .conc = conc<[](double a) { return std::log10(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return term::make_log10(s, a); }>,
     .manual = "extension"},
    {.pattern = "real.log1p.f64 d, a",
     .conc = conc<[](double a) { return std::log1p(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return term::make_log1p(s, a); }>,
     .manual = "extension"},
    {.pattern = "real.pow.f64 d, a, b",
     .conc = conc<[](double a, double b) { return std::pow(a, b); }>,
     .sym = sym<[](TermStore& s, Term a, Term b) { return term::make_pow(s, a, b); }>,
     .manual = "extension"},
    {.pattern = "real.sin.f64 d, a",
     .conc = conc<[](double a) { return std::sin(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return s.make(Kind::Sin, {a}); }>,
     .manual = "extension"},
    {.pattern = "real.cos.f64 d, a",
     .conc = conc<[](double a) { return std::cos(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return s.make(Kind::Cos, {a}); }>,
     .manual = "extension"},
    {.pattern = "real.tan.f64 d, a",
     .conc = conc<[](double a) { return std::tan(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return term::make_tan(s, a); }>,
     .manual = "extension"},
    {.pattern = "real.asin.f64 d, a",
     .conc = conc<[](double a) { return std::asin(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return term::make_asin(s, a); }>,
     .manual = "extension"},
    {.pattern = "real.acos.f64 d, a",
     .conc = conc<[](double a) { return std::acos(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return term::make_acos(s, a); }>,
     .manual = "extension"},
    {.pattern = "real.atan.f64 d, a",
     .conc = conc<[](double a) { return std::atan(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return s.make(Kind::Atan, {a}); }>,
     .manual = "extension"},
    {.pattern = "real.atan2.f64 d, a, b",
     .conc = conc<[](double a, double b) { return std::atan2(a, b); }>,
     .sym = sym<[](TermStore& s, Term a, Term b) { return term::make_atan2(s, a, b); }>,
     .manual = "extension"},
    {.pattern = "real.sinh.f64 d, a",
     .conc = conc<[](double a) { return std::sinh(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return term::make_sinh(s, a); }>,
     .manual = "extension"},
    {.pattern = "real.cosh.f64 d, a",
     .conc = conc<[](double a) { return std::cosh(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return term::make_cosh(s, a); }>,
     .manual = "extension"},
    {.pattern = "real.tanh.f64 d, a",
     .conc = conc<[](double a) { return std::tanh(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return s.make(Kind::Tanh, {a}); }>,
     .manual = "extension"},
    {.pattern = "real.asinh.f64 d, a",
     .conc = conc<[](double a) { return std::asinh(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return term::make_asinh(s, a); }>,
     .manual = "extension"},
    {.pattern = "real.acosh.f64 d, a",
     .conc = conc<[](double a) { return std::acosh(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return term::make_acosh(s, a); }>,
     .manual = "extension"},
    {.pattern = "real.atanh.f64 d, a",
     .conc = conc<[](double a) { return std::atanh(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return term::make_atanh(s, a); }>,
     .manual = "extension"},
    {.pattern = "real.erf.f64 d, a",
     .conc = conc<[](double a) { return std::erf(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return s.make(Kind::Erf, {a}); }>,
     .manual = "extension"},
    {.pattern = "real.erfc.f64 d, a",
     .conc = conc<[](double a) { return std::erfc(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return term::make_erfc(s, a); }>,
     .manual = "extension"},
    {.pattern = "real.erfinv.f64 d, a",
     .conc = conc<[](double a) { return inverse_erf(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return s.make(Kind::ErfInv, {a}); }>,
     .manual = "extension"},
    {.pattern = "real.gamma.f64 d, a",
     .conc = conc<[](double a) { return std::tgamma(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return s.make(Kind::Gamma, {a}); }>,
     .manual = "extension"},
    {.pattern = "real.lgamma.f64 d, a",
     .conc = conc<[](double a) { return std::lgamma(a); }>,
     .sym = sym<[](TermStore& s, Term a) { return s.make(Kind::LogGamma, {a}); }>,
     .manual = "extension"},
};

}  // namespace

std::span<const InstRow> real_rows() { return kRows; }

}  // namespace coequal::isa
