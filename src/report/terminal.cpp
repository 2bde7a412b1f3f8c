#include "report/terminal.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "report/text.h"

namespace coequal::report {
namespace {

constexpr int kSectionIndent = 2;
constexpr int kItemIndent = 4;
constexpr int kDetailIndent = 6;
constexpr size_t kMaxSourceText = 80;
constexpr size_t kMaxConditionText = 60;
constexpr size_t kMaxListed = 8;

const char* colour_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::Equivalent:
      return "\033[1;32m";
    case Verdict::Unknown:
    case Verdict::Refused:
      return "\033[1;33m";
    default:
      return "\033[1;31m";
  }
}

char side_letter(char program) { return program == 'b' ? 'B' : 'A'; }

// "(3)", "(3,0,1)": trailing zeros of y and z are left out.
std::string index_text(const std::array<int64_t, 3>& index) {
  if (index[1] == 0 && index[2] == 0) return std::to_string(index[0]);
  if (index[2] == 0) return fmt::format("({},{})", index[0], index[1]);
  return fmt::format("({},{},{})", index[0], index[1], index[2]);
}

std::string_view kind_text(coequal::Access::Kind kind) {
  switch (kind) {
    case coequal::Access::Kind::Read:
      return "read";
    case coequal::Access::Kind::Write:
      return "write";
    case coequal::Access::Kind::Atomic:
      return "atomic";
    case coequal::Access::Kind::Copy:
      return "asynchronous copy";
    case coequal::Access::Kind::Barrier:
      return "barrier";
    case coequal::Access::Kind::Other:
      return "access";
  }
  return "access";
}

// Builds one report; source files are read once.
class Renderer {
 public:
  Renderer(const InstanceResult& result, const TerminalOptions& options)
      : result_(result), options_(options) {}

  std::string run() {
    verdict_line();
    if (options_.expect) expectation();
    if (options_.quiet) return std::move(out_);
    if (!result_.title.empty()) paragraph(kSectionIndent, result_.title);
    problems();
    witness();
    defects();
    refusals();
    undecided();
    exclusions();
    notes();
    assumptions();
    if (options_.verbose) statistics();
    return std::move(out_);
  }

 private:
  void paragraph(int indent, const std::string& text) { out_ += wrap(text, indent, indent + 2); }
  void heading(const std::string& text) {
    out_ += '\n';
    std::string line = wrap(text, kSectionIndent, kSectionIndent);
    if (options_.color) line = "\033[1m" + line.substr(0, line.size() - 1) + "\033[0m\n";
    out_ += line;
  }

  std::string verdict_phrase() const {
    if (result_.verdict != Verdict::Equivalent) return std::string(verdict_name(result_.verdict));
    std::string phrase = result_.defects_only ? "no defect" : "equivalent";
    if (result_.exclusions.empty()) return phrase;
    const Exclusion& first = result_.exclusions.front();
    phrase += " except where " + shorten(first.condition, kMaxConditionText);
    if (!first.sample.empty() && first.sample != first.condition)
      phrase += " (such as " + shorten(first.sample, kMaxConditionText) + ")";
    if (size_t more = result_.exclusions.size() - 1)
      phrase += fmt::format(" and {} more {}", more, more == 1 ? "condition" : "conditions");
    return phrase;
  }

  std::string cells_text() const {
    const CellCounts& cells = result_.cells;
    if (cells.total == 0) return "";
    std::string text = fmt::format("{} of {} {} proved", grouped(cells.proved()),
                                   grouped(cells.total), cells.total == 1 ? "cell" : "cells");
    if (cells.proved_probabilistic > 0) {
      if (cells.proved_exact > 0) text += fmt::format(", {} exactly", grouped(cells.proved_exact));
      text += fmt::format(" ({} with an error below 2^{})",
                          cells.proved_exact > 0 ? grouped(cells.proved_probabilistic) : "all",
                          result_.proof.bound > 0
                              ? static_cast<int>(std::ceil(std::log2(result_.proof.bound)))
                              : -100);
    }
    return text;
  }

  std::string summary() const {
    std::vector<std::string> parts;
    if (result_.verdict == Verdict::Defect && !result_.defects.empty()) {
      const coequal::Defect& first = result_.defects.front();
      std::string text = fmt::format("{} in program {}", coequal::defect_name(first.kind),
                                     side_letter(first.program));
      if (size_t more = result_.defects.size() - 1) text += fmt::format(" and {} more", more);
      parts.push_back(text);
    }
    if (result_.witness && !result_.witness->overflow_only)
      parts.push_back(result_.witness->cell + " differs");
    if (result_.verdict == Verdict::Refused && !result_.refusals.empty()) {
      const Refusal& first = result_.refusals.front();
      parts.push_back(first.instruction.empty() ? shorten(first.reason, kMaxConditionText)
                                                : first.instruction);
    }
    if (!result_.vacuous.empty()) parts.push_back("vacuous");
    if (result_.verdict < Verdict::Invalid) {
      if (std::string cells = cells_text(); !cells.empty()) parts.push_back(cells);
      if (result_.cells.undecided > 0)
        parts.push_back(fmt::format("{} undecided", grouped(result_.cells.undecided)));
    }
    return fmt::format("{}", fmt::join(parts, "; "));
  }

  void verdict_line() {
    std::string phrase = verdict_phrase();
    if (options_.color) {
      out_ += colour_of(result_.verdict);
      out_ += phrase + "\033[0m";
    } else {
      out_ += phrase;
    }
    out_ += "  ";
    if (options_.quiet && !result_.problems.empty()) {
      const Diagnostic& first = result_.problems.front();
      std::string place = to_string(first.span);
      out_ += place.empty() ? name() : place;
      out_ += ": " + first.message + '\n';
      return;
    }
    out_ += name();
    if (std::string text = summary(); !text.empty()) out_ += ": " + text;
    out_ += '\n';
  }

  const std::string& name() const { return result_.file.empty() ? result_.name : result_.file; }

  void expectation() {
    std::optional<bool> matches = as_expected(result_);
    if (matches && *matches) return paragraph(kSectionIndent, "as expected");
    if (!matches) return paragraph(kSectionIndent, "not as expected: the instance has no [expect]");
    const instance::Expectation& expected = *result_.expected;
    std::string text(instance::expected_verdict_name(expected.verdict));
    if (expected.defect) text += fmt::format(" {}", coequal::defect_name(*expected.defect));
    if (expected.program) text += fmt::format(" in program {}", side_letter(expected.program));
    paragraph(kSectionIndent, "not as expected: expected " + text);
  }

  // "file:line", then the line's text when the file can be read.
  std::string place(const SourceSpan& span) {
    std::string text = span.file;
    if (!span.line) return text;
    text += fmt::format(":{}", span.line);
    std::string line = source_line(span);
    return line.empty() ? text : text + "  " + line;
  }

  void quote(int indent, const SourceSpan& span) {
    if (span.file.empty()) return;
    // Never wrapped: a source line that is broken is hard to recognise.
    out_ += std::string(indent, ' ') + place(span) + '\n';
  }

  std::string source_line(const SourceSpan& span) {
    auto [found, fresh] = files_.try_emplace(span.file);
    if (fresh) {
      const auto held = result_.texts.find(span.file);
      std::ifstream file;
      std::istringstream text;
      if (held == result_.texts.end())
        file.open(span.file);
      else
        text.str(*held->second);
      std::istream& in = held == result_.texts.end() ? static_cast<std::istream&>(file) : text;
      for (std::string line; std::getline(in, line);) found->second.push_back(std::move(line));
    }
    if (span.line > found->second.size()) return "";
    return shorten(trimmed(found->second[span.line - 1]), kMaxSourceText);
  }

  void problems() {
    for (const Diagnostic& problem : result_.problems) {
      out_ += '\n';
      std::string text = render(problem);
      for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find('\n', at), text.size());
        out_ += std::string(kSectionIndent, ' ') + text.substr(at, end - at) + '\n';
        at = end + 1;
      }
    }
  }

  void witness() {
    if (!result_.witness) return;
    const Witness& witness = *result_.witness;
    heading(fmt::format("{} {}",
                        witness.overflow_only ? "overflow-only witness for" : "witness for",
                        witness.cell));
    size_t width = 0;
    for (const WitnessInput& input : witness.inputs)
      width = std::max(width, input_name(input).size());
    for (const WitnessInput& input : witness.inputs)
      paragraph(kItemIndent, fmt::format("{:<{}} = {}", input_name(input),
                                         std::min<size_t>(width, 24), input.value));
    if (!witness.others.empty())
      paragraph(kItemIndent, fmt::format("every {}input is {}",
                                         witness.inputs.empty() ? "" : "other ", witness.others));
    stored('A', witness.value_a, witness.store_a);
    stored('B', witness.value_b, witness.store_b);
    if (witness.replay) paragraph(kItemIndent, "in floats: " + *witness.replay);
    if (witness.overflow_only)
      paragraph(kItemIndent,
                "an intermediate value overflows on it, so it refutes nothing while "
                "no-overflow is assumed");
  }

  static std::string input_name(const WitnessInput& input) {
    return input.index.empty() ? input.name : fmt::format("{}[{}]", input.name, input.index);
  }

  void stored(char side, const WitnessValue& value, const SourceSpan& span) {
    std::string text = fmt::format("{} stores {}", side, value.exact);
    if (!value.decimal.empty() && value.decimal != value.exact)
      text += fmt::format(", about {}", value.decimal);
    paragraph(kItemIndent, text);
    quote(kDetailIndent, span);
  }

  void defects() {
    size_t number = 0;
    for (const coequal::Defect& defect : result_.defects) {
      ++number;
      std::string count = result_.defects.size() == 1
                              ? std::string("defect")
                              : fmt::format("defect {} of {}", number, result_.defects.size());
      heading(fmt::format("{}: {} in program {}", count, coequal::defect_name(defect.kind),
                          side_letter(defect.program)));
      paragraph(kItemIndent,
                defect.message.empty() ? std::string(meaning(defect.kind)) : defect.message);
      for (const coequal::Access& access : defect.accesses) {
        std::string text(kind_text(access.kind));
        if (!access.where.empty()) text += " of " + access.address();
        if (access.bytes > 1) text += fmt::format(" ({} bytes)", access.bytes);
        text += fmt::format(" by thread {} of block {}", index_text(access.thread),
                            index_text(access.block));
        if (access.launch > 0) text += fmt::format(", launch {}", access.launch + 1);
        paragraph(kItemIndent, text);
        quote(kDetailIndent, access.span);
      }
      if (!defect.inputs.empty())
        paragraph(kItemIndent, fmt::format("under {}", fmt::join(defect.inputs, ", ")));
      if (defect.count > 1)
        paragraph(kItemIndent, fmt::format("seen {} times", grouped(defect.count)));
      list_some(defect.also, "also: ");
    }
  }

  static std::string_view meaning(coequal::DefectKind kind) {
    return coequal::kDefectKinds[static_cast<size_t>(kind)].meaning;
  }

  void list_some(const std::vector<std::string>& lines, const std::string& prefix) {
    size_t shown = options_.verbose ? lines.size() : std::min(lines.size(), kMaxListed);
    for (size_t i = 0; i < shown; ++i) paragraph(kItemIndent, prefix + lines[i]);
    if (shown < lines.size())
      paragraph(kItemIndent,
                fmt::format("{}{} more (-v lists them)", prefix, lines.size() - shown));
  }

  static std::string cells_phrase(int64_t cells, const std::string& which) {
    if (cells == 0) return which;
    std::string text = fmt::format("{} {}", grouped(cells), cells == 1 ? "cell" : "cells");
    return which.empty() ? text : text + " (" + which + ")";
  }

  void refusals() {
    if (result_.refusals.empty()) return;
    heading("refused: outside the model");
    for (const Refusal& refusal : result_.refusals) {
      std::string text = refusal.instruction.empty() ? refusal.reason
                                                     : refusal.instruction + ": " + refusal.reason;
      if (refusal.program) text += fmt::format(", in program {}", side_letter(refusal.program));
      paragraph(kItemIndent, text);
      quote(kDetailIndent, refusal.span);
      if (std::string cells = cells_phrase(refusal.cells, refusal.which); !cells.empty())
        paragraph(kDetailIndent,
                  fmt::format("{} {} on it", cells, refusal.cells == 1 ? "depends" : "depend"));
    }
  }

  void undecided() {
    for (char side : result_.vacuous) {
      heading(fmt::format("vacuous: program {} writes no output cell or touches no memory",
                          side_letter(side)));
    }
    if (result_.undecided.empty()) return;
    heading("undecided");
    for (const Undecided& group : result_.undecided) {
      std::string cells =
          cells_phrase(group.cells, group.which.empty() ? "" : "such as " + group.which);
      paragraph(kItemIndent, cells.empty() ? group.reason : cells + ": " + group.reason);
      quote(kDetailIndent, group.span);
      if (options_.verbose && !group.detail.empty())
        paragraph(kDetailIndent, "left to show: " + group.detail);
    }
  }

  void exclusions() {
    if (result_.exclusions.empty()) return;
    heading("excluded: inputs where a program is undefined");
    for (const Exclusion& exclusion : result_.exclusions) {
      std::string text = "where " + exclusion.condition;
      if (exclusion.side == "a" || exclusion.side == "b")
        text += fmt::format(", program {} is undefined", side_letter(exclusion.side[0]));
      else
        text += ", both are undefined";
      if (exclusion.cells > 0) text += " for " + cells_phrase(exclusion.cells, "");
      if (!exclusion.sample.empty() && exclusion.sample != exclusion.condition)
        text += fmt::format(", such as at {}", exclusion.sample);
      paragraph(kItemIndent, text);
      quote(kDetailIndent, exclusion.span);
    }
  }

  void notes() {
    if (result_.notes.empty()) return;
    heading("notes");
    list_some(result_.notes, "");
  }

  void assumptions() {
    if (result_.verdict >= Verdict::Invalid) return;
    if (result_.assumptions.empty() && result_.proof.tier != Proof::Tier::Probabilistic) return;
    heading("assumptions");
    // Entries of one name stand together, in the order of first use.
    std::vector<std::string> order;
    std::map<std::string, std::vector<std::string>> details;
    for (const Assumption& assumption : result_.assumptions) {
      auto [found, fresh] = details.try_emplace(assumption.name);
      if (fresh) order.push_back(assumption.name);
      if (!assumption.detail.empty()) found->second.push_back(assumption.detail);
    }
    for (const std::string& name : order) {
      const std::vector<std::string>& list = details[name];
      if (list.empty()) {
        paragraph(kItemIndent, name);
      } else if (list.size() == 1) {
        paragraph(kItemIndent, name + ": " + list.front());
      } else {
        paragraph(kItemIndent, name);
        size_t shown = options_.verbose ? list.size() : std::min(list.size(), kMaxListed);
        for (size_t i = 0; i < shown; ++i) paragraph(kDetailIndent, list[i]);
        if (shown < list.size())
          paragraph(kDetailIndent, fmt::format("{} more (-v lists them)", list.size() - shown));
      }
    }
    if (result_.proof.tier == Proof::Tier::Probabilistic)
      paragraph(kItemIndent, fmt::format("probabilistic proof: error at most {:.2g}, seed {}",
                                         result_.proof.bound, result_.proof.seed));
  }

  void statistics() {
    const Statistics& statistics = result_.statistics;
    if (statistics.seconds.empty() && statistics.counters.empty()) return;
    heading("statistics");
    size_t width = 0;
    for (const auto& [name, value] : statistics.seconds) width = std::max(width, name.size());
    for (const auto& [name, value] : statistics.counters) width = std::max(width, name.size());
    for (const auto& [name, value] : statistics.seconds)
      out_ += fmt::format("    {:<{}}  {:>12.3f} s\n", name, width, value);
    for (const auto& [name, value] : statistics.counters)
      out_ += fmt::format("    {:<{}}  {:>12}\n", name, width, grouped(value));
  }

  const InstanceResult& result_;
  const TerminalOptions& options_;
  std::map<std::string, std::vector<std::string>> files_;
  std::string out_;
};

}  // namespace

std::string render_terminal(const InstanceResult& result, const TerminalOptions& options) {
  return Renderer(result, options).run();
}

std::string render_summary(const RunResult& run, const TerminalOptions& options) {
  std::map<Verdict, int64_t, std::greater<>> counts;
  int64_t surprises = 0;
  for (const InstanceResult& result : run.instances) {
    ++counts[result.verdict];
    surprises += !as_expected(result).value_or(false);
  }
  std::vector<std::string> parts;
  for (const auto& [verdict, count] : counts)
    parts.push_back(fmt::format("{} {}", count, verdict_name(verdict)));
  std::string text =
      fmt::format("{} {}: {}", run.instances.size(),
                  run.instances.size() == 1 ? "instance" : "instances", fmt::join(parts, ", "));
  if (options.expect)
    text += surprises == 0 ? "; all as expected" : fmt::format("; {} not as expected", surprises);
  if (run.interrupted) text += "; interrupted";
  return text + '\n';
}

}  // namespace coequal::report
