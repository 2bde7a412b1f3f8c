// Case analysis: the regions of the conditions on which the sides depend, each proved by canonical forms.
//
// A condition on a value v splits into v > 0, v < 0 and v = 0; in the last, v = 0 is solved for a variable, so thresholds are
// regions in which equal sides have equal forms. What definedness requires of both sides holds in all regions.
#include <algorithm>
#include <map>
#include <set>

#include "decide/context.h"

namespace coequal::decide {

using term::Kind;

namespace {

constexpr int kMostRegions = 3000;
constexpr int kMostDepth = 40;
constexpr size_t kMostMaximum = 6;  // arguments of a maximum whose order is split

class Cases {
 public:
  Cases(Context& context, const Budget& budget) : context_(context), algebra_(context.algebra), budget_(budget) {}

  bool prove(const Value& a, const Value& b, const std::vector<CondId>& facts) {
    return region({a, b, facts, {}}, nullptr, 0);
  }

 private:
  struct Region {
    Value a, b;
    std::vector<CondId> facts;
    std::map<WordId, std::set<uint64_t>> excluded;  // values that a leaf does not have
  };
  // What a split adds: an atom's or a word's value.
  struct Replacement {
    std::optional<AtomId> atom;
    Value value;
    std::optional<WordId> word;
    WordId by = 0;
  };

  // v = k + r * m: the constant and what it is added to.
  struct Line {
    Rational k, r;
    MonoId m = kOne;
  };
  Line line(const Value& v) {
    const auto id = algebra_.single(v.m);
    if (id && algebra_.atom(*id).kind == AtomKind::Sum) {
      const std::vector<Value>& args = algebra_.atom(*id).args;
      for (const Value& t : args)
        if (t.is_number()) {
          std::vector<Value> rest;
          for (const Value& u : args)
            if (!u.is_number()) rest.push_back(u);
          const Value sum = algebra_.sum(rest);
          return {v.c * t.c, v.c * sum.c, sum.m};
        }
    }
    return {Rational(0), v.c, v.m};
  }

  // The bounds that facts give to the varying parts of their values.
  struct Facts {
    std::map<CondId, bool> known;  // by even id
    std::map<MonoId, Range> ranges;
    bool contradictory = false;
  };

  void learn(Facts& out, CondId fact) {
    const bool holds = !(fact & 1);
    const CondId even = fact & ~1u;
    const auto [it, fresh] = out.known.emplace(even, holds);
    if (!fresh && it->second != holds) out.contradictory = true;
    const Cond& c = algebra_.cond(even);
    if (c.kind != CondKind::Positive && c.kind != CondKind::Zero) return;
    const Line l = line(c.value);
    Range& range = out.ranges[l.m];
    const Rational at = -l.k / l.r;  // where the value is 0
    auto raise = [&](bool open) {
      if (!range.lo || at > *range.lo || (at == *range.lo && open)) range.lo = at, range.lo_open = open;
    };
    auto lower = [&](bool open) {
      if (!range.hi || at < *range.hi || (at == *range.hi && open)) range.hi = at, range.hi_open = open;
    };
    if (c.kind == CondKind::Zero) {
      if (!holds) {
        if (range.lo && *range.lo == at) range.lo_open = true;
        if (range.hi && *range.hi == at) range.hi_open = true;
        return;
      }
      raise(false);
      lower(false);
    } else if ((l.r.sign() > 0) == holds) {
      raise(holds);
    } else {
      lower(holds);
    }
    if (range.lo && range.hi &&
        (*range.lo > *range.hi || (*range.lo == *range.hi && (range.lo_open || range.hi_open))))
      out.contradictory = true;
  }

  std::optional<bool> decided(const Facts& facts, CondId even) {
    if (const auto it = facts.known.find(even); it != facts.known.end()) return it->second;
    const Cond& c = algebra_.cond(even);
    if (c.kind != CondKind::Positive && c.kind != CondKind::Zero) return std::nullopt;
    const Line l = line(c.value);
    const auto it = facts.ranges.find(l.m);
    if (it == facts.ranges.end()) return std::nullopt;
    Range r = it->second;
    const Range own = algebra_.range({Rational(1), l.m});
    if (own.lo && (!r.lo || *own.lo > *r.lo)) r.lo = own.lo, r.lo_open = own.lo_open;
    if (own.hi && (!r.hi || *own.hi < *r.hi)) r.hi = own.hi, r.hi_open = own.hi_open;
    const Rational at = -l.k / l.r;
    const bool above = r.lo && (*r.lo > at || (*r.lo == at && r.lo_open));
    const bool below = r.hi && (*r.hi < at || (*r.hi == at && r.hi_open));
    if (c.kind == CondKind::Zero) {
      if (above || below) return false;
      if (r.lo && r.hi && *r.lo == at && *r.hi == at) return true;
      return std::nullopt;
    }
    const bool rising = l.r.sign() > 0;
    if (rising ? above : below) return true;
    if (rising ? (r.hi && *r.hi <= at) : (r.lo && *r.lo >= at)) return false;
    return std::nullopt;
  }

  bool region(Region r, const Replacement* replacement, int depth) {
    if (++regions_ > kMostRegions || depth > kMostDepth || budget_.spent()) return false;
    if (replacement) {
      // The facts, with the replacement made in them.
      Rebuilder rebuild = with(replacement, false);
      std::vector<CondId> facts;
      for (CondId c : r.facts) {
        const auto x = rebuild.condition(c, budget_);
        if (!x) return false;
        if (*x == kFalse) return true;  // no input is here
        if (*x != kTrue) facts.push_back(*x);
      }
      r.facts = std::move(facts);
    }
    Facts facts;
    for (CondId c : r.facts) learn_all(facts, c);
    if (facts.contradictory) return true;
    algebra_.set_oracle([&](CondId even) { return decided(facts, even); });
    Rebuilder rebuild = with(replacement, true);
    const auto a = rebuild(r.a, budget_);
    const auto b = a ? rebuild(r.b, budget_) : std::nullopt;
    algebra_.set_oracle(nullptr);
    if (!a || !b) return false;
    r.a = *a, r.b = *b;
    if (r.a == r.b) return true;
    // Outside of the region's oracle: what is resolved is kept.
    if (context_.resolver.compare(r.a, r.b, budget_) == Resolver::Verdict::Equal) return true;
    const auto split = choose(r, facts);
    if (!split) return false;
    return branch(r, *split, depth);
  }

  void learn_all(Facts& facts, CondId c) {
    if (c <= kFalse) {
      if (c == kFalse) facts.contradictory = true;
      return;
    }
    if ((c & 1) && algebra_.cond(c).kind == CondKind::Or) {
      facts.known.emplace(c & ~1u, false);
      for (CondId inner : algebra_.cond(c).args) learn_all(facts, Algebra::negation(inner));
      return;
    }
    learn(facts, c);
  }

  Rebuilder with(const Replacement* replacement, bool ordered) {
    Rebuilder rebuild(algebra_, [this, replacement, ordered](AtomId id, const Value& v) -> Value {
      if (replacement && replacement->atom == std::optional(id)) return replacement->value;
      return ordered ? simplified(v) : v;
    });
    if (replacement && replacement->word) rebuild.replace_word(*replacement->word, replacement->by);
    return rebuild;
  }

  // Maxima and absolute values whose order the region decides.
  Value simplified(const Value& v) {
    const auto id = algebra_.single(v.m);
    if (!id) return v;
    const Atom atom = algebra_.atom(*id);
    if (atom.kind == AtomKind::Abs) {
      const Value& x = atom.args[0];
      if (algebra_.nonnegative(x) == kTrue) return Algebra::scale(x, v.c);
      if (algebra_.nonnegative(Algebra::negate(x)) == kTrue) return Algebra::scale(x, -v.c);
      return v;
    }
    if (atom.kind != AtomKind::Max || atom.args.size() > kMostMaximum) return v;
    std::vector<Value> kept = atom.args;
    for (size_t i = 0; i < kept.size();) {
      bool below = false;
      for (size_t j = 0; j < kept.size() && !below; ++j)
        below = j != i && algebra_.nonnegative(algebra_.sub(kept[j], kept[i])) == kTrue;
      if (below)
        kept.erase(kept.begin() + static_cast<ptrdiff_t>(i));
      else
        ++i;
    }
    if (kept.size() == atom.args.size()) return v;
    return Algebra::scale(algebra_.max_of(std::move(kept)), v.c);
  }

  void base_conditions(CondId c, std::set<CondId>& out) const {
    if (c <= kFalse) return;
    if (algebra_.cond(c).kind == CondKind::Or) {
      for (CondId inner : algebra_.cond(c).args) base_conditions(inner, out);
      return;
    }
    out.insert(c & ~1u);
  }

  // The innermost undecided condition on which a side depends.
  std::optional<CondId> choose(const Region& r, const Facts& facts) {
    std::set<AtomId> seen;
    std::set<CondId> found;
    std::vector<AtomId> todo;
    auto visit = [&](const Value& v) {
      for (const Factor& f : algebra_.factors(v.m))
        if (seen.insert(f.atom).second) todo.push_back(f.atom);
    };
    visit(r.a);
    visit(r.b);
    std::set<CondId> done_conditions;
    std::vector<CondId> nested;
    while (!todo.empty() || !nested.empty()) {
      if (todo.empty()) {
        const CondId c = nested.back();
        nested.pop_back();
        if (!done_conditions.insert(c).second) continue;
        const Cond& cond = algebra_.cond(c);
        if (cond.kind == CondKind::Positive || cond.kind == CondKind::Zero) visit(cond.value);
        continue;
      }
      if (seen.size() > 20000) return std::nullopt;
      const AtomId id = todo.back();
      todo.pop_back();
      const Atom atom = algebra_.atom(id);
      if (atom.kind == AtomKind::Select || atom.kind == AtomKind::Indicator) {
        std::set<CondId> own;
        base_conditions(atom.condition, own);
        for (CondId c : own) {
          found.insert(c);
          nested.push_back(c);
        }
      } else if (atom.kind == AtomKind::Abs) {
        found.insert(algebra_.positive(atom.args[0]) & ~1u);
      } else if (atom.kind == AtomKind::Max && atom.args.size() <= kMostMaximum) {
        for (size_t i = 0; i < atom.args.size(); ++i)
          for (size_t j = i + 1; j < atom.args.size(); ++j)
            if (!algebra_.is_infinity(atom.args[i]) && !algebra_.is_infinity(atom.args[j]))
              found.insert(algebra_.positive(algebra_.sub(atom.args[i], atom.args[j])) & ~1u);
      }
      for (const Value& v : atom.args) visit(v);
    }
    std::optional<CondId> best;
    for (CondId c : found) {
      if (c <= kFalse || decided(facts, c)) continue;
      if (!best || std::pair(algebra_.cond(c).depth, c) < std::pair(algebra_.cond(*best).depth, *best)) best = c;
    }
    return best;
  }

  bool mentions(const Value& v, AtomId wanted) const {
    std::set<AtomId> seen;
    std::set<CondId> conditions;
    std::vector<AtomId> todo;
    auto visit = [&](const Value& x) {
      for (const Factor& f : algebra_.factors(x.m))
        if (seen.insert(f.atom).second) todo.push_back(f.atom);
    };
    visit(v);
    while (!todo.empty()) {
      const Atom& atom = algebra_.atom(todo.back());
      if (todo.back() == wanted) return true;
      todo.pop_back();
      // What depends on conditions or words is not looked into: taken to mention everything.
      if (atom.kind == AtomKind::Select || atom.kind == AtomKind::Indicator || atom.kind == AtomKind::OfWord) return true;
      for (const Value& x : atom.args) visit(x);
    }
    return false;
  }

  // v = 0 solved for an atom, a leaf if there is one.
  std::optional<Replacement> solve(const Value& v) {
    const auto id = algebra_.single(v.m);
    if (!id) return std::nullopt;
    if (algebra_.atom(*id).kind != AtomKind::Sum) return Replacement{*id, Value{}, std::nullopt, 0};
    const std::vector<Value> args = algebra_.atom(*id).args;
    for (const bool leaves : {true, false})
      for (size_t i = 0; i < args.size(); ++i) {
        const auto x = algebra_.single(args[i].m);
        if (!x || (algebra_.atom(*x).kind == AtomKind::Leaf || algebra_.atom(*x).kind == AtomKind::Scalar) != leaves) continue;
        if (algebra_.atom(*x).kind == AtomKind::Prime || algebra_.atom(*x).kind == AtomKind::Symbol) continue;
        std::vector<Value> rest;
        for (size_t j = 0; j < args.size(); ++j)
          if (j != i) rest.push_back(Algebra::scale(args[j], Rational(-1) / args[i].c));
        const Value value = algebra_.sum(rest);
        if (mentions(value, *x)) continue;
        return Replacement{*x, value, std::nullopt, 0};
      }
    return std::nullopt;
  }

  bool branch(const Region& r, CondId split, int depth) {
    const Cond cond = algebra_.cond(split);
    auto with_fact = [&](std::initializer_list<CondId> facts) {
      Region out = r;
      for (CondId c : facts) out.facts.push_back(c);
      return out;
    };
    if (cond.kind == CondKind::Word) return branch_word(r, split, cond, depth);
    const Value v = cond.value, minus = Algebra::negate(v);
    const auto equation = solve(v);
    const CondId above = algebra_.positive(v), below = algebra_.positive(minus), zero = algebra_.zero(v);
    if (above != kFalse && !region(with_fact({above, Algebra::negation(below), Algebra::negation(zero)}), nullptr, depth + 1))
      return false;
    if (below != kFalse && !region(with_fact({below, Algebra::negation(above), Algebra::negation(zero)}), nullptr, depth + 1))
      return false;
    if (zero == kFalse) return true;
    return region(with_fact({zero, Algebra::negation(above), Algebra::negation(below)}),
                  equation ? &*equation : nullptr, depth + 1);
  }

  bool branch_word(const Region& r, CondId split, const Cond& cond, int depth) {
    Region holds = r, fails = r;
    holds.facts.push_back(split);
    fails.facts.push_back(Algebra::negation(split));
    std::optional<Replacement> equation, last;
    if (static_cast<Kind>(cond.a) == Kind::BvEq)
      for (const auto& [leaf, constant] : {std::pair(cond.left, cond.right), std::pair(cond.right, cond.left)}) {
        const Word& w = algebra_.word(leaf);
        if (algebra_.word(constant).kind != Kind::BvConst || (w.kind != Kind::Leaf && w.kind != Kind::Scalar)) continue;
        equation = Replacement{std::nullopt, {}, leaf, constant};
        // Once all values of the leaf but one are excluded, that one is it; once all are, no input is left.
        std::set<uint64_t>& excluded = fails.excluded[leaf];
        excluded.insert(algebra_.word(constant).payload);
        const auto values = values_of(w);
        if (values.empty()) break;
        std::vector<uint64_t> left;
        for (uint64_t x : values)
          if (!excluded.contains(x)) left.push_back(x);
        if (left.empty()) return region(std::move(holds), &*equation, depth + 1);
        if (left.size() == 1) {
          Word one;
          one.kind = Kind::BvConst;
          one.width = w.width;
          one.payload = left[0];
          last = Replacement{std::nullopt, {}, leaf, algebra_.word(std::move(one))};
        }
        break;
      }
    if (!region(std::move(holds), equation ? &*equation : nullptr, depth + 1)) return false;
    return region(std::move(fails), last ? &*last : nullptr, depth + 1);
  }

  // All values of a leaf, if its bounds leave few.
  std::vector<uint64_t> values_of(const Word& w) const {
    const bool leaf = w.kind == Kind::Leaf;
    const term::Bounds& bounds = leaf ? algebra_.store().group(static_cast<term::GroupId>(w.payload)).bounds
                                      : algebra_.store().scalar(static_cast<uint32_t>(w.payload)).bounds;
    const DType dtype = leaf ? algebra_.store().group(static_cast<term::GroupId>(w.payload)).dtype
                             : algebra_.store().scalar(static_cast<uint32_t>(w.payload)).dtype;
    std::optional<Rational> lo = bounds.min, hi = bounds.max;
    if (dtype == DType::Bool) lo = lo.value_or(Rational(0)), hi = hi.value_or(Rational(1));
    if (!lo || !hi) return {};
    const auto first = (-(-*lo).floor()).as_int64(), last = hi->floor().as_int64();
    if (!first || !last || *last - *first > 4096) return {};
    const uint64_t mask = w.width >= 64 ? ~uint64_t{0} : (uint64_t{1} << w.width) - 1;
    std::vector<uint64_t> out;
    for (int64_t x = *first; x <= *last; ++x) out.push_back(static_cast<uint64_t>(x) & mask);
    return out;
  }

  Context& context_;
  Algebra& algebra_;
  const Budget& budget_;
  int regions_ = 0;
};

}  // namespace

std::optional<Answer> decide_cases(Context& context, Question& q, const Budget& budget) {
  Algebra& algebra = context.algebra;
  if (!find_domains(context, q, budget)) return std::nullopt;
  std::optional<Value> a = q.value_a, b = q.value_b;
  if (q.type != term::TypeClass::Real) {
    // Words and conditions: whether they are the same, as a number.
    if (!q.same) return std::nullopt;
    a = algebra.select(*q.same, Algebra::number(1), Algebra::number(0));
    b = Algebra::number(1);
  }
  if (!a || !b) return std::nullopt;
  const auto x = context.resolver.resolve(*a, budget), y = context.resolver.resolve(*b, budget);
  if (!x || !y) return std::nullopt;
  const bool proof = Cases(context, budget).prove(*x, *y, {q.defined_a, q.defined_b});
  if (!proof) return std::nullopt;
  return proved("cases");
}

}  // namespace coequal::decide
