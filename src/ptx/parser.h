// The recursive-descent parser behind parse(): one object reads one text.
//
// After the first error the token stream is at its end, so every loop stops by itself and the
// functions need not check for errors after each step. All recursion passes through Nesting, which
// bounds it.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/lexer.h"
#include "ptx/module.h"

namespace coequal::ptx {

// What a name means in a scope.
struct Symbol {
  enum class Kind : uint8_t {
    Register,
    VectorRegister,
    Variable,
    Label,
    BranchList,
    CallList,
    Prototype
  };
  Kind kind = Kind::Label;
  ScalarType type = ScalarType::None;  // VectorRegister
  Operand::Home home = Operand::Home::None;
  uint32_t index =
      0;  // of the register, variable, function or instruction; of lists, in list_keys_
  uint32_t width = 0;  // VectorRegister
};

struct RegisterRange {
  ScalarType type = ScalarType::None;
  uint64_t count = 0;
};

// A use of a label that was not known yet: an operand of an instruction or an element of a
// .branchtargets list.
struct LabelUse {
  Token name;
  bool in_list = false;
  uint32_t instruction = 0;
  std::string list;
  uint32_t element = 0;  // operand or element of the list
};

struct Scope {
  std::unordered_map<std::string_view, Symbol> names;
  std::unordered_map<std::string_view, RegisterRange> ranges;
  std::vector<LabelUse> uses;
};

// A constant: integers as S64 or U64, floats as F32 (a plain 0f literal) or F64.
struct Constant {
  ScalarType type = ScalarType::S64;
  uint64_t bits = 0;

  bool is_float() const { return type == ScalarType::F32 || type == ScalarType::F64; }
};

class Parser {
 public:
  Parser(std::string_view text, std::string path);

  Result<Module> run();

 private:
  class Nesting;

  // Tokens and errors.
  void advance();
  bool failed() const { return error_.has_value(); }
  void fail(const Token& at, std::string message, DiagnosticCode code = DiagnosticCode::PtxSyntax);
  void fail_expected(std::string_view what);
  bool accept(char punct);
  bool expect(char punct, std::string_view where = {});
  std::string_view expect_word(std::string_view what);
  uint64_t expect_integer(std::string_view what, uint64_t most);
  uint32_t expect_number(std::string_view what) {
    return static_cast<uint32_t>(expect_integer(what, UINT32_MAX));
  }
  std::string expect_string(std::string_view what);

  // Constant expressions.
  Constant expression();
  Constant binary_expression(int least_precedence);
  Constant unary_expression();
  Constant primary_expression();
  Constant combine(const Token& at, std::string_view op, Constant a, Constant b);
  int64_t offset_terms();
  bool at_constant() const;

  // Module level.
  void version_directive();
  void target_directive();
  void file_directive();
  void section_directive();
  void pragma_directive(std::vector<std::string>* performance);
  void skip_parenthesised();
  void skip_braced();
  void alias_directive();
  void module_directive();
  void check_symbols();

  // Declarations.
  std::optional<StateSpace> state_space() const;
  void variable_declaration(bool is_extern);
  struct Declared {  // what a declaration says besides the Variable itself
    uint64_t width = 1;
    bool is_opaque = false;            // textures, samplers, surfaces
    bool is_aligned = false;           // .align was given
    std::vector<uint64_t> dimensions;  // 0 in the first place: unsized
    uint64_t element_bytes = 1;
  };
  void variable_qualifiers(Variable& variable, Declared& declared);
  void variable_shape(Variable& variable, Declared& declared);
  void initialiser(Variable& variable, Declared& declared);
  void initialiser_group(Variable& variable, const Declared& declared, size_t level,
                         uint64_t begin);
  void initialiser_element(Variable& variable, const Declared& declared, uint64_t at);
  void address_element(Variable& variable, const Declared& declared, uint64_t at,
                       const Token& first);
  void put_bytes(Variable& variable, const Token& at_token, uint64_t at, uint64_t bits,
                 uint64_t bytes);
  void add_variable(const Token& name, Variable variable);
  void register_declaration();
  void parameter_list(std::vector<Variable>& list, Operand::Home home);
  void declare(const Token& name, Symbol symbol);
  std::string unique_name(std::string_view name);

  // Functions.
  void function(bool is_entry);
  void function_directives();
  std::vector<uint32_t> dimensions_directive();
  void store_function(const Token& name);
  void body();
  void statement();
  void body_directive();
  void loc_directive();
  void label();
  void branch_targets(const std::string& key);
  void call_targets(const std::string& key);
  void prototype();
  void open_scope();
  void close_scope();

  // Instructions.
  void instruction();
  void guard(Instruction& instruction);
  void operand_list(Instruction& instruction);
  void call_operands(Instruction& instruction);
  void operand(Instruction& instruction, std::vector<Operand>& out);
  void name_operand(Instruction& instruction, std::vector<Operand>& out);
  void register_part(Instruction& instruction);
  void vector_operand(Instruction& instruction, std::vector<Operand>& out);
  void address_operand(Instruction& instruction, std::vector<Operand>& out);
  void array_element(Operand operand, std::vector<Operand>& out);
  void label_operand(Instruction& instruction);
  Operand list_operand();
  void set_symbol(Operand& operand, const Token& name, const Symbol& symbol);

  // Names.
  const Symbol* find(std::string_view name);
  const Symbol* find_in(Scope& scope, std::string_view name);
  uint32_t new_register(std::string name, ScalarType type);
  const Variable& variable_of(const Symbol& symbol) const;

  Lexer lexer_;
  Token token_, next_;
  Module module_;
  std::optional<Diagnostic> error_;
  int depth_ = 0;

  // scopes_[0] is the module's, [1] the current function's.
  std::vector<Scope> scopes_;
  Function function_;
  std::unordered_map<std::string, uint32_t> name_counts_;  // local names in use, see Variable::name
  std::vector<std::string> list_keys_;
  std::shared_ptr<const SourceLine> source_;
  struct InlineSite {
    std::shared_ptr<const SourceLine> line;
    uint32_t depth = 0;
  };
  std::map<std::array<uint32_t, 3>, InlineSite> inline_sites_;  // by file, line and column
};

// Guards one level of recursion; false as a condition once the nesting is too deep, with the error
// set.
class Parser::Nesting {
 public:
  explicit Nesting(Parser& parser) : parser_(parser) {
    if (++parser_.depth_ > kDeepest)
      parser_.fail(parser_.token_, "expected at most 600 levels of nesting");
  }
  ~Nesting() { --parser_.depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  static constexpr int kDeepest = 600;
  Parser& parser_;
};

}  // namespace coequal::ptx
