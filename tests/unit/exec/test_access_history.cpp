// Orders inside a CTA, and which accesses conflict.
#include <gtest/gtest.h>

#include "exec/sync.h"

namespace coequal::exec {
namespace {

AccessEvent read(uint32_t thread, uint32_t at = 1) {
  return {.thread = thread, .instruction = at, .role = Role::Read};
}
AccessEvent write(uint32_t thread, uint64_t value, uint32_t at = 2) {
  return {.thread = thread, .instruction = at, .role = Role::Write, .value = Word::concrete(value)};
}
AccessEvent atomic(uint32_t thread, uint8_t op) {
  return {.thread = thread, .instruction = 3, .role = Role::Atomic, .atomic_op = op};
}

TEST(HappensBefore, AWarpBarrierOrdersItsLanesAlone) {
  HappensBefore order(64);
  const uint32_t before = order.clock(0);
  EXPECT_FALSE(order.sees(1, 0, before));
  order.warp_barrier(0, 0x3);
  EXPECT_TRUE(order.sees(1, 0, before));
  EXPECT_FALSE(order.sees(1, 0, order.clock(0)));  // what lane 0 does after it
  EXPECT_FALSE(order.sees(2, 0, before));          // no member
  EXPECT_FALSE(order.sees(32, 0, before));
}

TEST(HappensBefore, WarpBarriersAreTransitive) {
  HappensBefore order(32);
  const uint32_t before = order.clock(0);
  order.warp_barrier(0, 0x3);
  order.warp_barrier(0, 0x6);
  EXPECT_TRUE(order.sees(2, 0, before));
}

TEST(HappensBefore, AnArrivalIsSeenByThoseThatDepart) {
  HappensBefore order(64, true);
  HappensBefore::Clock barrier;
  const uint32_t before = order.clock(0);
  const uint32_t first[] = {0}, second[] = {32};
  order.arrive(first, barrier);
  const uint32_t after = order.clock(0);
  order.arrive(second, barrier);
  order.depart(second, barrier);
  EXPECT_TRUE(order.sees(32, 0, before));
  EXPECT_FALSE(order.sees(32, 0, after));   // done after the arrival
  EXPECT_FALSE(order.sees(0, 32, before));  // the other did not wait
}

TEST(AccessHistory, AReadAndAWriteOfTwoThreadsConflict) {
  HappensBefore order(64);
  AccessHistory history;
  EXPECT_TRUE(history.access(read(0), order).conflicts.empty());
  EXPECT_TRUE(history.access(read(40), order).conflicts.empty());
  const auto found = history.access(write(5, 1), order);
  ASSERT_EQ(found.conflicts.size(), 1u);
  EXPECT_EQ(found.conflicts[0].earlier.role, Role::Read);
}

TEST(AccessHistory, ALoadThatRacesWithAStoreOfTheSameBytesIsToldApart) {
  const auto sized = [](AccessEvent e, int32_t size) {
    e.size = size;
    return e;
  };
  HappensBefore order(64);
  AccessHistory history;
  history.access(sized(read(0), 4), order);
  history.access(sized(read(3), 4), order);
  const auto found = history.access(sized(write(40, 1), 4), order);
  EXPECT_TRUE(found.conflicts.empty());
  ASSERT_EQ(found.raced_loads.size(), 1u);
  EXPECT_EQ(found.raced_loads[0].lanes, 0x9u);
  // Of other bytes it is a conflict at once.
  AccessHistory other;
  other.access(sized(read(0), 2), order);
  EXPECT_EQ(other.access(sized(write(40, 1), 4), order).conflicts.size(), 1u);
}

TEST(AccessHistory, StoresThatMayAgreeAreAskedAboutOnce) {
  const auto sized = [](AccessEvent e) {
    e.size = 4;
    return e;
  };
  HappensBefore order(64);
  AccessHistory history;
  const auto agree = [](const AccessEvent&, const AccessEvent&) { return Agreement::Perhaps; };
  history.access(sized(write(0, 1)), order, agree);
  history.access(sized(write(33, 2)), order, agree);
  const auto found = history.access(sized(write(40, 3)), order, agree);
  ASSERT_EQ(found.conflicts.size(), 1u);  // equality is transitive
  EXPECT_TRUE(found.conflicts[0].may_agree);
}

TEST(AccessHistory, OwnAccessesDoNotConflict) {
  HappensBefore order(32);
  AccessHistory history;
  history.access(write(3, 1), order);
  EXPECT_TRUE(history.access(read(3), order).conflicts.empty());
  EXPECT_TRUE(history.access(write(3, 2), order).conflicts.empty());
}

TEST(AccessHistory, BarriersOrder) {
  HappensBefore order(64);
  AccessHistory history;
  history.access(write(0, 1), order);
  order.warp_barrier(0, ~0u);
  EXPECT_TRUE(history.access(read(1), order).conflicts.empty());
  EXPECT_EQ(history.access(read(33), order).conflicts.size(), 1u);  // another warp
  order.cta_barrier();
  EXPECT_TRUE(history.access(write(33, 2), order).conflicts.empty());
}

// A read of one lane that a write of another lane is ordered after must not hide the read of a
// third.
TEST(AccessHistory, AnOrderedReadHidesNoOther) {
  HappensBefore order(32);
  AccessHistory history;
  history.access(read(0), order);
  history.access(read(7), order);
  order.warp_barrier(0, 0x3);  // lanes 0 and 1
  const auto found = history.access(write(1, 1), order);
  ASSERT_EQ(found.conflicts.size(), 1u);
  EXPECT_EQ(found.conflicts[0].earlier.thread, 7u);
}

TEST(AccessHistory, SameBitsAreANoteAndAReaderBesideThemRaces) {
  HappensBefore order(32);
  AccessHistory history;
  history.access(write(0, 4, 2), order);
  const auto same =
      history.access(write(1, 4, 9), order);  // known integers, whatever the instruction
  EXPECT_TRUE(same.conflicts.empty());
  EXPECT_TRUE(same.same_writes);
  EXPECT_EQ(history.access(write(2, 5, 9), order).conflicts.size(), 1u);
}

TEST(AccessHistory, AReaderBesideEqualWritesRaces) {
  HappensBefore order(32);
  AccessHistory history;
  history.access(write(0, 4), order);
  history.access(write(1, 4), order);
  EXPECT_EQ(history.access(read(2), order).conflicts.size(), 1u);
}

// Equal words that begin at different bytes store different bits to a byte.
TEST(AccessHistory, EqualWordsInTwoPlacesAreNotTheSameBits) {
  HappensBefore order(32);
  AccessHistory history;
  AccessEvent a = write(0, 0x0102), b = write(1, 0x0102);
  b.at = 1;
  history.access(a, order);
  EXPECT_EQ(history.access(b, order).conflicts.size(), 1u);
}

TEST(AccessHistory, AtomicsOfOneKindCommute) {
  HappensBefore order(64);
  AccessHistory history;
  history.access(atomic(0, 1), order);
  EXPECT_TRUE(history.access(atomic(40, 1), order).conflicts.empty());
  const auto mixed = history.access(atomic(3, 2), order);
  ASSERT_EQ(mixed.conflicts.size(), 1u);
  EXPECT_TRUE(mixed.conflicts[0].mixed_atomics);
  EXPECT_FALSE(history.access(read(9), order).conflicts.empty());
}

// A write that may not happen leaves what was there before it.
TEST(AccessHistory, AGuardedAccessDropsNothing) {
  term::TermStore store;
  const term::GroupId g = store.add_group({.name = "x"});
  const Term guard =
      store.make(term::Kind::Less, {store.leaf(g, {0, 0}), store.real(term::Rational(0))});
  HappensBefore order(32);
  AccessHistory history;
  history.access(write(0, 1), order);
  order.warp_barrier(0, 0x3);
  AccessEvent guarded = write(1, 2);
  guarded.guard = guard;
  EXPECT_TRUE(history.access(guarded, order).conflicts.empty());
  // Lane 2 is ordered after neither.
  const auto found = history.access(read(2), order);
  ASSERT_EQ(found.conflicts.size(), 2u);
  int guards = 0;
  for (const auto& conflict : found.conflicts) guards += conflict.earlier.guard.valid();
  EXPECT_EQ(guards, 1);
}

TEST(RaceShadowBytes, BytesAreApart) {
  HappensBefore order(32);
  RaceShadow shadow;
  shadow.access(0, 4, write(0, 0), order);
  EXPECT_FALSE(shadow.access(2, 1, write(1, 7), order).conflicts.empty());
  EXPECT_TRUE(shadow.access(4, 4, write(2, 7), order).conflicts.empty());
  order.cta_barrier();
  shadow.access(1, 1, write(0, 1), order);
  EXPECT_TRUE(shadow.access(0, 1, write(1, 1), order).conflicts.empty());
  EXPECT_TRUE(shadow.access(2, 2, write(2, 1), order).conflicts.empty());
  EXPECT_FALSE(shadow.access(0, 8, read(3), order).conflicts.empty());
}

}  // namespace
}  // namespace coequal::exec
