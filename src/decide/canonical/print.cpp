// Text of canonical values, for residuals and exclusions.
#include "term/print.h"

#include <fmt/format.h>

#include "decide/canonical/algebra.h"

namespace coequal::decide {

using term::Kind;

namespace {

class Printer {
 public:
  Printer(const Algebra& algebra, size_t limit) : algebra_(algebra), limit_(limit) {}

  void value(const Value& v) {
    if (full()) return;
    if (v.is_number()) {
      out_ += v.c.to_string();
      return;
    }
    bool first = true;
    if (v.c == Rational(-1)) {
      out_ += "-";
    } else if (!v.c.is_one()) {
      out_ += v.c.to_string();
      first = false;
    }
    for (const Factor& f : algebra_.factors(v.m)) {
      if (full()) return;
      if (!first) out_ += "*";
      first = false;
      atom(f.atom);
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
        for (CondId inner : cond.args) {
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
    // Of a sum with a constant, the constant goes to the right: "x[0] > 3".
    const char* op =
        cond.kind == CondKind::Zero ? (holds ? " = " : " != ") : (holds ? " > " : " <= ");
    if (cond.value.c.sign() < 0) op = holds ? " < " : " >= ";
    const Value unsigned_value{Rational(1), cond.value.m};
    const auto id = algebra_.single(cond.value.m);
    if (id && algebra_.atom(*id).kind == AtomKind::Sum && algebra_.atom(*id).args.size() == 2 &&
        algebra_.atom(*id).args[0].is_number()) {
      // c0 + c1 m against 0 is m against -c0 / c1.
      const Value& m = algebra_.atom(*id).args[1];
      const bool flip = m.c.sign() < 0;
      value({Rational(1), m.m});
      std::string text = op;
      if (flip && text.find('<') != std::string::npos)
        text[text.find('<')] = '>';
      else if (flip && text.find('>') != std::string::npos)
        text[text.find('>')] = '<';
      out_ += text + (-algebra_.atom(*id).args[0].c / m.c).to_string();
      return;
    }
    value(unsigned_value);
    out_ += op;
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
    for (WordId inner : w.words) word(inner), out_ += " ";
    if (w.kind == Kind::BvAdd && w.payload != 0) out_ += std::to_string(w.payload);
    for (CondId c : w.conds) condition(c), out_ += " ";
    for (const Value& v : w.values) value(v), out_ += " ";
    out_ += ")";
  }

  void atom(AtomId id) {
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
        for (const Value& v : a.args) {
          if (full()) return;
          if (!first) out_ += v.c.sign() < 0 ? " - " : " + ";
          value(!first && v.c.sign() < 0 ? Algebra::negate(v) : v);
          first = false;
        }
        out_ += ")";
        break;
      }
      case AtomKind::Max:
        list("max", a.args);
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
