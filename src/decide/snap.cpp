// The table of values that constants stand for.
#include "decide/snap.h"

#include <fmt/format.h>

#include <bit>
#include <optional>
#include <vector>

#include "term/ball.h"
#include "term/print.h"
#include "term/substitute.h"
#include "term/traverse.h"

namespace coequal::decide {

using term::Ball;
using term::Kind;
using term::NamedConstant;
using term::Rational;
using term::Term;

namespace {

constexpr int kPrecision = 160;

// m * 2^e with m odd; nothing if c is not dyadic.
struct Dyadic {
  int64_t bits = 0;      // of m
  int64_t exponent = 0;  // of the leading bit
};
std::optional<Dyadic> dyadic(const Rational& c) {
  const fmpz* n = fmpq_numref(c.get());
  const fmpz* d = fmpq_denref(c.get());
  const auto low = static_cast<int64_t>(fmpz_val2(d));
  if (static_cast<int64_t>(fmpz_bits(d)) != low + 1) return std::nullopt;
  const auto size = static_cast<int64_t>(fmpz_bits(n));
  return Dyadic{size - static_cast<int64_t>(fmpz_val2(n)), size - 1 - low};
}

// Whether the binary float `c`, `half` of a unit in its last place wide to each side, is nearest to
// x.
bool nearest(const Rational& c, const Rational& half, const Rational& x) {
  const Rational gap = x - c;
  return (gap.sign() < 0 ? -gap : gap) <= half;
}

// The decimal with that many significant digits nearest to c > 0.
Rational decimal(const Rational& c, int digits) {
  Rational scale(1);
  const Rational ten(10), top = ten.pow(digits), bottom = ten.pow(digits - 1);
  while (c * scale < bottom) scale = scale * ten;
  while (c * scale >= top) scale = scale / ten;
  return (c * scale + Rational(1, 2)).floor() / scale;
}

// Up to powers of two each value once: 1 / sqrt(2 pi) is half of sqrt(2 / pi).
constexpr NamedConstant kNamed[] = {NamedConstant::Log2E,         NamedConstant::Ln2,
                                    NamedConstant::Log10_2,       NamedConstant::Log2_10,
                                    NamedConstant::InvLn10,       NamedConstant::Pi,
                                    NamedConstant::InvPi,         NamedConstant::Sqrt2,
                                    NamedConstant::SqrtTwoOverPi, NamedConstant::InvSqrtPi};

std::string bits_text(const Rational& c, bool single) {
  const double value = c.to_double();
  if (single)
    return fmt::format("0x{:08x} ({:.9g})", std::bit_cast<uint32_t>(static_cast<float>(value)),
                       value);
  return fmt::format("0x{:016x} ({:.17g})", std::bit_cast<uint64_t>(value), value);
}

}  // namespace

Snapper::Reading Snapper::find(const Rational& signed_c, bool is_double) const {
  if (signed_c.is_integer()) return {};
  const bool negative = signed_c.sign() < 0;
  const Rational c = negative ? -signed_c : signed_c;
  const auto parts = dyadic(c);
  if (!parts || parts->bits > 53 || parts->exponent < -120 || parts->exponent > 120) return {};
  const bool single = parts->bits <= 24 && !is_double;
  const int precision = single ? 24 : 53;
  const int longest = single ? 6 : 12;  // digits of a decimal that says more than its rounding
  const Rational half = Rational::power_of_two(parts->exponent - precision);

  auto reading = [&](Term value, std::string meaning) {
    Reading out;
    out.changed = true;
    out.value = negative ? store_.make(Kind::Mul, {store_.real(-1), value}) : value;
    out.constant = bits_text(signed_c, single);
    out.meaning = (negative ? "-" : "") + std::move(meaning);
    return out;
  };
  std::vector<Reading> found;
  for (NamedConstant name : kNamed) {
    const Ball value = Ball::of_constant(name, kPrecision);
    // The power of two that brings the constant into the binade of the name.
    const auto own = dyadic(Rational::from_double(value.midpoint()));
    if (!own) continue;
    const int64_t shift = parts->exponent - own->exponent;
    if (shift < -24 || shift > 24) continue;
    const Rational scale = Rational::power_of_two(-shift);
    const Ball low((c - half) * scale, kPrecision), high((c + half) * scale, kPrecision);
    if (!surely_less(low, value) || !surely_less(value, high)) continue;
    const Term symbol = store_.symbol(name);
    const std::string text(term::name_of(name));
    if (shift == 0)
      found.push_back(reading(symbol, text));
    else
      found.push_back(
          reading(store_.make(Kind::Mul, {store_.real(Rational::power_of_two(shift)), symbol}),
                  Rational::power_of_two(shift).to_string() + " " + text));
  }
  // An exact short decimal stands for itself: 0.375.
  Rational shortest = c;
  int digits = 0;
  for (digits = 1; digits <= longest; ++digits) {
    shortest = decimal(c, digits);
    if (nearest(c, half, shortest)) break;
  }
  if (found.empty() && digits <= longest && shortest == c) return {};
  if (c < Rational(1)) {
    const Rational n = (Rational(1) / c + Rational(1, 2)).floor();
    const Rational inverse = Rational(1) / n;
    if (n < Rational(int64_t{1} << 20) && nearest(c, half, inverse) && !(inverse == c))
      found.push_back(reading(store_.real(inverse), inverse.to_string()));
  }
  if (found.size() == 1) return found[0];
  if (!found.empty()) return {};
  if (digits <= longest && !(shortest == c))
    return reading(store_.real(shortest), shortest.to_string());
  return {};
}

bool beside_named_constant(const Rational& signed_c) {
  const Rational c = signed_c.sign() < 0 ? -signed_c : signed_c;
  const auto parts = dyadic(c);
  if (!parts || parts->bits > 24 || parts->bits < 20) return false;
  const Rational unit = Rational::power_of_two(parts->exponent - 23);
  for (NamedConstant name : kNamed) {
    const Rational value = Rational::from_double(Ball::of_constant(name, kPrecision).midpoint());
    const Rational scaled =
        value * Rational::power_of_two(parts->exponent - dyadic(value)->exponent);
    if (nearest(c, unit * Rational(3, 2), scaled) && !nearest(c, unit * Rational(1, 2), scaled))
      return true;
  }
  return false;
}

Snapper::Reading Snapper::find_quotient(const Rational& c, bool is_double) {
  if (c.is_zero() || dyadic(c)) return find(c, is_double);
  Reading divisor = find(Rational(1) / c, is_double);
  if (!divisor.changed) return {};
  divisor.value = store_.make(Kind::Div, {store_.real(1), divisor.value});
  return divisor;
}

const Snapper::Reading& Snapper::read(const Term& constant) {
  const uint64_t key = store_.payload(constant);
  const auto it = readings_.find(key);
  if (it != readings_.end()) return it->second;
  const Rational c = store_.rational(constant);
  return readings_[key] = find_quotient(c, store_.is_double(constant));
}

Term Snapper::operator()(const Term& root, std::map<std::string, std::string>& ledger) {
  auto keeps_bits = [&](const Term& t) {
    switch (store_.kind(t)) {
      case Kind::Less:
      case Kind::LessEq:
      case Kind::Equal:
      case Kind::IsNumber:
      case Kind::Floor:
      case Kind::Ceil:
      case Kind::Trunc:
      case Kind::RoundEven:
      case Kind::BvOfReal:
      case Kind::BitsOfReal:
        return true;
      default:
        return false;
    }
  };
  std::vector<Term> stack{root};
  while (!stack.empty()) {
    const Term t = stack.back();
    if (done_.contains(t)) {
      stack.pop_back();
      continue;
    }
    const int arity = store_.arity(t);
    if (arity == 0 || keeps_bits(t)) {
      Term out = t;
      if (store_.kind(t) == Kind::RealConst)
        if (const Reading& r = read(t); r.changed) out = r.value;
      done_.emplace(t, out);
      stack.pop_back();
      continue;
    }
    const size_t before = stack.size();
    for (int i = arity; i-- > 0;)
      if (const Term child = store_.child(t, i); !done_.contains(child)) stack.push_back(child);
    if (stack.size() != before) continue;
    done_.emplace(t, term::over_children(
                         store_, t, [&](const Term& child) { return done_.find(child)->second; }));
    stack.pop_back();
  }
  const Term out = done_.find(root)->second;
  if (!(out == root)) {
    term::Postorder walk(store_);
    walk.walk(
        root, [&](const Term& t) { return !keeps_bits(t); },
        [&](const Term& t) {
          if (store_.kind(t) != Kind::RealConst) return;
          if (const Reading& r = read(t); r.changed) ledger[r.constant] = r.meaning;
        });
  }
  return out;
}

}  // namespace coequal::decide
