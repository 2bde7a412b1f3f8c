// One pass over an output, run by run: cells from consecutive stores of one CTA share a key without
// being looked at.
#include "decide/cells.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <span>

#include "base/check.h"
#include "term/hash.h"
#include "term/id_table.h"

namespace coequal::decide {
namespace {

using tensor::TensorInfo;
using tensor::TensorVersion;
using term::Anchor;
using term::GroupId;
using term::Term;
using term::TermStore;
using Run = TensorVersion::Run;

constexpr size_t kSampleSize = 16;

bool translatable(const TermStore& store, GroupId group) {
  auto kind = store.group(group).kind;
  return kind != term::Group::Kind::Iota && kind != term::Group::Kind::Known;
}

// Both tensors start with the same contents cell by cell, as far as cells correspond.
bool same_start(const TensorInfo& a, const TensorInfo& b) {
  if (&a == &b) return true;
  if (a.init != b.init || a.dtype != b.dtype) return false;
  switch (a.init) {
    case TensorInfo::Init::Input:
      return a.input_group == b.input_group;
    case TensorInfo::Init::Empty:
    case TensorInfo::Init::Zeros:
      return true;
    case TensorInfo::Init::Full:
      return a.full_value == b.full_value;
    case TensorInfo::Init::Values:
      return a.values == b.values;
  }
  return false;
}

// One program's values along the cells, a run at a time: the first term of the run, and by how much
// its anchors advance.
class Walker {
 public:
  Walker(const TensorVersion& version, TermStore& store) : version_(version), store_(store) {}

  // Goes to `cell`; cells up to `end` will be asked for in order.
  void seek(int64_t cell, int64_t end) {
    if (cell < begin_ || cell >= end_) {
      run_ = version_.run(cell, end - cell);
      begin_ = cell;
      end_ = cell + run_.length;
      load();
    }
    at_ = cell;
  }
  const Run& run() const { return run_; }
  int64_t left() const { return end_ - at_; }
  // The shape all over the run, or at the current cell of an irregular one.
  term::ShapeId shape() const { return first_.shape(); }
  // How far the anchor has advanced at the current cell.
  int64_t anchor(int slot) const { return cells_[slot] + (at_ - begin_) * steps_[slot]; }
  int64_t step(int slot) const { return steps_[slot]; }
  // Terms of the run differ by more than translation: only the current cell is described.
  bool irregular() const { return irregular_; }
  Term term() const {
    if (first_.anchor_count() == 0) return first_;
    int slot = 0;
    return store_.map_anchors(first_, [&](GroupId, Anchor) { return Anchor{anchor(slot++), 0}; });
  }
  // For an irregular run: the term at the current cell.
  void refresh() {
    if (irregular_) set(version_.value(at_, store_), nullptr);
  }

 private:
  void set(const Term& first, const Term* second) {
    first_ = first;
    int n = first.anchor_count();
    for (int i = 0; i < n; ++i) {
      cells_[i] = store_.anchor(first, i).cell;
      steps_[i] = second ? store_.anchor(*second, i).cell - cells_[i] : 0;
    }
  }
  void load() {
    irregular_ = false;
    switch (run_.kind) {
      case Run::Kind::Stored: {
        const tensor::Writer& w = run_.writer;
        const auto& stores = w.tensor_piece().stores;
        const tensor::MotionTable& motions = *w.class_pieces().motions;
        const Term& t = stores[w.store].value;
        first_ = t;
        const int n = t.anchor_count();
        for (int i = 0; i < n; ++i) {
          Anchor a = store_.anchor(t, i);
          cells_[i] = a.cell + motions.value(a.motion, w.ordinal);
          steps_[i] =
              run_.length > 1 ? store_.anchor(stores[w.store + 1].value, i).cell - a.cell : 0;
        }
        return;
      }
      case Run::Kind::Initial: {
        const TensorInfo& info = version_.info();
        if (info.init == TensorInfo::Init::Values || info.strided) {
          irregular_ = run_.length > 1;
          set(version_.value(begin_, store_), nullptr);
          return;
        }
        Term t = version_.value(begin_, store_);
        if (run_.length == 1) {
          set(t, nullptr);
        } else {
          Term next = version_.value(begin_ + 1, store_);
          set(t, &next);
        }
        return;
      }
      case Run::Kind::Gathered:
      case Run::Kind::Poisoned:
        set(version_.value(begin_, store_), nullptr);
        return;
    }
  }

  const TensorVersion& version_;
  TermStore& store_;
  Run run_;
  int64_t begin_ = 0, end_ = -1, at_ = 0;
  Term first_;  // its anchors are in cells_
  bool irregular_ = false;
  std::array<int64_t, TermStore::kMaxGroups> cells_{}, steps_{};
};

class Scanner {
 public:
  Scanner(const OutputPair& output, TermStore& store, const Budget& budget, bool absolute)
      : output_(output),
        store_(store),
        budget_(budget),
        absolute_(absolute),
        a_(*output.a, store),
        b_(*output.b, store) {}

  // Only cells whose first-level key is that of this pair.
  void only(const Term& a, const Term& b, bool unchanged) {
    only_ = key_of(a, b);
    only_unchanged_ = unchanged;
  }

  Classification scan() {
    const TensorInfo &ia = output_.a->info(), &ib = output_.b->info();
    const int64_t elements = ia.elements();
    CHECK(elements == ib.elements());
    same_start_ = same_start(ia, ib);
    if (output_.chosen) {
      for (const int64_t e : *output_.chosen) {
        if (spent()) break;
        scan(e, e + 1);
      }
    } else {
      scan(0, elements);
    }
    return std::move(out_);
  }

 private:
  bool spent() {
    if ((++ticks_ & 4095) == 0 && budget_.spent()) out_.complete = false;
    return !out_.complete;
  }

  void scan(int64_t e, int64_t end) {
    const TensorInfo &ia = output_.a->info(), &ib = output_.b->info();
    const int64_t elements = ia.elements(), first = e;
    while (e < end && !spent()) {
      // Cells advance one by one with elements up to the end of a row, or throughout where there
      // are no strides.
      const int64_t reach =
          std::min(end, std::min(straight(ia, e, elements), straight(ib, e, elements)));
      const int64_t cell_a = ia.cell_of_element(e), cell_b = ib.cell_of_element(e);
      a_.seek(cell_a, cell_a + reach - e);
      b_.seek(cell_b, cell_b + reach - e);
      e += step(e, std::min(reach - e, std::min(a_.left(), b_.left())));
    }
    out_.elements += e - first;
  }

  // The end of the elements from `e` on whose cells follow one another.
  static int64_t straight(const TensorInfo& info, int64_t e, int64_t elements) {
    if (!info.strided) return elements;
    if (info.shape.empty() || info.strides.back() != 1) return e + 1;
    return e - e % info.shape.back() + info.shape.back();
  }

  // Classes `length` cells from element e on, or as many as are alike; returns how many.
  int64_t step(int64_t e, int64_t length) {
    const bool unchanged =
        same_start_ && a_.run().kind == Run::Kind::Initial && b_.run().kind == Run::Kind::Initial;
    if (unchanged) {
      a_.refresh();
      b_.refresh();
      add(e, length, true);
      return length;
    }
    if (a_.irregular() || b_.irregular()) {
      a_.refresh();
      b_.refresh();
      add(e, 1, false);
      return 1;
    }
    if (length > 1 && !steady()) length = 1;
    add(e, length, false);
    return length;
  }

  // The groups that both shapes mention, as slots of either.
  void match(term::ShapeId a, term::ShapeId b) {
    if (a == matched_a_ && b == matched_b_) return;
    matched_a_ = a;
    matched_b_ = b;
    shared_.clear();
    pseudo_a_.clear();
    pseudo_b_.clear();
    std::span<const GroupId> ga = store_.groups(a), gb = store_.groups(b);
    for (size_t i = 0, j = 0; i < ga.size() && j < gb.size();) {
      if (ga[i] < gb[j])
        ++i;
      else if (gb[j] < ga[i])
        ++j;
      else
        shared_.push_back({static_cast<int>(i++), static_cast<int>(j++)});
    }
    if (store_.has_pseudo(a))
      for (size_t i = 0; i < ga.size(); ++i)
        if (!translatable(store_, ga[i])) pseudo_a_.push_back(static_cast<int>(i));
    if (store_.has_pseudo(b))
      for (size_t i = 0; i < gb.size(); ++i)
        if (!translatable(store_, gb[i])) pseudo_b_.push_back(static_cast<int>(i));
  }

  // Whether the key stays the same along the runs.
  bool steady() {
    match(a_.shape(), b_.shape());
    for (auto [i, j] : shared_)
      if (a_.step(i) != b_.step(j)) return false;
    if (absolute_) {
      for (int i : pseudo_a_)
        if (a_.step(i) != 0) return false;
      for (int j : pseudo_b_)
        if (b_.step(j) != 0) return false;
    }
    return true;
  }

  std::vector<int64_t> key_of(const Term& a, const Term& b) {
    match(a.shape(), b.shape());
    std::vector<int64_t> key{static_cast<int64_t>(a.shape()), static_cast<int64_t>(b.shape())};
    for (auto [i, j] : shared_) key.push_back(store_.anchor(a, i).cell - store_.anchor(b, j).cell);
    return key;
  }

  void add(int64_t e, int64_t length, bool unchanged) {
    if (unchanged) {
      // Equal contents are one class whatever they are.
      if (!only_.empty() && !only_unchanged_) return;
      if (unchanged_class_ < 0) unchanged_class_ = open(e, true);
      extend(static_cast<size_t>(unchanged_class_), e, length);
      return;
    }
    if (only_unchanged_) return;
    match(a_.shape(), b_.shape());
    key_.clear();
    key_.push_back(static_cast<int64_t>(a_.shape()));
    key_.push_back(static_cast<int64_t>(b_.shape()));
    for (auto [i, j] : shared_) key_.push_back(a_.anchor(i) - b_.anchor(j));
    if (!only_.empty() && key_ != only_) return;
    if (absolute_) {
      for (int i : pseudo_a_) key_.push_back(a_.anchor(i));
      for (int j : pseudo_b_) key_.push_back(b_.anchor(j));
    }
    uint64_t hash = key_.size();
    for (int64_t word : key_) hash = term::mix(hash, static_cast<uint64_t>(word));
    uint32_t id = index_.find(hash, [&](uint32_t other) {
      const auto [at, size] = keys_[other];
      return size == key_.size() &&
             std::equal(key_.begin(), key_.end(), key_words_.begin() + static_cast<int64_t>(at));
    });
    if (id == term::IdTable::kNone) {
      id = static_cast<uint32_t>(keys_.size());
      keys_.push_back({key_words_.size(), key_.size()});
      key_words_.insert(key_words_.end(), key_.begin(), key_.end());
      class_of_key_.push_back(open(e, false));
      index_.insert(hash, id);
    }
    extend(static_cast<size_t>(class_of_key_[id]), e, length);
  }

  int64_t open(int64_t e, bool unchanged) {
    CellClass cls;
    PlacedPair pair = place(a_.term(), b_.term(), store_);
    cls.a = pair.a;
    cls.b = pair.b;
    cls.shifts = std::move(pair.shifts);
    cls.first_element = e;
    cls.unchanged = unchanged;
    out_.classes.push_back(std::move(cls));
    return static_cast<int64_t>(out_.classes.size()) - 1;
  }

  void extend(size_t cls, int64_t e, int64_t length) {
    CellClass& c = out_.classes[cls];
    c.count += length;
    for (int64_t i = 0; i < length && c.sample.size() < kSampleSize; ++i) c.sample.push_back(e + i);
  }

  const OutputPair& output_;
  TermStore& store_;
  const Budget& budget_;
  const bool absolute_;
  Walker a_, b_;
  bool same_start_ = false;
  uint32_t ticks_ = 0;
  std::vector<int64_t> only_;
  bool only_unchanged_ = false;
  Classification out_;

  term::ShapeId matched_a_ = ~0u, matched_b_ = ~0u;
  std::vector<std::pair<int, int>> shared_;
  std::vector<int> pseudo_a_, pseudo_b_;

  std::vector<int64_t> key_, key_words_;
  std::vector<std::pair<size_t, size_t>> keys_;  // position and size in key_words_
  std::vector<int64_t> class_of_key_;
  term::IdTable index_;
  int64_t unchanged_class_ = -1;
};

}  // namespace

PlacedPair place(const Term& a, const Term& b, const TermStore& store) {
  PlacedPair out;
  std::span<const GroupId> ga = store.groups(a), gb = store.groups(b);
  size_t i = 0, j = 0;
  while (i < ga.size() || j < gb.size()) {
    GroupId group = j == gb.size() || (i < ga.size() && ga[i] < gb[j]) ? ga[i] : gb[j];
    std::optional<int64_t> least;
    if (i < ga.size() && ga[i] == group) least = store.anchor(a, static_cast<int>(i++)).cell;
    if (j < gb.size() && gb[j] == group) {
      int64_t cell = store.anchor(b, static_cast<int>(j++)).cell;
      least = least ? std::min(*least, cell) : cell;
    }
    out.shifts.push_back({group, translatable(store, group) ? *least : 0});
  }
  auto normalised = [&](const Term& t) {
    size_t at = 0;
    return store.map_anchors(t, [&](GroupId group, Anchor anchor) {
      while (out.shifts[at].first != group) ++at;
      return Anchor{anchor.cell - out.shifts[at].second, 0};
    });
  };
  out.a = normalised(a);
  out.b = normalised(b);
  return out;
}

PlacedPair OutputPair::at(int64_t element, TermStore& store) const {
  return place(a->value(a->info().cell_of_element(element), store),
               b->value(b->info().cell_of_element(element), store), store);
}

Classification classify(const OutputPair& output, TermStore& store, const Budget& budget) {
  return Scanner(output, store, budget, false).scan();
}

namespace {

// The elements that come before those at random, in their order.
std::vector<int64_t> edges(const OutputPair& output) {
  constexpr size_t kMostCorners = 64;
  const TensorInfo& info = output.a->info();
  std::vector<int64_t> corners{0};
  if (output.elements() == 0) return {};
  for (const int64_t extent : info.shape) {
    const size_t have = corners.size();
    for (int64_t& c : corners) c *= extent;
    if (extent == 1 || 2 * have > kMostCorners) continue;
    for (size_t i = 0; i < have; ++i) corners.push_back(corners[i] + extent - 1);
  }
  for (const TensorVersion* version : {output.a, output.b})
    for (const int64_t cell : version->edge_cells())
      if (const int64_t e = version->info().element_of_cell(cell); e >= 0) corners.push_back(e);
  return corners;
}

}  // namespace

std::vector<int64_t> search_order(const OutputPair& output, int64_t count, uint64_t seed) {
  const int64_t elements = output.elements();
  count = std::min(count, elements);
  std::vector<int64_t> out;
  absl::flat_hash_set<int64_t> seen;
  const auto add = [&](int64_t e) {
    if (static_cast<int64_t>(out.size()) < count && seen.insert(e).second) out.push_back(e);
  };
  for (const int64_t e : edges(output)) add(e);
  std::mt19937_64 random(seed);
  // Few of many are drawn; when most are wanted, the rest is shuffled.
  if (count < elements / 2)
    while (static_cast<int64_t>(out.size()) < count)
      add(static_cast<int64_t>(random() % static_cast<uint64_t>(elements)));
  std::vector<int64_t> rest;
  if (static_cast<int64_t>(out.size()) < count)
    for (int64_t e = 0; e < elements; ++e)
      if (!seen.contains(e)) rest.push_back(e);
  std::shuffle(rest.begin(), rest.end(), random);
  for (const int64_t e : rest) add(e);
  return out;
}

void sort_by_search_order(const OutputPair& output, TermStore& store, uint64_t seed,
                          std::vector<CellClass>& classes) {
  absl::flat_hash_map<std::pair<Term, Term>, size_t> of;
  for (size_t i = 0; i < classes.size(); ++i)
    if (!classes[i].unchanged) of.emplace(std::pair(classes[i].a, classes[i].b), i);
  std::vector<size_t> rank(classes.size());
  for (size_t i = 0; i < rank.size(); ++i) rank[i] = i;
  std::mt19937_64 random(seed);
  std::shuffle(rank.begin(), rank.end(), random);
  for (size_t& r : rank) r += classes.size();
  size_t next = 0;
  for (const int64_t e : edges(output)) {
    const PlacedPair pair = output.at(e, store);
    const auto it = of.find(std::pair(pair.a, pair.b));
    if (it != of.end() && rank[it->second] >= classes.size()) rank[it->second] = next++;
  }
  std::vector<size_t> order(classes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return rank[i] < rank[j]; });
  std::vector<CellClass> sorted;
  for (const size_t i : order) sorted.push_back(std::move(classes[i]));
  classes = std::move(sorted);
}

Classification split_absolute(const OutputPair& output, const CellClass& cls, TermStore& store,
                              const Budget& budget) {
  Scanner scanner(output, store, budget, true);
  scanner.only(cls.a, cls.b, cls.unchanged);
  return scanner.scan();
}

}  // namespace coequal::decide
