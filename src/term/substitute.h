// Replacement of sub-terms: pseudo leaves by their known values, conditions by booleans, leaves by
// other terms.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <functional>
#include <optional>

#include "term/store.h"

namespace coequal::term {

// The term with `f(child)` in place of each child; itself if none changes.
template <class F>
Term over_children(TermStore& store, const Term& t, F&& f) {
  std::array<Term, 3> args;
  const auto arity = static_cast<size_t>(store.arity(t));
  bool changed = false;
  for (size_t i = 0; i < arity; ++i) {
    const Term child = store.child(t, static_cast<int>(i));
    args[i] = f(child);
    changed = changed || !(args[i] == child);
  }
  if (!changed) return t;
  const Type type = store.type(t);
  return store.make(store.kind(t), std::span<const Term>(args.data(), arity), store.payload(t),
                    type.cls == TypeClass::Bv ? type.width : 0);
}

// Rebuilds terms with some sub-terms replaced. Results are kept, so one substitution serves many
// roots; the replacement must not change while it is in use.
class Substitution {
 public:
  // What stands in place of a sub-term; nullopt leaves it to its (replaced) children. Asked
  // top-down, the replacement itself is not looked into.
  using Replace = std::function<std::optional<Term>(const Term&)>;
  // Whether anything below a sub-term can be replaced; false skips it.
  using Concerns = std::function<bool(const Term&)>;

  Substitution(TermStore& store, Replace replace, Concerns concerns = nullptr)
      : store_(store), replace_(std::move(replace)), concerns_(std::move(concerns)) {}

  Term operator()(const Term& root);

 private:
  TermStore& store_;
  Replace replace_;
  Concerns concerns_;
  absl::flat_hash_map<Term, Term> done_;
};

// Rebuilds terms bottom-up, each node as a rule reads it. Results are kept, so one serves many
// roots; the rule must not change while it is in use.
class BottomUp {
 public:
  explicit BottomUp(TermStore& store) : store_(store) {}

  // `rule(t)`: what stands in place of t, whose children have been read already.
  Term operator()(const Term& root, const std::function<Term(const Term&)>& rule);

 private:
  TermStore& store_;
  absl::flat_hash_map<Term, Term> done_;
};

// The known value of a leaf of an Iota or Known group, as a constant of the leaf's type. Motions
// are ignored: the value is that of the representative CTA.
std::optional<Term> known_value(TermStore& store, const Term& leaf);

// Replaces all Iota and Known leaves by their values.
Substitution substitute_known(TermStore& store);

}  // namespace coequal::term
