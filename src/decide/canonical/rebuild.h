// Maps canonical values to canonical values, atoms first: the frame of merging and of case
// analysis.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <functional>
#include <vector>

#include "base/budget.h"
#include "decide/canonical/algebra.h"

namespace coequal::decide {

class Rebuilder {
 public:
  // Called with each atom and its rebuilt value; what it returns takes the atom's place.
  using Hook = std::function<Value(AtomId, const Value&)>;
  explicit Rebuilder(Algebra& algebra, Hook hook = nullptr)
      : algebra_(algebra), hook_(std::move(hook)) {}

  // Another word in place of one.
  void replace_word(WordId from, WordId to) { words_[from] = to; }

  // Empty when the budget is spent.
  std::optional<Value> operator()(const Value& v, const Budget& budget);
  std::optional<CondId> condition(CondId c, const Budget& budget);

 private:
  struct Node {  // an atom, a condition or a word
    enum Kind : uint8_t { AtomNode, CondNode, WordNode } kind;
    uint32_t id;
  };
  bool run(std::vector<Node> stack, const Budget& budget);
  void need(const Value& v, std::vector<Node>& stack) const;
  void need_condition(CondId c, std::vector<Node>& stack) const;
  Value mapped(const Value& v);
  CondId mapped_condition(CondId c) const {
    return c <= kFalse ? c : conds_.find(c >> 1)->second ^ (c & 1);
  }
  Value power(const Value& base, const Rational& exponent);
  Value rebuild(AtomId id);
  CondId rebuild_condition(CondId even);
  WordId rebuild_word(WordId id);
  void max_leaves(const Value& v, std::vector<Value>& out) const;

  Algebra& algebra_;
  Hook hook_;
  absl::flat_hash_map<AtomId, Value> atoms_;
  absl::flat_hash_map<uint32_t, CondId> conds_;  // by pair
  absl::flat_hash_map<WordId, WordId> words_;
  absl::flat_hash_map<MonoId, Value> monos_;
};

}  // namespace coequal::decide
