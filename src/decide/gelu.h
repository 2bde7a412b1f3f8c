// The tanh form of gelu read as the erf form (the assumption `gelu-tanh=gelu-erf`).
//
// gelu(x) = x (1 + erf(x / sqrt 2)) / 2 is often computed with tanh(sqrt(2 / pi) (x + 0.044715
// x^3)) in place of the error function; the two differ by up to 5e-4.
#pragma once

#include "decide/canonical/build.h"
#include "term/substitute.h"

namespace coequal::decide {

class GeluReader {
 public:
  GeluReader(term::TermStore& store, Builder& builder)
      : store_(store), builder_(builder), rewritten_(store) {}

  // The term with tanh(u), and with exp(2 u) and exp(-2 u) as what tanh(u) makes of them, read by
  // erf(x / sqrt 2), where u = sqrt(2 / pi) (x + 0.044715 x^3) for some x. Constants must have been
  // read as what they stand for.
  term::Term operator()(const term::Term& t, const Budget& budget);

 private:
  // erf(x / sqrt 2), if `argument` is `factor` times u.
  std::optional<term::Term> read(const term::Term& argument, const term::Term& factor,
                                 const Budget& budget);

  term::TermStore& store_;
  Builder& builder_;
  term::BottomUp rewritten_;
};

}  // namespace coequal::decide
