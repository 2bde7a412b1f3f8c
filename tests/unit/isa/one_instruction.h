// One line of PTX, parsed and decoded in a kernel with registers of every type.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "isa/inst_row.h"
#include "ptx/module.h"

namespace coequal::isa {

class OneInstruction {
 public:
  explicit OneInstruction(const std::string& line) {
    auto parsed = ptx::parse(
        ".version 8.6\n.target sm_100a\n.address_size 64\n.shared .align 16 .b8 buffer[64];\n"
        ".visible .entry k(.param .u64 a0)\n{\n"
        ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n"
        ".reg .f32 %f<8>;\n.reg .f64 %fd<8>;\n" +
            line + "\nL: ret;\n}\n",
        "one.ptx");
    if (!parsed) {
      ADD_FAILURE() << line << ": " << parsed.error().message;
      return;
    }
    module_ = *std::move(parsed);
    function_ = decode_function(module_, module_.functions[0]);
  }

  bool ok() const { return !function_.body.empty() && function_.refusals.empty(); }
  const Decoded& decoded() const { return function_.body.at(0); }
  std::string refusal() const {
    return function_.refusals.empty() ? "" : function_.refusals[0].message;
  }

 private:
  ptx::Module module_;
  DecodedFunction function_;
};

// The destinations' bits for the sources' bits.
inline std::vector<uint64_t> run_line(const std::string& line, std::vector<uint64_t> sources) {
  const OneInstruction one(line);
  EXPECT_TRUE(one.ok()) << line << ": " << one.refusal();
  if (!one.ok() || !one.decoded().conc) return {};
  EXPECT_EQ(one.decoded().src_types.size(), sources.size()) << line;
  std::vector<uint64_t> out(one.decoded().dst_types.size());
  one.decoded().conc(one.decoded(), sources.data(), out.data());
  return out;
}

}  // namespace coequal::isa
