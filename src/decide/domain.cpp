// Which inputs a proof excludes because a side is undefined there, and that it does not exclude all
// of them.
#include <algorithm>

#include "decide/context.h"
#include "decide/points.h"

namespace coequal::decide {

using term::Term;

namespace {

// The conditions that must all hold.
std::vector<CondId> conjuncts(const Algebra& algebra, CondId c) {
  if (c == kTrue) return {};
  if ((c & 1) && algebra.cond(c).kind == CondKind::Or) {
    std::vector<CondId> out;
    for (CondId inner : algebra.cond(c).args) out.push_back(Algebra::negation(inner));
    return out;
  }
  return {c};
}

constexpr size_t kMostExclusions = 6, kMostSamples = 3, kMostProofs = 24;

}  // namespace

bool always_true(Context& context, CondId c, const Budget& budget) {
  if (c <= kFalse) return c == kTrue;
  if (const auto it = context.always.find(c); it != context.always.end()) return it->second;
  const bool holds = always_true_by_cases(context, c, budget.slice(0.3)) ||
                     always_true_by_z3(context, c, budget.slice(0.5));
  return context.always[c] = holds;
}

bool find_domains(Context& context, Question& q, const Budget& budget) {
  if (q.domains_known) return true;
  for (const bool first : {true, false}) {
    const auto c =
        context.builder.condition(context.definedness.defined(first ? q.a : q.b), budget);
    if (!c) return false;
    CondId resolved = *c;
    if (resolved > kFalse) {
      const auto r = context.resolver.resolve_condition(resolved, budget);
      if (!r) return false;
      resolved = *r;
    }
    (first ? q.defined_a : q.defined_b) = resolved;
  }
  // Requirements that hold for all inputs exclude nothing.
  const Budget effort = budget.slice(1.0);
  for (CondId* domain : {&q.defined_a, &q.defined_b}) {
    std::vector<CondId> needed;
    const std::vector<CondId> parts = conjuncts(context.algebra, *domain);
    for (size_t i = 0; i < parts.size(); ++i)
      if (i >= kMostProofs || effort.spent() || !always_true(context, parts[i], effort))
        needed.push_back(parts[i]);
    *domain = context.algebra.all(std::move(needed));
  }
  return q.domains_known = true;
}

void settle_domain(Context& context, Question& question, Answer& answer, const Budget& budget) {
  if (answer.outcome != Outcome::Proved) return;
  Algebra& algebra = context.algebra;
  if (!find_domains(context, question, budget)) {
    answer = Answer{};
    answer.reason = "budget";
    return;
  }
  const CondId a = question.defined_a, b = question.defined_b;
  auto undecided = [&](std::string reason) {
    answer = Answer{};
    answer.reason = std::move(reason);
  };
  if (a == kFalse || b == kFalse) return undecided("empty-domain");
  const bool infinite = context.store.has_infinite(question.a.shape()) ||
                        context.store.has_infinite(question.b.shape());
  if (a == kTrue && b == kTrue && !infinite) return;  // every input within the bounds will do

  const PointSearch search(context.store, context.options);
  // Infinities can be values of their own: then some input must give finite ones.
  const CondId both = algebra.all({a, b});
  if (both == kFalse) return undecided("empty-domain");
  auto known = context.domains.find(both);
  if (known == context.domains.end() || (infinite && !known->second.inhabited)) {
    Context::Domain domain;
    const Term finite = context.store.make(
        term::Kind::And,
        {context.definedness.finite(question.a), context.definedness.finite(question.b)});
    if (const auto sample = search.satisfy(finite, budget.slice(2))) {
      domain.inhabited = true;
      domain.sample = *sample;
    }
    known = context.domains.insert_or_assign(both, std::move(domain)).first;
  }
  if (!known->second.inhabited) return undecided("empty-domain");
  if (a == kTrue && b == kTrue) return;

  if (a != b && !context.options.assumes("domain-exclusion")) {
    // One side may be defined where the other is not.
    const Term da = context.definedness.defined(question.a),
               db = context.definedness.defined(question.b);
    const Term differ = context.store.make(
        term::Kind::Or,
        {context.store.make(term::Kind::And, {da, context.store.make(term::Kind::Not, {db})}),
         context.store.make(term::Kind::And, {db, context.store.make(term::Kind::Not, {da})})});
    if (const auto at = search.satisfy(differ, budget.slice(2)))
      if (auto refutation =
              search.confirm(question.written_a, question.written_b, *at, budget.slice(2))) {
        answer = Answer{};
        answer.outcome = Outcome::Refuted;
        answer.procedure = "domain";
        answer.refutation = std::move(refutation);
        return;
      }
    return undecided("the sides' domains may differ");
  }

  const std::vector<CondId> of_a = conjuncts(algebra, a), of_b = conjuncts(algebra, b);
  std::vector<std::pair<CondId, const char*>> parts;
  for (CondId c : of_a)
    parts.emplace_back(c, std::find(of_b.begin(), of_b.end(), c) != of_b.end() ? "both" : "a");
  for (CondId c : of_b)
    if (std::find(of_a.begin(), of_a.end(), c) == of_a.end()) parts.emplace_back(c, "b");
  for (size_t i = 0; i < parts.size() && i < kMostExclusions; ++i) {
    Exclusion exclusion;
    exclusion.condition = algebra.to_string_condition(Algebra::negation(parts[i].first), 120);
    exclusion.side = parts[i].second;
    auto violation = context.violations.find(parts[i].first);
    if (violation == context.violations.end() && i >= kMostSamples) {
      answer.exclusions.push_back(std::move(exclusion));
      continue;
    }
    if (violation == context.violations.end()) {
      // Where the side is undefined; with several conditions any of them may be the reason.
      const bool first = std::string_view(parts[i].second) != "b";
      const Term outside = context.store.make(
          term::Kind::Not, {context.definedness.defined(first ? question.a : question.b)});
      violation =
          context.violations.emplace(parts[i].first, search.satisfy(outside, budget.slice(0.2)))
              .first;
    }
    exclusion.sample = violation->second;
    answer.exclusions.push_back(std::move(exclusion));
  }
  if (parts.size() > kMostExclusions)
    answer.exclusions.push_back(
        {std::to_string(parts.size() - kMostExclusions) + " more conditions", "both", {}});
  answer.assumptions.push_back(
      {"domain-exclusion", "inputs at which a side is undefined are not compared"});
}

}  // namespace coequal::decide
