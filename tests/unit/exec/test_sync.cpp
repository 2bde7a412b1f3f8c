// What is ordered inside a CTA, and which accesses to one place conflict (PTX ISA, memory
// consistency model).
#include <gtest/gtest.h>

#include "exec/sync.h"

namespace coequal::exec {
namespace {

Word known(uint64_t bits) { return Word::concrete(bits); }

AccessEvent read(uint32_t thread, uint32_t pc = 1) {
  return {thread, pc, Role::Read, 0, {}, {}, 0};
}
AccessEvent write(uint32_t thread, Word value, uint32_t pc = 2) {
  return {thread, pc, Role::Write, 0, {}, value, 0};
}
AccessEvent atomic(uint32_t thread, uint8_t op, uint32_t pc = 3) {
  return {thread, pc, Role::Atomic, op, {}, {}, 0};
}

class SyncTest : public ::testing::Test {
 protected:
  size_t conflicts(const AccessEvent& e) { return history.access(e, order).conflicts.size(); }
  term::Term condition(uint64_t value) {
    const term::Term n = store.free_scalar(store.add_scalar({"n", DType::I32, term::bv(32), {}}));
    return store.make(term::Kind::BvEq, {n, store.bits(value, 32)});
  }

  term::TermStore store;
  HappensBefore order{96};
  AccessHistory history;
};

TEST_F(SyncTest, OneThreadIsInProgramOrder) {
  EXPECT_EQ(conflicts(write(5, known(1))), 0u);
  EXPECT_EQ(conflicts(read(5)), 0u);
  EXPECT_EQ(conflicts(write(5, known(2))), 0u);
  EXPECT_EQ(conflicts(atomic(5, 0)), 0u);
}

TEST_F(SyncTest, ReadsDoNotConflict) {
  for (uint32_t t : {0u, 1u, 40u, 80u}) EXPECT_EQ(conflicts(read(t)), 0u);
}

TEST_F(SyncTest, ReadAndWriteOfTwoLanesConflict) {
  EXPECT_EQ(conflicts(write(3, known(1))), 0u);
  const auto found = history.access(read(4), order);
  ASSERT_EQ(found.conflicts.size(), 1u);
  EXPECT_EQ(found.conflicts[0].earlier.thread, 3u);
  EXPECT_EQ(found.conflicts[0].earlier.role, Role::Write);
}

TEST_F(SyncTest, TheThirdWarpIsStillSeen) {
  for (uint32_t t : {0u, 32u, 64u}) EXPECT_EQ(conflicts(read(t)), 0u);
  EXPECT_EQ(conflicts(write(0, known(1))), 1u);
}

TEST_F(SyncTest, CtaBarrierOrdersEverything) {
  conflicts(write(3, known(1)));
  order.cta_barrier();
  EXPECT_EQ(conflicts(read(70)), 0u);
  order.cta_barrier();
  EXPECT_EQ(conflicts(write(71, known(2))), 0u);
}

TEST_F(SyncTest, WarpBarrierOrdersThoseItNames) {
  conflicts(write(3, known(1)));
  order.warp_barrier(0, 0b11000);  // lanes 3 and 4
  EXPECT_EQ(conflicts(read(4)), 0u);
  EXPECT_EQ(conflicts(read(5)), 1u);
  EXPECT_EQ(conflicts(read(36)), 1u);  // another warp
}

TEST_F(SyncTest, SameBitsAtAnotherPlaceAreOtherBits) {
  AccessEvent first = write(0, known(0x11223344)), second = write(1, known(0x11223344));
  second.at = 2;
  history.access(first, order);
  EXPECT_EQ(history.access(second, order).conflicts.size(), 1u);
}

TEST_F(SyncTest, SameValueOfOneInstruction) {
  const term::Term x = store.free_scalar(store.add_scalar({"x", DType::F32, term::kReal, {}}));
  const Word real = Word::real(x, term::FloatFormat::F32);
  EXPECT_EQ(conflicts(write(0, real)), 0u);
  const auto again = history.access(write(1, real), order);
  EXPECT_TRUE(again.conflicts.empty());
  EXPECT_TRUE(again.same_writes);
  // Equal reals of another instruction may be other bits.
  EXPECT_EQ(conflicts(write(2, real, 9)), 1u);
}

TEST_F(SyncTest, EqualIntegersOfTwoInstructions) {
  conflicts(write(0, known(4), 7));
  EXPECT_EQ(conflicts(write(1, known(4), 8)), 0u);
  EXPECT_EQ(conflicts(write(2, known(5), 8)), 1u);
}

TEST_F(SyncTest, AWriterOfTheSameValueRacesWithAnEarlierReader) {
  // Thread 0 reads and then writes; thread 32 writes the same value: the read may see it or not.
  conflicts(read(0));
  conflicts(write(0, known(7)));
  EXPECT_EQ(conflicts(write(32, known(7))), 1u);
}

TEST_F(SyncTest, AtomicsOfOneKindCommute) {
  EXPECT_EQ(conflicts(atomic(0, 1)), 0u);
  EXPECT_EQ(conflicts(atomic(40, 1)), 0u);
  const auto mixed = history.access(atomic(70, 2), order);
  ASSERT_EQ(mixed.conflicts.size(), 1u);
  EXPECT_TRUE(mixed.conflicts[0].mixed_atomics);
  EXPECT_EQ(conflicts(read(0)), 1u);
}

TEST_F(SyncTest, AnAtomicOfAnotherKindDoesNotHideAnEarlierOne) {
  conflicts(atomic(0, 1));
  conflicts(atomic(0, 2));                 // the same thread: ordered
  EXPECT_EQ(conflicts(atomic(1, 2)), 1u);  // unordered with the first
}

TEST_F(SyncTest, GuardedAccessesHideNothing) {
  AccessEvent guarded = write(0, known(1));
  guarded.guard = condition(3);
  conflicts(read(0));
  EXPECT_EQ(conflicts(guarded), 0u);
  const auto found = history.access(write(1, known(2), 9), order);
  ASSERT_EQ(found.conflicts.size(), 2u);
  EXPECT_FALSE(found.conflicts[0].earlier.guard.valid());
  EXPECT_EQ(found.conflicts[1].earlier.guard, guarded.guard);
}

TEST_F(SyncTest, GuardedWritesOfOneValue) {
  AccessEvent a = write(0, known(1)), b = write(1, known(1)), c = write(2, known(0));
  a.guard = condition(3);
  b.guard = condition(4);
  c.guard = condition(5);
  EXPECT_EQ(conflicts(a), 0u);
  EXPECT_EQ(conflicts(b), 0u);
  EXPECT_EQ(conflicts(c), 2u);
}

TEST_F(SyncTest, WhatAnEarlierEpochDidUnderAGuardIsOver) {
  AccessEvent a = write(0, known(1));
  a.guard = condition(3);
  conflicts(a);
  order.cta_barrier();
  EXPECT_EQ(conflicts(write(1, known(5))), 0u);
}

TEST(NamedBarrier, ArrivalsAreBeforeDepartures) {
  HappensBefore order(96, true);
  AccessHistory before, after, back;
  before.access(write(0, known(1)), order);
  HappensBefore::Clock clock;
  order.arrive(std::vector<uint32_t>{0}, clock);
  after.access(write(0, known(2)), order);
  back.access(read(32), order);
  order.arrive(std::vector<uint32_t>{32}, clock);
  order.depart(std::vector<uint32_t>{32}, clock);
  EXPECT_EQ(before.access(read(32), order).conflicts.size(), 0u);
  EXPECT_EQ(after.access(read(32), order).conflicts.size(), 1u);
  EXPECT_EQ(before.access(read(64), order).conflicts.size(), 1u);  // took no part
  // Thread 0 did not wait: what thread 32 did before is not ordered before it.
  EXPECT_EQ(back.access(write(0, known(3)), order).conflicts.size(), 1u);
}

TEST(NamedBarrier, OrderPassesThroughAWarpBarrier) {
  HappensBefore order(64, true);
  AccessHistory seen, unseen;
  seen.access(write(0, known(1)), order);
  unseen.access(write(0, known(1)), order);
  HappensBefore::Clock clock;
  order.arrive(std::vector<uint32_t>{0}, clock);
  order.depart(std::vector<uint32_t>{40}, clock);
  EXPECT_EQ(unseen.access(read(41), order).conflicts.size(), 1u);
  order.warp_barrier(1, 1u << 8 | 1u << 9);
  EXPECT_EQ(seen.access(read(41), order).conflicts.size(), 0u);
}

TEST(RaceShadow, AccessesMeetByByte) {
  HappensBefore order(64);
  RaceShadow shadow;
  EXPECT_TRUE(shadow.access(0, 2, write(0, known(1)), order).conflicts.empty());
  EXPECT_TRUE(shadow.access(2, 2, write(1, known(2)), order).conflicts.empty());
  EXPECT_EQ(shadow.access(1, 2, read(0), order).conflicts.size(), 1u);  // byte 2 is thread 1's
  EXPECT_TRUE(shadow.access(4, 8, write(2, known(3)), order).conflicts.empty());
  EXPECT_EQ(shadow.access(11, 1, read(3), order).conflicts.size(), 1u);
  EXPECT_TRUE(shadow.access(12, 4, read(3), order).conflicts.empty());
}

TEST(RaceShadow, FarOffsets) {
  HappensBefore order(64);
  RaceShadow shadow;
  const int64_t far = int64_t{1} << 40;
  EXPECT_TRUE(shadow.access(far, 4, write(0, known(1)), order).conflicts.empty());
  EXPECT_TRUE(shadow.access(-4, 4, write(1, known(1)), order).conflicts.empty());
  EXPECT_EQ(shadow.access(far, 4, read(1), order).conflicts.size(), 1u);
}

}  // namespace
}  // namespace coequal::exec
