// One question through the pipeline.
#include "decide/decider.h"

#include "decide/context.h"
#include "decide/points.h"
#include "term/print.h"

namespace coequal::decide {

using term::Term;
using term::TypeClass;

struct Decider::State {
  State(term::TermStore& store, const Options& options, Statistics& statistics,
        const idiom::Library& library, const std::vector<Equation>& equations)
      : context(store, options, statistics, library, equations) {}
  Context context;
};

Decider::Decider(term::TermStore& store, const Options& options, Statistics& statistics,
                 const idiom::Library& library, const std::vector<Equation>& equations)
    : state_(std::make_unique<State>(store, options, statistics, library, equations)) {}
Decider::~Decider() = default;

const std::vector<Equation>& no_equations() {
  static const std::vector<Equation> none;
  return none;
}

namespace {

Term without_motion(const term::TermStore& store, const Term& t) {
  return store.map_anchors(t, [](term::GroupId, term::Anchor a) {
    return term::Anchor{a.cell, 0};
  });
}

// The term as it is asked about: library code read as the functions that it computes.
Term prepared(Context& context, const Term& still, idiom::FunctionSet* used = nullptr) {
  if (!context.options.assumes("library-approximation")) return still;
  const idiom::Recogniser::Reading reading = context.recognise(still);
  if (used) *used |= reading.used;
  return reading.term;
}

std::string residual_of(const Context& context, const Question& q) {
  if (q.value_a && q.value_b)
    return context.algebra.to_string(*q.value_a, 160) + "  against  " +
           context.algebra.to_string(*q.value_b, 160);
  if (q.same) return context.algebra.to_string_condition(*q.same, 320);
  term::PrintOptions options;
  options.max_nodes = 30;
  return term::print(context.store, q.a, options) + "  against  " +
         term::print(context.store, q.b, options);
}

}  // namespace

Answer Decider::decide(const Term& a, const Term& b, const Budget& budget) {
  Context& context = state_->context;
  Question q;
  idiom::FunctionSet used;
  q.code_a = without_motion(context.store, a);
  q.code_b = without_motion(context.store, b);
  q.a = prepared(context, q.code_a, &used);
  q.b = prepared(context, q.code_b, &used);
  q.type = context.store.type(q.a).cls;
  CHECK(context.store.type(q.a) == context.store.type(q.b));
  Answer answer;
  // Poison that reaches a side is a defect of its own; a value that mentions it must not be
  // simplified.
  for (const Term& side : {q.a, q.b}) {
    if (!context.store.has_poison(side)) continue;
    const PoisonAnswer reached = poison(side, budget);
    if (reached.kind == PoisonAnswer::Kind::Never) continue;
    answer.reason =
        reached.kind == PoisonAnswer::Kind::Reached ? "poison" : "poison may reach the value";
    return answer;
  }
  q.written_a = q.a;
  q.written_b = q.b;
  std::map<std::string, std::string> ledger;
  bool snapped = false, switched = false, one_gelu = false;
  std::vector<std::string> equations;  // that the values were read by
  for (size_t i = 0; i < pipeline().size(); ++i) {
    const ProcedureRow& row = pipeline()[i];
    if (!row.by_default) continue;
    // Z3 goes by the terms, to which the equations were not applied; a witness may, if it is one at
    // which they hold.
    if (!equations.empty() && row.procedure == decide_z3) continue;
    if (budget.spent()) break;
    const StageTimer timer(context.statistics, std::string("decide.") + row.name);
    context.statistics.count(std::string("decide.") + row.name + ".asked");
    auto found = row.procedure(context, q, budget.slice(row.seconds));
    if (!found) {
      // Equal as written needs no snapping; whatever comes later is asked about the values that
      // constants stand for.
      if (row.procedure == decide_canonical && !snapped) {
        snapped = true;
        Term a2 = q.a, b2 = q.b;
        if (context.options.assumes("constant-snap")) {
          const std::vector<Term> read = context.snap({q.a, q.b}, ledger);
          a2 = read[0], b2 = read[1];
        }
        if (context.options.assumes("softplus-threshold")) {
          const Term a3 = context.softplus(a2, budget), b3 = context.softplus(b2, budget);
          switched = !(a3 == a2) || !(b3 == b2);
          a2 = a3, b2 = b3;
        }
        if (context.options.assumes("gelu-tanh=gelu-erf")) {
          const Term a3 = context.gelu(a2, budget), b3 = context.gelu(b2, budget);
          one_gelu = !(a3 == a2) || !(b3 == b2);
          a2 = a3, b2 = b3;
        }
        if (!(a2 == q.a) || !(b2 == q.b)) {
          Question again;
          again.a = a2, again.b = b2;
          again.written_a = q.a, again.written_b = q.b;
          again.code_a = q.code_a, again.code_b = q.code_b;
          again.type = q.type;
          q = std::move(again);
          found = decide_identical(context, q, budget);
          if (!found) {
            --i;  // once more, with these constants
            continue;
          }
        }
      }
      if (!found && row.procedure == decide_canonical && !context.equations.empty()) {
        equations = apply_equations(context, q, budget);
        if (!equations.empty() &&
            context.resolver.compare(*q.value_a, *q.value_b, budget) == Resolver::Verdict::Equal)
          found = proved("canonical");
      }
      if (!found) continue;
    }
    if (found->procedure.empty()) found->procedure = row.name;
    settle_domain(context, q, *found, budget);
    if (found->outcome == Outcome::Proved) {
      for (const auto& [constant, meaning] : ledger)
        found->assumptions.push_back({"constant-snap", constant + " is read as " + meaning});
      for (size_t f = 0; f < idiom::functions().size(); ++f)
        if (used[f])
          found->assumptions.push_back(
              {"library-approximation",
               "inlined code is read as " + std::string(idiom::functions()[f].name)});
      for (const std::string& equation : equations)
        found->assumptions.push_back({"equation", equation});
      if (switched)
        found->assumptions.push_back({"softplus-threshold", "softplus's switch at 20 is left out"});
    }
    if (one_gelu && found->outcome == Outcome::Proved)
      found->assumptions.push_back({"gelu-tanh=gelu-erf", "the tanh form is read as the erf form"});
    if (found->outcome != Outcome::Undecided)
      context.statistics.count(std::string("decide.") + found->procedure + ".answered");
    else
      found->residual = residual_of(context, q);
    return *found;
  }
  answer.reason = budget.spent()        ? "budget"
                  : q.instances.empty() ? "no procedure answered"
                                        : "the declared equations do not make the sides equal";
  answer.residual = residual_of(context, q);
  return answer;
}

PoisonAnswer Decider::poison(const Term& t, const Budget& budget) {
  Context& context = state_->context;
  PoisonAnswer answer;
  const Term still = prepared(context, without_motion(context.store, t));
  if (!context.store.has_poison(still)) {
    answer.kind = PoisonAnswer::Kind::Never;
    return answer;
  }
  const Term reaches = context.definedness.poisoned(still);
  auto condition = context.builder.condition(reaches, budget.slice(2));
  if (condition && *condition > kFalse)
    condition = context.resolver.resolve_condition(*condition, budget.slice(2));
  if (condition == std::optional<CondId>(kFalse)) {
    answer.kind = PoisonAnswer::Kind::Never;
    return answer;
  }
  const PointSearch search(context.store, context.options);
  if (const auto at = search.satisfy(reaches, budget.slice(2))) {
    answer.kind = PoisonAnswer::Kind::Reached;
    answer.assignment = *at;
    answer.cell = search.poisoned_cell(still, *at);
  } else if (condition && prove_by_cases(context, context.algebra.indicator(*condition), {}, {},
                                         budget.slice(2))) {
    answer.kind = PoisonAnswer::Kind::Never;
  }
  return answer;
}

bool Decider::always_undefined(const Term& t) {
  Context& context = state_->context;
  if (context.store.is_total(t)) return false;
  // Constants fold in the condition; a condition on data that happens never to hold is an empty
  // domain instead.
  return context.store.as_bool(context.definedness.defined(
             prepared(context, without_motion(context.store, t)))) == false;
}

}  // namespace coequal::decide
