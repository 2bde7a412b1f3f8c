#include "check/checker.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "check/lower.h"
#include "check/replay_findings.h"
#include "check/run.h"
#include "decide/cells.h"
#include "decide/decider.h"
#include "decide/parallel.h"
#include "idiom/toolchain.h"
#include "program/grid_facts.h"
#include "term/print.h"
#include "term/substitute.h"
#include "toolchain/ptx_cache.h"

namespace coequal::check {
namespace {

using report::InstanceResult;
using report::Verdict;
using tensor::TensorId;

// What executing one program left: its final versions, or why there are none.
struct Executed {
  exec::ProgramState state;
  bool complete = true;        // every launch ran to the end of every CTA
  std::set<TensorId> written;  // by any launch
};

class Check {
 public:
  Check(const instance::Instance& instance, const Options& options, Workers& workers,
        const std::atomic<bool>* interrupted, std::shared_ptr<ModuleCache> modules)
      : instance_(instance),
        options_(options),
        workers_(workers),
        interrupted_(interrupted),
        result_(blank_result(instance)),
        kernels_(std::move(modules)) {}

  InstanceResult run() {
    for (const instance::Equation& declared : instance_.equations) {
      Result<decide::Equation> equation = decide::Equation::parse(declared.text, declared.span);
      if (equation)
        equations_.push_back(std::move(*equation));
      else
        result_.problems.push_back(equation.error());
    }
    if (!result_.problems.empty()) return finish();
    for (const instance::Unrecorded& u : instance_.unrecorded)
      result_.refusals.push_back({u.construct, u.span, u.reason, u.program, 0, ""});
    if (instance_.program_a.launches.empty()) return finish();
    const Budget compile_budget(3600, interrupted_);
    inputs_ = lower_inputs(instance_, store_);
    std::vector<exec::Launch> launches_a, launches_b;
    if (!lower(instance_.program_a, compile_budget, launches_a)) return finish();
    if (instance_.program_b && !lower(*instance_.program_b, compile_budget, launches_b))
      return finish();

    result_.statistics.seconds["compile"] = kernels_.compile_seconds();
    budget_ = Budget(options_.budget_seconds, interrupted_);
    exec::Session session{store_, options_, budget_, result_.statistics, {}, &workers_};
    session_ = &session;
    if (!kernels_.other_toolchains().empty()) {
      const std::vector<idiom::Toolchain> others(kernels_.other_toolchains().begin(),
                                                 kernels_.other_toolchains().end());
      library_.emplace(
          idiom::Library::shipped(),
          idiom::templates_for(others, toolchain::default_cache_dir(), compile_budget));
    }
    decider_.emplace(store_, options_, result_.statistics,
                     library_ ? *library_ : idiom::Library::shipped(), equations_);

    Executed a = execute('a', launches_a), b;
    if (instance_.program_b) b = execute('b', launches_b);
    note_vacuous('a', instance_.program_a, a);
    if (instance_.program_b) note_vacuous('b', *instance_.program_b, b);
    unwritten('a', instance_.program_a, a);
    if (instance_.program_b) unwritten('b', *instance_.program_b, b);
    decide_outputs(*decider_, a, instance_.program_b ? b : a);
    InstanceResult result = finish();
    replay_findings(instance_, kernels_, options_, budget_, result);
    return result;
  }

 private:
  bool lower(const instance::Program& program, const Budget& budget,
             std::vector<exec::Launch>& launches) {
    Result<std::vector<exec::Launch>> lowered =
        lower_program(instance_, program, inputs_, store_, kernels_, options_, budget);
    if (lowered) {
      launches = std::move(*lowered);
      return true;
    }
    const Diagnostic& error = lowered.error();
    if (error.severity() == Severity::Refused)
      result_.refusals.push_back(
          {"", error.span, error.message, &program == &instance_.program_a ? 'a' : 'b', 0, ""});
    else
      result_.problems.push_back(error);
    return false;
  }

  Executed execute(char name, const std::vector<exec::Launch>& launches) {
    Executed out;
    out.state = initial_state(name, inputs_, *session_);
    for (const exec::Launch& launch : launches) {
      try {
        step(name, launch, out);
      } catch (const term::TooManyGroups& e) {
        too_large(name, launch, e.what(), out);
      } catch (const tensor::TooManyWrites& e) {
        too_large(name, launch, e.what(), out);
      }
      // What comes after an unfinished launch would read contents that are not known.
      if (!out.complete) break;
    }
    return out;
  }

  void too_large(char name, const exec::Launch& launch, const std::string& what, Executed& out) {
    add_refusal(name, {launch.kernel->function->name, {}, what}, 0);
    out.complete = false;
  }

  // One launch: executed, its facts found, the tensors' next versions made.
  void step(char name, const exec::Launch& launch, Executed& out) {
    const exec::ProgramState before = out.state;
    std::vector<exec::Round> rounds;
    exec::LaunchResult first = step(name, launch, out, before, nullptr, rounds);
    // Blocks that wait for each other: round by round.
    while (first.has_next && out.complete) {
      rounds.push_back(exec::make_round(out.state, first.pieces, store_));
      first = step(name, launch, out, before, nullptr, rounds);
    }
    if (!first.has_last || !out.complete) return;
    const exec::ProgramState after = out.state;
    const exec::LastPhase last{after, *first.pieces};
    step(name, launch, out, before, &last, {});
  }

  exec::LaunchResult step(char name, const exec::Launch& launch, Executed& out,
                          const exec::ProgramState& before, const exec::LastPhase* last,
                          const std::vector<exec::Round>& rounds) {
    exec::LaunchResult launched;
    std::vector<program::TensorStep> steps;
    std::exception_ptr too_many;
    for (const bool histories : {false, true}) {
      {
        StageTimer timer(result_.statistics, "execute");
        launched = exec::run_launch(*session_, before, launch, last, rounds, histories);
      }
      StageTimer timer(result_.statistics, "facts");
      try {
        steps = program::next_versions(*session_, out.state, launched.pieces);
      } catch (const tensor::TooManyWrites&) {
        too_many = std::current_exception();
        break;
      }
      if (!program::asks_for_histories(steps, *out.state.tensors, store_)) break;
    }
    result_.statistics.count("thread_instructions", launched.thread_instructions);
    result_.statistics.count("cta_classes", launched.classes);
    const int64_t ctas = int64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    result_.statistics.count("ctas", ctas);
    result_.statistics.count("finished_ctas", ctas - launched.aborted_ctas);
    add_defects(std::move(launched.defects));
    add_notes(launched.notes);
    assume(name, launched.assumptions, out);
    for (const exec::Refusal& r : launched.refusals) add_refusal(name, r, 0);
    settle_suspicions(std::move(launched.suspicions));
    if (launched.aborted_ctas > 0) {
      out.complete = false;
      if (launched.out_of_budget) undecided("the budget ended during execution", {}, 0);
    }
    StageTimer timer(result_.statistics, "facts");
    if (too_many) std::rethrow_exception(too_many);
    // A conflict under a condition on data is none if no input makes the condition hold.
    const auto refute = [&](const Defect& defect, const term::Term& guard) {
      return settle({defect, exec::value_where(*session_, guard), true}) ==
             decide::PoisonAnswer::Kind::Never;
    };
    program::GridFacts facts =
        program::apply_launch(*session_, out.state, launched.pieces, std::move(steps), refute);
    add_defects(std::move(facts.defects));
    add_notes(facts.notes);
    assume(name, facts.assumptions, out);
    for (const exec::Refusal& r : facts.refusals) add_refusal(name, r, 0);
    if (!facts.complete) {
      out.complete = false;
      undecided("the budget ended before all conflicts between CTAs were looked for", {}, 0);
    }
    for (const tensor::ClassPieces& cls : launched.pieces->classes)
      for (const tensor::TensorPiece& piece : cls.tensors) out.written.insert(piece.tensor);
    return launched;
  }

  // Takes them into the ledger; what rests on one that is withdrawn is refused.
  void assume(char name, const exec::Assumptions& assumptions, Executed& out) {
    for (const auto& [assumption, detail] : assumptions) {
      if (!options_.no_assume.count(assumption)) {
        assumptions_.insert({assumption, detail});
        continue;
      }
      add_refusal(name, {assumption, {}, detail + ", which is not assumed"}, 0);
      out.complete = false;
    }
  }

  void note_vacuous(char name, const instance::Program& program, const Executed& executed) {
    if (!executed.complete) return;
    for (const std::string& output : instance_.outputs)
      if (executed.written.count(inputs_.tensor_ids.at(program.tensor_of(output)))) return;
    result_.vacuous.push_back(name);
  }

  void unwritten(char name, const instance::Program& program, const Executed& executed) {
    if (!executed.complete) return;
    for (const std::string& output : instance_.outputs) {
      if (std::find(instance_.unwritten.begin(), instance_.unwritten.end(), output) !=
          instance_.unwritten.end())
        continue;
      const TensorId id = inputs_.tensor_ids.at(program.tensor_of(output));
      if (auto defect = program::unwritten_cells(name, *executed.state.versions[id], output)) {
        skip_unwritten_.insert({name, id});
        add_defects({std::move(*defect)});
      }
    }
  }

  // Decides a defect that happens under some inputs only, and reports it or the open question.
  decide::PoisonAnswer::Kind settle(exec::Suspicion s) {
    const decide::PoisonAnswer answer =
        budget_.spent() ? decide::PoisonAnswer{} : decider_->poison(s.value, budget_);
    if (answer.kind == decide::PoisonAnswer::Kind::Never) return answer.kind;
    raced_on_data_ |= s.race;
    if (answer.kind == decide::PoisonAnswer::Kind::Reached) {
      // What a defect gave decides here: that one is shown.
      const exec::PoisonSource* source = answer.cell ? poison_source(answer.cell->first) : nullptr;
      if (source && source->kind == exec::PoisonSource::Kind::Defective) {
        Defect cause = source->defect;
        cause.program = s.defect.program;
        cause.also.push_back(std::move(s.defect.message));
        s.defect = std::move(cause);
      }
      s.defect.inputs = input_texts(answer.assignment, {});
      if (s.defect.kind == DefectKind::UninitializedRead && answer.cell)
        name_read(s.defect, answer.cell->first, answer.cell->second);
      add_defects({std::move(s.defect)});
    } else {
      const SourceSpan span =
          s.defect.accesses.empty() ? SourceSpan{} : s.defect.accesses.back().span;
      undecided(fmt::format("whether there is a defect here ({}) depends on data",
                            defect_name(s.defect.kind)),
                span, 0);
    }
    return answer.kind;
  }

  // One defect a place is enough; all that are like it have to be refuted.
  void settle_suspicions(std::vector<exec::Suspicion> suspicions) {
    StageTimer timer(result_.statistics, "decide");
    std::set<std::string> shown;
    std::stable_sort(suspicions.begin(), suspicions.end(),
                     [](const exec::Suspicion& a, const exec::Suspicion& b) {
                       return comes_before(a.defect, b.defect);
                     });
    for (exec::Suspicion& s : suspicions) {
      std::string place = fmt::format("{} {}", s.defect.program, static_cast<int>(s.defect.kind));
      for (const coequal::Access& a : s.defect.accesses)
        place += " " + to_string(a.span) + " " + a.where;
      if (shown.count(place)) continue;
      if (settle(std::move(s)) != decide::PoisonAnswer::Kind::Never) shown.insert(place);
    }
  }

  void decide_outputs(decide::Decider& decider, const Executed& a, const Executed& b) {
    StageTimer timer(result_.statistics, "decide");
    int64_t left = options_.cells;
    for (const std::string& output : instance_.outputs) {
      const TensorId id_a = inputs_.tensor_ids.at(instance_.program_a.tensor_of(output));
      const TensorId id_b = instance_.program_b
                                ? inputs_.tensor_ids.at(instance_.program_b->tensor_of(output))
                                : id_a;
      decide::OutputPair pair{a.state.versions[id_a].get(), b.state.versions[id_b].get()};
      result_.cells.total += pair.elements();
      if (!a.complete || !b.complete) {
        result_.cells.undecided += pair.elements();
        undecided("execution did not reach the end", {}, pair.elements(), output);
        continue;
      }
      if (raced_on_data_) {
        // Which cells a race on some inputs reaches is not followed: none is decided.
        result_.cells.undecided += pair.elements();
        undecided("accesses may race on some inputs", {}, pair.elements(), output);
        continue;
      }
      try {
        if (left >= 0 && left < pair.elements()) {
          pair.chosen = decide::search_order(pair, left, options_.seed);
          std::sort(pair.chosen->begin(), pair.chosen->end());
        }
        decide_output(decider, output, id_a, id_b, pair, left);
      } catch (const term::TooManyGroups& e) {
        const int64_t open = result_.cells.total - result_.cells.proved() - result_.cells.refuted -
                             result_.cells.undecided;
        result_.cells.undecided += open;
        undecided(e.what(), {}, open, output);
      }
    }
  }

  void decide_output(decide::Decider& decider, const std::string& output, TensorId id_a,
                     TensorId id_b, const decide::OutputPair& pair, int64_t& left) {
    decide::Classification classes = decide::classify(pair, store_, budget_);
    result_.statistics.count("cell_classes", static_cast<int64_t>(classes.classes.size()));
    if (left >= 0) left = std::max<int64_t>(0, left - classes.elements);
    const int64_t missing = pair.elements() - classes.elements;
    if (missing > 0) {
      result_.cells.undecided += missing;
      undecided(classes.complete ? "not asked for" : "the budget ended first", {}, missing, output);
    }
    // Some may not be decided in time.
    decide::sort_by_search_order(pair, store_, options_.seed, classes.classes);
    const std::vector<std::optional<decide::Answer>> ahead =
        answers_ahead(decider, classes.classes);
    for (size_t i = 0; i < classes.classes.size(); ++i) {
      const decide::CellClass& cls = classes.classes[i];
      if (budget_.spent()) {
        result_.cells.undecided += cls.count;
        undecided(budget_.interrupted() ? "interrupted" : "the budget ended first", {}, cls.count,
                  cell_name(output, pair, cls.first_element));
        continue;
      }
      decide_class(decider, output, id_a, id_b, pair, cls, /*absolute=*/false,
                   i < ahead.size() ? ahead[i] : std::nullopt);
    }
  }

  // Answers of the classes whose two terms differ, found side by side if threads are free. They are
  // those that the decider gives, or none.
  std::vector<std::optional<decide::Answer>> answers_ahead(
      decide::Decider& decider, const std::vector<decide::CellClass>& classes) {
    std::vector<std::optional<decide::Answer>> answers;
    if (!instance_.program_b) return answers;
    std::vector<std::pair<term::Term, term::Term>> pairs;
    std::vector<size_t> of;
    for (size_t i = 0; i < classes.size(); ++i) {
      const decide::CellClass& cls = classes[i];
      if (cls.unchanged || cls.a == cls.b || store_.has_poison(cls.a) || store_.has_poison(cls.b))
        continue;
      pairs.emplace_back(cls.a, cls.b);
      of.push_back(i);
    }
    if (pairs.size() < 2) return answers;
    auto found = decide::answer_all(pairs, decider, store_, options_, result_.statistics,
                                    library_ ? *library_ : idiom::Library::shipped(), equations_,
                                    budget_, workers_);
    answers.resize(classes.size());
    for (size_t i = 0; i < found.size(); ++i) answers[of[i]] = std::move(found[i]);
    return answers;
  }

  std::string cell_name(const std::string& output, const decide::OutputPair& pair,
                        int64_t element) const {
    const tensor::TensorInfo& info = pair.a->info();
    return info.shape.empty() ? output
                              : output + "[" + info.index_text(info.cell_of_element(element)) + "]";
  }

  SourceSpan store_span(const tensor::TensorVersion& version, int64_t element) const {
    const auto writer = version.writer(version.info().cell_of_element(element));
    return writer ? writer->launch->spans.at(writer->origin().instruction) : SourceSpan{};
  }

  void decide_class(decide::Decider& decider, const std::string& output, TensorId id_a,
                    TensorId id_b, const decide::OutputPair& pair, const decide::CellClass& cls,
                    bool absolute, std::optional<decide::Answer> ahead = std::nullopt) {
    const std::string name = cell_name(output, pair, cls.first_element);
    if (cls.unchanged) {
      result_.cells.proved_exact += cls.count;
      return;
    }
    term::Term a = cls.a, b = cls.b;
    const bool pseudo = store_.has_pseudo(a) || store_.has_pseudo(b);
    if (absolute && pseudo) {
      term::Substitution known = term::substitute_known(store_);
      a = known(a);
      b = known(b);
    }
    // What known values decide of poison and domains is not asked of unknowns in their place.
    if (pseudo && !absolute &&
        (store_.has_poison(a) || store_.has_poison(b) ||
         (!instance_.program_b && !store_.is_total(a)))) {
      decide_parts(decider, output, id_a, id_b, pair, cls, name);
      return;
    }
    // Poison first: a value that is no function of the inputs is not compared.
    bool tainted = false;
    if (store_.has_poison(a))
      tainted |= !settle_poison(decider, 'a', output, id_a, pair, cls, a, name);
    if (store_.has_poison(b) && instance_.program_b)
      tainted |= !settle_poison(decider, 'b', output, id_b, pair, cls, b, name);
    if (tainted) {
      result_.cells.undecided += cls.count;
      return;
    }
    bool undefined = false;
    for (const auto& [side, t] : {std::pair{'a', a}, std::pair{'b', b}})
      if ((side == 'a' || instance_.program_b) && decider.always_undefined(t)) {
        Defect defect;
        defect.kind = DefectKind::UninitializedRead;
        defect.program = side;
        defect.message =
            fmt::format("the value stored to {} is undefined whatever the input", name);
        coequal::Access access;
        access.kind = coequal::Access::Kind::Write;
        place_access(access, side == 'a' ? *pair.a : *pair.b, cls.first_element, output);
        defect.accesses = {access};
        defect.count = cls.count;
        add_defects({std::move(defect)});
        undefined = true;
      }
    if (undefined) {
      result_.cells.undecided += cls.count;
      undecided("a stored value is undefined", store_span(*pair.a, cls.first_element), cls.count,
                name);
      return;
    }

    if (!instance_.program_b) {
      result_.cells.proved_exact += cls.count;
      return;
    }
    decide::Answer answer = ahead ? *std::move(ahead) : decider.decide(a, b, budget_);
    if (pseudo && !absolute &&
        (answer.outcome != decide::Outcome::Proved || !answer.exclusions.empty())) {
      decide_parts(decider, output, id_a, id_b, pair, cls, name);
      return;
    }
    for (const decide::AssumptionUse& use : answer.assumptions)
      assumptions_.insert({use.name, use.detail});
    if (answer.outcome != decide::Outcome::Undecided && !settle_zero_signs(a, b)) {
      result_.cells.undecided += cls.count;
      undecided("the sign of a zero may matter (--no-assume signed-zero)",
                store_span(*pair.a, cls.first_element), cls.count, name);
      return;
    }
    switch (answer.outcome) {
      case decide::Outcome::Proved:
        if (answer.exact) {
          result_.cells.proved_exact += cls.count;
          tier(report::Proof::Tier::Exact, 0);
        } else {
          result_.cells.proved_probabilistic += cls.count;
          tier(report::Proof::Tier::Probabilistic, std::exp2(answer.log2_bound));
        }
        for (const decide::Exclusion& e : answer.exclusions) exclude(e, cls, pair);
        break;
      case decide::Outcome::Refuted: {
        const decide::Refutation& r = *answer.refutation;
        const bool overflow = r.overflow_only && options_.assumes("no-overflow");
        if (overflow) {
          result_.cells.undecided += cls.count;
          undecided("they differ only where a float overflows",
                    store_span(*pair.a, cls.first_element), cls.count, name);
        } else {
          result_.cells.refuted += cls.count;
        }
        if (!result_.witness || (result_.witness->overflow_only && !overflow))
          result_.witness = witness(r, cls, pair, name, overflow);
        break;
      }
      case decide::Outcome::Undecided:
        result_.cells.undecided += cls.count;
        undecided(answer.reason, store_span(*pair.a, cls.first_element), cls.count, name,
                  answer.residual);
        break;
    }
  }

  // Known values stood as unknowns: once more for each place where they stand.
  void decide_parts(decide::Decider& decider, const std::string& output, TensorId id_a,
                    TensorId id_b, const decide::OutputPair& pair, const decide::CellClass& cls,
                    const std::string& name) {
    const decide::Classification parts = decide::split_absolute(pair, cls, store_, budget_);
    int64_t seen = 0;
    for (const decide::CellClass& part : parts.classes) {
      decide_class(decider, output, id_a, id_b, pair, part, true);
      seen += part.count;
    }
    if (seen == cls.count) return;
    result_.cells.undecided += cls.count - seen;
    undecided("the budget ended first", {}, cls.count - seen, name);
  }

  // Reals have one zero, floats two: where a program looks at a float's sign bit, zero is taken to
  // be positive. False if that matters and is not assumed.
  bool settle_zero_signs(const term::Term& a, const term::Term& b) {
    const std::pair<std::string, std::string> entry = {
        "signed-zero", "a zero is positive where the bits of a float are read"};
    if (assumptions_.contains(entry)) return true;
    if (!reads_sign_bits(a) && !reads_sign_bits(b)) return true;
    if (!options_.assumes("signed-zero")) return false;
    assumptions_.insert(entry);
    return true;
  }

  bool reads_sign_bits(const term::Term& root) {
    std::vector<term::Term> stack{root};
    while (!stack.empty()) {
      const term::Term t = stack.back();
      stack.pop_back();
      if (!without_sign_bits_.insert(t.shape()).second) continue;
      if (store_.kind(t) == term::Kind::BitsOfReal || store_.kind(t) == term::Kind::CopySign) {
        without_sign_bits_.clear();
        return true;
      }
      for (int i = 0; i < store_.arity(t); ++i) stack.push_back(store_.child(t, i));
    }
    return false;
  }

  // Whether poison cannot reach the value; if it can or may, says so as the defect, refusal or open
  // question that it is.
  bool settle_poison(decide::Decider& decider, char side, const std::string& output, TensorId id,
                     const decide::OutputPair& pair, const decide::CellClass& cls,
                     const term::Term& value, const std::string& name) {
    // The whole tensor's unwritten cells are one defect already.
    if (store_.kind(value) == term::Kind::Poison && skip_unwritten_.count({side, id})) {
      const exec::PoisonSource* source = poison_source(store_.groups(value)[0]);
      if (source && source->kind == exec::PoisonSource::Kind::Uninitialized) {
        undecided("the cell is never written", {}, cls.count, name);
        return false;
      }
    }
    if (store_.kind(value) == term::Kind::Poison && allowed_unwritten(output) &&
        poison_source(store_.groups(value)[0])->kind == exec::PoisonSource::Kind::Uninitialized) {
      // Declared: these cells may stay as they were, and are not compared.
      return true;
    }
    const decide::PoisonAnswer answer = decider.poison(value, budget_);
    if (answer.kind == decide::PoisonAnswer::Kind::Never) return true;
    const tensor::TensorVersion& version = side == 'a' ? *pair.a : *pair.b;
    const SourceSpan span = store_span(version, cls.first_element);
    if (answer.kind == decide::PoisonAnswer::Kind::Unknown || !answer.cell) {
      undecided("the value may depend on something uninitialised or not modelled", span, cls.count,
                name);
      return false;
    }
    const auto [group, cell] = *answer.cell;
    const exec::PoisonSource* source = poison_source(group);
    CHECK(source);
    switch (source->kind) {
      case exec::PoisonSource::Kind::Refused:
        add_refusal(side, source->refusal, cls.count);
        undecided(
            fmt::format("depends on '{}': {}", source->refusal.instruction, source->refusal.reason),
            source->refusal.span, cls.count, name);
        break;
      case exec::PoisonSource::Kind::Tainted:
        undecided("depends on what a defect left behind", span, cls.count, name);
        break;
      case exec::PoisonSource::Kind::Defective: {
        Defect defect = source->defect;
        defect.program = side;
        defect.inputs = input_texts(answer.assignment, cls);
        defect.also.push_back(fmt::format("the value reaches {}", name));
        defect.count = cls.count;
        add_defects({std::move(defect)});
        undecided("the value is one that a defect gives", span, cls.count, name);
        break;
      }
      case exec::PoisonSource::Kind::Uninitialized: {
        Defect defect;
        defect.kind = DefectKind::UninitializedRead;
        defect.program = side;
        const tensor::TensorInfo* info = store_.group(group).tensor >= 0
                                             ? &inputs_.tensors[store_.group(group).tensor]
                                             : nullptr;
        int64_t actual = cell;
        for (const auto& [g, shift] : cls.shifts)
          if (g == group) actual += shift;
        defect.message = fmt::format(
            "{} is read before anything is written to it, and reaches {}",
            info ? fmt::format("{}[{}]", info->name, info->index_text(actual)) : source->what,
            name);
        coequal::Access access;
        access.kind = coequal::Access::Kind::Write;
        place_access(access, version, cls.first_element, output);
        defect.accesses = {access};
        name_read(defect, group, cell);
        defect.inputs = input_texts(answer.assignment, cls);
        defect.count = cls.count;
        add_defects({std::move(defect)});
        undecided("the value depends on something uninitialised", span, cls.count, name);
        break;
      }
    }
    return false;
  }

  bool allowed_unwritten(const std::string& output) const {
    return std::find(instance_.unwritten.begin(), instance_.unwritten.end(), output) !=
           instance_.unwritten.end();
  }

  // Puts the load of an uninitialised cell before the access that it reaches.
  void name_read(Defect& defect, term::GroupId group, int64_t cell) const {
    const exec::PoisonSource* source = poison_source(group);
    if (!source || source->reads.empty()) return;
    const auto it = source->reads.find(cell);
    defect.accesses.insert(defect.accesses.begin(),
                           it != source->reads.end() ? it->second : source->reads.begin()->second);
  }

  const exec::PoisonSource* poison_source(term::GroupId group) const {
    const auto it = session_->poison.find(group);
    return it == session_->poison.end() ? nullptr : &it->second;
  }

  // The store that gave the cell its value.
  void place_access(coequal::Access& access, const tensor::TensorVersion& version, int64_t element,
                    const std::string& output) const {
    const int64_t cell = version.info().cell_of_element(element);
    access.where = output;
    access.index = version.info().index_text(cell);
    access.bytes = version.info().element_size();
    if (const auto writer = version.writer(cell)) {
      const auto thread = writer->launch->thread_index(writer->origin().thread);
      const auto cta = writer->launch->block_index(writer->cta(), writer->origin().thread);
      access.thread = {thread[0], thread[1], thread[2]};
      access.block = {cta[0], cta[1], cta[2]};
      access.launch = writer->launch->launch;
      access.span = writer->launch->spans.at(writer->origin().instruction);
      if (writer->atomic) access.kind = coequal::Access::Kind::Atomic;
    }
  }

  std::vector<report::WitnessInput> witness_inputs(const decide::Assignment& assignment,
                                                   const decide::CellClass& cls) const {
    std::vector<report::WitnessInput> inputs;
    for (const auto& [leaf, value] : assignment.cells) {
      const term::Group& group = store_.group(leaf.first);
      if (group.kind != term::Group::Kind::Input) continue;
      int64_t cell = leaf.second;
      for (const auto& [g, shift] : cls.shifts)
        if (g == leaf.first) cell += shift;
      const tensor::TensorInfo& tensor = inputs_.tensors[static_cast<size_t>(group.tensor)];
      inputs.push_back({tensor.name, tensor.index_text(cell), value_text(value)});
    }
    for (const auto& [scalar, value] : assignment.scalars)
      inputs.push_back({store_.scalar(scalar).name, "", value_text(value)});
    return inputs;
  }

  std::vector<std::string> input_texts(const decide::Assignment& assignment,
                                       const decide::CellClass& cls) const {
    std::vector<std::string> texts;
    for (const report::WitnessInput& i : witness_inputs(assignment, cls))
      texts.push_back(
          fmt::format("{}{} = {}", i.name, i.index.empty() ? "" : "[" + i.index + "]", i.value));
    return texts;
  }

  // Dyadic values print as the decimals they are; others as fractions.
  static std::string value_text(const term::Rational& value) {
    if (value.is_integer()) return value.to_string();
    const double d = value.to_double();
    return term::Rational::from_double(d) == value ? fmt::format("{}", d) : value.to_string();
  }

  report::Witness witness(const decide::Refutation& r, const decide::CellClass& cls,
                          const decide::OutputPair& pair, const std::string& name,
                          bool overflow) const {
    report::Witness w;
    w.cell = name;
    w.value_a.exact = r.one_side_undefined && r.undefined_side == "a" ? "undefined" : r.value_a;
    w.value_b.exact = r.one_side_undefined && r.undefined_side == "b" ? "undefined" : r.value_b;
    for (report::WitnessValue* v : {&w.value_a, &w.value_b})
      if (const auto slash = v->exact.find('/'); slash != std::string::npos)
        if (const auto exact = term::Rational::from_text(v->exact))
          v->decimal = fmt::format("{:.9g}", exact->to_double());
    w.inputs = witness_inputs(r.assignment, cls);
    w.store_a = store_span(*pair.a, cls.first_element);
    w.store_b = store_span(*pair.b, cls.first_element);
    w.overflow_only = overflow;
    return w;
  }

  void exclude(const decide::Exclusion& e, const decide::CellClass& cls,
               const decide::OutputPair& pair) {
    std::string sample;
    if (e.sample)
      for (const std::string& text : input_texts(*e.sample, cls))
        sample += (sample.empty() ? "" : ", ") + text;
    const std::string key = e.side + " " + e.condition;
    const auto [it, fresh] = exclusion_index_.try_emplace(key, result_.exclusions.size());
    if (!fresh) {
      result_.exclusions[it->second].cells += cls.count;
      return;
    }
    result_.exclusions.push_back(
        {e.condition, e.side, sample, store_span(*pair.a, cls.first_element), cls.count});
  }

  void tier(report::Proof::Tier tier, double bound) {
    result_.proof.seed = options_.seed;
    if (static_cast<int>(tier) > static_cast<int>(result_.proof.tier)) result_.proof.tier = tier;
    result_.proof.bound += bound;
  }

  void undecided(const std::string& reason, const SourceSpan& span, int64_t cells,
                 const std::string& which = "", const std::string& detail = "") {
    for (report::Undecided& u : result_.undecided)
      if (u.reason == reason && u.span == span) {
        u.cells += cells;
        return;
      }
    result_.undecided.push_back({reason, span, cells, which, detail});
  }

  void add_refusal(char program, const exec::Refusal& r, int64_t cells) {
    for (report::Refusal& have : result_.refusals)
      if (have.program == program && have.instruction == r.instruction && have.span == r.span &&
          have.reason == r.reason) {
        have.cells += cells;
        return;
      }
    result_.refusals.push_back({r.instruction, r.span, r.reason, program, cells, ""});
  }

  // Findings that differ only in the cells they concern are one.
  void add_defects(std::vector<Defect> defects) {
    for (Defect& d : defects) add_defect(result_.defects, std::move(d));
  }

  template <class Notes>
  void add_notes(const Notes& notes) {
    for (const std::string& n : notes)
      if (std::find(result_.notes.begin(), result_.notes.end(), n) == result_.notes.end())
        result_.notes.push_back(n);
  }

  static auto place_of(const coequal::Access& a) {
    return std::tuple(a.launch, std::string_view(a.span.file), a.span.line, a.span.column,
                      std::string_view(a.where), a.block[2], a.block[1], a.block[0], a.thread[2],
                      a.thread[1], a.thread[0], a.index.size(), std::string_view(a.index));
  }
  // By program, launch and line, so that causes come before what follows from them; and never by
  // when they were found.
  static bool comes_before(const Defect& a, const Defect& b) {
    const auto line = [](const Defect& d) {
      const coequal::Access none, &first = d.accesses.empty() ? none : d.accesses.front();
      return std::tuple(d.program, first.launch, first.span.file, first.span.line, d.kind);
    };
    if (line(a) != line(b)) return line(a) < line(b);
    const auto less = [](const coequal::Access& x, const coequal::Access& y) {
      return place_of(x) < place_of(y);
    };
    const auto [x, y] = std::mismatch(
        a.accesses.begin(), a.accesses.end(), b.accesses.begin(), b.accesses.end(),
        [&](const auto& one, const auto& two) { return !less(one, two) && !less(two, one); });
    if (x == a.accesses.end() || y == b.accesses.end())
      return std::tuple(a.accesses.size(), a.message) < std::tuple(b.accesses.size(), b.message);
    return less(*x, *y);
  }

  // Proofs are over finite reals: what that leaves out is assumed, or nothing is proved.
  void assume_about_floats() {
    const bool floats = std::any_of(inputs_.tensors.begin(), inputs_.tensors.end(),
                                    [](const tensor::TensorInfo& t) { return t.is_float(); }) ||
                        std::any_of(instance_.scalars.begin(), instance_.scalars.end(),
                                    [](const instance::Scalar& s) { return is_float(s.dtype); });
    if (!floats) return;
    for (const auto& [name, detail] :
         {std::pair("finite-inputs", "float inputs are finite"),
          std::pair("no-overflow", "no intermediate value overflows its float type")}) {
      if (options_.assumes(name)) {
        assumptions_.insert({name, detail});
        continue;
      }
      const int64_t proved = result_.cells.proved();
      result_.cells.proved_exact = result_.cells.proved_probabilistic = 0;
      result_.cells.undecided += proved;
      if (proved > 0)
        undecided(fmt::format("proofs hold only where {} (--no-assume {})", detail, name), {},
                  proved);
    }
  }

  InstanceResult finish() {
    if (!result_.problems.empty()) {
      result_.verdict = Verdict::Invalid;
      return std::move(result_);
    }
    assume_about_floats();
    for (const auto& [name, detail] : assumptions_) result_.assumptions.push_back({name, detail});
    if (!kernels_.compiler_version().empty())
      result_.assumptions.push_back({"toolchain", kernels_.compiler_version()});
    result_.statistics.count("term_nodes", static_cast<int64_t>(store_.node_count()));
    std::stable_sort(result_.defects.begin(), result_.defects.end(), comes_before);
    result_.verdict = report::derive_verdict(result_);
    if (interrupted_ && interrupted_->load(std::memory_order_relaxed))
      result_.verdict = Verdict::Interrupted;
    return std::move(result_);
  }

  const instance::Instance& instance_;
  const Options& options_;
  Workers& workers_;
  const std::atomic<bool>* interrupted_;
  InstanceResult result_;
  term::TermStore store_;
  KernelCache kernels_;
  SharedInputs inputs_;
  Budget budget_;
  exec::Session* session_ = nullptr;
  std::set<std::pair<std::string, std::string>> assumptions_;
  absl::flat_hash_set<term::ShapeId> without_sign_bits_;  // shapes looked at
  std::map<std::string, size_t> exclusion_index_;
  std::set<std::pair<char, TensorId>> skip_unwritten_;
  std::optional<idiom::Library> library_;
  std::vector<decide::Equation> equations_;
  std::optional<decide::Decider> decider_;
  bool raced_on_data_ = false;
};

}  // namespace

report::InstanceResult check_instance(const instance::Instance& instance, const Options& options,
                                      Workers& workers, const std::atomic<bool>* interrupted,
                                      std::shared_ptr<ModuleCache> modules) {
  return Check(instance, options, workers, interrupted, std::move(modules)).run();
}

}  // namespace coequal::check
