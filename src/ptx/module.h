// A parsed PTX module: notation, not meaning. (PTX ISA manual, "Syntax" and "State Spaces, Types,
// and Variables".)
//
// Invariants after parse(): register names are resolved to dense indices per function, labels to
// instruction indices, variables, parameters and functions to `home` and `index`; every instruction
// knows its PTX line and, where `.loc` says so, its source line. Modifiers stay text: isa/ gives
// them meaning.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/source_span.h"

namespace coequal::ptx {

enum class ScalarType : uint8_t {
  None,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  B8,
  B16,
  B32,
  B64,
  B128,
  F16,
  F16X2,
  BF16,
  BF16X2,
  F32,
  F64,
  TF32,
  E4M3,
  E5M2,
  E4M3X2,
  E5M2X2,
  Pred,
  // Types that only wide modifiers name (".u16x2", ".s16x2", ".e2m1x2", ...) stay modifiers.
};
// Size in bits of a value of the type (1 for Pred, 0 for None).
int bits_of(ScalarType type);
std::optional<ScalarType> type_from_text(std::string_view text);  // "f32", without the dot
std::string_view text_of(ScalarType type);

enum class StateSpace : uint8_t { Generic, Reg, Sreg, Const, Global, Local, Param, Shared, Tex };

// `%r5`; `special` registers (%tid.x, %laneid, ...) are operands of their own kind.
using RegisterIndex = uint32_t;

struct Register {
  std::string name;  // with the percent sign, as written
  ScalarType type;
};

struct Operand {
  enum class Kind : uint8_t {
    Register,    // reg
    Vector,      // elements: {a, b, c, d}
    Immediate,   // bits (integers sign-extended to 64 bits; floats by `imm_type`)
    Special,     // text: "%tid.x"
    Symbol,      // text: variable, parameter or function whose address is meant; + offset
    Address,     // [base + offset]: base is a register, a symbol, or neither ([imm]: home None)
    Label,       // target: instruction index
    LabelList,   // text: name of a .branchtargets or .calltargets list or of a .callprototype
    Sink,        // _
    CallTarget,  // text: function name; home Function and index
    ParamList,   // elements: (a, b, ...)
  };
  // Where the declaration of a symbol is: Module::variables, Function::params, returns or locals,
  // or Module::functions.
  enum class Home : uint8_t { None, Module, Param, Return, Local, Function };

  Kind kind = Kind::Sink;
  bool negated = false;  // !%p
  ScalarType imm_type =
      ScalarType::None;           // F32 for 0f..., F64 for 0d... and decimals, else S64 or U64
  RegisterIndex reg = 0;          // Register, or the base of Address if `base_is_register`
  bool base_is_register = false;  // Address
  int64_t offset = 0;             // Address, Symbol
  uint64_t bits = 0;              // Immediate
  uint32_t target = 0;            // Label
  Home home = Home::None;         // Symbol, Address with a symbol, CallTarget
  uint32_t index = 0;             // in the container that `home` names
  std::string text;               // Special, Symbol, Address with a symbol, CallTarget, LabelList
  std::vector<Operand> elements;  // Vector, ParamList
  // `d|p` of shfl, setp, ...: the second destination follows as an operand of its own.
  bool has_pair = false;
};

// One place of inlining: `.loc ..., function_name, inlined_at`.
struct SourceLine {
  uint32_t file = 0;  // index into Module::files
  uint32_t line = 0;
  uint32_t column = 0;
  std::shared_ptr<const SourceLine> inlined_at;
};

struct Instruction {
  std::string opcode;  // "ld", "mad", "bar": the text before the first dot
  // Without the dot, in order: "global", "v4", "f32"; "shared::cta" is one. A part selector on an
  // operand, as in the video instructions' `%r1.h0`, is added at the end as "operand.h0".
  std::vector<std::string> modifiers;
  // As written; `d|p` gives two operands, the first with has_pair. What else stands inside the
  // brackets of an address, as in `[map, {x, y}]`, follows the address as operands of their own.
  std::vector<Operand> operands;
  std::optional<Operand> guard;  // @%p, @!%p
  uint32_t ptx_line = 0;
  std::shared_ptr<const SourceLine> source;  // null without .loc

  bool has(std::string_view modifier) const;
  // The last modifier that names a scalar type, None if there is none.
  ScalarType type() const;
  // Opcode and modifiers as written: "ld.global.v4.f32".
  std::string spelling() const;
};

// A variable in .global, .const, .shared, .local or .param space.
struct Variable {
  // As written. Of several variables of one function that share a name (scopes, or one that hides a
  // variable of the module), all but the first get a suffix, "param0#2": names are unique where
  // they are looked up.
  std::string name;
  StateSpace space = StateSpace::Global;
  ScalarType type = ScalarType::B8;
  uint64_t element_count = 1;  // product of the dimensions, times the vector width
  uint64_t size = 0;           // bytes; 0 with is_extern: dynamic shared memory
  uint32_t alignment = 1;      // bytes
  bool is_extern = false;
  bool is_unsized = false;       // `name[]`
  std::vector<uint8_t> initial;  // empty: not initialised (zero for .global and .const)
  // The address of a variable or function inside the initialiser: bytes `at` to `at + bytes` hold
  // the low bytes of (address of symbol + addend) >> shift; `initial` has zeros there.
  struct Relocation {
    uint64_t at = 0;
    std::string symbol;
    int64_t addend = 0;
    uint32_t bytes = 8;
    uint32_t shift = 0;
    bool is_generic =
        false;  // generic(symbol): a generic address, else one in the symbol's own space
  };
  std::vector<Relocation> relocations;
  uint32_t ptx_line = 0;
};

struct Function {
  std::string name;
  bool is_entry = false;
  bool is_declaration = false;      // no body
  std::vector<Variable> params;     // kernel parameters in order, or the inputs of a .func
  std::vector<Variable> returns;    // .func only
  std::vector<Register> registers;  // those that the body or the parameters mention, in that order
  std::vector<Variable> locals;     // .local, .shared and .param variables declared in the body
  std::vector<Instruction>
      body;  // branch targets are indices into it; a label at the end is body.size()
  std::map<std::string, std::vector<uint32_t>> branch_lists;   // .branchtargets
  std::map<std::string, std::vector<std::string>> call_lists;  // .calltargets
  std::vector<uint32_t> reqntid, maxntid, reqnctapercluster;   // empty when absent
  std::vector<std::string> performance_directives;             // others: ".minnctapersm 2"
  uint32_t ptx_line = 0;
};

struct Module {
  std::string path;  // of the PTX text, for messages
  int version_major = 0, version_minor = 0;
  std::string target;  // "sm_80"
  std::vector<std::string> target_options;
  int address_size = 64;
  std::map<uint32_t, std::string> files;  // .file index -> path
  std::vector<Variable> variables;        // module scope
  std::vector<Function>
      functions;  // one entry a name: a definition takes the place of its declaration
  std::map<std::string, std::string>
      aliases;  // .alias name -> function; find_function follows them

  // By exact name; then by unmangled name when one entry alone has it (Itanium mangling).
  // Diagnostic PtxUnknownKernel lists the entries.
  Result<const Function*> find_kernel(std::string_view name) const;
  const Function* find_function(std::string_view name) const;
  const Variable* find_variable(std::string_view name) const;
  // Source line of an instruction if `.loc` gives one, else its PTX line. With `inlined_at`, the
  // innermost line that is not in a header of the toolkit.
  SourceSpan span_of(const Instruction& instruction) const;
};

// The name that a variable or function has in its source, without what stands around it.
std::string source_name(const std::string& mangled);
// Whether that, the mangled name, or it with namespaces is `name`.
bool may_be_called(const std::string& mangled, std::string_view name);

// Parses PTX text, versions 7.0 to 9.4. `path` is used in messages only. Never throws on bad text;
// a syntax error names file, line, column and what was expected.
Result<Module> parse(std::string_view text, std::string path);
Result<std::string> read_file(const std::string& path);
// Reads and parses a file.
Result<Module> parse_file(const std::string& path);

}  // namespace coequal::ptx
