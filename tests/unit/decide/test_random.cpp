// Random terms: a proof must agree with exact evaluation on a grid of inputs that includes the
// thresholds.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "decide/canonical/build.h"
#include "fixture.h"
#include "term/print.h"

namespace coequal::decide {
namespace {

using term::Rational;
using term::Term;

class RandomTerms : public ::testing::Test, public Terms {
 protected:
  std::mt19937_64 random{7};

  uint64_t draw(uint64_t n) { return random() % n; }
  Term atom() {
    switch (draw(8)) {
      case 0:
      case 1:
      case 2:
        return x();
      case 3:
      case 4:
        return y();
      case 5:
        return p();
      default: {
        static const Rational kConstants[] = {0, 1, -1, 2, Rational(1, 2), -2};
        return c(kConstants[draw(6)]);
      }
    }
  }
  Term condition(int depth) {
    const Term a = real(depth - 1), b = real(depth - 1);
    switch (draw(8)) {
      case 5:
        return same_word(label(), word(static_cast<int64_t>(draw(3)) * 3, 32));
      case 6:
        return masked(0);
      case 7:
        return store.make(Kind::IsNumber, {a});
      case 0:
        return less(a, b);
      case 1:
        return less_eq(a, b);
      case 2:
        return equal(a, b);
      case 3:
        return store.make(Kind::Not, {less(a, b)});
      default:
        return depth > 1 ? store.make(draw(2) ? Kind::And : Kind::Or,
                                      {condition(depth - 1), condition(depth - 1)})
                         : less(a, b);
    }
  }
  Term real(int depth) {
    if (depth <= 0) return atom();
    auto sub_term = [&] { return real(depth - 1 - static_cast<int>(draw(2))); };
    switch (draw(18)) {
      case 14:
        return select(condition(depth), sub_term(), store.infinity(true));
      case 15:
        return exp2(select(condition(depth), sub_term(), store.infinity(true)));
      case 0:
      case 1:
      case 2:
        return add(sub_term(), sub_term());
      case 3:
      case 4:
      case 5:
        return mul(sub_term(), sub_term());
      case 6:
        return sub(sub_term(), sub_term());
      case 7:
        return div(sub_term(), sub_term());
      case 8:
        return max(sub_term(), sub_term());
      case 9:
        return min(sub_term(), sub_term());
      case 10:
        return abs(sub_term());
      case 11:
        return sqrt(sub_term());
      case 12:
        return exp2(sub_term());
      case 13:
        return log2(sub_term());
      default:
        return select(condition(depth), sub_term(), sub_term());
    }
  }

  std::vector<term::MapAssignment> grid() {
    std::vector<term::MapAssignment> points;
    static const Rational kValues[] = {-2, -1, Rational(-1, 2), 0, Rational(1, 4), 1, 3};
    for (const Rational& vx : kValues)
      for (const Rational& vy : kValues)
        for (const int64_t k : {0, 1, 2, 3, 4, 5}) {
          const Rational vp = k % 3 == 0 ? Rational(1, 2) : k % 3 == 1 ? Rational(1) : Rational(5);
          term::MapAssignment at;
          at.set_leaf(groups[4], 0, Rational(k % 3 * 3));
          at.set_leaf(groups[5], 0, Rational(k / 3));
          at.set_leaf(groups[0], 0, vx);
          at.set_leaf(groups[1], 0, vy);
          at.set_leaf(groups[3], 0, vp);
          points.push_back(std::move(at));
        }
    return points;
  }

  // A point at which both sides are surely defined and surely differ.
  std::optional<std::string> counterexample(const Term& a, const Term& b,
                                            const std::vector<term::MapAssignment>& points) {
    for (const term::MapAssignment& at : points) {
      const term::Value u = term::evaluate_ball(store, a, at, 200),
                        v = term::evaluate_ball(store, b, at, 200);
      if (!u.is_defined() || !v.is_defined()) continue;
      if (term::same_value(u, v) == std::optional<bool>(false))
        return u.to_string() + " against " + v.to_string() +
               " at x=" + at.leaf(groups[0], 0).to_string() +
               " y=" + at.leaf(groups[1], 0).to_string() +
               " p=" + at.leaf(groups[3], 0).to_string();
    }
    return std::nullopt;
  }
};

TEST_F(RandomTerms, ProofsAgreeWithEvaluation) {
  const auto points = grid();
  // Terms that agree at a few inputs are asked about: most are equal, some only nearly so.
  std::map<std::vector<int64_t>, std::vector<Term>> alike;
  int made = 0;
  while (made < 6000) {
    const Term t = real(1 + static_cast<int>(draw(3)));
    if (store.arity(t) == 0) continue;
    ++made;
    std::vector<int64_t> key;
    for (size_t i = 0; i < points.size(); i += 37) {
      const double v = term::evaluate_double(store, t, points[i]);
      key.push_back(std::isfinite(v) && std::abs(v) < 1e9 ? std::llround(v * 4096) : INT64_MIN);
    }
    auto& list = alike[key];
    if (list.size() < 6 && std::find(list.begin(), list.end(), t) == list.end()) list.push_back(t);
  }
  int asked = 0, proofs = 0, refutations = 0;
  for (const auto& [key, list] : alike)
    for (size_t i = 0; i + 1 < list.size() && asked < 3000; ++i) {
      ++asked;
      const Answer answer = decide(list[i], list[i + 1], 2);
      if (answer.outcome == Outcome::Proved) {
        ++proofs;
        const auto wrong = counterexample(list[i], list[i + 1], points);
        EXPECT_FALSE(wrong.has_value())
            << answer.procedure << ": " << term::print(store, list[i]) << "  and  "
            << term::print(store, list[i + 1]) << ": " << *wrong;
      }
      refutations += answer.outcome == Outcome::Refuted;
    }
  EXPECT_GT(proofs, 100);
  EXPECT_GT(refutations, 10);
  RecordProperty("asked", asked);
  RecordProperty("proofs", proofs);
  RecordProperty("refutations", refutations);
}

TEST_F(RandomTerms, TermsEqualRewrittenSelves) {
  // t against t * 1 + (u - u), written so that the store does not fold it; never refuted where both
  // are defined.
  const auto points = grid();
  for (int k = 0; k < 400; ++k) {
    const Term t = real(2), u = real(2);
    const Term rewritten = sub(add(mul(t, c(3)), mul(u, c(2))), add(add(u, t), add(u, t)));
    const Answer answer = decide(t, rewritten, 2);
    EXPECT_NE(answer.outcome, Outcome::Refuted)
        << term::print(store, t) << " " << term::print(store, u) << describe(answer);
  }
}

}  // namespace
}  // namespace coequal::decide
