// Blocks and immediate post-dominators on graphs drawn by hand.
#include "ptx/cfg.h"
#include "ptx_text.h"

namespace coequal::ptx {
namespace {

constexpr uint32_t kExit = Cfg::kExit;

TEST(Cfg, StraightLineIsOneBlock) {
  const Function f = kernel_of("membar.gl; membar.gl; ret;");
  const Cfg cfg(f);
  ASSERT_EQ(cfg.blocks().size(), 1u);
  EXPECT_EQ(cfg.blocks()[0].begin, 0u);
  EXPECT_EQ(cfg.blocks()[0].end, 3u);
  EXPECT_EQ(cfg.blocks()[0].successors, std::vector<uint32_t>{kExit});
  EXPECT_EQ(cfg.reconvergence(1), kExit);
}

TEST(Cfg, EmptyBody) { EXPECT_TRUE(Cfg(kernel_of("")).blocks().empty()); }

TEST(Cfg, EndOfTheBodyIsTheExit) {
  const Function f = kernel_of("@%p1 bra END; membar.gl; END:");
  const Cfg cfg(f);
  ASSERT_EQ(cfg.blocks().size(), 2u);
  EXPECT_EQ(cfg.blocks()[0].successors, (std::vector<uint32_t>{1, kExit}));
  EXPECT_EQ(cfg.blocks()[1].successors, std::vector<uint32_t>{kExit});
  EXPECT_EQ(cfg.reconvergence(0), kExit);
}

TEST(Cfg, DiamondMeetsBehindBothArms) {
  // 0 bra; 1, 2 left; 3 right; 4 meet
  const Function f = kernel_of("@%p1 bra R; membar.cta; bra M; R: membar.gl; M: ret;");
  const Cfg cfg(f);
  ASSERT_EQ(cfg.blocks().size(), 4u);
  EXPECT_EQ(cfg.blocks()[0].successors, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(cfg.block_of(2), 1u);
  EXPECT_EQ(cfg.reconvergence(0), 4u);
  EXPECT_EQ(cfg.reconvergence(1), 4u);
  EXPECT_EQ(cfg.reconvergence(3), 4u);
  EXPECT_EQ(cfg.reconvergence(4), kExit);
}

TEST(Cfg, LoopLeavesThroughItsTest) {
  // 0 entry; 1, 2 body and back edge; 3 after
  const Function f = kernel_of("membar.cta; L: membar.gl; @%p1 bra L; ret;");
  const Cfg cfg(f);
  EXPECT_EQ(cfg.reconvergence(0), 1u);
  EXPECT_EQ(cfg.reconvergence(2), 3u);
}

TEST(Cfg, NestedLoopWithBreak) {
  // 0 outer head; 1 inner head; 2 break to 5; 3 inner latch; 4 bra outer; 5 after
  const Function f =
      kernel_of("O: membar.cta; I: membar.gl; @%p1 bra X; @%p2 bra I; bra O; X: ret;");
  const Cfg cfg(f);
  EXPECT_EQ(cfg.reconvergence(0), 1u);
  EXPECT_EQ(cfg.reconvergence(2), 5u);
  EXPECT_EQ(cfg.reconvergence(3), 1u);
  EXPECT_EQ(cfg.reconvergence(4), 0u);
}

TEST(Cfg, EarlyExitLeavesOnlyTheExit) {
  const Function guarded = kernel_of("@%p1 ret; membar.gl; ret;");
  EXPECT_EQ(Cfg(guarded).blocks()[0].successors, (std::vector<uint32_t>{1, kExit}));
  EXPECT_EQ(Cfg(guarded).reconvergence(0), kExit);
  const Function exits = kernel_of("@%p1 bra A; @%p2 exit; membar.gl; A: membar.gl; ret;");
  EXPECT_EQ(Cfg(exits).reconvergence(0), kExit);
}

TEST(Cfg, TrapMovesNoReconvergencePoint) {
  const Function f = kernel_of("@%p1 bra OK; trap; OK: membar.gl; ret;");
  const Cfg cfg(f);
  EXPECT_TRUE(cfg.blocks()[1].successors.empty());
  EXPECT_EQ(cfg.reconvergence(0), 2u);
  EXPECT_EQ(cfg.reconvergence(1), kExit);
}

TEST(Cfg, InfiniteLoopHasNoPostDominatorButTheExit) {
  // 0 bra to 3; 1, 2 loop for ever; 3 leaves
  const Function f = kernel_of("@%p1 bra A; L: membar.gl; bra L; A: ret;");
  const Cfg cfg(f);
  EXPECT_EQ(cfg.reconvergence(1), kExit);
  EXPECT_EQ(cfg.reconvergence(2), kExit);
  EXPECT_EQ(cfg.reconvergence(0), 3u);
  const Function all = kernel_of("L: membar.gl; bra L;");
  EXPECT_EQ(Cfg(all).reconvergence(0), kExit);
}

TEST(Cfg, IrreducibleLoop) {
  // Two entries, at 2 (A) and 4 (B), of the cycle A -> B -> A; the way out is behind B.
  const Function f = kernel_of(
      "@%p1 bra B; membar.cta; A: membar.gl; @%p2 bra B; B: membar.sys; @%p3 bra A; ret;");
  const Cfg cfg(f);
  EXPECT_EQ(cfg.reconvergence(0), 4u);
  EXPECT_EQ(cfg.reconvergence(1), 2u);
  EXPECT_EQ(cfg.reconvergence(2), 4u);
  EXPECT_EQ(cfg.reconvergence(5), 6u);
}

TEST(Cfg, BranchListsAndUnguardedBranches) {
  // 0 brx to 1, 3 or 5
  const Function f = kernel_of(
      "ts: .branchtargets A, B, C, A;\nbrx.idx %r1, ts;\nA: membar.gl; bra C; B: membar.cta; bra "
      "C; C: ret;");
  const Cfg cfg(f);
  EXPECT_EQ(cfg.blocks()[0].successors, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(cfg.reconvergence(0), 5u);
}

TEST(Cfg, UnreachableBlocksAreBlocks) {
  const Function f = kernel_of("bra M; membar.gl; M: ret;");
  const Cfg cfg(f);
  ASSERT_EQ(cfg.blocks().size(), 3u);
  EXPECT_EQ(cfg.reconvergence(1), 2u);
}

TEST(Cfg, LongChainsNeedNoStack) {
  std::string text;
  for (int i = 0; i < 100000; ++i)
    text += "bra L" + std::to_string(i) + "; L" + std::to_string(i) + ": ";
  const Function f = kernel_of(text + "ret;");
  EXPECT_EQ(Cfg(f).reconvergence(0), 1u);
}

}  // namespace
}  // namespace coequal::ptx
