// Equations that an instance declares to hold for all values of their variables.
//
// Written as "(gelu-tanh x) = (gelu-erf x)": an operator and its operands in parentheses; numbers
// and `pi` are constants, other names variables. Where one side's canonical form has an atom that
// occurs in a question, the equation is solved for it, and what it gives takes the atom's place.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/budget.h"
#include "base/result.h"
#include "term/store.h"

namespace coequal::decide {

struct Context;
struct Question;

// An operator of the notation.
struct FormulaOp {
  std::string_view name;
  int least, most;  // operands
  std::string_view meaning;
  term::Term (*make)(term::TermStore& store, std::span<const term::Term> args);
};
const std::vector<FormulaOp>& formula_ops();
// The table that `coequal list ops` prints.
std::string list_formula_ops();

class Formula {
 public:
  struct Variable {
    size_t index;
  };
  struct Operation {
    const FormulaOp* op;
    std::vector<Formula> args;
  };
  struct Pi {};
  Formula(std::variant<term::Rational, Pi, Variable, Operation> node) : node_(std::move(node)) {}
  // With these terms for the variables.
  term::Term make(term::TermStore& store, std::span<const term::Term> variables) const;

 private:
  std::variant<term::Rational, Pi, Variable, Operation> node_;
};

struct Equation {
  static constexpr size_t kMostVariables = 2;
  std::string text;
  Formula left, right;
  size_t variables = 0;
  static Result<Equation> parse(const std::string& text, const SourceSpan& span);
};

// Puts what the equations make of them in place of the question's values, and returns the texts of
// those that were used; empty, and nothing is changed, if none says something about the values.
std::vector<std::string> apply_equations(Context& context, Question& question,
                                         const Budget& budget);

}  // namespace coequal::decide
