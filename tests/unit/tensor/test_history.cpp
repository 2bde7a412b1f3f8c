// Histories: equal for the same operations on the same bits, in one CTA and across CTAs.
#include <gtest/gtest.h>

#include "tensor/history.h"

namespace coequal::tensor {
namespace {

constexpr uint64_t kAdd = 1, kNarrow = 2, kTensor = 3;

TEST(Histories, EqualOperationsHaveOneId) {
  Histories h;
  const auto a = h.leaf(kTensor, 0, 0, true), b = h.leaf(kTensor, 1, 0, true);
  EXPECT_EQ(h.leaf(kTensor, 0, 0, true), a);
  EXPECT_NE(a, b);
  EXPECT_EQ(h.node(kAdd, a, b, false, true), h.node(kAdd, b, a, false, true));
  EXPECT_NE(h.node(kAdd, a, b, false, false), h.node(kAdd, b, a, false, false));
  EXPECT_NE(h.node(kNarrow, a, 0, false, false), a);
}

TEST(Histories, RoundingMakesInexact) {
  Histories h;
  const auto a = h.leaf(kTensor, 0, 0, true);
  const auto chosen = h.node(kAdd, a, a, true, true),
             narrowed = h.node(kNarrow, a, 0, false, false);
  EXPECT_TRUE(h.is_exact(chosen));
  EXPECT_FALSE(h.is_exact(narrowed));
  EXPECT_FALSE(h.is_exact(h.node(kAdd, narrowed, a, true, true)));
}

TEST(Histories, UnknownOnesAreThoseOfNoOther) {
  Histories h;
  const auto x = h.unknown(), y = h.unknown();
  EXPECT_NE(x, y);
  EXPECT_FALSE(h.is_known(h.node(kAdd, x, y, true, true)));
}

TEST(Histories, StepsAreTheOperationsAlone) {
  Histories h;
  const auto a = h.leaf(kTensor, 0, 0, true), b = h.leaf(kTensor, 1, 0, true);
  const auto one = h.node(kAdd, h.node(kNarrow, a, 0, false, false), b, false, true);
  const auto two = h.node(kAdd, a, h.node(kNarrow, b, 0, false, false), false, true);
  EXPECT_NE(one, two);
  EXPECT_EQ(h.steps(one), h.steps(two));
  EXPECT_NE(h.steps(one), h.steps(h.node(kAdd, a, b, false, true)));
}

TEST(Histories, MoveOverTheCtasOfAClass) {
  MotionTable motions({{0, 0, 0}, {1, 0, 0}, {2, 0, 0}});
  const MotionId up = motions.ctaid(0);
  Histories first, other;
  const auto fixed = first.leaf(kTensor, 9, 0, true), moving = first.leaf(kTensor, 4, up, true);
  const auto sum = first.node(kAdd, fixed, moving, false, true);
  // Another class loads cells 9 and 6 itself.
  const auto there = other.node(kAdd, other.leaf(kTensor, 6, 0, true),
                                other.leaf(kTensor, 9, 0, true), false, true);
  MotionTable alone({{7, 0, 0}});
  EXPECT_EQ(first.at_cta(sum, motions, 2), other.at_cta(there, alone, 0));
  EXPECT_NE(first.at_cta(sum, motions, 1), other.at_cta(there, alone, 0));
  EXPECT_NE(first.at_cta(sum, motions, 0), first.at_cta(sum, motions, 1));
}

}  // namespace
}  // namespace coequal::tensor
