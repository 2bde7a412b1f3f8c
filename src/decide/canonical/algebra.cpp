// Interning of atoms and monomials, products and sums.
#include "decide/canonical/algebra.h"

#include <algorithm>

#include "term/hash.h"

namespace coequal::decide {

using term::mix;

namespace {

uint64_t hash_of(const Value& v) { return mix(v.c.hash(), v.m); }

bool is_odd_integer(const Rational& x) {
  return x.is_integer() && !(x * Rational(1, 2)).is_integer();
}
bool is_even_integer(const Rational& x) { return (x * Rational(1, 2)).is_integer(); }

Rational minimum(const Rational& a, const Rational& b) { return a < b ? a : b; }

}  // namespace

Algebra::Algebra(const term::TermStore& store) : store_(store) {
  intern_mono({});
  conds_.push_back({CondKind::True, true, 0, {}, 0, 0, {}, 0});
  Atom infinity;
  infinity.kind = AtomKind::Infinity;
  infinity_ = of_atom(std::move(infinity)).m;
  Atom undefined;
  undefined.kind = AtomKind::Undefined;
  undefined_ = of_atom(std::move(undefined)).m;
}

// ---- Interning ----

MonoId Algebra::intern_mono(std::vector<Factor> factors) {
  uint64_t h = 0x51;
  for (const Factor& f : factors) h = mix(mix(h, f.atom), f.exponent.hash());
  const uint32_t found = mono_index_.find(h, [&](uint32_t id) { return monos_[id] == factors; });
  if (found != term::IdTable::kNone) return found;
  const auto id = static_cast<MonoId>(monos_.size());
  bytes_ += 64 + factors.size() * sizeof(Factor);
  monos_.push_back(std::move(factors));
  mono_index_.insert(h, id);
  return id;
}

AtomId Algebra::intern_atom(Atom atom) {
  uint64_t h = mix(static_cast<uint64_t>(atom.kind), atom.a);
  h = mix(mix(mix(h, static_cast<uint64_t>(atom.b)), atom.condition), atom.word);
  for (const Value& v : atom.args) h = mix(h, hash_of(v));
  const uint32_t found = atom_index_.find(h, [&](uint32_t id) {
    const Atom& other = atoms_[id];
    return other.kind == atom.kind && other.a == atom.a && other.b == atom.b &&
           other.condition == atom.condition && other.word == atom.word && other.args == atom.args;
  });
  if (found != term::IdTable::kNone) return found;
  finish(atom);
  const auto id = static_cast<AtomId>(atoms_.size());
  bytes_ += sizeof(Atom) + atom.args.size() * sizeof(Value);
  atoms_.push_back(std::move(atom));
  atom_index_.insert(h, id);
  return id;
}

std::optional<AtomId> Algebra::single(MonoId m) const {
  const std::vector<Factor>& f = monos_[m];
  if (f.size() == 1 && f[0].exponent.is_one()) return f[0].atom;
  return std::nullopt;
}

uint32_t Algebra::depth(MonoId m) const {
  uint32_t d = 0;
  for (const Factor& f : monos_[m]) d = std::max(d, atoms_[f.atom].depth);
  return d;
}

bool Algebra::may_be_infinite(MonoId m) const {
  for (const Factor& f : monos_[m])
    if (atoms_[f.atom].may_be_infinite) return true;
  return false;
}

bool Algebra::total(MonoId m) const {
  for (const Factor& f : monos_[m]) {
    const Atom& atom = atoms_[f.atom];
    if (!atom.total || atom.may_be_infinite) return false;
    if (f.exponent.sign() < 0 && !atom.range.not_zero()) return false;
    if (!f.exponent.is_integer() && !atom.range.nonnegative()) return false;
  }
  return true;
}

// ---- Simple values ----

Value Algebra::leaf(term::GroupId group, int64_t cell) {
  Atom atom;
  atom.kind = AtomKind::Leaf;
  atom.a = group;
  atom.b = cell;
  return of_atom(std::move(atom));
}

Value Algebra::poison(term::GroupId group, int64_t cell) {
  Atom atom;
  atom.kind = AtomKind::Poison;
  atom.a = group;
  atom.b = cell;
  return of_atom(std::move(atom));
}

Value Algebra::scalar(uint32_t index) {
  Atom atom;
  atom.kind = AtomKind::Scalar;
  atom.a = index;
  return of_atom(std::move(atom));
}

Value Algebra::symbol(term::NamedConstant constant) {
  using term::NamedConstant;
  auto basic = [&](NamedConstant c) {
    Atom atom;
    atom.kind = AtomKind::Symbol;
    atom.a = static_cast<uint32_t>(c);
    return of_atom(std::move(atom));
  };
  const Value pi = basic(NamedConstant::Pi), log2e = basic(NamedConstant::Log2E);
  const Rational half(1, 2);
  switch (constant) {
    case NamedConstant::Log2E:
      return log2e;
    case NamedConstant::Ln2:
      return inverse(log2e);
    case NamedConstant::Log2_10:
      return basic(NamedConstant::Log2_10);
    case NamedConstant::Log10_2:
      return inverse(basic(NamedConstant::Log2_10));
    case NamedConstant::InvLn10:
      return mul(log2e, inverse(basic(NamedConstant::Log2_10)));
    case NamedConstant::Pi:
      return pi;
    case NamedConstant::InvPi:
      return inverse(pi);
    case NamedConstant::TwoOverPi:
      return scale(inverse(pi), 2);
    case NamedConstant::HalfPi:
      return scale(pi, half);
    case NamedConstant::Sqrt2:
      return prime_power(2, half);
    case NamedConstant::InvSqrt2:
      return scale(prime_power(2, half), half);
    case NamedConstant::SqrtTwoOverPi:
      return mul(prime_power(2, half), power(pi, -half));
    case NamedConstant::InvSqrtPi:
      return power(pi, -half);
    case NamedConstant::TwoOverSqrtPi:
      return scale(power(pi, -half), 2);
    case NamedConstant::InvSqrtTwoPi:
      return scale(mul(prime_power(2, half), power(pi, -half)), half);
  }
  CHECK(false);
  return {};
}

Value Algebra::prime_power(int64_t base, const Rational& exponent) {
  const Rational whole = exponent.floor();
  const Rational rest = exponent - whole;
  const auto n = whole.as_int64();
  CHECK(n && *n > -100000 && *n < 100000);
  const Rational c = Rational(base).pow(*n);
  if (rest.is_zero()) return number(c);
  Atom atom;
  atom.kind = AtomKind::Prime;
  atom.b = base;
  return {c, intern_mono({{intern_atom(std::move(atom)), rest}})};
}

// ---- Products ----

// Powers that are written in another way: they arise only when factors meet.
bool Algebra::special_power(const Atom& atom, const Rational& e) const {
  switch (atom.kind) {
    case AtomKind::Prime:
      return e.sign() < 0 || e >= Rational(1);
    case AtomKind::Abs:
      return e.is_integer() && !e.is_one();
    case AtomKind::Root:
      return e.is_integer() && !e.is_one();
    case AtomKind::Indicator:
      return !e.is_one() && e.sign() > 0;
    case AtomKind::Function:
      return static_cast<term::Kind>(atom.a) == term::Kind::Cos && e.is_integer() &&
             e > Rational(1);
    default:
      return false;
  }
}

Value Algebra::tidy(std::vector<Factor> factors, Rational c) {
  for (size_t i = 0; i < factors.size(); ++i) {
    const AtomId id = factors[i].atom;
    const AtomKind kind = atoms_[id].kind;
    const Rational e = factors[i].exponent;
    if (!special_power(atoms_[id], e)) continue;
    factors.erase(factors.begin() + static_cast<ptrdiff_t>(i));
    Value special;
    switch (kind) {
      case AtomKind::Prime:
        special = prime_power(atoms_[id].b, e);
        break;
      case AtomKind::Abs: {  // |a|^2 = a^2; |a|^-1 = a^-2 |a|
        const Value base = atoms_[id].args[0];
        special =
            is_even_integer(e) ? power(base, e) : mul(power(base, e - Rational(1)), of_atom(id));
        break;
      }
      case AtomKind::Root: {
        const Value radicand = atoms_[id].args[0];
        const Rational half = (e * Rational(1, 2)).floor();
        special = power(radicand, half);
        if (is_odd_integer(e)) special = mul(special, of_atom(id));
        break;
      }
      case AtomKind::Indicator:
        special = of_atom(id);
        break;
      case AtomKind::Function: {  // cos^2 = 1 - sin^2
        const Value sine = function(term::Kind::Sin, atoms_[id].args);
        const Rational half = (e * Rational(1, 2)).floor();
        special = power(sub(number(1), mul(sine, sine)), half);
        if (is_odd_integer(e)) special = mul(special, of_atom(id));
        break;
      }
      default:
        CHECK(false);
    }
    const Value rest = tidy(std::move(factors), std::move(c));
    return mul(rest, special);
  }
  return {std::move(c), intern_mono(std::move(factors))};
}

Value Algebra::mul(const Value& a, const Value& b) {
  if (a.is_zero() || b.is_zero()) {
    if (is_undefined(a) || is_undefined(b)) return undefined();
    // 0 times an infinity is undefined; a value that may be infinite is undefined there.
    if (is_infinity(a) || is_infinity(b)) return undefined();
    return {};
  }
  if (is_undefined(a) || is_undefined(b)) return undefined();
  if (is_infinity(a) || is_infinity(b)) {
    const Value& other = is_infinity(a) ? b : a;
    const Value& inf = is_infinity(a) ? a : b;
    const Range r = range(other);
    if (r.positive()) return infinity(inf.c.sign() < 0);
    if (r.negative()) return infinity(inf.c.sign() > 0);
  }
  Rational c = a.c * b.c;
  if (a.m == kOne) return {std::move(c), b.m};
  if (b.m == kOne) return {std::move(c), a.m};
  const std::vector<Factor>& x = monos_[a.m];
  const std::vector<Factor>& y = monos_[b.m];
  std::vector<Factor> merged;
  merged.reserve(x.size() + y.size());
  size_t i = 0, j = 0;
  bool special = false;
  while (i < x.size() || j < y.size()) {
    if (j == y.size() || (i < x.size() && x[i].atom < y[j].atom)) {
      merged.push_back(x[i++]);
    } else if (i == x.size() || y[j].atom < x[i].atom) {
      merged.push_back(y[j++]);
    } else {
      Rational e = x[i].exponent + y[j].exponent;
      if (!e.is_zero()) {
        special = special || special_power(atoms_[x[i].atom], e);
        merged.push_back({x[i].atom, std::move(e)});
      }
      ++i, ++j;
    }
  }
  if (special) return tidy(std::move(merged), std::move(c));
  return {std::move(c), intern_mono(std::move(merged))};
}

Value Algebra::inverse(const Value& a) {
  if (is_undefined(a) || a.is_zero()) return undefined();
  if (is_infinity(a)) return {};
  return power(a, Rational(-1));
}

Value Algebra::power(const Value& a, const Rational& exponent) {
  if (exponent.is_zero()) return number(1);
  if (exponent.is_one()) return a;
  if (is_undefined(a)) return a;
  if (a.is_zero()) return exponent.sign() > 0 ? a : undefined();
  if (is_infinity(a)) {
    if (exponent.sign() < 0) return {};
    return infinity(a.c.sign() < 0 && is_odd_integer(exponent));
  }
  std::vector<Factor> factors = monos_[a.m];
  bool special = false;
  for (Factor& f : factors) {
    f.exponent = f.exponent * exponent;
    special = special || special_power(atoms_[f.atom], f.exponent);
  }
  Value c = number(1);
  if (const auto n = exponent.as_int64(); exponent.is_integer() && n)
    c.c = a.c.pow(*n);
  else
    c = rational_power(a.c, exponent);
  if (special) return mul(c, tidy(std::move(factors), Rational(1)));
  return mul(c, {Rational(1), intern_mono(std::move(factors))});
}

MonoId Algebra::divide(MonoId m, MonoId by) {
  if (by == kOne) return m;
  if (m == by) return kOne;
  const std::vector<Factor>& x = monos_[m];
  const std::vector<Factor>& y = monos_[by];
  std::vector<Factor> out;
  out.reserve(x.size() + y.size());
  size_t i = 0, j = 0;
  while (i < x.size() || j < y.size()) {
    if (j == y.size() || (i < x.size() && x[i].atom < y[j].atom)) {
      out.push_back(x[i++]);
    } else if (i == x.size() || y[j].atom < x[i].atom) {
      out.push_back({y[j].atom, -y[j].exponent});
      ++j;
    } else {
      Rational e = x[i].exponent - y[j].exponent;
      if (!e.is_zero()) out.push_back({x[i].atom, std::move(e)});
      ++i, ++j;
    }
  }
  return intern_mono(std::move(out));
}

// The common factor of all terms: per atom the least power, an absent atom counting as power 0. A
// negative power that not all terms have is taken out only if the terms' denominators are nested,
// else sums of fractions would be brought to a product of all denominators. Special powers (see
// special_power) are never split, so that dividing stays exact.
MonoId Algebra::common_factor(std::span<const Value> terms, bool inverses_of_one_side) {
  std::vector<Factor> common = monos_[terms[0].m];
  std::vector<Factor> least = common;  // with an absent atom as 0
  auto combine = [&](std::vector<Factor>& into, const std::vector<Factor>& y, bool absent_is_zero) {
    std::vector<Factor> out;
    size_t i = 0, j = 0;
    while (i < into.size() || j < y.size()) {
      if (j == y.size() || (i < into.size() && into[i].atom < y[j].atom)) {
        if (absent_is_zero && into[i].exponent.sign() < 0) out.push_back(into[i]);
        ++i;
      } else if (i == into.size() || y[j].atom < into[i].atom) {
        if (absent_is_zero && y[j].exponent.sign() < 0) out.push_back(y[j]);
        ++j;
      } else {
        const Rational& e = into[i].exponent;
        const Rational& f = y[j].exponent;
        if (absent_is_zero) {
          const Rational low = minimum(e, f);
          if (low.sign() != 0) out.push_back({y[j].atom, low});
        } else if (e.sign() == f.sign()) {
          out.push_back({y[j].atom, e.sign() > 0 ? minimum(e, f) : (e < f ? f : e)});
        }
        ++i, ++j;
      }
    }
    into.swap(out);
  };
  bool nested = true;
  for (size_t k = 1; k < terms.size(); ++k) {
    const std::vector<Factor>& y = monos_[terms[k].m];
    if (inverses_of_one_side && nested) {
      // Compare the denominators so far with those of this term.
      bool more = false, less = false;
      size_t i = 0, j = 0;
      while (i < least.size() || j < y.size()) {
        if (j == y.size() || (i < least.size() && least[i].atom < y[j].atom)) {
          more = more || least[i].exponent.sign() < 0;
          ++i;
        } else if (i == least.size() || y[j].atom < least[i].atom) {
          less = less || y[j].exponent.sign() < 0;
          ++j;
        } else {
          if (least[i].exponent.sign() < 0 || y[j].exponent.sign() < 0) {
            more = more || least[i].exponent < y[j].exponent;
            less = less || y[j].exponent < least[i].exponent;
          }
          ++i, ++j;
        }
      }
      nested = !(more && less);
    }
    combine(common, y, false);
    if (nested) combine(least, y, true);
  }
  std::vector<Factor> out = inverses_of_one_side && nested ? std::move(least) : std::move(common);
  // A part of a fractional prime power would leave a negative one behind.
  std::erase_if(out, [&](const Factor& f) {
    if (atoms_[f.atom].kind != AtomKind::Prime) return false;
    for (const Value& t : terms)
      for (const Factor& g : monos_[t.m])
        if (g.atom == f.atom && g.exponent < f.exponent) return true;
    return false;
  });
  return intern_mono(std::move(out));
}

// ---- Sums ----

Value Algebra::add(const Value& a, const Value& b) {
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  if (a.m == b.m && !is_infinity(a)) {
    Rational c = a.c + b.c;
    if (is_undefined(a)) return a;
    return c.is_zero() ? Value{} : Value{std::move(c), a.m};
  }
  return sum({a, b});
}

Value Algebra::sum(std::vector<Value> terms) {
  // Infinities and undefined terms decide alone: the sum is undefined where an opposite infinity
  // meets them.
  bool plus = false, minus = false;
  for (const Value& t : terms) {
    if (is_undefined(t)) return undefined();
    if (is_infinity(t)) (t.c.sign() > 0 ? plus : minus) = true;
  }
  if (plus && minus) return undefined();
  if (plus || minus) return infinity(minus);

  std::erase_if(terms, [](const Value& t) { return t.is_zero(); });
  if (terms.empty()) return {};
  if (terms.size() == 1) return terms[0];
  const MonoId outer = common_factor(terms, true);
  if (outer != kOne)
    for (Value& t : terms) t.m = divide(t.m, outer);

  // A select with an infinite arm takes finite terms into its arms.
  for (size_t i = 0; i < terms.size(); ++i) {
    const auto id = single(terms[i].m);
    if (!id || atoms_[*id].kind != AtomKind::Select || !has_infinite_arm(*id)) continue;
    bool others_total = true;
    for (size_t j = 0; j < terms.size(); ++j)
      if (j != i && !total(terms[j].m)) others_total = false;
    if (!others_total) continue;
    const Rational c = terms[i].c;
    const CondId condition = atoms_[*id].condition;
    Value then = scale(atoms_[*id].args[0], c), other = scale(atoms_[*id].args[1], c);
    terms.erase(terms.begin() + static_cast<ptrdiff_t>(i));
    const Value rest = sum(std::move(terms));
    then = add(then, rest), other = add(other, rest);
    return mul({Rational(1), outer}, select(condition, then, other));
  }

  // Bring short sums among the terms to one flat list; distribute a monomial over one short sum.
  size_t size = 0;
  bool lazy = false;
  std::vector<int> inner(terms.size(), -1);  // index of the factor that is a short sum
  for (size_t k = 0; k < terms.size(); ++k) {
    const std::vector<Factor>& f = monos_[terms[k].m];
    int sums = 0;
    for (size_t i = 0; i < f.size(); ++i)
      if (atoms_[f[i].atom].kind == AtomKind::Sum && f[i].exponent.sign() > 0) {
        ++sums;
        inner[k] = f[i].exponent.is_one() ? static_cast<int>(i) : -1;
      }
    if (sums != 1) inner[k] = -1;
    const size_t width =
        inner[k] >= 0 ? atoms_[f[static_cast<size_t>(inner[k])].atom].args.size() : 1;
    size += width;
    if (inner[k] >= 0)
      for (const Value& t : atoms_[f[static_cast<size_t>(inner[k])].atom].args)
        if (const auto id = single(t.m); id && atoms_[*id].kind == AtomKind::Sum) lazy = true;
  }
  if (size > kFlatTerms || lazy) {
    // Keep the parts. Flat parts of equal shape must still meet: combine equal monomials.
    std::sort(terms.begin(), terms.end(), [](const Value& x, const Value& y) { return x.m < y.m; });
    std::vector<Value> out;
    for (Value& t : terms) {
      if (!out.empty() && out.back().m == t.m)
        out.back().c = out.back().c + t.c;
      else
        out.push_back(std::move(t));
    }
    std::erase_if(out, [](const Value& t) { return t.is_zero(); });
    return mul({Rational(1), outer}, sum_atom(std::move(out)));
  }
  std::vector<Value> flat;
  flat.reserve(size);
  bool distributed = false;
  for (size_t k = 0; k < terms.size(); ++k) {
    if (inner[k] < 0) {
      flat.push_back(terms[k]);
      continue;
    }
    distributed = true;
    const std::vector<Factor> f = monos_[terms[k].m];
    const AtomId s = f[static_cast<size_t>(inner[k])].atom;
    std::vector<Factor> rest = f;
    rest.erase(rest.begin() + inner[k]);
    const Value outside{terms[k].c, intern_mono(std::move(rest))};
    const std::vector<Value> parts = atoms_[s].args;
    for (const Value& t : parts) flat.push_back(mul(outside, t));
  }
  std::sort(flat.begin(), flat.end(), [](const Value& x, const Value& y) { return x.m < y.m; });
  std::vector<Value> out;
  for (Value& t : flat) {
    if (!out.empty() && out.back().m == t.m)
      out.back().c = out.back().c + t.c;
    else
      out.push_back(std::move(t));
  }
  std::erase_if(out, [](const Value& t) { return t.is_zero(); });
  Value result;
  if (out.size() == terms.size() && !distributed) {
    result = sum_atom(std::move(out));
  } else if (out.empty()) {
    return {};
  } else {
    // Terms that cancelled may leave a common factor.
    const MonoId again = common_factor(out, true);
    if (again != kOne)
      for (Value& t : out) t.m = divide(t.m, again);
    result = mul({Rational(1), again}, sum_atom(std::move(out)));
  }
  return mul({Rational(1), outer}, result);
}

Value Algebra::sum_atom(std::vector<Value> terms) {
  if (terms.empty()) return {};
  if (terms.size() == 1) return terms[0];
  std::sort(terms.begin(), terms.end(), [](const Value& x, const Value& y) { return x.m < y.m; });
  const Rational lead = terms[0].c;
  if (!lead.is_one())
    for (Value& t : terms) t.c = t.c / lead;
  Atom atom;
  atom.kind = AtomKind::Sum;
  atom.args = std::move(terms);
  return scale(of_atom(std::move(atom)), lead);
}

std::vector<Value> Algebra::without_common_factor(std::vector<Value> terms) {
  const MonoId common = common_factor(terms, true);
  if (common != kOne)
    for (Value& t : terms) t.m = divide(t.m, common);
  return terms;
}

std::optional<std::vector<Value>> Algebra::expand(const Value& v, size_t limit) {
  // Sums are replaced from the deepest one down; every step removes one power of one sum.
  absl::flat_hash_map<MonoId, Rational> done;
  std::vector<Value> todo = {v};
  size_t steps = 0;
  while (!todo.empty()) {
    if (++steps > 4 * limit || done.size() + todo.size() > limit) return std::nullopt;
    const Value t = std::move(todo.back());
    todo.pop_back();
    if (t.is_zero()) continue;
    const std::vector<Factor>& f = monos_[t.m];
    size_t at = f.size();
    for (size_t i = 0; i < f.size(); ++i)
      if (atoms_[f[i].atom].kind == AtomKind::Sum && f[i].exponent >= Rational(1)) at = i;
    if (at == f.size()) {
      Rational& c = done[t.m];
      c = c + t.c;
      continue;
    }
    std::vector<Factor> rest = f;
    const AtomId s = rest[at].atom;
    rest[at].exponent = rest[at].exponent - Rational(1);
    if (rest[at].exponent.is_zero()) rest.erase(rest.begin() + static_cast<ptrdiff_t>(at));
    const Value outside{t.c, intern_mono(std::move(rest))};
    for (const Value& part : atoms_[s].args) todo.push_back(mul(outside, part));
  }
  std::vector<Value> out;
  for (auto& [m, c] : done)
    if (!c.is_zero()) out.push_back({c, m});
  std::sort(out.begin(), out.end(), [](const Value& x, const Value& y) { return x.m < y.m; });
  return out;
}

}  // namespace coequal::decide
