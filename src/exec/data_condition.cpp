// Two ways to know a condition: ranges of both sides of a comparison, and all values of the few
// integers that it depends on.
#include "exec/data_condition.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "exec/bits.h"

namespace coequal::exec {

using term::Kind;
using term::Term;

namespace {

struct Ends {
  __int128 low, high;
};

std::optional<Ends> ends_of(const term::TermStore& store, tensor::MotionTable& motions,
                            const Term& word, const IndexLimits& limits) {
  const auto r = index_range(store, motions, word, limits);
  if (!r) return std::nullopt;
  const auto moved = motions.range(r->motion);
  return Ends{__int128{r->known} + moved.min + r->low, __int128{r->known} + moved.max + r->high};
}

// Whether the term is written with at most so many nodes, each counted as often as it stands there:
// ranges are found anew for each of them.
bool is_short(const term::TermStore& store, const Term& t, int& left) {
  if (--left < 0) return false;
  for (int i = 0; i < store.arity(t); ++i)
    if (!is_short(store, store.child(t, i), left)) return false;
  return true;
}

std::optional<bool> by_ranges(const term::TermStore& store, tensor::MotionTable& motions,
                              const Term& c, const IndexLimits& limits, int depth) {
  constexpr int kMostNested = 8;
  if (const auto known = store.as_bool(c)) return known;
  if (depth > kMostNested) return std::nullopt;
  const Kind kind = store.kind(c);
  const auto of = [&](int i) {
    return by_ranges(store, motions, store.child(c, i), limits, depth + 1);
  };
  switch (kind) {
    case Kind::Not: {
      const auto inner = of(0);
      return inner ? std::optional(!*inner) : std::nullopt;
    }
    case Kind::And:
    case Kind::Or: {
      const bool ends = kind == Kind::Or;
      const auto a = of(0);
      if (a == std::optional(ends)) return a;
      const auto b = of(1);
      if (b == std::optional(ends)) return b;
      return a && b ? std::optional(!ends) : std::nullopt;
    }
    case Kind::BvSlt:
    case Kind::BvUlt:
    case Kind::BvEq: {
      const auto a = ends_of(store, motions, store.child(c, 0), limits);
      const auto b = a ? ends_of(store, motions, store.child(c, 1), limits) : std::nullopt;
      if (!a || !b) return std::nullopt;
      // Unsigned readings are the signed ones where neither can be negative.
      if (kind == Kind::BvUlt && (a->low < 0 || b->low < 0)) return std::nullopt;
      if (kind == Kind::BvEq)
        return a->high < b->low || b->high < a->low ? std::optional(false) : std::nullopt;
      if (a->high < b->low) return true;
      if (a->low >= b->high) return false;
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

// Conditions as a list of steps over a few integers, for all of whose values they are computed.
class Table {
 public:
  explicit Table(const term::TermStore& store) : store_(store) {}

  // The step that gives the term; -1 if it is no function of input integers alone. With `known`, of
  // no others than those that were met before.
  int add(const Term& t, bool known) {
    constexpr size_t kMostSteps = 2048, kMostLeaves = 3;
    const auto have = at_.find(t);
    if (have != at_.end()) return have->second;
    const Kind kind = store_.kind(t);
    Step step{kind, store_.type(t).width, 0, {-1, -1, -1}, {0, 0}};
    if (kind == Kind::Leaf) {
      if (known || leaves_.size() == kMostLeaves || store_.type(t) == term::kReal ||
          store_.group(store_.groups(t)[0]).kind != term::Group::Kind::Input)
        return -1;
      step.payload = leaves_.size();
      leaves_.push_back(t);
    } else if (kind == Kind::BvConst || kind == Kind::BoolConst) {
      step.payload = store_.payload(t);
      if (kind == Kind::BvConst) step.payload = *store_.as_bits(t);
    } else if (!is_covered(kind)) {
      return -1;
    } else {
      step.payload = store_.payload(t);
      for (int i = 0; i < store_.arity(t); ++i) {
        const auto k = static_cast<size_t>(i);
        step.from[k] = add(store_.child(t, i), known);
        if (step.from[k] < 0) return -1;
        if (i < 2) step.width_of[k] = store_.type(store_.child(t, i)).width;
      }
    }
    if (steps_.size() == kMostSteps) return -1;
    steps_.push_back(step);
    return at_[t] = static_cast<int>(steps_.size()) - 1;
  }

  const std::vector<Term>& leaves() const { return leaves_; }

  const std::vector<uint64_t>& compute(const std::vector<int64_t>& values) {
    results_.resize(steps_.size());
    for (size_t i = 0; i < steps_.size(); ++i)
      results_[i] = value_of(steps_[i], values) & low_mask(steps_[i].width);
    return results_;
  }

 private:
  struct Step {
    Kind kind;
    int width;
    uint64_t payload;
    std::array<int, 3> from;
    std::array<int, 2> width_of;
  };

  static bool is_covered(Kind kind) {
    switch (kind) {
      case Kind::Select:
      case Kind::Not:
      case Kind::And:
      case Kind::Or:
      case Kind::BvEq:
      case Kind::BvUlt:
      case Kind::BvSlt:
      case Kind::BvOfBool:
      case Kind::BvAdd:
      case Kind::BvMul:
      case Kind::BvAnd:
      case Kind::BvOr:
      case Kind::BvXor:
      case Kind::BvNot:
      case Kind::BvShl:
      case Kind::BvLshr:
      case Kind::BvExtract:
      case Kind::BvConcat:
      case Kind::BvZeroExtend:
      case Kind::BvSignExtend:
        return true;
      default:
        return false;
    }
  }

  uint64_t value_of(const Step& s, const std::vector<int64_t>& values) const {
    const auto in = [&](size_t i) { return results_[static_cast<size_t>(s.from[i])]; };
    switch (s.kind) {
      case Kind::Leaf:
        return static_cast<uint64_t>(values[s.payload]);
      case Kind::Select:
        return in(0) ? in(1) : in(2);
      case Kind::Not:
        return !in(0);
      case Kind::And:
      case Kind::BvAnd:
        return in(0) & in(1);
      case Kind::Or:
      case Kind::BvOr:
        return in(0) | in(1);
      case Kind::BvEq:
        return in(0) == in(1);
      case Kind::BvUlt:
        return in(0) < in(1);
      case Kind::BvSlt:
        return sign_extend(in(0), s.width_of[0]) < sign_extend(in(1), s.width_of[0]);
      case Kind::BvOfBool:
        return in(0);
      case Kind::BvAdd:
        return in(0) + in(1);
      case Kind::BvMul:
        return in(0) * in(1);
      case Kind::BvXor:
        return in(0) ^ in(1);
      case Kind::BvNot:
        return ~in(0);
      case Kind::BvShl:
        return in(1) < static_cast<uint64_t>(s.width) ? in(0) << in(1) : 0;
      case Kind::BvLshr:
        return in(1) < static_cast<uint64_t>(s.width) ? in(0) >> in(1) : 0;
      case Kind::BvExtract:
        return in(0) >> s.payload;
      case Kind::BvConcat:
        return in(0) << s.width_of[1] | in(1);
      case Kind::BvZeroExtend:
        return in(0);
      case Kind::BvSignExtend:
        return static_cast<uint64_t>(sign_extend(in(0), s.width_of[0]));
      default:  // constants
        return s.payload;
    }
  }

  const term::TermStore& store_;
  absl::flat_hash_map<Term, int> at_;
  std::vector<Term> leaves_;
  std::vector<Step> steps_;
  std::vector<uint64_t> results_;
};

// The parts of a conjunction.
std::vector<Term> parts_of(const term::TermStore& store, const Term& guard) {
  std::vector<Term> parts, todo;
  if (guard.valid()) todo.push_back(guard);
  while (!todo.empty()) {
    const Term t = todo.back();
    todo.pop_back();
    if (store.kind(t) != Kind::And) {
      parts.push_back(t);
      continue;
    }
    for (int i = 0; i < 2; ++i) todo.push_back(store.child(t, i));
  }
  return parts;
}

// Calls `visit` with the results for all values of the table's integers, until it returns false.
// False if the values are too many.
template <class Visit>
bool for_all_values(const term::TermStore& store, tensor::MotionTable& motions, Table& table,
                    Visit visit) {
  constexpr int64_t kMostCombinations = 4096;
  std::vector<int64_t> low, count;
  int64_t combinations = 1;
  for (const Term& leaf : table.leaves()) {
    const auto r = index_range(store, motions, leaf);
    if (!r || r->motion || r->step != 1 || r->count() > kMostCombinations / combinations)
      return false;
    low.push_back(r->known + r->low);
    count.push_back(r->count());
    combinations *= r->count();
  }
  std::vector<int64_t> values(low.size());
  for (int64_t n = 0; n < combinations; ++n) {
    int64_t rest = n;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = low[i] + rest % count[i];
      rest /= count[i];
    }
    if (!visit(table.compute(values))) return true;
  }
  return true;
}

// The parts of the guard that are functions of the table's integers, or may be with `more` of them.
std::vector<int> given_by(const term::TermStore& store, Table& table, const Term& guard,
                          bool more) {
  std::vector<int> given;
  for (const Term& part : parts_of(store, guard))
    if (const int at = table.add(part, !more); at >= 0) given.push_back(at);
  return given;
}

bool all_hold(const std::vector<uint64_t>& results, const std::vector<int>& given) {
  return std::all_of(given.begin(), given.end(),
                     [&](int at) { return results[static_cast<size_t>(at)] != 0; });
}

std::optional<bool> by_values(const term::TermStore& store, tensor::MotionTable& motions,
                              const Term& condition, const Term& guard) {
  Table table(store);
  const int asked = table.add(condition, false);
  if (asked < 0 || table.leaves().empty()) return std::nullopt;
  const std::vector<int> given = given_by(store, table, guard, false);
  bool always = true, never = true;
  const bool looked = for_all_values(store, motions, table, [&](const auto& results) {
    if (all_hold(results, given)) (results[static_cast<size_t>(asked)] ? never : always) = false;
    return always || never;
  });
  if (!looked || (!always && !never)) return std::nullopt;
  return always && !never;
}

}  // namespace

std::optional<bool> known_truth(const term::TermStore& store, tensor::MotionTable& motions,
                                const Term& condition, const Term& guard) {
  int nodes = 64;
  if (is_short(store, condition, nodes)) {
    IndexLimits limits;
    if (guard.valid()) add_limits(store, guard, true, limits);
    if (const auto known = by_ranges(store, motions, condition, limits, 0)) return known;
  }
  return by_values(store, motions, condition, guard);
}

bool is_impossible(const term::TermStore& store, tensor::MotionTable& motions, const Term& guard) {
  Table table(store);
  const std::vector<int> given = given_by(store, table, guard, true);
  if (given.empty() || table.leaves().empty()) return false;
  bool none = true;
  const bool looked = for_all_values(store, motions, table, [&](const auto& results) {
    none &= !all_hold(results, given);
    return none;
  });
  return looked && none;
}

}  // namespace coequal::exec
