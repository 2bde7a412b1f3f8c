// Versions against a plain map from cells to values.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tensor/writer_map.h"
#include "unit/tensor/pieces.h"

namespace coequal::tensor {
namespace {

using namespace testing;
using term::Kind;
using term::Term;
using term::TermStore;

struct WriterMap : ::testing::Test {
  TermStore store;
  term::GroupId x = make_group(store, "x"), y = make_group(store, "y");
  term::GroupId poison = make_group(store, "out", term::Group::Kind::Poison);
  TensorInfo out = make_tensor("out", DType::F32, {40});
  std::vector<TensorVersion::Overlap> overlaps;

  std::shared_ptr<const TensorVersion> initial() {
    return std::make_shared<TensorVersion>(out, poison);
  }
  std::shared_ptr<const TensorVersion> after(std::shared_ptr<const TensorVersion> before,
                                             std::shared_ptr<LaunchPieces> launch) {
    return TensorVersion::after(before, launch, 0, store, overlaps);
  }
  Term leaf(term::GroupId g, int64_t cell, MotionId m = 0) { return store.leaf(g, {cell, m}); }
  static CellStore at(int64_t cell, MotionId motion, Term value) {
    CellStore s;
    s.cell = cell;
    s.motion = motion;
    s.value = value;
    return s;
  }
};

TEST_F(WriterMap, InitialContentsAreThoseOfTheDeclaration) {
  EXPECT_EQ(initial()->value(3, store), leaf(poison, 3));
  out.init = TensorInfo::Init::Input;
  out.input_group = x;
  EXPECT_EQ(initial()->value(3, store), leaf(x, 3));
  out.init = TensorInfo::Init::Zeros;
  EXPECT_EQ(initial()->value(3, store), store.real(0));
  out.init = TensorInfo::Init::Full;
  out.full_value = term::Rational(-5);
  EXPECT_EQ(initial()->value(3, store), store.real(-5));
  out.dtype = DType::I16;
  EXPECT_EQ(initial()->value(3, store), store.bits(0xfffb, 16));
}

TEST_F(WriterMap, ValuesOfUnsignedSixtyFourBitsAreTheirBits) {
  out = make_tensor("v", DType::U64, {1}, TensorInfo::Init::Values);
  out.values = std::make_shared<const std::vector<term::Rational>>(
      std::vector<term::Rational>{term::Rational::from_u64(~uint64_t{0})});
  EXPECT_EQ(initial()->value(0, store), store.bits(~uint64_t{0}, 64));
}

TEST_F(WriterMap, AStoreMovesWithItsCta) {
  auto launch = make_launch({5, 1, 1});
  ClassPieces& cls = add_class(*launch, box(5));
  TensorPiece& piece = add_piece(cls, 0);
  MotionId m = cls.motions->affine(8, 0, 0);
  for (int64_t i = 0; i < 8; ++i) piece.stores.push_back(at(i, m, leaf(x, 100 + i, m)));
  auto v = after(initial(), launch);
  EXPECT_TRUE(overlaps.empty());
  for (int64_t cell = 0; cell < 40; ++cell) {
    EXPECT_EQ(v->value(cell, store), leaf(x, 100 + cell));
    EXPECT_EQ(v->writer(cell)->cta()[0], uint32_t(cell / 8));
    EXPECT_EQ(v->writer(cell)->store, uint32_t(cell % 8));
  }
  TensorVersion::Run run = v->run(10, 30);
  EXPECT_EQ(run.kind, TensorVersion::Run::Kind::Stored);
  EXPECT_EQ(run.length, 6);  // to the end of the CTA's stores
}

TEST_F(WriterMap, ALaterLaunchComposesAtTheLoad) {
  auto first = make_launch({5, 1, 1});
  ClassPieces& writers = add_class(*first, box(5));
  MotionId by8 = writers.motions->affine(8, 0, 0);
  TensorPiece& piece = add_piece(writers, 0);
  for (int64_t i = 0; i < 8; ++i)
    piece.stores.push_back(at(i, by8, leaf(x, 2 * i, writers.motions->affine(16, 0, 0))));
  auto v = after(initial(), first);
  // A reader with 10 CTAs, each at cell 4 * ctaid + 1: x[8 * ctaid + 2].
  MotionTable readers(box(10));
  Term t = v->value_moving(1, readers.affine(4, 0, 0), readers, store);
  EXPECT_EQ(t, leaf(x, 2, readers.affine(8, 0, 0)));
  EXPECT_EQ(readers.alive_count(), 10u);
}

TEST_F(WriterMap, CtasThatFindAnotherShapeLeave) {
  auto launch = make_launch({1, 1, 1});
  ClassPieces& cls = add_class(*launch, box(1));
  TensorPiece& piece = add_piece(cls, 0);
  for (int64_t i = 0; i < 4; ++i) piece.stores.push_back(at(i, 0, leaf(i == 2 ? y : x, i)));
  auto v = after(initial(), launch);
  MotionTable readers(box(6));
  Term t = v->value_moving(0, readers.ctaid(0), readers, store);
  EXPECT_EQ(t, leaf(x, 0, readers.ctaid(0)));
  EXPECT_EQ(readers.alive_count(), 3u);  // 0, 1, 3: 2 finds y, 4 and 5 nothing written
  EXPECT_FALSE(readers.alive(2));
  EXPECT_TRUE(readers.alive(3));
}

TEST_F(WriterMap, KnownDataUnderAMovingIndex) {
  out = make_tensor("v", DType::F32, {6}, TensorInfo::Init::Values);
  std::vector<term::Rational> values{7, 7, 7, 1, 2, 3};
  out.values = std::make_shared<const std::vector<term::Rational>>(values);
  out.known_group = make_group(store, "v", term::Group::Kind::Known);
  MotionTable readers(box(3));
  EXPECT_EQ(initial()->value_moving(0, readers.ctaid(0), readers, store), store.real(7));
  EXPECT_EQ(initial()->value_moving(3, readers.ctaid(0), readers, store),
            leaf(out.known_group, 3, readers.ctaid(0)));
}

TEST_F(WriterMap, KnownIntegersComeAsTheirBits) {
  out = make_tensor("v", DType::I8, {4}, TensorInfo::Init::Values);
  out.values =
      std::make_shared<const std::vector<term::Rational>>(std::vector<term::Rational>{3, -1, 2, 0});
  MotionTable readers(box(3));
  std::vector<int64_t> expected{255, 2, 0};
  EXPECT_EQ(initial()->known_integers(1, readers.ctaid(0), readers, store), expected);
  out.init = TensorInfo::Init::Input;
  out.input_group = make_group(store, "i", term::Group::Kind::Input, DType::I8);
  EXPECT_EQ(initial()->known_integers(1, readers.ctaid(0), readers, store), std::nullopt);
}

TEST_F(WriterMap, AtomicsGatherInAnyOrderToOneValue) {
  out.init = TensorInfo::Init::Zeros;
  std::vector<Term> values;
  for (bool reversed : {false, true}) {
    auto launch = make_launch({3, 1, 1});
    ClassPieces& cls = add_class(*launch, box(3));
    TensorPiece& piece = add_piece(cls, 0);
    MotionId m = cls.motions->affine(4, 0, 0);
    for (int64_t i = 0; i < 4; ++i) {
      int64_t row = reversed ? 3 - i : i;
      AtomicUpdate update;
      update.cell = 5;
      update.value = leaf(x, row, m);
      piece.atomics.push_back(update);
    }
    values.push_back(after(initial(), launch)->value(5, store));
  }
  EXPECT_EQ(values[0], values[1]);
  // All of x[0..11], each once.
  std::map<int64_t, int> leaves;
  auto walk = [&](auto& self, const Term& t) -> void {
    if (store.kind(t) == Kind::Leaf) {
      ++leaves[store.anchor(t, 0).cell];
      return;
    }
    EXPECT_EQ(store.kind(t), Kind::Add);
    for (int i = 0; i < store.arity(t); ++i) self(self, store.child(t, i));
  };
  walk(walk, values[0]);
  EXPECT_EQ(leaves.size(), 12u);
  for (auto [cell, count] : leaves) {
    EXPECT_GE(cell, 0);
    EXPECT_LT(cell, 12);
    EXPECT_EQ(count, 1);
  }
}

TEST_F(WriterMap, TranslatedGatheringsShareAShape) {
  out.init = TensorInfo::Init::Zeros;
  auto launch = make_launch({4, 1, 1});
  ClassPieces& cls = add_class(*launch, box(4));
  TensorPiece& piece = add_piece(cls, 0);
  for (int64_t cell = 0; cell < 3; ++cell) {
    AtomicUpdate update;
    update.cell = cell;
    update.value = leaf(x, cell, cls.motions->affine(3, 0, 0));
    piece.atomics.push_back(update);
  }
  auto v = after(initial(), launch);
  EXPECT_EQ(v->value(0, store).shape(), v->value(2, store).shape());
  EXPECT_EQ(store.anchor(v->value(2, store), 0).cell, 2);
  EXPECT_EQ(v->run(0, 3).kind, TensorVersion::Run::Kind::Gathered);
  EXPECT_EQ(v->run(3, 37).kind, TensorVersion::Run::Kind::Initial);
  EXPECT_EQ(v->run(3, 37).length, 37);
}

TEST_F(WriterMap, IntegerAtomicsWrapAndMixedKindsHaveNoValue) {
  out = make_tensor("n", DType::U32, {2}, TensorInfo::Init::Full);
  out.full_value = term::Rational(4294967295);
  poison = make_group(store, "n", term::Group::Kind::Poison, DType::U32);
  auto launch = make_launch({1, 1, 1});
  TensorPiece& piece = add_piece(add_class(*launch, box(1)), 0);
  AtomicUpdate update;
  update.value = store.bits(3, 32);
  piece.atomics.push_back(update);
  update.cell = 1;
  piece.atomics.push_back(update);
  update.kind = AtomicKind::Max;
  piece.atomics.push_back(update);
  auto v = after(initial(), launch);
  EXPECT_EQ(v->value(0, store), store.bits(2, 32));
  EXPECT_EQ(v->value(1, store), leaf(poison, 1));
}

TEST_F(WriterMap, SignedAndUnsignedMinimaDiffer) {
  out = make_tensor("n", DType::I32, {2}, TensorInfo::Init::Full);
  out.full_value = term::Rational(-1);
  auto launch = make_launch({1, 1, 1});
  TensorPiece& piece = add_piece(add_class(*launch, box(1)), 0);
  AtomicUpdate update;
  update.value = store.bits(3, 32);
  update.kind = AtomicKind::Min;
  piece.atomics.push_back(update);
  update.cell = 1;
  update.kind = AtomicKind::MinSigned;
  piece.atomics.push_back(update);
  auto v = after(initial(), launch);
  EXPECT_EQ(v->value(0, store), store.bits(3, 32));
  EXPECT_EQ(v->value(1, store), store.bits(0xffffffff, 32));
}

TEST_F(WriterMap, AStoreBeforeTheAtomicsOfItsCtaIsTheirBase) {
  for (bool ordered : {false, true}) {
    auto launch = make_launch({1, 1, 1});
    TensorPiece& piece = add_piece(add_class(*launch, box(1)), 0);
    piece.stores.push_back(at(7, 0, leaf(x, 0)));
    piece.stores.back().before_atomics = ordered;
    AtomicUpdate update;
    update.cell = 7;
    update.value = leaf(x, 1);
    piece.atomics.push_back(update);
    Term t = after(initial(), launch)->value(7, store);
    EXPECT_EQ(t, ordered ? store.make(Kind::Add, {leaf(x, 0), leaf(x, 1)}) : leaf(poison, 7));
  }
}

TEST_F(WriterMap, StoresUnderExclusiveGuardsAreJoined) {
  out.init = TensorInfo::Init::Input;
  out.input_group = y;
  Term condition = store.make(Kind::Less, {leaf(x, 0), store.real(0)});
  Term opposite = store.make(Kind::Not, {condition});
  auto launch = make_launch({2, 1, 1});
  for (uint32_t block : {0u, 1u}) {
    TensorPiece& piece = add_piece(add_class(*launch, {{block, 0, 0}}), 0);
    CellStore s = at(7, 0, Term{});
    s.guarded = true;
    s.guard = block ? opposite : condition;
    s.value = store.make(Kind::Select, {s.guard, store.real(block ? 5 : 4), leaf(y, 7)});
    piece.stores.push_back(s);
  }
  auto v = after(initial(), launch);
  EXPECT_EQ(overlaps.size(), 1u);
  Term expected =
      store.make(Kind::Select, {condition, launch->classes[0].tensors[0].stores[0].value,
                                launch->classes[1].tensors[0].stores[0].value});
  EXPECT_EQ(v->value(7, store), expected);
  EXPECT_EQ(v->run(7, 5).kind, TensorVersion::Run::Kind::Gathered);
}

TEST_F(WriterMap, AtomicsUnderGuardsMayNotHappen) {
  out.init = TensorInfo::Init::Zeros;
  Term condition = store.make(Kind::Less, {leaf(x, 0), store.real(0)});
  auto launch = make_launch({1, 1, 1});
  TensorPiece& piece = add_piece(add_class(*launch, box(1)), 0);
  AtomicUpdate update;
  update.cell = 2;
  update.value = leaf(y, 1);
  update.guard = condition;
  piece.atomics.push_back(update);
  Term expected = store.make(
      Kind::Add, {store.real(0), store.make(Kind::Select, {condition, leaf(y, 1), store.real(0)})});
  EXPECT_EQ(after(initial(), launch)->value(2, store), expected);
}

TEST_F(WriterMap, HugeTensorsWithFewWritesCostLittle) {
  out = make_tensor("huge", DType::F32, {1000000, 1000000, 1000});
  auto launch = make_launch({2, 1, 1});
  ClassPieces& cls = add_class(*launch, box(2));
  TensorPiece& piece = add_piece(cls, 0);
  piece.stores.push_back(at(999999999999999, cls.motions->affine(-1, 0, 0), leaf(x, 1)));
  auto v = after(initial(), launch);
  EXPECT_EQ(v->value(999999999999998, store), leaf(x, 1));
  TensorVersion::Run run = v->run(5, out.storage_cells - 5);
  EXPECT_EQ(run.length, 999999999999998 - 5);
}

TEST_F(WriterMap, PoisonedCellsHideWhatWasWritten) {
  auto launch = make_launch({1, 1, 1});
  TensorPiece& piece = add_piece(add_class(*launch, box(1)), 0);
  for (int64_t i = 0; i < 4; ++i) piece.stores.push_back(at(i, 0, leaf(x, i)));
  term::GroupId raced = make_group(store, "raced", term::Group::Kind::Poison);
  auto v = TensorVersion::with_poison(after(initial(), launch), {2, 1}, raced);
  EXPECT_EQ(v->value(0, store), leaf(x, 0));
  EXPECT_EQ(v->value(1, store), leaf(raced, 1));
  EXPECT_EQ(v->run(0, 4).length, 1);
  EXPECT_EQ(v->run(2, 2).kind, TensorVersion::Run::Kind::Poisoned);
  EXPECT_EQ(v->run(3, 37).kind, TensorVersion::Run::Kind::Stored);
  MotionTable readers(box(2));
  EXPECT_EQ(v->value_moving(1, readers.ctaid(0), readers, store), leaf(raced, 1, readers.ctaid(0)));
}

TEST_F(WriterMap, RandomLaunchesMatchAPlainMap) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    int64_t cells = 4 + int64_t(random() % 200);
    out = make_tensor("out", DType::F32, {cells});
    auto v = initial();
    std::vector<Term> plain;
    for (int64_t c = 0; c < cells; ++c) plain.push_back(leaf(poison, c));
    std::set<int64_t> disputed;
    for (int step = 0; step < 3; ++step) {
      auto launch = random_launch(random, store, cells, x, y, step);
      std::map<int64_t, int> writers;
      for (const ClassPieces& cls : launch->classes)
        for (size_t i = 0; i < cls.motions->size(); ++i) {
          if (!cls.motions->alive(i)) continue;
          for (const CellStore& s : cls.tensors[0].stores) {
            int64_t cell = s.cell + cls.motions->value(s.motion, i);
            if (++writers[cell] == 1) {
              plain[size_t(cell)] = at_cta(s.value, *cls.motions, i, store);
              disputed.erase(cell);
            } else {
              disputed.insert(cell);
            }
          }
        }
      overlaps.clear();
      v = after(v, launch);
      std::map<int64_t, int> reported;
      for (const auto& o : overlaps) {
        ++reported[o.cell];
        EXPECT_FALSE(o.first.same_cta(o.second));
      }
      for (auto [cell, n] : writers) EXPECT_EQ(reported.count(cell) ? reported[cell] + 1 : 1, n);
    }
    for (int64_t c = 0; c < cells; ++c) {
      if (disputed.contains(c)) continue;
      ASSERT_EQ(v->value(c, store), plain[size_t(c)]) << c;
    }
    // Runs: anchors advance by one step inside.
    for (int64_t c = 0; c < cells;) {
      TensorVersion::Run run = v->run(c, cells - c);
      ASSERT_GE(run.length, 1);
      for (int64_t i = 2; i < run.length; ++i) {
        Term a = v->value(c, store), b = v->value(c + 1, store), t = v->value(c + i, store);
        ASSERT_EQ(t.shape(), a.shape());
        for (int k = 0; k < a.anchor_count(); ++k)
          EXPECT_EQ(store.anchor(t, k).cell - store.anchor(a, k).cell,
                    i * (store.anchor(b, k).cell - store.anchor(a, k).cell));
      }
      c += run.length;
    }
    // A reader with random motions sees at each CTA that stays what stands there.
    MotionTable readers(box(3, 2));
    MotionId m = readers.affine(int64_t(random() % 3), int64_t(random() % 5), 0);
    int64_t reach = readers.range(m).max;
    if (reach >= cells) continue;
    int64_t cell = int64_t(random() % uint64_t(cells - reach));
    Term t = v->value_moving(cell, m, readers, store);
    for (size_t i = 0; i < readers.size(); ++i) {
      Term there = v->value(cell + readers.value(m, i), store);
      if (readers.alive(i))
        EXPECT_EQ(at_cta(t, readers, i, store), there);
      else
        EXPECT_NE(there.shape(), t.shape());
    }
  }
}

}  // namespace
}  // namespace coequal::tensor
