// Reads the messages of nvcc, cudafe++ and gcc, and the make syntax of -MD.
#include "toolchain/compiler_output.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace coequal::toolchain {
namespace {

constexpr size_t kMostNotes = 60;

std::optional<uint32_t> take_number(std::string_view& text) {
  uint32_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(stop - text.data()));
  return value;
}

// "file(12): ...", "file:12:5: ...", "file:12: ..." up to the text of the message.
SourceSpan place_of(std::string_view prefix) {
  SourceSpan span;
  if (prefix.ends_with("):")) {
    const size_t open = prefix.rfind('(');
    if (open == std::string_view::npos || open == 0) return {};
    std::string_view number = prefix.substr(open + 1);
    const auto line = take_number(number);
    if (!line || number != "):") return {};
    return {std::string(prefix.substr(0, open)), *line, 0};
  }
  if (!prefix.ends_with(':')) return {};
  prefix.remove_suffix(1);
  std::vector<uint32_t> numbers;
  while (numbers.size() < 2) {
    const size_t colon = prefix.rfind(':');
    if (colon == std::string_view::npos) break;
    std::string_view tail = prefix.substr(colon + 1);
    const auto number = take_number(tail);
    if (!number || !tail.empty()) break;
    numbers.insert(numbers.begin(), *number);
    prefix = prefix.substr(0, colon);
  }
  if (numbers.empty()) return {};
  span.file = prefix;
  span.line = numbers[0];
  span.column = numbers.size() > 1 ? numbers[1] : 0;
  return span;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

// The text behind "error:" and its kin, and the place in front of it.
std::optional<std::pair<SourceSpan, std::string_view>> error_line(std::string_view line) {
  if (line.starts_with("nvcc fatal")) {
    const size_t colon = line.find(':');
    return std::pair(SourceSpan{},
                     trimmed(line.substr(colon == std::string_view::npos ? 0 : colon + 1)));
  }
  for (std::string_view word : {"error", "fatal error", "catastrophic error", "internal error"}) {
    for (size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
      std::string_view tail = line.substr(at + word.size());
      // Errors that a flag can silence carry a number.
      if (tail.starts_with(" #")) {
        const size_t colon = tail.find(": ");
        if (colon == std::string_view::npos) continue;
        tail = tail.substr(colon);
      }
      if (!tail.starts_with(":")) continue;
      const std::string_view prefix = trimmed(line.substr(0, at));
      const SourceSpan span = place_of(prefix);
      // Without a place, the word must lead the line or follow a program's name.
      if (span.file.empty() && !prefix.empty() && !prefix.ends_with(':')) continue;
      return std::pair(span, trimmed(tail.substr(1)));
    }
  }
  return std::nullopt;
}

}  // namespace

Diagnostic compile_error(std::string_view output, std::string_view otherwise) {
  std::vector<std::string_view> lines;
  while (!output.empty()) {
    const size_t end = output.find('\n');
    std::string_view line = output.substr(0, end);
    output.remove_prefix(end == std::string_view::npos ? output.size() : end + 1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    if (!line.empty()) lines.push_back(line);
  }
  Diagnostic diagnostic = make_diagnostic(DiagnosticCode::CompileFailed, {}, otherwise);
  std::vector<std::string_view> notes;
  bool found = false;
  for (std::string_view line : lines) {
    if (found) {
      notes.push_back(line);
    } else if (const auto error = error_line(line)) {
      found = true;
      diagnostic = make_diagnostic(DiagnosticCode::CompileFailed, error->first, error->second);
    } else if (trimmed(line).starts_with("In file included from") ||
               trimmed(line).starts_with("from ")) {
      notes.push_back(line);
    }
  }
  if (!found) notes = lines;
  for (std::string_view note : notes) {
    if (diagnostic.notes.size() == kMostNotes) {
      diagnostic.notes.push_back(fmt::format("({} more lines)", notes.size() - kMostNotes));
      break;
    }
    diagnostic.notes.emplace_back(note);
  }
  return diagnostic;
}

std::vector<std::string> prerequisites(std::string_view rule) {
  std::vector<std::string> paths;
  std::string word;
  bool behind_colon = false;
  const auto finish = [&] {
    if (!behind_colon) {
      behind_colon = word.ends_with(':');
    } else if (!word.empty()) {
      paths.push_back(word);
    }
    word.clear();
  };
  for (size_t i = 0; i < rule.size(); ++i) {
    const char c = rule[i];
    const char next = i + 1 < rule.size() ? rule[i + 1] : '\0';
    if (c == '\\' && (next == '\n')) {
      finish();
      ++i;
    } else if (c == '\\' && (next == ' ' || next == '#')) {
      word += next;
      ++i;
    } else if (c == '$' && next == '$') {
      word += '$';
      ++i;
    } else if (c == '\n') {
      finish();
      // Rules behind the first, which -MP adds, name no new files.
      if (behind_colon) break;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      finish();
    } else {
      word += c;
    }
  }
  finish();
  return paths;
}

}  // namespace coequal::toolchain
