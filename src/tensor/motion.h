// Displacements: how integers and anchors move over the CTAs of one class, relative to its
// representative.
//
// A motion is a function from the CTAs of the class to integers that is 0 at the representative.
// Affine ones are kept as strides over ctaid, others as the vector of their values, both
// hash-consed, so equal functions have equal ids (over the CTAs the class started with). Values are
// two's complement of 64 bits; callers reduce modulo 2^width where registers are narrower.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "term/term.h"

namespace coequal::tensor {

using term::MotionId;
using Cta = std::array<uint32_t, 3>;  // ctaid.x, .y, .z

// The CTAs that are still in a class and the motions made for it. The first CTA given is the
// representative. What is const keeps what it finds; of a table that no longer changes several
// threads may ask value(), alive(), strides() and, once it has been asked for, box().
class MotionTable {
 public:
  explicit MotionTable(std::vector<Cta> ctas);

  const std::vector<Cta>& ctas() const { return ctas_; }
  const Cta& representative() const { return ctas_[0]; }
  size_t size() const { return ctas_.size(); }  // CTAs at the start
  bool alive(size_t ordinal) const { return alive_[ordinal]; }
  size_t alive_count() const { return alive_count_; }

  // Motion of ctaid.{x,y,z}.
  MotionId ctaid(int dimension);
  MotionId affine(int64_t sx, int64_t sy, int64_t sz);
  MotionId from_values(
      std::vector<int64_t> values);  // one per ordinal; values of dead CTAs do not matter
  bool is_affine(MotionId id) const { return motions_[id].affine; }
  // Of an affine motion.
  const std::array<int64_t, 3>& strides(MotionId id) const { return motions_[id].strides; }

  // The smallest grid of one step a dimension around the living CTAs, and whether all CTAs in it
  // live.
  struct Box {
    Cta low, high, step;
    bool full;
    int64_t count(int dimension) const {
      return (static_cast<int64_t>(high[dimension]) - low[dimension]) / step[dimension] + 1;
    }
  };
  Box box() const;

  int64_t value(MotionId id, size_t ordinal) const;
  // All values, one per ordinal; kept from the first call on. Valid as long as the table.
  const std::vector<int64_t>& values(MotionId id) const;
  MotionId add(MotionId a, MotionId b);
  MotionId sub(MotionId a, MotionId b);
  MotionId scale(MotionId a, int64_t factor);
  // Every value divided by `divisor`; the caller has made sure that all living CTAs divide exactly.
  MotionId divide_exact(MotionId a, int64_t divisor);

  struct Range {
    int64_t min, max;
  };
  // Exact over the living CTAs.
  Range range(MotionId id) const;
  // Whether all living CTAs have value 0 modulo `modulus`.
  bool divisible(MotionId id, int64_t modulus) const;

  // Keeps the CTAs whose `key(ordinal)` is `own`, the representative's. Returns how many left.
  template <class F>
  size_t split(uint64_t own, F&& key) {
    size_t left = 0;
    for (size_t i = 1; i < ctas_.size(); ++i) {
      if (!alive_[i]) continue;
      const auto k = static_cast<uint64_t>(key(i));
      if (k == own) continue;
      alive_[i] = false;
      departures_[i] = {generation_, k};
      ++left;
    }
    if (left) {
      alive_count_ -= left;
      ++generation_;
    }
    return left;
  }
  // Keeps the CTAs for which `keep(ordinal)`; the representative must be kept.
  template <class F>
  size_t narrow(F&& keep) {
    return split(1, [&](size_t i) { return keep(i) ? 1 : 0; });
  }
  // Of a CTA that has left: the narrowing that it left by, and its key there. CTAs with one
  // departure did the same up to there.
  using Departure = std::pair<uint64_t, uint64_t>;
  const Departure& departure(size_t ordinal) const { return departures_[ordinal]; }
  // Counts narrowings, so that callers can drop what they derived from the set of living CTAs.
  uint64_t generation() const { return generation_; }
  // Keeps the CTAs on which both motions agree.
  void equalize(MotionId a, MotionId b);

 private:
  struct Motion {
    bool affine = true;
    std::array<int64_t, 3> strides{};
    std::shared_ptr<const std::vector<int64_t>> values;  // not affine
    uint64_t hash = 0;
  };
  // What the set of living CTAs looks like, found once a generation.
  struct Living {
    uint64_t generation = ~0ull;
    Box box{};
    // Two CTAs that differ in one dimension only, for each dimension in which the CTAs differ at
    // all; without them strides are not determined by values one by one, and `axes` is false.
    bool axes = false;
    std::array<std::array<size_t, 2>, 3> pairs{};
    bool varies(int dimension) const { return box.low[dimension] != box.high[dimension]; }
  };
  struct RangeEntry {
    uint64_t generation = ~0ull;
    Range range{};
  };
  struct DivisibleEntry {
    uint64_t generation = ~0ull;
    bool divisible = false;
  };

  MotionId intern(Motion motion);
  MotionId intern_values(std::vector<int64_t> values);
  const Living& living() const;
  Living inspect() const;
  Range scan(const Motion& motion) const;

  std::vector<Cta> ctas_;
  std::vector<char> alive_;
  std::vector<Departure> departures_;
  size_t alive_count_ = 0;
  uint64_t generation_ = 0;
  std::array<bool, 3> varies_{};  // at the start
  bool strides_unique_ =
      true;  // at the start: else every motion but 0 is kept as values, so that ids stay unique
  std::vector<Motion> motions_;
  absl::flat_hash_map<uint64_t, std::vector<MotionId>> index_;
  absl::flat_hash_map<std::pair<MotionId, MotionId>, MotionId> sums_;
  absl::flat_hash_map<std::pair<MotionId, int64_t>, MotionId> products_, quotients_;
  absl::flat_hash_map<std::pair<MotionId, MotionId>, uint64_t> equalized_;
  mutable Living living_;
  mutable std::vector<RangeEntry> ranges_;
  mutable absl::flat_hash_map<std::pair<MotionId, int64_t>, DivisibleEntry> divisibles_;
  mutable absl::flat_hash_map<MotionId, std::shared_ptr<const std::vector<int64_t>>>
      expanded_;  // of affine motions
};

}  // namespace coequal::tensor
