// A kernel's body with the functions that it calls put in the place of the calls, and jumps through
// tables behind comparisons with their places.
//
// Every call gets registers and local variables of its own, so a frame is nothing but a range of
// them; returns become jumps behind the call, and branches on data inside a function meet where
// they do in any other code.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "ptx/module.h"

namespace coequal::exec {

// What a call that was put in place leaves without a value when it begins: nothing of an earlier
// call may be read.
struct CallFrame {
  uint32_t first_register = 0, register_count = 0;
  std::vector<uint32_t>
      locals;  // indices into Function::locals: the frame's own, and the variables for its results
};

struct InlinedFunction {
  std::unique_ptr<const ptx::Function> function;  // null: there is nothing to put in place
  std::map<uint32_t, CallFrame> frames;  // by the position of the call, which stays in the text
};

// Calls that cannot be put in place stay without a frame: of declarations, through registers,
// nested too deeply, or with arguments of another form than the function's parameters.
InlinedFunction inline_calls(const ptx::Module& module, const ptx::Function& kernel);

}  // namespace coequal::exec
