#include "decide/slack.h"

#include <cmath>

#include "decide/snap.h"
#include "term/traverse.h"

namespace coequal::decide {

using term::Ball;
using term::Kind;
using term::Rational;
using term::Term;
using term::TermStore;
using term::Value;

namespace {

constexpr int kPrecision = 192;

// Half a unit in the last place of a literal that fills its mantissa; 0 of others.
Rational half_unit(const Rational& literal, bool is_double) {
  constexpr int kSingle = 24, kDouble = 53;
  // A literal that people write has few digits; a rounded constant fills its mantissa.
  constexpr int kFull = 18;
  const auto parts = dyadic(literal);
  if (!parts || parts->bits <= kFull) return {};
  if (is_double) {
    // Of fewer bits it is written as it is, or widened.
    if (parts->bits <= kSingle || parts->bits > kDouble) return {};
    return Rational::power_of_two(parts->exponent - kDouble);
  }
  if (parts->bits <= kSingle) {
    const Rational half = Rational::power_of_two(parts->exponent - kSingle);
    return beside_named_constant(literal) ? half * Rational(3) : half;
  }
  // A product or a sum of singles, made exactly by the terms' own folding.
  if (parts->bits <= 2 * kSingle) return Rational::power_of_two(parts->exponent - kSingle + 1);
  return {};
}

// Values with one literal moved; the others are taken from an evaluation that was done before.
class Moved {
 public:
  using Value = term::Value;
  Moved(const TermStore& store, const term::Assignment& at, term::Evaluator& as_it_is,
        uint64_t payload, const Rational& moved)
      : store_(store),
        exact_(store, at, kPrecision),
        as_it_is_(as_it_is),
        payload_(payload),
        moved_(moved) {}

  Value apply(const Term& t, const std::array<const Value*, 3>& args) const {
    const Kind kind = store_.kind(t);
    if (kind == Kind::RealConst && store_.payload(t) == payload_) {
      Value v;
      v.kind = Value::Kind::Real;
      v.exact = moved_;
      return v;
    }
    if (keeps_bits(kind)) return as_it_is_(t);
    return exact_.apply(t, args);
  }
  int choose(const Value& condition) const { return exact_.choose(condition); }

 private:
  const TermStore& store_;
  term::ValueDomain exact_;
  term::Evaluator& as_it_is_;
  uint64_t payload_;
  const Rational& moved_;
};

Ball difference(const Value& a, const Value& b) {
  if (a.exact && b.exact) return Ball(*a.exact - *b.exact, kPrecision);
  const Ball x = a.exact ? Ball(*a.exact, kPrecision) : a.ball,
             y = b.exact ? Ball(*b.exact, kPrecision) : b.ball;
  Ball d;
  arb_sub(d.get(), x.get(), y.get(), kPrecision);
  return d;
}

}  // namespace

Slack::Slack(const TermStore& store, const Term& a, const Term& b, const Slack* among)
    : store_(store), a_(a), b_(b) {
  absl::flat_hash_map<uint64_t, int> sides;
  std::vector<Term> constants;
  for (const Term& side : {a, b}) {
    const int bit = side == a ? 1 : 2;
    term::Postorder(store).walk(
        side, [&](const Term& t) { return !keeps_bits(store.kind(t)); },
        [&](const Term& t) {
          if (store.kind(t) != Kind::RealConst) return;
          if (int& found = sides[store.payload(t)]; !(found & bit)) {
            if (!found) constants.push_back(t);
            found |= bit;
          }
        });
  }
  for (const Term& t : constants) {
    const uint64_t payload = store.payload(t);
    if (among && !among->known_.contains(payload)) continue;
    const Rational& c = store.rational(t);
    Rational moved = c;
    if (dyadic(c)) {
      moved = c + half_unit(c, store.is_double(t));
    } else if (const Rational divisor = Rational(1) / c; dyadic(divisor)) {
      // A division by a literal has become a product.
      moved = Rational(1) / (divisor + half_unit(divisor, store.is_double(t)));
    }
    if (moved == c) continue;
    known_.insert(payload);
    literals_.push_back({payload, std::move(moved)});
    if (sides[payload] != 3) ++one_sided_;
  }
}

bool Slack::explains(const Value& va, const Value& vb, const term::Assignment& at) const {
  if (literals_.empty() || has_too_many()) return false;
  if (va.kind != Value::Kind::Real || vb.kind != Value::Kind::Real) return false;
  term::Evaluator as_it_is = term::make_evaluator(store_, at, kPrecision);
  const Value a = as_it_is(a_), b = as_it_is(b_);
  if (a.kind != Value::Kind::Real || b.kind != Value::Kind::Real) return false;
  const Ball gap = difference(a, b);
  // Exactly as far as two literals beside each other are apart is too far.
  constexpr double kTouching = 1 - 0x1p-10;
  const double size = std::abs(gap.midpoint());
  double slack = 0;
  for (const Literal& l : literals_) {
    term::Evaluation<Moved> moved(store_, Moved(store_, at, as_it_is, l.payload, l.moved));
    const Value x = moved(a_), y = moved(b_);
    if (x.kind != Value::Kind::Real || y.kind != Value::Kind::Real) return true;
    const Ball there = difference(x, y);
    Ball change;
    arb_sub(change.get(), there.get(), gap.get(), kPrecision);
    slack += (std::abs(change.midpoint()) + change.radius()) * kTouching;
    if (size < slack) return true;
  }
  return false;
}

}  // namespace coequal::decide
