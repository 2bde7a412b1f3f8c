#include "base/diagnostic.h"

#include <array>
#include <fstream>

namespace coequal {
namespace {

struct Row {
  std::string_view name;
  Severity severity;
  std::string_view text;
};

constexpr Row kRows[] = {
#define DIAG(code, severity, text) {#code, Severity::severity, text},
#include "base/diagnostics.def"
#undef DIAG
};

const Row& row(DiagnosticCode code) { return kRows[static_cast<size_t>(code)]; }

}  // namespace

std::string_view code_name(DiagnosticCode code) { return row(code).name; }
Severity code_severity(DiagnosticCode code) { return row(code).severity; }
std::string_view code_text(DiagnosticCode code) { return row(code).text; }

std::string to_string(const SourceSpan& span) {
  std::string text = span.file;
  if (span.line) text += (text.empty() ? "line " : ":") + std::to_string(span.line);
  if (span.line && span.column) text += ":" + std::to_string(span.column);
  return text;
}

std::string render(const Diagnostic& diagnostic) {
  std::string text = to_string(diagnostic.span);
  if (!text.empty()) text += ": ";
  text += diagnostic.message;
  if (diagnostic.span.line) {
    std::ifstream in(diagnostic.span.file);
    std::string line;
    for (uint32_t n = 0; n < diagnostic.span.line && std::getline(in, line);) ++n;
    if (in && !line.empty() && line.size() < 400) {
      text += "\n  " + line;
      if (diagnostic.span.column)
        text += "\n  " + std::string(diagnostic.span.column - 1, ' ') + "^";
    }
  }
  for (const std::string& note : diagnostic.notes) text += "\n  note: " + note;
  return text;
}

}  // namespace coequal
