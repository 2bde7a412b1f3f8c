// Logic, shifts and byte permutation (PTX ISA 9.7.8, prmt of 9.7.9).
#include "isa/rows.h"
#include "isa/semantics.h"

namespace coequal::isa {
namespace {

// lop3: the table of a three-input function, one bit a row; input a is bit 2 of the row number, c
// is bit 0.
uint64_t lookup3(uint64_t a, uint64_t b, uint64_t c, uint64_t table) {
  uint64_t out = 0;
  for (int row = 0; row < 8; ++row) {
    if (!((table >> row) & 1)) continue;
    out |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
  }
  return out & mask_of(32);
}

// The function of the first `count` inputs that the low 2^count bits of `table` give: by cases on
// the first input.
Term lookup(Build& b, const Term* inputs, int count, uint64_t table) {
  const uint64_t all = mask_of(1 << count);
  table &= all;
  if (table == 0) return b.bits(0, 32);
  if (table == all) return b.bits(mask_of(32), 32);
  const int half = 1 << (count - 1);
  const uint64_t ones = mask_of(half);
  const uint64_t if_clear = table & ones, if_set = (table >> half) & ones;
  const Term a = inputs[0];
  const auto rest = [&](uint64_t part) { return lookup(b, inputs + 1, count - 1, part); };
  if (if_clear == if_set) return rest(if_set);
  if (if_clear == (~if_set & ones)) {
    if (if_clear == 0) return a;
    return if_set == 0 ? b.bit_not(a) : b.bit_xor(a, rest(if_clear));
  }
  if (if_clear == 0) return b.bit_and(a, rest(if_set));
  if (if_set == 0) return b.bit_and(b.bit_not(a), rest(if_clear));
  if (if_set == ones) return b.bit_or(a, rest(if_clear));
  if (if_clear == ones) return b.bit_or(b.bit_not(a), rest(if_set));
  return b.bit_or(b.bit_and(a, rest(if_set)), b.bit_and(b.bit_not(a), rest(if_clear)));
}

uint64_t funnel_amount(const Decoded& d, uint64_t c) {
  return d.text->has("wrap") ? c & 31 : std::min<uint64_t>(c, 32);
}

void conc_funnel(const Decoded& d, const uint64_t* s, uint64_t* o) {
  const uint64_t both = (s[1] << 32) | s[0];
  const uint64_t n = funnel_amount(d, s[2]);
  o[0] = (d.text->has("l") ? (both << n) >> 32 : both >> n) & mask_of(32);
}

void sym_funnel(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  Build b(store);
  const bool left = d.text->has("l");
  const Term n =
      d.text->has("wrap") ? b.bit_and(s[2], b.bits(31, 32)) : b.min(s[2], b.bits(32, 32), false);
  if (const auto amount = store.as_bits(n)) {
    const int low =
        static_cast<int>(left ? 32 - *amount : *amount);  // of the result in {s[1], s[0]}
    if (low == 0) {
      o[0] = s[0];
    } else if (low == 32) {
      o[0] = s[1];
    } else {
      o[0] = b.concat(b.extract(s[1], 0, low), b.extract(s[0], low, 32 - low));
    }
    return;
  }
  const Term both = b.concat(s[1], s[0]);
  o[0] = left ? b.extract(b.shl(both, n), 32, 32) : b.extract(b.lshr(both, n), 0, 32);
}

// Source byte (0-3 of a, 4-7 of b) and whether only its sign is taken, of each result byte.
struct ByteChoice {
  int byte;
  bool sign;
};

ByteChoice choose_byte(PrmtMode mode, int i, uint64_t selector) {
  const int s = static_cast<int>(selector & 3);
  switch (mode) {
    case PrmtMode::Default: {
      const uint64_t nibble = (selector >> (4 * i)) & 0xf;
      return {static_cast<int>(nibble & 7), (nibble & 8) != 0};
    }
    case PrmtMode::F4e:
      return {s + i, false};
    case PrmtMode::B4e:
      return {(s - i) & 7, false};
    case PrmtMode::Rc8:
      return {s, false};
    case PrmtMode::Ecl:
      return {std::max(s, i), false};
    case PrmtMode::Ecr:
      return {std::min(s, i), false};
    case PrmtMode::Rc16:
      return {(s & 1) * 2 + (i & 1), false};
  }
  return {0, false};
}

void conc_prmt(const Decoded& d, const uint64_t* s, uint64_t* o) {
  const uint64_t both = (s[1] << 32) | s[0];
  uint64_t out = 0;
  for (int i = 0; i < 4; ++i) {
    const ByteChoice choice = choose_byte(static_cast<PrmtMode>(d.mode), i, s[2]);
    uint64_t byte = (both >> (8 * choice.byte)) & 0xff;
    if (choice.sign) byte = byte & 0x80 ? 0xff : 0;
    out |= byte << (8 * i);
  }
  o[0] = out;
}

Term byte_of(Build& b, const Term* s, ByteChoice choice) {
  const Term& source = s[choice.byte / 4];
  const int low = 8 * (choice.byte % 4);
  if (!choice.sign) return b.extract(source, low, 8);
  return b.resize(b.extract(source, low + 7, 1), 8, true);
}

Term permuted(Build& b, const Term* s, PrmtMode mode, uint64_t selector) {
  Term out;
  for (int i = 0; i < 4;) {
    const ByteChoice choice = choose_byte(mode, i, selector);
    int count = 1;
    Term part = byte_of(b, s, choice);
    if (!choice.sign) {  // a run of neighbouring bytes is one extraction
      while (i + count < 4 && choice.byte % 4 + count < 4) {
        const ByteChoice next = choose_byte(mode, i + count, selector);
        if (next.sign || next.byte != choice.byte + count) break;
        ++count;
      }
      part = b.extract(s[choice.byte / 4], 8 * (choice.byte % 4), 8 * count);
    }
    out = i == 0 ? part : b.concat(part, out);
    i += count;
  }
  return out;
}

void sym_prmt(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  Build b(store);
  const PrmtMode mode = static_cast<PrmtMode>(d.mode);
  if (const auto selector = store.as_bits(s[2])) {
    o[0] = permuted(b, s, mode, *selector);
    return;
  }
  if (mode != PrmtMode::Default) {  // two bits select among four permutations
    const Term low = b.bit_and(s[2], b.bits(3, 32));
    o[0] = permuted(b, s, mode, 3);
    for (uint64_t i = 3; i-- > 0;)
      o[0] = b.select(b.bv_eq(low, b.bits(i, 32)), permuted(b, s, mode, i), o[0]);
    return;
  }
  const Term both = b.concat(s[1], s[0]);
  for (int i = 0; i < 4; ++i) {
    const Term nibble = b.extract(s[2], 4 * i, 4);
    const Term amount = b.concat(b.extract(nibble, 0, 3), b.bits(0, 3));  // eight times the byte
    const Term byte = b.extract(b.lshr(both, amount), 0, 8);
    const Term sign = b.resize(b.extract(byte, 7, 1), 8, true);
    const Term part = b.select(b.bv_eq(b.extract(nibble, 3, 1), b.bits(1, 1)), sign, byte);
    o[0] = i == 0 ? part : b.concat(part, o[0]);
  }
}

constexpr InstRow kRows[] = {
    {.pattern = "and.bits d, a, b",
     .conc = [](const Decoded&, const uint64_t* s, uint64_t* o) { o[0] = s[0] & s[1]; },
     .sym = [](TermStore& store, const Decoded&, const Term* s,
               Term* o) { o[0] = Build(store).bit_and(s[0], s[1]); },
     .manual = "9.7.8.1"},
    {.pattern = "or.bits d, a, b",
     .conc = [](const Decoded&, const uint64_t* s, uint64_t* o) { o[0] = s[0] | s[1]; },
     .sym = [](TermStore& store, const Decoded&, const Term* s,
               Term* o) { o[0] = Build(store).bit_or(s[0], s[1]); },
     .manual = "9.7.8.2"},
    {.pattern = "xor.bits d, a, b",
     .conc = [](const Decoded&, const uint64_t* s, uint64_t* o) { o[0] = s[0] ^ s[1]; },
     .sym = [](TermStore& store, const Decoded&, const Term* s,
               Term* o) { o[0] = Build(store).bit_xor(s[0], s[1]); },
     .manual = "9.7.8.3"},
    {.pattern = "not.bits d, a",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = ~s[0] & mask_of(width_of(d.type)); },
     .sym = [](TermStore& store, const Decoded&, const Term* s,
               Term* o) { o[0] = Build(store).bit_not(s[0]); },
     .manual = "9.7.8.4"},
    {.pattern = "and.pred d, a, b",
     .conc = [](const Decoded&, const uint64_t* s, uint64_t* o) { o[0] = s[0] & s[1]; },
     .sym = [](TermStore& store, const Decoded&, const Term* s,
               Term* o) { o[0] = Build(store).logic_and(s[0], s[1]); },
     .manual = "9.7.8.1"},
    {.pattern = "or.pred d, a, b",
     .conc = [](const Decoded&, const uint64_t* s, uint64_t* o) { o[0] = s[0] | s[1]; },
     .sym = [](TermStore& store, const Decoded&, const Term* s,
               Term* o) { o[0] = Build(store).logic_or(s[0], s[1]); },
     .manual = "9.7.8.2"},
    {.pattern = "xor.pred d, a, b",
     .conc = [](const Decoded&, const uint64_t* s, uint64_t* o) { o[0] = s[0] ^ s[1]; },
     .sym = [](TermStore& store, const Decoded&, const Term* s,
               Term* o) { o[0] = Build(store).logic_xor(s[0], s[1]); },
     .manual = "9.7.8.3"},
    {.pattern = "not.pred d, a",
     .conc = [](const Decoded&, const uint64_t* s, uint64_t* o) { o[0] = s[0] ^ 1; },
     .sym = [](TermStore& store, const Decoded&, const Term* s,
               Term* o) { o[0] = Build(store).logic_not(s[0]); },
     .manual = "9.7.8.4"},
    {.pattern = "cnot.bits d, a",
     .conc = [](const Decoded&, const uint64_t* s, uint64_t* o) { o[0] = s[0] == 0; },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           const int width = width_of(d.type);
           o[0] = b.of_bool(b.bv_eq(s[0], b.bits(0, width)), width);
         },
     .manual = "9.7.8.5"},
    {.pattern = "lop3.b32 d, a, b, c, imm:u32",
     .conc = [](const Decoded&, const uint64_t* s,
                uint64_t* o) { o[0] = lookup3(s[0], s[1], s[2], s[3]); },
     .sym =
         [](TermStore& store, const Decoded&, const Term* s, Term* o) {
           Build b(store);
           const auto table = store.as_bits(s[3]);
           CHECK(table.has_value());
           o[0] = lookup(b, s, 3, *table);
         },
     .manual = "9.7.8.6"},
    {.pattern = "lop3.{and,or}.b32 d|q:pred, a, b, c, imm:u32, f:pred",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           o[0] = lookup3(s[0], s[1], s[2], s[3]);
           o[1] = combine(d.bool_op, o[0] != 0, s[4]);
         },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           const auto table = store.as_bits(s[3]);
           CHECK(table.has_value());
           o[0] = lookup(b, s, 3, *table);
           o[1] = b.combine(d.bool_op, b.logic_not(b.bv_eq(o[0], b.bits(0, 32))), s[4]);
         },
     .manual = "9.7.8.6"},
    {.pattern = "shf.{l,r}.{clamp,wrap}.b32 d, a, b, c:u32",
     .conc = conc_funnel,
     .sym = sym_funnel,
     .manual = "9.7.8.7"},
    {.pattern = "shl.bits d, a, b:u32",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = shift_left(s[0], s[1]) & mask_of(width_of(d.type)); },
     .sym = [](TermStore& store, const Decoded&, const Term* s,
               Term* o) { o[0] = Build(store).shl(s[0], s[1]); },
     .linear = Linear::Shl,
     .manual = "9.7.8.8"},
    {.pattern = "shr.{b16,b32,b64,u16,u32,u64,s16,s32,s64} d, a, b:u32",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           const int width = width_of(d.type);
           o[0] = is_signed(d.type) ? static_cast<uint64_t>(sign_extend(s[0], width) >>
                                                            std::min<uint64_t>(s[1], 63)) &
                                          mask_of(width)
                                    : shift_right(s[0], s[1]);
         },
     .sym = [](TermStore& store, const Decoded& d, const Term* s,
               Term* o) { o[0] = Build(store).shr(s[0], s[1], is_signed(d.type)); },
     .manual = "9.7.8.9"},
    {.pattern = "prmt.b32{.f4e,.b4e,.rc8,.ecl,.ecr,.rc16} d, a, b, c:u32",
     .conc = conc_prmt,
     .sym = sym_prmt,
     .manual = "9.7.9.7"},
};

}  // namespace

std::span<const InstRow> logic_rows() { return kRows; }

}  // namespace coequal::isa
