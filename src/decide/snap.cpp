// The table of values that constants stand for.
#include "decide/snap.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <set>

#include "term/evaluate.h"
#include "term/print.h"
#include "term/substitute.h"
#include "term/traverse.h"

namespace coequal::decide {

using term::Ball;
using term::Kind;
using term::NamedConstant;
using term::Rational;
using term::Term;
using term::TermStore;

namespace {

constexpr int kPrecision = 160;

Rational size_of(const Rational& c) { return c.sign() < 0 ? -c : c; }

// Whether the binary float `c`, `half` of a unit in its last place wide to each side, is nearest to
// x.
bool nearest(const Rational& c, const Rational& half, const Rational& x) {
  return size_of(x - c) <= half;
}

// The decimal with that many significant digits nearest to c > 0.
Rational decimal(const Rational& c, int digits) {
  Rational scale(1);
  const Rational ten(10), top = ten.pow(digits), bottom = ten.pow(digits - 1);
  while (c * scale < bottom) scale = scale * ten;
  while (c * scale >= top) scale = scale / ten;
  return (c * scale + Rational(1, 2)).floor() / scale;
}

// The fraction of least parts between two positive numbers, ends included.
Rational simplest_between(const Rational& low, const Rational& high) {
  const Rational whole = low.floor();
  if (whole == low) return whole;
  if (whole + Rational(1) <= high) return whole + Rational(1);
  return whole +
         Rational(1) / simplest_between(Rational(1) / (high - whole), Rational(1) / (low - whole));
}

// Numerator times denominator: how much a fraction says.
Rational weight(const Rational& r) {
  Rational numerator, denominator;
  fmpz_set(fmpq_numref(numerator.get()), fmpq_numref(r.get()));
  fmpz_set(fmpq_numref(denominator.get()), fmpq_denref(r.get()));
  return numerator * denominator;
}

// The middle of a ball, to well below its last place in doubles.
Rational middle(const Ball& b) {
  Rational r;
  arf_get_fmpq(r.get(), arb_midref(b.get()));
  return r;
}

// Up to powers of two each value once: 1 / sqrt(2 pi) is half of sqrt(2 / pi).
constexpr NamedConstant kNamed[] = {NamedConstant::Log2E,         NamedConstant::Ln2,
                                    NamedConstant::Log10_2,       NamedConstant::Log2_10,
                                    NamedConstant::InvLn10,       NamedConstant::Pi,
                                    NamedConstant::InvPi,         NamedConstant::Sqrt2,
                                    NamedConstant::SqrtTwoOverPi, NamedConstant::InvSqrtPi};
struct Composed {
  const char* name;
  Term (*make)(TermStore& s);
};
Term inverse(TermStore& s, NamedConstant c) { return s.make(Kind::Div, {s.real(1), s.symbol(c)}); }
const Composed kComposed[] = {
    {"ln(10)",
     [](TermStore& s) {
       return s.make(Kind::Mul, {s.symbol(NamedConstant::Ln2), s.symbol(NamedConstant::Log2_10)});
     }},
    {"sqrt(pi)", [](TermStore& s) { return inverse(s, NamedConstant::InvSqrtPi); }},
    {"sqrt(pi/2)", [](TermStore& s) { return inverse(s, NamedConstant::SqrtTwoOverPi); }},
    {"pi^2",
     [](TermStore& s) {
       return s.make(Kind::Mul, {s.symbol(NamedConstant::Pi), s.symbol(NamedConstant::Pi)});
     }},
    {"e", [](TermStore& s) { return s.make(Kind::Exp2, {s.symbol(NamedConstant::Log2E)}); }},
    {"1/e",
     [](TermStore& s) {
       return s.make(Kind::Exp2, {s.make(Kind::Mul, {s.real(-1), s.symbol(NamedConstant::Log2E)})});
     }},
};

// Numbers that a float's mantissa tells apart: what a fraction, or a multiple, may say at most.
struct Limits {
  int precision;     // of the mantissa
  int digits;        // of a decimal that says more than its rounding
  int64_t fraction;  // weight of a fraction that a constant is nearest to
  int64_t radicand;  // of one that its square is
  int64_t multiple;  // of a factor of a named constant
};
constexpr Limits kSingle{24, 6, 1 << 9, 1 << 10, 1 << 10};
constexpr Limits kDouble{53, 12, 1 << 24, 1 << 20, 1 << 20};

std::string bits_text(const Rational& c, bool single) {
  const double value = c.to_double();
  if (single)
    return fmt::format("0x{:08x} ({:.9g})", std::bit_cast<uint32_t>(static_cast<float>(value)),
                       value);
  return fmt::format("0x{:016x} ({:.17g})", std::bit_cast<uint64_t>(value), value);
}

// Whether the constant is what a compiler makes of an expression of literals: the product of both
// factors rounded to its type first, the quotient by the inverse of the first, the root of the
// rounded square, an inverse of one of these.
bool is_computed(const Rational& c, const Rational& factor, double base, bool single) {
  const double f = factor.to_double(), g = (Rational(1) / factor).to_double();
  if (!single) return c == Rational::from_double(f * base) || c == Rational::from_double(base / g);
  const auto f4 = static_cast<float>(f), g4 = static_cast<float>(g), b4 = static_cast<float>(base);
  const double whole = f * base;
  const float root = std::sqrt(static_cast<float>(whole * whole)),
              inverse_root = std::sqrt(static_cast<float>(1 / (whole * whole)));
  for (const float made :
       {f4 * b4, b4 / g4, root, 1 / static_cast<float>(1 / whole), 1 / inverse_root})
    if (c == Rational::from_double(made)) return true;
  return false;
}

}  // namespace

std::optional<Dyadic> dyadic(const Rational& c) {
  const fmpz* n = fmpq_numref(c.get());
  const fmpz* d = fmpq_denref(c.get());
  const auto low = static_cast<int64_t>(fmpz_val2(d));
  if (static_cast<int64_t>(fmpz_bits(d)) != low + 1) return std::nullopt;
  const auto size = static_cast<int64_t>(fmpz_bits(n));
  return Dyadic{size - static_cast<int64_t>(fmpz_val2(n)), size - 1 - low};
}

bool keeps_bits(Kind kind) {
  switch (kind) {
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
}

const std::vector<Snapper::Base>& Snapper::bases() {
  if (!bases_.empty()) return bases_;
  const term::MapAssignment nothing;
  const auto add = [&](const Term& t, std::string name) {
    const Ball value = evaluate_ball(store_, t, nothing, kPrecision).ball;
    bases_.push_back({t, value, std::move(name), std::ilogb(value.midpoint())});
  };
  for (const NamedConstant name : kNamed) add(store_.symbol(name), std::string(name_of(name)));
  for (const Composed& c : kComposed) add(c.make(store_), c.name);
  return bases_;
}

Snapper::Reading Snapper::find(const Rational& signed_c, bool is_double) {
  if (signed_c.is_integer()) return {};
  const bool negative = signed_c.sign() < 0;
  const Rational c = size_of(signed_c);
  const auto parts = dyadic(c);
  if (!parts || parts->bits > 53 || parts->exponent < -120 || parts->exponent > 120) return {};
  const bool single = parts->bits <= 24 && !is_double;
  const Limits& limits = single ? kSingle : kDouble;
  const Rational half = Rational::power_of_two(parts->exponent - limits.precision);

  auto reading = [&](Term value, std::string meaning) {
    Reading out;
    out.changed = true;
    out.value = negative ? store_.make(Kind::Mul, {store_.real(-1), value}) : value;
    out.constant = bits_text(signed_c, single);
    out.meaning = (negative ? "-" : "") + std::move(meaning);
    return out;
  };
  auto times = [&](const Rational& factor, const Base& base) {
    if (factor.is_one()) return reading(base.term, base.name);
    return reading(store_.make(Kind::Mul, {store_.real(factor), base.term}),
                   factor.to_string() + " " + base.name);
  };
  std::vector<Reading> found;
  for (const Base& base : bases()) {
    // The power of two that brings the constant into the binade of the name.
    const int64_t shift = parts->exponent - base.exponent;
    if (shift < -24 || shift > 24) continue;
    const Rational scale = Rational::power_of_two(-shift);
    const Ball low((c - half) * scale, kPrecision), high((c + half) * scale, kPrecision);
    if (surely_less(low, base.value) && surely_less(base.value, high))
      found.push_back(times(Rational::power_of_two(shift), base));
  }
  // An exact short decimal stands for itself: 0.375.
  Rational shortest = c;
  int digits = 0;
  for (digits = 1; digits <= limits.digits; ++digits) {
    shortest = decimal(c, digits);
    if (nearest(c, half, shortest)) break;
  }
  if (found.empty() && digits <= limits.digits && shortest == c) return {};
  if (c < Rational(1)) {
    const Rational n = (Rational(1) / c + Rational(1, 2)).floor();
    const Rational inverse = Rational(1) / n;
    if (n < Rational(int64_t{1} << 20) && nearest(c, half, inverse) && !(inverse == c))
      found.push_back(reading(store_.real(inverse), inverse.to_string()));
  }
  if (found.size() == 1) return found[0];
  if (!found.empty()) return {};
  if (digits <= limits.digits) return reading(store_.real(shortest), shortest.to_string());

  // Of what says more than that, the first kind that has just one such value.
  const Rational fraction = simplest_between(c - half, c + half);
  if (weight(fraction) <= Rational(limits.fraction))
    return reading(store_.real(fraction), fraction.to_string());
  auto radicand_between = [&](const Rational& low,
                              const Rational& high) -> std::optional<Rational> {
    const Rational r = simplest_between(low * low, high * high);
    return weight(r) <= Rational(limits.radicand) ? std::optional(r) : std::nullopt;
  };
  if (const auto r = radicand_between(c - half, c + half))
    return reading(store_.make(Kind::Sqrt, {store_.real(*r)}), "sqrt(" + r->to_string() + ")");
  // A product of rounded factors is up to three halves of a unit off.
  const Rational wide = half * Rational(3);
  for (const Base& base : bases()) {
    const Rational value = middle(base.value);
    const Rational low = (c - wide) / value, high = (c + wide) / value;
    const auto is_near = [&](const Rational& factor) {
      return nearest(c, half, factor * value) ||
             is_computed(c, factor, base.value.midpoint(), single);
    };
    if (const Rational factor = simplest_between(low, high);
        weight(factor) <= Rational(limits.multiple) && is_near(factor))
      found.push_back(times(factor, base));
  }
  if (found.empty())
    for (const Base& base : bases()) {
      // A root times log2(e): the scale of an attention, made one of powers of two.
      if (base.name != name_of(NamedConstant::Log2E)) continue;
      const Rational value = middle(base.value);
      const auto r = radicand_between((c - wide) / value, (c + wide) / value);
      if (!r) continue;
      const double root = std::sqrt(r->to_double()), exact = base.value.midpoint();
      const bool is_near = std::fabs(root * exact - c.to_double()) <= half.to_double() ||
                           (single && c == Rational::from_double(static_cast<float>(root) *
                                                                 static_cast<float>(exact)));
      if (single && is_near)
        found.push_back(
            reading(store_.make(Kind::Mul, {store_.make(Kind::Sqrt, {store_.real(*r)}), base.term}),
                    "sqrt(" + r->to_string() + ") " + base.name));
    }
  // Two literals of single precision, whose exact product the terms' own folding made.
  constexpr int kSingleBits = 24;
  if (found.empty() && !is_double && parts->bits > kSingleBits && parts->bits <= 2 * kSingleBits)
    for (const Base& base : bases()) {
      const Rational rounded = Rational::from_double(static_cast<float>(base.value.midpoint()));
      const Rational other = c / rounded;
      const auto its = dyadic(other);
      if (!its || its->bits > kSingleBits) continue;
      const Reading factor = find(other, false);
      const Term value = factor.changed ? factor.value : store_.real(other);
      found.push_back(
          reading(store_.make(Kind::Mul, {value, base.term}),
                  (factor.changed ? factor.meaning : other.to_string()) + " " + base.name));
    }
  return found.size() == 1 ? found[0] : Reading{};
}

bool beside_named_constant(const Rational& signed_c) {
  const Rational c = size_of(signed_c);
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
  if (const auto rest = rests_.find(key); rest != rests_.end()) return rest->second;
  const auto it = readings_.find(key);
  if (it != readings_.end()) return it->second;
  const Rational c = store_.rational(constant);
  Reading found = find_quotient(c, store_.is_double(constant));
  return readings_[key] = std::move(found);
}

Snapper::Rests Snapper::find_rests(std::initializer_list<Term> terms) {
  // A literal and what is left of the name are this far apart, or the match says little.
  constexpr int kApart = 8;
  std::map<Rational, Term> literals;
  term::Postorder walk(store_);
  for (const Term& t : terms)
    walk.walk(
        t, [&](const Term& x) { return !keeps_bits(store_.kind(x)); },
        [&](const Term& x) {
          if (const Rational* c = store_.as_rational(x); c && !c->is_zero() && dyadic(*c))
            literals.emplace(*c, x);
        });
  Rests rests;
  const auto literal_near = [&](const Rational& x) {
    auto it = literals.find(Rational::from_double(static_cast<float>(x.to_double())));
    return it != literals.end() ? it : literals.find(Rational::from_double(x.to_double()));
  };
  // Only a literal far below another one can continue it.
  Rational least, most;
  for (const auto& [c, t] : literals) {
    const Rational size = size_of(c);
    if (least.is_zero() || size < least) least = size;
    if (size > most) most = size;
  }
  if (!(least * Rational::power_of_two(kApart) < most)) return rests;
  for (const auto& [c, t] : literals) {
    const Rational size = size_of(c);
    const auto parts = dyadic(size);
    if (parts->bits < kApart || parts->exponent < -120 || parts->exponent > 120) continue;
    for (const Base& base : bases()) {
      const int64_t shift = parts->exponent - base.exponent;
      const Rational scaled = middle(base.value) * Rational::power_of_two(shift);
      const Rational whole = c.sign() < 0 ? -scaled : scaled;
      Rational rest = whole - c;
      if (rest.is_zero() || size_of(rest) > size * Rational::power_of_two(-kApart)) continue;
      auto next = literal_near(rest);
      if (next == literals.end() || next->second == t) continue;
      const auto put = [&](const Term& literal, Term value, const char* what) {
        Reading reading;
        reading.changed = true;
        reading.value = value;
        reading.constant = bits_text(store_.rational(literal), !store_.is_double(literal));
        reading.meaning = fmt::format("{} of {}", what, base.name);
        rests.emplace(store_.payload(literal), std::move(reading));
      };
      const Rational factor = Rational::power_of_two(shift) * Rational(c.sign());
      // Beside a literal that is read as the name itself nothing is left.
      if (read(t).changed)
        put(next->second, store_.real(0), "nothing beyond the digits");
      else
        put(next->second,
            store_.make(Kind::Add, {store_.make(Kind::Mul, {store_.real(factor), base.term}),
                                    store_.real(-c)}),
            "all further digits");
      rest = rest - next->first;
      if (rest.is_zero()) break;
      const auto last = literal_near(rest);
      if (last != literals.end() && !(last->second == next->second))
        put(last->second, store_.real(0), "nothing beyond the digits");
      break;
    }
  }
  return rests;
}

std::vector<Term> Snapper::operator()(std::initializer_list<Term> terms,
                                      std::map<std::string, std::string>& ledger) {
  if (!rests_.empty()) {
    rests_.clear();
    done_.clear();
  }
  if (Rests rests = find_rests(terms); !rests.empty()) {
    rests_ = std::move(rests);
    done_.clear();
  }
  std::vector<Term> out;
  for (const Term& t : terms) out.push_back(rebuilt(t, ledger));
  return out;
}

Term Snapper::rebuilt(const Term& root, std::map<std::string, std::string>& ledger) {
  std::vector<Term> stack{root};
  while (!stack.empty()) {
    const Term t = stack.back();
    if (done_.contains(t)) {
      stack.pop_back();
      continue;
    }
    const int arity = store_.arity(t);
    if (arity == 0 || keeps_bits(store_.kind(t))) {
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
        root, [&](const Term& t) { return !keeps_bits(store_.kind(t)); },
        [&](const Term& t) {
          if (store_.kind(t) != Kind::RealConst) return;
          if (const Reading& r = read(t); r.changed) ledger[r.constant] = r.meaning;
        });
  }
  return out;
}

}  // namespace coequal::decide
