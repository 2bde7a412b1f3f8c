// The layering of CMakeLists.txt holds: no file includes a header of a folder that its own does not
// depend on.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace coequal {
namespace {

namespace fs = std::filesystem;
using Folders = std::map<std::string, std::set<std::string>>;

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Folder -> folders it may include, from lines like "coequal_library(isa DEPENDS term ptx USES
// absl::x)".
Folders direct_dependencies(const std::string& cmake) {
  Folders out;
  static const std::regex call(R"(coequal_(library|binary|python_module)\(([^)]*)\))");
  for (std::sregex_iterator it(cmake.begin(), cmake.end(), call), end; it != end; ++it) {
    std::istringstream words((*it)[2].str());
    std::string word, folder;
    words >> folder;
    if ((*it)[1] != "library") words >> folder;  // name, then folder
    std::set<std::string>& depends = out[folder];
    bool listing = false;
    while (words >> word) {
      if (word == "DEPENDS")
        listing = true;
      else if (word == "USES")
        listing = false;
      else if (listing)
        depends.insert(word);
    }
  }
  return out;
}

Folders transitive(Folders direct) {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [folder, depends] : direct) {
      for (const std::string& d : std::set<std::string>(depends))
        for (const std::string& further : direct[d]) changed |= depends.insert(further).second;
    }
  }
  for (auto& [folder, depends] : direct) depends.insert(folder);
  return direct;
}

// "file:line: why" for each include of `text`, a file of `folder`, that is not allowed.
std::vector<std::string> violations(const std::string& name, const std::string& folder,
                                    const std::string& text, const Folders& allowed) {
  std::vector<std::string> out;
  static const std::regex include(R"rx(^\s*#\s*include\s+"([^"]+)")rx");
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::smatch match;
    if (!std::regex_search(line, match, include)) continue;
    const std::string header = match[1];
    const size_t slash = header.find('/');
    const std::string target = header.substr(0, slash);
    const std::string where = name + ":" + std::to_string(number) + ": ";
    if (target == "coequal") continue;  // the public header
    auto it = allowed.find(folder);
    if (it == allowed.end())
      out.push_back(where + "folder '" + folder + "' is not in CMakeLists.txt");
    else if (slash == std::string::npos || !allowed.contains(target))
      out.push_back(where + "\"" + header + "\" does not start with a folder of src/");
    else if (!it->second.contains(target))
      out.push_back(where + folder + " may not include \"" + header + "\"");
  }
  return out;
}

const Folders& order() {
  static const Folders folders =
      transitive(direct_dependencies(text_of(fs::path(COEQUAL_ROOT) / "CMakeLists.txt")));
  return folders;
}

TEST(IncludeOrder, TheListIsRead) {
  EXPECT_TRUE(order().at("base").contains("base"));
  EXPECT_EQ(order().at("base").size(), 1u);
  EXPECT_TRUE(order().at("decide").contains("term"));  // through program, exec, tensor, isa
  EXPECT_TRUE(order().at("cli").contains("check"));
  EXPECT_FALSE(order().at("replay").contains("exec"));  // the independent witness
  EXPECT_FALSE(order().at("tensor").contains("program"));
}

TEST(IncludeOrder, AWrongIncludeIsNamed) {
  const std::string text =
      "#include <vector>\n#include \"base/check.h\"\n#  include \"exec/launch.h\"\n";
  EXPECT_EQ(violations("src/tensor/x.h", "tensor", text, order()),
            std::vector<std::string>{"src/tensor/x.h:3: tensor may not include \"exec/launch.h\""});
  EXPECT_EQ(violations("src/tensor/x.h", "tensor", "#include \"x.h\"\n", order()).size(), 1u);
}

TEST(IncludeOrder, SourcesKeepTheOrder) {
  const fs::path source = fs::path(COEQUAL_ROOT) / "src";
  std::vector<std::string> all;
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    const std::string extension = entry.path().extension();
    if (!entry.is_regular_file() ||
        (extension != ".h" && extension != ".cpp" && extension != ".def"))
      continue;
    ++files;
    const fs::path relative = entry.path().lexically_relative(source);
    for (std::string& v : violations((fs::path("src") / relative).string(), *relative.begin(),
                                     text_of(entry.path()), order()))
      all.push_back(std::move(v));
  }
  EXPECT_GT(files, 20u);
  std::sort(all.begin(), all.end());
  for (const std::string& v : all) ADD_FAILURE() << v;
}

}  // namespace
}  // namespace coequal
