// Concrete meaning of the kinds over machine words, for evaluation.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "term/term.h"

namespace coequal::term {

struct Word {
  uint64_t bits = 0;
  int width = 1;
};

// The result of a Bv or comparison kind whose arguments are all words, in `width` bits (1 for a
// comparison). Nothing if it is undefined (division by zero) or the kind is not of that sort.
std::optional<uint64_t> apply_word(Kind kind, const std::array<Word, 2>& args, uint64_t payload,
                                   int width);

}  // namespace coequal::term
