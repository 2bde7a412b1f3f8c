// Branches on data: both arms run under complementary guards, and what either does carries its own.
#include "unit/exec/launch_text.h"

namespace coequal::exec {
namespace {

using testing::Bench;
using testing::expect_clean;
using testing::index_input;
using testing::Init;
using testing::input;
using testing::kernel_text;
using testing::kinds_of;
using testing::output;
using testing::TensorSpec;

TensorSpec kept(std::string name, int64_t cells, Init init = Init::Input) {
  return {std::move(name), DType::F32, cells, init, Access::ReadWrite};
}

// %f0 = x[t], %rd1 = &y[t]; %p0: x[t] > 0.
constexpr const char* kStart =
    "mul.wide.u32 %rd10, %r0, 4;\nadd.s64 %rd0, %rd0, %rd10;\nadd.s64 %rd1, %rd1, %rd10;\n"
    "ld.global.f32 %f0, [%rd0];\nsetp.gt.f32 %p0, %f0, 0f00000000;\n";

TEST(Forks, RegistersAreJoined) {
  Bench bench({input("x", 2), output("y", 2)});
  expect_clean(bench.run(
      kernel_text(2, std::string(kStart) +
                         "@%p0 bra POSITIVE;\nmov.f32 %f1, 0f40400000;\nbra.uni END;\nPOSITIVE:\n"
                         "add.f32 %f1, %f0, %f0;\nEND:\nst.global.f32 [%rd1], %f1;\nret;"),
      1, 2));
  EXPECT_EQ(bench.number(1, 0, {{5, -5}}), 10);
  EXPECT_EQ(bench.number(1, 1, {{5, -5}}), 3);
  EXPECT_EQ(bench.number(1, 1, {{5, 0}}), 3);
}

TEST(Forks, StoresUnderBothGuards) {
  Bench bench({input("x", 1), kept("y", 1)});
  expect_clean(bench.run(
      kernel_text(
          2, std::string(kStart) +
                 "@%p0 st.global.f32 [%rd1], %f0;\n@!%p0 st.global.f32 [%rd1], 0f3F800000;\nret;"),
      1, 1));
  EXPECT_EQ(bench.number(1, 0, {{5}, {9}}), 5);
  EXPECT_EQ(bench.number(1, 0, {{-5}, {9}}), 1);
}

TEST(Forks, AStoreUnderAGuardKeepsTheOldContent) {
  Bench bench({input("x", 1), kept("y", 1)});
  expect_clean(bench.run(
      kernel_text(2, std::string(kStart) + "@%p0 st.global.f32 [%rd1], %f0;\nret;"), 1, 1));
  EXPECT_EQ(bench.number(1, 0, {{5}, {9}}), 5);
  EXPECT_EQ(bench.number(1, 0, {{-5}, {9}}), 9);
}

TEST(Forks, AStoreAfterAGuardedOneReplacesIt) {
  Bench bench({input("x", 1), output("y", 1)});
  expect_clean(bench.run(
      kernel_text(2,
                  std::string(kStart) +
                      "@%p0 st.global.f32 [%rd1], %f0;\nst.global.f32 [%rd1], 0f40E00000;\nret;"),
      1, 1));
  EXPECT_EQ(bench.number(1, 0, {{5}}), 7);
  EXPECT_EQ(bench.number(1, 0, {{-5}}), 7);
  EXPECT_FALSE(bench.is_poison(1, 0));
}

TEST(Forks, Nested) {
  // y = x > 0 ? (x > 2 ? 20 : 10) : (x < -2 ? -20 : -10)
  const std::string body = std::string(kStart) +
                           "@%p0 bra P;\nsetp.lt.f32 %p1, %f0, 0fC0000000;\n@%p1 bra NN;\nmov.f32 "
                           "%f1, 0fC1200000;\nbra.uni END;\nNN:\n"
                           "mov.f32 %f1, 0fC1A00000;\nbra.uni END;\nP:\nsetp.gt.f32 %p1, %f0, "
                           "0f40000000;\n@%p1 bra PP;\n"
                           "mov.f32 %f1, 0f41200000;\nbra.uni END;\nPP:\nmov.f32 %f1, "
                           "0f41A00000;\nEND:\nst.global.f32 [%rd1], %f1;\nret;";
  Bench bench({input("x", 1), output("y", 1)});
  expect_clean(bench.run(kernel_text(2, body), 1, 1));
  for (const auto& [x, y] :
       std::vector<std::pair<int, int>>{{3, 20}, {2, 10}, {0, -10}, {-2, -10}, {-3, -20}})
    EXPECT_EQ(bench.number(1, 0, {{x}}), y) << x;
}

TEST(Forks, AThreadThatLeavesUnderAGuardStoresNoMore) {
  Bench bench({input("x", 2), kept("y", 2)});
  expect_clean(bench.run(
      kernel_text(2, std::string(kStart) + "@%p0 ret;\nst.global.f32 [%rd1], 0f3F800000;\nret;"), 1,
      2));
  EXPECT_EQ(bench.number(1, 0, {{5, -5}, {9, 9}}), 9);
  EXPECT_EQ(bench.number(1, 1, {{5, -5}, {9, 9}}), 1);
}

TEST(Forks, ARegisterOfOneArmIsPoisonAfterTheOther) {
  Bench bench({input("x", 1), output("y", 1)});
  bench.run(kernel_text(2, std::string(kStart) +
                               "@%p0 mov.f32 %f1, 0f3F800000;\nst.global.f32 [%rd1], %f1;\nret;"),
            1, 1);
  EXPECT_TRUE(bench.is_poison(1, 0));
  EXPECT_EQ(bench.number(1, 0, {{5}}), 1);
}

TEST(Forks, SharedMemoryUnderAGuard) {
  const std::string body =
      ".shared .align 4 .b8 s[8];\nmov.u32 %r9, s;\nshl.b32 %r8, %r0, 2;\nadd.u32 %r9, %r9, "
      "%r8;\n" +
      std::string(kStart) +
      "st.shared.f32 [%r9], 0f40000000;\n@%p0 st.shared.f32 [%r9], %f0;\nld.shared.f32 %f1, "
      "[%r9];\nst.global.f32 [%rd1], %f1;\nret;";
  Bench bench({input("x", 2), output("y", 2)});
  expect_clean(bench.run(kernel_text(2, body), 1, 2));
  EXPECT_EQ(bench.number(1, 0, {{5, -5}}), 5);
  EXPECT_EQ(bench.number(1, 1, {{5, -5}}), 2);
}

TEST(Forks, AnAccessOutOfBoundsUnderAGuardIsASuspicion) {
  Bench bench({input("x", 1), kept("y", 1)});
  const LaunchResult r = bench.run(
      kernel_text(2, std::string(kStart) + "@%p0 st.global.f32 [%rd1+4], %f0;\nret;"), 1, 1);
  EXPECT_TRUE(r.defects.empty());
  ASSERT_EQ(r.suspicions.size(), 1u);
  EXPECT_EQ(r.suspicions[0].defect.kind, DefectKind::OutOfBoundsWrite);
  EXPECT_EQ(bench.number(1, 0, {{5}, {9}}), 9);
  Bench plain({input("x", 1), kept("y", 1)});
  EXPECT_EQ(kinds_of(plain.run(
                kernel_text(2, std::string(kStart) + "st.global.f32 [%rd1+4], %f0;\nret;"), 1, 1)),
            std::vector<std::string>{"out-of-bounds-write"});
}

TEST(Forks, ExclusiveGuardsDoNotConflict) {
  // Threads 0 and 1 both write y[0]: thread 0 where x[0] > 0, thread 1 where not.
  const std::string body =
      "ld.global.f32 %f0, [%rd0];\nsetp.gt.f32 %p0, %f0, 0f00000000;\nsetp.eq.u32 %p1, %r0, "
      "0;\n@%p1 bra FIRST;\n"
      "@!%p0 st.global.f32 [%rd1], 0f40000000;\nret;\nFIRST:\n@%p0 st.global.f32 [%rd1], "
      "0f3F800000;\nret;";
  Bench bench({input("x", 1), kept("y", 1)});
  expect_clean(bench.run(kernel_text(2, body), 1, 2));
  EXPECT_EQ(bench.number(1, 0, {{5}, {9}}), 1);
  EXPECT_EQ(bench.number(1, 0, {{-5}, {9}}), 2);
}

TEST(Forks, GuardsThatCanHoldTogetherMayConflict) {
  const std::string body =
      "mul.wide.u32 %rd10, %r0, 4;\nadd.s64 %rd2, %rd0, %rd10;\nld.global.f32 %f0, "
      "[%rd2];\nsetp.gt.f32 %p0, %f0, 0f00000000;\n"
      "@%p0 st.global.f32 [%rd1], %f0;\nret;";
  Bench bench({input("x", 2), kept("y", 1)});
  const LaunchResult r = bench.run(kernel_text(2, body), 1, 2);
  EXPECT_TRUE(r.defects.empty());
  ASSERT_EQ(r.suspicions.size(), 1u);
  EXPECT_EQ(r.suspicions[0].defect.kind, DefectKind::GlobalRace);
  EXPECT_TRUE(r.suspicions[0].race);
}

TEST(Forks, AGatherWhoseGuardBoundsTheIndex) {
  const std::string body =
      "mul.wide.u32 %rd10, %r0, 4;\nadd.s64 %rd1, %rd1, %rd10;\nadd.s64 %rd2, %rd2, "
      "%rd10;\nld.global.u32 %r5, [%rd1];\n"
      "mov.f32 %f1, 0f00000000;\nsetp.ge.u32 %p0, %r5, 3;\n@%p0 bra END;\nmul.wide.s32 %rd11, %r5, "
      "4;\nadd.s64 %rd12, %rd0, %rd11;\n"
      "ld.global.f32 %f1, [%rd12];\nEND:\nst.global.f32 [%rd2], %f1;\nret;";
  Bench bench({input("x", 3), input("at", 2, DType::I32), output("y", 2)});
  expect_clean(bench.run(kernel_text(3, body), 1, 2));
  for (const int at : {-1, 0, 1, 2, 3, 1000})
    EXPECT_EQ(bench.number(2, 0, {{10, 20, 30}, {at, 0}}), at >= 0 && at < 3 ? 10 * (at + 1) : 0)
        << at;
}

TEST(Forks, AScatterAtAnIndexThatTheDataGive) {
  const std::string body =
      "ld.global.u32 %r5, [%rd0];\nmul.wide.s32 %rd11, %r5, 4;\nadd.s64 %rd12, %rd1, %rd11;\n"
      "st.global.f32 [%rd12], 0f40E00000;\nret;";
  Bench bench({index_input("at", 1, 0, 2), kept("y", 3)});
  expect_clean(bench.run(kernel_text(2, body), 1, 1));
  for (int at = 0; at < 3; ++at)
    for (int cell = 0; cell < 3; ++cell)
      EXPECT_EQ(bench.number(1, cell, {{at}, {1, 2, 3}}), cell == at ? 7 : cell + 1);
}

TEST(Forks, ALoopWithoutABoundIsRefused) {
  const std::string body =
      std::string(kStart) +
      "LOOP:\nadd.f32 %f0, %f0, 0fBF800000;\nsetp.gt.f32 %p0, %f0, 0f00000000;\n@%p0 bra LOOP;\n"
      "st.global.f32 [%rd1], %f0;\nret;";
  Bench bench({input("x", 1), output("y", 1)});
  const LaunchResult r = bench.run(kernel_text(2, body), 1, 1);
  EXPECT_EQ(r.refusals.size(), 1u);
  EXPECT_EQ(r.aborted_ctas, 1);
}

TEST(Branches, AJumpThroughATable) {
  const std::string body =
      "mul.wide.u32 %rd10, %r0, 4;\nadd.s64 %rd0, %rd0, %rd10;\nrem.u32 %r5, %r0, 3;\nTABLE: "
      ".branchtargets A, B, C;\n"
      "brx.idx %r5, TABLE;\nA:\nmov.u32 %r6, 10;\nbra.uni END;\nB:\nmov.u32 %r6, 20;\nbra.uni "
      "END;\nC:\nmov.u32 %r6, 30;\nEND:\n"
      "st.global.u32 [%rd0], %r6;\nret;";
  Bench bench({output("y", 8, DType::I32)});
  expect_clean(bench.run(kernel_text(1, body), 1, 8));
  for (int t = 0; t < 8; ++t) EXPECT_EQ(bench.number(0, t), 10 * (t % 3 + 1));
}

TEST(Branches, AJumpPastATableIsRefused) {
  Bench bench({output("y", 8, DType::I32)});
  const LaunchResult r =
      bench.run(kernel_text(1, "TABLE: .branchtargets A, A;\nbrx.idx %r0, TABLE;\nA:\nret;"), 1, 3);
  EXPECT_EQ(r.refusals.size(), 1u);
}

// A signed load fills the register with the sign, of the bits of a float too.
TEST(Loads, HalfAFloatWithItsSign) {
  const std::string body =
      "ld.global.s16 %r5, [%rd0];\nshr.u32 %r6, %r5, 31;\nst.global.u32 [%rd1], %r6;\nret;";
  Bench bench({input("x", 1, DType::F16), output("y", 1, DType::I32)});
  expect_clean(bench.run(kernel_text(2, body), 1, 1));
  EXPECT_EQ(bench.number(1, 0, {{-2}}), 1);
  EXPECT_EQ(bench.number(1, 0, {{2}}), 0);
}

// Lanes of a warp: one instruction after another is no order, unless it is assumed to be.
TEST(WarpLockstep, OrdersInstructionsOfOneWarpWhereItIsAssumed) {
  const std::string body =
      ".shared .align 4 .b8 s[256];\nmov.u32 %r9, s;\nshl.b32 %r8, %r0, 2;\nadd.u32 %r7, %r9, "
      "%r8;\nxor.b32 %r6, %r8, 4;\nadd.u32 %r6, %r9, %r6;\n"
      "mul.wide.u32 %rd10, %r0, 4;\nadd.s64 %rd0, %rd0, %rd10;\nadd.s64 %rd1, %rd1, "
      "%rd10;\nld.global.f32 %f0, [%rd0];\n"
      "st.shared.f32 [%r7], %f0;\nld.shared.f32 %f1, [%r6];\nst.global.f32 [%rd1], %f1;\nret;";
  Bench bench({input("x", 32), output("y", 32)});
  EXPECT_EQ(kinds_of(bench.run(kernel_text(2, body), 1, 32)),
            std::vector<std::string>{"shared-race"});
  Bench lockstep({input("x", 64), output("y", 64)});
  lockstep.options.assume.insert("warp-lockstep");
  expect_clean(lockstep.run(kernel_text(2, body), 1, 64));
  EXPECT_EQ(lockstep.value(1, 5),
            lockstep.store.leaf(lockstep.store.groups(lockstep.value(1, 0))[0], {4, 0}));
}

TEST(WarpLockstep, OneInstructionIsStillARace) {
  Bench bench({output("y", 1, DType::I32)});
  bench.options.assume.insert("warp-lockstep");
  EXPECT_EQ(kinds_of(bench.run(kernel_text(1, "st.global.u32 [%rd0], %r0;\nret;"), 1, 32)),
            std::vector<std::string>{"global-race"});
}

TEST(WarpLockstep, WarpsAreNotOrdered) {
  const std::string body =
      ".shared .align 4 .b8 s[256];\nmov.u32 %r9, s;\nshl.b32 %r8, %r0, 2;\nadd.u32 %r7, %r9, "
      "%r8;\nxor.b32 %r6, %r8, 128;\nadd.u32 %r6, %r9, %r6;\n"
      "st.shared.u32 [%r7], %r0;\nld.shared.u32 %r5, [%r6];\nmul.wide.u32 %rd10, %r0, 4;\nadd.s64 "
      "%rd0, %rd0, %rd10;\nst.global.u32 [%rd0], %r5;\nret;";
  Bench bench({output("y", 64, DType::I32)});
  bench.options.assume.insert("warp-lockstep");
  const std::vector<std::string> kinds = kinds_of(bench.run(kernel_text(1, body), 1, 64));
  ASSERT_FALSE(kinds.empty());
  EXPECT_EQ(kinds[0], "shared-race");
}

TEST(Origins, AnUninitialisedReadIsNamed) {
  Bench bench({{"s", DType::F32, 4, Init::Empty, Access::Read}, output("y", 4)});
  bench.run(kernel_text(2,
                        "mul.wide.u32 %rd10, %r0, 4;\nadd.s64 %rd0, %rd0, %rd10;\nadd.s64 %rd1, "
                        "%rd1, %rd10;\nld.global.f32 %f0, [%rd0];\n"
                        "add.f32 %f0, %f0, %f0;\nst.global.f32 [%rd1], %f0;\nret;"),
            1, 4);
  const term::Term value = bench.value(1, 2);
  ASSERT_TRUE(bench.store.has_poison(value));
  const PoisonSource& source = bench.session.poison.at(bench.store.groups(value)[0]);
  ASSERT_EQ(source.reads.count(2), 1u);
  EXPECT_EQ(source.reads.at(2).thread[0], 2);
  EXPECT_EQ(source.reads.at(2).where, "s");
  EXPECT_EQ(source.reads.at(2).index, "2");
}

}  // namespace
}  // namespace coequal::exec
