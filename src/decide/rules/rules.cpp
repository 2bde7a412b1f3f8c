// The rows. Variables a, b, c stand for any terms.
#include "decide/rules/rule_row.h"

namespace coequal::decide {

namespace {

using term::Kind;
using term::NamedConstant;
using term::Rational;
using term::Term;
using term::TermStore;
using Args = std::span<const Term>;

Term add(TermStore& s, Term x, Term y) { return s.make(Kind::Add, {x, y}); }
Term mul(TermStore& s, Term x, Term y) { return s.make(Kind::Mul, {x, y}); }
Term div(TermStore& s, Term x, Term y) { return s.make(Kind::Div, {x, y}); }
Term neg(TermStore& s, Term x) { return mul(s, s.real(-1), x); }
Term max(TermStore& s, Term x, Term y) { return s.make(Kind::Max, {x, y}); }
Term min(TermStore& s, Term x, Term y) { return s.make(Kind::Min, {x, y}); }
Term one(TermStore& s, Kind kind, Term x) { return s.make(kind, {x}); }
Term select(TermStore& s, Term k, Term x, Term y) { return s.make(Kind::Select, {k, x, y}); }
Term less(TermStore& s, Term x, Term y) { return s.make(Kind::Less, {x, y}); }
Term exp(TermStore& s, Term x) {
  return one(s, Kind::Exp2, mul(s, x, s.symbol(NamedConstant::Log2E)));
}

}  // namespace

const std::vector<RuleRow>& list_rules() {
  using Needs = RuleRow::Needs;
  static const std::vector<RuleRow> rows = {
      {"distribute", "a (b + c)", "a b + a c", "always", "field axiom",
       [](TermStore& s, Args a) { return mul(s, a[0], add(s, a[1], a[2])); },
       [](TermStore& s, Args a) { return add(s, mul(s, a[0], a[1]), mul(s, a[0], a[2])); }},
      {"common-denominator", "b / a + c / a", "(b + c) / a", "always", "both need a != 0",
       [](TermStore& s, Args a) { return add(s, div(s, a[1], a[0]), div(s, a[2], a[0])); },
       [](TermStore& s, Args a) { return div(s, add(s, a[1], a[2]), a[0]); }},
      {"div-cancel", "a b / a", "b", "a != 0 is excluded on the left only",
       "a / a = 1 where defined",
       [](TermStore& s, Args a) { return div(s, mul(s, a[0], a[1]), a[0]); },
       [](TermStore&, Args a) { return a[1]; }},
      {"exp-sum", "2^(a + b)", "2^a 2^b", "always", "homomorphism; 2^x > 0 for finite x",
       [](TermStore& s, Args a) { return one(s, Kind::Exp2, add(s, a[0], a[1])); },
       [](TermStore& s, Args a) {
         return mul(s, one(s, Kind::Exp2, a[0]), one(s, Kind::Exp2, a[1]));
       }},
      {"exp-inverse", "2^a 2^-a", "1", "always", "exp-sum with b = -a",
       [](TermStore& s, Args a) {
         return mul(s, one(s, Kind::Exp2, a[0]), one(s, Kind::Exp2, neg(s, a[0])));
       },
       [](TermStore& s, Args) { return s.real(1); }},
      {"log-exp", "log2(2^a)", "a", "always", "inverse functions on the reals",
       [](TermStore& s, Args a) {
         return one(s, Kind::Log2, one(s, Kind::Exp2, add(s, a[0], a[1])));
       },
       [](TermStore& s, Args a) { return add(s, a[0], a[1]); }},
      {"exp-log", "2^log2(a)", "a", "always", "the left needs a > 0",
       [](TermStore& s, Args a) { return one(s, Kind::Exp2, one(s, Kind::Log2, a[0])); },
       [](TermStore&, Args a) { return a[0]; }},
      {"log-square", "log2(a^2)", "2 log2|a|", "always", "a^2 = |a|^2, both need a != 0",
       [](TermStore& s, Args a) { return one(s, Kind::Log2, mul(s, a[0], a[0])); },
       [](TermStore& s, Args a) {
         return mul(s, s.real(2), one(s, Kind::Log2, one(s, Kind::Abs, a[0])));
       }},
      {"sqrt-square", "sqrt(a^2)", "|a|", "always", "the root is not negative",
       [](TermStore& s, Args a) { return one(s, Kind::Sqrt, mul(s, a[0], a[0])); },
       [](TermStore& s, Args a) { return one(s, Kind::Abs, a[0]); }},
      {"sqrt-square-positive", "sqrt(a^2)", "a", "a >= 0 is proved", "|a| = a",
       [](TermStore& s, Args a) { return one(s, Kind::Sqrt, mul(s, a[0], a[0])); },
       [](TermStore&, Args a) { return a[0]; }, Needs::PositiveFirst, true},
      {"sqrt-factor", "sqrt(a^2 b)", "a sqrt(b)", "a >= 0 is proved",
       "sqrt-square; a = 0 makes both 0 or excludes the right",
       [](TermStore& s, Args a) { return one(s, Kind::Sqrt, mul(s, mul(s, a[0], a[0]), a[1])); },
       [](TermStore& s, Args a) { return mul(s, a[0], one(s, Kind::Sqrt, a[1])); },
       Needs::PositiveFirst, true},
      {"abs-product", "|a b|", "|a| |b|", "always", "signs multiply",
       [](TermStore& s, Args a) { return one(s, Kind::Abs, mul(s, a[0], a[1])); },
       [](TermStore& s, Args a) {
         return mul(s, one(s, Kind::Abs, a[0]), one(s, Kind::Abs, a[1]));
       }},
      {"abs-square", "|a| |a|", "a a", "always", "(-a)^2 = a^2",
       [](TermStore& s, Args a) {
         return mul(s, one(s, Kind::Abs, a[0]), one(s, Kind::Abs, a[0]));
       },
       [](TermStore& s, Args a) { return mul(s, a[0], a[0]); }},
      {"max-scale", "max(a b, a c)", "a max(b, c)", "a >= 0 is proved",
       "multiplication by a is monotone",
       [](TermStore& s, Args a) { return max(s, mul(s, a[0], a[1]), mul(s, a[0], a[2])); },
       [](TermStore& s, Args a) { return mul(s, a[0], max(s, a[1], a[2])); }, Needs::PositiveFirst,
       true},
      {"max-associate", "max(a, max(b, c))", "max(max(c, a), b)", "always", "maximum of a set",
       [](TermStore& s, Args a) { return max(s, a[0], max(s, a[1], a[2])); },
       [](TermStore& s, Args a) { return max(s, max(s, a[2], a[0]), a[1]); }},
      {"min-as-max", "min(a, b)", "-max(-a, -b)", "always", "negation reverses the order",
       [](TermStore& s, Args a) { return min(s, a[0], a[1]); },
       [](TermStore& s, Args a) { return neg(s, max(s, neg(s, a[0]), neg(s, a[1]))); }},
      {"max-opposite", "max(a, -a)", "|a|", "always", "definition of |a|",
       [](TermStore& s, Args a) { return max(s, a[0], neg(s, a[0])); },
       [](TermStore& s, Args a) { return one(s, Kind::Abs, a[0]); }},
      {"select-max", "a < b ? b : a", "max(a, b)", "always", "at equality both arms agree",
       [](TermStore& s, Args a) { return select(s, less(s, a[0], a[1]), a[1], a[0]); },
       [](TermStore& s, Args a) { return max(s, a[0], a[1]); }},
      {"select-factor", "k ? a b : a c", "a (k ? b : c)", "always", "a stands in both arms",
       [](TermStore& s, Args a) {
         return select(s, less(s, a[1], a[2]), mul(s, a[0], a[1]),
                       mul(s, a[0], add(s, a[2], s.real(1))));
       },
       [](TermStore& s, Args a) {
         return mul(s, a[0], select(s, less(s, a[1], a[2]), a[1], add(s, a[2], s.real(1))));
       }},
      {"select-zero", "k ? a b : 0", "a (k ? b : 0)", "a is defined for all inputs",
       "a 0 = 0 for a finite a",
       [](TermStore& s, Args a) {
         return select(s, less(s, a[1], a[2]), mul(s, a[0], a[1]), s.real(0));
       },
       [](TermStore& s, Args a) {
         return mul(s, a[0], select(s, less(s, a[1], a[2]), a[1], s.real(0)));
       }},
      {"max-min-sum", "max(a, b) + min(a, b)", "a + b", "always", "one is a, the other b",
       [](TermStore& s, Args a) { return add(s, max(s, a[0], a[1]), min(s, a[0], a[1])); },
       [](TermStore& s, Args a) { return add(s, a[0], a[1]); }},
      {"relu-abs", "(a + |a|) / 2", "max(a, 0)", "always", "the signs of a, one by one",
       [](TermStore& s, Args a) {
         return mul(s, s.real(Rational(1, 2)), add(s, a[0], one(s, Kind::Abs, a[0])));
       },
       [](TermStore& s, Args a) { return max(s, a[0], s.real(0)); }},
      {"tanh-exp", "tanh a", "(e^2a - 1) / (e^2a + 1)", "always",
       "definition; the divisor is positive",
       [](TermStore& s, Args a) { return one(s, Kind::Tanh, a[0]); },
       [](TermStore& s, Args a) {
         const Term e = exp(s, mul(s, s.real(2), a[0]));
         return div(s, add(s, e, s.real(-1)), add(s, e, s.real(1)));
       }},
      {"logistic-tanh", "1 / (1 + e^-a)", "(1 + tanh(a / 2)) / 2", "always", "tanh-exp",
       [](TermStore& s, Args a) {
         return div(s, s.real(1), add(s, s.real(1), exp(s, neg(s, a[0]))));
       },
       [](TermStore& s, Args a) {
         const Rational half(1, 2);
         return mul(s, s.real(half),
                    add(s, s.real(1), one(s, Kind::Tanh, mul(s, s.real(half), a[0]))));
       }},
      {"odd-functions", "sin(-a) + erf(-a)", "-(sin a + erf a)", "always", "both are odd",
       [](TermStore& s, Args a) {
         return add(s, one(s, Kind::Sin, neg(s, a[0])), one(s, Kind::Erf, neg(s, a[0])));
       },
       [](TermStore& s, Args a) {
         return neg(s, add(s, one(s, Kind::Sin, a[0]), one(s, Kind::Erf, a[0])));
       }},
      {"odd-inverses", "atan(-a) + erfinv(-b)", "-(atan a + erfinv b)", "always", "both are odd",
       [](TermStore& s, Args a) {
         return add(s, one(s, Kind::Atan, neg(s, a[0])), one(s, Kind::ErfInv, neg(s, a[1])));
       },
       [](TermStore& s, Args a) {
         return neg(s, add(s, one(s, Kind::Atan, a[0]), one(s, Kind::ErfInv, a[1])));
       }},
      {"sin-cos", "sin(a)^2 + cos(a)^2", "1", "always", "a point of the unit circle",
       [](TermStore& s, Args a) {
         const Term sine = one(s, Kind::Sin, a[0]), cosine = one(s, Kind::Cos, a[0]);
         return add(s, mul(s, sine, sine), mul(s, cosine, cosine));
       },
       [](TermStore& s, Args) { return s.real(1); }},
      {"cos-even", "cos(-a)", "cos a", "always", "cosine is even",
       [](TermStore& s, Args a) { return one(s, Kind::Cos, neg(s, a[0])); },
       [](TermStore& s, Args a) { return one(s, Kind::Cos, a[0]); }},
      {"ceil-floor", "ceil(a)", "-floor(-a)", "always", "negation reverses the order",
       [](TermStore& s, Args a) { return one(s, Kind::Ceil, a[0]); },
       [](TermStore& s, Args a) { return neg(s, one(s, Kind::Floor, neg(s, a[0]))); }},
  };
  return rows;
}

}  // namespace coequal::decide
