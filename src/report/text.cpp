#include "report/text.h"

namespace coequal::report {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  size_t first = digits.starts_with('-') ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

size_t columns(std::string_view text) {
  size_t count = 0;
  for (char c : text) count += !continues(c);
  return count;
}

std::string shorten(std::string_view text, size_t width) {
  if (columns(text) <= width) return std::string(text);
  size_t at = 0;
  for (size_t count = 0; at < text.size(); ++at) {
    if (!continues(text[at]) && ++count > width - 3) break;
  }
  return std::string(text.substr(0, at)) + "...";
}

std::string wrap(std::string_view text, int first, int rest, size_t width) {
  std::string out(first, ' ');
  size_t column = first;
  bool at_start = true;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      out += '\n' + std::string(rest, ' ');
      column = rest;
      at_start = true;
      ++at;
      continue;
    }
    if (text[at] == ' ' && at_start) {
      ++at;
      continue;
    }
    // One word with the spaces before it.
    size_t word = text.find_first_not_of(' ', at);
    if (word == std::string_view::npos) break;
    size_t end = text.find_first_of(" \n", word);
    if (end == std::string_view::npos) end = text.size();
    if (text[word] == '\n') {
      at = word;
      continue;
    }
    size_t needed = columns(text.substr(at, end - at));
    if (!at_start && column + needed > width) {
      out += '\n' + std::string(rest, ' ');
      column = rest;
      at = word;
      needed = columns(text.substr(at, end - at));
    }
    out += text.substr(at, end - at);
    column += needed;
    at_start = false;
    at = end;
  }
  return out + '\n';
}

}  // namespace coequal::report
