// Basic blocks and immediate post-dominators of a function, on instruction indices.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/module.h"

namespace coequal::ptx {

struct Block {
  uint32_t begin = 0, end = 0;  // instruction range [begin, end)
  // Block indices; kExit for ret, exit and the end of the body. trap has none: it ends the launch,
  // so the paths into it do not move a reconvergence point.
  std::vector<uint32_t> successors;
};

class Cfg {
 public:
  static constexpr uint32_t kExit = ~0u;

  explicit Cfg(const Function& function);

  const std::vector<Block>& blocks() const { return blocks_; }
  uint32_t block_of(uint32_t instruction) const { return block_of_[instruction]; }
  // The first instruction of the immediate post-dominator of the block that holds `instruction`;
  // kExit if only the exit post-dominates it (also for blocks that cannot reach the exit).
  uint32_t reconvergence(uint32_t instruction) const;

 private:
  std::vector<Block> blocks_;
  std::vector<uint32_t> block_of_;
  std::vector<uint32_t> post_dominator_;  // per block: block index or kExit
};

}  // namespace coequal::ptx
