// Floating-point arithmetic in single, double and half precision (PTX ISA 9.7.3, 9.7.4).
#include <bit>
#include <cmath>

#include "isa/rows.h"
#include "isa/semantics.h"

namespace coequal::isa {
namespace {

template <class F>
void approximate(const Decoded& d, const uint64_t* s, uint64_t* o, F f) {
  float_lanes<1>(d, s, o, [&](FloatSpec spec, const uint64_t* a) {
    const double x = float_to_double(spec, d.ftz ? flush(spec, a[0]) : a[0]);
    return float_from_double(spec, f(x), {FloatRounding::NearestEven, d.ftz});
  });
}

template <class F>
void real_function(TermStore& store, const Decoded& d, const Term* s, Term* o, F f) {
  real_lanes<1>(store, d, s, o, [&](Build& b, const Term* a) { return f(b, a[0]); });
}

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: the upper words of operand and result.
constexpr uint64_t kUpperWord = 0xffffffff00000000;
uint64_t gross(uint64_t result) {
  if (float_is_nan(kF64, result)) return 0x7fffffff00000000;
  return flush(kF64, result) & kUpperWord;
}

uint64_t divide_approximately(const Decoded& d, uint64_t a, uint64_t b) {
  // The manual's range note: a divisor in 2^126 .. 2^128 gives 0, or NaN if the dividend is
  // infinite.
  constexpr uint64_t kTwo126 = uint64_t{253} << 23;
  const uint64_t magnitude = b & 0x7fffffff;
  if (d.approx && magnitude > kTwo126 && magnitude < 0x7f800000 && !float_is_nan(kF32, a)) {
    if (float_is_infinite(kF32, a)) return canonical_nan(kF32);
    return (a ^ b) & 0x80000000;
  }
  return float_div(kF32, a, b, {FloatRounding::NearestEven, d.ftz});
}

uint64_t least_or_greatest(const Decoded& d, FloatSpec spec, uint64_t a, uint64_t b,
                           bool want_min) {
  if (d.ftz) a = flush(spec, a), b = flush(spec, b);
  const uint64_t sign = uint64_t{1} << (spec.width() - 1);
  const uint64_t result_sign = (a ^ b) & sign;
  if (d.xorsign_abs) a &= ~sign, b &= ~sign;
  const uint64_t value = want_min ? float_min(spec, a, b, d.nan) : float_max(spec, a, b, d.nan);
  if (!d.xorsign_abs || float_is_nan(spec, value)) return value;
  return value | result_sign;
}

Term least_or_greatest(Build& b, const Decoded& d, const Term* a, Kind kind) {
  if (!d.xorsign_abs) return b.op2(kind, a[0], a[1]);
  const Term magnitude = b.op2(kind, b.op1(Kind::Abs, a[0]), b.op1(Kind::Abs, a[1]));
  const Term zero = b.real(0);
  const Term differ = b.logic_xor(b.op2(Kind::Less, a[0], zero), b.op2(Kind::Less, a[1], zero));
  return b.select(differ, b.real_neg(magnitude), magnitude);
}

uint64_t test_property(const Decoded& d, uint64_t a) {
  const FloatSpec spec = spec_of(d.type);
  const bool nan = float_is_nan(spec, a), infinite = float_is_infinite(spec, a);
  if (d.text->has("finite")) return !nan && !infinite;
  if (d.text->has("infinite")) return infinite;
  if (d.text->has("number")) return !nan;
  if (d.text->has("notanumber")) return nan;
  const bool subnormal = float_is_subnormal(spec, a);
  // The manual counts zero neither as normal nor as subnormal.
  return d.text->has("subnormal") ? subnormal
                                  : !nan && !infinite && !subnormal && !float_is_zero(spec, a);
}

Term test_property(Build& b, const Decoded& d, Term a) {
  const Term number = b.op1(Kind::IsNumber, a);
  if (d.text->has("number")) return number;
  if (d.text->has("notanumber")) return b.logic_not(number);
  const Term finite = b.logic_and(b.op2(Kind::Less, a, b.store().infinity(false)),
                                  b.op2(Kind::Less, b.store().infinity(true), a));
  return b.logic_and(number, d.text->has("finite") ? finite : b.logic_not(finite));
}

void conc_fma(const Decoded& d, const uint64_t* s, uint64_t* o) {
  float_lanes<3>(d, s, o, [&](FloatSpec spec, const uint64_t* a) {
    return float_fma(spec, a[0], a[1], a[2], options_of(d));
  });
}

// Whether a sum with the constant has no bits below 1 (and not many above): rounding it rounds to
// an integer.
bool rounds_to_integer(FloatSpec spec, const term::Rational& c) {
  const term::Rational size = c.sign() < 0 ? -c : c;
  return c.is_integer() && size >= term::Rational::power_of_two(spec.fraction_bits) &&
         size < term::Rational::power_of_two(spec.fraction_bits + 1);
}

// A sum with such a constant, rounded. Below 2^p (p: fraction bits) a sum keeps halves; a constant
// well above that is taken to be meant for both signs, a smaller one counts exactly: 2^p alone
// rounds numbers of its own sign to integers, and others to halves.
Term rounded_sum(Build& b, FloatSpec spec, const term::Rational& c, Term added, Kind kind) {
  const term::Rational least = term::Rational::power_of_two(spec.fraction_bits);
  const bool negative = c.sign() < 0;
  const term::Rational size = negative ? -c : c;
  const Term total = b.real_add(b.store().real(c), added), whole = b.op1(kind, total);
  if (size >= least * term::Rational(5, 4)) return whole;
  const term::Rational limit = negative ? size - least : least - size;
  const Term below = negative ? b.op2(Kind::Less, b.store().real(limit), added)
                              : b.op2(Kind::Less, added, b.store().real(limit));
  const Term doubled =
      b.real_add(b.store().real(c * term::Rational(2)), b.real_mul(b.real(2), added));
  const Term halves = b.real_mul(b.store().real(term::Rational(1, 2)), b.op1(kind, doubled));
  return b.store().make(Kind::Select, {below, halves, whole});
}

// x + y. Adding and removing such a constant is rounding; in a directed mode adding it says so
// already. Removing it is exact, so only the mode of adding counts.
Term sum(Build& b, const Decoded& d, Term x, Term y) {
  TermStore& store = b.store();
  const Term total = b.real_add(x, y);
  if (d.type != ScalarType::F32 && d.type != ScalarType::F64) return total;
  const FloatSpec spec = spec_of(d.type);
  for (int swap = 0; swap < 2; ++swap) {
    const term::Rational* c = store.as_rational(swap ? x : y);
    const Term other = swap ? y : x;
    if (!c || !rounds_to_integer(spec, *c)) continue;
    // Of two numbers the sum is one at once: what its bits say is what remains when the constant is
    // removed again.
    if (const term::Rational* known = store.as_rational(other)) {
      if (known->is_integer()) continue;
      return rounded_sum(b, spec, *c, other, rounding_kind(d.rounding));
    }
    if (store.kind(other) == Kind::Add)
      for (int i = 0; i < 2; ++i) {
        const term::Rational* added = store.as_rational(store.child(other, i));
        if (added && rounds_to_integer(spec, *added) && added->sign() != c->sign())
          return b.real_add(
              rounded_sum(b, spec, *added, store.child(other, 1 - i), Kind::RoundEven),
              swap ? x : y);
      }
    if (d.rounding != FloatRounding::NearestEven)
      return rounded_sum(b, spec, *c, other, rounding_kind(d.rounding));
  }
  return total;
}

void sym_fma(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  real_lanes<3>(store, d, s, o,
                [&](Build& b, const Term* a) { return sum(b, d, b.real_mul(a[0], a[1]), a[2]); });
}
void sym_div(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  real_lanes<2>(store, d, s, o,
                [](Build& b, const Term* a) { return b.op2(Kind::Div, a[0], a[1]); });
}
void sym_reciprocal(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  real_function(store, d, s, o, [](Build& b, Term a) { return b.op2(Kind::Div, b.real(1), a); });
}
void sym_sqrt(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  real_function(store, d, s, o, [](Build& b, Term a) { return b.op1(Kind::Sqrt, a); });
}
void sym_rsqrt(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  real_function(store, d, s, o,
                [](Build& b, Term a) { return b.op2(Kind::Div, b.real(1), b.op1(Kind::Sqrt, a)); });
}
void conc_test(const Decoded& d, const uint64_t* s, uint64_t* o) { o[0] = test_property(d, s[0]); }

void conc_min(const Decoded& d, const uint64_t* s, uint64_t* o) {
  float_lanes<2>(d, s, o, [&](FloatSpec spec, const uint64_t* a) {
    return least_or_greatest(d, spec, a[0], a[1], true);
  });
}
void conc_max(const Decoded& d, const uint64_t* s, uint64_t* o) {
  float_lanes<2>(d, s, o, [&](FloatSpec spec, const uint64_t* a) {
    return least_or_greatest(d, spec, a[0], a[1], false);
  });
}
void sym_min(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  real_lanes<2>(store, d, s, o,
                [&](Build& b, const Term* a) { return least_or_greatest(b, d, a, Kind::Min); });
}
void sym_max(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  real_lanes<2>(store, d, s, o,
                [&](Build& b, const Term* a) { return least_or_greatest(b, d, a, Kind::Max); });
}

constexpr InstRow kRows[] = {
    {.pattern = "testp.{finite,infinite,number,notanumber}.{f32,f64} d:pred, a",
     .conc = conc_test,
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           o[0] = test_property(b, d, s[0]);
         },
     .manual = "9.7.3.1"},
    {.pattern = "testp.{normal,subnormal}.{f32,f64} d:pred, a",
     .conc = conc_test,
     .manual = "9.7.3.1"},
    {.pattern = "copysign.{f32,f64} d, a, b",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           const uint64_t sign = uint64_t{1} << (width_of(d.type) - 1);
           o[0] = (s[0] & sign) | (s[1] & ~sign);
         },
     .sym =
         [](TermStore& store, const Decoded&, const Term* s, Term* o) {
           o[0] = store.make(Kind::CopySign, {s[1], s[0]});
         },
     .manual = "9.7.3.2"},
    {.pattern = "add{.rnd}{.ftz}{.sat}.float d, a, b",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           float_lanes<2>(d, s, o, [&](FloatSpec spec, const uint64_t* a) {
             return float_add(spec, a[0], a[1], options_of(d));
           });
         },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           real_lanes<2>(store, d, s, o,
                         [&](Build& b, const Term* a) { return sum(b, d, a[0], a[1]); });
         },
     .manual = "9.7.3.3"},
    {.pattern = "sub{.rnd}{.ftz}{.sat}.float d, a, b",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           float_lanes<2>(d, s, o, [&](FloatSpec spec, const uint64_t* a) {
             return float_sub(spec, a[0], a[1], options_of(d));
           });
         },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           real_lanes<2>(store, d, s, o, [&](Build& b, const Term* a) {
             return sum(b, d, a[0], b.real_neg(a[1]));
           });
         },
     .manual = "9.7.3.4"},
    {.pattern = "mul{.rnd}{.ftz}{.sat}.float d, a, b",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           float_lanes<2>(d, s, o, [&](FloatSpec spec, const uint64_t* a) {
             return float_mul(spec, a[0], a[1], options_of(d));
           });
         },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           real_lanes<2>(store, d, s, o,
                         [](Build& b, const Term* a) { return b.real_mul(a[0], a[1]); });
         },
     .manual = "9.7.3.5"},
    {.pattern = "fma.rnd{.ftz}{.sat}{.relu}.float d, a, b, c",
     .conc = conc_fma,
     .sym = sym_fma,
     .manual = "9.7.3.6"},
    {.pattern = "mad.rnd{.ftz}{.sat}.{f32,f64} d, a, b, c",
     .conc = conc_fma,
     .sym = sym_fma,
     .manual = "9.7.3.7"},
    {.pattern = "div.rnd{.ftz}.{f32,f64} d, a, b",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = float_div(spec_of(d.type), s[0], s[1], options_of(d)); },
     .sym = sym_div,
     .manual = "9.7.3.8"},
    {.pattern = "div.{approx,full}{.ftz}.f32 d, a, b",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = divide_approximately(d, s[0], s[1]); },
     .sym = sym_div,
     .manual = "9.7.3.8"},
    {.pattern = "abs{.ftz}.float d, a",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           float_lanes<1>(d, s, o, [&](FloatSpec spec, const uint64_t* a) {
             return (d.ftz ? flush(spec, a[0]) : a[0]) & ~(uint64_t{1} << (spec.width() - 1));
           });
         },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           real_function(store, d, s, o, [](Build& b, Term a) { return b.op1(Kind::Abs, a); });
         },
     .manual = "9.7.3.9"},
    {.pattern = "neg{.ftz}.float d, a",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           float_lanes<1>(d, s, o, [&](FloatSpec spec, const uint64_t* a) {
             return (d.ftz ? flush(spec, a[0]) : a[0]) ^ (uint64_t{1} << (spec.width() - 1));
           });
         },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           real_function(store, d, s, o, [](Build& b, Term a) { return b.real_neg(a); });
         },
     .manual = "9.7.3.10"},
    {.pattern = "min{.ftz}{.NaN}.float d, a, b",
     .conc = conc_min,
     .sym = sym_min,
     .manual = "9.7.3.11"},
    {.pattern = "min{.ftz}{.NaN}.xorsign.abs.float d, a, b",
     .conc = conc_min,
     .sym = sym_min,
     .manual = "9.7.3.11"},
    {.pattern = "max{.ftz}{.NaN}.float d, a, b",
     .conc = conc_max,
     .sym = sym_max,
     .manual = "9.7.3.12"},
    {.pattern = "max{.ftz}{.NaN}.xorsign.abs.float d, a, b",
     .conc = conc_max,
     .sym = sym_max,
     .manual = "9.7.3.12"},
    {.pattern = "rcp.rnd{.ftz}.{f32,f64} d, a",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           const FloatSpec spec = spec_of(d.type);
           o[0] = float_div(spec, one_bits(spec), s[0], options_of(d));
         },
     .sym = sym_reciprocal,
     .manual = "9.7.3.13"},
    {.pattern = "rcp.approx{.ftz}.f32 d, a",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { approximate(d, s, o, [](double x) { return 1.0 / x; }); },
     .sym = sym_reciprocal,
     .manual = "9.7.3.13"},
    {.pattern = "rcp.approx.ftz.f64 d, a",
     .conc =
         [](const Decoded&, const uint64_t* s, uint64_t* o) {
           o[0] = gross(float_div(kF64, one_bits(kF64), flush(kF64, s[0] & kUpperWord)));
         },
     .sym = sym_reciprocal,
     .manual = "9.7.3.14"},
    {.pattern = "sqrt.rnd{.ftz}.{f32,f64} d, a",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = float_sqrt(spec_of(d.type), s[0], options_of(d)); },
     .sym = sym_sqrt,
     .manual = "9.7.3.15"},
    {.pattern = "sqrt.approx{.ftz}.f32 d, a",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { approximate(d, s, o, [](double x) { return std::sqrt(x); }); },
     .sym = sym_sqrt,
     .manual = "9.7.3.15"},
    {.pattern = "rsqrt.approx{.ftz}.f32 d, a",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { approximate(d, s, o, [](double x) { return 1.0 / std::sqrt(x); }); },
     .sym = sym_rsqrt,
     .manual = "9.7.3.16"},
    {.pattern = "rsqrt.approx{.ftz}.f64 d, a",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           const uint64_t a = d.ftz ? flush(kF64, s[0] & kUpperWord) : s[0];
           const uint64_t root = float_div(kF64, one_bits(kF64), float_sqrt(kF64, a));
           o[0] = d.ftz ? gross(root) : root;
         },
     .sym = sym_rsqrt,
     .manual = "9.7.3.17"},
    {.pattern = "sin.approx{.ftz}.f32 d, a",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { approximate(d, s, o, [](double x) { return std::sin(x); }); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           real_function(store, d, s, o, [](Build& b, Term a) { return b.op1(Kind::Sin, a); });
         },
     .manual = "9.7.3.18"},
    {.pattern = "cos.approx{.ftz}.f32 d, a",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { approximate(d, s, o, [](double x) { return std::cos(x); }); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           real_function(store, d, s, o, [](Build& b, Term a) { return b.op1(Kind::Cos, a); });
         },
     .manual = "9.7.3.19"},
    {.pattern = "lg2.approx{.ftz}.f32 d, a",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { approximate(d, s, o, [](double x) { return std::log2(x); }); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           real_function(store, d, s, o, [](Build& b, Term a) { return b.op1(Kind::Log2, a); });
         },
     .manual = "9.7.3.20"},
    {.pattern = "ex2.approx{.ftz}.{f32,f16,f16x2,bf16,bf16x2} d, a",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { approximate(d, s, o, [](double x) { return std::exp2(x); }); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           real_function(store, d, s, o, [](Build& b, Term a) { return b.op1(Kind::Exp2, a); });
         },
     .manual = "9.7.3.21"},
    {.pattern = "tanh.approx.{f32,f16,f16x2,bf16,bf16x2} d, a",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { approximate(d, s, o, [](double x) { return std::tanh(x); }); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           real_function(store, d, s, o, [](Build& b, Term a) { return b.op1(Kind::Tanh, a); });
         },
     .manual = "9.7.3.22"},
};

}  // namespace

std::span<const InstRow> float_rows() { return kRows; }

}  // namespace coequal::isa
