// Bottom-up rebuilding of terms with replaced sub-terms.
#include "term/substitute.h"

#include <vector>

namespace coequal::term {

Term Substitution::operator()(const Term& root) {
  std::vector<Term> stack{root};
  while (!stack.empty()) {
    const Term t = stack.back();
    if (done_.contains(t)) {
      stack.pop_back();
      continue;
    }
    if (concerns_ && !concerns_(t)) {
      done_.emplace(t, t);
      stack.pop_back();
      continue;
    }
    const size_t before = stack.size();
    const std::optional<Term> replaced = replace_(t);
    for (int i = store_.arity(t); !replaced && i-- > 0;)
      if (const Term child = store_.child(t, i); !done_.contains(child)) stack.push_back(child);
    if (stack.size() != before) continue;
    if (replaced) CHECK(store_.type(*replaced) == store_.type(t));
    const Term result = replaced ? *replaced : over_children(store_, t, [&](const Term& child) {
      return done_.find(child)->second;
    });
    done_.emplace(t, result);
    stack.pop_back();
  }
  return done_.find(root)->second;
}

Term BottomUp::operator()(const Term& root, const std::function<Term(const Term&)>& rule) {
  std::vector<Term> stack{root};
  while (!stack.empty()) {
    const Term t = stack.back();
    if (done_.contains(t)) {
      stack.pop_back();
      continue;
    }
    const int arity = store_.arity(t);
    const size_t before = stack.size();
    for (int i = arity; i-- > 0;)
      if (const Term child = store_.child(t, i); !done_.contains(child)) stack.push_back(child);
    if (stack.size() != before) continue;
    stack.pop_back();
    done_.emplace(t, rule(over_children(
                         store_, t, [&](const Term& child) { return done_.find(child)->second; })));
  }
  return done_.find(root)->second;
}

std::optional<Term> known_value(TermStore& store, const Term& leaf) {
  if (store.kind(leaf) != Kind::Leaf) return std::nullopt;
  const Group& group = store.group(static_cast<GroupId>(store.payload(leaf)));
  const int64_t cell = store.anchor(leaf, 0).cell;
  Rational value;
  if (group.kind == Group::Kind::Iota) {
    value = Rational(cell);
  } else if (group.kind == Group::Kind::Known) {
    CHECK(group.values && cell >= 0 && cell < static_cast<int64_t>(group.values->size()));
    value = (*group.values)[static_cast<size_t>(cell)];
  } else {
    return std::nullopt;
  }
  if (group.type.cls == TypeClass::Real) return store.real(value);
  const Rational modulus = Rational::power_of_two(64);
  CHECK(value.is_integer());
  const Rational wrapped = value - (value / modulus).floor() * modulus;
  return store.bits(fmpz_get_ui(fmpq_numref(wrapped.get())), group.type.width);
}

Substitution substitute_known(TermStore& store) {
  return Substitution(
      store, [&store](const Term& t) { return known_value(store, t); },
      [&store](const Term& t) { return store.has_pseudo(t); });
}

}  // namespace coequal::term
