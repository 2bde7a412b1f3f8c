// Entry of the folding rules: validates the types, tries the rules of the result's type, else
// builds the node.
#include "term/fold.h"

namespace coequal::term {

Term TermStore::fold(Kind kind, std::span<const Term> args, uint64_t payload, int width) {
  const Type type = result_type(kind, args, payload, width);
  Folder folder{*this};
  if (std::optional<Term> folded = folder.fold(kind, args, payload, type)) {
    CHECK(this->type(*folded) == type);
    return *folded;
  }
  return build(kind, args, payload, type);
}

TermStore::Folder::Folded TermStore::Folder::fold(Kind kind, std::span<const Term> args,
                                                  uint64_t payload, Type type) {
  if (kind == Kind::Select) return fold_select(args[0], args[1], args[2]);
  switch (type.cls) {
    case TypeClass::Real:
      return fold_real(kind, args, payload);
    case TypeClass::Bool:
      return fold_condition(kind, args);
    case TypeClass::Bv:
      return fold_bits(kind, args, payload, type.width);
  }
  return std::nullopt;
}

}  // namespace coequal::term
