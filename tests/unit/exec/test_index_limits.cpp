// Ranges of words that depend on data, and the conditions that they have a value.
#include <gtest/gtest.h>

#include "exec/data_index.h"

namespace coequal::exec {
namespace {

using term::Kind;
using term::Term;

using Ends = std::pair<int64_t, int64_t>;

class IndexLimitsTest : public ::testing::Test {
 protected:
  Term leaf(const char* name, int width, std::optional<int64_t> low, std::optional<int64_t> high) {
    term::Group g;
    g.name = name;
    g.dtype = width == 64 ? DType::I64 : DType::I32;
    g.type = term::bv(width);
    if (low) g.bounds.min = term::Rational(*low);
    if (high) g.bounds.max = term::Rational(*high);
    return store.leaf(store.add_group(std::move(g)), {0, 0});
  }
  Term word(int64_t v, int width = 32) {
    return store.bits(static_cast<uint64_t>(v) & (width == 64 ? ~0ull : (1ull << width) - 1),
                      width);
  }
  Term sext(Term t) { return store.make(Kind::BvSignExtend, {t}, 0, 64); }
  Term zext(Term t) { return store.make(Kind::BvZeroExtend, {t}, 0, 64); }
  Term add(Term a, Term b) { return store.make(Kind::BvAdd, {a, b}); }
  Term mul(Term a, Term b) { return store.make(Kind::BvMul, {a, b}); }
  Term slt(Term a, Term b) { return store.make(Kind::BvSlt, {a, b}); }
  Term ult(Term a, Term b) { return store.make(Kind::BvUlt, {a, b}); }
  Term eq(Term a, Term b) { return store.make(Kind::BvEq, {a, b}); }
  Term both(Term a, Term b) { return store.make(Kind::And, {a, b}); }
  Term negate(Term a) { return store.make(Kind::Not, {a}); }
  Ends ends(Term t, const IndexLimits& limits = {}) {
    const auto r = index_range(store, motions, t, limits);
    return r ? Ends(r->known + r->low, r->known + r->high) : Ends(1, 0);
  }
  IndexLimits where(Term condition, bool truth = true) {
    IndexLimits limits;
    add_limits(store, condition, truth, limits);
    return limits;
  }
  static constexpr Ends kNone{1, 0};

  term::TermStore store;
  tensor::MotionTable motions{{{0, 0, 0}}};
};

TEST_F(IndexLimitsTest, RangesOfAffineWords) {
  const Term i = leaf("i", 32, -1, 5);
  EXPECT_EQ(ends(i), Ends(-1, 5));
  EXPECT_EQ(ends(add(mul(i, word(4)), word(100))), Ends(96, 120));
  EXPECT_EQ(ends(add(mul(sext(i), word(-4, 64)), word(100, 64))), Ends(80, 104));
  const auto r = index_range(store, motions, mul(i, word(12)));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->step, 12);
  EXPECT_EQ(r->count(), 7);
}

TEST_F(IndexLimitsTest, NoRangeWhereAWordWraps) {
  const Term i = leaf("i", 32, 0, 1 << 30);
  EXPECT_EQ(ends(mul(i, word(4))), kNone);
  EXPECT_EQ(ends(mul(sext(i), word(4, 64))), Ends(0, int64_t{1} << 32));
  EXPECT_EQ(ends(zext(leaf("j", 32, -1, 5))), kNone);  // -1 reads as 2^32 - 1
  const Term wide = leaf("k", 64, {}, {});
  EXPECT_EQ(ends(add(wide, word(1, 64))), kNone);
  EXPECT_EQ(index_range(store, motions, wide)->count(), int64_t{1} << 62);
}

TEST_F(IndexLimitsTest, JoinedParts) {
  const Term i = leaf("i", 32, 0, 7);
  const Term joined =
      store.make(Kind::BvConcat, {word(0x60, 30), store.make(Kind::BvConcat, {i, word(0, 2)})});
  EXPECT_EQ(ends(joined), Ends(0x60ll << 34, (0x60ll << 34) + 28));
  EXPECT_EQ(index_equals(store, motions, joined, (0x60ll << 34) + 12), eq(i, word(3)));
  EXPECT_EQ(store.as_bool(index_equals(store, motions, joined, (0x60ll << 34) + 13)), false);
}

TEST_F(IndexLimitsTest, EqualityIsUndoneWhereNothingWraps) {
  const Term i = leaf("i", 32, 0, 5);
  EXPECT_EQ(index_equals(store, motions, add(mul(sext(i), word(4, 64)), word(100, 64)), 112),
            eq(i, word(3)));
  EXPECT_EQ(store.as_bool(index_equals(store, motions, mul(sext(i), word(4, 64)), 13)), false);
  EXPECT_EQ(store.as_bool(index_equals(store, motions, i, 6)), false);
  // 4 i = 12 modulo 2^32 has four solutions when i is free.
  const Term free = leaf("j", 32, {}, {});
  EXPECT_EQ(index_equals(store, motions, mul(free, word(4)), 12), eq(mul(free, word(4)), word(12)));
}

TEST_F(IndexLimitsTest, ComparisonsWithConstantsNarrow) {
  const Term i = leaf("i", 32, {}, {});
  const Term inside = both(negate(slt(i, word(0))), slt(i, word(6)));
  EXPECT_EQ(ends(i, where(inside)), Ends(0, 5));
  EXPECT_EQ(ends(mul(sext(i), word(4, 64)), where(inside)), Ends(0, 20));
  EXPECT_EQ(ends(i, where(ult(i, word(6)))), Ends(0, 5));
  EXPECT_EQ(ends(i, where(ult(word(6), i), false)), Ends(0, 6));
  EXPECT_EQ(ends(i, where(slt(word(3), i))), Ends(4, INT32_MAX));
  // i >= 6 unsigned: negative numbers too.
  EXPECT_EQ(ends(i, where(ult(i, word(6)), false)), Ends(INT32_MIN, INT32_MAX));
  // One of two conditions holds: neither is known.
  EXPECT_EQ(ends(i, where(both(slt(i, word(6)), slt(word(0), i)), false)),
            Ends(INT32_MIN, INT32_MAX));
}

TEST_F(IndexLimitsTest, EqualitiesNarrowThroughSumsAndOddMultiples) {
  const Term i = leaf("i", 32, {}, {});
  EXPECT_EQ(ends(i, where(eq(add(mul(i, word(-1)), word(7)), word(2)))), Ends(5, 5));
  EXPECT_EQ(ends(i, where(eq(mul(i, word(2654435761)), word(1)))), Ends(244002641, 244002641));
  EXPECT_EQ(ends(i, where(eq(i, word(3)), false)), Ends(INT32_MIN, INT32_MAX));
  // 2 i = 6 holds for 3 and for 3 + 2^31.
  EXPECT_EQ(ends(i, where(eq(mul(i, word(2)), word(6)))), Ends(INT32_MIN, INT32_MAX));
}

TEST_F(IndexLimitsTest, AClampedIndex) {
  const Term i = leaf("i", 32, {}, {});
  const Term low = store.make(Kind::Select, {slt(i, word(0)), word(0), i});
  const Term clamped = store.make(Kind::Select, {slt(word(9), low), word(9), low});
  EXPECT_EQ(ends(clamped), Ends(0, 9));
}

TEST_F(IndexLimitsTest, LimitsOfAnExtensionAreThoseOfTheWord) {
  const Term i = leaf("i", 32, {}, {});
  EXPECT_EQ(ends(i, where(slt(sext(i), word(6, 64)))), Ends(INT32_MIN, 5));
  EXPECT_EQ(ends(i, where(slt(zext(i), word(6, 64)))), Ends(0, 5));
  // zext(i) < 2^32 says nothing of i.
  EXPECT_EQ(ends(i, where(ult(zext(i), word(int64_t{1} << 32, 64)))), Ends(INT32_MIN, INT32_MAX));
}

}  // namespace
}  // namespace coequal::exec
