// Search for the compiler, its command line, and the life of a cache entry.
#include "toolchain/compile.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "toolchain/compiler_output.h"
#include "toolchain/files.h"
#include "toolchain/process.h"
#include "toolchain/ptx_cache.h"
#include "toolchain/sha256.h"

namespace coequal::toolchain {
namespace {

namespace fs = std::filesystem;

// What nvcc and the host compiler that it calls take from the environment.
constexpr std::array kEnvironment = {"PATH",
                                     "NVCC_PREPEND_FLAGS",
                                     "NVCC_APPEND_FLAGS",
                                     "NVCC_CCBIN",
                                     "CUDA_HOME",
                                     "CUDA_PATH",
                                     "NVVMIR_LIBRARY_DIR",
                                     "CPATH",
                                     "C_INCLUDE_PATH",
                                     "CPLUS_INCLUDE_PATH",
                                     "GCC_EXEC_PREFIX",
                                     "COMPILER_PATH",
                                     "SOURCE_DATE_EPOCH"};
constexpr std::array kIncludeVariables = {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"};
constexpr std::array<std::string_view, 8> kIncludeFlags = {
    "--system-include", "--include-path", "-isystem", "-iquote",
    "-idirafter",       "-imacros",       "-include", "-I"};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

bool is_program(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> in_path(const std::string& name) {
  for (const std::string& folder : split(variable("PATH"), ':')) {
    const std::string path = folder + "/" + name;
    if (is_program(path)) return path;
  }
  return std::nullopt;
}

// nvidia/cu13/bin/nvcc, nvidia/cuda_nvcc/bin/nvcc: the last by name, which is the newest.
std::optional<std::string> in_site_packages(const fs::path& packages) {
  std::error_code error;
  std::vector<std::string> found;
  for (fs::directory_iterator it(packages / "nvidia", error), end; !error && it != end;
       it.increment(error)) {
    std::string path = (it->path() / "bin" / "nvcc").string();
    if (is_program(path)) found.push_back(std::move(path));
  }
  if (found.empty()) return std::nullopt;
  return *std::max_element(found.begin(), found.end());
}

std::vector<fs::path> package_folders() {
  std::vector<fs::path> folders;
  if (const std::string venv = variable("VIRTUAL_ENV"); !venv.empty()) {
    std::error_code error;
    for (fs::directory_iterator it(fs::path(venv) / "lib", error), end; !error && it != end;
         it.increment(error)) {
      folders.push_back(it->path() / "site-packages");
    }
  }
  constexpr double kPythonSeconds = 20;
  const ProcessResult python = run_process(
      {"python3", "-c", "import sys; print('\\n'.join(sys.path))"}, {}, Budget(kPythonSeconds));
  if (python.succeeded()) {
    for (const std::string& line : split(python.out, '\n')) folders.emplace_back(line);
  }
  return folders;
}

std::string version_line(std::string_view text) {
  const std::vector<std::string> lines = split(text, '\n');
  for (const std::string& line : lines) {
    if (line.find("release") != std::string::npos) return line;
  }
  return lines.empty() ? "" : lines.front();
}

Diagnostic stopped(const CompileRequest& request, const Budget& budget) {
  return make_diagnostic(DiagnosticCode::CompileFailed, SourceSpan{request.source, 0, 0},
                         budget.interrupted() ? "compilation was interrupted"
                                              : "compilation was stopped: no time is left");
}

std::string how_it_ended(const ProcessResult& result, const std::string& program) {
  switch (result.end) {
    case ProcessResult::End::Exited:
      return fmt::format("'{}' ended with status {}", program, result.code);
    case ProcessResult::End::Signalled:
      return fmt::format("'{}' was killed by signal {}", program, result.code);
    default:
      return fmt::format("cannot run '{}': {}", program, std::strerror(result.code));
  }
}

std::vector<std::string> command_of(const CompileRequest& request, const std::string& source,
                                    const std::string& folder) {
  std::vector<std::string> argv = {request.compiler, "-ptx", "-lineinfo"};
  if (!request.arch.empty()) argv.push_back("-arch=" + request.arch);
  argv.insert(argv.end(), request.flags.begin(), request.flags.end());
  for (const char* argument : {"-MD", "-MF"}) argv.emplace_back(argument);
  argv.push_back(folder + "/dependencies");
  argv.push_back(source);
  argv.emplace_back("-o");
  argv.push_back(folder + "/out.ptx");
  return argv;
}

// Folders where the compiler looks for headers, as far as the request says; of -include, the file's
// own.
std::vector<std::string> search_folders(const CompileRequest& request, const std::string& source) {
  std::vector<std::string> folders = {fs::path(source).parent_path().string()};
  const auto add = [&](std::string_view list, char separator) {
    for (const std::string& folder : split(list, separator)) {
      folders.push_back(fs::absolute(folder).lexically_normal().string());
    }
  };
  std::vector<std::string> flags = request.flags;
  for (const char* name : {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"}) {
    for (std::string& flag : split(variable(name), ' ')) flags.push_back(std::move(flag));
  }
  for (size_t i = 0; i < flags.size(); ++i) {
    for (std::string_view name : kIncludeFlags) {
      std::string_view flag = flags[i];
      if (!flag.starts_with(name)) continue;
      flag.remove_prefix(name.size());
      if (flag.starts_with('=')) flag.remove_prefix(1);
      if (flag.empty() && i + 1 < flags.size()) flag = flags[i + 1];
      add(flag, ',');
      break;
    }
  }
  for (const char* name : kIncludeVariables) add(variable(name), ':');
  return folders;
}

// Files of options are read by the compiler but are no dependencies that it lists.
bool reads_option_files(const CompileRequest& request) {
  std::string all = variable("NVCC_PREPEND_FLAGS") + " " + variable("NVCC_APPEND_FLAGS");
  for (const std::string& flag : request.flags) all += " " + flag;
  return all.find('@') != std::string::npos || all.find("-optf") != std::string::npos ||
         all.find("--options-file") != std::string::npos;
}

std::string cache_key(const CompileRequest& request, const std::string& source,
                      const std::string& version) {
  Sha256 hash;
  hash.add_field(source);
  std::error_code ignored;
  hash.add_field(fs::current_path(ignored).string());
  hash.add_field(request.arch);
  hash.add_field(std::to_string(request.flags.size()));
  for (const std::string& flag : request.flags) hash.add_field(flag);
  hash.add_field(fs::weakly_canonical(request.compiler, ignored).string());
  hash.add_field(version);
  for (const char* name : kEnvironment) {
    const char* value = std::getenv(name);
    hash.add_field(value ? "set" : "unset");
    hash.add_field(value ? value : "");
  }
  return hash.finish();
}

// Time in the clock that stamps files, after at least one tick of it: whatever was written before
// this call is older.
timespec next_tick() {
  timespec entry{}, now{};
  clock_gettime(CLOCK_REALTIME, &entry);
  do {
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
  } while (now.tv_sec < entry.tv_sec ||
           (now.tv_sec == entry.tv_sec && now.tv_nsec <= entry.tv_nsec));
  return now;
}

bool changed_since(const std::string& path, const timespec& start) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return true;
  const auto at_or_after = [&](const timespec& t) {
    return t.tv_sec > start.tv_sec || (t.tv_sec == start.tv_sec && t.tv_nsec >= start.tv_nsec);
  };
  return at_or_after(status.st_mtim) || at_or_after(status.st_ctim);
}

// Hashes of all files that the compiler read; nothing if one cannot be read or has changed since
// `start`.
std::optional<std::vector<PtxCache::File>> files_read(const std::string& folder,
                                                      const CompileRequest& request,
                                                      const std::string& source,
                                                      const timespec& start) {
  const auto rule = read_file(folder + "/dependencies");
  if (!rule) return std::nullopt;
  std::vector<std::string> paths = prerequisites(*rule);
  if (paths.empty()) return std::nullopt;
  std::error_code ignored;
  const fs::path profile =
      fs::weakly_canonical(request.compiler, ignored).parent_path() / "nvcc.profile";
  if (fs::exists(profile, ignored)) paths.push_back(profile.string());
  paths.push_back(source);
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  std::vector<PtxCache::File> files;
  for (const std::string& path : paths) {
    const std::string absolute = fs::absolute(path, ignored).string();
    const auto contents = read_file(absolute);
    if (!contents || changed_since(absolute, start)) return std::nullopt;
    files.push_back({absolute, sha256(*contents)});
  }
  return files;
}

}  // namespace

Result<std::string> find_compiler(const std::string& explicit_path) {
  if (!explicit_path.empty()) {
    if (explicit_path.find('/') == std::string::npos) {
      if (const auto path = in_path(explicit_path)) return *path;
    } else if (is_program(explicit_path)) {
      return explicit_path;
    }
    Diagnostic missing = make_diagnostic(DiagnosticCode::CompilerMissing, {});
    missing.notes.push_back(
        fmt::format("--nvcc '{}' is not a program that can be run", explicit_path));
    return missing;
  }
  if (const std::string home = variable("CUDA_HOME");
      !home.empty() && is_program(home + "/bin/nvcc")) {
    return home + "/bin/nvcc";
  }
  if (const auto path = in_path("nvcc")) return *path;
  for (const fs::path& folder : package_folders()) {
    if (const auto path = in_site_packages(folder)) return *path;
  }
  return make_diagnostic(DiagnosticCode::CompilerMissing, {});
}

Result<CompiledSource> compile_to_ptx(const CompileRequest& request, const std::string& cache_dir,
                                      const Budget& budget) {
  const auto begin = std::chrono::steady_clock::now();
  CompiledSource compiled;
  const auto finish = [&] {
    compiled.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return compiled;
  };

  std::error_code error;
  const std::string source = fs::absolute(request.source, error).lexically_normal().string();
  if (access(source.c_str(), R_OK) != 0) {
    return make_diagnostic(DiagnosticCode::FileNotFound, SourceSpan{request.source, 0, 0},
                           request.source, std::strerror(errno));
  }
  const ProcessResult version = run_process({request.compiler, "--version"}, {}, budget);
  if (version.end == ProcessResult::End::Stopped) return stopped(request, budget);
  if (!version.succeeded()) {
    return compile_error(version.err, how_it_ended(version, request.compiler));
  }
  compiled.compiler_version = version_line(version.out);

  const PtxCache cache(reads_option_files(request) ? "" : cache_dir);
  const std::string key = cache_key(request, source, version.out);
  const std::vector<std::string> search = search_folders(request, source);
  if (auto ptx = cache.find(key, search)) {
    compiled.ptx = std::move(*ptx);
    compiled.from_cache = true;
    return finish();
  }

  const TemporaryFolder folder;
  if (folder.path().empty()) {
    return make_diagnostic(DiagnosticCode::FileNotWritten, {}, "a temporary folder",
                           std::strerror(errno));
  }
  const timespec start = next_tick();
  // With the temporary files of the compiler in our folder, a killed one leaves nothing behind.
  const ProcessResult run =
      run_process(command_of(request, source, folder.path()), {{"TMPDIR", folder.path()}}, budget);
  if (run.end == ProcessResult::End::Stopped) return stopped(request, budget);
  if (!run.succeeded()) {
    Diagnostic failure = compile_error(run.err + run.out, how_it_ended(run, request.compiler));
    if (failure.span.file.empty()) failure.span.file = request.source;
    return failure;
  }
  auto ptx = read_file(folder.path() + "/out.ptx");
  if (!ptx) {
    return make_diagnostic(DiagnosticCode::CompileFailed, SourceSpan{request.source, 0, 0},
                           fmt::format("'{}' wrote no PTX", request.compiler));
  }
  compiled.ptx = std::move(*ptx);
  if (const auto files = files_read(folder.path(), request, source, start))
    cache.store(key, *files, search, compiled.ptx);
  return finish();
}

}  // namespace coequal::toolchain
