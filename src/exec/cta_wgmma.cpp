// Products of a warpgroup: four warps, each of which has 16 rows of the result. (PTX ISA, "wgmma".)
//
// A warp's part of a product depends on nothing of the other warps' registers, so each warp
// executes it when it comes there; that all four execute the same ones is checked. A product goes
// on behind its instruction. Until its warps have waited for it, its target registers hold
// something that no input defines, its shared memory and the registers of A must stay as they are,
// and what it reads in registers must have been there at the last wgmma.fence, unless products of
// the same shape made it.
#include <algorithm>
#include <bit>

#include "exec/bits.h"
#include "exec/cta.h"
#include "exec/fragment.h"

namespace coequal::exec {

using isa::Op;
using ptx::ScalarType;
using term::Kind;

namespace {

constexpr uint32_t kWarpsOfGroup = 4;
constexpr isa::OperandType kPred{isa::OperandType::Class::Pred, 1, false, {}};

// What a matrix descriptor says of where the elements lie (PTX ISA, "Matrix Descriptor Format").
struct Layout {
  int64_t start, leading, stride;
  int chunks;  // of 16 bytes, in a row of the swizzled pattern; 1: not swizzled

  explicit Layout(uint64_t bits)
      : start(field(bits, 0)), leading(field(bits, 16)), stride(field(bits, 32)) {
    constexpr int kChunks[] = {1, 8, 4, 2};
    chunks = kChunks[bits >> 62];
  }
  static int64_t field(uint64_t bits, int at) {
    return static_cast<int64_t>(bits >> at & 0x3fff) << 4;
  }

  // The byte of an element of `size` bytes; `outer` along m or n ("Canonical Layouts").
  int64_t byte_of(int outer, int k, int size, bool transposed) const {
    const int per = 16 / size, row = 16 * chunks;
    const bool plain = chunks == 1;
    int64_t at = start;
    if (transposed) {
      const int chunk = outer / per;
      at += outer % per * size + chunk % chunks * 16 + chunk / chunks * (plain ? stride : leading) +
            k % 8 * row + k / 8 * (plain ? leading : stride);
    } else {
      at +=
          outer % 8 * row + outer / 8 * stride + k / per * (plain ? leading : 16) + k % per * size;
    }
    return at ^ (at >> 7 & (chunks - 1)) << 4;
  }
};

}  // namespace

Word CtaExecutor::undefined_product(const std::string& what, const std::string& message,
                                    uint32_t thread, uint32_t pc) {
  Defect defect;
  defect.kind = DefectKind::UnwaitedCopy;
  defect.program = state_.name;
  defect.message = message;
  defect.accesses = {access(coequal::Access::Kind::Other, thread, pc)};
  return Word::symbolic(poison_term(fmt::format("{} {} {}", kernel_.function->name, pc, what),
                                    term::bv(32), thread,
                                    {PoisonSource::Kind::Defective, "", {}, std::move(defect)}));
}

CtaExecutor::Step CtaExecutor::execute_wgmma(Warp& warp, Fragment& fragment, uint32_t mask,
                                             const isa::Decoded& d) {
  Step step;
  if (!whole_warp(warp, fragment, mask, d, &step)) return step;
  note_meeting(warp, mask);
  if (d.op == Op::SetMaxNReg) {
    const uint64_t count = d.text->operands[0].bits;
    if (count < 24 || count > 256 || count % 8)
      return abort(fragment.pc, fmt::format("{} registers a thread: multiples of 8 from 24 to 256 "
                                            "are allowed",
                                            count));
  }
  const uint32_t pc = fragment.pc, group = warp.index / kWarpsOfGroup;
  const uint32_t group_end = (group + 1) * kWarpsOfGroup * kWarpSize;
  if (group_end - rank_of(warp.index * kWarpSize) * rank_stride_ > launch_.cta_threads())
    return abort(pc, "'" + d.text->spelling() + "' in a group of fewer than four warps");
  group_steps_.resize(warps_.size() / kWarpsOfGroup);
  auto& steps = group_steps_[group];
  const uint32_t thread = warp.index * kWarpSize;
  if (warp.group_steps == steps.size())
    steps.emplace_back(pc, d.op == Op::Wgmma ? new_async_read(thread, pc, group) : 0);
  if (steps[warp.group_steps].first != pc) {
    report(DefectKind::BarrierDivergence, "the warps of a warpgroup execute different instructions",
           {access(coequal::Access::Kind::Barrier, thread, pc),
            access(coequal::Access::Kind::Barrier, group * kWarpsOfGroup * kWarpSize,
                   steps[warp.group_steps].first)});
    return Step::Aborted;
  }
  switch (d.op) {
    case Op::Wgmma: {
      const Step done = multiply_wgmma(warp, d, pc);
      ++warp.group_steps;
      return done;
    }
    case Op::WgmmaFence:
      warp.fenced.clear();
      for (const isa::Decoded& other : kernel_.decoded.body) {
        if (other.op != Op::Wgmma) continue;
        for (const size_t i : {size_t{0}, size_t{1}})
          for (const ptx::Operand* reg : registers_of(other.text->operands[i]))
            if (reg->kind == ptx::Operand::Kind::Register)
              warp.fenced.try_emplace(reg->reg, warp.registers[reg->reg]);
      }
      break;
    case Op::SetMaxNReg:
      break;
    case Op::WgmmaCommit:
      warp.product_groups.push_back(std::move(warp.open_products));
      warp.open_products.clear();
      break;
    default: {
      const ptx::Operand& count = d.text->operands[0];
      if (count.kind != ptx::Operand::Kind::Immediate)
        return abort(pc, "the count of 'wgmma.wait_group' is no constant");
      while (warp.product_groups.size() > count.bits) {
        for (const Wgmma& product : warp.product_groups.front()) finish_product(warp, product);
        warp.product_groups.erase(warp.product_groups.begin());
      }
    }
  }
  ++warp.group_steps;
  return out_.aborted ? Step::Aborted : Step::Next;
}

bool CtaExecutor::aligned_by_launch(uint32_t variable, uint32_t bytes, uint32_t pc) {
  const SharedVariable& v = shared_[variable];
  if (v.alignment >= bytes) return true;
  if (variable % shared_count() != dynamic_shared_) {
    abort(pc, fmt::format("a swizzled matrix in '{}', which is aligned to {} bytes: it takes {}",
                          v.name, v.alignment, bytes));
    return false;
  }
  out_.assumptions.insert(
      {"shared-alignment", "dynamic shared memory starts at a multiple of 1024 bytes"});
  return true;
}

void CtaExecutor::check_warpgroups() {
  for (const Warp& warp : warps_) {
    const size_t group = warp.index / kWarpsOfGroup;
    if (group >= group_steps_.size() || warp.group_steps == group_steps_[group].size()) continue;
    report(DefectKind::BarrierDivergence, "a warp of a warpgroup does not execute what others do",
           {access(coequal::Access::Kind::Barrier, warp.index * kWarpSize,
                   group_steps_[group][warp.group_steps].first)});
    return;
  }
}

std::vector<Term> CtaExecutor::described_matrix(Warp& warp, const ptx::Operand& descriptor,
                                                ScalarType type, int first, int outer, int inner,
                                                bool transposed, uint32_t read, uint32_t pc) {
  const Word word = operand(warp, 0, descriptor, 64);
  for (int lane = 1; lane < kWarpSize; ++lane)
    if (!same_word(word, operand(warp, lane, descriptor, 64))) {
      abort(pc, "the lanes of a warp give different matrix descriptors");
      return {};
    }
  if (word.tag != Tag::Concrete || !word.object.is_address() || word.object.is_mixed() ||
      word.object.place() != Place::Shared) {
    abort(pc, "a matrix descriptor into which the address of no one shared variable went");
    return {};
  }
  const uint64_t bits = concretize(word, 64);
  // The low 18 bits of the variable's own address are zero here.
  static_assert(variable_base(0) % (1 << 18) == 0);
  const Layout layout(bits);
  if (bits >> 49 & 7) {
    abort(pc, "a matrix descriptor with a base offset");
    return {};
  }
  uint32_t object = word.object.object();
  if (object >= shared_count()) {
    abort(pc, "a matrix descriptor of another block's shared memory");
    return {};
  }
  object += rank_of(warp.index * kWarpSize) * shared_count();
  SharedVariable& v = shared_[object];
  // Swizzling permutes by bits of the address.
  if (const uint32_t pattern = 128 * static_cast<uint32_t>(layout.chunks);
      layout.chunks > 1 && !aligned_by_launch(object, pattern, pc))
    return {};
  const isa::OperandType element = element_of(type);
  const int size = element.width / 8;
  absl::flat_hash_map<int64_t, bool> good;  // by 16 bytes
  std::vector<Term> out;
  out.reserve(static_cast<size_t>(outer * inner));
  for (int i = 0; i < outer; ++i)
    for (int k = 0; k < inner; ++k) {
      const int64_t at = layout.byte_of(first + i, k, size, transposed);
      const auto [known, fresh] = good.try_emplace(at >> 4);
      if (fresh) {
        Address place;
        place.location = {Place::Shared, object, at & ~int64_t{15}};
        known->second = check(place, 16, 16, false, warp.index * kWarpSize, pc) &&
                        async_read(place.location, 16, warp.index, ~0u, pc, read);
      }
      out.push_back(term_of(known->second
                                ? load_variable({Place::Shared, object, at}, v.memory, size,
                                                tensor::Origin{warp.index * kWarpSize, pc})
                                : tainted_word(size),
                            element));
    }
  return out;
}

CtaExecutor::Step CtaExecutor::multiply_wgmma(Warp& warp, const isa::Decoded& d, uint32_t pc) {
  const std::vector<ptx::Operand>& ops = d.text->operands;
  const Shape s = shape_of(*d.text), part{16, s.n, s.k};
  const std::vector<ScalarType> types = types_of(*d.text);  // of D, A, B
  CHECK(types.size() == 3);
  const auto number = [&](size_t i) {
    return i < ops.size() ? static_cast<int32_t>(ops[i].bits) : 0;
  };
  const bool described = ops[1].kind != ptx::Operand::Kind::Vector;
  const int sign_a = ops.size() > 4 ? number(4) : 1, sign_b = ops.size() > 4 ? number(5) : 1;
  const bool transposed_a = described && number(6) == 1,
             transposed_b = number(described ? 7 : 6) == 1;
  const auto is_sign = [](int x) { return x == 1 || x == -1; };
  if (!is_sign(sign_a) || !is_sign(sign_b))
    return abort(pc, "a sign of a factor that is neither 1 nor -1");
  const Word adds = operand(warp, 0, ops[3], 1);
  for (int lane = 1; lane < kWarpSize; ++lane)
    if (!same_word(adds, operand(warp, lane, ops[3], 1)))
      return abort(pc, "the lanes of a warp differ in whether the accumulator is added");
  if (!adds.is_number()) return abort(pc, "whether the accumulator is added depends on data");
  const bool accumulates = concretize(adds, 1) & 1;

  Wgmma product;
  product.text = &d;
  product.read = group_steps_[warp.index / kWarpsOfGroup][warp.group_steps].second;
  const uint32_t base = warp.index * kWarpSize;
  const auto rows = static_cast<int>(warp.index % kWarpsOfGroup) * 16;
  const auto per_register = [](ScalarType type) { return 32 / element_of(type).width; };

  // What is read in registers must be as the last fence left it.
  Word unfenced;
  const auto fenced = [&](uint32_t reg, int lane, const Word& now) {
    const auto found = warp.fenced.find(reg);
    if (found != warp.fenced.end() && same_word(found->second.get(lane), now)) return;
    if (unfenced.tag == Tag::Unset)
      unfenced = undefined_product("unfenced",
                                   "registers that changed after the last wgmma.fence are read by "
                                   "'wgmma.mma_async'",
                                   base + static_cast<uint32_t>(lane), pc);
  };

  std::vector<Term> a(static_cast<size_t>(16 * s.k));
  if (described) {
    a = described_matrix(warp, ops[1], types[1], rows, 16, s.k, transposed_a, product.read, pc);
  } else {
    const std::vector<const ptx::Operand*> regs = registers_of(ops[1]);
    const int held = per_register(types[1]);
    if (static_cast<int>(regs.size()) * held != 16 * s.k / kWarpSize)
      return abort(pc, "'" + d.text->spelling() + "' with a fragment of another size");
    for (const ptx::Operand* reg : regs) {
      if (reg->kind != ptx::Operand::Kind::Register)
        return abort(pc, "a fragment of '" + d.text->spelling() + "' that is no register");
      product.factors.emplace_back(reg->reg, warp.registers[reg->reg]);
    }
    for (int lane = 0; lane < kWarpSize; ++lane)
      for (int i = 0; i < 16 * s.k / kWarpSize; ++i) {
        const ptx::Operand& reg = *regs[static_cast<size_t>(i / held)];
        if (i % held == 0) fenced(reg.reg, lane, warp.registers[reg.reg].get(lane));
        const Position p = in_a(part, held, lane, i);
        a[static_cast<size_t>(p.row * s.k + p.column)] =
            element(warp, lane, reg, types[1], i % held);
      }
  }
  if (out_.aborted) return Step::Aborted;
  const std::vector<Term> columns =
      described_matrix(warp, ops[2], types[2], 0, s.n, s.k, transposed_b, product.read, pc);
  if (out_.aborted) return Step::Aborted;
  std::vector<Term> b(columns.size());
  for (int n = 0; n < s.n; ++n)
    for (int k = 0; k < s.k; ++k)
      b[static_cast<size_t>(k * s.n + n)] = columns[static_cast<size_t>(n * s.k + k)];
  const Term minus = store_.real(-1);
  if (sign_a < 0)
    for (Term& t : a) t = store_.make(Kind::Mul, {minus, t});
  if (sign_b < 0)
    for (Term& t : b) t = store_.make(Kind::Mul, {minus, t});

  const std::vector<const ptx::Operand*> targets = registers_of(ops[0]);
  const int held = per_register(types[0]);
  if (static_cast<int>(targets.size()) * held != 16 * s.n / kWarpSize)
    return abort(pc, "'" + d.text->spelling() + "' with a fragment of another size");
  const bool integers = is_integer(types[0]);
  std::vector<Term> c(static_cast<size_t>(16 * s.n),
                      integers ? store_.bits(0, 32) : store_.real(0));
  for (size_t r = 0; r < targets.size(); ++r) {
    if (targets[r]->kind != ptx::Operand::Kind::Register)
      return abort(pc, "a target of '" + d.text->spelling() + "' that is no register");
    const uint32_t reg = targets[r]->reg;
    if (!accumulates) continue;
    // The last product of this shape that has the register in flight.
    const Bank *value = nullptr, *mark = nullptr;
    const auto look = [&](const std::vector<Wgmma>& products) {
      for (const Wgmma& p : products)
        for (size_t i = 0; i < p.results.size(); ++i)
          if (p.results[i].first == reg && shape_of(*p.text->text).n == s.n &&
              types_of(*p.text->text)[0] == types[0])
            value = &p.results[i].second, mark = &p.marks[i].second;
    };
    for (const auto& products : warp.product_groups) look(products);
    look(warp.open_products);
    for (int lane = 0; lane < kWarpSize; ++lane) {
      Word word = warp.registers[reg].get(lane);
      if (mark && same_word(mark->get(lane), word))
        word = value->get(lane);
      else
        fenced(reg, lane, word);
      for (int i = 0; i < held; ++i) {
        const Position p = in_c(part, held, lane, static_cast<int>(r) * held + i);
        const int bytes = 4 / held;
        c[static_cast<size_t>(p.row * s.n + p.column)] =
            term_of(extract(word, 4, i * bytes, bytes), element_of(types[0]));
      }
    }
  }
  c = multiply(d, 16, s.n, s.k, a, b, std::move(c), integers, types[1] == ScalarType::S8,
               types[2] == ScalarType::S8);

  const Word mark = undefined_product(
      "in flight", "a register of 'wgmma.mma_async' is used before 'wgmma.wait_group'", base, pc);
  const term::GroupId marks = store_.groups(mark.term)[0];
  for (size_t r = 0; r < targets.size(); ++r) {
    Bank result, stands;
    for (int lane = 0; lane < kWarpSize; ++lane) {
      std::vector<Term> elements;
      for (int i = 0; i < held; ++i) {
        const Position p = in_c(part, held, lane, static_cast<int>(r) * held + i);
        elements.push_back(c[static_cast<size_t>(p.row * s.n + p.column)]);
      }
      result.set(lane, unfenced.tag == Tag::Unset ? packed(elements, types[0]) : unfenced);
      stands.set(lane, Word::symbolic(store_.leaf(marks, {++product_marks_, 0})));
      warp.registers[targets[r]->reg].set(lane, stands.get(lane));
    }
    product.results.emplace_back(targets[r]->reg, std::move(result));
    product.marks.emplace_back(targets[r]->reg, std::move(stands));
  }
  warp.open_products.push_back(std::move(product));
  return out_.aborted ? Step::Aborted : Step::Next;
}

void CtaExecutor::finish_product(Warp& warp, const Wgmma& product) {
  const uint32_t base = warp.index * kWarpSize, pc = pc_of(*product.text);
  for (uint32_t lane = 0; lane < kWarpSize; ++lane)
    async_reads_[product.read].done.push_back(moment(base + lane));
  for (const auto& [reg, before] : product.factors)
    for (int lane = 0; lane < kWarpSize; ++lane)
      if (!same_word(before.get(lane), warp.registers[reg].get(lane))) {
        report(DefectKind::UnwaitedCopy,
               "a register of A is written before 'wgmma.wait_group' has waited for the product",
               {access(coequal::Access::Kind::Other, base + static_cast<uint32_t>(lane), pc)});
        out_.aborted = true;
        return;
      }
  for (size_t i = 0; i < product.results.size(); ++i) {
    const uint32_t reg = product.results[i].first;
    for (int lane = 0; lane < kWarpSize; ++lane) {
      const Word now = warp.registers[reg].get(lane);
      Word value = product.results[i].second.get(lane);
      if (!same_word(now, product.marks[i].second.get(lane))) {
        // A later product has the register, or something else was written to it.
        const auto later = [&](const std::vector<Wgmma>& products) {
          return std::any_of(products.begin(), products.end(), [&](const Wgmma& p) {
            return &p != &product &&
                   std::any_of(p.marks.begin(), p.marks.end(), [&](const auto& m) {
                     return m.first == reg && same_word(m.second.get(lane), now);
                   });
          });
        };
        if (later(warp.open_products) ||
            std::any_of(warp.product_groups.begin(), warp.product_groups.end(), later))
          continue;
        value = undefined_product(
            "overwritten", "a register of 'wgmma.mma_async' is written before 'wgmma.wait_group'",
            base + static_cast<uint32_t>(lane), pc);
      }
      warp.registers[reg].set(lane, value);
      if (const auto found = warp.fenced.find(reg); found != warp.fenced.end())
        found->second.set(lane, value);
    }
  }
}

}  // namespace coequal::exec
