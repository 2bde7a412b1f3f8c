// The templates that ship: each is read as its function, wherever it stands, and no neighbour of
// one is.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "idiom/library.h"
#include "idiom/recogniser.h"
#include "term/evaluate.h"
#include "term/print.h"

namespace coequal::idiom {
namespace {

using term::Kind;
using term::Rational;
using term::Term;

class Templates : public ::testing::Test {
 protected:
  term::TermStore s;
  term::GroupId g = s.add_group({.name = "x"});
  Term x = s.leaf(g, {0, 0}), y = s.leaf(g, {1, 0});
  // What fills templates of 16-bit code.
  term::GroupId g16 = s.add_group({.name = "h", .dtype = DType::BF16});
  Term leaf_for(const Template& t) { return t.narrow ? s.leaf(g16, {0, 0}) : x; }
  const std::vector<Template> shipped = Library::shipped().templates();

  Term meaning(const Template& t, std::vector<Term> args) {
    const auto& row = functions()[*find_function(t.function)];
    return result_of(s, t, row.meaning(s, arguments_of(s, t.sizes, std::move(args))));
  }
  std::vector<Term> arguments(const Template& t, const Term& first, const Term& second) const {
    return t.holes == 1 ? std::vector<Term>{first} : std::vector<Term>{first, second};
  }
  bool has_sign(const Term& t) { return s.make(Kind::Abs, {t}) == t; }
  // At points where both are defined, of which there must be one.
  bool same_values(const Term& read, const Term& exact) {
    int compared = 0;
    for (const Rational& v : {Rational(-7, 10), Rational(3, 5), Rational(-9, 8), Rational(5, 2)}) {
      term::MapAssignment at(v);
      const double a = evaluate_double(s, read, at), b = evaluate_double(s, exact, at);
      if (std::isnan(a) || std::isnan(b)) continue;
      if (std::fabs(a - b) > 1e-14 * std::fabs(b)) return false;
      ++compared;
    }
    return compared > 0;
  }
  Recogniser recogniser() { return Recogniser(s, Library::shipped()); }
  std::string text(const Term& t) const { return term::print(s, t, {.max_nodes = 30}); }
};

TEST_F(Templates, TextReadsBackAsItWasWritten) {
  const std::string text = to_text(shipped);
  const Result<std::vector<Template>> again = from_text(text);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(to_text(*again), text);
  EXPECT_EQ(again->size(), shipped.size());
}

TEST_F(Templates, RootLabelsOfTheTextAreThoseOfTheTemplates) {
  size_t at = 0;
  for (const std::string_view text : shipped_texts()) {
    const TemplateText read(text);
    for (size_t i = 0; i < read.size(); ++i, ++at) {
      const auto labels = read.root_labels(i);
      EXPECT_EQ(root_labels(shipped[at]), std::vector<std::string>(labels.begin(), labels.end()))
          << shipped[at].function << " " << shipped[at].origin;
    }
  }
}

TEST_F(Templates, BadTextIsRefused) {
  for (const char* bad : {"Frob 0", "Add 0 1 2", "hole", "RealConst 1/0", "hole 0\n= 1 exp f32",
                          "hole 0\nAdd 0 0", "hole 0\n= 0", "BvConst x:32"})
    EXPECT_FALSE(from_text(bad).has_value()) << bad;
}

TEST_F(Templates, AreReadAsTheirFunctions) {
  Recogniser recognise = recogniser();
  for (const Template& t : shipped) {
    const std::vector<Term> args = arguments(t, leaf_for(t), y);
    const Recogniser::Reading r = recognise(instantiate(s, t, args));
    if (t.sizes && !(r.term == meaning(t, args))) {
      // The code of an even function of the argument itself.
      EXPECT_TRUE(same_values(r.term, meaning(t, args))) << t.function << " " << t.origin;
      continue;
    }
    EXPECT_EQ(r.term, meaning(t, args)) << t.function << " " << t.origin << ": " << text(r.term);
    EXPECT_TRUE(r.used[*find_function(t.function)]);
  }
}

TEST_F(Templates, FillingsMayFoldIntoTheCode) {
  Recogniser recognise = recogniser();
  const Term tenth = s.real(Rational::from_double(0.1f));
  const Term fillings[] = {s.make(Kind::Mul, {s.real(Rational(-1, 2)), x}),
                           s.make(Kind::Mul, {tenth, x}),
                           s.make(Kind::Add, {tenth, x}),
                           s.make(Kind::Mul, {tenth, s.make(Kind::Add, {x, y})}),
                           s.make(Kind::Max, {x, s.real(0)}),
                           s.make(Kind::Mul, {x, x}),
                           s.make(Kind::Exp2, {x}),
                           s.make(Kind::Select, {s.make(Kind::Less, {x, y}), x, s.real(1)})};
  // Of a known sign two comparisons of these become one, and choices around them go.
  const std::set<std::string> merged = {"acos f32 triton", "tgamma f64 plain", "tgamma f64 triton"};
  for (const Template& t : shipped) {
    // A sign that is known may have been folded otherwise.
    if (t.sizes || t.narrow) continue;
    for (const Term& filling : fillings) {
      if (merged.contains(t.function + " " + t.origin) && has_sign(filling)) continue;
      const std::vector<Term> args = arguments(t, filling, y);
      const Term read = recognise(instantiate(s, t, args)).term;
      const Term exact = meaning(t, args);
      // Where the sign of the filling is known, two templates may be one.
      if (!(read == exact) && same_values(read, exact)) continue;
      EXPECT_EQ(read, exact) << t.function << " " << t.origin << " of " << text(filling) << ": "
                             << text(read) << "\nnot: " << text(exact);
    }
  }
}

TEST_F(Templates, OfNarrowCodeAreNotReadElsewhere) {
  Recogniser recognise = recogniser();
  const Term h = s.leaf(g16, {0, 0});
  size_t narrow = 0;
  for (const Template& t : shipped) {
    if (!t.narrow) continue;
    ++narrow;
    const Term wide = instantiate(s, t, std::array{x});
    EXPECT_EQ(recognise(wide).term, wide) << t.function << " " << t.origin;
    const Term both = instantiate(s, t, std::array{s.make(Kind::Add, {x, h})});
    EXPECT_EQ(recognise(both).term, both) << t.function << " " << t.origin;
  }
  EXPECT_GT(narrow, 0u);
  // Of 16-bit values, too: without the library's constant they are what they are.
  for (const Term& plain : {s.make(Kind::Exp2, {h}), s.make(Kind::Log2, {h}),
                            s.make(Kind::Exp2, {s.make(Kind::Mul, {s.real(Rational(3, 7)), h})})})
    EXPECT_EQ(recognise(plain).term, plain);
}

TEST_F(Templates, AreFoundAnywhereAndInEachOther) {
  const Template* exp = nullptr;
  const Template* log = nullptr;
  for (const Template& t : shipped) {
    if (t.function == "exp" && !exp) exp = &t;
    if (t.function == "log" && !log) log = &t;
  }
  ASSERT_TRUE(exp && log);
  auto code = [&](const Template& t, const Term& a) { return instantiate(s, t, std::array{a}); };
  auto exact = [&](const Template& t, const Term& a) { return meaning(t, {a}); };
  Recogniser recognise = recogniser();
  // Two cells far apart share a shape: what was read for one holds for the other, moved.
  for (int64_t cell : {0, 1000}) {
    const Term z = s.leaf(g, {cell, 0});
    const Term inner = s.make(Kind::Add, {code(*exp, z), s.real(1)});
    const Term read = recognise(code(*log, inner)).term;
    EXPECT_EQ(read, exact(*log, s.make(Kind::Add, {exact(*exp, z), s.real(1)})));
  }
  const Term plain = s.make(Kind::Mul, {x, s.make(Kind::Add, {x, y})});
  EXPECT_EQ(recognise(plain).term, plain);
  EXPECT_TRUE(recognise(plain).used.none());
}

// Each constant of each template, changed in its last place.
TEST_F(Templates, NoNeighbourOfOneIsReadAsItsFunction) {
  size_t mutants = 0;
  for (const Template& t : shipped) {
    const std::vector<Term> args = arguments(t, leaf_for(t), y);
    const Term original = instantiate(s, t, args), exact = meaning(t, args);
    for (size_t i = 0; i < t.nodes.size(); ++i) {
      Template mutant = t;
      Node& n = mutant.nodes[i];
      if (n.kind == Kind::RealConst)
        n.constant = n.constant * (Rational(1) + Rational::power_of_two(-22)) +
                     (n.constant.is_zero() ? Rational::power_of_two(-149) : Rational(0));
      else if (n.kind == Kind::BvConst)
        n.payload ^= 1;
      else if (n.kind == Kind::Less)
        n.kind = Kind::LessEq;
      else if (n.kind == Kind::LessEq)
        n.kind = Kind::Less;
      else
        continue;
      const Term changed = instantiate(s, mutant, args);
      if (changed == original) continue;  // folded away
      ++mutants;
      Recogniser recognise = recogniser();
      EXPECT_FALSE(recognise(changed).term == exact)
          << t.function << " " << t.origin << " node " << i;
    }
  }
  EXPECT_GT(mutants, 20 * shipped.size());
}

}  // namespace
}  // namespace coequal::idiom
