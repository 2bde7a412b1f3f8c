// Evaluation at random points of random prime fields, and the degrees and heights that bound its
// error.
#include "decide/canonical/probable.h"

#include <absl/container/flat_hash_map.h>
#include <flint/flint.h>
#include <flint/ulong_extras.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace coequal::decide {
namespace {

constexpr int kRepetitions = 4;

// Degrees of numerator and denominator, and bits of the integer coefficients after common
// denominators are cleared.
struct Size {
  double numerator = 0, denominator = 0, bits = 0;
};

double bits_of(const Rational& c) {
  return static_cast<double>(fmpz_bits(fmpq_numref(c.get())) + fmpz_bits(fmpq_denref(c.get())));
}

}  // namespace

struct ProbableZero::Plan {
  std::vector<AtomId> order;  // children first
  absl::flat_hash_map<AtomId, int64_t>
      unit;  // an atom that is not a sum is the unit-th power of its unknown
  absl::flat_hash_map<AtomId, Size> size;
};

std::optional<double> ProbableZero::zero(const std::vector<Value>& terms, const Budget& budget) {
  Plan plan;
  absl::flat_hash_map<AtomId, int> state;
  std::vector<AtomId> stack;
  bool fits = true;
  auto enter = [&](const Value& v) {
    for (const Factor& f : algebra_.factors(v.m)) {
      const bool is_sum = algebra_.atom(f.atom).kind == AtomKind::Sum;
      if (algebra_.atom(f.atom).kind == AtomKind::Undefined ||
          algebra_.atom(f.atom).kind == AtomKind::Infinity)
        fits = false;
      if (!is_sum) {
        const fmpz* d = fmpq_denref(f.exponent.get());
        if (!fmpz_fits_si(d) || fmpz_get_si(d) > (int64_t{1} << 30)) {
          fits = false;
          continue;
        }
        int64_t& unit = plan.unit.try_emplace(f.atom, 1).first->second;
        const int64_t e = fmpz_get_si(d);
        const auto g = static_cast<int64_t>(n_gcd(static_cast<ulong>(unit), static_cast<ulong>(e)));
        if (unit / g > (int64_t{1} << 40) / e)
          fits = false;
        else
          unit = unit / g * e;
      }
      if (!state.contains(f.atom)) stack.push_back(f.atom);
    }
  };
  for (const Value& v : terms) enter(v);
  while (!stack.empty() && fits) {
    const AtomId id = stack.back();
    int& s = state[id];
    if (s == 0) {
      s = 1;
      if (algebra_.atom(id).kind == AtomKind::Sum)
        for (const Value& v : algebra_.atom(id).args) enter(v);
      continue;
    }
    stack.pop_back();
    if (s == 1) plan.order.push_back(id);
    s = 2;
    if ((plan.order.size() & 1023) == 0 && budget.spent()) return std::nullopt;
  }
  if (!fits) return std::nullopt;

  // Degrees and coefficient sizes.
  auto size_of_monomial = [&](const Value& v) {
    Size out;
    out.bits = bits_of(v.c);
    for (const Factor& f : algebra_.factors(v.m)) {
      const bool is_sum = algebra_.atom(f.atom).kind == AtomKind::Sum;
      if (!is_sum) {
        const double e = std::abs((f.exponent * Rational(plan.unit[f.atom])).to_double());
        (f.exponent.sign() > 0 ? out.numerator : out.denominator) += e;
        continue;
      }
      const Size& s = plan.size[f.atom];
      const Rational whole = f.exponent.floor();
      if (!f.exponent.is_integer()) out.numerator += 1;  // the fractional power, an unknown
      const double e = std::abs(whole.to_double());
      out.numerator += e * (whole.sign() > 0 ? s.numerator : s.denominator);
      out.denominator += e * (whole.sign() > 0 ? s.denominator : s.numerator);
      out.bits += e * s.bits;
    }
    return out;
  };
  auto size_of_sum = [&](const std::vector<Value>& args) {
    Size out;
    double most = 0;
    for (const Value& v : args) {
      const Size s = size_of_monomial(v);
      most = std::max(most, s.numerator);
      out.denominator += s.denominator;
      out.bits += s.bits + 1;
    }
    out.numerator = most + out.denominator;
    return out;
  };
  for (AtomId id : plan.order)
    if (algebra_.atom(id).kind == AtomKind::Sum)
      plan.size[id] = size_of_sum(algebra_.atom(id).args);
  const Size whole = size_of_sum(terms);
  const double error =
      std::log2(whole.numerator + whole.denominator + 1 + 64 * (whole.bits / 60 + 1)) - 60;
  const double bound = kRepetitions * error;
  if (!(bound < kAcceptable)) return std::nullopt;

  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    if (budget.spent()) return std::nullopt;
    ulong p = 0;
    do p = (uint64_t{1} << 60) | (random_() & ((uint64_t{1} << 60) - 1)) | 1;
    while (!n_is_prime(p));
    const ulong inverse = n_preinvert_limb(p);
    auto multiply = [&](ulong a, ulong b) { return n_mulmod2_preinv(a, b, p, inverse); };
    auto power = [&](ulong base, const Rational& exponent) -> std::optional<ulong> {
      const auto e = exponent.as_int64();
      if (!e) return std::nullopt;
      if (*e >= 0) return n_powmod2_ui_preinv(base, static_cast<ulong>(*e), p, inverse);
      if (base == 0) return std::nullopt;
      return n_powmod2_ui_preinv(n_invmod(base, p), static_cast<ulong>(-*e), p, inverse);
    };
    absl::flat_hash_map<AtomId, ulong> values;  // of sums; of other atoms, the unit
    std::map<std::pair<AtomId, Rational>, ulong> roots;
    auto monomial = [&](const Value& v) -> std::optional<ulong> {
      const ulong d = fmpz_fdiv_ui(fmpq_denref(v.c.get()), p);
      if (d == 0) return std::nullopt;
      ulong out = multiply(fmpz_fdiv_ui(fmpq_numref(v.c.get()), p), d == 1 ? 1 : n_invmod(d, p));
      for (const Factor& f : algebra_.factors(v.m)) {
        const bool is_sum = algebra_.atom(f.atom).kind == AtomKind::Sum;
        std::optional<ulong> x;
        if (!is_sum) {
          x = power(values[f.atom], f.exponent * Rational(plan.unit[f.atom]));
        } else {
          const Rational low = f.exponent.floor();
          x = power(values[f.atom], low);
          if (x && !(low == f.exponent)) {
            const auto [root, fresh] = roots.try_emplace({f.atom, f.exponent - low}, 0);
            if (fresh) root->second = 1 + random_() % (p - 1);
            x = multiply(*x, root->second);
          }
        }
        if (!x) return std::nullopt;
        out = multiply(out, *x);
      }
      return out;
    };
    auto sum = [&](const std::vector<Value>& args) -> std::optional<ulong> {
      ulong total = 0;
      for (const Value& v : args) {
        const auto x = monomial(v);
        if (!x) return std::nullopt;
        total = n_addmod(total, *x, p);
      }
      return total;
    };
    for (AtomId id : plan.order) {
      if (algebra_.atom(id).kind == AtomKind::Sum) {
        const auto x = sum(algebra_.atom(id).args);
        if (!x) return std::nullopt;
        values[id] = *x;
      } else {
        values[id] = 1 + random_() % (p - 1);
      }
    }
    const auto x = sum(terms);
    if (!x || *x != 0) return std::nullopt;
  }
  return bound;
}

}  // namespace coequal::decide
