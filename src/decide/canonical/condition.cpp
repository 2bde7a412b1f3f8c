// Conditions: signs of canonical values, comparisons of words, and their combinations in negation
// normal form.
#include <algorithm>

#include "decide/canonical/algebra.h"
#include "term/hash.h"

namespace coequal::decide {

using term::Kind;
using term::mix;

namespace {

bool is_even_integer(const Rational& x) { return (x * Rational(1, 2)).is_integer(); }

}  // namespace

CondId Algebra::assumed(CondId c) const {
  if (!oracle_) return c;
  const auto value = oracle_(c);
  return !value ? c : *value ? kTrue : kFalse;
}

CondId Algebra::intern_cond(Cond cond) {
  uint64_t h =
      mix(mix(static_cast<uint64_t>(cond.kind), cond.a), mix(cond.value.c.hash(), cond.value.m));
  h = mix(mix(h, cond.left), cond.right);
  for (CondId c : cond.args) h = mix(h, c);
  const uint32_t found = cond_index_.find(h, [&](uint32_t id) {
    const Cond& other = conds_[id];
    return other.kind == cond.kind && other.a == cond.a && other.value == cond.value &&
           other.left == cond.left && other.right == cond.right && other.args == cond.args;
  });
  if (found != term::IdTable::kNone) return found << 1;
  switch (cond.kind) {
    case CondKind::True:
      break;
    case CondKind::Positive:
    case CondKind::Zero:
      cond.total = total(cond.value.m);
      cond.depth = depth(cond.value.m) + 1;
      break;
    case CondKind::Word:
      cond.total = words_[cond.left].total && words_[cond.right].total;
      cond.depth = std::max(words_[cond.left].depth, words_[cond.right].depth) + 1;
      break;
    case CondKind::Or:
      cond.total = true;
      for (CondId c : cond.args) {
        cond.total = cond.total && this->cond(c).total;
        cond.depth = std::max(cond.depth, this->cond(c).depth + 1);
      }
      break;
  }
  const auto id = static_cast<uint32_t>(conds_.size());
  bytes_ += sizeof(Cond) + cond.args.size() * sizeof(CondId);
  conds_.push_back(std::move(cond));
  cond_index_.insert(h, id);
  return id << 1;
}

CondId Algebra::positive(const Value& v) {
  if (v.is_zero()) return kFalse;
  if (is_infinity(v)) return v.c.sign() > 0 ? kTrue : kFalse;
  const Range whole = range(v);
  if (whole.positive()) return kTrue;
  if (whole.nonpositive()) return kFalse;
  int sign = v.c.sign();
  std::vector<Factor> kept;
  for (const Factor& f : monos_[v.m]) {
    if (power_range(f.atom, f.exponent).positive()) continue;
    // [c] t > 0 where c holds and t > 0.
    if (atoms_[f.atom].kind == AtomKind::Indicator && f.exponent.sign() > 0)
      return all({atoms_[f.atom].condition, positive({v.c, divide(v.m, intern_mono({f}))})});
    if (!f.exponent.is_integer()) {  // a root is defined where its base is not negative, and
                                     // positive where it is not 0
      if (f.exponent.sign() > 0) kept.push_back({f.atom, Rational(1)});
      continue;
    }
    if (is_even_integer(f.exponent)) {
      if (f.exponent.sign() > 0) kept.push_back({f.atom, Rational(2)});
      continue;  // an even inverse is positive where it is defined
    }
    if (power_range(f.atom, f.exponent).negative()) {
      sign = -sign;
      continue;
    }
    kept.push_back({f.atom, Rational(1)});
  }
  if (kept.empty()) return sign > 0 ? kTrue : kFalse;
  if (std::all_of(kept.begin(), kept.end(),
                  [](const Factor& f) { return is_even_integer(f.exponent); })) {
    // A product of squares is positive where it is not 0.
    if (sign < 0) return kFalse;
    return negation(zero({Rational(1), intern_mono(std::move(kept))}));
  }
  Cond cond;
  cond.kind = CondKind::Positive;
  cond.value = {Rational(sign), intern_mono(std::move(kept))};
  return assumed(intern_cond(std::move(cond)));
}

CondId Algebra::zero(const Value& v) {
  if (v.is_zero()) return kTrue;
  if (is_infinity(v)) return kFalse;
  if (range(v).not_zero()) return kFalse;
  std::vector<CondId> any_of;
  for (const Factor& f : monos_[v.m]) {
    const Atom& atom = atoms_[f.atom];
    if (f.exponent.sign() < 0 || atom.range.not_zero()) continue;
    switch (atom.kind) {
      case AtomKind::Abs:
      case AtomKind::Root:
        any_of.push_back(zero(atom.args[0]));
        continue;
      case AtomKind::Indicator:
        any_of.push_back(negation(atom.condition));
        continue;
      default:
        break;
    }
    Cond cond;
    cond.kind = CondKind::Zero;
    cond.value = {Rational(1), intern_mono({{f.atom, Rational(1)}})};
    any_of.push_back(assumed(intern_cond(std::move(cond))));
  }
  return any(std::move(any_of));
}

// What one condition says about another that is about the same value or word.
std::optional<bool> Algebra::implied(CondId given, CondId asked) const {
  if (given == asked) return true;
  if (given == negation(asked)) return false;
  const Cond& g = cond(given);
  const Cond& a = cond(asked);
  const bool holds = !(given & 1);
  auto answer = [&](bool even_asked) { return (asked & 1) ? !even_asked : even_asked; };
  if (g.kind == CondKind::Word && a.kind == CondKind::Word && holds && g.a == a.a &&
      g.a == static_cast<uint32_t>(Kind::BvEq)) {
    // A word is one constant at most.
    for (const auto& [x, k] : {std::pair(g.left, g.right), std::pair(g.right, g.left)})
      for (const auto& [y, l] : {std::pair(a.left, a.right), std::pair(a.right, a.left)})
        if (x == y && k != l && words_[k].kind == Kind::BvConst && words_[l].kind == Kind::BvConst)
          return answer(false);
    return std::nullopt;
  }
  if (g.kind == CondKind::Positive && a.kind == CondKind::Positive && holds &&
      g.value == negate(a.value))
    return answer(false);
  if (g.kind == CondKind::Positive && a.kind == CondKind::Zero && holds && g.value.m == a.value.m)
    return answer(false);
  if (g.kind == CondKind::Zero && a.kind == CondKind::Positive && holds && g.value.m == a.value.m)
    return answer(false);
  return std::nullopt;
}

// Whether a value is the infinity of the given sign.
CondId Algebra::infinite_condition(const Value& v, bool negative) {
  if (is_infinity(v)) return (v.c.sign() < 0) == negative ? kTrue : kFalse;
  if (v.is_zero() || !may_be_infinite(v.m)) return kFalse;
  // c f x, f positive and finite: as x.
  std::vector<Factor> infinite;
  for (const Factor& f : monos_[v.m]) {
    if (atoms_[f.atom].may_be_infinite)
      infinite.push_back(f);
    else if (!power_range(f.atom, f.exponent).positive())
      infinite.push_back(f);
  }
  if (infinite.size() == 1 && infinite[0].exponent.is_one()) {
    const Atom atom = atoms_[infinite[0].atom];
    const bool flipped = v.c.sign() < 0;
    const bool wanted_negative = negative != flipped;
    switch (atom.kind) {
      case AtomKind::Select:
        return choose(atom.condition, infinite_condition(atom.args[0], wanted_negative),
                      infinite_condition(atom.args[1], wanted_negative));
      case AtomKind::Max: {
        std::vector<CondId> parts;
        for (const Value& x : atom.args) parts.push_back(infinite_condition(x, wanted_negative));
        return wanted_negative ? all(std::move(parts)) : any(std::move(parts));
      }
      case AtomKind::Sum: {
        std::vector<CondId> parts;  // opposite infinities leave the sum undefined
        for (const Value& x : atom.args) parts.push_back(infinite_condition(x, wanted_negative));
        return any(std::move(parts));
      }
      default:
        break;
    }
  }
  Cond cond;  // not understood: a question of its own
  cond.kind = CondKind::Zero;
  Atom atom;
  atom.kind = AtomKind::Function;
  atom.a = static_cast<uint32_t>(negative ? Kind::Infinity : Kind::Abs);
  atom.args = {v};
  cond.value = of_atom(std::move(atom));
  return intern_cond(std::move(cond));
}

CondId Algebra::less(const Value& a, const Value& b) {
  if (is_infinity(a) && is_infinity(b)) return a.c < b.c ? kTrue : kFalse;
  if (is_infinity(a)) return a.c.sign() > 0 ? kFalse : negation(infinite_condition(b, true));
  if (is_infinity(b)) return b.c.sign() < 0 ? kFalse : negation(infinite_condition(a, false));
  return positive(sub(b, a));
}

CondId Algebra::equal(const Value& a, const Value& b) {
  if (is_infinity(a) && is_infinity(b)) return a == b ? kTrue : kFalse;
  if (is_infinity(a)) return infinite_condition(b, a.c.sign() < 0);
  if (is_infinity(b)) return infinite_condition(a, b.c.sign() < 0);
  return zero(sub(a, b));
}

std::optional<std::pair<WordId, WordId>> Algebra::equality(CondId c) const {
  const Cond& e = cond(c);
  if (e.kind != CondKind::Word || static_cast<Kind>(e.a) != Kind::BvEq) return std::nullopt;
  if (words_[e.right].kind == Kind::BvConst) return std::pair(e.left, e.right);
  if (words_[e.left].kind == Kind::BvConst) return std::pair(e.right, e.left);
  return std::nullopt;
}

std::vector<CondId> Algebra::literals_of(CondId c) const {
  if (!(c & 1) || cond(c).kind != CondKind::Or) return {c};
  std::vector<CondId> out = cond(c).args;
  for (CondId& part : out) part = negation(part);
  return out;
}

std::optional<bool> Algebra::implied(const std::vector<CondId>& literals, CondId c) const {
  if (c <= kFalse) return c == kTrue;
  for (CondId f : literals)
    if (const auto known = implied(f, c)) return known;
  if (cond(c).kind != CondKind::Or) return std::nullopt;
  bool open = false;
  for (CondId part : cond(c).args) {
    if (cond(part).kind == CondKind::Or) {
      open = true;
      continue;
    }
    const auto value = implied(literals, part);
    if (value == true) return !(c & 1);
    open = open || !value;
  }
  return open ? std::nullopt : std::optional<bool>(c & 1);
}

CondId Algebra::any(std::vector<CondId> args) {
  std::vector<CondId> flat;
  for (CondId c : args) {
    if (c == kTrue) return kTrue;
    if (c == kFalse) continue;
    if (!(c & 1) && cond(c).kind == CondKind::Or)
      for (CondId inner : cond(c).args) flat.push_back(inner);
    else
      flat.push_back(c);
  }
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  for (size_t i = 0; i + 1 < flat.size(); ++i)
    if ((flat[i] ^ 1) == flat[i + 1]) return kTrue;
  // Signs of one value: v = 0 or v > 0 is v >= 0; v > 0 implies v >= 0; v >= 0 or -v >= 0 is true.
  if (flat.size() <= 64) {
    for (size_t i = 0; i < flat.size(); ++i) {
      const CondId c = flat[i];
      if (c == kFalse || cond(c).kind != CondKind::Positive) continue;
      const Value v = cond(c).value;
      const Value opposite = negate(v);
      for (size_t j = 0; j < flat.size(); ++j) {
        const CondId d = flat[j];
        if (i == j || d == kFalse) continue;
        const Cond& other = cond(d);
        if (!(c & 1)) {
          // c: v > 0
          if (other.kind == CondKind::Positive && (d & 1) && other.value == opposite) {
            flat[i] = kFalse;  // v >= 0 is there
            break;
          }
          if (other.kind == CondKind::Zero && !(d & 1) && other.value.m == v.m) {
            flat[j] = kFalse;
            flat[i] = nonnegative(v);
            break;
          }
        } else {
          // c: v <= 0
          if (other.kind == CondKind::Positive && (d & 1) && other.value == opposite) return kTrue;
          if (other.kind == CondKind::Zero && (d & 1) && other.value.m == v.m) return kTrue;
          if (other.kind == CondKind::Zero && !(d & 1) && other.value.m == v.m) flat[j] = kFalse;
        }
      }
    }
    std::erase(flat, kFalse);
    if (std::find(flat.begin(), flat.end(), kTrue) != flat.end()) return kTrue;
    std::sort(flat.begin(), flat.end());
    flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  }
  // A word is not two constants at once: w != 1 or w = 2 is w != 1; w != 1 or w != 2 is true.
  absl::flat_hash_map<WordId, std::pair<WordId, CondId>> unequal;
  for (CondId c : flat)
    if (c & 1)
      if (const auto e = equality(c)) {
        const auto [it, fresh] = unequal.try_emplace(e->first, e->second, c);
        if (!fresh && it->second.first != e->second) return kTrue;
      }
  if (!unequal.empty())
    std::erase_if(flat, [&](CondId c) {
      if (c & 1) return false;
      const auto e = equality(c);
      if (!e) return false;
      const auto it = unequal.find(e->first);
      return it != unequal.end() && it->second.first != e->second;
    });
  // Absorption: a or (a and b) is a.
  if (flat.size() <= 64) {
    std::erase_if(flat, [&](CondId c) {
      if (!(c & 1) || cond(c).kind != CondKind::Or) return false;
      for (CondId negated : cond(c).args)
        if (std::binary_search(flat.begin(), flat.end(), negation(negated))) return true;
      return false;
    });
  }
  if (flat.empty()) return kFalse;
  if (flat.size() == 1) return flat[0];
  Cond cond;
  cond.kind = CondKind::Or;
  cond.args = std::move(flat);
  return assumed(intern_cond(std::move(cond)));
}

CondId Algebra::all(std::vector<CondId> args) {
  for (CondId& c : args) c = negation(c);
  return negation(any(std::move(args)));
}

}  // namespace coequal::decide
