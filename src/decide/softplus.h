// PyTorch's softplus with its switch read as the function without it (the assumption
// `softplus-threshold`).
//
// softplus(x) = log(1 + exp(b x)) / b is computed as x where b x > 20: less than 2.1e-9 / b is
// lost. Over the reals these are two functions, and kernels have one or the other.
#pragma once

#include "decide/canonical/build.h"
#include "term/substitute.h"

namespace coequal::decide {

class SoftplusReader {
 public:
  SoftplusReader(term::TermStore& store, Builder& builder)
      : store_(store), builder_(builder), rewritten_(store) {}

  // The term with "b x > 20 ? x : log(1 + exp(b x)) / b" read as its last part. Constants must have
  // been read as what they stand for.
  term::Term operator()(const term::Term& t, const Budget& budget);

 private:
  // The last part, if the selection is such a switch; else the selection.
  term::Term read(const term::Term& selection, const Budget& budget);

  term::TermStore& store_;
  Builder& builder_;
  term::BottomUp rewritten_;
};

}  // namespace coequal::decide
