// Matrix instructions of a warp: products as sums of products over the elements that its lanes
// hold, and moves of 8 x 8 matrices between shared memory and lanes. (PTX ISA 9.7.14.)
#include <algorithm>
#include <bit>

#include "exec/cta.h"
#include "exec/fragment.h"

namespace coequal::exec {

using isa::Op;
using isa::OperandType;
using ptx::ScalarType;
using ptx::StateSpace;
using term::Kind;

bool CtaExecutor::whole_warp(Warp& warp, Fragment& fragment, uint32_t mask, const isa::Decoded& d,
                             Step* step) {
  if (mask == ~0u) {
    fragment.forced = false;
    return true;
  }
  if (warp.living != ~0u || (fragment.mask & ~mask)) {
    *step = abort(fragment.pc,
                  "'" + d.text->spelling() + "' in a warp of which not all lanes take part");
    return false;
  }
  if (!fragment.forced) {
    fragment.wait = Wait::Warp;
    *step = Step::Parked;
    return false;
  }
  const int other = std::countr_zero(warp.living & ~mask);
  report(DefectKind::InactiveLane,
         fmt::format("'{}' needs the whole warp; lane {} does not take part", d.text->spelling(),
                     other),
         {access(coequal::Access::Kind::Other,
                 warp.index * kWarpSize + static_cast<uint32_t>(std::countr_zero(mask)),
                 fragment.pc)});
  *step = Step::Aborted;
  return false;
}

Term CtaExecutor::element(const Warp& warp, int lane, const ptx::Operand& reg, ScalarType type,
                          int index) {
  const OperandType t = element_of(type);
  const int bytes = t.width / 8;
  const int whole = std::max(4, bytes);
  return term_of(extract(operand(warp, lane, reg, 8 * whole), whole, index * bytes, bytes), t);
}

Word CtaExecutor::packed(const std::vector<Term>& elements, ScalarType type) {
  const OperandType t = element_of(type);
  Word word = word_of(elements[0], t);
  for (size_t i = 1; i < elements.size(); ++i)
    word = concat(word, static_cast<int>(i) * t.width / 8, word_of(elements[i], t), t.width / 8);
  return word;
}

std::vector<Term> CtaExecutor::multiply(const isa::Decoded& d, int m, int n, int k,
                                        const std::vector<Term>& a, const std::vector<Term>& b,
                                        std::vector<Term> c, bool integers, bool signed_a,
                                        bool signed_b) {
  // Products of bytes fit 16 bits, their sums with a 32-bit word fit 64: clamped once, at the end.
  const int width = d.satfinite && integers ? 64 : 32;
  const auto widen = [&](const Term& t, bool is_signed) {
    if (store_.type(t).width == width) return t;
    return store_.make(is_signed ? Kind::BvSignExtend : Kind::BvZeroExtend, {t}, 0, width);
  };
  std::vector<Term> wide_a, wide_b;
  if (integers) {
    for (const Term& t : a) wide_a.push_back(widen(t, signed_a));
    for (const Term& t : b) wide_b.push_back(widen(t, signed_b));
    for (Term& t : c) t = widen(t, true);
  }
  const std::vector<Term>&x = integers ? wide_a : a, &y = integers ? wide_b : b;
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column) {
      Term& sum = c[static_cast<size_t>(row * n + column)];
      for (int i = 0; i < k; ++i) {
        const Term product = store_.make(
            integers ? Kind::BvMul : Kind::Mul,
            {x[static_cast<size_t>(row * k + i)], y[static_cast<size_t>(i * n + column)]});
        sum = store_.make(integers ? Kind::BvAdd : Kind::Add, {sum, product});
      }
      if (width != 64) continue;
      const Term low = store_.bits(static_cast<uint64_t>(int64_t{INT32_MIN}), 64),
                 high = store_.bits(INT32_MAX, 64);
      sum = store_.make(Kind::Select, {store_.make(Kind::BvSlt, {sum, low}), low, sum});
      sum = store_.make(Kind::Select, {store_.make(Kind::BvSlt, {high, sum}), high, sum});
      sum = store_.make(Kind::BvExtract, {sum}, 0, 32);
    }
  return c;
}

CtaExecutor::Step CtaExecutor::execute_mma(Warp& warp, Fragment& fragment, uint32_t mask,
                                           const isa::Decoded& d) {
  Step step;
  if (!whole_warp(warp, fragment, mask, d, &step)) return step;
  note_meeting(warp, mask);
  const uint32_t pc = fragment.pc;
  const Shape s = shape_of(*d.text);
  const std::vector<ScalarType> types = types_of(*d.text);  // of D, A, B, C
  CHECK(types.size() == 4);
  const std::vector<ptx::Operand>& ops = d.text->operands;
  using Layout = Position (*)(const Shape&, int, int, int);
  const auto per_register = [](ScalarType type) {
    return std::max(1, 32 / element_of(type).width);
  };
  bool fits = true;
  const auto gather = [&](const ptx::Operand& op, ScalarType type, int rows, int columns,
                          Layout place) {
    const std::vector<const ptx::Operand*> regs = registers_of(op);
    const int held = per_register(type), count = rows * columns / kWarpSize;
    std::vector<Term> out(static_cast<size_t>(rows * columns));
    if (static_cast<int>(regs.size()) * held != count) {
      fits = false;
      return out;
    }
    for (int lane = 0; lane < kWarpSize; ++lane)
      for (int i = 0; i < count; ++i) {
        const Position p = place(s, held, lane, i);
        out[static_cast<size_t>(p.row * columns + p.column)] =
            element(warp, lane, *regs[static_cast<size_t>(i / held)], type, i % held);
      }
    return out;
  };
  const std::vector<Term> a = gather(ops[1], types[1], s.m, s.k, in_a),
                          b = gather(ops[2], types[2], s.k, s.n, in_b);
  std::vector<Term> c = gather(ops[3], types[3], s.m, s.n, in_c);
  const std::vector<const ptx::Operand*> targets = registers_of(ops[0]);
  const int held = per_register(types[0]);
  if (!fits || static_cast<int>(targets.size()) * held != s.m * s.n / kWarpSize)
    return abort(pc, "'" + d.text->spelling() + "' with fragments of another size");
  c = multiply(d, s.m, s.n, s.k, a, b, std::move(c), is_integer(types[0]),
               types[1] == ScalarType::S8, types[2] == ScalarType::S8);
  uint32_t history = 0;  // of all that the warp holds
  if (histories_) {
    std::vector<Word> all;
    for (size_t i = 1; i < 4; ++i)
      for (const ptx::Operand* reg : registers_of(ops[i]))
        for (int lane = 0; lane < kWarpSize; ++lane) all.push_back(operand(warp, lane, *reg, 32));
    history = history_of_all("matrix", all);
  }
  for (int lane = 0; lane < kWarpSize; ++lane)
    for (size_t r = 0; r < targets.size(); ++r) {
      std::vector<Term> elements;
      for (int i = 0; i < held; ++i) {
        const Position p = in_c(s, held, lane, static_cast<int>(r) * held + i);
        elements.push_back(c[static_cast<size_t>(p.row * s.n + p.column)]);
      }
      Word word = packed(elements, types[0]);
      if (history)
        word.history = history_by(d.text->spelling().c_str(), r << 8 | static_cast<uint64_t>(lane),
                                  history, 0, false);
      write(warp, lane, *targets[r], word);
    }
  return out_.aborted ? Step::Aborted : Step::Next;
}

CtaExecutor::Step CtaExecutor::execute_matrix_move(Warp& warp, Fragment& fragment, uint32_t mask,
                                                   const isa::Decoded& d) {
  Step step;
  if (!whole_warp(warp, fragment, mask, d, &step)) return step;
  note_meeting(warp, mask);
  const uint32_t pc = fragment.pc, base = warp.index * kWarpSize;
  const bool transposed = d.text->has("trans");
  const std::vector<ptx::Operand>& ops = d.text->operands;
  // A lane's register holds elements 2 * (lane % 4) and the next of row lane / 4; transposed, of
  // column lane / 4.
  if (d.op == Op::MovMatrix) {
    std::array<Word, kWarpSize> in, out;
    for (int lane = 0; lane < kWarpSize; ++lane)
      in[static_cast<size_t>(lane)] = operand(warp, lane, ops[1], 32);
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const auto from = [&](int row) {
        const int column = lane / 4;
        return extract(in[static_cast<size_t>(row * 4 + column / 2)], 4, 2 * (column % 2), 2);
      };
      out[static_cast<size_t>(lane)] = concat(from(2 * (lane % 4)), 2, from(2 * (lane % 4) + 1), 2);
    }
    for (int lane = 0; lane < kWarpSize; ++lane)
      write(warp, lane, ops[0], out[static_cast<size_t>(lane)]);
    return out_.aborted ? Step::Aborted : Step::Next;
  }
  const bool loads = d.op == Op::LdMatrix;
  const StateSpace space =
      d.space == StateSpace::Generic ? StateSpace::Generic : StateSpace::Shared;
  const std::vector<const ptx::Operand*> regs = registers_of(ops[loads ? 0 : 1]);
  const size_t matrices = regs.size();
  // Lanes 8 i to 8 i + 7 give the addresses of matrix i's rows.
  std::vector<std::array<Address, 8>> rows(matrices);
  std::vector<std::array<bool, 8>> good(matrices);
  for (size_t j = 0; j < matrices; ++j)
    for (size_t r = 0; r < 8; ++r) {
      const int lane = static_cast<int>(8 * j + r);
      const Addresses places = addresses(warp, lane, ops[loads ? 1 : 0], space, pc, !loads);
      if (out_.aborted) return Step::Aborted;
      if (places.size() > 1)
        return abort(pc, "an address of '" + d.text->spelling() + "' depends on data");
      good[j][r] = !places.empty() &&
                   check(places[0], 16, 16, !loads, base + static_cast<uint32_t>(lane), pc);
      if (!good[j][r]) continue;
      rows[j][r] = places[0];
      if (places[0].location.place != Place::Shared)
        return abort(pc, "'" + d.text->spelling() + "' outside shared memory");
    }
  const auto part = [](const Address& row, int byte) {
    Address at = row;
    at.location.offset += byte;
    return at;
  };
  for (size_t j = 0; j < matrices; ++j) {
    if (loads) {
      // Words of a row: read by the lane that names the row, and by those that get them.
      std::array<std::array<Word, 4>, 8> words;
      for (size_t r = 0; r < 8; ++r)
        for (size_t w = 0; w < 4; ++w) {
          if (!good[j][r]) {
            words[r][w] = tainted_word(4);
            continue;
          }
          const Address at = part(rows[j][r], static_cast<int>(4 * w));
          words[r][w] = load_shared(at, 4, base + static_cast<uint32_t>(8 * j + r), pc);
          SharedVariable& v = shared_[at.location.object];
          const auto reads = [&](size_t lane) {
            reads_copied(v, at.location.offset, 4, base + static_cast<uint32_t>(lane), pc);
            track(v.shadow, Place::Shared, at.location.object, at.location.offset, 4,
                  event(base + static_cast<uint32_t>(lane), pc, Role::Read));
          };
          if (transposed) {
            reads(4 * (2 * w) + r / 2);
            reads(4 * (2 * w + 1) + r / 2);
          } else {
            reads(4 * r + w);
          }
        }
      for (int lane = 0; lane < kWarpSize; ++lane) {
        const auto row = static_cast<size_t>(lane / 4), at = static_cast<size_t>(lane % 4);
        Word word = words[row][at];
        if (transposed) {
          const auto half = [&](size_t r) {
            return extract(words[r][row / 2], 4, 2 * static_cast<int>(row % 2), 2);
          };
          word = concat(half(2 * at), 2, half(2 * at + 1), 2);
        }
        write(warp, lane, *regs[j], word);
      }
      continue;
    }
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const auto row = static_cast<size_t>(lane / 4), at = static_cast<size_t>(lane % 4);
      const Word word = operand(warp, lane, *regs[j], 32);
      const uint32_t thread = base + static_cast<uint32_t>(lane);
      if (!transposed) {
        if (good[j][row])
          store_shared(part(rows[j][row], static_cast<int>(4 * at)), 4, word, thread, pc);
        continue;
      }
      for (size_t e = 0; e < 2; ++e)
        if (good[j][2 * at + e])
          store_shared(part(rows[j][2 * at + e], static_cast<int>(2 * row)), 2,
                       extract(word, 4, static_cast<int>(2 * e), 2), thread, pc);
    }
  }
  return out_.aborted ? Step::Aborted : Step::Next;
}

// The manual leaves open which lane holds which element of a wmma fragment. Here the elements, row
// by row, fill the lanes one after the other, and again from the first one if there is room for
// more.
CtaExecutor::Step CtaExecutor::execute_wmma(Warp& warp, Fragment& fragment, uint32_t mask,
                                            const isa::Decoded& d) {
  Step step;
  if (!whole_warp(warp, fragment, mask, d, &step)) return step;
  note_meeting(warp, mask);
  const uint32_t pc = fragment.pc, base = warp.index * kWarpSize;
  out_.assumptions.insert({"wmma-fragments", "nothing depends on which lane holds which element"});
  const Shape s = shape_of(*d.text);
  const std::vector<ScalarType> types = types_of(*d.text);
  const std::vector<ptx::Operand>& ops = d.text->operands;
  const auto per_register = [](ScalarType type) {
    return static_cast<size_t>(std::max(1, 32 / element_of(type).width));
  };

  if (d.op == Op::WmmaMma) {
    // f16: types of D and C; others: of D, A, B, C.
    const bool all = types.size() == 4;
    const ScalarType type_a = all ? types[1] : ScalarType::F16,
                     type_b = all ? types[2] : ScalarType::F16;
    bool fits = true;
    const auto gather = [&](const ptx::Operand& op, ScalarType type, int count) {
      const std::vector<const ptx::Operand*> regs = registers_of(op);
      const size_t held = per_register(type), lane_holds = regs.size() * held;
      std::vector<Term> out;
      fits &= lane_holds * kWarpSize >= static_cast<size_t>(count);
      for (size_t e = 0; fits && e < static_cast<size_t>(count); ++e) {
        const size_t slot = e % lane_holds;
        out.push_back(element(warp, static_cast<int>(e / lane_holds), *regs[slot / held], type,
                              static_cast<int>(slot % held)));
      }
      return out;
    };
    const std::vector<Term> a = gather(ops[1], type_a, s.m * s.k),
                            b = gather(ops[2], type_b, s.k * s.n);
    std::vector<Term> c = gather(ops[3], types.back(), s.m * s.n);
    const std::vector<const ptx::Operand*> targets = registers_of(ops[0]);
    const size_t held = per_register(types[0]);
    if (!fits || targets.size() * held * kWarpSize != static_cast<size_t>(s.m * s.n))
      return abort(pc, "'" + d.text->spelling() + "' with fragments of another size");
    c = multiply(d, s.m, s.n, s.k, a, b, std::move(c), is_integer(types[0]),
                 type_a == ScalarType::S8, type_b == ScalarType::S8);
    for (size_t lane = 0; lane < kWarpSize; ++lane)
      for (size_t r = 0; r < targets.size(); ++r) {
        const auto first = c.begin() + static_cast<ptrdiff_t>((lane * targets.size() + r) * held);
        write(warp, static_cast<int>(lane), *targets[r],
              packed({first, first + static_cast<ptrdiff_t>(held)}, types[0]));
      }
    return out_.aborted ? Step::Aborted : Step::Next;
  }

  // wmma.load.{a,b,c} r, [p]{, stride}; wmma.store.d [p], r{, stride}
  const bool loads = d.op == Op::WmmaLoad;
  const std::string& which = d.text->modifiers[1];
  const int rows = which == "b" ? s.k : s.m, columns = which == "a" ? s.k : s.n;
  const bool by_rows = d.text->has("row");
  const ScalarType type = types.back();
  const int width = element_of(type).width / 8;
  const std::vector<const ptx::Operand*> regs = registers_of(ops[loads ? 0 : 1]);
  const size_t held = per_register(type), lane_holds = regs.size() * held,
               count = static_cast<size_t>(rows * columns);
  const int64_t elements = static_cast<int64_t>(lane_holds) * kWarpSize;
  if (elements < static_cast<int64_t>(count) || elements % static_cast<int64_t>(count) != 0)
    return abort(pc, "'" + d.text->spelling() + "' with a fragment of another size");
  int64_t stride = by_rows ? columns : rows;
  if (ops.size() > 2) {
    const Word w = operand(warp, 0, ops[2], 32);
    if (!w.is_number())
      return abort(pc, "the stride of '" + d.text->spelling() + "' depends on data");
    stride = static_cast<int64_t>(concretize(w, 32));
  }
  const ptx::Operand& address = ops[loads ? 1 : 0];
  for (int lane = 1; lane < kWarpSize; ++lane) {
    if (ops.size() > 2 && !same_word(operand(warp, 0, ops[2], 32), operand(warp, lane, ops[2], 32)))
      return abort(pc, "the lanes of '" + d.text->spelling() + "' give different strides");
    if (address.base_is_register &&
        !same_word(warp.registers[address.reg].get(0), warp.registers[address.reg].get(lane)))
      return abort(pc, "the lanes of '" + d.text->spelling() + "' give different addresses");
  }
  const Addresses places = addresses(warp, 0, address, d.space, pc, !loads);
  if (out_.aborted) return Step::Aborted;
  if (places.size() > 1)
    return abort(pc, "the address of '" + d.text->spelling() + "' depends on data");
  for (size_t lane = 0; lane < kWarpSize; ++lane) {
    const uint32_t thread = base + static_cast<uint32_t>(lane);
    for (size_t r = 0; r < regs.size(); ++r) {
      Word word;
      for (size_t i = 0; i < held; ++i) {
        const size_t e = (lane * lane_holds + r * held + i) % count;
        const auto row = static_cast<int64_t>(e) / columns,
                   column = static_cast<int64_t>(e) % columns;
        Address at = places.empty() ? Address{} : places[0];
        at.location.offset += width * (by_rows ? row * stride + column : column * stride + row);
        const bool ok = !places.empty() && check(at, width, width, !loads, thread, pc);
        if (loads) {
          const Word w = ok ? load_at(at, width, thread, pc, d) : tainted_word(width);
          word = i == 0 ? w : concat(word, static_cast<int>(i) * width, w, width);
        } else if (ok) {
          const int whole = std::max(4, width);
          store_at(at, width,
                   extract(operand(warp, static_cast<int>(lane), *regs[r], 8 * whole), whole,
                           static_cast<int>(i) * width, width),
                   thread, pc);
        }
        if (out_.aborted) return Step::Aborted;
      }
      if (loads) write(warp, static_cast<int>(lane), *regs[r], word);
    }
  }
  return Step::Next;
}

}  // namespace coequal::exec
