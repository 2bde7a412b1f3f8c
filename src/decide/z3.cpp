// Z3 over canonical values: reals, conditions and words. Proofs only: functions are uninterpreted,
// with what is known of their signs, so that "no input makes the sides differ" is sound; models are
// candidates for the refutation to confirm.
#include <z3++.h>

#include <algorithm>
#include <map>

#include "decide/context.h"
#include "decide/points.h"

namespace coequal::decide {

using term::Kind;

namespace {

constexpr size_t kMostAtoms = 1500;

struct TooLarge {};

class Translation {
 public:
  Translation(z3::context& z3_context, const Algebra& algebra)
      : z3_(z3_context), algebra_(algebra), facts_(z3_context) {}

  z3::expr value(const Value& v) {
    z3::expr out = number(v.c);
    for (const Factor& f : algebra_.factors(v.m)) out = out * power(f);
    return out;
  }

  z3::expr condition(CondId c) {
    if (c <= kFalse) return z3_.bool_val(c == kTrue);
    const auto known = conditions_.find(c >> 1);
    if (known != conditions_.end()) return c & 1 ? !known->second : known->second;
    const Cond& cond = algebra_.cond(c);
    z3::expr out = z3_.bool_val(true);
    switch (cond.kind) {
      case CondKind::True:
        break;
      case CondKind::Positive:
        out = value(cond.value) > 0;
        break;
      case CondKind::Zero:
        out = value(cond.value) == 0;
        break;
      case CondKind::Word: {
        const z3::expr a = word(cond.left), b = word(cond.right);
        const Kind kind = static_cast<Kind>(cond.a);
        out = kind == Kind::BvEq ? a == b : kind == Kind::BvUlt ? z3::ult(a, b) : a < b;
        break;
      }
      case CondKind::Or: {
        z3::expr_vector parts(z3_);
        for (CondId inner : cond.args) parts.push_back(condition(inner));
        out = z3::mk_or(parts);
        break;
      }
    }
    conditions_.emplace(c >> 1, out);
    return c & 1 ? !out : out;
  }

  z3::expr_vector& facts() { return facts_; }

  // The values of the leaves in a model.
  Assignment candidate(const z3::model& model) {
    Assignment out;
    for (const auto& [leaf, e] : leaves_)
      if (const auto r = read(model.eval(e, true))) out.cells[leaf] = *r;
    for (const auto& [id, e] : scalars_)
      if (const auto r = read(model.eval(e, true))) out.scalars[id] = *r;
    return out;
  }

 private:
  z3::expr number(const Rational& c) { return z3_.real_val(c.to_string().c_str()); }

  static std::optional<Rational> read(const z3::expr& e) {
    if (e.is_bv()) {
      uint64_t bits = 0;
      if (!e.is_numeral_u64(bits)) return std::nullopt;
      return Rational::from_u64(bits);
    }
    std::string text;
    if (!e.is_numeral(text)) return std::nullopt;
    return Rational::from_text(text);
  }

  z3::expr unknown(const char* prefix, uint64_t id) {
    return z3_.real_const((prefix + std::to_string(id)).c_str());
  }

  z3::expr power(const Factor& f) {
    const z3::expr base = atom(f.atom);
    if (f.exponent.is_one()) return base;
    const auto n = f.exponent.as_int64();
    if (n && *n > 0 && *n <= 8) {
      z3::expr out = base;
      for (int64_t i = 1; i < *n; ++i) out = out * base;
      return out;
    }
    // An inverse or a root: an unknown that times itself, or its base, gives what it must.
    const auto [it, fresh] =
        powers_.emplace(std::pair(f.atom, f.exponent.to_string()), z3::expr(z3_));
    if (!fresh) return it->second;
    const z3::expr out = unknown("power", powers_.size());
    it->second = out;
    if (n && *n < 0) {
      z3::expr product = out;
      for (int64_t i = 0; i < std::min<int64_t>(-*n, 8); ++i) product = product * base;
      if (*n >= -8) facts_.push_back(z3::implies(base != 0, product == 1));
    } else if (f.exponent == Rational(1, 2)) {
      facts_.push_back(out >= 0);
      facts_.push_back(z3::implies(base >= 0, out * out == base));
    } else if (f.exponent == Rational(-1, 2)) {
      facts_.push_back(out >= 0);
      facts_.push_back(z3::implies(base > 0, out * out * base == 1));
    }
    if (algebra_.atom(f.atom).range.positive()) facts_.push_back(out > 0);
    return out;
  }

  z3::expr atom(AtomId id) {
    if (const auto it = atoms_.find(id); it != atoms_.end()) return it->second;
    if (atoms_.size() > kMostAtoms || algebra_.atom(id).depth > kMostAtoms) throw TooLarge{};
    const Atom& a = algebra_.atom(id);
    z3::expr out = unknown("atom", id);
    switch (a.kind) {
      case AtomKind::Leaf:
        leaves_.emplace(std::pair(static_cast<term::GroupId>(a.a), a.b), out);
        break;
      case AtomKind::Scalar:
        scalars_.emplace(a.a, out);
        break;
      case AtomKind::Sum: {
        out = value(a.args[0]);
        for (size_t i = 1; i < a.args.size(); ++i) out = out + value(a.args[i]);
        break;
      }
      case AtomKind::Max: {
        if (a.may_be_infinite) throw TooLarge{};
        out = value(a.args[0]);
        for (size_t i = 1; i < a.args.size(); ++i) {
          const z3::expr x = value(a.args[i]);
          out = z3::ite(out >= x, out, x);
        }
        break;
      }
      case AtomKind::Abs: {
        const z3::expr x = value(a.args[0]);
        out = z3::ite(x >= 0, x, -x);
        break;
      }
      case AtomKind::Root: {
        const z3::expr x = value(a.args[0]);
        facts_.push_back(out >= 0);
        facts_.push_back(z3::implies(x >= 0, out * out == x));
        break;
      }
      case AtomKind::Select:
        if (algebra_.is_infinity(a.args[0]) || algebra_.is_infinity(a.args[1])) throw TooLarge{};
        out = z3::ite(condition(a.condition), value(a.args[0]), value(a.args[1]));
        break;
      case AtomKind::Indicator:
        out = z3::ite(condition(a.condition), number(1), number(0));
        break;
      case AtomKind::Exp:
      case AtomKind::Log: {
        if (a.may_be_infinite) throw TooLarge{};
        const bool is_exp = a.kind == AtomKind::Exp;
        const z3::sort real = z3_.real_sort();
        out = z3_.function(is_exp ? "exp2" : "log2", real, real)(value(a.args[0]));
        break;
      }
      case AtomKind::Function:
        if (a.may_be_infinite) throw TooLarge{};
        if (a.args.size() == 1) {
          const z3::sort real = z3_.real_sort();
          out = z3_.function(("f" + std::to_string(a.a)).c_str(), real, real)(value(a.args[0]));
        }
        break;
      case AtomKind::Infinity:
      case AtomKind::Undefined:
      case AtomKind::Poison:
        throw TooLarge{};
      case AtomKind::Symbol:
      case AtomKind::Prime:
      case AtomKind::OfWord:
        break;
    }
    const Range& r = a.range;
    if (a.kind != AtomKind::Sum) {
      if (r.lo) facts_.push_back(r.lo_open ? out > number(*r.lo) : out >= number(*r.lo));
      if (r.hi) facts_.push_back(r.hi_open ? out < number(*r.hi) : out <= number(*r.hi));
    }
    atoms_.emplace(id, out);
    return out;
  }

  z3::expr word(WordId id) {
    if (const auto it = words_.find(id); it != words_.end()) return it->second;
    if (words_.size() > kMostAtoms || algebra_.word(id).depth > kMostAtoms) throw TooLarge{};
    const Word& w = algebra_.word(id);
    auto arg = [&](size_t i) { return word(w.words[i]); };
    z3::expr out = z3_.bv_const(("word" + std::to_string(id)).c_str(), w.width);
    switch (w.kind) {
      case Kind::Leaf: {
        leaves_.emplace(std::pair(static_cast<term::GroupId>(w.payload), w.cell), out);
        bound(out, algebra_.store().group(static_cast<term::GroupId>(w.payload)).bounds,
              algebra_.store().group(static_cast<term::GroupId>(w.payload)).dtype);
        break;
      }
      case Kind::Scalar:
        scalars_.emplace(static_cast<uint32_t>(w.payload), out);
        bound(out, algebra_.store().scalar(static_cast<uint32_t>(w.payload)).bounds,
              algebra_.store().scalar(static_cast<uint32_t>(w.payload)).dtype);
        break;
      case Kind::BvConst:
        out = z3_.bv_val(w.payload, w.width);
        break;
      case Kind::Select:
        out = z3::ite(condition(w.conds[0]), arg(0), arg(1));
        break;
      case Kind::BvOfBool:
        out = z3::ite(condition(w.conds[0]), z3_.bv_val(1, w.width), z3_.bv_val(0, w.width));
        break;
      case Kind::BvAdd:
        out = z3_.bv_val(w.payload, w.width);
        for (size_t i = 0; i < w.words.size(); ++i) out = out + arg(i);
        break;
      case Kind::Max:
      case Kind::Min: {  // the payload: compared as signed numbers
        out = arg(0);
        for (size_t i = 1; i < w.words.size(); ++i) {
          const z3::expr x = arg(i);
          const z3::expr below = w.payload ? out < x : z3::ult(out, x);
          out = w.kind == Kind::Max ? z3::ite(below, x, out) : z3::ite(below, out, x);
        }
        break;
      }
      case Kind::BvMul:
        out = arg(0) * arg(1);
        break;
      case Kind::BvAnd:
        out = arg(0) & arg(1);
        break;
      case Kind::BvOr:
        out = arg(0) | arg(1);
        break;
      case Kind::BvXor:
        out = arg(0) ^ arg(1);
        break;
      case Kind::BvNot:
        out = ~arg(0);
        break;
      case Kind::BvShl:
        out = z3::shl(arg(0), arg(1));
        break;
      case Kind::BvLshr:
        out = z3::lshr(arg(0), arg(1));
        break;
      case Kind::BvAshr:
        out = z3::ashr(arg(0), arg(1));
        break;
      case Kind::BvExtract:
        out = arg(0).extract(static_cast<unsigned>(w.payload) + w.width - 1,
                             static_cast<unsigned>(w.payload));
        break;
      case Kind::BvConcat:
        out = z3::concat(arg(0), arg(1));
        break;
      case Kind::BvZeroExtend:
        out = z3::zext(arg(0), w.width - algebra_.word(w.words[0]).width);
        break;
      case Kind::BvSignExtend:
        out = z3::sext(arg(0), w.width - algebra_.word(w.words[0]).width);
        break;
      case Kind::BvUdiv:
        out = z3::udiv(arg(0), arg(1));
        break;
      case Kind::BvSdiv:
        out = arg(0) / arg(1);
        break;
      case Kind::BvUrem:
        out = z3::urem(arg(0), arg(1));
        break;
      case Kind::BvSrem:
        out = z3::srem(arg(0), arg(1));
        break;
      default:
        break;  // an unknown word
    }
    words_.emplace(id, out);
    return out;
  }

  void bound(const z3::expr& e, const term::Bounds& bounds, DType dtype) {
    const bool is_signed = is_signed_integer(dtype);
    const unsigned width = e.get_sort().bv_size();
    auto edge = [&](const Rational& r) { return z3_.bv_val(r.to_string().c_str(), width); };
    std::optional<Rational> lo = bounds.min, hi = bounds.max;
    if (dtype == DType::Bool) lo = lo.value_or(Rational(0)), hi = hi.value_or(Rational(1));
    if (lo) {
      const Rational x = -(-*lo).floor();
      if (is_signed)
        facts_.push_back(edge(x) <= e);
      else if (x.sign() >= 0)
        facts_.push_back(z3::ule(edge(x), e));
    }
    if (hi) facts_.push_back(is_signed ? e <= edge(hi->floor()) : z3::ule(e, edge(hi->floor())));
  }

  z3::context& z3_;
  const Algebra& algebra_;
  z3::expr_vector facts_;
  std::map<AtomId, z3::expr> atoms_;
  std::map<std::pair<AtomId, std::string>, z3::expr> powers_;
  std::map<uint32_t, z3::expr> conditions_;
  std::map<WordId, z3::expr> words_;
  std::map<std::pair<term::GroupId, int64_t>, z3::expr> leaves_;
  std::map<uint32_t, z3::expr> scalars_;
};

void configure(z3::context& z3_context, z3::solver& solver, const Budget& budget, uint64_t seed) {
  z3::params params(z3_context);
  const double seconds = std::max(0.05, std::min(budget.seconds_left(), 30.0));
  params.set("timeout", static_cast<unsigned>(seconds * 1000));
  params.set("random_seed", static_cast<unsigned>(seed));
  solver.set(params);
}

}  // namespace

bool always_true_by_z3(Context& context, CondId c, const Budget& budget) {
  try {
    z3::context z3_context;
    Translation translate(z3_context, context.algebra);
    z3::solver solver(z3_context);
    configure(z3_context, solver, budget, context.options.seed);
    solver.add(translate.condition(Algebra::negation(c)));
    for (const z3::expr& fact : translate.facts()) solver.add(fact);
    return solver.check() == z3::unsat;
  } catch (const TooLarge&) {
    return false;
  } catch (const z3::exception&) {
    return false;
  }
}

std::optional<Answer> decide_z3(Context& context, Question& q, const Budget& budget) {
  Algebra& algebra = context.algebra;
  if (!find_domains(context, q, budget)) return std::nullopt;
  std::optional<CondId> same;  // of words and conditions
  std::optional<Value> a, b;
  if (q.type == term::TypeClass::Real) {
    if (!q.value_a || !q.value_b) return std::nullopt;
    a = context.resolver.resolve(*q.value_a, budget);
    b = context.resolver.resolve(*q.value_b, budget);
    if (!a || !b) return std::nullopt;
  } else if (q.type == term::TypeClass::Bv) {
    same = context.builder.condition(context.store.make(Kind::BvEq, {q.a, q.b}), budget);
    if (!same) return std::nullopt;
  } else {
    const auto x = context.builder.condition(q.a, budget),
               y = context.builder.condition(q.b, budget);
    if (!x || !y) return std::nullopt;
    same = algebra.choose(*x, *y, Algebra::negation(*y));
  }
  try {
    z3::context z3_context;
    Translation translate(z3_context, algebra);
    const z3::expr differ = same ? translate.condition(Algebra::negation(*same))
                                 : translate.value(*a) != translate.value(*b);
    z3::solver solver(z3_context);
    configure(z3_context, solver, budget, context.options.seed);
    solver.add(differ);
    solver.add(translate.condition(q.defined_a));
    solver.add(translate.condition(q.defined_b));
    for (const z3::expr& fact : translate.facts()) solver.add(fact);
    switch (solver.check()) {
      case z3::unsat:
        return proved("z3");
      case z3::sat: {
        auto found = search_points(context, q)
                         .confirm(q.a, q.b, translate.candidate(solver.get_model()), budget);
        if (!found || (found->overflow_only && context.options.assumes("no-overflow")))
          return std::nullopt;
        Answer answer;
        answer.outcome = Outcome::Refuted;
        answer.refutation = std::move(found);
        return answer;
      }
      case z3::unknown:
        return std::nullopt;
    }
  } catch (const TooLarge&) {
    return std::nullopt;
  } catch (const z3::exception&) {
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace coequal::decide
