// The identities that decisions rest on, as a table: what `coequal list rules` prints and a
// generated test proves.
//
// Most are absorbed by canonical forms, where no rewriting order has to be chosen; the row says
// where each holds.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "term/store.h"

namespace coequal::decide {

struct RuleRow {
  const char* name;
  const char* left;
  const char* right;
  const char* when;   // the condition, for people; "always" if there is none beyond definedness
  const char* proof;  // why, in a line
  // Both sides over three terms. The test gives terms that meet the condition, and some that do not
  // where `fails` is set.
  std::function<term::Term(term::TermStore&, std::span<const term::Term>)> make_left, make_right;
  enum class Needs : uint8_t { Nothing, PositiveFirst } needs = Needs::Nothing;
  bool fails =
      false;  // without the condition there is an input at which both sides are defined and differ
};

const std::vector<RuleRow>& list_rules();

}  // namespace coequal::decide
