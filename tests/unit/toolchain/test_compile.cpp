// Compilation and its cache, with a script in the compiler's place, and once with the real one.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <thread>

#include "toolchain/compile.h"
#include "toolchain/files.h"
#include "toolchain/ptx_cache.h"

namespace coequal::toolchain {
namespace {

namespace fs = std::filesystem;

// Logs its arguments, answers --version, and "compiles": the PTX is the source and its headers ("//
// dep: NAME" lines) one after the other. "// stderr: TEXT" lines are its messages; with "// fail"
// it fails, with "// hang" it waits.
constexpr const char* kFakeCompiler = R"script(#!/bin/bash
here=$(cd "$(dirname "$0")" && pwd)
if [ "$1" = --version ]; then
  echo "fake compiler"
  echo "release $(cat "$here/version")"
  exit 0
fi
printf '%s\n' "$*" >> "$here/log"
source="" out="" rule=""
while [ $# -gt 0 ]; do
  case "$1" in
    -o) out=$2; shift ;;
    -MF) rule=$2; shift ;;
    -*) ;;
    *) source=$1 ;;
  esac
  shift
done
folder=$(dirname "$source")
sed -n 's|^// stderr: ||p' "$source" >&2
if grep -q '^// hang' "$source"; then sleep 600 & echo $! > "$here/child"; wait; fi
if grep -q '^// fail' "$source"; then exit 2; fi
printf 'out.ptx : %s' "${source// /\\ }" > "$rule"
cat "$source" > "$out"
for header in $(sed -n 's|^// dep: ||p' "$source"); do
  printf ' \\\n    %s' "$folder/$header" >> "$rule"
  cat "$folder/$header" >> "$out"
done
printf '\n' >> "$rule"
)script";

// Sets environment variables and puts the old ones back.
class Environment {
 public:
  void set(const char* name, const std::optional<std::string>& value) {
    if (!old_.contains(name)) {
      const char* before = std::getenv(name);
      old_[name] = before ? std::optional<std::string>(before) : std::nullopt;
    }
    apply(name, value);
  }
  ~Environment() {
    for (const auto& [name, value] : old_) apply(name.c_str(), value);
  }

 private:
  static void apply(const char* name, const std::optional<std::string>& value) {
    if (value) {
      setenv(name, value->c_str(), 1);
    } else {
      unsetenv(name);
    }
  }
  std::map<std::string, std::optional<std::string>> old_;
};

void write(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  ASSERT_TRUE(file.good()) << path;
}

void write_program(const std::string& path, const std::string& text) {
  write(path, text);
  fs::permissions(path, fs::perms::owner_all);
}

class Compile : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(folder_.path().empty());
    write_program(at("bin/nvcc"), kFakeCompiler);
    write(at("bin/version"), "1.0");
    write(at("bin/log"), "");
    for (const char* name : {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CPATH"})
      environment_.set(name, std::nullopt);
    request_ = {at("src/a.cu"), {}, "sm_80", at("bin/nvcc")};
  }

  std::string at(const std::string& name) const { return folder_.path() + "/" + name; }
  size_t calls() const {
    std::ifstream log(at("bin/log"));
    size_t lines = 0;
    for (std::string line; std::getline(log, line);) ++lines;
    return lines;
  }
  std::string last_call() const {
    std::ifstream log(at("bin/log"));
    std::string last;
    for (std::string line; std::getline(log, line);) last = line;
    return last;
  }
  CompiledSource must_compile() {
    Result<CompiledSource> compiled = compile_to_ptx(request_, at("cache"), Budget());
    EXPECT_TRUE(compiled.has_value()) << render(compiled.error());
    return compiled ? std::move(*compiled) : CompiledSource{};
  }
  Diagnostic must_fail(const Budget& budget = Budget()) {
    Result<CompiledSource> compiled = compile_to_ptx(request_, at("cache"), budget);
    EXPECT_FALSE(compiled.has_value());
    return compiled ? make_diagnostic(DiagnosticCode::InternalFault, {}, "compiled")
                    : compiled.error();
  }
  std::vector<std::string> entries() const {
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator(at("cache/ptx")))
      paths.push_back(entry.path().string());
    return paths;
  }

  TemporaryFolder folder_;
  Environment environment_;
  CompileRequest request_;
};

TEST_F(Compile, CommandLineHoldsEachFlagAsOneArgument) {
  write(request_.source, "x\n");
  request_.flags = {"-use_fast_math", "-DTEXT=\"a b; rm -rf $HOME\""};
  const CompiledSource compiled = must_compile();
  EXPECT_EQ(compiled.ptx, "x\n");
  EXPECT_EQ(compiled.compiler_version, "release 1.0");
  EXPECT_FALSE(compiled.from_cache);
  EXPECT_EQ(last_call().find(
                "-ptx -lineinfo -arch=sm_80 -use_fast_math -DTEXT=\"a b; rm -rf $HOME\" -MD -MF "),
            0u)
      << last_call();
}

TEST_F(Compile, SecondCallComesFromTheCache) {
  write(request_.source, "x\n// dep: h.h\n");
  write(at("src/h.h"), "header\n");
  const CompiledSource first = must_compile(), second = must_compile();
  EXPECT_FALSE(first.from_cache);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(second.ptx, first.ptx);
  EXPECT_EQ(second.ptx, "x\n// dep: h.h\nheader\n");
  EXPECT_EQ(second.compiler_version, "release 1.0");
  EXPECT_EQ(calls(), 1u);
}

TEST_F(Compile, SpacesInPathsAreCachedToo) {
  request_.source = at("a folder/a b.cu");
  write(request_.source, "x\n");
  must_compile();
  EXPECT_TRUE(must_compile().from_cache);
}

TEST_F(Compile, EverythingThatCountsMakesAMiss) {
  write(request_.source, "x\n// dep: h.h\n");
  write(at("src/h.h"), "header\n");
  must_compile();
  const auto expect_miss = [&](const char* what) {
    EXPECT_FALSE(must_compile().from_cache) << what;
    EXPECT_TRUE(must_compile().from_cache) << what;
  };
  write(request_.source, "y\n// dep: h.h\n");
  expect_miss("source");
  write(at("src/h.h"), "leader\n");
  expect_miss("header");
  EXPECT_EQ(must_compile().ptx, "y\n// dep: h.h\nleader\n");
  request_.flags = {"-a", "b"};
  expect_miss("flags");
  request_.flags = {"-a b"};
  expect_miss("borders of flags");
  request_.arch = "sm_90";
  expect_miss("target");
  write(at("bin/version"), "1.1");
  expect_miss("compiler version");
  for (const char* name :
       {"NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS", "CPATH", "CPLUS_INCLUDE_PATH"}) {
    environment_.set(name, "-DX");
    expect_miss(name);
  }
  write_program(at("other/nvcc"), kFakeCompiler);
  write(at("other/version"), "1.1");
  request_.compiler = at("other/nvcc");
  expect_miss("compiler path");
  request_.source = at("src/b.cu");
  write(request_.source, "y\n// dep: h.h\n");
  expect_miss("source path");
}

TEST_F(Compile, ChangedHeaderOfTheSameSizeAndTimeIsNoticed) {
  write(request_.source, "// dep: h.h\n");
  write(at("src/h.h"), "aaaa\n");
  must_compile();
  const auto time = fs::last_write_time(at("src/h.h"));
  write(at("src/h.h"), "bbbb\n");
  fs::last_write_time(at("src/h.h"), time);
  const CompiledSource compiled = must_compile();
  EXPECT_FALSE(compiled.from_cache);
  EXPECT_EQ(compiled.ptx, "// dep: h.h\nbbbb\n");
}

TEST_F(Compile, HeaderThatNowHidesAnotherIsNoticed) {
  request_.flags = {"-I" + at("first"), "-I", at("second")};
  fs::create_directories(at("first"));
  write(at("second/sub/h.h"), "header\n");
  write(request_.source, "// dep: ../second/sub/h.h\n");
  must_compile();
  EXPECT_TRUE(must_compile().from_cache);
  write(at("first/unrelated.h"), "");
  EXPECT_TRUE(must_compile().from_cache);
  write(at("first/sub/h.h"), "hides\n");
  EXPECT_FALSE(must_compile().from_cache);
}

TEST_F(Compile, RemovedHeaderIsNoticed) {
  write(request_.source, "// dep: h.h\n");
  write(at("src/h.h"), "header\n");
  must_compile();
  fs::remove(at("src/h.h"));
  EXPECT_FALSE(must_compile().from_cache);
}

TEST_F(Compile, DamagedEntriesAreIgnored) {
  write(request_.source, "x\n");
  must_compile();
  ASSERT_EQ(entries().size(), 1u);
  const std::string path = entries()[0], whole = *read_file(path);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    write(path, damaged);
    const PtxCache cache(this->at("cache"));
    EXPECT_FALSE(cache.find(fs::path(path).filename(), {}).has_value()) << at;
    write(path, whole.substr(0, at));
    EXPECT_FALSE(cache.find(fs::path(path).filename(), {}).has_value()) << at;
  }
  write(path, "");
  const CompiledSource again = must_compile();
  EXPECT_FALSE(again.from_cache);
  EXPECT_EQ(again.ptx, "x\n");
  EXPECT_TRUE(must_compile().from_cache);
}

TEST_F(Compile, EntriesOfAnotherKeyAreIgnored) {
  write(request_.source, "x\n");
  must_compile();
  const std::string path = entries().at(0);
  const std::string other(64, '0');
  fs::copy(path, at("cache/ptx/" + other));
  EXPECT_FALSE(PtxCache(at("cache")).find(other, {}).has_value());
}

TEST_F(Compile, NoCacheFolderAndUnwritableCacheStillCompile) {
  write(request_.source, "x\n");
  for (const std::string& cache : {std::string(), at("src/a.cu")}) {
    for (int i = 0; i < 2; ++i) {
      const auto compiled = compile_to_ptx(request_, cache, Budget());
      ASSERT_TRUE(compiled.has_value());
      EXPECT_FALSE(compiled->from_cache);
    }
  }
}

TEST_F(Compile, OptionFilesAreNotCached) {
  write(request_.source, "x\n");
  request_.flags = {"--options-file", "opts"};
  must_compile();
  EXPECT_FALSE(must_compile().from_cache);
}

TEST_F(Compile, SourceChangedWhileCompilingIsNotStored) {
  // Touching the source is what a compilation of this source does.
  write_program(at("bin/touching"),
                std::string("#!/bin/bash\nif [ \"$1\" != --version ]; then touch '") +
                    request_.source + "'; fi\nexec \"$(dirname \"$0\")/nvcc\" \"$@\"\n");
  request_.compiler = at("bin/touching");
  write(request_.source, "x\n");
  must_compile();
  EXPECT_FALSE(must_compile().from_cache);
}

TEST_F(Compile, ManyProcessesShareACache) {
  write(request_.source, "x\n");
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool good = true;
      for (int j = 0; j < 10; ++j) {
        request_.flags = {"-DN=" + std::to_string(j % 2)};
        const auto compiled = compile_to_ptx(request_, at("cache"), Budget());
        good = good && compiled && compiled->ptx == "x\n";
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(entries().size(), 2u);  // No temporary file is left.
}

TEST_F(Compile, FirstErrorIsTheMessage) {
  write(request_.source,
        "// stderr: k.cu(2): warning #177-D: variable \"error: u\" was declared but never "
        "referenced\n"
        "// stderr: k.cu(12): error: identifier \"foo\" is undefined\n"
        "// stderr:   o[0] = foo;\n// stderr: 1 error detected in the compilation of \"k.cu\".\n// "
        "fail\n");
  const Diagnostic d = must_fail();
  EXPECT_EQ(d.code, DiagnosticCode::CompileFailed);
  EXPECT_EQ(d.span, (SourceSpan{"k.cu", 12, 0}));
  EXPECT_EQ(d.message, "identifier \"foo\" is undefined");
  EXPECT_EQ(d.notes, (std::vector<std::string>{
                         "  o[0] = foo;", "1 error detected in the compilation of \"k.cu\"."}));
  EXPECT_FALSE(fs::exists(at("cache")));
}

TEST_F(Compile, FailureWithoutAMessageSaysHowItEnded) {
  write(request_.source, "// stderr: Killed\n// fail\n");
  const Diagnostic d = must_fail();
  EXPECT_EQ(d.message, "'" + request_.compiler + "' ended with status 2");
  EXPECT_EQ(d.span.file, request_.source);
  EXPECT_EQ(d.notes, std::vector<std::string>{"Killed"});
}

TEST_F(Compile, MissingSource) {
  EXPECT_EQ(must_fail().code, DiagnosticCode::FileNotFound);
  EXPECT_EQ(calls(), 0u);
}

TEST_F(Compile, MissingCompiler) {
  write(request_.source, "x\n");
  request_.compiler = at("bin/none");
  const Diagnostic d = must_fail();
  EXPECT_EQ(d.code, DiagnosticCode::CompileFailed);
  EXPECT_EQ(d.message, "cannot run '" + at("bin/none") + "': No such file or directory");
}

TEST_F(Compile, SpentBudgetKillsTheCompilerAndItsChildren) {
  write(request_.source, "// hang\n");
  const Diagnostic d = must_fail(Budget(1.0));
  EXPECT_EQ(d.code, DiagnosticCode::CompileFailed);
  EXPECT_EQ(d.message, "compilation was stopped: no time is left");
  const auto pid = read_file(at("bin/child"));
  ASSERT_TRUE(pid.has_value()) << "the compiler did not start in time";
  // Gone, or dead and not yet collected by whoever adopted it.
  const auto is_alive = [&] {
    const auto status = read_file("/proc/" + pid->substr(0, pid->find('\n')) + "/stat");
    return status && status->find(") Z ") == std::string::npos;
  };
  while (is_alive()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

TEST_F(Compile, InterruptionKillsTheCompiler) {
  write(request_.source, "// hang\n");
  std::atomic<bool> interrupted = false;
  std::thread interrupter([&] {
    while (calls() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    interrupted = true;
  });
  const Diagnostic d = must_fail(Budget(1e6, &interrupted));
  interrupter.join();
  EXPECT_EQ(d.message, "compilation was interrupted");
}

TEST_F(Compile, CompilerIsSearchedInOrder) {
  for (const char* folder :
       {"cuda/bin", "path", "venv/lib/python3.11/site-packages/nvidia/cu12/bin",
        "venv/lib/python3.11/site-packages/nvidia/cu13/bin"}) {
    write_program(at(std::string(folder) + "/nvcc"), "#!/bin/sh\n");
  }
  environment_.set("CUDA_HOME", at("cuda"));
  environment_.set("PATH", at("empty") + ":" + at("path"));
  environment_.set("VIRTUAL_ENV", at("venv"));
  EXPECT_EQ(find_compiler(at("bin/nvcc")).value(), at("bin/nvcc"));
  EXPECT_EQ(find_compiler("nvcc").value(), at("path/nvcc"));
  EXPECT_EQ(find_compiler("").value(), at("cuda/bin/nvcc"));
  environment_.set("CUDA_HOME", at("elsewhere"));
  EXPECT_EQ(find_compiler("").value(), at("path/nvcc"));
  fs::permissions(at("path/nvcc"), fs::perms::owner_read);
  EXPECT_EQ(find_compiler("").value(),
            at("venv/lib/python3.11/site-packages/nvidia/cu13/bin/nvcc"));
  environment_.set("VIRTUAL_ENV", std::nullopt);
  const auto none = find_compiler("");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, DiagnosticCode::CompilerMissing);
}

TEST_F(Compile, CompilerOfPythonsPackages) {
  write_program(at("packages/nvidia/cu13/bin/nvcc"), "#!/bin/sh\n");
  write_program(at("path/python3"),
                "#!/bin/sh\necho; echo '" + at("nowhere") + "'; echo '" + at("packages") + "'\n");
  environment_.set("CUDA_HOME", std::nullopt);
  environment_.set("VIRTUAL_ENV", std::nullopt);
  environment_.set("PATH", at("path"));
  EXPECT_EQ(find_compiler("").value(), at("packages/nvidia/cu13/bin/nvcc"));
}

TEST_F(Compile, ExplicitCompilerIsNotReplacedByAnother) {
  environment_.set("CUDA_HOME", at(""));
  ASSERT_TRUE(find_compiler("").has_value());
  const auto none = find_compiler(at("bin/none"));
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, DiagnosticCode::CompilerMissing);
  EXPECT_EQ(none.error().notes.size(), 1u);
}

TEST_F(Compile, CacheFolderFollowsTheEnvironment) {
  environment_.set("COEQUAL_CACHE_DIR", "/a/b");
  environment_.set("XDG_CACHE_HOME", "/x");
  environment_.set("HOME", "/home/h");
  EXPECT_EQ(default_cache_dir(), "/a/b");
  environment_.set("COEQUAL_CACHE_DIR", std::nullopt);
  EXPECT_EQ(default_cache_dir(), "/x/coequal");
  environment_.set("XDG_CACHE_HOME", "relative");
  EXPECT_EQ(default_cache_dir(), "/home/h/.cache/coequal");
  environment_.set("HOME", std::nullopt);
  EXPECT_EQ(default_cache_dir(), "");
}

TEST_F(Compile, RealCompiler) {
  const auto compiler = find_compiler("");
  if (!compiler) GTEST_SKIP() << compiler.error().message;
  request_.compiler = *compiler;
  write(at("src/scale.h"), "#define SCALE 2.0f\n");
  write(request_.source,
        "#include \"scale.h\"\nextern \"C\" __global__ void k(float* x) { x[threadIdx.x] *= SCALE; "
        "}\n");
  const CompiledSource first = must_compile();
  EXPECT_NE(first.ptx.find(".visible .entry k("), std::string::npos);
  EXPECT_NE(first.ptx.find(".loc"), std::string::npos);
  EXPECT_NE(first.compiler_version.find("release"), std::string::npos);
  const CompiledSource second = must_compile();
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(second.ptx, first.ptx);
  write(at("src/scale.h"), "#define SCALE 3.0f\n");
  const CompiledSource third = must_compile();
  EXPECT_FALSE(third.from_cache);
  EXPECT_NE(third.ptx, first.ptx);
  write(at("src/scale.h"), "#define SCALE nothing\n");
  const Diagnostic d = must_fail();
  EXPECT_EQ(d.span.line, 2u);
  EXPECT_EQ(d.message, "identifier \"nothing\" is undefined");
}

}  // namespace
}  // namespace coequal::toolchain
