// Decides one class of output cells: are two terms the same function of their leaves?
//
// The pipeline (pipeline.cpp) lists the procedures; each answers proved, refuted or nothing. Sound
// for all inputs of the groups' declared bounds; the answer carries the assumptions it rests on.
// (spec: deciding an output cell.)
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/budget.h"
#include "base/options.h"
#include "base/statistics.h"
#include "decide/equation.h"
#include "idiom/recogniser.h"
#include "term/store.h"

namespace coequal::decide {

// Values of the leaves and free scalars that matter; everything absent is zero (or the nearest
// value in its bounds).
struct Assignment {
  std::map<std::pair<term::GroupId, int64_t>, term::Rational>
      cells;  // Bv leaves: the signed or unsigned integer of the dtype
  std::map<uint32_t, term::Rational> scalars;
};

// A confirmed difference: both sides defined there, their exact values or disjoint balls apart.
struct Refutation {
  Assignment assignment;
  std::string value_a, value_b;     // exact rational, or decimal with its radius
  bool one_side_undefined = false;  // only with --no-assume domain-exclusion
  std::string undefined_side;       // "a" or "b"
  bool overflow_only = false;       // some intermediate's IEEE rounding would be infinite
};

// An input excluded because a side is undefined there.
struct Exclusion {
  std::string condition;  // "x[0] = 0"
  std::string side;       // "a", "b" or "both"
  std::optional<Assignment> sample;
};

struct AssumptionUse {
  std::string name;    // as in base/options.cpp
  std::string detail;  // "0x3fb8aa3b is read as log2(e)"
  friend auto operator<=>(const AssumptionUse&, const AssumptionUse&) = default;
};

enum class Outcome : uint8_t { Proved, Refuted, Undecided };

struct Answer {
  Outcome outcome = Outcome::Undecided;
  std::string procedure;  // which one answered: "identical", "canonical", ...
  bool exact = true;      // false: the probabilistic tier, error at most 2^log2_bound
  double log2_bound = 0;
  std::string reason;    // Undecided: "empty-domain", "budget", "no procedure answered", ...
  std::string residual;  // Undecided: the difference that is left, shortened
  std::optional<Refutation> refutation;
  std::vector<Exclusion> exclusions;
  std::vector<AssumptionUse> assumptions;
};

// Whether poison below a term can reach its value.
struct PoisonAnswer {
  enum class Kind : uint8_t { Never, Reached, Unknown } kind = Kind::Unknown;
  Assignment assignment;                                  // Reached: an input under which it does
  std::optional<std::pair<term::GroupId, int64_t>> cell;  // Reached: the poisoned cell
};

const std::vector<Equation>& no_equations();

// One per worker. Keeps canonical forms and proofs between calls: classes of one kernel share most
// of their sub-terms. The anchors of the terms passed in are normalised by the caller (least cell
// of both sides 0 in every group of translatable leaves); motions are ignored.
class Decider {
 public:
  // `equations` are kept by reference.
  Decider(term::TermStore& store, const Options& options, Statistics& statistics,
          const idiom::Library& library = idiom::Library::shipped(),
          const std::vector<Equation>& equations = no_equations());
  ~Decider();
  Decider(const Decider&) = delete;
  Decider& operator=(const Decider&) = delete;

  Answer decide(const term::Term& a, const term::Term& b, const Budget& budget);
  PoisonAnswer poison(const term::Term& t, const Budget& budget);
  // Whether known data alone leave the term without a value, whatever the inputs are.
  bool always_undefined(const term::Term& t);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coequal::decide
