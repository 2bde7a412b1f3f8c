// Compiles functions for replay: layout of variables, resolution of operands.
#include "replay/code.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/check.h"
#include "base/float_bits.h"
#include "replay/interpreter.h"

namespace coequal::replay {
namespace {

using isa::Op;
using isa::OperandType;
using ptx::Operand;
using ptx::ScalarType;
using ptx::StateSpace;
using ptx::Variable;

uint64_t mask_of(int width) { return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1; }
uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Appends a variable to a layout of `*size` bytes; its offset.
uint64_t place(const Variable& variable, uint64_t* size) {
  const uint64_t at = align_up(*size, std::max<uint64_t>(variable.alignment, 1));
  *size = at + variable.size;
  return at;
}

struct NamedSpecial {
  std::string_view name;
  SpecialRegister value;
};
using S = SpecialRegister;
constexpr NamedSpecial kSpecials[] = {
    {"%tid.x", S::TidX},
    {"%tid.y", S::TidY},
    {"%tid.z", S::TidZ},
    {"%ntid.x", S::NtidX},
    {"%ntid.y", S::NtidY},
    {"%ntid.z", S::NtidZ},
    {"%ctaid.x", S::CtaidX},
    {"%ctaid.y", S::CtaidY},
    {"%ctaid.z", S::CtaidZ},
    {"%nctaid.x", S::NctaidX},
    {"%nctaid.y", S::NctaidY},
    {"%nctaid.z", S::NctaidZ},
    {"%clusterid.x", S::ClusteridX},
    {"%clusterid.y", S::ClusteridY},
    {"%clusterid.z", S::ClusteridZ},
    {"%nclusterid.x", S::NclusteridX},
    {"%nclusterid.y", S::NclusteridY},
    {"%nclusterid.z", S::NclusteridZ},
    {"%cluster_ctaid.x", S::ClusterCtaidX},
    {"%cluster_ctaid.y", S::ClusterCtaidY},
    {"%cluster_ctaid.z", S::ClusterCtaidZ},
    {"%cluster_nctaid.x", S::ClusterNctaidX},
    {"%cluster_nctaid.y", S::ClusterNctaidY},
    {"%cluster_nctaid.z", S::ClusterNctaidZ},
    {"%cluster_ctarank", S::ClusterCtarank},
    {"%cluster_nctarank", S::ClusterNctarank},
    {"%is_explicit_cluster", S::IsExplicitCluster},
    {"%laneid", S::Laneid},
    {"%warpid", S::Warpid},
    {"%nwarpid", S::Nwarpid},
    {"%lanemask_eq", S::LanemaskEq},
    {"%lanemask_le", S::LanemaskLe},
    {"%lanemask_lt", S::LanemaskLt},
    {"%lanemask_ge", S::LanemaskGe},
    {"%lanemask_gt", S::LanemaskGt},
    {"%clock", S::Clock},
    {"%clock64", S::Clock},
    {"%globaltimer", S::Clock},
    {"%globaltimer_lo", S::Clock},
    {"%dynamic_smem_size", S::DynamicSharedSize},
    {"%total_smem_size", S::TotalSharedSize},
    {"%envreg1", S::Envreg1},
    {"%envreg2", S::Envreg2},
    {"%gridid", S::Zero},
    {"%smid", S::Zero},
    {"%clock_hi", S::Zero},
    {"%globaltimer_hi", S::Zero},
};

std::optional<SpecialRegister> special_register(std::string_view name) {
  for (const NamedSpecial& special : kSpecials)
    if (special.name == name) return special.value;
  return std::nullopt;
}

class FunctionCompiler {
 public:
  FunctionCompiler(const ptx::Module& module, const std::map<std::string, uint64_t>& globals,
                   const std::map<const Variable*, uint64_t>& shared, FunctionCode* out)
      : module_(module), globals_(globals), shared_(shared), out_(*out), f_(*out->function) {}

  void run() {
    lay_out();
    out_.decoded = isa::decode_function(module_, f_);
    out_.register_count = static_cast<uint32_t>(f_.registers.size()) + 1;
    for (const ptx::Register& reg : f_.registers)
      out_.register_masks.push_back(reg.type == ScalarType::Pred ? 1
                                                                 : mask_of(ptx::bits_of(reg.type)));
    out_.register_masks.push_back(1);
    size_t refusal = 0;
    for (size_t i = 0; i < f_.body.size(); ++i) {
      const isa::Decoded& d = out_.decoded.body[i];
      Code& code = out_.code.emplace_back();
      if (const auto& guard = f_.body[i].guard) {
        code.guarded = true;
        code.guard = guard->reg;
        code.guard_negated = guard->negated;
      }
      if (!d.row) {
        refuse(out_.decoded.refusals.at(refusal++).message);
        continue;
      }
      instruction(d, static_cast<uint32_t>(i));
    }
  }

 private:
  void lay_out() {
    uint64_t params = 0;
    for (const Variable& v : f_.params)
      out_.param_at.push_back(place(v, f_.is_entry ? &params : &out_.frame_size));
    for (const Variable& v : f_.returns) out_.return_at.push_back(place(v, &out_.frame_size));
    for (const Variable& v : f_.locals)
      local_at_.push_back(v.space == StateSpace::Shared ? 0 : place(v, &out_.frame_size));
    out_.frame_size = align_up(out_.frame_size, 16);
    for (const Variable& v : f_.params) out_.param_register.push_back(register_of(v));
    for (const Variable& v : f_.returns) out_.return_register.push_back(register_of(v));
  }

  // A parameter's register is declared before those of the body.
  uint32_t register_of(const Variable& v) const {
    if (v.space != StateSpace::Reg) return FunctionCode::kNoRegister;
    for (uint32_t r = 0; r < f_.registers.size(); ++r)
      if (f_.registers[r].name == v.name) return r;
    return FunctionCode::kNoRegister;
  }

  void refuse(std::string message) {
    out_.code.back().refusal = static_cast<int32_t>(out_.refusals.size());
    out_.refusals.push_back(std::move(message));
  }

  // The place of a symbol in its own space, and that space.
  Source symbol(const Operand& operand, StateSpace* space) {
    Source source;
    source.value = static_cast<uint64_t>(operand.offset);
    const auto shared = [&](const Variable& v) {
      *space = StateSpace::Shared;
      source.value += shared_.at(&v);
    };
    const auto frame = [&](uint64_t at) {
      *space = StateSpace::Local;
      source.kind = Source::Kind::Frame;
      source.value += at;
    };
    switch (operand.home) {
      case Operand::Home::Module: {
        const Variable& v = module_.variables[operand.index];
        *space = v.space;
        if (v.space == StateSpace::Shared) {
          shared(v);
        } else if (const auto found = globals_.find(v.name); found != globals_.end()) {
          source.value += found->second;
        } else {
          refuse("variable '" + v.name + "' has no address");
        }
        break;
      }
      case Operand::Home::Local: {
        const Variable& v = f_.locals[operand.index];
        if (v.space == StateSpace::Shared) {
          shared(v);
        } else {
          frame(local_at_[operand.index]);
        }
        break;
      }
      case Operand::Home::Param:
        if (f_.is_entry) {
          *space = StateSpace::Param;
          source.value += out_.param_at[operand.index];
        } else {
          frame(out_.param_at[operand.index]);
        }
        break;
      case Operand::Home::Return:
        frame(out_.return_at[operand.index]);
        break;
      case Operand::Home::Function:
        *space = StateSpace::Generic;
        source.value += kCodeWindow + 16 * uint64_t{operand.index};
        break;
      case Operand::Home::None:
        break;
    }
    return source;
  }

  static uint64_t immediate_bits(const Operand& operand, const OperandType& type) {
    const bool is_float =
        operand.imm_type == ScalarType::F32 || operand.imm_type == ScalarType::F64;
    if (type.cls == OperandType::Class::Pred) return operand.bits != 0;
    if (!is_float || type.cls != OperandType::Class::Float) return operand.bits;
    const FloatSpec from = operand.imm_type == ScalarType::F32 ? kF32 : kF64;
    switch (type.format) {
      case term::FloatFormat::F64:
        return float_convert(kF64, from, operand.bits);
      case term::FloatFormat::F16:
        return float_convert(kF16, from, operand.bits);
      case term::FloatFormat::BF16:
        return float_convert(kBF16, from, operand.bits);
      // A single-precision pattern keeps its bits, NaNs included.
      default:
        return operand.imm_type == ScalarType::F32 ? operand.bits
                                                   : float_convert(kF32, kF64, operand.bits);
    }
  }

  Source source(const Operand& operand, const OperandType& type) {
    Source out;
    out.mask = mask_of(type.width);
    out.negated = operand.negated;
    switch (operand.kind) {
      case Operand::Kind::Register:
        out.kind = Source::Kind::Register;
        out.index = operand.reg;
        break;
      case Operand::Kind::Immediate:
        out.value = immediate_bits(operand, type);
        break;
      case Operand::Kind::Special: {
        const auto special = special_register(operand.text);
        if (!special) {
          refuse("special register '" + operand.text + "' is not modelled");
          break;
        }
        out.kind = Source::Kind::Special;
        out.index = static_cast<uint32_t>(*special);
        break;
      }
      case Operand::Kind::Symbol: {
        StateSpace space;
        const uint64_t mask = out.mask;
        out = symbol(operand, &space);
        out.mask = mask;
        break;
      }
      case Operand::Kind::Sink:
        break;
      default:
        refuse("an operand of '" + current_->text->spelling() + "' is not modelled");
        break;
    }
    return out;
  }

  Destination destination(const Operand& operand, const OperandType& type) {
    Destination out;
    if (operand.kind == Operand::Kind::Sink) {
      out.sink = true;
      return out;
    }
    if (operand.kind != Operand::Kind::Register) {
      refuse("a destination of '" + current_->text->spelling() + "' is not modelled");
      return out;
    }
    out.reg = operand.reg;
    out.mask = out_.register_masks[operand.reg];
    if (type.cls == OperandType::Class::Bits && type.is_signed) out.sign_from = type.width;
    return out;
  }

  Address address(const isa::Decoded& d, const Operand& operand) {
    Address out;
    StateSpace space = d.space;
    const auto before = out_.code.back().address_count;
    if (d.op == Op::CpAsyncBulk) space = before == 1 ? StateSpace::Global : StateSpace::Shared;
    if (d.op == Op::TensorLoad) space = before == 1 ? StateSpace::Generic : StateSpace::Shared;
    if (d.op == Op::BulkStore || d.op == Op::BulkReduce || d.op == Op::TensorStore ||
        d.op == Op::TensorReduce)
      space = before == 0 ? StateSpace::Generic : StateSpace::Shared;
    if (d.op == Op::CpAsync)
      space = out_.code.back().address_count == 0 ? StateSpace::Shared : StateSpace::Global;
    if (operand.base_is_register) {
      out.base.kind = Source::Kind::Register;
      out.base.index = operand.reg;
      out.offset = operand.offset;
      // Parameters of functions, and those of calls, lie in the frame.
      if (space == StateSpace::Param && !f_.is_entry) space = StateSpace::Local;
    } else {
      StateSpace own = space;
      out.base = symbol(operand, &own);
      if (operand.home != Operand::Home::None) space = own;
    }
    out.window = window_of(space);
    return out;
  }

  static uint64_t window_of(StateSpace space) {
    switch (space) {
      case StateSpace::Shared:
        return kSharedWindow;
      case StateSpace::Local:
        return kLocalWindow;
      case StateSpace::Param:
        return kParamWindow;
      default:
        return 0;
    }
  }

  void add_destination(Destination destination) {
    out_.destinations.push_back(destination);
    ++out_.code.back().destination_count;
  }
  void add_source(Source source) {
    out_.sources.push_back(source);
    ++out_.code.back().source_count;
  }

  void instruction(const isa::Decoded& d, uint32_t index) {
    current_ = &d;
    const ptx::Instruction& text = *d.text;
    Code& code = out_.code.back();
    code.decoded = &d;
    code.op = d.op;
    code.sources = static_cast<uint32_t>(out_.sources.size());
    code.destinations = static_cast<uint32_t>(out_.destinations.size());
    code.addresses = static_cast<uint32_t>(out_.addresses.size());
    switch (d.op) {
      case Op::Bra:
        code.target = text.operands.at(0).target;
        return;
      case Op::Call:
        call(text, index);
        return;
      case Op::BrxIdx: {
        const auto found = f_.branch_lists.find(text.operands.at(1).text);
        CHECK(found != f_.branch_lists.end());
        out_.branch_targets[index] = found->second;
        break;
      }
      default:
        break;
    }
    operands(d);
    const uint32_t carry = out_.register_count - 1;
    if (d.writes_cc) {
      Destination cc;
      cc.reg = carry;
      cc.mask = 1;
      add_destination(cc);
    }
    if (d.reads_cc) {
      Source cc;
      cc.kind = Source::Kind::Register;
      cc.index = carry;
      cc.mask = 1;
      add_source(cc);
    }
  }

  // Destinations come first in the text, except that stores begin with their address.
  void operands(const isa::Decoded& d) {
    size_t next_destination = 0, next_source = 0;
    const size_t destinations = d.dst_types.size() - (d.writes_cc ? 1 : 0);
    const size_t sources = d.src_types.size() - (d.reads_cc ? 1 : 0);
    const auto one = [&](const Operand& operand) {
      if (next_destination < destinations) {
        add_destination(destination(operand, d.dst_types[next_destination++]));
      } else if (next_source < sources) {
        add_source(source(operand, d.src_types[next_source++]));
      }
    };
    for (const Operand& operand : d.text->operands) {
      if (operand.kind == Operand::Kind::Address) {
        out_.addresses.push_back(address(d, operand));
        ++out_.code.back().address_count;
        ++next_source;
      } else if (d.op == Op::Mma || d.op == Op::WmmaMma || d.op == Op::WmmaLoad ||
                 d.op == Op::WmmaStore || d.op == Op::Wgmma) {
        matrix_operand(operand, &operand == &d.text->operands.front());
      } else if (d.op == Op::TensorLoad || d.op == Op::TensorStore || d.op == Op::TensorReduce) {
        matrix_operand(operand, false);  // coordinates; a policy
      } else if (operand.kind == Operand::Kind::Vector) {
        for (const Operand& element : operand.elements) one(element);
      } else {
        one(operand);
      }
    }
  }

  void matrix_operand(const Operand& operand, bool is_destination) {
    OperandType type;
    const auto one = [&](const Operand& element) {
      if (element.kind == Operand::Kind::Register)
        type.width = static_cast<uint8_t>(ptx::bits_of(f_.registers[element.reg].type));
      if (is_destination) {
        add_destination(destination(element, type));
      } else {
        add_source(source(element, type));
      }
    };
    if (operand.kind == Operand::Kind::Vector) {
      for (const Operand& element : operand.elements) one(element);
    } else {
      one(operand);
    }
  }

  void call(const ptx::Instruction& text, uint32_t index) {
    CallSite site;
    const Operand* results = nullptr;
    const Operand* arguments = nullptr;
    const Operand* callee = nullptr;
    for (const Operand& operand : text.operands) {
      if (operand.kind == Operand::Kind::ParamList) {
        (callee ? arguments : results) = &operand;
      } else if (!callee) {
        callee = &operand;
      }
    }
    CHECK(callee);
    if (callee->kind == Operand::Kind::CallTarget) {
      site.function = callee->index;
    } else {
      site.indirect = true;
      OperandType type;
      type.width = 64;
      site.callee = source(*callee, type);
    }
    if (results)
      for (const Operand& operand : results->elements) site.results.push_back(slot(operand, true));
    if (arguments)
      for (const Operand& operand : arguments->elements)
        site.arguments.push_back(slot(operand, false));
    out_.calls[index] = std::move(site);
  }

  CallSite::Slot slot(const Operand& operand, bool is_result) {
    CallSite::Slot out;
    if (operand.kind == Operand::Kind::Sink) {
      out.kind = CallSite::Slot::Kind::Sink;
      return out;
    }
    if (operand.kind == Operand::Kind::Symbol) {
      StateSpace space;
      const Source at = symbol(operand, &space);
      if (at.kind != Source::Kind::Frame) {
        refuse("a call's parameter in this place is not modelled");
        return out;
      }
      out.frame_offset = at.value;
      switch (operand.home) {
        case Operand::Home::Local:
          out.size = f_.locals[operand.index].size;
          break;
        case Operand::Home::Param:
          out.size = f_.params[operand.index].size;
          break;
        default:
          out.size = f_.returns[operand.index].size;
          break;
      }
      return out;
    }
    out.kind = CallSite::Slot::Kind::Value;
    OperandType type;
    type.width = 64;
    if (operand.kind == Operand::Kind::Register)
      type.width = static_cast<uint8_t>(ptx::bits_of(f_.registers[operand.reg].type));
    out.size = type.width / 8;
    if (is_result) {
      out.destination = destination(operand, type);
    } else {
      out.source = source(operand, type);
    }
    return out;
  }

  const ptx::Module& module_;
  const std::map<std::string, uint64_t>& globals_;
  const std::map<const Variable*, uint64_t>& shared_;
  FunctionCode& out_;
  const ptx::Function& f_;
  std::vector<uint64_t> local_at_;
  const isa::Decoded* current_ = nullptr;
};

// Functions that the kernel can call; all of them once an address is taken or called.
std::set<uint32_t> reachable(const ptx::Module& module, uint32_t kernel) {
  std::set<uint32_t> seen{kernel};
  std::vector<uint32_t> open{kernel};
  const auto add = [&](uint32_t index) {
    if (seen.insert(index).second) open.push_back(index);
  };
  while (!open.empty()) {
    const ptx::Function& f = module.functions[open.back()];
    open.pop_back();
    for (const ptx::Instruction& instruction : f.body) {
      if (instruction.opcode != "call") continue;
      bool direct = false;
      for (const Operand& operand : instruction.operands)
        if (operand.kind == Operand::Kind::CallTarget) {
          add(operand.index);
          direct = true;
        }
      if (!direct)
        for (uint32_t i = 0; i < module.functions.size(); ++i)
          if (!module.functions[i].is_entry) add(i);
    }
  }
  return seen;
}

// Static variables that the functions mention or declare, then the dynamic part for all extern
// ones.
std::map<const Variable*, uint64_t> place_shared(const ptx::Module& module,
                                                 const std::set<uint32_t>& functions,
                                                 uint64_t* static_size) {
  std::set<uint32_t> mentioned;
  const auto look = [&](const Operand& operand, const auto& self) -> void {
    if (operand.home == Operand::Home::Module && !operand.text.empty() &&
        operand.kind != Operand::Kind::CallTarget)
      mentioned.insert(operand.index);
    for (const Operand& element : operand.elements) self(element, self);
  };
  uint64_t dynamic_alignment = 16;
  for (uint32_t index : functions)
    for (const ptx::Instruction& instruction : module.functions[index].body) {
      for (const Operand& operand : instruction.operands) look(operand, look);
      // What is swizzled takes it, whatever is declared.
      if (instruction.opcode == "wgmma" || instruction.has("tensor")) dynamic_alignment = 1024;
    }
  std::vector<const Variable*> variables;
  for (uint32_t index : mentioned)
    if (module.variables[index].space == StateSpace::Shared)
      variables.push_back(&module.variables[index]);
  for (uint32_t index : functions)
    for (const Variable& v : module.functions[index].locals)
      if (v.space == StateSpace::Shared) variables.push_back(&v);

  std::map<const Variable*, uint64_t> out;
  for (const Variable* v : variables) {
    if (v->is_extern) {
      dynamic_alignment = std::max<uint64_t>(dynamic_alignment, v->alignment);
    } else {
      out[v] = place(*v, static_size);
    }
  }
  *static_size = align_up(*static_size, dynamic_alignment);
  for (const Variable* v : variables)
    if (v->is_extern) out[v] = *static_size;
  return out;
}

}  // namespace

std::vector<uint64_t> param_offsets(const ptx::Function& kernel) {
  std::vector<uint64_t> out;
  uint64_t size = 0;
  for (const Variable& v : kernel.params) out.push_back(place(v, &size));
  out.push_back(size);
  return out;
}

Image compile(const ptx::Module& module, const ptx::Function& kernel,
              const std::map<std::string, uint64_t>& globals) {
  Image image;
  image.functions.resize(module.functions.size());
  image.kernel = static_cast<uint32_t>(&kernel - module.functions.data());
  CHECK(image.kernel < module.functions.size());
  const std::set<uint32_t> functions = reachable(module, image.kernel);
  const auto shared = place_shared(module, functions, &image.static_shared);
  for (uint32_t index : functions) {
    FunctionCode& out = image.functions[index];
    out.function = &module.functions[index];
    FunctionCompiler(module, globals, shared, &out).run();
  }
  return image;
}

}  // namespace coequal::replay
