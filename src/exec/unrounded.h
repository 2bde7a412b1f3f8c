// Which terms tell machine values, if what they are made of does.
#pragma once

#include "term/store.h"

namespace coequal::exec {

// No operation that the term has kept is one that rounds.
bool is_unrounded(const term::TermStore& store, const term::Term& value);
// A word or a condition that no real went into.
bool is_integral(const term::TermStore& store, const term::Term& value);

}  // namespace coequal::exec
