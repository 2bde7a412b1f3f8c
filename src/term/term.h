// Terms: what a value is, as a shape (structure with relative positions) and anchors (where it
// stands).
//
// A shape holds operators and, for each child, the offset of the child's anchors from its own; an
// anchor is the base cell in one group of leaves. The own anchor of a node is the least of its
// children's per group. Terms built from translated inputs therefore share one shape: translating
// the inputs of each group translates the anchors and nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace coequal::term {

enum class Kind : uint8_t {
#define KIND(name, text, arity, type, commutative) name,
#include "term/kinds.def"
#undef KIND
};

enum class TypeClass : uint8_t { Real, Bool, Bv };

// Bool has width 1, Real width 0.
struct Type {
  TypeClass cls = TypeClass::Real;
  uint8_t width = 0;
  friend bool operator==(const Type&, const Type&) = default;
};
inline constexpr Type kReal{TypeClass::Real, 0};
inline constexpr Type kBool{TypeClass::Bool, 1};
inline constexpr Type bv(int width) { return {TypeClass::Bv, static_cast<uint8_t>(width)}; }

// Encodings that BitsOfReal and RealOfBits name.
enum class FloatFormat : uint8_t { F64, F32, F16, BF16, TF32, E4M3, E5M2 };
int bits_of(FloatFormat format);

// Exact irrationals that a rounded constant can stand for.
enum class NamedConstant : uint8_t {
  Log2E,
  Ln2,
  Log10_2,
  Log2_10,
  InvLn10,
  Pi,
  InvPi,
  TwoOverPi,
  HalfPi,
  InvSqrt2,
  Sqrt2,
  SqrtTwoOverPi,
  InvSqrtPi,
  TwoOverSqrtPi,
  InvSqrtTwoPi
};

using ShapeId = uint32_t;
using GroupId = uint16_t;
using MotionId = uint32_t;  // how an anchor moves over the CTAs of a class; 0: not at all

// Position of a term in one group: the cell for the representative CTA, and how it moves.
struct Anchor {
  int64_t cell = 0;
  MotionId motion = 0;
  friend bool operator==(const Anchor&, const Anchor&) = default;
};

// A handle: 48 bytes, trivially copyable, meaningful with the store that made it. The groups that
// the anchors belong to are those of the shape (TermStore::groups). Up to kInline anchors are held
// here, more in the store.
class Term {
 public:
  static constexpr int kInline = 3;

  Term() = default;
  bool valid() const { return shape_ != kNone; }
  ShapeId shape() const { return shape_; }
  int anchor_count() const { return count_; }

  template <class H>
  friend H AbslHashValue(H h, const Term& t) {
    h = H::combine(std::move(h), t.shape_);
    if (t.count_ > kInline) return H::combine(std::move(h), t.overflow_);
    for (int i = 0; i < t.count_; ++i)
      h = H::combine(std::move(h), t.cells_[static_cast<size_t>(i)]);
    return h;
  }
  friend bool operator==(const Term& a, const Term& b) {
    if (a.shape_ != b.shape_) return false;
    if (a.count_ > kInline) return a.overflow_ == b.overflow_;
    for (int i = 0; i < a.count_; ++i)
      if (a.cells_[i] != b.cells_[i] || a.motions_[i] != b.motions_[i]) return false;
    return true;
  }

 private:
  friend class TermStore;
  static constexpr ShapeId kNone = ~0u;

  std::array<int64_t, kInline> cells_{};
  std::array<MotionId, kInline> motions_{};
  ShapeId shape_ = kNone;
  uint32_t overflow_ = 0;
  uint16_t count_ = 0;
};

std::string_view kind_name(Kind kind);  // "Add"
std::string_view kind_text(Kind kind);  // "+"
int kind_arity(Kind kind);
bool is_commutative(Kind kind);

}  // namespace coequal::term
