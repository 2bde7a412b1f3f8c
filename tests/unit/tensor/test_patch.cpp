// Readers of tiled stores against the values that each of their CTAs finds.
#include <gtest/gtest.h>

#include <random>

#include "tensor/patch.h"
#include "unit/tensor/pieces.h"

namespace coequal::tensor {
namespace {

using namespace testing;
using term::Kind;
using term::Term;
using term::TermStore;

struct PatchTest : ::testing::Test {
  TermStore store;
  term::GroupId x = make_group(store, "x"), y = make_group(store, "y");

  // A tile of height x width cells of a matrix with `pitch` columns; the value at (r, c) is x[a r +
  // b c] * y[d r + e c].
  struct Tile {
    int64_t height, width, pitch, a, b, d, e;
    uint32_t across, down;
  };
  std::vector<CellStore> tile(const Tile& t, MotionTable& motions) {
    auto moving = [&](int64_t row, int64_t column) {
      return motions.affine(t.width * column, t.height * row, 0);
    };
    std::vector<CellStore> out;
    for (int64_t r = 0; r < t.height; ++r)
      for (int64_t c = 0; c < t.width; ++c) {
        CellStore s;
        s.cell = r * t.pitch + c;
        s.motion = moving(t.pitch, 1);
        s.value = store.make(Kind::Mul, {store.leaf(x, {t.a * r + t.b * c, moving(t.a, t.b)}),
                                         store.leaf(y, {t.d * r + t.e * c, moving(t.d, t.e)})});
        out.push_back(s);
      }
    return out;
  }
};

TEST_F(PatchTest, ATileIsOnePatchOfTwoDimensions) {
  MotionTable motions(box(4, 4));
  std::vector<CellStore> stores = tile({3, 5, 20, 100, 0, 0, 1, 4, 4}, motions);
  Patches patches(stores, store);
  Patches::Position p = patches.position(2 * 5 + 4);
  std::vector<PatchDimension> expected{{5, 1, {0, 1}}, {3, 20, {100, 0}}};
  EXPECT_EQ(*p.dimensions, expected);
  EXPECT_EQ(p.coordinates, (std::vector<int64_t>{4, 2}));
}

TEST_F(PatchTest, AReaderAcrossTilesIsFollowed) {
  MotionTable writers(box(4, 4)), readers(box(20, 12));
  std::vector<CellStore> stores = tile({3, 5, 20, 100, 0, 0, 1, 4, 4}, writers);
  Patches patches(stores, store);
  // One cell a CTA: (ctaid.y, ctaid.x).
  MotionId m = readers.affine(1, 20, 0);
  auto moves = follow_patch(patches, writers, 0, 0, stores[0], store, m, readers);
  ASSERT_TRUE(moves.has_value());
  EXPECT_EQ((*moves)[0], readers.affine(0, 100, 0));
  EXPECT_EQ((*moves)[1], readers.affine(1, 0, 0));
  // One row too many.
  MotionTable more(box(20, 13));
  EXPECT_FALSE(follow_patch(patches, writers, 0, 0, stores[0], store, more.affine(1, 20, 0), more)
                   .has_value());
  // A diagonal to the lower left.
  MotionTable diagonal(box(12));
  moves =
      follow_patch(patches, writers, 4, 12, stores[4], store, diagonal.affine(-1, 0, 0), diagonal);
  EXPECT_FALSE(moves.has_value());  // leaves the row
  moves =
      follow_patch(patches, writers, 4, 3, stores[4], store, diagonal.affine(19, 0, 0), diagonal);
  ASSERT_TRUE(moves.has_value());
  EXPECT_EQ((*moves)[0], diagonal.affine(100, 0, 0));
  EXPECT_EQ((*moves)[1], diagonal.affine(-1, 0, 0));
}

TEST_F(PatchTest, WritersWithGapsAreNotFollowed) {
  MotionTable writers(box(4, 4)), readers(box(20, 12));
  writers.narrow([](size_t i) { return i != 9; });
  std::vector<CellStore> stores = tile({3, 5, 20, 100, 0, 0, 1, 4, 4}, writers);
  EXPECT_FALSE(follow_patch(Patches(stores, store), writers, 0, 0, stores[0], store,
                            readers.affine(1, 20, 0), readers)
                   .has_value());
}

TEST_F(PatchTest, RandomReadersSeeWhatEachOfTheirCtasFinds) {
  std::mt19937 random(3);
  auto below = [&](uint32_t n) { return int64_t(random() % n); };
  term::GroupId poison = make_group(store, "t", term::Group::Kind::Poison);
  int followed = 0;
  for (int round = 0; round < 400; ++round) {
    Tile t{1 + below(3),
           1 + below(4),
           0,
           below(3) * 7,
           below(2),
           below(2) * 5,
           below(3),
           uint32_t(1 + below(4)),
           uint32_t(1 + below(4))};
    t.pitch = t.width * t.across + (below(4) == 0 ? below(3) : 0);
    TensorInfo info = make_tensor("t", DType::F32, {t.pitch * t.height * int64_t(t.down)});
    auto launch = make_launch({t.across, t.down, 1});
    std::vector<Cta> ctas = box(t.across, t.down);
    std::swap(ctas[0], ctas[size_t(below(uint32_t(ctas.size())))]);
    ClassPieces& cls = add_class(*launch, ctas);
    const auto gap = uint32_t(1 + below(3) / 2);
    cls.motions->narrow([&](size_t i) { return (ctas[i][0] + ctas[0][0]) % gap == 0; });
    // Stores are those of CTA (0,0) moved to the representative.
    std::vector<CellStore> stores = tile(t, *cls.motions);
    const Cta& rep = cls.motions->representative();
    for (CellStore& s : stores) {
      auto shift = [&](MotionId m) {
        const auto& st = cls.motions->strides(m);
        return st[0] * rep[0] + st[1] * rep[1];
      };
      if (cls.motions->size() > 1) {
        s.cell += shift(s.motion);
        s.value = store.map_anchors(s.value, [&](term::GroupId, term::Anchor a) {
          return term::Anchor{a.cell + shift(a.motion), a.motion};
        });
      }
    }
    TensorPiece& piece = add_piece(cls, 0);
    piece.stores = stores;
    std::vector<TensorVersion::Overlap> overlaps;
    auto v = TensorVersion::after(std::make_shared<TensorVersion>(info, poison), launch, 0, store,
                                  overlaps);
    ASSERT_TRUE(overlaps.empty());
    MotionTable readers(box(1 + uint32_t(below(6)), 1 + uint32_t(below(6))));
    // Every second or third column of the grid.
    const auto every = uint32_t(1 + below(3));
    readers.narrow([&](size_t i) { return readers.ctas()[i][0] % every == 0; });
    const MotionTable asked = readers;
    int64_t sx = below(2) ? below(5) : below(3) * t.width,
            sy = below(2) ? t.pitch * below(3) : below(9) - 4;
    MotionId m = readers.affine(sx, sy, 0);
    MotionTable::Range range = readers.range(m);
    if (range.max - range.min >= info.storage_cells) continue;
    int64_t cell = -range.min + below(uint32_t(info.storage_cells - (range.max - range.min)));
    Term value = v->value_moving(cell, m, readers, store);
    followed += readers.alive_count() > 8 && store.kind(value) != Kind::Poison;
    for (size_t i = 0; i < readers.size(); ++i) {
      if (!asked.alive(i)) continue;
      Term there = v->value(cell + readers.value(m, i), store);
      if (readers.alive(i))
        ASSERT_EQ(at_cta(value, readers, i, store), there) << round;
      else
        ASSERT_NE(value.shape(), there.shape()) << round;
    }
  }
  EXPECT_GT(followed, 50);
}

}  // namespace
}  // namespace coequal::tensor
