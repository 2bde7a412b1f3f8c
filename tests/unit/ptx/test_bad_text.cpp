// Malformed text: one diagnostic with its place, never a crash, a hang or an allocation of the size
// it names.
#include <algorithm>

#include "ptx/cfg.h"
#include "ptx/lexer.h"
#include "ptx_text.h"

namespace coequal::ptx {
namespace {

TEST(BadText, SaysWhatWasExpectedAndWhere) {
  EXPECT_EQ(error_of(""),
            "text.ptx:1:1: expected '.version' as the first directive, found the end of the file");
  EXPECT_EQ(error_of(".version 9.5"),
            "text.ptx:1:10: expected a version from 7.0 to 9.4, found '9.5'");
  EXPECT_EQ(error_of(".version 6.5"),
            "text.ptx:1:10: expected a version from 7.0 to 9.4, found '6.5'");
  EXPECT_EQ(error_of(with_header("foo")), "text.ptx:4:1: expected a directive, found 'foo'");
  EXPECT_EQ(error_of(with_header(".global .f32 x")),
            "text.ptx:4:15: expected ';' after a variable, found the end of the file");
  EXPECT_EQ(error_of(with_body("add.s32 %r1, %r2, %r3")),
            "text.ptx:12:1: expected ';' or ',' after the operands of 'add.s32', found '}'");
  EXPECT_EQ(error_of(with_body("ld.b32 %r1, [%rd1;")),
            "text.ptx:11:18: expected ']' after an address, found ';'");
  EXPECT_EQ(error_of(with_body("  mov.b32 %r1, \"x\";")),
            "text.ptx:11:16: expected an operand of 'mov.b32', found a string");
  EXPECT_EQ(error_of(with_body("mov.b32 %r1, 0xG;")),
            "text.ptx:11:14: expected an integer of at most 64 bits");
  EXPECT_EQ(error_of(with_body("mov.b32 %r1, #;")), "text.ptx:11:14: expected PTX text");
}

TEST(BadText, NamesMustBeDeclaredOnce) {
  EXPECT_EQ(error_of(with_body("mov.b32 %r10, 1;")),
            "text.ptx:11:9: expected a declared name, found '%r10'");
  EXPECT_EQ(error_of(with_body("mov.b32 %r01, 1;")),
            "text.ptx:11:9: expected a declared name, found '%r01'");
  EXPECT_EQ(error_of(with_body("bra L;")), "text.ptx:11:5: expected label 'L' to be declared");
  EXPECT_EQ(error_of(with_body("{ L: } bra L;")),
            "text.ptx:11:12: expected label 'L' to be declared");
  EXPECT_EQ(error_of(with_body("L: L: ret;")),
            "text.ptx:11:4: expected a new name, 'L' is declared in this scope already");
  EXPECT_EQ(error_of(with_body("@%r1 ret;")),
            "text.ptx:11:2: expected a predicate register after '@', found '%r1'");
  EXPECT_EQ(error_of(with_body("call foo;")),
            "text.ptx:11:6: expected a declared function to call, found 'foo'");
  EXPECT_EQ(error_of(with_body("brx.idx %r1, foo;")),
            "text.ptx:11:14: expected a list of targets or a prototype, found 'foo'");
  EXPECT_EQ(error_of(with_header(".entry k() { ret; } .entry k() { ret; }")),
            "text.ptx:4:28: expected a new name, 'k' is declared already");
  EXPECT_EQ(error_of(with_header(".global .u64 p = q;")),
            "text.ptx:4: expected 'q', which initialises 'p', to be declared");
}

TEST(BadText, ValuesThatCannotBe) {
  EXPECT_EQ(error_of(with_body("mov.b32 %r1, 1/0;")),
            "text.ptx:11:15: expected a divisor other than zero after '/'");
  EXPECT_EQ(error_of(with_body("mov.b32 %r1, ~1.5;")),
            "text.ptx:11:14: expected an integer after '~'");
  EXPECT_EQ(error_of(with_header(".global .b8 x[0];")),
            "text.ptx:4:15: expected a positive array size");
  EXPECT_EQ(error_of(with_header(".global .b8 x[-1];")),
            "text.ptx:4:15: expected a positive array size");
  EXPECT_EQ(error_of(with_header(".global .align 3 .b8 x;")),
            "text.ptx:4:9: expected an alignment that is a power of two");
  EXPECT_EQ(error_of(with_header(".global .b64 x[4294967296][4294967296];")),
            "text.ptx:4:15: expected an array of less than 2^60 bytes");
  EXPECT_EQ(error_of(with_header(".global .b8 x[2] = {1, 2, 3};")),
            "text.ptx:4:27: expected no more initial data than the array holds");
  EXPECT_EQ(error_of(with_header(".global .b8 x[2] = {{1}};")),
            "text.ptx:4:21: expected a constant, found '{'");
  EXPECT_EQ(error_of(with_header(".global .b32 x = 1.5;")),
            "text.ptx:4:18: expected an integer for type '.b32'");
  EXPECT_EQ(error_of(with_header(".global .b8 x[2][99999999999] = {{1}, {2}};")),
            "text.ptx:4:40: expected less than 256 MiB of initial data");
}

TEST(BadText, UnknownDirectivesAreNotSkipped) {
  EXPECT_EQ(error_of(with_header(".frobnicate 1;")),
            "text.ptx:4:1: expected a directive that a module may hold, found '.frobnicate'");
  EXPECT_EQ(error_of(with_body(".frobnicate 1;")),
            "text.ptx:11:1: expected a directive that a function may hold, found '.frobnicate'");
  EXPECT_EQ(error_of(with_header(".entry k() .frobnicate { }")),
            "text.ptx:4:12: expected '{', ';' or a performance directive, found '.frobnicate'");
}

TEST(BadText, ArraysIndexedByRegistersAreRefused) {
  const auto module = parse(with_body("ld.b32 %r1, tile[%r2];"), "text.ptx");
  ASSERT_FALSE(module.has_value());
  EXPECT_EQ(module.error().code, DiagnosticCode::Refused);
}

std::string repeated(std::string_view text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(BadText, DeepNestingEndsInADiagnostic) {
  constexpr size_t kMany = 200000;
  for (const std::string& text :
       {with_body("mov.b32 %r1, " + repeated("(", kMany)),
        with_body("mov.b32 %r1, " + repeated("-", kMany)),
        with_body("mov.b32 %r1, " + repeated("{", kMany)),
        with_body("ld.b32 %r1, " + repeated("[%rd1, ", kMany)),
        with_body("mov.b32 %r1, " + repeated("1?", kMany)), with_body(repeated("{", kMany)),
        with_header(".global .b8 x[1] = " + repeated("{", kMany)),
        with_header(".global .b8 x" + repeated("[1]", kMany) + ";")}) {
    EXPECT_NE(error_of(text), "none");
  }
}

TEST(BadText, LongChainsOfInliningAreFreedFlat) {
  std::string text;
  for (int i = 1; i < 100000; ++i) {
    text += ".loc 1 " + std::to_string(i) + " 1, function_name f, inlined_at 1 " +
            std::to_string(i - 1) + " 1\n";
  }
  EXPECT_EQ(kernel_of(text + "ret;").body.size(), 1u);
}

TEST(BadText, RangesOfRegistersCostNothing) {
  const Function f = kernel_of(".reg .b32 %big<4000000000>; mov.b32 %big3999999999, 1;");
  EXPECT_EQ(f.registers.size(), 1u);
}

// Every prefix that ends between two tokens, and the same with a stray token behind it.
TEST(BadText, EveryTruncationParsesOrGivesOneDiagnostic) {
  const std::string whole = read_data("mixed.ptx");
  std::vector<size_t> ends;
  Lexer lexer(whole);
  while (lexer.next().kind != Token::Kind::End) ends.push_back(lexer.position());
  ASSERT_GT(ends.size(), 1000u);
  size_t parsed = 0;
  for (size_t end : ends) {
    for (std::string_view tail : {"", " }", " ;", " {", " 0f"}) {
      const auto module = parse(whole.substr(0, end) + std::string(tail), "text.ptx");
      if (module) {
        ++parsed;
        continue;
      }
      EXPECT_EQ(module.error().code, DiagnosticCode::PtxSyntax);
      EXPECT_EQ(module.error().message.find("expected"), 0u) << module.error().message;
      EXPECT_GT(module.error().span.line, 0u);
    }
  }
  // The whole text, and those that end behind a module-level directive.
  EXPECT_GT(parsed, 5u);
  EXPECT_LT(parsed, ends.size());
}

// One token left out or doubled, at every place.
TEST(BadText, EveryDroppedOrDoubledTokenIsHandled) {
  const std::string whole = read_data("mixed.ptx");
  Lexer lexer(whole);
  size_t begin = 0, failures = 0;
  while (lexer.next().kind != Token::Kind::End) {
    const size_t end = lexer.position();
    const std::string token = whole.substr(begin, end - begin);
    for (const std::string& text : {whole.substr(0, begin) + " " + whole.substr(end),
                                    whole.substr(0, end) + " " + token + whole.substr(end)}) {
      const auto module = parse(text, "text.ptx");
      if (module) {
        for (const Function& f : module->functions) Cfg{f};
      } else {
        ++failures;
        EXPECT_GT(module.error().span.line, 0u);
      }
    }
    begin = end;
  }
  EXPECT_GT(failures, 1000u);
}

TEST(BadText, FilesThatCannotBeReadAndEmptyOnes) {
  for (const char* path : {"/nonexistent/x.ptx", "/"}) {
    const auto module = parse_file(path);
    ASSERT_FALSE(module.has_value());
    EXPECT_EQ(module.error().code, DiagnosticCode::FileNotFound);
  }
  const auto empty = parse_file("/dev/null");
  ASSERT_FALSE(empty.has_value());
  EXPECT_EQ(empty.error().code, DiagnosticCode::PtxSyntax);
  const auto whole = parse_file(std::string(COEQUAL_ROOT) + "/tests/unit/ptx/data/mixed.ptx");
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->functions.size(), 4u);
}

}  // namespace
}  // namespace coequal::ptx
