// Structured inputs at which two terms may differ, and the evaluation that confirms that they do.
//
// Points are taken from the terms' own constants and comparisons (thresholds met exactly, roots of
// comparisons that are linear in a variable), from the bounds of the variables, and from small,
// one-hot, equal, permuted and random values. Every value is one of its dtype. Only exact or
// outward-rounded evaluation counts.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/budget.h"
#include "base/options.h"
#include "decide/decider.h"
#include "decide/slack.h"
#include "term/assignment.h"
#include "term/evaluate.h"
#include "term/store.h"

namespace coequal::decide {

class PointSearch {
 public:
  PointSearch(const term::TermStore& store, const Options& options)
      : store_(store), options_(options) {}

  // The terms before library code was read as the functions that it computes. A difference that
  // they do not show is that of an approximation that was read on one side only.
  void set_code(const term::Term& a, const term::Term& b) { code_ = {a, b}; }

  // The terms with their constants as written, where those asked about have them read as what they
  // stand for: a difference has to show in both.
  void set_written(const term::Term& a, const term::Term& b) { written_ = {a, b}; }

  // Pairs of terms that are taken to be equal: a difference has to show where they are.
  void set_equations(std::vector<std::pair<term::Term, term::Term>> equal) {
    equal_ = std::move(equal);
  }

  // A confirmed difference of a and b, made small; nothing if none of the points shows one.
  std::optional<Refutation> refute(const term::Term& a, const term::Term& b,
                                   const Budget& budget) const;
  // An input at which the condition is true.
  std::optional<Assignment> satisfy(const term::Term& condition, const Budget& budget) const;
  // An input at which both have a finite defined value.
  std::optional<Assignment> defined(const term::Term& a, const term::Term& b,
                                    const Budget& budget) const;
  // The poisoned cell that reaches the term at an input, if one does.
  std::optional<std::pair<term::GroupId, int64_t>> poisoned_cell(const term::Term& t,
                                                                 const Assignment& at) const;
  // Confirms a candidate (a solver's model): values are moved into their dtypes and bounds first.
  std::optional<Refutation> confirm(const term::Term& a, const term::Term& b,
                                    const Assignment& candidate, const Budget& budget) const;

 private:
  struct Variable {
    bool is_scalar = false;
    term::GroupId group = 0;
    int64_t cell = 0;
    uint32_t scalar = 0;
    bool is_integer = false;
    DType dtype = DType::F32;
    const term::Bounds* bounds = nullptr;
    bool sorted = false;
  };
  // What the terms offer to choose points from.
  struct Ground {
    std::vector<Variable> variables;
    std::vector<term::Rational> reals;  // constants of the terms, those in comparisons first
    std::vector<term::Rational> integers;
    std::vector<term::Term> comparisons;  // Less, LessEq, Equal
    bool doubles = false;                 // some variable is f64
  };
  using Point = std::vector<term::Rational>;        // one value a variable
  using Visit = std::function<bool(const Point&)>;  // true: stop

  Ground ground(std::initializer_list<term::Term> roots) const;
  // Offers points until `visit` says stop or the budget ends.
  bool for_each_point(const Ground& ground, const Budget& budget, const Visit& visit) const;
  term::Rational fit(const Variable& v, term::Rational value) const;
  Point fitted(const Ground& ground, Point point) const;
  term::MapAssignment assignment(const Ground& ground, const Point& point) const;
  Assignment named(const Ground& ground, const Point& point) const;
  enum class Difference : uint8_t { None, Values, OneSide };
  Difference differ(const term::Term& a, const term::Term& b, const term::Assignment& at,
                    term::Value* va, term::Value* vb) const;
  // Whether a difference is small beside the numbers that the results are computed from.
  bool is_small(const term::Term& a, const term::Term& b, const term::Assignment& at,
                const term::Value& va, const term::Value& vb) const;
  bool shown_by_code(const term::Assignment& at, const term::Value& va,
                     const term::Value& vb) const;
  bool equations_hold(const term::Assignment& at) const;
  bool builds_floats(const term::Term& t) const;
  bool overflows(const term::Term& t, const term::Assignment& at, bool doubles) const;
  // The terms of one search, and which differences do not count.
  struct Asked {
    term::Term a, b;
    // What the rounding of literals may explain (the assumption `constant-snap`).
    std::optional<Slack> slack, written_slack;
    bool approximated;  // perhaps one side is an approximation of the other
    bool scaled;        // one side may flush small results to zero
  };
  Asked ask(const term::Term& a, const term::Term& b) const;
  // The difference at a point, if it counts.
  Difference shown(const Asked& asked, const term::Assignment& at, bool doubles) const;
  Point placed(const Ground& ground, const Assignment& candidate) const;
  // Makes a difference small; one of the terms as written, if those are others.
  Refutation describe(const Asked& asked, const Assignment& at, Difference kind,
                      const Budget& budget) const;

  const term::TermStore& store_;
  const Options& options_;
  std::optional<std::pair<term::Term, term::Term>> code_, written_;
  std::vector<std::pair<term::Term, term::Term>> equal_;
};

}  // namespace coequal::decide
