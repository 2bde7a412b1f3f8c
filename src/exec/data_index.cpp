#include "exec/data_index.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "term/float_format.h"
#include "term/substitute.h"

namespace coequal::exec {

using term::Kind;
using term::Term;

namespace {

bool fits(__int128 v, int width) {
  const __int128 bound = __int128{1} << (width - 1);
  return v >= -bound && v < bound;
}

int64_t signed_value(uint64_t bits, int width) {
  return width >= 64 ? static_cast<int64_t>(bits)
                     : static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
}

// The range of a sum, if no living CTA wraps it in `width` bits.
std::optional<IndexRange> checked(IndexRange r, int width, tensor::MotionTable& motions) {
  const auto range = motions.range(r.motion);
  const __int128 least = __int128{r.known} + range.min + r.low,
                 most = __int128{r.known} + range.max + r.high;
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
  const auto whole = [](const std::optional<term::Rational>& r) {
    return r ? r->floor().as_int64() : std::nullopt;
  };
  if (const auto v = whole(group.bounds.min)) low = std::max<__int128>(low, *v);
  if (const auto v = whole(group.bounds.max)) high = std::min<__int128>(high, *v);
  if (const auto v = whole(group.bounds.above)) low = std::max<__int128>(low, __int128{*v} + 1);
  if (const auto v = whole(group.bounds.below))
    high = std::min<__int128>(high, __int128{*v} - (group.bounds.below->is_integer() ? 1 : 0));
  if (low > high || !fits(low, width) || !fits(high, width)) return std::nullopt;
  return IndexRange{0, 0, static_cast<int64_t>(low), static_cast<int64_t>(high), 1};
}

std::optional<IndexRange> add(const IndexRange& a, const IndexRange& b,
                              tensor::MotionTable& motions) {
  IndexRange r;
  if (__builtin_add_overflow(a.known, b.known, &r.known) ||
      __builtin_add_overflow(a.low, b.low, &r.low) ||
      __builtin_add_overflow(a.high, b.high, &r.high))
    return std::nullopt;
  r.motion = motions.add(a.motion, b.motion);
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

// The range narrowed to a limit; the whole of it where the limit leaves nothing, or where parts
// move.
IndexRange intersect(const IndexRange& r, const IndexLimit& limit) {
  if (r.motion) return r;
  IndexRange out = r;
  const __int128 low = __int128{limit.low} - r.known, high = __int128{limit.high} - r.known;
  if (low > r.low) {
    const __int128 steps = (low - r.low + r.step - 1) / r.step;
    if (r.low + steps * r.step > r.high) return r;
    out.low = static_cast<int64_t>(r.low + steps * r.step);
  }
  if (high < r.high) {
    const __int128 steps = (r.high - high + r.step - 1) / r.step;
    if (r.high - steps * r.step < out.low) return r;
    out.high = static_cast<int64_t>(r.high - steps * r.step);
  }
  return out;
}

// Where `word` = `bits`, what one of the word's operands is equal to; false if that does not
// follow.
bool undo_one_step(const term::TermStore& store, Term& word, uint64_t& bits) {
  const Kind kind = store.kind(word);
  if (kind != Kind::BvAdd && kind != Kind::BvMul) return false;
  const int width = store.type(word).width;
  for (int i = 0; i < 2; ++i) {
    const auto c = store.as_bits(store.child(word, i));
    if (!c) continue;
    if (kind == Kind::BvAdd) {
      bits -= *c;
    } else {
      if (*c % 2 == 0) return false;
      uint64_t inverse = *c;  // right in the lowest three bits; each turn doubles how many are
      for (int turn = 0; turn < 5; ++turn) inverse *= 2 - *c * inverse;
      bits *= inverse;
    }
    if (width < 64) bits &= (uint64_t{1} << width) - 1;
    word = store.child(word, 1 - i);
    return true;
  }
  return false;
}

class Ranges {
 public:
  Ranges(const term::TermStore& store, tensor::MotionTable& motions)
      : store_(store), motions_(motions) {}

  std::optional<IndexRange> of(const Term& word, const IndexLimits& limits) const {
    std::optional<IndexRange> r = natural(word, limits);
    const int width = store_.type(word).width;
    constexpr int kNarrow = 12;
    if (!r && width <= kNarrow)
      r = IndexRange{0, 0, -(int64_t{1} << (width - 1)), (int64_t{1} << (width - 1)) - 1, 1};
    for (const IndexLimit& limit : limits) {
      if (limit.word != word) continue;
      if (r)
        r = intersect(*r, limit);
      else if (limit.low != INT64_MIN && limit.high != INT64_MAX && limit.low <= limit.high)
        r = IndexRange{0, 0, limit.low, limit.high, 1};
    }
    return r;
  }

  // Of the unsigned reading.
  std::optional<IndexRange> of_unsigned(const Term& word, const IndexLimits& limits) const {
    const int width = store_.type(word).width;
    if (const auto bits = store_.as_bits(word)) {
      if (*bits >> 63) return std::nullopt;
      return IndexRange{static_cast<int64_t>(*bits), 0, 0, 0, 1};
    }
    if (const auto r = of(word, limits); r && is_natural(*r)) return r;
    if (store_.kind(word) == Kind::BvConcat && width < 62) {
      const auto high = of_unsigned(store_.child(word, 0), limits),
                 low = of_unsigned(store_.child(word, 1), limits);
      const int shift = store_.type(store_.child(word, 1)).width;
      const auto shifted = high ? scale(*high, int64_t{1} << shift, motions_) : std::nullopt;
      if (const auto sum = shifted && low ? add(*shifted, *low, motions_) : std::nullopt)
        return sum;
    }
    constexpr int kNarrow = 16;
    if (width > kNarrow) return std::nullopt;
    IndexRange r{0, 0, 0, (int64_t{1} << width) - 1, 1};
    // The exponent of a float whose size is limited.
    if (store_.kind(word) != Kind::BvExtract) return r;
    const Term bits = store_.child(word, 0);
    if (store_.kind(bits) != Kind::BitsOfReal) return r;
    const term::FloatLayout& f =
        term::layout_of(static_cast<term::FloatFormat>(store_.payload(bits)));
    // Its upper bits at least.
    const int skipped = static_cast<int>(store_.payload(word)) - f.mantissa_bits;
    if (f.padding != 0 || skipped < 0 || skipped + width != f.exponent_bits) return r;
    for (const IndexLimit& limit : limits)
      if (limit.word == store_.child(bits, 0))
        r = intersect(r, {word, (limit.low + f.bias()) >> skipped, INT64_MAX});
    return r;
  }

  bool is_natural(const IndexRange& r) const {
    return __int128{r.known} + motions_.range(r.motion).min + r.low >= 0;
  }

 private:
  std::optional<IndexRange> natural(const Term& word, const IndexLimits& limits) const {
    const int width = store_.type(word).width;
    const auto child = [&](int i) { return store_.child(word, i); };
    switch (store_.kind(word)) {
      case Kind::BvConst:
        return IndexRange{signed_value(*store_.as_bits(word), width), 0, 0, 0, 1};
      case Kind::Leaf:
        return leaf_range(store_, word);
      case Kind::BvAdd: {
        const auto a = of(child(0), limits), b = of(child(1), limits);
        if (!a || !b) return std::nullopt;
        const auto sum = add(*a, *b, motions_);
        return sum ? checked(*sum, width, motions_) : std::nullopt;
      }
      case Kind::BvMul: {
        const Term x = child(0), y = child(1);
        const auto constant = store_.as_bits(x) ? store_.as_bits(x) : store_.as_bits(y);
        if (!constant) return std::nullopt;
        const auto a = of(store_.as_bits(x) ? y : x, limits);
        if (!a) return std::nullopt;
        const auto product = scale(*a, signed_value(*constant, width), motions_);
        return product ? checked(*product, width, motions_) : std::nullopt;
      }
      case Kind::BvSignExtend:
        return of(child(0), limits);
      case Kind::BvZeroExtend:
        return of_unsigned(child(0), limits);
      case Kind::BvExtract: {
        const auto r = of(child(0), limits);
        if (!r) return std::nullopt;
        if (store_.payload(word) == 0) return checked(*r, width, motions_);
        // A quotient by a power of two, if no bits are lost above.
        const auto by = static_cast<int>(store_.payload(word));
        if (r->motion || by + width != store_.type(child(0)).width || r->known + r->low < 0)
          return std::nullopt;
        const int64_t low = r->known + r->low, unit = int64_t{1} << by;
        const int64_t step = low % unit == 0 && r->step % unit == 0 ? r->step >> by : 1;
        return IndexRange{0, 0, low >> by, (r->known + r->high) >> by, step};
      }
      case Kind::BvConcat: {
        const int shift = store_.type(child(1)).width;
        const auto high = of(child(0), limits), low = of_unsigned(child(1), limits);
        if (!high || !low || shift >= 62) return std::nullopt;
        const auto shifted = scale(*high, int64_t{1} << shift, motions_);
        const auto sum = shifted ? add(*shifted, *low, motions_) : std::nullopt;
        return sum ? checked(*sum, width, motions_) : std::nullopt;
      }
      case Kind::BvUrem: {
        const auto divisor = store_.as_bits(child(1));
        if (!divisor || *divisor == 0 || !fits(__int128{*divisor}, width)) return std::nullopt;
        return IndexRange{0, 0, 0, static_cast<int64_t>(*divisor) - 1, 1};
      }
      case Kind::Select: {
        IndexLimits then = limits, otherwise = limits;
        add_limits(store_, child(0), true, then);
        add_limits(store_, child(0), false, otherwise);
        const auto a = of(child(1), then), b = of(child(2), otherwise);
        if (!a || !b || a->motion != b->motion) return std::nullopt;
        // Both arms as distances from the first one's known part.
        int64_t shift, b_low, b_high;
        if (__builtin_sub_overflow(b->known, a->known, &shift) ||
            __builtin_add_overflow(b->low, shift, &b_low) ||
            __builtin_add_overflow(b->high, shift, &b_high))
          return std::nullopt;
        IndexRange r = *a;
        r.low = std::min(a->low, b_low);
        r.high = std::max(a->high, b_high);
        int64_t between;
        if (__builtin_sub_overflow(b_low, a->low, &between) || between == INT64_MIN)
          return std::nullopt;
        const bool fixed_a = a->low == a->high, fixed_b = b->low == b->high;
        int64_t step = std::gcd(fixed_a ? 0 : a->step, fixed_b ? 0 : b->step);
        step = std::gcd(step, std::abs(between));
        r.step = step ? step : 1;
        return r;
      }
      case Kind::BvOfBool:
        // One bit reads as 0 or -1.
        return width == 1 ? IndexRange{0, 0, -1, 0, 1} : IndexRange{0, 0, 0, 1, 1};
      default:
        return std::nullopt;
    }
  }

  const term::TermStore& store_;
  tensor::MotionTable& motions_;
};

}  // namespace

namespace {

// What all limits of one word say together.
IndexLimit together(const IndexLimits& limits, const Term& word) {
  IndexLimit all{word};
  for (const IndexLimit& l : limits)
    if (l.word == word) all = {word, std::max(all.low, l.low), std::min(all.high, l.high)};
  return all;
}

void add_limits_within(const term::TermStore& store, const Term& condition, bool truth, int depth,
                       IndexLimits& limits) {
  constexpr int kMostNested = 8;
  std::vector<std::pair<Term, bool>> todo{{condition, truth}};
  const auto limit = [&](Term word, __int128 low, __int128 high) {
    constexpr __int128 kLeast = INT64_MIN, kMost = INT64_MAX;
    while (true) {
      limits.push_back({word, static_cast<int64_t>(std::clamp(low, kLeast, kMost)),
                        static_cast<int64_t>(std::clamp(high, kLeast, kMost))});
      // The word below an extension has the same value, where it can be told from its sign.
      if (store.kind(word) == Kind::BvSignExtend) {
        word = store.child(word, 0);
        continue;
      }
      if (store.kind(word) != Kind::BvZeroExtend) return;
      word = store.child(word, 0);
      if (!fits(high, store.type(word).width)) return;
      low = std::max<__int128>(low, 0);
    }
  };
  const auto limit_equal = [&](const Term& word, uint64_t bits) {
    const int64_t value = signed_value(bits, store.type(word).width);
    limit(word, value, value);
  };
  while (!todo.empty()) {
    const auto [c, holds] = todo.back();
    todo.pop_back();
    const Kind kind = store.kind(c);
    if (kind == Kind::Not) {
      todo.emplace_back(store.child(c, 0), !holds);
    } else if (kind == (holds ? Kind::And : Kind::Or)) {
      todo.emplace_back(store.child(c, 0), holds);
      todo.emplace_back(store.child(c, 1), holds);
    } else if (kind == Kind::Less || kind == Kind::LessEq) {
      // A lower bound of a float's size is one of its exponent. Rounding keeps powers of two apart.
      const term::Rational* bound = store.as_rational(store.child(c, holds ? 0 : 1));
      if (!bound || bound->sign() <= 0) continue;
      const Term large = store.child(c, holds ? 1 : 0);
      const Term x = store.kind(large) == Kind::Abs ? store.child(large, 0) : large;
      limits.push_back({x, std::ilogb(bound->to_double()), INT64_MAX});
    } else if (kind == Kind::And || kind == Kind::Or) {
      // One of two holds: a word that both limit lies between the ends of either.
      if (depth >= kMostNested) continue;
      IndexLimits first, second;
      add_limits_within(store, store.child(c, 0), holds, depth + 1, first);
      add_limits_within(store, store.child(c, 1), holds, depth + 1, second);
      for (const IndexLimit& l : first) {
        const IndexLimit a = together(first, l.word), b = together(second, l.word);
        limits.push_back({l.word, std::min(a.low, b.low), std::max(a.high, b.high)});
      }
    } else if (kind == Kind::BvSlt || kind == Kind::BvUlt || (kind == Kind::BvEq && holds)) {
      for (int i = 0; i < 2; ++i) {
        Term word = store.child(c, i);
        auto bits = store.as_bits(store.child(c, 1 - i));
        if (!bits) continue;
        // Sums and odd multiples have one word for each value.
        while (kind == Kind::BvEq && undo_one_step(store, word, *bits)) limit_equal(word, *bits);
        const int width = store.type(word).width;
        const __int128 most = (__int128{1} << (width - 1)) - 1, least = -most - 1;
        const __int128 constant = signed_value(*bits, width);
        if (kind == Kind::BvEq) {
          limit_equal(word, *bits);
        } else if (kind == Kind::BvSlt) {
          // word < constant, constant < word, and their opposites.
          if (i == 0)
            holds ? limit(word, least, constant - 1) : limit(word, constant, most);
          else
            holds ? limit(word, constant + 1, most) : limit(word, least, constant);
        } else if (constant >= 0) {
          // An unsigned bound above, of a constant that reads the same either way.
          if (i == 0 && holds) limit(word, 0, constant - 1);
          if (i == 1 && !holds) limit(word, 0, constant);
        }
      }
    }
  }
}

}  // namespace

void add_limits(const term::TermStore& store, const Term& condition, bool truth,
                IndexLimits& limits) {
  add_limits_within(store, condition, truth, 0, limits);
}

std::optional<IndexRange> index_range(const term::TermStore& store, tensor::MotionTable& motions,
                                      const Term& word, const IndexLimits& limits) {
  return Ranges(store, motions).of(word, limits);
}

Term index_equals(term::TermStore& store, tensor::MotionTable& motions, const Term& word,
                  int64_t value, const IndexLimits& limits) {
  const Ranges ranges(store, motions);
  const int width = store.type(word).width;
  const auto plain = [&] {
    const uint64_t mask = width >= 64 ? ~0ull : (1ull << width) - 1;
    return store.make(Kind::BvEq, {word, store.bits(static_cast<uint64_t>(value) & mask, width)});
  };
  const auto below = [&](const Term& x, int64_t v) {
    return index_equals(store, motions, x, v, limits);
  };
  // Every step below relies on the word's range: nothing wraps.
  const auto range = ranges.of(word, limits);
  if (!range) return plain();
  switch (store.kind(word)) {
    case Kind::BvConst:
      return store.boolean(signed_value(*store.as_bits(word), width) == value);
    case Kind::BvAdd:
      for (int i = 0; i < 2; ++i) {
        const auto r = ranges.of(store.child(word, i), limits),
                   other = ranges.of(store.child(word, 1 - i), limits);
        // A range of the sum may come from a limit alone: then its parts say nothing.
        const auto sum = r && other ? add(*r, *other, motions) : std::nullopt;
        if (sum && checked(*sum, width, motions) && r->low == r->high) {
          int64_t rest;
          if (__builtin_sub_overflow(value, r->known + r->low, &rest)) return store.boolean(false);
          return below(store.child(word, 1 - i), rest);
        }
      }
      return plain();
    case Kind::BvMul: {
      const Term x = store.child(word, 0), y = store.child(word, 1);
      const auto bits = store.as_bits(x) ? store.as_bits(x) : store.as_bits(y);
      if (!bits) return plain();
      const Term other = store.as_bits(x) ? y : x;
      const int64_t factor = signed_value(*bits, width);
      const auto r = ranges.of(other, limits);
      const auto product = r ? scale(*r, factor, motions) : std::nullopt;
      if (!product || !checked(*product, width, motions) || factor == 0) return plain();
      if (value % factor != 0) return store.boolean(false);
      return below(other, value / factor);
    }
    case Kind::BvSignExtend: {
      const Term x = store.child(word, 0);
      return fits(value, store.type(x).width) ? below(x, value) : store.boolean(false);
    }
    case Kind::BvZeroExtend: {
      const Term x = store.child(word, 0);
      const int from = store.type(x).width;
      if (value < 0 || (from < 63 && value >> from)) return store.boolean(false);
      if (const auto r = ranges.of(x, limits); r && ranges.is_natural(*r)) return below(x, value);
      return store.make(Kind::BvEq, {x, store.bits(static_cast<uint64_t>(value), from)});
    }
    case Kind::BvExtract: {
      const auto r =
          store.payload(word) == 0 ? ranges.of(store.child(word, 0), limits) : std::nullopt;
      return r && checked(*r, width, motions) ? below(store.child(word, 0), value) : plain();
    }
    case Kind::BvConcat: {
      const Term high = store.child(word, 0), low = store.child(word, 1);
      const int shift = store.type(low).width;
      if (shift >= 62) return plain();
      const int64_t rest = value & ((int64_t{1} << shift) - 1);
      const auto r = ranges.of(low, limits);
      const Term low_equals =
          r && ranges.is_natural(*r)
              ? below(low, rest)
              : store.make(Kind::BvEq, {low, store.bits(static_cast<uint64_t>(rest), shift)});
      return store.make(Kind::And, {below(high, value >> shift), low_equals});
    }
    case Kind::Select: {
      IndexLimits then = limits, otherwise = limits;
      add_limits(store, store.child(word, 0), true, then);
      add_limits(store, store.child(word, 0), false, otherwise);
      const Term a = index_equals(store, motions, store.child(word, 1), value, then);
      const Term b = index_equals(store, motions, store.child(word, 2), value, otherwise);
      return store.make(Kind::Select, {store.child(word, 0), a, b});
    }
    default: {
      if (value < range->known + range->low || value > range->known + range->high)
        return store.boolean(false);
      if (range->low == range->high) return store.boolean(true);
      return plain();
    }
  }
}

namespace {

// The leaves of input tensors that a word depends on; nothing if there are other free ones than
// integers.
std::optional<std::vector<Term>> integers_of(const term::TermStore& store, const Term& word) {
  std::vector<Term> found, todo{word};
  absl::flat_hash_set<Term> seen;
  while (!todo.empty()) {
    const Term t = todo.back();
    todo.pop_back();
    if (!seen.insert(t).second) continue;
    if (store.kind(t) == Kind::Leaf) {
      const term::Group& group = store.group(store.groups(t)[0]);
      if (group.kind == term::Group::Kind::Iota) continue;
      if (group.kind != term::Group::Kind::Input || store.type(t) == term::kReal)
        return std::nullopt;
      found.push_back(t);
    } else if (store.kind(t) == Kind::Poison || store.kind(t) == Kind::Scalar) {
      return std::nullopt;
    }
    for (int i = 0; i < store.arity(t); ++i) todo.push_back(store.child(t, i));
  }
  return found;
}

}  // namespace

std::optional<std::vector<IndexPlace>> index_places(term::TermStore& store,
                                                    tensor::MotionTable& motions, const Term& word,
                                                    const IndexLimits& limits, int64_t most) {
  const auto leaves = integers_of(store, word);
  if (!leaves) return std::nullopt;
  const Ranges ranges(store, motions);
  std::vector<IndexRange> values;
  int64_t combinations = 1;
  for (const Term& leaf : *leaves) {
    const auto range = ranges.of(leaf, limits);
    if (!range || range->motion || range->count() > most / combinations) return std::nullopt;
    values.push_back(*range);
    combinations *= range->count();
  }
  std::vector<IndexPlace> places;
  absl::flat_hash_map<std::pair<int64_t, tensor::MotionId>, size_t> known;
  for (int64_t n = 0; n < combinations; ++n) {
    absl::flat_hash_map<Term, Term> chosen;
    Term when = store.boolean(true);
    int64_t rest = n;
    for (size_t i = 0; i < values.size(); ++i) {
      const IndexRange& r = values[i];
      const int64_t v = r.known + r.low + rest % r.count() * r.step;
      rest /= r.count();
      const int width = store.type((*leaves)[i]).width;
      const uint64_t mask = width >= 64 ? ~0ull : (1ull << width) - 1;
      const Term constant = store.bits(static_cast<uint64_t>(v) & mask, width);
      chosen.emplace((*leaves)[i], constant);
      when = store.make(Kind::And, {when, store.make(Kind::BvEq, {(*leaves)[i], constant})});
    }
    term::Substitution choose(store, [&](const Term& t) -> std::optional<Term> {
      const auto it = chosen.find(t);
      return it == chosen.end() ? std::nullopt : std::optional(it->second);
    });
    const auto at = ranges.of(choose(word), {});
    if (!at || at->low != at->high) return std::nullopt;
    const auto [it, fresh] = known.try_emplace({at->known + at->low, at->motion}, places.size());
    if (fresh)
      places.push_back({at->known + at->low, at->motion, when});
    else
      places[it->second].when = store.make(Kind::Or, {places[it->second].when, when});
  }
  return places;
}

}  // namespace coequal::exec
