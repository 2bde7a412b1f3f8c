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

Provenance CtaExecutor::joined_halves(const Word& low, const Word& high) {
  const Provenance whole = Provenance::joined(low.object, high.object);
  const uint64_t bits = (low.bits & low_mask(32)) | high.bits << 32;
  const bool start = !whole.is_derived() && whole.place() == Place::Tensor &&
                     whole.object() == launch_.workspace && bits == tensor_base(whole.object());
  if (!whole.is_derived() && !start)
    out_.assumptions.insert(
        {"object-placement",
         fmt::format("the halves of an address that are joined at {} are those of one address",
                     to_string(span(pc_)))});
  return whole;
}

uint32_t CtaExecutor::alignment_of(Provenance object) const {
  switch (object.place()) {
    case Place::Tensor:
      return 256;
    case Place::Local:
      return local_variables_[object.object()]->alignment;
    case Place::Const:
      return const_variables_[object.object()]->alignment;
    case Place::Shared:
      return shared_[object.object() % shared_count()].alignment;
    default:
      return 1;
  }
}

bool CtaExecutor::same_wherever(const isa::Decoded& d, const Word* src, size_t sources,
                                size_t which, bool along, uint32_t alignment) const {
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
  const uint64_t here = at(0), step = std::max<uint64_t>(alignment, 1);
  for (uint64_t bit = step; bit; bit <<= 1)
    if (at(bit) != here) return false;
  // Where the address comes to lie at the other operands, at zero, or at a power of two.
  for (size_t i = 0; i < sources; ++i) {
    if (!src[i].object.is_address()) continue;
    const auto near = [&](uint64_t number) {
      const uint64_t moved = (number - src[i].bits) / step * step;
      return at(moved) == here && at(moved + step) == here && at(moved - step) == here;
    };
    if (!near(0)) return false;
    for (int bit = 0; bit < 64; ++bit)
      if (!near(uint64_t{1} << bit)) return false;
    for (size_t k = 0; k < sources; ++k)
      if (!src[k].object.is_address() && !near(src[k].bits)) return false;
  }
  uint64_t some = 0x9e3779b97f4a7c15u;
  for (int i = 0; i < 64; ++i) {
    if (at(some * step) != here) return false;
    some = some * 6364136223846793005u + 1442695040888963407u;
  }
  return true;
}

std::optional<Provenance> CtaExecutor::object_of_result(const isa::Decoded& d, const Word* src,
                                                        size_t sources, size_t which) {
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
    // No object lies at the generic address 0.
    for (size_t i = 0; i < 2; ++i)
      if (at_distance(i) && !holds(1 - i) && src[1 - i].bits == 0 && equality &&
          d.src_types[0].width == 64)
        return Provenance{};
    return std::nullopt;
  }
  if (which == 0) {
    switch (d.linear) {
      case isa::Linear::Copy:
        return src[0].object;
      case isa::Linear::Truncate:
        return type.width >= 32 || !src[0].object.is_derived() ? src[0].object
                                                               : src[0].object.derived();
      case isa::Linear::Extend:
        if (src[0].object.is_lower() || src[0].object.is_upper())
          return d.src_types[0].width == 32 && !d.src_types[0].is_signed ? src[0].object
                                                                         : src[0].object.derived();
        if (!wraps) return src[0].object;
        // Its lower half.
        if (d.src_types[0].width == 32 && !d.src_types[0].is_signed) return src[0].object.lower();
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
  // Halves of an address, taken and put together.
  const auto is_number = [&](size_t i, uint64_t number) {
    return i < sources && src[i].is_number() && !src[i].motion && src[i].bits == number;
  };
  if (d.text->opcode == "shr" && type.width == 64 && at_distance(0) && is_number(1, 32) &&
      !type.is_signed)
    return src[0].object.upper();
  if (d.text->opcode == "bfi" && type.width == 64 && is_number(2, 32) && is_number(3, 32))
    return joined_halves(src[1], src[0]);
  const uint32_t alignment = object.is_mixed() ? 1 : alignment_of(object);
  if (same_wherever(d, src, sources, which, /*along=*/false, alignment)) return Provenance{};
  if (type.cls == OperandType::Class::Pred) return std::nullopt;
  if (same_wherever(d, src, sources, which, /*along=*/true, alignment)) return object;
  // As the matrix instructions take it, the dynamic part is aligned better than is declared.
  constexpr uint32_t kByLaunch = 1024;
  if (!object.is_mixed() && object.place() == Place::Shared && dynamic_shared_ == object.object() &&
      alignment < kByLaunch) {
    std::optional<Provenance> aligned;
    if (same_wherever(d, src, sources, which, /*along=*/false, kByLaunch)) aligned = Provenance{};
    if (same_wherever(d, src, sources, which, /*along=*/true, kByLaunch)) aligned = object;
    if (aligned) {
      out_.assumptions.insert(
          {"shared-alignment", "dynamic shared memory starts at a multiple of 1024 bytes"});
      return aligned;
    }
  }
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
