// How far a difference may be that of rounded literals: each literal that fills its mantissa may
// stand for any number that rounds to it.
//
// Measured to first order, at one point: by how much the difference changes when each such literal
// moves by half a unit in its last place. What conditions, roundings to integers and bit patterns
// decide stays as it is. A difference within this is no difference of the functions meant.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <vector>

#include "term/evaluate.h"
#include "term/store.h"

namespace coequal::decide {

class Slack {
 public:
  // Of literals of the terms; of those alone that `among` says stand for themselves, if it is
  // given.
  Slack(const term::TermStore& store, const term::Term& a, const term::Term& b,
        const Slack* among = nullptr);

  // Whether the difference of two real values of the terms, at a point, is no more than it changes.
  bool explains(const term::Value& va, const term::Value& vb, const term::Assignment& at) const;
  // Literals on one side only: with many of them that side may be a polynomial that approximates
  // something.
  size_t one_sided() const { return one_sided_; }
  // More literals than are moved one by one.
  bool has_too_many() const { return literals_.size() > kMostLiterals; }

 private:
  static constexpr size_t kMostLiterals = 64;
  struct Literal {
    uint64_t payload;
    term::Rational moved;
  };

  const term::TermStore& store_;
  term::Term a_, b_;
  std::vector<Literal> literals_;
  absl::flat_hash_set<uint64_t> known_;  // by payload
  size_t one_sided_ = 0;
};

}  // namespace coequal::decide
