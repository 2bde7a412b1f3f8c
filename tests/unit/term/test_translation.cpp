// Random programs: the store's sharing modulo translation against a plain DAG with absolute leaves.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <tuple>

#include "term/store.h"

namespace coequal::term {
namespace {

// Kinds without folding rules over variables, so that the plain DAG needs none.
constexpr Kind kBinary[] = {Kind::Add, Kind::Mul, Kind::Div};
constexpr Kind kUnary[] = {Kind::Sqrt, Kind::Exp2, Kind::Sin, Kind::Tanh};

struct Instruction {
  std::optional<Kind> kind;   // none: a leaf
  int first = 0, second = 0;  // values, or group and cell of a leaf
};
using Program = std::vector<Instruction>;
using Shift = std::vector<int64_t>;  // per group

Program random_program(std::mt19937& random, int groups, int length) {
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Program program;
  for (int i = 0; i < length; ++i) {
    const int what = i < 3 ? 0 : pick(4);
    if (what == 0)
      program.push_back({std::nullopt, pick(groups), pick(4)});
    else if (what == 1)
      program.push_back({kUnary[pick(4)], pick(i), 0});
    else
      program.push_back({kBinary[pick(3)], pick(i), pick(i)});
  }
  return program;
}

std::vector<Term> run(TermStore& s, const Program& program, const Shift& shift) {
  std::vector<Term> values;
  for (const Instruction& in : program) {
    const auto first = static_cast<size_t>(in.first), second = static_cast<size_t>(in.second);
    if (!in.kind) {
      values.push_back(s.leaf(static_cast<GroupId>(in.first), {in.second + shift[first], 0}));
    } else if (kind_arity(*in.kind) == 1) {
      values.push_back(s.make(*in.kind, {values[first]}));
    } else {
      values.push_back(s.make(*in.kind, {values[first], values[second]}));
    }
  }
  return values;
}

// Hash-consing by absolute cells; an unordered pair for commutative kinds.
class PlainDag {
 public:
  std::vector<int> run(const Program& program, const Shift& shift) {
    std::vector<int> values;
    for (const Instruction& in : program) {
      const auto first = static_cast<size_t>(in.first), second = static_cast<size_t>(in.second);
      if (!in.kind) {
        values.push_back(node({-1, in.first, in.second + shift[first]}));
        continue;
      }
      int64_t x = values[first], y = kind_arity(*in.kind) == 1 ? -1 : values[second];
      if (is_commutative(*in.kind) && x > y) std::swap(x, y);
      values.push_back(node({static_cast<int>(*in.kind), x, y}));
    }
    return values;
  }

 private:
  int node(const std::tuple<int, int64_t, int64_t>& contents) {
    return nodes_.emplace(contents, static_cast<int>(nodes_.size())).first->second;
  }
  std::map<std::tuple<int, int64_t, int64_t>, int> nodes_;
};

// Least cell per group that a value reads.
std::vector<std::map<int, int64_t>> least_cells(const Program& program) {
  std::vector<std::map<int, int64_t>> all;
  for (const Instruction& in : program) {
    std::map<int, int64_t> own;
    auto join = [&](const std::map<int, int64_t>& other) {
      for (auto [g, cell] : other) own[g] = own.contains(g) ? std::min(own[g], cell) : cell;
    };
    if (!in.kind) {
      own[in.first] = in.second;
    } else {
      join(all[static_cast<size_t>(in.first)]);
      if (kind_arity(*in.kind) == 2) join(all[static_cast<size_t>(in.second)]);
    }
    all.push_back(std::move(own));
  }
  return all;
}

class Translation : public ::testing::TestWithParam<int> {
 protected:
  static constexpr int kGroups = 7;
  TermStore s;
  PlainDag dag;
  std::mt19937 random{static_cast<unsigned>(GetParam())};

  void SetUp() override {
    for (int g = 0; g < kGroups; ++g) s.add_group({});
  }
  Shift random_shift() {
    Shift shift;
    for (int g = 0; g < kGroups; ++g) shift.push_back(static_cast<int64_t>(random() % 2001) - 1000);
    return shift;
  }
};

TEST_P(Translation, MovesAnchorsAndNothingElse) {
  const Program program = random_program(random, kGroups, 60);
  const Shift zero(kGroups, 0), shift = random_shift();
  const std::vector<Term> here = run(s, program, zero), there = run(s, program, shift);
  for (size_t i = 0; i < program.size(); ++i) {
    ASSERT_EQ(here[i].shape(), there[i].shape()) << i;
    for (size_t k = 0; k < s.groups(here[i]).size(); ++k) {
      const GroupId g = s.groups(here[i])[k];
      EXPECT_EQ(s.anchor(there[i], static_cast<int>(k)).cell,
                s.anchor(here[i], static_cast<int>(k)).cell + shift[g]);
    }
    for (size_t j = 0; j < program.size(); ++j)
      EXPECT_EQ(s.compare(here[i], here[j]), s.compare(there[i], there[j])) << i << " " << j;
  }
}

TEST_P(Translation, OneShapeMeansTranslates) {
  // Few groups and cells, so that translates and near misses both occur.
  const Program program = random_program(random, GetParam() % 2 ? 2 : kGroups, 60);
  const Shift zero(kGroups, 0);
  const std::vector<Term> terms = run(s, program, zero);
  const std::vector<int> plain = dag.run(program, zero);
  const auto least = least_cells(program);
  for (size_t i = 0; i < program.size(); ++i) {
    for (size_t j = 0; j < program.size(); ++j) {
      EXPECT_EQ(terms[i] == terms[j], plain[i] == plain[j]) << i << " " << j;
      // Only one translation can map the least cells of i to those of j.
      bool translates = least[i].size() == least[j].size();
      Shift shift = zero;
      for (auto [g, cell] : least[i]) {
        const auto other = least[j].find(g);
        if (other == least[j].end())
          translates = false;
        else
          shift[static_cast<size_t>(g)] = other->second - cell;
      }
      if (translates) translates = dag.run(program, shift)[i] == plain[j];
      EXPECT_EQ(terms[i].shape() == terms[j].shape(), translates) << i << " " << j;
    }
  }
}

// What an analogy gives for other arguments is what making the terms again gives.
TEST_P(Translation, AnAnalogyMakesWhatIsMadeAgain) {
  const Program program = random_program(random, GetParam() % 2 ? 2 : kGroups, 60);
  const std::vector<Term> values = run(s, program, Shift(kGroups, 0));
  const auto operation = [&](const Term& a, const Term& b, const Term& c) {
    return s.make(Kind::Add, {s.make(Kind::Mul, {a, b}), c});
  };
  std::vector<Term> reals;
  for (const Term& v : values)
    if (s.type(v).cls == TypeClass::Real) reals.push_back(v);
  ASSERT_FALSE(reals.empty());
  int fitted = 0;
  TermStore::Analogy analogy;
  std::array<Term, 3> learnt;
  for (int i = 0; i < 2000; ++i) {
    std::array<Term, 3> args;
    // Now and then a translate of what was learnt: by one distance or each argument by its own.
    const Shift shift = random_shift();
    const bool near = analogy.known() && random() % 2, together = random() % 2;
    for (Term& t : args) {
      const Shift own = together ? shift : random_shift();
      t = near ? s.map_anchors(learnt[static_cast<size_t>(&t - args.data())],
                               [&](GroupId g, Anchor a) {
                                 return Anchor{a.cell + own[g], a.motion};
                               })
               : reals[random() % reals.size()];
    }
    const std::array<const Term*, 3> at{&args[0], &args[1], &args[2]};
    const Term made = operation(args[0], args[1], args[2]);
    if (analogy.known() && analogy.fits(s, at)) {
      ++fitted;
      EXPECT_EQ(analogy.result(s, 0, at), made) << i;
    } else if (analogy.learn(s, at, {&made, 1})) {
      learnt = args;
    }
  }
  EXPECT_GT(fitted, 100);
}

TEST_P(Translation, ChildrenStandWhereTheyWerePut) {
  const Program program = random_program(random, kGroups, 60);
  const std::vector<Term> values = run(s, program, random_shift());
  for (size_t i = 0; i < program.size(); ++i) {
    const Instruction& in = program[i];
    if (!in.kind) continue;
    const Term first = values[static_cast<size_t>(in.first)];
    if (kind_arity(*in.kind) == 1) {
      EXPECT_EQ(s.child(values[i], 0), first);
      continue;
    }
    const Term second = values[static_cast<size_t>(in.second)];
    const Term p = s.child(values[i], 0), q = s.child(values[i], 1);
    const bool in_order = p == first && q == second, swapped = p == second && q == first;
    EXPECT_TRUE(in_order || (is_commutative(*in.kind) && swapped)) << i;
  }
}

TEST_P(Translation, HashesAndOrderDoNotDependOnHistory) {
  const Program program = random_program(random, kGroups, 60);
  const Shift zero(kGroups, 0);
  TermStore other;
  for (int g = 0; g < kGroups; ++g) other.add_group({});
  run(other, random_program(random, kGroups, 80), random_shift());
  const std::vector<Term> mine = run(s, program, zero), theirs = run(other, program, zero);
  for (size_t i = 0; i < program.size(); ++i) {
    EXPECT_EQ(s.structural_hash(mine[i].shape()), other.structural_hash(theirs[i].shape()));
    for (size_t j = 0; j < program.size(); ++j)
      EXPECT_EQ(s.compare(mine[i], mine[j]), other.compare(theirs[i], theirs[j]));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Translation, ::testing::Range(0, 40));

}  // namespace
}  // namespace coequal::term
