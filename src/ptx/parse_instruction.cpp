// Instructions and their operands (PTX ISA manual, "Instruction Operands").
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ptx/parser.h"

namespace coequal::ptx {
namespace {

constexpr std::array<std::string_view, 32> kSpecialRegisters = {"%aggr_smem_size",
                                                                "%clock",
                                                                "%clock64",
                                                                "%clock_hi",
                                                                "%cluster_ctaid",
                                                                "%cluster_ctarank",
                                                                "%cluster_nctaid",
                                                                "%cluster_nctarank",
                                                                "%clusterid",
                                                                "%ctaid",
                                                                "%current_graph_exec",
                                                                "%dynamic_smem_size",
                                                                "%globaltimer",
                                                                "%globaltimer_hi",
                                                                "%globaltimer_lo",
                                                                "%gridid",
                                                                "%is_explicit_cluster",
                                                                "%laneid",
                                                                "%lanemask_eq",
                                                                "%lanemask_ge",
                                                                "%lanemask_gt",
                                                                "%lanemask_le",
                                                                "%lanemask_lt",
                                                                "%nclusterid",
                                                                "%nctaid",
                                                                "%nsmid",
                                                                "%ntid",
                                                                "%nwarpid",
                                                                "%smid",
                                                                "%tid",
                                                                "%total_smem_size",
                                                                "%warpid"};

bool is_special_register(std::string_view name) {
  return std::find(kSpecialRegisters.begin(), kSpecialRegisters.end(), name) !=
             kSpecialRegisters.end() ||
         name.starts_with("%envreg") || name.starts_with("%pm") ||
         name.starts_with("%reserved_smem_offset_");
}

// Component that a letter names, as position and colour.
std::optional<uint32_t> component_of(std::string_view letters) {
  if (letters.size() != 1) return std::nullopt;
  const size_t position = std::string_view("xyzwrgba").find(letters.front());
  if (position == std::string_view::npos) return std::nullopt;
  return static_cast<uint32_t>(position % 4);
}

Operand register_operand(uint32_t index) {
  Operand operand;
  operand.kind = Operand::Kind::Register;
  operand.reg = index;
  return operand;
}

}  // namespace

void Parser::instruction() {
  Instruction instruction;
  instruction.ptx_line = token_.line;
  instruction.source = source_;
  if (accept('@')) guard(instruction);
  instruction.opcode = expect_word("an instruction");
  while (token_.kind == Token::Kind::DotWord) {
    instruction.modifiers.emplace_back(token_.text);
    advance();
  }
  if (!token_.is(';')) {
    if (instruction.opcode == "call") {
      call_operands(instruction);
    } else {
      operand_list(instruction);
    }
  }
  if (!failed() && !token_.is(';')) {
    fail_expected(fmt::format("';' or ',' after the operands of '{}'", instruction.spelling()));
  }
  advance();
  if (!failed()) function_.body.push_back(std::move(instruction));
}

void Parser::guard(Instruction& instruction) {
  Operand operand;
  operand.negated = accept('!');
  const Token name = token_;
  expect_word("a predicate after '@'");
  if (failed()) return;
  const Symbol* symbol = find(name.text);
  if (!symbol || symbol->kind != Symbol::Kind::Register ||
      function_.registers[symbol->index].type != ScalarType::Pred) {
    return fail(name,
                fmt::format("expected a predicate register after '@', found '{}'", name.text));
  }
  operand.kind = Operand::Kind::Register;
  operand.reg = symbol->index;
  instruction.guard = std::move(operand);
}

void Parser::operand_list(Instruction& instruction) {
  do {
    const std::string& opcode = instruction.opcode;
    const size_t position = instruction.operands.size();
    if (opcode == "bra" && position == 0) {
      label_operand(instruction);
    } else if (opcode == "brx" && position == 1) {
      instruction.operands.push_back(list_operand());
    } else {
      operand(instruction, instruction.operands);
      if (accept('|')) {
        const auto is_destination = [](const Operand& o) {
          return o.kind == Operand::Kind::Register || o.kind == Operand::Kind::Sink;
        };
        if (!is_destination(instruction.operands.back())) return fail_expected("',' or ';'");
        instruction.operands.back().has_pair = true;
        const Token second = token_;
        operand(instruction, instruction.operands);
        if (!failed() && !is_destination(instruction.operands.back())) {
          return fail(second, "expected a register after '|'");
        }
      }
    }
  } while (accept(',') && !failed());
}

void Parser::label_operand(Instruction& instruction) {
  LabelUse use;
  use.name = token_;
  use.instruction = static_cast<uint32_t>(function_.body.size());
  use.element = static_cast<uint32_t>(instruction.operands.size());
  expect_word("a label");
  if (failed()) return;
  Operand operand;
  operand.kind = Operand::Kind::Label;
  instruction.operands.push_back(std::move(operand));
  scopes_.back().uses.push_back(std::move(use));
}

Operand Parser::list_operand() {
  Operand operand;
  operand.kind = Operand::Kind::LabelList;
  const Token name = token_;
  expect_word("a list of targets or a prototype");
  if (failed()) return operand;
  const Symbol* symbol = find(name.text);
  if (!symbol ||
      (symbol->kind != Symbol::Kind::BranchList && symbol->kind != Symbol::Kind::CallList &&
       symbol->kind != Symbol::Kind::Prototype)) {
    fail(name, fmt::format("expected a list of targets or a prototype, found '{}'", name.text));
    return operand;
  }
  operand.text = list_keys_[symbol->index];
  return operand;
}

// call {(returned),} target {, (arguments)} {, list of targets or prototype}
void Parser::call_operands(Instruction& instruction) {
  const auto parameters = [&] {
    Operand list;
    list.kind = Operand::Kind::ParamList;
    expect('(');
    if (!token_.is(')')) {
      do operand(instruction, list.elements);
      while (accept(',') && !failed());
    }
    expect(')', "after the parameters of a call");
    instruction.operands.push_back(std::move(list));
  };
  if (token_.is('(')) {
    parameters();
    expect(',', "after the returned values of a call");
  }
  const Token name = token_;
  expect_word("the function to call");
  if (failed()) return;
  const Symbol* symbol = find(name.text);
  if (symbol && symbol->kind == Symbol::Kind::Register) {
    instruction.operands.push_back(register_operand(symbol->index));
  } else if (symbol && symbol->home == Operand::Home::Function) {
    Operand target;
    target.kind = Operand::Kind::CallTarget;
    target.text = name.text;
    target.home = symbol->home;
    target.index = symbol->index;
    instruction.operands.push_back(std::move(target));
  } else {
    return fail(name, fmt::format("expected a declared function to call, found '{}'", name.text));
  }
  if (accept(',')) {
    if (token_.is('(')) {
      parameters();
      if (!accept(',')) return;
    }
    instruction.operands.push_back(list_operand());
  }
}

void Parser::operand(Instruction& instruction, std::vector<Operand>& out) {
  const Nesting nesting(*this);
  if (failed()) return;
  if (token_.is('{')) return vector_operand(instruction, out);
  if (token_.is('[')) return address_operand(instruction, out);
  if (token_.is('!') && next_.is_word() && next_.text != "WARP_SZ") {
    advance();
    name_operand(instruction, out);
    if (failed()) return;
    if (out.back().kind != Operand::Kind::Register) return fail_expected("a register after '!'");
    out.back().negated = true;
    return;
  }
  if (token_.is_word() && token_.text != "WARP_SZ") return name_operand(instruction, out);
  if (at_constant()) {
    const Constant c = expression();
    Operand immediate;
    immediate.kind = Operand::Kind::Immediate;
    immediate.imm_type = c.type;
    immediate.bits = c.bits;
    out.push_back(std::move(immediate));
    return;
  }
  fail_expected(fmt::format("an operand of '{}'", instruction.spelling()));
}

// A register that reads as one: the `.b0` or `.h1` behind it goes to the modifiers, so that an
// instruction whose meaning does not know it is refused.
void Parser::register_part(Instruction& instruction) {
  if (token_.kind != Token::Kind::DotWord) return;
  const std::string_view part = token_.text;
  const bool is_part = part.size() >= 2 && (part.front() == 'b' || part.front() == 'h') &&
                       part.find_first_not_of("0123456789", 1) == std::string_view::npos;
  if (!is_part) return fail_expected("',' or ';'");
  instruction.modifiers.push_back(fmt::format("operand.{}", part));
  advance();
}

void Parser::name_operand(Instruction& instruction, std::vector<Operand>& out) {
  const Token name = token_;
  advance();
  Operand operand;
  if (name.text == "_") {
    out.push_back(std::move(operand));
    return;
  }
  const Symbol* symbol = find(name.text);
  if (!symbol) {
    if (!is_special_register(name.text)) {
      return fail(name, fmt::format("expected a declared name, found '{}'", name.text));
    }
    operand.kind = Operand::Kind::Special;
    operand.text = name.text;
    if (token_.kind == Token::Kind::DotWord) {
      if (!component_of(token_.text)) return fail_expected("'.x', '.y', '.z' or '.w'");
      operand.text += '.';
      operand.text += token_.text;
      advance();
    }
    out.push_back(std::move(operand));
    return;
  }
  switch (symbol->kind) {
    case Symbol::Kind::Register:
      out.push_back(register_operand(symbol->index));
      return register_part(instruction);
    case Symbol::Kind::VectorRegister: {
      if (token_.kind == Token::Kind::DotWord) {
        const auto position = component_of(token_.text);
        if (!position || *position >= symbol->width)
          return fail_expected("a component of a vector");
        advance();
        out.push_back(register_operand(symbol->index + *position));
        return;
      }
      operand.kind = Operand::Kind::Vector;
      for (uint32_t i = 0; i < symbol->width; ++i) {
        operand.elements.push_back(register_operand(symbol->index + i));
      }
      out.push_back(std::move(operand));
      return;
    }
    case Symbol::Kind::Variable: {
      operand.kind = Operand::Kind::Symbol;
      set_symbol(operand, name, *symbol);
      if (token_.is('[')) return array_element(std::move(operand), out);
      operand.offset = offset_terms();
      out.push_back(std::move(operand));
      return;
    }
    default:
      return fail(name, fmt::format("expected an operand, found label '{}'", name.text));
  }
}

void Parser::set_symbol(Operand& operand, const Token& name, const Symbol& symbol) {
  operand.home = symbol.home;
  operand.index = symbol.index;
  operand.text = symbol.home == Operand::Home::Local ? function_.locals[symbol.index].name
                                                     : std::string(name.text);
}

// `name[index]` reads or names one element of an array.
void Parser::array_element(Operand operand, std::vector<Operand>& out) {
  const Token at = token_;
  advance();
  if (operand.home == Operand::Home::Function)
    return fail(at, "expected ',' or ';' after a function");
  if (token_.is_word() && token_.text != "WARP_SZ") {
    return fail(at, "indexing an array by a register is not modelled", DiagnosticCode::Refused);
  }
  const Constant index = expression();
  if (index.is_float()) fail(at, "expected an integer index");
  expect(']', "after an index");
  if (failed()) return;
  Symbol symbol;
  symbol.home = operand.home;
  symbol.index = operand.index;
  operand.kind = Operand::Kind::Address;
  const int bytes = bits_of(variable_of(symbol).type) / 8;
  operand.offset = static_cast<int64_t>(index.bits * static_cast<uint64_t>(bytes));
  out.push_back(std::move(operand));
}

void Parser::vector_operand(Instruction& instruction, std::vector<Operand>& out) {
  Operand vector;
  vector.kind = Operand::Kind::Vector;
  advance();
  do {
    if (token_.is('[')) return fail_expected("an element of a vector");
    operand(instruction, vector.elements);
  } while (accept(',') && !failed());
  expect('}', "after the elements of a vector");
  out.push_back(std::move(vector));
}

// [base + offset], and what follows a comma inside the brackets as operands of their own.
void Parser::address_operand(Instruction& instruction, std::vector<Operand>& out) {
  Operand address;
  address.kind = Operand::Kind::Address;
  advance();
  if (token_.is_word() && token_.text != "WARP_SZ") {
    const Token name = token_;
    advance();
    const Symbol* symbol = find(name.text);
    if (symbol && symbol->kind == Symbol::Kind::Register) {
      address.base_is_register = true;
      address.reg = symbol->index;
    } else if (symbol && symbol->kind == Symbol::Kind::Variable) {
      set_symbol(address, name, *symbol);
    } else {
      return fail(name, fmt::format("expected a register or a variable in an address, found '{}'",
                                    name.text));
    }
    address.offset = offset_terms();
  } else {
    const Token at = token_;
    const Constant c = expression();
    if (c.is_float()) fail(at, "expected an integer address");
    address.offset = static_cast<int64_t>(c.bits);
  }
  out.push_back(std::move(address));
  while (accept(',')) operand(instruction, out);
  expect(']', "after an address");
}

}  // namespace coequal::ptx
