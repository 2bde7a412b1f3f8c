// Functions of the mathematical library, composed from the kinds of terms: defined exactly where
// the function is.
#pragma once

#include "term/store.h"

namespace coequal::term {

Term make_exp(TermStore& s, const Term& x);
Term make_exp10(TermStore& s, const Term& x);
Term make_expm1(TermStore& s, const Term& x);
Term make_log(TermStore& s, const Term& x);
Term make_log10(TermStore& s, const Term& x);
Term make_log1p(TermStore& s, const Term& x);
Term make_sinh(TermStore& s, const Term& x);
Term make_cosh(TermStore& s, const Term& x);
Term make_asinh(TermStore& s, const Term& x);
Term make_acosh(TermStore& s, const Term& x);
Term make_atanh(TermStore& s, const Term& x);
Term make_tan(TermStore& s, const Term& x);
Term make_asin(TermStore& s, const Term& x);
Term make_acos(TermStore& s, const Term& x);
Term make_atan2(TermStore& s, const Term& y, const Term& x);
Term make_erfc(TermStore& s, const Term& x);
Term make_normcdf(TermStore& s, const Term& x);
Term make_cbrt(TermStore& s, const Term& x);
Term make_hypot(TermStore& s, const Term& x, const Term& y);
// x to the power y: of a negative x for integers y only, of 0 for y >= 0.
Term make_pow(TermStore& s, const Term& x, const Term& y);
// x - y trunc(x / y), and the same with rounding to nearest even.
Term make_fmod(TermStore& s, const Term& x, const Term& y);
Term make_remainder(TermStore& s, const Term& x, const Term& y);

}  // namespace coequal::term
