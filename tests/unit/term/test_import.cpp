// What a clone of a store brings back is what the store itself would have made.
#include <gtest/gtest.h>

#include <random>

#include "term/import.h"
#include "term/print.h"

namespace coequal::term {
namespace {

class Imports : public ::testing::TestWithParam<uint64_t> {};

// One random program in any store: the same draws give the same function.
std::vector<Term> program(TermStore& s, const std::vector<GroupId>& groups, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
  std::vector<Term> reals;
  for (const GroupId g : groups)
    for (int64_t cell = 0; cell < 3; ++cell)
      reals.push_back(
          s.leaf(g, {cell * 7 + static_cast<int64_t>(pick(5)), static_cast<MotionId>(cell)}));
  for (int i = 0; i < 60; ++i) {
    constexpr Kind kinds[] = {Kind::Add, Kind::Mul, Kind::Div, Kind::Min, Kind::Max};
    const Term a = reals[pick(reals.size())], b = reals[pick(reals.size())];
    const Kind kind = kinds[pick(std::size(kinds))];
    const int64_t by = static_cast<int64_t>(pick(9)) + 1;
    // Anchors of one group that move in different ways do not meet in one term.
    bool meet = true;
    for (const GroupId g : groups) {
      const auto x = s.anchor_in(a, g), y = s.anchor_in(b, g);
      meet = meet && (!x || !y || x->motion == y->motion);
    }
    if (!meet)
      reals.push_back(s.make(Kind::Mul, {a, s.real(Rational(by, 3))}));
    else if (pick(4) == 0)
      reals.push_back(s.make(Kind::Select, {s.make(Kind::Less, {a, b}), a, b}));
    else
      reals.push_back(s.make(kind, {a, b}));
  }
  return reals;
}

Group named(std::string name, Group::Kind kind = Group::Kind::Input) {
  return {.kind = kind, .name = std::move(name)};
}

TEST_P(Imports, GiveTheTermsOfTheStoreItself) {
  TermStore store;
  std::vector<GroupId> shared;
  for (const char* name : {"a", "b", "c", "d"}) shared.push_back(store.add_group(named(name)));
  program(store, shared, GetParam());
  const auto clone = store.clone(), other = store.clone();
  Import import(*clone, store), import_other(*other, store);

  // The clone has made groups in another order than the store will.
  const auto with = [&](GroupId x, GroupId y) {
    std::vector<GroupId> all = shared;
    all.insert(all.end(), {x, y});
    return all;
  };
  const GroupId late = clone->add_group(named("late", Group::Kind::Iota)),
                poison = clone->add_group(named("poison", Group::Kind::Poison));
  const std::vector<Term> made = program(*clone, with(poison, late), GetParam() + 1);
  const GroupId other_poison = other->add_group(named("poison", Group::Kind::Poison)),
                other_late = other->add_group(named("late", Group::Kind::Iota));
  const std::vector<Term> made_by_other =
      program(*other, with(other_poison, other_late), GetParam() + 1);

  std::vector<Term> brought;
  for (const Term& t : made) brought.push_back(import(t));
  const size_t nodes = store.node_count();
  const std::vector<Term> own =
      program(store, with(import.group(poison), import.group(late)), GetParam() + 1);
  ASSERT_EQ(own.size(), brought.size());
  for (size_t i = 0; i < own.size(); ++i) {
    EXPECT_TRUE(brought[i] == own[i]) << print(store, brought[i]) << "\n" << print(store, own[i]);
    EXPECT_TRUE(import_other(made_by_other[i]) == own[i]);
  }
  EXPECT_GE(store.node_count(), nodes);
  EXPECT_EQ(store.group_count(), 6);
}

INSTANTIATE_TEST_SUITE_P(Random, Imports, ::testing::Range(uint64_t{0}, uint64_t{40}));

TEST(Import, ManyGroupsAndDeepChains) {
  TermStore store;
  std::vector<GroupId> groups;
  for (int i = 0; i < 12; ++i) groups.push_back(store.add_group(named("g" + std::to_string(i))));
  const auto clone = store.clone();
  Import import(*clone, store);
  const auto chain = [&](TermStore& s) {
    Term t = s.real(Rational(1, 3));
    for (int i = 0; i < 200'000; ++i)
      t = s.make(i % 2 ? Kind::Mul : Kind::Add,
                 {t, s.leaf(groups[static_cast<size_t>(i) % groups.size()], {i, 5})});
    return t;
  };
  const Term brought = import(chain(*clone));
  EXPECT_TRUE(brought == chain(store));
}

TEST(Import, KeepsThatAConstantIsADouble) {
  TermStore store;
  const auto clone = store.clone();
  Import import(*clone, store);
  const Term third = clone->real(Rational(1, 3)), half = clone->real(Rational(1, 2));
  clone->note_double(third);
  EXPECT_TRUE(store.is_double(import(third)));
  EXPECT_FALSE(store.is_double(import(half)));
}

}  // namespace
}  // namespace coequal::term
