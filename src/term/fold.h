// The constructors' rules, by result type: what is cheap, unconditional and sound. Private to
// term/.
//
// Every rule is covariant: it looks at structure and relative positions only, and yields constants,
// arguments, their sub-terms, or nodes over these. A rule may drop an operand only if that loses
// neither a definedness condition nor poison: "total" or "no poison" in the conditions below.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "term/store.h"

namespace coequal::term {

struct TermStore::Folder {
  TermStore& s;

  using Folded = std::optional<Term>;

  Folded fold(Kind kind, std::span<const Term> args, uint64_t payload, Type type);

  // fold_real.cpp
  Folded fold_real(Kind kind, std::span<const Term> args, uint64_t payload);
  Folded fold_add(const Term& a, const Term& b);
  Folded fold_mul(const Term& a, const Term& b);
  Folded fold_div(const Term& a, const Term& b);
  Folded fold_min_max(Kind kind, const Term& a, const Term& b);
  Folded fold_unary(Kind kind, const Term& x);
  Folded fold_copy_sign(const Term& magnitude, const Term& sign);
  Folded fold_real_of_word(Kind kind, const Term& x);
  Folded fold_real_of_bits(FloatFormat format, const Term& bits);
  Folded narrowed_by(int dropped, const Term& word);
  bool is_integer_valued(const Term& x) const;
  std::optional<bool> negative_sign(const Term& x) const;
  Term negated(const Term& x) { return s.make(Kind::Mul, {s.real(-1), x}); }
  // The argument, if the term is (-1) * argument.
  Folded negation_of(const Term& x) const;
  bool is_positive(const Term& x, int depth = 3) const;
  bool is_nonnegative(const Term& x, int depth = 3) const;

  // fold_condition.cpp
  Folded fold_condition(Kind kind, std::span<const Term> args);
  Folded fold_real_comparison(Kind kind, const Term& a, const Term& b);
  Folded fold_word_comparison(Kind kind, const Term& a, const Term& b);
  Folded fold_logic(Kind kind, const Term& a, const Term& b);
  Folded fold_extreme_of_words(const Term& condition, const Term& a, const Term& b);
  Folded fold_select(const Term& condition, const Term& a, const Term& b);
  Term negate(const Term& condition) { return s.make(Kind::Not, {condition}); }

  // fold_bits.cpp
  Folded fold_bits(Kind kind, std::span<const Term> args, uint64_t payload, int width);
  Folded fold_arithmetic(Kind kind, const Term& a, const Term& b);
  Folded fold_bitwise(Kind kind, const Term& a, const Term& b);
  Folded fold_not(const Term& x);
  Folded fold_shift(Kind kind, const Term& a, const Term& amount);
  Folded fold_divide(Kind kind, const Term& a, const Term& b);
  Folded fold_sign_extend(const Term& x, int width);
  Folded fold_narrow_word(const Term& word, int width);
  Folded fold_bv_of_real(const Term& x, bool is_signed, int width);
  Folded add_to_fields(const Term& x, uint64_t c);
  // factor * rest, the factor 1 if there is none.
  struct Product {
    uint64_t factor;
    Term rest;
  };
  Product product_of(const Term& x) const;

  // A word as fields, lowest first. A field is a constant or bits low..low+width-1 of a base that
  // is itself no constant, concatenation, extension or extraction.
  struct Field {
    Term base;  // not valid: the constant `value`
    int low = 0;
    int width = 0;
    uint64_t value = 0;
    bool is_constant() const { return !base.valid(); }
    bool is_constant(uint64_t v) const { return is_constant() && value == v; }
  };
  using Fields = std::vector<Field>;
  void append_fields(const Term& x, Fields& fields);
  // x << by, with `low` in the freed bits.
  void append_shifted(const Term& x, int by, uint64_t low, Fields& fields);
  Fields fields_of(const Term& x);
  Fields slice(const Fields& fields, int low, int width);
  Folded push_extract(const Term& base, int low, int width);
  bool merge_fields(Fields& fields);
  Term of_field(const Field& field);
  // The one normal form of a concatenation of fields; see fold_bits.cpp.
  Term from_fields(Fields fields);
  Term raw(Kind kind, std::initializer_list<Term> args, uint64_t payload, Type type) {
    return s.build(kind, {args.begin(), args.size()}, payload, type);
  }

  bool total(const Term& t) const { return s.is_total(t); }
  bool poison(const Term& t) const { return s.has_poison(t); }
  const Rational* rational(const Term& t) const { return s.as_rational(t); }
  bool is_infinity(const Term& t) const { return s.kind(t) == Kind::Infinity; }
  bool is_negative_infinity(const Term& t) const { return is_infinity(t) && s.payload(t) == 1; }
  bool is_undefined(const Term& t) const { return s.kind(t) == Kind::Undefined; }
};

// All ones in the low `width` bits.
inline uint64_t low_mask(int width) {
  return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
}
inline int64_t sign_extended(uint64_t value, int width) {
  return static_cast<int64_t>(value << (64 - width)) >> (64 - width);
}

}  // namespace coequal::term
