// Variables, registers and initialisers (PTX ISA manual, "State Spaces, Types, and Variables").
#include <fmt/format.h>

#include <bit>
#include <limits>

#include "ptx/parser.h"

namespace coequal::ptx {
namespace {

// Rows of an array may be much longer than the data given for them; initial data beyond this is not
// text that a compiler writes.
constexpr uint64_t kMostInitialBytes = uint64_t{1} << 28;

constexpr uint64_t kMostBytes = uint64_t{1} << 60;
constexpr size_t kMostDimensions = 32;

std::optional<uint64_t> product(uint64_t a, uint64_t b) {
  if (a != 0 && b > std::numeric_limits<uint64_t>::max() / a) return std::nullopt;
  return a * b;
}

// Value of a constant as the bits of an element of `type`.
uint64_t encode(Constant c, ScalarType type) {
  if (type != ScalarType::F32 && type != ScalarType::F64) return c.bits;
  if (c.type == type) return c.bits;
  double value = 0;
  if (c.type == ScalarType::F32) {
    value = std::bit_cast<float>(static_cast<uint32_t>(c.bits));
  } else if (c.type == ScalarType::F64) {
    value = std::bit_cast<double>(c.bits);
  } else if (c.type == ScalarType::U64) {
    value = static_cast<double>(c.bits);
  } else {
    value = static_cast<double>(static_cast<int64_t>(c.bits));
  }
  if (type == ScalarType::F64) return std::bit_cast<uint64_t>(value);
  return std::bit_cast<uint32_t>(static_cast<float>(value));
}

std::optional<StateSpace> space_from_text(std::string_view text) {
  // A space may be qualified, as in ".param::entry" and ".shared::cta".
  const std::string_view name = text.substr(0, text.find("::"));
  if (name == "global") return StateSpace::Global;
  if (name == "shared") return StateSpace::Shared;
  if (name == "local") return StateSpace::Local;
  if (name == "param") return StateSpace::Param;
  if (name == "const") return StateSpace::Const;
  if (name == "tex") return StateSpace::Tex;
  return std::nullopt;
}

uint64_t vector_width(std::string_view text) {
  if (text == "v2") return 2;
  if (text == "v4") return 4;
  if (text == "v8") return 8;
  return 0;
}

}  // namespace

std::optional<StateSpace> Parser::state_space() const {
  if (token_.kind != Token::Kind::DotWord) return std::nullopt;
  return space_from_text(token_.text);
}

void Parser::variable_qualifiers(Variable& variable, Declared& declared) {
  variable.type = ScalarType::None;
  bool is_pointer = false;
  while (token_.kind == Token::Kind::DotWord) {
    const Token at = token_;
    const std::string_view name = token_.text;
    advance();
    if (name == "align") {
      const uint32_t alignment = expect_number("an alignment");
      if (!std::has_single_bit(alignment))
        return fail(at, "expected an alignment that is a power of two");
      // Behind .ptr it is the pointee's.
      if (!is_pointer) {
        variable.alignment = alignment;
        declared.is_aligned = true;
      }
    } else if (name == "ptr") {
      is_pointer = true;
    } else if (is_pointer && space_from_text(name)) {
      // The space that the pointer points to: a hint only.
    } else if (name == "attribute") {
      skip_parenthesised();
    } else if (vector_width(name) != 0) {
      declared.width = vector_width(name);
    } else if (name == "texref" || name == "samplerref" || name == "surfref") {
      variable.type = ScalarType::B64;
      declared.is_opaque = true;
    } else if (auto type = type_from_text(name); type && *type != ScalarType::Pred) {
      variable.type = *type;
    } else {
      return fail(at, fmt::format("expected a type, '.align' or a name, found '.{}'", name));
    }
  }
  if (variable.type == ScalarType::None) return fail_expected("a type of a variable");
  declared.element_bytes = static_cast<uint64_t>(bits_of(variable.type) / 8);
  if (!declared.is_aligned)
    variable.alignment = static_cast<uint32_t>(declared.element_bytes * declared.width);
}

void Parser::variable_shape(Variable& variable, Declared& declared) {
  const Token at = token_;
  declared.dimensions.clear();
  uint64_t count = 1;
  bool overflow = false;
  while (accept('[')) {
    if (accept(']')) {
      if (!declared.dimensions.empty())
        return fail(at, "expected a size in every dimension but the first");
      variable.is_unsized = true;
      declared.dimensions.push_back(0);
      continue;
    }
    const Token size_at = token_;
    const Constant size = expression();
    if (size.is_float() || size.bits == 0 ||
        (size.type == ScalarType::S64 && static_cast<int64_t>(size.bits) < 0)) {
      return fail(size_at, "expected a positive array size");
    }
    expect(']', "after an array size");
    const auto larger = product(count, size.bits);
    overflow |= !larger;
    count = larger.value_or(1);
    declared.dimensions.push_back(size.bits);
    if (declared.dimensions.size() > kMostDimensions)
      return fail(at, "expected at most 32 dimensions");
  }
  const auto elements = product(count, declared.width);
  const auto bytes = product(elements.value_or(0), declared.element_bytes);
  if (overflow || !elements || !bytes || *bytes >= kMostBytes) {
    return fail(at, "expected an array of less than 2^60 bytes");
  }
  variable.element_count = variable.is_unsized ? 0 : *elements;
  variable.size = variable.is_unsized ? 0 : *bytes;
}

void Parser::variable_declaration(bool is_extern) {
  Variable variable;
  variable.space = *state_space();
  variable.is_extern = is_extern;
  advance();
  if (accept('[')) {  // a bank of .const
    expect_integer("a bank", 10);
    expect(']', "after a bank");
  }
  Declared declared;
  variable_qualifiers(variable, declared);
  do {
    const Token name = token_;
    Variable one = variable;
    one.ptx_line = name.line;
    one.name = expect_word("the name of a variable");
    if (token_.is('<')) {
      // A family of .param or .local variables, name0 to nameN-1, never seen from a compiler.
      return fail(token_, "ranges of variables are not modelled", DiagnosticCode::Refused);
    }
    variable_shape(one, declared);
    if (accept('=')) {
      if (one.space != StateSpace::Global && one.space != StateSpace::Const) {
        return fail(name, "expected an initialiser in '.global' and '.const' space only");
      }
      if (declared.is_opaque) {
        if (token_.is('{')) {
          skip_braced();
        } else {
          expression();
        }
      } else {
        initialiser(one, declared);
      }
    }
    if (failed()) return;
    add_variable(name, std::move(one));
  } while (accept(','));
  expect(';', "after a variable");
}

void Parser::add_variable(const Token& name, Variable variable) {
  Symbol symbol;
  symbol.kind = Symbol::Kind::Variable;
  if (scopes_.size() > 1) {
    variable.name = unique_name(name.text);
    symbol.home = Operand::Home::Local;
    symbol.index = static_cast<uint32_t>(function_.locals.size());
    function_.locals.push_back(std::move(variable));
    return declare(name, symbol);
  }
  auto& names = scopes_[0].names;
  if (const auto old = names.find(name.text); old != names.end()) {
    if (old->second.home == Operand::Home::Module) {
      // The definition behind, or before, an extern declaration of the same name.
      Variable& known = module_.variables[old->second.index];
      if (known.is_extern && known.space == variable.space) {
        if (!variable.is_extern) known = std::move(variable);
        return;
      }
      if (variable.is_extern && known.space == variable.space) return;
    }
    return fail(name, fmt::format("expected a new name, '{}' is declared already", name.text));
  }
  symbol.home = Operand::Home::Module;
  symbol.index = static_cast<uint32_t>(module_.variables.size());
  module_.variables.push_back(std::move(variable));
  names.emplace(name.text, symbol);
}

void Parser::register_declaration() {
  advance();
  uint64_t width = 0;
  if (token_.kind == Token::Kind::DotWord && vector_width(token_.text) != 0) {
    width = vector_width(token_.text);
    advance();
  }
  const auto type =
      token_.kind == Token::Kind::DotWord ? type_from_text(token_.text) : std::nullopt;
  if (!type) return fail_expected("a type of a register");
  advance();
  do {
    const Token name = token_;
    expect_word("the name of a register");
    if (accept('<')) {
      if (width != 0) return fail(name, "expected a single vector register, not a range");
      const uint64_t count = expect_integer("a number of registers", UINT32_MAX);
      expect('>', "after a number of registers");
      if (failed()) return;
      if (!scopes_.back().ranges.emplace(name.text, RegisterRange{*type, count}).second) {
        return fail(name, fmt::format("expected a new name, '{}' is declared in this scope already",
                                      name.text));
      }
      continue;
    }
    if (failed()) return;
    Symbol symbol;
    symbol.kind = width == 0 ? Symbol::Kind::Register : Symbol::Kind::VectorRegister;
    symbol.type = *type;
    symbol.width = static_cast<uint32_t>(width);
    symbol.index = static_cast<uint32_t>(function_.registers.size());
    if (width == 0) {
      new_register(std::string(name.text), *type);
    } else {
      for (uint64_t i = 0; i < width; ++i) {
        new_register(fmt::format("{}.{}", name.text,
                                 width == 8 ? fmt::format("{}", i) : std::string(1, "xyzw"[i])),
                     *type);
      }
    }
    declare(name, symbol);
  } while (accept(','));
  expect(';', "after registers");
}

void Parser::parameter_list(std::vector<Variable>& list, Operand::Home home) {
  expect('(');
  if (accept(')')) return;
  do {
    if (token_.is_directive("reg")) {
      advance();
      const auto type =
          token_.kind == Token::Kind::DotWord ? type_from_text(token_.text) : std::nullopt;
      if (!type) return fail_expected("a type of a register");
      advance();
      const Token name = token_;
      Variable variable;
      variable.name = expect_word("the name of a parameter");
      variable.space = StateSpace::Reg;
      variable.type = *type;
      variable.size = static_cast<uint64_t>(bits_of(*type) + 7) / 8;
      variable.ptx_line = name.line;
      list.push_back(std::move(variable));
      Symbol symbol;
      symbol.kind = Symbol::Kind::Register;
      symbol.index = new_register(std::string(name.text), *type);
      if (name.text != "_") declare(name, symbol);
      continue;
    }
    if (state_space() != StateSpace::Param) return fail_expected("'.param' or '.reg'");
    Variable variable;
    variable.space = StateSpace::Param;
    advance();
    Declared declared;
    variable_qualifiers(variable, declared);
    const Token name = token_;
    variable.ptx_line = name.line;
    variable.name = expect_word("the name of a parameter");
    variable_shape(variable, declared);
    if (failed()) return;
    Symbol symbol;
    symbol.kind = Symbol::Kind::Variable;
    symbol.home = home;
    symbol.index = static_cast<uint32_t>(list.size());
    list.push_back(std::move(variable));
    if (name.text != "_") {
      name_counts_[std::string(name.text)] = 1;
      declare(name, symbol);
    }
  } while (accept(','));
  expect(')', "after parameters");
}

// ---- Initialisers ----

void Parser::put_bytes(Variable& variable, const Token& at_token, uint64_t at, uint64_t bits,
                       uint64_t bytes) {
  if (at > kMostInitialBytes) return fail(at_token, "expected less than 256 MiB of initial data");
  if (variable.initial.size() < at + bytes) variable.initial.resize(at + bytes);
  for (uint64_t i = 0; i < bytes; ++i) {
    variable.initial[at + i] = i < 8 ? static_cast<uint8_t>(bits >> (8 * i)) : 0;
  }
}

void Parser::initialiser(Variable& variable, Declared& declared) {
  // The width of a vector type is its last dimension.
  if (declared.width > 1) declared.dimensions.push_back(declared.width);
  if (token_.is('{')) {
    initialiser_group(variable, declared, 0, 0);
  } else {
    initialiser_element(variable, declared, 0);
  }
  if (failed()) return;
  if (variable.is_unsized) {
    uint64_t row = declared.element_bytes;
    for (size_t i = 1; i < declared.dimensions.size(); ++i) row *= declared.dimensions[i];
    const uint64_t rows = (variable.initial.size() + row - 1) / row;
    variable.size = rows * row;
    variable.element_count = variable.size / declared.element_bytes;
    variable.is_unsized = false;
  }
}

// A brace at `level` fills the part of the array that is left when `level` indices are fixed.
void Parser::initialiser_group(Variable& variable, const Declared& declared, size_t level,
                               uint64_t begin) {
  const Nesting nesting(*this);
  uint64_t child = declared.element_bytes;
  for (size_t i = level + 1; i < declared.dimensions.size(); ++i) child *= declared.dimensions[i];
  const bool unbounded = level == 0 && variable.is_unsized;
  const uint64_t extent = level < declared.dimensions.size() ? child * declared.dimensions[level]
                                                             : declared.element_bytes;
  uint64_t at = begin;
  expect('{');
  while (!failed() && !token_.is('}')) {
    if (!unbounded && at - begin >= extent)
      return fail(token_, "expected no more initial data than the array holds");
    if (token_.is('{')) {
      // Groups start at a whole child.
      at = begin + (at - begin + child - 1) / child * child;
      if (!unbounded && at - begin >= extent)
        return fail(token_, "expected no more initial data than the array holds");
      if (level + 1 >= declared.dimensions.size())
        return fail(token_, "expected a constant, found '{'");
      initialiser_group(variable, declared, level + 1, at);
      at += child;
    } else {
      initialiser_element(variable, declared, at);
      at += declared.element_bytes;
    }
    if (!accept(',')) break;
  }
  expect('}', "after initial data");
}

void Parser::initialiser_element(Variable& variable, const Declared& declared, uint64_t at) {
  const Token first = token_;
  const bool is_mask = token_.kind == Token::Kind::Integer && next_.is('(');
  if (is_mask || (token_.is_word() && token_.text != "WARP_SZ")) {
    return address_element(variable, declared, at, first);
  }
  if (!at_constant()) return fail_expected("a constant or an address");
  const Constant c = expression();
  if (failed()) return;
  const bool is_float_type = variable.type == ScalarType::F32 || variable.type == ScalarType::F64;
  if (c.is_float() && !is_float_type) {
    return fail(first, fmt::format("expected an integer for type '.{}'", text_of(variable.type)));
  }
  put_bytes(variable, first, at, encode(c, variable.type), declared.element_bytes);
}

// symbol + n, generic(symbol) + n, or 0xFF00(one of them): the masked byte of the address.
void Parser::address_element(Variable& variable, const Declared& declared, uint64_t at,
                             const Token& first) {
  Variable::Relocation r;
  r.at = at;
  r.bytes = static_cast<uint32_t>(declared.element_bytes);
  const bool is_mask = token_.kind == Token::Kind::Integer;
  if (is_mask) {
    uint64_t mask = token_.bits;
    while (mask != 0 && (mask & 0xFF) == 0) {
      mask >>= 8;
      r.shift += 8;
    }
    if (mask != 0xFF) return fail(first, "expected a mask of one byte");
    r.bytes = 1;
    advance();
    expect('(', "after a mask");
    if (at_constant()) {
      const Constant c = expression();
      expect(')', "after a masked constant");
      return put_bytes(variable, first, at, (c.bits >> r.shift) & 0xFF, declared.element_bytes);
    }
  }
  if (token_.is_word() && token_.text == "generic" && next_.is('(')) {
    r.is_generic = true;
    advance();
    advance();
    r.symbol = expect_word("the name of a variable or function");
    expect(')', "after 'generic(name'");
  } else {
    r.symbol = expect_word("the name of a variable or function");
  }
  r.addend = offset_terms();
  if (is_mask) expect(')', "after a masked address");
  if (failed()) return;
  put_bytes(variable, first, at, 0, declared.element_bytes);
  if (failed()) return;
  // Bytes of one address that follow each other are one relocation.
  if (!variable.relocations.empty() && is_mask) {
    Variable::Relocation& last = variable.relocations.back();
    if (last.symbol == r.symbol && last.addend == r.addend && last.is_generic == r.is_generic &&
        last.at + last.bytes == r.at && last.shift + 8 * last.bytes == r.shift) {
      ++last.bytes;
      return;
    }
  }
  variable.relocations.push_back(std::move(r));
}

}  // namespace coequal::ptx
