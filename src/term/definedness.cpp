// Definedness, infinities and poison of a term, rule by rule.
#include "term/definedness.h"

#include <array>
#include <vector>

#include "term/float_format.h"

namespace coequal::term {

Definedness::Definedness(TermStore& store)
    : store_(store),
      without_poison_(
          store,
          [this](const Term& t) -> std::optional<Term> {
            // Arms that become equal must not make a test for NaN true: it is what it tests.
            if (store_.kind(t) == Kind::IsNumber) return facts(store_.child(t, 0)).defined;
            if (store_.kind(t) != Kind::Poison) return std::nullopt;
            const Type type = store_.type(t);
            return type.cls == TypeClass::Bv ? store_.bits(0, type.width) : store_.real(0);
          },
          [&store](const Term& t) { return store.has_poison(t); }) {}

Term Definedness::operand(const Term& t, int i) {
  const Term child = store_.child(t, i);
  return store_.has_poison(child) ? without_poison_(child) : child;
}

Definedness::Facts Definedness::moved(const Entry& entry, const Term& t) const {
  auto move = [&](const Term& fact) {
    return store_.map_anchors(fact, [&](GroupId group, Anchor anchor) {
      // The facts speak about leaves of the term, so its groups are among the term's.
      const std::optional<Anchor> from = store_.anchor_in(entry.at, group),
                                  to = store_.anchor_in(t, group);
      CHECK(from && to);
      return Anchor{anchor.cell + to->cell - from->cell, to->motion};
    });
  };
  return {move(entry.facts.defined), move(entry.facts.plus), move(entry.facts.minus),
          move(entry.facts.poisoned)};
}

Definedness::Facts Definedness::facts(const Term& root) {
  std::vector<Term> stack{root};
  while (!stack.empty()) {
    const Term t = stack.back();
    if (done_.contains(t.shape())) {
      stack.pop_back();
      continue;
    }
    if (store_.is_total(t)) {
      done_.emplace(t.shape(), Entry{t, {yes(), no(), no(), no()}});
      stack.pop_back();
      continue;
    }
    const size_t before = stack.size();
    for (int i = store_.arity(t); i-- > 0;) {
      const Term child = store_.child(t, i);
      if (!done_.contains(child.shape())) stack.push_back(child);
    }
    if (stack.size() != before) continue;
    Facts args[3];
    for (int i = 0; i < store_.arity(t); ++i) {
      const Term child = store_.child(t, i);
      args[i] = moved(done_.find(child.shape())->second, child);
    }
    Facts built = build(t, args);
    done_.emplace(t.shape(), Entry{t, built});
    stack.pop_back();
  }
  return moved(done_.find(root.shape())->second, root);
}

Definedness::Facts Definedness::build(const Term& t, const Facts (&args)[3]) {
  const Kind kind = store_.kind(t);
  const int arity = store_.arity(t);
  Facts r{yes(), no(), no(), no()};
  auto arg = [&](int i) { return operand(t, i); };
  switch (kind) {
    case Kind::Infinity:
      (store_.payload(t) ? r.minus : r.plus) = yes();
      return r;
    case Kind::Undefined:
      r.defined = no();
      return r;
    case Kind::Poison:
      r.defined = no();
      r.poisoned = yes();
      return r;
    case Kind::Select: {
      const Term c = arg(0);
      auto choose = [&](const Term& a, const Term& b) {
        return store_.make(Kind::Select, {c, a, b});
      };
      // An undefined condition decides nothing.
      auto guarded = [&](const Term& a, const Term& b) {
        return all(args[0].defined, choose(a, b));
      };
      r.defined = guarded(args[1].defined, args[2].defined);
      r.plus = guarded(args[1].plus, args[2].plus);
      r.minus = guarded(args[1].minus, args[2].minus);
      r.poisoned = any(args[0].poisoned, guarded(args[1].poisoned, args[2].poisoned));
      return r;
    }
    default:
      break;
  }
  for (int i = 0; i < arity; ++i) {
    r.defined = all(r.defined, args[i].defined);
    r.poisoned = any(r.poisoned, args[i].poisoned);
  }
  const Facts &a = args[0], &b = args[1];
  auto infinite = [&](const Facts& f) { return any(f.plus, f.minus); };
  auto require = [&](const Term& condition) { r.defined = all(r.defined, condition); };
  // Signs are asked of defined operands only.
  auto where = [&](const Facts& f, const Term& condition) { return all(f.defined, condition); };
  switch (kind) {
    case Kind::Add:
      require(negate(any(all(a.plus, b.minus), all(a.minus, b.plus))));
      r.plus = any(a.plus, b.plus);
      r.minus = any(a.minus, b.minus);
      break;
    case Kind::Mul: {
      const Term x = arg(0), y = arg(1);
      const bool may_a = !store_.as_bool(infinite(a)), may_b = !store_.as_bool(infinite(b));
      const bool is_a = store_.as_bool(infinite(a)) == true,
                 is_b = store_.as_bool(infinite(b)) == true;
      if (!may_a && !may_b && !is_a && !is_b) break;
      require(negate(
          any(all(infinite(a), where(b, is_zero(y))), all(infinite(b), where(a, is_zero(x))))));
      auto product = [&](const Term& same_a, const Term& other_a, const Term& same_b,
                         const Term& other_b) {
        return any(any(all(same_a, where(b, positive(y))), all(other_a, where(b, negative(y)))),
                   any(all(same_b, where(a, positive(x))), all(other_b, where(a, negative(x)))));
      };
      r.plus = product(a.plus, a.minus, b.plus, b.minus);
      r.minus = product(a.minus, a.plus, b.minus, b.plus);
      break;
    }
    case Kind::Div: {
      const Term y = arg(1);
      require(negate(is_zero(y)));
      require(negate(all(infinite(a), infinite(b))));
      r.plus = any(all(a.plus, where(b, positive(y))), all(a.minus, where(b, negative(y))));
      r.minus = any(all(a.minus, where(b, positive(y))), all(a.plus, where(b, negative(y))));
      break;
    }
    case Kind::Min:
      r.plus = all(a.plus, b.plus);
      r.minus = any(a.minus, b.minus);
      break;
    case Kind::Max:
      r.plus = any(a.plus, b.plus);
      r.minus = all(a.minus, b.minus);
      break;
    case Kind::Abs:
      r.plus = infinite(a);
      break;
    case Kind::Sqrt:
      require(store_.make(Kind::LessEq, {store_.real(0), arg(0)}));
      r.plus = a.plus;
      break;
    case Kind::Log2:
      require(positive(arg(0)));
      r.plus = a.plus;
      break;
    case Kind::Exp2:
      r.plus = a.plus;
      break;
    case Kind::Sin:
    case Kind::Cos:
      require(negate(infinite(a)));
      break;
    case Kind::ErfInv:
      require(store_.make(Kind::Less, {store_.make(Kind::Abs, {arg(0)}), store_.real(1)}));
      break;
    case Kind::Gamma:
    case Kind::LogGamma: {  // poles at the integers up to 0, and no limit at -infinity
      const Term x = arg(0);
      const Term pole = all(store_.make(Kind::LessEq, {x, store_.real(0)}),
                            store_.make(Kind::Equal, {x, store_.make(Kind::Floor, {x})}));
      require(negate(pole));
      r.plus = a.plus;
      break;
    }
    case Kind::Floor:
    case Kind::Ceil:
    case Kind::Trunc:
    case Kind::RoundEven:
      r.plus = a.plus;
      r.minus = a.minus;
      break;
    case Kind::CopySign: {
      const Term below = where(b, negative(arg(1)));
      r.plus = all(infinite(a), negate(below));
      r.minus = all(infinite(a), below);
      break;
    }
    case Kind::RealOfBits: {
      const FloatLayout& f = layout_of(static_cast<FloatFormat>(store_.payload(t)));
      const Term word = arg(0);
      auto field = [&](int low, int width) {
        return store_.make(Kind::BvExtract, {word}, static_cast<uint64_t>(low), width);
      };
      auto is = [&](const Term& bits, uint64_t value) {
        return store_.make(Kind::BvEq, {bits, store_.bits(value, store_.type(bits).width)});
      };
      const Term mantissa = field(f.padding, f.mantissa_bits);
      const Term special = is(field(f.padding + f.mantissa_bits, f.exponent_bits), ~uint64_t{0});
      if (!f.has_infinity) {
        require(negate(all(special, is(mantissa, ~uint64_t{0}))));
        break;
      }
      const Term infinity = all(special, is(mantissa, 0));
      require(any(negate(special), is(mantissa, 0)));
      const Term sign = is(field(f.bits - 1, 1), 1);
      r.plus = all(infinity, negate(sign));
      r.minus = all(infinity, sign);
      break;
    }
    case Kind::IsNumber:
      r.defined = negate(a.poisoned);
      break;
    case Kind::And:
    case Kind::Or: {
      // One operand may decide: a false "and", a true "or". Poison stays strict.
      const Term x = arg(0), y = arg(1);
      const Term deciding_x = kind == Kind::Or ? x : negate(x),
                 deciding_y = kind == Kind::Or ? y : negate(y);
      const Term decided = any(all(a.defined, deciding_x), all(b.defined, deciding_y));
      r.defined = all(any(all(a.defined, b.defined), decided), negate(r.poisoned));
      break;
    }
    case Kind::BvUdiv:
    case Kind::BvSdiv:
    case Kind::BvUrem:
    case Kind::BvSrem:
      require(negate(store_.make(Kind::BvEq, {arg(1), store_.bits(0, store_.type(arg(1)).width)})));
      break;
    default:
      break;  // conditions and words over defined operands; tanh, erf, atan
  }
  return r;
}

Term Definedness::finite(const Term& t) {
  const Facts f = facts(t);
  return all(f.defined, negate(any(f.plus, f.minus)));
}

Term definedness(TermStore& store, const Term& term) { return Definedness(store).defined(term); }

}  // namespace coequal::term
