// Addresses that depend on data: which values such a word can take, and the condition for each of
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensor/motion.h"
#include "term/store.h"

namespace coequal::exec {

// A word as `known + data`: a known part that may move over the CTAs of the class, and a part that
// depends on data and takes only values low, low + step, ..., high. All are signed readings that
// wrap for no input and no living CTA.
struct IndexRange {
  int64_t known = 0;
  tensor::MotionId motion = 0;
  int64_t low = 0, high = 0, step = 1;

  // At most 2^62.
  int64_t count() const {
    const __int128 n = (__int128{high} - low) / step + 1;
    return n > (__int128{1} << 62) ? int64_t{1} << 62 : static_cast<int64_t>(n);
  }
};

// What a condition says of one word: its signed reading lies in [low, high] wherever the condition
// holds. Of a real: its absolute value is at least 2^low.
struct IndexLimit {
  term::Term word;
  int64_t low = INT64_MIN, high = INT64_MAX;
};
using IndexLimits = std::vector<IndexLimit>;
// Adds what follows for single words where `condition` has the value `truth`: comparisons with
// constants, and what "and" and "or" make of them.
void add_limits(const term::TermStore& store, const term::Term& condition, bool truth,
                IndexLimits& limits);

// Nothing if no useful range follows from the declared bounds of the leaves and from the limits; it
// holds where the limits do.
std::optional<IndexRange> index_range(const term::TermStore& store, tensor::MotionTable& motions,
                                      const term::Term& word, const IndexLimits& limits = {});

// The condition that the word has the signed value `value` (for the representative; moving parts
// move along), with sums, shifts and extensions undone where they cannot wrap, so that it is a
// condition on the leaf itself. It is that condition where the limits hold.
term::Term index_equals(term::TermStore& store, tensor::MotionTable& motions,
                        const term::Term& word, int64_t value, const IndexLimits& limits = {});

// A place that a word can be at, for the representative, with the condition for it on the integers
// that the word depends on.
struct IndexPlace {
  int64_t value = 0;
  tensor::MotionId motion = 0;
  term::Term when;
};

// Every value of a word that is a function of a few bounded integers, whatever the function; one
// place for each of them. Nothing if it depends on anything else, or if the integers take together
// more than `most` values. Holds where the limits do.
std::optional<std::vector<IndexPlace>> index_places(term::TermStore& store,
                                                    tensor::MotionTable& motions,
                                                    const term::Term& word,
                                                    const IndexLimits& limits, int64_t most);

}  // namespace coequal::exec
