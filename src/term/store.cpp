// Hash-consing of shapes modulo translation, and the recipe table that makes repeated construction
// cheap.
#include "term/store.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>

#include "term/float_format.h"
#include "term/hash.h"

namespace coequal::term {
namespace {

constexpr TypeClass kResultClass[] = {
#define Same Real
#define KIND(name, text, arity, type, commutative) TypeClass::type,
#include "term/kinds.def"
#undef KIND
#undef Same
};

uint64_t head_of(Kind kind, int width, size_t args) {
  return static_cast<uint64_t>(kind) | static_cast<uint64_t>(width) << 8 |
         static_cast<uint64_t>(args) << 16;
}

}  // namespace

TermStore::TermStore() {
  intern_groups({});
  nodes_.reserve(1024);
}

TermStore::~TermStore() = default;

GroupId TermStore::add_group(Group group) {
  CHECK(groups_.size() < 0xffff);
  CHECK(group.type.cls != TypeClass::Bool);
  groups_.push_back(std::move(group));
  leaf_shapes_.push_back(Term::kNone);
  return static_cast<GroupId>(groups_.size() - 1);
}

uint32_t TermStore::add_scalar(FreeScalar scalar) {
  scalars_.push_back(std::move(scalar));
  return static_cast<uint32_t>(scalars_.size() - 1);
}

// ---- Leaves and constants ----

Term TermStore::leaf(GroupId group, Anchor anchor) {
  ShapeId& shape = leaf_shapes_[group];
  if (shape == Term::kNone) {
    Node node;
    node.kind = Kind::Leaf;
    node.type = groups_[group].type;
    node.payload = group;
    node.groups_at = intern_groups({&group, 1});
    node.group_count = 1;
    switch (groups_[group].kind) {
      case Group::Kind::Input:
        node.flags = kTotal;
        break;
      case Group::Kind::Poison:
      case Group::Kind::Refused:
        node.kind = Kind::Poison;
        node.flags = kHasPoison;
        break;
      case Group::Kind::Iota:
      case Group::Kind::Known:
        node.flags = kTotal | kHasPseudo;
        break;
    }
    shape = intern(node, {}, {});
  }
  return put_anchors(shape, {&anchor, 1});
}

Term TermStore::nullary(Kind kind, uint64_t payload, Type type) {
  Node node;
  node.kind = kind;
  node.type = type;
  node.payload = payload;
  node.flags = kind == Kind::Infinity || kind == Kind::Undefined ? kHasInfinite : kTotal;
  return put_anchors(intern(node, {}, {}), {});
}

Term TermStore::free_scalar(uint32_t id) {
  CHECK(id < scalars_.size());
  return nullary(Kind::Scalar, id, scalars_[id].type);
}
Term TermStore::real(const Rational& value) {
  return nullary(Kind::RealConst, rational_id(value), kReal);
}
Term TermStore::infinity(bool negative) { return nullary(Kind::Infinity, negative, kReal); }
Term TermStore::undefined() { return nullary(Kind::Undefined, 0, kReal); }
Term TermStore::symbol(NamedConstant constant) {
  return nullary(Kind::Symbol, static_cast<uint64_t>(constant), kReal);
}
Term TermStore::boolean(bool value) { return nullary(Kind::BoolConst, value, kBool); }
Term TermStore::bits(uint64_t value, int width) {
  CHECK(width >= 1 && width <= 64);
  if (width < 64) value &= (uint64_t{1} << width) - 1;
  return nullary(Kind::BvConst, value, bv(width));
}

// ---- Making terms ----

bool TermStore::relate(std::span<const Term> args, RecipeKey& key, int& diffs,
                       bool& motions_differ) const {
  auto add = [&](const Term& earlier, int i, const Term& later, int j) {
    const Anchor a = anchor_at(earlier, i), b = anchor_at(later, j);
    if (a.motion != b.motion) motions_differ = true;
    if (diffs == RecipeKey::kMaxDiffs) return false;
    key.diffs[diffs++] = b.cell - a.cell;
    return true;
  };
  for (size_t k = 1; k < args.size(); ++k) {
    const Term& later = args[k];
    const int later_count = later.count_;
    if (later_count == 0) continue;
    const uint32_t later_list = nodes_[later.shape_].groups_at;
    if (nodes_[args[0].shape_].groups_at == later_list) {
      for (int j = 0; j < later_count; ++j)
        if (!add(args[0], j, later, j)) return false;
      continue;
    }
    const GroupId* later_groups = group_lists_[later_list].get();
    int at[RecipeKey::kMaxArgs] = {};
    for (int j = 0; j < later_count; ++j) {
      for (size_t e = 0; e < k; ++e) {
        const Term& earlier = args[e];
        const GroupId* earlier_groups = group_lists_[nodes_[earlier.shape_].groups_at].get();
        while (at[e] < earlier.count_ && earlier_groups[at[e]] < later_groups[j]) ++at[e];
        if (at[e] < earlier.count_ && earlier_groups[at[e]] == later_groups[j]) {
          if (!add(earlier, at[e], later, j)) return false;
          break;
        }
      }
    }
  }
  return true;
}

Term TermStore::apply(const Recipe& recipe, std::span<const Term> args) const {
  const int count = nodes_[recipe.shape].group_count;
  const Step* steps = steps_.data() + recipe.steps_at;
  if (count <= Term::kInline) {
    Term result;
    result.shape_ = recipe.shape;
    result.count_ = static_cast<uint16_t>(count);
    for (int i = 0; i < count; ++i) {
      const Anchor from = anchor_at(args[steps[i].argument], steps[i].slot);
      result.cells_[i] = from.cell + steps[i].delta;
      result.motions_[i] = from.motion;
    }
    return result;
  }
  Anchor anchors[kMaxGroups];
  for (int i = 0; i < count; ++i) {
    anchors[i] = anchor_at(args[steps[i].argument], steps[i].slot);
    anchors[i].cell += steps[i].delta;
  }
  return put_anchors(recipe.shape, {anchors, static_cast<size_t>(count)});
}

void TermStore::remember(const RecipeKey& key, uint64_t hash, const Term& result,
                         std::span<const Term> args) {
  Recipe recipe{key, result.shape_, static_cast<uint32_t>(steps_.size())};
  const auto own = groups(result);
  for (int i = 0; i < result.count_; ++i) {
    bool found = false;
    for (size_t a = 0; a < args.size() && !found; ++a) {
      const auto theirs = groups(args[a]);
      const auto it = std::lower_bound(theirs.begin(), theirs.end(), own[i]);
      if (it == theirs.end() || *it != own[i]) continue;
      const int slot = static_cast<int>(it - theirs.begin());
      steps_.push_back({static_cast<uint8_t>(a), static_cast<uint8_t>(slot),
                        anchor_at(result, i).cell - anchor_at(args[a], slot).cell});
      found = true;
    }
    CHECK(found);
  }
  recipes_.push_back(recipe);
  recipe_index_.insert(hash, static_cast<uint32_t>(recipes_.size() - 1));
}

bool TermStore::Analogy::learn(const TermStore& store, std::span<const Term* const> args,
                               std::span<const Term> results) {
  arg_count_ = 0;
  CHECK(args.size() <= kMaxArgs && results.size() <= kMaxResults);
  struct Seen {
    GroupId group;
    Slot slot;
    Anchor anchor;
  };
  absl::InlinedVector<Seen, kMaxAnchors> seen;
  const auto first_of = [&](GroupId group) {
    return std::find_if(seen.begin(), seen.end(), [&](const Seen& s) { return s.group == group; });
  };
  link_count_ = 0;
  for (size_t a = 0; a < args.size(); ++a) {
    shapes_[a] = args[a]->shape_;
    const auto groups = store.groups(*args[a]);
    for (size_t i = 0; i < groups.size(); ++i) {
      const Slot slot{static_cast<uint8_t>(a), static_cast<uint8_t>(i)};
      const Anchor anchor = store.anchor_at(*args[a], static_cast<int>(i));
      const auto it = first_of(groups[i]);
      if (it == seen.end()) {
        seen.push_back({groups[i], slot, anchor});
        continue;
      }
      if (it->anchor.motion != anchor.motion || link_count_ == kMaxLinks) return false;
      links_[static_cast<size_t>(link_count_++)] = {it->slot, slot, anchor.cell - it->anchor.cell};
    }
  }
  int used = 0;
  for (size_t r = 0; r < results.size(); ++r) {
    const auto groups = store.groups(results[r]);
    results_[r] = {results[r].shape_, used, static_cast<int>(groups.size())};
    if (used + groups.size() > kMaxAnchors) return false;
    for (size_t i = 0; i < groups.size(); ++i) {
      const auto it = first_of(groups[i]);
      if (it == seen.end()) return false;
      const Anchor anchor = store.anchor_at(results[r], static_cast<int>(i));
      if (anchor.motion != it->anchor.motion) return false;
      anchors_[static_cast<size_t>(used++)] = {it->slot, {}, anchor.cell - it->anchor.cell};
    }
  }
  arg_count_ = args.size();
  return true;
}

Term TermStore::make(Kind kind, std::span<const Term> args, uint64_t payload, int width) {
  CHECK(args.size() <= RecipeKey::kMaxArgs && width >= 0 && width <= 64);
  RecipeKey key;
  key.payload = payload;
  uint64_t hash = payload;
  for (size_t i = 0; i < args.size(); ++i) {
    key.shapes[i] = args[i].shape_;
    hash = (hash ^ args[i].shape_) * 0xff51afd7ed558ccdull;
    hash ^= hash >> 29;
  }
  int diffs = 0;
  bool motions_differ = false;
  const bool fits = relate(args, key, diffs, motions_differ);
  if (!fits || motions_differ) return make_slowly(kind, args, payload, width);
  key.head = head_of(kind, width, args.size()) | static_cast<uint64_t>(diffs) << 24;
  hash ^= key.head;
  for (int i = 0; i < diffs; ++i) {
    hash = (hash ^ static_cast<uint64_t>(key.diffs[i])) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 31;
  }
  hash *= 0xff51afd7ed558ccdull;
  const uint32_t found = recipe_index_.find(hash, [&](uint32_t id) {
    const RecipeKey& other = recipes_[id].key;
    if (other.head != key.head || other.payload != key.payload) return false;
    for (int i = 0; i < RecipeKey::kMaxArgs; ++i)
      if (other.shapes[i] != key.shapes[i]) return false;
    for (int i = 0; i < diffs; ++i)
      if (other.diffs[i] != key.diffs[i]) return false;
    return true;
  });
  if (found != IdTable::kNone) return apply(recipes_[found], args);
  // Keep the arguments: they may live in a container that grows while rules make terms.
  std::array<Term, RecipeKey::kMaxArgs> kept;
  std::copy(args.begin(), args.end(), kept.begin());
  const std::span<const Term> own(kept.data(), args.size());
  const Term result = fold(kind, own, payload, width);
  remember(key, hash, result, own);
  return result;
}

// Arguments that share many groups, or whose motions differ: the latter are made to agree first.
Term TermStore::make_slowly(Kind kind, std::span<const Term> args, uint64_t payload, int width) {
  std::array<Term, RecipeKey::kMaxArgs> own;
  std::copy(args.begin(), args.end(), own.begin());
  for (size_t k = 1; k < args.size(); ++k) {
    own[k] = map_anchors(own[k], [&](GroupId group, Anchor later) {
      for (size_t e = 0; e < k; ++e) {
        const std::optional<Anchor> earlier = anchor_in(own[e], group);
        if (!earlier) continue;
        if (earlier->motion != later.motion) {
          CHECK(reconciler_ != nullptr);
          reconciler_->equalize(earlier->motion, later.motion);
          later.motion = earlier->motion;
        }
        break;
      }
      return later;
    });
  }
  return fold(kind, {own.data(), args.size()}, payload, width);
}

Type TermStore::result_type(Kind kind, std::span<const Term> args, uint64_t payload,
                            int width) const {
  CHECK(static_cast<int>(args.size()) == kind_arity(kind));
  CHECK(!args.empty());
  for (const Term& arg : args) CHECK(arg.valid());
  auto expect = [&](size_t i, TypeClass cls) { CHECK(type(args[i]).cls == cls); };
  const Type first = type(args[0]);
  switch (kind) {
    case Kind::RealOfSigned:
    case Kind::RealOfUnsigned:
      expect(0, TypeClass::Bv);
      return kReal;
    case Kind::RealOfBits:
      CHECK(first == bv(bits_of(static_cast<FloatFormat>(payload))));
      return kReal;
    case Kind::Select: {
      CHECK(first == kBool);
      CHECK(type(args[1]) == type(args[2]));
      return type(args[2]);
    }
    case Kind::Less:
    case Kind::LessEq:
    case Kind::Equal:
      expect(1, TypeClass::Real);
      [[fallthrough]];
    case Kind::IsNumber:
      expect(0, TypeClass::Real);
      return kBool;
    case Kind::And:
    case Kind::Or:
      expect(1, TypeClass::Bool);
      [[fallthrough]];
    case Kind::Not:
      expect(0, TypeClass::Bool);
      return kBool;
    case Kind::BvEq:
    case Kind::BvUlt:
    case Kind::BvSlt:
      expect(0, TypeClass::Bv);
      CHECK(first == type(args[1]));
      return kBool;
    case Kind::BvOfBool:
      expect(0, TypeClass::Bool);
      CHECK(width >= 1);
      return bv(width);
    case Kind::BvShl:
    case Kind::BvLshr:
    case Kind::BvAshr:  // the amount may have another width
      expect(0, TypeClass::Bv);
      expect(1, TypeClass::Bv);
      return first;
    case Kind::BvNot:
    case Kind::BvReverse:
      expect(0, TypeClass::Bv);
      return first;
    case Kind::BvPopcount:
    case Kind::BvClz: {
      expect(0, TypeClass::Bv);
      const int result = width ? width : first.width;
      CHECK(result == 64 || (uint64_t{1} << result) > first.width);
      return bv(result);
    }
    case Kind::BvExtract:
      expect(0, TypeClass::Bv);
      CHECK(width >= 1 && payload + static_cast<uint64_t>(width) <= first.width);
      return bv(width);
    case Kind::BvConcat:
      expect(0, TypeClass::Bv);
      expect(1, TypeClass::Bv);
      CHECK(first.width + type(args[1]).width <= 64);
      return bv(first.width + type(args[1]).width);
    case Kind::BvZeroExtend:
    case Kind::BvSignExtend:
      expect(0, TypeClass::Bv);
      CHECK(width >= first.width);
      return bv(width);
    case Kind::BvOfReal:
      expect(0, TypeClass::Real);
      CHECK(width >= 1);
      return bv(width);
    case Kind::BitsOfReal:
      expect(0, TypeClass::Real);
      return bv(bits_of(static_cast<FloatFormat>(payload)));
    default:
      break;
  }
  const TypeClass cls = kResultClass[static_cast<size_t>(kind)];
  for (size_t i = 0; i < args.size(); ++i) expect(i, cls);
  if (cls == TypeClass::Bv) CHECK(first == type(args[1]));
  return first;
}

uint8_t TermStore::flags_of(Kind kind, std::span<const Term> args, uint64_t) const {
  uint8_t any = 0;
  bool total = true;
  for (const Term& arg : args) {
    any |= nodes_[arg.shape_].flags;
    total = total && (nodes_[arg.shape_].flags & kTotal);
  }
  switch (kind) {
    case Kind::Div: {  // by a constant it has become a product
      const Rational* divisor = as_rational(args[1]);
      total = total && ((divisor && !divisor->is_zero()) || this->kind(args[1]) == Kind::Symbol);
      break;
    }
    case Kind::Sqrt:
    case Kind::Log2:
    case Kind::ErfInv:
    case Kind::Gamma:
    case Kind::LogGamma:
      total = false;
      break;
    case Kind::RealOfBits:  // the word may encode an infinity or NaN
      total = false;
      any |= kHasInfinite;
      break;
    case Kind::BvUdiv:
    case Kind::BvSdiv:
    case Kind::BvUrem:
    case Kind::BvSrem:
      total = total && as_bits(args[1]).value_or(0) != 0;
      break;
    case Kind::IsNumber:
      total = !(any & kHasPoison);
      break;
    default:
      break;
  }
  return (any & (kHasPoison | kHasPseudo | kHasInfinite)) | (total ? kTotal : 0);
}

Term TermStore::build(Kind kind, std::span<const Term> args, uint64_t payload, Type type) {
  std::array<Term, RecipeKey::kMaxArgs> own;
  std::copy(args.begin(), args.end(), own.begin());
  if (is_commutative(kind) && compare(own[0], own[1]) > 0) std::swap(own[0], own[1]);
  const std::span<const Term> ordered(own.data(), args.size());

  absl::InlinedVector<GroupId, 8> merged;
  absl::InlinedVector<Anchor, 8> least;
  for (const Term& arg : ordered) {
    const auto theirs = groups(arg);
    for (size_t i = 0; i < theirs.size(); ++i) {
      const Anchor anchor = anchor_at(arg, static_cast<int>(i));
      const auto at = std::lower_bound(merged.begin(), merged.end(), theirs[i]) - merged.begin();
      const auto slot = static_cast<size_t>(at);
      if (slot < merged.size() && merged[slot] == theirs[i]) {
        CHECK(least[slot].motion == anchor.motion);
        least[slot].cell = std::min(least[slot].cell, anchor.cell);
        continue;
      }
      merged.insert(merged.begin() + at, theirs[i]);
      least.insert(least.begin() + at, anchor);
    }
  }
  if (merged.size() > kMaxGroups) throw TooManyGroups("a value depends on too many tensors");

  Node node;
  node.kind = kind;
  node.type = type;
  node.payload = payload;
  node.arity = static_cast<uint8_t>(args.size());
  node.flags = flags_of(kind, ordered, payload);
  node.groups_at = intern_groups(merged);
  node.group_count = static_cast<uint16_t>(merged.size());
  const std::span<const Anchor> anchors(least);
  return put_anchors(intern(node, ordered, anchors), anchors);
}

uint64_t TermStore::payload_hash(Kind kind, uint64_t payload) const {
  return kind == Kind::RealConst ? rationals_[payload].hash() : payload;
}

ShapeId TermStore::intern(Node node, std::span<const Term> args, std::span<const Anchor> own) {
  const GroupId* list = group_lists_[node.groups_at].get();
  absl::InlinedVector<int64_t, 12> offsets;
  uint64_t hash = mix(static_cast<uint64_t>(node.kind),
                      static_cast<uint64_t>(node.type.cls) << 8 | node.type.width);
  hash = mix(hash, payload_hash(node.kind, node.payload));
  for (int i = 0; i < node.group_count; ++i) hash = mix(hash, list[i]);
  for (const Term& arg : args) {
    hash = mix(hash, nodes_[arg.shape_].hash);
    const auto theirs = groups(arg);
    size_t at = 0;
    for (size_t i = 0; i < theirs.size(); ++i) {
      while (list[at] != theirs[i]) ++at;
      const int64_t offset = anchor_at(arg, static_cast<int>(i)).cell - own[at].cell;
      offsets.push_back(offset);
      hash = mix(hash, static_cast<uint64_t>(offset));
    }
  }
  node.hash = hash;
  const uint32_t found = shape_index_.find(hash, [&](uint32_t id) {
    const Node& other = nodes_[id];
    if (other.hash != hash || other.kind != node.kind || !(other.type == node.type) ||
        other.payload != node.payload || other.arity != node.arity ||
        other.groups_at != node.groups_at)
      return false;
    size_t seen = 0;
    for (size_t i = 0; i < args.size(); ++i) {
      const Child& child = children_[other.first_child + i];
      if (child.shape != args[i].shape_) return false;
      for (size_t j = 0; j < args[i].count_; ++j)
        if (offsets_[child.offsets_at + j] != offsets[seen++]) return false;
    }
    return true;
  });
  if (found != IdTable::kNone) return found;
  CHECK(nodes_.size() < Term::kNone);
  node.first_child = static_cast<uint32_t>(children_.size());
  size_t seen = 0;
  for (const Term& arg : args) {
    children_.push_back({arg.shape_, static_cast<uint32_t>(offsets_.size())});
    for (size_t j = 0; j < arg.count_; ++j) offsets_.push_back(offsets[seen++]);
  }
  CHECK(offsets_.size() < 0xffffffffu);
  nodes_.push_back(node);
  const ShapeId id = static_cast<ShapeId>(nodes_.size() - 1);
  shape_index_.insert(hash, id);
  return id;
}

uint32_t TermStore::intern_groups(std::span<const GroupId> groups) {
  uint64_t hash = groups.size();
  for (GroupId g : groups) hash = mix(hash, g);
  const uint32_t found = group_list_index_.find(hash, [&](uint32_t id) {
    return group_list_sizes_[id] == groups.size() &&
           std::equal(groups.begin(), groups.end(), group_lists_[id].get());
  });
  if (found != IdTable::kNone) return found;
  group_lists_.push_back(std::make_shared<GroupId[]>(groups.size()));
  std::copy(groups.begin(), groups.end(), group_lists_.back().get());
  group_list_sizes_.push_back(static_cast<uint16_t>(groups.size()));
  const uint32_t id = static_cast<uint32_t>(group_lists_.size() - 1);
  group_list_index_.insert(hash, id);
  return id;
}

Term TermStore::put_anchors(ShapeId shape, std::span<const Anchor> anchors) const {
  Term t;
  t.shape_ = shape;
  t.count_ = static_cast<uint16_t>(anchors.size());
  if (anchors.size() <= Term::kInline) {
    for (size_t i = 0; i < anchors.size(); ++i) {
      t.cells_[i] = anchors[i].cell;
      t.motions_[i] = anchors[i].motion;
    }
    return t;
  }
  uint64_t hash = anchors.size();
  for (const Anchor& a : anchors) hash = mix(mix(hash, static_cast<uint64_t>(a.cell)), a.motion);
  // An entry does not store its length: a prefix of a longer array serves as well.
  const uint32_t found = overflow_index_.find(hash, [&](uint32_t at) {
    return at + anchors.size() <= overflow_.size() &&
           std::equal(anchors.begin(), anchors.end(), overflow_.begin() + at);
  });
  if (found != IdTable::kNone) {
    t.overflow_ = found;
    return t;
  }
  CHECK(overflow_.size() + anchors.size() < 0xffffffffu);
  t.overflow_ = static_cast<uint32_t>(overflow_.size());
  overflow_.insert(overflow_.end(), anchors.begin(), anchors.end());
  overflow_index_.insert(hash, t.overflow_);
  return t;
}

uint64_t TermStore::rational_id(const Rational& value) {
  const uint64_t hash = value.hash();
  const uint32_t found =
      rational_index_.find(hash, [&](uint32_t id) { return rationals_[id] == value; });
  if (found != IdTable::kNone) return found;
  rationals_.push_back(value);
  rational_index_.insert(hash, static_cast<uint32_t>(rationals_.size() - 1));
  return rationals_.size() - 1;
}

// ---- Reading ----

Anchor TermStore::anchor(const Term& t, int index) const {
  DCHECK(index >= 0 && index < t.count_);
  return anchor_at(t, index);
}

std::optional<Anchor> TermStore::anchor_in(const Term& t, GroupId group) const {
  const auto own = groups(t);
  const auto it = std::lower_bound(own.begin(), own.end(), group);
  if (it == own.end() || *it != group) return std::nullopt;
  return anchor_at(t, static_cast<int>(it - own.begin()));
}

Term TermStore::child(const Term& t, int i) const {
  const Node& node = nodes_[t.shape_];
  CHECK(i >= 0 && i < node.arity);
  const Child& child = children_[node.first_child + static_cast<size_t>(i)];
  const Node& target = nodes_[child.shape];
  const int64_t* offsets = offsets_.data() + child.offsets_at;
  const GroupId* own = group_lists_[node.groups_at].get();
  const GroupId* theirs = group_lists_[target.groups_at].get();
  int at = 0;
  auto next = [&](int j) {
    while (own[at] != theirs[j]) ++at;
    Anchor anchor = anchor_at(t, at);
    anchor.cell += offsets[j];
    return anchor;
  };
  if (target.group_count <= Term::kInline) {
    Term result;
    result.shape_ = child.shape;
    result.count_ = target.group_count;
    for (int j = 0; j < target.group_count; ++j) {
      const Anchor anchor = next(j);
      result.cells_[static_cast<size_t>(j)] = anchor.cell;
      result.motions_[static_cast<size_t>(j)] = anchor.motion;
    }
    return result;
  }
  Anchor anchors[kMaxGroups];
  for (int j = 0; j < target.group_count; ++j) anchors[j] = next(j);
  return put_anchors(child.shape, {anchors, target.group_count});
}

std::optional<bool> TermStore::as_bool(const Term& t) const {
  if (kind(t) != Kind::BoolConst) return std::nullopt;
  return payload(t) != 0;
}

std::optional<uint64_t> TermStore::as_bits(const Term& t) const {
  if (kind(t) != Kind::BvConst) return std::nullopt;
  return payload(t);
}

const Rational* TermStore::as_rational(const Term& t) const {
  return kind(t) == Kind::RealConst ? &rationals_[payload(t)] : nullptr;
}

Term TermStore::moved(const Term& t, std::span<const int64_t> cells) const {
  CHECK(static_cast<int>(cells.size()) == t.count_);
  Anchor anchors[kMaxGroups];
  for (size_t i = 0; i < cells.size(); ++i) anchors[i] = {cells[i], 0};
  return put_anchors(t.shape_, {anchors, cells.size()});
}

Term TermStore::with_anchors(ShapeId shape, std::span<const Anchor> anchors) const {
  CHECK(nodes_[shape].group_count == anchors.size());
  return put_anchors(shape, anchors);
}

// Structural order of shapes with equal hashes; the first differing pair of children decides, so no
// stack is needed.
int TermStore::compare_shapes(ShapeId a, ShapeId b) const {
  auto order = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  while (a != b) {
    const Node& m = nodes_[a];
    const Node& n = nodes_[b];
    if (m.hash != n.hash) return order(m.hash, n.hash);
    if (int c = order(m.kind, n.kind)) return c;
    if (int c = order(m.type.cls, n.type.cls)) return c;
    if (int c = order(m.type.width, n.type.width)) return c;
    if (m.kind == Kind::RealConst) return order(rationals_[m.payload], rationals_[n.payload]);
    if (int c = order(m.payload, n.payload)) return c;
    const auto p = groups(a), q = groups(b);
    if (!std::equal(p.begin(), p.end(), q.begin(), q.end()))
      return std::lexicographical_compare(p.begin(), p.end(), q.begin(), q.end()) ? -1 : 1;
    bool descended = false;
    for (int i = 0; i < m.arity && !descended; ++i) {
      const Child& x = children_[m.first_child + static_cast<size_t>(i)];
      const Child& y = children_[n.first_child + static_cast<size_t>(i)];
      if (x.shape != y.shape) {
        a = x.shape;
        b = y.shape;
        descended = true;
        break;
      }
      for (int j = 0; j < nodes_[x.shape].group_count; ++j)
        if (int c = order(offsets_[x.offsets_at + static_cast<size_t>(j)],
                          offsets_[y.offsets_at + static_cast<size_t>(j)]))
          return c;
    }
    CHECK(descended);  // equal contents have one id
  }
  return 0;
}

int TermStore::compare(const Term& a, const Term& b) const {
  if (a.shape_ != b.shape_) return compare_shapes(a.shape_, b.shape_);
  for (int i = 0; i < a.count_; ++i) {
    const int64_t x = anchor_at(a, i).cell, y = anchor_at(b, i).cell;
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

size_t TermStore::bytes() const {
  return nodes_.capacity() * sizeof(Node) + children_.capacity() * sizeof(Child) +
         offsets_.capacity() * sizeof(int64_t) + rationals_.size() * sizeof(Rational) +
         recipes_.capacity() * sizeof(Recipe) + steps_.capacity() * sizeof(Step) +
         overflow_.capacity() * sizeof(Anchor) + shape_index_.bytes() + group_list_index_.bytes() +
         rational_index_.bytes() + recipe_index_.bytes() + overflow_index_.bytes();
}

}  // namespace coequal::term
