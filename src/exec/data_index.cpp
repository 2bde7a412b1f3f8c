#include "exec/data_index.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace coequal::exec {

using term::Kind;
using term::Term;

namespace {

bool fits(__int128 v, int width) {
  const __int128 bound = __int128{1} << (width - 1);
  return v >= -bound && v < bound;
}

int64_t signed_value(uint64_t bits, int width) {
  return width >= 64 ? static_cast<int64_t>(bits) : static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
}

// The range of a sum, if no living CTA wraps it in `width` bits.
std::optional<IndexRange> checked(IndexRange r, int width, tensor::MotionTable& motions) {
  const auto range = motions.range(r.motion);
  const __int128 least = __int128{r.known} + range.min + r.low, most = __int128{r.known} + range.max + r.high;
  if (!fits(least, width) || !fits(most, width)) return std::nullopt;
  return r;
}

std::optional<IndexRange> leaf_range(const term::TermStore& store, const Term& leaf) {
  const term::Group& group = store.group(store.groups(leaf)[0]);
  if (group.kind == term::Group::Kind::Iota) {
    const term::Anchor a = store.anchor(leaf, 0);
    return IndexRange{a.cell, a.motion, 0, 0, 1};
  }
  const int width = store.type(leaf).width;
  const bool is_signed = is_signed_integer(group.dtype);
  __int128 low = is_signed ? -(__int128{1} << (width - 1)) : 0;
  __int128 high = is_signed ? (__int128{1} << (width - 1)) - 1 : (__int128{1} << width) - 1;
  const auto whole = [](const std::optional<term::Rational>& r) { return r ? r->floor().as_int64() : std::nullopt; };
  if (const auto v = whole(group.bounds.min)) low = std::max<__int128>(low, *v);
  if (const auto v = whole(group.bounds.max)) high = std::min<__int128>(high, *v);
  if (const auto v = whole(group.bounds.above)) low = std::max<__int128>(low, __int128{*v} + 1);
  if (const auto v = whole(group.bounds.below)) high = std::min<__int128>(high, __int128{*v} - (group.bounds.below->is_integer() ? 1 : 0));
  if (low > high || !fits(low, width) || !fits(high, width)) return std::nullopt;
  return IndexRange{0, 0, static_cast<int64_t>(low), static_cast<int64_t>(high), 1};
}

std::optional<IndexRange> add(const IndexRange& a, const IndexRange& b, tensor::MotionTable& motions) {
  IndexRange r;
  r.known = a.known + b.known;
  r.motion = motions.add(a.motion, b.motion);
  r.low = a.low + b.low;
  r.high = a.high + b.high;
  const bool fixed_a = a.low == a.high, fixed_b = b.low == b.high;
  r.step = fixed_a ? b.step : fixed_b ? a.step : std::gcd(a.step, b.step);
  return r;
}

std::optional<IndexRange> scale(const IndexRange& a, int64_t factor, tensor::MotionTable& motions) {
  if (factor == 0) return IndexRange{};
  const auto range = motions.range(a.motion);
  for (const int64_t v : {a.known, a.low, a.high, range.min, range.max}) {
    int64_t unused;
    if (__builtin_mul_overflow(v, factor, &unused)) return std::nullopt;
  }
  IndexRange r;
  r.known = a.known * factor;
  r.motion = motions.scale(a.motion, factor);
  r.low = std::min(a.low * factor, a.high * factor);
  r.high = std::max(a.low * factor, a.high * factor);
  r.step = a.step * std::abs(factor);
  return r;
}

}  // namespace

std::optional<IndexRange> index_range(const term::TermStore& store, tensor::MotionTable& motions, const Term& word) {
  const int width = store.type(word).width;
  switch (store.kind(word)) {
    case Kind::BvConst:
      return IndexRange{signed_value(*store.as_bits(word), width), 0, 0, 0, 1};
    case Kind::Leaf:
    case Kind::Scalar:
      if (store.kind(word) == Kind::Scalar) return std::nullopt;
      return leaf_range(store, word);
    case Kind::BvAdd: {
      const auto a = index_range(store, motions, store.child(word, 0)), b = index_range(store, motions, store.child(word, 1));
      if (!a || !b) return std::nullopt;
      const auto sum = add(*a, *b, motions);
      return sum ? checked(*sum, width, motions) : std::nullopt;
    }
    case Kind::BvMul: {
      const Term x = store.child(word, 0), y = store.child(word, 1);
      const auto constant = store.as_bits(x) ? store.as_bits(x) : store.as_bits(y);
      if (!constant) return std::nullopt;
      const auto a = index_range(store, motions, store.as_bits(x) ? y : x);
      if (!a) return std::nullopt;
      const auto product = scale(*a, signed_value(*constant, width), motions);
      return product ? checked(*product, width, motions) : std::nullopt;
    }
    case Kind::BvSignExtend:
      return index_range(store, motions, store.child(word, 0));
    case Kind::BvZeroExtend: {
      const Term x = store.child(word, 0);
      if (const auto r = index_range(store, motions, x); r && r->known + motions.range(r->motion).min + r->low >= 0) return r;
      const int from = store.type(x).width;
      if (from > 16) return std::nullopt;
      return IndexRange{0, 0, 0, (int64_t{1} << from) - 1, 1};
    }
    case Kind::BvExtract: {
      if (store.payload(word) != 0) return std::nullopt;
      const auto r = index_range(store, motions, store.child(word, 0));
      return r ? checked(*r, width, motions) : std::nullopt;
    }
    case Kind::BvConcat: {
      const Term low = store.child(word, 1);
      const auto bits = store.as_bits(low);
      if (!bits) return std::nullopt;
      const auto r = index_range(store, motions, store.child(word, 0));
      if (!r) return std::nullopt;
      const int shift = store.type(low).width;
      auto shifted = shift < 62 ? scale(*r, int64_t{1} << shift, motions) : std::nullopt;
      if (!shifted) return std::nullopt;
      shifted->known += static_cast<int64_t>(*bits);
      return shifted;
    }
    case Kind::Select: {
      const auto a = index_range(store, motions, store.child(word, 1)), b = index_range(store, motions, store.child(word, 2));
      if (!a || !b || a->motion != b->motion) return std::nullopt;
      // Both arms as distances from the first one's known part.
      const int64_t shift = b->known - a->known;
      IndexRange r = *a;
      r.low = std::min(a->low, b->low + shift);
      r.high = std::max(a->high, b->high + shift);
      const bool fixed_a = a->low == a->high, fixed_b = b->low == b->high;
      int64_t step = std::gcd(fixed_a ? 0 : a->step, fixed_b ? 0 : b->step);
      step = std::gcd(step, std::abs(b->low + shift - a->low));
      r.step = step ? step : 1;
      return r;
    }
    case Kind::BvOfBool:
      return IndexRange{0, 0, 0, 1, 1};
    default:
      return std::nullopt;
  }
}

Term index_equals(term::TermStore& store, tensor::MotionTable& motions, const Term& word, int64_t value) {
  const int width = store.type(word).width;
  const auto plain = [&] {
    const uint64_t mask = width >= 64 ? ~0ull : (1ull << width) - 1;
    return store.make(Kind::BvEq, {word, store.bits(static_cast<uint64_t>(value) & mask, width)});
  };
  // Every step below relies on the word's range: nothing wraps.
  if (!index_range(store, motions, word)) return plain();
  switch (store.kind(word)) {
    case Kind::BvConst:
      return store.boolean(signed_value(*store.as_bits(word), width) == value);
    case Kind::BvAdd:
      for (int i = 0; i < 2; ++i) {
        const Term x = store.child(word, i);
        const auto r = index_range(store, motions, x);
        if (r && r->low == r->high) return index_equals(store, motions, store.child(word, 1 - i), value - r->known - r->low);
      }
      return plain();
    case Kind::BvMul: {
      const Term x = store.child(word, 0), y = store.child(word, 1);
      const bool first = store.as_bits(x).has_value();
      const int64_t factor = signed_value(*store.as_bits(first ? x : y), width);
      if (factor == 0) return store.boolean(value == 0);
      if (value % factor != 0) return store.boolean(false);
      return index_equals(store, motions, first ? y : x, value / factor);
    }
    case Kind::BvSignExtend: {
      const Term x = store.child(word, 0);
      return fits(value, store.type(x).width) ? index_equals(store, motions, x, value) : store.boolean(false);
    }
    case Kind::BvZeroExtend: {
      const Term x = store.child(word, 0);
      if (!index_range(store, motions, x) || value < 0 || !fits(value, store.type(x).width)) return plain();
      return index_equals(store, motions, x, value);
    }
    case Kind::BvExtract:
      return index_equals(store, motions, store.child(word, 0), value);
    case Kind::BvConcat: {
      const int shift = store.type(store.child(word, 1)).width;
      const int64_t low = static_cast<int64_t>(*store.as_bits(store.child(word, 1)));
      if (((value - low) & ((int64_t{1} << shift) - 1)) != 0) return store.boolean(false);
      return index_equals(store, motions, store.child(word, 0), (value - low) >> shift);
    }
    case Kind::Select: {
      const Term a = index_equals(store, motions, store.child(word, 1), value);
      const Term b = index_equals(store, motions, store.child(word, 2), value);
      const Term c = store.child(word, 0);
      return store.make(Kind::Select, {c, a, b});
    }
    default: {
      const auto r = index_range(store, motions, word);
      if (value < r->known + r->low || value > r->known + r->high) return store.boolean(false);
      if (r->low == r->high) return store.boolean(true);
      return plain();
    }
  }
}

}  // namespace coequal::exec
