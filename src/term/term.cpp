// The table of kinds.
#include "term/term.h"

namespace coequal::term {
namespace {

struct KindRow {
  std::string_view name;
  std::string_view text;
  int arity;
  bool commutative;
};

constexpr KindRow kKinds[] = {
#define KIND(name, text, arity, type, commutative) {#name, text, arity, commutative},
#include "term/kinds.def"
#undef KIND
};

const KindRow& row(Kind kind) { return kKinds[static_cast<size_t>(kind)]; }

}  // namespace

std::string_view kind_name(Kind kind) { return row(kind).name; }
std::string_view kind_text(Kind kind) { return row(kind).text; }
int kind_arity(Kind kind) { return row(kind).arity; }
bool is_commutative(Kind kind) { return row(kind).commutative; }

}  // namespace coequal::term
