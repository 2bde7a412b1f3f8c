// Whole files in and out, and folders that vanish with their owner.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coequal::toolchain {

std::optional<std::string> read_file(const std::string& path);

// Writes beside the place and renames, so that readers see all of the old or all of the new
// contents.
bool write_file_atomically(const std::string& path, std::string_view contents);

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Empty if it could not be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace coequal::toolchain
