// Conditions on data that the declared bounds decide.
#pragma once

#include <optional>

#include "exec/data_index.h"

namespace coequal::exec {

// The truth of a condition on integers, if it is the same for all inputs and living CTAs for which
// the guard (which may be absent) holds.
std::optional<bool> known_truth(const term::TermStore& store, tensor::MotionTable& motions,
                                const term::Term& condition, const term::Term& guard);

// Whether no input makes all parts of a conjunction true that are conditions on a few integers.
bool is_impossible(const term::TermStore& store, tensor::MotionTable& motions,
                   const term::Term& guard);

}  // namespace coequal::exec
