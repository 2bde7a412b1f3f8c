#include "tensor/history.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>

#include "base/check.h"
#include "term/hash.h"

namespace coequal::tensor {

namespace {

// What a leaf that is a number names (exec::CtaExecutor::history_of).
constexpr uint64_t kNumber = uint64_t{1} << 32;

Histories::Hash mixed(Histories::Hash h, uint64_t word) {
  return {term::mix(h.high, word), term::mix(h.low ^ 0xc2b2ae3d27d4eb4full, word)};
}

}  // namespace

Histories::Hash Histories::of_leaf(uint64_t what, int64_t cell, MotionId motion) {
  const Hash h = mixed(mixed({1, 2}, what), static_cast<uint64_t>(cell));
  return motion ? mixed(h, motion) : h;
}

Histories::Hash Histories::of_node(uint64_t operation, bool commutes, Hash a, Hash b) {
  if (commutes && b < a) std::swap(a, b);
  return mixed(mixed(mixed(mixed(mixed({3, 4}, operation), a.high), a.low), b.high), b.low);
}

Histories::Id Histories::intern(const Node& node) {
  const auto [it, fresh] = index_.try_emplace(node.hash, static_cast<Id>(nodes_.size()));
  if (fresh) nodes_.push_back(node);
  return it->second;
}

Histories::Id Histories::leaf(uint64_t what, int64_t cell, MotionId motion, bool exact) {
  Node n;
  n.what = what, n.cell = cell, n.motion = motion;
  n.is_leaf = n.known = true;
  n.exact = exact;
  n.moves = motion != 0;
  n.hash = of_leaf(what, cell, motion);
  return intern(n);
}

Histories::Id Histories::node(uint64_t operation, Id a, Id b, bool exact, bool commutes) {
  const Node &x = nodes_[a], &y = nodes_[b];
  CHECK(a != 0);
  Node n;
  n.what = operation, n.a = a, n.b = b;
  n.commutes = commutes;
  n.exact = exact && x.exact && (b == 0 || y.exact);
  n.known = x.known && (b == 0 || y.known);
  n.moves = x.moves || y.moves;
  n.hash = of_node(operation, commutes, x.hash, y.hash);
  return intern(n);
}

Histories::Id Histories::unknown() {
  Node n;
  n.is_leaf = true;
  n.hash = mixed({5, 6}, nodes_.size());
  return intern(n);
}

Histories::Hash Histories::steps(Id id) const {
  constexpr size_t kNoCta = ~size_t{0};
  if (const auto it = moved_.find({id, kNoCta}); it != moved_.end()) return it->second;
  std::vector<uint64_t> found;
  absl::flat_hash_set<Id> seen;
  std::vector<Id> stack{id};
  while (!stack.empty()) {
    const Id at = stack.back();
    stack.pop_back();
    if (at == 0 || !seen.insert(at).second) continue;
    const Node& n = nodes_[at];
    if (!n.is_leaf) {
      found.push_back(n.what);
      stack.push_back(n.a);
      stack.push_back(n.b);
    } else if (n.what == kNumber && !n.moves) {
      found.push_back(n.hash.high);
    }
  }
  std::sort(found.begin(), found.end());
  Hash all{7, 8};
  for (const uint64_t one : found) all = mixed(all, one);
  return moved_[{id, kNoCta}] = all;
}

Histories::Hash Histories::at_cta(Id id, const MotionTable& motions, size_t ordinal) const {
  constexpr size_t kMostKept = 1 << 20;
  CHECK(nodes_[id].known);
  if (moved_.size() > kMostKept) moved_.clear();
  const auto known = [&](Id i, Hash& out) {
    const Node& n = nodes_[i];
    if (!n.moves) {
      out = n.hash;
      return true;
    }
    if (n.is_leaf) {
      out = of_leaf(n.what, n.cell + motions.value(n.motion, ordinal), 0);
      return true;
    }
    const auto it = moved_.find({i, ordinal});
    if (it == moved_.end()) return false;
    out = it->second;
    return true;
  };
  Hash result;
  std::vector<Id> stack{id};
  while (!stack.empty()) {
    const Id at = stack.back();
    const Node& n = nodes_[at];
    Hash a, b;
    if (known(at, result)) {
      stack.pop_back();
      continue;
    }
    const bool first = known(n.a, a), second = known(n.b, b);
    if (!first) stack.push_back(n.a);
    if (!second) stack.push_back(n.b);
    if (!first || !second) continue;
    moved_[{at, ordinal}] = of_node(n.what, n.commutes, a, b);
  }
  known(id, result);
  return result;
}

}  // namespace coequal::tensor
