// Walks of term DAGs with an explicit stack: kernels make chains deeper than a call stack.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <array>
#include <deque>
#include <utility>
#include <vector>

#include "term/store.h"

namespace coequal::term {

// Calls `visit(t)` for each different sub-term (shape and anchors) of the roots added so far,
// children first.
class Postorder {
 public:
  explicit Postorder(const TermStore& store) : store_(store) {}

  // `enter(t)`: whether to look below t.
  template <class Enter, class Visit>
  void walk(const Term& root, Enter&& enter, Visit&& visit) {
    std::vector<std::pair<Term, bool>> stack{{root, false}};
    while (!stack.empty()) {
      auto [t, done] = stack.back();
      stack.pop_back();
      if (done) {
        visit(t);
        continue;
      }
      if (!seen_.insert(t).second) continue;
      stack.push_back({t, true});
      if (!enter(t)) continue;
      for (int i = store_.arity(t); i-- > 0;) stack.push_back({store_.child(t, i), false});
    }
  }
  template <class Visit>
  void walk(const Term& root, Visit&& visit) {
    walk(
        root, [](const Term&) { return true; }, std::forward<Visit>(visit));
  }

 private:
  const TermStore& store_;
  absl::flat_hash_set<Term> seen_;
};

// Evaluation in a domain, memoised per sub-term. The domain has
//   Value apply(const Term& t, const std::array<const Value*, 3>& args);
//   int choose(const Value& condition);   // 1 or 2: the arm of a select; 0: apply() is given both
template <class Domain>
class Evaluation {
 public:
  using Value = typename Domain::Value;

  Evaluation(const TermStore& store, Domain domain) : store_(store), domain_(std::move(domain)) {}

  // Valid as long as the evaluation.
  const Value& operator()(const Term& root) {
    std::vector<Term> stack{root};
    while (!stack.empty()) {
      const Term t = stack.back();
      if (memo_.contains(t)) {
        stack.pop_back();
        continue;
      }
      std::array<const Value*, 3> args{};
      const size_t before = stack.size();
      const int arity = store_.arity(t);
      int chosen = 0;
      if (store_.kind(t) == Kind::Select) {
        const Term condition = store_.child(t, 0);
        const Value* value = find(condition);
        if (!value) {
          stack.push_back(condition);
          continue;
        }
        chosen = domain_.choose(*value);
      }
      for (int i = arity; i-- > 0;) {
        if (chosen != 0 && i != chosen) continue;
        const Term child = store_.child(t, i);
        const Value* value = find(child);
        if (!value) stack.push_back(child);
        args[static_cast<size_t>(i)] = value;
      }
      if (stack.size() != before) continue;
      Value value = chosen != 0 ? *args[static_cast<size_t>(chosen)] : domain_.apply(t, args);
      memo_.emplace(t, static_cast<uint32_t>(values_.size()));
      values_.push_back(std::move(value));
      stack.pop_back();
    }
    return *find(root);
  }

  Domain& domain() { return domain_; }
  size_t size() const { return memo_.size(); }

 private:
  const Value* find(const Term& t) const {
    const auto it = memo_.find(t);
    return it == memo_.end() ? nullptr : &values_[it->second];
  }

  const TermStore& store_;
  Domain domain_;
  absl::flat_hash_map<Term, uint32_t> memo_;
  std::deque<Value> values_;
};

}  // namespace coequal::term
