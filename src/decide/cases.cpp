// Case analysis: the regions of the conditions on which the sides depend, each proved by canonical
// forms.
//
// A condition on a value v splits into v > 0, v < 0 and v = 0; in the last, v = 0 is solved for a
// variable, so thresholds are regions in which equal sides have equal forms. What definedness
// requires of both sides holds in all regions. Only conditions that are defined wherever both sides
// are get split, so the regions cover every input that is compared, and each fact says something
// about real numbers there: a region is left out only if its facts contradict each other.
//
// A difference that is a sum of functions of disjoint variables is zero exactly if each of them is
// constant and the constants add up to zero: n independent conditions then cost n cases, not 2^n.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "decide/context.h"

namespace coequal::decide {

using term::Kind;

namespace {

constexpr int kMostRegions = 6000;
constexpr int kMostDepth = 160;
constexpr int kMostRounds = 64;      // words that get their only value one after the other
constexpr size_t kMostValues = 256;  // of a word that are listed
constexpr size_t kMostShared = 512;  // terms of a difference whose variables are counted
constexpr size_t kMostVisited = 20000;
constexpr size_t kMostMaximum = 6;  // arguments of a maximum whose order is split

// What a value is made of: its variables, atoms and conditions.
class Variables {
 public:
  explicit Variables(const Algebra& algebra) : algebra_(algebra) {}

  // False if there is too much to look at.
  bool of(const Value& v) {
    visit(v);
    return run();
  }
  bool of_word(WordId w) {
    visit_word(w);
    return run();
  }
  bool of_condition(CondId c) {
    visit_condition(c);
    return run();
  }
  // Leaves and scalars: atoms (false) and words (true).
  const std::set<std::pair<bool, uint32_t>>& found() const { return found_; }
  const std::set<AtomId>& atoms() const { return atoms_; }
  // Those that are no combinations, by even id.
  const std::set<CondId>& conditions() const { return conditions_; }

 private:
  void visit(const Value& v) {
    for (const Factor& f : algebra_.factors(v.m))
      if (atoms_.insert(f.atom).second) todo_.push_back(f.atom);
  }
  void visit_word(WordId w) {
    if (words_.insert(w).second) todo_words_.push_back(w);
  }
  void visit_condition(CondId c) {
    if (c > kFalse && combinations_.insert(c & ~1u).second) todo_conditions_.push_back(c & ~1u);
  }
  bool run() {
    for (;;) {
      if (atoms_.size() + words_.size() + combinations_.size() > kMostVisited) return false;
      if (!todo_.empty()) {
        const AtomId id = todo_.back();
        todo_.pop_back();
        const Atom& atom = algebra_.atom(id);
        if (atom.kind == AtomKind::Leaf || atom.kind == AtomKind::Scalar ||
            atom.kind == AtomKind::Poison)
          found_.insert({false, id});
        if (atom.kind == AtomKind::Select || atom.kind == AtomKind::Indicator)
          visit_condition(atom.condition);
        if (atom.kind == AtomKind::OfWord) visit_word(atom.word);
        for (const Value& v : atom.args) visit(v);
      } else if (!todo_words_.empty()) {
        const WordId id = todo_words_.back();
        todo_words_.pop_back();
        const Word& w = algebra_.word(id);
        if (w.kind == Kind::Leaf || w.kind == Kind::Scalar || w.kind == Kind::Poison)
          found_.insert({true, id});
        for (WordId x : w.words) visit_word(x);
        for (CondId c : w.conds) visit_condition(c);
        for (const Value& v : w.values) visit(v);
      } else if (!todo_conditions_.empty()) {
        const CondId c = todo_conditions_.back();
        todo_conditions_.pop_back();
        const Cond& cond = algebra_.cond(c);
        switch (cond.kind) {
          case CondKind::True:
            break;
          case CondKind::Positive:
          case CondKind::Zero:
            conditions_.insert(c);
            visit(cond.value);
            break;
          case CondKind::Word:
            conditions_.insert(c);
            visit_word(cond.left);
            visit_word(cond.right);
            break;
          case CondKind::Or:
            for (CondId inner : cond.args) visit_condition(inner);
            break;
        }
      } else {
        return true;
      }
    }
  }

  const Algebra& algebra_;
  std::set<std::pair<bool, uint32_t>> found_;
  std::set<AtomId> atoms_;
  std::set<WordId> words_;
  std::set<CondId> conditions_, combinations_;
  std::vector<AtomId> todo_;
  std::vector<WordId> todo_words_;
  std::vector<CondId> todo_conditions_;
};

class Cases {
 public:
  Cases(Context& context, const Budget& budget)
      : context_(context), algebra_(context.algebra), budget_(budget) {}

  bool prove(const Value& a, const Value& b, const std::vector<CondId>& facts) {
    return region({a, b, facts}, nullptr, 0);
  }

 private:
  struct Region {
    Value a, b;
    std::vector<CondId> facts;
  };
  // What a split adds: an atom's or a word's value.
  struct Replacement {
    std::optional<AtomId> atom;
    Value value;
    std::optional<WordId> word;
    WordId by = 0;
  };
  struct Child {
    Region region;
    std::optional<Replacement> replacement;
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
      if (!range.lo || at > *range.lo || (at == *range.lo && open))
        range.lo = at, range.lo_open = open;
    };
    auto lower = [&](bool open) {
      if (!range.hi || at < *range.hi || (at == *range.hi && open))
        range.hi = at, range.hi_open = open;
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

  enum class Entry : uint8_t { Empty, Stuck, Ready };

  // Puts the region's facts and forms in order. Empty: no input is here.
  Entry enter(Region& r, const Replacement* replacement, Facts& facts) {
    if (++regions_ > kMostRegions || budget_.spent()) return Entry::Stuck;
    std::optional<Replacement> only;
    for (int round = 0; round < kMostRounds; ++round) {
      if (replacement) {
        Rebuilder rebuild = with(replacement, false);
        std::vector<CondId> rewritten;
        for (CondId c : r.facts) {
          const auto x = rebuild.condition(c, budget_);
          if (!x) return Entry::Stuck;
          if (*x == kFalse) return Entry::Empty;
          if (*x != kTrue) rewritten.push_back(*x);
        }
        r.facts = std::move(rewritten);
      }
      facts = Facts{};
      for (CondId c : r.facts) learn_all(facts, c);
      if (facts.contradictory) return Entry::Empty;
      algebra_.set_oracle([&](CondId even) { return decided(facts, even); });
      Rebuilder rebuild = with(replacement, true);
      const auto a = rebuild(r.a, budget_);
      const auto b = a ? rebuild(r.b, budget_) : std::nullopt;
      algebra_.set_oracle(nullptr);
      if (!a || !b) return Entry::Stuck;
      r.a = *a, r.b = *b;
      // A word that the facts leave one value has it.
      bool empty = false;
      only = last_value(facts, empty);
      if (empty) return Entry::Empty;
      if (!only) return Entry::Ready;
      replacement = &*only;
    }
    return Entry::Ready;
  }

  bool region(Region r, const Replacement* replacement, int depth) {
    if (depth > kMostDepth) return false;
    Facts facts;
    switch (enter(r, replacement, facts)) {
      case Entry::Empty:
        return true;
      case Entry::Stuck:
        return false;
      case Entry::Ready:
        break;
    }
    if (r.a == r.b) return true;
    // An undefined form: the side has no value in this region, so nothing is compared.
    if (algebra_.is_undefined(r.a) || algebra_.is_undefined(r.b)) return true;
    // Outside of the region's oracle: what is resolved is kept.
    if (context_.resolver.compare(r.a, r.b, budget_) == Resolver::Verdict::Equal) return true;
    if (r.a.is_number() && r.b.is_number()) return false;
    if (const auto parts = separated(r); parts && each_constant(r, *parts, depth)) return true;
    const auto split = choose(r, facts);
    if (!split) return false;
    for (const Child& child : children(r, *split))
      if (!region(child.region, child.replacement ? &*child.replacement : nullptr, depth + 1))
        return false;
    return true;
  }

  // ---- Sums of functions of disjoint variables ----

  struct Parts {
    std::vector<Value> functions;
    Rational constant;
    int width =
        0;  // of words; 0: reals. The functions and the constant add up to 0 (modulo 2^width)
  };

  std::optional<Parts> separated(const Region& r) {
    Parts out;
    std::vector<Value> terms;
    std::vector<std::pair<WordId, uint64_t>> words;
    const auto id = algebra_.single(r.a.m);
    if (r.b.is_number() && r.a.c.is_one() && id && algebra_.atom(*id).kind == AtomKind::OfWord &&
        algebra_.atom(*id).a == static_cast<uint32_t>(Kind::RealOfUnsigned)) {
      const WordId w = algebra_.atom(*id).word;
      const Algebra::Linear l = algebra_.linear(w);
      if (l.terms.size() < 2) return std::nullopt;
      words = l.terms;
      out.width = algebra_.word(w).width;
      out.constant = Rational::from_u64(l.constant) - r.b.c;
    } else {
      if (algebra_.is_infinity(r.a) || algebra_.is_infinity(r.b)) return std::nullopt;
      const Value d = algebra_.sub(r.a, r.b);
      const auto sum = algebra_.single(d.m);
      if (!sum || algebra_.atom(*sum).kind != AtomKind::Sum) return std::nullopt;
      for (const Value& t : algebra_.atom(*sum).args) {
        if (algebra_.may_be_infinite(t.m)) return std::nullopt;
        if (t.is_number())
          out.constant = out.constant + t.c;
        else
          terms.push_back(t);
      }
    }
    const size_t n = std::max(terms.size(), words.size());
    if (n < 2 || n > 4096) return std::nullopt;
    std::vector<size_t> leader(n);
    for (size_t i = 0; i < n; ++i) leader[i] = i;
    auto find = [&](size_t i) {
      while (leader[i] != i) i = leader[i] = leader[leader[i]];
      return i;
    };
    std::map<std::pair<bool, uint32_t>, size_t> owner;  // of a variable: an atom or a word
    for (size_t i = 0; i < n; ++i) {
      Variables variables(algebra_);
      if (!(words.empty() ? variables.of(terms[i]) : variables.of_word(words[i].first)))
        return std::nullopt;
      for (const auto& v : variables.found()) {
        const auto [it, fresh] = owner.try_emplace(v, i);
        if (!fresh) leader[find(i)] = find(it->second);
      }
    }
    std::map<size_t, std::vector<size_t>> groups;
    for (size_t i = 0; i < n; ++i) groups[find(i)].push_back(i);
    if (groups.size() < 2) return std::nullopt;
    for (const auto& [first, members] : groups) {
      if (words.empty()) {
        std::vector<Value> sum;
        for (size_t i : members) sum.push_back(terms[i]);
        out.functions.push_back(algebra_.sum(std::move(sum)));
      } else {
        Algebra::Linear sum;
        for (size_t i : members) sum.terms.push_back(words[i]);
        out.functions.push_back(
            algebra_.of_word(Kind::RealOfUnsigned, 0, algebra_.of_linear(sum, out.width)));
      }
    }
    return out;
  }

  bool each_constant(const Region& r, const Parts& parts, int depth) {
    Rational total = parts.constant;
    for (const Value& f : parts.functions) {
      const auto k = sample({f, {}, r.facts}, nullptr, depth + 1);
      if (!k) return false;
      if (!region({f, *k, r.facts}, nullptr, depth + 1)) return false;
      total = total + k->c;
    }
    if (parts.width == 0) return total.is_zero();
    return total.is_integer() && (total * Rational::power_of_two(-parts.width)).is_integer();
  }

  // The number that a form is in some part of the region.
  std::optional<Value> sample(Region r, const Replacement* replacement, int depth) {
    if (depth > kMostDepth) return std::nullopt;
    Facts facts;
    if (enter(r, replacement, facts) != Entry::Ready) return std::nullopt;
    if (r.a.is_number()) return r.a;
    const auto split = choose(r, facts);
    if (!split) return std::nullopt;
    for (const Child& child : children(r, *split))
      if (auto k =
              sample(child.region, child.replacement ? &*child.replacement : nullptr, depth + 1))
        return k;
    return std::nullopt;
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
    Variables walk(algebra_);
    if (!walk.of(r.a) || !walk.of(r.b)) return std::nullopt;
    std::set<CondId> found = walk.conditions();
    for (AtomId id : walk.atoms()) {
      const Atom atom = algebra_.atom(id);
      if (atom.kind == AtomKind::Abs) {
        base_conditions(algebra_.positive(atom.args[0]), found);
      } else if (atom.kind == AtomKind::Max && atom.args.size() <= kMostMaximum) {
        for (size_t i = 0; i < atom.args.size(); ++i)
          for (size_t j = i + 1; j < atom.args.size(); ++j)
            if (!algebra_.is_infinity(atom.args[i]) && !algebra_.is_infinity(atom.args[j]))
              base_conditions(algebra_.positive(algebra_.sub(atom.args[i], atom.args[j])), found);
      }
    }
    // Conditions on the variables that most terms of a difference share come first: then the terms
    // fall apart. Of those, the ones that say most: about one variable rather than about two.
    const auto shared = shared_variables(r);
    using Rank = std::tuple<size_t, uint32_t, size_t, CondId>;
    std::optional<Rank> best;
    for (CondId c : found) {
      if (c <= kFalse || decided(facts, c)) continue;
      size_t alone = 0, variables = SIZE_MAX;
      Variables of(algebra_);
      if (of.of_condition(c)) {
        size_t most = 0;
        for (const auto& v : of.found())
          if (const auto it = shared.find(v); it != shared.end()) most = std::max(most, it->second);
        alone = ~most;
        variables = of.found().size();
      }
      const Rank rank{alone, algebra_.cond(c).depth, variables, c};
      if (best && rank >= *best) continue;
      if (total(facts, c)) best = rank;
    }
    if (!best) return std::nullopt;
    return std::get<3>(*best);
  }

  // For each variable, how many terms of the difference mention it; empty if it is one term.
  std::map<std::pair<bool, uint32_t>, size_t> shared_variables(const Region& r) {
    std::map<std::pair<bool, uint32_t>, size_t> out;
    auto count = [&](auto&& visit) {
      Variables of(algebra_);
      if (!visit(of)) return;
      for (const auto& v : of.found()) ++out[v];
    };
    const auto id = algebra_.single(r.a.m);
    if (id && algebra_.atom(*id).kind == AtomKind::OfWord) {
      const Algebra::Linear l = algebra_.linear(algebra_.atom(*id).word);
      if (l.terms.size() < 2 || l.terms.size() > kMostShared) return {};
      for (const auto& [w, k] : l.terms)
        count([&, word = w](Variables& of) { return of.of_word(word); });
      return out;
    }
    for (const Value& side : {r.a, r.b}) {
      const auto sum = algebra_.single(side.m);
      if (!sum || algebra_.atom(*sum).kind != AtomKind::Sum) continue;
      const std::vector<Value> args = algebra_.atom(*sum).args;
      if (args.size() > kMostShared) return {};
      for (const Value& t : args) count([&](Variables& of) { return of.of(t); });
    }
    return out;
  }

  // Whether a condition is defined at every input of the region at which both sides are.
  bool total(const Facts& facts, CondId c) {
    const Cond& cond = algebra_.cond(c);
    if (cond.total) return true;
    if (cond.kind == CondKind::Positive || cond.kind == CondKind::Zero)
      return total(facts, cond.value);
    return false;
  }
  bool total(const Facts& facts, const Value& v) {
    if (algebra_.total(v.m)) return true;
    const std::vector<Factor> factors = algebra_.factors(v.m);
    for (const Factor& f : factors) {
      const Atom& atom = algebra_.atom(f.atom);
      if (!atom.total) {
        if (atom.kind != AtomKind::Sum) return false;
        const std::vector<Value> args = atom.args;
        for (const Value& t : args)
          if (!total(facts, t)) return false;
      }
      if (atom.may_be_infinite) return false;
      const Value base = algebra_.atom_power(f.atom, Rational(1));
      auto holds = [&](CondId condition) {
        if (condition <= kFalse) return condition == kTrue;
        const auto known = decided(facts, condition & ~1u);
        return known && *known != static_cast<bool>(condition & 1);
      };
      if (f.exponent.sign() < 0 && !atom.range.not_zero() &&
          !holds(Algebra::negation(algebra_.zero(base))))
        return false;
      if (!f.exponent.is_integer() && !atom.range.nonnegative() &&
          !holds(algebra_.nonnegative(base)))
        return false;
    }
    return true;
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
      if (atom.kind == AtomKind::Select || atom.kind == AtomKind::Indicator ||
          atom.kind == AtomKind::OfWord)
        return true;
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
        if (!x || (algebra_.atom(*x).kind == AtomKind::Leaf ||
                   algebra_.atom(*x).kind == AtomKind::Scalar) != leaves)
          continue;
        if (algebra_.atom(*x).kind == AtomKind::Prime || algebra_.atom(*x).kind == AtomKind::Symbol)
          continue;
        std::vector<Value> rest;
        for (size_t j = 0; j < args.size(); ++j)
          if (j != i) rest.push_back(Algebra::scale(args[j], Rational(-1) / args[i].c));
        const Value value = algebra_.sum(rest);
        if (mentions(value, *x)) continue;
        return Replacement{*x, value, std::nullopt, 0};
      }
    return std::nullopt;
  }

  std::vector<Child> children(const Region& r, CondId split) {
    const Cond cond = algebra_.cond(split);
    std::vector<Child> out;
    auto with_facts = [&](std::initializer_list<CondId> facts,
                          std::optional<Replacement> replacement) {
      for (CondId c : facts)
        if (c == kFalse) return;
      out.push_back({r, std::move(replacement)});
      out.back().region.facts.insert(out.back().region.facts.end(), facts);
    };
    if (cond.kind == CondKind::Word) {
      std::optional<Replacement> equation;
      if (const auto e = algebra_.equality(split))
        equation = Replacement{std::nullopt, {}, e->first, e->second};
      with_facts({split}, std::move(equation));
      with_facts({Algebra::negation(split)}, std::nullopt);
      return out;
    }
    const Value v = cond.value;
    const CondId above = algebra_.positive(v), below = algebra_.positive(Algebra::negate(v)),
                 zero = algebra_.zero(v);
    with_facts({above, Algebra::negation(below), Algebra::negation(zero)}, std::nullopt);
    with_facts({below, Algebra::negation(above), Algebra::negation(zero)}, std::nullopt);
    with_facts({zero, Algebra::negation(above), Algebra::negation(below)}, solve(v));
    return out;
  }

  // A variable word that the facts leave one value of those within its bounds; `empty`: they leave
  // none.
  std::optional<Replacement> last_value(const Facts& facts, bool& empty) {
    std::map<WordId, std::vector<uint64_t>> left;
    for (const auto& [even, holds] : facts.known) {
      const Cond& c = algebra_.cond(even);
      if (c.kind != CondKind::Word) continue;
      const bool swapped = algebra_.word(c.left).kind == Kind::BvConst;
      const WordId x = swapped ? c.right : c.left, constant = swapped ? c.left : c.right;
      const Word& w = algebra_.word(x);
      if (algebra_.word(constant).kind != Kind::BvConst ||
          (w.kind != Kind::Leaf && w.kind != Kind::Scalar))
        continue;
      auto it = left.find(x);
      if (it == left.end()) it = left.emplace(x, values_of(w)).first;
      if (it->second.empty()) continue;  // too many to list
      const uint64_t k = algebra_.word(constant).payload;
      const int shift = 64 - w.width;
      const Kind kind = static_cast<Kind>(c.a);
      std::erase_if(it->second, [&](uint64_t value) {
        const uint64_t a = swapped ? k : value, b = swapped ? value : k;
        const bool now = kind == Kind::BvEq ? a == b
                         : kind == Kind::BvUlt
                             ? a < b
                             : static_cast<int64_t>(a << shift) < static_cast<int64_t>(b << shift);
        return now != holds;
      });
      if (it->second.empty()) {
        empty = true;
        return std::nullopt;
      }
    }
    for (const auto& [x, values] : left)
      if (values.size() == 1)
        return Replacement{
            std::nullopt, {}, x, algebra_.word_constant(values[0], algebra_.word(x).width)};
    return std::nullopt;
  }

  // All values of a leaf, if its bounds leave few.
  std::vector<uint64_t> values_of(const Word& w) const {
    const bool leaf = w.kind == Kind::Leaf;
    const term::Bounds& bounds =
        leaf ? algebra_.store().group(static_cast<term::GroupId>(w.payload)).bounds
             : algebra_.store().scalar(static_cast<uint32_t>(w.payload)).bounds;
    const DType dtype = leaf ? algebra_.store().group(static_cast<term::GroupId>(w.payload)).dtype
                             : algebra_.store().scalar(static_cast<uint32_t>(w.payload)).dtype;
    std::optional<Rational> lo = bounds.min, hi = bounds.max;
    if (dtype == DType::Bool) lo = lo.value_or(Rational(0)), hi = hi.value_or(Rational(1));
    if (!lo || !hi) return {};
    const auto first = (-(-*lo).floor()).as_int64(), last = hi->floor().as_int64();
    if (!first || !last || *last - *first >= static_cast<int64_t>(kMostValues)) return {};
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

bool prove_by_cases(Context& context, const Value& a, const Value& b,
                    const std::vector<CondId>& facts, const Budget& budget) {
  return Cases(context, budget).prove(a, b, facts);
}

bool always_true_by_cases(Context& context, CondId c, const Budget& budget) {
  const Value indicator = context.algebra.select(c, Algebra::number(1), Algebra::number(0));
  return Cases(context, budget).prove(indicator, Algebra::number(1), {});
}

std::optional<Answer> decide_cases(Context& context, Question& q, const Budget& budget) {
  Algebra& algebra = context.algebra;
  if (!find_domains(context, q, budget)) return std::nullopt;
  const std::vector<CondId> facts{q.defined_a, q.defined_b};
  std::optional<Value> a, b;
  if (q.type == term::TypeClass::Real) {
    if (!q.value_a || !q.value_b) return std::nullopt;
    a = context.resolver.resolve(*q.value_a, budget);
    b = context.resolver.resolve(*q.value_b, budget);
    if (!a || !b) return std::nullopt;
  } else {
    if (!q.same) return std::nullopt;
    // Of words: that their difference is 0; else that the sides are equal, as a number.
    const Cond& same = algebra.cond(*q.same);
    if (!(*q.same & 1) && same.kind == CondKind::Word && static_cast<Kind>(same.a) == Kind::BvEq) {
      Algebra::Linear difference = algebra.linear(same.left);
      Algebra::add_to(difference, algebra.linear(same.right), ~uint64_t{0});
      const int width = algebra.word(same.left).width;
      a = algebra.of_word(Kind::RealOfUnsigned, 0, algebra.of_linear(difference, width));
      b = Value{};
    } else {
      a = algebra.indicator(*q.same);
      b = Algebra::number(1);
    }
  }
  if (!prove_by_cases(context, *a, *b, facts, budget)) return std::nullopt;
  return proved("cases");
}

}  // namespace coequal::decide
