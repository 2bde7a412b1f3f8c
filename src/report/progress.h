// A line of progress for people who wait at a terminal; nothing when output is piped.
#pragma once

#include <cstdio>
#include <string>

namespace coequal::report {

// "[#######-----------------] 3/10  softmax.toml", at most `width` columns.
std::string progress_line(size_t done, size_t total, const std::string& label, size_t width);

// Draws over its own line; removes it when cleared or destroyed. Not thread-safe.
class Progress {
 public:
  // Shows something only when `stream` is a terminal.
  explicit Progress(std::FILE* stream);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(size_t done, size_t total, const std::string& label);
  void clear();
  bool enabled() const { return enabled_; }

 private:
  std::FILE* stream_;
  bool enabled_;
  bool drawn_ = false;
};

}  // namespace coequal::report
