// The extension module coequal._core: instances, checks and the command line for the Python
// package.
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <csignal>
#include <exception>
#include <tuple>

#include "base/options.h"
#include "check/concrete.h"
#include "check/run.h"
#include "cli/cli.h"
#include "instance/toml.h"
#include "instance/validate.h"
#include "report/json.h"
#include "report/terminal.h"
#include "toolchain/ptx_cache.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace coequal::python {
namespace {

// PTX that several instances name: one copy for all.
struct Text {
  std::shared_ptr<const std::string> text;
};

using UnrecordedRow = std::tuple<std::string, std::string, std::string, std::string, uint32_t>;

// Throws ValueError for a text that is no valid instance. An empty text: nothing could be recorded.
instance::Instance read_instance(const std::string& text, const std::string& file,
                                 const std::string& name, const std::map<std::string, Text>& texts,
                                 const std::vector<UnrecordedRow>& unrecorded) {
  instance::Instance bare;
  bare.file = file;
  Result<instance::Instance> read = bare;
  instance::SourceTexts sources;
  for (const auto& [path, source] : texts) sources[path] = source.text;
  if (!text.empty()) read = instance::read_toml_text(text, file, sources);
  if (!read) {
    // Its lines are those of a text that the user does not see.
    std::string message = read.error().message;
    for (const std::string& note : read.error().notes) message += "\n" + note;
    throw nb::value_error(message.c_str());
  }
  read->name = name;
  for (const auto& [program, construct, reason, source, line] : unrecorded)
    read->unrecorded.push_back({program.at(0), construct, reason, {source, line, 0}});
  return *std::move(read);
}

// The inputs where the instance leaves them open: zero, or the nearest value within the bounds. By
// name: dtype, shape and contents.
nb::dict open_inputs(const instance::Instance& instance) {
  const check::ConcreteInputs inputs = check::nearest_inputs(instance);
  nb::dict out;
  const auto add = [&](const std::string& name, DType dtype, const std::vector<int64_t>& shape,
                       const check::Bytes& bytes) {
    out[name.c_str()] = nb::make_tuple(std::string(dtype_name(dtype)), nb::tuple(nb::cast(shape)),
                                       nb::bytes(bytes.data(), bytes.size()));
  };
  for (const auto& [name, bytes] : inputs.tensors) {
    const instance::Tensor& tensor = *instance.find_tensor(name);
    add(name, tensor.dtype, tensor.shape, bytes);
  }
  for (const auto& [name, bytes] : inputs.scalars)
    add(name, instance.find_scalar(name)->dtype, {}, bytes);
  return out;
}

template <class T>
void set_option(T& field, nb::handle value) {
  field = nb::cast<T>(value);
}

// Options by the names of options.def, and the lists "assume" and "no_assume".
Options options_of(const nb::dict& given) {
  Options options;
  for (const auto& [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    if (name == "assume" || name == "no_assume") {
      auto& names = name == "assume" ? options.assume : options.no_assume;
      for (const std::string& assumption : nb::cast<std::vector<std::string>>(value)) {
        if (!known_assumptions().count(assumption)) {
          std::vector<std::string_view> known(known_assumptions().begin(),
                                              known_assumptions().end());
          throw nb::value_error(
              ("no assumption '" + assumption + "'" + instance::nearest_hint(assumption, known))
                  .c_str());
        }
        names.insert(assumption);
      }
      continue;
    }
    bool known = false;
#define OPTION(field, type, default_value, flag, key_name, help) \
  if (name == #field) {                                          \
    set_option(options.field, value);                            \
    known = true;                                                \
  }
#include "base/options.def"
#undef OPTION
    if (!known) throw nb::value_error(("no option '" + name + "'").c_str());
    options.given.insert(name);
  }
  return options;
}

// Set by SIGINT while a check runs that may be interrupted.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);
void note_interrupt(int) { interrupted.store(true, std::memory_order_relaxed); }

// Python's own handler cannot run while the main thread is inside check(): ours takes its place.
class InterruptScope {
 public:
  explicit InterruptScope(bool active) : active_(active) {
    interrupted.store(false, std::memory_order_relaxed);
    if (active_) previous_ = std::signal(SIGINT, note_interrupt);
  }
  ~InterruptScope() {
    if (active_) std::signal(SIGINT, previous_);
  }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  bool active_;
  void (*previous_)(int) = SIG_DFL;
};

std::shared_ptr<report::RunResult> check_instances(const std::vector<nb::handle>& handles,
                                                   const nb::dict& given,
                                                   const std::shared_ptr<check::ModuleCache>& cache,
                                                   const nb::object& progress, bool interruptible) {
  const Options options = options_of(given);
  std::vector<instance::Instance> instances;
  for (const nb::handle& handle : handles)
    instances.push_back(*nb::cast<const instance::Instance*>(handle));
  std::exception_ptr failure;
  check::ProgressCallback report;
  if (!progress.is_none())
    report = [&](size_t done, size_t total, const report::InstanceResult& result) {
      nb::gil_scoped_acquire gil;
      try {
        progress(done, total, result.file, std::string(report::verdict_name(result.verdict)));
      } catch (...) {
        failure = std::current_exception();
        interrupted.store(true, std::memory_order_relaxed);
      }
    };
  InterruptScope scope(interruptible);
  auto run = std::make_shared<report::RunResult>();
  {
    nb::gil_scoped_release released;
    *run = check::check_all(instances, options, report, &interrupted, cache);
  }
  if (failure) std::rethrow_exception(failure);
  run->tool.version = COEQUAL_VERSION;
  return run;
}

// The command line, with Python's instances; see cli::OtherForm. Errors of reading are ValueErrors.
int run_command(const std::vector<std::string>& arguments, const nb::object& form) {
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  cli::OtherForm other;
  other.owns = [&](const std::string& argument) {
    nb::gil_scoped_acquire gil;
    return nb::cast<bool>(form.attr("owns")(argument));
  };
  other.has_instances = [&](const std::string& path) {
    nb::gil_scoped_acquire gil;
    return nb::cast<bool>(form.attr("has_instances")(path));
  };
  other.names = [&](const std::string& argument) {
    nb::gil_scoped_acquire gil;
    return nb::cast<std::vector<std::string>>(form.attr("names")(argument));
  };
  other.read = [&](const std::string& name, const Options& options) -> Result<instance::Instance> {
    nb::gil_scoped_acquire gil;
    try {
      return *nb::cast<const instance::Instance*>(form.attr("read")(name, options.arch));
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_ValueError)) throw;
      return make_diagnostic(DiagnosticCode::InstanceInvalid, {name, 0, 0},
                             nb::cast<std::string>(nb::str(error.value())));
    }
  };
  nb::gil_scoped_release released;
  return cli::run(static_cast<int>(argv.size()), argv.data(), &other);
}

}  // namespace
}  // namespace coequal::python

NB_MODULE(_core, m) {
  using namespace coequal;
  using namespace coequal::python;
  m.doc() = "The engine of Coequal.";
  // The package keeps a cache of modules to the end of the process: no leak.
  nb::set_leak_warnings(false);
  m.attr("version") = COEQUAL_VERSION;

  nb::class_<Text>(m, "Text", "PTX in memory, shared by the instances that name it.")
      .def(
          "__init__",
          [](Text* self, std::string text) {
            new (self) Text{std::make_shared<const std::string>(std::move(text))};
          },
          "text"_a);

  nb::class_<instance::Instance>(m, "Instance", "A valid instance, ready to be checked.")
      .def(
          "__init__",
          [](instance::Instance* self, const std::string& text, const std::string& file,
             const std::string& name, const std::map<std::string, Text>& texts,
             const std::vector<UnrecordedRow>& unrecorded) {
            new (self) instance::Instance(read_instance(text, file, name, texts, unrecorded));
          },
          "text"_a, "file"_a, "name"_a, "texts"_a, "unrecorded"_a = std::vector<UnrecordedRow>(),
          "Reads the TOML form; `texts` holds the sources that are no files. `unrecorded` has "
          "rows of (program, construct, reason, file, line).")
      .def("open_inputs", &open_inputs,
           "Zeros, or the nearest values within the bounds, for what the instance leaves open, by "
           "name: dtype, shape, contents.");

  nb::class_<check::ModuleCache>(m, "ModuleCache", "Parsed PTX that checks share.")
      .def(nb::init<>());

  nb::class_<report::RunResult>(m, "Report", "The results of one call of check().")
      .def(
          "json", [](const report::RunResult& run) { return report::write_json(run); },
          "The JSON report.")
      .def(
          "text",
          [](const report::RunResult& run, size_t index, bool verbose, bool color, bool quiet) {
            report::TerminalOptions look;
            look.verbose = verbose;
            look.color = color;
            look.quiet = quiet;
            return report::render_terminal(run.instances.at(index), look);
          },
          "index"_a, "verbose"_a = false, "color"_a = false, "quiet"_a = false,
          "One result as the command prints it.")
      .def("__len__", [](const report::RunResult& run) { return run.instances.size(); })
      .def_prop_ro("interrupted", [](const report::RunResult& run) { return run.interrupted; });

  m.def("check", &check_instances, "instances"_a, "options"_a, "modules"_a,
        "progress"_a = nb::none(), "interruptible"_a = false,
        "Checks instances. `progress` is called with (done, total, file, verdict).");
  m.def("main", &run_command, "arguments"_a, "form"_a,
        "The coequal command; returns its exit code.");
  m.def("default_cache_dir", &toolchain::default_cache_dir,
        "The folder of cached PTX; empty if there is none.");
  m.def(
      "assumptions", [] { return std::set<std::string>(known_assumptions()); },
      "The names of all assumptions.");
}
