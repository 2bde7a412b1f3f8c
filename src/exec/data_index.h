// Addresses that depend on data: which values such a word can take, and the condition for each of them.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/motion.h"
#include "term/store.h"

namespace coequal::exec {

// A word as `known + data`: a known part that may move over the CTAs of the class, and a part that depends on data and takes
// only values low, low + step, ..., high. All are signed readings that wrap for no input and no living CTA.
struct IndexRange {
  int64_t known = 0;
  tensor::MotionId motion = 0;
  int64_t low = 0, high = 0, step = 1;

  int64_t count() const { return (high - low) / step + 1; }
};

// Nothing if no useful range follows from the declared bounds of the leaves.
std::optional<IndexRange> index_range(const term::TermStore& store, tensor::MotionTable& motions, const term::Term& word);

// The condition that the word has the signed value `value` (for the representative; moving parts move along), with sums,
// shifts and extensions undone where they cannot wrap, so that it is a condition on the leaf itself.
term::Term index_equals(term::TermStore& store, tensor::MotionTable& motions, const term::Term& word, int64_t value);

}  // namespace coequal::exec
