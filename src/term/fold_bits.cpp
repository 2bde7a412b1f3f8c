// Folding of machine words.
//
// Normal form of field extraction: a word is a list of fields, lowest first, each a constant or a
// range of bits of a base that is itself no constant, concatenation, extension or extraction.
// Adjacent constants, adjacent ranges of one base, and magnitude and sign of one float are merged;
// then, in this order,
//   [c of k bits][bits 0.. of x, x as wide as the word]  is  2^k * x + c   (so shifts and index
//   arithmetic meet), a constant zero on top                               is  a zero extension,
//   anything else                                        is  Concat(top field, rest).
// Shifts by constants, masks, extensions, byte permutations and packed loads all end in this form.
// Extraction moves below select, bitwise operators and sign extension; bitwise operators move below
// concatenations.
#include <bit>

#include "term/assignment.h"
#include "term/float_format.h"
#include "term/fold.h"

namespace coequal::term {
namespace {

constexpr int kMaxRuns = 16;  // of equal bits in a mask; more are not split into fields

int run_count(uint64_t value, int width) {
  const uint64_t changes = (value ^ (value >> 1)) & (width > 1 ? low_mask(width - 1) : 0);
  return std::popcount(changes) + 1;
}

uint64_t reversed(uint64_t value, int width) {
  uint64_t result = 0;
  for (int i = 0; i < width; ++i)
    if (value >> i & 1) result |= uint64_t{1} << (width - 1 - i);
  return result;
}

bool is_power_of_two(uint64_t value) { return std::has_single_bit(value); }

}  // namespace

using Folded = std::optional<Term>;

// ---- Fields ----

TermStore::Folder::Product TermStore::Folder::product_of(const Term& x) const {
  if (s.kind(x) == Kind::BvMul)
    for (int i = 0; i < 2; ++i)
      if (std::optional<uint64_t> c = s.as_bits(s.child(x, i))) return {*c, s.child(x, 1 - i)};
  return {1, x};
}

void TermStore::Folder::append_fields(const Term& x, Fields& fields) {
  const int width = s.type(x).width;
  switch (s.kind(x)) {
    case Kind::BvConst:
      fields.push_back({Term(), 0, width, s.payload(x)});
      return;
    case Kind::BvConcat:
      append_fields(s.child(x, 1), fields);
      append_fields(s.child(x, 0), fields);
      return;
    case Kind::BvZeroExtend: {
      const Term inner = s.child(x, 0);
      append_fields(inner, fields);
      fields.push_back({Term(), 0, width - s.type(inner).width, 0});
      return;
    }
    case Kind::BvExtract:
      fields.push_back({s.child(x, 0), static_cast<int>(s.payload(x)), width, 0});
      return;
    case Kind::BvMul: {
      const Product p = product_of(x);
      if (p.factor == 1 || !is_power_of_two(p.factor)) break;
      append_shifted(p.rest, std::countr_zero(p.factor), 0, fields);
      return;
    }
    case Kind::BvAdd:
      for (int i = 0; i < 2; ++i) {
        const std::optional<uint64_t> c = s.as_bits(s.child(x, i));
        if (!c) continue;
        const Product p = product_of(s.child(x, 1 - i));
        if (p.factor == 1 || !is_power_of_two(p.factor) || *c >= p.factor) continue;
        append_shifted(p.rest, std::countr_zero(p.factor), *c, fields);
        return;
      }
      break;
    default:
      break;
  }
  fields.push_back({x, 0, width, 0});
}

void TermStore::Folder::append_shifted(const Term& x, int by, uint64_t low, Fields& fields) {
  fields.push_back({Term(), 0, by, low});
  for (Field& field : slice(fields_of(x), 0, s.type(x).width - by)) fields.push_back(field);
}

TermStore::Folder::Fields TermStore::Folder::fields_of(const Term& x) {
  Fields fields;
  append_fields(x, fields);
  return fields;
}

TermStore::Folder::Fields TermStore::Folder::slice(const Fields& fields, int low, int width) {
  Fields result;
  int at = 0;
  for (const Field& field : fields) {
    const int from = std::max(low, at), to = std::min(low + width, at + field.width);
    const int skip = from - at;
    at += field.width;
    if (from >= to) continue;
    Field part = field;
    part.width = to - from;
    if (field.is_constant()) {
      part.value = (field.value >> skip) & low_mask(part.width);
      result.push_back(part);
      continue;
    }
    part.low += skip;
    if (part.width < s.type(part.base).width) {
      if (Folded moved = push_extract(part.base, part.low, part.width)) {
        append_fields(*moved, result);
        continue;
      }
    }
    result.push_back(part);
  }
  return result;
}

// Extraction of a proper part of a base, moved below its operator.
Folded TermStore::Folder::push_extract(const Term& base, int low, int width) {
  auto part = [&](int i) {
    return s.make(Kind::BvExtract, {s.child(base, i)}, static_cast<uint64_t>(low), width);
  };
  switch (s.kind(base)) {
    case Kind::Select:
      return s.make(Kind::Select, {s.child(base, 0), part(1), part(2)});
    case Kind::BvAnd:
    case Kind::BvOr:
    case Kind::BvXor:
      return s.make(s.kind(base), {part(0), part(1)});
    case Kind::BvNot:
      return s.make(Kind::BvNot, {part(0)});
    case Kind::BvSignExtend: {
      const Term inner = s.child(base, 0);
      const int inner_width = s.type(inner).width;
      const int from = std::min(low, inner_width - 1);
      const int to = std::min(low + width, inner_width);
      const Term kept =
          s.make(Kind::BvExtract, {inner}, static_cast<uint64_t>(from), std::max(to - from, 1));
      return s.make(Kind::BvSignExtend, {kept}, 0, width);
    }
    case Kind::BitsOfReal: {
      const Term value = s.child(base, 0);
      const int top = s.type(base).width - 1;
      const Folded positive =
          s.kind(value) == Kind::Abs ? Folded(s.child(value, 0)) : negation_of(value);
      if (!positive) return std::nullopt;
      if (low + width <= top) {  // magnitudes of x, -x and |x| are the same bits
        const Term bits = s.make(Kind::BitsOfReal, {*positive}, s.payload(base));
        return s.make(Kind::BvExtract, {bits}, static_cast<uint64_t>(low), width);
      }
      if (s.kind(value) != Kind::Abs) return std::nullopt;
      if (width == 1) return poison(value) ? std::nullopt : Folded(s.bits(0, 1));
      Fields fields = slice({{base, low, width - 1, 0}}, 0, width - 1);
      for (const Field& field : slice({{base, top, 1, 0}}, 0, 1)) fields.push_back(field);
      return from_fields(std::move(fields));
    }
    default:
      return std::nullopt;
  }
}

Term TermStore::Folder::of_field(const Field& field) {
  if (field.is_constant()) return s.bits(field.value, field.width);
  if (field.width == s.type(field.base).width) return field.base;
  return raw(Kind::BvExtract, {field.base}, static_cast<uint64_t>(field.low), bv(field.width));
}

// Merges neighbours where that is possible; true if something changed.
bool TermStore::Folder::merge_fields(Fields& fields) {
  bool changed = false;
  for (size_t i = 0; i + 1 < fields.size();) {
    Field& low = fields[i];
    Field& high = fields[i + 1];
    auto whole = [&](const Field& f, Kind kind) {
      return !f.is_constant() && s.kind(f.base) == kind && f.width == s.type(f.base).width;
    };
    if (low.is_constant() && high.is_constant()) {
      low.value |= high.value << low.width;
      low.width += high.width;
    } else if (!low.is_constant() && low.base == high.base && high.low == low.low + low.width) {
      low.width += high.width;
    } else if (whole(low, Kind::Select) && whole(high, Kind::Select) &&
               s.child(low.base, 0) == s.child(high.base, 0)) {
      const Term a = low.base, b = high.base;
      const Term joined = s.make(
          Kind::Select, {s.child(a, 0), s.make(Kind::BvConcat, {s.child(b, 1), s.child(a, 1)}),
                         s.make(Kind::BvConcat, {s.child(b, 2), s.child(a, 2)})});
      const Fields replacement = fields_of(joined);
      fields.erase(fields.begin() + static_cast<ptrdiff_t>(i) + 1);
      fields.erase(fields.begin() + static_cast<ptrdiff_t>(i));
      fields.insert(fields.begin() + static_cast<ptrdiff_t>(i), replacement.begin(),
                    replacement.end());
      return true;
    } else if (high.is_constant() && !low.is_constant() && low.low == 0 &&
               s.kind(low.base) == Kind::BitsOfReal && low.width == s.type(low.base).width - 1) {
      // The magnitude of a float under a constant sign.
      Term value = s.make(Kind::Abs, {s.child(low.base, 0)});
      if (high.value & 1) value = negated(value);
      const Term bits = s.make(Kind::BitsOfReal, {value}, s.payload(low.base));
      low = {bits, 0, low.width + 1, 0};
      high.value >>= 1;
      high.width -= 1;
      changed = true;
      if (high.width > 0) {
        ++i;
        continue;
      }
    } else {
      ++i;
      continue;
    }
    fields.erase(fields.begin() + static_cast<ptrdiff_t>(i) + 1);
    changed = true;
  }
  return changed;
}

Term TermStore::Folder::from_fields(Fields fields) {
  std::erase_if(fields, [](const Field& f) { return f.width == 0; });
  while (merge_fields(fields)) {
  }
  CHECK(!fields.empty());
  if (fields.size() == 1) return of_field(fields[0]);
  int width = 0;
  for (const Field& f : fields) width += f.width;
  if (fields.size() == 2 && fields[0].is_constant() && !fields[1].is_constant() &&
      fields[1].low == 0 && s.type(fields[1].base).width == width) {
    const Term factor = s.bits(uint64_t{1} << fields[0].width, width);
    const Product p = product_of(fields[1].base);
    const Term scaled = p.factor == 1 ? raw(Kind::BvMul, {factor, p.rest}, 0, bv(width))
                                      : s.make(Kind::BvMul, {factor, fields[1].base});
    if (fields[0].value == 0) return scaled;
    return raw(Kind::BvAdd, {scaled, s.bits(fields[0].value, width)}, 0, bv(width));
  }
  const Field top = fields.back();
  fields.pop_back();
  const Term rest = from_fields(std::move(fields));
  if (top.is_constant(0)) return raw(Kind::BvZeroExtend, {rest}, 0, bv(width));
  return raw(Kind::BvConcat, {of_field(top), rest}, 0, bv(width));
}

// ---- Operators ----

Folded TermStore::Folder::fold_bits(Kind kind, std::span<const Term> args, uint64_t payload,
                                    int width) {
  const Term& a = args[0];
  const std::optional<uint64_t> c = s.as_bits(a);
  switch (kind) {
    case Kind::BvAdd:
    case Kind::BvMul:
      return fold_arithmetic(kind, a, args[1]);
    case Kind::BvAnd:
    case Kind::BvOr:
    case Kind::BvXor:
      return fold_bitwise(kind, a, args[1]);
    case Kind::BvShl:
    case Kind::BvLshr:
    case Kind::BvAshr:
      return fold_shift(kind, a, args[1]);
    case Kind::BvUdiv:
    case Kind::BvSdiv:
    case Kind::BvUrem:
    case Kind::BvSrem:
      return fold_divide(kind, a, args[1]);
    case Kind::BvNot:
      return fold_not(a);
    case Kind::BvOfBool:
      if (std::optional<bool> value = s.as_bool(a)) return s.bits(*value, width);
      if (width > 1)
        return s.make(Kind::BvZeroExtend, {s.make(Kind::BvOfBool, {a}, 0, 1)}, 0, width);
      if (s.kind(a) == Kind::BvEq)  // of a single bit
        for (int i = 0; i < 2; ++i)
          if (s.as_bits(s.child(a, i)) == 1 && s.type(s.child(a, i)).width == 1)
            return s.child(a, 1 - i);
      return std::nullopt;
    case Kind::BvPopcount:
      if (c) return s.bits(static_cast<uint64_t>(std::popcount(*c)), width);
      return std::nullopt;
    case Kind::BvClz:
      if (c)
        return s.bits(static_cast<uint64_t>(std::countl_zero(*c) - (64 - s.type(a).width)), width);
      return std::nullopt;
    case Kind::BvReverse:
      if (c) return s.bits(reversed(*c, width), width);
      if (s.kind(a) == Kind::BvReverse) return s.child(a, 0);
      return std::nullopt;
    case Kind::BvExtract: {
      const int low = static_cast<int>(payload);
      if (width == s.type(a).width) return a;
      if (low == 0 && s.kind(a) == Kind::BvOfReal)
        if (Folded narrow = fold_narrow_word(a, width)) return narrow;
      return from_fields(slice(fields_of(a), low, width));
    }
    case Kind::BvConcat: {
      Fields fields = fields_of(args[1]);
      append_fields(a, fields);
      return from_fields(std::move(fields));
    }
    case Kind::BvZeroExtend: {
      Fields fields = fields_of(a);
      fields.push_back({Term(), 0, width - s.type(a).width, 0});
      return from_fields(std::move(fields));
    }
    case Kind::BvSignExtend:
      return fold_sign_extend(a, width);
    case Kind::BvOfReal:
      return fold_bv_of_real(a, payload == 1, width);
    case Kind::BitsOfReal: {
      const FloatFormat format = static_cast<FloatFormat>(payload);
      if (const Rational* value = rational(a))
        if (std::optional<uint64_t> bits = encode_float(format, *value))
          return s.bits(*bits, width);
      if (is_infinity(a))
        if (std::optional<uint64_t> bits = encode_infinity(format, is_negative_infinity(a)))
          return s.bits(*bits, width);
      return std::nullopt;
    }
    default:
      CHECK(false);
  }
  return std::nullopt;
}

Folded TermStore::Folder::fold_arithmetic(Kind kind, const Term& a, const Term& b) {
  const int width = s.type(a).width;
  const std::optional<uint64_t> p = s.as_bits(a), q = s.as_bits(b);
  const bool is_add = kind == Kind::BvAdd;
  if (p && q) return s.bits(is_add ? *p + *q : *p * *q, width);
  for (int swap = 0; swap < 2; ++swap) {
    const std::optional<uint64_t> c = swap ? q : p;
    const Term& x = swap ? a : b;
    if (!c) continue;
    if (*c == (is_add ? 0u : 1u)) return x;
    if (!is_add && *c == 0) {
      if (!poison(x)) return s.bits(0, width);
      continue;
    }
    if (s.kind(x) == kind)  // one constant
      for (int i = 0; i < 2; ++i)
        if (std::optional<uint64_t> d = s.as_bits(s.child(x, i)))
          return s.make(kind, {s.bits(is_add ? *c + *d : *c * *d, width), s.child(x, 1 - i)});
    if (is_add) return add_to_fields(x, *c);
    if (is_power_of_two(*c)) {
      Fields fields;
      append_shifted(x, std::countr_zero(*c), 0, fields);
      return from_fields(std::move(fields));
    }
  }
  if (!is_add || p || q) return std::nullopt;
  const Product u = product_of(a), v = product_of(b);
  if (u.rest == v.rest) {  // also x - x
    const uint64_t factor = (u.factor + v.factor) & low_mask(width);
    if (factor != 0 || !poison(a)) return s.make(Kind::BvMul, {s.bits(factor, width), u.rest});
  }
  // A sum without carries, e.g. high << 16 + low, is the same word as its "or".
  const Fields f = fields_of(a), g = fields_of(b);
  if (f.size() == 1 || g.size() == 1) return std::nullopt;
  size_t i = 0, j = 0;
  int f_end = f[0].width, g_end = g[0].width;
  while (true) {
    if (!f[i].is_constant(0) && !g[j].is_constant(0)) return std::nullopt;
    const int end = std::min(f_end, g_end);
    if (end == width) break;
    if (f_end == end) f_end += f[++i].width;
    if (g_end == end) g_end += g[++j].width;
  }
  return s.make(Kind::BvOr, {a, b});
}

// x + c where the constant changes constant fields only, without a carry into others.
Folded TermStore::Folder::add_to_fields(const Term& x, uint64_t c) {
  Fields fields = fields_of(x);
  uint64_t carry = 0;
  int at = 0;
  for (Field& field : fields) {
    const uint64_t mask = low_mask(field.width);
    const uint64_t addend = (c >> at) & mask;
    at += field.width;
    if (field.is_constant()) {
      const uint64_t sum =
          field.value + addend + carry;  // wraps only at 64 bits, where nothing is above
      carry = field.width < 64 ? sum >> field.width : 0;
      field.value = sum & mask;
    } else if (addend != 0 || carry != 0) {
      return std::nullopt;
    }
  }
  const Term sum = from_fields(std::move(fields));
  return sum;
}

Folded TermStore::Folder::fold_not(const Term& x) {
  const int width = s.type(x).width;
  if (std::optional<uint64_t> c = s.as_bits(x)) return s.bits(~*c, width);
  if (s.kind(x) == Kind::BvNot) return s.child(x, 0);
  if (s.kind(x) == Kind::BvOfBool) return s.make(Kind::BvOfBool, {negate(s.child(x, 0))}, 0, width);
  const Fields fields = fields_of(x);
  if (fields.size() == 1) return std::nullopt;
  Fields result;
  for (const Field& field : fields) append_fields(s.make(Kind::BvNot, {of_field(field)}), result);
  return from_fields(std::move(result));
}

Folded TermStore::Folder::fold_bitwise(Kind kind, const Term& a, const Term& b) {
  const int width = s.type(a).width;
  const std::optional<uint64_t> p = s.as_bits(a), q = s.as_bits(b);
  if (p && q)
    return s.bits(kind == Kind::BvAnd ? *p & *q : kind == Kind::BvOr ? *p | *q : *p ^ *q, width);
  if (a == b) {
    if (kind != Kind::BvXor) return a;
    if (!poison(a)) return s.bits(0, width);
    return std::nullopt;
  }
  for (int swap = 0; swap < 2; ++swap) {
    const std::optional<uint64_t> c = swap ? q : p;
    const Term& x = swap ? a : b;
    if (!c) continue;
    if (*c == 0) {
      if (kind != Kind::BvAnd) return x;
      return poison(x) ? std::nullopt : Folded(s.bits(0, width));
    }
    if (*c == low_mask(width)) {
      if (kind == Kind::BvAnd) return x;
      if (kind == Kind::BvXor) return s.make(Kind::BvNot, {x});
      return poison(x) ? std::nullopt : Folded(s.bits(*c, width));
    }
    if (s.kind(x) == kind)  // one constant
      for (int i = 0; i < 2; ++i)
        if (std::optional<uint64_t> d = s.as_bits(s.child(x, i)))
          return s.make(kind,
                        {s.make(kind, {s.bits(*c, width), s.bits(*d, width)}), s.child(x, 1 - i)});
    if (kind == Kind::BvXor && s.kind(x) == Kind::BitsOfReal && *c == uint64_t{1} << (width - 1) &&
        layout_of(static_cast<FloatFormat>(s.payload(x))).bits == width)
      return s.make(Kind::BitsOfReal, {negated(s.child(x, 0))}, s.payload(x));
  }
  if (width == 1 && kind != Kind::BvXor && s.kind(a) == Kind::BvOfBool &&
      s.kind(b) == Kind::BvOfBool)
    return s.make(
        Kind::BvOfBool,
        {s.make(kind == Kind::BvAnd ? Kind::And : Kind::Or, {s.child(a, 0), s.child(b, 0)})}, 0, 1);

  // Segment by segment, where a boundary of fields (for and, or: of runs of a mask) allows it.
  const Fields f = fields_of(a), g = fields_of(b);
  uint64_t starts = 0;  // bit k: a segment starts at bit k
  int runs = 0;
  for (const Fields* fields : {&f, &g}) {
    int at = 0;
    for (const Field& field : *fields) {
      starts |= uint64_t{1} << at;
      if (field.is_constant()) runs += run_count(field.value, field.width);
      at += field.width;
    }
  }
  if (kind != Kind::BvXor && runs <= kMaxRuns)
    for (const Fields* fields : {&f, &g}) {
      int at = 0;
      for (const Field& field : *fields) {
        if (field.is_constant())
          for (int k = 1; k < field.width; ++k)
            if (((field.value >> k) ^ (field.value >> (k - 1))) & 1)
              starts |= uint64_t{1} << (at + k);
        at += field.width;
      }
    }
  if (starts == 1) return std::nullopt;
  Fields result;
  for (int at = 0; at < width;) {
    int end = at + 1;
    while (end < width && !(starts >> end & 1)) ++end;
    const Term x = from_fields(slice(f, at, end - at));
    const Term y = from_fields(slice(g, at, end - at));
    // Bits that a mask of some of the word decides are discarded, poison among them too.
    const std::optional<uint64_t> deciding = kind == Kind::BvAnd ? std::optional<uint64_t>(0)
                                             : kind == Kind::BvOr
                                                 ? std::optional<uint64_t>(low_mask(end - at))
                                                 : std::nullopt;
    if (deciding && (s.as_bits(x) == deciding || s.as_bits(y) == deciding))
      result.push_back({Term(), 0, end - at, *deciding});
    else
      append_fields(s.make(kind, {x, y}), result);
    at = end;
  }
  return from_fields(std::move(result));
}

Folded TermStore::Folder::fold_shift(Kind kind, const Term& a, const Term& amount) {
  const int width = s.type(a).width;
  const std::optional<uint64_t> n = s.as_bits(amount);
  if (!n) {
    const std::optional<uint64_t> c = s.as_bits(a);
    if (c == 0 && !poison(amount)) return a;
    return std::nullopt;
  }
  if (*n == 0) return a;
  if (kind == Kind::BvAshr) {
    const int low = static_cast<int>(std::min<uint64_t>(*n, static_cast<uint64_t>(width) - 1));
    const Term high = s.make(Kind::BvExtract, {a}, static_cast<uint64_t>(low), width - low);
    return s.make(Kind::BvSignExtend, {high}, 0, width);
  }
  if (*n >= static_cast<uint64_t>(width)) return s.bits(0, width);  // all bits are discarded
  const int by = static_cast<int>(*n);
  Fields fields;
  if (kind == Kind::BvShl) {
    append_shifted(a, by, 0, fields);
  } else {
    fields = slice(fields_of(a), by, width - by);
    fields.push_back({Term(), 0, by, 0});
  }
  return from_fields(std::move(fields));
}

Folded TermStore::Folder::fold_divide(Kind kind, const Term& a, const Term& b) {
  const int width = s.type(a).width;
  const std::optional<uint64_t> p = s.as_bits(a), q = s.as_bits(b);
  if (!q || *q == 0) return std::nullopt;  // by zero: undefined, kept
  const bool is_signed = kind == Kind::BvSdiv || kind == Kind::BvSrem;
  const bool is_remainder = kind == Kind::BvUrem || kind == Kind::BvSrem;
  if (p) {
    if (!is_signed) return s.bits(is_remainder ? *p % *q : *p / *q, width);
    const int64_t x = sign_extended(*p, width), y = sign_extended(*q, width);
    if (y == -1) {  // the smallest value over -1 wraps
      return is_remainder ? s.bits(0, width) : s.bits(-static_cast<uint64_t>(x), width);
    }
    return s.bits(static_cast<uint64_t>(is_remainder ? x % y : x / y), width);
  }
  if (is_signed) {
    if (*q == 1 && !is_remainder) return a;
    return std::nullopt;
  }
  if (!is_power_of_two(*q)) return std::nullopt;
  const int by = std::countr_zero(*q);
  if (!is_remainder) return s.make(Kind::BvLshr, {a, s.bits(static_cast<uint64_t>(by), width)});
  return s.make(Kind::BvAnd, {a, s.bits(*q - 1, width)});
}

Folded TermStore::Folder::fold_sign_extend(const Term& x, int width) {
  const int narrow = s.type(x).width;
  if (narrow == width) return x;
  if (std::optional<uint64_t> c = s.as_bits(x))
    return s.bits(static_cast<uint64_t>(sign_extended(*c, narrow)), width);
  if (s.kind(x) == Kind::BvSignExtend) return s.make(Kind::BvSignExtend, {s.child(x, 0)}, 0, width);
  Fields fields = fields_of(x);
  const Field& top = fields.back();
  if (!top.is_constant()) return std::nullopt;
  const bool ones = top.value >> (top.width - 1) & 1;
  fields.push_back({Term(), 0, width - narrow, ones ? low_mask(width - narrow) : 0});
  return from_fields(std::move(fields));
}

// The low bits of the word of a number, where a word of that width holds what the wide one does.
Folded TermStore::Folder::fold_narrow_word(const Term& word, int width) {
  // Bounds that two levels of minima and maxima set.
  std::optional<Rational> low, high;
  std::vector<std::pair<bool, const Rational*>> levels;  // whether a minimum; with what
  Term x = s.child(word, 0);
  for (int level = 0; level < 2 && (s.kind(x) == Kind::Min || s.kind(x) == Kind::Max); ++level) {
    const int at = rational(s.child(x, 0)) ? 0 : 1;
    const Rational* c = rational(s.child(x, at));
    if (!c) break;
    levels.emplace_back(s.kind(x) == Kind::Min, c);
    x = s.child(x, 1 - at);
  }
  for (auto it = levels.rbegin(); it != levels.rend(); ++it) {
    const auto& [smaller, c] = *it;
    if (smaller) {
      if (low && *c < *low) low = *c;
      high = high && *high < *c ? *high : *c;
    } else {
      if (high && *high < *c) high = *c;
      low = low && *c < *low ? *low : *c;
    }
  }
  const WordRange wide = word_range(s.type(word).width, s.payload(word) == 1);
  for (const bool is_signed : {true, false}) {
    const WordRange narrow = word_range(width, is_signed);
    // Either no value is beyond an end of either word, or the ends are the same.
    const bool below = low && !(*low < narrow.low) && !(*low < wide.low);
    const bool above = high && !(narrow.high < *high) && !(wide.high < *high);
    if ((below || narrow.low == wide.low) && (above || narrow.high == wide.high))
      return s.make(Kind::BvOfReal, {s.child(word, 0)}, is_signed, width);
  }
  return std::nullopt;
}

Folded TermStore::Folder::fold_bv_of_real(const Term& x, bool is_signed, int width) {
  // A minimum with what is no less than the greatest word is left to the clamping, and a maximum
  // with what is no more than the least one; one level below, too.
  const WordRange range = word_range(width, is_signed);
  const auto idle = [&](const Term& t) -> std::optional<Term> {
    for (int i = 0; i < 2 && (s.kind(t) == Kind::Min || s.kind(t) == Kind::Max); ++i)
      if (const Rational* c = rational(s.child(t, i));
          c && (s.kind(t) == Kind::Min ? !(*c < range.high) : !(range.low < *c)))
        return s.child(t, 1 - i);
    return std::nullopt;
  };
  if (const auto rest = idle(x)) return s.make(Kind::BvOfReal, {*rest}, is_signed, width);
  for (int i = 0; i < 2 && (s.kind(x) == Kind::Min || s.kind(x) == Kind::Max); ++i) {
    const auto rest = rational(s.child(x, i)) ? idle(s.child(x, 1 - i)) : std::nullopt;
    if (rest)
      return s.make(Kind::BvOfReal, {s.make(s.kind(x), {*rest, s.child(x, i)})}, is_signed, width);
  }
  if (is_infinity(x)) {
    return s.bits(wrapped_bits(is_negative_infinity(x) ? range.low : range.high, width), width);
  }
  if (const Rational* c = rational(x)) {
    if (!c->is_integer()) return std::nullopt;
    return s.bits(clamped_bits(*c, width, is_signed), width);
  }
  if (s.kind(x) == Kind::RealOfSigned) {
    const Term word = s.child(x, 0);
    if (is_signed && s.type(word).width <= width)
      return s.make(Kind::BvSignExtend, {word}, 0, width);
  }
  if (s.kind(x) == Kind::RealOfUnsigned) {
    const Term word = s.child(x, 0);
    if (s.type(word).width + (is_signed ? 1 : 0) <= width)
      return s.make(Kind::BvZeroExtend, {word}, 0, width);
  }
  return std::nullopt;
}

}  // namespace coequal::term
