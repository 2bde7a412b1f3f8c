// What the lanes of a warp do together, against the formulas of the PTX manual.
#include <gtest/gtest.h>

#include "unit/exec/launch_text.h"

namespace coequal::exec::testing {
namespace {

// %rd8 = &x[tid], %rd9 = &y[tid], for two tensors of words.
const char* const kOwnWords =
    "mul.wide.u32 %rd7, %r0, 4;\nadd.u64 %rd8, %rd0, %rd7;\nadd.u64 %rd9, %rd1, "
    "%rd7;\nld.global.u32 %r2, [%rd8];\n";

struct Shuffle {
  const char* mode;
  int b, c;
};

// The manual's formula, term by term.
std::pair<int, bool> source_lane(const Shuffle& s, int lane) {
  const int bval = s.b & 31, cval = s.c & 31, segmask = s.c >> 8 & 31;
  const int max_lane = (lane & segmask) | (cval & ~segmask), min_lane = lane & segmask;
  const std::string mode = s.mode;
  int j = 0;
  bool p = false;
  if (mode == "up") j = lane - bval, p = j >= max_lane;
  if (mode == "down") j = lane + bval, p = j <= max_lane;
  if (mode == "bfly") j = lane ^ bval, p = j <= max_lane;
  if (mode == "idx") j = min_lane | (bval & ~segmask), p = j <= max_lane;
  return {p ? j : lane, p};
}

TEST(Shuffle, EveryModeAndWidth) {
  for (const char* mode : {"up", "down", "bfly", "idx"})
    for (const int width : {32, 16, 8, 4, 2, 1})
      for (const int b : {0, 1, 3, 5, 16, 31, 33}) {
        // As the compiler makes it of a width: clamp 31 (up: 0), and the segment in bits 8 to 12.
        const Shuffle s{mode, b, (32 - width) << 8 | (std::string(mode) == "up" ? 0 : 31)};
        Bench bench({input("x", 32, DType::U32), output("y", 64, DType::U32)});
        expect_clean(bench.run(
            kernel_text(
                2, kOwnWords +
                       fmt::format(
                           "shfl.sync.{}.b32 %r3|%p0, %r2, {}, {}, -1;\nselp.u32 %r4, 1, 0, %p0;\n"
                           "st.global.u32 [%rd9], %r3;\nst.global.u32 [%rd9+128], %r4;\nret;",
                           mode, s.b, s.c)),
            1, 32));
        for (int lane = 0; lane < 32; ++lane) {
          const auto [from, inside] = source_lane(s, lane);
          ASSERT_EQ(bench.text(1, lane), fmt::format("x[{}]", from))
              << mode << " " << width << " " << b << " lane " << lane;
          ASSERT_EQ(bench.number(1, 32 + lane), inside)
              << mode << " " << width << " " << b << " lane " << lane;
        }
      }
}

TEST(Shuffle, ValuesOfLanesThatHaveLeftAreDefectsOnlyWhereTheyArrive) {
  Bench bench({input("x", 32, DType::U32), output("y", 32, DType::U32)});
  const auto r = bench.run(
      kernel_text(
          2,
          std::string(kOwnWords) +
              "setp.gt.u32 %p0, %r0, 15;\n@%p0 ret;\nshfl.sync.down.b32 %r3, %r2, 1, 31, 0xffff;\n"
              "st.global.u32 [%rd9], %r3;\nret;"),
      1, 32);
  expect_clean(r);
  EXPECT_EQ(bench.text(1, 3), "x[4]");
  EXPECT_TRUE(bench.is_poison(1, 15));
}

TEST(Shuffle, ALivingLaneThatDoesNotComeIsADefect) {
  Bench bench({input("x", 32, DType::U32), output("y", 32, DType::U32)});
  EXPECT_EQ(
      kinds_of(bench.run(
          kernel_text(2, std::string(kOwnWords) +
                             "setp.gt.u32 %p0, %r0, 15;\n@%p0 bra END;\n"
                             "shfl.sync.bfly.b32 %r2, %r2, 1, 31, -1;\nEND:\nbar.sync 0;\nret;"),
          1, 32)),
      std::vector<std::string>{"inactive-lane"});
}

TEST(Shuffle, LanesThatHaveLeftAreNotWaitedFor) {
  Bench bench({input("x", 32, DType::U32), output("y", 32, DType::U32)});
  expect_clean(bench.run(
      kernel_text(
          2, std::string(kOwnWords) +
                 "setp.gt.u32 %p0, %r0, 15;\n@%p0 ret;\nshfl.sync.bfly.b32 %r2, %r2, 1, 31, -1;\n"
                 "st.global.u32 [%rd9], %r2;\nret;"),
      1, 32));
  EXPECT_EQ(bench.text(1, 4), "x[5]");
}

TEST(Shuffle, LanesMeetAcrossPositions) {
  // Both sides of the branch execute the same shuffle of the whole warp.
  Bench bench({input("x", 32, DType::U32), output("y", 32, DType::U32)});
  expect_clean(bench.run(
      kernel_text(
          2,
          std::string(kOwnWords) +
              "setp.gt.u32 %p0, %r0, 15;\n@%p0 bra HIGH;\nshfl.sync.bfly.b32 %r3, %r2, 16, 31, "
              "-1;\n"
              "bra END;\nHIGH:\nshfl.sync.bfly.b32 %r4, %r2, 16, 31, -1;\nmov.u32 %r3, %r4;\nEND:\n"
              "st.global.u32 [%rd9], %r3;\nret;"),
      1, 32));
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(bench.text(1, lane), fmt::format("x[{}]", lane ^ 16));
}

TEST(Vote, OfKnownPredicates) {
  Bench bench({input("x", 32, DType::U32), output("y", 128, DType::U32)});
  expect_clean(bench.run(
      kernel_text(
          2,
          std::string(kOwnWords) +
              "setp.lt.u32 %p0, %r0, 5;\nvote.sync.ballot.b32 %r3, %p0, -1;\nvote.sync.all.pred "
              "%p1, %p0, 0x1f;\n"
              "st.global.u32 [%rd9], %r3;\nvote.sync.any.pred %p2, %p0, -1;\nvote.sync.uni.pred "
              "%p3, !%p0, -1;\n"
              "selp.u32 %r4, 1, 0, %p2;\nselp.u32 %r5, 1, 0, %p3;\nst.global.u32 [%rd9+128], %r4;\n"
              "st.global.u32 [%rd9+256], %r5;\nret;"),
      1, 5));
  EXPECT_EQ(bench.number(1, 0), 31);
  EXPECT_EQ(bench.number(1, 32), 1);
  EXPECT_EQ(bench.number(1, 64), 1);  // five lanes, all false
}

TEST(Match, AnyAndAll) {
  // Lanes hold lane / 3.
  Bench bench({input("x", 32, DType::U32), output("y", 128, DType::U32)});
  expect_clean(bench.run(
      kernel_text(
          2,
          std::string(kOwnWords) +
              "div.u32 %r3, %r0, 3;\nmatch.any.sync.b32 %r4, %r3, -1;\nst.global.u32 [%rd9], %r4;\n"
              "match.all.sync.b32 %r5|%p0, %r3, -1;\nst.global.u32 [%rd9+128], %r5;\nmov.u32 %r6, "
              "7;\n"
              "match.all.sync.b32 %r7|%p1, %r6, -1;\nselp.u32 %r8, %r7, 0, %p1;\nst.global.u32 "
              "[%rd9+256], %r8;\nret;"),
      1, 32));
  EXPECT_EQ(bench.number(1, 0), 0b111);
  EXPECT_EQ(bench.number(1, 7), 0b111000000);
  EXPECT_EQ(bench.number(1, 32), 0);
  EXPECT_EQ(bench.number(1, 64), -1);  // every lane
}

TEST(Match, OfData) {
  Bench bench({input("x", 32, DType::U32), output("y", 32, DType::U32)});
  expect_clean(bench.run(
      kernel_text(2, std::string(kOwnWords) +
                         "match.any.sync.b32 %r4, %r2, 15;\nst.global.u32 [%rd9], %r4;\nret;"),
      1, 4));
  EXPECT_EQ(bench.number(1, 0, {{5, 6, 5, 5}}), 0b1101);
  EXPECT_EQ(bench.number(1, 1, {{5, 6, 5, 5}}), 0b0010);
}

TEST(Redux, EveryOperation) {
  struct Row {
    const char* op;
    int64_t want;
  };
  // 12, 10, -1, 7
  for (const Row& row :
       {Row{"add.s32", 28}, Row{"min.s32", -1}, Row{"max.s32", 12}, Row{"min.u32", 7},
        Row{"max.u32", -1}, Row{"and.b32", 0}, Row{"or.b32", -1}, Row{"xor.b32", -2}}) {
    Bench bench({input("x", 32, DType::U32), output("y", 32, DType::U32)});
    expect_clean(bench.run(
        kernel_text(
            2,
            kOwnWords + fmt::format("redux.sync.{} %r4, %r2, 15;\nst.global.u32 [%rd9], %r4;\nret;",
                                    row.op)),
        1, 4));
    for (int lane = 0; lane < 4; ++lane)
      EXPECT_EQ(bench.number(1, lane, {{12, 10, -1, 7}}), row.want) << row.op;
  }
}

TEST(Elect, OneLaneOfThoseThatTakePart) {
  Bench bench({input("x", 32, DType::U32), output("y", 64, DType::U32)});
  const auto r = bench.run(
      kernel_text(
          2, std::string(kOwnWords) +
                 "elect.sync %r4|%p0, -1;\nselp.u32 %r5, 1, 0, %p0;\nst.global.u32 [%rd9], %r4;\n"
                 "st.global.u32 [%rd9+128], %r5;\nret;"),
      1, 32);
  expect_clean(r);
  int64_t leaders = 0;
  for (int lane = 0; lane < 32; ++lane) {
    leaders += bench.number(1, 32 + lane);
    EXPECT_EQ(bench.number(1, lane), bench.number(1, 0));
  }
  EXPECT_EQ(leaders, 1);
}

TEST(Activemask, IsRefusedOnlyWhereItMatters) {
  Bench bench({input("x", 32, DType::U32), output("y", 64, DType::U32)});
  const auto r = bench.run(
      kernel_text(2, std::string(kOwnWords) + "activemask.b32 %r4;\nst.global.u32 [%rd9], "
                                              "%r2;\nst.global.u32 [%rd9+128], %r4;\nret;"),
      1, 32);
  expect_clean(r);
  EXPECT_EQ(bench.text(1, 3), "x[3]");
  EXPECT_TRUE(bench.is_poison(1, 32));
}

TEST(WarpBarrier, OrdersSharedMemoryOfItsLanes) {
  const std::string exchange =
      "mov.u32 %r5, buffer;\nshl.b32 %r6, %r0, 2;\nadd.u32 %r6, %r5, %r6;\nst.shared.u32 [%r6], "
      "%r2;\n{}xor.b32 %r7, %r0, 1;\n"
      "shl.b32 %r7, %r7, 2;\nadd.u32 %r7, %r5, %r7;\nld.shared.u32 %r8, [%r7];\nst.global.u32 "
      "[%rd9], %r8;\nret;";
  const char* const buffer = ".shared .align 16 .b8 buffer[128];\n";
  for (const bool ordered : {true, false}) {
    Bench bench({input("x", 32, DType::U32), output("y", 32, DType::U32)});
    const auto r = bench.run(
        kernel_text(
            2,
            kOwnWords + fmt::format(fmt::runtime(exchange), ordered ? "bar.warp.sync -1;\n" : ""),
            buffer),
        1, 32);
    if (ordered) {
      expect_clean(r);
      EXPECT_EQ(bench.text(1, 6), "x[7]");
    } else {
      EXPECT_EQ(kinds_of(r), std::vector<std::string>{"shared-race"});
      EXPECT_TRUE(bench.is_poison(1, 6));
    }
  }
}

}  // namespace
}  // namespace coequal::exec::testing
