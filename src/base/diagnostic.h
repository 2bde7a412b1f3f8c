// Errors as values: what went wrong, how bad it is, and where.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/source_span.h"

namespace coequal {

// Invalid: the input is wrong (exit 2). Refused: it is outside the model (exit 4). Internal: our
// fault (exit 70).
enum class Severity { Note, Invalid, Refused, Internal };

enum class DiagnosticCode {
#define DIAG(code, severity, text) code,
#include "base/diagnostics.def"
#undef DIAG
};

std::string_view code_name(DiagnosticCode code);
Severity code_severity(DiagnosticCode code);
// The message with "{}" in the places of its arguments.
std::string_view code_text(DiagnosticCode code);

struct Diagnostic {
  DiagnosticCode code;
  SourceSpan span;
  std::string message;
  std::vector<std::string> notes;

  Severity severity() const { return code_severity(code); }
};

// Fills the text of the row with `args`; throws fmt::format_error if the row's text does not fit
// them.
template <class... Args>
Diagnostic make_diagnostic(DiagnosticCode code, SourceSpan span, const Args&... args) {
  return {code, std::move(span), fmt::format(fmt::runtime(code_text(code)), args...), {}};
}

// "file:line: message", then the source line with a caret when the file can be read, then the
// notes.
std::string render(const Diagnostic& diagnostic);

}  // namespace coequal
