// Classes of cells against keys computed cell by cell.
#include <gtest/gtest.h>

#include <random>

#include "decide/cells.h"
#include "unit/tensor/pieces.h"

namespace coequal::decide {
namespace {

using namespace tensor;
using namespace tensor::testing;
using term::Kind;
using term::Term;
using term::TermStore;

struct Cells : ::testing::Test {
  TermStore store;
  term::GroupId x = make_group(store, "x"), y = make_group(store, "y");
  term::GroupId iota = make_group(store, "iota", term::Group::Kind::Iota);
  term::GroupId poison_a = make_group(store, "out", term::Group::Kind::Poison);
  term::GroupId poison_b = make_group(store, "out", term::Group::Kind::Poison);
  TensorInfo out = make_tensor("out", DType::F32, {64});
  Budget budget;
  std::vector<TensorVersion::Overlap> overlaps;

  Term leaf(term::GroupId g, int64_t cell, MotionId m = 0) { return store.leaf(g, {cell, m}); }
  std::shared_ptr<const TensorVersion> initial(term::GroupId poison) {
    return std::make_shared<TensorVersion>(out, poison);
  }
  std::shared_ptr<const TensorVersion> after(std::shared_ptr<const TensorVersion> before,
                                             std::shared_ptr<LaunchPieces> launch) {
    return TensorVersion::after(before, launch, 0, store, overlaps);
  }
  // One CTA for each `width` cells, which stores f(cell, motion of the cell) to each of them.
  template <class F>
  std::shared_ptr<const TensorVersion> blocks(term::GroupId poison, uint32_t width, F&& f) {
    auto launch = make_launch({uint32_t(out.storage_cells) / width, 1, 1});
    ClassPieces& cls = add_class(*launch, box(uint32_t(out.storage_cells) / width));
    TensorPiece& piece = add_piece(cls, 0);
    MotionId m = cls.motions->affine(width, 0, 0);
    for (int64_t i = 0; i < width; ++i) {
      CellStore s;
      s.cell = i;
      s.motion = m;
      s.value = f(i, m);
      piece.stores.push_back(s);
    }
    return after(initial(poison), launch);
  }
  Classification classes(const TensorVersion& a, const TensorVersion& b) {
    return classify({&a, &b}, store, budget);
  }
};

TEST_F(Cells, AnElementwiseKernelIsOneClass) {
  auto a = blocks(poison_a, 8, [&](int64_t i, MotionId m) { return leaf(x, i, m); });
  auto b = blocks(poison_b, 16,
                  [&](int64_t i, MotionId m) { return store.make(Kind::Exp2, {leaf(x, i, m)}); });
  Classification c = classes(*a, *b);
  ASSERT_EQ(c.classes.size(), 1u);
  EXPECT_TRUE(c.complete);
  EXPECT_EQ(c.elements, 64);
  EXPECT_EQ(c.classes[0].count, 64);
  EXPECT_EQ(c.classes[0].a, leaf(x, 0));
  EXPECT_EQ(c.classes[0].b, store.make(Kind::Exp2, {leaf(x, 0)}));
}

TEST_F(Cells, ADifferentDistanceIsAnotherClass) {
  auto a = blocks(poison_a, 8, [&](int64_t i, MotionId m) { return leaf(x, i, m); });
  // Every second cell reads its neighbour.
  auto b = blocks(poison_b, 8, [&](int64_t i, MotionId m) { return leaf(x, i + i % 2, m); });
  Classification c = classes(*a, *b);
  ASSERT_EQ(c.classes.size(), 2u);
  EXPECT_EQ(c.classes[0].count, 32);
  EXPECT_EQ(c.classes[1].count, 32);
  EXPECT_EQ(c.classes[1].first_element, 1);
  EXPECT_EQ(c.classes[1].a, leaf(x, 0));
  EXPECT_EQ(c.classes[1].b, leaf(x, 1));
  Shifts expected{{x, 1}};
  EXPECT_EQ(c.classes[1].shifts, expected);
  EXPECT_EQ(c.classes[1].sample[2], 5);
}

TEST_F(Cells, TensorsMoveIndependently) {
  auto a = blocks(poison_a, 8, [&](int64_t i, MotionId m) {
    return store.make(Kind::Mul, {leaf(x, i, m), leaf(y, 0)});
  });
  auto b = blocks(poison_b, 8, [&](int64_t i, MotionId m) {
    return store.make(Kind::Add, {leaf(x, i, m), leaf(y, 0)});
  });
  Classification c = classes(*a, *b);
  ASSERT_EQ(c.classes.size(), 1u);
  EXPECT_EQ(c.classes[0].count, 64);
}

TEST_F(Cells, ALeafOnOneSideOnlyDoesNotSplit) {
  auto a = blocks(poison_a, 8, [&](int64_t i, MotionId) { return leaf(x, i % 3); });
  auto b = blocks(poison_b, 8, [&](int64_t i, MotionId m) { return leaf(y, i, m); });
  EXPECT_EQ(classes(*a, *b).classes.size(), 1u);
}

TEST_F(Cells, UntouchedCellsAreUnchanged) {
  auto launch = make_launch({1, 1, 1});
  TensorPiece& piece = add_piece(add_class(*launch, box(1)), 0);
  CellStore s;
  s.cell = 10;
  s.value = leaf(x, 3);
  piece.stores.push_back(s);
  out.init = TensorInfo::Init::Input;
  out.input_group = y;
  auto a = initial(poison_a);
  auto b = after(initial(poison_b), launch);
  Classification c = classes(*a, *b);
  ASSERT_EQ(c.classes.size(), 2u);
  EXPECT_TRUE(c.classes[0].unchanged);
  EXPECT_EQ(c.classes[0].count, 63);
  EXPECT_FALSE(c.classes[1].unchanged);
  EXPECT_EQ(c.classes[1].a, leaf(y, 0));
  EXPECT_EQ(c.classes[1].b, leaf(x, 0));
}

TEST_F(Cells, HugeUntouchedOutputsTakeTwoSteps) {
  out = make_tensor("out", DType::F32, {1000000, 1000000, 1000});
  auto launch = make_launch({1, 1, 1});
  TensorPiece& piece = add_piece(add_class(*launch, box(1)), 0);
  CellStore s;
  s.cell = 500000000000000;
  s.value = store.real(1);
  piece.stores.push_back(s);
  auto a = after(initial(poison_a), launch), b = after(initial(poison_b), launch);
  Classification c = classes(*a, *b);
  ASSERT_EQ(c.classes.size(), 2u);
  EXPECT_EQ(c.classes[0].count, 999999999999999);
  EXPECT_EQ(c.classes[1].count, 1);
}

TEST_F(Cells, KnownValuesSplitOnlyOnDemand) {
  auto value = [&](int64_t i, MotionId m) {
    return store.make(Kind::Mul, {leaf(iota, i % 4), leaf(x, i, m)});
  };
  auto a = blocks(poison_a, 8, value);
  auto b = blocks(poison_b, 8,
                  [&](int64_t i, MotionId m) { return store.make(Kind::Exp2, {value(i, m)}); });
  Classification c = classes(*a, *b);
  ASSERT_EQ(c.classes.size(), 1u);
  EXPECT_EQ(c.classes[0].a, store.make(Kind::Mul, {leaf(iota, 0), leaf(x, 0)}));
  Classification split = split_absolute({a.get(), b.get()}, c.classes[0], store, budget);
  ASSERT_EQ(split.classes.size(), 4u);
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(split.classes[size_t(i)].count, 16);
    EXPECT_EQ(split.classes[size_t(i)].a, store.make(Kind::Mul, {leaf(iota, i), leaf(x, 0)}));
  }
}

TEST_F(Cells, StridedOutputsAreComparedByElement) {
  out = make_tensor("out", DType::F32, {3, 4});
  auto a = blocks(poison_a, 4, [&](int64_t i, MotionId m) { return leaf(x, i, m); });
  // The same elements, transposed in memory.
  TensorInfo transposed = out;
  transposed.strides = {1, 3};
  transposed.strided = true;
  auto launch = make_launch({1, 1, 1});
  TensorPiece& piece = add_piece(add_class(*launch, box(1)), 0);
  for (int64_t cell = 0; cell < 12; ++cell) {
    CellStore s;
    s.cell = cell;
    s.value = leaf(x, cell % 3 * 4 + cell / 3);
    piece.stores.push_back(s);
  }
  auto b = TensorVersion::after(std::make_shared<TensorVersion>(transposed, poison_b), launch, 0,
                                store, overlaps);
  Classification c = classes(*a, *b);
  ASSERT_EQ(c.classes.size(), 1u);
  EXPECT_EQ(c.classes[0].count, 12);
  EXPECT_EQ(c.classes[0].b, leaf(x, 0));
}

TEST_F(Cells, KnownContentsAreCellByCellConstants) {
  out = make_tensor("out", DType::F32, {4}, TensorInfo::Init::Values);
  out.values =
      std::make_shared<const std::vector<term::Rational>>(std::vector<term::Rational>{1, 2, 1, 3});
  auto a = initial(poison_a);
  auto launch = make_launch({1, 1, 1});
  TensorPiece& piece = add_piece(add_class(*launch, box(1)), 0);
  for (int64_t cell = 0; cell < 4; ++cell) {
    CellStore s;
    s.cell = cell;
    s.value = leaf(x, cell);
    piece.stores.push_back(s);
  }
  auto b = after(initial(poison_b), launch);
  Classification c = classes(*a, *b);
  ASSERT_EQ(c.classes.size(), 3u);
  EXPECT_EQ(c.classes[0].count, 2);
  EXPECT_EQ(c.classes[2].a, store.real(3));
}

TEST_F(Cells, ASpentBudgetIsReported) {
  out = make_tensor("out", DType::F32, {100000});
  auto a = blocks(poison_a, 1, [&](int64_t i, MotionId m) { return leaf(x, i, m); });
  Budget none(0);
  Classification c = classify({a.get(), a.get()}, store, none);
  EXPECT_FALSE(c.complete);
  EXPECT_LT(c.elements, 100000);
  EXPECT_EQ(c.elements, c.classes[0].count);
  OutputPair some{a.get(), a.get()};
  some.chosen = {0, 3, 5};
  EXPECT_EQ(classify(some, store, budget).elements, 3);
}

// First the corners of the tensor, then what the edges of the launch wrote, then others.
TEST_F(Cells, TheSearchBeginsAtTheEdges) {
  out = make_tensor("out", DType::F32, {10, 100});
  auto a = blocks(poison_a, 10, [&](int64_t i, MotionId m) { return leaf(x, i, m); });
  const OutputPair output{a.get(), a.get()};
  const std::vector<int64_t> order = search_order(output, 50, 1);
  ASSERT_EQ(order.size(), 50u);
  EXPECT_EQ(std::vector<int64_t>(order.begin(), order.begin() + 4),
            (std::vector<int64_t>{0, 900, 99, 999}));
  EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 50u);
  EXPECT_EQ(search_order(output, 50, 1), order);
  EXPECT_NE(search_order(output, 50, 2), order);
  std::vector<int64_t> all = search_order(output, 5000, 1);
  ASSERT_EQ(all.size(), 1000u);
  std::sort(all.begin(), all.end());
  for (int64_t e = 0; e < 1000; ++e) EXPECT_EQ(all[static_cast<size_t>(e)], e);
}

TEST_F(Cells, RandomOutputsMatchKeysCellByCell) {
  std::mt19937 random(23);
  for (int round = 0; round < 300; ++round) {
    out = make_tensor("out", DType::F32, {1 + int64_t(random() % 90)});
    if (random() % 2) {
      out.init = TensorInfo::Init::Input;
      out.input_group = y;
    }
    auto a = initial(poison_a), b = initial(poison_b);
    for (int step = 0; step < 2; ++step) {
      if (random() % 4) a = after(a, random_launch(random, store, out.storage_cells, x, y));
      if (random() % 4)
        b = after(b, random_launch(random, store, out.storage_cells, random() % 2 ? x : iota, y));
    }
    OutputPair output{a.get(), b.get()};
    Classification c = classify(output, store, budget);
    std::vector<int64_t> counts(c.classes.size());
    for (int64_t e = 0; e < out.storage_cells; ++e) {
      PlacedPair pair = output.at(e, store);
      int found = -1;
      for (size_t k = 0; k < c.classes.size(); ++k) {
        const CellClass& cls = c.classes[k];
        if (cls.unchanged && !a->is_written(e) && !b->is_written(e)) found = int(k);
        if (cls.unchanged || (!a->is_written(e) && !b->is_written(e))) continue;
        // Pseudo-groups count by distance; only one side mentions them here.
        auto relative = [&](const Term& t) {
          return store.map_anchors(t, [&](term::GroupId g, term::Anchor anchor) {
            return term::Anchor{g == iota ? 0 : anchor.cell, 0};
          });
        };
        if (relative(pair.a) == relative(cls.a) && relative(pair.b) == relative(cls.b)) {
          EXPECT_EQ(found, -1);
          found = int(k);
        }
      }
      ASSERT_GE(found, 0) << e;
      if (counts[size_t(found)]++ == 0) {
        EXPECT_EQ(c.classes[size_t(found)].first_element, e);
        EXPECT_EQ(c.classes[size_t(found)].shifts, pair.shifts);
      }
      if (counts[size_t(found)] <= 16) {
        EXPECT_EQ(c.classes[size_t(found)].sample[size_t(counts[size_t(found)] - 1)], e);
      }
    }
    for (size_t k = 0; k < counts.size(); ++k) EXPECT_EQ(c.classes[k].count, counts[k]);
  }
}

}  // namespace
}  // namespace coequal::decide
