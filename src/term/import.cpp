#include "term/import.h"

#include <algorithm>
#include <array>

namespace coequal::term {

Import::Import(const TermStore& clone, TermStore& store)
    : clone_(clone),
      store_(store),
      common_nodes_(clone.node_count()),
      common_groups_(static_cast<size_t>(clone.group_count())) {
  CHECK(store.node_count() == common_nodes_);
}

GroupId Import::group(GroupId id) {
  if (id < common_groups_) return id;
  while (groups_.size() <= id - common_groups_) {
    const Group& wanted = clone_.group(static_cast<GroupId>(common_groups_ + groups_.size()));
    const int end = store_.group_count();
    int g = static_cast<int>(common_groups_);
    while (g < end && (store_.group(static_cast<GroupId>(g)).kind != wanted.kind ||
                       store_.group(static_cast<GroupId>(g)).name != wanted.name))
      ++g;
    groups_.push_back(g < end ? static_cast<GroupId>(g) : store_.add_group(wanted));
  }
  return groups_[id - common_groups_];
}

Term Import::operator()(const Term& t) {
  if (!t.valid() || t.shape() < common_nodes_) return t;
  // Children have lower ids than their parents; chains may be deeper than a call stack.
  std::vector<ShapeId> open{t.shape()};
  while (!open.empty()) {
    const ShapeId shape = open.back();
    if (shapes_.contains(shape)) {
      open.pop_back();
      continue;
    }
    const size_t before = open.size();
    const Term here = at_zero(shape);
    for (int i = 0; i < clone_.arity(shape); ++i) {
      const ShapeId child = clone_.child(here, i).shape();
      if (child >= common_nodes_ && !shapes_.contains(child)) open.push_back(child);
    }
    if (open.size() != before) continue;
    open.pop_back();
    shapes_.emplace(shape, make(shape));
  }
  return made(t);
}

Term Import::made(const Term& t) const {
  if (t.shape() < common_nodes_) return t;
  const auto groups = clone_.groups(t);
  return store_.map_anchors(shapes_.at(t.shape()), [&](GroupId g, Anchor a) {
    for (size_t i = 0; i < groups.size(); ++i) {
      const GroupId id = groups[i];
      if ((id < common_groups_ ? id : groups_[id - common_groups_]) != g) continue;
      const Anchor own = clone_.anchor(t, static_cast<int>(i));
      return Anchor{a.cell + own.cell, own.motion};
    }
    CHECK(false);
  });
}

Term Import::at_zero(ShapeId shape) const {
  const std::array<Anchor, TermStore::kMaxGroups> none{};
  return clone_.with_anchors(shape, {none.data(), clone_.groups(shape).size()});
}

Term Import::make(ShapeId shape) {
  const auto groups = clone_.groups(shape);
  const Term t = at_zero(shape);
  for (const GroupId g : groups) group(g);
  const Kind kind = clone_.kind(shape);
  if (kind == Kind::Leaf || kind == Kind::Poison) return store_.leaf(group(groups[0]), {});
  if (kind == Kind::RealConst) {
    const Term constant = store_.real(clone_.rational(t));
    if (clone_.is_double(t)) store_.note_double(constant);
    return constant;
  }
  std::array<Term, 3> args;
  const auto arity = static_cast<size_t>(clone_.arity(shape));
  for (size_t i = 0; i < arity; ++i) args[i] = made(clone_.child(t, static_cast<int>(i)));
  return store_.build(kind, {args.data(), arity}, clone_.payload(shape), clone_.type(shape));
}

}  // namespace coequal::term
