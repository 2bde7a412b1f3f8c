#include "idiom/recogniser.h"

#include <algorithm>

#include "base/check.h"
#include "term/hash.h"
#include "term/substitute.h"

namespace coequal::idiom {

using term::Kind;
using term::Term;
using term::TermStore;

namespace {

constexpr uint64_t kAnyPosition = 3, kNoArgument = 4;

uint64_t key_of(Kind kind, uint64_t position, uint64_t label) {
  return term::mix(term::mix(static_cast<uint64_t>(kind), position), label);
}
uint64_t constant_label(const term::Rational& c) { return std::hash<double>{}(c.to_double()); }

uint64_t label_of(const TermStore& store, const Term& t) {
  const Kind kind = store.kind(t);
  if (kind == Kind::RealConst)
    return term::mix(static_cast<uint64_t>(kind), constant_label(store.rational(t)));
  return term::mix(static_cast<uint64_t>(kind), store.arity(t) ? store.payload(t) : 0);
}
uint64_t label_of(const Node& n) {
  if (n.kind == Kind::RealConst)
    return term::mix(static_cast<uint64_t>(n.kind), constant_label(n.constant));
  return term::mix(static_cast<uint64_t>(n.kind), n.arity ? n.payload : 0);
}

}  // namespace

Library::Library(std::vector<Template> templates) : templates_(std::move(templates)) {
  CHECK(templates_.size() < 65536);
  for (size_t i = 0; i < templates_.size(); ++i) {
    const Template& t = templates_[i];
    const auto function = find_function(t.function);
    CHECK(function);
    functions_.push_back(*function);
    for (const uint32_t at : roots_of(t)) {
      const Node& root = t.nodes[at];
      // Of the arguments that stay as they are, a constant tells most; what may be decided, least.
      int best = -1, surety = 0;
      for (int k = 0; k < root.arity; ++k) {
        const Node& n = t.nodes[root.args[static_cast<size_t>(k)]];
        const int sure = n.soft ? 0 : n.decidable ? 1 : n.kind == Kind::RealConst ? 3 : 2;
        if (sure > surety) best = k, surety = sure;
      }
      // What a root folds to must be found by something that stays.
      if (at + 1 != t.nodes.size() && surety < 2) continue;
      const uint64_t key =
          best < 0
              ? key_of(root.kind, kNoArgument, 0)
              : key_of(root.kind,
                       term::is_commutative(root.kind) ? kAnyPosition : static_cast<uint64_t>(best),
                       label_of(t.nodes[root.args[static_cast<size_t>(best)]]));
      kinds_[static_cast<size_t>(root.kind)] = true;
      index_[key].push_back(static_cast<uint16_t>(i));
      if (root.kind != term::Kind::CopySign || !root.decidable) continue;
      const Node& size = t.nodes[root.args[0]];
      if (size.soft || size.decidable) continue;
      kinds_[static_cast<size_t>(term::Kind::Abs)] = true;
      index_[key_of(term::Kind::Abs, 0, label_of(size))].push_back(static_cast<uint16_t>(i));
    }
  }
}

void Library::candidates(const TermStore& store, const Term& t, std::vector<uint16_t>& into) const {
  into.clear();
  const Kind kind = store.kind(t);
  if (!kinds_[static_cast<size_t>(kind)]) return;
  auto collect = [&](uint64_t key) {
    const auto it = index_.find(key);
    if (it != index_.end()) into.insert(into.end(), it->second.begin(), it->second.end());
  };
  collect(key_of(kind, kNoArgument, 0));
  for (int i = 0; i < store.arity(t); ++i) {
    const uint64_t position = term::is_commutative(kind) ? kAnyPosition : static_cast<uint64_t>(i);
    collect(key_of(kind, position, label_of(store, store.child(t, i))));
  }
  // In the library's order, whatever led to them.
  std::sort(into.begin(), into.end());
  into.erase(std::unique(into.begin(), into.end()), into.end());
}

std::optional<Recogniser::Match> Recogniser::find(const Term& t) {
  library_.candidates(store_, t, candidates_);
  for (const uint16_t index : candidates_)
    if (auto fillings = match(store_, library_.templates()[index], t))
      return Match{index, std::move(*fillings)};
  return std::nullopt;
}

Recogniser::Reading Recogniser::moved(const Entry& entry, const Term& t) const {
  Reading out = entry.reading;
  out.term = store_.map_anchors(out.term, [&](term::GroupId group, term::Anchor anchor) {
    const auto from = store_.anchor_in(entry.at, group), to = store_.anchor_in(t, group);
    CHECK(from && to);
    return term::Anchor{anchor.cell + to->cell - from->cell, to->motion};
  });
  return out;
}

Recogniser::Reading Recogniser::operator()(const Term& root) {
  struct Frame {
    Term t;
    bool entered = false;
    std::optional<Match> match = {};
  };
  std::vector<Frame> stack;
  stack.push_back({root});
  while (!stack.empty()) {
    Frame& top = stack.back();
    const Term t = top.t;
    if (done_.contains(t.shape())) {
      stack.pop_back();
      continue;
    }
    const int arity = store_.arity(t);
    if (arity == 0) {
      done_.emplace(t.shape(), Entry{t, {t, {}}});
      stack.pop_back();
      continue;
    }
    if (!top.entered) {
      top.entered = true;
      top.match = find(t);
      std::vector<Term> parts;
      if (top.match)
        parts = top.match->fillings;
      else
        for (int i = 0; i < arity; ++i) parts.push_back(store_.child(t, i));
      for (const Term& part : parts)
        if (!done_.contains(part.shape())) stack.push_back({part});
      continue;
    }
    Reading reading;
    auto part = [&](const Term& p) {
      const Reading r = moved(done_.find(p.shape())->second, p);
      reading.used |= r.used;
      return r.term;
    };
    auto apply = [&](const Match& match, std::vector<Term> fillings) {
      const Template& made = library_.templates()[match.index];
      const size_t function = library_.function_of(match.index);
      reading.used.set(function);
      const std::vector<Term> args = arguments_of(store_, made.sizes, std::move(fillings));
      reading.term = result_of(store_, made, functions()[function].meaning(store_, args));
    };
    if (top.match) {
      std::vector<Term> fillings;
      for (const Term& filling : top.match->fillings) fillings.push_back(part(filling));
      apply(*top.match, std::move(fillings));
    } else {
      reading.term = term::over_children(store_, t, part);
      // The compiler knows the sign of an exponential; the terms do once it is read.
      if (!(reading.term == t))
        if (const std::optional<Match> again = find(reading.term)) apply(*again, again->fillings);
    }
    done_.emplace(t.shape(), Entry{t, reading});
    stack.pop_back();
  }
  return moved(done_.find(root.shape())->second, root);
}

}  // namespace coequal::idiom
