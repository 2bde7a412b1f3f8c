// Messages as nvcc, cudafe++ and gcc write them, and make rules.
#include <gtest/gtest.h>

#include "toolchain/compiler_output.h"

namespace coequal::toolchain {
namespace {

struct Parsed {
  std::string place, message;
  size_t notes;
};

Parsed parsed(std::string_view output) {
  const Diagnostic d = compile_error(output, "otherwise");
  EXPECT_EQ(d.code, DiagnosticCode::CompileFailed);
  return {to_string(d.span), d.message, d.notes.size()};
}

TEST(CompilerOutput, CudaFrontEnd) {
  const Parsed p =
      parsed("a/b (1).cu(7): error: expected a \";\"\n  int x\n       ^\n\n1 error detected\n");
  EXPECT_EQ(p.place, "a/b (1).cu:7");
  EXPECT_EQ(p.message, "expected a \";\"");
  EXPECT_EQ(p.notes, 3u);
  EXPECT_EQ(parsed("k.cu(3): error #20-D: identifier \"x\" is undefined\n").message,
            "identifier \"x\" is undefined");
  EXPECT_EQ(parsed("k.cu(3): catastrophic error: cannot open source file \"x.h\"\n").place,
            "k.cu:3");
}

TEST(CompilerOutput, HostPreprocessor) {
  const Parsed p = parsed(
      "In file included from k.cu:1:\nh.h:3:10: fatal error: none.h: No such file or directory\n"
      "    3 | #include \"none.h\"\ncompilation terminated.\n");
  EXPECT_EQ(p.place, "h.h:3:10");
  EXPECT_EQ(p.message, "none.h: No such file or directory");
  EXPECT_EQ(p.notes, 3u);
  EXPECT_EQ(parsed("k.cu:5: error: x\n").place, "k.cu:5");
}

TEST(CompilerOutput, Driver) {
  EXPECT_EQ(parsed("nvcc fatal   : Unsupported gpu architecture 'sm_12'\n").message,
            "Unsupported gpu architecture 'sm_12'");
  EXPECT_EQ(parsed("cc1plus: fatal error: no.cu: No such file or directory\n").message,
            "no.cu: No such file or directory");
}

TEST(CompilerOutput, WordsInsideOtherMessagesAreNoErrors) {
  const Parsed p =
      parsed("k.cu(2): warning #1-D: this says error: but is none\nk.cu(9): error: real\n");
  EXPECT_EQ(p.place, "k.cu:9");
  EXPECT_EQ(p.message, "real");
}

TEST(CompilerOutput, WithoutAnErrorAllLinesAreNotes) {
  const Diagnostic d = compile_error("one\n\ntwo", "it ended");
  EXPECT_EQ(d.message, "it ended");
  EXPECT_EQ(d.notes, (std::vector<std::string>{"one", "two"}));
  std::string many;
  for (int i = 0; i < 100; ++i) many += "line\n";
  EXPECT_EQ(compile_error(many, "").notes.size(), 61u);
  EXPECT_EQ(compile_error(many, "").notes.back(), "(40 more lines)");
}

TEST(CompilerOutput, MakeRules) {
  using Paths = std::vector<std::string>;
  EXPECT_EQ(prerequisites("t.ptx : t.cu \\\n    /usr/a.h \\\n    a\\ b.h\n"),
            (Paths{"t.cu", "/usr/a.h", "a b.h"}));
  EXPECT_EQ(prerequisites("t.ptx: t.cu c$$d.h e\\#f.h"), (Paths{"t.cu", "c$d.h", "e#f.h"}));
  EXPECT_EQ(prerequisites("t.ptx: a.cu b.h\n\nb.h:\n"), (Paths{"a.cu", "b.h"}));
  EXPECT_EQ(prerequisites("t.ptx: x:y.h\n"), Paths{"x:y.h"});
  EXPECT_EQ(prerequisites(""), Paths{});
  EXPECT_EQ(prerequisites("no rule here"), Paths{});
}

}  // namespace
}  // namespace coequal::toolchain
