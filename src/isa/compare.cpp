// Comparison and selection (PTX ISA 9.7.6, 9.7.7).
#include "isa/rows.h"
#include "isa/semantics.h"

namespace coequal::isa {
namespace {

bool holds(Compare compare, bool less, bool equal, bool unordered) {
  switch (compare) {
    case Compare::Eq:
      return equal && !unordered;
    case Compare::Ne:
      return !equal && !unordered;
    case Compare::Lt:
      return less && !unordered;
    case Compare::Le:
      return (less || equal) && !unordered;
    case Compare::Gt:
      return !less && !equal && !unordered;
    case Compare::Ge:
      return !less && !unordered;
    case Compare::Equ:
      return equal || unordered;
    case Compare::Neu:
      return !equal || unordered;
    case Compare::Ltu:
      return less || unordered;
    case Compare::Leu:
      return less || equal || unordered;
    case Compare::Gtu:
      return (!less && !equal) || unordered;
    case Compare::Geu:
      return !less || unordered;
    case Compare::Num:
      return !unordered;
    case Compare::Nan:
      return unordered;
  }
  return false;
}

// The comparison of two values of the source type, not packed.
bool compare_values(const Decoded& d, uint64_t a, uint64_t b) {
  const ScalarType type = d.src_type;
  if (is_float(type)) {
    const FloatSpec spec = spec_of(type);
    if (d.ftz) a = flush(spec, a), b = flush(spec, b);
    const bool unordered = float_is_nan(spec, a) || float_is_nan(spec, b);
    return holds(d.compare, float_less(spec, a, b), float_equal(spec, a, b), unordered);
  }
  const int width = width_of(type);
  const bool less = is_signed(type) ? sign_extend(a, width) < sign_extend(b, width) : a < b;
  return holds(d.compare, less, a == b, false);
}

Term compare_values(Build& b, const Decoded& d, Term x, Term y) {
  if (is_float(d.src_type)) return b.compare(d.compare, x, y);
  const bool sign = is_signed(d.src_type);
  switch (d.compare) {
    case Compare::Eq:
      return b.bv_eq(x, y);
    case Compare::Ne:
      return b.logic_not(b.bv_eq(x, y));
    case Compare::Lt:
      return b.less(x, y, sign);
    case Compare::Le:
      return b.logic_not(b.less(y, x, sign));
    case Compare::Gt:
      return b.less(y, x, sign);
    default:
      CHECK(d.compare == Compare::Ge);
      return b.logic_not(b.less(x, y, sign));
  }
}

Term half_of(Build& b, const Decoded& d, Term pair, int lane) {
  return b.decode(b.extract(pair, 16 * lane, 16), format_of(d.src_type));
}

// The second destination of setp holds the combination of the complement; of packed operands, the
// upper halves' result.
void conc_setp(const Decoded& d, const uint64_t* s, uint64_t* o) {
  const uint64_t other = d.bool_op == BoolOp::None ? 0 : s[2];
  if (is_packed(d.src_type)) {
    for (int lane = 0; lane < 2; ++lane)
      o[lane] = combine(
          d.bool_op,
          compare_values(d, (s[0] >> (16 * lane)) & 0xffff, (s[1] >> (16 * lane)) & 0xffff), other);
    return;
  }
  const bool result = compare_values(d, s[0], s[1]);
  o[0] = combine(d.bool_op, result, other);
  if (d.dst_types.size() > 1) o[1] = combine(d.bool_op, !result, other);
}

void sym_setp(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  Build b(store);
  const Term other = d.bool_op == BoolOp::None ? Term() : s[2];
  if (is_packed(d.src_type)) {
    for (int lane = 0; lane < 2; ++lane)
      o[lane] = b.combine(
          d.bool_op, compare_values(b, d, half_of(b, d, s[0], lane), half_of(b, d, s[1], lane)),
          other);
    return;
  }
  const Term result = compare_values(b, d, s[0], s[1]);
  o[0] = b.combine(d.bool_op, result, other);
  if (d.dst_types.size() > 1) o[1] = b.combine(d.bool_op, b.logic_not(result), other);
}

// set: 1.0 for a float destination, all ones for an integer one, in each half of packed ones.
uint64_t true_bits(const Decoded& d) {
  if (is_float(d.type)) return one_bits(spec_of(d.type));
  return mask_of(is_packed(d.src_type) ? 16 : width_of(d.type));
}

void conc_set(const Decoded& d, const uint64_t* s, uint64_t* o) {
  const uint64_t other = d.bool_op == BoolOp::None ? 0 : s[2];
  if (!is_packed(d.src_type)) {
    o[0] = combine(d.bool_op, compare_values(d, s[0], s[1]), other) ? true_bits(d) : 0;
    return;
  }
  o[0] = 0;
  for (int lane = 0; lane < 2; ++lane)
    if (combine(d.bool_op,
                compare_values(d, (s[0] >> (16 * lane)) & 0xffff, (s[1] >> (16 * lane)) & 0xffff),
                other))
      o[0] |= true_bits(d) << (16 * lane);
}

void sym_set(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  Build b(store);
  const Term other = d.bool_op == BoolOp::None ? Term() : s[2];
  if (!is_packed(d.src_type)) {
    const Term result = b.combine(d.bool_op, compare_values(b, d, s[0], s[1]), other);
    if (is_float(d.type)) {
      o[0] = b.select(result, b.real(1), b.real(0));
    } else {
      const int width = width_of(d.type);
      o[0] = b.select(result, b.bits(true_bits(d), width), b.bits(0, width));
    }
    return;
  }
  for (int lane = 0; lane < 2; ++lane) {
    const Term result = b.combine(
        d.bool_op, compare_values(b, d, half_of(b, d, s[0], lane), half_of(b, d, s[1], lane)),
        other);
    const Term half = b.select(result, b.bits(true_bits(d), 16), b.bits(0, 16));
    o[0] = lane == 0 ? half : b.concat(half, o[0]);
  }
}

constexpr InstRow kRows[] = {
    {.pattern = "set.icmp.{u32,s32,f32}.{b16,b32,b64,u16,u32,u64,s16,s32,s64} d, a:S, b:S",
     .conc = conc_set,
     .sym = sym_set,
     .manual = "9.7.6.1"},
    {.pattern =
         "set.icmp.bool.{u32,s32,f32}.{b16,b32,b64,u16,u32,u64,s16,s32,s64} d, a:S, b:S, c:pred",
     .conc = conc_set,
     .sym = sym_set,
     .manual = "9.7.6.1"},
    {.pattern = "set.fcmp{.ftz}.{u32,s32,f32}.{f32,f64} d, a:S, b:S",
     .conc = conc_set,
     .sym = sym_set,
     .manual = "9.7.6.1"},
    {.pattern = "set.fcmp.bool{.ftz}.{u32,s32,f32}.{f32,f64} d, a:S, b:S, c:pred",
     .conc = conc_set,
     .sym = sym_set,
     .manual = "9.7.6.1"},
    {.pattern = "set.fcmp{.ftz}.{f16,bf16,u16,s16,u32,s32}.{f16,bf16} d, a:S, b:S",
     .conc = conc_set,
     .sym = sym_set,
     .manual = "9.7.7.1"},
    {.pattern = "set.fcmp.bool{.ftz}.{f16,bf16,u16,s16,u32,s32}.{f16,bf16} d, a:S, b:S, c:pred",
     .conc = conc_set,
     .sym = sym_set,
     .manual = "9.7.7.1"},
    {.pattern = "set.fcmp{.ftz}.{f16x2,bf16x2,u32,s32}.{f16x2,bf16x2} d, a:S, b:S",
     .conc = conc_set,
     .sym = sym_set,
     .manual = "9.7.7.1"},
    {.pattern = "set.fcmp.bool{.ftz}.{f16x2,bf16x2,u32,s32}.{f16x2,bf16x2} d, a:S, b:S, c:pred",
     .conc = conc_set,
     .sym = sym_set,
     .manual = "9.7.7.1"},
    {.pattern = "setp.icmp.{b16,b32,b64,u16,u32,u64,s16,s32,s64} d:pred{|q:pred}, a, b",
     .conc = conc_setp,
     .sym = sym_setp,
     .manual = "9.7.6.2"},
    {.pattern =
         "setp.icmp.bool.{b16,b32,b64,u16,u32,u64,s16,s32,s64} d:pred{|q:pred}, a, b, c:pred",
     .conc = conc_setp,
     .sym = sym_setp,
     .manual = "9.7.6.2"},
    {.pattern = "setp.fcmp{.ftz}.sfloat d:pred{|q:pred}, a, b",
     .conc = conc_setp,
     .sym = sym_setp,
     .manual = "9.7.6.2"},
    {.pattern = "setp.fcmp.bool{.ftz}.sfloat d:pred{|q:pred}, a, b, c:pred",
     .conc = conc_setp,
     .sym = sym_setp,
     .manual = "9.7.6.2"},
    {.pattern = "setp.fcmp{.ftz}.{f16x2,bf16x2} d:pred|q:pred, a, b",
     .conc = conc_setp,
     .sym = sym_setp,
     .manual = "9.7.7.2"},
    {.pattern = "setp.fcmp.bool{.ftz}.{f16x2,bf16x2} d:pred|q:pred, a, b, c:pred",
     .conc = conc_setp,
     .sym = sym_setp,
     .manual = "9.7.7.2"},
    {.pattern = "selp.regtype d, a, b, c:pred",
     .conc = [](const Decoded&, const uint64_t* s, uint64_t* o) { o[0] = s[2] ? s[0] : s[1]; },
     .sym = [](TermStore& store, const Decoded&, const Term* s,
               Term* o) { o[0] = Build(store).select(s[2], s[0], s[1]); },
     .manual = "9.7.6.3"},
    {.pattern = "slct{.ftz}.regtype.{s32,f32} d, a, b, c:S",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           bool first;
           if (is_float(d.src_type)) {  // c >= 0; not so for NaN; -0 counts as 0
             const uint64_t c = d.ftz ? flush(kF32, s[2]) : s[2];
             first = !float_is_nan(kF32, c) && !float_less(kF32, c, 0);
           } else {
             first = sign_extend(s[2], 32) >= 0;
           }
           o[0] = first ? s[0] : s[1];
         },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           const Term negative = is_float(d.src_type) ? b.op2(Kind::Less, s[2], b.real(0))
                                                      : b.less(s[2], b.bits(0, 32), true);
           o[0] = b.select(negative, s[1], s[0]);
         },
     .manual = "9.7.6.4"},
};

}  // namespace

std::span<const InstRow> compare_rows() { return kRows; }

}  // namespace coequal::isa
