#include "decide/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "base/float_bits.h"
#include "decide/snap.h"
#include "term/traverse.h"

namespace coequal::decide {

using term::Kind;
using term::Rational;
using term::Term;
using term::Value;

namespace {

// What an integer variable of the dtype can be.
term::WordRange integer_range(DType dtype) {
  if (dtype == DType::Bool) return {0, 1};
  return term::word_range(8 * dtype_size(dtype), is_signed_integer(dtype));
}

constexpr int kPrecisions[] = {96, 320, 1500};

// Below this, the polynomial of an inlined library function explains a difference.
constexpr double kSmall = 0x1p-14;

// Whether a value is too small for a normal float (or double).
bool is_subnormal(const Value& v, bool doubles) {
  if (v.kind != Value::Kind::Real) return false;
  const double d = v.exact ? v.exact->to_double() : v.ball.midpoint();
  return std::abs(d) < (doubles ? 0x1p-1022 : 0x1p-126);
}

double magnitude(const Value& v) {
  if (v.kind != Value::Kind::Real) return 0;
  return std::abs(v.exact ? v.exact->to_double() : v.ball.midpoint());
}

// How far two real values are apart; nothing of others.
std::optional<double> distance(const Value& a, const Value& b) {
  if (a.kind != Value::Kind::Real || b.kind != Value::Kind::Real) return std::nullopt;
  if (a.exact && b.exact) return std::abs((*a.exact - *b.exact).to_double());
  const double x = a.exact ? a.exact->to_double() : a.ball.midpoint(),
               y = b.exact ? b.exact->to_double() : b.ball.midpoint();
  return std::abs(x - y);
}

// What the evaluation of a term meets: all nodes but those of arms that are not chosen. Stops when
// `visit` says so, and says whether it did.
template <typename Evaluation, typename Visit>
bool meets(const term::TermStore& store, Evaluation& evaluate, const Term& root, Visit visit) {
  std::vector<Term> stack{root};
  absl::flat_hash_set<Term> seen;
  while (!stack.empty()) {
    const Term t = stack.back();
    stack.pop_back();
    if (!seen.insert(t).second) continue;
    const Value& v = evaluate(t);
    if (visit(t, v)) return true;
    if (store.kind(t) == Kind::Select) {
      const Value& c = evaluate(store.child(t, 0));
      stack.push_back(store.child(t, 0));
      if (c.kind == Value::Kind::Bool) stack.push_back(store.child(t, c.bits ? 1 : 2));
      continue;
    }
    for (int i = 0; i < store.arity(t); ++i) stack.push_back(store.child(t, i));
  }
  return false;
}

// Whether the sign of a zero that was computed is read: reals have one zero only, so the value says
// nothing about floats.
template <typename Evaluation>
bool reads_zero_sign(const term::TermStore& store, Evaluation& evaluate, const Term& root) {
  return meets(store, evaluate, root, [&](const Term& t, const Value&) {
    const Kind kind = store.kind(t);
    if (kind != Kind::BitsOfReal && kind != Kind::CopySign) return false;
    const Term read = store.child(t, kind == Kind::CopySign ? 1 : 0);
    if (store.arity(read) == 0 || store.kind(read) == Kind::Abs) return false;
    const Value& v = evaluate(read);
    return v.exact && v.exact->is_zero();
  });
}

// The largest number near the end of a computation: what its rounding errors are parts of.
constexpr int kScaleDepth = 6;
double scale_of(const term::TermStore& store, term::Evaluator& evaluate, const Term& t,
                int depth = kScaleDepth) {
  double most = magnitude(evaluate(t));
  if (depth == 0) return most;
  auto below = [&](int i) {
    most = std::max(most, scale_of(store, evaluate, store.child(t, i), depth - 1));
  };
  switch (store.kind(t)) {
    case Kind::Add:
    case Kind::Min:
    case Kind::Max:
      below(0);
      below(1);
      break;
    case Kind::Abs:
    case Kind::CopySign:
      below(0);
      break;
    case Kind::Select: {
      const Value& c = evaluate(store.child(t, 0));
      if (c.kind == Value::Kind::Bool) below(c.bits ? 1 : 2);
      break;
    }
    case Kind::Mul:
      for (int i = 0; i < 2; ++i)
        if (const Rational* c = store.as_rational(store.child(t, i)))
          most = std::max(most, std::abs(c->to_double()) *
                                    scale_of(store, evaluate, store.child(t, 1 - i), depth - 1));
      break;
    default:
      break;
  }
  return most;
}

}  // namespace

Rational PointSearch::fit(const Variable& v, Rational value) const {
  const term::Bounds& b = *v.bounds;
  if (v.is_integer) {
    value = value.floor();
    auto [low, high] = integer_range(v.dtype);
    if (b.min) low = std::max(low, -((-*b.min).floor()));
    if (b.max) high = std::min(high, b.max->floor());
    if (b.above) low = std::max(low, b.above->floor() + 1);
    if (b.below) high = std::min(high, -((-*b.below).floor()) - 1);
    if (value < low) return low;
    if (value > high) return high;
    return value;
  }
  const auto inside = [&](const Rational& x) {
    return !(b.min && x < *b.min) && !(b.max && x > *b.max) && !(b.above && x <= *b.above) &&
           !(b.below && x >= *b.below);
  };
  const FloatSpec spec = float_spec(v.dtype);
  const auto representable = [&](const Rational& x, FloatRounding rounding) {
    const double d = x.to_double();
    const double most = dtype_max_finite(v.dtype);
    const uint64_t bits = float_from_double(spec, std::clamp(d, -most, most), {rounding, false});
    if (float_is_infinite(spec, bits) || float_is_nan(spec, bits)) return Rational(0);
    const FloatParts p = float_parts(spec, bits);
    const Rational r = Rational::from_u64(p.mantissa) * Rational::power_of_two(p.exponent);
    return p.negative ? -r : r;
  };
  Rational near = representable(value, FloatRounding::NearestEven);
  if (inside(near)) return near;
  // Into the bounds: their ends, or a little inside of them.
  Rational low = b.min     ? *b.min
                 : b.above ? *b.above
                           : Rational(0),
           high = b.max     ? *b.max
                  : b.below ? *b.below
                            : low + 1;
  if (!b.min && !b.above) low = high - 1;
  for (const auto& [x, mode] :
       {std::pair{low, FloatRounding::Up}, std::pair{high, FloatRounding::Down},
        std::pair{(low + high) / 2, FloatRounding::NearestEven},
        std::pair{low + (high - low) / 1024, FloatRounding::Up}}) {
    near = representable(x, mode);
    if (inside(near)) return near;
  }
  return near;
}

PointSearch::Ground PointSearch::ground(std::initializer_list<Term> roots) const {
  Ground g;
  term::Postorder order(store_);
  std::set<std::pair<bool, Rational>> seen_reals, seen_integers;
  std::vector<Rational> other_reals;
  const auto real = [&](const Rational& r, bool compared) {
    if (!seen_reals.insert({compared, r}).second) return;
    (compared ? g.reals : other_reals).push_back(r);
  };
  const auto integer = [&](const Rational& r) {
    if (seen_integers.insert({true, r}).second) g.integers.push_back(r);
  };
  for (const Term& root : roots)
    order.walk(root, [&](const Term& t) {
      const Kind kind = store_.kind(t);
      Variable v;
      if (kind == Kind::Leaf) {
        v.group = store_.groups(t)[0];
        const term::Group& group = store_.group(v.group);
        if (group.kind != term::Group::Kind::Input) return;
        v.cell = store_.anchor(t, 0).cell;
        v.is_integer = group.type.cls == term::TypeClass::Bv;
        v.dtype = group.dtype;
        v.bounds = &group.bounds;
        v.sorted = group.sorted;
        g.variables.push_back(v);
      } else if (kind == Kind::Scalar) {
        v.is_scalar = true;
        v.scalar = static_cast<uint32_t>(store_.payload(t));
        const term::FreeScalar& s = store_.scalar(v.scalar);
        v.is_integer = s.type.cls == term::TypeClass::Bv;
        v.dtype = s.dtype;
        v.bounds = &s.bounds;
        g.variables.push_back(v);
      } else if (kind == Kind::RealConst) {
        real(store_.rational(t), false);
      } else if (kind == Kind::Less || kind == Kind::LessEq || kind == Kind::Equal) {
        g.comparisons.push_back(t);
        for (int i = 0; i < 2; ++i)
          if (const Rational* r = store_.as_rational(store_.child(t, i))) real(*r, true);
      } else if (kind == Kind::Min || kind == Kind::Max) {
        for (int i = 0; i < 2; ++i)
          if (const Rational* r = store_.as_rational(store_.child(t, i))) real(*r, true);
      } else if (kind == Kind::BvConst) {
        const uint64_t bits = *store_.as_bits(t);
        const int width = store_.type(t).width;
        integer(Rational::from_u64(bits));
        if (width < 64 && bits >> (width - 1))
          integer(Rational::from_u64(bits) - Rational::power_of_two(width));
      }
    });
  g.reals.insert(g.reals.end(), other_reals.begin(), other_reals.end());
  for (const Variable& v : g.variables) g.doubles |= v.dtype == DType::F64;
  // Cells in order, so that reports and sorted groups do not depend on the terms' structure.
  std::sort(g.variables.begin(), g.variables.end(), [](const Variable& a, const Variable& b) {
    return std::tuple(a.is_scalar, a.group, a.cell, a.scalar) <
           std::tuple(b.is_scalar, b.group, b.cell, b.scalar);
  });
  return g;
}

PointSearch::Point PointSearch::fitted(const Ground& g, Point point) const {
  for (size_t i = 0; i < point.size(); ++i) point[i] = fit(g.variables[i], std::move(point[i]));
  for (size_t i = 1; i < point.size(); ++i) {
    const Variable &a = g.variables[i - 1], &b = g.variables[i];
    if (b.sorted && !a.is_scalar && !b.is_scalar && a.group == b.group && point[i] < point[i - 1])
      point[i] = point[i - 1];
  }
  return point;
}

term::MapAssignment PointSearch::assignment(const Ground& g, const Point& point) const {
  term::MapAssignment out;
  for (size_t i = 0; i < point.size(); ++i) {
    const Variable& v = g.variables[i];
    if (v.is_scalar)
      out.set_scalar(v.scalar, point[i]);
    else
      out.set_leaf(v.group, v.cell, point[i]);
  }
  return out;
}

Assignment PointSearch::named(const Ground& g, const Point& point) const {
  Assignment out;
  for (size_t i = 0; i < point.size(); ++i) {
    const Variable& v = g.variables[i];
    if (v.is_scalar)
      out.scalars[v.scalar] = point[i];
    else if (!point[i].is_zero())
      out.cells[{v.group, v.cell}] = point[i];
  }
  return out;
}

bool PointSearch::for_each_point(const Ground& g, const Budget& budget, const Visit& visit) const {
  const size_t n = g.variables.size();
  const auto offer = [&](Point p) { return budget.spent() || visit(fitted(g, std::move(p))); };
  const auto all = [&](const Rational& x) { return Point(n, x); };
  const auto pattern = [&](auto&& f) {
    Point p;
    p.reserve(n);
    for (size_t i = 0; i < n; ++i) p.push_back(f(i));
    return p;
  };
  static constexpr int kPrimes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  const Point distinct = pattern(
      [&](size_t i) { return Rational(kPrimes[i % 12] + 37 * static_cast<int64_t>(i / 12)); });
  const Point signed_small =
      pattern([&](size_t i) { return Rational(static_cast<int64_t>(i * 7 % 5) - 2); });
  const Point quarters =
      pattern([&](size_t i) { return Rational(static_cast<int64_t>(i * 5 % 11) - 5, 4); });

  if (offer(pattern([](size_t i) { return Rational(static_cast<int64_t>(i % 3) + 1); })))
    return true;
  if (offer(quarters) || offer(distinct) || offer(all(0)) || offer(all(1)) || offer(all(-1)) ||
      offer(signed_small))
    return true;
  if (n == 0) return false;

  // Thresholds: every variable, and single ones, at the terms' own constants; and just beside them.
  const size_t most = std::min<size_t>(g.reals.size(), 24);
  for (size_t k = 0; k < most; ++k)
    if (offer(all(g.reals[k]))) return true;
  const size_t single = std::min<size_t>(n, 24);
  for (size_t k = 0; k < std::min<size_t>(most, 8); ++k)
    for (size_t i = 0; i < single; ++i)
      for (const Point* base : {&quarters, &signed_small}) {
        Point p = *base;
        p[i] = g.reals[k];
        if (offer(std::move(p))) return true;
      }
  for (size_t k = 0; k < std::min<size_t>(g.integers.size(), 16); ++k) {
    const auto integers_only = [&](const Point& base) {
      Point p = base;
      for (size_t i = 0; i < n; ++i)
        if (g.variables[i].is_integer) p[i] = g.integers[k];
      return p;
    };
    if (offer(integers_only(quarters)) || offer(integers_only(distinct))) return true;
    for (size_t i = 0; i < single; ++i)
      if (g.variables[i].is_integer) {
        Point p = quarters;
        p[i] = g.integers[k];
        if (offer(std::move(p))) return true;
      }
  }
  // Integers at the ends of their bounds, floats distinct.
  for (const bool high : {false, true}) {
    Point p = distinct;
    for (size_t i = 0; i < n; ++i)
      if (g.variables[i].is_integer) p[i] = Rational::power_of_two(64) * Rational(high ? 1 : -1);
    if (offer(std::move(p))) return true;
  }
  // Comparisons that are linear in one variable, met exactly and from both sides.
  size_t solved = 0;
  for (const Term& c : g.comparisons) {
    if (solved > 64 || budget.spent()) break;
    const Ground own = ground({c});
    for (size_t k = 0; k < std::min<size_t>(own.variables.size(), 4); ++k) {
      const auto it = std::find_if(g.variables.begin(), g.variables.end(), [&](const Variable& v) {
        const Variable& w = own.variables[k];
        return v.is_scalar == w.is_scalar && v.group == w.group && v.cell == w.cell &&
               v.scalar == w.scalar;
      });
      if (it == g.variables.end() || it->is_integer) continue;
      const size_t at = static_cast<size_t>(it - g.variables.begin());
      Point p = fitted(g, quarters);
      const auto gap = [&](const Rational& x) -> std::optional<Rational> {
        p[at] = x;
        const term::MapAssignment where = assignment(g, p);
        const auto l = term::evaluate_exact(store_, store_.child(c, 0), where),
                   r = term::evaluate_exact(store_, store_.child(c, 1), where);
        if (!l || !r || !l->exact || !r->exact) return std::nullopt;
        return *l->exact - *r->exact;
      };
      const auto f0 = gap(0), f1 = gap(1);
      ++solved;
      if (!f0 || !f1 || *f0 == *f1) continue;
      const Rational root = *f0 / (*f0 - *f1);
      for (const Rational& x : {root, root + Rational(1, 8), root - Rational(1, 8)}) {
        Point q = quarters;
        q[at] = x;
        if (offer(std::move(q))) return true;
      }
    }
  }
  // One-hot, and all but one.
  for (size_t i = 0; i < std::min<size_t>(n, 48); ++i) {
    Point p = all(0);
    p[i] = 1;
    if (offer(std::move(p))) return true;
    Point q = distinct;
    q[i] = 0;
    if (offer(std::move(q))) return true;
  }
  for (const Rational& scale :
       {Rational(1000), Rational(1, 1024), Rational(100000000), Rational(-300)})
    if (offer(pattern([&](size_t i) { return distinct[i] * scale; }))) return true;

  std::mt19937_64 random(options_.seed);
  const auto draw = [&](int64_t span) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(2 * span + 1)) - span;
  };
  for (int round = 0; round < 64; ++round) {
    const int64_t span = round % 4 == 0 ? 1 : round % 4 == 1 ? 3 : round % 4 == 2 ? 12 : 200;
    const int64_t unit = round % 3 == 0 ? 1 : round % 3 == 1 ? 4 : 16;
    const bool constants = round % 5 == 4 && !g.reals.empty();
    if (offer(pattern([&](size_t i) -> Rational {
          if (g.variables[i].is_integer) {
            if (round % 2 && !g.integers.empty() && random() % 2)
              return g.integers[random() % g.integers.size()];
            const auto [low, high] = integer_range(g.variables[i].dtype);
            if (round % 8 == 7)
              return low + (high - low) * Rational(static_cast<int64_t>(random() % 1000), 999);
            return Rational(draw(span * 4));
          }
          if (constants && random() % 2) return g.reals[random() % g.reals.size()];
          return Rational(draw(span * unit), unit);
        })))
      return true;
  }
  return false;
}

PointSearch::Difference PointSearch::differ(const Term& a, const Term& b,
                                            const term::Assignment& at, Value* va,
                                            Value* vb) const {
  for (const int precision : kPrecisions) {
    term::Evaluator evaluate = term::make_evaluator(store_, at, precision);
    const Value x = evaluate(a), y = evaluate(b);
    const bool settled = x.kind != Value::Kind::Unknown && y.kind != Value::Kind::Unknown &&
                         x.kind != Value::Kind::Undecided && y.kind != Value::Kind::Undecided;
    if (x.is_defined() && y.is_defined()) {
      const auto same = term::same_value(x, y);
      if (same && *same) return Difference::None;
      if (same) {
        *va = x;
        *vb = y;
        if (reads_zero_sign(store_, evaluate, a) || reads_zero_sign(store_, evaluate, b) ||
            !shown_by_code(at, x, y))
          return Difference::None;
        return Difference::Values;
      }
    } else if (settled) {
      if (x.kind == Value::Kind::Poison || y.kind == Value::Kind::Poison) return Difference::None;
      *va = x;
      *vb = y;
      return x.is_defined() != y.is_defined() ? Difference::OneSide : Difference::None;
    }
  }
  return Difference::None;
}

bool PointSearch::is_small(const Term& a, const Term& b, const term::Assignment& at,
                           const Value& va, const Value& vb) const {
  const auto gap = distance(va, vb);
  if (!gap) return false;
  term::Evaluator evaluate = term::make_evaluator(store_, at, kPrecisions[0]);
  return *gap < kSmall * std::max(scale_of(store_, evaluate, a), scale_of(store_, evaluate, b));
}

bool PointSearch::shown_by_code(const term::Assignment& at, const Value& va,
                                const Value& vb) const {
  if (!code_) return true;
  term::Evaluation<term::CodeDomain> evaluate(store_, term::CodeDomain(store_, at, kPrecisions[0]));
  const Value x = evaluate(code_->first), y = evaluate(code_->second);
  if (reads_zero_sign(store_, evaluate, code_->first) ||
      reads_zero_sign(store_, evaluate, code_->second))
    return false;
  const auto read = distance(va, vb), computed = distance(x, y);
  if (read && computed) return *computed >= *read / 2;
  return term::same_value(x, y) != true;
}

bool PointSearch::overflows(const Term& root, const term::Assignment& at, bool doubles) const {
  const Rational most = Rational::from_double(dtype_max_finite(doubles ? DType::F64 : DType::F32));
  term::Evaluator evaluate = term::make_evaluator(store_, at, 96);
  return meets(store_, evaluate, root, [&](const Term& t, const Value& v) {
    if (!(store_.type(t) == term::kReal) || v.kind != Value::Kind::Real) return false;
    return v.exact ? (v.exact->sign() < 0 ? -*v.exact : *v.exact) > most
                   : std::abs(v.ball.midpoint()) > most.to_double();
  });
}

PointSearch::Asked PointSearch::ask(const Term& a, const Term& b) const {
  // The polynomial of an inlined library function has many coefficients; a formula has few
  // constants.
  constexpr size_t kMany = 4;
  Asked asked{a, b, {}, {}, false, false};
  if (!options_.assumes("constant-snap")) return asked;
  asked.slack.emplace(store_, a, b);
  if (written_)
    asked.written_slack.emplace(store_, written_->first, written_->second, &*asked.slack);
  if (!options_.assumes("library-approximation")) return asked;
  asked.approximated = asked.slack->one_sided() >= kMany;
  // Code that builds floats from bits flushes results to zero where others go on.
  asked.scaled = builds_floats(a) || builds_floats(b);
  return asked;
}

PointSearch::Difference PointSearch::shown(const Asked& asked, const term::Assignment& at,
                                           bool doubles) const {
  Value va, vb;
  const Difference d = differ(asked.a, asked.b, at, &va, &vb);
  if (d == Difference::None) return d;
  if (d == Difference::OneSide && options_.assumes("domain-exclusion")) return Difference::None;
  if (!equations_hold(at)) return Difference::None;
  Value wa, wb;
  if (written_ && differ(written_->first, written_->second, at, &wa, &wb) != d)
    return Difference::None;
  if (d != Difference::Values) return d;
  const auto excused = [&](const Slack* slack, const Term& a, const Term& b, const Value& x,
                           const Value& y) {
    if (!slack) return false;
    if ((asked.approximated || slack->has_too_many()) && is_small(a, b, at, x, y)) return true;
    return slack->explains(x, y, at);
  };
  const auto pointer = [](const std::optional<Slack>& slack) { return slack ? &*slack : nullptr; };
  if (asked.scaled && is_subnormal(va, doubles) && is_subnormal(vb, doubles))
    return Difference::None;
  if (excused(pointer(asked.slack), asked.a, asked.b, va, vb)) return Difference::None;
  if (written_ && excused(pointer(asked.written_slack), written_->first, written_->second, wa, wb))
    return Difference::None;
  return d;
}

Refutation PointSearch::describe(const Asked& asked, const Assignment& at, Difference kind,
                                 const Budget& budget) const {
  const Term &a = written_ ? written_->first : asked.a, &b = written_ ? written_->second : asked.b;
  const Ground g = ground({a, b});
  Point point = placed(g, at);
  const bool overflow = overflows(a, assignment(g, point), g.doubles) ||
                        overflows(b, assignment(g, point), g.doubles);
  const auto holds = [&](const Point& p) {
    const term::MapAssignment there = assignment(g, p);
    if (shown(asked, there, g.doubles) != kind) return false;
    return overflow || (!overflows(a, there, g.doubles) && !overflows(b, there, g.doubles));
  };
  // Whole ranges of variables to zero first, then single ones; the effort is bounded.
  const Budget effort = budget.slice(0.5);
  for (size_t block = point.size(); block >= 1 && !effort.spent(); block /= 2) {
    for (size_t first = 0; first < point.size() && !effort.spent(); first += block) {
      Point p = point;
      bool changed = false;
      for (size_t i = first; i < std::min(point.size(), first + block); ++i) {
        const Rational zero = fit(g.variables[i], 0);
        changed |= !(p[i] == zero);
        p[i] = zero;
      }
      if (changed) {
        p = fitted(g, std::move(p));
        if (holds(p)) point = std::move(p);
      }
    }
    if (block == 1) break;
  }
  for (size_t i = 0; i < point.size() && !effort.spent(); ++i) {
    if (point[i].is_zero() || point[i].is_one()) continue;
    Point p = point;
    p[i] = 1;
    p = fitted(g, std::move(p));
    if (holds(p)) point = std::move(p);
  }
  Value va, vb;
  CHECK(differ(a, b, assignment(g, point), &va, &vb) == kind);
  Refutation r;
  r.assignment = named(g, point);
  r.value_a = va.to_string();
  r.value_b = vb.to_string();
  r.one_side_undefined = kind == Difference::OneSide;
  if (r.one_side_undefined) r.undefined_side = va.is_defined() ? "b" : "a";
  r.overflow_only = overflow;
  return r;
}

bool PointSearch::equations_hold(const term::Assignment& at) const {
  constexpr int kPrecision = 600, kZeroBits = -400;
  return std::all_of(equal_.begin(), equal_.end(), [&](const std::pair<Term, Term>& sides) {
    term::Evaluator evaluate = term::make_evaluator(store_, at, kPrecision);
    const Value l = evaluate(sides.first), r = evaluate(sides.second);
    if (l.kind == Value::Kind::Undefined || r.kind == Value::Kind::Undefined) return true;
    if (const auto same = term::same_value(l, r)) return *same;
    if (l.kind != Value::Kind::Real || r.kind != Value::Kind::Real) return false;
    // Irrational values that all these bits do not tell apart.
    const term::Ball x = l.exact ? term::Ball(*l.exact, kPrecision) : l.ball,
                     y = r.exact ? term::Ball(*r.exact, kPrecision) : r.ball;
    term::Ball gap;
    arb_sub(gap.get(), x.get(), y.get(), kPrecision);
    return std::abs(gap.midpoint()) + gap.radius() < std::ldexp(1, kZeroBits);
  });
}

bool PointSearch::builds_floats(const Term& t) const {
  bool found = false;
  term::Postorder(store_).walk(
      t, [&](const Term&) { return !found; },
      [&](const Term& x) {
        found = found || (store_.kind(x) == Kind::RealOfBits &&
                          store_.kind(store_.child(x, 0)) != Kind::Leaf);
      });
  return found;
}

std::optional<Refutation> PointSearch::refute(const Term& a, const Term& b,
                                              const Budget& budget) const {
  const Ground g = ground({a, b});
  const Asked asked = ask(a, b);
  std::optional<std::pair<Point, Difference>> found, overflowing;
  for_each_point(g, budget, [&](const Point& p) {
    const term::MapAssignment at = assignment(g, p);
    const Difference d = shown(asked, at, g.doubles);
    if (d == Difference::None) return false;
    if (overflows(a, at, g.doubles) || overflows(b, at, g.doubles)) {
      if (!overflowing) overflowing = {p, d};
      return false;
    }
    found = {p, d};
    return true;
  });
  if (!found && !asked.approximated) found = overflowing;
  if (!found) return std::nullopt;
  return describe(asked, named(g, found->first), found->second, budget);
}

PointSearch::Point PointSearch::placed(const Ground& g, const Assignment& candidate) const {
  Point p;
  for (const Variable& v : g.variables) {
    if (v.is_scalar) {
      const auto it = candidate.scalars.find(v.scalar);
      p.push_back(it == candidate.scalars.end() ? Rational(0) : it->second);
    } else {
      const auto it = candidate.cells.find({v.group, v.cell});
      p.push_back(it == candidate.cells.end() ? Rational(0) : it->second);
    }
  }
  return fitted(g, std::move(p));
}

std::optional<Refutation> PointSearch::confirm(const Term& a, const Term& b,
                                               const Assignment& candidate,
                                               const Budget& budget) const {
  const Ground g = ground({a, b});
  const Asked asked = ask(a, b);
  const Point p = placed(g, candidate);
  const Difference d = shown(asked, assignment(g, p), g.doubles);
  if (d == Difference::None) return std::nullopt;
  return describe(asked, named(g, p), d, budget);
}

std::optional<Assignment> PointSearch::satisfy(const Term& condition, const Budget& budget) const {
  const Ground g = ground({condition});
  const auto holds = [&](const Point& p) {
    for (const int precision : kPrecisions) {
      const Value v = term::evaluate_ball(store_, condition, assignment(g, p), precision);
      if (v.kind == Value::Kind::Bool) return v.bits != 0;
      if (v.kind != Value::Kind::Undecided && v.kind != Value::Kind::Unknown) return false;
    }
    return false;
  };
  std::optional<Point> found;
  for_each_point(g, budget, [&](const Point& p) {
    if (!holds(p)) return false;
    found = p;
    return true;
  });
  if (!found) return std::nullopt;
  // Few and simple values.
  const Budget effort = budget.slice(0.2);
  for (size_t i = 0; i < found->size() && !effort.spent(); ++i) {
    Point p = *found;
    p[i] = 0;
    p = fitted(g, std::move(p));
    if (holds(p)) found = std::move(p);
  }
  return named(g, *found);
}

std::optional<Assignment> PointSearch::defined(const Term& a, const Term& b,
                                               const Budget& budget) const {
  const Ground g = ground({a, b});
  std::optional<Point> found;
  for_each_point(g, budget, [&](const Point& p) {
    const term::MapAssignment at = assignment(g, p);
    for (const int precision : kPrecisions) {
      term::Evaluator evaluate = term::make_evaluator(store_, at, precision);
      const Value x = evaluate(a), y = evaluate(b);
      if (x.is_defined() && y.is_defined() && x.kind != Value::Kind::Undecided &&
          y.kind != Value::Kind::Undecided) {
        found = p;
        return true;
      }
      if (x.kind == Value::Kind::Undefined || y.kind == Value::Kind::Undefined) return false;
    }
    return false;
  });
  if (!found) return std::nullopt;
  return named(g, *found);
}

std::optional<std::pair<term::GroupId, int64_t>> PointSearch::poisoned_cell(
    const Term& root, const Assignment& at) const {
  term::MapAssignment where;
  for (const auto& [leaf, value] : at.cells) where.set_leaf(leaf.first, leaf.second, value);
  for (const auto& [id, value] : at.scalars) where.set_scalar(id, value);
  term::Evaluator evaluate = term::make_evaluator(store_, where, kPrecisions[1]);
  Term t = root;
  while (evaluate(t).kind == Value::Kind::Poison) {
    if (store_.kind(t) == Kind::Poison)
      return std::pair{store_.groups(t)[0], store_.anchor(t, 0).cell};
    std::optional<Term> next;
    for (int i = 0; i < store_.arity(t) && !next; ++i) {
      const Term child = store_.child(t, i);
      if (store_.has_poison(child) && evaluate(child).kind == Value::Kind::Poison) {
        // An arm of a select counts only if it is the chosen one.
        if (store_.kind(t) == Kind::Select && i > 0) {
          const Value& c = evaluate(store_.child(t, 0));
          if (c.kind != Value::Kind::Bool || (c.bits ? 1 : 2) != i) continue;
        }
        next = child;
      }
    }
    if (!next) return std::nullopt;
    t = *next;
  }
  return std::nullopt;
}

}  // namespace coequal::decide
