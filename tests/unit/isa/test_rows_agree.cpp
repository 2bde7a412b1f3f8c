// Every row's exact meaning against its concrete one, on random texts of the row and random
// operands.
#include <bit>
#include <cmath>
#include <optional>
#include <random>
#include <set>

#include "isa/pattern.h"
#include "isa/semantics.h"
#include "term/ball.h"
#include "unit/isa/one_instruction.h"

namespace coequal::isa {
namespace {

using Random = std::mt19937_64;

// A random instruction that the row's pattern allows. Operands are registers; values are given to
// the meanings directly.
ptx::Instruction random_text(const InstRow& row, Random& random) {
  const Pattern pattern = parse_pattern(row.pattern);
  ptx::Instruction out;
  out.opcode = pattern.opcode;
  for (const ModifierPattern& m : pattern.modifiers) {
    if (m.optional && random() % 2) continue;
    out.modifiers.emplace_back(m.words[random() % m.words.size()]);
  }
  for (const OperandPattern& p : pattern.operands) {
    if (p.optional && random() % 2) continue;
    if (p.pair) out.operands.back().has_pair = true;
    ptx::Operand operand;
    operand.kind = p.role == OperandPattern::Role::Address ? ptx::Operand::Kind::Address
                                                           : ptx::Operand::Kind::Register;
    if (p.immediate) operand.kind = ptx::Operand::Kind::Immediate;
    out.operands.push_back(operand);
  }
  return out;
}

struct Value {
  uint64_t bits;
  Term term;
};

uint64_t encode(term::FloatFormat format, double value) {
  switch (format) {
    case term::FloatFormat::F64:
      return std::bit_cast<uint64_t>(value);
    case term::FloatFormat::F16:
      return float_from_double(kF16, value);
    case term::FloatFormat::BF16:
      return float_from_double(kBF16, value);
    default:
      return float_from_double(kF32, value);
  }
}

bool carries_pairs(ScalarType type) {
  return is_packed(type) || type == ScalarType::E4M3X2 || type == ScalarType::E5M2X2;
}

// Quarters up to 2: products and their sums are exact in every format.
double small_number(Random& random, bool positive) {
  const double value = static_cast<double>(static_cast<int64_t>(random() % 17) - 8) / 4;
  return positive ? std::fabs(value) + 0.25 : value;
}

Value random_value(TermStore& store, const Decoded& d, const OperandType& type, Random& random) {
  const bool positive = d.text->opcode.find("sqrt") != std::string::npos ||
                        d.text->opcode == "lg2" || d.text->opcode == "div" ||
                        d.text->opcode == "rcp";
  switch (type.cls) {
    case OperandType::Class::Pred: {
      const bool value = random() % 2;
      return {value, store.boolean(value)};
    }
    case OperandType::Class::Float: {
      // Rounding to an integer needs more spread.
      double value = small_number(random, positive);
      if (d.text->opcode == "cvt" && random() % 2) value *= 8;
      return {encode(type.format, value), store.real(term::Rational::from_double(value))};
    }
    case OperandType::Class::Bits:
      break;
  }
  uint64_t bits = random();
  const ScalarType own = d.src_type;
  if (carries_pairs(own) && is_float(d.type) + carries_pairs(own) > 0 && type.width >= 16) {
    const FloatSpec spec = spec_of(own);
    bits = (float_from_double(spec, small_number(random, positive)) << spec.width()) |
           float_from_double(spec, small_number(random, positive));
  } else {
    if (random() % 2) bits >>= random() % 64;
    if (random() % 4 == 0) bits = ~uint64_t{0} - bits % 8;
    if (random() % 4 == 0) bits %= 40;  // amounts, positions, small divisors
  }
  bits &= mask_of(type.width);
  return {bits, store.bits(bits, type.width)};
}

// By bisection; nothing outside of (-1, 1).
std::optional<double> where_erf_is(double a) {
  if (!(std::fabs(a) < 1)) return std::nullopt;
  double low = -6, high = 6;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erf(middle) < a ? low : high) = middle;
  }
  return low;
}

// The number that a term of constants is, near enough; nothing if it is infinite or undefined.
std::optional<double> evaluate(const TermStore& store, const Term& t) {
  if (const term::Rational* value = store.as_rational(t)) return value->to_double();
  double a[3] = {};
  for (int i = 0; i < store.arity(t); ++i) {
    const Term child = store.child(t, i);
    if (store.type(child) == term::kBool) {
      const auto condition = store.as_bool(child);
      if (!condition) return std::nullopt;
      a[i] = *condition;
      continue;
    }
    const auto value = evaluate(store, child);
    if (!value) return std::nullopt;
    a[i] = *value;
  }
  switch (store.kind(t)) {
    case Kind::Add:
      return a[0] + a[1];
    case Kind::Mul:
      return a[0] * a[1];
    case Kind::Div:
      return a[1] == 0 ? std::nullopt : std::optional(a[0] / a[1]);
    case Kind::Min:
      return std::min(a[0], a[1]);
    case Kind::Max:
      return std::max(a[0], a[1]);
    case Kind::Sqrt:
      return a[0] < 0 ? std::nullopt : std::optional(std::sqrt(a[0]));
    case Kind::Exp2:
      return std::exp2(a[0]);
    case Kind::Log2:
      return a[0] > 0 ? std::optional(std::log2(a[0])) : std::nullopt;
    case Kind::Sin:
      return std::sin(a[0]);
    case Kind::Cos:
      return std::cos(a[0]);
    case Kind::Tanh:
      return std::tanh(a[0]);
    case Kind::Erf:
      return std::erf(a[0]);
    case Kind::Atan:
      return std::atan(a[0]);
    case Kind::ErfInv:
      return where_erf_is(a[0]);
    case Kind::Gamma:
      return std::tgamma(a[0]);
    case Kind::LogGamma:
      return std::lgamma(a[0]);
    case Kind::Abs:
      return std::fabs(a[0]);
    case Kind::Symbol:
      return term::Ball::of_constant(static_cast<term::NamedConstant>(store.payload(t)), 80)
          .midpoint();
    default:
      return std::nullopt;
  }
}

// Half of a packed result: the number below BitsOfReal, or constant bits.
std::optional<double> half_number(const TermStore& store, const Term& half, FloatSpec spec) {
  if (const auto bits = store.as_bits(half)) return float_to_double(spec, *bits);
  if (store.kind(half) == Kind::BitsOfReal) return evaluate(store, store.child(half, 0));
  return std::nullopt;
}

bool near(double ours, double exact, int precision) {
  if (ours == exact) return true;
  return std::fabs(ours - exact) <= std::ldexp(std::max(std::fabs(exact), 1e-6), -precision);
}

// Significant bits that the row's result must share with the exact one.
int precision_of(const Decoded& d) {
  // Exact meanings that are compositions lose some places when computed in doubles.
  if (d.text->opcode == "real") return 40;
  if (d.type == ScalarType::F64) return d.approx ? 19 : 50;
  return spec_of(d.type).fraction_bits - 1;
}

// Whether the result was compared; false when the exact meaning is undefined there.
bool compare_result(const TermStore& store, const Decoded& d, const OperandType& type,
                    const Term& exact, uint64_t concrete) {
  EXPECT_EQ(store.type(exact), type.term_type()) << d.text->spelling();
  if (store.kind(exact) == Kind::Undefined || store.kind(exact) == Kind::Infinity) return false;
  switch (type.cls) {
    case OperandType::Class::Pred: {
      const auto value = store.as_bool(exact);
      if (value) {
        EXPECT_EQ(*value, concrete != 0) << d.text->spelling();
      }
      return value.has_value();
    }
    case OperandType::Class::Float: {
      const auto value = evaluate(store, exact);
      if (!value) return false;
      if (type.format == term::FloatFormat::F16 && std::fabs(*value) > 65504)
        return false;  // overflows
      const double ours = type.format == term::FloatFormat::F64
                              ? std::bit_cast<double>(concrete)
                              : float_to_double(type.format == term::FloatFormat::F16    ? kF16
                                                : type.format == term::FloatFormat::BF16 ? kBF16
                                                                                         : kF32,
                                                concrete);
      const bool narrow = d.text->opcode == "cvt" && d.type == ScalarType::TF32;
      EXPECT_TRUE(near(ours, *value, narrow ? 9 : precision_of(d)))
          << d.text->spelling() << ": " << ours << " exact " << *value;
      return true;
    }
    case OperandType::Class::Bits:
      break;
  }
  if (const auto bits = store.as_bits(exact)) {
    // Of packed numbers the sign of zero and the last place are not exact.
    if (!carries_pairs(d.type) && *bits != concrete) {
      ADD_FAILURE() << d.text->spelling() << std::hex << ": " << concrete << " exact " << *bits;
    }
    if (!carries_pairs(d.type)) return true;
  }
  if (!carries_pairs(d.type)) return false;
  const FloatSpec spec = spec_of(d.type);
  for (int lane = 0; lane < 2; ++lane) {
    std::optional<double> value;
    if (const auto bits = store.as_bits(exact)) {
      value = float_to_double(spec, (*bits >> (lane * spec.width())) & mask_of(spec.width()));
    } else if (store.kind(exact) == Kind::BvConcat) {
      value = half_number(store, store.child(exact, 1 - lane), spec);
    }
    if (!value) return false;
    const double ours =
        float_to_double(spec, (concrete >> (lane * spec.width())) & mask_of(spec.width()));
    EXPECT_TRUE(near(ours, *value, spec.fraction_bits - 1))
        << d.text->spelling() << ": " << ours << " exact " << *value;
  }
  return true;
}

TEST(Rows, ExactAndConcreteMeaningsAgree) {
  Random random(7);
  const ptx::Module module;
  for (const InstRow& row : all_rows()) {
    if (!row.sym) continue;
    ASSERT_NE(row.conc, nullptr) << row.pattern;
    int compared = 0;
    for (int round = 0; round < 400; ++round) {
      const ptx::Instruction text = random_text(row, random);
      const Result<Decoded> result = decode(module, text);
      ASSERT_TRUE(result.has_value()) << row.pattern << ": " << result.error().message;
      const Decoded& d = *result;
      ASSERT_EQ(d.row, &row) << text.spelling();
      TermStore store;
      std::vector<Term> terms;
      std::vector<uint64_t> values;
      for (const OperandType& type : d.src_types) {
        const Value value = random_value(store, d, type, random);
        terms.push_back(value.term);
        values.push_back(value.bits);
      }
      std::vector<Term> exact(d.dst_types.size());
      std::vector<uint64_t> concrete(d.dst_types.size());
      d.conc(d, values.data(), concrete.data());
      d.sym(store, d, terms.data(), exact.data());
      for (size_t i = 0; i < exact.size(); ++i)
        compared += compare_result(store, d, d.dst_types[i], exact[i], concrete[i]);
    }
    EXPECT_GT(compared, 100) << row.pattern;
  }
}

// Every text of a row, up to many, is decoded to that row and to no other.
TEST(Rows, TextsOfARowDecodeToIt) {
  Random random(8);
  const std::span<const InstRow> rows = all_rows();
  std::vector<Pattern> patterns;
  for (const InstRow& row : rows) patterns.push_back(parse_pattern(row.pattern));
  for (size_t i = 0; i < rows.size(); ++i)
    for (int round = 0; round < 100; ++round) {
      const ptx::Instruction text = random_text(rows[i], random);
      for (size_t k = 0; k < rows.size(); ++k) {
        const Pattern& candidate = patterns[k];
        if (candidate.opcode != text.opcode) continue;
        const bool matches = match_modifiers(candidate, text.modifiers).complete &&
                             match_operands(candidate, text.operands).has_value();
        EXPECT_EQ(matches, k == i) << text.spelling() << " by " << rows[k].pattern;
      }
    }
}

}  // namespace
}  // namespace coequal::isa
