// The short procedures: identical terms, canonical forms, refutation.
#include "decide/context.h"
#include "decide/points.h"

namespace coequal::decide {

using term::Kind;
using term::Term;
using term::TypeClass;

namespace {

// Canonical definedness of both sides; false if the budget ends first.
bool find_domains(Context& context, Question& q, const Budget& budget) {
  for (const bool first : {true, false}) {
    const auto c = context.builder.condition(context.definedness.defined(first ? q.a : q.b), budget);
    if (!c) return false;
    CondId resolved = *c;
    if (resolved > kFalse) {
      const auto r = context.resolver.resolve_condition(resolved, budget);
      if (!r) return false;
      resolved = *r;
    }
    (first ? q.defined_a : q.defined_b) = resolved;
  }
  return true;
}

Answer refuted(Refutation refutation) {
  Answer answer;
  answer.outcome = Outcome::Refuted;
  answer.refutation = std::move(refutation);
  return answer;
}

}  // namespace

std::optional<Answer> decide_identical(Context& context, Question& q, const Budget& budget) {
  if (!find_domains(context, q, budget)) return std::nullopt;
  if (!(q.a == q.b)) return std::nullopt;
  return proved("identical");
}

std::optional<Answer> decide_canonical(Context& context, Question& q, const Budget& budget) {
  if (q.type == TypeClass::Real) {
    q.value_a = context.builder.value(q.a, budget);
    q.value_b = context.builder.value(q.b, budget);
    if (!q.value_a || !q.value_b) return std::nullopt;
    q.canonical = context.resolver.compare(*q.value_a, *q.value_b, budget);
    if (q.canonical == Resolver::Verdict::Equal) return proved("canonical");
    return std::nullopt;
  }
  std::optional<CondId> same;
  if (q.type == TypeClass::Bv) {
    same = context.builder.condition(context.store.make(Kind::BvEq, {q.a, q.b}), budget);
    if (same && *same > kFalse) same = context.resolver.resolve_condition(*same, budget);
  } else {
    const auto a = context.builder.condition(q.a, budget), b = context.builder.condition(q.b, budget);
    if (!a || !b) return std::nullopt;
    const auto x = context.resolver.resolve_condition(*a, budget), y = context.resolver.resolve_condition(*b, budget);
    if (!x || !y) return std::nullopt;
    same = *x == *y ? kTrue : kFalse;
  }
  if (same == std::optional<CondId>(kTrue)) return proved("canonical");
  return std::nullopt;
}

std::optional<Answer> decide_refute_quickly(Context& context, Question& q, const Budget& budget) {
  // Equal forms up to an unfinished proof are not worth the points.
  if (q.canonical == Resolver::Verdict::Likely) return std::nullopt;
  auto found = PointSearch(context.store, context.options).refute(q.a, q.b, budget);
  if (!found || found->overflow_only) return std::nullopt;
  return refuted(std::move(*found));
}

std::optional<Answer> decide_refute(Context& context, Question& q, const Budget& budget) {
  if (q.canonical == Resolver::Verdict::Likely) return std::nullopt;
  auto found = PointSearch(context.store, context.options).refute(q.a, q.b, budget);
  if (!found) return std::nullopt;
  if (found->overflow_only && context.options.assumes("no-overflow")) {
    Answer answer;
    answer.reason = "the sides differ only where an intermediate overflows";
    answer.refutation = std::move(found);
    return answer;
  }
  return refuted(std::move(*found));
}

std::optional<Answer> decide_probable(Context&, Question&, const Budget&) { return std::nullopt; }
std::optional<Answer> decide_z3(Context&, Question&, const Budget&) { return std::nullopt; }
std::optional<Answer> decide_cases(Context&, Question&, const Budget&) { return std::nullopt; }

}  // namespace coequal::decide
