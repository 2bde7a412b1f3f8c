// Canonical values over exact rationals: hash-consed atoms, monomials, conditions and words, and
// the operations on them.
//
// What a canonical value promises: wherever the term it was made from is defined, its atoms with
// negative powers are not 0 and it has the term's value. So equal canonical values mean equal terms
// wherever both are defined. Each operation keeps the promise because an operation on terms is
// defined only where its operands are (a select: its condition and the chosen arm). Roots of values
// of unknown sign are principal complex roots where the term is undefined; infinities come from
// constants only and stand for the limit of a growing constant.
//
// Small sums are kept flat and sorted; a long one is lazy, a sum with sums among its terms, so that
// a chain of n additions costs n steps. Equal lazy sums may therefore differ in form: resolve.h and
// zero.h decide.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decide/canonical/value.h"
#include "term/id_table.h"
#include "term/store.h"

namespace coequal::decide {

class Algebra {
 public:
  static constexpr size_t kFlatTerms = 32;        // of a sum that is kept flat
  static constexpr size_t kFlatWords = 2048;      // of a sum of words that is kept flat
  static constexpr size_t kExponentTerms = 4096;  // into which an exponent is split

  explicit Algebra(const term::TermStore& store);
  Algebra(const Algebra&) = delete;
  Algebra& operator=(const Algebra&) = delete;

  // ---- Reading ----
  const Atom& atom(AtomId id) const { return atoms_[id]; }
  size_t atom_count() const { return atoms_.size(); }
  const std::vector<Factor>& factors(MonoId m) const { return monos_[m]; }
  const Cond& cond(CondId id) const { return conds_[id >> 1]; }
  const Word& word(WordId id) const { return words_[id]; }
  const term::TermStore& store() const { return store_; }
  // The one atom of a monomial that is an atom to the power 1.
  std::optional<AtomId> single(MonoId m) const;
  Range range(const Value& v) const;
  // Adds bounds that were proved of the atom wherever it is defined.
  void refine_range(AtomId id, const Range& known);
  bool total(MonoId m) const;
  bool may_be_infinite(MonoId m) const;
  uint32_t depth(MonoId m) const;
  bool is_infinity(const Value& v) const { return v.m == infinity_; }
  bool is_undefined(const Value& v) const { return v.m == undefined_; }
  std::string to_string(const Value& v, size_t limit = 200) const;
  std::string to_string_condition(CondId c, size_t limit = 200) const;

  // ---- Making values ----
  static Value number(const Rational& c) { return {c, kOne}; }
  Value leaf(term::GroupId group, int64_t cell);
  Value poison(term::GroupId group, int64_t cell);
  Value scalar(uint32_t index);
  Value symbol(term::NamedConstant constant);
  Value infinity(bool negative) const { return {Rational(negative ? -1 : 1), infinity_}; }
  Value undefined() const { return {Rational(1), undefined_}; }
  Value prime_power(int64_t base, const Rational& exponent);

  // atom^exponent; not for atoms with special powers unless the exponent is 1.
  Value atom_power(AtomId id, const Rational& exponent) {
    return {Rational(1), intern_mono({{id, exponent}})};
  }
  Value monomial(std::vector<Factor> factors) {
    return {Rational(1), intern_mono(std::move(factors))};
  }
  static Value negate(Value v) {
    v.c = -v.c;
    return v;
  }
  static Value scale(Value v, const Rational& c) {
    return c.is_zero() ? Value{} : Value{v.c * c, v.m};
  }
  Value mul(const Value& a, const Value& b);
  MonoId mul_monos(MonoId a, MonoId b,
                   Rational& c);  // c collects the coefficient that powers give off
  Value inverse(const Value& a);
  Value power(
      const Value& a,
      const Rational& exponent);  // integers; else of a value that is not negative where defined
  Value add(const Value& a, const Value& b);
  Value sub(const Value& a, const Value& b) { return add(a, negate(b)); }
  Value sum(std::vector<Value> terms);
  Value exp2(const Value& a);
  Value log2(const Value& a);
  Value sqrt(const Value& a);
  Value abs(const Value& a);
  Value max(const Value& a, const Value& b);
  Value min(const Value& a, const Value& b) { return negate(max(negate(a), negate(b))); }
  Value max_of(std::vector<Value> args, size_t flat_limit = kFlatTerms);
  Value tanh(const Value& a);
  // What literals that hold say of a condition.
  std::optional<bool> implied(const std::vector<CondId>& literals, CondId c) const;
  // The conditions that hold with c: itself, or all parts of a conjunction.
  std::vector<CondId> literals_of(CondId c) const;
  Value indicator(CondId c);  // 1 where it holds, 0 elsewhere
  Value select(CondId c, const Value& a, const Value& b);
  Value function(term::Kind kind, std::vector<Value> args);
  Value of_word(term::Kind kind, uint64_t payload, WordId w);

  // The terms of a sum, divided by their common factor.
  std::vector<Value> without_common_factor(std::vector<Value> terms);
  // The value as a list of terms with all sums of positive power multiplied out; empty if that
  // takes more than `limit`.
  std::optional<std::vector<Value>> expand(const Value& v, size_t limit);

  // ---- Conditions ----
  static CondId negation(CondId c) { return c ^ 1; }
  CondId positive(const Value& v);                                              // v > 0
  CondId nonnegative(const Value& v) { return negation(positive(negate(v))); }  // v >= 0
  CondId zero(const Value& v);                                                  // v = 0
  CondId less(const Value& a, const Value& b);  // a < b, also of infinities
  CondId equal(const Value& a, const Value& b);
  CondId any(std::vector<CondId> args);
  CondId all(std::vector<CondId> args);
  CondId choose(CondId c, CondId a, CondId b) { return any({all({c, a}), all({negation(c), b})}); }
  CondId compare_words(term::Kind kind, WordId a, WordId b);
  bool total_condition(CondId c) const { return cond(c).total; }

  // The word and the constant of "word = constant".
  std::optional<std::pair<WordId, WordId>> equality(CondId c) const;

  // ---- Words ----
  WordId word(Word w);
  WordId word_constant(uint64_t bits, int width);
  // constant + sum of coefficient * word, modulo 2^width.
  struct Linear {
    uint64_t constant = 0;
    std::vector<std::pair<WordId, uint64_t>> terms = {};
  };
  Linear linear(WordId id) const;
  WordId of_linear(const Linear& sum, int width);
  static void add_to(Linear& into, const Linear& x, uint64_t factor);

  // ---- Regions ----
  // While one is set, conditions that it decides are constants: values made meanwhile hold in its
  // region only.
  using Oracle = std::function<std::optional<bool>(CondId even)>;
  void set_oracle(Oracle oracle) { oracle_ = std::move(oracle); }
  bool in_region() const { return oracle_ != nullptr; }

  size_t bytes() const { return bytes_; }

 private:
  AtomId intern_atom(Atom atom);
  MonoId intern_mono(std::vector<Factor> factors);
  CondId intern_cond(Cond cond);
  Value of_atom(AtomId id) { return {Rational(1), intern_mono({{id, Rational(1)}})}; }
  Value of_atom(Atom atom) { return of_atom(intern_atom(std::move(atom))); }
  Value tidy(std::vector<Factor> factors,
             Rational c);  // sorted factors to a value, special powers resolved
  bool special_power(const Atom& atom, const Rational& exponent) const;
  Range power_range(AtomId id, const Rational& exponent) const;
  void finish(Atom& atom) const;
  MonoId common_factor(std::span<const Value> terms, bool inverses_of_one_side);
  MonoId divide(MonoId m, MonoId by);
  Value sum_atom(std::vector<Value> terms);
  Value rational_power(const Rational& base, const Rational& exponent);
  CondId assumed(CondId c) const;
  std::optional<bool> implied(CondId given, CondId asked) const;
  CondId infinite_condition(const Value& v, bool negative);
  bool has_infinite_arm(AtomId id) const;
  Value log_of_rational(const Rational& c);
  WordId intern_word(Word w);
  WordId flag(CondId c, int width);
  std::optional<CondId> as_flag(WordId id) const;
  struct FlagSum {
    int64_t low = 0, high = 0, constant = 0;
    std::vector<std::pair<CondId, int64_t>> flags = {};
  };
  std::optional<FlagSum> flag_sum(const Linear& sum, int width, bool is_signed) const;
  void add_guarded(Linear& into, CondId c, const Linear& x, int width);
  Value under(const Value& v, const std::vector<CondId>& literals, bool open_sums = true);
  WordId word_under(WordId id, const std::vector<CondId>& literals);
  WordId word_select(CondId c, WordId then, WordId other, int width);
  WordId word_extreme(term::Kind kind, bool is_signed, std::vector<WordId> args, int width);
  std::optional<uint64_t> folded_word(const Word& w) const;
  void bound_word(Word& w) const;
  // The reading of a sum or product that does not wrap: that of its operands' readings.
  std::optional<Value> unwrapped_word(term::Kind kind, const Word& w);

  const term::TermStore& store_;
  std::deque<Atom> atoms_;
  std::deque<std::vector<Factor>> monos_;
  std::deque<Cond> conds_;
  std::deque<Word> words_;
  term::IdTable atom_index_, mono_index_, cond_index_, word_index_;
  Oracle oracle_;
  MonoId infinity_ = kOne, undefined_ = kOne;
  size_t bytes_ = 0;
};

}  // namespace coequal::decide
