// The condition under which a term has a value, as a term.
#pragma once

#include <absl/container/flat_hash_map.h>

#include "term/store.h"
#include "term/substitute.h"

namespace coequal::term {

// Builds definedness conditions, once per shape: the condition of a translated term is the
// translated condition.
//
// Conditions are always defined when "and" and "or" are read as in kinds.def (one operand may
// decide them): x/d + 1 > 0 only appears beside "d != 0".
class Definedness {
 public:
  explicit Definedness(TermStore& store);
  Definedness(const Definedness&) = delete;
  Definedness& operator=(const Definedness&) = delete;

  // Where the term is defined: no pole, no root or logarithm outside its domain, no infinite form,
  // no NaN encoding. Poison counts as undefined.
  Term defined(const Term& t) { return facts(t).defined; }
  // Where the term, if defined, is +infinity / -infinity. False for terms that are not real.
  Term plus_infinite(const Term& t) { return facts(t).plus; }
  Term minus_infinite(const Term& t) { return facts(t).minus; }
  // Where the term is defined and, if real, finite.
  Term finite(const Term& t);
  // Where poison reaches the value: every operand counts but the arm of a select that is not
  // chosen.
  Term poisoned(const Term& t) { return facts(t).poisoned; }

 private:
  struct Facts {
    Term defined, plus, minus, poisoned;
  };
  struct Entry {
    Term at;  // where the facts were built
    Facts facts;
  };

  Facts facts(const Term& root);
  Facts build(const Term& t, const Facts (&args)[3]);
  Facts moved(const Entry& entry, const Term& t) const;

  Term no() const { return store_.boolean(false); }
  Term yes() const { return store_.boolean(true); }
  Term all(const Term& a, const Term& b) { return store_.make(Kind::And, {a, b}); }
  Term any(const Term& a, const Term& b) { return store_.make(Kind::Or, {a, b}); }
  // The i-th argument with 0 for poison: conditions mention it beside "defined", which excludes the
  // poisoned cases.
  Term operand(const Term& t, int i);
  Term negate(const Term& a) { return store_.make(Kind::Not, {a}); }
  Term positive(const Term& x) { return store_.make(Kind::Less, {store_.real(0), x}); }
  Term negative(const Term& x) { return store_.make(Kind::Less, {x, store_.real(0)}); }
  Term is_zero(const Term& x) { return store_.make(Kind::Equal, {x, store_.real(0)}); }

  TermStore& store_;
  Substitution without_poison_;
  absl::flat_hash_map<ShapeId, Entry> done_;
};

// For one term; keep a Definedness for many.
Term definedness(TermStore& store, const Term& term);

}  // namespace coequal::term
