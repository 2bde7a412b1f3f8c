// Tokens, errors, module-level directives and function bodies.
#include "ptx/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/check.h"

namespace coequal::ptx {
namespace {

std::string describe(const Token& token) {
  switch (token.kind) {
    case Token::Kind::End:
      return "the end of the file";
    case Token::Kind::Bad:
      return "text that is none";
    case Token::Kind::String:
      return "a string";
    case Token::Kind::DotWord:
      return fmt::format("'.{}'", token.text.substr(0, 60));
    default:
      return fmt::format("'{}'", token.text.substr(0, 60));
  }
}

constexpr std::array<std::string_view, 10> kPerformanceDirectives = {
    "maxnreg",        "minnctapersm",      "maxnctapersm", "noreturn",     "explicitcluster",
    "maxclusterrank", "blocksareclusters", "unique",       "abi_preserve", "abi_preserve_control"};

bool is_performance_directive(std::string_view name) {
  return std::find(kPerformanceDirectives.begin(), kPerformanceDirectives.end(), name) !=
         kPerformanceDirectives.end();
}

// Deeper scopes than any compiler writes; keeps look-up through them cheap.
constexpr size_t kDeepestScope = 500;
// Longest chain of inlining that is kept; the outer places of a longer one are dropped.
constexpr uint32_t kDeepestInlining = 256;

}  // namespace

Parser::Parser(std::string_view text, std::string path) : lexer_(text) {
  module_.path = std::move(path);
  scopes_.emplace_back();
  next_ = lexer_.next();
  advance();
}

void Parser::advance() {
  if (failed()) return;
  token_ = next_;
  if (token_.kind == Token::Kind::Bad) {
    fail(token_, fmt::format("expected {}", token_.text));
    return;
  }
  next_ = lexer_.next();
}

void Parser::fail(const Token& at, std::string message, DiagnosticCode code) {
  if (failed()) return;
  error_ = make_diagnostic(code, SourceSpan{module_.path, at.line, at.column}, message);
  token_ = Token{};
  next_ = Token{};
}

void Parser::fail_expected(std::string_view what) {
  fail(token_, fmt::format("expected {}, found {}", what, describe(token_)));
}

bool Parser::accept(char punct) {
  if (!token_.is(punct)) return false;
  advance();
  return true;
}

bool Parser::expect(char punct, std::string_view where) {
  if (accept(punct)) return true;
  fail_expected(fmt::format("'{}'{}{}", punct, where.empty() ? "" : " ", where));
  return false;
}

std::string_view Parser::expect_word(std::string_view what) {
  if (!token_.is_word()) {
    fail_expected(what);
    return {};
  }
  const std::string_view text = token_.text;
  advance();
  return text;
}

uint64_t Parser::expect_integer(std::string_view what, uint64_t most) {
  const Token at = token_;
  const Constant c = token_.is('(') ? expression() : primary_expression();
  if (failed()) return 0;
  if (c.is_float() || (c.type == ScalarType::S64 && static_cast<int64_t>(c.bits) < 0) ||
      c.bits > most) {
    fail(at, fmt::format("expected {} from 0 to {}", what, most));
    return 0;
  }
  return c.bits;
}

std::string Parser::expect_string(std::string_view what) {
  if (token_.kind != Token::Kind::String) {
    fail_expected(what);
    return {};
  }
  std::string text;
  for (size_t i = 0; i < token_.text.size(); ++i) {
    // Compilers escape only quotes and backslashes, in paths.
    if (token_.text[i] == '\\' && i + 1 < token_.text.size() &&
        (token_.text[i + 1] == '"' || token_.text[i + 1] == '\\')) {
      ++i;
    }
    text += token_.text[i];
  }
  advance();
  return text;
}

Result<Module> Parser::run() {
  version_directive();
  while (token_.kind != Token::Kind::End) module_directive();
  if (!failed()) check_symbols();
  if (failed()) return std::move(*error_);
  return std::move(module_);
}

void Parser::version_directive() {
  if (!token_.is_directive("version")) return fail_expected("'.version' as the first directive");
  advance();
  const std::string_view text = token_.text;
  const size_t dot = text.find('.');
  const auto is_number = [](std::string_view part) {
    return !part.empty() && part.size() <= 3 &&
           part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (token_.kind != Token::Kind::Float || dot == std::string_view::npos ||
      !is_number(text.substr(0, dot)) || !is_number(text.substr(dot + 1))) {
    return fail_expected("a version such as 8.5");
  }
  module_.version_major = std::stoi(std::string(text.substr(0, dot)));
  module_.version_minor = std::stoi(std::string(text.substr(dot + 1)));
  const int version = module_.version_major * 1000 + module_.version_minor;
  if (version < 7000 || version > 9004) return fail_expected("a version from 7.0 to 9.4");
  advance();
}

void Parser::target_directive() {
  module_.target = expect_word("a target such as sm_80");
  while (accept(',')) module_.target_options.emplace_back(expect_word("a target option"));
}

void Parser::file_directive() {
  const uint32_t index = expect_number("a file index");
  std::string name = expect_string("a file name");
  // A directory and a name, as some compilers write it.
  if (token_.kind == Token::Kind::String) name += "/" + expect_string("a file name");
  if (accept(',')) {
    expect_integer("a time stamp", UINT64_MAX);
    if (accept(',')) expect_integer("a file size", UINT64_MAX);
  }
  module_.files[index] = std::move(name);
}

void Parser::skip_braced() {
  if (!expect('{')) return;
  for (uint64_t depth = 1; depth > 0 && !failed(); advance()) {
    if (token_.is('{')) ++depth;
    if (token_.is('}')) --depth;
    if (token_.kind == Token::Kind::End) return fail_expected("'}'");
  }
}

void Parser::skip_parenthesised() {
  if (!expect('(')) return;
  for (uint64_t depth = 1; depth > 0 && !failed(); advance()) {
    if (token_.is('(')) ++depth;
    if (token_.is(')')) --depth;
    if (token_.kind == Token::Kind::End) return fail_expected("')'");
  }
}

// Debug sections carry nothing that a check needs: lines come from .loc.
void Parser::section_directive() {
  if (token_.kind != Token::Kind::DotWord && !token_.is_word())
    return fail_expected("a section name");
  advance();
  skip_braced();
}

void Parser::pragma_directive(std::vector<std::string>* performance) {
  do {
    std::string text = expect_string("a string after '.pragma'");
    if (performance) performance->push_back(fmt::format(".pragma \"{}\"", text));
  } while (accept(','));
  expect(';', "after '.pragma'");
}

void Parser::alias_directive() {
  const std::string_view alias = expect_word("a function name");
  expect(',', "between the names of '.alias'");
  const Token at = token_;
  const std::string_view aliasee = expect_word("a function name");
  expect(';', "after '.alias'");
  if (failed()) return;
  const Function* target = module_.find_function(aliasee);
  if (!target || target->is_declaration)
    return fail(at, "expected a function with a body after '.alias'");
  module_.aliases.emplace(alias, target->name);
}

void Parser::module_directive() {
  if (accept(';')) return;
  bool is_extern = false;
  while (token_.kind == Token::Kind::DotWord) {
    const std::string_view name = token_.text;
    if (name != "visible" && name != "extern" && name != "weak" && name != "common") break;
    if (name == "extern") is_extern = true;
    advance();
  }
  if (token_.kind != Token::Kind::DotWord) return fail_expected("a directive");
  if (state_space()) return variable_declaration(is_extern);
  const std::string_view name = token_.text;
  const Token at = token_;
  advance();
  if (name == "entry" || name == "func") {
    function(name == "entry");
  } else if (name == "target") {
    target_directive();
  } else if (name == "address_size") {
    module_.address_size = static_cast<int>(expect_integer("an address size", 64));
    if (module_.address_size != 64 && module_.address_size != 32)
      fail(at, "expected an address size of 32 or 64");
  } else if (name == "file") {
    file_directive();
  } else if (name == "loc") {
    loc_directive();
  } else if (name == "section") {
    section_directive();
  } else if (name == "pragma") {
    pragma_directive(nullptr);
  } else if (name == "alias") {
    alias_directive();
  } else {
    fail(at, fmt::format("expected a directive that a module may hold, found '.{}'", name));
  }
}

void Parser::check_symbols() {
  for (const Variable& variable : module_.variables) {
    for (const Variable::Relocation& r : variable.relocations) {
      if (!scopes_[0].names.contains(r.symbol)) {
        Token at;
        at.line = variable.ptx_line;
        at.column = 0;
        return fail(at, fmt::format("expected '{}', which initialises '{}', to be declared",
                                    r.symbol, variable.name));
      }
    }
  }
}

// ---- Functions ----

std::vector<uint32_t> Parser::dimensions_directive() {
  std::vector<uint32_t> sizes;
  do sizes.push_back(expect_number("a number of threads or CTAs"));
  while (accept(',') && sizes.size() < 3);
  return sizes;
}

void Parser::function_directives() {
  while (token_.kind == Token::Kind::DotWord) {
    const Token at = token_;
    const std::string_view name = token_.text;
    advance();
    if (name == "reqntid") {
      function_.reqntid = dimensions_directive();
    } else if (name == "maxntid") {
      function_.maxntid = dimensions_directive();
    } else if (name == "reqnctapercluster") {
      function_.reqnctapercluster = dimensions_directive();
    } else if (name == "pragma") {
      pragma_directive(&function_.performance_directives);
    } else if (name == "attribute") {
      skip_parenthesised();
    } else if (is_performance_directive(name)) {
      std::string text = fmt::format(".{}", name);
      while (token_.kind == Token::Kind::Integer) {
        text += fmt::format(" {}", expect_integer("a number", UINT64_MAX));
        if (accept(',')) text += ',';
      }
      function_.performance_directives.push_back(std::move(text));
    } else {
      fail(at, fmt::format("expected '{{', ';' or a performance directive, found '.{}'", name));
    }
  }
}

void Parser::function(bool is_entry) {
  function_ = Function{};
  function_.is_entry = is_entry;
  function_.ptx_line = token_.line;
  name_counts_.clear();
  inline_sites_.clear();
  source_.reset();
  open_scope();
  function_directives();
  if (!is_entry && token_.is('(')) parameter_list(function_.returns, Operand::Home::Return);
  const Token name = token_;
  function_.name = expect_word("a function name");
  if (token_.is('(')) parameter_list(function_.params, Operand::Home::Param);
  function_directives();
  if (token_.is('{')) {
    // Known inside its own body, so that it can call itself.
    store_function(name);
    body();
    if (failed()) return;
    module_.functions[scopes_[0].names.at(name.text).index] = std::move(function_);
  } else {
    expect(';', "or a body after a function's header");
    close_scope();
    if (failed()) return;
    function_.is_declaration = true;
    store_function(name);
  }
}

void Parser::store_function(const Token& name) {
  if (failed()) return;
  Function header;
  header.name = function_.name;
  header.is_entry = function_.is_entry;
  header.is_declaration = function_.is_declaration;
  header.ptx_line = function_.ptx_line;
  if (header.is_declaration) header = function_;
  auto& names = scopes_[0].names;
  if (auto old = names.find(name.text); old != names.end()) {
    const Symbol& symbol = old->second;
    const bool was_function = symbol.home == Operand::Home::Function;
    if (!was_function ||
        (!module_.functions[symbol.index].is_declaration && !header.is_declaration)) {
      return fail(name, fmt::format("expected a new name, '{}' is declared already", name.text));
    }
    if (module_.functions[symbol.index].is_declaration)
      module_.functions[symbol.index] = std::move(header);
    return;
  }
  Symbol symbol;
  symbol.kind = Symbol::Kind::Variable;
  symbol.home = Operand::Home::Function;
  symbol.index = static_cast<uint32_t>(module_.functions.size());
  names.emplace(name.text, symbol);
  module_.functions.push_back(std::move(header));
}

void Parser::open_scope() {
  if (scopes_.size() > kDeepestScope) return fail(token_, "expected at most 500 levels of scopes");
  scopes_.emplace_back();
}

// Labels of the scope are known now: uses of others are left to the scope around it.
void Parser::close_scope() {
  if (failed()) return;
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  for (LabelUse& use : scope.uses) {
    const auto found = scope.names.find(use.name.text);
    if (found == scope.names.end()) {
      if (scopes_.size() == 1)
        return fail(use.name, fmt::format("expected label '{}' to be declared", use.name.text));
      scopes_.back().uses.push_back(std::move(use));
      continue;
    }
    if (found->second.kind != Symbol::Kind::Label) return fail(use.name, "expected a label");
    if (use.in_list) {
      function_.branch_lists[use.list][use.element] = found->second.index;
    } else {
      function_.body[use.instruction].operands[use.element].target = found->second.index;
    }
  }
}

void Parser::body() {
  expect('{');
  while (scopes_.size() > 1 && !failed()) statement();
}

void Parser::statement() {
  if (accept(';')) return;
  if (token_.is('{')) {
    open_scope();
    advance();
  } else if (token_.is('}')) {
    close_scope();
    advance();
  } else if (token_.kind == Token::Kind::DotWord) {
    body_directive();
  } else if (token_.is_word() && next_.is(':')) {
    label();
  } else if (token_.is_word() || token_.is('@')) {
    instruction();
  } else {
    fail_expected("an instruction, a directive or '}'");
  }
}

void Parser::body_directive() {
  if (state_space()) return variable_declaration(false);
  if (token_.is_directive("reg")) return register_declaration();
  const Token at = token_;
  advance();
  if (at.text == "loc") {
    loc_directive();
  } else if (at.text == "pragma") {
    pragma_directive(nullptr);
  } else if (at.text == "file") {
    file_directive();
  } else if (at.text == "section") {
    section_directive();
  } else {
    fail(at, fmt::format("expected a directive that a function may hold, found '.{}'", at.text));
  }
}

void Parser::loc_directive() {
  SourceLine line;
  line.file = expect_number("a file index");
  line.line = expect_number("a line number");
  line.column = expect_number("a column number");
  uint32_t depth = 0;
  while (accept(',')) {
    const Token at = token_;
    const std::string_view attribute = expect_word("'function_name' or 'inlined_at'");
    if (attribute == "function_name") {
      // A place in .debug_str.
      if (token_.kind != Token::Kind::DotWord && !token_.is_word()) return fail_expected("a label");
      advance();
      offset_terms();
    } else if (attribute == "inlined_at") {
      SourceLine outer;
      outer.file = expect_number("a file index");
      outer.line = expect_number("a line number");
      outer.column = expect_number("a column number");
      const auto site = inline_sites_.find({outer.file, outer.line, outer.column});
      if (site != inline_sites_.end() && site->second.depth < kDeepestInlining) {
        line.inlined_at = site->second.line;
        depth = site->second.depth + 1;
      } else {
        line.inlined_at = std::make_shared<const SourceLine>(outer);
        depth = 1;
      }
    } else {
      return fail(at, "expected 'function_name' or 'inlined_at'");
    }
  }
  if (failed()) return;
  source_ = std::make_shared<const SourceLine>(std::move(line));
  inline_sites_[{source_->file, source_->line, source_->column}] = {source_, depth};
}

void Parser::label() {
  const Token name = token_;
  advance();
  advance();
  Symbol symbol;
  if (token_.is_directive("branchtargets")) {
    symbol.kind = Symbol::Kind::BranchList;
  } else if (token_.is_directive("calltargets")) {
    symbol.kind = Symbol::Kind::CallList;
  } else if (token_.is_directive("callprototype")) {
    symbol.kind = Symbol::Kind::Prototype;
  } else {
    symbol.index = static_cast<uint32_t>(function_.body.size());
    return declare(name, symbol);
  }
  advance();
  const std::string key = unique_name(name.text);
  symbol.index = static_cast<uint32_t>(list_keys_.size());
  list_keys_.push_back(key);
  declare(name, symbol);
  if (symbol.kind == Symbol::Kind::BranchList) {
    branch_targets(key);
  } else if (symbol.kind == Symbol::Kind::CallList) {
    call_targets(key);
  } else {
    prototype();
  }
  expect(';', "after a list of targets or a prototype");
}

void Parser::branch_targets(const std::string& key) {
  std::vector<uint32_t>& list = function_.branch_lists[key];
  do {
    LabelUse use;
    use.name = token_;
    use.in_list = true;
    use.list = key;
    use.element = static_cast<uint32_t>(list.size());
    expect_word("a label");
    list.push_back(0);
    scopes_.back().uses.push_back(std::move(use));
  } while (accept(','));
}

void Parser::call_targets(const std::string& key) {
  std::vector<std::string>& list = function_.call_lists[key];
  do list.emplace_back(expect_word("a function name"));
  while (accept(','));
}

// Only its place is kept: a call's arguments say the rest.
void Parser::prototype() {
  if (token_.is('(')) skip_parenthesised();
  expect_word("'_' in a prototype");
  if (token_.is('(')) skip_parenthesised();
  Function header;
  std::swap(header, function_);
  function_directives();
  std::swap(header, function_);
}

// ---- Names ----

void Parser::declare(const Token& name, Symbol symbol) {
  if (failed()) return;
  if (!scopes_.back().names.emplace(name.text, symbol).second) {
    fail(name,
         fmt::format("expected a new name, '{}' is declared in this scope already", name.text));
  }
}

std::string Parser::unique_name(std::string_view name) {
  std::string text(name);
  uint32_t& count = name_counts_[text];
  if (count == 0 && scopes_[0].names.contains(name)) count = 1;
  ++count;
  if (count > 1) text += fmt::format("#{}", count);
  return text;
}

uint32_t Parser::new_register(std::string name, ScalarType type) {
  function_.registers.push_back({std::move(name), type});
  return static_cast<uint32_t>(function_.registers.size() - 1);
}

// A register of a `%r<N>` range gets its index at its first mention, so that a range costs nothing
// by itself.
const Symbol* Parser::find_in(Scope& scope, std::string_view name) {
  const auto exact = scope.names.find(name);
  if (exact != scope.names.end()) return &exact->second;
  if (scope.ranges.empty()) return nullptr;
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  constexpr size_t kMostDigits = 18;
  if (name.size() - digits > kMostDigits) digits = name.size() - kMostDigits;
  for (size_t i = digits; i < name.size(); ++i) {
    if (name[i] == '0' && i + 1 < name.size()) continue;
    const auto range = scope.ranges.find(name.substr(0, i));
    if (range == scope.ranges.end()) continue;
    uint64_t number = 0;
    for (char c : name.substr(i)) number = number * 10 + static_cast<uint64_t>(c - '0');
    if (number >= range->second.count) continue;
    Symbol symbol;
    symbol.kind = Symbol::Kind::Register;
    symbol.index = new_register(std::string(name), range->second.type);
    return &scope.names.emplace(name, symbol).first->second;
  }
  return nullptr;
}

const Symbol* Parser::find(std::string_view name) {
  for (size_t i = scopes_.size(); i-- > 0;) {
    if (const Symbol* symbol = find_in(scopes_[i], name)) return symbol;
  }
  return nullptr;
}

const Variable& Parser::variable_of(const Symbol& symbol) const {
  switch (symbol.home) {
    case Operand::Home::Module:
      return module_.variables[symbol.index];
    case Operand::Home::Param:
      return function_.params[symbol.index];
    case Operand::Home::Return:
      return function_.returns[symbol.index];
    default:
      break;
  }
  CHECK(symbol.home == Operand::Home::Local);
  return function_.locals[symbol.index];
}

Result<Module> parse(std::string_view text, std::string path) {
  return Parser(text, std::move(path)).run();
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // Inserting nothing counts as a failure of the stream, so an empty file is asked for first.
  if (file && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (!file.is_open() || file.bad() || text.fail()) {
    return make_diagnostic(DiagnosticCode::FileNotFound, SourceSpan{path, 0, 0}, path,
                           std::strerror(errno));
  }
  return std::move(text).str();
}

Result<Module> parse_file(const std::string& path) {
  Result<std::string> text = read_file(path);
  if (!text) return text.error();
  return parse(*text, path);
}

}  // namespace coequal::ptx
