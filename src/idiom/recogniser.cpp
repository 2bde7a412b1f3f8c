#include "idiom/recogniser.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "base/check.h"
#include "term/hash.h"
#include "term/substitute.h"

namespace coequal::idiom {

using term::Kind;
using term::Term;
using term::TermStore;

namespace {

constexpr uint64_t kAnyPosition = 3, kNoArgument = 4;  // as in root_labels()

uint64_t key_of(Kind kind, uint64_t position, uint64_t label) {
  return term::mix(term::mix(static_cast<uint64_t>(kind), position), label);
}
uint64_t constant_label(const term::Rational& c) {
  return term::mix(static_cast<uint64_t>(Kind::RealConst), std::hash<double>{}(c.to_double()));
}
uint64_t label_of(const TermStore& store, const Term& t) {
  const Kind kind = store.kind(t);
  if (kind == Kind::RealConst) return constant_label(store.rational(t));
  return term::mix(static_cast<uint64_t>(kind), store.arity(t) ? store.payload(t) : 0);
}

}  // namespace

// Slots are filled once and then only read. Those of texts come after those that were given.
struct Library::Shelf {
  struct Later {
    size_t text, index;
    std::once_flag once;
  };
  std::vector<TemplateText> texts;
  std::deque<Later> later;
  std::deque<Slot> slots;
};

Library::~Library() = default;

Library::Library(const Library* base, std::vector<Template> more)
    : base_(base), shelf_(std::make_unique<Shelf>()) {
  if (base) index_ = base->index_, kinds_ = base->kinds_;
  for (Template& t : more) {
    const auto function = find_function(t.function);
    CHECK(function);
    const size_t index = size();
    shelf_->slots.push_back({std::move(t), *function});
    for (const std::string& label : root_labels(shelf_->slots.back().made)) enter(index, label);
  }
}

Library::Library(std::span<const std::string_view> texts) : shelf_(std::make_unique<Shelf>()) {
  for (const std::string_view text : texts) {
    const TemplateText& read = shelf_->texts.emplace_back(text);
    for (size_t i = 0; i < read.size(); ++i) {
      const size_t index = size();
      Shelf::Later& later = shelf_->later.emplace_back();
      later.text = shelf_->texts.size() - 1;
      later.index = i;
      shelf_->slots.emplace_back();
      for (const std::string_view label : read.root_labels(i)) enter(index, label);
    }
  }
}

size_t Library::size() const { return (base_ ? base_->size() : 0) + shelf_->slots.size(); }

void Library::enter(size_t index, std::string_view label) {
  CHECK(index < 65536);
  const std::vector<std::string_view> words = words_of(label);
  CHECK(words.size() == 2 || words.size() == 4);
  const auto root = kind_named(words[0]);
  CHECK(root && words[1].size() == 1);
  const auto position = static_cast<uint64_t>(words[1][0] - '0');
  uint64_t argument = 0;
  if (words.size() == 4) {
    const auto kind = kind_named(words[2]);
    const auto payload = term::Rational::from_text(std::string(words[3]));
    CHECK(kind && payload && (*kind == Kind::RealConst || payload->as_int64()));
    argument = *kind == Kind::RealConst ? constant_label(*payload)
                                        : term::mix(static_cast<uint64_t>(*kind),
                                                    static_cast<uint64_t>(*payload->as_int64()));
  }
  kinds_[static_cast<size_t>(*root)] = true;
  index_[key_of(*root, position, argument)].push_back(static_cast<uint16_t>(index));
}

const Library::Slot& Library::slot(size_t index) const {
  const size_t before = base_ ? base_->size() : 0;
  if (index < before) return base_->slot(index);
  Shelf& shelf = *shelf_;
  Slot& slot = shelf.slots[index - before];
  if (shelf.later.empty()) return slot;
  Shelf::Later& later = shelf.later[index - before];
  std::call_once(later.once, [&] {
    Result<Template> read = shelf.texts[later.text].read(later.index);
    CHECK(read.has_value());
    const auto function = find_function(read->function);
    CHECK(function);
    slot = {std::move(*read), *function};
  });
  return slot;
}

std::vector<Template> Library::templates() const {
  std::vector<Template> all;
  for (size_t i = 0; i < size(); ++i) all.push_back(at(i));
  return all;
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

namespace {

// Whether the constants of a template stand near the top of a term, up to signs and powers of two:
// any term is what some filling makes of a factor.
bool shows_constants(const TermStore& store, const Template& made, const Term& t) {
  constexpr int kDepth = 3;
  const auto mantissa = [](const term::Rational& c) {
    term::Rational m = c.sign() < 0 ? -c : c;
    fmpz_tdiv_q_2exp(fmpq_numref(m.get()), fmpq_numref(m.get()), fmpz_val2(fmpq_numref(m.get())));
    fmpz_tdiv_q_2exp(fmpq_denref(m.get()), fmpq_denref(m.get()), fmpz_val2(fmpq_denref(m.get())));
    return m;
  };
  std::vector<term::Rational> there;
  std::vector<Term> level{t};
  for (int depth = 0; depth <= kDepth; ++depth) {
    std::vector<Term> below;
    for (const Term& x : level) {
      if (const term::Rational* c = store.as_rational(x)) there.push_back(mantissa(*c));
      for (int i = 0; i < store.arity(x); ++i) below.push_back(store.child(x, i));
    }
    level.swap(below);
  }
  return std::all_of(made.nodes.begin(), made.nodes.end(), [&](const Node& n) {
    return n.kind != Kind::RealConst || n.constant.is_zero() ||
           std::find(there.begin(), there.end(), mantissa(n.constant)) != there.end();
  });
}

}  // namespace

std::optional<Recogniser::Match> Recogniser::find(const Term& t) {
  library_.candidates(store_, t, candidates_);
  const auto is_narrow = [&](const Term& filling) {
    const std::span<const term::GroupId> groups = store_.groups(filling);
    return !groups.empty() && std::all_of(groups.begin(), groups.end(), [&](term::GroupId id) {
      const DType dtype = store_.group(id).dtype;
      return dtype == DType::F16 || dtype == DType::BF16;
    });
  };
  for (const uint16_t index : candidates_)
    if (auto fillings = match(store_, library_.at(index), t))
      if (!library_.at(index).narrow ||
          (std::all_of(fillings->begin(), fillings->end(), is_narrow) &&
           shows_constants(store_, library_.at(index), t)))
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
      const Template& made = library_.at(match.index);
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
