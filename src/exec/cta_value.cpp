// Operands, pure instructions and the algebra of moving integers.
#include <algorithm>
#include <bit>

#include "exec/bits.h"
#include "exec/cta.h"
#include "term/float_format.h"

namespace coequal::exec {

using isa::OperandType;
using term::Kind;

namespace {

constexpr OperandType kPred{OperandType::Class::Pred, 1, false, {}};

int64_t value_of(uint64_t bits, int width, bool is_signed) {
  return is_signed ? sign_extend(bits, width) : static_cast<int64_t>(bits & low_mask(width));
}

}  // namespace

std::optional<Word> CtaExecutor::symbol_address(const ptx::Operand& op) {
  const ptx::Variable* variable = nullptr;
  const auto address = [](Place place, uint32_t index, uint64_t window) {
    return Word::concrete(variable_base(index) + window, 0, Provenance::of(place, index));
  };
  switch (op.home) {
    case ptx::Operand::Home::Param:
      return address(Place::Param, op.index, 0);
    case ptx::Operand::Home::Module:
      variable = &kernel_.module->variables[op.index];
      break;
    case ptx::Operand::Home::Local:
      variable = &kernel_.function->locals[op.index];
      break;
    default:
      return std::nullopt;
  }
  if (const auto at = launch_.variables.find(variable); at != launch_.variables.end())
    return Word::concrete(tensor_base(at->second.tensor), 0,
                          Provenance::of(Place::Tensor, at->second.tensor));
  const auto it = symbols_.find(variable);
  if (it == symbols_.end()) return std::nullopt;
  // Known data of module scope in global memory: its addresses are generic ones.
  const uint64_t generic = variable->space == ptx::StateSpace::Global ? window(Place::Const) : 0;
  return address(it->second.first, it->second.second, generic);
}

const Refusal* CtaExecutor::refusal_below(const Term& t) const {
  std::vector<Term> stack{t};
  absl::flat_hash_set<Term> seen;
  while (!stack.empty()) {
    const Term x = stack.back();
    stack.pop_back();
    if (!store_.has_poison(x) || !seen.insert(x).second) continue;
    if (store_.kind(x) == Kind::Poison) {
      const auto it = session_.poison.find(store_.groups(x)[0]);
      if (it != session_.poison.end() && it->second.kind == PoisonSource::Kind::Refused)
        return &it->second.refusal;
    }
    for (int i = 0; i < store_.arity(x); ++i) stack.push_back(store_.child(x, i));
  }
  return nullptr;
}

Word CtaExecutor::special(const Warp& warp, int lane, const std::string& name) {
  const uint32_t number = warp.index * kWarpSize + static_cast<uint32_t>(lane);
  const uint32_t thread = number % rank_stride_;  // of its CTA
  const auto& b = launch_.block;
  const auto& g = launch_.grid;
  const auto dimension = [&](size_t prefix) -> int {
    if (name.size() != prefix + 2 || name[prefix] != '.') return -1;
    const int d = name[prefix + 1] - 'x';
    return d >= 0 && d < 3 ? d : -1;
  };
  if (name.starts_with("%tid")) {
    const int d = dimension(4);
    if (d == 0) return Word::concrete(thread % b[0]);
    if (d == 1) return Word::concrete(thread / b[0] % b[1]);
    if (d == 2) return Word::concrete(thread / b[0] / b[1]);
  }
  if (name.starts_with("%ntid") && dimension(5) >= 0) return Word::concrete(b[dimension(5)]);
  if (name.starts_with("%nctaid") && dimension(7) >= 0) return Word::concrete(g[dimension(7)]);
  if (name.starts_with("%ctaid") && dimension(6) >= 0) {
    const int d = dimension(6);
    return Word::concrete(cta_of(number)[d], motions_->ctaid(d));
  }
  const uint32_t bit = 1u << lane;
  if (name == "%laneid") return Word::concrete(static_cast<uint32_t>(lane));
  if (name == "%warpid") return Word::concrete(thread / kWarpSize);
  if (name == "%nwarpid")
    return Word::concrete((launch_.cta_threads() + kWarpSize - 1) / kWarpSize);
  if (name == "%lanemask_eq") return Word::concrete(bit);
  if (name == "%lanemask_lt") return Word::concrete(bit - 1);
  if (name == "%lanemask_le") return Word::concrete(bit - 1 + bit);
  if (name == "%lanemask_gt") return Word::concrete(static_cast<uint32_t>(~(bit - 1 + bit)));
  if (name == "%lanemask_ge") return Word::concrete(static_cast<uint32_t>(~(bit - 1)));
  if (name == "%dynamic_smem_size") return Word::concrete(launch_.dynamic_shared);
  if (const Word w = cluster_register(warp, lane, name); w.tag != Tag::Unset) return w;
  if (launch_.workspace && (name == "%envreg1" || name == "%envreg2"))
    return extract(Word::concrete(tensor_base(*launch_.workspace), 0,
                                  Provenance::of(Place::Tensor, *launch_.workspace)),
                   8, name == "%envreg1" ? 4 : 0, 4);
  const bool clock = name.starts_with("%clock") || name.starts_with("%globaltimer");
  const term::Type type = term::bv(name == "%clock64" || name == "%globaltimer" ? 64 : 32);
  if (clock)
    return Word::symbolic(poison_term(
        "special register '" + name + "'", type, 0,
        {PoisonSource::Kind::Uninitialized, "special register '" + name + "'", {}, {}}));
  return Word::symbolic(poison_term(
      "special register '" + name + "'", type, 0,
      {PoisonSource::Kind::Refused, "", {name, {}, "this special register is not modelled"}, {}}));
}

Word CtaExecutor::operand(const Warp& warp, int lane, const ptx::Operand& op, int width) {
  thread_ = warp.index * kWarpSize + static_cast<uint32_t>(lane);
  switch (op.kind) {
    case ptx::Operand::Kind::Register:
      return warp.registers[op.reg].get(lane);
    case ptx::Operand::Kind::Immediate:
      // A predicate is true for every constant but zero (PTX ISA, "Predicate Constants").
      return Word::concrete(width == 1 ? op.bits != 0 : op.bits & low_mask(width));
    case ptx::Operand::Kind::Special:
      return special(warp, lane, op.text);
    case ptx::Operand::Kind::Symbol:
      if (op.home == ptx::Operand::Home::Local &&
          kernel_.function->locals[op.index].space == ptx::StateSpace::Param)
        return Word::symbolic(
            poison_term("symbol '" + op.text + "'", term::bv(64), 0,
                        {PoisonSource::Kind::Refused,
                         "",
                         {op.text, {}, "the address of a function's parameter is taken"},
                         {}}));
      if (auto word = symbol_address(op)) {
        word->bits += static_cast<uint64_t>(op.offset);
        return *word;
      }
      return Word::symbolic(
          poison_term("symbol '" + op.text + "'", term::bv(64), 0,
                      {PoisonSource::Kind::Refused, "", {op.text, {}, kFilledByHost}, {}}));
    default:
      return Word{};
  }
}

void CtaExecutor::write(Warp& warp, int lane, const ptx::Operand& op, const Word& word) {
  if (op.kind == ptx::Operand::Kind::Register) warp.registers[op.reg].set(lane, word);
}

Term CtaExecutor::poison_term(const std::string& what, term::Type type, int64_t cell,
                              PoisonSource source) {
  const std::string key = fmt::format("{}/{}/{}/{}/{}", state_.name, launch_.index, what,
                                      static_cast<int>(type.cls), type.width);
  const auto it = poison_groups_.find(key);
  term::GroupId id;
  if (it != poison_groups_.end()) {
    id = it->second;
  } else {
    term::Group group;
    const bool refused =
        source.kind == PoisonSource::Kind::Refused || source.kind == PoisonSource::Kind::Tainted;
    group.kind = refused ? term::Group::Kind::Refused : term::Group::Kind::Poison;
    group.name = key;
    // Conditions are read off a one-bit word.
    group.type = type.cls == term::TypeClass::Bool ? term::bv(1) : type;
    // Another class of the same program may have made it already.
    id = named_group(store_, std::move(group));
    const auto [have, fresh] = session_.poison.try_emplace(id, source);
    if (!fresh) have->second.join(std::move(source));
    poison_groups_[key] = id;
  }
  const Term leaf = store_.leaf(id, {cell, 0});
  return type.cls == term::TypeClass::Bool ? store_.make(Kind::BvEq, {leaf, store_.bits(1, 1)})
                                           : leaf;
}

Term CtaExecutor::unset_term(term::Type type) {
  const Term t =
      poison_term("uninitialised register", type, pc_,
                  {PoisonSource::Kind::Uninitialized, "a register that was never written", {}, {}});
  Term leaf = t;
  for (int i = 0; i < store_.arity(t); ++i)
    if (store_.kind(store_.child(t, i)) == Kind::Poison) leaf = store_.child(t, i);
  note_read(leaf, thread_, pc_, "", "");
  return t;
}

void CtaExecutor::note_read(const Term& value, uint32_t thread, uint32_t pc,
                            const std::string& where, const std::string& index) {
  if (!value.valid() || store_.kind(value) != Kind::Poison) return;
  const auto source = session_.poison.find(store_.groups(value)[0]);
  if (source == session_.poison.end() || source->second.kind != PoisonSource::Kind::Uninitialized)
    return;
  std::map<int64_t, coequal::Access>& reads = source->second.reads;
  const int64_t cell = store_.anchor(value, 0).cell;
  if (reads.size() >= PoisonSource::kMostReads || reads.count(cell)) return;
  coequal::Access a = access(coequal::Access::Kind::Read, thread, pc);
  a.where = where;
  a.index = index;
  reads.emplace(cell, std::move(a));
}

Word CtaExecutor::refused_at(uint32_t pc, const std::string& reason) {
  const std::string spelling = kernel_.function->body[pc].spelling();
  return Word::symbolic(
      poison_term(fmt::format("{} {} {}", kernel_.function->name, pc, reason), term::bv(64), 0,
                  {PoisonSource::Kind::Refused, "", {spelling, span(pc), reason}, {}}));
}

Word CtaExecutor::refused(const isa::Decoded& d, const std::string& reason) {
  return refused_at(static_cast<uint32_t>(d.text - kernel_.function->body.data()), reason);
}

Word CtaExecutor::tainted_word(int width) {
  return Word::symbolic(
      poison_term("tainted", term::bv(8 * width), 0, {PoisonSource::Kind::Tainted, "", {}, {}}));
}

Term CtaExecutor::real_of_bits(uint64_t bits, term::FloatFormat format) {
  const auto [it, fresh] = real_constants_.try_emplace({bits, static_cast<int>(format)});
  if (!fresh) return it->second;
  // tf32 is stored in 32 bits, and narrowing to it changes no value.
  const auto stored = format == term::FloatFormat::TF32 ? term::FloatFormat::F32 : format;
  const term::DecodedFloat decoded = term::decode_float(stored, bits);
  Term t;
  switch (decoded.cls) {
    case term::DecodedFloat::Class::NaN:
      t = store_.undefined();
      break;
    case term::DecodedFloat::Class::Infinite:
      t = store_.infinity(decoded.negative);
      break;
    case term::DecodedFloat::Class::Finite:
      t = store_.real(decoded.value);
      if (format == term::FloatFormat::F64) store_.note_double(t);
      break;
  }
  it->second = t;
  return t;
}

bool CtaExecutor::extends_exactly(uint64_t bits, MotionId motion, int width, bool is_signed) const {
  if (width >= 64) return true;
  const auto range = motions_->range(motion);
  const int64_t v = value_of(bits, width, is_signed);
  const int64_t low = is_signed ? -(int64_t{1} << (width - 1)) : 0;
  const int64_t high =
      is_signed ? (int64_t{1} << (width - 1)) - 1 : static_cast<int64_t>(low_mask(width));
  int64_t a, b;
  if (__builtin_add_overflow(v, range.min, &a) || __builtin_add_overflow(v, range.max, &b))
    return false;
  return a >= low && b <= high;
}

uint64_t CtaExecutor::concretize(const Word& word, int width) {
  if (word.motion) {
    const uint64_t mask = low_mask(width);
    motions_->split(
        0, [&](size_t i) { return static_cast<uint64_t>(motions_->value(word.motion, i)) & mask; });
  }
  return word.bits & low_mask(width);
}

Term CtaExecutor::term_of(const Word& word, const OperandType& type) {
  const auto resize = [&](const Term& t) {
    const int have = store_.type(t).width;
    if (have == type.width) return t;
    if (have > type.width) return store_.make(Kind::BvExtract, {t}, 0, type.width);
    return store_.make(Kind::BvZeroExtend, {t}, 0, type.width);
  };
  switch (type.cls) {
    case OperandType::Class::Pred:
      if (word.tag == Tag::Concrete) return store_.boolean(word.bits & 1);
      if (word.tag == Tag::Bool) return word.term;
      return unset_term(term::kBool);
    case OperandType::Class::Float:
      switch (word.tag) {
        case Tag::Real:
          if (word.format == type.format) return word.term;
          break;
        case Tag::Concrete:
          if (word.object.is_address()) break;
          return real_of_bits(concretize(word, type.width), type.format);
        case Tag::Unset:
          return unset_term(term::kReal);
        default:
          break;
      }
      return store_.make(Kind::RealOfBits, {term_of(word, bits_type(type.width))},
                         static_cast<uint64_t>(type.format));
    case OperandType::Class::Bits:
      switch (word.tag) {
        case Tag::Concrete: {
          if (word.object.is_address()) return address_leaf(word, type.width);
          if (!word.motion) return store_.bits(word.bits & low_mask(type.width), type.width);
          // A moving integer enters a value: the cell k of a pseudo-tensor whose value is k.
          if (!extends_exactly(word.bits, word.motion, type.width, true))
            return store_.bits(concretize(word, type.width), type.width);
          const std::string name = fmt::format("iota{}", type.width);
          auto [it, fresh] = poison_groups_.try_emplace(name, 0);
          if (fresh) {
            term::Group group;
            group.kind = term::Group::Kind::Iota;
            group.name = name;
            group.dtype = type.width == 64 ? DType::I64 : DType::I32;
            group.type = term::bv(type.width);
            it->second = named_group(store_, std::move(group));
          }
          return store_.leaf(it->second, {sign_extend(word.bits, type.width), word.motion});
        }
        case Tag::Real: {
          const Term b =
              store_.make(Kind::BitsOfReal, {word.term}, static_cast<uint64_t>(word.format));
          return resize(b);
        }
        case Tag::Bits:
          return resize(word.term);
        case Tag::Bool:
          return store_.make(Kind::BvOfBool, {word.term}, 0, type.width);
        case Tag::Unset:
          return unset_term(term::bv(type.width));
      }
  }
  CHECK(false);
}

Word CtaExecutor::word_of(const Term& t, const OperandType& type) {
  switch (type.cls) {
    case OperandType::Class::Float:
      return Word::real(t, type.format);
    case OperandType::Class::Pred:
      if (const auto b = store_.as_bool(t)) return Word::concrete(*b);
      return Word::boolean(t);
    case OperandType::Class::Bits:
      if (const auto bits = store_.as_bits(t)) return Word::concrete(*bits);
      if (store_.kind(t) == Kind::Leaf &&
          store_.group(store_.groups(t)[0]).kind == term::Group::Kind::Iota) {
        const term::Anchor a = store_.anchor(t, 0);
        return Word::concrete(static_cast<uint64_t>(a.cell) & low_mask(type.width), a.motion);
      }
      if (store_.kind(t) == Kind::Poison)
        if (const auto it = address_groups_.find(store_.groups(t)[0]);
            it != address_groups_.end()) {
          const term::Anchor a = store_.anchor(t, 0);
          return Word::concrete(static_cast<uint64_t>(a.cell) & low_mask(type.width), a.motion,
                                it->second);
        }
      if (store_.kind(t) == Kind::BitsOfReal) {
        const auto format = static_cast<term::FloatFormat>(store_.payload(t));
        if (term::bits_of(format) == type.width) return Word::real(store_.child(t, 0), format);
      }
      return Word::symbolic(t);
  }
  CHECK(false);
}

uint32_t CtaExecutor::guard_mask(Warp& warp, uint32_t mask, const ptx::Operand& guard,
                                 uint32_t* symbolic) {
  const Bank& bank = warp.registers[guard.reg];
  uint32_t taken = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (bank.tag(lane) == Tag::Concrete) {
      if ((bank.bits(lane) & 1) != guard.negated) taken |= 1u << lane;
    } else {
      *symbolic |= 1u << lane;
    }
  }
  // What the path gives is known.
  for (uint32_t m = path_.conditions.empty() ? 0 : *symbolic; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const Term c = term_of(operand(warp, lane, guard, 1), kPred);
    for (const auto& [condition, holds] : path_.conditions) {
      const bool same = condition == c;
      if (!same && store_.make(Kind::Not, {condition}) != c) continue;
      *symbolic &= ~(1u << lane);
      branch_on_poison(c, lane, warp.index * kWarpSize + static_cast<uint32_t>(lane), pc_);
      if ((same == holds) != guard.negated) taken |= 1u << lane;
      break;
    }
  }
  return taken;
}

MotionId CtaExecutor::result_motion(const isa::Decoded& d, const Word* src, size_t sources,
                                    uint64_t rep, size_t which) {
  const OperandType& dst = d.dst_types[which];
  const auto moving = [&](size_t i) { return src[i].motion != 0; };
  const auto constant = [&](size_t i) {
    return value_of(src[i].bits, d.src_types[i].width, d.src_types[i].is_signed);
  };
  const auto exact = [&](size_t i) {
    return !moving(i) || extends_exactly(src[i].bits, src[i].motion, d.src_types[i].width,
                                         d.src_types[i].is_signed);
  };
  tensor::MotionTable& m = *motions_;
  if (which == 0 && dst.cls == OperandType::Class::Bits) {
    switch (d.linear) {
      case isa::Linear::Copy:
      case isa::Linear::Truncate:
        return src[0].motion;
      case isa::Linear::Add:
        return m.add(src[0].motion, src[1].motion);
      case isa::Linear::Sub:
        return m.sub(src[0].motion, src[1].motion);
      case isa::Linear::Neg:
        return m.scale(src[0].motion, -1);
      case isa::Linear::Mul:
        if (!moving(1)) return m.scale(src[0].motion, constant(1));
        if (!moving(0)) return m.scale(src[1].motion, constant(0));
        break;
      case isa::Linear::Mad:
        if (!moving(1)) return m.add(m.scale(src[0].motion, constant(1)), src[2].motion);
        if (!moving(0)) return m.add(m.scale(src[1].motion, constant(0)), src[2].motion);
        break;
      case isa::Linear::MulWide:
      case isa::Linear::MadWide: {
        if (!exact(0) || !exact(1)) break;
        MotionId product;
        if (!moving(1))
          product = m.scale(src[0].motion, constant(1));
        else if (!moving(0))
          product = m.scale(src[1].motion, constant(0));
        else
          break;
        return d.linear == isa::Linear::MadWide ? m.add(product, src[2].motion) : product;
      }
      case isa::Linear::Shl:
        if (!moving(1) && src[1].bits < dst.width && src[1].bits < 63)
          return m.scale(src[0].motion, int64_t{1} << src[1].bits);
        break;
      case isa::Linear::Extend:
        if (exact(0)) return src[0].motion;
        break;
      case isa::Linear::None:
        break;
    }
  }
  // No algebra: the instruction is evaluated for every CTA.
  std::vector<int64_t> values(m.size());
  uint64_t in[8], result[4], masks[8];
  const int64_t* moves[8];
  CHECK(sources <= 8 && d.dst_types.size() <= 4);
  for (size_t i = 0; i < sources; ++i) {
    masks[i] = low_mask(d.src_types[i].width);
    moves[i] = src[i].motion ? m.values(src[i].motion).data() : nullptr;
    in[i] = src[i].bits & masks[i];
  }
  const bool sign = dst.cls == OperandType::Class::Bits && dst.is_signed;
  const int64_t base = value_of(rep, dst.width, sign);
  for (size_t c = 0; c < m.size(); ++c) {
    if (!m.alive(c)) continue;
    for (size_t i = 0; i < sources; ++i)
      if (moves[i]) in[i] = (src[i].bits + static_cast<uint64_t>(moves[i][c])) & masks[i];
    d.conc(d, in, result);
    values[c] = value_of(result[which], dst.width, sign) - base;
  }
  return m.from_values(std::move(values));
}

void CtaExecutor::narrow_predicate(const isa::Decoded& d, const Word* src, size_t sources,
                                   uint64_t rep, size_t which) {
  tensor::MotionTable& m = *motions_;
  // Integer comparisons that every CTA answers alike: the difference keeps its side of zero.
  if (sources >= 2 && d.src_types[0].cls == OperandType::Class::Bits &&
      d.src_types[0].width == d.src_types[1].width && which == 0 && sources == 2 &&
      d.text->opcode == "setp") {
    const int width = d.src_types[0].width;
    const bool sign = d.src_types[0].is_signed;
    // No difference of such numbers wraps.
    const auto moderate = [&](const Word& w) {
      constexpr int64_t kMost = int64_t{1} << 61;
      const int64_t v = value_of(w.bits, width, sign);
      const auto range = m.range(w.motion);
      return v > -kMost && v < kMost && range.min > -kMost && range.max < kMost;
    };
    if (extends_exactly(src[0].bits, src[0].motion, width, sign) &&
        extends_exactly(src[1].bits, src[1].motion, width, sign) && (width < 64 || sign) &&
        moderate(src[0]) && moderate(src[1])) {
      const int64_t gap = value_of(src[0].bits, width, sign) - value_of(src[1].bits, width, sign);
      const auto range = m.range(m.sub(src[0].motion, src[1].motion));
      const int64_t low = gap + range.min, high = gap + range.max;
      bool uniform = false;
      switch (d.compare) {
        case isa::Compare::Lt:
        case isa::Compare::Ge:
          uniform = high < 0 || low >= 0;
          break;
        case isa::Compare::Le:
        case isa::Compare::Gt:
          uniform = high <= 0 || low > 0;
          break;
        case isa::Compare::Eq:
        case isa::Compare::Ne:
          uniform = high < 0 || low > 0 || (low == 0 && high == 0);
          break;
        default:
          break;
      }
      if (uniform) return;
    }
  }
  uint64_t in[8], result[4];
  CHECK(sources <= 8 && d.dst_types.size() <= 4);
  m.narrow([&](size_t c) {
    for (size_t i = 0; i < sources; ++i)
      in[i] =
          (src[i].bits + (src[i].motion ? static_cast<uint64_t>(m.value(src[i].motion, c)) : 0)) &
          low_mask(d.src_types[i].width);
    d.conc(d, in, result);
    return (result[which] & 1) == (rep & 1);
  });
}

void CtaExecutor::execute_pure(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc) {
  const size_t destinations = d.dst_types.size(), sources = d.src_types.size();
  const size_t text_destinations = destinations - (d.writes_cc ? 1 : 0);
  const size_t text_sources = sources - (d.reads_cc ? 1 : 0);
  CHECK(destinations <= 4 && sources <= 8);
  const std::vector<ptx::Operand>& operands = d.text->operands;

  // Registers and immediates are read in place; special registers go through a scratch bank.
  const Bank* banks[8];
  for (size_t i = 0; i < sources; ++i) {
    if (i >= text_sources) {
      banks[i] = &warp.condition_code;
      continue;
    }
    const ptx::Operand& op = operands[text_destinations + i];
    if (op.kind == ptx::Operand::Kind::Register && !op.negated) {
      banks[i] = &warp.registers[op.reg];
      continue;
    }
    for (uint32_t m = mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      Word w = operand(warp, lane, op, d.src_types[i].width);
      if (op.negated) w = word_of(store_.make(Kind::Not, {term_of(w, kPred)}), kPred);
      scratch_[i].set(lane, w);
    }
    banks[i] = &scratch_[i];
  }
  Bank* results[4];
  Bank sink;
  for (size_t i = 0; i < destinations; ++i) {
    if (i >= text_destinations)
      results[i] = &warp.condition_code;
    else
      results[i] = operands[i].kind == ptx::Operand::Kind::Register
                       ? &warp.registers[operands[i].reg]
                       : &sink;
  }

  bool any_float = false;
  for (const OperandType& t : d.dst_types) any_float |= t.cls == OperandType::Class::Float;
  uint64_t in[8], out[4];
  uint64_t masks[8];
  for (size_t i = 0; i < sources; ++i) masks[i] = low_mask(d.src_types[i].width);
  const uint32_t executed = mask;
  if (d.conc && !any_float) {
    uint32_t plain = mask;
    for (size_t i = 0; i < sources; ++i) plain &= banks[i]->plain();
    for (uint32_t m = plain; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      for (size_t i = 0; i < sources; ++i) in[i] = banks[i]->bits(lane) & masks[i];
      d.conc(d, in, out);
      for (size_t i = 0; i < destinations; ++i) results[i]->set_concrete(lane, out[i]);
    }
    mask &= ~plain;
  }

  // A selection by a known predicate copies the chosen word as it is.
  if (d.text->opcode == "selp")
    for (uint32_t m = mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      if (banks[2]->tag(lane) != Tag::Concrete) continue;
      results[0]->set(lane, banks[banks[2]->bits(lane) & 1 ? 0 : 1]->get(lane));
      mask &= ~(1u << lane);
    }
  uint32_t addressed = 0;
  for (size_t i = 0; i < sources; ++i) addressed |= banks[i]->addresses() & mask;
  std::array<std::array<Provenance, 4>, kWarpSize> objects;
  int like = -1;  // a lane whose result is at the same distance wherever its operands' object lies
  for (uint32_t m = addressed; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (like >= 0) {
      bool same = true;
      for (size_t i = 0; i < sources; ++i)
        same &= banks[i]->tag(lane) == Tag::Concrete &&
                banks[i]->object(lane) == banks[i]->object(like);
      if (same) {
        objects[static_cast<size_t>(lane)] = objects[static_cast<size_t>(like)];
        continue;
      }
    }
    bool known = d.conc != nullptr;
    for (size_t i = 0; i < sources; ++i) {
      words_[i] = banks[i]->get(lane);
      known &= words_[i].has_bits();
    }
    // On data the address enters the term as a leaf of its own.
    if (!known) {
      addressed &= ~(1u << lane);
      continue;
    }
    bool defined = true;
    for (size_t i = 0; i < destinations; ++i) {
      const auto object = object_of_result(d, words_.data(), sources, i);
      defined &= object.has_value();
      objects[static_cast<size_t>(lane)][i] = object.value_or(Provenance{});
    }
    if (defined) {
      const Provenance first = objects[static_cast<size_t>(lane)][0];
      if (destinations == 1 && d.linear != isa::Linear::None && first.is_address() &&
          !first.is_derived())
        like = lane;
      continue;
    }
    const Word why = refused(d, "a value or a condition depends on where an object lies in memory");
    for (size_t i = 0; i < destinations; ++i)
      results[i]->set(lane, undefined_by(why, d.dst_types[i]));
    addressed &= ~(1u << lane);
    mask &= ~(1u << lane);
  }
  const bool approximates = d.approx || d.full;
  if (approximates && mask && session_.options.assumes("library-approximation") &&
      approximations_.insert(pc).second)
    out_.assumptions.insert(
        {"library-approximation", fmt::format("{} is read as exact", d.text->spelling())});
  struct Memo {
    uint64_t bits[4];
    MotionId motions[4];
    MotionId result;
  };
  std::vector<Memo> memo;
  // Sums move as their operands do, whatever the operands are.
  const bool sums = d.linear == isa::Linear::Copy || d.linear == isa::Linear::Truncate ||
                    d.linear == isa::Linear::Add || d.linear == isa::Linear::Sub;
  bool sum_known = false;
  MotionId sum_motion = 0, source_motions[8];
  uint32_t known = d.conc ? mask : 0, concrete = mask, all_moving = 0;
  for (size_t i = 0; i < sources; ++i) {
    known &= banks[i]->known();
    concrete &= banks[i]->concrete();
    all_moving |= banks[i]->moving();
  }
  if (concrete && !d.conc && !any_float) {
    abort(pc, "'" + d.text->spelling() + "' has no concrete meaning");
    return;
  }
  // What is made depends on the operands' shapes and relative positions alone: lanes often have
  // those of another lane.
  term::TermStore::Analogy analogy;
  std::array<std::optional<uint64_t>, 8> constants{};  // known operands that terms_ holds
  const Term* now[8];
  const std::span<const Term* const> args(now, sources);
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const bool is_known = known >> lane & 1, moving = all_moving >> lane & 1;
    if (is_known) {
      for (size_t i = 0; i < sources; ++i) in[i] = banks[i]->bits(lane) & masks[i];
      d.conc(d, in, out);
    }
    // Words and conditions of constants and indices take their machine value; floats keep the real
    // one beside it.
    if (!is_known || any_float) {
      if (!d.sym) {
        for (size_t i = 0; i < destinations; ++i)
          results[i]->set(lane, refused(d, "this instruction is not modelled on data"));
        continue;
      }
      if (approximates && !session_.options.assumes("library-approximation")) {
        const Word why = refused(d, "an approximation, which is not read as exact");
        for (size_t i = 0; i < destinations; ++i)
          results[i]->set(lane, undefined_by(why, d.dst_types[i]));
        continue;
      }
      thread_ = warp.index * kWarpSize + static_cast<uint32_t>(lane);
      for (size_t i = 0; i < sources; ++i) {
        const OperandType& type = d.src_types[i];
        if (banks[i]->tag(lane) == Tag::Real && type.cls == OperandType::Class::Float &&
            banks[i]->format(lane) == type.format) {
          now[i] = &banks[i]->term(lane);
          continue;
        }
        now[i] = &terms_[i];
        std::optional<uint64_t> constant;
        if (banks[i]->plain() >> lane & 1) constant = banks[i]->bits(lane);
        if (constant && constant == constants[i]) continue;
        terms_[i] = term_of(banks[i]->get(lane), type);
        constants[i] = constant;
      }
      if (analogy.known() && analogy.fits(store_, args)) {
        for (size_t i = 0; i < destinations; ++i) made_[i] = analogy.result(store_, i, args);
      } else {
        for (size_t i = 0; i < sources; ++i) {
          if (now[i] == &terms_[i]) continue;
          terms_[i] = *now[i];
          constants[i].reset();
        }
        d.sym(store_, d, terms_.data(), made_.data());
        analogy.learn(store_, args, {made_.data(), destinations});
      }
    }
    if (!is_known) {
      for (size_t i = 0; i < destinations; ++i) {
        const OperandType& type = d.dst_types[i];
        if (type.cls == OperandType::Class::Float)
          results[i]->set_real(lane, made_[i], type.format);
        else
          results[i]->set(lane, word_of(made_[i], type));
      }
      continue;
    }
    for (size_t i = 0; i < sources; ++i) words_[i] = banks[i]->get(lane);
    for (size_t i = 0; i < destinations; ++i) {
      const OperandType& type = d.dst_types[i];
      MotionId motion = 0;
      if (moving && type.cls == OperandType::Class::Pred) {
        narrow_predicate(d, words_.data(), sources, out[i], i);
      } else if (moving) {
        // Lanes often hold the same moving values: one evaluation over the CTAs serves them all.
        const bool keeps = sources <= 4 && i == 0;
        bool as_before = sum_known && i == 0;
        for (size_t s = 0; as_before && s < sources; ++s)
          as_before = banks[s]->motion(lane) == source_motions[s];
        const auto it = std::find_if(memo.begin(), memo.end(), [&](const Memo& entry) {
          for (size_t s = 0; s < sources; ++s)
            if (entry.bits[s] != words_[s].bits || entry.motions[s] != words_[s].motion)
              return false;
          return keeps;
        });
        if (as_before) {
          motion = sum_motion;
        } else if (it != memo.end()) {
          motion = it->result;
        } else {
          motion = result_motion(d, words_.data(), sources, out[i], i);
          if (sums && i == 0) {
            sum_known = true;
            sum_motion = motion;
            for (size_t s = 0; s < sources; ++s) source_motions[s] = words_[s].motion;
          }
          if (keeps && d.linear == isa::Linear::None) {
            Memo entry{};
            for (size_t s = 0; s < sources; ++s) {
              entry.bits[s] = words_[s].bits;
              entry.motions[s] = words_[s].motion;
            }
            entry.result = motion;
            memo.push_back(entry);
          }
        }
      }
      if (type.cls == OperandType::Class::Float) {
        Word w = Word::real(made_[i], type.format);
        w.shadow = true;
        w.bits = out[i];
        w.motion = motion;
        results[i]->set(lane, w);
      } else {
        results[i]->set_concrete(lane, out[i], motion);
      }
    }
  }
  for (uint32_t m = addressed; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    for (size_t i = 0; i < destinations; ++i) {
      Word w = results[i]->get(lane);
      w.object = objects[static_cast<size_t>(lane)][i];
      results[i]->set(lane, w);
    }
  }
  // A result narrower than its register fills it by sign or zeros.
  for (size_t i = 0; i < text_destinations; ++i) {
    if (operands[i].kind != ptx::Operand::Kind::Register ||
        d.dst_types[i].cls != OperandType::Class::Bits)
      continue;
    const int from = d.dst_types[i].width,
              to = ptx::bits_of(kernel_.function->registers[operands[i].reg].type);
    if (to <= from) continue;
    for (uint32_t m = executed; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      results[i]->set(lane, widened(results[i]->get(lane), from, to, d.dst_types[i].is_signed));
    }
  }
}

void CtaExecutor::execute_mov(Warp& warp, uint32_t mask, const isa::Decoded& d) {
  const ptx::Operand& dst = d.text->operands[0];
  const ptx::Operand& src = d.text->operands[1];
  const int width = d.op == isa::Op::Isspacep ? 64 : ptx::bits_of(d.type);
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (src.kind == ptx::Operand::Kind::Vector) {
      const int part = width / static_cast<int>(src.elements.size()) / 8;
      Word joined = operand(warp, lane, src.elements[0], 8 * part);
      for (size_t i = 1; i < src.elements.size(); ++i)
        joined = concat(joined, part * static_cast<int>(i),
                        operand(warp, lane, src.elements[i], 8 * part), part);
      write(warp, lane, dst, joined);
      continue;
    }
    if (dst.kind == ptx::Operand::Kind::Vector) {
      const int part = width / static_cast<int>(dst.elements.size()) / 8;
      const Word whole = operand(warp, lane, src, width);
      for (size_t i = 0; i < dst.elements.size(); ++i)
        write(warp, lane, dst.elements[i],
              extract(whole, width / 8, part * static_cast<int>(i), part));
      continue;
    }
    Word w = operand(warp, lane, src, width);
    if (d.op == isa::Op::Cvta || d.op == isa::Op::Isspacep) {
      const bool chosen = d.op == isa::Op::Cvta && w.tag == Tag::Bits && width == 64;
      if (w.tag != Tag::Concrete && !chosen) {
        write(warp, lane, dst, refused(d, "an address that depends on data"));
        continue;
      }
      Place place = Place::Nowhere;
      switch (d.space) {
        case ptx::StateSpace::Shared:
          place = Place::Shared;
          break;
        case ptx::StateSpace::Local:
          place = Place::Local;
          break;
        case ptx::StateSpace::Const:
          place = Place::Const;
          break;
        case ptx::StateSpace::Param:
          place = Place::Param;
          break;
        case ptx::StateSpace::Global:
          place = Place::Tensor;
          break;
        default:
          break;
      }
      const bool constant = w.object.place() == Place::Tensor && !w.object.is_mixed() &&
                            tensors_[w.object.object()].constant;
      if (chosen) {
        // One of several addresses, or a place in the cluster, chosen by data: each is converted in
        // its place in the term.
        if (place != Place::Tensor && place != Place::Nowhere) {
          const uint64_t by = d.to_space ? 0 - window(place) : window(place);
          w = word_of(store_.make(Kind::BvAdd, {term_of(w, bits_type(64)), store_.bits(by, 64)}),
                      bits_type(64));
        }
      } else if (d.op == isa::Op::Isspacep) {
        const Location at = locate_generic(w.bits);
        w = Word::concrete((constant ? Place::Const : at.place) == place);
        // mapa of a CTA's own rank makes an address of the cluster.
        if (at.place == Place::Shared && place == Place::Shared && at.object >= shared_count() &&
            !d.text->has("shared::cluster"))
          w = at.object / shared_count() - 1 == rank_of(warp.index * kWarpSize)
                  ? refused(d, "whether an address of the cluster is one of the block")
                  : Word::concrete(0);
      } else if (constant && place == Place::Const) {
        // A variable that is a tensor has one address for both.
      } else if (place != Place::Tensor && place != Place::Nowhere) {
        // `cvta.space` of a symbol or register; 32-bit forms keep the low bits.
        w.bits = d.to_space ? w.bits - window(place) : w.bits + window(place);
        w.bits &= low_mask(width);
      }
    }
    if (w.tag == Tag::Concrete) w.bits &= low_mask(width);
    write(warp, lane, dst, w);
  }
}

Word CtaExecutor::extract(const Word& word, int width, int first, int count) {
  if (first == 0 && count == width) return word;
  switch (word.tag) {
    case Tag::Unset:
      return word;
    case Tag::Concrete:
      return Word::concrete(concretize(word, 8 * width) >> (8 * first) & low_mask(8 * count), 0,
                            width != 8 || count != 4 ? word.object.derived()
                            : first == 0             ? word.object.lower()
                            : first == 4             ? word.object.upper()
                                                     : word.object.derived());
    default: {
      Word part = word_of(
          store_.make(Kind::BvExtract, {term_of(word, bits_type(8 * width))}, 8 * first, 8 * count),
          bits_type(8 * count));
      if (histories_)
        part.history =
            history_by("extract", static_cast<uint64_t>(first << 8 | count), history_of(word));
      return part;
    }
  }
}

Word CtaExecutor::concat(const Word& low, int low_width, const Word& high, int high_width) {
  if (low.tag == Tag::Unset && high.tag == Tag::Unset) return low;
  if (low.tag == Tag::Concrete && high.tag == Tag::Concrete && low_width + high_width <= 8)
    return Word::concrete(
        concretize(low, 8 * low_width) | concretize(high, 8 * high_width) << (8 * low_width), 0,
        low_width == 4 && high_width == 4 ? joined_halves(low, high) : low.object | high.object);
  if (low_width + high_width > 8) return Word{};
  Word both = word_of(store_.make(Kind::BvConcat, {term_of(high, bits_type(8 * high_width)),
                                                   term_of(low, bits_type(8 * low_width))}),
                      bits_type(8 * (low_width + high_width)));
  if (histories_)
    both.history = history_by("concat", static_cast<uint64_t>(low_width << 8 | high_width),
                              history_of(low), history_of(high));
  return both;
}

Word CtaExecutor::unwritten(int64_t offset, int width) {
  const bool shared = reads_place_ == Place::Shared;
  const std::string& variable =
      shared ? shared_[reads_object_].name : local_variables_[reads_object_]->name;
  const std::string what = fmt::format("{} variable '{}'", shared ? "shared" : "local", variable);
  const Term t = poison_term(what, term::bv(8 * width), offset,
                             {PoisonSource::Kind::Uninitialized, what, {}, {}});
  if (reads_by_)
    note_read(t, reads_by_->thread, reads_by_->instruction, variable, std::to_string(offset));
  return Word::symbolic(t);
}

}  // namespace coequal::exec
