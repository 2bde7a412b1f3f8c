#include "idiom/calibrate.h"

#include <fmt/format.h>

#include <cmath>
#include <random>
#include <set>

#include "base/float_bits.h"
#include "idiom/template.h"
#include "term/evaluate.h"
#include "term/float_format.h"
#include "term/traverse.h"

namespace coequal::idiom {

using term::Ball;
using term::Kind;
using term::Rational;
using term::Term;
using term::TermStore;
using term::Value;

namespace {

constexpr int kPrecision = 160, kHighPrecision = 2600;
constexpr size_t kPairs = 600;
constexpr size_t kFewest = 40;      // points that must have decided
constexpr double kSlack = 2;        // the stated errors are of rounded arithmetic at tested points
constexpr double kNarrowUnits = 2;  // of 16-bit results: a unit is put right at single arguments
constexpr size_t kPlainNodes = 6;

double nearest(const Value& v) { return v.exact ? v.exact->to_double() : v.ball.midpoint(); }

// As CodeDomain, but a quotient by zero is infinite, as machines have it: what is made of it may be
// a number again.
class MachineDomain {
 public:
  using Value = term::Value;
  MachineDomain(const TermStore& store, const term::Assignment& at)
      : store_(store), code_(store, at, kPrecision) {}

  Value apply(const Term& t, const std::array<const Value*, 3>& args) const {
    if (store_.kind(t) == Kind::Div && args[1]->exact && args[1]->exact->is_zero() &&
        args[0]->exact && args[0]->exact->sign() > 0) {
      Value v;
      v.kind = Value::Kind::PlusInfinity;
      return v;
    }
    return code_.apply(t, args);
  }
  int choose(const Value& condition) const { return code_.choose(condition); }

 private:
  const TermStore& store_;
  term::CodeDomain code_;
};

class Calibration {
 public:
  Calibration(TermStore& store, const ProbedTerm& probed, const Function& function,
              const CodeProperties& code)
      : store_(store), probed_(probed), function_(function), code_(code) {
    const FloatSpec spec = float_spec(code.dtype);
    digits_ = spec.fraction_bits + 1;
    largest_ = dtype_max_finite(code.dtype);
    smallest_ = std::ldexp(1, 2 - (1 << (spec.exponent_bits - 1)));
    meaning_ = function.meaning(store, arguments_of(store, code.sizes, probed.holes));
  }

  std::string run() {
    collect_points();
    size_t compared = 0;
    auto at = [&](double x, double y) -> std::string {
      const std::optional<std::string> fault = compare(x, y);
      if (!fault) return "";
      ++compared;
      return *fault;
    };
    if (function_.arity == 1) {
      for (double x : points_)
        if (std::string fault = at(x, 0); !fault.empty()) return fault;
    } else {
      std::mt19937_64 random{1};
      const std::vector<double> list(points_.begin(), points_.end());
      for (size_t i = 0; i < kPairs; ++i) {
        const double x = list[random() % list.size()], y = list[random() % list.size()];
        if (std::string fault = at(x, y); !fault.empty()) return fault;
      }
      for (double x : small_)
        for (double y : small_)
          if (std::string fault = at(x, y); !fault.empty()) return fault;
    }
    if (compared < kFewest) return fmt::format("only {} points could be compared", compared);
    return "";
  }

 private:
  void add_point(double x) {
    if (code_.dtype != DType::F64) {
      const FloatSpec spec = float_spec(code_.dtype);
      const uint64_t bits = float_from_double(spec, x);
      if (float_is_infinite(spec, bits)) return;
      x = float_to_double(spec, bits);
    }
    // Code for doubles compares their upper halves as floats, which beyond are no numbers.
    if (!(std::fabs(x) < 0x1p1015)) return;
    if (code_.flushes && x != 0 && std::fabs(x) < smallest_) return;
    points_.insert(x);
  }
  void add_around(double x) {
    if (x == 0 || !std::isfinite(x)) return;
    for (double factor : {1.0, 1 - 0x1p-22, 1 + 0x1p-22, 1 - 0x1p-9, 1 + 0x1p-9, 0.75, 1.3})
      for (double sign : {1.0, -1.0}) add_point(sign * x * factor);
  }

  void collect_points() {
    std::mt19937_64 random{2};
    std::uniform_real_distribution<double> unit(1, 2), near(-12, 12), inside(-1, 1);
    const bool wide = code_.dtype == DType::F64;
    const int lowest = wide ? -1060 : std::ilogb(smallest_) + 2 - digits_,
              highest = std::ilogb(largest_);
    for (int e = lowest; e <= highest; e += wide ? 29 : 4)
      for (double sign : {1.0, -1.0}) add_point(sign * std::ldexp(unit(random), e));
    for (int i = 0; i < 60; ++i) add_point(near(random));
    for (int i = 0; i < 40; ++i) add_point(inside(random));
    for (int i = 0; i < 10; ++i) add_point(16 * near(random));
    for (int i = -16; i <= 16; ++i) {
      add_point(i);
      add_point(i + 0.5);
      add_point(i + 0.25);
    }
    for (double x : {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 7.5, 8.0, -0.5, -1.0, -2.0, -2.5, -3.0})
      small_.push_back(x);
    term::Postorder(store_).walk(probed_.value, [&](const Term& t) {
      if (const Rational* c = store_.as_rational(t)) add_around(c->to_double());
      if (const auto bits = store_.as_bits(t)) {
        const int width = store_.type(t).width;
        if (width == 32) add_around(float_to_double(float_spec(DType::F32), *bits));
        if (width == 32 && code_.dtype == DType::F64)  // the upper half of a double
          add_around(float_to_double(float_spec(DType::F64), *bits << 32));
        if (width == 64) add_around(float_to_double(float_spec(DType::F64), *bits));
      }
    });
  }

  // Nothing if the point decides nothing.
  std::optional<std::string> compare(double x, double y) {
    if (function_.positive && x <= 0) return std::nullopt;
    term::MapAssignment values;
    const double point[] = {x, y};
    for (size_t i = 0; i < probed_.holes.size(); ++i)
      values.set_leaf(store_.groups(probed_.holes[i])[0], 0, Rational::from_double(point[i]));
    term::Evaluation<term::CodeDomain> evaluate(store_,
                                                term::CodeDomain(store_, values, kPrecision));
    Value got = evaluate(probed_.value);
    if (got.kind == Value::Kind::Undefined && x == 0) {
      term::Evaluation<MachineDomain> machine(store_, MachineDomain(store_, values));
      got = machine(probed_.value);
    }
    const std::string where =
        function_.arity == 1 ? fmt::format("at {}", x) : fmt::format("at {}, {}", x, y);
    if (evaluate_ball(store_, meaning_, values, kPrecision).kind == Value::Kind::Undefined) {
      // What a guard against zero protects may have any value there; beyond the largest float it is
      // infinite.
      if (got.kind != Value::Kind::Real || x == 0 || !(std::fabs(nearest(got)) <= largest_))
        return std::nullopt;
      return fmt::format("{} it is {}, not undefined", where, got.to_string());
    }
    const std::optional<Ball> want = meaning_at(values);
    if (!want || got.kind == Value::Kind::Unknown) return std::nullopt;
    const double exact = want->midpoint();
    if (got.kind != Value::Kind::Real)
      return fmt::format("{} it is {}, not {}", where, got.to_string(), exact);
    Ball gap;
    arb_sub(gap.get(), want->get(), got.exact ? Ball(*got.exact, kPrecision).get() : got.ball.get(),
            kPrecision);
    const double error = in_units(gap, exact);
    if (error <= (digits_ < 24 ? kNarrowUnits : kSlack * function_.ulps + 1)) return "";
    if (in_units(gap, 1) <= function_.absolute) return "";
    return fmt::format("{} it is {}, not {}: {:.3g} units in the last place apart", where,
                       got.to_string(), want->to_string(), error);
  }

  // The function's value, if it is finite in the type, to well below a unit in the last place.
  std::optional<Ball> meaning_at(const term::Assignment& values) {
    for (const int precision : {kPrecision, kHighPrecision}) {
      const Value v = evaluate_ball(store_, meaning_, values, precision);
      if (v.kind != Value::Kind::Real) return std::nullopt;
      if (v.exact && !(std::fabs(v.exact->to_double()) <= largest_)) return std::nullopt;
      if (v.exact) return Ball(*v.exact, kPrecision);
      const Ball limit(Rational::from_double(largest_), kPrecision);
      Ball size, error;
      arb_abs(size.get(), v.ball.get());
      arb_get_rad_arb(error.get(), v.ball.get());
      if (!surely_less(size, limit)) continue;
      if (in_units(error, v.ball.midpoint()) < 1.0 / 16) return v.ball;
    }
    return std::nullopt;
  }

  // A difference from `exact` in units of its last place. Below the smallest normal number all is
  // one unit, since results there may be flushed to zero.
  double in_units(Ball gap, double exact) const {
    const bool small = std::fabs(exact) < smallest_;
    const int exponent = small ? std::ilogb(smallest_) : std::ilogb(exact) + 1 - digits_;
    arb_mul_2exp_si(gap.get(), gap.get(), -exponent);
    return std::fabs(gap.midpoint()) + gap.radius();
  }

  TermStore& store_;
  const ProbedTerm& probed_;
  const Function& function_;
  CodeProperties code_;
  Term meaning_;
  int digits_ = 24;
  double largest_ = 0, smallest_ = 0;
  std::set<double> points_;
  std::vector<double> small_;
};

}  // namespace

bool is_direct(const TermStore& store, const Term& t) {
  size_t nodes = 0;
  bool plain = true;
  term::Postorder(store).walk(t, [&](const Term& x) {
    ++nodes;
    plain = plain && store.kind(x) != Kind::Select && store.type(x).cls == term::TypeClass::Real;
  });
  return plain && nodes <= kPlainNodes;
}

std::string calibrate(TermStore& store, const ProbedTerm& probed, const Function& function,
                      const CodeProperties& code) {
  return Calibration(store, probed, function, code).run();
}

}  // namespace coequal::idiom
