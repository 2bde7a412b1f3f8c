// Values of the free variables: what an evaluation reads at leaves and scalars.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <utility>

#include "term/store.h"

namespace coequal::term {

// Integer variables are given by their (signed or unsigned) value, taken modulo their width.
class Assignment {
 public:
  virtual ~Assignment() = default;
  virtual Rational leaf(GroupId group, int64_t cell) const = 0;
  virtual Rational scalar(uint32_t id) const = 0;
};

// A finite list of values; everything else has the default.
class MapAssignment : public Assignment {
 public:
  explicit MapAssignment(Rational other = 0) : other_(std::move(other)) {}
  void set_leaf(GroupId group, int64_t cell, Rational value) {
    leaves_[{group, cell}] = std::move(value);
  }
  void set_scalar(uint32_t id, Rational value) { scalars_[id] = std::move(value); }
  Rational leaf(GroupId group, int64_t cell) const override {
    const auto it = leaves_.find({group, cell});
    return it == leaves_.end() ? other_ : it->second;
  }
  Rational scalar(uint32_t id) const override {
    const auto it = scalars_.find(id);
    return it == scalars_.end() ? other_ : it->second;
  }
  const auto& leaves() const { return leaves_; }
  const auto& scalars() const { return scalars_; }

 private:
  Rational other_;
  absl::flat_hash_map<std::pair<GroupId, int64_t>, Rational> leaves_;
  absl::flat_hash_map<uint32_t, Rational> scalars_;
};

// Independent values drawn from a seed, within the bounds of each variable (reals without bounds:
// in (-4, 4)); leaves of a sorted group ascend.
class RandomAssignment : public Assignment {
 public:
  RandomAssignment(const TermStore& store, uint64_t seed) : store_(store), seed_(seed) {}
  Rational leaf(GroupId group, int64_t cell) const override;
  Rational scalar(uint32_t id) const override;

 private:
  const TermStore& store_;
  uint64_t seed_;
};

// The value of a leaf, scalar or known cell under an assignment; nothing for poison.
std::optional<Rational> variable_value(const TermStore& store, const Term& variable,
                                       const Assignment& assignment);

// The low `width` bits of an integer.
uint64_t wrapped_bits(const Rational& integer, int width);

// The least and the greatest value of a machine word.
struct WordRange {
  Rational low, high;
};
WordRange word_range(int width, bool is_signed);
// What a conversion to an integer gives: the value, or the nearer end of the range. (PTX ISA, cvt.)
uint64_t clamped_bits(const Rational& integer, int width, bool is_signed);

}  // namespace coequal::term
