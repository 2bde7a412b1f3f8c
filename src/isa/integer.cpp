// Integer arithmetic and extended-precision integer arithmetic (PTX ISA 9.7.1, 9.7.2).
#include <bit>

#include "isa/rows.h"
#include "isa/semantics.h"

namespace coequal::isa {
namespace {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

int own_width(const Decoded& d) { return width_of(d.type); }

// The full product's high half.
uint64_t multiply_high(uint64_t a, uint64_t b, int width, bool is_signed_value) {
  if (is_signed_value) {
    const SignedWide product = SignedWide{sign_extend(a, width)} * sign_extend(b, width);
    return static_cast<uint64_t>(static_cast<Wide>(product) >> width) & mask_of(width);
  }
  return static_cast<uint64_t>((Wide{a} * b) >> width) & mask_of(width);
}

uint64_t extended(uint64_t value, int width, bool is_signed_value) {
  return is_signed_value ? static_cast<uint64_t>(sign_extend(value, width)) : value;
}

// Of two 32-bit numbers' exact sum or difference.
uint64_t clamp_s32(int64_t value) {
  if (value > INT32_MAX) value = INT32_MAX;
  if (value < INT32_MIN) value = INT32_MIN;
  return static_cast<uint64_t>(value) & mask_of(32);
}

Term clamp_s32(Build& b, Term wide) {
  const Term most = b.bits(INT32_MAX, 64),
             least = b.bits(static_cast<uint64_t>(int64_t{INT32_MIN}), 64);
  return b.resize(b.max(b.min(wide, most, true), least, true), 32, true);
}

Term multiply_high(Build& b, Term x, Term y, int width, bool is_signed_value) {
  CHECK(width <= 32);
  const Term product =
      b.mul(b.resize(x, 2 * width, is_signed_value), b.resize(y, 2 * width, is_signed_value));
  return b.extract(product, width, width);
}

Term multiply_wide(Build& b, Term x, Term y, int width, bool is_signed_value) {
  return b.mul(b.resize(x, 2 * width, is_signed_value), b.resize(y, 2 * width, is_signed_value));
}

// Sum with carry in and out.
void add_carry(const Decoded& d, uint64_t a, uint64_t b, uint64_t carry, uint64_t* dst) {
  const int width = own_width(d);
  const Wide sum = Wide{a} + b + carry;
  dst[0] = static_cast<uint64_t>(sum) & mask_of(width);
  if (d.writes_cc) dst[1] = static_cast<uint64_t>(sum >> width) & 1;
}

void subtract_borrow(const Decoded& d, uint64_t a, uint64_t b, uint64_t borrow, uint64_t* dst) {
  dst[0] = (a - b - borrow) & mask_of(own_width(d));
  if (d.writes_cc) dst[1] = Wide{a} < Wide{b} + borrow;
}

void add_carry(Build& b, const Decoded& d, Term x, Term y, const Term* carry, Term* dst) {
  const Term sum = b.add(x, y);
  const Term overflow = b.ult(sum, x);
  dst[0] = sum;
  if (carry) dst[0] = b.add(sum, b.of_bool(*carry, b.width(x)));
  if (!d.writes_cc) return;
  dst[1] = carry ? b.logic_or(overflow, b.ult(dst[0], sum)) : overflow;
}

void subtract_borrow(Build& b, const Decoded& d, Term x, Term y, const Term* borrow, Term* dst) {
  const Term difference = b.sub(x, y);
  dst[0] = difference;
  const Term under = b.ult(x, y);
  if (!borrow) {
    if (d.writes_cc) dst[1] = under;
    return;
  }
  const Term one = b.of_bool(*borrow, b.width(x));
  dst[0] = b.sub(difference, one);
  if (d.writes_cc) dst[1] = b.logic_or(under, b.ult(difference, one));
}

// a * b, low or high half, as mad.cc and madc add it.
uint64_t half_product(const Decoded& d, const uint64_t* s) {
  return d.text->has("hi") ? multiply_high(s[0], s[1], own_width(d), is_signed(d.type))
                           : (s[0] * s[1]) & mask_of(own_width(d));
}

Term half_product(Build& b, const Decoded& d, const Term* s) {
  return d.text->has("hi") ? multiply_high(b, s[0], s[1], own_width(d), is_signed(d.type))
                           : b.mul(s[0], s[1]);
}

uint64_t divide(uint64_t a, uint64_t b, int width, bool is_signed_value) {
  if (b == 0) return mask_of(width);  // unspecified by the manual
  if (!is_signed_value) return a / b;
  const int64_t y = sign_extend(b, width);
  if (y == -1) return (uint64_t{0} - a) & mask_of(width);
  return static_cast<uint64_t>(sign_extend(a, width) / y) & mask_of(width);
}

uint64_t remainder(uint64_t a, uint64_t b, int width, bool is_signed_value) {
  if (b == 0) return a;  // unspecified by the manual
  if (!is_signed_value) return a % b;
  const int64_t y = sign_extend(b, width);
  if (y == -1) return 0;
  return static_cast<uint64_t>(sign_extend(a, width) % y) & mask_of(width);
}

// Position of the most significant bit that is not a sign, or all ones; as a shift amount from the
// top with .shiftamt.
uint64_t find_top_bit(const Decoded& d, uint64_t a) {
  const int width = own_width(d);
  if (is_signed(d.type) && sign_extend(a, width) < 0) a = ~a & mask_of(width);
  if (a == 0) return 0xffffffff;
  const int top = std::bit_width(a) - 1;
  return static_cast<uint64_t>(d.text->has("shiftamt") ? width - 1 - top : top);
}

Term find_top_bit(Build& b, const Decoded& d, Term a) {
  const int width = own_width(d);
  if (is_signed(d.type)) a = b.select(b.less(a, b.bits(0, width), true), b.bit_not(a), a);
  const Term leading = b.resize(b.store().make(Kind::BvClz, {a}), 32, false);
  if (!d.text->has("shiftamt")) return b.sub(b.bits(static_cast<uint64_t>(width - 1), 32), leading);
  return b.select(b.bv_eq(a, b.bits(0, width)), b.bits(0xffffffff, 32), leading);
}

uint64_t reverse_bits(uint64_t a, int width) {
  uint64_t out = 0;
  for (int i = 0; i < width; ++i) out |= ((a >> i) & 1) << (width - 1 - i);
  return out;
}

uint64_t extract_field(const Decoded& d, uint64_t a, uint64_t position, uint64_t length) {
  const int width = own_width(d);
  position &= 0xff;
  length &= 0xff;
  if (length == 0) return 0;
  const uint64_t filled = extended(a, width, is_signed(d.type));
  uint64_t field = 0;
  if (is_signed(d.type)) {
    field = static_cast<uint64_t>(static_cast<int64_t>(filled) >> (position > 63 ? 63 : position));
    if (length < 64) field = static_cast<uint64_t>(sign_extend(field, static_cast<int>(length)));
  } else {
    field = shift_right(filled, position);
    if (length < 64) field &= mask_of(static_cast<int>(length));
  }
  return field & mask_of(width);
}

Term extract_field(Build& b, const Decoded& d, Term a, Term position, Term length) {
  const int width = own_width(d);
  const bool sign = is_signed(d.type);
  const Term low_byte = b.bits(0xff, 32);
  position = b.bit_and(position, low_byte);
  length = b.bit_and(length, low_byte);
  const auto at = b.store().as_bits(position), count = b.store().as_bits(length);
  const uint64_t top = static_cast<uint64_t>(width);
  if (at && count) {
    if (*count == 0 || (!sign && *at >= top)) return b.bits(0, width);
    const uint64_t low = std::min(*at, top - 1);
    const uint64_t wide = std::min(*count, top - low);
    return b.resize(b.extract(a, static_cast<int>(low), static_cast<int>(wide)), width, sign);
  }
  const Term shifted = b.shr(a, position, sign);
  if (!sign) {
    const Term one = b.bits(1, width);
    return b.bit_and(shifted, b.sub(b.shl(one, length), one));
  }
  const Term whole = b.bits(top, 32);
  const Term rest = b.select(b.ult(length, whole), b.sub(whole, length), b.bits(0, 32));
  const Term field = b.ashr(b.shl(shifted, rest), rest);
  return b.select(b.bv_eq(length, b.bits(0, 32)), b.bits(0, width), field);
}

uint64_t insert_field(const Decoded& d, uint64_t a, uint64_t into, uint64_t position,
                      uint64_t length) {
  const int width = own_width(d);
  position &= 0xff;
  length &= 0xff;
  const uint64_t field =
      shift_left(length > 63 ? ~uint64_t{0} : mask_of(static_cast<int>(length)), position);
  return ((into & ~field) | (shift_left(a, position) & field)) & mask_of(width);
}

Term insert_field(Build& b, const Decoded& d, Term a, Term into, Term position, Term length) {
  const int width = own_width(d);
  const Term low_byte = b.bits(0xff, 32);
  position = b.bit_and(position, low_byte);
  length = b.bit_and(length, low_byte);
  const auto at = b.store().as_bits(position), count = b.store().as_bits(length);
  if (at && count) {
    const uint64_t top = static_cast<uint64_t>(width);
    if (*count == 0 || *at >= top) return into;
    const int low = static_cast<int>(*at);
    const int wide = static_cast<int>(std::min(*count, top - *at));
    Term out = b.extract(a, 0, wide);
    if (low > 0) out = b.concat(out, b.extract(into, 0, low));
    if (low + wide < width) out = b.concat(b.extract(into, low + wide, width - low - wide), out);
    return out;
  }
  const Term one = b.bits(1, width);
  const Term field = b.shl(b.sub(b.shl(one, length), one), position);
  return b.bit_or(b.bit_and(into, b.bit_not(field)), b.bit_and(b.shl(a, position), field));
}

// A mask of `count` ones from bit `start`; both modulo 32 (.wrap), or clamped to 32.
uint64_t bit_mask(bool wrap, uint64_t start, uint64_t count) {
  if (wrap) start &= 31, count &= 31;
  if (start > 31) return 0;
  return shift_left(count > 31 ? mask_of(32) : mask_of(static_cast<int>(count)), start) &
         mask_of(32);
}

uint64_t extend_field(const Decoded& d, uint64_t a, uint64_t count) {
  if (d.text->has("wrap")) count &= 31;
  if (count == 0) return 0;
  if (count > 31) return a;
  const int width = static_cast<int>(count);
  return extended(a & mask_of(width), width, is_signed(d.type)) & mask_of(32);
}

// Four bytes' or two halves' products, summed.
uint64_t dot_product(const Decoded& d, const uint64_t* s) {
  const bool sign_a = is_signed(d.type), sign_b = is_signed(d.src_type);
  int64_t sum = 0;
  if (d.text->opcode == "dp4a") {
    for (int i = 0; i < 4; ++i)
      sum += static_cast<int64_t>(extended((s[0] >> (8 * i)) & 0xff, 8, sign_a)) *
             static_cast<int64_t>(extended((s[1] >> (8 * i)) & 0xff, 8, sign_b));
  } else {
    const int base = d.text->has("hi") ? 2 : 0;
    for (int i = 0; i < 2; ++i)
      sum += static_cast<int64_t>(extended((s[0] >> (16 * i)) & 0xffff, 16, sign_a)) *
             static_cast<int64_t>(extended((s[1] >> (8 * (base + i))) & 0xff, 8, sign_b));
  }
  return (static_cast<uint64_t>(sum) + s[2]) & mask_of(32);
}

Term dot_product(Build& b, const Decoded& d, const Term* s) {
  const bool sign_a = is_signed(d.type), sign_b = is_signed(d.src_type);
  const bool four = d.text->opcode == "dp4a";
  const int base = d.text->has("hi") ? 2 : 0;
  const int wide = four ? 8 : 16;
  Term sum = s[2];
  for (int i = 0; i < (four ? 4 : 2); ++i) {
    const Term x = b.resize(b.extract(s[0], wide * i, wide), 32, sign_a);
    const Term y = b.resize(b.extract(s[1], 8 * (base + i), 8), 32, sign_b);
    sum = b.add(sum, b.mul(x, y));
  }
  return sum;
}

// The 48-bit product of the low 24 bits.
uint64_t product24(const Decoded& d, const uint64_t* s) {
  const bool sign = is_signed(d.type);
  const uint64_t product =
      extended(s[0] & mask_of(24), 24, sign) * extended(s[1] & mask_of(24), 24, sign);
  return (d.text->has("hi") ? product >> 16 : product) & mask_of(32);
}

Term product24(Build& b, const Decoded& d, const Term* s) {
  const bool sign = is_signed(d.type);
  const Term product =
      b.mul(b.resize(b.extract(s[0], 0, 24), 64, sign), b.resize(b.extract(s[1], 0, 24), 64, sign));
  return b.extract(product, d.text->has("hi") ? 16 : 0, 32);
}

void conc_add(const Decoded& d, const uint64_t* s, uint64_t* o) {
  o[0] = d.sat ? clamp_s32(sign_extend(s[0], 32) + sign_extend(s[1], 32))
               : (s[0] + s[1]) & mask_of(own_width(d));
}
void sym_add(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  Build b(store);
  o[0] = d.sat ? clamp_s32(b, b.add(b.resize(s[0], 64, true), b.resize(s[1], 64, true)))
               : b.add(s[0], s[1]);
}
void conc_sub(const Decoded& d, const uint64_t* s, uint64_t* o) {
  o[0] = d.sat ? clamp_s32(sign_extend(s[0], 32) - sign_extend(s[1], 32))
               : (s[0] - s[1]) & mask_of(own_width(d));
}
void sym_sub(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  Build b(store);
  o[0] = d.sat ? clamp_s32(b, b.sub(b.resize(s[0], 64, true), b.resize(s[1], 64, true)))
               : b.sub(s[0], s[1]);
}

void conc_mul_hi(const Decoded& d, const uint64_t* s, uint64_t* o) {
  o[0] = multiply_high(s[0], s[1], own_width(d), is_signed(d.type));
}
void conc_mad_hi(const Decoded& d, const uint64_t* s, uint64_t* o) {
  const uint64_t high = multiply_high(s[0], s[1], own_width(d), is_signed(d.type));
  o[0] = d.sat ? clamp_s32(sign_extend(high, 32) + sign_extend(s[2], 32))
               : (high + s[2]) & mask_of(own_width(d));
}
void sym_mad_hi(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  Build b(store);
  const Term high = multiply_high(b, s[0], s[1], own_width(d), is_signed(d.type));
  o[0] = d.sat ? clamp_s32(b, b.add(b.resize(high, 64, true), b.resize(s[2], 64, true)))
               : b.add(high, s[2]);
}
void conc_mad24(const Decoded& d, const uint64_t* s, uint64_t* o) {
  const uint64_t product = product24(d, s);
  o[0] = d.sat ? clamp_s32(sign_extend(product, 32) + sign_extend(s[2], 32))
               : (product + s[2]) & mask_of(32);
}
void sym_mad24(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  Build b(store);
  const Term product = product24(b, d, s);
  o[0] = d.sat ? clamp_s32(b, b.add(b.resize(product, 64, true), b.resize(s[2], 64, true)))
               : b.add(product, s[2]);
}
uint64_t wide_product(const Decoded& d, const uint64_t* s) {
  const int width = width_of(d.src_type);
  const bool sign = is_signed(d.src_type);
  return extended(s[0], width, sign) * extended(s[1], width, sign);
}

void conc_mad_carry(const Decoded& d, const uint64_t* s, uint64_t* o) {
  add_carry(d, half_product(d, s), s[2], d.reads_cc ? s[3] : 0, o);
}
void sym_mad_carry(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  Build b(store);
  add_carry(b, d, half_product(b, d, s), s[2], d.reads_cc ? &s[3] : nullptr, o);
}
void conc_add_carry(const Decoded& d, const uint64_t* s, uint64_t* o) {
  add_carry(d, s[0], s[1], d.reads_cc ? s[2] : 0, o);
}
void sym_add_carry(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  Build b(store);
  add_carry(b, d, s[0], s[1], d.reads_cc ? &s[2] : nullptr, o);
}
void conc_sub_borrow(const Decoded& d, const uint64_t* s, uint64_t* o) {
  subtract_borrow(d, s[0], s[1], d.reads_cc ? s[2] : 0, o);
}
void sym_sub_borrow(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  Build b(store);
  subtract_borrow(b, d, s[0], s[1], d.reads_cc ? &s[2] : nullptr, o);
}

constexpr InstRow kRows[] = {
    {.pattern = "add.sat.s32 d, a, b", .conc = conc_add, .sym = sym_add, .manual = "9.7.1.1"},
    {.pattern = "add.int d, a, b",
     .conc = conc_add,
     .sym = sym_add,
     .linear = Linear::Add,
     .manual = "9.7.1.1"},
    {.pattern = "sub.sat.s32 d, a, b", .conc = conc_sub, .sym = sym_sub, .manual = "9.7.1.2"},
    {.pattern = "sub.int d, a, b",
     .conc = conc_sub,
     .sym = sym_sub,
     .linear = Linear::Sub,
     .manual = "9.7.1.2"},
    {.pattern = "mul.lo.int d, a, b",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = (s[0] * s[1]) & mask_of(own_width(d)); },
     .sym = [](TermStore& store, const Decoded&, const Term* s,
               Term* o) { o[0] = Build(store).mul(s[0], s[1]); },
     .linear = Linear::Mul,
     .manual = "9.7.1.3"},
    {.pattern = "mul.hi.{u16,s16,u32,s32} d, a, b",
     .conc = conc_mul_hi,
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           o[0] = multiply_high(b, s[0], s[1], own_width(d), is_signed(d.type));
         },
     .manual = "9.7.1.3"},
    {.pattern = "mul.hi.{u64,s64} d, a, b", .conc = conc_mul_hi, .manual = "9.7.1.3"},
    {.pattern = "mul.wide.{u16,s16,u32,s32} d, a:S, b:S",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = wide_product(d, s) & mask_of(own_width(d)); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           o[0] = multiply_wide(b, s[0], s[1], width_of(d.src_type), is_signed(d.src_type));
         },
     .linear = Linear::MulWide,
     .manual = "9.7.1.3"},
    {.pattern = "mad.lo.int d, a, b, c",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = (s[0] * s[1] + s[2]) & mask_of(own_width(d)); },
     .sym =
         [](TermStore& store, const Decoded&, const Term* s, Term* o) {
           Build b(store);
           o[0] = b.add(b.mul(s[0], s[1]), s[2]);
         },
     .linear = Linear::Mad,
     .manual = "9.7.1.4"},
    {.pattern = "mad.hi.{u16,s16,u32,s32} d, a, b, c",
     .conc = conc_mad_hi,
     .sym = sym_mad_hi,
     .manual = "9.7.1.4"},
    {.pattern = "mad.hi.sat.s32 d, a, b, c",
     .conc = conc_mad_hi,
     .sym = sym_mad_hi,
     .manual = "9.7.1.4"},
    {.pattern = "mad.hi.{u64,s64} d, a, b, c", .conc = conc_mad_hi, .manual = "9.7.1.4"},
    {.pattern = "mad.wide.{u16,s16,u32,s32} d, a:S, b:S, c",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = (wide_product(d, s) + s[2]) & mask_of(own_width(d)); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           o[0] = b.add(multiply_wide(b, s[0], s[1], width_of(d.src_type), is_signed(d.src_type)),
                        s[2]);
         },
     .linear = Linear::MadWide,
     .manual = "9.7.1.4"},
    {.pattern = "mul24.{lo,hi}.{u32,s32} d, a, b",
     .conc = [](const Decoded& d, const uint64_t* s, uint64_t* o) { o[0] = product24(d, s); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           o[0] = product24(b, d, s);
         },
     .manual = "9.7.1.5"},
    {.pattern = "mad24.{lo,hi}.{u32,s32} d, a, b, c",
     .conc = conc_mad24,
     .sym = sym_mad24,
     .manual = "9.7.1.6"},
    {.pattern = "mad24.hi.sat.s32 d, a, b, c",
     .conc = conc_mad24,
     .sym = sym_mad24,
     .manual = "9.7.1.6"},
    {.pattern = "sad.int d, a, b, c",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           const int width = own_width(d);
           const bool less = is_signed(d.type) ? sign_extend(s[0], width) < sign_extend(s[1], width)
                                               : s[0] < s[1];
           o[0] = (s[2] + (less ? s[1] - s[0] : s[0] - s[1])) & mask_of(width);
         },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           const Term less = b.less(s[0], s[1], is_signed(d.type));
           o[0] = b.add(s[2], b.select(less, b.sub(s[1], s[0]), b.sub(s[0], s[1])));
         },
     .manual = "9.7.1.7"},
    {.pattern = "div.int d, a, b",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = divide(s[0], s[1], own_width(d), is_signed(d.type)); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           o[0] = store.make(is_signed(d.type) ? Kind::BvSdiv : Kind::BvUdiv, {s[0], s[1]});
         },
     .manual = "9.7.1.8"},
    {.pattern = "rem.int d, a, b",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = remainder(s[0], s[1], own_width(d), is_signed(d.type)); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           o[0] = store.make(is_signed(d.type) ? Kind::BvSrem : Kind::BvUrem, {s[0], s[1]});
         },
     .manual = "9.7.1.9"},
    {.pattern = "abs.{s16,s32,s64} d, a",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           const int width = own_width(d);
           o[0] = (sign_extend(s[0], width) < 0 ? uint64_t{0} - s[0] : s[0]) & mask_of(width);
         },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           o[0] = b.select(b.less(s[0], b.bits(0, own_width(d)), true), b.neg(s[0]), s[0]);
         },
     .manual = "9.7.1.10"},
    {.pattern = "neg.{s16,s32,s64} d, a",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = (uint64_t{0} - s[0]) & mask_of(own_width(d)); },
     .sym = [](TermStore& store, const Decoded&, const Term* s,
               Term* o) { o[0] = Build(store).neg(s[0]); },
     .linear = Linear::Neg,
     .manual = "9.7.1.11"},
    {.pattern = "min.int d, a, b",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           const int width = own_width(d);
           const bool less = is_signed(d.type) ? sign_extend(s[0], width) < sign_extend(s[1], width)
                                               : s[0] < s[1];
           o[0] = less ? s[0] : s[1];
         },
     .sym = [](TermStore& store, const Decoded& d, const Term* s,
               Term* o) { o[0] = Build(store).min(s[0], s[1], is_signed(d.type)); },
     .manual = "9.7.1.12"},
    {.pattern = "max.int d, a, b",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           const int width = own_width(d);
           const bool less = is_signed(d.type) ? sign_extend(s[0], width) < sign_extend(s[1], width)
                                               : s[0] < s[1];
           o[0] = less ? s[1] : s[0];
         },
     .sym = [](TermStore& store, const Decoded& d, const Term* s,
               Term* o) { o[0] = Build(store).max(s[0], s[1], is_signed(d.type)); },
     .manual = "9.7.1.13"},
    {.pattern = "min.relu.s32 d, a, b",
     .conc =
         [](const Decoded&, const uint64_t* s, uint64_t* o) {
           const int64_t less = std::min(sign_extend(s[0], 32), sign_extend(s[1], 32));
           o[0] = static_cast<uint64_t>(std::max<int64_t>(less, 0));
         },
     .sym =
         [](TermStore& store, const Decoded&, const Term* s, Term* o) {
           Build b(store);
           o[0] = b.max(b.min(s[0], s[1], true), b.bits(0, 32), true);
         },
     .manual = "9.7.1.12"},
    {.pattern = "max.relu.s32 d, a, b",
     .conc =
         [](const Decoded&, const uint64_t* s, uint64_t* o) {
           const int64_t more = std::max(sign_extend(s[0], 32), sign_extend(s[1], 32));
           o[0] = static_cast<uint64_t>(std::max<int64_t>(more, 0));
         },
     .sym =
         [](TermStore& store, const Decoded&, const Term* s, Term* o) {
           Build b(store);
           o[0] = b.max(b.max(s[0], s[1], true), b.bits(0, 32), true);
         },
     .manual = "9.7.1.13"},
    {.pattern = "popc.{b32,b64} d:u32, a",
     .conc = [](const Decoded&, const uint64_t* s,
                uint64_t* o) { o[0] = static_cast<uint64_t>(std::popcount(s[0])); },
     .sym = [](TermStore& store, const Decoded&, const Term* s,
               Term* o) { o[0] = store.make(Kind::BvPopcount, {s[0]}, 0, 32); },
     .manual = "9.7.1.14"},
    {.pattern = "clz.{b32,b64} d:u32, a",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = static_cast<uint64_t>(own_width(d) - std::bit_width(s[0])); },
     .sym = [](TermStore& store, const Decoded&, const Term* s,
               Term* o) { o[0] = store.make(Kind::BvClz, {s[0]}, 0, 32); },
     .manual = "9.7.1.15"},
    {.pattern = "bfind{.shiftamt}.{u32,u64,s32,s64} d:u32, a",
     .conc = [](const Decoded& d, const uint64_t* s, uint64_t* o) { o[0] = find_top_bit(d, s[0]); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           o[0] = find_top_bit(b, d, s[0]);
         },
     .manual = "9.7.1.16"},
    {.pattern = "brev.{b32,b64} d, a",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = reverse_bits(s[0], own_width(d)); },
     .sym = [](TermStore& store, const Decoded&, const Term* s,
               Term* o) { o[0] = store.make(Kind::BvReverse, {s[0]}); },
     .manual = "9.7.1.18"},
    {.pattern = "bfe.{u32,u64,s32,s64} d, a, b:u32, c:u32",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = extract_field(d, s[0], s[1], s[2]); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           o[0] = extract_field(b, d, s[0], s[1], s[2]);
         },
     .manual = "9.7.1.19"},
    {.pattern = "bfi.{b32,b64} d, a, b, c:u32, e:u32",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = insert_field(d, s[0], s[1], s[2], s[3]); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           o[0] = insert_field(b, d, s[0], s[1], s[2], s[3]);
         },
     .manual = "9.7.1.20"},
    {.pattern = "szext.{clamp,wrap}.{u32,s32} d, a, b:u32",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = extend_field(d, s[0], s[1]); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           const bool sign = is_signed(d.type);
           const Term whole = b.bits(32, 32);
           const Term count =
               d.text->has("wrap") ? b.bit_and(s[1], b.bits(31, 32)) : b.min(s[1], whole, false);
           const Term rest = b.sub(whole, count);
           o[0] = b.shr(b.shl(s[0], rest), rest, sign);
           // Of no bits nothing remains, not a sign.
           o[0] = b.select(b.bv_eq(count, b.bits(0, 32)), b.bits(0, 32), o[0]);
         },
     .manual = "9.7.1.21"},
    {.pattern = "bmsk.{clamp,wrap}.b32 d, a, b",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = bit_mask(d.text->has("wrap"), s[0], s[1]); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           Term start = s[0], count = s[1];
           if (d.text->has("wrap"))
             start = b.bit_and(start, b.bits(31, 32)), count = b.bit_and(count, b.bits(31, 32));
           const Term one = b.bits(1, 32);
           o[0] = b.shl(b.sub(b.shl(one, count), one), start);
         },
     .manual = "9.7.1.22"},
    {.pattern = "dp4a.{u32,s32}.{u32,s32} d:s32, a, b:S, c:s32",
     .conc = [](const Decoded& d, const uint64_t* s, uint64_t* o) { o[0] = dot_product(d, s); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           o[0] = dot_product(b, d, s);
         },
     .manual = "9.7.1.23"},
    {.pattern = "dp2a.{lo,hi}.{u32,s32}.{u32,s32} d:s32, a, b:S, c:s32",
     .conc = [](const Decoded& d, const uint64_t* s, uint64_t* o) { o[0] = dot_product(d, s); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           o[0] = dot_product(b, d, s);
         },
     .manual = "9.7.1.24"},
    {.pattern = "add.cc.{u32,s32,u64,s64} d, a, b",
     .conc = conc_add_carry,
     .sym = sym_add_carry,
     .manual = "9.7.2.1"},
    {.pattern = "addc{.cc}.{u32,s32,u64,s64} d, a, b",
     .conc = conc_add_carry,
     .sym = sym_add_carry,
     .manual = "9.7.2.2"},
    {.pattern = "sub.cc.{u32,s32,u64,s64} d, a, b",
     .conc = conc_sub_borrow,
     .sym = sym_sub_borrow,
     .manual = "9.7.2.3"},
    {.pattern = "subc{.cc}.{u32,s32,u64,s64} d, a, b",
     .conc = conc_sub_borrow,
     .sym = sym_sub_borrow,
     .manual = "9.7.2.4"},
    {.pattern = "mad.lo.cc.{u32,s32,u64,s64} d, a, b, c",
     .conc = conc_mad_carry,
     .sym = sym_mad_carry,
     .manual = "9.7.2.5"},
    {.pattern = "mad.hi.cc.{u32,s32} d, a, b, c",
     .conc = conc_mad_carry,
     .sym = sym_mad_carry,
     .manual = "9.7.2.5"},
    {.pattern = "mad.hi.cc.{u64,s64} d, a, b, c", .conc = conc_mad_carry, .manual = "9.7.2.5"},
    {.pattern = "madc.lo{.cc}.{u32,s32,u64,s64} d, a, b, c",
     .conc = conc_mad_carry,
     .sym = sym_mad_carry,
     .manual = "9.7.2.6"},
    {.pattern = "madc.hi{.cc}.{u32,s32} d, a, b, c",
     .conc = conc_mad_carry,
     .sym = sym_mad_carry,
     .manual = "9.7.2.6"},
    {.pattern = "madc.hi{.cc}.{u64,s64} d, a, b, c", .conc = conc_mad_carry, .manual = "9.7.2.6"},
};

}  // namespace

std::span<const InstRow> integer_rows() { return kRows; }

}  // namespace coequal::isa
