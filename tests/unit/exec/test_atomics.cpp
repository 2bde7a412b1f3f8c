// Loops around a compare-and-swap, the last block that takes a number, and flags that threads wait
// for. Right values from the PTX manual: an atomic is indivisible, so additions by all threads
// leave the sum; release and acquire patterns order what comes before the one and after the other.
#include "unit/exec/launch_text.h"

namespace coequal::exec {
namespace {

using testing::Bench;
using testing::expect_clean;
using testing::input;
using testing::kernel_text;
using testing::kinds_of;
using testing::output;
using testing::TensorSpec;

TensorSpec zeros(std::string name, int64_t cells, DType dtype = DType::U32) {
  return {std::move(name), dtype, cells, testing::Init::Zeros, Access::ReadWrite};
}

bool is_refused(const LaunchResult& result) {
  return result.aborted_ctas > 0 && !result.refusals.empty() && result.defects.empty();
}

// Thread t applies `update` (%f2 from the old value %f1 and its own %f0) to cell 0 of tensor 1.
std::string swap_loop(const std::string& update,
                      const std::string& test = "setp.ne.b32 %p0, %r5, %r4;\n") {
  return kernel_text(2,
                     "mul.wide.u32 %rd10, %r0, 4;\nadd.s64 %rd0, %rd0, %rd10;\n"
                     "ld.global.f32 %f0, [%rd0];\nld.global.b32 %r4, [%rd1];\n"
                     "LOOP:\nmov.b32 %f1, %r4;\n" +
                         update +
                         "mov.b32 %r3, %f2;\natom.global.cas.b32 %r5, [%rd1], %r4, %r3;\n" + test +
                         "mov.b32 %r4, %r5;\n@%p0 bra LOOP;\nret;");
}

TEST(CasLoop, AdditionsLeaveTheSum) {
  Bench bench({input("x", 4), zeros("y", 1, DType::F32)});
  expect_clean(bench.run(swap_loop("add.f32 %f2, %f1, %f0;\n"), 1, 4));
  EXPECT_EQ(bench.number(1, 0, {{1, 20, 300, 4000}}), 4321);
}

TEST(CasLoop, MaximaLeaveTheGreatest) {
  Bench bench({input("x", 3), zeros("y", 1, DType::F32)});
  expect_clean(bench.run(swap_loop("max.f32 %f2, %f1, %f0;\n"), 1, 3));
  EXPECT_EQ(bench.number(1, 0, {{2, 7, 5}}), 7);
  EXPECT_EQ(bench.number(1, 0, {{-2, -7, -5}}), 0);  // the cell held 0
}

TEST(CasLoop, WhatDoesNotCommuteIsRefused) {
  Bench bench({input("x", 2), zeros("y", 1, DType::F32)});
  const LaunchResult r =
      bench.run(swap_loop("mul.f32 %f2, %f1, 0f40000000;\nadd.f32 %f2, %f2, %f0;\n"), 1, 2);
  EXPECT_TRUE(is_refused(r));
}

TEST(CasLoop, ALoopThatEndsThoughTheSwapFailedIsRefused) {
  Bench bench({input("x", 2), zeros("y", 1, DType::F32)});
  EXPECT_TRUE(is_refused(
      bench.run(swap_loop("add.f32 %f2, %f1, %f0;\n", "setp.eq.b32 %p0, %r5, %r4;\n"), 1, 2)));
}

// Block b stores 1 << b to part[b] and counts; the last one adds all parts.
std::string last_block(const std::string& release, const std::string& acquire) {
  return kernel_text(3,
                     "mov.u32 %r9, 1;\nshl.b32 %r2, %r9, %r1;\nmul.wide.u32 %rd10, %r1, 4;\n"
                     "add.s64 %rd11, %rd0, %rd10;\nst.global.u32 [%rd11], %r2;\n" +
                         release +
                         "atom.global.add.u32 %r3, [%rd1], 1;\nsetp.ne.u32 %p0, %r3, 2;\n"
                         "@%p0 bra END;\n" +
                         acquire +
                         "ld.global.u32 %r4, [%rd0];\nld.global.u32 %r5, [%rd0+4];\n"
                         "ld.global.u32 %r6, [%rd0+8];\nadd.u32 %r4, %r4, %r5;\n"
                         "add.u32 %r4, %r4, %r6;\nst.global.u32 [%rd2], %r4;\nEND:\nret;");
}

TEST(Ticket, TheLastBlockSeesAllParts) {
  Bench bench({zeros("part", 3), zeros("count", 1), output("y", 1, DType::U32)});
  expect_clean(bench.run(last_block("membar.gl;\n", "membar.gl;\n"), 3, 1));
  EXPECT_EQ(bench.number(2, 0), 7);
  EXPECT_EQ(bench.number(1, 0), 3);
}

TEST(Ticket, WithoutAReleaseItRaces) {
  Bench bench({zeros("part", 3), zeros("count", 1), output("y", 1, DType::U32)});
  // Of each of the three loads.
  EXPECT_EQ(kinds_of(bench.run(last_block("", "membar.gl;\n"), 3, 1)),
            (std::vector<std::string>{"global-race", "global-race", "global-race"}));
}

TEST(Ticket, WithoutAnAcquireItIsRefused) {
  Bench bench({zeros("part", 3), zeros("count", 1), output("y", 1, DType::U32)});
  EXPECT_TRUE(is_refused(bench.run(last_block("membar.gl;\n", ""), 3, 1)));
}

// Block 0 stores 5 and sets a flag to 1, block 1 waits until it is `awaited`.
std::string hand_over(const std::string& set, const std::string& get, const std::string& after,
                      const std::string& awaited = "1") {
  return kernel_text(3, "setp.ne.u32 %p0, %r1, 0;\n@%p0 bra WAIT;\nst.global.u32 [%rd0], 5;\n" +
                            set + "bra END;\nWAIT:\n" + get +
                            " %r3, [%rd1];\nsetp.ne.u32 %p1, %r3, " + awaited +
                            ";\n@%p1 bra WAIT;\n" + after +
                            "ld.global.u32 %r4, [%rd0];\nst.global.u32 [%rd2], %r4;\nEND:\nret;");
}

Bench flag_bench() {
  return Bench({zeros("part", 1), zeros("flag", 1), output("y", 1, DType::U32)});
}

TEST(Flag, ReleaseAndAcquireOrder) {
  Bench bench = flag_bench();
  expect_clean(
      bench.run(hand_over("st.release.gpu.u32 [%rd1], 1;\n", "ld.acquire.gpu.u32", ""), 2, 1));
  EXPECT_EQ(bench.number(2, 0), 5);
}

TEST(Flag, FencesBesideRelaxedAccessesOrder) {
  Bench bench = flag_bench();
  expect_clean(bench.run(hand_over("fence.acq_rel.gpu;\nst.relaxed.gpu.u32 [%rd1], 1;\n",
                                   "ld.relaxed.gpu.u32", "fence.acq_rel.gpu;\n"),
                         2, 1));
  EXPECT_EQ(bench.number(2, 0), 5);
}

TEST(Flag, RelaxedAccessesDoNot) {
  for (const auto& [set, get] : {std::pair("st.relaxed.gpu.u32 [%rd1], 1;\n", "ld.acquire.gpu.u32"),
                                 std::pair("st.release.gpu.u32 [%rd1], 1;\n", "ld.relaxed.gpu.u32"),
                                 std::pair("st.release.cta.u32 [%rd1], 1;\n", "ld.acquire.gpu.u32"),
                                 std::pair("st.global.u32 [%rd1], 1;\n", "ld.acquire.gpu.u32")}) {
    Bench bench = flag_bench();
    const std::vector<std::string> kinds = kinds_of(bench.run(hand_over(set, get, ""), 2, 1));
    ASSERT_FALSE(kinds.empty()) << set << get;
    EXPECT_EQ(kinds[0], "global-race");
  }
}

TEST(Flag, AWaitThatNothingEnds) {
  Bench bench = flag_bench();
  EXPECT_EQ(kinds_of(bench.run(
                hand_over("st.release.gpu.u32 [%rd1], 1;\n", "ld.acquire.gpu.u32", "", "2"), 2, 1)),
            std::vector<std::string>{"barrier-divergence"});
}

// All blocks add 1 to a counter and wait until it is at least `target`; then each reads the part of
// the next one.
std::string meeting(const std::string& target) {
  return kernel_text(3,
                     "mul.wide.u32 %rd10, %r1, 4;\nadd.s64 %rd11, %rd0, %rd10;\n"
                     "st.global.u32 [%rd11], %r1;\natom.add.release.gpu.u32 %r2, [%rd1], 1;\n"
                     "WAIT:\nld.acquire.gpu.u32 %r3, [%rd1];\nsetp.lt.u32 %p0, %r3, " +
                         target +
                         ";\n@%p0 bra WAIT;\nadd.u32 %r4, %r1, 1;\nrem.u32 %r4, %r4, 3;\n"
                         "mul.wide.u32 %rd12, %r4, 4;\nadd.s64 %rd13, %rd0, %rd12;\n"
                         "ld.global.u32 %r5, [%rd13];\nadd.s64 %rd14, %rd2, %rd10;\n"
                         "st.global.u32 [%rd14], %r5;\nret;");
}

TEST(Flag, BlocksMeetAtACounter) {
  Bench bench({zeros("part", 3), zeros("count", 1), output("y", 3, DType::U32)});
  expect_clean(bench.run(meeting("3"), 3, 1));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bench.number(2, i), (i + 1) % 3);
}

TEST(Flag, AMeetingThatMayLackOneIsRefused) {
  Bench bench({zeros("part", 3), zeros("count", 1), output("y", 3, DType::U32)});
  EXPECT_TRUE(is_refused(bench.run(meeting("2"), 3, 1)));
}

}  // namespace
}  // namespace coequal::exec
