// Rebuilding of canonical values by an explicit stack.
#include "decide/canonical/rebuild.h"

namespace coequal::decide {

using term::Kind;

std::optional<Value> Rebuilder::operator()(const Value& v, const Budget& budget) {
  std::vector<Node> stack;
  need(v, stack);
  if (!run(std::move(stack), budget)) return std::nullopt;
  return mapped(v);
}

std::optional<CondId> Rebuilder::condition(CondId c, const Budget& budget) {
  std::vector<Node> stack;
  need_condition(c, stack);
  if (!run(std::move(stack), budget)) return std::nullopt;
  return mapped_condition(c);
}

void Rebuilder::need(const Value& v, std::vector<Node>& stack) const {
  for (const Factor& f : algebra_.factors(v.m))
    if (!atoms_.contains(f.atom)) stack.push_back({Node::AtomNode, f.atom});
}

void Rebuilder::need_condition(CondId c, std::vector<Node>& stack) const {
  if (c > kFalse && !conds_.contains(c >> 1)) stack.push_back({Node::CondNode, c & ~1u});
}

// The arguments of a maximum, maxima among them opened: prefixes of a running maximum need no form
// of their own.
void Rebuilder::max_leaves(const Value& v, std::vector<Value>& out) const {
  std::vector<Value> todo{v};
  absl::flat_hash_map<MonoId, Rational> opened;
  while (!todo.empty()) {
    const Value x = std::move(todo.back());
    todo.pop_back();
    const auto id = algebra_.single(x.m);
    if (id && algebra_.atom(*id).kind == AtomKind::Max && x.c.sign() > 0) {
      const auto [it, fresh] = opened.try_emplace(x.m, x.c);
      if (!fresh && it->second == x.c) continue;
      for (const Value& inner : algebra_.atom(*id).args) todo.push_back(Algebra::scale(inner, x.c));
    } else {
      out.push_back(x);
    }
  }
}

bool Rebuilder::run(std::vector<Node> stack, const Budget& budget) {
  size_t steps = 0;
  while (!stack.empty()) {
    if ((++steps & 255) == 0 && budget.spent()) return false;
    const Node n = stack.back();
    const size_t before = stack.size();
    switch (n.kind) {
      case Node::AtomNode: {
        if (atoms_.contains(n.id)) break;
        const Atom& atom = algebra_.atom(n.id);
        if (atom.kind == AtomKind::Max) {
          std::vector<Value> leaves;
          max_leaves(algebra_.atom_power(n.id, Rational(1)), leaves);
          for (const Value& v : leaves) need(v, stack);
        } else if (atom.kind == AtomKind::Select) {
          need_condition(atom.condition, stack);
          if (stack.size() == before) {
            const CondId c = mapped_condition(atom.condition);
            if (c != kFalse) need(atom.args[0], stack);
            if (c != kTrue) need(atom.args[1], stack);
          }
        } else {
          if (atom.kind == AtomKind::Indicator) need_condition(atom.condition, stack);
          if (atom.kind == AtomKind::OfWord && !words_.contains(atom.word))
            stack.push_back({Node::WordNode, atom.word});
          for (const Value& v : atom.args) need(v, stack);
        }
        if (stack.size() != before) continue;
        Value v = rebuild(n.id);
        if (hook_) v = hook_(n.id, v);
        atoms_[n.id] = std::move(v);
        break;
      }
      case Node::CondNode: {
        if (conds_.contains(n.id >> 1)) break;
        const Cond& c = algebra_.cond(n.id);
        switch (c.kind) {
          case CondKind::True:
            break;
          case CondKind::Positive:
          case CondKind::Zero:
            need(c.value, stack);
            break;
          case CondKind::Word:
            for (WordId w : {c.left, c.right})
              if (!words_.contains(w)) stack.push_back({Node::WordNode, w});
            break;
          case CondKind::Or:
            for (CondId inner : c.args) need_condition(inner, stack);
            break;
        }
        if (stack.size() != before) continue;
        conds_[n.id >> 1] = rebuild_condition(n.id);
        break;
      }
      case Node::WordNode: {
        if (words_.contains(n.id)) break;
        const Word& w = algebra_.word(n.id);
        for (WordId inner : w.words)
          if (!words_.contains(inner)) stack.push_back({Node::WordNode, inner});
        for (CondId c : w.conds) need_condition(c, stack);
        for (const Value& v : w.values) need(v, stack);
        if (stack.size() != before) continue;
        words_[n.id] = rebuild_word(n.id);
        break;
      }
    }
    stack.pop_back();
  }
  return true;
}

Value Rebuilder::power(const Value& base, const Rational& exponent) {
  if (exponent.is_one() || exponent.is_integer()) return algebra_.power(base, exponent);
  // A root of a product is the product of the roots only for factors that are not negative: sqrt
  // knows.
  Value root = base;
  Rational e = exponent;
  const Rational two(2);
  while (!e.is_integer() && (e * two - (e * two).floor()).is_zero()) {
    root = algebra_.sqrt(root);
    e = e * two;
  }
  if (e.is_integer()) return algebra_.power(root, e);
  for (const Factor& f : algebra_.factors(root.m))
    if (!algebra_.atom(f.atom).range.nonnegative() || root.c.sign() < 0)
      return algebra_.exp2(Algebra::scale(algebra_.log2(root), e));
  return algebra_.power(root, e);
}

Value Rebuilder::mapped(const Value& v) {
  if (v.is_number()) return v;
  if (const auto it = monos_.find(v.m); it != monos_.end()) {
    if (algebra_.is_undefined(it->second)) return it->second;
    return Algebra::scale(it->second, v.c);
  }
  const std::vector<Factor> factors = algebra_.factors(v.m);
  bool changed = false;
  for (const Factor& f : factors) {
    const Value& w = atoms_.find(f.atom)->second;
    changed = changed || !w.c.is_one() || algebra_.single(w.m) != std::optional(f.atom);
  }
  Value out{Rational(1), v.m};
  if (changed) {
    out = Algebra::number(1);
    std::vector<Factor> kept;
    for (const Factor& f : factors) {
      const Value& w = atoms_.find(f.atom)->second;
      if (w.c.is_one() && algebra_.single(w.m) == std::optional(f.atom))
        kept.push_back(f);
      else
        out = algebra_.mul(out, power(w, f.exponent));
    }
    out = algebra_.mul(out, algebra_.monomial(std::move(kept)));
  }
  monos_[v.m] = out;
  if (algebra_.is_undefined(out)) return out;
  return Algebra::scale(out, v.c);
}

Value Rebuilder::rebuild(AtomId id) {
  const Atom atom = algebra_.atom(id);
  const Value self = algebra_.atom_power(id, Rational(1));
  auto arg = [&](size_t i) { return mapped(atom.args[i]); };
  bool changed = false;
  if (atom.kind != AtomKind::Max && atom.kind != AtomKind::Select)
    for (const Value& v : atom.args) changed = changed || !(mapped(v) == v);
  switch (atom.kind) {
    case AtomKind::Leaf:
    case AtomKind::Poison:
    case AtomKind::Scalar:
    case AtomKind::Symbol:
    case AtomKind::Prime:
    case AtomKind::Infinity:
    case AtomKind::Undefined:
      return self;
    case AtomKind::Max: {
      std::vector<Value> leaves, args;
      max_leaves(self, leaves);
      for (const Value& v : leaves) args.push_back(mapped(v));
      return algebra_.max_of(std::move(args), ~size_t{0});
    }
    case AtomKind::Select: {
      const CondId c = mapped_condition(atom.condition);
      if (c == kTrue) return arg(0);
      if (c == kFalse) return arg(1);
      return algebra_.select(c, arg(0), arg(1));
    }
    case AtomKind::Indicator:
      return algebra_.select(mapped_condition(atom.condition), Algebra::number(1),
                             Algebra::number(0));
    case AtomKind::OfWord:
      return algebra_.of_word(static_cast<Kind>(atom.a), static_cast<uint64_t>(atom.b),
                              words_.find(atom.word)->second);
    default:
      break;
  }
  if (!changed) return self;
  switch (atom.kind) {
    case AtomKind::Exp:
      return algebra_.exp2(arg(0));
    case AtomKind::Sum: {
      std::vector<Value> args;
      for (const Value& v : atom.args) args.push_back(mapped(v));
      return algebra_.sum(std::move(args));
    }
    case AtomKind::Abs:
      return algebra_.abs(arg(0));
    case AtomKind::Root:
      return algebra_.sqrt(arg(0));
    case AtomKind::Log:
      return algebra_.log2(arg(0));
    case AtomKind::Function: {
      std::vector<Value> args;
      for (const Value& v : atom.args) args.push_back(mapped(v));
      return algebra_.function(static_cast<Kind>(atom.a), std::move(args));
    }
    default:
      CHECK(false);
  }
  return self;
}

CondId Rebuilder::rebuild_condition(CondId even) {
  const Cond c = algebra_.cond(even);
  switch (c.kind) {
    case CondKind::True:
      return kTrue;
    case CondKind::Positive:
      return algebra_.positive(mapped(c.value));
    case CondKind::Zero:
      return algebra_.zero(mapped(c.value));
    case CondKind::Word:
      return algebra_.compare_words(static_cast<Kind>(c.a), words_.find(c.left)->second,
                                    words_.find(c.right)->second);
    case CondKind::Or: {
      std::vector<CondId> args;
      for (CondId inner : c.args) args.push_back(mapped_condition(inner));
      return algebra_.any(std::move(args));
    }
  }
  CHECK(false);
  return kTrue;
}

WordId Rebuilder::rebuild_word(WordId id) {
  Word w = algebra_.word(id);
  for (WordId& inner : w.words) inner = words_.find(inner)->second;
  for (CondId& c : w.conds) c = mapped_condition(c);
  for (Value& v : w.values) v = mapped(v);
  w.depth = 0;
  return algebra_.word(std::move(w));
}

}  // namespace coequal::decide
