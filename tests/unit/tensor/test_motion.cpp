// Motions against values computed per CTA by hand or directly.
#include <gtest/gtest.h>

#include <random>

#include "base/check.h"
#include "tensor/motion.h"

namespace coequal::tensor {
namespace {

std::vector<Cta> box(uint32_t nx, uint32_t ny, uint32_t nz) {
  std::vector<Cta> out;
  for (uint32_t z = 0; z < nz; ++z)
    for (uint32_t y = 0; y < ny; ++y)
      for (uint32_t x = 0; x < nx; ++x) out.push_back({x, y, z});
  return out;
}

TEST(Motion, IsZeroAtTheRepresentative) {
  MotionTable t({{3, 2, 0}, {4, 2, 0}, {0, 5, 0}});
  MotionId m = t.affine(10, 100, 7);
  EXPECT_EQ(t.value(m, 0), 0);
  EXPECT_EQ(t.value(m, 1), 10);
  EXPECT_EQ(t.value(m, 2), -30 + 300);
}

TEST(Motion, EqualFunctionsHaveEqualIds) {
  MotionTable t(box(4, 3, 1));
  MotionId x = t.ctaid(0), y = t.ctaid(1);
  EXPECT_EQ(t.ctaid(2), 0u);  // one coordinate along z
  EXPECT_EQ(t.add(t.scale(x, 2), y), t.add(y, t.add(x, x)));
  EXPECT_EQ(t.sub(t.add(x, y), y), x);
  EXPECT_EQ(t.scale(x, 0), 0u);
  std::vector<int64_t> values;
  for (const Cta& c : t.ctas()) values.push_back(5 * int64_t(c[0]) - 2 * int64_t(c[1]));
  EXPECT_EQ(t.from_values(values), t.affine(5, -2, 0));
  values[7] += 1;
  MotionId odd = t.from_values(values);
  EXPECT_FALSE(t.is_affine(odd));
  EXPECT_EQ(t.from_values(values), odd);
  values[7] -= 1;
  std::vector<int64_t> bump(12, 0);
  bump[7] = 1;
  EXPECT_EQ(t.sub(odd, t.from_values(bump)), t.affine(5, -2, 0));
}

TEST(Motion, DependentCoordinatesStillHaveUniqueIds) {
  MotionTable t({{0, 0, 0}, {1, 1, 0}, {2, 2, 0}});  // x = y throughout
  EXPECT_EQ(t.ctaid(0), t.ctaid(1));
  EXPECT_EQ(t.sub(t.ctaid(0), t.ctaid(1)), 0u);
  EXPECT_EQ(t.from_values({0, 2, 4}), t.add(t.ctaid(0), t.ctaid(1)));
}

TEST(Motion, RangeFollowsTheLivingCtas) {
  MotionTable t(box(8, 4, 1));
  MotionId m = t.affine(3, -10, 0);
  EXPECT_EQ(t.range(m).min, -30);
  EXPECT_EQ(t.range(m).max, 21);
  t.narrow([&](size_t i) { return t.ctas()[i][0] + t.ctas()[i][1] <= 3; });
  EXPECT_EQ(t.alive_count(), 4u + 3 + 2 + 1);
  EXPECT_EQ(t.range(m).min, -30);  // (0, 3)
  EXPECT_EQ(t.range(m).max, 9);    // (3, 0)
  EXPECT_EQ(t.range(t.ctaid(0)).max, 3);
}

TEST(Motion, DivisibilityIsThatOfAllLivingCtas) {
  MotionTable t(box(6, 1, 1));
  MotionId m = t.affine(6, 0, 0);
  EXPECT_TRUE(t.divisible(m, 2));
  EXPECT_TRUE(t.divisible(m, 3));
  EXPECT_FALSE(t.divisible(m, 4));
  t.narrow([&](size_t i) { return i % 2 == 0; });
  EXPECT_TRUE(t.divisible(m, 4));
  EXPECT_EQ(t.divide_exact(m, 4), t.from_values({0, 0, 3, 0, 6, 0}));
}

TEST(Motion, LivingCtasAreAGridOfOneStepADimension) {
  MotionTable t(box(10, 4, 1));
  t.narrow([&](size_t i) { return t.ctas()[i][0] % 3 == 0 && t.ctas()[i][1] != 1; });
  const MotionTable::Box gap = t.box();
  EXPECT_EQ(gap.low, (Cta{0, 0, 0}));
  EXPECT_EQ(gap.high, (Cta{9, 3, 0}));
  EXPECT_EQ(gap.step, (Cta{3, 1, 1}));
  EXPECT_FALSE(gap.full);  // rows 0, 2 and 3
  t.narrow([&](size_t i) { return t.ctas()[i][1] != 3; });
  EXPECT_EQ(t.box().step, (Cta{3, 2, 1}));
  EXPECT_EQ(t.box().count(0) * t.box().count(1), 8);
  EXPECT_TRUE(t.box().full);
  EXPECT_EQ(t.range(t.affine(2, -1, 0)).max, 18);
  EXPECT_EQ(t.range(t.affine(2, -1, 0)).min, -2);
  // Columns are three apart, rows two: differences of 12 and 4.
  EXPECT_TRUE(t.divisible(t.affine(4, 2, 0), 4));
  EXPECT_FALSE(t.divisible(t.affine(4, 2, 0), 8));
}

TEST(Motion, EqualizeKeepsTheCtasThatAgree) {
  MotionTable t(box(5, 1, 1));
  MotionId a = t.from_values({0, 1, 4, 9, 16}), b = t.from_values({0, 1, 2, 9, 15});
  uint64_t before = t.generation();
  t.equalize(a, b);
  EXPECT_NE(t.generation(), before);
  EXPECT_TRUE(t.alive(1));
  EXPECT_FALSE(t.alive(2));
  EXPECT_TRUE(t.alive(3));
  EXPECT_FALSE(t.alive(4));
  uint64_t after = t.generation();
  t.equalize(b, a);
  EXPECT_EQ(t.generation(), after);
}

TEST(Motion, ValuesOfDeadCtasDoNotMatter) {
  MotionTable t(box(4, 1, 1));
  t.narrow([](size_t i) { return i != 2; });
  EXPECT_EQ(t.from_values({0, 5, 999, 15}), t.affine(5, 0, 0));
  EXPECT_EQ(t.from_values({0, 5, 1, 16}), t.from_values({0, 5, 2, 16}));
}

TEST(Motion, DeparturesTellApartWhoLeftWhenAndWithWhat) {
  MotionTable t(box(9, 1, 1));
  EXPECT_EQ(t.split(0, [&](size_t i) { return i % 3; }), 6u);  // 0, 3, 6 stay
  t.narrow([](size_t i) { return i != 6; });
  EXPECT_EQ(t.alive_count(), 2u);
  EXPECT_EQ(t.departure(1), t.departure(4));
  EXPECT_EQ(t.departure(1), t.departure(7));
  EXPECT_EQ(t.departure(2), t.departure(8));
  EXPECT_NE(t.departure(1), t.departure(2));
  EXPECT_NE(t.departure(6), t.departure(1));
  EXPECT_NE(t.departure(6), t.departure(2));
}

TEST(Motion, WrapsModulo64Bits) {
  MotionTable t(box(3, 1, 1));
  int64_t half = int64_t{1} << 62;
  MotionId m = t.scale(t.affine(half, 0, 0), 2);
  EXPECT_EQ(t.value(m, 1), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(t.value(m, 2), 0);
  EXPECT_EQ(t.range(m).min, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(t.range(m).max, 0);
}

TEST(Motion, RandomAlgebraMatchesValues) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::vector<Cta> ctas;
    for (const Cta& c : box(5, 4, 2))
      if (random() % 4) ctas.push_back(c);
    if (ctas.empty()) continue;
    std::swap(ctas[0], ctas[random() % ctas.size()]);
    MotionTable t(ctas);
    size_t n = t.size();
    std::vector<std::pair<MotionId, std::vector<int64_t>>> known{{0, std::vector<int64_t>(n)}};
    for (int d = 0; d < 3; ++d) {
      std::vector<int64_t> v(n);
      for (size_t i = 0; i < n; ++i) v[i] = int64_t(ctas[i][d]) - int64_t(ctas[0][d]);
      known.push_back({t.ctaid(d), v});
    }
    for (int step = 0; step < 25; ++step) {
      if (random() % 8 == 0) t.narrow([&](size_t) { return random() % 6 != 0; });
      auto a = known[random() % known.size()];
      auto b = known[random() % known.size()];
      std::vector<int64_t> v(n);
      MotionId id = 0;
      switch (random() % 3) {
        case 0:
          id = t.add(a.first, b.first);
          for (size_t i = 0; i < n; ++i) v[i] = a.second[i] + b.second[i];
          break;
        case 1:
          id = t.sub(a.first, b.first);
          for (size_t i = 0; i < n; ++i) v[i] = a.second[i] - b.second[i];
          break;
        default: {
          int64_t base = random() % 4;
          for (size_t i = 0; i < n; ++i) v[i] = (a.second[i] + 64 + base) / 4 - (64 + base) / 4;
          id = t.from_values(v);
        }
      }
      int64_t low = 0, high = 0;
      bool even = true;
      for (size_t i = 0; i < n; ++i) {
        if (!t.alive(i)) continue;
        ASSERT_EQ(t.value(id, i), v[i]);
        low = std::min(low, v[i]);
        high = std::max(high, v[i]);
        even &= v[i] % 2 == 0;
      }
      EXPECT_EQ(t.range(id).min, low);
      EXPECT_EQ(t.range(id).max, high);
      EXPECT_EQ(t.divisible(id, 2), even);
      known.push_back({id, v});
    }
  }
}

}  // namespace
}  // namespace coequal::tensor
