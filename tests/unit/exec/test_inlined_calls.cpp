// Functions in the place of their calls: arguments, results, early returns, nesting, and frames
// that forget.
#include "unit/exec/launch_text.h"

namespace coequal::exec {
namespace {

using testing::Bench;
using testing::expect_clean;
using testing::input;
using testing::kernel_text;
using testing::output;

constexpr const char* kScaled =
    ".func (.param .b32 r) scaled(.param .b32 v, .param .b32 k) {\n.reg .f32 %f<4>; .reg .pred "
    "%p;\n"
    "ld.param.f32 %f0, [v]; ld.param.f32 %f1, [k];\nsetp.eq.f32 %p, %f1, 0f00000000;\n@%p bra "
    "SHORT;\n"
    "mul.f32 %f2, %f0, %f1;\nst.param.f32 [r], %f2;\nret;\nSHORT:\nst.param.f32 [r], "
    "0f40E00000;\nret;\n}\n";

std::string call_scaled(const std::string& from, const std::string& factor, const std::string& to) {
  return "{ .param .b32 a0; .param .b32 a1; .param .b32 q;\nst.param.f32 [a0], " + from +
         ";\nst.param.f32 [a1], " + factor + ";\ncall.uni (q), scaled, (a0, a1);\nld.param.f32 " +
         to + ", [q]; }\n";
}

constexpr const char* kAddresses =
    "mul.wide.u32 %rd10, %r0, 4;\nadd.s64 %rd0, %rd0, %rd10;\nadd.s64 %rd1, %rd1, %rd10;\n"
    "ld.global.f32 %f0, [%rd0];\n";

TEST(InlinedCalls, ParametersAndResults) {
  Bench bench({input("x", 4), output("y", 4)});
  expect_clean(bench.run(
      kernel_text(2,
                  std::string(kAddresses) + call_scaled("%f0", "0f40400000", "%f1") +
                      call_scaled("%f1", "0f40000000", "%f2") + "st.global.f32 [%rd1], %f2;\nret;",
                  kScaled),
      1, 4));
  for (int t = 0; t < 4; ++t) EXPECT_EQ(bench.number(1, t, {{1, 2, 3, 4}}), 6 * (t + 1));
}

TEST(InlinedCalls, LanesReturnFromDifferentPlaces) {
  Bench bench({input("x", 4), output("y", 4)});
  // Lane 0 passes the factor 0 and returns 7; the others return t * x[t].
  expect_clean(bench.run(
      kernel_text(2,
                  std::string(kAddresses) + "cvt.rn.f32.u32 %f5, %r0;\n" +
                      call_scaled("%f0", "%f5", "%f1") + "st.global.f32 [%rd1], %f1;\nret;",
                  kScaled),
      1, 4));
  EXPECT_EQ(bench.number(1, 0, {{5, 5, 5, 5}}), 7);
  for (int t = 1; t < 4; ++t) EXPECT_EQ(bench.number(1, t, {{5, 5, 5, 5}}), 5 * t);
}

TEST(InlinedCalls, AReturnThatDependsOnData) {
  Bench bench({input("x", 4), output("y", 4)});
  expect_clean(
      bench.run(kernel_text(2,
                            std::string(kAddresses) + call_scaled("0f40400000", "%f0", "%f1") +
                                "st.global.f32 [%rd1], %f1;\nret;",
                            kScaled),
                1, 2));
  EXPECT_EQ(bench.number(1, 0, {{0, 2}}), 7);
  EXPECT_EQ(bench.number(1, 1, {{0, 2}}), 6);
}

TEST(InlinedCalls, RegistersAsParameters) {
  Bench bench({input("x", 4), output("y", 4)});
  const std::string square =
      ".func (.reg .f32 %s) square(.reg .f32 %v) {\nmul.f32 %s, %v, %v;\nret;\n}\n"
      ".func (.reg .f32 %s) fourth(.reg .f32 %v) {\ncall.uni (%s), square, (%v);\ncall.uni (%s), "
      "square, (%s);\nret;\n}\n";
  expect_clean(
      bench.run(kernel_text(2,
                            std::string(kAddresses) +
                                "call.uni (%f1), fourth, (%f0);\nst.global.f32 [%rd1], %f1;\nret;",
                            square),
                1, 4));
  for (int t = 0; t < 4; ++t)
    EXPECT_EQ(bench.number(1, t, {{1, 2, 3, -2}}), t == 0 ? 1 : t == 2 ? 81 : 16);
}

TEST(InlinedCalls, ACallUnderAGuardThatIsKnown) {
  Bench bench({input("x", 4), output("y", 4)});
  const std::string square =
      ".func (.reg .f32 %s) square(.reg .f32 %v) {\nmul.f32 %s, %v, %v;\nret;\n}\n";
  expect_clean(
      bench.run(kernel_text(2,
                            std::string(kAddresses) +
                                "mov.f32 %f1, 0f3F800000;\nsetp.gt.u32 %p0, %r0, 1;\n"
                                "@%p0 call (%f1), square, (%f0);\nst.global.f32 [%rd1], %f1;\nret;",
                            square),
                1, 4));
  EXPECT_EQ(bench.number(1, 1, {{9, 9, 9, 9}}), 1);
  EXPECT_EQ(bench.number(1, 2, {{9, 9, 9, 9}}), 81);
}

// A function that writes its result only sometimes must not give back what an earlier call left.
TEST(InlinedCalls, NothingIsLeftOfAnEarlierCall) {
  const std::string lazy =
      ".func (.param .b32 r) lazy(.reg .b32 %k) {\n.reg .pred %p; .reg .f32 %f;\n.local .align 4 "
      ".b8 own[4];\n"
      "setp.ne.u32 %p, %k, 0;\n@%p bra LATER;\nmov.f32 %f, 0f40400000;\nst.local.f32 [own], "
      "%f;\nst.param.f32 [r], %f;\nret;\n"
      "LATER:\nld.local.f32 %f, [own];\nst.param.f32 [r], %f;\nret;\n}\n";
  // A loop: the second turn reads the local variable, which only the first has written.
  Bench bench({output("y", 2)});
  bench.run(
      kernel_text(
          1,
          "mov.u32 %r5, 0;\nLOOP:\n{ .param .b32 q;\ncall.uni (q), lazy, (%r5);\nld.param.f32 %f1, "
          "[q]; }\n"
          "mul.wide.u32 %rd5, %r5, 4;\nadd.s64 %rd6, %rd0, %rd5;\nst.global.f32 [%rd6], %f1;\n"
          "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p0, %r5, 2;\n@%p0 bra LOOP;\nret;",
          lazy),
      1, 1);
  EXPECT_EQ(bench.number(0, 0), 3);
  EXPECT_TRUE(bench.is_poison(0, 1));
}

TEST(InlinedCalls, AResultThatIsNotWrittenIsPoison) {
  const std::string empty = ".func (.param .b32 r) empty(.reg .b32 %k) {\nret;\n}\n";
  Bench bench({output("y", 1)});
  bench.run(kernel_text(1,
                        "{ .param .b32 q;\nst.param.f32 [q], 0f3F800000;\ncall.uni (q), empty, "
                        "(%r0);\nld.param.f32 %f1, [q]; }\n"
                        "st.global.f32 [%rd0], %f1;\nret;",
                        empty),
            1, 1);
  EXPECT_TRUE(bench.is_poison(0, 0));
}

TEST(InlinedCalls, StaticSharedArraysAreOneForAllCalls) {
  const std::string kept =
      ".func (.reg .f32 %r) keep(.reg .f32 %v, .reg .b32 %first) {\n.shared .align 4 .b8 "
      "cell[4];\n.reg .pred %p;\n"
      "setp.eq.u32 %p, %first, 0;\n@%p bra READ;\nst.shared.f32 [cell], %v;\nREAD:\nld.shared.f32 "
      "%r, [cell];\nret;\n}\n";
  Bench bench({input("x", 1), output("y", 1)});
  expect_clean(bench.run(kernel_text(2,
                                     "ld.global.f32 %f0, [%rd0];\ncall (%f1), keep, (%f0, "
                                     "1);\ncall (%f2), keep, (0f00000000, 0);\n"
                                     "st.global.f32 [%rd1], %f2;\nret;",
                                     kept),
                         1, 1));
  EXPECT_EQ(bench.number(1, 0, {{11}}), 11);
}

TEST(InlinedCalls, RecursionThatEndsIsFollowed) {
  const std::string factorial =
      ".func (.reg .b32 %r) fact(.reg .b32 %n) {\n.reg .pred %p; .reg .b32 %m;\nmov.u32 %r, "
      "1;\nsetp.lt.u32 %p, %n, 2;\n"
      "@%p ret;\nsub.u32 %m, %n, 1;\ncall (%m), fact, (%m);\nmul.lo.u32 %r, %n, %m;\nret;\n}\n";
  Bench bench({output("y", 1, DType::I32)});
  expect_clean(bench.run(
      kernel_text(1, "call (%r3), fact, (6);\nst.global.u32 [%rd0], %r3;\nret;", factorial), 1, 1));
  EXPECT_EQ(bench.number(0, 0), 720);
}

TEST(InlinedCalls, DeclarationsAreRefusedByNameWhenReached) {
  const std::string fail = ".extern .func give_up(.param .b32 code);\n";
  const std::string body = "{ .param .b32 c;\nst.param.b32 [c], %r0;\ncall.uni give_up, (c); }\n";
  Bench bench({output("y", 1, DType::I32)});
  const LaunchResult reached = bench.run(kernel_text(1, body + "ret;", fail), 1, 1);
  ASSERT_EQ(reached.refusals.size(), 1u);
  EXPECT_NE(reached.refusals[0].reason.find("give_up"), std::string::npos);
  EXPECT_EQ(reached.aborted_ctas, 1);
  Bench other({output("y", 1, DType::I32)});
  expect_clean(other.run(
      kernel_text(1, "bra.uni PAST;\n" + body + "PAST:\nst.global.u32 [%rd0], 5;\nret;", fail), 1,
      1));
  EXPECT_EQ(other.number(0, 0), 5);
}

TEST(InlinedCalls, TheAddressOfAParameterIsRefused) {
  const std::string peek =
      ".func (.reg .b32 %r) peek(.param .b32 v) {\n.reg .b64 %d;\nmov.u64 %d, v;\ncvt.u32.u64 %r, "
      "%d;\nret;\n}\n";
  Bench bench({output("y", 1, DType::I32)});
  bench.run(kernel_text(1,
                        "{ .param .b32 a;\nst.param.b32 [a], 3;\ncall (%r3), peek, (a); "
                        "}\nst.global.u32 [%rd0], %r3;\nret;",
                        peek),
            1, 1);
  EXPECT_TRUE(bench.is_poison(0, 0));
}

}  // namespace
}  // namespace coequal::exec
