// Elimination of sums, the deepest first.
//
// A sum S is replaced by its terms in all monomials at once: the cofactor C of S (what is
// multiplied with S) is gathered first. If C itself is zero, or a multiple of one atom, S need not
// be written out against all its terms: two-pass variance against sums of squares then costs n
// steps where expansion costs n^2. Deep chains (Welford) telescope, because a sum meets its own
// predecessor before that one is replaced.
#include "decide/canonical/zero.h"

#include <algorithm>
#include <map>

namespace coequal::decide {

// The sum in a shorter form, if its signature proposes one that can be proved: nothing at all, or a
// multiple of an atom that is not deeper than `below` (else elimination would not end).
std::optional<std::vector<Value>> ZeroTest::shorten(const std::vector<Value>& terms, AtomId below,
                                                    size_t& credit, const Budget& budget,
                                                    int nesting) {
  const auto x = first_.of(terms), y = second_.of(terms);
  if (!x || !y || (*x == 0) != (*y == 0)) return std::nullopt;
  std::vector<Value> difference = terms, out;
  if (*x != 0) {
    const auto id = lookup_(first_.multiply(*x, first_.inverse(*y)));
    if (!id ||
        std::pair(algebra_.atom(*id).depth, *id) > std::pair(algebra_.atom(below).depth, below))
      return std::nullopt;
    const auto z = first_.of_atom(*id);
    if (!z || *z == 0) return std::nullopt;
    const auto c = first_.reconstruct(first_.multiply(*x, first_.inverse(*z)));
    if (!c) return std::nullopt;
    out.push_back({*c, algebra_.atom_power(*id, Rational(1)).m});
    difference.push_back(Algebra::negate(out[0]));
  }
  const auto left = eliminate(difference, credit, budget, nesting + 1);
  if (!left) return std::nullopt;
  for (const auto& [m, c] : *left)
    if (!c.is_zero()) return std::nullopt;
  return out;
}

// The sum with the sums among its terms opened, powers and products of sums left alone.
const std::vector<Value>& ZeroTest::flat(AtomId sum) {
  if (const auto it = flat_.find(sum); it != flat_.end()) return it->second;
  Polynomial by_monomial;
  std::vector<Value> todo{algebra_.atom_power(sum, Rational(1))};
  constexpr size_t kMost = 8192;
  size_t steps = 0;
  while (!todo.empty() && ++steps < 4 * kMost) {
    const Value v = std::move(todo.back());
    todo.pop_back();
    const auto id = algebra_.single(v.m);
    if (id && algebra_.atom(*id).kind == AtomKind::Sum) {
      for (const Value& part : algebra_.atom(*id).args) todo.push_back(Algebra::scale(part, v.c));
    } else {
      Rational& c = by_monomial[v.m];
      c = c + v.c;
    }
  }
  std::vector<Value> out;
  if (todo.empty())
    for (const auto& [m, c] : by_monomial)
      if (!c.is_zero()) out.push_back({c, m});
  return flat_[sum] = std::move(out);
}

std::vector<Value> ZeroTest::gather(std::vector<Value> cofactor, AtomId sum) {
  const std::vector<Value>& terms = flat(sum);
  if (terms.size() < 4 || terms.size() > 2 * cofactor.size()) return cofactor;
  Polynomial left;
  for (const Value& v : cofactor) left[v.m] = v.c;
  // The multiple that most terms agree on, judged by a few.
  std::vector<std::pair<Rational, int>> votes;
  for (size_t i = 0; i < terms.size(); i += 1 + terms.size() / 9) {
    const auto it = left.find(terms[i].m);
    if (it == left.end()) continue;
    const Rational r = it->second / terms[i].c;
    const auto known =
        std::find_if(votes.begin(), votes.end(), [&](const auto& v) { return v.first == r; });
    if (known == votes.end())
      votes.emplace_back(r, 1);
    else
      ++known->second;
  }
  if (votes.empty()) return cofactor;
  const Rational r = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
                       return a.second < b.second;
                     })->first;
  for (const Value& t : terms) {
    Rational& c = left[t.m];
    c = c - r * t.c;
  }
  Rational& whole = left[algebra_.atom_power(sum, Rational(1)).m];
  whole = whole + r;
  std::vector<Value> out;
  for (const auto& [m, c] : left)
    if (!c.is_zero()) out.push_back({c, m});
  return 2 * out.size() < cofactor.size() ? out : cofactor;
}

std::optional<ZeroTest::Polynomial> ZeroTest::eliminate(const std::vector<Value>& terms,
                                                        size_t& credit, const Budget& budget,
                                                        int nesting) {
  std::map<std::pair<uint32_t, AtomId>, Polynomial, std::greater<>> by_sum;
  Polynomial rest;
  auto put = [&](const Value& v) {
    if (v.is_zero()) return;
    std::pair<uint32_t, AtomId> deepest{0, 0};
    for (const Factor& f : algebra_.factors(v.m)) {
      const Atom& atom = algebra_.atom(f.atom);
      if (atom.kind == AtomKind::Sum && f.exponent >= Rational(1))
        deepest = std::max(deepest, {atom.depth, f.atom});
    }
    Polynomial& into = deepest.first == 0 ? rest : by_sum[deepest];
    Rational& c = into[v.m];
    c = c + v.c;
  };
  for (const Value& v : terms) put(v);
  while (!by_sum.empty()) {
    const AtomId s = by_sum.begin()->first.second;
    Polynomial bucket = std::move(by_sum.begin()->second);
    by_sum.erase(by_sum.begin());
    const Value one_less = algebra_.atom_power(s, Rational(-1));
    std::vector<Value> cofactor;
    cofactor.reserve(bucket.size());
    for (auto& [m, c] : bucket)
      if (!c.is_zero()) cofactor.push_back(algebra_.mul({std::move(c), m}, one_less));
    if (cofactor.empty()) continue;
    if (cofactor.size() >= 3 && nesting < 8) {
      if (cofactor.size() >= 8) cofactor = gather(std::move(cofactor), s);
      if (auto shorter = shorten(cofactor, s, credit, budget, nesting)) cofactor.swap(*shorter);
    }
    const std::vector<Value>& parts = algebra_.atom(s).args;
    // S * S is written out on both sides at once: its cofactor would be found to be S again.
    std::erase_if(cofactor, [&](const Value& v) {
      if (algebra_.single(v.m) != std::optional(s)) return false;
      for (const Value& x : parts)
        for (const Value& y : parts) put(Algebra::scale(algebra_.mul(x, y), v.c));
      return true;
    });
    const size_t cost = (cofactor.size() + parts.size()) * parts.size();
    if (cost > credit || budget.spent()) return std::nullopt;
    credit -= cost;
    for (const Value& v : cofactor)
      for (const Value& part : parts) put(algebra_.mul(v, part));
  }
  return rest;
}

std::optional<bool> ZeroTest::zero(const std::vector<Value>& terms, size_t limit,
                                   const Budget& budget) {
  for (const Value& v : terms)
    if (algebra_.is_undefined(v) || algebra_.is_infinity(v)) return false;
  size_t credit = limit;
  std::vector<Value> current = terms;
  for (;;) {
    const auto rest = eliminate(current, credit, budget, 0);
    if (!rest) return std::nullopt;
    current.clear();
    for (const auto& [m, c] : *rest)
      if (!c.is_zero()) current.push_back({c, m});
    if (current.empty()) return true;
    // Inverses of sums were treated as unknowns of their own. Bring what is left to a common
    // denominator: it is not zero wherever the terms are defined.
    absl::flat_hash_map<AtomId, Rational> denominators;
    for (const Value& v : current)
      for (const Factor& f : algebra_.factors(v.m)) {
        if (algebra_.atom(f.atom).kind != AtomKind::Sum || f.exponent.sign() >= 0) continue;
        const Rational power = -f.exponent.floor();
        Rational& d = denominators[f.atom];
        if (power > d) d = power;
      }
    if (denominators.empty()) return false;
    std::vector<AtomId> order;
    for (const auto& [id, power] : denominators) order.push_back(id);
    std::sort(order.begin(), order.end());
    Value common = Algebra::number(1);
    for (AtomId id : order)
      common = algebra_.mul(common, algebra_.atom_power(id, denominators[id]));
    for (Value& v : current) v = algebra_.mul(v, common);
  }
}

}  // namespace coequal::decide
