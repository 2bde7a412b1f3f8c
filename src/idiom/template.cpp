// Making templates, filling them, and finding what fills them.
//
// Two steps: a way down from the root proposes fillings, and the template filled with them is made
// and compared with the term. The second step alone decides, by the identity of shared terms, so
// whatever the constructors fold they fold on both sides.
#include "idiom/template.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <queue>

#include "term/traverse.h"

namespace coequal::idiom {

using term::Kind;
using term::Rational;
using term::Term;
using term::TermStore;

namespace {

constexpr int kLookDepth = 3;        // of a sibling that is compared before the way goes on
constexpr size_t kMaxProposals = 4;  // per hole
constexpr int kMaxSteps = 400;       // of one search

bool is_hole(const Node& n) { return n.kind == Kind::Leaf; }

// The constant operand of a sum or product, if there is one.
std::optional<Rational> constant_beside(const Template& t, const Node& n, size_t argument) {
  if (n.kind != Kind::Add && n.kind != Kind::Mul) return std::nullopt;
  const Node& other = t.nodes[n.args[1 - argument]];
  if (other.kind != Kind::RealConst || other.constant.is_zero()) return std::nullopt;
  return other.constant;
}

bool infinity_beside(const Template& t, const Node& n, size_t argument) {
  if (n.kind != Kind::Add && n.kind != Kind::Mul) return false;
  return t.nodes[n.args[1 - argument]].kind == Kind::Infinity;
}

// How unsure the step from a node to its argument is.
int step_cost(const Template& t, const Node& n, size_t argument) {
  const Node& child = t.nodes[n.args[argument]];
  int cost = n.decidable ? 10 : 1;
  if (constant_beside(t, n, argument)) {
    if (n.soft) cost += 2;
  } else if (term::is_commutative(n.kind)) {
    cost += 4;
  }
  if (is_hole(child)) switch (n.kind) {
      case Kind::Abs:
      case Kind::Min:
      case Kind::Max:
      case Kind::CopySign:
      case Kind::BitsOfReal:
        cost += 20;
        break;
      default:
        break;
    }
  return cost;
}

std::vector<uint8_t> best_path(const Template& t, uint64_t hole) {
  const auto root = static_cast<uint32_t>(t.nodes.size() - 1);
  std::vector<int> cost(t.nodes.size(), -1);
  std::vector<std::pair<uint32_t, uint8_t>> from(t.nodes.size());
  using Entry = std::pair<int, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<bool> settled(t.nodes.size());
  cost[root] = 0;
  queue.push({0, root});
  while (!queue.empty()) {
    const uint32_t at = queue.top().second;
    queue.pop();
    if (settled[at]) continue;
    settled[at] = true;
    const Node& n = t.nodes[at];
    if (is_hole(n) && n.payload == hole) {
      std::vector<uint8_t> path;
      for (uint32_t i = at; i != root; i = from[i].first) path.insert(path.begin(), from[i].second);
      return path;
    }
    for (uint8_t i = 0; i < n.arity; ++i) {
      const uint32_t child = n.args[i];
      const int there = cost[at] + step_cost(t, n, i);
      if (cost[child] >= 0 && cost[child] <= there) continue;
      cost[child] = there;
      from[child] = {at, i};
      queue.push({there, child});
    }
  }
  return {};
}

// Marks what depends on holes closely, and finds the ways to them.
void prepare(Template& t) {
  t.holes = 0;
  for (Node& n : t.nodes) {
    if (is_hole(n)) {
      t.holes = std::max(t.holes, static_cast<int>(n.payload) + 1);
      n.soft = true;
      continue;
    }
    n.soft = n.decidable = false;
    for (uint8_t i = 0; i < n.arity; ++i) {
      const Node& child = t.nodes[n.args[i]];
      if (is_hole(child)) n.soft = true;
      // Constant factors and summands move through chains of their like, infinities absorb.
      if (child.soft && (constant_beside(t, n, i) || infinity_beside(t, n, i))) n.soft = true;
      switch (n.kind) {
        case Kind::Less:
        case Kind::LessEq:
        case Kind::CopySign:
          n.decidable = n.decidable || child.soft;
          break;
        case Kind::And:
        case Kind::Or:
        case Kind::Not:
          n.decidable = n.decidable || child.decidable;
          break;
        case Kind::Select:
          n.decidable = n.decidable || (i == 0 && child.decidable);
          break;
        default:
          break;
      }
    }
  }
  t.paths.clear();
  for (int h = 0; h < t.holes; ++h) t.paths.push_back(best_path(t, static_cast<uint64_t>(h)));
}

class Search {
 public:
  Search(TermStore& store, const Template& t) : store_(store), t_(t) {}

  std::vector<Term> fillings(size_t hole, const Term& root) {
    found_.clear();
    steps_ = 0;
    path_ = &t_.paths[hole];
    descend(0, static_cast<uint32_t>(t_.nodes.size() - 1), root);
    return std::move(found_);
  }

  // Whether the term may be what the node stands for, as far as a look down to `depth` shows.
  bool plausible(uint32_t at, const Term& term, int depth) const {
    const Node& n = t_.nodes[at];
    if (n.soft) return true;
    if (n.decidable) {
      if (n.kind == Kind::Select) {
        for (const uint32_t arm : {n.args[1], n.args[2]})
          if (depth > 0 && plausible(arm, term, depth - 1)) return true;
      } else if (store_.kind(term) == Kind::BoolConst || n.kind == Kind::And ||
                 n.kind == Kind::Or || n.kind == Kind::Not || n.kind == Kind::CopySign) {
        return true;
      }
    }
    if (store_.kind(term) != n.kind) return false;
    if (n.kind == Kind::RealConst) return store_.rational(term) == n.constant;
    if (store_.payload(term) != n.payload || store_.arity(term) != n.arity) return false;
    if (depth == 0) return true;
    auto same = [&](int i, int j) {
      return plausible(n.args[static_cast<size_t>(i)], store_.child(term, j), depth - 1);
    };
    if (term::is_commutative(n.kind))
      return (same(0, 0) && same(1, 1)) || (same(0, 1) && same(1, 0));
    for (int i = 0; i < n.arity; ++i)
      if (!same(i, i)) return false;
    return true;
  }

 private:
  void propose(const Term& filling) {
    if (store_.type(filling).cls != term::TypeClass::Real) return;
    if (found_.size() < kMaxProposals &&
        std::find(found_.begin(), found_.end(), filling) == found_.end())
      found_.push_back(filling);
  }

  void descend(size_t step, uint32_t at, const Term& term) {
    if (++steps_ > kMaxSteps || found_.size() >= kMaxProposals) return;
    const Node& n = t_.nodes[at];
    if (is_hole(n)) {
      propose(term);
      return;
    }
    const uint8_t argument = (*path_)[step];
    const uint32_t below = n.args[argument];
    if (n.soft) {
      // A constant operand is undone, whatever it was folded with.
      if (const auto c = constant_beside(t_, n, argument)) {
        if (store_.type(term).cls != term::TypeClass::Real) return;
        const Term undone = n.kind == Kind::Add
                                ? store_.make(Kind::Add, {store_.real(-*c), term})
                                : store_.make(Kind::Mul, {store_.real(Rational(1) / *c), term});
        descend(step + 1, below, undone);
        return;
      }
      if (n.kind == Kind::Abs && store_.kind(term) != Kind::Abs) {
        descend(step + 1, below, term);
        return;
      }
    }
    if (n.kind == Kind::Select && n.decidable && argument > 0 &&
        (store_.kind(term) != n.kind || !plausible(n.args[0], store_.child(term, 0), kLookDepth)))
      descend(step + 1, below, term);
    // The sign of a positive filling is no sign.
    if (n.kind == Kind::CopySign && n.decidable && argument == 0 && store_.kind(term) == Kind::Abs)
      descend(step + 1, below, store_.child(term, 0));
    if (store_.kind(term) != n.kind || store_.arity(term) != n.arity) return;
    // A comparison of a negated argument has been turned round.
    if (const Rational* c = compared_with(n, argument)) {
      for (int i = 0; i < 2; ++i) {
        const Rational* there = store_.as_rational(store_.child(term, i));
        if (!there) continue;
        const Term other = store_.child(term, 1 - i);
        const bool turned = n.kind != Kind::Equal && i == argument;
        if (*there == *c && !turned) descend(step + 1, below, other);
        if (*there == -*c && (turned || n.kind == Kind::Equal))
          descend(step + 1, below, store_.make(Kind::Mul, {store_.real(-1), other}));
      }
      return;
    }
    if (!term::is_commutative(n.kind)) {
      for (uint8_t i = 0; i < n.arity; ++i)
        if (i != argument && !plausible(n.args[i], store_.child(term, i), kLookDepth)) return;
      descend(step + 1, below, store_.child(term, argument));
      return;
    }
    for (int i = 0; i < 2; ++i)
      if (plausible(n.args[1 - argument], store_.child(term, 1 - i), kLookDepth))
        descend(step + 1, below, store_.child(term, i));
  }

  // The constant that the argument of a comparison is compared with.
  const Rational* compared_with(const Node& n, size_t argument) const {
    if (n.kind != Kind::Less && n.kind != Kind::LessEq && n.kind != Kind::Equal) return nullptr;
    const Node& other = t_.nodes[n.args[1 - argument]];
    return other.kind == Kind::RealConst ? &other.constant : nullptr;
  }

  TermStore& store_;
  const Template& t_;
  const std::vector<uint8_t>* path_ = nullptr;
  std::vector<Term> found_;
  int steps_ = 0;
};

std::string text_of(const Node& n, const std::vector<uint32_t>& ids) {
  std::string line(is_hole(n) ? "hole" : term::kind_name(n.kind));
  if (n.kind == Kind::RealConst)
    line += " " + n.constant.to_string();
  else
    line += fmt::format(" {}", n.payload);
  if (n.width) line += fmt::format(":{}", n.width);
  for (uint8_t i = 0; i < n.arity; ++i) line += fmt::format(" {}", ids[n.args[i]]);
  return line;
}

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "abs:1;times:2;plus:1/2"
bool read_tags(std::string_view tags, Template& t) {
  while (!tags.empty()) {
    const size_t colon = tags.find(':'), end = std::min(tags.find(';'), tags.size());
    if (colon > end) return false;
    const std::string_view name = tags.substr(0, colon),
                           value = tags.substr(colon + 1, end - colon - 1);
    tags.remove_prefix(std::min(end + 1, tags.size()));
    if (name == "abs" || name == "narrow") {
      const auto sizes = number(value);
      if (!sizes) return false;
      if (name == "abs")
        t.sizes = static_cast<uint32_t>(*sizes);
      else
        t.narrow = *sizes != 0;
      continue;
    }
    const auto constant = Rational::from_text(std::string(value));
    if (!constant || (name != "times" && name != "plus")) return false;
    (name == "times" ? t.factor : t.offset) = *constant;
  }
  return !t.factor.is_zero();
}

}  // namespace

std::optional<Kind> kind_named(std::string_view name) {
  static const absl::flat_hash_map<std::string_view, Kind> kinds = [] {
    absl::flat_hash_map<std::string_view, Kind> all;
#define KIND(name, text, arity, type, commutative) all.emplace(#name, Kind::name);
#include "term/kinds.def"
#undef KIND
    return all;
  }();
  const auto it = kinds.find(name);
  return it == kinds.end() ? std::nullopt : std::optional(it->second);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    if (end) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

std::vector<uint32_t> roots_of(const Template& t) {
  std::vector<uint32_t> all{static_cast<uint32_t>(t.nodes.size() - 1)};
  for (size_t i = 0; i < all.size(); ++i) {
    const Node& n = t.nodes[all[i]];
    if (n.kind != Kind::Select || !n.decidable) continue;
    for (const uint32_t arm : {n.args[1], n.args[2]})
      if (t.nodes[arm].arity > 0 && std::find(all.begin(), all.end(), arm) == all.end())
        all.push_back(arm);
  }
  return all;
}

std::vector<std::string> root_labels(const Template& t) {
  constexpr int kAnyPosition = 3, kNoArgument = 4;
  const auto label = [](const Node& n) {
    if (n.kind == Kind::RealConst)
      return fmt::format("{} {}", term::kind_name(n.kind), n.constant.to_string());
    return fmt::format("{} {}", term::kind_name(n.kind), n.arity ? n.payload : 0);
  };
  std::vector<std::string> all;
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
    if (best < 0)
      all.push_back(fmt::format("{} {}", term::kind_name(root.kind), kNoArgument));
    else
      all.push_back(fmt::format("{} {} {}", term::kind_name(root.kind),
                                term::is_commutative(root.kind) ? kAnyPosition : best,
                                label(t.nodes[root.args[static_cast<size_t>(best)]])));
    if (root.kind != Kind::CopySign || !root.decidable) continue;
    const Node& size = t.nodes[root.args[0]];
    if (size.soft || size.decidable) continue;
    all.push_back(fmt::format("{} 0 {}", term::kind_name(Kind::Abs), label(size)));
  }
  return all;
}

std::optional<Template> make_template(const TermStore& store, const Term& value,
                                      std::span<const Term> holes) {
  Template t;
  absl::flat_hash_map<Term, uint32_t> ids;
  bool foreign = false;
  term::Postorder(store).walk(value, [&](const Term& x) {
    Node n;
    n.kind = store.kind(x);
    n.arity = static_cast<uint8_t>(store.arity(x));
    if (n.kind == Kind::Leaf) {
      const auto at = std::find(holes.begin(), holes.end(), x);
      foreign = foreign || at == holes.end();
      n.payload = static_cast<uint64_t>(at - holes.begin());
    } else if (n.kind == Kind::RealConst) {
      n.constant = store.rational(x);
    } else {
      foreign = foreign || n.kind == Kind::Poison || n.kind == Kind::Scalar;
      n.payload = store.payload(x);
    }
    if (store.type(x).cls == term::TypeClass::Bv) n.width = store.type(x).width;
    for (uint8_t i = 0; i < n.arity; ++i) n.args[i] = ids.at(store.child(x, i));
    ids.emplace(x, static_cast<uint32_t>(t.nodes.size()));
    t.nodes.push_back(std::move(n));
  });
  if (foreign || is_hole(t.nodes.back())) return std::nullopt;
  prepare(t);
  return t;
}

Term result_of(TermStore& store, const Template& t, const Term& function) {
  return store.make(Kind::Mul, {store.real(Rational(1) / t.factor),
                                store.make(Kind::Add, {store.real(-t.offset), function})});
}

std::vector<Term> arguments_of(TermStore& store, uint32_t sizes, std::vector<Term> fillings) {
  for (size_t h = 0; h < fillings.size(); ++h)
    if (sizes >> h & 1) fillings[h] = store.make(Kind::Abs, {fillings[h]});
  return fillings;
}

Term instantiate(TermStore& store, const Template& t, std::span<const Term> fillings) {
  std::vector<Term> values;
  values.reserve(t.nodes.size());
  for (const Node& n : t.nodes) {
    if (is_hole(n)) {
      values.push_back(fillings[n.payload]);
      continue;
    }
    if (n.kind == Kind::RealConst) {
      values.push_back(store.real(n.constant));
      continue;
    }
    switch (n.kind) {
      case Kind::Infinity:
        values.push_back(store.infinity(n.payload != 0));
        continue;
      case Kind::Undefined:
        values.push_back(store.undefined());
        continue;
      case Kind::Symbol:
        values.push_back(store.symbol(static_cast<term::NamedConstant>(n.payload)));
        continue;
      case Kind::BoolConst:
        values.push_back(store.boolean(n.payload != 0));
        continue;
      case Kind::BvConst:
        values.push_back(store.bits(n.payload, n.width));
        continue;
      default:
        break;
    }
    std::array<Term, 3> args;
    for (uint8_t i = 0; i < n.arity; ++i) args[i] = values[n.args[i]];
    values.push_back(
        store.make(n.kind, std::span<const Term>(args.data(), n.arity), n.payload, n.width));
  }
  return values.back();
}

std::optional<std::vector<Term>> match(TermStore& store, const Template& t, const Term& term) {
  Search search(store, t);
  if (!search.plausible(static_cast<uint32_t>(t.nodes.size() - 1), term, kLookDepth))
    return std::nullopt;
  std::vector<std::vector<Term>> proposals;
  for (int h = 0; h < t.holes; ++h) {
    proposals.push_back(search.fillings(static_cast<size_t>(h), term));
    if (proposals.back().empty()) return std::nullopt;
  }
  std::vector<size_t> choice(proposals.size(), 0);
  for (;;) {
    std::vector<Term> fillings;
    for (size_t h = 0; h < proposals.size(); ++h) fillings.push_back(proposals[h][choice[h]]);
    if (instantiate(store, t, fillings) == term) return fillings;
    size_t h = 0;
    while (h < choice.size() && ++choice[h] == proposals[h].size()) choice[h++] = 0;
    if (h == choice.size()) return std::nullopt;
  }
}

std::string to_text(std::span<const Template> templates) {
  std::string text;
  std::map<std::string, uint32_t> lines;
  for (const Template& t : templates) {
    std::vector<uint32_t> ids;
    for (const Node& n : t.nodes) {
      std::string line = text_of(n, ids);
      const auto [it, fresh] = lines.try_emplace(line, static_cast<uint32_t>(lines.size()));
      if (fresh) text += line + "\n";
      ids.push_back(it->second);
    }
    std::string tags = t.sizes ? fmt::format("abs:{}", t.sizes) : "";
    const auto tag = [&](const char* name, const Rational& value) {
      tags += fmt::format("{}{}:{}", tags.empty() ? "" : ";", name, value.to_string());
    };
    if (t.narrow) tag("narrow", 1);
    if (!t.factor.is_one()) tag("times", t.factor);
    if (!t.offset.is_zero()) tag("plus", t.offset);
    text += fmt::format("={} {} {} {}\n", tags, ids.back(), t.function, t.origin);
    for (const std::string& label : root_labels(t)) text += "@" + label + "\n";
  }
  return text;
}

TemplateText::TemplateText(std::string_view text) : text_(text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '=') {
      ends_.push_back({line, nodes_.size(), labels_.size(), 0});
    } else if (line[0] == '@') {
      labels_.push_back(line.substr(1));
      if (!ends_.empty()) ++ends_.back().labels;
    } else {
      nodes_.push_back(line);
    }
  }
}

Diagnostic TemplateText::bad(std::string_view line, const char* what) const {
  const auto number = 1 + std::count(text_.data(), line.data(), '\n');
  return make_diagnostic(DiagnosticCode::Refused, {},
                         fmt::format("template text, line {}: {}", number, what));
}

Result<Node> TemplateText::node(size_t index) const {
  const std::string_view line = nodes_[index];
  const std::vector<std::string_view> words = words_of(line);
  Node n;
  const auto kind = words.empty()        ? std::nullopt
                    : words[0] == "hole" ? std::optional(Kind::Leaf)
                                         : kind_named(words[0]);
  if (!kind || words.size() < 2) return bad(line, "no such kind");
  n.kind = *kind;
  if (n.kind == Kind::RealConst) {
    const auto value = Rational::from_text(std::string(words[1]));
    if (!value) return bad(line, "no number");
    n.constant = *value;
  } else {
    const size_t colon = std::min(words[1].find(':'), words[1].size());
    const auto payload = number(words[1].substr(0, colon));
    if (!payload) return bad(line, "no payload");
    n.payload = *payload;
    if (colon < words[1].size()) {
      const auto width = number(words[1].substr(colon + 1));
      if (!width || *width > 64) return bad(line, "no width");
      n.width = static_cast<uint8_t>(*width);
    }
  }
  n.arity = static_cast<uint8_t>(words.size() - 2);
  if (n.arity != (n.kind == Kind::Leaf ? 0 : term::kind_arity(n.kind)))
    return bad(line, "another number of arguments is expected");
  for (uint8_t i = 0; i < n.arity; ++i) {
    const auto id = number(words[2 + i]);
    if (!id || *id >= index) return bad(line, "no such node");
    n.args[i] = static_cast<uint32_t>(*id);
  }
  return n;
}

Result<Template> TemplateText::read(size_t index) const {
  const End& end = ends_[index];
  const std::vector<std::string_view> words = words_of(end.line);
  if (words.size() < 4) return bad(end.line, "a name and an origin are expected");
  const auto root = number(words[1]);
  if (!root || *root >= end.nodes) return bad(end.line, "no such node");
  Template t;
  if (!read_tags(words[0].substr(1), t))
    return bad(end.line, "no set of arguments, or no constant");
  t.function = words[2];
  t.origin = end.line.substr(static_cast<size_t>(words[3].data() - end.line.data()));
  // The nodes below the root, in their order.
  std::map<uint32_t, Node> below;
  std::vector<uint32_t> open{static_cast<uint32_t>(*root)};
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    if (below.contains(at)) continue;
    Result<Node> n = node(at);
    if (!n) return n.error();
    for (uint8_t k = 0; k < n->arity; ++k) open.push_back(n->args[k]);
    below.emplace(at, std::move(*n));
  }
  absl::flat_hash_map<uint32_t, uint32_t> ids;
  for (auto& [at, n] : below) {
    for (uint8_t k = 0; k < n.arity; ++k) n.args[k] = ids.at(n.args[k]);
    ids.emplace(at, static_cast<uint32_t>(t.nodes.size()));
    t.nodes.push_back(std::move(n));
  }
  prepare(t);
  return t;
}

Result<std::vector<Template>> from_text(std::string_view text) {
  const TemplateText read(text);
  for (size_t i = 0; i < read.nodes_.size(); ++i)
    if (Result<Node> n = read.node(i); !n) return n.error();
  std::vector<Template> templates;
  for (size_t i = 0; i < read.size(); ++i) {
    Result<Template> t = read.read(i);
    if (!t) return t.error();
    templates.push_back(std::move(*t));
  }
  return templates;
}

}  // namespace coequal::idiom
