// Barriers of the CTA and of part of it: what they order, what they compute, and when they can
// never open.
#include <gtest/gtest.h>

#include "unit/exec/launch_text.h"

namespace coequal::exec::testing {
namespace {

const char* const kBuffer = ".shared .align 16 .b8 buffer[512];\n";
// %rd8 = &x[tid], %rd9 = &y[tid], %r2 = x[tid], %r6 = &buffer[tid].
const std::string kOwn =
    "mul.wide.u32 %rd7, %r0, 4;\nadd.u64 %rd8, %rd0, %rd7;\nadd.u64 %rd9, %rd1, "
    "%rd7;\nld.global.u32 %r2, [%rd8];\n"
    "mov.u32 %r5, buffer;\nshl.b32 %r6, %r0, 2;\nadd.u32 %r6, %r5, %r6;\n";
// Lane l of warp 1 reads what lane l of warp 0 stored.
const std::string kReadFirstWarp = "ld.shared.u32 %r8, [%r6+-128];\nst.global.u32 [%rd9], %r8;\n";

std::vector<TensorSpec> words(int64_t count) {
  return {input("x", count, DType::U32), output("y", count, DType::U32)};
}

TEST(Barrier, ReductionsOverTheCta) {
  Bench bench(words(128));
  expect_clean(bench.run(
      kernel_text(
          2,
          kOwn +
              "setp.lt.u32 %p0, %r0, 7;\nbar.red.popc.u32 %r8, 0, %p0;\nbar.red.and.pred %p1, 0, "
              "%p0;\n"
              "bar.red.or.pred %p2, 0, !%p0;\nselp.u32 %r9, 10, 20, %p1;\nselp.u32 %r10, 100, 200, "
              "%p2;\n"
              "add.u32 %r8, %r8, %r9;\nadd.u32 %r8, %r8, %r10;\nst.global.u32 [%rd9], %r8;\nret;",
          kBuffer),
      1, 64));
  EXPECT_EQ(bench.number(1, 0), 7 + 20 + 100);
  EXPECT_EQ(bench.number(1, 63), 7 + 20 + 100);
}

TEST(Barrier, ReductionOfData) {
  Bench bench(words(64));
  expect_clean(bench.run(kernel_text(2,
                                     kOwn + "setp.eq.u32 %p0, %r2, 3;\nbar.red.popc.u32 %r8, 0, "
                                            "%p0;\nst.global.u32 [%rd9], %r8;\nret;",
                                     kBuffer),
                         1, 4));
  EXPECT_EQ(bench.number(1, 2, {{3, 1, 3, 2}}), 2);
}

TEST(Barrier, ThreadsThatHaveLeftAreNotWaitedFor) {
  Bench bench(words(64));
  const auto r = bench.run(kernel_text(2,
                                       kOwn +
                                           "setp.gt.u32 %p0, %r0, 40;\n@%p0 ret;\nst.shared.u32 "
                                           "[%r6], %r2;\nbar.sync 0;\nsetp.lt.u32 %p1, %r0, 32;\n"
                                           "@%p1 ret;\n" +
                                           kReadFirstWarp + "ret;",
                                       kBuffer),
                           1, 64);
  expect_clean(r);
  EXPECT_EQ(r.notes.size(), 1u);
  EXPECT_EQ(bench.text(1, 35), "x[3]");
}

TEST(Barrier, AWarpThatNeverComes) {
  Bench bench(words(64));
  EXPECT_EQ(
      kinds_of(bench.run(
          kernel_text(2,
                      kOwn + "setp.lt.u32 %p0, %r0, 32;\n@%p0 bar.sync 0;\n@!%p0 bar.sync 1;\nret;",
                      kBuffer),
          1, 64)),
      std::vector<std::string>{"barrier-divergence"});
}

TEST(Barrier, LanesOfOneWarpAtTwoAlignedBarriers) {
  Bench bench(words(64));
  EXPECT_EQ(
      kinds_of(bench.run(kernel_text(2,
                                     kOwn + "setp.lt.u32 %p0, %r0, 16;\n@%p0 bra LOW;\nbar.sync "
                                            "0;\nbra END;\nLOW:\nbar.sync 0;\nEND:\nret;",
                                     kBuffer),
                         1, 32)),
      std::vector<std::string>{"barrier-divergence"});
}

TEST(Barrier, LanesOfOneWarpAtTwoUnalignedBarriers) {
  Bench bench(words(64));
  expect_clean(
      bench.run(kernel_text(2,
                            kOwn + "setp.lt.u32 %p0, %r0, 16;\n@%p0 bra LOW;\nbarrier.sync 0;\nbra "
                                   "END;\nLOW:\nbarrier.sync 0;\nEND:\nret;",
                            kBuffer),
                1, 64));
}

// Warp 0 stores, warp 1 reads.
std::string producer_consumer(const std::string& produce, const std::string& consume) {
  return kOwn + "setp.gt.u32 %p0, %r0, 31;\n@%p0 bra CONSUMER;\nst.shared.u32 [%r6], %r2;\n" +
         produce + "bra END;\nCONSUMER:\n" + consume + kReadFirstWarp + "END:\nret;";
}

TEST(NamedBarrier, ArrivalOrdersTheProducerBeforeTheConsumer) {
  Bench bench(words(64));
  expect_clean(bench.run(
      kernel_text(2, producer_consumer("bar.arrive 3, 64;\n", "bar.sync 3, 64;\n"), kBuffer), 1,
      64));
  EXPECT_EQ(bench.text(1, 40), "x[8]");
}

TEST(NamedBarrier, AConsumerThatOnlyArrivesIsNotOrdered) {
  Bench bench(words(64));
  EXPECT_EQ(
      kinds_of(bench.run(
          kernel_text(2, producer_consumer("bar.sync 3, 64;\n", "bar.arrive 3, 64;\n"), kBuffer), 1,
          64)),
      std::vector<std::string>{"shared-race"});
}

TEST(NamedBarrier, OtherWarpsAreNotOrdered) {
  // Warps 0 and 1 meet; warp 2 reads what warp 0 stored.
  Bench bench(words(96));
  EXPECT_EQ(
      kinds_of(bench.run(
          kernel_text(
              2,
              kOwn +
                  "setp.gt.u32 %p0, %r0, 63;\n@%p0 bra OTHER;\nst.shared.u32 [%r6], %r2;\nbar.sync "
                  "1, 64;\nbra END;\n"
                  "OTHER:\nld.shared.u32 %r8, [%r6+-256];\nst.global.u32 [%rd9], %r8;\nEND:\nret;",
              kBuffer),
          1, 96)),
      std::vector<std::string>{"shared-race"});
}

TEST(NamedBarrier, TooFewArrivals) {
  Bench bench(words(64));
  EXPECT_EQ(
      kinds_of(bench.run(
          kernel_text(2, producer_consumer("bar.arrive 3, 96;\n", "bar.sync 3, 96;\n"), kBuffer), 1,
          64)),
      std::vector<std::string>{"barrier-divergence"});
}

TEST(NamedBarrier, WhichWarpsMeetMustNotDependOnTheSchedule) {
  // Three warps for two places.
  Bench bench(words(96));
  const auto r = bench.run(kernel_text(2, kOwn + "bar.sync 1, 64;\nret;", kBuffer), 1, 96);
  ASSERT_EQ(r.refusals.size(), 1u);
  EXPECT_EQ(r.refusals[0].reason,
            "which warps meet at barrier 1 depends on how they are scheduled");
  EXPECT_EQ(r.aborted_ctas, 1);
}

TEST(NamedBarrier, ACountOfTheWholeCtaIsABarrierOfTheWholeCta) {
  Bench bench(words(64));
  expect_clean(bench.run(
      kernel_text(
          2,
          kOwn +
              "st.shared.u32 [%r6], %r2;\nbar.sync 0, 64;\nsetp.lt.u32 %p0, %r0, 32;\n@%p0 ret;\n" +
              kReadFirstWarp + "ret;",
          kBuffer),
      1, 64));
  EXPECT_EQ(bench.text(1, 63), "x[31]");
}

TEST(NamedBarrier, RoundsOfAPipeline) {
  // The buffer is free (1) and full (2), three times.
  Bench bench({input("x", 96, DType::U32), output("y", 96, DType::U32)});
  const std::string body =
      "mov.u32 %r5, buffer;\nand.b32 %r3, %r0, 31;\nshl.b32 %r6, %r3, 2;\nadd.u32 %r6, %r5, "
      "%r6;\nmul.wide.u32 %rd7, %r3, 4;\n"
      "add.u64 %rd8, %rd0, %rd7;\nadd.u64 %rd9, %rd1, %rd7;\nmov.u32 %r10, 0;\nsetp.gt.u32 %p0, "
      "%r0, 31;\nLOOP:\n@%p0 bra CONSUMER;\n"
      "bar.sync 1, 64;\nld.global.u32 %r2, [%rd8];\nst.shared.u32 [%r6], %r2;\nbar.arrive 2, "
      "64;\nbra NEXT;\nCONSUMER:\nbar.arrive 1, 64;\n"
      "bar.sync 2, 64;\nld.shared.u32 %r8, [%r6];\nst.global.u32 [%rd9], %r8;\nNEXT:\nadd.u64 "
      "%rd8, %rd8, 128;\nadd.u64 %rd9, %rd9, 128;\n"
      "add.u32 %r10, %r10, 1;\nsetp.lt.u32 %p1, %r10, 3;\n@%p1 bra LOOP;\nret;";
  expect_clean(bench.run(kernel_text(2, body, kBuffer), 1, 64));
  for (int i = 0; i < 96; ++i) EXPECT_EQ(bench.text(1, i), fmt::format("x[{}]", i));
}

}  // namespace
}  // namespace coequal::exec::testing
