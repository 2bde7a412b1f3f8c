#include "exec/inline.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/check.h"

namespace coequal::exec {

namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Operand;
using ptx::StateSpace;
using ptx::Variable;

constexpr int kMostNested = 64;
constexpr size_t kMostInstructions = 1 << 17;

bool is_call(const Instruction& i) { return i.opcode == "call"; }
bool is_table_jump(const Instruction& i) { return i.opcode == "brx"; }

// What a function's names stand for in one place where its body stands.
struct Names {
  uint32_t first_register = 0;
  std::vector<uint32_t> locals, params,
      returns;  // indices into the locals of the result; kNone: the kernel's own
  static constexpr uint32_t kNone = ~0u;
};

class Inliner {
 public:
  Inliner(const ptx::Module& module, const Function& kernel) : module_(module) {
    out_.name = kernel.name;
    out_.is_entry = kernel.is_entry;
    out_.params = kernel.params;
    out_.returns = kernel.returns;
    out_.registers = kernel.registers;
    out_.locals = kernel.locals;
    out_.call_lists = kernel.call_lists;
    out_.reqntid = kernel.reqntid;
    out_.maxntid = kernel.maxntid;
    out_.reqnctapercluster = kernel.reqnctapercluster;
    out_.performance_directives = kernel.performance_directives;
    out_.ptx_line = kernel.ptx_line;
    Names names;
    for (uint32_t i = 0; i < kernel.locals.size(); ++i) names.locals.push_back(i);
    names.params.assign(kernel.params.size(), Names::kNone);
    names.returns.assign(kernel.returns.size(), Names::kNone);
    body(kernel, names, 0);
  }

  InlinedFunction take() {
    return {std::make_unique<const Function>(std::move(out_)), std::move(frames_)};
  }

 private:
  // The text of `f` with its own names; a return of a called function jumps to its end.
  void body(const Function& f, const Names& names, int depth) {
    std::vector<uint32_t> at;  // where each instruction of `f` came to stand
    std::vector<uint32_t> jumps, returns;
    std::vector<std::pair<std::string, std::string>> lists;
    const std::string suffix = fmt::format("@{}", copies_++);
    for (const Instruction& i : f.body) {
      at.push_back(static_cast<uint32_t>(out_.body.size()));
      if (is_call(i) && call(f, i, names, depth)) continue;
      if (is_table_jump(i)) compare_with_places(f, i, names, jumps);
      Instruction copy = i;
      if (depth > 0 && i.opcode == "ret") {
        copy.opcode = "bra";
        copy.operands = {label(0)};
        returns.push_back(static_cast<uint32_t>(out_.body.size()));
      } else {
        bool jumps_somewhere = false;
        for (Operand& op : copy.operands) {
          rename(op, names);
          jumps_somewhere |= op.kind == Operand::Kind::Label;
          if (op.kind == Operand::Kind::LabelList && f.branch_lists.count(op.text)) {
            lists.emplace_back(op.text, op.text + suffix);
            op.text += suffix;
          }
        }
        if (jumps_somewhere) jumps.push_back(static_cast<uint32_t>(out_.body.size()));
      }
      if (copy.guard) rename(*copy.guard, names);
      out_.body.push_back(std::move(copy));
    }
    const auto end = static_cast<uint32_t>(out_.body.size());
    at.push_back(end);
    for (const uint32_t j : jumps)
      for (Operand& op : out_.body[j].operands)
        if (op.kind == Operand::Kind::Label) op.target = at[op.target];
    for (const uint32_t r : returns) out_.body[r].operands[0].target = end;
    for (const auto& [from, to] : lists) {
      std::vector<uint32_t>& targets = out_.branch_lists[to];
      targets.clear();
      for (const uint32_t target : f.branch_lists.at(from)) targets.push_back(at[target]);
    }
  }

  // A jump through a table goes where its index says; one that depends on data is compared with the
  // places one by one. What the jump itself then gets is beyond the table.
  void compare_with_places(const Function& f, const Instruction& i, const Names& names,
                           std::vector<uint32_t>& jumps) {
    const auto list = f.branch_lists.find(i.operands.size() == 2 ? i.operands[1].text : "");
    if (i.guard || list == f.branch_lists.end()) return;
    Operand equal;
    equal.kind = Operand::Kind::Register;
    equal.reg = static_cast<uint32_t>(out_.registers.size());
    out_.registers.push_back({fmt::format("%place@{}", equal.reg), ptx::ScalarType::Pred});
    for (size_t k = 0; k < list->second.size(); ++k) {
      Operand index = i.operands[0], place;
      rename(index, names);
      place.kind = Operand::Kind::Immediate;
      place.bits = k;
      place.imm_type = ptx::ScalarType::U64;
      Instruction compare = like(i, "setp", {"eq", "u32"});
      compare.operands = {equal, index, place};
      out_.body.push_back(std::move(compare));
      Instruction jump = like(i, "bra", {});
      jump.operands = {label(list->second[k])};
      jump.guard = equal;
      jumps.push_back(static_cast<uint32_t>(out_.body.size()));
      out_.body.push_back(std::move(jump));
    }
  }

  // Puts the called function in place; false if the call has to stay as it is.
  bool call(const Function& caller, const Instruction& i, const Names& names, int depth) {
    std::vector<Operand> results, arguments;
    const Operand* target = nullptr;
    for (const Operand& op : i.operands) {
      if (op.kind == Operand::Kind::ParamList) (target ? arguments : results) = op.elements;
      if (op.kind == Operand::Kind::CallTarget) target = &op;
    }
    if (!target || depth >= kMostNested || out_.body.size() > kMostInstructions) return false;
    const Function* callee = module_.find_function(target->text);
    if (!callee || callee->is_declaration || callee->is_entry ||
        callee->params.size() != arguments.size() || callee->returns.size() != results.size())
      return false;
    std::set<uint32_t> read, written;  // variables that the function gets as they are
    if (!fits(caller, callee->params, arguments, read) ||
        !fits(caller, callee->returns, results, written))
      return false;
    for (const uint32_t v : written)
      if (read.count(v)) return false;
    if (written.size() !=
        static_cast<size_t>(std::count_if(results.begin(), results.end(), [](const Operand& op) {
          return op.kind == Operand::Kind::Symbol;
        })))
      return false;

    Names inner;
    CallFrame frame;
    inner.first_register = frame.first_register = static_cast<uint32_t>(out_.registers.size());
    frame.register_count = static_cast<uint32_t>(callee->registers.size());
    out_.registers.insert(out_.registers.end(), callee->registers.begin(), callee->registers.end());
    const auto fresh = [&](Variable v) {
      const auto index = static_cast<uint32_t>(out_.locals.size());
      v.name = fmt::format("{}@{}", v.name, index);
      out_.locals.push_back(std::move(v));
      frame.locals.push_back(index);
      return index;
    };
    for (const Variable& v : callee->locals) {
      // A static shared array is one for all calls.
      if (v.space != StateSpace::Local && v.space != StateSpace::Param) {
        const auto [it, first] =
            statics_.try_emplace(&v, static_cast<uint32_t>(out_.locals.size()));
        if (first) out_.locals.push_back(v);
        inner.locals.push_back(it->second);
      } else {
        inner.locals.push_back(fresh(v));
      }
    }
    const auto bind = [&](const std::vector<Variable>& variables, const std::vector<Operand>& given,
                          bool is_result) {
      std::vector<uint32_t> bound;
      for (size_t k = 0; k < variables.size(); ++k) {
        if (variables[k].space == StateSpace::Reg) {
          bound.push_back(Names::kNone);
        } else if (given[k].kind == Operand::Kind::Symbol) {
          bound.push_back(names.locals[given[k].index]);
          if (is_result) frame.locals.push_back(bound.back());
        } else {
          bound.push_back(fresh(variables[k]));
        }
      }
      return bound;
    };
    inner.params = bind(callee->params, arguments, false);
    inner.returns = bind(callee->returns, results, true);

    std::optional<uint32_t> skip;
    if (i.guard) {
      Instruction jump = like(i, "bra", {});
      jump.operands = {label(0)};
      jump.guard = *i.guard;
      rename(*jump.guard, names);
      jump.guard->negated = !jump.guard->negated;
      skip = static_cast<uint32_t>(out_.body.size());
      out_.body.push_back(std::move(jump));
    }
    Instruction begin = i;
    begin.guard.reset();
    for (Operand& op : begin.operands) rename(op, names);
    frames_[static_cast<uint32_t>(out_.body.size())] = std::move(frame);
    out_.body.push_back(std::move(begin));

    for (size_t k = 0; k < arguments.size(); ++k) {
      Operand from = arguments[k];
      rename(from, names);
      move(i, place(*callee, callee->params[k], inner, inner.params[k]), from, callee->params[k]);
    }
    body(*callee, inner, depth + 1);
    for (size_t k = 0; k < results.size(); ++k) {
      Operand to = results[k];
      rename(to, names);
      if (to.kind != Operand::Kind::Sink)
        move(i, to, place(*callee, callee->returns[k], inner, inner.returns[k]),
             callee->returns[k]);
    }
    if (skip) out_.body[*skip].operands[0].target = static_cast<uint32_t>(out_.body.size());
    return true;
  }

  // Whether each given operand can stand for its parameter; the variables among them are collected.
  static bool fits(const Function& caller, const std::vector<Variable>& variables,
                   const std::vector<Operand>& given, std::set<uint32_t>& used) {
    for (size_t k = 0; k < variables.size(); ++k) {
      const Operand& op = given[k];
      switch (op.kind) {
        case Operand::Kind::Symbol: {
          if (op.home != Operand::Home::Local || op.offset != 0) return false;
          const Variable& v = caller.locals[op.index];
          if (v.space != StateSpace::Param || v.size != variables[k].size) return false;
          used.insert(op.index);
          break;
        }
        case Operand::Kind::Register:
          if (op.negated ||
              ptx::bits_of(caller.registers[op.reg].type) != ptx::bits_of(variables[k].type))
            return false;
          if (variables[k].element_count != 1) return false;
          break;
        case Operand::Kind::Immediate:
          if (variables[k].element_count != 1) return false;
          break;
        case Operand::Kind::Sink:
          break;
        default:
          return false;
      }
    }
    return true;
  }

  // The parameter as an operand inside the body.
  static Operand place(const Function& callee, const Variable& v, const Names& inner,
                       uint32_t local) {
    Operand op;
    if (v.space == StateSpace::Reg) {
      op.kind = Operand::Kind::Register;
      const auto it = std::find_if(callee.registers.begin(), callee.registers.end(),
                                   [&](const ptx::Register& r) { return r.name == v.name; });
      CHECK(it != callee.registers.end());
      op.reg = inner.first_register + static_cast<uint32_t>(it - callee.registers.begin());
      return op;
    }
    op.kind = Operand::Kind::Symbol;
    op.home = Operand::Home::Local;
    op.index = local;
    op.text = v.name;
    return op;
  }

  // Copies a value of the parameter's type between registers and variables; a variable that stands
  // for itself stays.
  void move(const Instruction& at, const Operand& to, const Operand& from, const Variable& v) {
    if (from.kind == Operand::Kind::Sink) return;
    const int bits = ptx::bits_of(v.type);
    const std::string type = v.type == ptx::ScalarType::Pred ? "pred" : fmt::format("b{}", bits);
    const bool to_memory = to.kind == Operand::Kind::Symbol,
               from_memory = from.kind == Operand::Kind::Symbol;
    if (to_memory && from_memory) {
      CHECK(to.index == from.index);
      return;
    }
    Instruction copy = like(at, to_memory ? "st" : from_memory ? "ld" : "mov", {});
    if (to_memory || from_memory) copy.modifiers.push_back("param");
    copy.modifiers.push_back(type);
    copy.operands = {to, from};
    for (Operand& op : copy.operands)
      if (op.kind == Operand::Kind::Symbol) op.kind = Operand::Kind::Address;
    out_.body.push_back(std::move(copy));
  }

  static Instruction like(const Instruction& at, std::string opcode,
                          std::vector<std::string> modifiers) {
    Instruction i;
    i.opcode = std::move(opcode);
    i.modifiers = std::move(modifiers);
    i.ptx_line = at.ptx_line;
    i.source = at.source;
    return i;
  }

  static Operand label(uint32_t target) {
    Operand op;
    op.kind = Operand::Kind::Label;
    op.target = target;
    return op;
  }

  static void rename(Operand& op, const Names& names) {
    if (op.kind == Operand::Kind::Register ||
        (op.kind == Operand::Kind::Address && op.base_is_register))
      op.reg += names.first_register;
    const std::vector<uint32_t>* homes = op.home == Operand::Home::Local    ? &names.locals
                                         : op.home == Operand::Home::Param  ? &names.params
                                         : op.home == Operand::Home::Return ? &names.returns
                                                                            : nullptr;
    if (homes && (*homes)[op.index] != Names::kNone) {
      op.index = (*homes)[op.index];
      op.home = Operand::Home::Local;
    }
    for (Operand& e : op.elements) rename(e, names);
  }

  const ptx::Module& module_;
  Function out_;
  std::map<uint32_t, CallFrame> frames_;
  std::map<const Variable*, uint32_t> statics_;
  int copies_ = 0;
};

}  // namespace

InlinedFunction inline_calls(const ptx::Module& module, const Function& kernel) {
  if (std::none_of(kernel.body.begin(), kernel.body.end(),
                   [](const Instruction& i) { return is_call(i) || is_table_jump(i); }))
    return {};
  return Inliner(module, kernel).take();
}

}  // namespace coequal::exec
