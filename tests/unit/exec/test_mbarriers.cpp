// mbarrier objects: which phase an arrival, a wait or bytes are for, and what a phase orders. The
// rules are those of the PTX manual, "mbarrier".
#include <gtest/gtest.h>

#include <set>

#include "unit/exec/launch_text.h"

namespace coequal::exec::testing {
namespace {

const char* const kShared =
    ".shared .align 256 .b8 buffer[1024];\n.shared .align 8 .b64 bar;\n.shared .align 8 .b64 "
    "bar2;\n";
// %rd8 = &x[tid], %rd9 = &y[tid], %r2 = x[tid], %r6 = &buffer[tid], %r7 = the other one of a pair.
const std::string kOwn =
    "mul.wide.u32 %rd7, %r0, 4;\nadd.u64 %rd8, %rd0, %rd7;\nadd.u64 %rd9, %rd1, "
    "%rd7;\nld.global.u32 %r2, [%rd8];\n"
    "mov.u32 %r5, buffer;\nshl.b32 %r6, %r0, 2;\nadd.u32 %r6, %r5, %r6;\nxor.b32 %r7, %r6, 128;\n"
    "setp.eq.u32 %p0, %r0, 0;\n";
const std::string kMake = "@%p0 mbarrier.init.shared.b64 [bar], 64;\nbar.sync 0;\n";

std::string wait(const std::string& name, int parity, const std::string& label) {
  return label + ":\nmbarrier.try_wait.parity.shared.b64 %p1, [" + name + "], " +
         std::to_string(parity) + ";\n@!%p1 bra " + label + ";\n";
}

// Of what was reported, each kind once.
std::set<std::string> kind_set(const LaunchResult& r) {
  const std::vector<std::string> kinds = kinds_of(r);
  return {kinds.begin(), kinds.end()};
}

std::vector<TensorSpec> words(int64_t count) {
  return {input("x", count, DType::U32), output("y", count, DType::U32)};
}

LaunchResult run(Bench& bench, const std::string& body) {
  return bench.run(kernel_text(2, kOwn + body + "ret;", kShared), 1, 64);
}

const std::string kPut = "st.shared.u32 [%r6], %r2;\n";
const std::string kArrive = "mbarrier.arrive.shared.b64 %rd10, [bar];\n";
const std::string kGet = "ld.shared.u32 %r8, [%r7];\nst.global.u32 [%rd9], %r8;\n";

TEST(Mbarrier, ArrivalsComeBeforeWhatFollowsTheWait) {
  Bench bench(words(64));
  expect_clean(run(bench, kMake + kPut + kArrive + wait("bar", 0, "A") + kGet));
  EXPECT_EQ(bench.text(1, 3), "x[35]");
}

TEST(Mbarrier, AStateNamesItsPhase) {
  Bench bench(words(64));
  expect_clean(run(
      bench, kMake + kPut + kArrive +
                 "A:\nmbarrier.test_wait.shared.b64 %p1, [bar], %rd10;\n@!%p1 bra A;\n" + kGet));
  EXPECT_EQ(bench.text(1, 40), "x[8]");
}

TEST(Mbarrier, ArrivalsWithoutAWaitOrderNothing) {
  Bench bench(words(64));
  EXPECT_EQ(kinds_of(run(bench, kMake + kPut + kArrive + kGet)),
            (std::vector<std::string>{"shared-race"}));
}

TEST(Mbarrier, AFreshObjectLetsParityOnePass) {
  Bench bench(words(64));
  expect_clean(
      run(bench, kMake + wait("bar", 1, "B") + kPut + kArrive + wait("bar", 0, "A") + kGet));
}

TEST(Mbarrier, OneArrivalTooFew) {
  Bench bench(words(64));
  EXPECT_EQ(kinds_of(run(bench, kMake + kPut + "@%p0 bra C;\n" + kArrive + "C:\n" +
                                    wait("bar", 0, "A") + kGet)),
            (std::vector<std::string>{"barrier-divergence"}));
}

TEST(Mbarrier, OneArrivalTooMany) {
  Bench bench(words(64));
  const LaunchResult r = run(bench, "@%p0 mbarrier.init.shared.b64 [bar], 32;\nbar.sync 0;\n" +
                                        kPut + kArrive + wait("bar", 0, "A") + kGet);
  // The 33rd arrival may be for the next phase: nobody who makes it knows that the first is over.
  ASSERT_EQ(r.refusals.size(), 1u);
  EXPECT_EQ(r.refusals[0].reason,
            "which phase of an mbarrier this is for depends on how threads are scheduled");
}

TEST(Mbarrier, PhasesFollowEachOther) {
  Bench bench(words(64));
  expect_clean(run(bench, kMake + kPut + kArrive + wait("bar", 0, "A") +
                              "ld.shared.u32 %r9, [%r7];\n" + kArrive + wait("bar", 1, "B") +
                              "add.u32 %r9, %r9, 1;\nst.shared.u32 [%r6], %r9;\n" + kArrive +
                              wait("bar", 0, "D") + kGet));
  EXPECT_EQ(bench.number(1, 3, {{0, 0, 0, 7}}), 8);
}

TEST(Mbarrier, APhaseThatIsWaitedForByNobody) {
  Bench bench(words(64));
  // Writing again needs the readers' arrivals.
  EXPECT_EQ(kinds_of(run(bench, kMake + kPut + kArrive + wait("bar", 0, "A") + kGet +
                                    "st.shared.u32 [%r6], 0;\n")),
            (std::vector<std::string>{"shared-race"}));
}

TEST(Mbarrier, CountsOfOneArrival) {
  Bench bench(words(64));
  expect_clean(run(bench, "@%p0 mbarrier.init.shared.b64 [bar], 128;\nbar.sync 0;\n" + kPut +
                              "mbarrier.arrive.shared.b64 %rd10, [bar], 2;\n" +
                              wait("bar", 0, "A") + kGet));
}

TEST(Mbarrier, WhoLeavesIsNotWaitedForAgain) {
  Bench bench(words(64));
  expect_clean(
      run(bench,
          kMake + "setp.gt.u32 %p2, %r0, 31;\n@%p2 bra C;\n" + kArrive + wait("bar", 0, "A") +
              kPut + kArrive + wait("bar", 1, "B") +
              "xor.b32 %r9, %r6, 4;\nld.shared.u32 %r8, [%r9];\nst.global.u32 [%rd9], %r8;\nret;\n"
              "C:\nmbarrier.arrive_drop.shared.b64 %rd10, [bar];\nst.global.u32 [%rd9], 0;\n"));
  EXPECT_EQ(bench.text(1, 3), "x[2]");
}

TEST(Mbarrier, AnObjectThatIsNotInitialised) {
  Bench bench(words(64));
  EXPECT_EQ(kinds_of(run(bench, kArrive)), (std::vector<std::string>{"uninitialized-read"}));
}

TEST(Mbarrier, InitialisationIsSeenBehindABarrierOnly) {
  Bench bench(words(64));
  EXPECT_EQ(kind_set(run(bench, "@%p0 mbarrier.init.shared.b64 [bar], 64;\n" + kPut + kArrive +
                                    wait("bar", 0, "A") + kGet)),
            (std::set<std::string>{"shared-race"}));
}

// 64 words of x by one bulk copy.
const std::string kFetch =
    "@%p0 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 0;\n@!%p0 bra F;\n"
    "mbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], 256;\n"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [buffer], [%rd0], 256, "
    "[bar];\nF:\n";

TEST(Mbarrier, BytesCompleteAPhase) {
  Bench bench(words(64));
  expect_clean(run(bench, kFetch + wait("bar", 0, "A") + kGet));
  EXPECT_EQ(bench.text(1, 1), "x[33]");
}

TEST(Mbarrier, BytesThatNobodyWaitsFor) {
  Bench bench(words(64));
  EXPECT_EQ(kinds_of(run(bench, kFetch + kGet)), (std::vector<std::string>{"unwaited-copy"}));
}

TEST(Mbarrier, WhoWaitedHandsTheCopyOn) {
  Bench bench(words(64));
  expect_clean(
      run(bench, kFetch + "@!%p0 bra G;\n" + wait("bar", 0, "A") + "G:\nbar.sync 0;\n" + kGet));
}

TEST(Mbarrier, BytesReleaseNothing) {
  // The copying thread stores behind its arrival and before the copy: whoever waits for the bytes
  // knows the copy, not that store.
  const std::string body =
      "@%p0 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 0;\n@!%p0 bra F;\n"
      "mbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], 256;\nst.shared.u32 [buffer+512], %r2;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [buffer], [%rd0], 256, "
      "[bar];\nF:\n" +
      wait("bar", 0, "A") + "ld.shared.u32 %r8, [buffer+512];\nst.global.u32 [%rd9], %r8;\n";
  Bench bench(words(64));
  EXPECT_EQ(kinds_of(run(bench, body)), (std::vector<std::string>{"shared-race"}));
}

TEST(Mbarrier, MoreBytesAreExpectedThanCome) {
  Bench bench(words(64));
  std::string fetch = kFetch;
  fetch.replace(fetch.find("[bar], 256"), 10, "[bar], 272");
  EXPECT_EQ(kinds_of(run(bench, fetch + wait("bar", 0, "A") + kGet)),
            (std::vector<std::string>{"barrier-divergence"}));
}

TEST(Mbarrier, ACopyIntoWhatOthersMayStillRead) {
  Bench bench(words(64));
  const std::string again =
      "@!%p0 bra H;\nfence.proxy.async;\nmbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], 256;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [buffer], [%rd0], 256, "
      "[bar];\nH:\n";
  EXPECT_EQ(kinds_of(run(bench, kFetch + wait("bar", 0, "A") + kGet + again)),
            (std::vector<std::string>{"shared-race"}));
  Bench repaired(words(64));
  expect_clean(run(repaired, kFetch + wait("bar", 0, "A") + kGet + "bar.sync 0;\n" + again +
                                 wait("bar", 1, "B")));
}

// Clusters of two CTAs of 32 threads; %r10 = rank, %r11 = the other one, %r12 = &buffer there,
// %r13 = &bar there. y[ctaid * 32 + tid] takes the other CTA's x.
const std::string kCluster =
    "mov.u32 %r10, %cluster_ctarank;\nxor.b32 %r11, %r10, 1;\nmad.lo.u32 %r3, %r1, 32, %r0;\n"
    "mul.wide.u32 %rd7, %r3, 4;\nadd.u64 %rd8, %rd0, %rd7;\nadd.u64 %rd9, %rd1, %rd7;\n"
    "ld.global.u32 %r2, [%rd8];\nshl.b32 %r4, %r0, 2;\nmov.u32 %r5, buffer;\nadd.u32 %r6, %r5, "
    "%r4;\nmapa.shared::cluster.u32 %r12, %r6, %r11;\nmapa.shared::cluster.u32 %r13, bar, %r11;\n"
    "setp.eq.u32 %p0, %r0, 0;\n";
const std::string kMeet = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";

LaunchResult run_cluster(Bench& bench, const std::string& body) {
  return bench.run(kernel_text(2, kCluster + body + "ret;", kShared), 4, 32, 0, 2);
}

TEST(Cluster, RegistersAndRemoteMemory) {
  Bench bench(words(128));
  expect_clean(run_cluster(bench, kPut + kMeet +
                                      "ld.shared::cluster.u32 %r8, [%r12];\nst.global.u32 [%rd9], "
                                      "%r8;\n" +
                                      kMeet));
  EXPECT_EQ(bench.text(1, 3), "x[35]");
  EXPECT_EQ(bench.text(1, 100), "x[68]");
}

TEST(Cluster, ArrivalsAtAnObjectOfAnotherCta) {
  const auto body = [](const std::string& form, int count) {
    return "@%p0 mbarrier.init.shared.b64 [bar], " + std::to_string(count) + ";\n" + kMeet +
           "st.shared::cluster.u32 [%r12], %r2;\nmbarrier.arrive" + form +
           ".shared::cluster.b64 _, [%r13];\n"
           "A:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra "
           "A;\nld.shared.u32 %r8, [%r6];\nst.global.u32 [%rd9], %r8;\n" +
           kMeet;
  };
  Bench bench(words(128));
  expect_clean(run_cluster(bench, body(".release.cluster", 32)));
  EXPECT_EQ(bench.text(1, 3), "x[35]");
  Bench near(words(128));
  EXPECT_EQ(kinds_of(run_cluster(near, body(".release.cta", 32))),
            (std::vector<std::string>{"shared-race"}));
  Bench unnamed(words(128));
  const LaunchResult r = run_cluster(unnamed, body("", 32));
  expect_clean(r);
  EXPECT_EQ(r.assumptions.size(), 1u);
  Bench strict(words(128));
  strict.options.no_assume.insert("cluster-scope");
  EXPECT_EQ(kinds_of(run_cluster(strict, body("", 32))), (std::vector<std::string>{"shared-race"}));
  Bench many(words(128));
  EXPECT_EQ(kinds_of(run_cluster(many, body(".release.cluster", 33))),
            (std::vector<std::string>{"barrier-divergence"}));
}

TEST(Cluster, ARelaxedArrivalReleasesObjectsBehindTheirFenceOnly) {
  const auto body = [](const std::string& fence) {
    return "@%p0 mbarrier.init.shared.b64 [bar], 32;\n" + fence +
           "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;\n"
           "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r13];\n"
           "A:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra "
           "A;\nst.global.u32 [%rd9], 0;\n" +
           kMeet;
  };
  Bench bench(words(128));
  expect_clean(run_cluster(bench, body("fence.mbarrier_init.release.cluster;\n")));
  Bench none(words(128));
  EXPECT_EQ(kind_set(run_cluster(none, body(""))), (std::set<std::string>{"shared-race"}));
}

TEST(Cluster, ArrivalsAndWaitsTakeTurns) {
  Bench twice(words(128));
  EXPECT_EQ(kinds_of(run_cluster(twice, "barrier.cluster.arrive;\nbarrier.cluster.arrive;\n")),
            (std::vector<std::string>{"barrier-divergence"}));
  Bench early(words(128));
  EXPECT_EQ(kinds_of(run_cluster(early, "barrier.cluster.wait;\n")),
            (std::vector<std::string>{"barrier-divergence"}));
  Bench missing(words(128));
  EXPECT_EQ(kinds_of(run_cluster(missing,
                                 "setp.eq.u32 %p2, %r10, 0;\n@%p2 bra C;\n"
                                 "barrier.cluster.arrive;\nC:\nbar.sync 0;\n" +
                                     kMeet)),
            (std::vector<std::string>{"barrier-divergence"}));
}

TEST(Cluster, BarriersOfOneCtaOrderNothingBetweenTwo) {
  Bench bench(words(128));
  EXPECT_EQ(kinds_of(run_cluster(bench, kMeet + kPut +
                                            "bar.sync 0;\nld.shared::cluster.u32 %r8, [%r12];\n"
                                            "st.global.u32 [%rd9], %r8;\n" +
                                            kMeet)),
            (std::vector<std::string>{"shared-race"}));
}

TEST(Cluster, AddressesOfTheClusterAreNotThoseOfTheBlock) {
  Bench bench(words(128));
  EXPECT_EQ(kinds_of(run_cluster(bench, kPut + kMeet +
                                            "ld.shared.u32 %r8, [%r12];\nst.global.u32 [%rd9], "
                                            "%r8;\n" +
                                            kMeet)),
            (std::vector<std::string>{"shared-out-of-bounds"}));
}

TEST(Cluster, AnAsynchronousStoreIsSeenBehindItsPhase) {
  const auto body = [](bool waits) {
    return "@%p0 mbarrier.init.shared.b64 [bar], 1;\n@%p0 mbarrier.arrive.expect_tx.shared.b64 _, "
           "[bar], 128;\n" +
           kMeet +
           "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r12], %r2, [%r13];\n" +
           (waits ? wait("bar", 0, "A") : "") +
           "ld.shared.u32 %r8, [%r6];\nst.global.u32 [%rd9], %r8;\n" + kMeet;
  };
  Bench bench(words(128));
  expect_clean(run_cluster(bench, body(true)));
  EXPECT_EQ(bench.text(1, 3), "x[35]");
  Bench early(words(128));
  const std::vector<std::string> kinds = kinds_of(run_cluster(early, body(false)));
  EXPECT_NE(std::find(kinds.begin(), kinds.end(), "unwaited-copy"), kinds.end());
}

// Warps of a warpgroup change their number of registers together.
TEST(Registers, AreGivenToWholeWarpgroups) {
  const auto text = [](const std::string& body) {
    return kernel_text(2, "setp.lt.u32 %p2, %r0, 128;\n" + body + "ret;");
  };
  const std::string both =
      "@%p2 bra A;\nsetmaxnreg.inc.sync.aligned.u32 232;\nret;\nA:\n"
      "setmaxnreg.dec.sync.aligned.u32 40;\n";
  Bench bench(words(1));
  expect_clean(bench.run(text(both), 1, 256));
  Bench odd(words(1));
  const LaunchResult r = odd.run(text("setmaxnreg.dec.sync.aligned.u32 44;\n"), 1, 128);
  ASSERT_EQ(r.refusals.size(), 1u);
  EXPECT_EQ(r.refusals[0].reason,
            "44 registers a thread: multiples of 8 from 24 to 256 are allowed");
  Bench part(words(1));
  EXPECT_EQ(kinds_of(part.run(text("setp.lt.u32 %p2, %r0, 32;\n" + both), 1, 256)),
            (std::vector<std::string>{"barrier-divergence"}));
}

}  // namespace
}  // namespace coequal::exec::testing
