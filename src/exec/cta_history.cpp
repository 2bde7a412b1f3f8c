// How the machine values of words came about, for launches in which it is asked whether stores of
// several threads or CTAs leave the same bits (tensor/history.h).
//
// A copy keeps the history of its word. An instruction's result has that of the operation on its
// operands' histories. What else makes a word leaves it without one: then nothing is known of it
// but that its copies are the same.
#include <algorithm>
#include <bit>

#include "exec/cta.h"
#include "exec/unrounded.h"
#include "term/hash.h"

namespace coequal::exec {

using isa::OperandType;
using term::Kind;

namespace {

uint64_t number_of(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return h;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_integer_type(ptx::ScalarType type) {
  switch (type) {
    case ptx::ScalarType::U8:
    case ptx::ScalarType::U16:
    case ptx::ScalarType::U32:
    case ptx::ScalarType::U64:
    case ptx::ScalarType::S8:
    case ptx::ScalarType::S16:
    case ptx::ScalarType::S32:
    case ptx::ScalarType::S64:
    case ptx::ScalarType::B8:
    case ptx::ScalarType::B16:
    case ptx::ScalarType::B32:
    case ptx::ScalarType::B64:
      return true;
    default:
      return false;
  }
}

int precision(term::FloatFormat format) {
  switch (format) {
    case term::FloatFormat::F64:
      return 53;
    case term::FloatFormat::F32:
      return 24;
    case term::FloatFormat::F16:
      return 11;
    case term::FloatFormat::BF16:
      return 8;
    default:
      return 0;
  }
}

// Whether every value of the source is one of the destination.
bool converts_exactly(const isa::Decoded& d) {
  if (d.dst_types.size() != 1 || d.src_types.size() != 1) return false;
  const OperandType &to = d.dst_types[0], &from = d.src_types[0];
  if (to.cls != OperandType::Class::Float) return from.cls == OperandType::Class::Float;
  if (from.cls != OperandType::Class::Float) return from.width <= precision(to.format);
  if (from.format == to.format) return true;
  switch (from.format) {
    case term::FloatFormat::F16:
    case term::FloatFormat::BF16:
      return to.format == term::FloatFormat::F32 || to.format == term::FloatFormat::F64;
    case term::FloatFormat::F32:
      return to.format == term::FloatFormat::F64;
    default:
      return false;
  }
}

// Whether the instruction rounds nothing.
bool is_exact(const isa::Decoded& d) {
  const std::string_view op = d.text->opcode;
  if (d.ftz) return false;
  if (op == "cvt")
    return (is_integer_type(d.type) && is_integer_type(d.src_type)) || converts_exactly(d);
  if (is_one_of(op, {"mov",  "selp",     "slct", "min",  "max",  "min3", "max3",  "abs",
                     "neg",  "copysign", "setp", "set",  "and",  "or",   "xor",   "not",
                     "cnot", "shl",      "shr",  "shf",  "prmt", "bfe",  "bfi",   "bfind",
                     "lop3", "popc",     "clz",  "brev", "fns",  "bmsk", "szext", "testp"}))
    return true;
  return is_integer_type(d.type) &&
         is_one_of(op, {"add", "sub", "mul", "mad", "mul24", "mad24", "div", "rem", "sad", "dp4a",
                        "dp2a", "addc", "subc", "madc"});
}

// Whether the first two sources may be exchanged.
bool commutes(const isa::Decoded& d) {
  return is_one_of(d.text->opcode, {"add", "mul", "fma", "mad", "min", "max", "and", "or", "xor",
                                    "mul24", "mad24"});
}

}  // namespace

uint32_t CtaExecutor::history_of(const Word& word) {
  switch (word.tag) {
    case Tag::Unset:
      return histories_->unknown();
    case Tag::Concrete:
      return histories_->leaf(uint64_t{1} << 32 | word.object.code(),
                              static_cast<int64_t>(word.bits), word.motion, true);
    default:
      if (word.history) return word.history;
      if (word.tag == Tag::Real && word.shadow)
        return histories_->leaf(uint64_t{1} << 32, static_cast<int64_t>(word.bits), word.motion,
                                false);
      return histories_->unknown();
  }
}

uint32_t CtaExecutor::history_by(const char* what, uint64_t payload, uint32_t a, uint32_t b,
                                 bool exact) {
  return histories_->node(term::mix(number_of(what), payload), a, b, exact, false);
}

uint32_t CtaExecutor::history_of_all(const char* what, std::span<const Word> words) {
  uint32_t all = 0;
  for (const Word& w : words) {
    const uint32_t one = history_of(w);
    all = all ? history_by(what, words.size(), all, one) : one;
  }
  return all ? all : histories_->unknown();
}

CtaExecutor::OperandHistories CtaExecutor::operand_histories(const Warp& warp, uint32_t mask,
                                                             const isa::Decoded& d) {
  const size_t first = d.dst_types.size() - (d.writes_cc ? 1 : 0);
  const size_t in_text = d.src_types.size() - (d.reads_cc ? 1 : 0);
  OperandHistories found(d.src_types.size());
  for (size_t i = 0; i < found.size(); ++i)
    for (uint32_t m = mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      Word w;
      if (i >= in_text) {
        w = warp.condition_code.get(lane);
      } else {
        const ptx::Operand& op = d.text->operands[first + i];
        w = operand(warp, lane, op, d.src_types[i].width);
      }
      found[i][static_cast<size_t>(lane)] = history_of(w);
    }
  return found;
}

void CtaExecutor::set_histories(Warp& warp, uint32_t mask, const isa::Decoded& d, uint32_t pc,
                                const OperandHistories& operands) {
  if (operands.empty()) return;
  const auto [it, fresh] = operations_.try_emplace(pc);
  if (fresh) {
    uint64_t number = number_of(d.text->spelling());
    for (size_t i = 0; i < d.text->operands.size(); ++i) {
      const ptx::Operand& op = d.text->operands[i];
      if (op.kind == ptx::Operand::Kind::Immediate) number = term::mix(number, op.bits);
      if (op.negated) number = term::mix(number, i);
    }
    it->second = {number, is_exact(d)};
  }
  const auto [operation, exact] = it->second;
  const bool swaps = commutes(d);
  const size_t in_text = d.dst_types.size() - (d.writes_cc ? 1 : 0);
  for (size_t i = 0; i < d.dst_types.size(); ++i) {
    Bank* bank = &warp.condition_code;
    if (i < in_text) {
      const ptx::Operand& op = d.text->operands[i];
      if (op.kind != ptx::Operand::Kind::Register) continue;
      bank = &warp.registers[op.reg];
    }
    for (uint32_t m = mask; m; m &= m - 1) {
      const int lane = std::countr_zero(m);
      const auto at = static_cast<size_t>(lane);
      // What was chosen by a known predicate is a copy.
      if (bank->tag(lane) < Tag::Real || bank->get(lane).history) continue;
      uint32_t h = operands[0][at];
      for (size_t s = 1; s < operands.size(); ++s)
        h = histories_->node(0, h, operands[s][at], true, swaps && s == 1);
      bank->set_history(lane, histories_->node(term::mix(operation, i), h, 0, exact, false));
    }
  }
}

Word CtaExecutor::remembered(const Word& word) {
  Word w = word;
  if (histories_ && w.tag >= Tag::Real) w.history = history_of(w);
  return w;
}

bool CtaExecutor::is_integral(const Term& value) {
  const auto [it, fresh] = integers_.try_emplace(value.shape());
  if (fresh) it->second = exec::is_integral(store_, value);
  return it->second;
}

std::optional<Agreement> CtaExecutor::same_bits_of_equal(const Word& a, const Word& b) {
  if (a.tag < Tag::Real || a.shadow || store_.has_poison(a.term)) return Agreement::Same;
  if (a.tag != Tag::Real && is_integral(a.term)) return Agreement::Same;
  if (!histories_) return std::nullopt;
  const uint32_t x = history_of(a), y = history_of(b);
  if (x == y) return Agreement::Same;
  if (histories_->is_exact(x) && histories_->is_exact(y)) {
    out_.assumptions.insert({"signed-zero", "a zero is positive where threads store one value"});
    return Agreement::Same;
  }
  // Lanes that did the same with their operands in other places, as replicated ones do, rounded
  // alike as far as the reals can tell.
  if (histories_->is_known(x) && histories_->is_known(y) &&
      histories_->steps(x) != histories_->steps(y))
    return Agreement::Different;
  return Agreement::Perhaps;
}

Agreement CtaExecutor::agreement(const AccessEvent& a, const AccessEvent& b) {
  if (a.instruction != b.instruction || a.value.tag != b.value.tag) return Agreement::Different;
  const auto ask = [&] {
    out_.wants_histories = out_.aborted = true;
    return Agreement::Same;
  };
  const auto assume = [&] {
    out_.assumptions.insert(
        {"same-rounding", fmt::format("equal floats that threads store at {} are the same bits",
                                      to_string(span(b.instruction)))});
  };
  if (same_word(a.value, b.value)) {
    const std::optional<Agreement> known = same_bits_of_equal(a.value, b.value);
    if (!known) return ask();
    if (*known != Agreement::Perhaps) return *known;
    assume();
    return Agreement::Same;
  }
  // Two words that differ leave the same bits where they are equal and nothing was rounded on the
  // way: integers are exact, and so are floats that were only chosen among loaded ones, but for the
  // sign of a zero.
  if (b.size == 0 || (a.value.tag != Tag::Real && a.value.tag != Tag::Bits))
    return Agreement::Different;
  if (a.value.tag == Tag::Real &&
      (a.value.format != b.value.format || !session_.options.assumes("signed-zero")))
    return Agreement::Different;
  if (!is_unrounded(store_, a.value.term) || !is_unrounded(store_, b.value.term))
    return Agreement::Different;
  if (a.value.tag == Tag::Bits && is_integral(a.value.term) && is_integral(b.value.term))
    return Agreement::Perhaps;
  if (!histories_) return ask();
  const uint32_t x = history_of(a.value), y = history_of(b.value);
  if (histories_->is_exact(x) && histories_->is_exact(y)) return Agreement::Perhaps;
  if (histories_->is_known(x) && histories_->is_known(y)) return Agreement::Different;
  assume();
  return Agreement::Perhaps;
}

}  // namespace coequal::exec
