// Terms over a few float tensors, and decisions about them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "decide/decider.h"
#include "term/evaluate.h"

namespace coequal::decide {

class Terms {
 public:
  using Term = term::Term;
  using Kind = term::Kind;
  using Rational = term::Rational;

  Terms() {
    for (const char* name : {"x", "y", "z"}) {
      term::Group g;
      g.name = name;
      groups.push_back(store.add_group(g));
    }
    term::Group positive;
    positive.name = "p";
    positive.bounds.above = Rational(0);
    groups.push_back(store.add_group(positive));
    term::Group label;
    label.name = "label";
    label.dtype = DType::I32;
    label.type = term::bv(32);
    label.bounds.min = Rational(0);
    label.bounds.max = Rational(9);
    groups.push_back(store.add_group(label));
    term::Group mask;
    mask.name = "mask";
    mask.dtype = DType::Bool;
    mask.type = term::bv(8);
    groups.push_back(store.add_group(mask));
  }

  Term x(int64_t i = 0) { return store.leaf(groups[0], {i, 0}); }
  Term y(int64_t i = 0) { return store.leaf(groups[1], {i, 0}); }
  Term z(int64_t i = 0) { return store.leaf(groups[2], {i, 0}); }
  Term p(int64_t i = 0) { return store.leaf(groups[3], {i, 0}); }  // positive
  Term label(int64_t i = 0) { return store.leaf(groups[4], {i, 0}); }
  Term mask(int64_t i = 0) { return store.leaf(groups[5], {i, 0}); }
  Term c(const Rational& value) { return store.real(value); }
  Term add(Term a, Term b) { return store.make(Kind::Add, {a, b}); }
  Term mul(Term a, Term b) { return store.make(Kind::Mul, {a, b}); }
  Term neg(Term a) { return mul(c(-1), a); }
  Term sub(Term a, Term b) { return add(a, neg(b)); }
  Term div(Term a, Term b) { return store.make(Kind::Div, {a, b}); }
  Term max(Term a, Term b) { return store.make(Kind::Max, {a, b}); }
  Term min(Term a, Term b) { return store.make(Kind::Min, {a, b}); }
  Term abs(Term a) { return store.make(Kind::Abs, {a}); }
  Term sqrt(Term a) { return store.make(Kind::Sqrt, {a}); }
  Term exp2(Term a) { return store.make(Kind::Exp2, {a}); }
  Term log2(Term a) { return store.make(Kind::Log2, {a}); }
  Term exp(Term a) { return exp2(mul(a, store.symbol(term::NamedConstant::Log2E))); }
  Term tanh(Term a) { return store.make(Kind::Tanh, {a}); }
  Term less(Term a, Term b) { return store.make(Kind::Less, {a, b}); }
  Term less_eq(Term a, Term b) { return store.make(Kind::LessEq, {a, b}); }
  Term equal(Term a, Term b) { return store.make(Kind::Equal, {a, b}); }
  Term select(Term k, Term a, Term b) { return store.make(Kind::Select, {k, a, b}); }
  Term word(int64_t value, int width) { return store.bits(static_cast<uint64_t>(value), width); }
  Term same_word(Term a, Term b) { return store.make(Kind::BvEq, {a, b}); }
  Term masked(int64_t i) { return store.make(Kind::Not, {same_word(mask(i), word(0, 8))}); }
  Term chain(const std::vector<Term>& v) {
    Term t = v[0];
    for (size_t i = 1; i < v.size(); ++i) t = add(t, v[i]);
    return t;
  }
  Term tree(std::vector<Term> v) {
    while (v.size() > 1) {
      std::vector<Term> w;
      const size_t half = (v.size() + 1) / 2;
      for (size_t i = 0; i < half; ++i)
        w.push_back(i + half < v.size() ? add(v[i], v[i + half]) : v[i]);
      v = w;
    }
    return v[0];
  }

  Answer decide(const Term& a, const Term& b, double seconds = 20) {
    if (!decider) decider = std::make_unique<Decider>(store, options, statistics);
    return decider->decide(a, b, Budget(seconds));
  }
  Outcome outcome(const Term& a, const Term& b) { return decide(a, b).outcome; }

  term::TermStore store;
  Options options;
  Statistics statistics;
  std::vector<term::GroupId> groups;
  std::unique_ptr<Decider> decider;
};

inline std::string describe(const Answer& answer) {
  std::string text = answer.procedure + " " + answer.reason + " " + answer.residual;
  if (answer.refutation)
    text += " a=" + answer.refutation->value_a + " b=" + answer.refutation->value_b;
  return text;
}

#define EXPECT_PROVED(a, b)                                           \
  do {                                                                \
    const Answer answer_ = decide(a, b);                              \
    EXPECT_EQ(answer_.outcome, Outcome::Proved) << describe(answer_); \
  } while (false)
#define EXPECT_REFUTED(a, b)                                           \
  do {                                                                 \
    const Answer answer_ = decide(a, b);                               \
    EXPECT_EQ(answer_.outcome, Outcome::Refuted) << describe(answer_); \
  } while (false)

}  // namespace coequal::decide
