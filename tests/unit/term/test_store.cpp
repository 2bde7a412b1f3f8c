// Shapes modulo translation: sharing, anchors, order independence, motions, the recipe table.
#include <gtest/gtest.h>

#include "base/check.h"
#include "term/store.h"

namespace coequal::term {
namespace {

class Store : public ::testing::Test {
 protected:
  TermStore s;
  GroupId a = s.add_group({.name = "a"}), b = s.add_group({.name = "b"}),
          c = s.add_group({.name = "c"});
  Term at(GroupId g, int64_t cell, MotionId motion = 0) { return s.leaf(g, {cell, motion}); }
  Term add(const Term& x, const Term& y) { return s.make(Kind::Add, {x, y}); }
  Term mul(const Term& x, const Term& y) { return s.make(Kind::Mul, {x, y}); }
};

TEST_F(Store, TranslatedTermsShareAShape) {
  const Term t = add(mul(at(a, 3), at(b, 10)), at(a, 5));
  const Term u = add(mul(at(a, 103), at(b, 7)), at(a, 105));
  EXPECT_EQ(t.shape(), u.shape());
  EXPECT_EQ(s.anchor_in(t, a)->cell, 3);
  EXPECT_EQ(s.anchor_in(t, b)->cell, 10);
  EXPECT_EQ(s.anchor_in(u, a)->cell, 103);
  EXPECT_EQ(s.anchor_in(u, b)->cell, 7);
  EXPECT_EQ(s.anchor_in(t, c), std::nullopt);
  EXPECT_NE(add(mul(at(a, 3), at(b, 10)), at(a, 6)).shape(), t.shape());
  EXPECT_EQ(s.moved(t, std::vector<int64_t>{103, 7}), u);
}

TEST_F(Store, TheAnchorIsTheLeastOfTheChildren) {
  const Term t = s.make(Kind::Div, {at(a, 9), at(a, 4)});
  EXPECT_EQ(s.anchor(t, 0).cell, 4);
  EXPECT_EQ(s.child(t, 0), at(a, 9));
  EXPECT_EQ(s.child(t, 1), at(a, 4));
}

TEST_F(Store, CommutativeArgumentsHaveOneOrder) {
  EXPECT_EQ(add(at(a, 1), at(a, 2)), add(at(a, 2), at(a, 1)));
  EXPECT_EQ(add(at(a, 1), at(a, 2)).shape(), add(at(a, 52), at(a, 51)).shape());
  const Term p = mul(at(a, 0), at(b, 0)), q = mul(at(a, 1), at(b, -1));
  EXPECT_EQ(add(p, q), add(q, p));
  EXPECT_EQ(add(mul(at(a, 7), at(b, 3)), mul(at(a, 8), at(b, 2))).shape(), add(q, p).shape());
  EXPECT_NE(s.make(Kind::Less, {at(a, 1), at(a, 2)}), s.make(Kind::Less, {at(a, 2), at(a, 1)}));
}

TEST_F(Store, RepeatedConstructionAgreesWithTheFirst) {
  // The second of each pair goes through the recipe table; children must come back where they were
  // put.
  for (int64_t shift : {0, 17, -400}) {
    const Term x = mul(at(a, 5 + shift), at(b, 9 - 2 * shift));
    const Term y = s.make(Kind::Min, {at(c, shift), at(a, 11 + shift)});
    const Term t = s.make(Kind::Div, {x, y});
    EXPECT_EQ(s.child(t, 0), x);
    EXPECT_EQ(s.child(t, 1), y);
    const Term u = s.make(Kind::Select, {s.make(Kind::Less, {x, y}), y, x});
    EXPECT_EQ(s.child(u, 1), y);
    EXPECT_EQ(s.child(u, 2), x);
  }
}

TEST_F(Store, FoldsThroughTheRecipeTableKeepTheirPlace) {
  const GroupId n = s.add_group({.name = "n", .dtype = DType::U8, .type = bv(8)});
  for (int64_t shift : {0, 1000}) {
    const Term low = s.leaf(n, {2 + shift, 0}), high = s.leaf(n, {7 + shift, 0});
    const Term pair = s.make(Kind::BvConcat, {high, low});
    EXPECT_EQ(s.make(Kind::BvExtract, {pair}, 8, 8), high);
    EXPECT_EQ(s.make(Kind::BvExtract, {pair}, 0, 8), low);
    EXPECT_EQ(add(at(a, shift), s.real(0)), at(a, shift));
    EXPECT_EQ(add(at(a, shift), mul(s.real(-1), at(a, shift))), s.real(0));
    EXPECT_NE(add(at(a, shift), mul(s.real(-1), at(a, 1 + shift))), s.real(0));
  }
}

TEST_F(Store, MoreGroupsThanInlineAnchors) {
  std::vector<GroupId> many;
  for (int i = 0; i < 10; ++i) many.push_back(s.add_group({.name = "g"}));
  auto sum = [&](int64_t shift, bool reversed) {
    Term t = at(reversed ? many[9] : many[0], reversed ? 9 * shift : 0);
    for (int i = 1; i < 10; ++i) {
      const int k = reversed ? 9 - i : i;
      t = add(t, at(many[k], k * shift));
    }
    return t;
  };
  const Term t = sum(1, false), u = sum(100, false);
  EXPECT_EQ(t.shape(), u.shape());
  EXPECT_EQ(t.anchor_count(), 10);
  for (int k = 0; k < 10; ++k) EXPECT_EQ(s.anchor_in(u, many[k])->cell, 100 * k);
  EXPECT_EQ(t, sum(1, false));
  EXPECT_FALSE(t == u);
  EXPECT_NE(sum(1, true).shape(), t.shape());
  const Term product = mul(t, u);
  EXPECT_EQ(product.anchor_count(), 10);
  EXPECT_TRUE((s.child(product, 0) == t && s.child(product, 1) == u) ||
              (s.child(product, 0) == u && s.child(product, 1) == t));
}

TEST_F(Store, TooManyGroupsAreReported) {
  Term t = s.real(1);
  const auto build = [&] {
    for (int i = 0; i <= TermStore::kMaxGroups; ++i) t = add(t, at(s.add_group({.name = "g"}), 0));
  };
  EXPECT_THROW(build(), TooManyGroups);
  EXPECT_EQ(t.anchor_count(), TermStore::kMaxGroups);
}

TEST_F(Store, MotionsMustAgree) {
  EXPECT_EQ(s.anchor_in(add(at(a, 1, 5), at(a, 2, 5)), a)->motion, 5u);
  EXPECT_THROW(add(at(a, 1, 5), at(a, 2, 6)), InternalError);
  struct Recorder : MotionReconciler {
    std::vector<std::pair<MotionId, MotionId>> calls;
    void equalize(MotionId x, MotionId y) override { calls.push_back({x, y}); }
  } recorder;
  s.set_reconciler(&recorder);
  const Term t = s.make(Kind::Div, {at(a, 1, 5), at(a, 2, 6)});
  EXPECT_EQ(recorder.calls, (std::vector<std::pair<MotionId, MotionId>>{{5, 6}}));
  EXPECT_EQ(s.anchor_in(t, a)->motion, 5u);
  // Motions of different groups are independent.
  const Term u = s.make(Kind::Div, {at(a, 1, 5), at(b, 2, 6)});
  EXPECT_EQ(s.anchor_in(u, a)->motion, 5u);
  EXPECT_EQ(s.anchor_in(u, b)->motion, 6u);
  EXPECT_EQ(recorder.calls.size(), 1u);
}

TEST_F(Store, HashesDoNotDependOnCreationOrder) {
  auto build = [](bool other_first) {
    TermStore t;
    const GroupId g = t.add_group({.name = "g"}), h = t.add_group({.name = "h"});
    if (other_first) {
      for (int i = 9; i > 0; --i) t.make(Kind::Mul, {t.leaf(h, {0, 0}), t.real(Rational(i, 7))});
      t.leaf(h, {4, 0});
    }
    const Term sum =
        t.make(Kind::Add, {t.make(Kind::Mul, {t.real(Rational(3, 7)), t.leaf(g, {0, 0})}),
                           t.make(Kind::Mul, {t.real(Rational(5, 7)), t.leaf(h, {1, 0})})});
    return std::pair(t.structural_hash(sum.shape()), t.kind(t.child(t.child(sum, 0), 0)));
  };
  EXPECT_EQ(build(false), build(true));
}

TEST_F(Store, WrongTypesAreInternalErrors) {
  EXPECT_THROW(s.make(Kind::Add, {at(a, 0), s.boolean(true)}), InternalError);
  EXPECT_THROW(s.make(Kind::BvAdd, {s.bits(0, 8), s.bits(0, 16)}), InternalError);
  EXPECT_THROW(s.make(Kind::BvExtract, {s.bits(0, 8)}, 4, 8), InternalError);
  EXPECT_THROW(s.make(Kind::Select, {s.boolean(true), s.real(0), s.bits(0, 8)}), InternalError);
  EXPECT_THROW(s.make(Kind::Add, {at(a, 0)}), InternalError);
  EXPECT_THROW(s.make(Kind::BvConcat, {s.bits(0, 40), s.bits(0, 40)}), InternalError);
}

}  // namespace
}  // namespace coequal::term
