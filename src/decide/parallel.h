// Many questions at once, over the worker threads that are free.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/workers.h"
#include "decide/decider.h"

namespace coequal::decide {

// The answers that `decider` on `store` gives to the pairs, each given there or by a decider on a
// copy of the store; statistics are summed up. Empty if no other thread is free or the copies would
// take more than half of the memory limit; single answers are missing where the budget ended first
// or deciding threw.
std::vector<std::optional<Answer>> answer_all(
    std::span<const std::pair<term::Term, term::Term>> pairs, Decider& decider,
    const term::TermStore& store, const Options& options, Statistics& statistics,
    const idiom::Library& library, const std::vector<Equation>& equations, const Budget& budget,
    Workers& workers);

}  // namespace coequal::decide
