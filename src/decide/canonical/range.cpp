// Signs and bounds that are proved of atoms and values, wherever they are defined.
#include <algorithm>

#include "decide/canonical/algebra.h"

namespace coequal::decide {

using term::Kind;

namespace {

bool is_even_integer(const Rational& x) { return (x * Rational(1, 2)).is_integer(); }

Range between(const Rational& lo, const Rational& hi, bool open) {
  Range r;
  r.lo = lo, r.hi = hi;
  r.lo_open = r.hi_open = open;
  return r;
}

Range positive_range() {
  Range r;
  r.lo = Rational(0);
  r.lo_open = true;
  return r;
}

Range from_bounds(const term::Bounds& b) {
  Range r;
  r.lo = b.min, r.hi = b.max;
  if (b.above && (!r.lo || *b.above >= *r.lo)) r.lo = b.above, r.lo_open = true;
  if (b.below && (!r.hi || *b.below <= *r.hi)) r.hi = b.below, r.hi_open = true;
  return r;
}

Range scaled(Range r, const Rational& c) {
  if (c.sign() < 0) {
    std::swap(r.lo, r.hi);
    std::swap(r.lo_open, r.hi_open);
  }
  if (r.lo) r.lo = *r.lo * c;
  if (r.hi) r.hi = *r.hi * c;
  return r;
}

Range plus(const Range& a, const Range& b) {
  Range r;
  if (a.lo && b.lo) r.lo = *a.lo + *b.lo, r.lo_open = a.lo_open || b.lo_open;
  if (a.hi && b.hi) r.hi = *a.hi + *b.hi, r.hi_open = a.hi_open || b.hi_open;
  // x >= 0, not 0, plus y >= 0.
  if (r.lo && r.lo->is_zero() &&
      ((a.nonnegative() && a.nonzero) || (b.nonnegative() && b.nonzero)) && a.nonnegative() &&
      b.nonnegative())
    r.lo_open = true;
  return r;
}

Range times(const Range& a, const Range& b) {
  Range r;
  r.nonzero = a.not_zero() && b.not_zero();
  auto both_nonnegative = [](const Range& x, const Range& y) {
    Range out;
    out.lo = *x.lo * *y.lo;
    out.lo_open = (x.lo_open && y.lo->sign() > 0) || (y.lo_open && x.lo->sign() > 0) ||
                  (x.positive() && y.positive() && out.lo->is_zero());
    if (x.hi && y.hi) {
      out.hi = *x.hi * *y.hi;
      out.hi_open = x.hi_open || y.hi_open;
      if (out.hi->is_zero()) out.hi_open = false;
    }
    return out;
  };
  const bool flip_a = a.nonpositive(), flip_b = b.nonpositive();
  const Range x = flip_a ? scaled(a, Rational(-1)) : a, y = flip_b ? scaled(b, Rational(-1)) : b;
  if (x.nonnegative() && y.nonnegative()) {
    const bool nonzero = r.nonzero;
    r = both_nonnegative(x, y);
    if (flip_a != flip_b) r = scaled(r, Rational(-1));
    r.nonzero = nonzero;
  }
  return r;
}

Range hull(const Range& a, const Range& b) {
  Range r;
  if (a.lo && b.lo) {
    r.lo = std::min(*a.lo, *b.lo);
    r.lo_open = (*a.lo > *r.lo || a.lo_open) && (*b.lo > *r.lo || b.lo_open);
  }
  if (a.hi && b.hi) {
    r.hi = std::max(*a.hi, *b.hi);
    r.hi_open = (*a.hi < *r.hi || a.hi_open) && (*b.hi < *r.hi || b.hi_open);
  }
  r.nonzero = a.not_zero() && b.not_zero();
  return r;
}

}  // namespace

Range Algebra::power_range(AtomId id, const Rational& e) const {
  const Range& base = atoms_[id].range;
  if (e.is_one()) return base;
  Range r;
  if (base.positive()) {
    r = positive_range();
    if (e == Rational(-1)) {
      if (base.lo->sign() > 0) r.hi = Rational(1) / *base.lo, r.hi_open = base.lo_open;
      if (base.hi && base.hi->sign() > 0) r.lo = Rational(1) / *base.hi, r.lo_open = base.hi_open;
    }
    if (base.hi && base.hi->is_one() && e.sign() > 0) r.hi = Rational(1), r.hi_open = base.hi_open;
    if (base.lo->is_one() && e.sign() > 0) r.lo = Rational(1), r.lo_open = base.lo_open;
    return r;
  }
  if (!e.is_integer() || is_even_integer(e) || base.nonnegative()) {
    if (e.sign() < 0) return positive_range();
    r.lo = Rational(0);
    r.nonzero = base.not_zero();
    if (base.lo && base.hi && e == Rational(2)) {
      const Rational high = std::max(*base.lo * *base.lo, *base.hi * *base.hi);
      r.hi = high;
    }
    return r;
  }
  r.nonzero = base.not_zero() || e.sign() < 0;
  if (base.nonpositive()) {
    r.hi = Rational(0);
    r.hi_open = r.nonzero;
  }
  return r;
}

Range Algebra::range(const Value& v) const {
  Range r = between(v.c, v.c, false);
  if (v.m == kOne) return r;
  bool first = true;
  Range product;
  for (const Factor& f : monos_[v.m]) {
    const Range p = power_range(f.atom, f.exponent);
    product = first ? p : times(product, p);
    first = false;
  }
  return scaled(product, v.c);
}

void Algebra::refine_range(AtomId id, const Range& known) {
  Range& r = atoms_[id].range;
  if (known.lo && (!r.lo || *known.lo > *r.lo)) r.lo = known.lo, r.lo_open = known.lo_open;
  if (known.hi && (!r.hi || *known.hi < *r.hi)) r.hi = known.hi, r.hi_open = known.hi_open;
  r.nonzero = r.nonzero || known.nonzero;
}

void Algebra::finish(Atom& atom) const {
  auto of_args = [&] {
    bool all_total = true;
    for (const Value& v : atom.args) {
      all_total = all_total && total(v.m);
      atom.may_be_infinite = atom.may_be_infinite || may_be_infinite(v.m);
      atom.depth = std::max(atom.depth, depth(v.m) + 1);
    }
    return all_total;
  };
  Range& r = atom.range;
  switch (atom.kind) {
    case AtomKind::Leaf: {
      atom.total = true;
      r = from_bounds(store_.group(static_cast<term::GroupId>(atom.a)).bounds);
      break;
    }
    case AtomKind::Scalar:
      atom.total = true;
      r = from_bounds(store_.scalar(atom.a).bounds);
      break;
    case AtomKind::Poison:
      break;
    case AtomKind::Symbol:
      atom.total = true;
      switch (static_cast<term::NamedConstant>(atom.a)) {
        case term::NamedConstant::Log2E:
          r = between(Rational(144, 100), Rational(145, 100), true);
          break;
        case term::NamedConstant::Log2_10:
          r = between(Rational(332, 100), Rational(333, 100), true);
          break;
        default:
          r = between(Rational(314, 100), Rational(315, 100), true);
      }
      break;
    case AtomKind::Prime:
      atom.total = true;
      r = between(Rational(1), Rational(atom.b), true);
      break;
    case AtomKind::Infinity:
      atom.may_be_infinite = true;
      r = positive_range();
      break;
    case AtomKind::Undefined:
      break;
    case AtomKind::Exp: {
      atom.total = of_args();
      const Range x = range(atom.args[0]);
      if (!atom.may_be_infinite) {
        r = positive_range();
        if (x.lo && x.lo->sign() >= 0) r.lo = Rational(1), r.lo_open = x.lo->sign() > 0;
        if (x.nonpositive()) r.hi = Rational(1), r.hi_open = false;
      } else {
        r.lo = Rational(0);
      }
      break;
    }
    case AtomKind::Sum:
      atom.total = of_args();
      r = range(atom.args[0]);
      for (size_t i = 1; i < atom.args.size(); ++i) r = plus(r, range(atom.args[i]));
      break;
    case AtomKind::Max: {
      atom.total = of_args();
      bool bounded = true;
      for (const Value& v : atom.args) {
        const Range x = range(v);
        if (x.lo && (!r.lo || *x.lo > *r.lo || (*x.lo == *r.lo && x.lo_open)))
          r.lo = x.lo, r.lo_open = x.lo_open;
        if (x.positive() && r.lo && r.lo->is_zero()) r.lo_open = true;
        if (!x.hi) bounded = false;
        if (bounded && (!r.hi || *x.hi > *r.hi)) r.hi = x.hi;
      }
      if (!bounded) r.hi.reset();
      break;
    }
    case AtomKind::Abs: {
      atom.total = of_args();
      const Range x = range(atom.args[0]);
      r.lo = Rational(0);
      r.nonzero = x.not_zero();
      if (x.lo && x.hi) r.hi = std::max(-*x.lo, *x.hi);
      break;
    }
    case AtomKind::Root:
      atom.total = of_args() && range(atom.args[0]).nonnegative();
      r.lo = Rational(0);
      break;
    case AtomKind::Log: {
      const Range x = range(atom.args[0]);
      atom.total = of_args() && x.positive();
      if (x.lo && *x.lo >= Rational(1)) {
        r.lo = Rational(0);
        r.lo_open = *x.lo > Rational(1) || x.lo_open;
      }
      if (x.hi && *x.hi <= Rational(1)) {
        r.hi = Rational(0);
        r.hi_open = *x.hi < Rational(1) || x.hi_open;
      }
      break;
    }
    case AtomKind::Select: {
      atom.total = of_args() && cond(atom.condition).total;
      atom.depth = std::max(atom.depth, cond(atom.condition).depth + 1);
      // Under v > 0 the arm v is positive; under v <= 0 it is not.
      const Cond& c = cond(atom.condition);
      auto arm = [&](const Value& v, bool holds) {
        Range x = range(v);
        if (c.kind != CondKind::Positive || c.value.m != v.m) return x;
        const bool same = c.value.c.sign() == v.c.sign();
        Range known;
        if (same == holds) {
          known.lo = Rational(0);
          known.lo_open = holds;
          if (!x.lo || x.lo->sign() < 0 || (x.lo->is_zero() && holds))
            x.lo = known.lo, x.lo_open = known.lo_open;
        } else if (!x.hi || x.hi->sign() > 0 || (x.hi->is_zero() && holds)) {
          x.hi = Rational(0), x.hi_open = holds;
        }
        return x;
      };
      r = hull(arm(atom.args[0], true), arm(atom.args[1], false));
      break;
    }
    case AtomKind::Indicator:
      atom.total = cond(atom.condition).total;
      atom.depth = cond(atom.condition).depth + 1;
      r = between(Rational(0), Rational(1), false);
      break;
    case AtomKind::Function: {
      atom.total = of_args();
      const Kind kind = static_cast<Kind>(atom.a);
      if (kind == Kind::Sin || kind == Kind::Cos) r = between(Rational(-1), Rational(1), false);
      if (kind == Kind::Erf) {
        r = between(Rational(-1), Rational(1), true);
        const Range x = range(atom.args[0]);
        if (x.nonnegative()) r.lo = Rational(0), r.lo_open = x.positive();
      }
      if (kind == Kind::Atan) {
        r = between(Rational(-11, 7), Rational(11, 7), true);
        const Range x = range(atom.args[0]);
        if (x.nonnegative()) r.lo = Rational(0), r.lo_open = x.positive();
      }
      if (kind == Kind::ErfInv) {
        atom.total = false;
        const Range x = range(atom.args[0]);
        if (x.nonnegative()) r.lo = Rational(0), r.lo_open = x.positive();
      }
      if (kind == Kind::Gamma || kind == Kind::LogGamma) {
        const Range x = range(atom.args[0]);
        atom.total = of_args() && x.positive();
        // gamma(x) > 22/25 on the positive numbers.
        if (kind == Kind::Gamma && x.positive()) r.lo = Rational(22, 25), r.lo_open = true;
      }
      if (kind == Kind::Floor || kind == Kind::Trunc || kind == Kind::RoundEven) {
        const Range x = range(atom.args[0]);
        if (x.lo) r.lo = x.lo->floor();
        if (x.hi) r.hi = -(-*x.hi).floor();
      }
      break;
    }
    case AtomKind::OfWord: {
      const Word& w = words_[atom.word];
      atom.total = w.total && static_cast<Kind>(atom.a) != Kind::RealOfBits;
      atom.may_be_infinite = static_cast<Kind>(atom.a) == Kind::RealOfBits;
      atom.depth = w.depth + 1;
      if (static_cast<Kind>(atom.a) == Kind::RealOfBits) break;
      const bool is_signed = static_cast<Kind>(atom.a) == Kind::RealOfSigned;
      if (!is_signed) r.lo = Rational(0);
      if (w.kind == Kind::Leaf || w.kind == Kind::Scalar) {
        const bool leaf = w.kind == Kind::Leaf;
        const term::Bounds& bounds =
            leaf ? store_.group(static_cast<term::GroupId>(w.payload)).bounds
                 : store_.scalar(static_cast<uint32_t>(w.payload)).bounds;
        const DType dtype = leaf ? store_.group(static_cast<term::GroupId>(w.payload)).dtype
                                 : store_.scalar(static_cast<uint32_t>(w.payload)).dtype;
        const Range stated = from_bounds(bounds);
        // Bounds are of the dtype's reading; both readings agree below the sign bit.
        if (is_signed_integer(dtype) == is_signed ||
            (stated.lo && stated.lo->sign() >= 0 && is_signed_integer(dtype))) {
          if (stated.lo && (!r.lo || *stated.lo > *r.lo))
            r.lo = stated.lo, r.lo_open = stated.lo_open;
          if (stated.hi) r.hi = stated.hi, r.hi_open = stated.hi_open;
        }
        if (dtype == DType::Bool && !is_signed && !r.hi) r.hi = Rational(1);
      }
      break;
    }
  }
}

}  // namespace coequal::decide
