// Infix printing with the fewest parentheses.
#include "term/print.h"

#include <fmt/format.h>

namespace coequal::term {
namespace {

// Binding strength, weakest first.
enum Strength {
  kWeakest,
  kSelect,
  kOr,
  kAnd,
  kCompare,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kSum,
  kProduct,
  kPrefix,
  kAtom
};

class Printer {
 public:
  Printer(const TermStore& store, const PrintOptions& options)
      : store_(store), options_(options), left_(options.max_nodes) {}

  // The depth of the recursion is bounded by the number of nodes that may be printed.
  std::string text(const Term& t, Strength outer) {
    if (left_-- <= 0) return "...";
    auto [result, own] = inner(t);
    return own < outer ? "(" + result + ")" : result;
  }

 private:
  struct Part {
    std::string text;
    Strength strength;
  };

  Term arg(const Term& t, int i) const { return store_.child(t, i); }
  bool is_minus_one(const Term& t) const {
    const Rational* c = store_.as_rational(t);
    return c && *c == Rational(-1);
  }
  std::optional<Term> negated(const Term& t) const {
    if (store_.kind(t) != Kind::Mul) return std::nullopt;
    for (int i = 0; i < 2; ++i)
      if (is_minus_one(arg(t, i))) return arg(t, 1 - i);
    return std::nullopt;
  }
  Part infix(const Term& t, std::string_view sign, Strength own) {
    // The right side binds one step tighter, so that a - (b - c) keeps its parentheses.
    std::string left = text(arg(t, 0), own);
    return {left + " " + std::string(sign) + " " + text(arg(t, 1), static_cast<Strength>(own + 1)),
            own};
  }
  Part call(std::string name, const Term& t) {
    name += "(";
    for (int i = 0; i < store_.arity(t); ++i) name += (i ? ", " : "") + text(arg(t, i), kWeakest);
    return {name + ")", kAtom};
  }
  static std::string number(const Rational& value) { return value.to_string(); }

  Part inner(const Term& t) {
    const uint64_t payload = store_.payload(t);
    const int width = store_.type(t).width;
    switch (store_.kind(t)) {
      case Kind::RealConst: {
        const Rational& value = store_.rational(t);
        return {number(value),
                value.is_integer() ? (value.sign() < 0 ? kPrefix : kAtom) : kProduct};
      }
      case Kind::Infinity:
        return {payload ? "-inf" : "inf", payload ? kPrefix : kAtom};
      case Kind::Undefined:
        return {"undefined", kAtom};
      case Kind::Symbol:
        return {std::string(name_of(static_cast<NamedConstant>(payload))), kAtom};
      case Kind::BoolConst:
        return {payload ? "true" : "false", kAtom};
      case Kind::BvConst:
        return {payload < 10 ? std::to_string(payload) : fmt::format("{:#x}", payload), kAtom};
      case Kind::Poison:
      case Kind::Leaf: {
        const GroupId group = static_cast<GroupId>(payload);
        const int64_t cell = store_.anchor(t, 0).cell;
        std::string name = options_.leaf ? options_.leaf(group, cell)
                                         : fmt::format("{}[{}]", store_.group(group).name, cell);
        if (store_.kind(t) == Kind::Poison) name = "uninitialised(" + name + ")";
        return {name, kAtom};
      }
      case Kind::Scalar:
        return {store_.scalar(static_cast<uint32_t>(payload)).name, kAtom};
      case Kind::Add: {
        for (int i = 1; i >= 0; --i)
          if (std::optional<Term> y = negated(arg(t, i))) {
            std::string left = text(arg(t, 1 - i), kSum);
            return {left + " - " + text(*y, kProduct), kSum};
          }
        return infix(t, "+", kSum);
      }
      case Kind::Mul:
        if (std::optional<Term> y = negated(t)) return {"-" + text(*y, kPrefix), kPrefix};
        return infix(t, "*", kProduct);
      case Kind::Div:
        return infix(t, "/", kProduct);
      case Kind::Less:
        return infix(t, "<", kCompare);
      case Kind::LessEq:
        return infix(t, "<=", kCompare);
      case Kind::Equal:
      case Kind::BvEq:
        return infix(t, "==", kCompare);
      case Kind::BvUlt:
        return infix(t, "<u", kCompare);
      case Kind::BvSlt:
        return infix(t, "<s", kCompare);
      case Kind::And:
        return infix(t, "and", kAnd);
      case Kind::Or:
        return infix(t, "or", kOr);
      case Kind::Not:
        return {"not " + text(arg(t, 0), kPrefix), kPrefix};
      case Kind::Select: {
        std::string condition = text(arg(t, 0), kOr), then = text(arg(t, 1), kOr);
        return {condition + " ? " + then + " : " + text(arg(t, 2), kSelect), kSelect};
      }
      case Kind::BvAdd:
        return infix(t, "+", kSum);
      case Kind::BvMul:
        return infix(t, "*", kProduct);
      case Kind::BvAnd:
        return infix(t, "&", kBitAnd);
      case Kind::BvOr:
        return infix(t, "|", kBitOr);
      case Kind::BvXor:
        return infix(t, "^", kBitXor);
      case Kind::BvNot:
        return {"~" + text(arg(t, 0), kPrefix), kPrefix};
      case Kind::BvShl:
        return infix(t, "<<", kShift);
      case Kind::BvLshr:
        return infix(t, ">>u", kShift);
      case Kind::BvAshr:
        return infix(t, ">>s", kShift);
      case Kind::BvUdiv:
        return infix(t, "/u", kProduct);
      case Kind::BvSdiv:
        return infix(t, "/s", kProduct);
      case Kind::BvUrem:
        return infix(t, "%u", kProduct);
      case Kind::BvSrem:
        return infix(t, "%s", kProduct);
      case Kind::BvExtract: {
        const uint64_t high = payload + static_cast<uint64_t>(width) - 1;
        return {fmt::format("{}{{{}..{}}}", text(arg(t, 0), kAtom), high, payload), kAtom};
      }
      case Kind::BvZeroExtend:
        return call(fmt::format("u{}", width), t);
      case Kind::BvSignExtend:
        return call(fmt::format("s{}", width), t);
      case Kind::BvOfReal:
        return call(fmt::format("{}{}-of", payload ? "s" : "u", width), t);
      case Kind::RealOfBits:
        return call(fmt::format("{}-value", name_of(static_cast<FloatFormat>(payload))), t);
      case Kind::BitsOfReal:
        return call(fmt::format("{}-bits", name_of(static_cast<FloatFormat>(payload))), t);
      default:
        return call(std::string(kind_text(store_.kind(t))), t);
    }
  }

  const TermStore& store_;
  const PrintOptions& options_;
  int left_;
};

}  // namespace

std::string print(const TermStore& store, const Term& term, const PrintOptions& options) {
  return Printer(store, options).text(term, kWeakest);
}

std::string_view name_of(NamedConstant constant) {
  constexpr std::string_view kNames[] = {"log2(e)",    "ln(2)",      "log10(2)",    "log2(10)",
                                         "1/ln(10)",   "pi",         "1/pi",        "2/pi",
                                         "pi/2",       "1/sqrt(2)",  "sqrt(2)",     "sqrt(2/pi)",
                                         "1/sqrt(pi)", "2/sqrt(pi)", "1/sqrt(2*pi)"};
  return kNames[static_cast<size_t>(constant)];
}

std::string_view name_of(FloatFormat format) {
  constexpr std::string_view kNames[] = {"f64", "f32", "f16", "bf16", "tf32", "e4m3", "e5m2"};
  return kNames[static_cast<size_t>(format)];
}

}  // namespace coequal::term
