// Splits a body into basic blocks and computes immediate post-dominators (Cooper, Harvey and
// Kennedy's iteration on the reversed graph).
#include "ptx/cfg.h"

#include <algorithm>

#include "base/check.h"

namespace coequal::ptx {
namespace {

bool ends_thread(const Instruction& instruction) {
  return instruction.opcode == "ret" || instruction.opcode == "exit";
}

bool ends_block(const Instruction& instruction) {
  return ends_thread(instruction) || instruction.opcode == "bra" || instruction.opcode == "brx" ||
         instruction.opcode == "trap";
}

// The instructions that a branch may jump to.
std::vector<uint32_t> targets_of(const Function& function, const Instruction& instruction) {
  std::vector<uint32_t> targets;
  for (const Operand& operand : instruction.operands) {
    if (operand.kind == Operand::Kind::Label) targets.push_back(operand.target);
    if (operand.kind == Operand::Kind::LabelList && instruction.opcode == "brx") {
      const auto list = function.branch_lists.find(operand.text);
      CHECK(list != function.branch_lists.end());
      targets.insert(targets.end(), list->second.begin(), list->second.end());
    }
  }
  return targets;
}

}  // namespace

Cfg::Cfg(const Function& function) {
  const std::vector<Instruction>& body = function.body;
  const auto size = static_cast<uint32_t>(body.size());
  std::vector<bool> leads(body.size() + 1, false);
  leads[0] = true;
  for (uint32_t i = 0; i < size; ++i) {
    if (!ends_block(body[i])) continue;
    leads[i + 1] = true;
    for (uint32_t target : targets_of(function, body[i])) {
      CHECK(target <= size);
      leads[target] = true;
    }
  }
  block_of_.resize(body.size());
  for (uint32_t i = 0; i < size; ++i) {
    if (leads[i]) blocks_.push_back({i, i, {}});
    blocks_.back().end = i + 1;
    block_of_[i] = static_cast<uint32_t>(blocks_.size() - 1);
  }
  const auto block_at = [&](uint32_t instruction) {
    return instruction < size ? block_of_[instruction] : kExit;
  };
  for (Block& block : blocks_) {
    const Instruction& last = body[block.end - 1];
    if (ends_thread(last)) block.successors.push_back(kExit);
    for (uint32_t target : targets_of(function, last)) block.successors.push_back(block_at(target));
    if (!ends_block(last) || last.guard) block.successors.push_back(block_at(block.end));
    std::sort(block.successors.begin(), block.successors.end());
    block.successors.erase(std::unique(block.successors.begin(), block.successors.end()),
                           block.successors.end());
  }

  // Reversed graph, with the exit as one more node at the end.
  const auto count = static_cast<uint32_t>(blocks_.size());
  const auto node_of = [&](uint32_t block) { return block == kExit ? count : block; };
  std::vector<std::vector<uint32_t>> predecessors(count + 1);
  for (uint32_t b = 0; b < count; ++b) {
    for (uint32_t s : blocks_[b].successors) predecessors[node_of(s)].push_back(b);
  }
  // Postorder of the reversed graph from the exit; kExit as a number: not reached.
  std::vector<uint32_t> order, number(count + 1, kExit);
  std::vector<bool> seen(count + 1, false);
  std::vector<std::pair<uint32_t, size_t>> stack = {{count, 0}};
  seen[count] = true;
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next < predecessors[node].size()) {
      const uint32_t child = predecessors[node][next++];
      if (!seen[child]) {
        seen[child] = true;
        stack.emplace_back(child, 0);
      }
    } else {
      number[node] = static_cast<uint32_t>(order.size());
      order.push_back(node);
      stack.pop_back();
    }
  }
  std::vector<uint32_t> immediate(count + 1, kExit);
  immediate[count] = count;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = order.size() - 1; i-- > 0;) {
      const uint32_t node = order[i];
      uint32_t meet = kExit;
      for (uint32_t s : blocks_[node].successors) {
        uint32_t other = node_of(s);
        if (immediate[other] == kExit) continue;
        if (meet == kExit) {
          meet = other;
          continue;
        }
        while (meet != other) {
          if (number[meet] < number[other]) {
            meet = immediate[meet];
          } else {
            other = immediate[other];
          }
        }
      }
      if (meet != immediate[node]) {
        immediate[node] = meet;
        changed = true;
      }
    }
  }
  post_dominator_.resize(count);
  for (uint32_t b = 0; b < count; ++b) {
    post_dominator_[b] = immediate[b] == count ? kExit : immediate[b];
  }
}

uint32_t Cfg::reconvergence(uint32_t instruction) const {
  const uint32_t dominator = post_dominator_[block_of(instruction)];
  return dominator == kExit ? kExit : blocks_[dominator].begin;
}

}  // namespace coequal::ptx
