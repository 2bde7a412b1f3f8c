// What the procedures share: the store, the algebra of canonical values, and what was found out
// before.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/budget.h"
#include "base/options.h"
#include "base/statistics.h"
#include "decide/canonical/build.h"
#include "decide/canonical/resolve.h"
#include "decide/decider.h"
#include "decide/equation.h"
#include "decide/gelu.h"
#include "decide/points.h"
#include "decide/snap.h"
#include "decide/softplus.h"
#include "idiom/recogniser.h"
#include "term/definedness.h"

namespace coequal::decide {

struct Context {
  Context(term::TermStore& term_store, const Options& check_options, Statistics& check_statistics,
          const idiom::Library& library, const std::vector<Equation>& declared)
      : store(term_store),
        options(check_options),
        statistics(check_statistics),
        definedness(term_store),
        algebra(term_store),
        builder(algebra, term_store,
                [this](const term::Term& t) { return definedness.defined(t); }),
        resolver(algebra, check_options.seed, check_statistics),
        snap(term_store),
        softplus(term_store, builder),
        gelu(term_store, builder),
        recognise(term_store, library),
        equations(declared) {}

  term::TermStore& store;
  const Options& options;
  Statistics& statistics;
  term::Definedness definedness;
  Algebra algebra;
  Builder builder;
  Resolver resolver;
  Snapper snap;
  SoftplusReader softplus;
  GeluReader gelu;
  idiom::Recogniser recognise;
  const std::vector<Equation>& equations;

  // Conditions for which an input was found, or none (domain.cpp).
  struct Domain {
    bool inhabited = false;
    Assignment sample;
  };
  absl::flat_hash_map<CondId, Domain> domains;
  absl::flat_hash_map<CondId, std::optional<Assignment>> violations;
  absl::flat_hash_map<CondId, bool> always;  // conditions asked about by always_true
};

// One question: a and b, whose anchors carry no motion.
struct Question {
  term::Term a, b;
  // The programs' own constants, if those of a and b were snapped: a witness must hold for them
  // too.
  term::Term written_a, written_b;
  // Before library code was read as the functions that it computes.
  term::Term code_a, code_b;
  term::TypeClass type = term::TypeClass::Real;
  // Canonical values of real terms; empty if the budget did not suffice.
  std::optional<Value> value_a, value_b;
  std::optional<CondId> same;  // of words and conditions: that the sides are equal
  // Canonical conditions under which the sides are defined, once they were asked for
  // (find_domains).
  bool domains_known = false;
  CondId defined_a = kTrue, defined_b = kTrue;
  Resolver::Verdict canonical = Resolver::Verdict::Unknown;
  // Sides of the declared equations that say something about the question: inputs at which they
  // differ are no witness.
  std::vector<std::pair<term::Term, term::Term>> instances;
};

using Procedure = std::optional<Answer> (*)(Context&, Question&, const Budget&);

// How one procedure stands in the pipeline.
struct ProcedureRow {
  const char* name;
  Procedure procedure;
  double seconds;  // its slice of the budget
  bool by_default;
  const char* what;  // for people
};
const std::vector<ProcedureRow>& pipeline();

std::optional<Answer> decide_identical(Context&, Question&, const Budget&);
std::optional<Answer> decide_canonical(Context&, Question&, const Budget&);
std::optional<Answer> decide_refute_quickly(Context&, Question&, const Budget&);
std::optional<Answer> decide_refute(Context&, Question&, const Budget&);
std::optional<Answer> decide_cases(Context&, Question&, const Budget&);
std::optional<Answer> decide_probable(Context&, Question&, const Budget&);
std::optional<Answer> decide_z3(Context&, Question&, const Budget&);

inline Answer proved(const char* procedure) {
  Answer answer;
  answer.outcome = Outcome::Proved;
  answer.procedure = procedure;
  return answer;
}

// A search for inputs at which the sides of a question differ.
PointSearch search_points(const Context& context, const Question& question);

// Whether a condition holds for all inputs, by cases and by Z3. Remembered.
bool always_true(Context& context, CondId c, const Budget& budget);
bool always_true_by_cases(Context& context, CondId c, const Budget& budget);
bool always_true_by_z3(Context& context, CondId c, const Budget& budget);
// Whether a and b are equal wherever the facts hold, by case analysis. The facts must be conditions
// that hold wherever both are defined.
bool prove_by_cases(Context& context, const Value& a, const Value& b,
                    const std::vector<CondId>& facts, const Budget& budget);

// Fills in the question's domains; false if the budget ends first.
bool find_domains(Context& context, Question& question, const Budget& budget);

// Adds the inputs that definedness excludes to a proof; turns it into undecided if no finite input
// at which both sides are defined is found, or if one side's exclusion matters and may not be
// assumed away.
void settle_domain(Context& context, Question& question, Answer& answer, const Budget& budget);

}  // namespace coequal::decide
