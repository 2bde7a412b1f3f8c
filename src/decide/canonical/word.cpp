// Machine words: sums modulo 2^width in one form, comparisons, and their readings as reals.
//
// A sum of words is a constant and coefficients of words that are not sums, the words in ascending
// order; a choice is a sum of what both arms add and guarded rests: c ? old + t : old is old + (c ?
// t : 0). Read-modify-write chains at positions that depend on data then have the form of sums over
// flags. All of this is arithmetic modulo 2^width, so it holds for every input.
#include <algorithm>

#include "decide/canonical/algebra.h"
#include "term/hash.h"

namespace coequal::decide {

using term::Kind;
using term::mix;

namespace {

uint64_t mask_of(int width) { return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1; }
int64_t signed_value(uint64_t bits, int width) {
  const int shift = 64 - width;
  return static_cast<int64_t>(bits << shift) >> shift;
}

}  // namespace

// ---- Sums ----

Algebra::Linear Algebra::linear(WordId id) const {
  const Word& w = words_[id];
  Linear out;
  auto add_product = [&](WordId x) {
    const Word& p = words_[x];
    if (p.kind == Kind::BvMul && p.words.size() == 2)
      for (int k = 0; k < 2; ++k)
        if (words_[p.words[static_cast<size_t>(k)]].kind == Kind::BvConst) {
          out.terms.emplace_back(p.words[static_cast<size_t>(1 - k)],
                                 words_[p.words[static_cast<size_t>(k)]].payload);
          return;
        }
    out.terms.emplace_back(x, 1);
  };
  if (w.kind == Kind::BvConst) {
    out.constant = w.payload;
  } else if (w.kind == Kind::BvAdd) {
    out.constant = w.payload;
    for (WordId x : w.words) add_product(x);
  } else {
    add_product(id);
  }
  return out;
}

WordId Algebra::word_constant(uint64_t bits, int width) {
  Word w;
  w.kind = Kind::BvConst;
  w.width = static_cast<uint8_t>(width);
  w.payload = bits & mask_of(width);
  return intern_word(std::move(w));
}

WordId Algebra::of_linear(const Linear& sum, int width) {
  std::vector<std::pair<WordId, uint64_t>> terms = sum.terms;
  std::sort(terms.begin(), terms.end());
  Word out;
  out.kind = Kind::BvAdd;
  out.width = static_cast<uint8_t>(width);
  out.payload = sum.constant & mask_of(width);
  for (size_t i = 0; i < terms.size();) {
    const WordId t = terms[i].first;
    uint64_t c = 0;
    for (; i < terms.size() && terms[i].first == t; ++i) c += terms[i].second;
    c &= mask_of(width);
    if (c == 0) continue;
    if (c == 1) {
      out.words.push_back(t);
      continue;
    }
    Word product;
    product.kind = Kind::BvMul;
    product.width = static_cast<uint8_t>(width);
    product.words = {word_constant(c, width), t};
    std::sort(product.words.begin(), product.words.end());
    out.words.push_back(intern_word(std::move(product)));
  }
  if (out.words.empty()) return word_constant(out.payload, width);
  if (out.words.size() == 1 && out.payload == 0) return out.words[0];
  std::sort(out.words.begin(), out.words.end());
  return intern_word(std::move(out));
}

void Algebra::add_to(Linear& into, const Linear& x, uint64_t factor) {
  into.constant += factor * x.constant;
  for (const auto& [t, c] : x.terms) into.terms.emplace_back(t, factor * c);
}

WordId Algebra::flag(CondId c, int width) {
  if (c <= kFalse) return word_constant(c == kTrue, width);
  Word w;
  w.kind = Kind::BvOfBool;
  w.width = static_cast<uint8_t>(width);
  w.conds = {c & ~1u};
  const WordId positive = intern_word(std::move(w));
  if (!(c & 1)) return positive;
  return of_linear({1, {{positive, ~uint64_t{0}}}}, width);  // 1 - [not c]
}

std::optional<CondId> Algebra::as_flag(WordId id) const {
  const Word& w = words_[id];
  if (w.kind == Kind::BvOfBool) return w.conds[0];
  if (w.kind == Kind::BvConst && w.payload <= 1) return w.payload ? kTrue : kFalse;
  if (w.kind == Kind::BvAdd && w.payload == 1 && w.words.size() == 1) {
    const Linear l = linear(id);
    if (words_[l.terms[0].first].kind == Kind::BvOfBool &&
        (l.terms[0].second & mask_of(w.width)) == mask_of(w.width))
      return negation(words_[l.terms[0].first].conds[0]);
    return std::nullopt;
  }
  return std::nullopt;
}

// The integers between which a sum of flags lies, its constant and coefficients read as signed (or
// as unsigned, if there is but one bit).
std::optional<Algebra::FlagSum> Algebra::flag_sum(const Linear& sum, int width,
                                                  bool is_signed) const {
  if (width > 63 || sum.terms.size() > 100000) return std::nullopt;
  auto read = [&](uint64_t bits) {
    bits &= mask_of(width);
    return width == 1 && !is_signed ? static_cast<int64_t>(bits) : signed_value(bits, width);
  };
  FlagSum out;
  out.constant = out.low = out.high = read(sum.constant);
  for (const auto& [t, c] : sum.terms) {
    if (words_[t].kind != Kind::BvOfBool) return std::nullopt;
    const int64_t k = read(c);
    if (k > (int64_t{1} << 40) || k < -(int64_t{1} << 40)) return std::nullopt;
    (k < 0 ? out.low : out.high) += k;
    out.flags.emplace_back(words_[t].conds[0], k);
  }
  return out;
}

// c ? x : 0, for every term of a sum. A product with 0 or 1 distributes modulo 2^width; what is not
// total stays guarded.
void Algebra::add_guarded(Linear& into, CondId c, const Linear& x, int width) {
  if (x.constant & mask_of(width)) add_to(into, linear(flag(c, width)), x.constant);
  for (const auto& [t, k] : x.terms) {
    CondId condition = c;
    WordId inner = t;
    for (bool again = true; again;) {
      again = false;
      const Word& w = words_[inner];
      if (w.kind == Kind::BvOfBool) {
        condition = all({condition, w.conds[0]});
        inner = word_constant(1, width);
      } else if (w.kind == Kind::Select) {
        const CondId d = w.conds[0];
        const WordId a = w.words[0], b = w.words[1];
        if (d == condition || d == negation(condition)) {
          inner = d == condition ? a : b;
          again = true;
        } else if (words_[b].kind == Kind::BvConst && words_[b].payload == 0) {
          condition = all({condition, d}), inner = a, again = true;
        } else if (words_[a].kind == Kind::BvConst && words_[a].payload == 0) {
          condition = all({condition, negation(d)}), inner = b, again = true;
        }
      }
    }
    if (condition == kFalse) continue;
    if (words_[inner].kind == Kind::BvConst) {
      add_to(into, linear(flag(condition, width)), k * words_[inner].payload);
      continue;
    }
    const Linear parts = linear(inner);
    if (condition == kTrue) {
      add_to(into, parts, k);
      continue;
    }
    // A sum: its terms one by one. What is its own only term is none, such as a product of words.
    if (parts.terms.size() != 1 || parts.terms[0].first != inner) {
      Linear part;
      add_guarded(part, condition, parts, width);
      add_to(into, part, k);
      continue;
    }
    Word guarded;
    guarded.kind = Kind::Select;
    guarded.width = static_cast<uint8_t>(width);
    guarded.conds = {condition & ~1u};
    guarded.words = {inner, word_constant(0, width)};
    if (condition & 1) std::swap(guarded.words[0], guarded.words[1]);
    into.terms.emplace_back(intern_word(std::move(guarded)), k);
  }
}

// The word where the literals hold: flags and choices among its terms that they decide.
WordId Algebra::word_under(WordId id, const std::vector<CondId>& literals) {
  const int width = words_[id].width;
  const Linear l = linear(id);
  Linear out;
  out.constant = l.constant;
  bool changed = false;
  for (const auto& [t, k] : l.terms) {
    const Word& w = words_[t];
    std::optional<bool> holds;
    if (w.kind == Kind::BvOfBool || w.kind == Kind::Select) holds = implied(literals, w.conds[0]);
    if (!holds) {
      out.terms.emplace_back(t, k);
      continue;
    }
    changed = true;
    if (w.kind == Kind::BvOfBool)
      out.constant += *holds ? k : 0;
    else
      add_to(out, linear(w.words[*holds ? 0 : 1]), k);
  }
  return changed ? word_under(of_linear(out, width), literals) : id;
}

WordId Algebra::word_select(CondId c, WordId then, WordId other, int width) {
  if (c == kTrue || then == other) return then;
  if (c == kFalse) return other;
  if (c & 1) return word_select(negation(c), other, then, width);
  if (const Cond& order = cond(c);
      order.kind == CondKind::Word && static_cast<Kind>(order.a) != Kind::BvEq) {
    const bool is_signed = static_cast<Kind>(order.a) == Kind::BvSlt;
    if (then == order.right && other == order.left)
      return word_extreme(Kind::Max, is_signed, {then, other}, width);
    if (then == order.left && other == order.right)
      return word_extreme(Kind::Min, is_signed, {then, other}, width);
  }
  then = word_under(then, literals_of(c));
  other = word_under(other, literals_of(negation(c)));
  const Linear a = linear(then), b = linear(other);
  Linear out, rest_a, rest_b;
  out.constant = b.constant;
  rest_a.constant = a.constant - b.constant;
  std::vector<std::pair<WordId, uint64_t>> x = a.terms, y = b.terms;
  std::sort(x.begin(), x.end());
  std::sort(y.begin(), y.end());
  std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(out.terms));
  std::set_difference(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(rest_a.terms));
  std::set_difference(y.begin(), y.end(), x.begin(), x.end(), std::back_inserter(rest_b.terms));
  if (rest_b.terms.empty()) {
    add_guarded(out, c, rest_a, width);
  } else if (rest_a.terms.empty() && (rest_a.constant & mask_of(width)) == 0) {
    add_guarded(out, negation(c), rest_b, width);
  } else {
    Word choice;
    choice.kind = Kind::Select;
    choice.width = static_cast<uint8_t>(width);
    choice.conds = {c};
    choice.words = {of_linear(rest_a, width), of_linear(rest_b, width)};
    out.terms.emplace_back(intern_word(std::move(choice)), 1);
  }
  return of_linear(out, width);
}

// n-ary minimum and maximum of words; the payload says whether they are compared as signed numbers.
WordId Algebra::word_extreme(Kind kind, bool is_signed, std::vector<WordId> args, int width) {
  std::vector<WordId> flat;
  for (WordId x : args) {
    const Word& w = words_[x];
    if (w.kind == kind && w.payload == static_cast<uint64_t>(is_signed))
      flat.insert(flat.end(), w.words.begin(), w.words.end());
    else
      flat.push_back(x);
  }
  std::optional<uint64_t> constant;
  std::erase_if(flat, [&](WordId x) {
    if (words_[x].kind != Kind::BvConst) return false;
    const uint64_t k = words_[x].payload;
    const bool less =
        constant &&
        (is_signed ? signed_value(k, width) < signed_value(*constant, width) : k < *constant);
    if (!constant || less == (kind == Kind::Min)) constant = k;
    return true;
  });
  if (constant) flat.push_back(word_constant(*constant, width));
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  if (flat.size() == 1) return flat[0];
  Word out;
  out.kind = kind;
  out.width = static_cast<uint8_t>(width);
  out.payload = is_signed;
  out.words = std::move(flat);
  return intern_word(std::move(out));
}

// Operations on constants, as the PTX manual defines them; division by zero has no value.
std::optional<uint64_t> Algebra::folded_word(const Word& w) const {
  if (w.words.empty() || !w.conds.empty() || !w.values.empty()) return std::nullopt;
  uint64_t x[2] = {0, 0};
  if (w.words.size() > 2) return std::nullopt;
  for (size_t i = 0; i < w.words.size(); ++i) {
    if (words_[w.words[i]].kind != Kind::BvConst) return std::nullopt;
    x[i] = words_[w.words[i]].payload;
  }
  const int from = words_[w.words[0]].width, width = w.width;
  const uint64_t a = x[0], b = x[1], mask = mask_of(width);
  const int64_t sa = signed_value(a, from),
                sb = w.words.size() == 2 ? signed_value(b, words_[w.words[1]].width) : 0;
  const int64_t least = signed_value(uint64_t{1} << (width - 1), width);
  switch (w.kind) {
    case Kind::BvAnd:
      return a & b;
    case Kind::BvOr:
      return a | b;
    case Kind::BvXor:
      return a ^ b;
    case Kind::BvMul:
      return (a * b) & mask;
    case Kind::BvNot:
      return ~a & mask;
    case Kind::BvShl:
      return b >= static_cast<uint64_t>(width) ? 0 : (a << b) & mask;
    case Kind::BvLshr:
      return b >= static_cast<uint64_t>(width) ? 0 : a >> b;
    case Kind::BvAshr:
      return static_cast<uint64_t>(sa >> std::min<uint64_t>(b, static_cast<uint64_t>(width) - 1)) &
             mask;
    case Kind::BvUdiv:
      if (b == 0) return std::nullopt;
      return a / b;
    case Kind::BvUrem:
      if (b == 0) return std::nullopt;
      return a % b;
    case Kind::BvSdiv:
      if (b == 0 || (sa == least && sb == -1)) return std::nullopt;
      return static_cast<uint64_t>(sa / sb) & mask;
    case Kind::BvSrem:
      if (b == 0 || (sa == least && sb == -1)) return std::nullopt;
      return static_cast<uint64_t>(sa % sb) & mask;
    case Kind::BvExtract:
      return (a >> w.payload) & mask;
    case Kind::BvConcat:
      return ((a << words_[w.words[1]].width) | b) & mask;
    case Kind::BvZeroExtend:
      return a;
    case Kind::BvSignExtend:
      return static_cast<uint64_t>(sa) & mask;
    case Kind::BvPopcount:
      return static_cast<uint64_t>(__builtin_popcountll(a)) & mask;
    default:
      return std::nullopt;
  }
}

WordId Algebra::word(Word w) {
  if (term::is_commutative(w.kind) && w.words.size() == 2 && w.words[1] < w.words[0])
    std::swap(w.words[0], w.words[1]);
  const int width = w.width;
  const uint64_t mask = mask_of(width);
  if (const auto value = folded_word(w)) return word_constant(*value, width);
  auto constant = [&](size_t i) -> const uint64_t* {
    const Word& x = words_[w.words[i]];
    return x.kind == Kind::BvConst ? &x.payload : nullptr;
  };
  // The operand as a multiple.
  auto scaled = [&](WordId x, uint64_t factor, uint64_t plus) {
    Linear out;
    out.constant = plus;
    add_to(out, linear(x), factor);
    return of_linear(out, width);
  };
  switch (w.kind) {
    case Kind::BvAdd: {
      Linear out;
      out.constant = w.payload;
      size_t size = 0;
      for (WordId x : w.words) size += words_[x].kind == Kind::BvAdd ? words_[x].words.size() : 1;
      for (WordId x : w.words) {
        if (size <= kFlatWords)
          add_to(out, linear(x), 1);
        else
          out.terms.emplace_back(x, 1);
      }
      return of_linear(out, width);
    }
    case Kind::BvMul:
      if (w.words.size() == 2) {
        if (const uint64_t* c = constant(0)) return scaled(w.words[1], *c, 0);
        if (const uint64_t* c = constant(1)) return scaled(w.words[0], *c, 0);
      }
      break;
    case Kind::BvShl:
      if (const uint64_t* by = constant(1); by && *by < static_cast<uint64_t>(width))
        return scaled(w.words[0], uint64_t{1} << *by, 0);
      break;
    case Kind::BvNot:
      return scaled(w.words[0], ~uint64_t{0}, mask);  // -1 - x
    case Kind::BvOfBool:
      return flag(w.conds[0], width);
    case Kind::Select:
      return word_select(w.conds[0], w.words[0], w.words[1], width);
    case Kind::Max:
    case Kind::Min:
      return word_extreme(w.kind, w.payload != 0, w.words, width);
    case Kind::BvAnd:
    case Kind::BvOr: {
      const auto a = as_flag(w.words[0]), b = as_flag(w.words[1]);
      if (a && b) return flag(w.kind == Kind::BvAnd ? all({*a, *b}) : any({*a, *b}), width);
      break;
    }
    case Kind::BvXor: {
      const auto a = as_flag(w.words[0]), b = as_flag(w.words[1]);
      if (a && b) return flag(choose(*a, negation(*b), *b), width);
      break;
    }
    case Kind::BvZeroExtend:
    case Kind::BvSignExtend:
    case Kind::BvExtract: {
      // A sum of flags that does not wrap is the same number in another width; the low bits of any
      // are.
      if (w.kind == Kind::BvExtract && w.payload != 0) break;
      const int from = words_[w.words[0]].width;
      const Linear l = linear(w.words[0]);
      const auto sum = flag_sum(l, from, w.kind == Kind::BvSignExtend);
      if (!sum) break;
      if (w.kind == Kind::BvZeroExtend &&
          (sum->low < 0 || static_cast<uint64_t>(sum->high) > mask_of(from)))
        break;
      if (w.kind == Kind::BvSignExtend &&
          (sum->low < signed_value(uint64_t{1} << (from - 1), from) ||
           sum->high > static_cast<int64_t>(mask_of(from) >> 1)))
        break;
      Linear out;
      out.constant = static_cast<uint64_t>(sum->constant);
      for (const auto& [c, k] : sum->flags)
        add_to(out, linear(flag(c, width)), static_cast<uint64_t>(k));
      return of_linear(out, width);
    }
    default:
      break;
  }
  return intern_word(std::move(w));
}

WordId Algebra::intern_word(Word w) {
  uint64_t h = mix(mix(static_cast<uint64_t>(w.kind), w.width),
                   mix(w.payload, static_cast<uint64_t>(w.cell)));
  for (WordId x : w.words) h = mix(h, x);
  for (CondId x : w.conds) h = mix(h, x);
  for (const Value& v : w.values) h = mix(h, mix(v.c.hash(), v.m));
  const uint32_t found = word_index_.find(h, [&](uint32_t id) {
    const Word& other = words_[id];
    return other.kind == w.kind && other.width == w.width && other.payload == w.payload &&
           other.cell == w.cell && other.words == w.words && other.conds == w.conds &&
           other.values == w.values;
  });
  if (found != term::IdTable::kNone) return found;
  w.total = w.kind != Kind::Poison && w.kind != Kind::BvUdiv && w.kind != Kind::BvSdiv &&
            w.kind != Kind::BvUrem && w.kind != Kind::BvSrem;
  for (WordId x : w.words) {
    w.total = w.total && words_[x].total;
    w.depth = std::max(w.depth, words_[x].depth + 1);
  }
  for (CondId x : w.conds) {
    w.total = w.total && cond(x).total;
    w.depth = std::max(w.depth, cond(x).depth + 1);
  }
  for (const Value& v : w.values) {
    w.total = w.total && total(v.m);
    w.depth = std::max(w.depth, depth(v.m) + 1);
  }
  bound_word(w);
  const auto id = static_cast<WordId>(words_.size());
  bytes_ += sizeof(Word) + 64;
  words_.push_back(std::move(w));
  word_index_.insert(h, id);
  return id;
}

CondId Algebra::compare_words(Kind kind, WordId a, WordId b) {
  if (a == b) return kind == Kind::BvEq ? kTrue : kFalse;
  const int width = words_[a].width;
  const bool const_a = words_[a].kind == Kind::BvConst, const_b = words_[b].kind == Kind::BvConst;
  if (const_a && const_b) {
    const uint64_t x = words_[a].payload, y = words_[b].payload;
    const bool value = kind == Kind::BvEq    ? x == y
                       : kind == Kind::BvUlt ? x < y
                                             : signed_value(x, width) < signed_value(y, width);
    return value ? kTrue : kFalse;
  }
  const Linear left = linear(a), right = linear(b);
  if (kind == Kind::BvEq) {
    Linear difference = left;
    add_to(difference, right, ~uint64_t{0});
    const WordId d = of_linear(difference, width);
    if (words_[d].kind == Kind::BvConst) return words_[d].payload == 0 ? kTrue : kFalse;
    difference = linear(d);
    const uint64_t wanted = (0 - difference.constant) & mask_of(width);
    if (const auto sum = flag_sum({0, difference.terms}, width, false)) {
      // Numbers of the range with the wanted residue; the ends are taken by one choice of the flags
      // each.
      if (static_cast<uint64_t>(sum->high - sum->low) <= mask_of(width)) {
        const uint64_t at = (wanted - static_cast<uint64_t>(sum->low)) & mask_of(width);
        const auto span = static_cast<uint64_t>(sum->high - sum->low);
        if (at > span) return kFalse;
        if (at == 0 || at == span) {
          std::vector<CondId> parts;
          for (const auto& [c, k] : sum->flags)
            parts.push_back((k > 0) == (at != 0) ? c : negation(c));
          return all(std::move(parts));
        }
      }
    } else if (difference.terms.size() == 1 && (difference.terms[0].second & 1)) {
      uint64_t inverse = 1;  // of an odd number modulo 2^64, by Newton's iteration
      for (int i = 0; i < 6; ++i) inverse *= 2 - difference.terms[0].second * inverse;
      const WordId x = difference.terms[0].first, c = word_constant(wanted * inverse, width);
      if ((x != a || c != b) && (x != b || c != a)) return compare_words(kind, x, c);
    } else {
      // t1 + ... = constant, the first coefficient in the lower half; two words of opposite sign
      // face each other.
      const bool pair =
          difference.terms.size() == 2 && wanted == 0 &&
          ((difference.terms[0].second + difference.terms[1].second) & mask_of(width)) == 0 &&
          ((difference.terms[0].second & mask_of(width)) == 1 ||
           (difference.terms[1].second & mask_of(width)) == 1);
      if (pair) {
        a = difference.terms[0].first, b = difference.terms[1].first;
      } else {
        std::sort(difference.terms.begin(), difference.terms.end());
        const bool flip = (difference.terms[0].second & mask_of(width)) > (mask_of(width) >> 1);
        Linear left_side;
        add_to(left_side, {0, difference.terms}, flip ? ~uint64_t{0} : 1);
        a = of_linear(left_side, width), b = word_constant(flip ? 0 - wanted : wanted, width);
      }
    }
  } else {
    // Sums of flags that do not wrap, against a constant.
    for (int swap = 0; swap < 2; ++swap) {
      const WordId c = swap ? a : b;
      if (words_[c].kind != Kind::BvConst) continue;
      const auto sum = flag_sum(swap ? right : left, width, kind == Kind::BvSlt);
      if (!sum || sum->flags.empty()) continue;
      const bool is_signed = kind == Kind::BvSlt;
      const int64_t low = is_signed ? signed_value(uint64_t{1} << (width - 1), width) : 0;
      const int64_t high = static_cast<int64_t>(is_signed ? mask_of(width) >> 1 : mask_of(width));
      if (sum->low < low || sum->high > high) continue;
      const int64_t k = is_signed ? signed_value(words_[c].payload, width)
                                  : static_cast<int64_t>(words_[c].payload);
      auto all_at = [&](bool top) {
        std::vector<CondId> parts;
        for (const auto& [flag_condition, factor] : sum->flags)
          parts.push_back((factor > 0) == top ? flag_condition : negation(flag_condition));
        return all(std::move(parts));
      };
      if (!swap) {  // sum < k
        if (sum->high < k) return kTrue;
        if (sum->low >= k) return kFalse;
        if (sum->high == k) return negation(all_at(true));
        if (sum->low == k - 1) return all_at(false);  // nothing else lies below k
      } else {                                        // k < sum
        if (k < sum->low) return kTrue;
        if (k >= sum->high) return kFalse;
        if (k == sum->low) return negation(all_at(false));
        if (k == sum->high - 1) return all_at(true);
      }
    }
  }
  for (int swap = 0; swap < 2; ++swap) {
    const WordId x = swap ? b : a, c = swap ? a : b;
    if (words_[c].kind != Kind::BvConst) continue;
    const Word& w = words_[x];
    const uint64_t constant = words_[c].payload;
    // A flag against a constant, a choice between constants against a constant.
    if (w.kind == Kind::BvOfBool && kind == Kind::BvEq)
      return constant == 0 ? negation(w.conds[0]) : constant == 1 ? w.conds[0] : kFalse;
    if (w.kind == Kind::Select &&
        (words_[w.words[0]].kind == Kind::BvConst || words_[w.words[1]].kind == Kind::BvConst)) {
      const CondId condition = w.conds[0];
      const WordId then = w.words[0], other = w.words[1];
      return choose(condition, swap ? compare_words(kind, c, then) : compare_words(kind, then, c),
                    swap ? compare_words(kind, c, other) : compare_words(kind, other, c));
    }
    // Declared bounds of a leaf.
    if (w.kind == Kind::Leaf || w.kind == Kind::Scalar) {
      const bool leaf = w.kind == Kind::Leaf;
      const term::Bounds& bounds = leaf ? store_.group(static_cast<term::GroupId>(w.payload)).bounds
                                        : store_.scalar(static_cast<uint32_t>(w.payload)).bounds;
      const DType dtype = leaf ? store_.group(static_cast<term::GroupId>(w.payload)).dtype
                               : store_.scalar(static_cast<uint32_t>(w.payload)).dtype;
      const bool is_signed = is_signed_integer(dtype);
      std::optional<Rational> lo = bounds.min, hi = bounds.max;
      if (bounds.above && (!lo || *bounds.above + Rational(1) > *lo))
        lo = bounds.above->floor() + Rational(1);
      if (bounds.below && (!hi || *bounds.below - Rational(1) < *hi))
        hi = -(-*bounds.below).floor() - Rational(1);
      if (dtype == DType::Bool) {
        if (!lo) lo = Rational(0);
        if (!hi) hi = Rational(1);
      }
      const Rational value =
          is_signed ? Rational(signed_value(constant, width)) : Rational::from_u64(constant);
      // The order asked about must be the order in which the bounds are stated.
      const bool same_order =
          kind == Kind::BvEq || (kind == Kind::BvSlt) == is_signed ||
          (lo && lo->sign() >= 0 && signed_value(constant, width) >= 0 &&
           (is_signed || (hi && *hi <= Rational(signed_value(mask_of(width) >> 1, width)))));
      if (same_order) {
        if (kind == Kind::BvEq) {
          if ((lo && value < *lo) || (hi && value > *hi)) return kFalse;
          if (lo && hi && *lo == *hi && value == *lo) return kTrue;
        } else if (!swap) {  // leaf < constant
          if (hi && *hi < value) return kTrue;
          if (lo && *lo >= value) return kFalse;
        } else {  // constant < leaf
          if (lo && *lo > value) return kTrue;
          if (hi && *hi <= value) return kFalse;
        }
      }
    }
  }
  Cond cond;
  cond.kind = CondKind::Word;
  cond.a = static_cast<uint32_t>(kind);
  cond.left = a;
  cond.right = b;
  if (kind == Kind::BvEq && b < a) std::swap(cond.left, cond.right);
  return assumed(intern_cond(std::move(cond)));
}

Value Algebra::of_word(Kind kind, uint64_t payload, WordId id) {
  const Word& w = words_[id];
  if (kind == Kind::RealOfSigned || kind == Kind::RealOfUnsigned) {
    const bool is_signed = kind == Kind::RealOfSigned;
    if (w.kind == Kind::BvConst)
      return number(is_signed ? Rational(signed_value(w.payload, w.width))
                              : Rational::from_u64(w.payload));
    if (w.kind == Kind::BvZeroExtend) return of_word(Kind::RealOfUnsigned, 0, w.words[0]);
    if (w.kind == Kind::BvSignExtend && is_signed) return of_word(kind, 0, w.words[0]);
    if (w.kind == Kind::Select) {
      const CondId c = w.conds[0];
      const WordId then = w.words[0], other = w.words[1];
      return select(c, of_word(kind, 0, then), of_word(kind, 0, other));
    }
    if (w.kind == Kind::BvOfBool)
      return select(w.conds[0], number(is_signed && w.width == 1 ? -1 : 1), number(0));
  }
  if (kind == Kind::RealOfSigned || kind == Kind::RealOfUnsigned)
    if (auto unwrapped = unwrapped_word(kind, w)) return *std::move(unwrapped);
  if (kind == Kind::RealOfBits && w.kind == Kind::BitsOfReal && w.payload == payload)
    return w.values[0];
  Atom atom;
  atom.kind = AtomKind::OfWord;
  atom.a = static_cast<uint32_t>(kind);
  atom.b = static_cast<int64_t>(payload);
  atom.word = id;
  return of_atom(std::move(atom));
}

}  // namespace coequal::decide
