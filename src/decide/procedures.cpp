// The short procedures: identical terms, canonical forms, refutation.
#include "decide/context.h"

namespace coequal::decide {

using term::Kind;
using term::Term;
using term::TypeClass;

namespace {

Answer refuted(Refutation refutation) {
  Answer answer;
  answer.outcome = Outcome::Refuted;
  answer.refutation = std::move(refutation);
  return answer;
}

}  // namespace

std::optional<Answer> decide_identical(Context&, Question& q, const Budget&) {
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
  } else {
    const auto a = context.builder.condition(q.a, budget),
               b = context.builder.condition(q.b, budget);
    if (a && b) same = context.algebra.choose(*a, *b, Algebra::negation(*b));
  }
  if (same && *same > kFalse) same = context.resolver.resolve_condition(*same, budget);
  q.same = same;
  if (same == std::optional<CondId>(kTrue)) return proved("canonical");
  return std::nullopt;
}

PointSearch search_points(const Context& context, const Question& q) {
  PointSearch points(context.store, context.options);
  if (!(q.code_a == q.written_a) || !(q.code_b == q.written_b)) points.set_code(q.code_a, q.code_b);
  if (!(q.a == q.written_a) || !(q.b == q.written_b)) points.set_written(q.written_a, q.written_b);
  points.set_equations(q.instances);
  return points;
}

std::optional<Answer> decide_refute_quickly(Context& context, Question& q, const Budget& budget) {
  // Equal forms up to an unfinished proof are not worth the points.
  if (q.canonical == Resolver::Verdict::Likely) return std::nullopt;
  auto found = search_points(context, q).refute(q.a, q.b, budget);
  if (!found || found->overflow_only) return std::nullopt;
  return refuted(std::move(*found));
}

std::optional<Answer> decide_refute(Context& context, Question& q, const Budget& budget) {
  if (q.canonical == Resolver::Verdict::Likely) return std::nullopt;
  auto found = search_points(context, q).refute(q.a, q.b, budget);
  if (!found) return std::nullopt;
  if (found->overflow_only && context.options.assumes("no-overflow")) {
    Answer answer;
    answer.reason = "the sides differ only where an intermediate overflows";
    answer.refutation = std::move(found);
    return answer;
  }
  return refuted(std::move(*found));
}

std::optional<Answer> decide_probable(Context& context, Question& q, const Budget& budget) {
  if (context.options.exact_only || !q.value_a || !q.value_b) return std::nullopt;
  const auto bound = context.resolver.compare_probably(*q.value_a, *q.value_b, budget);
  if (!bound) return std::nullopt;
  Answer answer = proved("probable");
  answer.exact = false;
  answer.log2_bound = *bound;
  return answer;
}

}  // namespace coequal::decide
