// The layout of the terminal report, literally.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "report/progress.h"
#include "report/terminal.h"
#include "report/text.h"
#include "unit/report/sample_results.h"

namespace coequal::report {
namespace {

TEST(Terminal, Equivalent) {
  EXPECT_EQ(render_terminal(sample_equivalent(), {}),
            R"(equivalent except where n = 0  row_sum.toml: 1,048,576 of 1,048,576 cells proved
  row sum: one thread per row against a warp per row

  excluded: inputs where a program is undefined
    where n = 0, program B is undefined for 8 cells
      no/such/row_sum.cu:12

  assumptions
    finite-inputs
    constant-snap
      1.442695 is log2(e), row_sum.cu:12
      0.3333333 is 1/3, row_sum.cu:14
    toolchain: nvcc 12.4, sm_80
)");
}

TEST(Terminal, Inequivalent) {
  EXPECT_EQ(render_terminal(sample_inequivalent(), {}),
            R"(inequivalent  softmax.toml: out[3,5] differs; 15 of 16 cells proved
  softmax: online against two passes

  witness for out[3,5]
    x[3,5] = 2
    eps    = 1/4
    every other input is 0
    A stores 7/3, about 2.333333
      no/such/softmax.cu:14
    B stores 2
      no/such/softmax.cu:31
    in floats: A gives 2.3333333 and B gives 2, on the CPU in the programs' own arithmetic
)");
}

TEST(Terminal, Defect) {
  EXPECT_EQ(render_terminal(sample_defect(), {}),
            R"(defect  pad/buggy.toml: shared-race in program A; 0 of 80 cells proved; 80 undecided
  group staging: padding lanes store over the sum and the magnitude

  defect: shared-race in program A
    two threads of a block write one byte with nothing that orders them
    write of stage[64] (4 bytes) by thread 16 of block 0
      no/such/kernels.cu:12
    write of stage[64] (4 bytes) by thread (0,2) of block (4,0,1)
      no/such/kernels.cu:19
    under x[3] = 1
    seen 1,200 times
    also: the same at stage[68], by threads 17 and 8

  undecided
    80 cells (such as y[0,0]): depends on a raced byte
      no/such/kernels.cu:25
)");
}

TEST(Terminal, Refused) {
  EXPECT_EQ(render_terminal(sample_refused(), {}),
            R"(refused  texture.toml: tex.2d.v4.f32.f32; 0 of 8 cells proved; 8 undecided

  refused: outside the model
    tex.2d.v4.f32.f32: texture fetches are not modelled, in program A
      no/such/k.cu:7
      8 cells (out[0..7]) depend on it
)");
}

TEST(Terminal, UnknownWithItsTierAndVerbosely) {
  EXPECT_EQ(
      render_terminal(sample_unknown(), {.verbose = true}),
      R"(unknown  gram.toml: vacuous; 3 of 8 cells proved, 1 exactly (2 with an error below 2^-103); 5 undecided

  vacuous: program B writes no output cell or touches no memory

  undecided
    5 cells (such as out[3]): no proof within 60 s
      left to show: (+ a b) against (+ b c)

  notes
    a masked load reads no byte

  assumptions
    probabilistic proof: error at most 9.9e-32, seed 7
)");
}

TEST(Terminal, Invalid) {
  EXPECT_EQ(render_terminal(sample_invalid(), {}),
            R"(invalid  bad.toml

  bad.toml:3:1: expected an integer, found a string
)");
}

TEST(Terminal, InvalidInOneLine) {
  EXPECT_EQ(render_terminal(sample_invalid(), {.quiet = true}),
            "invalid  bad.toml:3:1: expected an integer, found a string\n");
}

TEST(Terminal, StatisticsOnRequest) {
  std::string text = render_terminal(sample_equivalent(), {.verbose = true});
  EXPECT_TRUE(text.ends_with(R"(
  statistics
    compile         0.250 s
    decide          1.500 s
    terms           2,052
)")) << text;
}

TEST(Terminal, QuietIsOneLine) {
  EXPECT_EQ(
      render_terminal(sample_defect(), {.quiet = true}),
      "defect  pad/buggy.toml: shared-race in program A; 0 of 80 cells proved; 80 undecided\n");
}

TEST(Terminal, ExpectationsFollowTheVerdict) {
  TerminalOptions look{.quiet = true, .expect = true};
  EXPECT_EQ(render_terminal(sample_defect(), look),
            "defect  pad/buggy.toml: shared-race in program A; 0 of 80 cells proved; 80 undecided\n"
            "  as expected\n");
  InstanceResult other = sample_inequivalent();
  other.expected = sample_defect().expected;
  EXPECT_EQ(render_terminal(other, look),
            "inequivalent  softmax.toml: out[3,5] differs; 15 of 16 cells proved\n"
            "  not as expected: expected defect shared-race in program A\n");
  other.expected.reset();
  EXPECT_TRUE(
      render_terminal(other, look).ends_with("  not as expected: the instance has no [expect]\n"));
}

TEST(Terminal, ColourSurroundsTheVerdictOnly) {
  std::string text = render_terminal(sample_defect(), {.color = true, .quiet = true});
  EXPECT_TRUE(text.starts_with("\033[1;31mdefect\033[0m  pad/buggy.toml:")) << text;
}

TEST(Terminal, SourceLinesAreQuotedWhereTheyCanBeRead) {
  std::string path = (std::filesystem::temp_directory_path() / "coequal-terminal-XXXXXX").string();
  int file = mkstemp(path.data());
  ASSERT_GE(file, 0);
  close(file);
  std::ofstream(path) << "first\n    stage[lane] = value;  \nlast\n";
  InstanceResult result = sample_refused();
  result.refusals[0].span = {path, 2, 1};
  std::string text = render_terminal(result, {});
  std::filesystem::remove(path);
  EXPECT_NE(text.find("      " + path + ":2  stage[lane] = value;\n"), std::string::npos) << text;
}

TEST(Terminal, NoLineIsTooWide) {
  InstanceResult result = sample_defect();
  result.title = std::string(40, 'a') + " " + std::string(40, 'b') + " " + std::string(40, 'c');
  result.defects[0].message = "";
  for (int i = 0; i < 40; ++i) result.defects[0].message += "word" + std::to_string(i) + " ";
  std::string text = render_terminal(result, {});
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 100u) << text.substr(at, end - at);
    at = end + 1;
  }
}

TEST(Terminal, Summary) {
  RunResult run;
  run.instances = {sample_equivalent(), sample_defect(), sample_unknown(), sample_equivalent()};
  EXPECT_EQ(render_summary(run, {}), "4 instances: 1 defect, 1 unknown, 2 equivalent\n");
  // The unknown one expects nothing, and the others are what they expect.
  EXPECT_EQ(render_summary(run, {.expect = true}),
            "4 instances: 1 defect, 1 unknown, 2 equivalent; 1 not as expected\n");
  run.interrupted = true;
  EXPECT_EQ(render_summary(run, {}),
            "4 instances: 1 defect, 1 unknown, 2 equivalent; interrupted\n");
}

TEST(Text, Grouping) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
  EXPECT_EQ(grouped(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(Text, Shortening) {
  EXPECT_EQ(shorten("abcdef", 6), "abcdef");
  EXPECT_EQ(shorten("abcdefg", 6), "abc...");
  EXPECT_EQ(shorten("ééééééé", 6), "ééé...");
}

TEST(Text, Wrapping) {
  EXPECT_EQ(wrap("aa bb cc", 0, 2, 5), "aa bb\n  cc\n");
  EXPECT_EQ(wrap("aaaaaaaa b", 1, 2, 5), " aaaaaaaa\n  b\n");
  EXPECT_EQ(wrap("a\nb", 2, 4, 20), "  a\n    b\n");
  EXPECT_EQ(wrap("x  = 1", 2, 4, 20), "  x  = 1\n");
  EXPECT_EQ(wrap("", 2, 4, 20), "  \n");
}

TEST(ProgressLine, FitsAndCounts) {
  EXPECT_EQ(progress_line(0, 2, "", 80), "[------------------------] 0/2");
  EXPECT_EQ(progress_line(1, 2, "a.toml", 80), "[############------------] 1/2  a.toml");
  EXPECT_EQ(progress_line(2, 2, "a.toml", 34), "[########################] 2/2 ...");
  EXPECT_EQ(progress_line(0, 0, "", 80), "[------------------------] 0/0");
}

TEST(ProgressLine, NothingIsDrawnIntoAFile) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  {
    Progress progress(file);
    EXPECT_FALSE(progress.enabled());
    progress.show(1, 2, "a.toml");
  }
  std::fseek(file, 0, SEEK_END);
  EXPECT_EQ(std::ftell(file), 0);
  std::fclose(file);
}

}  // namespace
}  // namespace coequal::report
