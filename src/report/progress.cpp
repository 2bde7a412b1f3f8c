#include "report/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "report/text.h"

namespace coequal::report {
namespace {

constexpr size_t kBarColumns = 24;

size_t terminal_width(std::FILE* stream) {
  winsize size{};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col - 1;
  return 79;
}

}  // namespace

std::string progress_line(size_t done, size_t total, const std::string& label, size_t width) {
  size_t filled = total ? kBarColumns * std::min(done, total) / total : 0;
  std::string line = fmt::format("[{}{}] {}/{}", std::string(filled, '#'),
                                 std::string(kBarColumns - filled, '-'), done, total);
  if (!label.empty()) line += "  " + label;
  return shorten(line, width);
}

Progress::Progress(std::FILE* stream) : stream_(stream), enabled_(isatty(fileno(stream)) != 0) {}

void Progress::show(size_t done, size_t total, const std::string& label) {
  if (!enabled_) return;
  std::string line = "\r\033[K" + progress_line(done, total, label, terminal_width(stream_));
  std::fputs(line.c_str(), stream_);
  std::fflush(stream_);
  drawn_ = true;
}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stream_);
  std::fflush(stream_);
  drawn_ = false;
}

}  // namespace coequal::report
