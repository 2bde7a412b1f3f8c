// Reads arguments, finds instances, has them checked and prints the results.
#include "cli/cli.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>

#include "base/diagnostic.h"
#include "base/options.h"
#include "check/run.h"
#include "cli/init_command.h"
#include "cli/run_command.h"
#include "decide/equation.h"
#include "idiom/recogniser.h"
#include "idiom/toolchain.h"
#include "instance/toml.h"
#include "instance/validate.h"
#include "isa/inst_row.h"
#include "report/json.h"
#include "report/progress.h"
#include "report/terminal.h"
#include "toolchain/compile.h"

namespace coequal::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kBadUsage = 2;

// Set by the first SIGINT; a second one ends the process as usual.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_interrupt(int) {
  interrupted.store(true, std::memory_order_relaxed);
  std::signal(SIGINT, SIG_DFL);
}

struct Request {
  std::vector<std::string> paths;
  std::string filter;
  std::string json;
  bool expect = false;
  bool quiet = false;
  bool verbose = false;
  std::string cells;
  std::string proof;
  bool no_snap = false;
  std::vector<std::string> assume, no_assume;
  Options options;
};

int complain(const std::string& message) {
  fmt::print(stderr, "coequal: {}\n", message);
  return kBadUsage;
}

// "60.0" as "60", "-1" as "all"; empty where there is nothing to say.
std::string default_of(const OptionRow& row) {
  std::string text(row.default_text);
  if (text == "false" || text == "\"\"") return "";
  if (row.name == "cells") return "all";
  std::erase(text, '"');
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string help_of(std::string_view option) {
  for (const OptionRow& row : option_rows()) {
    if (row.name != option) continue;
    std::string text = default_of(row);
    return text.empty() ? std::string(row.help) : fmt::format("{} (default {})", row.help, text);
  }
  return "";
}

void declare_check(CLI::App& app, Request& request) {
  app.add_option("path", request.paths,
                 "Instances (*.toml; of the Python package also *.py and *.py::CLASS), and folders "
                 "that hold some")
      ->required();
  app.add_option("-k", request.filter, "Only instances whose name or path contains this text")
      ->type_name("TEXT");
  app.add_option("--json", request.json, "Write the report to this file as JSON")
      ->type_name("FILE");
  app.add_flag("--expect", request.expect,
               "Compare with [expect]: exit 0 when every instance is as expected, else 1");
  app.add_flag("-q,--quiet", request.quiet, "One line an instance");
  app.add_flag("-v,--verbose", request.verbose, "Times, counters and what was left to show");
  app.add_option("--jobs", request.options.jobs, help_of("jobs"))
      ->type_name("N")
      ->check(CLI::Range(0, 4096));
  app.add_option("--budget", request.options.budget_seconds, help_of("budget_seconds"))
      ->type_name("S")
      ->check(CLI::PositiveNumber);
  app.add_option("--cells", request.cells, help_of("cells"))->type_name("N|all");
  app.add_option("--proof", request.proof, help_of("exact_only"))
      ->type_name("exact|any")
      ->check(CLI::IsMember({"exact", "any"}));
  app.add_option("--nvcc", request.options.nvcc, help_of("nvcc"))->type_name("PATH");
  app.add_option("--arch", request.options.arch, help_of("arch"))->type_name("ARCH");
  app.add_option("--assume", request.assume, "Add a named assumption (may be repeated)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--no-assume", request.no_assume, "Withdraw a named assumption (may be repeated)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_flag("--no-snap", request.no_snap, "Short for --no-assume constant-snap");
  app.add_flag("--whole-grid", request.options.whole_grid, help_of("whole_grid"));
  app.add_option("--order", request.options.order, help_of("order"))
      ->check(CLI::IsMember({"forward", "backward", "random"}));
  app.add_option("--seed", request.options.seed, help_of("seed"))->type_name("N");
  app.add_option("--memory", request.options.memory_mib, help_of("memory_mib"))
      ->type_name("MIB")
      ->check(CLI::PositiveNumber);
}

// Turns the texts of the command line into options; the error is a message.
std::string settle_options(const CLI::App& app, Request& request) {
  Options& options = request.options;
  for (const OptionRow& row : option_rows())
    if (app.count(std::string(row.flag)) > 0) options.given.insert(std::string(row.name));
  if (!request.cells.empty() && request.cells != "all") {
    size_t used = 0;
    try {
      options.cells = std::stoll(request.cells, &used);
    } catch (const std::exception&) {
    }
    if (used != request.cells.size() || options.cells < 1)
      return fmt::format("--cells: expected \"all\" or 1 or more, found \"{}\"", request.cells);
  }
  options.exact_only = request.proof == "exact";
  options.assume = {request.assume.begin(), request.assume.end()};
  options.no_assume = {request.no_assume.begin(), request.no_assume.end()};
  if (request.no_snap) options.no_assume.insert("constant-snap");
  std::vector<std::string_view> known(known_assumptions().begin(), known_assumptions().end());
  for (const std::set<std::string>* names : {&options.assume, &options.no_assume})
    for (const std::string& name : *names)
      if (!known_assumptions().count(name))
        return fmt::format("no assumption '{}'{}; known are {}", name,
                           instance::nearest_hint(name, known), fmt::join(known, ", "));
  for (const std::string& name : options.assume)
    if (options.no_assume.count(name))
      return fmt::format("'{}' is both assumed and not assumed", name);
  return "";
}

// The instances below a folder, sorted by file.
Result<std::vector<std::string>> search_folder(const std::string& path, const OtherForm* other) {
  std::vector<std::string> found;
  std::error_code error;
  fs::recursive_directory_iterator walk(path, fs::directory_options::skip_permission_denied, error),
      end;
  for (; !error && walk != end; walk.increment(error)) {
    const std::string file = walk->path().string();
    if (walk->path().extension() == ".toml" ? instance::is_instance_file(file)
                                            : other && other->has_instances(file))
      found.push_back(file);
  }
  if (error) return make_diagnostic(DiagnosticCode::FileNotFound, {}, path, error.message());
  if (found.empty()) return make_diagnostic(DiagnosticCode::NothingToCheck, {}, path);
  std::sort(found.begin(), found.end());
  return found;
}

// The names of the instances that the paths stand for: files, or what another form calls them. The
// error is a message.
Result<std::vector<std::string>> find_instances(const Request& request, const OtherForm* other) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& path) {
    if (!other || !other->owns(path)) {
      names.push_back(path);
      return;
    }
    for (std::string& name : other->names(path)) names.push_back(std::move(name));
  };
  for (const std::string& path : request.paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      Result<std::vector<std::string>> found = search_folder(path, other);
      if (!found) return found.error();
      for (const std::string& file : *found) add(file);
    } else if (fs::exists(path, error) || (other && other->owns(path))) {
      add(path);
    } else {
      return make_diagnostic(DiagnosticCode::FileNotFound, {}, path, "no such file or folder");
    }
  }
  // What is named twice is checked once.
  std::set<std::string> seen;
  std::erase_if(names, [&](const std::string& name) {
    return name.find(request.filter) == std::string::npos ||
           !seen.insert(fs::path(name).lexically_normal().string()).second;
  });
  if (names.empty())
    return make_diagnostic(DiagnosticCode::BadUsage, {},
                           fmt::format("-k: no instance has '{}' in its name", request.filter));
  return names;
}

bool wants_color() { return isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR"); }

int run_check(const CLI::App& app, Request& request, const OtherForm* other) {
  if (std::string error = settle_options(app, request); !error.empty()) return complain(error);
  Result<std::vector<std::string>> names = find_instances(request, other);
  if (!names) return complain(names.error().message);
  std::ofstream json;
  if (!request.json.empty()) {
    json.open(request.json);
    if (!json)
      return complain(
          make_diagnostic(DiagnosticCode::FileNotWritten, {}, request.json, "it cannot be opened")
              .message);
  }
  interrupted.store(false, std::memory_order_relaxed);
  const auto previous = std::signal(SIGINT, on_interrupt);

  // Files that cannot be read keep their place among the results.
  report::RunResult run;
  std::vector<instance::Instance> instances;
  std::vector<size_t> places;
  for (const std::string& name : *names) {
    report::InstanceResult result;
    result.name = fs::path(name).stem().string();
    result.file = name;
    if (interrupted.load(std::memory_order_relaxed)) {
      result.verdict = report::Verdict::Interrupted;
      run.instances.push_back(std::move(result));
      continue;
    }
    Result<instance::Instance> read =
        other && other->owns(name) ? other->read(name, request.options) : instance::read_toml(name);
    if (read) {
      places.push_back(run.instances.size());
      instances.push_back(*std::move(read));
    } else {
      result.verdict = report::Verdict::Invalid;
      result.problems.push_back(read.error());
    }
    run.instances.push_back(std::move(result));
  }

  report::Progress progress(stderr);
  progress.show(0, instances.size(), "");
  report::RunResult checked = check::check_all(
      instances, request.options,
      [&](size_t done, size_t total, const report::InstanceResult& result) {
        progress.show(done, total, result.file);
      },
      &interrupted);
  progress.clear();
  std::signal(SIGINT, previous);
  for (size_t i = 0; i < places.size(); ++i)
    run.instances[places[i]] = std::move(checked.instances[i]);
  run.tool = checked.tool;
  run.tool.version = COEQUAL_VERSION;
  run.interrupted = checked.interrupted;

  report::TerminalOptions look;
  look.verbose = request.verbose;
  look.color = wants_color();
  look.quiet = request.quiet;
  look.expect = request.expect;
  bool first = true;
  for (const report::InstanceResult& result : run.instances) {
    bool error =
        result.verdict == report::Verdict::Invalid || result.verdict == report::Verdict::Internal;
    std::FILE* stream = error ? stderr : stdout;
    report::TerminalOptions own = look;
    if (error) {
      own.color = false;
      own.expect = false;
    }
    fmt::print(stream, "{}{}", first || request.quiet ? "" : "\n",
               report::render_terminal(result, own));
    first = false;
  }
  if (run.instances.size() > 1)
    fmt::print("{}{}", request.quiet ? "" : "\n", report::render_summary(run, look));
  if (json.is_open()) {
    json << report::write_json(run);
    json.close();
    if (!json)
      return complain(
          make_diagnostic(DiagnosticCode::FileNotWritten, {}, request.json, "the disk may be full")
              .message);
  }
  return run.exit_code(request.expect);
}

void list_options() {
  for (const OptionRow& row : option_rows()) {
    fmt::print("{:<13} {}", row.flag, row.help);
    if (std::string text = default_of(row); !text.empty()) fmt::print("; default {}", text);
    if (!row.key.empty()) fmt::print("; in an instance {}", row.key);
    fmt::print("\n");
  }
}

void list_diagnostics() {
  constexpr DiagnosticCode kAll[] = {
#define DIAG(code, severity, text) DiagnosticCode::code,
#include "base/diagnostics.def"
#undef DIAG
  };
  for (DiagnosticCode code : kAll) {
    const char* severity = "";
    switch (code_severity(code)) {
      case Severity::Note:
        severity = "note";
        break;
      case Severity::Invalid:
        severity = "invalid";
        break;
      case Severity::Refused:
        severity = "refused";
        break;
      case Severity::Internal:
        severity = "internal";
        break;
    }
    fmt::print("{:<20} {:<9} {}\n", code_name(code), severity, code_text(code));
  }
}

void list_assumptions() {
  for (const std::string& name : known_assumptions())
    fmt::print("{:<22} {}\n", name, default_assumptions().count(name) ? "on" : "off");
}

void list_defects() {
  for (const coequal::DefectKindRow& row : coequal::kDefectKinds)
    fmt::print("{:<21} {}\n", row.name, row.meaning);
}

int print_idioms(const std::string& nvcc, const std::string& arch, const std::string& ptx,
                 const std::string& name) {
  if (!ptx.empty()) {
    std::vector<idiom::Template> ships;
    for (const idiom::Template& t : idiom::Library::shipped().templates())
      if (!t.origin.ends_with(" " + name)) ships.push_back(t);
    fmt::print("{}", idiom::make_shipped_of_ptx(ptx, name, std::move(ships)));
    return 0;
  }
  const Result<std::string> compiler = toolchain::find_compiler(nvcc);
  if (!compiler) return complain(compiler.error().message);
  const Result<std::string> text = idiom::make_shipped(*compiler, arch, Budget());
  if (!text) return complain(text.error().message);
  fmt::print("{}", *text);
  return 0;
}

const std::map<std::string, std::function<void()>>& tables() {
  static const std::map<std::string, std::function<void()>> all = {
      {"assumptions", list_assumptions},
      {"defects", list_defects},
      {"diagnostics", list_diagnostics},
      {"isa", [] { fmt::print("{}", isa::list_rows()); }},
      {"idioms", [] { fmt::print("{}", idiom::list_shipped()); }},
      {"ops", [] { fmt::print("{}", decide::list_formula_ops()); }},
      {"options", list_options},
  };
  return all;
}

}  // namespace

int run(int argc, const char* const* argv, const OtherForm* other) {
  CLI::App app("Decides whether two GPU programs compute the same function.", "coequal");
  app.set_version_flag("--version", "coequal " COEQUAL_VERSION);
  app.require_subcommand(1);
  Request request;
  CLI::App* check = app.add_subcommand("check", "Check instances");
  declare_check(*check, request);
  RunRequest run_request;
  CLI::App* run_one = app.add_subcommand("run", "Run one program of an instance on numbers");
  declare_run(*run_one, run_request);
  InitRequest init_request;
  CLI::App* init = app.add_subcommand("init", "Write a first instance for the kernels of a source");
  declare_init(*init, init_request);
  CLI::App* list = app.add_subcommand("list", "Print a table of what is supported");
  std::string table;
  std::vector<std::string> names;
  for (const auto& [name, print] : tables()) names.push_back(name);
  list->add_option("table", table, fmt::format("One of {}", fmt::join(names, ", ")))
      ->required()
      ->check(CLI::IsMember(names));
  CLI::App* idioms = app.add_subcommand(
      "idioms", "Print the templates of library functions that a compiler's code gives");
  std::string nvcc, arch = Options().arch;
  idioms->add_option("--nvcc", nvcc, "The CUDA compiler to call");
  idioms->add_option("--arch", arch, "Target architecture");
  std::string ptx, name = "triton";
  idioms->add_option("--ptx", ptx,
                     "Take PTX from this folder: FUNCTION_DTYPE_SIZES.ptx, kernel 'probe'");
  idioms->add_option("--name", name, "What made that PTX");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& answer) {
    return app.exit(answer);
  } catch (const CLI::ParseError& error) {
    return complain(error.what());
  }
  if (list->parsed()) {
    tables().at(table)();
    return 0;
  }
  if (idioms->parsed()) return print_idioms(nvcc, arch, ptx, name);
  if (init->parsed()) return write_first_instance(init_request);
  if (run_one->parsed()) return run_program(run_request);
  return run_check(*check, request, other);
}

}  // namespace coequal::cli
