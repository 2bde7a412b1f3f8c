// The node store: hash-consed shapes, the groups their leaves belong to, and exact constants.
//
// Invariants: two shapes with equal contents have one id; every node's type is that of kinds.def;
// arguments of commutative kinds are ordered by structural hash, then structure, then relative
// offsets, never by id or absolute cell, so shapes and reports do not depend on creation order. Ids
// are arena indices; all is freed with the store.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/dtype.h"
#include "term/id_table.h"
#include "term/rational.h"
#include "term/term.h"

namespace coequal::term {

// Bounds of a free value; absent means the dtype's own range.
struct Bounds {
  std::optional<Rational> min = {}, max = {};      // inclusive
  std::optional<Rational> above = {}, below = {};  // exclusive
};

// What the leaves of one group stand for. Leaf attributes are the group's, so shapes that mention
// the group agree on them.
struct Group {
  enum class Kind : uint8_t {
    Input,   // cells of an input tensor: free variables
    Poison,  // uninitialised cells (of one program's tensor, shared memory or registers), values of
             // inactive lanes
    Refused,  // what the engine does not understand; treated as poison, `name` says which construct
              // and where
    Iota,     // cell k has the known value k (a block-dependent integer that entered a value)
    Known,    // cells of a tensor of known data that entered a value under a moving index
  };
  Kind kind = Kind::Input;
  std::string name = {};  // tensor name for messages
  DType dtype = DType::F32;
  Type type = kReal;  // of a leaf
  Bounds bounds = {};
  bool sorted = false;
  int tensor = -1;  // index of the tensor in the instance, if any
  // Known: the values; the value of cell k of Iota is k.
  std::shared_ptr<const std::vector<Rational>> values = {};
};

// A free scalar shared by both programs.
struct FreeScalar {
  std::string name = {};
  DType dtype = DType::F32;
  Type type = kReal;
  Bounds bounds = {};
};

// Called when one term would join two motions of one group: makes them agree on the CTAs that stay
// in the class (by dropping the others). Without one, differing motions are an internal error.
class MotionReconciler {
 public:
  virtual ~MotionReconciler() = default;
  virtual void equalize(MotionId a, MotionId b) = 0;
};

class TermStore {
 public:
  TermStore();
  ~TermStore();
  TermStore& operator=(const TermStore&) = delete;
  // The same store once more: terms, groups and scalars made so far mean the same in both. For
  // another thread; both may grow from there.
  std::unique_ptr<TermStore> clone() const {
    CHECK(reconciler_ == nullptr);
    return std::unique_ptr<TermStore>(new TermStore(*this));
  }

  GroupId add_group(Group group);
  const Group& group(GroupId id) const { return groups_[id]; }
  int group_count() const { return static_cast<int>(groups_.size()); }
  uint32_t add_scalar(FreeScalar scalar);
  const FreeScalar& scalar(uint32_t id) const { return scalars_[id]; }
  int scalar_count() const { return static_cast<int>(scalars_.size()); }
  void set_reconciler(MotionReconciler* reconciler) { reconciler_ = reconciler; }

  // Leaves and constants.
  Term leaf(GroupId group, Anchor anchor);  // Leaf; Poison in a group of kind Poison or Refused
  Term free_scalar(uint32_t id);
  Term real(const Rational& value);
  // Keeps that a constant is used in double precision: one of few bits is no rounded single then.
  void note_double(const Term& constant) { doubles_.insert(payload(constant)); }
  bool is_double(const Term& constant) const { return doubles_.contains(payload(constant)); }
  Term infinity(bool negative);
  Term undefined();
  Term symbol(NamedConstant constant);
  Term boolean(bool value);
  Term bits(uint64_t value, int width);

  // The node of `kind` over `args`, folded (fold.cpp says what is folded and why it is sound).
  // `payload` and `width` (of a Bv result whose width the arguments do not fix) as kinds.def says.
  Term make(Kind kind, std::span<const Term> args, uint64_t payload = 0, int width = 0);
  Term make(Kind kind, std::initializer_list<Term> args, uint64_t payload = 0, int width = 0) {
    return make(kind, std::span<const Term>(args.begin(), args.size()), payload, width);
  }

  // Reading.
  Kind kind(ShapeId s) const { return nodes_[s].kind; }
  Kind kind(const Term& t) const { return kind(t.shape()); }
  Type type(ShapeId s) const { return nodes_[s].type; }
  Type type(const Term& t) const { return type(t.shape()); }
  uint64_t payload(ShapeId s) const { return nodes_[s].payload; }
  uint64_t payload(const Term& t) const { return payload(t.shape()); }
  int arity(ShapeId s) const { return nodes_[s].arity; }
  int arity(const Term& t) const { return arity(t.shape()); }
  uint64_t structural_hash(ShapeId s) const { return nodes_[s].hash; }
  // Sorted groups of the shape, one per anchor.
  std::span<const GroupId> groups(ShapeId s) const {
    return {group_lists_[nodes_[s].groups_at].get(), nodes_[s].group_count};
  }
  std::span<const GroupId> groups(const Term& t) const { return groups(t.shape()); }
  Anchor anchor(const Term& t, int index) const;
  std::optional<Anchor> anchor_in(const Term& t, GroupId group) const;
  // The i-th argument, standing where `t` stands.
  Term child(const Term& t, int i) const;
  const Rational& rational(const Term& t) const { return rationals_[payload(t)]; }  // of RealConst

  // Total: finite and defined for every finite input (no pole, no infinity, no poison can reach
  // it).
  bool is_total(ShapeId s) const { return nodes_[s].flags & kTotal; }
  bool is_total(const Term& t) const { return is_total(t.shape()); }
  // Some leaf below is poison / an iota or known leaf / an infinity or undefined constant (or a
  // word read as a float).
  bool has_poison(ShapeId s) const { return nodes_[s].flags & kHasPoison; }
  bool has_pseudo(ShapeId s) const { return nodes_[s].flags & kHasPseudo; }
  bool has_infinite(ShapeId s) const { return nodes_[s].flags & kHasInfinite; }
  bool has_poison(const Term& t) const { return has_poison(t.shape()); }
  bool has_pseudo(const Term& t) const { return has_pseudo(t.shape()); }

  std::optional<bool> as_bool(const Term& t) const;
  std::optional<uint64_t> as_bits(const Term& t) const;  // of BvConst
  const Rational* as_rational(const Term& t) const;      // of RealConst

  // The same term with other anchors: `cells` per anchor, motions dropped.
  Term moved(const Term& t, std::span<const int64_t> cells) const;
  // The same term with all anchors given.
  Term with_anchors(ShapeId shape, std::span<const Anchor> anchors) const;
  // Each anchor passed through `f(GroupId, Anchor) -> Anchor`.
  template <class F>
  Term map_anchors(const Term& t, F&& f) const {
    auto gs = groups(t);
    auto fill = [&](Anchor* buffer) {
      for (size_t i = 0; i < gs.size(); ++i) buffer[i] = f(gs[i], anchor(t, static_cast<int>(i)));
      return with_anchors(t.shape(), {buffer, gs.size()});
    };
    if (gs.size() <= Term::kInline) {
      Anchor few[Term::kInline];
      return fill(few);
    }
    Anchor many[kMaxGroups];
    return fill(many);
  }

  // What a computation made of its arguments, kept to be done again for others of the same shapes
  // that lie in the same way to one another: its results are then the same up to translation.
  class Analogy {
   public:
    static constexpr int kMaxArgs = 8, kMaxResults = 4;
    // False, and nothing is kept, if there is too much to compare.
    bool learn(const TermStore& store, std::span<const Term* const> args,
               std::span<const Term> results);
    bool known() const { return arg_count_ > 0; }
    bool fits(const TermStore& store, std::span<const Term* const> args) const {
      for (size_t i = 0; i < arg_count_; ++i)
        if (args[i]->shape_ != shapes_[i]) return false;
      for (int i = 0; i < link_count_; ++i) {
        const Link& l = links_[static_cast<size_t>(i)];
        const Anchor a = store.anchor_at(*args[l.first.argument], l.first.slot),
                     b = store.anchor_at(*args[l.other.argument], l.other.slot);
        if (a.motion != b.motion || b.cell - a.cell != l.distance) return false;
      }
      return true;
    }
    Term result(const TermStore& store, size_t i, std::span<const Term* const> args) const {
      const Result& r = results_[i];
      if (r.count <= Term::kInline) {
        Term made;
        made.shape_ = r.shape;
        made.count_ = static_cast<uint16_t>(r.count);
        for (size_t k = 0; k < made.count_; ++k) {
          const Link& from = anchors_[static_cast<size_t>(r.first) + k];
          const Anchor a = store.anchor_at(*args[from.first.argument], from.first.slot);
          made.cells_[k] = a.cell + from.distance;
          made.motions_[k] = a.motion;
        }
        return made;
      }
      Anchor anchors[kMaxAnchors];
      for (int k = 0; k < r.count; ++k) {
        const Link& from = anchors_[static_cast<size_t>(r.first + k)];
        anchors[k] = store.anchor_at(*args[from.first.argument], from.first.slot);
        anchors[k].cell += from.distance;
      }
      return store.put_anchors(r.shape, {anchors, static_cast<size_t>(r.count)});
    }

   private:
    static constexpr int kMaxLinks = 16, kMaxAnchors = 16;
    struct Slot {
      uint8_t argument = 0, slot = 0;
    };
    // Two anchors of one group at a distance; of a result the first alone counts.
    struct Link {
      Slot first, other;
      int64_t distance = 0;
    };
    struct Result {
      ShapeId shape = 0;
      int first = 0, count = 0;  // into anchors_
    };
    size_t arg_count_ = 0;
    int link_count_ = 0;
    std::array<ShapeId, kMaxArgs> shapes_{};
    std::array<Link, kMaxLinks> links_{};
    std::array<Link, kMaxAnchors> anchors_{};
    std::array<Result, kMaxResults> results_{};
  };

  // Total order of terms by structure and relative position, for reports and canonical order.
  // Covariant: translating both in the same way keeps it.
  int compare(const Term& a, const Term& b) const;

  size_t node_count() const { return nodes_.size(); }
  size_t bytes() const;

  static constexpr int kMaxGroups = 64;  // of one shape; more is refused by TooManyGroups

 private:
  TermStore(const TermStore&) = default;

  static constexpr uint8_t kTotal = 1, kHasPoison = 2, kHasPseudo = 4, kHasInfinite = 8;

  struct Node {
    uint64_t hash = 0;
    uint64_t payload = 0;
    uint32_t first_child = 0;  // into children_
    uint32_t groups_at = 0;    // index into group_lists_: equal lists have one index
    uint16_t group_count = 0;
    Kind kind{};
    Type type{};
    uint8_t arity = 0;
    uint8_t flags = 0;
  };
  struct Child {
    ShapeId shape;
    uint32_t offsets_at;  // into offsets_: one per group of the child
  };
  // How the anchors of a made term follow from the arguments: covariance makes this a function of
  // the key alone.
  struct Step {
    uint8_t argument;
    uint8_t slot;
    int64_t delta;
  };
  // What decides a made term up to translation: kinds, shapes, and the relative positions of shared
  // groups.
  struct RecipeKey {
    static constexpr int kMaxArgs = 3, kMaxDiffs = 6;
    uint64_t head = 0;  // kind, width, argument count, difference count
    uint64_t payload = 0;
    ShapeId shapes[kMaxArgs] = {};
    int64_t diffs[kMaxDiffs] = {};
  };
  struct Recipe {
    RecipeKey key;
    ShapeId shape;
    uint32_t steps_at;  // into steps_: one per group of the shape
  };
  struct Folder;  // the rules of fold.cpp
  friend struct Folder;
  friend class Import;

  // What is known of a pair of arguments: false if the key has no room for it.
  bool relate(std::span<const Term> args, RecipeKey& key, int& diffs, bool& motions_differ) const;
  Term apply(const Recipe& recipe, std::span<const Term> args) const;
  void remember(const RecipeKey& key, uint64_t hash, const Term& result,
                std::span<const Term> args);
  Term make_slowly(Kind kind, std::span<const Term> args, uint64_t payload, int width);

  Term fold(Kind kind, std::span<const Term> args, uint64_t payload, int width);
  Term build(Kind kind, std::span<const Term> args, uint64_t payload, Type type);
  Term nullary(Kind kind, uint64_t payload, Type type);
  Type result_type(Kind kind, std::span<const Term> args, uint64_t payload, int width) const;
  uint8_t flags_of(Kind kind, std::span<const Term> args, uint64_t payload) const;
  ShapeId intern(Node node, std::span<const Term> args, std::span<const Anchor> own);
  uint32_t intern_groups(std::span<const GroupId> groups);
  Term put_anchors(ShapeId shape, std::span<const Anchor> anchors) const;
  Anchor anchor_at(const Term& t, int index) const {
    if (t.count_ <= Term::kInline) return {t.cells_[index], t.motions_[index]};
    return overflow_[t.overflow_ + static_cast<size_t>(index)];
  }
  uint64_t rational_id(const Rational& value);
  int compare_shapes(ShapeId a, ShapeId b) const;
  uint64_t payload_hash(Kind kind, uint64_t payload) const;

  std::deque<Group> groups_;
  std::deque<FreeScalar> scalars_;
  std::vector<Node> nodes_;
  std::vector<Child> children_;
  std::vector<int64_t> offsets_;
  std::vector<std::shared_ptr<GroupId[]>> group_lists_;  // never changed once made
  std::vector<uint16_t> group_list_sizes_;
  absl::flat_hash_set<uint64_t> doubles_;  // by payload
  std::deque<Rational> rationals_;         // references stay valid while terms are made
  std::vector<ShapeId> leaf_shapes_;
  MotionReconciler* reconciler_ = nullptr;

  IdTable shape_index_;
  IdTable group_list_index_;
  IdTable rational_index_;
  IdTable recipe_index_;
  std::vector<Recipe> recipes_;
  std::vector<Step> steps_;
  // Anchor arrays of terms with more than Term::kInline groups, interned by content.
  mutable std::vector<Anchor> overflow_;
  mutable IdTable overflow_index_;
};

// A shape would join more than TermStore::kMaxGroups groups; callers turn it into a refusal.
class TooManyGroups : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace coequal::term
