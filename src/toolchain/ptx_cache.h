// PTX of earlier compilations, kept in files that several processes share.
//
// An entry belongs to a key (source path, flags, target, compiler, environment) and lists every
// file that the compiler read, with its contents' hash: it counts only while all of them are
// unchanged. A header that appears afterwards and would now be found first is noticed in the
// source's own folder, in the folders of -I and the like and of CPATH and its kin, and in folders
// below them; one put into a folder that only the compiler itself knows is not.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coequal::toolchain {

class PtxCache {
 public:
  // An empty folder name: nothing is found or stored.
  explicit PtxCache(std::string folder) : folder_(std::move(folder)) {}

  // `search` names the folders where headers are looked for.
  std::optional<std::string> find(const std::string& key,
                                  const std::vector<std::string>& search) const;

  struct File {
    std::string path;
    std::string hash;  // SHA-256 of its contents
  };
  // Failure to write is no error: the next compilation is slower, that is all.
  void store(const std::string& key, const std::vector<File>& files,
             const std::vector<std::string>& search, std::string_view ptx) const;

 private:
  std::string entry_path(const std::string& key) const { return folder_ + "/ptx/" + key; }

  std::string folder_;
};

// $COEQUAL_CACHE_DIR, $XDG_CACHE_HOME/coequal or ~/.cache/coequal; empty if none is set.
std::string default_cache_dir();

}  // namespace coequal::toolchain
