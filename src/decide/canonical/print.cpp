// Text of canonical values, for residuals and exclusions. Canonical forms are ordered and scaled by
// the numbers of their parts, which depend on what was made before; the text is not.
#include "term/print.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "decide/canonical/algebra.h"
#include "term/hash.h"

namespace coequal::decide {

using term::Kind;

namespace {

// Keys of parts that depend on what they are alone.
class Keys {
 public:
  explicit Keys(const Algebra& algebra) : algebra_(algebra) {}

  // Without its coefficient, which goes with the scale of the sums in it.
  uint64_t of_monomial(MonoId m) {
    uint64_t all = 0;
    for (const Factor& f : algebra_.factors(m)) all += of_factor(f);
    return all;
  }
  uint64_t of_factor(const Factor& f) {
    return term::mix(of_atom(f.atom), of_rational(f.exponent));
  }
  uint64_t of(const Value& v) { return term::mix(of_rational(scaled(v)), of_monomial(v.m)); }
  uint64_t of_condition(CondId c) {
    if (c <= kFalse) return c;
    const uint64_t even = kept(conditions_, c & ~1u, [&] {
      const Cond& cond = algebra_.cond(c);
      uint64_t key = term::mix(static_cast<uint64_t>(cond.kind), cond.a);
      if (cond.kind == CondKind::Positive) key = term::mix(key, of(cond.value));
      if (cond.kind == CondKind::Zero) key = term::mix(key, of_monomial(cond.value.m));
      if (cond.kind == CondKind::Word)
        key = term::mix(term::mix(key, of_word(cond.left)), of_word(cond.right));
      uint64_t all = 0;
      for (CondId inner : cond.args) all += term::mix(3, of_condition(inner));
      return term::mix(key, all);
    });
    return term::mix(even, c & 1);
  }

  uint64_t of_word(WordId id) {
    return kept(words_, id, [&] {
      const Word& w = algebra_.word(id);
      uint64_t key = term::mix(term::mix(static_cast<uint64_t>(w.kind), w.payload),
                               static_cast<uint64_t>(w.cell));
      uint64_t all = 0;
      for (WordId inner : w.words)
        all = term::is_commutative(w.kind) ? all + of_word(inner) : term::mix(all, of_word(inner));
      key = term::mix(key, all);
      for (CondId c : w.conds) key = term::mix(key, of_condition(c));
      for (const Value& v : w.values) key = term::mix(key, of(v));
      return key;
    });
  }

  // The coefficient of the part of a sum that comes first; sums are shown with 1 there.
  Rational lead(AtomId sum) {
    const std::vector<Value>& args = algebra_.atom(sum).args;
    return std::min_element(args.begin(), args.end(),
                            [&](const Value& a, const Value& b) { return order(a) < order(b); })
        ->c;
  }
  // Numbers first.
  uint64_t order(const Value& part) { return part.is_number() ? 0 : of_monomial(part.m) | 1; }
  // The coefficient once the sums among the factors are shown with 1 first. Sums under fractional
  // powers are shown as they are.
  Rational scaled(const Value& v) {
    Rational c = v.c;
    for (const Factor& f : algebra_.factors(v.m))
      if (is_scaled(f)) c = c * lead(f.atom).pow(*f.exponent.as_int64());
    return c;
  }
  bool is_scaled(const Factor& f) const {
    const auto n = f.exponent.as_int64();
    return algebra_.atom(f.atom).kind == AtomKind::Sum && n && std::abs(*n) <= kMostPower;
  }

 private:
  static constexpr int64_t kMostPower = 16;

  static uint64_t of_rational(const Rational& r) {
    uint64_t key = 7;
    for (const char c : r.to_string()) key = term::mix(key, static_cast<unsigned char>(c));
    return key;
  }
  template <class Id, class F>
  uint64_t kept(absl::flat_hash_map<Id, uint64_t>& memo, Id id, F&& make) {
    constexpr int kDeepest = 200;  // what lies further down does not tell parts apart
    if (const auto it = memo.find(id); it != memo.end()) return it->second;
    if (depth_ == kDeepest) return 0;
    ++depth_;
    const uint64_t key = make();
    --depth_;
    memo.emplace(id, key);
    return key;
  }
  uint64_t of_atom(AtomId id) {
    return kept(atoms_, id, [&] {
      const Atom& a = algebra_.atom(id);
      uint64_t key =
          term::mix(term::mix(static_cast<uint64_t>(a.kind), a.a), static_cast<uint64_t>(a.b));
      if (a.kind == AtomKind::Select || a.kind == AtomKind::Indicator)
        key = term::mix(key, of_condition(a.condition));
      if (a.kind == AtomKind::OfWord) key = term::mix(key, of_word(a.word));
      if (a.kind == AtomKind::Sum) {
        const Rational by = Rational(1) / lead(id);
        uint64_t all = 0;
        for (const Value& v : a.args) all += of(Algebra::scale(v, by));
        return term::mix(key, all);
      }
      uint64_t all = 0;
      for (const Value& v : a.args)
        all = a.kind == AtomKind::Max ? all + of(v) : term::mix(all, of(v));
      return term::mix(key, all);
    });
  }
  const Algebra& algebra_;
  absl::flat_hash_map<AtomId, uint64_t> atoms_;
  absl::flat_hash_map<CondId, uint64_t> conditions_;
  absl::flat_hash_map<WordId, uint64_t> words_;
  int depth_ = 0;
};

// The parts in the order of their keys.
template <class T, class F>
std::vector<T> sorted(const std::vector<T>& parts, F&& key_of) {
  std::vector<std::pair<uint64_t, size_t>> keyed;
  for (size_t i = 0; i < parts.size(); ++i) keyed.emplace_back(key_of(parts[i]), i);
  std::sort(keyed.begin(), keyed.end());
  std::vector<T> out;
  for (const auto& [key, i] : keyed) out.push_back(parts[i]);
  return out;
}

class Printer {
 public:
  Printer(const Algebra& algebra, size_t limit)
      : algebra_(algebra), limit_(limit), keys_(algebra) {}

  void value(const Value& v) {
    if (full()) return;
    if (v.is_number()) {
      out_ += v.c.to_string();
      return;
    }
    bool first = true;
    const Rational c = keys_.scaled(v);
    if (c == Rational(-1)) {
      out_ += "-";
    } else if (!c.is_one()) {
      out_ += c.to_string();
      first = false;
    }
    for (const Factor& f :
         sorted(algebra_.factors(v.m), [&](const Factor& x) { return keys_.of_factor(x); })) {
      if (full()) return;
      if (!first) out_ += "*";
      first = false;
      atom(f.atom, keys_.is_scaled(f) ? keys_.lead(f.atom) : Rational(1));
      if (!f.exponent.is_one())
        out_ += "^" + (f.exponent.is_integer() ? f.exponent.to_string()
                                               : "(" + f.exponent.to_string() + ")");
    }
  }

  void condition(CondId c) {
    if (full()) return;
    if (c <= kFalse) {
      out_ += c == kTrue ? "true" : "false";
      return;
    }
    const Cond& cond = algebra_.cond(c);
    const bool holds = !(c & 1);
    switch (cond.kind) {
      case CondKind::True:
        break;
      case CondKind::Positive:
      case CondKind::Zero:
        comparison(cond, holds);
        break;
      case CondKind::Word: {
        const Kind kind = static_cast<Kind>(cond.a);
        const bool swapped = kind == Kind::BvEq && algebra_.word(cond.left).kind == Kind::BvConst;
        word(swapped ? cond.right : cond.left);
        if (kind == Kind::BvEq)
          out_ += holds ? " = " : " != ";
        else
          out_ += holds ? " < " : " >= ";
        word(swapped ? cond.left : cond.right);
        break;
      }
      case CondKind::Or: {
        bool first = true;
        for (CondId inner : sorted(cond.args, [&](CondId x) { return keys_.of_condition(x); })) {
          if (full()) return;
          if (!first) out_ += holds ? " or " : " and ";
          first = false;
          const CondId part = holds ? inner : Algebra::negation(inner);
          const bool nested = algebra_.cond(part).kind == CondKind::Or;
          if (nested) out_ += "(";
          condition(part);
          if (nested) out_ += ")";
        }
        break;
      }
    }
  }

  std::string text() {
    if (full()) out_ = out_.substr(0, limit_) + "...";
    return std::move(out_);
  }

 private:
  bool full() const { return out_.size() > limit_; }

  void comparison(const Cond& cond, bool holds) {
    const auto op = [&](bool negative) {
      if (cond.kind == CondKind::Zero) return holds ? " = " : " != ";
      if (negative) return holds ? " < " : " >= ";
      return holds ? " > " : " <= ";
    };
    const auto unit = [&](const Value& v) {
      return Algebra::scale(v, Rational(1) / keys_.scaled(v));
    };
    const auto id = algebra_.single(cond.value.m);
    if (id && algebra_.atom(*id).kind == AtomKind::Sum && algebra_.atom(*id).args.size() == 2 &&
        algebra_.atom(*id).args[0].is_number()) {
      // Of a sum with a constant, the constant goes to the right: "x[0] > 3".
      const Value &constant = algebra_.atom(*id).args[0], &m = algebra_.atom(*id).args[1];
      const Rational c = keys_.scaled(m);
      value(unit(m));
      out_ += op((cond.value.c * c).sign() < 0) + (-constant.c / c).to_string();
      return;
    }
    value(unit(cond.value));
    out_ += op(keys_.scaled(cond.value).sign() < 0);
    out_ += "0";
  }

  void list(std::string_view name, const std::vector<Value>& args) {
    out_ += name;
    out_ += "(";
    bool first = true;
    for (const Value& v : args) {
      if (full()) return;
      if (!first) out_ += ", ";
      first = false;
      value(v);
    }
    out_ += ")";
  }

  void word(WordId id) {
    if (full()) return;
    const Word& w = algebra_.word(id);
    switch (w.kind) {
      case Kind::Leaf:
      case Kind::Poison:
        out_ += fmt::format(
            "{}[{}]", algebra_.store().group(static_cast<term::GroupId>(w.payload)).name, w.cell);
        return;
      case Kind::Scalar:
        out_ += algebra_.store().scalar(static_cast<uint32_t>(w.payload)).name;
        return;
      case Kind::BvConst:
        out_ += std::to_string(w.payload);
        return;
      default:
        break;
    }
    out_ += term::kind_text(w.kind);
    out_ += "(";
    const auto key = [&](WordId x) { return keys_.of_word(x); };
    for (WordId inner : term::is_commutative(w.kind) ? sorted(w.words, key) : w.words)
      word(inner), out_ += " ";
    if (w.kind == Kind::BvAdd && w.payload != 0) out_ += std::to_string(w.payload);
    for (CondId c : w.conds) condition(c), out_ += " ";
    for (const Value& v : w.values) value(v), out_ += " ";
    out_ += ")";
  }

  // A sum is divided by `lead`.
  void atom(AtomId id, const Rational& lead) {
    const Atom& a = algebra_.atom(id);
    switch (a.kind) {
      case AtomKind::Leaf:
      case AtomKind::Poison:
        out_ += fmt::format("{}[{}]", algebra_.store().group(static_cast<term::GroupId>(a.a)).name,
                            a.b);
        break;
      case AtomKind::Scalar:
        out_ += algebra_.store().scalar(a.a).name;
        break;
      case AtomKind::Symbol:
        out_ += term::name_of(static_cast<term::NamedConstant>(a.a));
        break;
      case AtomKind::Prime:
        out_ += std::to_string(a.b);
        break;
      case AtomKind::Infinity:
        out_ += "inf";
        break;
      case AtomKind::Undefined:
        out_ += "undefined";
        break;
      case AtomKind::Exp:
        list("exp2", a.args);
        break;
      case AtomKind::Sum: {
        out_ += "(";
        bool first = true;
        for (const Value& part : sorted(a.args, [&](const Value& x) { return keys_.order(x); })) {
          if (full()) return;
          const Value v = Algebra::scale(part, Rational(1) / lead);
          const bool negative = keys_.scaled(v).sign() < 0;
          if (!first) out_ += negative ? " - " : " + ";
          value(!first && negative ? Algebra::negate(v) : v);
          first = false;
        }
        out_ += ")";
        break;
      }
      case AtomKind::Max:
        list("max", sorted(a.args, [&](const Value& x) { return keys_.of(x); }));
        break;
      case AtomKind::Abs:
        list("abs", a.args);
        break;
      case AtomKind::Root:
        list("sqrt", a.args);
        break;
      case AtomKind::Log:
        list("log2", a.args);
        break;
      case AtomKind::Select:
        out_ += "(";
        condition(a.condition);
        out_ += " ? ";
        value(a.args[0]);
        out_ += " : ";
        value(a.args[1]);
        out_ += ")";
        break;
      case AtomKind::Indicator:
        out_ += "[";
        condition(a.condition);
        out_ += "]";
        break;
      case AtomKind::Function:
        list(term::kind_text(static_cast<Kind>(a.a)), a.args);
        break;
      case AtomKind::OfWord:
        out_ += term::kind_text(static_cast<Kind>(a.a));
        out_ += "(";
        word(a.word);
        out_ += ")";
        break;
    }
  }

  const Algebra& algebra_;
  size_t limit_;
  Keys keys_;
  std::string out_;
};

}  // namespace

std::string Algebra::to_string(const Value& v, size_t limit) const {
  Printer p(*this, limit);
  p.value(v);
  return p.text();
}

std::string Algebra::to_string_condition(CondId c, size_t limit) const {
  Printer p(*this, limit);
  p.condition(c);
  return p.text();
}

}  // namespace coequal::decide
