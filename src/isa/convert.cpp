// Conversions (PTX ISA 9.7.9, cvt and cvt.pack).
#include "isa/rows.h"
#include "isa/semantics.h"

namespace coequal::isa {
namespace {

__extension__ using Wide = __int128;

struct Range {
  Wide least, most;
};
Range range_of(ScalarType type) {
  const int width = width_of(type);
  if (!is_signed(type)) return {0, (Wide{1} << width) - 1};
  return {-(Wide{1} << (width - 1)), (Wide{1} << (width - 1)) - 1};
}

Wide integer_value(uint64_t bits, ScalarType type) {
  return is_signed(type) ? Wide{sign_extend(bits, width_of(type))} : Wide{bits};
}

uint64_t clamp_to(Wide value, ScalarType type) {
  const Range range = range_of(type);
  if (value < range.least) value = range.least;
  if (value > range.most) value = range.most;
  return static_cast<uint64_t>(value) & mask_of(width_of(type));
}

// `a`, of integer type `from`, limited to the range of `to` and resized to it.
Term clamp_to(Build& b, Term a, ScalarType from, ScalarType to) {
  const Range have = range_of(from), want = range_of(to);
  const bool sign = is_signed(from);
  const int width = width_of(from);
  if (want.least > have.least) a = b.max(a, b.bits(static_cast<uint64_t>(want.least), width), sign);
  if (want.most < have.most) a = b.min(a, b.bits(static_cast<uint64_t>(want.most), width), sign);
  return b.resize(a, width_of(to), sign);
}

term::Rational max_finite(FloatSpec spec) {
  const int bias = (1 << (spec.exponent_bits - 1)) - 1;
  // Without infinities the top exponent holds numbers, except for the last fraction.
  const int64_t mantissa = (int64_t{1} << (spec.fraction_bits + 1)) - (spec.has_infinity ? 1 : 2);
  const int exponent = (spec.has_infinity ? bias : bias + 1) - spec.fraction_bits;
  return term::Rational(mantissa) * term::Rational::power_of_two(exponent);
}

// One number from a format to another; .ftz concerns single precision only.
uint64_t convert(const Decoded& d, FloatSpec to, FloatSpec from, uint64_t a) {
  const bool from_single = from.fraction_bits == 23, to_single = to.fraction_bits == 23;
  if (d.ftz && from_single) a = flush(from, a);
  if (d.round_to_integer) a = float_round_integral(from, a, d.rounding);
  uint64_t out = float_convert(
      to, from, a, {d.round_to_integer ? FloatRounding::NearestEven : d.rounding, false},
      d.satfinite);
  if (d.ftz && to_single) out = flush(to, out);
  if (d.sat) out = saturate(to, out);
  if (d.relu) out = relu(to, out);
  return out;
}

Term convert(Build& b, const Decoded& d, FloatSpec to, Term a) {
  if (d.round_to_integer) a = b.op1(rounding_kind(d.rounding), a);
  if (d.satfinite) {
    const term::Rational most = max_finite(to);
    a = b.op2(Kind::Max, b.store().real(-most), b.op2(Kind::Min, a, b.store().real(most)));
  }
  if (d.sat) a = b.saturate(a);
  if (d.relu) a = b.relu(a);
  return a;
}

// Two numbers into the halves of a word, the first operand into the upper one.
void conc_pair(const Decoded& d, const uint64_t* s, uint64_t* o) {
  const FloatSpec to = spec_of(d.type);
  o[0] = (convert(d, to, kF32, s[0]) << to.width()) | convert(d, to, kF32, s[1]);
}
void sym_pair(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  Build b(store);
  const FloatSpec to = spec_of(d.type);
  const term::FloatFormat format = format_of(d.type);
  o[0] = b.concat(b.encode(convert(b, d, to, s[0]), format),
                  b.encode(convert(b, d, to, s[1]), format));
}

// A word of two numbers into a word of two numbers.
void conc_pair_to_pair(const Decoded& d, const uint64_t* s, uint64_t* o) {
  const FloatSpec to = spec_of(d.type), from = spec_of(d.src_type);
  o[0] = 0;
  for (int i = 0; i < 2; ++i)
    o[0] |= convert(d, to, from, (s[0] >> (i * from.width())) & mask_of(from.width()))
            << (i * to.width());
}
void sym_pair_to_pair(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  Build b(store);
  const FloatSpec to = spec_of(d.type), from = spec_of(d.src_type);
  Term halves[2];
  for (int i = 0; i < 2; ++i) {
    const Term value =
        b.decode(b.extract(s[0], i * from.width(), from.width()), format_of(d.src_type));
    halves[i] = b.encode(convert(b, d, to, value), format_of(d.type));
  }
  o[0] = b.concat(halves[1], halves[0]);
}

// cvt.pack: two saturated integers beside each other; the low bits of a third operand above them.
void conc_pack(const Decoded& d, const uint64_t* s, uint64_t* o) {
  const int width = width_of(d.type);
  o[0] = (clamp_to(integer_value(s[0], ScalarType::S32), d.type) << width) |
         clamp_to(integer_value(s[1], ScalarType::S32), d.type);
  if (d.src_types.size() > 2) o[0] = (o[0] | (s[2] << (2 * width))) & mask_of(32);
}
void sym_pack(TermStore& store, const Decoded& d, const Term* s, Term* o) {
  Build b(store);
  o[0] = b.concat(clamp_to(b, s[0], ScalarType::S32, d.type),
                  clamp_to(b, s[1], ScalarType::S32, d.type));
  const int rest = 32 - 2 * width_of(d.type);
  if (d.src_types.size() > 2) o[0] = b.concat(b.extract(s[2], 0, rest), o[0]);
}

constexpr InstRow kRows[] = {
    {.pattern = "cvt{.sat}.anyint.anyint d, a:S",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           const Wide value = integer_value(s[0], d.src_type);
           o[0] = d.sat ? clamp_to(value, d.type)
                        : static_cast<uint64_t>(value) & mask_of(width_of(d.type));
         },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           o[0] = d.sat ? clamp_to(b, s[0], d.src_type, d.type)
                        : b.resize(s[0], width_of(d.type), is_signed(d.src_type));
         },
     .linear = Linear::Copy,
     .manual = "9.7.9.21"},
    {.pattern = "cvt.rndi{.ftz}{.sat}.anyint.sfloat d, a:S",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           const FloatSpec from = spec_of(d.src_type);
           const uint64_t a = d.ftz && d.src_type == ScalarType::F32 ? flush(from, s[0]) : s[0];
           o[0] = is_signed(d.type) ? float_to_signed(from, a, width_of(d.type), d.rounding)
                                    : float_to_unsigned(from, a, width_of(d.type), d.rounding);
         },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           const Term rounded = store.make(rounding_kind(d.rounding), {s[0]});
           o[0] = store.make(Kind::BvOfReal, {rounded}, is_signed(d.type), width_of(d.type));
         },
     .manual = "9.7.9.21"},
    {.pattern = "cvt.rnd{.sat}.sfloat.anyint d, a:S",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           const FloatSpec to = spec_of(d.type);
           o[0] = is_signed(d.src_type)
                      ? float_from_signed(to, sign_extend(s[0], width_of(d.src_type)), d.rounding)
                      : float_from_unsigned(to, s[0], d.rounding);
           if (d.sat) o[0] = saturate(to, o[0]);
         },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           o[0] = b.op1(is_signed(d.src_type) ? Kind::RealOfSigned : Kind::RealOfUnsigned, s[0]);
           if (d.sat) o[0] = b.saturate(o[0]);
         },
     .manual = "9.7.9.21"},
    {.pattern = "cvt{.rnd,.rndi}{.ftz}{.sat}{.relu}{.satfinite}.sfloat.sfloat d, a:S",
     .conc = [](const Decoded& d, const uint64_t* s,
                uint64_t* o) { o[0] = convert(d, spec_of(d.type), spec_of(d.src_type), s[0]); },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           o[0] = convert(b, d, spec_of(d.type), s[0]);
         },
     .manual = "9.7.9.21"},
    {.pattern = "cvt.{rna,rn,rz}{.relu}{.satfinite}.tf32.f32 d, a:S",
     .conc =
         [](const Decoded& d, const uint64_t* s, uint64_t* o) {
           const uint64_t value = convert(d, kTF32, kF32, s[0]);
           o[0] = float_is_nan(kTF32, value) ? 0x7fffffff : value << 13;
         },
     .sym =
         [](TermStore& store, const Decoded& d, const Term* s, Term* o) {
           Build b(store);
           o[0] = convert(b, d, kTF32, s[0]);
         },
     .manual = "9.7.9.21"},
    {.pattern = "cvt.{rn,rz}{.relu}{.satfinite}.{f16x2,bf16x2}.f32 d, a:S, b:S",
     .conc = conc_pair,
     .sym = sym_pair,
     .manual = "9.7.9.21"},
    {.pattern = "cvt.rn.satfinite{.relu}.{e4m3x2,e5m2x2}.f32 d, a:S, b:S",
     .conc = conc_pair,
     .sym = sym_pair,
     .manual = "9.7.9.21"},
    {.pattern = "cvt.rn.satfinite{.relu}.{e4m3x2,e5m2x2}.{f16x2,bf16x2} d, a:S",
     .conc = conc_pair_to_pair,
     .sym = sym_pair_to_pair,
     .manual = "9.7.9.21"},
    {.pattern = "cvt.rn{.relu}.{f16x2,bf16x2}.{e4m3x2,e5m2x2} d, a:S",
     .conc = conc_pair_to_pair,
     .sym = sym_pair_to_pair,
     .manual = "9.7.9.21"},
    {.pattern = "cvt.pack.sat.{u16,s16}.s32 d:b32, a:S, b:S",
     .conc = conc_pack,
     .sym = sym_pack,
     .manual = "9.7.9.22"},
    {.pattern = "cvt.pack.sat.{u8,s8}.s32.b32 d:b32, a:s32, b:s32, c:b32",
     .conc = conc_pack,
     .sym = sym_pack,
     .manual = "9.7.9.22"},
};

}  // namespace

std::span<const InstRow> convert_rows() { return kRows; }

}  // namespace coequal::isa
