// Exponentials, logarithms, roots, maxima, selects: which of their identities hold for all values,
// and under what sign.
#include <flint/fmpz.h>
#include <flint/fmpz_factor.h>

#include <algorithm>

#include "decide/canonical/algebra.h"

namespace coequal::decide {

using term::Kind;

namespace {

constexpr int64_t kWrittenOut = 1200;  // exponents of 2 that become a coefficient
const Rational& half() {
  static const Rational value(1, 2);
  return value;
}

bool is_even_integer(const Rational& x) { return (x * half()).is_integer(); }

// Prime factors of n / d with their powers; empty if a part is too large to factor at once.
std::optional<std::vector<std::pair<int64_t, int64_t>>> factorize(const Rational& c) {
  std::vector<std::pair<int64_t, int64_t>> out;
  for (int side = 0; side < 2; ++side) {
    const fmpz* n = side ? fmpq_denref(c.get()) : fmpq_numref(c.get());
    fmpz_t rest;
    fmpz_init_set(rest, n);
    const auto twos = static_cast<int64_t>(fmpz_val2(rest));
    fmpz_tdiv_q_2exp(rest, rest, static_cast<ulong>(twos));
    if (twos) out.emplace_back(2, side ? -twos : twos);
    bool ok = fmpz_bits(rest) <= 62;
    if (ok && !fmpz_is_one(rest)) {
      fmpz_factor_t factors;
      fmpz_factor_init(factors);
      fmpz_factor(factors, rest);
      for (slong i = 0; i < factors->num; ++i)
        out.emplace_back(fmpz_get_si(factors->p + i), side ? -static_cast<int64_t>(factors->exp[i])
                                                           : static_cast<int64_t>(factors->exp[i]));
      fmpz_factor_clear(factors);
    }
    fmpz_clear(rest);
    if (!ok) return std::nullopt;
  }
  return out;
}

}  // namespace

Value Algebra::log_of_rational(const Rational& c) {
  if (c.is_one()) return {};
  auto log_atom = [&](const Rational& x) {
    Atom atom;
    atom.kind = AtomKind::Log;
    atom.args = {number(x)};
    return of_atom(std::move(atom));
  };
  if (const auto primes = factorize(c)) {
    std::vector<Value> terms;
    for (const auto& [p, k] : *primes) {
      if (p == 5) {  // of the two symbols for it that of 10 is kept
        terms.push_back(scale(symbol(term::NamedConstant::Log2_10), k));
        terms.push_back(number(-k));
      } else {
        terms.push_back(p == 2 ? number(k) : scale(log_atom(p), k));
      }
    }
    return sum(std::move(terms));
  }
  return c > Rational(1) ? log_atom(c) : negate(log_atom(Rational(1) / c));
}

Value Algebra::rational_power(const Rational& base, const Rational& exponent) {
  if (base.is_one()) return number(1);
  if (base.sign() <= 0) return undefined();
  if (exponent == half())
    if (const auto root = base.exact_sqrt()) return number(*root);
  if (const auto primes = factorize(base)) {
    Value out = number(1);
    for (const auto& [p, k] : *primes) out = mul(out, prime_power(p, exponent * Rational(k)));
    return out;
  }
  return exp2(scale(log_of_rational(base), exponent));
}

Value Algebra::exp2(const Value& a) {
  if (a.is_zero()) return number(1);
  if (is_undefined(a)) return a;
  if (is_infinity(a)) return a.c.sign() > 0 ? a : Value{};
  auto power_of_two = [&](const Rational& e) {
    if (e < Rational(kWrittenOut) && e > Rational(-kWrittenOut)) return prime_power(2, e);
    Atom atom;
    atom.kind = AtomKind::Exp;
    atom.args = {number(1)};
    return Value{Rational(1), intern_mono({{intern_atom(std::move(atom)), e}})};
  };
  if (a.is_number()) return power_of_two(a.c);
  const auto terms = expand(a, kExponentTerms);
  const std::vector<Value> parts = terms ? *terms : std::vector<Value>{a};
  std::vector<Factor> powers;  // of Exp atoms
  Value rest = number(1);
  for (const Value& t : parts) {
    if (t.is_number()) {
      rest = mul(rest, power_of_two(t.c));
      continue;
    }
    const auto id = single(t.m);
    if (id && atoms_[*id].kind == AtomKind::Symbol &&
        atoms_[*id].a == static_cast<uint32_t>(term::NamedConstant::Log2_10)) {
      rest = mul(rest, rational_power(Rational(10), t.c));
      continue;
    }
    if (id && atoms_[*id].kind == AtomKind::Log) {
      const Value w = atoms_[*id].args[0];
      // The logarithm is defined, so w > 0; a product's factors may be negative in pairs.
      // A number that has no known factors stays below its logarithm: its root is written that way.
      if (t.c.is_integer() ||
          (!w.is_number() && (range(w).positive() || (w.c.is_one() && single(w.m))))) {
        rest = mul(rest, power(w, t.c));
        continue;
      }
    }
    // 2^(c f Select(k, a, -inf)) = Select(k, 2^(c f a), 0), f positive.
    const std::vector<Factor> factors = monos_[t.m];
    int infinite = -1;
    bool others_positive = true;
    for (size_t i = 0; i < factors.size(); ++i) {
      if (factors[i].exponent.is_one() && atoms_[factors[i].atom].kind == AtomKind::Select &&
          has_infinite_arm(factors[i].atom) && infinite < 0)
        infinite = static_cast<int>(i);
      else if (!power_range(factors[i].atom, factors[i].exponent).positive())
        others_positive = false;
    }
    if (infinite >= 0 && others_positive) {
      std::vector<Factor> others = factors;
      const AtomId s = factors[static_cast<size_t>(infinite)].atom;
      others.erase(others.begin() + infinite);
      const Value outside{t.c, intern_mono(std::move(others))};
      const Value then = atoms_[s].args[0], other = atoms_[s].args[1];
      rest = mul(rest,
                 select(atoms_[s].condition, exp2(mul(outside, then)), exp2(mul(outside, other))));
      continue;
    }
    Atom atom;
    atom.kind = AtomKind::Exp;
    atom.args = {Value{Rational(1), t.m}};
    powers.push_back({intern_atom(std::move(atom)), t.c});
  }
  std::sort(powers.begin(), powers.end(),
            [](const Factor& x, const Factor& y) { return x.atom < y.atom; });
  return mul(rest, {Rational(1), intern_mono(std::move(powers))});
}

Value Algebra::log2(const Value& a) {
  if (a.is_zero() || is_undefined(a)) return undefined();
  if (is_infinity(a)) return a.c.sign() > 0 ? a : undefined();
  std::vector<Value> terms;
  std::vector<Factor> unknown;
  auto log_atom = [&](const Value& v) {
    Atom atom;
    atom.kind = AtomKind::Log;
    atom.args = {v};
    return of_atom(std::move(atom));
  };
  int sign = a.c.sign();
  const std::vector<Factor> factors = monos_[a.m];
  for (const Factor& f : factors) {
    const Atom& atom = atoms_[f.atom];
    if (atom.kind == AtomKind::Exp && !atom.may_be_infinite)
      terms.push_back(scale(atom.args[0], f.exponent));
    else if (atom.kind == AtomKind::Prime)
      terms.push_back(scale(log_of_rational(Rational(atom.b)), f.exponent));
    else if (atom.range.positive() || (!f.exponent.is_integer() && atom.range.nonnegative()))
      terms.push_back(scale(log_atom(of_atom(f.atom)), f.exponent));
    else if (is_even_integer(f.exponent))  // the argument is not 0 where the logarithm is defined
      terms.push_back(scale(log2(abs(of_atom(f.atom))), f.exponent));
    else
      unknown.push_back(f);
  }
  terms.push_back(log_of_rational(sign < 0 ? -a.c : a.c));
  if (unknown.empty() && sign < 0) return undefined();
  if (unknown.size() == 1 && sign > 0 &&
      (unknown[0].exponent.is_integer() || unknown[0].exponent.sign() > 0)) {
    // An odd power is positive only where its base is.
    terms.push_back(scale(log_atom(of_atom(unknown[0].atom)), unknown[0].exponent));
  } else if (!unknown.empty()) {
    terms.push_back(log_atom({Rational(sign), intern_mono(std::move(unknown))}));
  }
  return sum(std::move(terms));
}

Value Algebra::sqrt(const Value& a) {
  if (a.is_zero() || is_undefined(a)) return a;
  if (is_infinity(a)) return a.c.sign() > 0 ? a : undefined();
  const std::vector<Factor> factors = monos_[a.m];
  const bool negative = a.c.sign() < 0;
  Value out = rational_power(negative ? -a.c : a.c, half());
  std::vector<Factor> unknown;
  for (const Factor& f : factors) {
    const Atom& atom = atoms_[f.atom];
    if (atom.range.nonnegative() || !f.exponent.is_integer()) {
      out = mul(out, {Rational(1), intern_mono({{f.atom, f.exponent * half()}})});
      continue;
    }
    // a^(2k) leaves as |a|^k; of an odd power one a stays.
    const bool even = is_even_integer(f.exponent);
    const Rational leaving = even ? f.exponent : f.exponent - Rational(1);
    if (!leaving.is_zero()) out = mul(out, power(abs(of_atom(f.atom)), leaving * half()));
    if (!even) unknown.push_back({f.atom, Rational(1)});
  }
  if (unknown.empty() && !negative) return out;
  // A radicand that is never positive: the root is 0 where it is defined, if it is anywhere.
  if (unknown.empty()) return range(a).negative() ? undefined() : Value{};
  if (unknown.size() == 1 && !negative)
    return mul(out, {Rational(1), intern_mono({{unknown[0].atom, half()}})});
  Atom atom;
  atom.kind = AtomKind::Root;
  atom.args = {Value{Rational(negative ? -1 : 1), intern_mono(std::move(unknown))}};
  return mul(out, of_atom(std::move(atom)));
}

Value Algebra::abs(const Value& a) {
  if (a.is_zero() || is_undefined(a)) return a;
  if (is_infinity(a)) return infinity(false);
  const std::vector<Factor> factors = monos_[a.m];
  Value out = number(a.c.sign() < 0 ? -a.c : a.c);
  for (const Factor& f : factors) {
    const Atom& atom = atoms_[f.atom];
    const Value whole{Rational(1), intern_mono({f})};
    if (atom.range.nonnegative() || !f.exponent.is_integer() || is_even_integer(f.exponent)) {
      out = mul(out, whole);
    } else if (atom.range.nonpositive()) {
      out = mul(out, negate(whole));
    } else {
      Atom size;
      size.kind = AtomKind::Abs;
      size.args = {of_atom(f.atom)};
      const Value v = of_atom(std::move(size));
      out = mul(out,
                f.exponent.is_one() ? v : mul(power(of_atom(f.atom), f.exponent - Rational(1)), v));
    }
  }
  return out;
}

Value Algebra::max(const Value& a, const Value& b) {
  if (a == b) return a;
  return max_of({a, b});
}

Value Algebra::max_of(std::vector<Value> args, size_t flat_limit) {
  for (const Value& v : args)
    if (is_undefined(v)) return v;
  for (const Value& v : args)
    if (is_infinity(v) && v.c.sign() > 0) return v;
  std::erase_if(args, [&](const Value& v) { return args.size() > 1 && is_infinity(v); });
  if (args.empty()) return infinity(true);

  // Powers of two grow with their exponents: max(2^a, 2^b) = 2^max(a, b).
  auto is_power = [&](const Value& v) {
    if (!v.c.is_one()) return false;
    for (const Factor& f : monos_[v.m])
      if (atoms_[f.atom].kind != AtomKind::Exp || atoms_[f.atom].may_be_infinite) return false;
    return true;
  };
  if (args.size() > 1 && args.size() <= flat_limit &&
      std::all_of(args.begin(), args.end(), is_power)) {
    for (Value& v : args) v = log2(v);
    return exp2(max_of(std::move(args), flat_limit));
  }

  // Factors that are not negative come out (of 0 as well: 0 = f * 0, when f is finite).
  std::vector<Value> nonzero;
  for (const Value& v : args)
    if (!v.is_zero()) nonzero.push_back(v);
  MonoId outer = kOne;
  if (!nonzero.empty()) {
    std::vector<Factor> factors = monos_[common_factor(nonzero, false)];
    std::erase_if(factors, [&](const Factor& f) {
      const Atom& atom = atoms_[f.atom];
      if (!power_range(f.atom, f.exponent).nonnegative()) return true;
      // Beside a 0 the factor must be finite wherever the maximum is.
      return nonzero.size() < args.size() && (!atom.total || atom.may_be_infinite ||
                                              (f.exponent.sign() < 0 && !atom.range.not_zero()));
    });
    outer = intern_mono(std::move(factors));
  }
  if (outer != kOne)
    for (Value& v : args)
      if (!v.is_zero()) v.m = divide(v.m, outer);

  // Maxima among the arguments are opened while the list stays short.
  size_t size = 0;
  for (const Value& v : args) {
    const auto id = single(v.m);
    size += id && atoms_[*id].kind == AtomKind::Max && v.c.sign() > 0 ? atoms_[*id].args.size() : 1;
  }
  if (size <= flat_limit) {
    std::vector<Value> flat;
    for (const Value& v : args) {
      const auto id = single(v.m);
      if (id && atoms_[*id].kind == AtomKind::Max && v.c.sign() > 0)
        for (const Value& inner : atoms_[*id].args) flat.push_back(scale(inner, v.c));
      else
        flat.push_back(v);
    }
    args.swap(flat);
  }
  std::sort(args.begin(), args.end(),
            [](const Value& x, const Value& y) { return x.m != y.m ? x.m < y.m : x.c < y.c; });
  args.erase(std::unique(args.begin(), args.end()), args.end());
  // What lies below another argument everywhere is dropped, if it is defined everywhere: of equal
  // monomials that are not negative the larger coefficient, and ranges that do not meet.
  std::vector<char> dropped(args.size(), 0);
  // Inputs are finite values of their dtype, which matters beside constants as large as that.
  std::vector<Range> ranges;
  const bool has_number =
      std::any_of(args.begin(), args.end(), [](const Value& v) { return v.is_number(); });
  for (const Value& v : args) {
    ranges.push_back(range(v));
    const auto id = single(v.m);
    if (!has_number || !id || atoms_[*id].kind != AtomKind::Leaf) continue;
    const term::Group& group = store_.group(static_cast<term::GroupId>(atoms_[*id].a));
    if (group.kind != term::Group::Kind::Input || !is_float(group.dtype)) continue;
    const Rational most =
        Rational::from_double(dtype_max_finite(group.dtype)) * (v.c.sign() < 0 ? -v.c : v.c);
    if (!ranges.back().lo) ranges.back().lo = -most;
    if (!ranges.back().hi) ranges.back().hi = most;
  }
  std::optional<Rational> best;
  for (const Range& r : ranges)
    if (r.lo && (!best || *r.lo > *best)) best = r.lo;
  size_t keep_at = args.size();
  if (best) {
    for (size_t i = args.size();
         i-- > 0 && keep_at == args.size();)  // numbers come first: rather drop those
      if (ranges[i].lo && *ranges[i].lo == *best) keep_at = i;
    for (size_t i = 0; i < args.size(); ++i)
      if (i != keep_at && ranges[i].hi && *ranges[i].hi <= *best) dropped[i] = 1;
  }
  for (size_t i = 0; i + 1 < args.size(); ++i)
    if (args[i].m == args[i + 1].m && range({Rational(1), args[i].m}).nonnegative()) dropped[i] = 1;
  std::vector<Value> kept;
  for (size_t i = 0; i < args.size(); ++i)
    if (!dropped[i]) kept.push_back(std::move(args[i]));
  const Value outside{Rational(1), outer};
  if (kept.size() == 1) return mul(outside, kept[0]);
  if (kept.size() == 2 && kept[0].m == kept[1].m && (kept[0].c + kept[1].c).is_zero())
    return mul(outside, abs(kept[0]));
  const Value& first = kept[0].is_zero() ? kept[1] : kept[0];
  const Rational size_of_first = first.c.sign() < 0 ? -first.c : first.c;
  if (!size_of_first.is_one())
    for (Value& v : kept) v.c = v.c / size_of_first;
  Atom atom;
  atom.kind = AtomKind::Max;
  atom.args = std::move(kept);
  return mul(scale(outside, size_of_first), of_atom(std::move(atom)));
}

// tanh x = (e^2x - 1) / (e^2x + 1): written with the exponential, so that the logistic forms meet.
Value Algebra::tanh(const Value& a) {
  if (is_undefined(a) || a.is_zero()) return a;
  if (is_infinity(a)) return number(a.c.sign());
  const Value e = exp2(scale(mul(a, symbol(term::NamedConstant::Log2E)), 2));
  return mul(add(e, number(-1)), inverse(add(e, number(1))));
}

bool Algebra::has_infinite_arm(AtomId id) const {
  const Atom& atom = atoms_[id];
  return is_infinity(atom.args[0]) || is_infinity(atom.args[1]);
}

// The flag of a conjunction is the product of the flags, in any reading of a condition that is not
// defined.
Value Algebra::indicator(CondId c) {
  if (c <= kFalse) return c == kTrue ? number(1) : Value{};
  if ((c & 1) && cond(c).kind == CondKind::Or) {
    Value out = number(1);
    const std::vector<CondId> parts = cond(c).args;
    for (CondId part : parts) out = mul(out, indicator(negation(part)));
    return out;
  }
  Atom atom;
  atom.kind = AtomKind::Indicator;
  atom.condition = c;
  return of_atom(std::move(atom));
}

// The value where the literals hold: its flags and choices that they decide, those of a short sum's
// terms as well.
Value Algebra::under(const Value& v, const std::vector<CondId>& literals, bool open_sums) {
  std::vector<Factor> kept = monos_[v.m];
  std::vector<Value> replaced;
  std::erase_if(kept, [&](const Factor& f) {
    const Atom& atom = atoms_[f.atom];
    if (atom.kind == AtomKind::Indicator) {
      const auto holds = implied(literals, atom.condition);
      if (!holds) return false;
      replaced.push_back(*holds ? number(1) : power({}, f.exponent));
      return true;
    }
    if (!f.exponent.is_one()) return false;
    if (atom.kind == AtomKind::Select) {
      const auto holds = implied(literals, atom.condition);
      if (!holds) return false;
      replaced.push_back(atom.args[*holds ? 0 : 1]);
      return true;
    }
    if (!open_sums || atom.kind != AtomKind::Sum || atom.args.size() > 2 * kFlatTerms) return false;
    std::vector<Value> args = atom.args;
    bool changed = false;
    for (Value& t : args) {
      const Value now = under(t, literals, false);
      changed = changed || !(now == t);
      t = now;
    }
    if (!changed) return false;
    replaced.push_back(sum(std::move(args)));
    return true;
  });
  if (replaced.empty()) return v;
  Value out{v.c, intern_mono(std::move(kept))};
  for (const Value& x : replaced) out = mul(out, x);
  return under(out, literals, open_sums);
}

Value Algebra::select(CondId c, const Value& then, const Value& other) {
  if (c == kTrue) return then;
  if (c == kFalse) return other;
  if (then == other) return then;
  if (c & 1) return select(negation(c), other, then);

  // What the condition decides inside the arms: each counts only where it is chosen.
  const Value a = under(then, literals_of(c)), b = under(other, literals_of(negation(c)));
  if (!(a == then) || !(b == other)) return select(c, a, b);

  const bool infinite = is_infinity(a) || is_infinity(b);
  if (cond(c).kind == CondKind::Positive && !infinite && !is_undefined(a) && !is_undefined(b)) {
    // a > b ? a : b and its relatives. Equality makes no difference.
    const Value d = sub(a, b), e = negate(d);
    if (positive(d) == c || nonnegative(d) == c) return max(a, b);
    if (positive(e) == c || nonnegative(e) == c) return min(a, b);
  }
  auto atom_of = [&](CondId condition, const Value& x, const Value& y) {
    Atom atom;
    atom.kind = AtomKind::Select;
    atom.condition = condition;
    atom.args = {x, y};
    return of_atom(std::move(atom));
  };
  // Beside an arm that lacks it, a factor may come out only if it is finite where the other arm is
  // chosen.
  auto split = [&](const Value& v, bool positive_only, Value& outside) {
    std::vector<Factor> out, in;
    for (const Factor& f : monos_[v.m]) {
      const MonoId m = intern_mono({f});
      const bool leaves = total(m) && (!positive_only || range({Rational(1), m}).positive());
      (leaves ? out : in).push_back(f);
    }
    outside = {Rational(1), intern_mono(std::move(out))};
    return intern_mono(std::move(in));
  };
  if (infinite) {
    if (is_infinity(a) && is_infinity(b)) return atom_of(c, a, b);
    const Value& finite = is_infinity(a) ? b : a;
    if (finite.is_zero() || is_undefined(finite)) return atom_of(c, a, b);
    Value outside;
    const MonoId inside = split(finite, true, outside);
    const Rational size = finite.c.sign() < 0 ? -finite.c : finite.c;
    const Value kept{Rational(finite.c.sign()), inside};
    return mul(scale(outside, size), is_infinity(a) ? atom_of(c, a, kept) : atom_of(c, kept, b));
  }
  if (is_undefined(a) || is_undefined(b)) return atom_of(c, a, b);
  if (a.is_zero() || b.is_zero()) {
    const Value& rest = a.is_zero() ? b : a;
    Value outside;
    const MonoId inside = split(rest, false, outside);
    Value chosen;
    if (inside == kOne) {
      chosen = indicator(a.is_zero() ? negation(c) : c);
    } else {
      const Value in{Rational(1), inside};
      chosen = a.is_zero() ? atom_of(c, {}, in) : atom_of(c, in, {});
    }
    return mul(scale(outside, rest.c), chosen);
  }
  // k ? b + d : b is b + (k ? d : 0), for a d that is shorter than what it is the difference of.
  if (total(a.m) && total(b.m)) {
    auto length = [&](const Value& v) {
      if (v.is_zero()) return size_t{0};
      const auto id = single(v.m);
      return id && atoms_[*id].kind == AtomKind::Sum ? atoms_[*id].args.size() : size_t{1};
    };
    const Value d = sub(a, b);
    if (length(d) + 1 < length(a) + length(b)) return add(b, select(c, d, {}));
  }
  const MonoId common = common_factor(std::vector<Value>{a, b}, false);
  const Value x{Rational(1), divide(a.m, common)};
  const Value y{b.c / a.c, divide(b.m, common)};
  if (x == y) return mul({a.c, common}, x);
  // What both arms add leaves: c ? r + s : r + t is r + (c ? s : t). Both arms mention r, so its
  // atoms are defined whichever is chosen, and the rests stay guarded. Chains of c ? old + s : old
  // become sums over their conditions.
  auto terms_of = [&](const Value& v) {
    const auto id = single(v.m);
    if (!id || atoms_[*id].kind != AtomKind::Sum) return std::vector<Value>{v};
    std::vector<Value> out = atoms_[*id].args;
    for (Value& t : out) t.c = t.c * v.c;
    return out;
  };
  std::vector<Value> in_x = terms_of(x), in_y = terms_of(y), shared;
  if (std::find(in_x.begin(), in_x.end(), y) != in_x.end()) in_y = {y};
  if (std::find(in_y.begin(), in_y.end(), x) != in_y.end()) in_x = {x};
  std::erase_if(in_x, [&](const Value& t) {
    const auto it = std::find(in_y.begin(), in_y.end(), t);
    if (it == in_y.end()) return false;
    in_y.erase(it);
    shared.push_back(t);
    return true;
  });
  if (!shared.empty()) {
    shared.push_back(select(c, sum(std::move(in_x)), sum(std::move(in_y))));
    return mul({a.c, common}, sum(std::move(shared)));
  }
  return mul({a.c, common}, atom_of(c, x, y));
}

Value Algebra::function(Kind kind, std::vector<Value> args) {
  for (const Value& v : args)
    if (is_undefined(v)) return v;
  const Value& x = args[0];
  auto integer_valued = [&](const Value& v) {
    if (v.is_number()) return v.c.is_integer();
    const auto id = single(v.m);
    if (!id || !v.c.is_integer()) return false;
    const Atom& atom = atoms_[*id];
    if (atom.kind == AtomKind::OfWord)
      return atom.a == static_cast<uint32_t>(Kind::RealOfSigned) ||
             atom.a == static_cast<uint32_t>(Kind::RealOfUnsigned);
    if (atom.kind != AtomKind::Function) return false;
    const Kind k = static_cast<Kind>(atom.a);
    return k == Kind::Floor || k == Kind::Trunc || k == Kind::RoundEven;
  };
  switch (kind) {
    case Kind::Ceil:
      return negate(function(Kind::Floor, {negate(x)}));
    case Kind::Floor:
      if (x.is_number()) return number(x.c.floor());
      if (integer_valued(x) || is_infinity(x)) return x;
      break;
    case Kind::Trunc:
      if (x.is_number()) return number(x.c.sign() >= 0 ? x.c.floor() : -(-x.c).floor());
      if (integer_valued(x) || is_infinity(x)) return x;
      if (x.c.sign() < 0) return negate(function(kind, {negate(x)}));
      break;
    case Kind::RoundEven: {
      if (integer_valued(x) || is_infinity(x)) return x;
      if (x.is_number()) {
        const Rational low = x.c.floor(), rest = x.c - low;
        if (rest < half()) return number(low);
        if (rest > half() || !is_even_integer(low)) return number(low + Rational(1));
        return number(low);
      }
      if (x.c.sign() < 0) return negate(function(kind, {negate(x)}));
      break;
    }
    case Kind::Sin:
      if (x.is_zero()) return x;
      if (is_infinity(x)) return undefined();
      if (x.c.sign() < 0) return negate(function(kind, {negate(x)}));
      break;
    case Kind::Cos:
      if (x.is_zero()) return number(1);
      if (is_infinity(x)) return undefined();
      if (x.c.sign() < 0) return function(kind, {negate(x)});
      break;
    case Kind::Erf:
      if (x.is_zero()) return x;
      if (is_infinity(x)) return number(x.c.sign());
      if (x.c.sign() < 0) return negate(function(kind, {negate(x)}));
      break;
    case Kind::Atan:
      if (x.is_zero()) return x;
      if (is_infinity(x)) return scale(symbol(term::NamedConstant::Pi), Rational(x.c.sign(), 2));
      if (x.c.sign() < 0) return negate(function(kind, {negate(x)}));
      break;
    case Kind::ErfInv:
      if (x.is_zero()) return x;
      if (is_infinity(x)) return undefined();
      if (x.c.sign() < 0) return negate(function(kind, {negate(x)}));
      break;
    case Kind::Gamma:
    case Kind::LogGamma:
      if (is_infinity(x)) return x.c.sign() < 0 ? undefined() : x;
      break;
    default:
      break;
  }
  Atom atom;
  atom.kind = AtomKind::Function;
  atom.a = static_cast<uint32_t>(kind);
  atom.args = std::move(args);
  return of_atom(std::move(atom));
}

}  // namespace coequal::decide
