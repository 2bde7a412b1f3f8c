#include "decide/equation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "decide/canonical/rebuild.h"
#include "decide/context.h"
#include "idiom/function.h"
#include "term/functions.h"

namespace coequal::decide {

using term::Kind;
using term::NamedConstant;
using term::Rational;
using term::Term;
using term::TermStore;

namespace {

using Args = std::span<const Term>;

Term add(TermStore& s, const Term& x, const Term& y) { return s.make(Kind::Add, {x, y}); }
Term mul(TermStore& s, const Term& x, const Term& y) { return s.make(Kind::Mul, {x, y}); }
Term negated(TermStore& s, const Term& x) { return mul(s, s.real(-1), x); }
Term half_of(TermStore& s, const Term& x, const Term& one_plus) {
  return mul(s, mul(s, s.real(Rational(1, 2)), x), add(s, s.real(1), one_plus));
}
// 1 / (1 + exp(-x))
Term sigmoid(TermStore& s, const Term& x) {
  return s.make(Kind::Div, {s.real(1), add(s, s.real(1), term::make_exp(s, negated(s, x)))});
}
template <Kind kind>
Term unary(TermStore& s, Args a) {
  return s.make(kind, {a[0]});
}
template <Kind kind>
Term of_many(TermStore& s, Args a) {
  Term all = a[0];
  for (const Term& x : a.subspan(1)) all = s.make(kind, {all, x});
  return all;
}

std::vector<FormulaOp> make_ops() {
  constexpr int kMany = 64;
  std::vector<FormulaOp> ops = {
      {"+", 2, kMany, "sum", of_many<Kind::Add>},
      {"*", 2, kMany, "product", of_many<Kind::Mul>},
      {"-", 1, 2, "negation, difference",
       [](TermStore& s, Args a) {
         return a.size() == 1 ? negated(s, a[0]) : add(s, a[0], negated(s, a[1]));
       }},
      {"/", 2, 2, "quotient",
       [](TermStore& s, Args a) {
         return s.make(Kind::Div, {a[0], a[1]});
       }},
      {"min", 2, kMany, "least", of_many<Kind::Min>},
      {"max", 2, kMany, "greatest", of_many<Kind::Max>},
      {"abs", 1, 1, "absolute value", unary<Kind::Abs>},
      {"sqrt", 1, 1, "square root", unary<Kind::Sqrt>},
      {"rsqrt", 1, 1, "1 / sqrt(x)",
       [](TermStore& s, Args a) {
         return s.make(Kind::Div, {s.real(1), s.make(Kind::Sqrt, {a[0]})});
       }},
      {"floor", 1, 1, "greatest integer that is not greater", unary<Kind::Floor>},
      {"ceil", 1, 1, "least integer that is not less", unary<Kind::Ceil>},
      {"trunc", 1, 1, "integer part", unary<Kind::Trunc>},
      {"rint", 1, 1, "nearest integer, ties to even", unary<Kind::RoundEven>},
      {"relu", 1, 1, "max(x, 0)",
       [](TermStore& s, Args a) {
         return s.make(Kind::Max, {a[0], s.real(0)});
       }},
      {"sigmoid", 1, 1, "1 / (1 + exp(-x))", [](TermStore& s, Args a) { return sigmoid(s, a[0]); }},
      {"silu", 1, 1, "x sigmoid(x)",
       [](TermStore& s, Args a) { return mul(s, a[0], sigmoid(s, a[0])); }},
      {"softplus", 1, 1, "log(1 + exp(x))",
       [](TermStore& s, Args a) { return term::make_log1p(s, term::make_exp(s, a[0])); }},
      {"gelu-erf", 1, 1, "x (1 + erf(x / sqrt 2)) / 2",
       [](TermStore& s, Args a) {
         return half_of(s, a[0],
                        s.make(Kind::Erf, {mul(s, a[0], s.symbol(NamedConstant::InvSqrt2))}));
       }},
      {"gelu-tanh", 1, 1, "x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2",
       [](TermStore& s, Args a) {
         const Term cube =
             mul(s, s.real(Rational(44715, 1000000)), mul(s, a[0], mul(s, a[0], a[0])));
         return half_of(s, a[0],
                        s.make(Kind::Tanh, {mul(s, s.symbol(NamedConstant::SqrtTwoOverPi),
                                                add(s, a[0], cube))}));
       }},
  };
  // The library functions; those with a fixed exponent are special cases of pow.
  for (const idiom::Function& f : idiom::functions())
    if (f.name.find('(') == std::string_view::npos)
      ops.push_back({f.name, f.arity, f.arity, "library function", f.meaning});
  return ops;
}

// ---- Reading ----

class Parser {
 public:
  Parser(const std::string& text, const SourceSpan& span) : text_(text), span_(span) {}

  Result<Equation> equation() {
    auto left = formula(0);
    if (!left) return failed_;
    if (word() != "=") return fail("expected '=' after the left side");
    auto right = formula(0);
    if (!right) return failed_;
    if (const std::string rest = word(); !rest.empty())
      return fail(fmt::format("'{}' after the right side", rest));
    if (variables_.size() > Equation::kMostVariables)
      return fail(fmt::format("{} variables; at most {} are tried", variables_.size(),
                              Equation::kMostVariables));
    if (variables_.empty()) return fail("it has no variable");
    return Equation{text_, std::move(*left), std::move(*right), variables_.size()};
  }

 private:
  static constexpr int kMostDepth = 64;

  Diagnostic fail(const std::string& what) {
    return make_diagnostic(
        DiagnosticCode::InstanceInvalid, span_,
        fmt::format("equation '{}': {} (expected one such as \"(f x) = (g x)\")", text_, what));
  }
  std::optional<Formula> no(const std::string& what) {
    failed_ = fail(what);
    return std::nullopt;
  }
  std::string word() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    if (at_ == text_.size()) return "";
    const size_t start = at_++;
    if (text_[start] == '(' || text_[start] == ')') return text_.substr(start, 1);
    while (at_ < text_.size() && !std::isspace(static_cast<unsigned char>(text_[at_])) &&
           text_[at_] != '(' && text_[at_] != ')')
      ++at_;
    return text_.substr(start, at_ - start);
  }
  std::optional<Formula> formula(int depth) {
    if (depth > kMostDepth) return no("it is nested too deeply");
    const std::string w = word();
    if (w.empty() || w == ")" || w == "=")
      return no(w.empty() ? "it ends too soon" : "'" + w + "' is no operand");
    if (w != "(") return operand(w);
    const std::string name = word();
    const auto& ops = formula_ops();
    const auto op =
        std::find_if(ops.begin(), ops.end(), [&](const FormulaOp& o) { return o.name == name; });
    if (op == ops.end()) return no(fmt::format("no operator '{}' (coequal list ops)", name));
    Formula::Operation operation{&*op, {}};
    for (;;) {
      const size_t before = at_;
      if (word() == ")") break;
      at_ = before;
      auto arg = formula(depth + 1);
      if (!arg) return std::nullopt;
      operation.args.push_back(std::move(*arg));
    }
    const auto count = static_cast<int>(operation.args.size());
    if (count < op->least || count > op->most)
      return no(fmt::format("'{}' has {} operands, and takes {}", name, count,
                            op->least == op->most ? std::to_string(op->least)
                                                  : fmt::format("{} to {}", op->least, op->most)));
    return Formula(std::move(operation));
  }
  std::optional<Formula> operand(const std::string& w) {
    if (const auto number = Rational::from_text(w)) return Formula(*number);
    if (w == "pi") return Formula(Formula::Pi{});
    if (!std::isalpha(static_cast<unsigned char>(w[0])))
      return no(fmt::format("'{}' is neither a number nor a name", w));
    auto it = std::find(variables_.begin(), variables_.end(), w);
    if (it == variables_.end()) it = variables_.insert(it, w);
    return Formula(Formula::Variable{static_cast<size_t>(it - variables_.begin())});
  }

  const std::string& text_;
  const SourceSpan& span_;
  size_t at_ = 0;
  std::vector<std::string> variables_;
  Diagnostic failed_{};
};

// ---- Use ----

class Solver {
 public:
  Solver(Context& context, Question& question, const Budget& budget)
      : context_(context), algebra_(context.algebra), question_(question), budget_(budget) {}

  std::vector<std::string> run() {
    if (question_.type != term::TypeClass::Real || !question_.value_a || !question_.value_b)
      return {};
    collect_nodes();
    std::set<std::string> used;
    const Value a = *question_.value_a, b = *question_.value_b;
    for (const Equation& equation : context_.equations)
      if (!instances(equation)) return {};
    if (solved_.empty()) return {};
    const auto replace = [&](AtomId id, const Value& v) {
      const auto it = solved_.find(id);
      if (it == solved_.end()) return v;
      used.insert(it->second.second);
      return it->second.first;
    };
    Rebuilder rebuild(algebra_, replace);
    const auto a2 = rebuild(a, budget_);
    const auto b2 = a2 ? rebuild(b, budget_) : std::nullopt;
    if (!b2 || used.empty()) return {};
    // Solving divided by these: where one is 0 the sides are compared as they are.
    for (const Solution& zero : divisors_) {
      Rebuilder at_zero(
          algebra_, [&](AtomId id, const Value& v) { return id == zero.atom ? zero.value : v; });
      const auto a0 = at_zero(a, budget_), b0 = a0 ? at_zero(b, budget_) : std::nullopt;
      if (!b0 || context_.resolver.compare(*a0, *b0, budget_) != Resolver::Verdict::Equal)
        return {};
    }
    question_.value_a = a2, question_.value_b = b2;
    return {used.begin(), used.end()};
  }

 private:
  static constexpr size_t kMostNodes = 200, kMostPairs = 24, kMostTerms = 256;

  // What variables may stand for, and the atoms that equations may be solved for.
  void collect_nodes() {
    nodes_ = {question_.a, question_.b};
    for (size_t at = 0; at < nodes_.size() && nodes_.size() < kMostNodes; ++at)
      for (int i = 0; i < context_.store.arity(nodes_[at]); ++i) {
        const Term child = context_.store.child(nodes_[at], i);
        if (std::find(nodes_.begin(), nodes_.end(), child) == nodes_.end()) nodes_.push_back(child);
      }
    std::erase_if(nodes_, [&](const Term& t) {
      return context_.store.type(t) != term::kReal || context_.store.as_rational(t);
    });
    Rebuilder visit(algebra_, [&](AtomId id, const Value& v) {
      atoms_.insert(id);
      return v;
    });
    visit(*question_.value_a, budget_);
    visit(*question_.value_b, budget_);
  }

  // The equation for each choice of its variables. False if the budget ended.
  bool instances(const Equation& equation) {
    if (equation.variables == 1) {
      for (const Term& x : nodes_)
        if (!instance(equation, {&x, 1})) return false;
      return true;
    }
    const size_t n = std::min(nodes_.size(), kMostPairs);
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) {
        const Term pair[] = {nodes_[i], nodes_[j]};
        if (!instance(equation, pair)) return false;
      }
    return true;
  }

  bool instance(const Equation& equation, Args variables) {
    const Term left_side = equation.left.make(context_.store, variables),
               right_side = equation.right.make(context_.store, variables);
    const auto left = context_.builder.value(left_side, budget_);
    const auto right = left ? context_.builder.value(right_side, budget_) : std::nullopt;
    if (!right) return false;
    if (algebra_.is_infinity(*left) || algebra_.is_infinity(*right)) return true;
    const Value difference = algebra_.sub(*left, *right);
    std::set<AtomId> of_left;
    Rebuilder visit(algebra_, [&](AtomId id, const Value& v) {
      of_left.insert(id);
      return v;
    });
    if (!visit(*left, budget_)) return false;
    // A product that is 0: one of its factors is.
    std::vector<AtomId> factors;
    for (const Factor& f : algebra_.factors(difference.m))
      if (f.exponent.sign() > 0 && !algebra_.atom(f.atom).range.not_zero())
        factors.push_back(f.atom);
    for (const AtomId factor : factors) {
      const auto solution = solve(factor, [&](AtomId id) {
        const bool open = !is_variable(id) && atoms_.contains(id) && !solved_.contains(id);
        return open ? 1 + 2 * algebra_.atom(id).depth + (of_left.contains(id) ? 1u << 20 : 0) : 0;
      });
      if (!solution) continue;
      question_.instances.emplace_back(left_side, right_side);
      std::vector<Solution> zeros;
      for (const AtomId other : factors) {
        if (other == factor) continue;
        auto zero = is_variable(other)
                        ? Solution{other, Value{}}
                        : solve(other, [&](AtomId id) { return is_variable(id) ? 1u : 0u; });
        if (!zero) break;
        zeros.push_back(std::move(*zero));
      }
      if (zeros.size() + 1 != factors.size()) continue;
      // It says nothing where one of its sides has no value.
      if (!holds_where_compared(left_side) || !holds_where_compared(right_side)) break;
      solved_.emplace(solution->atom, std::pair(solution->value, equation.text));
      divisors_.insert(divisors_.end(), zeros.begin(), zeros.end());
      break;
    }
    return true;
  }

  // Whether the term has a value wherever both sides of the question have one.
  bool holds_where_compared(const Term& t) {
    if (context_.store.is_total(t)) return true;
    const auto defined = context_.builder.condition(context_.definedness.defined(t), budget_);
    if (!defined || *defined == kTrue) return defined.has_value();
    if (!find_domains(context_, question_, budget_)) return false;
    std::vector<CondId> known = algebra_.literals_of(question_.defined_a);
    const std::vector<CondId> more = algebra_.literals_of(question_.defined_b);
    known.insert(known.end(), more.begin(), more.end());
    const std::vector<CondId> wanted = algebra_.literals_of(*defined);
    return std::all_of(wanted.begin(), wanted.end(), [&](CondId c) {
      return c == kTrue || algebra_.implied(known, c) == std::optional(true);
    });
  }

  struct Solution {
    AtomId atom;
    Value value;
  };
  bool is_variable(AtomId id) const {
    return algebra_.atom(id).kind == AtomKind::Leaf || algebra_.atom(id).kind == AtomKind::Scalar;
  }

  // "sum = 0" solved for an atom in which it is linear: the one of highest rank (0: none) whose
  // coefficient is never 0.
  std::optional<Solution> solve(AtomId sum, const std::function<uint32_t(AtomId)>& rank) {
    if (algebra_.atom(sum).kind != AtomKind::Sum) return std::nullopt;
    const auto terms = algebra_.expand(algebra_.atom_power(sum, Rational(1)), kMostTerms);
    if (!terms) return std::nullopt;
    std::set<std::pair<uint32_t, AtomId>, std::greater<>> candidates;
    for (const Value& t : *terms)
      for (const Factor& f : algebra_.factors(t.m))
        if (const uint32_t r = rank(f.atom); r > 0 && f.exponent.is_one())
          candidates.emplace(r, f.atom);
    for (const auto& [r, atom] : candidates)
      if (auto solution = solve_for(atom, *terms)) return solution;
    return std::nullopt;
  }

  std::optional<Solution> solve_for(AtomId atom, const std::vector<Value>& terms) {
    std::vector<Value> with, without;
    for (const Value& t : terms) {
      std::vector<Factor> others;
      for (const Factor& f : algebra_.factors(t.m))
        if (f.atom != atom || !f.exponent.is_one()) others.push_back(f);
      if (others.size() == algebra_.factors(t.m).size())
        without.push_back(t);
      else
        with.push_back(algebra_.mul(Algebra::number(t.c), algebra_.monomial(std::move(others))));
    }
    const Value coefficient = algebra_.sum(with);
    if (coefficient.is_zero() || !algebra_.range(coefficient).not_zero()) return std::nullopt;
    const Value value =
        Algebra::negate(algebra_.mul(algebra_.sum(without), algebra_.inverse(coefficient)));
    // What it is replaced by must be of the values' own parts: instances that share an atom with
    // them by chance are many.
    bool fits = true;
    Rebuilder look(algebra_, [&](AtomId id, const Value& v) {
      const AtomKind kind = algebra_.atom(id).kind;
      const bool known = kind == AtomKind::Sum || kind == AtomKind::Prime ||
                         kind == AtomKind::Symbol || atoms_.contains(id);
      fits &= id != atom && known;
      return v;
    });
    if (!look(value, budget_) || !look(coefficient, budget_) || !fits) return std::nullopt;
    return Solution{atom, value};
  }

  Context& context_;
  Algebra& algebra_;
  Question& question_;
  const Budget& budget_;
  std::vector<Term> nodes_;
  std::set<AtomId> atoms_;
  std::map<AtomId, std::pair<Value, std::string>> solved_;
  std::vector<Solution> divisors_;
};

}  // namespace

const std::vector<FormulaOp>& formula_ops() {
  static const std::vector<FormulaOp> ops = make_ops();
  return ops;
}

std::string list_formula_ops() {
  std::string out;
  for (const FormulaOp& op : formula_ops())
    out += fmt::format("{:<12} {:<8} {}\n", op.name,
                       op.least == op.most ? std::to_string(op.least)
                       : op.most > 2       ? fmt::format("{} or more", op.least)
                                           : fmt::format("{} or {}", op.least, op.most),
                       op.meaning);
  return out;
}

Term Formula::make(TermStore& store, std::span<const Term> variables) const {
  if (const auto* number = std::get_if<Rational>(&node_)) return store.real(*number);
  if (std::holds_alternative<Pi>(node_)) return store.symbol(NamedConstant::Pi);
  if (const auto* variable = std::get_if<Variable>(&node_)) return variables[variable->index];
  const auto& operation = std::get<Operation>(node_);
  std::vector<Term> args;
  for (const Formula& arg : operation.args) args.push_back(arg.make(store, variables));
  return operation.op->make(store, args);
}

Result<Equation> Equation::parse(const std::string& text, const SourceSpan& span) {
  return Parser(text, span).equation();
}

std::vector<std::string> apply_equations(Context& context, Question& question,
                                         const Budget& budget) {
  return Solver(context, question, budget).run();
}

}  // namespace coequal::decide
