// Values of terms under an assignment: exactly where every step is rational, in outward-rounded
// balls elsewhere, and in doubles for quick ordering.
#pragma once

#include <optional>
#include <string>

#include "term/assignment.h"
#include "term/ball.h"
#include "term/store.h"
#include "term/traverse.h"

namespace coequal::term {

// A value, and what is known of it. Arithmetic is strict in Poison, then in Undefined; a select
// takes the chosen arm only; "and" and "or" may be decided by one operand.
struct Value {
  enum class Kind : uint8_t {
    Real,  // finite: `exact`, or within `ball`
    PlusInfinity,
    MinusInfinity,
    Bool,       // `bits`
    Bits,       // `bits`
    Undecided,  // a defined condition whose truth the precision does not show
    Undefined,
    Poison,
    Unknown,  // not computed: maybe undefined
  };
  Kind kind = Kind::Unknown;
  std::optional<Rational> exact;
  Ball ball;
  uint64_t bits = 0;

  bool is_defined() const {
    return kind != Kind::Undefined && kind != Kind::Poison && kind != Kind::Unknown;
  }
  std::string to_string() const;
};

// Whether two values of one type are equal; nothing if that is not known. Undefined equals nothing
// known.
std::optional<bool> same_value(const Value& a, const Value& b);

// Exact values, and balls of `precision` bits for what is irrational (0: such values are Unknown).
class ValueDomain {
 public:
  using Value = term::Value;
  ValueDomain(const TermStore& store, const Assignment& assignment, int precision)
      : store_(store), assignment_(assignment), precision_(precision) {}

  Value apply(const Term& t, const std::array<const Value*, 3>& args) const;
  int choose(const Value& condition) const;

 private:
  Value variable(const Term& t) const;
  Value real_operation(const Term& t, const Value& a, const Value& b) const;
  Value compare(Kind kind, const Value& a, const Value& b) const;
  Value select(const Value& condition, const Value& a, const Value& b) const;
  Value of_rational(Rational value) const;
  Value of_ball(Ball ball) const;
  Ball ball_of(const Value& v) const { return v.exact ? Ball(*v.exact, precision_) : v.ball; }
  std::optional<int> sign_of(const Value& v) const;
  Value binary(Kind kind, const Value& a, const Value& b) const;
  Value unary(Kind kind, const Value& x) const;
  Value rounded(Kind kind, const Value& x) const;

  const TermStore& store_;
  const Assignment& assignment_;
  int precision_;
};

using Evaluator = Evaluation<ValueDomain>;
inline Evaluator make_evaluator(const TermStore& store, const Assignment& assignment,
                                int precision) {
  return Evaluator(store, ValueDomain(store, assignment, precision));
}

// The same, but the bits of a number without an encoding are those of the nearest float. Code reads
// the bits of rounded sums and of results that it scales.
class CodeDomain {
 public:
  using Value = term::Value;
  CodeDomain(const TermStore& store, const Assignment& assignment, int precision)
      : store_(store), exact_(store, assignment, precision) {}

  Value apply(const Term& t, const std::array<const Value*, 3>& args) const;
  int choose(const Value& condition) const { return exact_.choose(condition); }

 private:
  const TermStore& store_;
  ValueDomain exact_;
};

// The exact value; nothing if a step is irrational or not determined.
std::optional<Value> evaluate_exact(const TermStore& store, const Term& term,
                                    const Assignment& assignment);
Value evaluate_ball(const TermStore& store, const Term& term, const Assignment& assignment,
                    int precision);
// A double near the value; NaN if it is undefined or unknown; conditions are 0 or 1, words their
// unsigned value.
double evaluate_double(const TermStore& store, const Term& term, const Assignment& assignment);

}  // namespace coequal::term
