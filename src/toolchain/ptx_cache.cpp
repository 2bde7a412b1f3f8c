// Reads and writes cache entries: a checksum, then fields with their lengths in front.
#include "toolchain/ptx_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "toolchain/files.h"
#include "toolchain/sha256.h"

namespace coequal::toolchain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "coequal-ptx-1\n";
constexpr size_t kHashDigits = 64;

// Paths where a header of the same name as a known one would stand in another folder of the search,
// and does.
std::vector<std::string> present_namesakes(const std::vector<std::string>& paths,
                                           const std::vector<std::string>& search) {
  std::set<std::string> folders, names;
  for (const std::string& folder : search)
    folders.insert(fs::path(folder).lexically_normal().string());
  const std::set<std::string> roots = folders;
  for (const std::string& path : paths) {
    const fs::path normal = fs::path(path).lexically_normal();
    // As a header of a subfolder is included: up to two folders in front of its name.
    fs::path name, folder = normal;
    for (int depth = 0; depth < 3 && folder.has_filename(); ++depth) {
      name = name.empty() ? folder.filename() : folder.filename() / name;
      names.insert(name.string());
      folder = folder.parent_path();
    }
    const std::string parent = normal.parent_path().string();
    if (std::any_of(roots.begin(), roots.end(), [&](const std::string& root) {
          return parent.size() > root.size() && parent.starts_with(root) &&
                 parent[root.size()] == '/';
        })) {
      folders.insert(parent);
    }
  }
  std::vector<std::string> present;
  for (const std::string& folder : folders) {
    for (const std::string& name : names) {
      std::string path = folder + "/" + name;
      if (access(path.c_str(), F_OK) == 0) present.push_back(std::move(path));
    }
  }
  return present;
}

void put(std::string& to, std::string_view field) {
  to += fmt::format("{}:{}", field.size(), field);
}

void put(std::string& to, const std::vector<std::string>& list) {
  put(to, std::to_string(list.size()));
  for (const std::string& text : list) put(to, text);
}

// Takes fields off the front; `good` turns false at text that is none.
struct FieldReader {
  std::string_view text;
  bool good = true;

  size_t number(std::string_view digits) {
    size_t value = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    good = good && error == std::errc() && stop == digits.data() + digits.size();
    return value;
  }
  std::string_view field() {
    const size_t colon = text.substr(0, 20).find(':');
    good = good && colon != std::string_view::npos;
    if (!good) return {};
    const size_t size = number(text.substr(0, colon));
    good = good && size <= text.size() - colon - 1;
    if (!good) return {};
    const std::string_view value = text.substr(colon + 1, size);
    text.remove_prefix(colon + 1 + size);
    return value;
  }
  std::vector<std::string> list() {
    std::vector<std::string> values;
    for (size_t n = number(field()); good && values.size() < n;) values.emplace_back(field());
    return values;
  }
};

}  // namespace

std::optional<std::string> PtxCache::find(const std::string& key,
                                          const std::vector<std::string>& search) const {
  if (folder_.empty()) return std::nullopt;
  const auto entry = read_file(entry_path(key));
  if (!entry || !entry->starts_with(kMagic) || entry->size() < kMagic.size() + kHashDigits)
    return std::nullopt;
  const std::string_view checksum = std::string_view(*entry).substr(kMagic.size(), kHashDigits);
  FieldReader reader{std::string_view(*entry).substr(kMagic.size() + kHashDigits)};
  if (sha256(reader.text) != checksum || reader.field() != key) return std::nullopt;
  const std::vector<std::string> paths = reader.list(), hashes = reader.list(),
                                 present = reader.list();
  const std::string_view ptx = reader.field();
  if (!reader.good || !reader.text.empty() || paths.size() != hashes.size()) return std::nullopt;
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto contents = read_file(paths[i]);
    if (!contents || sha256(*contents) != hashes[i]) return std::nullopt;
  }
  if (present_namesakes(paths, search) != present) return std::nullopt;
  return std::string(ptx);
}

void PtxCache::store(const std::string& key, const std::vector<File>& files,
                     const std::vector<std::string>& search, std::string_view ptx) const {
  if (folder_.empty()) return;
  std::vector<std::string> paths, hashes;
  for (const File& file : files) {
    paths.push_back(file.path);
    hashes.push_back(file.hash);
  }
  std::string fields;
  put(fields, key);
  put(fields, paths);
  put(fields, hashes);
  put(fields, present_namesakes(paths, search));
  put(fields, ptx);
  std::error_code ignored;
  fs::create_directories(folder_ + "/ptx", ignored);
  write_file_atomically(entry_path(key), std::string(kMagic) + sha256(fields) + fields);
}

std::string default_cache_dir() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (const std::string own = variable("COEQUAL_CACHE_DIR"); !own.empty()) return own;
  // A relative path there is to be ignored, says the XDG specification.
  if (const std::string xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/'))
    return xdg + "/coequal";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/coequal";
  return {};
}

}  // namespace coequal::toolchain
