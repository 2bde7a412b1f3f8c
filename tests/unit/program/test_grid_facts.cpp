// Whole-grid facts against all pairs of accesses of small grids.
#include <gtest/gtest.h>

#include <random>

#include "program/grid_facts.h"
#include "unit/tensor/pieces.h"

namespace coequal::program {
namespace {

using namespace tensor;
using namespace tensor::testing;
using term::Term;
using term::TermStore;

struct Facts : ::testing::Test {
  TermStore store;
  term::GroupId x = make_group(store, "x"), y = make_group(store, "y");
  term::GroupId poison = make_group(store, "out", term::Group::Kind::Poison);
  std::vector<TensorInfo> tensors{make_tensor("out", DType::F32, {40})};
  Options options;
  Budget budget;
  Statistics statistics;

  Term leaf(term::GroupId g, int64_t cell, MotionId m = 0) { return store.leaf(g, {cell, m}); }

  static void put(TensorPiece& piece, int64_t cell, MotionId motion, Term value,
                  uint32_t instruction = 1) {
    CellStore s;
    s.cell = cell;
    s.motion = motion;
    s.value = value;
    s.origin = {3, instruction};
    s.known_bits = true;
    piece.stores.push_back(s);
  }
  static void update(TensorPiece& piece, int64_t cell, MotionId motion, Term value,
                     AtomicKind kind = AtomicKind::Add, bool scope_cta = false) {
    AtomicUpdate u;
    u.cell = cell;
    u.motion = motion;
    u.value = value;
    u.kind = kind;
    u.origin = {4, 2};
    u.scope_cta = scope_cta;
    piece.atomics.push_back(u);
  }
  static void read(ClassPieces& cls, int64_t cell, MotionId motion, bool non_coherent = false) {
    GlobalRead r;
    r.cell = cell;
    r.motion = motion;
    r.origin = {5, 3};
    r.non_coherent = non_coherent;
    cls.reads.push_back(r);
  }
  Term leaf_condition() { return store.make(term::Kind::LessEq, {store.real(0), leaf(x, 5)}); }
  GridFacts facts(std::shared_ptr<LaunchPieces> launch, const RefuteConflict& refute = {}) {
    TensorStep step;
    step.after = TensorVersion::after(std::make_shared<TensorVersion>(tensors[0], poison), launch,
                                      0, store, step.overlaps);
    return grid_facts('a', *launch, tensors, {step}, store, budget, refute);
  }
  static std::vector<int64_t> tainted(const GridFacts& f) {
    return f.tainted.empty() ? std::vector<int64_t>{} : f.tainted[0].second;
  }
};

TEST_F(Facts, DisjointStoresAreClean) {
  auto launch = make_launch({5, 1, 1});
  ClassPieces& cls = add_class(*launch, box(5));
  MotionId m = cls.motions->affine(8, 0, 0);
  TensorPiece& piece = add_piece(cls, 0);
  for (int64_t i = 0; i < 8; ++i) {
    put(piece, i, m, leaf(x, i, m));
    read(cls, i, m);
  }
  GridFacts f = facts(launch);
  EXPECT_TRUE(f.defects.empty());
  EXPECT_TRUE(f.notes.empty());
  EXPECT_TRUE(f.refusals.empty());
  EXPECT_TRUE(f.tainted.empty());
  EXPECT_TRUE(f.complete);
}

TEST_F(Facts, TwoBlocksThatWriteDifferentValuesRace) {
  auto launch = make_launch({3, 1, 1});
  ClassPieces& cls = add_class(*launch, box(3));
  put(add_piece(cls, 0), 7, 0, leaf(x, 0, cls.motions->ctaid(0)));
  GridFacts f = facts(launch);
  ASSERT_EQ(f.defects.size(), 1u);
  const Defect& d = f.defects[0];
  EXPECT_EQ(d.kind, DefectKind::GlobalRace);
  EXPECT_EQ(d.count, 2);
  ASSERT_EQ(d.accesses.size(), 2u);
  EXPECT_EQ(d.accesses[0].address(), "out[7]");
  EXPECT_EQ(d.accesses[0].block, (std::array<int64_t, 3>{0, 0, 0}));
  EXPECT_EQ(d.accesses[1].block, (std::array<int64_t, 3>{1, 0, 0}));
  EXPECT_EQ(d.accesses[1].thread, (std::array<int64_t, 3>{3, 0, 0}));
  EXPECT_EQ(d.accesses[1].span.line, 2u);
  EXPECT_EQ(d.accesses[0].bytes, 4);
  EXPECT_EQ(tainted(f), std::vector<int64_t>{7});
  EXPECT_TRUE(f.is_tainted(0, 7));
  EXPECT_FALSE(f.is_tainted(0, 8));
}

TEST_F(Facts, SameBitsOfOneInstructionAreANote) {
  auto launch = make_launch({3, 1, 1});
  put(add_piece(add_class(*launch, box(3)), 0), 7, 0, leaf(x, 0));
  GridFacts f = facts(launch);
  EXPECT_TRUE(f.defects.empty());
  EXPECT_EQ(f.notes.size(), 1u);
  EXPECT_TRUE(f.tainted.empty());
}

TEST_F(Facts, EqualFloatsOfTwoInstructionsAreNotTheSameBits) {
  for (DType dtype : {DType::F32, DType::I32}) {
    tensors[0].dtype = dtype;
    auto launch = make_launch({2, 1, 1});
    Term value = dtype == DType::F32 ? leaf(x, 0) : store.bits(4, 32);
    put(add_piece(add_class(*launch, {{0, 0, 0}}), 0), 7, 0, value, 1);
    put(add_piece(add_class(*launch, {{1, 0, 0}}), 0), 7, 0, value, 2);
    GridFacts f = facts(launch);
    EXPECT_EQ(f.defects.empty(), dtype == DType::I32);
    EXPECT_EQ(f.notes.empty(), dtype == DType::F32);
  }
}

TEST_F(Facts, AReaderOfAnotherBlocksCellRacesAndTaintsItsStores) {
  auto launch = make_launch({4, 1, 1});
  ClassPieces& cls = add_class(*launch, box(4));
  MotionId m = cls.motions->ctaid(0);
  put(add_piece(cls, 0), 10, m, leaf(x, 0));
  read(cls, 12, m);  // blocks 0 and 1 read what 2 and 3 write
  GridFacts f = facts(launch);
  ASSERT_EQ(f.defects.size(), 1u);
  EXPECT_EQ(f.defects[0].count, 2);
  EXPECT_EQ(f.defects[0].accesses[0].kind, Access::Kind::Read);
  EXPECT_EQ(f.defects[0].accesses[0].index, "12");
  EXPECT_EQ(f.defects[0].accesses[1].block[0], 2);
  EXPECT_EQ(tainted(f), (std::vector<int64_t>{10, 11}));
}

TEST_F(Facts, AReaderBesideSameValueWritersRaces) {
  auto launch = make_launch({2, 1, 1});
  ClassPieces& cls = add_class(*launch, box(2));
  put(add_piece(cls, 0), 7, 0, leaf(x, 0));
  read(cls, 7, 0);
  EXPECT_EQ(facts(launch).defects.size(), 1u);
}

TEST_F(Facts, AReadOnlyLoadOfAnOwnCellRaces) {
  for (bool non_coherent : {false, true}) {
    auto launch = make_launch({1, 1, 1});
    ClassPieces& cls = add_class(*launch, box(1));
    put(add_piece(cls, 0), 7, 0, leaf(x, 0));
    read(cls, 7, 0, non_coherent);
    EXPECT_EQ(facts(launch).defects.size(), non_coherent ? 1u : 0u);
  }
}

TEST_F(Facts, MeetingsThatTheRepresentativeDoesNotShowAreRefused) {
  auto launch = make_launch({4, 1, 1});
  ClassPieces& cls = add_class(*launch, box(4));
  put(add_piece(cls, 0), 20, 0 /* the same cell for all */, leaf(x, 0));
  cls.motions->narrow([](size_t i) { return i == 0 || i == 3; });
  launch->classes[0].tensors[0].stores[0].motion = cls.motions->affine(2, 0, 0);  // 20, 26
  read(cls, 23, cls.motions->ctaid(0));                                           // 23, 26
  GridFacts f = facts(launch);
  EXPECT_TRUE(f.defects.empty());
  EXPECT_EQ(f.refusals.size(), 1u);
  EXPECT_EQ(tainted(f), std::vector<int64_t>{26});
}

TEST_F(Facts, CommutingAtomicsAreClean) {
  auto launch = make_launch({4, 1, 1});
  ClassPieces& cls = add_class(*launch, box(4));
  update(add_piece(cls, 0), 3, 0, leaf(x, 0, cls.motions->ctaid(0)));
  GridFacts f = facts(launch);
  EXPECT_TRUE(f.defects.empty());
  EXPECT_TRUE(f.refusals.empty());
}

TEST_F(Facts, AtomicsOfDifferentKindsAreRefusedByName) {
  auto launch = make_launch({2, 1, 1});
  ClassPieces& cls = add_class(*launch, box(2));
  TensorPiece& piece = add_piece(cls, 0);
  update(piece, 3, 0, leaf(x, 0));
  update(piece, 4, 0, leaf(x, 0));
  update(piece, 3, 0, leaf(x, 0), AtomicKind::Max);
  GridFacts f = facts(launch);
  EXPECT_TRUE(f.defects.empty());
  ASSERT_EQ(f.refusals.size(), 1u);
  EXPECT_EQ(f.refusals[0].instruction, "atom.add and atom.max");
  EXPECT_EQ(tainted(f), std::vector<int64_t>{3});
}

TEST_F(Facts, ScopesOfOneBlockDoNotCoverTwo) {
  for (uint32_t grid : {1u, 2u}) {
    auto launch = make_launch({grid, 1, 1});
    ClassPieces& cls = add_class(*launch, box(grid));
    update(add_piece(cls, 0), 3, 0, leaf(x, 0), AtomicKind::Add, true);
    EXPECT_EQ(facts(launch).defects.size(), grid - 1);
  }
}

TEST_F(Facts, PlainAccessesBesideAtomicsOfOtherBlocksRace) {
  for (bool write : {false, true}) {
    auto launch = make_launch({2, 1, 1});
    update(add_piece(add_class(*launch, {{0, 0, 0}}), 0), 3, 0, leaf(x, 0));
    ClassPieces& other = add_class(*launch, {{1, 0, 0}});
    if (write)
      put(add_piece(other, 0), 3, 0, leaf(x, 1));
    else
      read(other, 3, 0);
    GridFacts f = facts(launch);
    ASSERT_EQ(f.defects.size(), 1u);
    EXPECT_EQ(f.defects[0].accesses[1].kind, Access::Kind::Atomic);
  }
}

TEST_F(Facts, StoresBesideAtomicsOfTheirOwnBlockNeedAnOrder) {
  for (bool ordered : {false, true}) {
    auto launch = make_launch({1, 1, 1});
    TensorPiece& piece = add_piece(add_class(*launch, box(1)), 0);
    put(piece, 3, 0, leaf(x, 1));
    piece.stores[0].before_atomics = ordered;
    update(piece, 3, 0, leaf(x, 0));
    EXPECT_EQ(facts(launch).refusals.size(), ordered ? 0u : 1u);
  }
}

// Two blocks meet at one cell, each under a condition on data.
TEST_F(Facts, ConflictsUnderConditionsAreAskedAbout) {
  Term condition = store.make(term::Kind::Less, {leaf(x, 0), store.real(0)});
  for (bool write : {true, false})
    for (int refuted : {0, 1, 2}) {  // 2: nobody to ask
      auto launch = make_launch({2, 1, 1});
      put(add_piece(add_class(*launch, {{0, 0, 0}}), 0), 3, 0, leaf(x, 1));
      launch->classes[0].tensors[0].stores[0].guarded = true;
      launch->classes[0].tensors[0].stores[0].guard = condition;
      ClassPieces& other = add_class(*launch, {{1, 0, 0}});
      put(add_piece(other, 0), write ? 3 : 4, 0, leaf(x, 2));
      if (write) {
        other.tensors[0].stores[0].guarded = true;
        other.tensors[0].stores[0].guard = leaf_condition();
      } else {
        read(other, 3, 0);
        other.reads[0].guard = leaf_condition();
      }
      int asked = 0;
      RefuteConflict refute;
      if (refuted != 2)
        refute = [&](const Defect& d, const Term& guard) {
          ++asked;
          EXPECT_EQ(d.kind, DefectKind::GlobalRace);
          EXPECT_EQ(guard, store.make(term::Kind::And, {condition, leaf_condition()}));
          return refuted == 1;
        };
      GridFacts f = facts(launch, refute);
      EXPECT_EQ(asked, refuted == 2 ? 0 : 1);
      EXPECT_TRUE(f.defects.empty());
      EXPECT_EQ(f.refusals.size(), refuted == 2 ? 1u : 0u);
      EXPECT_EQ(tainted(f),
                refuted == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{write ? 3 : 4});
    }
}

TEST_F(Facts, StoresUnderUnknownConditionsAreRefused) {
  auto launch = make_launch({2, 1, 1});
  for (uint32_t block : {0u, 1u}) {
    TensorPiece& piece = add_piece(add_class(*launch, {{block, 0, 0}}), 0);
    put(piece, 3, 0, leaf(x, block));
    piece.stores[0].guarded = true;
  }
  GridFacts f = facts(launch);
  EXPECT_TRUE(f.defects.empty());
  EXPECT_EQ(f.refusals.size(), 1u);
  EXPECT_EQ(tainted(f), std::vector<int64_t>{3});
}

TEST_F(Facts, ApplyReplacesTaintedCellsByPoison) {
  exec::Session session{store, options, budget, statistics, {}};
  exec::ProgramState state;
  state.tensors = &tensors;
  state.versions = {std::make_shared<TensorVersion>(tensors[0], poison)};
  auto launch = make_launch({2, 1, 1});
  ClassPieces& cls = add_class(*launch, box(2));
  TensorPiece& piece = add_piece(cls, 0);
  put(piece, 7, 0, leaf(x, 0, cls.motions->ctaid(0)));
  put(piece, 20, cls.motions->ctaid(0), leaf(x, 5));
  GridFacts f = apply_launch(session, state, launch);
  EXPECT_EQ(f.defects.size(), 1u);
  EXPECT_EQ(state.versions[0]->value(20, store), leaf(x, 5));
  Term t = state.versions[0]->value(7, store);
  ASSERT_EQ(store.kind(t), term::Kind::Poison);
  term::GroupId group = store.groups(t)[0];
  ASSERT_TRUE(session.poison.contains(group));
  EXPECT_EQ(session.poison[group].defect.kind, DefectKind::GlobalRace);
}

TEST_F(Facts, UnwrittenCellsOfAnEmptyOutput) {
  auto launch = make_launch({4, 1, 1});
  ClassPieces& cls = add_class(*launch, box(4));
  TensorPiece& piece = add_piece(cls, 0);
  MotionId m = cls.motions->affine(10, 0, 0);
  for (int64_t i = 0; i < 9; ++i) put(piece, i, m, leaf(x, i, m));
  std::vector<TensorVersion::Overlap> overlaps;
  auto v = TensorVersion::after(std::make_shared<TensorVersion>(tensors[0], poison), launch, 0,
                                store, overlaps);
  std::optional<Defect> d = unwritten_cells('b', *v, "out");
  ASSERT_TRUE(d.has_value());
  EXPECT_EQ(d->kind, DefectKind::UninitializedRead);
  EXPECT_EQ(d->count, 4);
  EXPECT_EQ(d->accesses[0].address(), "out[9]");
  tensors[0].init = TensorInfo::Init::Zeros;
  EXPECT_FALSE(unwritten_cells('b', *v, "out").has_value());
}

// All accesses of all CTAs, cell by cell.
TEST_F(Facts, RandomLaunchesMatchAllPairs) {
  std::mt19937 random(5);
  int racy = 0, clean = 0;
  for (int round = 0; round < 600; ++round) {
    int64_t cells = 8 + int64_t(random() % 120);
    tensors[0] = make_tensor("out", DType::F32, {cells});
    auto launch = random_launch(random, store, cells, x, y);
    for (ClassPieces& cls : launch->classes)
      for (TensorPiece& piece : cls.tensors)
        for (CellStore& s : piece.stores) s.known_bits = true;
    for (ClassPieces& cls : launch->classes)
      for (int r = random() % 3; r > 0; --r) {
        MotionId m = cls.motions->affine(random() % 3, random() % 5, 0);
        MotionTable::Range range = cls.motions->range(m);
        int64_t room = cells - 1 - (range.max - range.min);
        if (room < 0) continue;
        read(cls, -range.min + int64_t(random() % uint64_t(room + 1)), m, random() % 5 == 0);
      }
    struct Write {
      uint32_t cls, ordinal;
      Term value;
      uint32_t instruction;
      int64_t shown;
    };
    std::map<int64_t, std::vector<Write>> writes;
    for (uint32_t c = 0; c < launch->classes.size(); ++c) {
      const ClassPieces& cls = launch->classes[c];
      for (uint32_t i = 0; i < cls.motions->size(); ++i) {
        if (!cls.motions->alive(i)) continue;
        for (const CellStore& s : cls.tensors[0].stores)
          writes[s.cell + cls.motions->value(s.motion, i)].push_back(
              {c, i, at_cta(s.value, *cls.motions, i, store), s.origin.instruction, s.cell});
      }
    }
    std::set<int64_t> dirty;
    bool race = false, refused = false;
    for (const auto& [cell, list] : writes)
      for (const Write& a : list)
        for (const Write& b : list)
          if (&a < &b && !(a.value == b.value && a.instruction == b.instruction)) {
            // The table keeps the first writer and compares the others with it; unequal pairs imply
            // one with the first.
            race = true;
            dirty.insert(cell);
          }
    std::set<std::pair<uint32_t, uint32_t>> readers;
    for (uint32_t c = 0; c < launch->classes.size(); ++c) {
      const ClassPieces& cls = launch->classes[c];
      for (uint32_t i = 0; i < cls.motions->size(); ++i) {
        if (!cls.motions->alive(i)) continue;
        for (const GlobalRead& r : cls.reads) {
          auto it = writes.find(r.cell + cls.motions->value(r.motion, i));
          if (it == writes.end()) continue;
          bool met = false, hidden = false;
          for (const Write& w : it->second) {
            bool same = w.cls == c && w.ordinal == i;
            met |= !same || r.non_coherent;
            hidden |= same && w.shown != r.cell;
          }
          race |= met;
          if (met || hidden) readers.insert({c, i});
          refused |= !met && hidden;
        }
      }
    }
    for (auto [c, i] : readers) {
      const ClassPieces& cls = launch->classes[c];
      for (const CellStore& s : cls.tensors[0].stores)
        dirty.insert(s.cell + cls.motions->value(s.motion, i));
    }
    GridFacts f = facts(launch);
    ASSERT_EQ(!f.defects.empty(), race) << round;
    ASSERT_EQ(!f.refusals.empty(), refused) << round;
    ASSERT_EQ(tainted(f), std::vector<int64_t>(dirty.begin(), dirty.end())) << round;
    (race ? racy : clean)++;
  }
  EXPECT_GT(racy, 50);
  EXPECT_GT(clean, 50);
}

}  // namespace
}  // namespace coequal::program
