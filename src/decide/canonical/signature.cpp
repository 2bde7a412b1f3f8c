// Modular evaluation of canonical forms.
#include "decide/canonical/signature.h"

#include "term/hash.h"

namespace coequal::decide {
namespace {

// p = 2q + 1, p = 7 mod 8, with 2, 3 and 5 quadratic residues.
constexpr uint64_t kModuli[Signature::kPrimes] = {2305843009213690799u, 2305843009213668599u,
                                                  2305843009213655999u, 2305843009213644119u};

}  // namespace

Signature::Signature(const Algebra& algebra, int prime, uint64_t seed)
    : algebra_(algebra), p_(kModuli[prime % kPrimes]), q_((p_ - 1) / 2), seed_(seed) {}

uint64_t Signature::power(uint64_t base, uint64_t exponent) const {
  uint64_t out = 1;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1) out = multiply(out, base);
    base = multiply(base, base);
  }
  return out;
}

uint64_t Signature::inverse(uint64_t a) const {
  int64_t t = 0, next_t = 1;
  auto r = static_cast<int64_t>(p_), next_r = static_cast<int64_t>(a);
  while (next_r != 0) {
    const int64_t k = r / next_r;
    const int64_t t2 = t - k * next_t, r2 = r - k * next_r;
    t = next_t, next_t = t2;
    r = next_r, next_r = r2;
  }
  return static_cast<uint64_t>(t < 0 ? t + static_cast<int64_t>(p_) : t);
}

std::optional<uint64_t> Signature::of_rational(const Rational& c, uint64_t modulus) const {
  const uint64_t n = fmpz_fdiv_ui(fmpq_numref(c.get()), modulus);
  if (c.is_integer()) return n;
  const uint64_t d = fmpz_fdiv_ui(fmpq_denref(c.get()), modulus);
  if (d == 0) return std::nullopt;
  if (modulus == p_) return multiply(n, inverse(d));
  // Exponents, modulo the prime q: d^(q-2) is 1/d.
  auto mul = [&](uint64_t a, uint64_t b) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % modulus);
  };
  uint64_t base = d, out = n;
  for (uint64_t e = modulus - 2; e; e >>= 1) {
    if (e & 1) out = mul(out, base);
    base = mul(base, base);
  }
  return out;
}

std::optional<Rational> Signature::reconstruct(uint64_t residue) const {
  // Half of the extended Euclidean algorithm: stop when the remainder is below sqrt(p / 2).
  constexpr int64_t kBound = int64_t{1} << 30;
  auto r = static_cast<int64_t>(p_), next_r = static_cast<int64_t>(residue);
  int64_t t = 0, next_t = 1;
  while (next_r >= kBound) {
    const int64_t k = r / next_r;
    const int64_t r2 = r - k * next_r, t2 = t - k * next_t;
    r = next_r, next_r = r2;
    t = next_t, next_t = t2;
  }
  if (next_t == 0 || next_t >= kBound || next_t <= -kBound) return std::nullopt;
  return next_t > 0 ? Rational(next_r, next_t) : Rational(-next_r, -next_t);
}

uint64_t Signature::random_residue(uint64_t key) const {
  const uint64_t x = term::mix(term::mix(seed_, key), p_) % p_;
  const uint64_t y = x < 2 ? x + 2 : x;
  return multiply(y, y);
}

std::optional<uint64_t> Signature::power_of(AtomId id, uint64_t value, const Rational& exponent) {
  if (exponent.is_integer()) {
    const auto n = exponent.as_int64();
    if (!n) return std::nullopt;
    if (*n > 0) return power(value, static_cast<uint64_t>(*n));
    if (value == 0) return std::nullopt;
    return power(inverse(value), static_cast<uint64_t>(-*n));
  }
  const Rational whole = exponent.floor();
  if (value != 0 && power(value, q_) == 1) {
    const auto e = of_rational(exponent, q_);
    if (!e) return std::nullopt;
    return power(value, *e);
  }
  // No root in this field: the fractional power is an unknown of its own.
  const uint64_t unknown = random_residue(term::mix(id + 0x10000, (exponent - whole).hash()));
  const auto rest = power_of(id, value, whole);
  if (!rest) return std::nullopt;
  return multiply(unknown, *rest);
}

std::optional<uint64_t> Signature::of_monomial(MonoId m) {
  uint64_t out = 1;
  for (const Factor& f : algebra_.factors(m)) {
    const auto base = of_atom(f.atom);
    if (!base) return std::nullopt;
    if (f.exponent.is_one()) {
      out = multiply(out, *base);
      continue;
    }
    const auto x = power_of(f.atom, *base, f.exponent);
    if (!x) return std::nullopt;
    out = multiply(out, *x);
  }
  return out;
}

std::optional<uint64_t> Signature::of(const Value& v) {
  if (v.is_zero()) return 0;
  const auto c = of_rational(v.c, p_);
  const auto m = of_monomial(v.m);
  if (!c || !m) return std::nullopt;
  return multiply(*c, *m);
}

std::optional<uint64_t> Signature::of(const std::vector<Value>& sum) {
  uint64_t total = 0;
  for (const Value& v : sum) {
    const auto x = of(v);
    if (!x) return std::nullopt;
    total = add(total, *x);
  }
  return total;
}

std::optional<uint64_t> Signature::compute(AtomId id) {
  const Atom& atom = algebra_.atom(id);
  if (atom.kind == AtomKind::Sum) return of(atom.args);
  if (atom.kind == AtomKind::Prime) {
    const uint64_t value = static_cast<uint64_t>(atom.b) % p_;
    if (value != 0 && power(value, q_) == 1) return value;
  }
  return random_residue(id);
}

std::optional<uint64_t> Signature::of_atom(AtomId id) {
  if (slots_.size() <= id) slots_.resize(algebra_.atom_count());
  if (slots_[id].known) return slots_[id].valid ? std::optional(slots_[id].value) : std::nullopt;
  // Sums nest as deep as loops are long: children first, by an explicit stack.
  std::vector<AtomId> stack{id};
  while (!stack.empty()) {
    const AtomId a = stack.back();
    if (slots_[a].known) {
      stack.pop_back();
      continue;
    }
    const size_t before = stack.size();
    if (algebra_.atom(a).kind == AtomKind::Sum)
      for (const Value& v : algebra_.atom(a).args)
        for (const Factor& f : algebra_.factors(v.m))
          if (!slots_[f.atom].known) stack.push_back(f.atom);
    if (stack.size() != before) continue;
    const auto value = compute(a);
    slots_[a] = {true, value.has_value(), value.value_or(0)};
    stack.pop_back();
  }
  return slots_[id].valid ? std::optional(slots_[id].value) : std::nullopt;
}

}  // namespace coequal::decide
