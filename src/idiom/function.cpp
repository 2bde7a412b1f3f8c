// The table of library functions; errors as in the CUDA C++ Programming Guide, "Mathematical
// Functions Appendix".
#include "idiom/function.h"

#include "base/check.h"
#include "term/functions.h"

namespace coequal::idiom {
namespace {

using term::Kind;
using term::NamedConstant;
using term::Rational;
using term::Term;
using term::TermStore;
using Args = std::span<const Term>;

template <Kind kind>
Term unary(TermStore& s, Args a) {
  return s.make(kind, {a[0]});
}
template <Term (*make)(TermStore&, const Term&)>
Term of_one(TermStore& s, Args a) {
  return make(s, a[0]);
}
template <Term (*make)(TermStore&, const Term&, const Term&)>
Term of_two(TermStore& s, Args a) {
  return make(s, a[0], a[1]);
}
Term times_pi(TermStore& s, const Term& x) {
  return s.make(Kind::Mul, {s.symbol(NamedConstant::Pi), x});
}
Term positive_power(TermStore& s, Args a) {
  return s.make(Kind::Exp2, {s.make(Kind::Mul, {a[1], s.make(Kind::Log2, {a[0]})})});
}
Term reciprocal(TermStore& s, const Term& x) { return s.make(Kind::Div, {s.real(1), x}); }
// On (0, 2): where 1 - erf is x.
Term erfc_inverse(TermStore& s, const Term& x) {
  return s.make(Kind::ErfInv, {s.make(Kind::Add, {s.real(1), s.make(Kind::Mul, {s.real(-1), x})})});
}
// sqrt(2) erfinv(2 x - 1)
Term normcdf_inverse(TermStore& s, const Term& x) {
  const Term centred = s.make(Kind::Add, {s.make(Kind::Mul, {s.real(2), x}), s.real(-1)});
  return s.make(Kind::Mul, {s.make(Kind::Mul, {s.real(2), s.symbol(NamedConstant::InvSqrt2)}),
                            s.make(Kind::ErfInv, {centred})});
}
// x to a constant power.
template <int numerator, int denominator>
Term power(TermStore& s, Args a) {
  return term::make_pow(s, a[0], s.real(Rational(numerator, denominator)));
}

const std::vector<Function> kFunctions = {
    {"exp", 1, "expf($0)", "exp($0)", of_one<term::make_exp>, 2},
    {"exp2", 1, "exp2f($0)", "exp2($0)", unary<Kind::Exp2>, 2},
    {"exp10", 1, "exp10f($0)", "exp10($0)", of_one<term::make_exp10>, 2},
    {"expm1", 1, "expm1f($0)", "expm1($0)", of_one<term::make_expm1>, 1},
    {"log", 1, "logf($0)", "log($0)", of_one<term::make_log>, 1},
    {"log2", 1, "log2f($0)", "log2($0)", unary<Kind::Log2>, 1},
    {"log10", 1, "log10f($0)", "log10($0)", of_one<term::make_log10>, 2},
    {"log1p", 1, "log1pf($0)", "log1p($0)", of_one<term::make_log1p>, 1},
    {"tanh", 1, "tanhf($0)", "tanh($0)", unary<Kind::Tanh>, 2},
    {"sinh", 1, "sinhf($0)", "sinh($0)", of_one<term::make_sinh>, 3},
    {"cosh", 1, "coshf($0)", "cosh($0)", of_one<term::make_cosh>, 2},
    {"asinh", 1, "asinhf($0)", "asinh($0)", of_one<term::make_asinh>, 3},
    {"acosh", 1, "acoshf($0)", "acosh($0)", of_one<term::make_acosh>, 4},
    {"atanh", 1, "atanhf($0)", "atanh($0)", of_one<term::make_atanh>, 3},
    {"sin", 1, "sinf($0)", "sin($0)", unary<Kind::Sin>, 2},
    {"cos", 1, "cosf($0)", "cos($0)", unary<Kind::Cos>, 2},
    {"tan", 1, "tanf($0)", "tan($0)", of_one<term::make_tan>, 4},
    {"sinpi", 1, "sinpif($0)", "sinpi($0)",
     [](TermStore& s, Args a) { return s.make(Kind::Sin, {times_pi(s, a[0])}); }, 2},
    {"cospi", 1, "cospif($0)", "cospi($0)",
     [](TermStore& s, Args a) { return s.make(Kind::Cos, {times_pi(s, a[0])}); }, 2},
    {"asin", 1, "asinf($0)", "asin($0)", of_one<term::make_asin>, 2},
    {"acos", 1, "acosf($0)", "acos($0)", of_one<term::make_acos>, 2},
    {"atan", 1, "atanf($0)", "atan($0)", unary<Kind::Atan>, 2},
    {"atan2", 2, "atan2f($0, $1)", "atan2($0, $1)", of_two<term::make_atan2>, 3},
    {"erf", 1, "erff($0)", "erf($0)", unary<Kind::Erf>, 2},
    {"erfc", 1, "erfcf($0)", "erfc($0)", of_one<term::make_erfc>, 5},
    {"erfinv", 1, "erfinvf($0)", "erfinv($0)", unary<Kind::ErfInv>, 5},
    {"normcdf", 1, "normcdff($0)", "normcdf($0)", of_one<term::make_normcdf>, 7},
    {"erfcinv", 1, "erfcinvf($0)", "erfcinv($0)", of_one<erfc_inverse>, 6},
    {"normcdfinv", 1, "normcdfinvf($0)", "normcdfinv($0)", of_one<normcdf_inverse>, 8},
    {"lgamma", 1, "lgammaf($0)", "lgamma($0)", unary<Kind::LogGamma>, 6, 100},
    {"tgamma", 1, "tgammaf($0)", "tgamma($0)", unary<Kind::Gamma>, 11},
    {"cbrt", 1, "cbrtf($0)", "cbrt($0)", of_one<term::make_cbrt>, 1},
    {"rcbrt", 1, "rcbrtf($0)", "rcbrt($0)",
     [](TermStore& s, Args a) { return reciprocal(s, term::make_cbrt(s, a[0])); }, 1},
    {"rsqrt", 1, "rsqrtf($0)", "rsqrt($0)",
     [](TermStore& s, Args a) { return reciprocal(s, s.make(Kind::Sqrt, {a[0]})); }, 2},
    {"hypot", 2, "hypotf($0, $1)", "hypot($0, $1)", of_two<term::make_hypot>, 3},
    {"rhypot", 2, "rhypotf($0, $1)", "rhypot($0, $1)",
     [](TermStore& s, Args a) { return reciprocal(s, term::make_hypot(s, a[0], a[1])); }, 2},
    {"pow", 2, "powf($0, $1)", "pow($0, $1)", of_two<term::make_pow>, 8},
    {"pow(positive)", 2, "powf($0, $1)", "pow($0, $1)", positive_power, 8, 0, true},
    // Constant bases and exponents, which compilers fold into the code.
    {"pow(2,x)", 1, "powf(2.0f, $0)", "pow(2.0, $0)", unary<Kind::Exp2>, 8},
    {"pow(10,x)", 1, "powf(10.0f, $0)", "pow(10.0, $0)", of_one<term::make_exp10>, 8},
    {"pow(x,2)", 1, "powf($0, 2.0f)", "pow($0, 2.0)", power<2, 1>, 8},
    {"pow(x,3)", 1, "powf($0, 3.0f)", "pow($0, 3.0)", power<3, 1>, 8},
    {"pow(x,4)", 1, "powf($0, 4.0f)", "pow($0, 4.0)", power<4, 1>, 8},
    {"pow(x,-1)", 1, "powf($0, -1.0f)", "pow($0, -1.0)", power<-1, 1>, 8},
    {"pow(x,-2)", 1, "powf($0, -2.0f)", "pow($0, -2.0)", power<-2, 1>, 8},
    {"pow(x,1/2)", 1, "powf($0, 0.5f)", "pow($0, 0.5)", power<1, 2>, 8},
    {"pow(x,3/2)", 1, "powf($0, 1.5f)", "pow($0, 1.5)", power<3, 2>, 8},
    {"pow(x,-1/2)", 1, "powf($0, -0.5f)", "pow($0, -0.5)", power<-1, 2>, 8},
    {"fmod", 2, "fmodf($0, $1)", "fmod($0, $1)", of_two<term::make_fmod>, 0},
    {"remainder", 2, "remainderf($0, $1)", "remainder($0, $1)", of_two<term::make_remainder>, 0},
};

}  // namespace

const std::vector<Function>& functions() { return kFunctions; }

std::optional<size_t> find_function(std::string_view name) {
  for (size_t i = 0; i < kFunctions.size(); ++i)
    if (kFunctions[i].name == name) return i;
  return std::nullopt;
}

}  // namespace coequal::idiom
