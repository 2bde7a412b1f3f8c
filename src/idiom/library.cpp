// The probe kernels and the templates made from them.
#include "idiom/library.h"

#include <filesystem>

#include "idiom/calibrate.h"
#include "idiom/function.h"
#include "idiom/probe.h"
#include "idiom/recogniser.h"
#include "term/substitute.h"
#include "term/traverse.h"

namespace coequal::idiom {

using term::Rational;
using term::Term;

namespace {

constexpr std::string_view kShipped =
#include "idiom/templates.inc"
    ;
constexpr std::string_view kShippedTriton =
#include "idiom/templates_triton.inc"
    ;

std::string filled(std::string_view call, const std::vector<std::string>& arguments) {
  std::string out;
  for (size_t i = 0; i < call.size(); ++i)
    if (call[i] == '$')
      out += arguments[static_cast<size_t>(call[++i] - '0')];
    else
      out += call[i];
  return out;
}

// What gives a function together with another one, as an expression of it alone.
struct OtherCall {
  std::string_view function, single, wide;
};
constexpr OtherCall kOtherCalls[] = {
    {"sin", "[](float a) { float s, c; sincosf(a, &s, &c); return s; }($0)",
     "[](double a) { double s, c; sincos(a, &s, &c); return s; }($0)"},
    {"cos", "[](float a) { float s, c; sincosf(a, &s, &c); return c; }($0)",
     "[](double a) { double s, c; sincos(a, &s, &c); return c; }($0)"},
    {"sinpi", "[](float a) { float s, c; sincospif(a, &s, &c); return s; }($0)",
     "[](double a) { double s, c; sincospi(a, &s, &c); return s; }($0)"},
    {"cospi", "[](float a) { float s, c; sincospif(a, &s, &c); return c; }($0)",
     "[](double a) { double s, c; sincospi(a, &s, &c); return c; }($0)"},
};

Probe make_probe(const Function& f, size_t index, DType dtype, uint32_t sizes, bool square) {
  const bool single = dtype == DType::F32;
  Probe p;
  p.kernel = fmt::format("probe{}_{}_{}{}", index, dtype_name(dtype), sizes, square ? "s" : "");
  p.function = f.name;
  p.dtype = dtype;
  p.sizes = sizes;
  p.square = square;
  const std::string_view type = single ? "float" : "double";
  std::string parameters;
  std::vector<std::string> arguments;
  for (int i = 0; i < f.arity; ++i) {
    parameters += fmt::format("const {}* in{}, ", type, i);
    arguments.push_back(fmt::format("{}(in{}[0])", sizes >> i & 1 ? "fabs" : "", i));
  }
  if (f.positive)
    arguments[0] = fmt::format("({} + {})", single ? "1.0f" : "1.0",
                               square ? "in0[0] * in0[0]" : "fabs(in0[0])");
  p.text = fmt::format("extern \"C\" __global__ void {}({}{}* out) {{ *out = {}; }}\n", p.kernel,
                       parameters, type, filled(single ? f.single_call : f.double_call, arguments));
  return p;
}

// The library of 16-bit floats, for single ones and for pairs.
struct HalfCall {
  std::string_view function, call, pair_call;
};
constexpr HalfCall kHalfCalls[] = {
    {"exp", "hexp", "h2exp"},       {"exp2", "hexp2", "h2exp2"}, {"exp10", "hexp10", "h2exp10"},
    {"log", "hlog", "h2log"},       {"log2", "hlog2", "h2log2"}, {"log10", "hlog10", "h2log10"},
    {"sin", "hsin", "h2sin"},       {"cos", "hcos", "h2cos"},    {"tanh", "htanh", "h2tanh"},
    {"rsqrt", "hrsqrt", "h2rsqrt"},
};

Probe make_half_probe(const HalfCall& call, size_t index, DType dtype, bool pair) {
  const std::string_view type = dtype == DType::F16 ? "__half" : "__nv_bfloat16";
  Probe p;
  p.kernel = fmt::format("probe_half{}_{}{}", index, dtype_name(dtype), pair ? "_pair" : "");
  p.function = call.function;
  p.dtype = dtype;
  p.again = pair;
  const std::string value =
      !pair ? fmt::format("{}(in0[0])", call.call)
      : dtype == DType::F16
          ? fmt::format("__low2half({}(__half2half2(in0[0])))", call.pair_call)
          : fmt::format("__low2bfloat16({}(__bfloat162bfloat162(in0[0])))", call.pair_call);
  p.text = fmt::format("extern \"C\" __global__ void {}(const {}* in0, {}* out) {{ *out = {}; }}\n",
                       p.kernel, type, type, value);
  // Older headers have none.
  if (call.function == "tanh") p.text = "#if __CUDACC_VER_MAJOR__ >= 13\n" + p.text + "#endif\n";
  return p;
}

std::vector<Probe> make_probes() {
  std::vector<Probe> all;
  const auto& table = functions();
  for (const DType dtype : {DType::F32, DType::F64})
    for (size_t f = 0; f < table.size(); ++f)
      // Compilers make other code where they know the sign of an argument.
      for (uint32_t sizes = 0; sizes < 1u << table[f].arity; ++sizes) {
        if (table[f].positive && sizes & 1) continue;
        all.push_back(make_probe(table[f], f, dtype, sizes, false));
        if (table[f].positive) all.push_back(make_probe(table[f], f, dtype, sizes, true));
      }
  for (const DType dtype : {DType::F32, DType::F64})
    for (size_t i = 0; i < std::size(kOtherCalls); ++i)
      for (const uint32_t sizes : {0u, 1u}) {
        const OtherCall& other = kOtherCalls[i];
        Function f = table[*find_function(other.function)];
        f.single_call = other.single, f.double_call = other.wide;
        Probe p = make_probe(f, table.size() + i, dtype, sizes, false);
        p.again = true;
        all.push_back(std::move(p));
      }
  for (const DType dtype : {DType::F16, DType::BF16})
    for (const bool pair : {false, true})
      for (size_t i = 0; i < std::size(kHalfCalls); ++i)
        all.push_back(make_half_probe(kHalfCalls[i], i, dtype, pair));
  return all;
}

}  // namespace

const std::vector<Probe>& probes() {
  static const std::vector<Probe> all = make_probes();
  return all;
}

std::string probe_source() {
  std::string text = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n";
  for (const Probe& p : probes()) text += p.text;
  return text;
}

namespace {

// A part of a function's code: the function is factor * value + offset.
struct Part {
  Term value;
  Rational factor = 1, offset = 0;
};

// Constants that cannot be rounded ones.
bool is_plain(const Rational& c) {
  constexpr int64_t kMost = 1024;
  const Rational scaled = c * Rational(kMost);
  return scaled.is_integer() && scaled < Rational(kMost * kMost) &&
         Rational(-kMost * kMost) < scaled;
}

// The value, and what is left of it without what compilers merge with what follows a call: guards
// against infinite and undefined results, into whose arms it moves, and constants at the end.
std::vector<Part> with_cores(const term::TermStore& store, const Term& value) {
  auto is_special = [&](const Term& t) {
    bool special = store.arity(t) == 0;
    for (int i = 0; i < store.arity(t); ++i)
      special = special || store.kind(store.child(t, i)) == term::Kind::Infinity;
    return special;
  };
  std::vector<Part> all{{value}};
  auto add = [&](const Term& t, Rational factor, Rational offset) {
    if (!is_direct(store, t)) all.push_back({t, std::move(factor), std::move(offset)});
  };
  for (size_t i = 0; i < all.size(); ++i) {
    const Part part = all[i];
    const term::Kind kind = store.kind(part.value);
    if (kind == term::Kind::Select)
      for (int arm : {1, 2})
        if (is_special(store.child(part.value, 3 - arm)))
          add(store.child(part.value, arm), part.factor, part.offset);
    if (kind != term::Kind::Add && kind != term::Kind::Mul) continue;
    for (int k : {0, 1}) {
      const Rational* c = store.as_rational(store.child(part.value, k));
      if (!c || c->is_zero() || !is_plain(*c)) continue;
      if (kind == term::Kind::Mul)
        add(store.child(part.value, 1 - k), part.factor * *c, part.offset);
      else
        add(store.child(part.value, 1 - k), part.factor, part.offset + part.factor * *c);
    }
  }
  return all;
}

// Whether constants stand in the term that change values: not 1 and -1.
bool has_constants(const term::TermStore& store, const Term& value) {
  bool found = false;
  term::Postorder(store).walk(value, [&](const Term& t) {
    const Rational* c = store.as_rational(t);
    found = found || (c && !(*c == Rational(1)) && !(*c == Rational(-1)));
  });
  return found;
}

// The value with 1 + |hole|, or 1 + hole^2, read as the hole.
Term lifted(term::TermStore& store, const Term& value, const Term& hole, bool square) {
  const Term part =
      square ? store.make(term::Kind::Mul, {hole, hole}) : store.make(term::Kind::Abs, {hole});
  const Term argument = store.make(term::Kind::Add, {store.real(1), part});
  term::Substitution lift(
      store, [&](const Term& t) { return t == argument ? std::optional(hole) : std::nullopt; });
  return lift(value);
}

class Prober {
 public:
  Prober(const ptx::Module& module, const std::string& origin, std::vector<Template>& known)
      : module_(module), origin_(origin), known_(known) {
    for (const char* flag : {"use_fast_math", "ftz=true", "triton"})
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
    if (function.positive) probed->value = lifted(store, probed->value, probed->holes[0], p.square);
    const bool plain = is_direct(store, probed->value);
    const bool half = p.dtype == DType::F16 || p.dtype == DType::BF16;
    outcome.direct = plain && !(half && has_constants(store, probed->value));
    if (outcome.direct) return outcome;
    const Term whole = probed->value;
    for (const Part& part : with_cores(store, whole)) {
      if (is_known(store, p, part, probed->holes)) {
        outcome.recognised = true;
        continue;
      }
      probed->value = store.make(
          term::Kind::Add, {store.real(part.offset),
                            store.make(term::Kind::Mul, {store.real(part.factor), part.value})});
      const std::string fault = calibrate(store, *probed, function, {p.dtype, p.sizes, flushes_});
      std::optional<Template> made;
      if (fault.empty()) made = make_template(store, part.value, probed->holes);
      if (made) {
        made->function = p.function;
        made->sizes = p.sizes;
        made->factor = part.factor;
        made->offset = part.offset;
        made->narrow = plain;
        made->origin = fmt::format("{} {}", dtype_name(p.dtype), origin_);
        known_.push_back(std::move(*made));
        outcome.recognised = true;
      } else if (part.value == whole) {
        outcome.why = fault.empty() ? "its value mentions more than the arguments" : fault;
        break;
      }
    }
    return outcome;
  }

 private:
  // Whether a template at hand reads the value as the function already.
  bool is_known(term::TermStore& store, const Probe& p, const Part& part,
                const std::vector<Term>& holes) const {
    const std::vector<Term> wanted = arguments_of(store, p.sizes, holes);
    for (const Template& t : known_) {
      if (t.narrow && p.dtype != DType::F16 && p.dtype != DType::BF16) continue;
      // "pow(positive)" is known where "pow" is.
      if (!p.function.starts_with(t.function)) continue;
      if (!(t.factor == part.factor) || !(t.offset == part.offset)) continue;
      const auto fillings = match(store, t, part.value);
      if (fillings && arguments_of(store, t.sizes, *fillings) == wanted) return true;
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

std::vector<ProbeOutcome> run_ptx_probes(const std::string& folder, const std::string& origin,
                                         std::vector<Template>& known) {
  static const std::vector<Probe> all = [] {
    std::vector<Probe> made;
    for (const DType dtype : {DType::F32, DType::F64})
      for (const Function& f : functions())
        for (uint32_t sizes = 0; sizes < 1u << f.arity && !f.positive; ++sizes) {
          Probe p;
          p.kernel = "probe";
          p.function = f.name;
          p.dtype = dtype;
          p.sizes = sizes;
          made.push_back(std::move(p));
        }
    return made;
  }();
  std::vector<ProbeOutcome> outcomes;
  for (const Probe& p : all) {
    const std::string path =
        fmt::format("{}/{}_{}_{}.ptx", folder, p.function, dtype_name(p.dtype), p.sizes);
    if (!std::filesystem::exists(path)) continue;
    Result<ptx::Module> module = ptx::parse_file(path);
    if (module)
      outcomes.push_back(Prober(*module, origin, known).run(p));
    else
      outcomes.push_back({&p, false, false, module.error().message});
  }
  return outcomes;
}

std::string shipped_text(const std::string& compiler_version,
                         const std::vector<std::vector<ProbeOutcome>>& outcomes,
                         const std::vector<std::string>& origins,
                         const std::vector<Template>& templates) {
  std::string text = "# " + compiler_version + "\n";
  for (size_t o = 0; o < outcomes.size(); ++o)
    for (const ProbeOutcome& outcome : outcomes[o]) {
      if (outcome.probe->sizes || outcome.probe->square || outcome.probe->again) continue;
      text += fmt::format("# {:<14} {:<4} {:<15} {}\n", outcome.probe->function,
                          dtype_name(outcome.probe->dtype), origins[o],
                          outcome.direct       ? "instructions"
                          : outcome.recognised ? "recognised"
                                               : "no: " + outcome.why);
    }
  return text + to_text(templates);
}

std::string_view shipped_compiler() {
  const std::string_view line = kShipped.substr(1, kShipped.find('\n', 1) - 1);
  return line.substr(std::min<size_t>(2, line.size()));
}

std::string list_shipped() {
  std::string text;
  for (const std::string_view shipped : shipped_texts())
    for (size_t at = 1; at < shipped.size() && shipped[at] == '#';) {
      const size_t end = std::min(shipped.find('\n', at), shipped.size());
      text += fmt::format("{}\n", shipped.substr(at + 2, end - at - 2));
      at = end + 1;
    }
  return text;
}

std::span<const std::string_view> shipped_texts() {
  static constexpr std::string_view kTexts[] = {kShipped, kShippedTriton};
  return kTexts;
}

const Library& Library::shipped() {
  static const Library library(shipped_texts());
  return library;
}

}  // namespace coequal::idiom
