// The constructors' rules, one line each, and the cases in which a rule must not apply.
#include <gtest/gtest.h>

#include "term/store.h"

namespace coequal::term {
namespace {

class Fold : public ::testing::Test {
 protected:
  TermStore s;
  GroupId x_group = s.add_group({.name = "x"});
  GroupId n_group = s.add_group({.name = "n", .dtype = DType::U32, .type = bv(32)});
  GroupId b_group = s.add_group({.name = "b", .dtype = DType::U8, .type = bv(8)});
  GroupId bad_real = s.add_group({.kind = Group::Kind::Poison, .name = "poison"});
  GroupId bad_word = s.add_group({.kind = Group::Kind::Poison, .name = "poison", .type = bv(32)});

  Term x = s.leaf(x_group, {0, 0}), y = s.leaf(x_group, {1, 0}), z = s.leaf(x_group, {2, 0});
  Term n = s.leaf(n_group, {0, 0}), m = s.leaf(n_group, {1, 0});
  Term bad = s.leaf(bad_real, {0, 0}), bad_n = s.leaf(bad_word, {0, 0});
  Term inf = s.infinity(false), ninf = s.infinity(true), undefined = s.undefined();
  Term yes = s.boolean(true), no = s.boolean(false);
  Term partial = make(Kind::Log2, {x});  // undefined for some inputs
  Term c = make(Kind::Less, {x, y});

  Term make(Kind kind, std::initializer_list<Term> args, uint64_t payload = 0, int width = 0) {
    return s.make(kind, args, payload, width);
  }
  Term real(int64_t value) { return s.real(value); }
  Term word(uint64_t value) { return s.bits(value, 32); }
  Term byte(int cell) { return s.leaf(b_group, {cell, 0}); }
  Term neg(const Term& t) { return make(Kind::Mul, {real(-1), t}); }
  Term extract(const Term& t, int low, int width) { return make(Kind::BvExtract, {t}, low, width); }
  Term zext(const Term& t, int width) { return make(Kind::BvZeroExtend, {t}, 0, width); }
  Term concat(const Term& high, const Term& low) { return make(Kind::BvConcat, {high, low}); }
  Term bits(const Term& t, FloatFormat f) {
    return make(Kind::BitsOfReal, {t}, static_cast<uint64_t>(f));
  }
  Term value(const Term& t, FloatFormat f) {
    return make(Kind::RealOfBits, {t}, static_cast<uint64_t>(f));
  }
  void expect_kept(Kind kind, std::initializer_list<Term> args, uint64_t payload = 0,
                   int width = 0) {
    const Term t = make(kind, args, payload, width);
    EXPECT_EQ(s.kind(t), kind) << kind_name(kind);
    EXPECT_EQ(s.arity(t), static_cast<int>(args.size()));
  }
};

TEST_F(Fold, RealConstants) {
  EXPECT_EQ(make(Kind::Add, {s.real({1, 2}), s.real({1, 3})}), s.real({5, 6}));
  EXPECT_EQ(make(Kind::Mul, {s.real({2, 3}), real(6)}), real(4));
  EXPECT_EQ(make(Kind::Div, {real(1), real(3)}), s.real({1, 3}));
  EXPECT_EQ(make(Kind::Min, {real(2), real(-3)}), real(-3));
  EXPECT_EQ(make(Kind::Max, {real(2), real(-3)}), real(2));
  EXPECT_EQ(make(Kind::Abs, {s.real({-7, 2})}), s.real({7, 2}));
  EXPECT_EQ(make(Kind::Sqrt, {s.real({9, 4})}), s.real({3, 2}));
  EXPECT_EQ(make(Kind::Exp2, {real(-3)}), s.real({1, 8}));
  EXPECT_EQ(make(Kind::Log2, {s.real({1, 32})}), real(-5));
  EXPECT_EQ(make(Kind::Floor, {s.real({-5, 2})}), real(-3));
  EXPECT_EQ(make(Kind::Ceil, {s.real({-5, 2})}), real(-2));
  EXPECT_EQ(make(Kind::Trunc, {s.real({-5, 2})}), real(-2));
  EXPECT_EQ(make(Kind::RoundEven, {s.real({5, 2})}), real(2));
  EXPECT_EQ(make(Kind::RoundEven, {s.real({-7, 2})}), real(-4));
  EXPECT_EQ(make(Kind::RoundEven, {s.real({8, 3})}), real(3));
  EXPECT_EQ(make(Kind::CopySign, {real(3), real(-1)}), real(-3));
  EXPECT_EQ(make(Kind::CopySign, {real(-3), real(0)}), real(3));
  EXPECT_EQ(make(Kind::Cos, {real(0)}), real(1));
  expect_kept(Kind::Sqrt, {real(2)});
  expect_kept(Kind::Exp2, {s.real({1, 2})});
  expect_kept(Kind::Exp2, {real(100000)});
  expect_kept(Kind::Log2, {real(3)});
}

TEST_F(Fold, Undefined) {
  EXPECT_EQ(make(Kind::Div, {real(1), real(0)}), undefined);
  EXPECT_EQ(make(Kind::Div, {x, real(0)}), undefined);
  EXPECT_EQ(make(Kind::Sqrt, {real(-1)}), undefined);
  EXPECT_EQ(make(Kind::Log2, {real(0)}), undefined);
  EXPECT_EQ(make(Kind::Add, {ninf, neg(ninf)}), undefined);
  EXPECT_EQ(make(Kind::Add, {inf, ninf}), undefined);
  EXPECT_EQ(make(Kind::Mul, {real(0), inf}), undefined);
  EXPECT_EQ(make(Kind::Div, {inf, inf}), undefined);
  EXPECT_EQ(make(Kind::Sin, {inf}), undefined);
  EXPECT_EQ(make(Kind::Add, {x, undefined}), undefined);
  EXPECT_EQ(make(Kind::Max, {undefined, x}), undefined);
  expect_kept(Kind::Less, {undefined, x});
  expect_kept(Kind::Add, {undefined, bad});
}

TEST_F(Fold, Infinities) {
  EXPECT_EQ(make(Kind::Max, {ninf, partial}), partial);
  EXPECT_EQ(make(Kind::Min, {partial, inf}), partial);
  EXPECT_EQ(make(Kind::Min, {ninf, x}), ninf);
  EXPECT_EQ(make(Kind::Max, {x, inf}), inf);
  EXPECT_EQ(make(Kind::Max, {inf, ninf}), inf);
  EXPECT_EQ(make(Kind::Add, {x, ninf}), ninf);
  EXPECT_EQ(make(Kind::Add, {ninf, ninf}), ninf);
  EXPECT_EQ(make(Kind::Mul, {real(-2), ninf}), inf);
  EXPECT_EQ(make(Kind::Mul, {ninf, s.symbol(NamedConstant::Log2E)}), ninf);
  EXPECT_EQ(make(Kind::Mul, {inf, neg(make(Kind::Exp2, {x}))}), ninf);
  EXPECT_EQ(make(Kind::Exp2, {ninf}), real(0));
  EXPECT_EQ(make(Kind::Exp2, {inf}), inf);
  EXPECT_EQ(make(Kind::Div, {x, ninf}), real(0));
  EXPECT_EQ(make(Kind::Tanh, {ninf}), real(-1));
  EXPECT_EQ(make(Kind::Atan, {ninf}),
            make(Kind::Mul, {s.real({-1, 2}), s.symbol(NamedConstant::Pi)}));
  EXPECT_EQ(make(Kind::ErfInv, {inf}), s.undefined());
  EXPECT_EQ(make(Kind::Gamma, {inf}), inf);
  EXPECT_EQ(make(Kind::LogGamma, {ninf}), s.undefined());
  EXPECT_EQ(make(Kind::Less, {ninf, x}), yes);
  EXPECT_EQ(make(Kind::LessEq, {inf, x}), no);
  EXPECT_EQ(make(Kind::Equal, {inf, x}), no);
  EXPECT_EQ(make(Kind::LessEq, {ninf, ninf}), yes);
  expect_kept(Kind::Min, {ninf, partial});
  expect_kept(Kind::Add, {ninf, partial});
  expect_kept(Kind::Mul, {inf, x});
  expect_kept(Kind::Less, {ninf, partial});
  expect_kept(Kind::Div, {partial, inf});
}

TEST_F(Fold, IntegersMoveOutOfRoundings) {
  auto plus = [&](int64_t k, const Term& t) { return make(Kind::Add, {real(k), t}); };
  EXPECT_EQ(make(Kind::Floor, {plus(3, x)}), plus(3, make(Kind::Floor, {x})));
  EXPECT_EQ(make(Kind::Ceil, {plus(-3, x)}), plus(-3, make(Kind::Ceil, {x})));
  EXPECT_EQ(make(Kind::RoundEven, {plus(4, x)}), plus(4, make(Kind::RoundEven, {x})));
  expect_kept(Kind::RoundEven, {plus(3, x)});  // 1/2 rounds to 0, 3 + 1/2 to 4
  expect_kept(Kind::Trunc, {plus(3, x)});      // -1/2 goes up to 0, 3 - 1/2 down to 2
  const Term whole = plus(3, make(Kind::Floor, {x}));
  EXPECT_EQ(make(Kind::RoundEven, {whole}), whole);
}

TEST_F(Fold, RoundedConstantsStayApart) {
  const Term tenth = s.real(Rational::from_double(0.1f)),
             other = s.real(Rational::from_double(0.7f));
  auto mul = [&](const Term& a, const Term& b) { return make(Kind::Mul, {a, b}); };
  EXPECT_EQ(mul(real(3), mul(s.real({1, 5}), x)), mul(s.real({3, 5}), x));
  EXPECT_EQ(mul(real(-2), mul(tenth, x)), mul(s.real(Rational::from_double(-0.2f)), x));
  const Term inverse = s.real(Rational(1) / Rational::from_double(0.1f));
  EXPECT_EQ(mul(inverse, mul(tenth, x)), x);
  expect_kept(Kind::Mul, {other, mul(tenth, x)});
}

TEST_F(Fold, SpecialFunctionsAtExactPoints) {
  EXPECT_EQ(make(Kind::Atan, {real(0)}), real(0));
  EXPECT_EQ(make(Kind::Atan, {real(-1)}),
            make(Kind::Mul, {s.real({-1, 4}), s.symbol(NamedConstant::Pi)}));
  EXPECT_EQ(make(Kind::ErfInv, {real(0)}), real(0));
  EXPECT_EQ(make(Kind::ErfInv, {real(1)}), s.undefined());
  EXPECT_EQ(make(Kind::Gamma, {real(5)}), real(24));
  EXPECT_EQ(make(Kind::Gamma, {real(0)}), s.undefined());
  EXPECT_EQ(make(Kind::LogGamma, {real(1)}), real(0));
  EXPECT_EQ(make(Kind::LogGamma, {real(2)}), real(0));
  EXPECT_EQ(make(Kind::LogGamma, {real(-2)}), s.undefined());
  expect_kept(Kind::Gamma, {s.real({1, 2})});
  expect_kept(Kind::LogGamma, {real(3)});
}

TEST_F(Fold, RealIdentities) {
  EXPECT_EQ(make(Kind::Add, {partial, real(0)}), partial);
  EXPECT_EQ(make(Kind::Mul, {real(1), partial}), partial);
  EXPECT_EQ(make(Kind::Div, {partial, real(1)}), partial);
  EXPECT_EQ(make(Kind::Div, {x, real(4)}), make(Kind::Mul, {x, s.real({1, 4})}));
  EXPECT_EQ(make(Kind::Mul, {x, real(0)}), real(0));
  EXPECT_EQ(make(Kind::Add, {x, neg(x)}), real(0));
  EXPECT_EQ(neg(neg(partial)), partial);
  EXPECT_EQ(make(Kind::Add, {real(3), make(Kind::Add, {x, real(4)})}),
            make(Kind::Add, {x, real(7)}));
  EXPECT_EQ(make(Kind::Min, {partial, partial}), partial);
  EXPECT_EQ(make(Kind::Max, {real(0), make(Kind::Max, {x, real(-1)})}),
            make(Kind::Max, {x, real(0)}));
  EXPECT_EQ(make(Kind::Abs, {make(Kind::Abs, {x})}), make(Kind::Abs, {x}));
  EXPECT_EQ(make(Kind::Abs, {neg(x)}), make(Kind::Abs, {x}));
  EXPECT_EQ(make(Kind::Log2, {make(Kind::Exp2, {x})}), x);
  EXPECT_EQ(make(Kind::Trunc, {make(Kind::Floor, {x})}), make(Kind::Floor, {x}));
  EXPECT_EQ(make(Kind::Floor, {make(Kind::RealOfSigned, {n})}), make(Kind::RealOfSigned, {n}));
  expect_kept(Kind::Mul, {partial, real(0)});
  expect_kept(Kind::Add, {partial, neg(partial)});
  expect_kept(Kind::Add, {x, neg(y)});
  expect_kept(Kind::Log2, {make(Kind::Exp2, {partial})});
  expect_kept(Kind::Exp2, {make(Kind::Log2, {x})});
  expect_kept(Kind::Sqrt, {make(Kind::Mul, {x, x})});
  expect_kept(Kind::Div, {x, x});
}

TEST_F(Fold, PoisonIsNeverDropped) {
  expect_kept(Kind::Mul, {bad, real(0)});
  expect_kept(Kind::Add, {bad, neg(bad)});
  expect_kept(Kind::Min, {ninf, bad});
  expect_kept(Kind::Less, {bad, bad});
  expect_kept(Kind::IsNumber, {bad});
  expect_kept(Kind::Div, {bad, real(0)});
  expect_kept(Kind::Select, {make(Kind::Less, {bad, x}), y, y});
  expect_kept(Kind::And, {no, make(Kind::Less, {bad, x})});
  expect_kept(Kind::Select, {c, yes, make(Kind::Less, {bad, x})});
  expect_kept(Kind::BvMul, {bad_n, word(0)});
  expect_kept(Kind::BvAnd, {bad_n, word(0)});
  expect_kept(Kind::BvXor, {bad_n, bad_n});
  expect_kept(Kind::BvOr, {bad_n, word(~0u)});
  expect_kept(Kind::BvEq, {bad_n, bad_n});
  EXPECT_TRUE(s.has_poison(make(Kind::BvAdd, {bad_n, make(Kind::BvMul, {word(~0u), bad_n})})));
  EXPECT_TRUE(s.has_poison(make(Kind::BvAnd, {bad_n, word(0xff)})));
  // What may drop it: an arm that is not chosen, and bits that are discarded.
  EXPECT_EQ(make(Kind::Select, {yes, x, bad}), x);
  EXPECT_EQ(make(Kind::Select, {no, bad, x}), x);
  EXPECT_EQ(extract(concat(bad_n, n), 0, 32), n);
  EXPECT_EQ(make(Kind::BvLshr, {concat(n, bad_n), s.bits(32, 64)}), zext(n, 64));
}

TEST_F(Fold, Conditions) {
  EXPECT_EQ(make(Kind::Less, {real(1), real(2)}), yes);
  EXPECT_EQ(make(Kind::LessEq, {real(2), real(2)}), yes);
  EXPECT_EQ(make(Kind::Equal, {real(1), real(2)}), no);
  EXPECT_EQ(make(Kind::Less, {x, x}), no);
  EXPECT_EQ(make(Kind::LessEq, {x, x}), yes);
  EXPECT_EQ(make(Kind::Equal, {x, x}), yes);
  EXPECT_EQ(make(Kind::Not, {c}), make(Kind::LessEq, {y, x}));
  EXPECT_EQ(make(Kind::Not, {make(Kind::Not, {make(Kind::Equal, {x, y})})}),
            make(Kind::Equal, {x, y}));
  EXPECT_EQ(make(Kind::And, {yes, c}), c);
  EXPECT_EQ(make(Kind::And, {no, c}), no);
  EXPECT_EQ(make(Kind::Or, {c, c}), c);
  EXPECT_EQ(make(Kind::Or, {c, make(Kind::Not, {c})}), yes);
  EXPECT_EQ(make(Kind::IsNumber, {x}), yes);
  EXPECT_EQ(make(Kind::IsNumber, {ninf}), yes);
  EXPECT_EQ(make(Kind::IsNumber, {undefined}), no);
  const Term shaky = make(Kind::Less, {partial, y});
  expect_kept(Kind::Less, {partial, partial});
  expect_kept(Kind::Equal, {partial, partial});
  expect_kept(Kind::Or, {shaky, make(Kind::Not, {shaky})});
  expect_kept(Kind::IsNumber, {partial});
  expect_kept(Kind::Equal, {x, y});
}

TEST_F(Fold, NegationsTurnComparisonsRound) {
  EXPECT_EQ(make(Kind::Less, {neg(x), real(3)}), make(Kind::Less, {real(-3), x}));
  EXPECT_EQ(make(Kind::LessEq, {real(3), neg(partial)}), make(Kind::LessEq, {partial, real(-3)}));
  EXPECT_EQ(make(Kind::Less, {neg(x), neg(y)}), make(Kind::Less, {y, x}));
  EXPECT_EQ(make(Kind::Equal, {neg(x), real(2)}), make(Kind::Equal, {x, real(-2)}));
  EXPECT_EQ(make(Kind::Mul, {neg(x), neg(y)}), make(Kind::Mul, {x, y}));
  expect_kept(Kind::Less, {neg(x), y});
}

TEST_F(Fold, PlainSignsDecide) {
  const Term square = make(Kind::Mul, {x, x}), power = make(Kind::Exp2, {x});
  EXPECT_EQ(make(Kind::Less, {square, real(0)}), no);
  EXPECT_EQ(make(Kind::LessEq, {real(-1), square}), yes);
  EXPECT_EQ(make(Kind::LessEq, {power, real(0)}), no);
  EXPECT_EQ(make(Kind::Less, {real(0), make(Kind::Add, {power, square})}), yes);
  EXPECT_EQ(make(Kind::Abs, {square}), square);
  EXPECT_EQ(make(Kind::CopySign, {y, square}), make(Kind::Abs, {y}));
  // A square may be 0; an undefined operand leaves the comparison undefined.
  expect_kept(Kind::Less, {real(0), square});
  expect_kept(Kind::LessEq, {square, real(0)});
  expect_kept(Kind::Less, {make(Kind::Mul, {partial, partial}), real(0)});
  expect_kept(Kind::CopySign, {y, make(Kind::Mul, {partial, partial})});
  expect_kept(Kind::Less, {make(Kind::Mul, {x, y}), real(0)});
}

TEST_F(Fold, EqualityWithAConstantLooksAtTheRest) {
  const Term low = extract(n, 0, 1);
  EXPECT_EQ(make(Kind::BvEq, {low, s.bits(0, 1)}),
            make(Kind::Not, {make(Kind::BvEq, {low, s.bits(1, 1)})}));
  const Term middle = extract(n, 5, 8), word_of_it = concat(middle, s.bits(1, 24));
  EXPECT_EQ(make(Kind::BvEq, {word_of_it, word(0x07000001)}),
            make(Kind::BvEq, {middle, s.bits(7, 8)}));
  EXPECT_EQ(make(Kind::BvEq, {word_of_it, word(0x07000000)}), no);
}

TEST_F(Fold, Select) {
  EXPECT_EQ(make(Kind::Select, {yes, x, partial}), x);
  EXPECT_EQ(make(Kind::Select, {c, x, x}), x);
  EXPECT_EQ(make(Kind::Select, {make(Kind::Not, {make(Kind::Equal, {x, y})}), x, z}),
            make(Kind::Select, {make(Kind::Equal, {x, y}), z, x}));
  EXPECT_EQ(make(Kind::Select, {c, make(Kind::Select, {c, x, y}), z}),
            make(Kind::Select, {c, x, z}));
  EXPECT_EQ(make(Kind::Select, {c, yes, no}), c);
  EXPECT_EQ(make(Kind::Select, {c, no, yes}), make(Kind::Not, {c}));
  const Term d = make(Kind::Equal, {y, z});
  EXPECT_EQ(make(Kind::Select, {c, yes, d}), make(Kind::Or, {c, d}));
  EXPECT_EQ(make(Kind::Select, {c, d, no}), make(Kind::And, {c, d}));
  EXPECT_EQ(make(Kind::Select, {c, word(1), word(0)}), make(Kind::BvOfBool, {c}, 0, 32));
  expect_kept(Kind::Select, {c, x, y});
  expect_kept(Kind::Select, {c, real(1), real(0)});
}

TEST_F(Fold, WordConstants) {
  EXPECT_EQ(make(Kind::BvAdd, {word(0xffffffff), word(2)}), word(1));
  EXPECT_EQ(make(Kind::BvMul, {s.bits(16, 8), s.bits(17, 8)}), s.bits(16, 8));
  EXPECT_EQ(make(Kind::BvMul, {s.bits(1ull << 63, 64), s.bits(3, 64)}), s.bits(1ull << 63, 64));
  EXPECT_EQ(make(Kind::BvNot, {s.bits(0b101, 3)}), s.bits(0b010, 3));
  EXPECT_EQ(make(Kind::BvShl, {word(1), word(31)}), word(0x80000000));
  EXPECT_EQ(make(Kind::BvShl, {word(1), word(32)}), word(0));
  EXPECT_EQ(make(Kind::BvLshr, {word(0x80000000), word(31)}), word(1));
  EXPECT_EQ(make(Kind::BvAshr, {word(0x80000000), word(4)}), word(0xf8000000));
  EXPECT_EQ(make(Kind::BvAshr, {word(0x80000000), word(99)}), word(0xffffffff));
  EXPECT_EQ(make(Kind::BvAshr, {word(0x7fffffff), word(32)}), word(0));
  EXPECT_EQ(make(Kind::BvShl, {s.bits(1, 64), word(40)}), s.bits(1ull << 40, 64));
  EXPECT_EQ(make(Kind::BvUdiv, {word(7), word(2)}), word(3));
  EXPECT_EQ(make(Kind::BvSdiv, {word(0xfffffff9), word(2)}), word(0xfffffffd));
  EXPECT_EQ(make(Kind::BvSrem, {word(0xfffffff9), word(2)}), word(0xffffffff));
  EXPECT_EQ(make(Kind::BvSdiv, {word(0x80000000), word(0xffffffff)}), word(0x80000000));
  EXPECT_EQ(make(Kind::BvSdiv, {s.bits(1ull << 63, 64), s.bits(~0ull, 64)}),
            s.bits(1ull << 63, 64));
  EXPECT_EQ(make(Kind::BvUrem, {word(7), word(4)}), word(3));
  EXPECT_EQ(make(Kind::BvPopcount, {s.bits(0xff00ff, 64)}, 0, 32), word(16));
  EXPECT_EQ(make(Kind::BvClz, {word(1)}), word(31));
  EXPECT_EQ(make(Kind::BvClz, {s.bits(0, 64)}, 0, 32), word(64));
  EXPECT_EQ(make(Kind::BvReverse, {word(1)}), word(0x80000000));
  EXPECT_EQ(make(Kind::BvSignExtend, {s.bits(0x80, 8)}, 0, 32), word(0xffffff80));
  EXPECT_EQ(zext(s.bits(0x80, 8), 32), word(0x80));
  EXPECT_EQ(concat(s.bits(0xab, 8), s.bits(0xc, 4)), s.bits(0xabc, 12));
  EXPECT_EQ(extract(word(0x12345678), 8, 8), s.bits(0x56, 8));
  EXPECT_EQ(make(Kind::BvSlt, {word(0xffffffff), word(0)}), yes);
  EXPECT_EQ(make(Kind::BvUlt, {word(0xffffffff), word(0)}), no);
  EXPECT_EQ(make(Kind::BvEq, {word(3), word(3)}), yes);
  EXPECT_EQ(make(Kind::RealOfSigned, {word(0xffffffff)}), real(-1));
  EXPECT_EQ(make(Kind::RealOfUnsigned, {s.bits(~0ull, 64)}), s.real(Rational::from_u64(~0ull)));
  expect_kept(Kind::BvUdiv, {word(7), word(0)});
  expect_kept(Kind::BvSrem, {n, word(0)});
}

TEST_F(Fold, WordIdentities) {
  EXPECT_EQ(make(Kind::BvAdd, {n, word(0)}), n);
  EXPECT_EQ(make(Kind::BvMul, {n, word(1)}), n);
  EXPECT_EQ(make(Kind::BvMul, {n, word(0)}), word(0));
  EXPECT_EQ(make(Kind::BvAnd, {n, word(0)}), word(0));
  EXPECT_EQ(make(Kind::BvAnd, {n, word(~0u)}), n);
  EXPECT_EQ(make(Kind::BvOr, {n, word(0)}), n);
  EXPECT_EQ(make(Kind::BvOr, {n, word(~0u)}), word(~0u));
  EXPECT_EQ(make(Kind::BvXor, {n, n}), word(0));
  EXPECT_EQ(make(Kind::BvXor, {n, word(~0u)}), make(Kind::BvNot, {n}));
  EXPECT_EQ(make(Kind::BvNot, {make(Kind::BvNot, {n})}), n);
  EXPECT_EQ(make(Kind::BvAdd, {n, make(Kind::BvMul, {n, word(~0u)})}), word(0));
  EXPECT_EQ(make(Kind::BvAdd, {n, n}), make(Kind::BvShl, {n, word(1)}));
  EXPECT_EQ(make(Kind::BvAdd, {make(Kind::BvAdd, {n, word(3)}), word(4)}),
            make(Kind::BvAdd, {n, word(7)}));
  EXPECT_EQ(make(Kind::BvMul, {make(Kind::BvMul, {n, word(4)}), word(3)}),
            make(Kind::BvMul, {n, word(12)}));
  EXPECT_EQ(make(Kind::BvUdiv, {n, word(8)}), make(Kind::BvLshr, {n, word(3)}));
  EXPECT_EQ(make(Kind::BvUrem, {n, word(8)}), make(Kind::BvAnd, {n, word(7)}));
  EXPECT_EQ(make(Kind::BvEq, {n, n}), yes);
  expect_kept(Kind::BvAdd, {n, m});
  expect_kept(Kind::BvXor, {n, m});
  expect_kept(Kind::BvEq, {n, m});
  expect_kept(Kind::BvSdiv, {n, word(8)});
  expect_kept(Kind::BvShl, {n, m});
}

TEST_F(Fold, FieldsMeetInOneForm) {
  // Nibbles of a packed word, by shift and mask, by division, and by bytes.
  const Term packed = concat(byte(3), concat(byte(2), concat(byte(1), byte(0))));
  for (int k = 0; k < 8; ++k) {
    const Term by_word = make(Kind::BvAnd, {make(Kind::BvLshr, {packed, word(4 * k)}), word(15)});
    const Term by_byte = zext(extract(byte(k / 2), 4 * (k % 2), 4), 32);
    EXPECT_EQ(by_word, by_byte) << k;
    const Term shifted =
        make(Kind::BvLshr, {make(Kind::BvShl, {packed, word(28 - 4 * k)}), word(28)});
    EXPECT_EQ(shifted, by_byte) << k;
    const Term divided =
        make(Kind::BvUrem, {make(Kind::BvUdiv, {packed, word(1u << (4 * k))}), word(16)});
    EXPECT_EQ(divided, by_byte) << k;
  }
  EXPECT_EQ(make(Kind::BvAnd, {n, word(0xff)}), zext(extract(n, 0, 8), 32));
  EXPECT_EQ(concat(extract(n, 16, 16), extract(n, 0, 16)), n);
  EXPECT_EQ(extract(extract(n, 8, 16), 4, 8), extract(n, 12, 8));
  EXPECT_EQ(make(Kind::BvShl, {n, word(2)}), make(Kind::BvMul, {n, word(4)}));
  EXPECT_EQ(make(Kind::BvOr, {make(Kind::BvShl, {n, word(2)}), word(3)}),
            make(Kind::BvAdd, {make(Kind::BvMul, {n, word(4)}), word(3)}));
  EXPECT_EQ(make(Kind::BvLshr, {make(Kind::BvShl, {n, word(2)}), word(2)}),
            zext(extract(n, 0, 30), 32));
  EXPECT_EQ(make(Kind::BvAshr, {make(Kind::BvShl, {n, word(24)}), word(24)}),
            make(Kind::BvSignExtend, {extract(n, 0, 8)}, 0, 32));
  // Two halves joined by or, by add, and by concatenation.
  const Term high = make(Kind::BvShl, {zext(byte(1), 32), word(8)}), low = zext(byte(0), 32);
  EXPECT_EQ(make(Kind::BvOr, {high, low}), zext(concat(byte(1), byte(0)), 32));
  EXPECT_EQ(make(Kind::BvAdd, {high, low}), zext(concat(byte(1), byte(0)), 32));
  // A byte permutation and back.
  const Term swapped = concat(extract(n, 0, 16), extract(n, 16, 16));
  EXPECT_EQ(concat(extract(swapped, 0, 16), extract(swapped, 16, 16)), n);
  EXPECT_EQ(extract(make(Kind::BvSignExtend, {byte(0)}, 0, 32), 0, 8), byte(0));
  EXPECT_EQ(extract(make(Kind::BvXor, {n, m}), 0, 8),
            make(Kind::BvXor, {extract(n, 0, 8), extract(m, 0, 8)}));
  expect_kept(Kind::BvConcat, {extract(n, 8, 8), extract(n, 16, 8)});
  expect_kept(Kind::BvConcat, {extract(n, 8, 8), extract(m, 0, 8)});
  // Bit 7 reaches bit 8: the sum carries.
  expect_kept(Kind::BvAdd, {zext(byte(1), 32), zext(byte(0), 32)});
}

TEST_F(Fold, FloatBits) {
  const Term fx = bits(x, FloatFormat::F32);
  EXPECT_EQ(value(fx, FloatFormat::F32), x);
  EXPECT_EQ(make(Kind::BvXor, {fx, word(0x80000000)}), bits(neg(x), FloatFormat::F32));
  EXPECT_EQ(make(Kind::BvAnd, {fx, word(0x7fffffff)}),
            bits(make(Kind::Abs, {x}), FloatFormat::F32));
  EXPECT_EQ(make(Kind::BvOr, {fx, word(0x80000000)}),
            bits(neg(make(Kind::Abs, {x})), FloatFormat::F32));
  EXPECT_EQ(bits(real(1), FloatFormat::F32), word(0x3f800000));
  EXPECT_EQ(bits(inf, FloatFormat::F16), s.bits(0x7c00, 16));
  EXPECT_EQ(value(word(0xff800000), FloatFormat::F32), ninf);
  EXPECT_EQ(value(word(0x7fffffff), FloatFormat::F32), undefined);
  EXPECT_EQ(value(word(0x80000000), FloatFormat::F32), real(0));
  // Packed halves: sign flip of both, absolute value of both, each taken apart.
  const Term hx = bits(x, FloatFormat::F16), hy = bits(y, FloatFormat::F16), pair = concat(hx, hy);
  EXPECT_EQ(make(Kind::BvXor, {pair, word(0x80008000)}),
            concat(bits(neg(x), FloatFormat::F16), bits(neg(y), FloatFormat::F16)));
  EXPECT_EQ(make(Kind::BvAnd, {pair, word(0x7fff7fff)}),
            concat(bits(make(Kind::Abs, {x}), FloatFormat::F16),
                   bits(make(Kind::Abs, {y}), FloatFormat::F16)));
  EXPECT_EQ(value(extract(pair, 16, 16), FloatFormat::F16), x);
  EXPECT_EQ(value(extract(make(Kind::BvLshr, {pair, word(16)}), 0, 16), FloatFormat::F16), x);
  // bf16 is the upper half of f32.
  const Term bx = bits(x, FloatFormat::BF16);
  EXPECT_EQ(value(make(Kind::BvShl, {zext(bx, 32), word(16)}), FloatFormat::F32), x);
  EXPECT_EQ(value(extract(fx, 16, 16), FloatFormat::BF16), x);
  EXPECT_EQ(value(make(Kind::BvAnd, {fx, word(0xffffe000)}), FloatFormat::F32), x);
  EXPECT_EQ(value(make(Kind::BvAnd, {fx, word(0xffff0000)}), FloatFormat::F32), x);
  EXPECT_EQ(s.kind(value(make(Kind::BvAnd, {fx, word(0xff800000)}), FloatFormat::F32)),
            Kind::RealOfBits);
  // copysign by masks.
  const Term fy = bits(y, FloatFormat::F32);
  const Term joined = make(Kind::BvOr, {make(Kind::BvAnd, {fx, word(0x7fffffff)}),
                                        make(Kind::BvAnd, {fy, word(0x80000000)})});
  EXPECT_EQ(value(joined, FloatFormat::F32), make(Kind::CopySign, {x, y}));
  // A masked load of encoded values.
  EXPECT_EQ(value(make(Kind::Select, {c, fx, word(0)}), FloatFormat::F32),
            make(Kind::Select, {c, x, real(0)}));
  // 0x6400 + four bits is 1024 + n in f16.
  const Term magic = make(Kind::BvOr, {make(Kind::BvAnd, {n, word(0x000f000f)}), word(0x64006400)});
  EXPECT_EQ(value(extract(magic, 16, 16), FloatFormat::F16),
            make(Kind::Add, {real(1024), make(Kind::RealOfUnsigned, {extract(n, 16, 4)})}));
  // NaN payloads: not the identity.
  EXPECT_EQ(s.kind(bits(value(n, FloatFormat::F32), FloatFormat::F32)), Kind::BitsOfReal);
  EXPECT_FALSE(s.is_total(value(n, FloatFormat::F32)));
  EXPECT_EQ(s.kind(value(hx, FloatFormat::BF16)), Kind::RealOfBits);
  EXPECT_EQ(s.kind(bits(s.real({1, 10}), FloatFormat::F32)), Kind::BitsOfReal);
}

TEST_F(Fold, BetweenWordsAndReals) {
  const auto to_signed = [&](const Term& t, int width) {
    return make(Kind::BvOfReal, {t}, 1, width);
  };
  const auto to_unsigned = [&](const Term& t, int width) {
    return make(Kind::BvOfReal, {t}, 0, width);
  };
  EXPECT_EQ(to_signed(real(-5), 32), word(0xfffffffb));
  EXPECT_EQ(to_signed(real(200), 8), s.bits(127, 8));
  EXPECT_EQ(to_signed(real(-200), 8), s.bits(0x80, 8));
  EXPECT_EQ(to_unsigned(real(-1), 32), word(0));
  EXPECT_EQ(to_unsigned(s.real(Rational::power_of_two(70)), 64), s.bits(~0ull, 64));
  EXPECT_EQ(to_signed(ninf, 64), s.bits(1ull << 63, 64));
  const Term sn = make(Kind::RealOfSigned, {n}), un = make(Kind::RealOfUnsigned, {n});
  EXPECT_EQ(to_signed(sn, 32), n);
  EXPECT_EQ(to_signed(sn, 64), make(Kind::BvSignExtend, {n}, 0, 64));
  EXPECT_EQ(to_signed(un, 64), zext(n, 64));
  EXPECT_EQ(to_unsigned(un, 32), n);
  EXPECT_EQ(s.kind(to_signed(un, 32)), Kind::BvOfReal);
  EXPECT_EQ(s.kind(to_unsigned(sn, 32)), Kind::BvOfReal);
  EXPECT_EQ(s.kind(to_signed(sn, 16)), Kind::BvOfReal);
  EXPECT_EQ(make(Kind::RealOfSigned, {zext(n, 64)}), un);
  EXPECT_EQ(make(Kind::RealOfUnsigned, {make(Kind::BvOfBool, {c}, 0, 32)}),
            make(Kind::Select, {c, real(1), real(0)}));
  const Term flag = make(Kind::BvOfBool, {c}, 0, 32);
  EXPECT_EQ(make(Kind::BvEq, {flag, word(0)}), make(Kind::Not, {c}));
  EXPECT_EQ(make(Kind::BvEq, {flag, word(1)}), c);
  EXPECT_EQ(make(Kind::BvEq, {flag, word(2)}), no);
  EXPECT_EQ(make(Kind::BvUlt, {zext(byte(0), 32), word(256)}), yes);
  EXPECT_EQ(make(Kind::BvSlt, {zext(byte(0), 32), word(0xffffffff)}), no);
  EXPECT_EQ(make(Kind::BvSlt, {zext(byte(0), 32), zext(byte(1), 32)}),
            make(Kind::BvUlt, {byte(0), byte(1)}));
  EXPECT_EQ(make(Kind::BvEq, {make(Kind::Select, {c, word(3), word(4)}), word(3)}), c);
}

TEST_F(Fold, Flags) {
  EXPECT_TRUE(s.is_total(x));
  EXPECT_TRUE(s.is_total(make(Kind::Exp2, {make(Kind::Mul, {x, y})})));
  EXPECT_TRUE(s.is_total(make(Kind::Div, {x, s.symbol(NamedConstant::Pi)})));
  EXPECT_TRUE(s.is_total(make(Kind::Select, {c, x, y})));
  EXPECT_TRUE(s.is_total(make(Kind::BvUdiv, {n, word(3)})));
  EXPECT_FALSE(s.is_total(make(Kind::BvUdiv, {n, m})));
  EXPECT_FALSE(s.is_total(make(Kind::Div, {x, y})));
  EXPECT_FALSE(s.is_total(make(Kind::Sqrt, {x})));
  EXPECT_FALSE(s.is_total(partial));
  EXPECT_FALSE(s.is_total(make(Kind::Add, {bad, x})));
  EXPECT_FALSE(s.is_total(make(Kind::Select, {c, x, ninf})));
  EXPECT_TRUE(s.has_infinite(make(Kind::Select, {c, x, ninf}).shape()));
  EXPECT_TRUE(s.is_total(make(Kind::IsNumber, {partial})));
  const GroupId iota = s.add_group({.kind = Group::Kind::Iota, .name = "iota", .type = bv(32)});
  const Term k = s.leaf(iota, {7, 0});
  EXPECT_TRUE(s.has_pseudo(make(Kind::RealOfSigned, {k})));
  EXPECT_TRUE(s.is_total(k));
}

}  // namespace
}  // namespace coequal::term
