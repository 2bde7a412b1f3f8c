// Plain POSIX files.
#include "toolchain/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace coequal::toolchain {

std::optional<std::string> read_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string contents;
  struct stat status {};
  bool good = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  if (good) contents.resize(static_cast<size_t>(status.st_size));
  size_t size = 0;
  while (good) {
    // A file that grows meanwhile is read to its end.
    if (size == contents.size()) contents.resize(size + 4096);
    const ssize_t n = read(file, contents.data() + size, contents.size() - size);
    if (n == 0) break;
    if (n > 0) size += static_cast<size_t>(n);
    good = n > 0 || errno == EINTR;
  }
  close(file);
  if (!good) return std::nullopt;
  contents.resize(size);
  return contents;
}

bool write_file_atomically(const std::string& path, std::string_view contents) {
  std::string temporary = path + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return false;
  bool good = true;
  while (good && !contents.empty()) {
    const ssize_t n = write(file, contents.data(), contents.size());
    if (n > 0) contents.remove_prefix(static_cast<size_t>(n));
    good = n > 0 || errno == EINTR;
  }
  good = close(file) == 0 && good;
  good = good && std::rename(temporary.c_str(), path.c_str()) == 0;
  if (!good) unlink(temporary.c_str());
  return good;
}

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string name = ((error ? std::filesystem::path("/tmp") : parent) / "coequal-XXXXXX").string();
  if (mkdtemp(name.data())) path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace coequal::toolchain
