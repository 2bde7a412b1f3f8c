// Canonical values of terms. Kept between calls: classes of one kernel share most of their
// sub-terms.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <functional>
#include <vector>

#include "base/budget.h"
#include "decide/canonical/algebra.h"
#include "term/store.h"

namespace coequal::decide {

class Builder {
 public:
  // `definedness(t)`: a condition (term) that holds where t is defined.
  Builder(Algebra& algebra, term::TermStore& store,
          std::function<term::Term(const term::Term&)> definedness)
      : algebra_(algebra), store_(store), definedness_(std::move(definedness)) {}

  // By the term's type. Motions must have been dropped. Empty when the budget is spent.
  std::optional<Value> value(const term::Term& t, const Budget& budget);
  std::optional<CondId> condition(const term::Term& t, const Budget& budget);

 private:
  struct Entry {
    Value value;
    uint32_t id = 0;  // of the condition or word
  };

  const Entry* build(const term::Term& t, const Budget& budget);
  Entry combine(const term::Term& t);
  const Entry& done(const term::Term& t) const { return memo_.find(t)->second; }
  const Value& value_of(const term::Term& t, int i) const { return done(store_.child(t, i)).value; }
  uint32_t id_of(const term::Term& t, int i) const { return done(store_.child(t, i)).id; }
  Entry leaf(const term::Term& t);
  Entry word(const term::Term& t);

  Algebra& algebra_;
  term::TermStore& store_;
  std::function<term::Term(const term::Term&)> definedness_;
  absl::flat_hash_map<term::Term, Entry> memo_;
};

}  // namespace coequal::decide
