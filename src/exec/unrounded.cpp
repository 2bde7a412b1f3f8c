#include "exec/unrounded.h"

#include "term/traverse.h"

namespace coequal::exec {

using term::Kind;
using term::Term;

bool is_unrounded(const term::TermStore& store, const Term& value) {
  bool exact = true;
  term::Postorder(store).walk(
      value, [&](const Term&) { return exact; },
      [&](const Term& t) {
        switch (store.kind(t)) {
          case Kind::Add:
          case Kind::Mul:
          case Kind::Div:
          case Kind::Sqrt:
          case Kind::Exp2:
          case Kind::Log2:
          case Kind::Sin:
          case Kind::Cos:
          case Kind::Tanh:
          case Kind::Erf:
          case Kind::Atan:
          case Kind::ErfInv:
          case Kind::Gamma:
          case Kind::LogGamma:
          case Kind::RealOfSigned:
          case Kind::RealOfUnsigned:
            exact = false;
            break;
          case Kind::RealConst: {
            const term::Rational* r = store.as_rational(t);
            const auto near = static_cast<double>(static_cast<float>(r->to_double()));
            exact &= term::Rational::from_double(near) == *r;
            break;
          }
          default:
            break;
        }
      });
  return exact;
}

bool is_integral(const term::TermStore& store, const Term& value) {
  bool all = true;
  term::Postorder(store).walk(
      value, [&](const Term&) { return all; },
      [&](const Term& t) { all &= store.type(t).cls != term::TypeClass::Real; });
  return all;
}

}  // namespace coequal::exec
