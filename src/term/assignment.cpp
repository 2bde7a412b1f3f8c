// Random assignments within declared bounds.
#include "term/assignment.h"

#include "term/hash.h"

namespace coequal::term {
namespace {

constexpr int kFractionBits = 30;

int64_t width_of(DType dtype) { return dtype == DType::Bool ? 1 : 8 * dtype_size(dtype); }

Rational draw_real(const Bounds& bounds, uint64_t random) {
  const Rational unit = Rational::from_u64(random >> 31) * Rational::power_of_two(-33);  // [0, 1)
  const std::optional<Rational>& low = bounds.min ? bounds.min : bounds.above;
  const std::optional<Rational>& high = bounds.max ? bounds.max : bounds.below;
  // Strictly inside, so that exclusive bounds hold as well.
  const Rational inside = unit + Rational::power_of_two(-34);
  if (low && high) return *low + (*high - *low) * inside;
  const Rational size = inside * Rational(4);
  if (low) return *low + size;
  if (high) return *high - size;
  return random & 1 ? size : -size;
}

std::pair<Rational, Rational> integer_range(const Bounds& bounds, DType dtype, int width) {
  const int64_t bits = std::min<int64_t>(width_of(dtype), width);
  Rational low = is_signed_integer(dtype) ? -Rational::power_of_two(bits - 1) : Rational(0);
  Rational high = Rational::power_of_two(is_signed_integer(dtype) ? bits - 1 : bits) - Rational(1);
  auto ceil = [](const Rational& x) { return -(-x).floor(); };
  if (bounds.min) low = std::max(low, ceil(*bounds.min));
  if (bounds.above) low = std::max(low, bounds.above->floor() + Rational(1));
  if (bounds.max) high = std::min(high, bounds.max->floor());
  if (bounds.below) high = std::min(high, ceil(*bounds.below) - Rational(1));
  return {low, high};
}

Rational draw_integer(const Bounds& bounds, DType dtype, int width, uint64_t random) {
  const auto [low, high] = integer_range(bounds, dtype, width);
  if (high < low) return low;
  const Rational span = high - low + Rational(1);
  const Rational x = Rational::from_u64(random);
  return low + (x - (x / span).floor() * span);
}

uint64_t draw(uint64_t seed, uint64_t what, uint64_t which) {
  return mix(mix(mix(seed, what), which), 0x2545f4914f6cdd1dull);
}

}  // namespace

Rational RandomAssignment::leaf(GroupId id, int64_t cell) const {
  const Group& group = store_.group(id);
  const uint64_t random = draw(seed_, id, static_cast<uint64_t>(cell));
  if (group.type.cls != TypeClass::Bv) {
    const Rational value = draw_real(group.bounds, random);
    if (!group.sorted || cell < 0) return value;
    // Ascending: the k-th cell lies in the k-th of ever smaller steps below the upper end.
    Bounds step = group.bounds;
    const Rational low = step.min ? *step.min : step.above ? *step.above : Rational(-4);
    const Rational high = step.max ? *step.max : step.below ? *step.below : low + Rational(8);
    const Rational part =
        Rational(cell) + Rational::from_u64(random >> 34) * Rational::power_of_two(-kFractionBits);
    return low + (high - low) * (part / (part + Rational(8)));
  }
  const Rational value = draw_integer(group.bounds, group.dtype, group.type.width, random);
  if (!group.sorted || cell < 0) return value;
  const auto [low, high] = integer_range(group.bounds, group.dtype, group.type.width);
  const Rational next =
      std::max(low, Rational(0)) + Rational(2 * cell + static_cast<int64_t>(random & 1));
  return std::min(next, std::max(low, high));
}

Rational RandomAssignment::scalar(uint32_t id) const {
  const FreeScalar& scalar = store_.scalar(id);
  const uint64_t random = draw(seed_, 0x10000 + uint64_t{id}, 0);
  if (scalar.type.cls == TypeClass::Bv)
    return draw_integer(scalar.bounds, scalar.dtype, scalar.type.width, random);
  return draw_real(scalar.bounds, random);
}

std::optional<Rational> variable_value(const TermStore& store, const Term& variable,
                                       const Assignment& assignment) {
  if (store.kind(variable) == Kind::Scalar)
    return assignment.scalar(static_cast<uint32_t>(store.payload(variable)));
  if (store.kind(variable) == Kind::Poison) return std::nullopt;
  CHECK(store.kind(variable) == Kind::Leaf);
  const GroupId id = static_cast<GroupId>(store.payload(variable));
  const Group& group = store.group(id);
  const int64_t cell = store.anchor(variable, 0).cell;
  switch (group.kind) {
    case Group::Kind::Iota:
      return Rational(cell);
    case Group::Kind::Known:
      CHECK(group.values && cell >= 0 && cell < static_cast<int64_t>(group.values->size()));
      return (*group.values)[static_cast<size_t>(cell)];
    default:
      return assignment.leaf(id, cell);
  }
}

WordRange word_range(int width, bool is_signed) {
  if (!is_signed) return {0, Rational::power_of_two(width) - Rational(1)};
  const Rational half = Rational::power_of_two(width - 1);
  return {-half, half - Rational(1)};
}

uint64_t clamped_bits(const Rational& integer, int width, bool is_signed) {
  const WordRange range = word_range(width, is_signed);
  const bool below = integer<range.low, above = integer> range.high;
  return wrapped_bits(below ? range.low : above ? range.high : integer, width);
}

uint64_t wrapped_bits(const Rational& integer, int width) {
  CHECK(integer.is_integer());
  const Rational modulus = Rational::power_of_two(width);
  const Rational rest = integer - (integer / modulus).floor() * modulus;
  return fmpz_get_ui(fmpq_numref(rest.get()));
}

}  // namespace coequal::term
