// Texts of terms, replacement of sub-terms, and walks.
#include <gtest/gtest.h>

#include "term/print.h"
#include "term/substitute.h"
#include "term/traverse.h"

namespace coequal::term {
namespace {

class Print : public ::testing::Test {
 protected:
  TermStore s;
  GroupId g = s.add_group({.name = "x"}),
          w = s.add_group({.name = "n", .dtype = DType::U32, .type = bv(32)});
  GroupId bad = s.add_group({.kind = Group::Kind::Poison, .name = "smem"});
  Term x = s.leaf(g, {3, 0}), n = s.leaf(w, {5, 0});
  Term make(Kind kind, std::initializer_list<Term> args, uint64_t payload = 0, int width = 0) {
    return s.make(kind, args, payload, width);
  }
};

TEST_F(Print, UsesInfixAndFewParentheses) {
  const Term alpha = s.free_scalar(s.add_scalar({.name = "alpha"}));
  EXPECT_EQ(print(s, make(Kind::Div, {x, make(Kind::Div, {alpha, x})})), "x[3] / (alpha / x[3])");
  EXPECT_EQ(print(s, make(Kind::Div, {make(Kind::Div, {x, alpha}), x})), "x[3] / alpha / x[3]");
  const Term difference = make(Kind::Add, {x, make(Kind::Mul, {s.real(-1), alpha})});
  EXPECT_EQ(print(s, difference), "x[3] - alpha");
  EXPECT_EQ(print(s, make(Kind::Exp2, {difference})), "exp2(x[3] - alpha)");
  EXPECT_EQ(print(s, make(Kind::Select,
                          {make(Kind::Less, {x, alpha}), s.real({1, 2}), s.infinity(true)})),
            "x[3] < alpha ? 1/2 : -inf");
  EXPECT_EQ(print(s, s.symbol(NamedConstant::Log2E)), "log2(e)");
  EXPECT_EQ(print(s, s.leaf(bad, {7, 0})), "uninitialised(smem[7])");
  EXPECT_EQ(print(s, make(Kind::BvExtract, {n}, 8, 4)), "n[5]{11..8}");
  EXPECT_EQ(print(s, make(Kind::RealOfBits, {n}, static_cast<uint64_t>(FloatFormat::F32))),
            "f32-value(n[5])");
}

TEST_F(Print, NamesLeavesAsAskedAndElides) {
  PrintOptions options;
  options.leaf = [&](GroupId group, int64_t cell) {
    return s.group(group).name + "[0, " + std::to_string(cell) + "]";
  };
  EXPECT_EQ(print(s, x, options), "x[0, 3]");
  Term sum = x;
  for (int i = 0; i < 100000; ++i) sum = make(Kind::Div, {sum, s.leaf(g, {i % 7, 0})});
  options.max_nodes = 10;
  const std::string text = print(s, sum, options);
  EXPECT_LT(text.size(), 200u);
  EXPECT_NE(text.find("..."), std::string::npos);
}

TEST_F(Print, SubstitutionRefolds) {
  const GroupId iota = s.add_group({.kind = Group::Kind::Iota, .name = "iota", .type = bv(32)});
  const Term k = s.leaf(iota, {6, 0});
  const Term t =
      make(Kind::Mul, {x, make(Kind::RealOfSigned, {make(Kind::BvAdd, {k, s.bits(1, 32)})})});
  Substitution known = substitute_known(s);
  EXPECT_EQ(known(t), make(Kind::Mul, {x, s.real(7)}));
  EXPECT_EQ(known(x), x);
  const Term condition = make(Kind::Less, {x, s.real(0)});
  const Term guarded = make(Kind::Select, {condition, make(Kind::Div, {s.real(1), x}), x});
  Substitution assume(s, [&](const Term& u) -> std::optional<Term> {
    if (u == condition) return s.boolean(false);
    return std::nullopt;
  });
  EXPECT_EQ(assume(guarded), x);
  EXPECT_EQ(assume(make(Kind::Exp2, {guarded})), make(Kind::Exp2, {x}));
}

TEST_F(Print, PostorderVisitsEachSubTermOnce) {
  Term t = x;
  for (int i = 0; i < 60; ++i) t = make(Kind::Add, {t, make(Kind::Mul, {t, t})});  // 2^60 paths
  std::vector<Term> seen;
  Postorder walk(s);
  walk.walk(t, [&](const Term& u) { seen.push_back(u); });
  EXPECT_EQ(seen.size(), 121u);
  EXPECT_EQ(seen.front(), x);
  EXPECT_EQ(seen.back(), t);
}

}  // namespace
}  // namespace coequal::term
