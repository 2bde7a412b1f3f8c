// Finds the switch by canonical values, so that neither the way in which the logarithm is written
// nor the direction of the comparison matters.
#include "decide/softplus.h"

#include <optional>
#include <vector>

namespace coequal::decide {

using term::Kind;
using term::NamedConstant;
using term::Rational;
using term::Term;

namespace {

// "scaled > 20 ? large : small"
struct Switch {
  Term scaled, large, small;
};

std::optional<Switch> as_switch(const term::TermStore& store, const Term& selection) {
  Term condition = store.child(selection, 0);
  Term then = store.child(selection, 1), otherwise = store.child(selection, 2);
  while (store.kind(condition) == Kind::Not) {
    condition = store.child(condition, 0);
    std::swap(then, otherwise);
  }
  if (store.kind(condition) != Kind::Less && store.kind(condition) != Kind::LessEq)
    return std::nullopt;
  const Rational threshold(20);
  const Term left = store.child(condition, 0), right = store.child(condition, 1);
  const Rational* below = store.as_rational(left);
  if (below && *below == threshold) return Switch{right, then, otherwise};
  const Rational* above = store.as_rational(right);
  if (above && *above == threshold) return Switch{left, otherwise, then};
  return std::nullopt;
}

}  // namespace

Term SoftplusReader::read(const Term& selection, const Budget& budget) {
  if (!(store_.type(selection) == term::kReal)) return selection;
  const auto found = as_switch(store_, selection);
  if (!found) return selection;
  const auto scaled = builder_.value(found->scaled, budget);
  const auto large = builder_.value(found->large, budget);
  if (!scaled || !large || !(scaled->m == large->m) || large->is_zero()) return selection;
  const Rational factor = scaled->c / large->c;
  if (factor.sign() <= 0) return selection;
  const Term exponential = store_.make(
      Kind::Exp2, {store_.make(Kind::Mul, {found->scaled, store_.symbol(NamedConstant::Log2E)})});
  const Term logarithm =
      store_.make(Kind::Log2, {store_.make(Kind::Add, {store_.real(1), exponential})});
  const Term expected =
      store_.make(Kind::Mul, {store_.make(Kind::Mul, {store_.real(Rational(1) / factor),
                                                      store_.symbol(NamedConstant::Ln2)}),
                              logarithm});
  const auto wanted = builder_.value(expected, budget), have = builder_.value(found->small, budget);
  return wanted && have && *wanted == *have ? found->small : selection;
}

Term SoftplusReader::operator()(const Term& root, const Budget& budget) {
  return rewritten_(
      root, [&](const Term& t) { return store_.kind(t) == Kind::Select ? read(t, budget) : t; });
}

}  // namespace coequal::decide
