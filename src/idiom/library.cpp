// The probe kernels and the templates made from them.
#include "idiom/library.h"

#include "idiom/calibrate.h"
#include "idiom/function.h"
#include "idiom/probe.h"
#include "idiom/recogniser.h"

namespace coequal::idiom {

using term::Term;

namespace {

constexpr std::string_view kShipped =
#include "idiom/templates.inc"
    ;

// How an argument may reach a call such that compilers make other code of it: a known sign drops
// guards.
struct Context {
  std::string_view name, single_argument, double_argument;
  bool of_sizes;
};
constexpr Context kContexts[] = {
    {"", "$", "$", false},
    {"_of_size", "fabsf($)", "fabs($)", true},
};

std::string filled(std::string_view call, const std::vector<std::string>& arguments) {
  std::string out;
  for (size_t i = 0; i < call.size(); ++i)
    if (call[i] == '$')
      out += arguments[static_cast<size_t>(call[++i] - '0')];
    else
      out += call[i];
  return out;
}

std::string replaced(std::string_view pattern, const std::string& by) {
  std::string out;
  for (char c : pattern) c == '$' ? out += by : out += c;
  return out;
}

std::vector<Probe> make_probes() {
  std::vector<Probe> all;
  const auto& table = functions();
  for (const DType dtype : {DType::F32, DType::F64}) {
    const bool single = dtype == DType::F32;
    for (size_t f = 0; f < table.size(); ++f)
      for (const Context& context : kContexts) {
        const std::string_view call = single ? table[f].single_call : table[f].double_call;
        if (call.empty()) continue;
        Probe p;
        p.kernel = fmt::format("probe{}_{}{}", f, dtype_name(dtype), context.name);
        p.function = table[f].name;
        p.dtype = dtype;
        p.of_sizes = context.of_sizes;
        const std::string_view type = single ? "float" : "double";
        std::string parameters;
        std::vector<std::string> arguments;
        for (int i = 0; i < table[f].arity; ++i) {
          parameters += fmt::format("const {}* in{}, ", type, i);
          arguments.push_back(replaced(single ? context.single_argument : context.double_argument,
                                       fmt::format("in{}[0]", i)));
        }
        p.text = fmt::format("extern \"C\" __global__ void {}({}{}* out) {{ *out = {}; }}\n",
                             p.kernel, parameters, type, filled(call, arguments));
        all.push_back(std::move(p));
      }
  }
  return all;
}

}  // namespace

const std::vector<Probe>& probes() {
  static const std::vector<Probe> all = make_probes();
  return all;
}

std::string probe_source() {
  std::string text;
  for (const Probe& p : probes()) text += p.text;
  return text;
}

namespace {

// The value, and what is left of it without its guards against infinite and undefined results:
// compilers move what follows a call into the arms of those.
std::vector<Term> with_cores(const term::TermStore& store, const Term& value) {
  auto is_special = [&](const Term& t) {
    bool special = store.arity(t) == 0;
    for (int i = 0; i < store.arity(t); ++i)
      special = special || store.kind(store.child(t, i)) == term::Kind::Infinity;
    return special;
  };
  std::vector<Term> all{value};
  for (size_t i = 0; i < all.size(); ++i) {
    if (store.kind(all[i]) != term::Kind::Select) continue;
    for (int arm : {1, 2})
      if (is_special(store.child(all[i], 3 - arm)) && !is_direct(store, store.child(all[i], arm)))
        all.push_back(store.child(all[i], arm));
  }
  return all;
}

class Prober {
 public:
  Prober(const ptx::Module& module, const std::string& origin, std::vector<Template>& known)
      : module_(module), origin_(origin), known_(known) {
    for (const char* flag : {"use_fast_math", "ftz=true"})
      flushes_ = flushes_ || origin.find(flag) != std::string::npos;
  }

  ProbeOutcome run(const Probe& p) {
    ProbeOutcome outcome;
    outcome.probe = &p;
    const Function& function = functions()[*find_function(p.function)];
    term::TermStore store;
    const std::vector<DType> inputs(static_cast<size_t>(function.arity), p.dtype);
    Result<ProbedTerm> probed = run_probe(store, module_, p.kernel, inputs, p.dtype);
    if (!probed) {
      outcome.why = probed.error().message;
      return outcome;
    }
    outcome.direct = is_direct(store, probed->value);
    if (outcome.direct) return outcome;
    const Term whole = probed->value;
    for (const Term& value : with_cores(store, whole)) {
      if (is_known(store, p, value, probed->holes)) {
        outcome.recognised = true;
        continue;
      }
      probed->value = value;
      const std::string fault =
          calibrate(store, *probed, function, {p.dtype, p.of_sizes, flushes_});
      std::optional<Template> made;
      if (fault.empty()) made = make_template(store, value, probed->holes);
      if (made) {
        made->function = p.function;
        made->of_sizes = p.of_sizes;
        made->origin = fmt::format("{} {}", dtype_name(p.dtype), origin_);
        known_.push_back(std::move(*made));
        outcome.recognised = true;
      } else if (value == whole) {
        outcome.why = fault.empty() ? "its value mentions more than the arguments" : fault;
        break;
      }
    }
    return outcome;
  }

 private:
  // Whether a template at hand reads the value as the function already.
  bool is_known(term::TermStore& store, const Probe& p, const Term& value,
                const std::vector<Term>& holes) const {
    for (const Template& t : known_) {
      if (t.function != p.function || (t.of_sizes && !p.of_sizes)) continue;
      std::vector<Term> fillings = holes;
      if (p.of_sizes && !t.of_sizes)
        for (Term& f : fillings) f = store.make(term::Kind::Abs, {f});
      if (match(store, t, value) == fillings) return true;
    }
    return false;
  }

  const ptx::Module& module_;
  const std::string& origin_;
  std::vector<Template>& known_;
  bool flushes_ = false;
};

}  // namespace

std::vector<ProbeOutcome> run_probes(const ptx::Module& module, const std::string& origin,
                                     std::vector<Template>& known) {
  Prober prober(module, origin, known);
  std::vector<ProbeOutcome> outcomes;
  for (const Probe& p : probes()) outcomes.push_back(prober.run(p));
  return outcomes;
}

const Library& Library::shipped() {
  static const Library library = [] {
    Result<std::vector<Template>> templates = from_text(kShipped);
    CHECK(templates.has_value());
    return Library(std::move(*templates));
  }();
  return library;
}

}  // namespace coequal::idiom
