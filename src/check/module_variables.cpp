#include "check/module_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/float_bits.h"

namespace coequal::check {
namespace {

using ptx::Operand;
using ptx::ScalarType;
using ptx::StateSpace;

// How the instructions of a module reach a variable, as far as its address is followed through
// moves and sums. What that misses is only looked at with other eyes: elements of another type.
struct Uses {
  std::set<ScalarType> types;
  bool stored = false;
};

Uses uses_of(const ptx::Module& module, uint32_t variable) {
  Uses uses;
  for (const ptx::Function& f : module.functions) {
    const auto is_variable = [&](const Operand& op) {
      return op.home == Operand::Home::Module && op.index == variable &&
             !(op.kind == Operand::Kind::Address && op.base_is_register);
    };
    std::set<ptx::RegisterIndex> addresses;
    const auto holds_address = [&](const Operand& op) {
      if (op.kind == Operand::Kind::Symbol) return is_variable(op);
      return op.kind == Operand::Kind::Register && addresses.contains(op.reg);
    };
    for (bool grows = true; grows;) {
      grows = false;
      for (const ptx::Instruction& i : f.body) {
        constexpr std::string_view kPassing[] = {"mov", "cvta", "add", "sub", "mad", "selp"};
        if (std::find(std::begin(kPassing), std::end(kPassing), i.opcode) == std::end(kPassing) ||
            i.operands.empty() || i.operands[0].kind != Operand::Kind::Register)
          continue;
        if (std::any_of(i.operands.begin() + 1, i.operands.end(), holds_address))
          grows |= addresses.insert(i.operands[0].reg).second;
      }
    }
    for (const ptx::Instruction& i : f.body) {
      const bool stores = i.opcode == "st" || i.opcode == "atom" || i.opcode == "red";
      if (!stores && i.opcode != "ld" && i.opcode != "ldu") continue;
      const bool reached = std::any_of(i.operands.begin(), i.operands.end(), [&](const auto& op) {
        return op.kind == Operand::Kind::Address &&
               (op.base_is_register ? addresses.contains(op.reg) : is_variable(op));
      });
      if (!reached) continue;
      uses.types.insert(i.type());
      uses.stored |= stores;
    }
  }
  return uses;
}

// Elements that hold values of the type.
DType element_of(ScalarType type) {
  if (type == ScalarType::F64) return DType::F64;
  if (type == ScalarType::F32) return DType::F32;
  switch (ptx::bits_of(type)) {
    case 64:
      return DType::U64;
    case 32:
      return DType::U32;
    case 16:
      return DType::U16;
    default:
      return DType::U8;
  }
}

// Elements of a variable's tensor: of the one type that it is used with, else words as wide as its
// alignment allows.
DType element_of(const ptx::Variable& v, const Uses& uses) {
  std::set<DType> named;
  for (const ScalarType type : uses.types) named.insert(element_of(type));
  if (v.type != ScalarType::B8) named.insert(element_of(v.type));
  if (named.size() == 1 && v.size % static_cast<uint64_t>(dtype_size(*named.begin())) == 0)
    return *named.begin();
  const uint64_t width = std::min<uint64_t>(v.alignment, 4);
  if (v.size % 4 == 0 && width == 4) return DType::U32;
  return v.size % 2 == 0 && width >= 2 ? DType::U16 : DType::U8;
}

// The elements of the initial bytes; nullopt if one is no number.
std::optional<std::vector<term::Rational>> values_of(const ptx::Variable& v, DType dtype) {
  std::vector<term::Rational> values;
  const auto size = static_cast<size_t>(dtype_size(dtype));
  for (size_t at = 0; at < v.size; at += size) {
    uint64_t bits = 0;
    for (size_t b = 0; b < size && at + b < v.initial.size(); ++b)
      bits |= uint64_t{v.initial[at + b]} << (8 * b);
    if (!is_float(dtype)) {
      values.push_back(term::Rational::from_u64(bits));
      continue;
    }
    const double value = float_to_double(float_spec(dtype), bits);
    if (!std::isfinite(value)) return std::nullopt;
    values.push_back(term::Rational::from_double(value));
  }
  return values;
}

std::optional<tensor::TensorId> make_tensor(const ptx::Module& module, uint32_t index,
                                            SharedInputs& inputs, term::TermStore& store) {
  const ptx::Variable& v = module.variables[index];
  if (v.space != StateSpace::Global || v.is_extern || v.is_unsized || !v.relocations.empty())
    return std::nullopt;
  const Uses uses = uses_of(module, index);
  if (!v.initial.empty() && !uses.stored) return std::nullopt;
  tensor::TensorInfo info;
  info.name = ptx::source_name(v.name);
  info.dtype = element_of(v, uses);
  info.storage_cells = static_cast<int64_t>(v.size) / info.element_size();
  info.shape = {info.storage_cells};
  info.strides = {1};
  info.init = tensor::TensorInfo::Init::Zeros;
  if (!v.initial.empty()) {
    auto values = values_of(v, info.dtype);
    if (!values) return std::nullopt;
    info.init = tensor::TensorInfo::Init::Values;
    info.values = std::make_shared<const std::vector<term::Rational>>(std::move(*values));
    term::Group group;
    group.kind = term::Group::Kind::Known;
    group.name = info.name;
    group.dtype = info.dtype;
    group.type = tensor::leaf_type(info.dtype);
    group.tensor = static_cast<int>(inputs.tensors.size());
    group.values = info.values;
    info.known_group = store.add_group(std::move(group));
  }
  inputs.tensors.push_back(std::move(info));
  return static_cast<tensor::TensorId>(inputs.tensors.size() - 1);
}

}  // namespace

std::optional<Diagnostic> add_module_variables(const instance::Program& program,
                                               SharedInputs& inputs, term::TermStore& store,
                                               exec::Launch& launch) {
  const ptx::Module& module = *launch.kernel->module;
  std::set<uint32_t> mentioned;
  const auto look = [&](const Operand& op, const auto& self) -> void {
    if (op.home == Operand::Home::Module) mentioned.insert(op.index);
    for (const Operand& element : op.elements) self(element, self);
  };
  for (const ptx::Instruction& i : launch.kernel->function->body)
    for (const Operand& op : i.operands) look(op, look);
  for (const uint32_t index : mentioned) {
    const ptx::Variable& v = module.variables[index];
    if (v.space != StateSpace::Global && v.space != StateSpace::Const) continue;
    const auto given =
        std::find_if(program.symbols.begin(), program.symbols.end(),
                     [&](const auto& s) { return ptx::may_be_called(v.name, s.first); });
    if (given != program.symbols.end()) {
      const tensor::TensorId id = inputs.tensor_ids.at(given->second);
      const auto bytes = static_cast<uint64_t>(inputs.tensors[id].storage_bytes());
      if (bytes != v.size)
        return make_diagnostic(DiagnosticCode::InstanceInvalid,
                               instance::span_of(program, "symbols"),
                               fmt::format("variable '{}' has {} bytes, tensor '{}' has {}",
                                           given->first, v.size, given->second, bytes));
      launch.variables[&v] = {id, true};
      continue;
    }
    auto known = inputs.variables.find(&v);
    if (known == inputs.variables.end())
      known = inputs.variables.emplace(&v, make_tensor(module, index, inputs, store)).first;
    if (known->second) launch.variables[&v] = {*known->second, false};
  }
  return std::nullopt;
}

std::optional<Diagnostic> unknown_symbol(const instance::Program& program,
                                         const std::vector<exec::Launch>& launches) {
  for (const auto& [name, tensor] : program.symbols) {
    const bool found = std::any_of(launches.begin(), launches.end(), [&](const exec::Launch& l) {
      return std::any_of(
          l.variables.begin(), l.variables.end(),
          [&, &wanted = name](const auto& v) { return ptx::may_be_called(v.first->name, wanted); });
    });
    if (!found)
      return make_diagnostic(
          DiagnosticCode::InstanceInvalid, instance::span_of(program, "symbols"),
          fmt::format("no kernel of the program uses a variable '{}' of module scope", name));
  }
  return std::nullopt;
}

}  // namespace coequal::check
