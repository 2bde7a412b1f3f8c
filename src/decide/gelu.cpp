// Finds the argument by canonical values: x is looked for among the nodes at the top of the
// argument.
#include "decide/gelu.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace coequal::decide {

using term::Kind;
using term::NamedConstant;
using term::Rational;
using term::Term;

std::optional<Term> GeluReader::read(const Term& argument, const Term& factor,
                                     const Budget& budget) {
  constexpr size_t kMostNodes = 48;
  const auto have = builder_.value(argument, budget);
  if (!have) return std::nullopt;
  const auto times = [&](const Term& a, const Term& b) { return store_.make(Kind::Mul, {a, b}); };
  std::vector<Term> nodes{argument};
  for (size_t at = 0; at < nodes.size() && nodes.size() < kMostNodes; ++at)
    for (int i = 0; i < store_.arity(nodes[at]); ++i) {
      const Term child = store_.child(nodes[at], i);
      if (store_.type(child) == term::kReal && !store_.as_rational(child) &&
          std::find(nodes.begin(), nodes.end(), child) == nodes.end())
        nodes.push_back(child);
    }
  for (const Term& x : nodes) {
    const Term cube = times(store_.real(Rational(44715, 1000000)), times(x, times(x, x)));
    const Term u =
        times(store_.symbol(NamedConstant::SqrtTwoOverPi), store_.make(Kind::Add, {x, cube}));
    const auto wanted = builder_.value(times(factor, u), budget);
    if (wanted && *wanted == *have)
      return store_.make(Kind::Erf, {times(x, store_.symbol(NamedConstant::InvSqrt2))});
  }
  return std::nullopt;
}

Term GeluReader::operator()(const Term& root, const Budget& budget) {
  return rewritten_(root, [&](const Term& t) {
    if (store_.kind(t) == Kind::Tanh) {
      const auto erf = read(store_.child(t, 0), store_.real(1), budget);
      return erf ? *erf : t;
    }
    if (store_.kind(t) != Kind::Exp2) return t;
    for (const int sign : {1, -1}) {
      const Term factor =
          store_.make(Kind::Mul, {store_.real(2 * sign), store_.symbol(NamedConstant::Log2E)});
      // exp(2 u) = (1 + tanh u) / (1 - tanh u)
      if (const auto erf = read(store_.child(t, 0), factor, budget)) {
        const Term more = store_.make(Kind::Add, {store_.real(1), *erf});
        const Term less = store_.make(
            Kind::Add, {store_.real(1), store_.make(Kind::Mul, {store_.real(-1), *erf})});
        return sign > 0 ? store_.make(Kind::Div, {more, less})
                        : store_.make(Kind::Div, {less, more});
      }
    }
    return t;
  });
}

}  // namespace coequal::decide
