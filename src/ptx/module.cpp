// Names of types, lookups in a module, and kernel names as programmers write them.
#include "ptx/module.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/check.h"

namespace coequal::ptx {
namespace {

struct TypeRow {
  ScalarType type;
  std::string_view text;
  int bits;
};

constexpr std::array<TypeRow, 26> kTypes = {{
    {ScalarType::None, "", 0},          {ScalarType::U8, "u8", 8},
    {ScalarType::U16, "u16", 16},       {ScalarType::U32, "u32", 32},
    {ScalarType::U64, "u64", 64},       {ScalarType::S8, "s8", 8},
    {ScalarType::S16, "s16", 16},       {ScalarType::S32, "s32", 32},
    {ScalarType::S64, "s64", 64},       {ScalarType::B8, "b8", 8},
    {ScalarType::B16, "b16", 16},       {ScalarType::B32, "b32", 32},
    {ScalarType::B64, "b64", 64},       {ScalarType::B128, "b128", 128},
    {ScalarType::F16, "f16", 16},       {ScalarType::F16X2, "f16x2", 32},
    {ScalarType::BF16, "bf16", 16},     {ScalarType::BF16X2, "bf16x2", 32},
    {ScalarType::F32, "f32", 32},       {ScalarType::F64, "f64", 64},
    {ScalarType::TF32, "tf32", 32},     {ScalarType::E4M3, "e4m3", 8},
    {ScalarType::E5M2, "e5m2", 8},      {ScalarType::E4M3X2, "e4m3x2", 16},
    {ScalarType::E5M2X2, "e5m2x2", 16}, {ScalarType::Pred, "pred", 1},
}};

constexpr bool rows_in_order() {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (static_cast<size_t>(kTypes[i].type) != i) return false;
  }
  return kTypes.size() == static_cast<size_t>(ScalarType::Pred) + 1;
}
static_assert(rows_in_order(), "one row a type, in the order of the enumeration");

// Index of the bracket that opens the group which ends at `close`, or npos.
size_t opening_bracket(std::string_view text, size_t close) {
  size_t depth = 0;
  for (size_t i = close + 1; i-- > 0;) {
    const char c = text[i];
    if (c == ')' || c == '>' || c == ']' || c == '}') ++depth;
    if (c == '(' || c == '<' || c == '[' || c == '{') {
      if (--depth == 0) return i;
    }
  }
  return std::string_view::npos;
}

// The last place of `needle` outside all brackets, or npos.
size_t rfind_outside(std::string_view text, std::string_view needle) {
  for (size_t i = text.size(); i-- > 0;) {
    const char c = text[i];
    if (c == ')' || c == '>' || c == ']' || c == '}') {
      i = opening_bracket(text, i);
      if (i == std::string_view::npos) return i;
    } else if (text.substr(i).starts_with(needle)) {
      return i;
    }
  }
  return std::string_view::npos;
}

// The ways to write the kernel `mangled`, from the most exact to the shortest: with parameters,
// qualified with template arguments, qualified, bare with template arguments, bare.
std::vector<std::string> spellings(const std::string& mangled) {
  int status = 0;
  char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  if (status != 0 || text == nullptr) return {};
  const std::string whole(text);
  std::free(text);
  std::string_view name = whole;
  const size_t parameters =
      name.ends_with(')') ? opening_bracket(name, name.size() - 1) : std::string_view::npos;
  if (parameters != std::string_view::npos) name = name.substr(0, parameters);
  // Templates carry their return type.
  if (const size_t space = rfind_outside(name, " "); space != std::string_view::npos) {
    name.remove_prefix(space + 1);
  }
  const auto without_arguments = [](std::string_view spelled) {
    const size_t open = spelled.ends_with('>') ? opening_bracket(spelled, spelled.size() - 1)
                                               : std::string_view::npos;
    return open == std::string_view::npos ? spelled : spelled.substr(0, open);
  };
  std::string_view bare = name;
  if (const size_t colons = rfind_outside(name, "::"); colons != std::string_view::npos) {
    bare.remove_prefix(colons + 2);
  }
  return {whole, std::string(name), std::string(without_arguments(name)), std::string(bare),
          std::string(without_arguments(bare))};
}

std::string without_blanks(std::string_view text) {
  std::string packed;
  for (char c : text) {
    if (c != ' ') packed += c;
  }
  return packed;
}

}  // namespace

std::string source_name(const std::string& mangled) {
  const std::vector<std::string> names = spellings(mangled);
  return names.empty() ? mangled : names.back();
}

bool may_be_called(const std::string& mangled, std::string_view name) {
  const std::vector<std::string> names = spellings(mangled);
  return mangled == name || std::find(names.begin(), names.end(), name) != names.end();
}

int bits_of(ScalarType type) { return kTypes[static_cast<size_t>(type)].bits; }

std::string_view text_of(ScalarType type) { return kTypes[static_cast<size_t>(type)].text; }

std::optional<ScalarType> type_from_text(std::string_view text) {
  for (size_t i = 1; i < kTypes.size(); ++i) {
    if (kTypes[i].text == text) return kTypes[i].type;
  }
  return std::nullopt;
}

bool Instruction::has(std::string_view modifier) const {
  for (const std::string& m : modifiers) {
    if (m == modifier) return true;
  }
  return false;
}

ScalarType Instruction::type() const {
  for (size_t i = modifiers.size(); i-- > 0;) {
    if (auto type = type_from_text(modifiers[i])) return *type;
  }
  return ScalarType::None;
}

std::string Instruction::spelling() const {
  std::string text = opcode;
  for (const std::string& m : modifiers) {
    text += '.';
    text += m;
  }
  return text;
}

Result<const Function*> Module::find_kernel(std::string_view name) const {
  std::vector<const Function*> entries;
  for (const Function& f : functions) {
    if (f.is_entry && !f.is_declaration) entries.push_back(&f);
  }
  for (const Function* f : entries) {
    if (f->name == name) return f;
  }
  std::vector<std::vector<std::string>> spelled;
  for (const Function* f : entries) spelled.push_back(spellings(f->name));
  const std::string wanted = without_blanks(name);
  size_t matches = 0;
  constexpr size_t kLevels = 5;
  for (size_t level = 0; level < kLevels && matches == 0; ++level) {
    const Function* found = nullptr;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (level < spelled[i].size() && without_blanks(spelled[i][level]) == wanted) {
        ++matches;
        found = entries[i];
      }
    }
    if (matches == 1) return found;
  }
  std::string listed;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) listed += ", ";
    listed += spelled[i].empty() ? entries[i]->name : spelled[i][0];
  }
  if (entries.empty()) listed = "no kernels";
  Diagnostic diagnostic =
      make_diagnostic(DiagnosticCode::PtxUnknownKernel, SourceSpan{path, 0, 0}, name, listed);
  if (matches > 1) {
    diagnostic.notes.push_back(fmt::format("'{}' fits {} of them", name, matches));
  }
  return diagnostic;
}

const Function* Module::find_function(std::string_view name) const {
  if (auto alias = aliases.find(std::string(name)); alias != aliases.end()) name = alias->second;
  for (const Function& f : functions) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

const Variable* Module::find_variable(std::string_view name) const {
  for (const Variable& v : variables) {
    if (v.name == name) return &v;
  }
  return nullptr;
}

namespace {

// A header of the CUDA toolkit or of a compiler's own library: its lines tell a user nothing about
// their kernel.
bool is_toolkit_header(std::string_view file) {
  for (std::string_view part :
       {"/targets/", "/cuda_fp16", "/cuda_bf16", "/nvidia/", "/cuda/include/", "/triton/language/"})
    if (file.find(part) != std::string_view::npos) return true;
  return false;
}

}  // namespace

SourceSpan Module::span_of(const Instruction& instruction) const {
  // The innermost line of the user's own code.
  const SourceLine* at = instruction.source.get();
  for (const SourceLine* frame = at; frame; frame = frame->inlined_at.get()) {
    const auto file = files.find(frame->file);
    if (file != files.end() && !is_toolkit_header(file->second)) {
      at = frame;
      break;
    }
  }
  if (at) {
    if (auto file = files.find(at->file); file != files.end())
      return {file->second, at->line, at->column};
  }
  return {path, instruction.ptx_line, 0};
}

}  // namespace coequal::ptx
