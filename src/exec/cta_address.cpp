// Words that hold addresses: what arithmetic on them gives, and how they enter terms.
#include <bit>

#include "exec/bits.h"
#include "exec/cta.h"
#include "term/substitute.h"

namespace coequal::exec {

using isa::OperandType;
using term::Kind;

namespace {

// The object of which all words that hold addresses are, as far as they agree.
Provenance common(const Word* src, size_t sources) {
  Provenance all;
  for (size_t i = 0; i < sources; ++i)
    if (src[i].object.is_address()) all = all.is_address() ? all | src[i].object : src[i].object;
  return all;
}

}  // namespace

uint32_t CtaExecutor::alignment_of(Provenance object) const {
  switch (object.place()) {
    case Place::Tensor:
      return 256;
    case Place::Local:
      return local_variables_[object.object()]->alignment;
    case Place::Const:
      return const_variables_[object.object()]->alignment;
    case Place::Shared:
      return shared_[object.object()].alignment;
    default:
      return 1;
  }
}

bool CtaExecutor::same_wherever(const isa::Decoded& d, const Word* src, size_t sources,
                                size_t which, bool along) const {
  const Provenance object = common(src, sources);
  if (object.is_mixed()) return false;
  for (size_t i = 0; i < sources; ++i)
    if (src[i].object.is_derived() || (!src[i].object.is_address() && src[i].motion)) return false;
  uint64_t in[8], result[4];
  const auto at = [&](uint64_t moved) {
    for (size_t i = 0; i < sources; ++i)
      in[i] =
          (src[i].bits + (src[i].object.is_address() ? moved : 0)) & low_mask(d.src_types[i].width);
    d.conc(d, in, result);
    return (result[which] - (along ? moved : 0)) & low_mask(d.dst_types[which].width);
  };
  const uint64_t here = at(0), step = std::max<uint64_t>(alignment_of(object), 1);
  for (uint64_t bit = step; bit; bit <<= 1)
    if (at(bit) != here) return false;
  uint64_t some = 0x9e3779b97f4a7c15u;
  for (int i = 0; i < 64; ++i) {
    if (at(some * step) != here) return false;
    some = some * 6364136223846793005u + 1442695040888963407u;
  }
  return true;
}

std::optional<Provenance> CtaExecutor::object_of_result(const isa::Decoded& d, const Word* src,
                                                        size_t sources, size_t which) const {
  const OperandType& type = d.dst_types[which];
  const Provenance object = common(src, sources);
  const auto holds = [&](size_t i) { return i < sources && src[i].object.is_address(); };
  const auto at_distance = [&](size_t i) { return holds(i) && !src[i].object.is_derived(); };
  const bool both = at_distance(0) && at_distance(1) && src[0].object == src[1].object;
  const bool wraps = object.place() == Place::Tensor && d.src_types[0].width < 64;
  for (size_t i = 0; i < sources; ++i)
    if (src[i].tag != Tag::Concrete) return std::nullopt;
  if (type.cls == OperandType::Class::Float) return std::nullopt;
  if (d.text->opcode == "setp" || d.text->opcode == "set") {
    const bool equality = d.compare == isa::Compare::Eq || d.compare == isa::Compare::Ne;
    if (both && (equality || !wraps)) return Provenance{};
    // No object lies at the generic address 0. That of the grid's workspace comes in two halves.
    const auto is_workspace = [&](const Word& w) {
      return launch_.workspace &&
             w.object.derived() == Provenance::of(Place::Tensor, *launch_.workspace).derived() &&
             w.bits - tensor_base(*launch_.workspace) <
                 static_cast<uint64_t>((*state_.tensors)[*launch_.workspace].storage_bytes());
    };
    for (size_t i = 0; i < 2; ++i)
      if ((at_distance(i) || is_workspace(src[i])) && !holds(1 - i) && src[1 - i].bits == 0 &&
          equality && d.src_types[0].width == 64)
        return Provenance{};
    return std::nullopt;
  }
  if (which == 0) {
    switch (d.linear) {
      case isa::Linear::Copy:
      case isa::Linear::Truncate:
        return src[0].object;
      case isa::Linear::Extend:
        if (!wraps) return src[0].object;
        break;
      case isa::Linear::Add:
        if (at_distance(0) && !holds(1)) return src[0].object;
        if (at_distance(1) && !holds(0)) return src[1].object;
        break;
      case isa::Linear::Sub:
        if (both) return Provenance{};
        if (at_distance(0) && !holds(1)) return src[0].object;
        break;
      case isa::Linear::Mad:
      case isa::Linear::MadWide:
        if (at_distance(2) && !holds(0) && !holds(1)) return src[2].object;
        break;
      default:
        break;
    }
  }
  if (same_wherever(d, src, sources, which, /*along=*/false)) return Provenance{};
  if (type.cls == OperandType::Class::Pred) return std::nullopt;
  if (same_wherever(d, src, sources, which, /*along=*/true)) return object;
  return object.derived();
}

Term CtaExecutor::address_leaf(const Word& word, int width) {
  const Term any = poison_term(
      fmt::format("address {} {}", word.object.code(), width), term::bv(width), 0,
      {PoisonSource::Kind::Refused,
       "",
       {kernel_.function->body[pc_].spelling(), span(pc_), "an address is used as a value"},
       {}});
  const term::GroupId group = store_.groups(any)[0];
  address_groups_.emplace(group, word.object);
  const bool moves = extends_exactly(word.bits, word.motion, width, true);
  const uint64_t bits = moves ? word.bits : concretize(word, width);
  return store_.leaf(group, {sign_extend(bits, width), moves ? word.motion : 0});
}

Term CtaExecutor::with_addresses_known(const Term& t) {
  if (!store_.has_poison(t)) return t;
  term::Substitution known(
      store_,
      [&](const Term& x) -> std::optional<Term> {
        if (store_.kind(x) != Kind::Poison || !address_groups_.contains(store_.groups(x)[0]))
          return std::nullopt;
        const term::Anchor a = store_.anchor(x, 0);
        return term_of(Word::concrete(static_cast<uint64_t>(a.cell), a.motion),
                       bits_type(store_.type(x).width));
      },
      [&](const Term& x) { return store_.has_poison(x); });
  return known(t);
}

Word CtaExecutor::leaving_thread(const Word& word, uint32_t pc) {
  const auto is_local = [](Provenance of) {
    return of.is_address() && !of.is_mixed() && of.place() == Place::Local;
  };
  bool local = is_local(word.object);
  if (word.tag >= Tag::Real && store_.has_poison(word.term))
    for (const term::GroupId g : store_.groups(word.term))
      if (const auto it = address_groups_.find(g); it != address_groups_.end())
        local |= is_local(it->second);
  return local ? refused_at(pc, "the address of a local variable is handed to other threads")
               : word;
}

Word CtaExecutor::undefined_by(const Word& refused, const OperandType& type) {
  if (type.cls != OperandType::Class::Pred) return word_of(term_of(refused, type), type);
  return word_of(store_.make(Kind::BvEq, {term_of(refused, bits_type(1)), store_.bits(1, 1)}),
                 type);
}

}  // namespace coequal::exec
