// The interpreter on hand-written PTX with results worked out by hand.
#include <numeric>

#include "unit/replay/kernel_run.h"

namespace coequal::replay {
namespace {

std::vector<uint32_t> from_each(size_t count, uint32_t (*value)(uint32_t)) {
  std::vector<uint32_t> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = value(static_cast<uint32_t>(i));
  return out;
}

const std::string kStore = "st.global.u32 [%rd4], %r10;\nret;";

TEST(Interpreter, ThreadsAndParameters) {
  expect_output(kernel_text("mad.lo.u32 %r10, %r2, 3, %r1;" + kStore), {.block = {40}, .n = 100},
                from_each(40, [](uint32_t t) { return 3 * t + 100; }));
}

TEST(Interpreter, GridOfThreeDimensions) {
  const std::string body =
      "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ctaid.y;\nmov.u32 %r5, %ctaid.z;\n"
      "mov.u32 %r6, %nctaid.x;\nmov.u32 %r7, %nctaid.y;\n"
      "mad.lo.u32 %r8, %r5, %r7, %r4;\nmad.lo.u32 %r8, %r8, %r6, %r3;\n"  // linear CTA
      "mov.u32 %r9, %tid.y;\nmov.u32 %r11, %ntid.x;\nmov.u32 %r12, %ntid.y;\n"
      "mad.lo.u32 %r13, %r9, %r11, %r2;\nmul.lo.u32 %r14, %r11, %r12;\nmad.lo.u32 %r13, %r8, %r14, "
      "%r13;\n"
      "mul.wide.u32 %rd6, %r13, 4;\nadd.u64 %rd6, %rd1, %rd6;\nst.global.u32 [%rd6], %r13;\nret;";
  expect_output(kernel_text(body), {.grid = {2, 3, 2}, .block = {4, 2}},
                from_each(96, [](uint32_t i) { return i; }));
}

TEST(Interpreter, DivergedLanesLoopOverTheirOwnCounts) {
  const std::string body =
      "mov.u32 %r10, 0;\nmov.u32 %r3, 0;\n"
      "LOOP: setp.ge.u32 %p1, %r3, %r2;\n@%p1 bra DONE;\n"
      "add.u32 %r10, %r10, %r3;\nadd.u32 %r3, %r3, 1;\nbra LOOP;\nDONE:\n" +
      kStore;
  expect_output(kernel_text(body), {.block = {48}},
                from_each(48, [](uint32_t t) { return t * (t - 1) / 2; }));
}

TEST(Interpreter, GuardsAndNegation) {
  const std::string body =
      "and.b32 %r3, %r2, 1;\nsetp.eq.u32 %p1, %r3, 0;\nmov.u32 %r10, 7;\n"
      "@%p1 mov.u32 %r10, 1;\n@!%p1 add.u32 %r10, %r10, %r2;\n" +
      kStore;
  expect_output(kernel_text(body), {.block = {8}}, {1, 8, 1, 10, 1, 12, 1, 14});
}

TEST(Interpreter, SignExtensionToTheRegister) {
  const std::string body = "ld.global.s8 %r10, [%rd5];\n" + kStore;
  expect_output(kernel_text(body), {.block = {2}, .in = {0x80, 0x7f}}, {0xffffff80, 0x7f});
  expect_output(kernel_text("ld.global.u8 %r10, [%rd5+1];\n" + kStore),
                {.block = {1}, .in = {0x8000}}, {0x80});
  expect_output(kernel_text("cvt.s8.s32 %r10, %r1;\n" + kStore), {.block = {1}, .n = 0x1ff},
                {0xffffffff});
}

TEST(Interpreter, VectorsAndPacking) {
  const std::string body =
      "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd2];\n"
      "mov.b64 %rd6, {%r3, %r4};\nmov.b64 {%r7, %r8}, %rd6;\n"
      "st.global.v2.u32 [%rd1], {%r8, %r7};\nst.global.v2.u32 [%rd1+8], {%r6, %r5};\nret;";
  expect_output(kernel_text(body), {.block = {1}, .in = {1, 2, 3, 4}}, {2, 1, 4, 3});
}

TEST(Interpreter, SharedMemoryAcrossABarrier) {
  const std::string before = ".shared .align 4 .b8 tile[512];";
  const std::string body =
      "mov.u32 %r3, tile;\nshl.b32 %r4, %r2, 2;\nadd.u32 %r5, %r3, %r4;\nst.shared.u32 [%r5], "
      "%r2;\nbar.sync 0;\n"
      "sub.u32 %r6, 127, %r2;\nshl.b32 %r6, %r6, 2;\nadd.u32 %r6, %r3, %r6;\nld.shared.u32 %r10, "
      "[%r6];\n" +
      kStore;
  expect_output(kernel_text(body, before), {.block = {128}},
                from_each(128, [](uint32_t t) { return 127 - t; }));
}

TEST(Interpreter, DynamicSharedMemoryFollowsTheStaticOne) {
  const std::string before =
      ".shared .align 4 .u32 first[3];\n.extern .shared .align 16 .b8 more[];";
  const std::string body =
      "mov.u32 %r10, more;\nst.shared.u32 [more+28], %r10;\nld.shared.u32 %r10, "
      "[more+28];\nst.shared.u32 [first], %r10;\n" +
      kStore;
  expect_output(kernel_text(body, before), {.block = {1}, .shared_bytes = 32}, {16});
}

TEST(Interpreter, GenericAddresses) {
  const std::string before = ".shared .align 8 .b8 tile[8];";
  const std::string body =
      ".local .align 8 .b8 stack[8];\n"
      "mov.u64 %rd6, tile;\ncvta.shared.u64 %rd7, %rd6;\nst.u32 [%rd7], 5;\nld.shared.u32 %r3, "
      "[tile];\n"
      "mov.u64 %rd8, stack;\ncvta.local.u64 %rd9, %rd8;\nst.u32 [%rd9+4], 6;\nld.local.u32 %r4, "
      "[stack+4];\n"
      "cvta.to.shared.u64 %rd10, %rd7;\nld.shared.u32 %r5, [%rd10];\n"
      "isspacep.shared %p1, %rd7;\nisspacep.global %p2, %rd7;\nselp.u32 %r6, 100, 0, "
      "%p1;\nselp.u32 %r7, 1000, 0, %p2;\n"
      "add.u32 %r10, %r3, %r4;\nadd.u32 %r10, %r10, %r5;\nadd.u32 %r10, %r10, %r6;\nadd.u32 %r10, "
      "%r10, %r7;\n" +
      kStore;
  expect_output(kernel_text(body, before), {.block = {1}}, {116});
}

TEST(Interpreter, ModuleVariablesAndConstants) {
  const std::string before =
      ".global .align 4 .u32 counter = 5;\n.const .align 4 .u32 table[4] = {10, 20, 30, 40};\n"
      ".global .align 8 .u64 pointer = table;";
  const std::string body =
      "ld.global.u32 %r3, [counter];\nld.const.u32 %r4, [table+8];\nld.global.u64 %rd6, "
      "[pointer];\n"
      "ld.u32 %r5, [%rd6+12];\nadd.u32 %r10, %r3, %r4;\nadd.u32 %r10, %r10, %r5;\n" +
      kStore;
  expect_output(kernel_text(body, before), {.block = {1}}, {75});
}

TEST(Interpreter, ShufflesFollowTheManual) {
  const auto shuffle = [](const std::string& text) {
    return kernel_text("add.u32 %r3, %r2, 100;\n" + text +
                       "\nselp.u32 %r5, 1000, 0, %p1;\nadd.u32 %r10, %r10, %r5;\n" + kStore);
  };
  expect_output(shuffle("shfl.sync.up.b32 %r10|%p1, %r3, 1, 0, -1;"), {.block = {32}},
                from_each(32, [](uint32_t t) { return t == 0 ? 100 : 1099 + t; }));
  expect_output(shuffle("shfl.sync.down.b32 %r10|%p1, %r3, 8, 31, -1;"), {.block = {32}},
                from_each(32, [](uint32_t t) { return t + 8 < 32 ? 1108 + t : 100 + t; }));
  expect_output(shuffle("shfl.sync.bfly.b32 %r10|%p1, %r3, 16, 31, -1;"), {.block = {32}},
                from_each(32, [](uint32_t t) { return 1100 + (t ^ 16); }));
  // Segments of eight lanes: mask 0x18 in bits 8 to 12.
  expect_output(shuffle("shfl.sync.idx.b32 %r10|%p1, %r3, 3, 0x181f, -1;"), {.block = {32}},
                from_each(32, [](uint32_t t) { return 1100 + (t & 24) + 3; }));
  expect_output(shuffle("shfl.sync.down.b32 %r10|%p1, %r3, 4, 0x181f, -1;"), {.block = {32}},
                from_each(32, [](uint32_t t) { return t % 8 < 4 ? 1104 + t : 100 + t; }));
}

TEST(Interpreter, VotesMatchesAndReductions) {
  const std::string odd = "and.b32 %r3, %r2, 1;\nsetp.ne.u32 %p1, %r3, 0;\n";
  expect_output(kernel_text(odd + "vote.sync.ballot.b32 %r10, %p1, -1;\n" + kStore),
                {.block = {32}}, std::vector<uint32_t>(32, 0xaaaaaaaa));
  expect_output(
      kernel_text(odd + "vote.sync.any.pred %p2, %p1, -1;\nselp.u32 %r10, 1, 0, %p2;\n" + kStore),
      {.block = {32}}, std::vector<uint32_t>(32, 1));
  expect_output(
      kernel_text(odd + "vote.sync.all.pred %p2, %p1, -1;\nselp.u32 %r10, 1, 0, %p2;\n" + kStore),
      {.block = {32}}, std::vector<uint32_t>(32, 0));
  expect_output(kernel_text("and.b32 %r3, %r2, 1;\nmatch.any.sync.b32 %r10, %r3, -1;\n" + kStore),
                {.block = {32}},
                from_each(32, [](uint32_t t) { return t % 2 ? 0xaaaaaaaa : 0x55555555; }));
  expect_output(kernel_text("redux.sync.add.u32 %r10, %r2, -1;\n" + kStore), {.block = {32}},
                std::vector<uint32_t>(32, 31 * 16));
  expect_output(kernel_text("sub.s32 %r3, 5, %r2;\nredux.sync.min.s32 %r10, %r3, -1;\n" + kStore),
                {.block = {32}}, std::vector<uint32_t>(32, static_cast<uint32_t>(-26)));
  expect_output(kernel_text("elect.sync %r10|%p1, -1;\n@%p1 add.u32 %r10, %r10, 50;\n" + kStore),
                {.block = {32}}, from_each(32, [](uint32_t t) { return t == 0 ? 50u : 0u; }));
}

TEST(Interpreter, CollectivesOfPartOfAWarp) {
  // Even lanes reduce among themselves on one side of a branch, odd ones on the other.
  const std::string body =
      "and.b32 %r3, %r2, 1;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra ODD;\n"
      "redux.sync.add.u32 %r10, %r2, 0x55555555;\nbra DONE;\n"
      "ODD: redux.sync.max.u32 %r10, %r2, 0xaaaaaaaa;\nDONE:\n" +
      kStore;
  expect_output(kernel_text(body), {.block = {32}},
                from_each(32, [](uint32_t t) { return t % 2 ? 31u : 240u; }));
}

TEST(Interpreter, NamedBarriersAndArrivals) {
  // Warp 0 produces and arrives; warp 1 waits for 64 threads, then reads.
  const std::string before = ".shared .align 4 .b8 tile[128];";
  const std::string body =
      "and.b32 %r3, %r2, 31;\nshl.b32 %r3, %r3, 2;\nmov.u32 %r4, tile;\nadd.u32 %r4, %r4, %r3;\n"
      "setp.ge.u32 %p1, %r2, 32;\n@%p1 bra CONSUMER;\n"
      "add.u32 %r5, %r2, 9;\nst.shared.u32 [%r4], %r5;\nbar.arrive 3, 64;\nmov.u32 %r10, 0;\nbra "
      "DONE;\n"
      "CONSUMER: bar.sync 3, 64;\nld.shared.u32 %r10, [%r4];\nDONE:\n" +
      kStore;
  expect_output(kernel_text(body, before), {.block = {64}},
                from_each(64, [](uint32_t t) { return t < 32 ? 0 : t - 32 + 9; }));
}

TEST(Interpreter, MbarrierPhases) {
  // A phase is over when 64 threads have arrived and the expected bytes have come; then the next
  // one is open, of the other parity.
  const std::string before = ".shared .align 8 .b64 bar;\n.shared .align 16 .b8 tile[256];";
  const std::string body =
      "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra READY;\nmbarrier.init.shared.b64 [bar], 64;\nREADY: "
      "bar.sync 0;\nmov.u32 %r3, tile;\nmov.u32 %r4, bar;\n@%p1 bra OTHERS;\n"
      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 256;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd2], 256, "
      "[%r4];\n"
      "OTHERS: mbarrier.arrive.shared.b64 %rd6, [bar];\n"
      "WAIT: mbarrier.try_wait.shared.b64 %p2, [bar], %rd6;\n@!%p2 bra WAIT;\n"
      "mbarrier.test_wait.parity.shared.b64 %p3, [bar], 1;\nselp.u32 %r11, 1000, 0, %p3;\n"
      "shl.b32 %r5, %r2, 2;\nadd.u32 %r5, %r5, %r3;\nld.shared.u32 %r10, [%r5];\n"
      "add.u32 %r10, %r10, %r11;\n" +
      kStore;
  const auto in = from_each(64, [](uint32_t t) { return 3 * t; });
  for (const Order order : {Order::Forward, Order::Backward, Order::Random, Order::Interleaved})
    expect_output(kernel_text(body, before),
                  {.block = {64}, .in = in, .out_words = 64, .options = {.order = order}}, in);
}

TEST(Interpreter, BarrierReductions) {
  const std::string body =
      "setp.lt.u32 %p1, %r2, 5;\nbar.red.popc.u32 %r3, 0, %p1;\nbar.red.and.pred %p2, 0, "
      "%p1;\nbar.red.or.pred %p3, 0, %p1;\n"
      "selp.u32 %r4, 100, 0, %p2;\nselp.u32 %r5, 1000, 0, %p3;\nadd.u32 %r10, %r3, %r4;\nadd.u32 "
      "%r10, %r10, %r5;\n" +
      kStore;
  expect_output(kernel_text(body), {.block = {70}}, std::vector<uint32_t>(70, 1005));
}

TEST(Interpreter, ExitedThreadsAreNotWaitedFor) {
  const std::string body =
      "setp.ge.u32 %p1, %r2, 40;\n@%p1 exit;\nbar.sync 0;\nmov.u32 %r10, 1;\n" + kStore;
  expect_output(kernel_text(body), {.block = {64}},
                from_each(64, [](uint32_t t) { return t < 40 ? 1u : 0u; }));
}

TEST(Interpreter, Atomics) {
  const std::string body =
      "atom.global.add.u32 %r3, [%rd1], 1;\nred.global.max.s32 [%rd1+4], %r2;\nred.global.xor.b32 "
      "[%rd1+8], %r2;\n"
      "atom.global.inc.u32 %r4, [%rd1+12], 4;\nmov.f32 %f1, 0f3F000000;\nred.global.add.f32 "
      "[%rd1+16], %f1;\nret;";
  // 50 threads: xor of 0..49 is 1; inc wraps at 4: 50 mod 5 = 0; 25.0f.
  expect_output(kernel_text(body), {.block = {50}}, {50, 49, 1, 0, 0x41c80000});
}

TEST(Interpreter, CompareAndSwapLockLetsEveryLaneThrough) {
  const std::string body =
      "SPIN: atom.global.cas.b32 %r3, [%rd1], 0, 1;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra SPIN;\n"
      "ld.global.u32 %r4, [%rd1+4];\nadd.u32 %r4, %r4, %r2;\nst.global.u32 [%rd1+4], "
      "%r4;\nmembar.gl;\n"
      "atom.global.exch.b32 %r5, [%rd1], 0;\nret;";
  expect_output(kernel_text(body), {.grid = {2}, .block = {40}}, {0, 2 * 780});
}

TEST(Interpreter, CtasMayWaitForEachOther) {
  // Each CTA adds one to a counter and spins until all have: none can end before the last has
  // begun.
  const std::string body =
      "red.global.add.u32 [%rd1], 1;\nSPIN: ld.volatile.global.u32 %r3, [%rd1];\nsetp.lt.u32 %p1, "
      "%r3, 3;\n@%p1 bra SPIN;\nret;";
  KernelSetup setup{.grid = {3}, .block = {1}, .out_words = 1};
  const KernelRun run = run_kernel(kernel_text(body), setup);
  ASSERT_TRUE(run.outcome.ok()) << run.outcome.fault->message;
  EXPECT_EQ(run.out[0], 3u);
}

TEST(Interpreter, AsynchronousCopies) {
  const std::string before = ".shared .align 16 .b8 tile[512];";
  const std::string body =
      "mov.u32 %r3, tile;\nshl.b32 %r4, %r2, 2;\nadd.u32 %r3, %r3, %r4;\n"
      "cp.async.ca.shared.global [%r3], [%rd5], 4;\ncp.async.commit_group;\n"
      "cp.async.ca.shared.global [%r3+128], [%rd5], 4, "
      "2;\ncp.async.commit_group;\ncp.async.wait_group 1;\n"
      "ld.shared.u32 %r5, [%r3];\ncp.async.wait_all;\nld.shared.u32 %r6, [%r3+128];\nadd.u32 %r10, "
      "%r5, %r6;\n" +
      kStore;
  expect_output(kernel_text(body, before), {.block = {2}, .in = {0x10001, 0x20002}},
                {0x10002, 0x20004});
}

TEST(Interpreter, LateCopiesShowAMissingWait) {
  const std::string before = ".shared .align 16 .b8 tile[16];";
  const std::string body =
      "cp.async.ca.shared.global [tile], [%rd2], 4;\ncp.async.commit_group;\nld.shared.u32 %r10, "
      "[tile];\n" +
      kStore;
  KernelSetup setup{.block = {1}, .in = {77}, .out_words = 1};
  EXPECT_EQ(run_kernel(kernel_text(body, before), setup).out[0], 77u);
  setup.options.late_copies = true;
  setup.options.fill = 0xee;
  EXPECT_EQ(run_kernel(kernel_text(body, before), setup).out[0], 0xeeeeeeeeu);
}

TEST(Interpreter, UninitialisedMemoryAndRegistersHoldTheFill) {
  const std::string before = ".shared .align 4 .b8 tile[16];";
  const std::string body =
      "ld.shared.u32 %r3, [tile+4];\nxor.b32 %r10, %r3, %r30;\nadd.u32 %r10, %r10, %r3;\n" + kStore;
  KernelSetup setup{.block = {1}, .out_words = 1};
  setup.options.fill = 0x21;
  EXPECT_EQ(run_kernel(kernel_text(body, before), setup).out[0], 0x21212121u);
}

TEST(Interpreter, CallsPassParametersAndRecurse) {
  // fact(n) with parameters in the frame.
  const std::string before =
      ".func (.param .b32 result) fact(.param .b32 x)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<6>;\n"
      "ld.param.u32 %r1, [x];\nmov.u32 %r2, 1;\nsetp.le.u32 %p1, %r1, 1;\n@%p1 bra DONE;\nsub.u32 "
      "%r3, %r1, 1;\n"
      "{\n.param .b32 p0;\n.param .b32 r0;\nst.param.b32 [p0], %r3;\ncall.uni (r0), fact, "
      "(p0);\nld.param.b32 %r4, [r0];\n}\n"
      "mul.lo.u32 %r2, %r4, %r1;\nDONE: st.param.b32 [result], %r2;\nret;\n}";
  const std::string body =
      "add.u32 %r3, %r2, 1;\n{\n.param .b32 p0;\n.param .b32 r0;\nst.param.b32 [p0], %r3;\n"
      "call.uni (r0), fact, (p0);\nld.param.b32 %r10, [r0];\n}\n" +
      kStore;
  expect_output(kernel_text(body, before), {.block = {10}},
                {1, 2, 6, 24, 120, 720, 5040, 40320, 362880, 3628800});
}

TEST(Interpreter, IndirectCalls) {
  const std::string before =
      ".func (.param .b32 r) twice(.param .b32 x)\n{\n.reg .b32 %r<3>;\nld.param.u32 %r1, "
      "[x];\nshl.b32 %r2, %r1, 1;\nst.param.b32 [r], %r2;\nret;\n}\n"
      ".func (.param .b32 r) square(.param .b32 x)\n{\n.reg .b32 %r<3>;\nld.param.u32 %r1, "
      "[x];\nmul.lo.u32 %r2, %r1, %r1;\nst.param.b32 [r], %r2;\nret;\n}";
  const std::string body =
      "mov.u64 %rd6, twice;\nmov.u64 %rd7, square;\nand.b32 %r3, %r2, 1;\nsetp.eq.u32 %p1, %r3, "
      "0;\nselp.b64 %rd8, %rd6, %rd7, %p1;\n"
      "{\n.param .b32 p0;\n.param .b32 r0;\nst.param.b32 [p0], %r2;\nproto: .callprototype (.param "
      ".b32 _) _ (.param .b32 _);\n"
      "call (r0), %rd8, (p0), proto;\nld.param.b32 %r10, [r0];\n}\n" +
      kStore;
  expect_output(kernel_text(body, before), {.block = {6}}, {0, 1, 4, 9, 8, 25});
}

TEST(Interpreter, CarryLivesBetweenInstructions) {
  // A 64-bit sum in two halves: (2^32 - 1) + tid, with the carry in the upper half.
  const std::string body =
      "mov.u32 %r3, -1;\nadd.cc.u32 %r4, %r3, %r2;\naddc.u32 %r5, 0, 0;\nshl.b32 %r5, %r5, "
      "8;\nadd.u32 %r10, %r4, %r5;\n" +
      kStore;
  expect_output(kernel_text(body), {.block = {4}}, {0xffffffff, 256, 257, 258});
}

TEST(Interpreter, IndexedBranches) {
  const std::string body =
      "targets: .branchtargets A, B, C;\nrem.u32 %r3, %r2, 3;\nbrx.idx %r3, targets;\n"
      "A: mov.u32 %r10, 10;\nbra DONE;\nB: mov.u32 %r10, 20;\nbra DONE;\nC: mov.u32 %r10, "
      "30;\nDONE:\n" +
      kStore;
  expect_output(kernel_text(body), {.block = {6}}, {10, 20, 30, 10, 20, 30});
}

TEST(Interpreter, MatrixRegisters) {
  // A stored 8 x 8 matrix with element (r, c) = 8 r + c, loaded transposed: lane l gets rows 2 (l %
  // 4) and the next of column l / 4.
  const std::string before = ".shared .align 16 .b8 tile[128];";
  const std::string body =
      "mov.u32 %r3, tile;\nshl.b32 %r4, %r2, 2;\nadd.u32 %r4, %r3, %r4;\n"
      "shl.b32 %r5, %r2, 1;\nadd.u32 %r6, %r5, 1;\nshl.b32 %r6, %r6, 16;\nor.b32 %r7, %r5, "
      "%r6;\nst.shared.u32 [%r4], %r7;\nbar.sync 0;\n"
      "and.b32 %r8, %r2, 7;\nshl.b32 %r8, %r8, 4;\nadd.u32 %r8, %r3, %r8;\n"
      "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r10}, [%r8];\n" +
      kStore;
  expect_output(kernel_text(body, before), {.block = {32}}, from_each(32, [](uint32_t l) {
                  const uint32_t row = 2 * (l % 4), column = l / 4;
                  return (8 * row + column) | ((8 * (row + 1) + column) << 16);
                }));
}

TEST(Interpreter, MatrixProduct) {
  // A = 1 everywhere except row 3, which is 2; B column c holds c + 1 in every row: D = C + 16 (c +
  // 1) (times 2 in row 3).
  const std::string body =
      "shr.u32 %r3, %r2, 2;\nsetp.eq.u32 %p1, %r3, 3;\nmov.b32 %r4, 0x3C003C00;\nselp.b32 %r5, "
      "0x40004000, %r4, %p1;\n"
      "add.u32 %r6, %r3, 1;\ncvt.rn.f16.u32 %h1, %r6;\nmov.b32 %r7, {%h1, %h1};\n"
      "mov.f32 %f1, 0f3F000000;\n"
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f2, %f3, %f4, %f5}, {%r5, %r4, %r5, "
      "%r4}, {%r7, %r7}, {%f1, %f1, %f1, %f1};\n"
      "shl.b32 %r8, %r2, 4;\ncvt.u64.u32 %rd6, %r8;\nadd.u64 %rd6, %rd1, %rd6;\n"
      "st.global.v4.f32 [%rd6], {%f2, %f3, %f4, %f5};\nret;";
  std::vector<uint32_t> want;
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
      const float value = 0.5f + 16.0f * static_cast<float>(column + 1) * (row == 3 ? 2.0f : 1.0f);
      uint32_t bits;
      std::memcpy(&bits, &value, 4);
      want.push_back(bits);
    }
  expect_output(kernel_text(body), {.block = {32}}, want);
}

// --- Faults

Fault fault_of(const std::string& text, const KernelSetup& setup) {
  const KernelRun run = run_kernel(text, setup);
  EXPECT_FALSE(run.outcome.ok());
  return run.outcome.fault.value_or(Fault{});
}

TEST(InterpreterFaults, OutOfBoundsNamesThreadLineAndTensor) {
  const Fault fault =
      fault_of(kernel_text("mov.u32 %r10, 1;\n" + kStore), {.block = {40}, .out_words = 37});
  EXPECT_EQ(fault.kind, FaultKind::OutOfBounds);
  EXPECT_EQ(fault.tid, (Dim3{37, 0, 0}));
  EXPECT_EQ(fault.span.line, 21u);  // the line of st.global
  EXPECT_NE(fault.message.find("byte 148 of 'out', which has 148"), std::string::npos)
      << fault.message;
}

TEST(InterpreterFaults, EachSpaceHasItsBounds) {
  const std::string before = ".shared .align 4 .b8 tile[16];";
  EXPECT_EQ(fault_of(kernel_text("ld.shared.u32 %r3, [tile+16];\nret;", before), {}).kind,
            FaultKind::OutOfBounds);
  EXPECT_EQ(
      fault_of(kernel_text("mov.u32 %r3, -4;\nld.shared.u32 %r3, [%r3];\nret;", before), {}).kind,
      FaultKind::OutOfBounds);
  EXPECT_EQ(
      fault_of(kernel_text(".local .align 4 .b8 s[8];\nst.local.u32 [s+16], 1;\nret;"), {}).kind,
      FaultKind::OutOfBounds);
  EXPECT_EQ(fault_of(kernel_text("ld.param.u32 %r3, [n+4];\nret;"), {}).kind,
            FaultKind::OutOfBounds);
  EXPECT_EQ(fault_of(kernel_text("mov.u64 %rd6, 0;\nst.global.u32 [%rd6], 1;\nret;"), {}).kind,
            FaultKind::OutOfBounds);
}

TEST(InterpreterFaults, MisalignedVector) {
  const Fault fault =
      fault_of(kernel_text("ld.global.v2.u32 {%r3, %r4}, [%rd2+4];\nret;"), {.in = {1, 2, 3, 4}});
  EXPECT_EQ(fault.kind, FaultKind::Misaligned);
}

TEST(InterpreterFaults, BarrierThatNotAllReach) {
  const Fault fault =
      fault_of(kernel_text("setp.lt.u32 %p1, %r2, 32;\n@%p1 bar.sync 1;\nbar.sync 0;\nret;"),
               {.block = {64}});
  EXPECT_EQ(fault.kind, FaultKind::Deadlock);
  EXPECT_NE(fault.message.find("64 threads"), std::string::npos) << fault.message;
}

// The manual: of an .aligned barrier all threads of a warp execute the same one.
TEST(InterpreterFaults, LanesOfOneWarpAtTwoBarriers) {
  const std::string body =
      "setp.lt.u32 %p1, %r2, 16;\n@%p1 bra OTHER;\nbarrier.sync{0} 0;\nbra DONE;\n"
      "OTHER: barrier.sync{0} 0;\nDONE:\nmov.u32 %r10, 1;\n" +
      kStore;
  const auto text = [&](const std::string& modifier) {
    std::string out = body;
    for (size_t at; (at = out.find("{0}")) != std::string::npos;) out.replace(at, 3, modifier);
    return kernel_text(out);
  };
  EXPECT_EQ(fault_of(text(".aligned"), {.block = {32}}).kind, FaultKind::Deadlock);
  expect_output(text(""), {.block = {32}}, std::vector<uint32_t>(32, 1));
}

TEST(InterpreterFaults, CollectiveThatNotAllReach) {
  const Fault fault = fault_of(kernel_text("setp.lt.u32 %p1, %r2, 16;\n@%p1 shfl.sync.idx.b32 %r3, "
                                           "%r2, 0, 31, -1;\nbar.sync 0;\nret;"),
                               {.block = {32}});
  EXPECT_EQ(fault.kind, FaultKind::Deadlock);
}

TEST(InterpreterFaults, LaneOutsideItsOwnMask) {
  const Fault fault = fault_of(kernel_text("bar.warp.sync 1;\nret;"), {.block = {2}});
  EXPECT_EQ(fault.kind, FaultKind::Invalid);
  EXPECT_EQ(fault.tid, (Dim3{1, 0, 0}));
}

TEST(InterpreterFaults, TrapAndEndlessLoop) {
  EXPECT_EQ(fault_of(kernel_text("trap;\nret;"), {}).kind, FaultKind::Trap);
  KernelSetup setup;
  setup.options.step_limit = 10000;
  EXPECT_EQ(fault_of(kernel_text("L: bra L;\n"), setup).kind, FaultKind::StepLimit);
}

TEST(InterpreterFaults, UnknownInstructionsMatterWhenReached) {
  const std::string body =
      "setp.eq.u32 %p1, %r2, 1000;\n@%p1 tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, "
      "%f6}];\nmov.u32 %r10, 1;\n";
  expect_output(kernel_text(body + kStore), {.block = {1}}, {1});
  const Fault fault = fault_of(
      kernel_text("tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];\nret;"), {});
  EXPECT_EQ(fault.kind, FaultKind::Refused);
  EXPECT_EQ(fault.message, "instruction 'tex.2d.v4.f32.f32' is not modelled");
}

TEST(InterpreterFaults, ImpossibleLaunches) {
  EXPECT_EQ(fault_of(kernel_text("ret;"), {.block = {2048}}).kind, FaultKind::Invalid);
  EXPECT_EQ(fault_of(kernel_text("ret;"), {.block = {0}}).kind, FaultKind::Invalid);
}

}  // namespace
}  // namespace coequal::replay
