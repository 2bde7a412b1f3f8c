// Replay of witnesses, races and uninitialised reads on the concrete interpreter.
#include "check/replay_findings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "check/concrete.h"
#include "term/rational.h"

namespace coequal::check {
namespace {

using report::Witness;
using term::Rational;

constexpr uint64_t kMaxSteps = 20'000'000;
constexpr double kMaxBytes = 64 << 20;
constexpr size_t kMaxDefects = 8;
// Above this part of the greatest intermediate value a difference cannot be lost to rounding.
constexpr double kVisible = 1e-3;

// A number as the report shows it: a fraction, a decimal, or a decimal with its radius.
std::optional<double> approximate(const report::WitnessValue& value) {
  if (const auto exact = Rational::from_text(value.exact)) return exact->to_double();
  std::string_view text = value.exact;
  if (text.starts_with('[')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() || !std::isfinite(number)) return std::nullopt;
  return number;
}

class Replay {
 public:
  Replay(const instance::Instance& instance, KernelCache& kernels, const Options& options,
         const Budget& budget, report::InstanceResult& result)
      : instance_(instance),
        kernels_(kernels),
        options_(options),
        budget_(budget),
        result_(result) {}

  void run() {
    if (result_.witness) replay_witness();
    size_t done = 0;
    for (Defect& defect : result_.defects) {
      if (done == kMaxDefects) break;
      const bool race =
          defect.kind == DefectKind::SharedRace || defect.kind == DefectKind::GlobalRace;
      if (!race && defect.kind != DefectKind::UninitializedRead) continue;
      ++done;
      defect.also.push_back(race ? orders(defect) : contents(defect));
    }
  }

 private:
  const instance::Program& program(char side) const {
    return side == 'b' ? *instance_.program_b : instance_.program_a;
  }

  // Why a run of the program is not tried. Sizes may be beyond all bounds: as doubles they add up.
  std::optional<std::string> too_much(char side) const {
    if (budget_.spent()) return "the budget is spent";
    double bytes = 0, threads = 0;
    for (const instance::Tensor& t : instance_.tensors)
      bytes += static_cast<double>(t.storage_bytes());
    if (bytes > kMaxBytes) return "its tensors are too large";
    for (const instance::Launch& launch : program(side).launches)
      threads += static_cast<double>(launch.grid[0]) * static_cast<double>(launch.grid[1]) *
                 static_cast<double>(launch.grid[2]) *
                 static_cast<double>(launch.threads_per_block());
    // A thread that does anything executes some ten instructions.
    if (threads > static_cast<double>(kMaxSteps) / 10) return "it has too many threads";
    return std::nullopt;
  }

  // Outputs and events, or why there are none.
  struct Run {
    ConcreteRun done;
    std::string failure;
    bool faulted = false;  // the program's fault, not a limit
  };
  Run run(char side, const ConcreteInputs& inputs, const replay::RunOptions& how) {
    Run run;
    if (const auto why = too_much(side)) {
      run.failure = *why;
      return run;
    }
    replay::RunOptions limited = how;
    limited.step_limit = kMaxSteps;
    Result<ConcreteRun> done =
        run_concrete(instance_, program(side), inputs, kernels_, limited, options_, budget_);
    if (!done) {
      run.failure = done.error().message;
      return run;
    }
    run.done = *std::move(done);
    if (const auto& fault = run.done.fault) {
      switch (fault->kind) {
        case replay::FaultKind::StepLimit:
          run.failure = "it executes too many instructions";
          break;
        case replay::FaultKind::BudgetSpent:
          run.failure = "the budget is spent";
          break;
        case replay::FaultKind::Refused:
          run.failure = fault->message;
          break;
        default:
          run.faulted = true;
          run.failure = fmt::format("{} at {}: {}", replay::fault_name(fault->kind),
                                    to_string(fault->span), fault->message);
      }
    }
    return run;
  }

  // The full input: what is not given is zero, or what is nearest to it within bounds and order.
  // Nothing if some value is none of its dtype.
  std::optional<ConcreteInputs> full_inputs(const std::vector<report::WitnessInput>& given) const {
    ConcreteInputs inputs = nearest_inputs(instance_);
    std::map<std::string, std::vector<bool>> set;
    for (const report::WitnessInput& input : given) {
      const instance::Tensor* tensor = instance_.find_tensor(input.name);
      const instance::Scalar* scalar = instance_.find_scalar(input.name);
      if (!tensor && !scalar) return std::nullopt;
      const DType dtype = tensor ? tensor->dtype : scalar->dtype;
      const auto exact = Rational::from_text(input.value);
      const auto bytes = element_from_text(input.value, dtype);
      if (!exact || !bytes) return std::nullopt;
      if (is_float(dtype)) {
        // Decimals are the shortest that stand for a double.
        const double back = element_value(bytes->data(), dtype);
        if (!std::isfinite(back) ||
            (back != exact->to_double() && !(Rational::from_double(back) == *exact)))
          return std::nullopt;
      }
      if (!tensor) {
        inputs.scalars[input.name] = *bytes;
        continue;
      }
      const auto element = element_of_index(*tensor, input.index);
      if (!element || tensor->init != instance::Init::Input) return std::nullopt;
      std::vector<bool>& marks = set[input.name];
      marks.resize(static_cast<size_t>(tensor->numel()));
      const auto set_one = [&](int64_t e) {
        std::copy(
            bytes->begin(), bytes->end(),
            inputs.tensors[input.name].begin() + static_cast<std::ptrdiff_t>(bytes->size()) * e);
        marks[static_cast<size_t>(e)] = true;
      };
      set_one(*element);
      if (tensor->is_contiguous()) continue;
      // Rows may share storage.
      for (int64_t e = 0; e < tensor->numel(); ++e)
        if (storage_cell(*tensor, e) == storage_cell(*tensor, *element)) set_one(e);
    }
    for (const instance::Tensor& t : instance_.tensors)
      if (t.sorted && set.contains(t.name)) sort(t, set.at(t.name), inputs.tensors.at(t.name));
    return inputs;
  }

  // Elements that are not given follow the last one that is.
  static void sort(const instance::Tensor& tensor, const std::vector<bool>& given, Bytes& bytes) {
    const auto size = static_cast<size_t>(dtype_size(tensor.dtype));
    for (size_t i = 1; i < given.size(); ++i) {
      uint8_t* at = bytes.data() + i * size;
      if (!given[i] && element_value(at, tensor.dtype) < element_value(at - size, tensor.dtype))
        std::memcpy(at, at - size, size);
    }
  }

  struct Place {
    const instance::Tensor* tensor = nullptr;
    size_t at = 0;  // byte in its elements
  };
  // Of an output cell as reports name it: "out[3,5]", or "out".
  std::optional<Place> place(char side, std::string_view cell) const {
    const size_t bracket = cell.find('[');
    const std::string output(cell.substr(0, bracket));
    const instance::Tensor* tensor = instance_.find_tensor(program(side).tensor_of(output));
    if (!tensor) return std::nullopt;
    std::string_view index;
    if (bracket != std::string_view::npos && cell.ends_with(']'))
      index = cell.substr(bracket + 1, cell.size() - bracket - 2);
    const auto element = element_of_index(*tensor, index);
    if (!element) return std::nullopt;
    return Place{tensor, static_cast<size_t>(*element * dtype_size(tensor->dtype))};
  }

  void replay_witness() {
    Witness& witness = *result_.witness;
    for (const char side : {'a', 'b'})
      if (const auto why = too_much(side)) {
        witness.replay = "not replayed: " + *why;
        return;
      }
    const auto at_a = place('a', witness.cell), at_b = place('b', witness.cell);
    const auto inputs = full_inputs(witness.inputs);
    if (!at_a || !at_b || !inputs) {
      witness.replay = "not replayed: the witness is no input of these dtypes";
      return;
    }
    Run runs[2];
    for (const char side : {'a', 'b'}) {
      Run& one = runs[side == 'b'];
      one = run(side, *inputs, {});
      if (one.failure.empty()) continue;
      witness.replay =
          fmt::format("{} program {}: {}", one.faulted ? "a fault in" : "not replayed,",
                      side == 'a' ? 'A' : 'B', one.failure);
      return;
    }
    const DType dtype = at_a->tensor->dtype;
    const uint8_t* a = runs[0].done.tensors.at(at_a->tensor->name).data() + at_a->at;
    const uint8_t* b = runs[1].done.tensors.at(at_b->tensor->name).data() + at_b->at;
    const double value_a = element_value(a, dtype), value_b = element_value(b, dtype);
    const bool same = is_float(dtype)
                          ? value_a == value_b || (std::isnan(value_a) && std::isnan(value_b))
                          : std::equal(a, a + dtype_size(dtype), b);
    std::string text = fmt::format("A {}, B {}", element_text(a, dtype), element_text(b, dtype));
    if (!same) {
      if (std::isfinite(value_a - value_b))
        text += fmt::format(" (difference {:.6g})", std::abs(value_a - value_b));
      witness.replay = text;
      return;
    }
    explain(witness, *inputs, dtype, text);
  }

  // Both programs give the same: says why the difference is lost, if it can be.
  void explain(Witness& witness, const ConcreteInputs& inputs, DType dtype,
               const std::string& text) {
    replay::RunOptions how;
    how.watch_floats = true;
    replay::FloatEvents events;
    for (const char side : {'a', 'b'}) {
      const Run one = run(side, inputs, how);
      if (!one.failure.empty()) {
        witness.replay = text + "; the difference does not show";
        return;
      }
      events.merge(one.done.floats);
    }
    const auto exact_a = approximate(witness.value_a), exact_b = approximate(witness.value_b);
    double lost = 0;
    if (exact_a && exact_b && *exact_a != *exact_b)
      lost = is_float(dtype) ? std::abs(*exact_a - *exact_b) : HUGE_VAL;
    const double part = std::max(kVisible, std::ldexp(32.0, -events.precision));
    // What is stored must be a number of the dtype, which is a rounding too.
    const double most = std::max(
        {events.largest, exact_a ? std::abs(*exact_a) : 0, exact_b ? std::abs(*exact_b) : 0});
    const bool comparable = result_.defects.empty() && !witness.overflow_only && lost > part * most;
    const bool smooth = !events.decided && !events.overflowed && !events.underflowed &&
                        !events.special && is_float(dtype);
    if (comparable && (events.exact() || smooth)) {
      std::string claim = fmt::format(
          "a replay contradicts the witness for {}: {} and {} were "
          "claimed, the programs give {}, on the input",
          witness.cell, witness.value_a.exact, witness.value_b.exact, text);
      for (const report::WitnessInput& i : witness.inputs)
        claim += fmt::format(" {}[{}] = {}", i.name, i.index, i.value);
      const bool zero_signs =
          std::any_of(result_.assumptions.begin(), result_.assumptions.end(),
                      [](const report::Assumption& a) { return a.name == "signed-zero"; });
      if (zero_signs) {
        result_.undecided.push_back({"a difference is lost in the sign of a zero", witness.store_a,
                                     result_.cells.refuted, witness.cell, claim});
      } else {
        result_.verdict = report::Verdict::Internal;
        result_.problems.push_back(
            make_diagnostic(DiagnosticCode::InternalFault, witness.store_a, claim));
      }
      result_.cells.undecided += result_.cells.refuted;
      result_.cells.refuted = 0;
      result_.witness.reset();
      if (zero_signs) result_.verdict = report::derive_verdict(result_);
      return;
    }
    witness.replay = text + "; ";
    if (!exact_a || !exact_b)
      *witness.replay += "what is exact there is no number that floats could show";
    else if (events.overflowed)
      *witness.replay += "an intermediate value overflows";
    else if (events.underflowed)
      *witness.replay += "an intermediate value underflows";
    else if (events.special)
      *witness.replay += "an intermediate value is infinite or no number";
    else if (events.decided && events.rounded)
      *witness.replay += "after rounding, a comparison or a conversion falls the same way in both";
    else
      *witness.replay +=
          fmt::format("the difference is below {} rounding at this input", dtype_name(dtype));
  }

  // The input under which a defect happens: its own, or random numbers.
  ConcreteInputs defect_inputs(const Defect& defect) const {
    std::vector<report::WitnessInput> given;
    for (const std::string& text : defect.inputs) {
      const size_t equals = text.find(" = ");
      if (equals == std::string::npos) continue;
      std::string name = text.substr(0, equals), index;
      if (const size_t bracket = name.find('[');
          bracket != std::string::npos && name.ends_with(']')) {
        index = name.substr(bracket + 1, name.size() - bracket - 2);
        name.resize(bracket);
      }
      given.push_back({name, index, text.substr(equals + 3)});
    }
    if (!given.empty())
      if (auto inputs = full_inputs(given)) return *std::move(inputs);
    return random_inputs(instance_, options_.seed, RandomValues::Reals);
  }

  // The first cell of an output in which two runs differ, with both values.
  std::optional<std::string> difference(char side, const ConcreteRun& one,
                                        const std::string& how_one, const ConcreteRun& other,
                                        const std::string& how_other) const {
    for (const std::string& output : instance_.outputs) {
      const instance::Tensor& tensor = *instance_.find_tensor(program(side).tensor_of(output));
      const Bytes &x = one.tensors.at(tensor.name), &y = other.tensors.at(tensor.name);
      const auto size = static_cast<size_t>(dtype_size(tensor.dtype));
      for (size_t i = 0; i * size < x.size(); ++i) {
        if (std::memcmp(x.data() + i * size, y.data() + i * size, size) == 0) continue;
        return fmt::format("{}[{}] is {} {} and {} {}", output, index_text(tensor, i),
                           element_text(x.data() + i * size, tensor.dtype), how_one,
                           element_text(y.data() + i * size, tensor.dtype), how_other);
      }
    }
    return std::nullopt;
  }

  static std::string index_text(const instance::Tensor& tensor, size_t element) {
    std::string text;
    for (size_t d = tensor.shape.size(); d-- > 0;) {
      const auto extent = static_cast<size_t>(tensor.shape[d]);
      text = std::to_string(element % extent) + (text.empty() ? "" : ",") + text;
      element /= extent;
    }
    return text;
  }

  // Runs in several ways and compares each with the first.
  std::string compare(const Defect& defect,
                      const std::vector<std::pair<std::string, replay::RunOptions>>& ways,
                      const std::string& same) {
    if (const auto why = too_much(defect.program)) return "not replayed: " + *why;
    const ConcreteInputs inputs = defect_inputs(defect);
    std::optional<ConcreteRun> first;
    for (const auto& [name, how] : ways) {
      Run one = run(defect.program, inputs, how);
      if (one.faulted) return fmt::format("a replay {} ends with a fault: {}", name, one.failure);
      if (!one.failure.empty()) return "not replayed: " + one.failure;
      if (!first) {
        first = std::move(one.done);
        continue;
      }
      if (const auto text = difference(defect.program, *first, ways[0].first, one.done, name))
        return "in a replay, " + *text;
    }
    return same;
  }

  std::string orders(const Defect& defect) {
    std::vector<std::pair<std::string, replay::RunOptions>> ways;
    const auto add = [&](const std::string& name, replay::Order order, bool lanes_apart,
                         uint64_t seed) {
      replay::RunOptions how;
      how.order = order;
      how.lanes_apart = lanes_apart;
      how.late_copies = order == replay::Order::Backward;
      how.seed = seed;
      ways.emplace_back(name, how);
    };
    using replay::Order;
    add("with the warps in order", Order::Forward, false, 1);
    add("with the warps in reverse", Order::Backward, false, 1);
    add("with the threads one by one", Order::Forward, true, 1);
    add("with the warps in turn", Order::Interleaved, false, 1);
    add("with the threads one by one from the last", Order::Backward, true, 1);
    for (uint64_t seed = 1; seed <= 2; ++seed)
      add("with the warps at random", Order::Random, false, seed);
    add("with the threads at random", Order::Random, true, 3);
    return compare(
        defect, ways,
        fmt::format("in a replay, {} orders of the threads gave the same outputs", ways.size()));
  }

  std::string contents(const Defect& defect) {
    std::vector<std::pair<std::string, replay::RunOptions>> ways;
    for (const auto& [fill, name] :
         {std::pair{0x00, "over zeros"}, std::pair{0x40, "over bytes of 64"},
          std::pair{0xff, "over bytes of 255"}}) {
      replay::RunOptions how;
      how.fill = static_cast<uint8_t>(fill);
      ways.emplace_back(name, how);
    }
    return compare(defect, ways,
                   "in a replay, three contents of uninitialised memory gave the same outputs");
  }

  const instance::Instance& instance_;
  KernelCache& kernels_;
  const Options& options_;
  const Budget& budget_;
  report::InstanceResult& result_;
};

}  // namespace

void replay_findings(const instance::Instance& instance, KernelCache& kernels,
                     const Options& options, const Budget& budget, report::InstanceResult& result) {
  if (result.verdict == report::Verdict::Invalid || result.verdict == report::Verdict::Interrupted)
    return;
  if (!result.witness && result.defects.empty()) return;
  StageTimer timer(result.statistics, "replay");
  Replay(instance, kernels, options, budget, result).run();
}

}  // namespace coequal::check
