// Short ways to build modules and bodies for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "ptx/module.h"

namespace coequal::ptx {

inline std::string with_header(std::string_view text) {
  return ".version 8.5\n.target sm_80\n.address_size 64\n" + std::string(text);
}

// A kernel `k` with registers of every sort around the statements; the first statement is on
// line 11.
inline std::string with_body(std::string_view statements) {
  return with_header(
      ".visible .entry k(.param .u64 a, .param .u32 n)\n{\n"
      ".reg .pred %p<10>;\n.reg .b16 %h<10>;\n.reg .b32 %r<10>; .reg .f32 %f<10>;\n"
      ".reg .b64 %rd<10>;\n.shared .align 4 .b8 tile[64];\n" +
      std::string(statements) + "\n}\n");
}

inline Module must_parse(const std::string& text) {
  Result<Module> module = parse(text, "text.ptx");
  EXPECT_TRUE(module.has_value()) << render(module.error());
  return module ? std::move(*module) : Module{};
}

// The body of `k` around the statements.
inline Function kernel_of(std::string_view statements) {
  Module module = must_parse(with_body(statements));
  return module.functions.empty() ? Function{} : std::move(module.functions.back());
}

inline Instruction instruction_of(std::string_view statement) {
  Function function = kernel_of(statement);
  EXPECT_EQ(function.body.size(), 1u) << statement;
  return function.body.empty() ? Instruction{} : std::move(function.body.front());
}

inline std::string error_of(const std::string& text) {
  Result<Module> module = parse(text, "text.ptx");
  if (module) return "none";
  EXPECT_EQ(module.error().code, DiagnosticCode::PtxSyntax);
  return to_string(module.error().span) + ": " + module.error().message;
}

inline std::string read_data(const std::string& name) {
  std::ifstream file(std::string(COEQUAL_ROOT) + "/tests/unit/ptx/data/" + name, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace coequal::ptx
