#include "idiom/toolchain.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "idiom/recogniser.h"
#include "toolchain/compile.h"
#include "toolchain/files.h"
#include "toolchain/sha256.h"

namespace coequal::idiom {
namespace {

Result<toolchain::CompiledSource> compile_probes(const Toolchain& t, const std::string& cache_dir,
                                                 const Budget& budget) {
  const toolchain::TemporaryFolder scratch;
  std::string folder = scratch.path();
  if (!cache_dir.empty()) {
    folder = cache_dir + "/idioms";
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
  }
  const std::string text = probe_source();
  const std::string path = folder + "/probes-" + toolchain::sha256(text).substr(0, 16) + ".cu";
  if (toolchain::read_file(path) != text) toolchain::write_file_atomically(path, text);
  return toolchain::compile_to_ptx({path, t.flags, t.arch, t.compiler}, cache_dir, budget);
}

// The flags of the templates that ship.
constexpr const char* kShippedFlags[] = {"", "-use_fast_math", "-ftz=true"};
constexpr const char* kShippedArch = "sm_80";

std::string origin_of(const Toolchain& t) {
  return t.flags.empty() ? "plain" : fmt::format("{}", fmt::join(t.flags, " "));
}

}  // namespace

std::vector<std::string> code_flags(const std::vector<std::string>& flags) {
  static constexpr std::string_view kMatter[] = {
      "use_fast_math", "ftz", "prec-div", "prec-sqrt", "fmad", "O0", "O1", "O2", "G", "Xnvvm"};
  std::vector<std::string> matter;
  for (size_t i = 0; i < flags.size(); ++i) {
    std::string_view name = flags[i];
    while (name.starts_with('-')) name.remove_prefix(1);
    const bool takes_word = name.find('=') == std::string_view::npos;
    name = name.substr(0, name.find('='));
    if (std::find(std::begin(kMatter), std::end(kMatter), name) == std::end(kMatter)) continue;
    matter.push_back(flags[i]);
    // "-ftz true": the value is a word of its own.
    if (takes_word && i + 1 < flags.size() && !flags[i + 1].starts_with('-'))
      matter.push_back(flags[++i]);
  }
  return matter;
}

Result<std::vector<ProbeOutcome>> probe_toolchain(const Toolchain& toolchain, const Budget& budget,
                                                  std::vector<Template>& known,
                                                  std::string* version) {
  Result<toolchain::CompiledSource> compiled = compile_probes(toolchain, "", budget);
  if (!compiled) return compiled.error();
  if (version) *version = compiled->compiler_version;
  Result<ptx::Module> module = ptx::parse(compiled->ptx, "probes.ptx");
  if (!module) return module.error();
  return run_probes(*module, origin_of(toolchain), known);
}

Result<std::string> make_shipped(const std::string& compiler, const std::string& arch,
                                 const Budget& budget) {
  std::vector<Template> templates;
  std::vector<std::vector<ProbeOutcome>> outcomes;
  std::vector<std::string> origins;
  std::string version;
  for (const char* flag : kShippedFlags) {
    Toolchain t{compiler, arch, {}};
    if (*flag) t.flags.push_back(flag);
    auto run = probe_toolchain(t, budget, templates, &version);
    if (!run) return run.error();
    outcomes.push_back(std::move(*run));
    origins.push_back(origin_of(t));
  }
  return shipped_text(version, outcomes, origins, templates);
}

std::string make_shipped_of_ptx(const std::string& folder, const std::string& name,
                                std::vector<Template> ships) {
  const auto before = static_cast<ptrdiff_t>(ships.size());
  const std::vector<ProbeOutcome> outcomes = run_ptx_probes(folder, name, ships);
  const std::vector<Template> fresh(ships.begin() + before, ships.end());
  return shipped_text(name, {outcomes}, {name}, fresh);
}

bool is_shipped(const Toolchain& t, const std::string& version) {
  std::string flags = t.flags.empty() ? "" : t.flags[0];
  if (flags.starts_with("--")) flags.erase(0, 1);
  return version == shipped_compiler() && t.arch == kShippedArch && t.flags.size() <= 1 &&
         std::find(std::begin(kShippedFlags), std::end(kShippedFlags), flags) !=
             std::end(kShippedFlags);
}

std::vector<Template> templates_for(const std::vector<Toolchain>& toolchains,
                                    const std::string& cache_dir, const Budget& budget) {
  std::vector<Template> all;
  std::string shipped;
  for (const std::string_view text : shipped_texts()) shipped += text;
  for (const Toolchain& t : toolchains) {
    Result<toolchain::CompiledSource> compiled = compile_probes(t, cache_dir, budget);
    if (!compiled) continue;
    const std::string path =
        cache_dir + "/idioms/" + toolchain::sha256(compiled->ptx + shipped) + ".txt";
    if (!cache_dir.empty())
      if (const auto text = toolchain::read_file(path))
        if (Result<std::vector<Template>> kept = from_text(*text)) {
          all.insert(all.end(), kept->begin(), kept->end());
          continue;
        }
    Result<ptx::Module> module = ptx::parse(compiled->ptx, "probes.ptx");
    if (!module) continue;
    std::vector<Template> known = Library::shipped().templates();
    const size_t before = known.size();
    run_probes(*module, origin_of(t), known);
    const std::vector<Template> fresh(known.begin() + static_cast<ptrdiff_t>(before), known.end());
    if (!cache_dir.empty()) toolchain::write_file_atomically(path, to_text(fresh));
    all.insert(all.end(), fresh.begin(), fresh.end());
  }
  return all;
}

}  // namespace coequal::idiom
