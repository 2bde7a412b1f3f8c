// From terms to canonical values, children first, by an explicit stack.
#include "decide/canonical/build.h"

namespace coequal::decide {

using term::Kind;
using term::Term;
using term::TypeClass;

std::optional<Value> Builder::value(const Term& t, const Budget& budget) {
  const Entry* e = build(t, budget);
  return e ? std::optional<Value>(e->value) : std::nullopt;
}

std::optional<CondId> Builder::condition(const Term& t, const Budget& budget) {
  const Entry* e = build(t, budget);
  return e ? std::optional<CondId>(e->id) : std::nullopt;
}

const Builder::Entry* Builder::build(const Term& root, const Budget& budget) {
  if (const auto it = memo_.find(root); it != memo_.end()) return &it->second;
  std::vector<Term> stack{root};
  size_t steps = 0;
  while (!stack.empty()) {
    if ((++steps & 1023) == 0 && budget.spent()) return nullptr;
    const Term t = stack.back();
    if (memo_.contains(t)) {
      stack.pop_back();
      continue;
    }
    const size_t before = stack.size();
    auto need = [&](const Term& child) {
      if (!memo_.contains(child)) stack.push_back(child);
    };
    switch (store_.kind(t)) {
      case Kind::Select: {
        // An arm that the condition rules out is never looked at: it may be undefined.
        const Term c = store_.child(t, 0);
        const auto it = memo_.find(c);
        if (it == memo_.end()) {
          stack.push_back(c);
          break;
        }
        if (it->second.id != kFalse) need(store_.child(t, 1));
        if (it->second.id != kTrue) need(store_.child(t, 2));
        break;
      }
      case Kind::IsNumber:
        need(definedness_(store_.child(t, 0)));
        break;
      default:
        for (int i = store_.arity(t); i-- > 0;) need(store_.child(t, i));
    }
    if (stack.size() != before) continue;
    Entry e = combine(t);
    memo_.emplace(t, std::move(e));
    stack.pop_back();
  }
  return &done(root);
}

Builder::Entry Builder::leaf(const Term& t) {
  const auto group = static_cast<term::GroupId>(store_.payload(t));
  const int64_t cell = store_.anchor(t, 0).cell;
  const term::Type type = store_.type(t);
  // Cells of known values are unknowns too: a proof covers every cell of the class, wherever they
  // stand.
  if (type.cls == TypeClass::Real)
    return {
        store_.kind(t) == Kind::Poison ? algebra_.poison(group, cell) : algebra_.leaf(group, cell),
        0};
  Word w;
  w.width = type.width;
  w.kind = store_.kind(t);
  w.payload = group;
  w.cell = cell;
  return {{}, algebra_.word(std::move(w))};
}

Builder::Entry Builder::word(const Term& t) {
  Word w;
  w.kind = store_.kind(t);
  w.width = store_.type(t).width;
  w.payload = store_.payload(t);
  if (w.kind == Kind::Select) {
    const CondId c = id_of(t, 0);
    if (c == kTrue) return {{}, id_of(t, 1)};
    if (c == kFalse) return {{}, id_of(t, 2)};
    w.payload = 0;
    w.conds = {c};
    w.words = {id_of(t, 1), id_of(t, 2)};
  } else {
    for (int i = 0; i < store_.arity(t); ++i) {
      const Term child = store_.child(t, i);
      switch (store_.type(child).cls) {
        case TypeClass::Real:
          w.values.push_back(done(child).value);
          break;
        case TypeClass::Bool:
          w.conds.push_back(done(child).id);
          break;
        case TypeClass::Bv:
          w.words.push_back(done(child).id);
          break;
      }
    }
  }
  return {{}, algebra_.word(std::move(w))};
}

Builder::Entry Builder::combine(const Term& t) {
  const Kind kind = store_.kind(t);
  Algebra& a = algebra_;
  auto v = [&](int i) -> const Value& { return value_of(t, i); };
  auto id = [&](int i) { return id_of(t, i); };
  switch (kind) {
    case Kind::Leaf:
    case Kind::Poison:
      return leaf(t);
    case Kind::Scalar:
      if (store_.type(t).cls == TypeClass::Real)
        return {a.scalar(static_cast<uint32_t>(store_.payload(t))), 0};
      return word(t);
    case Kind::RealConst:
      return {Algebra::number(store_.rational(t)), 0};
    case Kind::Infinity:
      return {a.infinity(store_.payload(t) != 0), 0};
    case Kind::Undefined:
      return {a.undefined(), 0};
    case Kind::Symbol:
      return {a.symbol(static_cast<term::NamedConstant>(store_.payload(t))), 0};
    case Kind::BoolConst:
      return {{}, store_.payload(t) ? kTrue : kFalse};
    case Kind::Add:
      return {a.add(v(0), v(1)), 0};
    case Kind::Mul:
      return {a.mul(v(0), v(1)), 0};
    case Kind::Div:
      return {a.mul(v(0), a.inverse(v(1))), 0};
    case Kind::Min:
      return {a.min(v(0), v(1)), 0};
    case Kind::Max:
      return {a.max(v(0), v(1)), 0};
    case Kind::Abs:
      return {a.abs(v(0)), 0};
    case Kind::Sqrt:
      return {a.sqrt(v(0)), 0};
    case Kind::Exp2:
      return {a.exp2(v(0)), 0};
    case Kind::Log2:
      return {a.log2(v(0)), 0};
    case Kind::Tanh:
      return {a.tanh(v(0)), 0};
    case Kind::Sin:
    case Kind::Cos:
    case Kind::Erf:
    case Kind::Atan:
    case Kind::ErfInv:
    case Kind::Gamma:
    case Kind::LogGamma:
    case Kind::Floor:
    case Kind::Ceil:
    case Kind::Trunc:
    case Kind::RoundEven:
      return {a.function(kind, {v(0)}), 0};
    case Kind::CopySign: {
      // The sign of 0 is positive.
      const Value size = a.abs(v(0));
      return {a.select(a.nonnegative(v(1)), size, Algebra::negate(size)), 0};
    }
    case Kind::RealOfSigned:
    case Kind::RealOfUnsigned:
    case Kind::RealOfBits:
      return {a.of_word(kind, store_.payload(t), id(0)), 0};
    case Kind::Select: {
      const TypeClass cls = store_.type(t).cls;
      if (cls == TypeClass::Bv) return word(t);
      const CondId c = id(0);
      if (cls == TypeClass::Real) {
        if (c == kTrue) return {v(1), 0};
        if (c == kFalse) return {v(2), 0};
        return {a.select(c, v(1), v(2)), 0};
      }
      if (c == kTrue) return {{}, id(1)};
      if (c == kFalse) return {{}, id(2)};
      return {{}, a.choose(c, id(1), id(2))};
    }
    case Kind::Less:
      return {{}, a.less(v(0), v(1))};
    case Kind::LessEq:
      return {{}, Algebra::negation(a.less(v(1), v(0)))};
    case Kind::Equal:
      return {{}, a.equal(v(0), v(1))};
    case Kind::IsNumber:
      return {{}, done(definedness_(store_.child(t, 0))).id};
    case Kind::Not:
      return {{}, Algebra::negation(id(0))};
    case Kind::And:
      return {{}, a.all({id(0), id(1)})};
    case Kind::Or:
      return {{}, a.any({id(0), id(1)})};
    case Kind::BvEq:
    case Kind::BvUlt:
    case Kind::BvSlt:
      return {{}, a.compare_words(kind, id(0), id(1))};
    default:
      return word(t);
  }
}

}  // namespace coequal::decide
