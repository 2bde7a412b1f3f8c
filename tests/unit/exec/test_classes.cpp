// How a grid falls into classes of CTAs, how cells and values move over them, and what happens
// where CTAs meet other cells.
#include <gtest/gtest.h>

#include "unit/exec/launch_text.h"

namespace coequal::exec::testing {
namespace {

// Runs the same launch by classes and CTA by CTA and compares every cell of every tensor that was
// written.
struct Both {
  Both(const std::vector<TensorSpec>& specs, const std::string& text, uint32_t grid, uint32_t block)
      : classes(specs), whole(specs) {
    whole.options.whole_grid = true;
    by_class = classes.run(text, grid, block);
    by_cta = whole.run(text, grid, block);
    for (uint32_t t = 0; t < specs.size(); ++t)
      for (int64_t c = 0; c < specs[t].cells; ++c)
        EXPECT_EQ(classes.text(t, c), whole.text(t, c)) << specs[t].name << "[" << c << "]";
  }
  Bench classes, whole;
  LaunchResult by_class, by_cta;
};

// %r4 = ctaid * 8 + tid, %rd8 = &x[%r4], %rd9 = &y[%r4].
const std::string kLinear =
    "mad.lo.u32 %r4, %r1, 8, %r0;\nmul.wide.u32 %rd7, %r4, 4;\nadd.u64 %rd8, %rd0, %rd7;\nadd.u64 "
    "%rd9, %rd1, %rd7;\n";

TEST(Classes, OneForAllThatDoTheSame) {
  Both b({input("x", 80), output("y", 80)},
         kernel_text(2, kLinear + "ld.global.f32 %f0, [%rd8];\nst.global.f32 [%rd9], %f0;\nret;"),
         10, 8);
  expect_clean(b.by_class);
  EXPECT_EQ(b.by_class.classes, 1);
  EXPECT_EQ(b.by_cta.classes, 10);
  EXPECT_EQ(b.classes.text(1, 77), "x[77]");
}

TEST(Classes, ARaggedTailIsASecondOne) {
  Both b({input("x", 77), output("y", 77)},
         kernel_text(2, kLinear + "setp.ge.u32 %p0, %r4, 77;\n@%p0 ret;\nld.global.f32 %f0, "
                                  "[%rd8];\nst.global.f32 [%rd9], %f0;\nret;"),
         10, 8);
  expect_clean(b.by_class);
  EXPECT_EQ(b.by_class.classes, 2);
}

TEST(Classes, OnSeveralThreadsAsOnOne) {
  // Blocks leave the class of block 0 one by one and each does something of its own: its count of
  // rounds, an index in a value, a cell that nobody wrote, a race.
  std::string body = kLinear + "ld.global.f32 %f0, [%rd8];\nmov.f32 %f1, %f0;\nmov.u32 %r10, 0;\n";
  for (int block = 1; block < 6; ++block)
    body += fmt::format("setp.eq.u32 %p0, %r1, {0};\n@%p0 bra B{0};\n", block);
  body += "bra LOOP;\n";
  for (int block = 1; block < 6; ++block)
    body += fmt::format("B{0}:\nadd.f32 %f1, %f1, 0f3f800000;\nmov.u32 %r10, {1};\n{2}bra LOOP;\n",
                        block, 200 * block,
                        block == 2   ? "cvt.rn.f32.u32 %f2, %r1;\nmul.f32 %f1, %f1, %f2;\n"
                        : block == 3 ? "ld.global.f32 %f3, [%rd9];\nadd.f32 %f1, %f1, %f3;\n"
                        : block == 4 ? "st.shared.u32 [%rd20], %r0;\nld.shared.f32 %f1, [%rd20];\n"
                                     : "");
  body +=
      "LOOP:\nadd.u32 %r10, %r10, 1;\nfma.rn.f32 %f1, %f1, %f0, %f0;\nsetp.lt.u32 %p1, %r10, "
      "9000;\n"
      "@%p1 bra LOOP;\nst.global.f32 [%rd9], %f1;\nret;";
  const std::string text =
      kernel_text(2, "mov.u64 %rd20, buffer;\n" + body, ".shared .align 4 .b8 buffer[4];\n");
  const std::vector<TensorSpec> specs{input("x", 48), output("y", 48)};
  Bench one(specs), several(specs);
  Workers workers(3);
  several.session.workers = &workers;
  const LaunchResult a = one.run(text, 6, 8), b = several.run(text, 6, 8);
  EXPECT_EQ(a.classes, b.classes);
  EXPECT_EQ(a.thread_instructions, b.thread_instructions);
  EXPECT_EQ(kinds_of(a), kinds_of(b));
  EXPECT_FALSE(a.defects.empty());
  for (size_t i = 0; i < std::min(a.defects.size(), b.defects.size()); ++i)
    EXPECT_EQ(a.defects[i].message, b.defects[i].message);
  for (int64_t c = 0; c < 48; ++c) EXPECT_EQ(one.text(1, c), several.text(1, c)) << c;
  EXPECT_GT(one.store.node_count(), 1000u);
}

TEST(Classes, BordersAreThree) {
  // y[i] = x[i - 1] and x[i + 1] where they are: the first, the last, all others.
  Both b({input("x", 80), output("y", 80)},
         kernel_text(2, kLinear +
                            "mov.f32 %f0, 0f00000000;\nmov.f32 %f1, 0f00000000;\nsetp.eq.u32 %p0, "
                            "%r4, 0;\n@!%p0 ld.global.f32 %f0, [%rd8+-4];\n"
                            "setp.eq.u32 %p1, %r4, 79;\n@!%p1 ld.global.f32 %f1, "
                            "[%rd8+4];\nadd.f32 %f2, %f0, %f1;\nst.global.f32 [%rd9], %f2;\nret;"),
         10, 8);
  expect_clean(b.by_class);
  EXPECT_EQ(b.by_class.classes, 3);
}

TEST(Classes, DivisionAndRemainderOfTheIndex) {
  // CTA c reads x[c % 3 * 8 + tid] and x[c / 3 * 8 + tid].
  Both b(
      {input("x", 80), output("y", 80)},
      kernel_text(2, kLinear + "rem.u32 %r5, %r1, 3;\ndiv.u32 %r6, %r1, 3;\nmad.lo.u32 %r5, %r5, "
                               "8, %r0;\nmad.lo.u32 %r6, %r6, 8, %r0;\n"
                               "mul.wide.u32 %rd10, %r5, 4;\nadd.u64 %rd10, %rd0, "
                               "%rd10;\nmul.wide.u32 %rd11, %r6, 4;\nadd.u64 %rd11, %rd0, %rd11;\n"
                               "ld.global.f32 %f0, [%rd10];\nst.global.f32 [%rd9], %f0;\nret;"),
      10, 8);
  expect_clean(b.by_class);
  EXPECT_EQ(b.by_class.classes, 1);
  EXPECT_EQ(b.classes.text(1, 5 * 8 + 2), "x[18]");
}

TEST(Classes, IndexThatWrapsIn32Bits) {
  // (c * 2^30 + tid) in 32 bits is tid for c = 0, 4, 8; shifted right by 30 it is c modulo 4.
  Both b({input("x", 80), output("y", 80)},
         kernel_text(
             2, kLinear + "mul.lo.u32 %r5, %r1, 1073741824;\nadd.u32 %r5, %r5, %r0;\nshr.u32 %r5, "
                          "%r5, 30;\nmad.lo.u32 %r5, %r5, 8, %r0;\n"
                          "mul.wide.u32 %rd10, %r5, 4;\nadd.u64 %rd10, %rd0, %rd10;\nld.global.f32 "
                          "%f0, [%rd10];\nst.global.f32 [%rd9], %f0;\nret;"),
         10, 8);
  expect_clean(b.by_class);
  EXPECT_EQ(b.classes.text(1, 6 * 8 + 1), "x[17]");  // 6 modulo 4 is 2
}

TEST(Classes, WideProductOfAWrappedIndex) {
  // The 32-bit product wraps before it is widened: c * 0x40000000 * 4 is 0 for every c.
  Both b({input("x", 80), output("y", 80)},
         kernel_text(2, kLinear + "mul.lo.u32 %r5, %r1, 1073741824;\nmul.lo.u32 %r5, %r5, "
                                  "4;\nadd.u32 %r5, %r5, %r0;\nmul.wide.u32 %rd10, %r5, 4;\n"
                                  "add.u64 %rd10, %rd0, %rd10;\nld.global.f32 %f0, "
                                  "[%rd10];\nst.global.f32 [%rd9], %f0;\nret;"),
         10, 8);
  expect_clean(b.by_class);
  EXPECT_EQ(b.classes.text(1, 75), "x[3]");
}

TEST(Classes, ANarrowResultInAWideRegister) {
  // The low byte of 100 * c, zero-extended and sign-extended: 100 * 3 = 300 is 44, 100 * 2 = 200 is
  // -56.
  Both b({input("x", 80), output("y", 80, DType::I32)},
         kernel_text(2, kLinear + "mul.lo.u32 %r5, %r1, 100;\ncvt.u8.u32 %r6, %r5;\ncvt.s8.s32 "
                                  "%r7, %r5;\nshl.b32 %r6, %r6, 16;\nadd.s32 %r6, %r6, %r7;\n"
                                  "st.global.u32 [%rd9], %r6;\nret;"),
         10, 8);
  expect_clean(b.by_class);
  EXPECT_EQ(b.classes.number(1, 3 * 8), 44 * 65536 + 44);
  EXPECT_EQ(b.classes.number(1, 2 * 8), 200 * 65536 - 56);
}

TEST(Classes, KnownBytesAreNotSignExtended) {
  TensorSpec table{"t", DType::U8, 4, Init::Values, Access::Read, {1, 255, 3, 128}};
  Both b(
      {input("x", 32), output("y", 32, DType::I32), table},
      kernel_text(3, kLinear + "cvt.u64.u32 %rd10, %r1;\nadd.u64 %rd10, %rd2, %rd10;\nld.global.u8 "
                               "%r5, [%rd10];\nst.global.u32 [%rd9], %r5;\nret;"),
      4, 8);
  expect_clean(b.by_class);
  EXPECT_EQ(b.classes.number(1, 8), 255);
  EXPECT_EQ(b.classes.number(1, 24), 128);
}

TEST(Classes, AMovingIntegerAsAValue) {
  Both b({input("x", 80), output("y", 80)},
         kernel_text(2, kLinear + "cvt.rn.f32.u32 %f0, %r4;\nld.global.f32 %f1, [%rd8];\nmul.f32 "
                                  "%f0, %f0, %f1;\nst.global.f32 [%rd9], %f0;\nret;"),
         10, 8);
  expect_clean(b.by_class);
  EXPECT_EQ(b.classes.number(1, 0, {{5}}), 0);
}

TEST(Classes, AccessesThatMeetInSomeCtasOnly) {
  // Thread 0 stores y[8 c], thread 1 reads y[16]: they meet where c = 2, a race of that CTA with
  // itself and of the others with it.
  Bench bench({input("x", 80), {"y", DType::F32, 80, Init::Input, Access::ReadWrite}});
  const auto r = bench.run(
      kernel_text(2, kLinear + "setp.eq.u32 %p0, %r0, 1;\n@%p0 ld.global.f32 %f0, "
                               "[%rd1+64];\nsetp.eq.u32 %p1, %r0, 0;\nmov.f32 %f1, 0f3F800000;\n"
                               "@%p1 st.global.f32 [%rd9], %f1;\n@%p0 st.global.f32 [%rd9], "
                               "%f0;\nret;"),
      4, 8);
  EXPECT_EQ(r.classes, 2);
  EXPECT_EQ(kinds_of(r), std::vector<std::string>{"global-race"});
}

TEST(Classes, AReadThatAStoreOfItsOwnCtaMeetsLater) {
  // CTA c reads y[8 c + c % 2] by thread 0 and then stores y[8 c + 1] by thread 1: odd CTAs race,
  // even ones do not.
  Bench bench({input("x", 80), {"y", DType::F32, 80, Init::Input, Access::ReadWrite}});
  const auto r =
      bench.run(kernel_text(2,
                            "shl.b32 %r4, %r1, 3;\nrem.u32 %r5, %r1, 2;\nadd.u32 %r5, %r4, "
                            "%r5;\nmul.wide.u32 %rd7, %r5, 4;\nadd.u64 %rd7, %rd1, %rd7;\n"
                            "mul.wide.u32 %rd8, %r4, 4;\nadd.u64 %rd8, %rd1, %rd8;\nmov.f32 %f1, "
                            "0f3F800000;\nsetp.eq.u32 %p0, %r0, 0;\n"
                            "@%p0 ld.global.f32 %f0, [%rd7];\nsetp.eq.u32 %p1, %r0, 1;\n@%p1 "
                            "st.global.f32 [%rd8+4], %f1;\n@%p0 st.global.f32 [%rd8+8], "
                            "%f0;\nret;"),
                4, 2);
  EXPECT_EQ(r.classes, 2);
  ASSERT_EQ(kinds_of(r), std::vector<std::string>{"global-race"});
  EXPECT_EQ(r.defects[0].accesses[0].block[0], 1);
  EXPECT_EQ(bench.text(1, 8 * 2 + 1), "1");
}

TEST(Classes, OutOfBoundsInTheLastOneOnly) {
  Bench bench({input("x", 77), output("y", 80)});
  const auto r = bench.run(
      kernel_text(2, kLinear + "ld.global.f32 %f0, [%rd8];\nst.global.f32 [%rd9], %f0;\nret;"), 10,
      8);
  EXPECT_EQ(r.classes, 2);
  EXPECT_EQ(kinds_of(r), std::vector<std::string>{"out-of-bounds-read"});
  EXPECT_EQ(bench.text(1, 76), "x[76]");
  EXPECT_TRUE(bench.is_poison(1, 77));
}

TEST(Classes, AnAddressOfNoTensorIsOutOfBounds) {
  Bench bench({input("x", 8), output("y", 8)});
  const auto r = bench.run(
      kernel_text(
          2,
          kLinear +
              "mov.u64 %rd10, 64;\nld.global.f32 %f0, [%rd10];\nst.global.f32 [%rd9], %f0;\nret;"),
      1, 8);
  EXPECT_EQ(kinds_of(r), std::vector<std::string>{"out-of-bounds-read"});
  EXPECT_TRUE(bench.is_poison(1, 0));
}

TEST(Races, WhatARacedValueReachesIsTaintedEvenIfItWasReadBefore) {
  // y is read from the cell before the second writer comes; y must not hold one interleaving's
  // value.
  const std::string text =
      kernel_text(2,
                  "mov.u32 %r5, buffer;\nsetp.eq.u32 %p0, %r0, 0;\nsetp.eq.u32 %p1, %r0, 32;\n@%p0 "
                  "st.shared.u32 [%r5], 1;\n@%p0 ld.shared.u32 %r6, [%r5];\n"
                  "@%p0 st.global.u32 [%rd1], %r6;\n@%p1 st.shared.u32 [%r5], 2;\nret;",
                  ".shared .align 4 .b8 buffer[4];\n");
  Bench bench({input("x", 8), output("y", 1, DType::U32)});
  const auto r = bench.run(text, 1, 64);
  ASSERT_FALSE(r.defects.empty());
  for (const std::string& kind : kinds_of(r)) EXPECT_EQ(kind, "shared-race");
  EXPECT_TRUE(bench.is_poison(1, 0));
}

TEST(Races, OneInstructionThatStoresOneValue) {
  const std::string store = "mov.u32 %r5, 7;\nst.global.u32 [%rd1], {};\nret;";
  Bench same({input("x", 8), output("y", 1, DType::U32)}),
      differ({input("x", 8), output("y", 1, DType::U32)});
  const auto r = same.run(kernel_text(2, fmt::format(fmt::runtime(store), "%r5")), 1, 64);
  expect_clean(r);
  EXPECT_EQ(r.notes.size(), 1u);
  EXPECT_EQ(same.number(1, 0), 7);
  EXPECT_EQ(kinds_of(differ.run(kernel_text(2, fmt::format(fmt::runtime(store), "%r0")), 1, 64)),
            std::vector<std::string>{"global-race"});
}

TEST(Atomics, AReadBehindABarrierSeesThemAll) {
  const std::string body =
      kLinear +
      "ld.global.f32 %f0, [%rd8];\nred.global.add.f32 [%rd1], %f0;\n{}setp.eq.u32 %p0, %r0, 0;\n"
      "@%p0 ld.global.f32 %f1, [%rd1];\n@%p0 st.global.f32 [%rd2], %f1;\nret;";
  const std::vector<TensorSpec> specs{
      input("x", 8), {"total", DType::F32, 1, Init::Zeros, Access::ReadWrite}, output("y", 1)};
  Bench ordered(specs), unordered(specs);
  expect_clean(ordered.run(kernel_text(3, fmt::format(fmt::runtime(body), "bar.sync 0;\n")), 1, 8));
  EXPECT_EQ(ordered.number(2, 0, {{1, 2, 3, 4, 5, 6, 7, 8}}), 36);
  EXPECT_EQ(ordered.number(1, 0, {{1, 2, 3, 4, 5, 6, 7, 8}}), 36);
  EXPECT_EQ(kinds_of(unordered.run(kernel_text(3, fmt::format(fmt::runtime(body), "")), 1, 8)),
            std::vector<std::string>{"global-race"});
}

TEST(Atomics, AStoreBehindABarrierReplacesThem) {
  Bench bench({input("x", 8), {"total", DType::F32, 1, Init::Zeros, Access::ReadWrite}});
  expect_clean(bench.run(
      kernel_text(2, kLinear +
                         "ld.global.f32 %f0, [%rd8];\nred.global.add.f32 [%rd1], %f0;\nbar.sync "
                         "0;\nsetp.eq.u32 %p0, %r0, 0;\nmov.f32 %f1, 0f40000000;\n"
                         "@%p0 st.global.f32 [%rd1], %f1;\nbar.sync 0;\nred.global.add.f32 [%rd1], "
                         "%f0;\nret;"),
      1, 8));
  EXPECT_EQ(bench.number(1, 0, {{1, 2, 3, 4, 5, 6, 7, 8}}), 38);
}

TEST(Atomics, PairsOfHalvesAreTwoSums) {
  Bench bench(
      {input("x", 16, DType::F16), {"total", DType::F16, 2, Init::Zeros, Access::ReadWrite}});
  expect_clean(bench.run(
      kernel_text(
          2,
          "mul.wide.u32 %rd7, %r0, 4;\nadd.u64 %rd8, %rd0, %rd7;\nld.global.b32 %r2, [%rd8];\n"
          "red.global.add.noftz.f16x2 [%rd1], %r2;\nret;"),
      1, 4));
  EXPECT_EQ(bench.number(1, 0, {{1, 10, 2, 20, 3, 30, 4, 40}}), 10);
  EXPECT_EQ(bench.number(1, 1, {{1, 10, 2, 20, 3, 30, 4, 40}}), 100);
}

TEST(Copies, ASecondCopyToTheSamePlace) {
  Bench bench({input("x", 8), output("y", 8)});
  const auto r = bench.run(
      kernel_text(2,
                  "mov.u32 %r5, buffer;\ncp.async.ca.shared.global [%r5], [%rd0], "
                  "4;\ncp.async.commit_group;\n"
                  "cp.async.ca.shared.global [%r5], [%rd0+4], "
                  "4;\ncp.async.commit_group;\ncp.async.wait_group 1;\nld.shared.f32 %f0, [%r5];\n"
                  "st.global.f32 [%rd1], %f0;\nret;",
                  ".shared .align 16 .b8 buffer[16];\n"),
      1, 1);
  for (const std::string& kind : kinds_of(r)) EXPECT_EQ(kind, "unwaited-copy");
  EXPECT_EQ(r.defects.size(), 2u);
}

TEST(Copies, TheSourceIsWrittenBeforeTheWait) {
  const std::string text =
      "mov.u32 %r5, buffer;\ncp.async.ca.shared.global [%r5], [%rd0], "
      "4;\ncp.async.commit_group;\n{}mov.f32 %f1, 0f40000000;\n"
      "st.global.f32 [%rd0], %f1;\n{}ld.shared.f32 %f0, [%r5];\nst.global.f32 [%rd1], %f0;\nret;";
  const std::string wait = "cp.async.wait_group 0;\n",
                    buffer = ".shared .align 16 .b8 buffer[16];\n";
  const std::vector<TensorSpec> specs{{"x", DType::F32, 8, Init::Input, Access::ReadWrite},
                                      output("y", 1)};
  Bench early(specs), late(specs);
  EXPECT_EQ(
      kinds_of(early.run(kernel_text(2, fmt::format(fmt::runtime(text), "", wait), buffer), 1, 1)),
      std::vector<std::string>{"unwaited-copy"});
  EXPECT_TRUE(early.is_poison(1, 0));
  expect_clean(late.run(kernel_text(2, fmt::format(fmt::runtime(text), wait, ""), buffer), 1, 1));
  EXPECT_EQ(late.text(1, 0), "x[0]");
}

TEST(Predicates, APackedMoveUnderAGuardOnData) {
  // The destination is taken apart only where the condition holds.
  Bench bench({input("x", 8, DType::U32), output("y", 8, DType::U32)});
  expect_clean(bench.run(
      kernel_text(2, kLinear + "ld.global.u32 %r2, [%rd8];\nmov.u32 %r6, 5;\nmov.u32 %r7, "
                               "6;\nmov.u64 %rd10, 0x200000001;\nsetp.eq.u32 %p0, %r2, 3;\n"
                               "@%p0 mov.b64 {%r6, %r7}, %rd10;\nshl.b32 %r7, %r7, 8;\nor.b32 %r6, "
                               "%r6, %r7;\nst.global.u32 [%rd9], %r6;\nret;"),
      1, 2));
  EXPECT_EQ(bench.number(1, 0, {{3, 0}}), 0x201);
  EXPECT_EQ(bench.number(1, 1, {{3, 0}}), 0x605);
}

}  // namespace
}  // namespace coequal::exec::testing
