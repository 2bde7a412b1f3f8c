// Loops that wait until another thread has stored something: flags, and counters at which CTAs
// meet.
//
// A launch with such loops is executed in rounds. In each one every CTA runs until its threads wait
// for what other CTAs have not done yet; what all of them did is the contents of the next round,
// for which they are executed anew from the start, with the contents of each round at hand. A
// thread goes on when the cell that it waits for ends the loop. That this holds in every schedule
// is checked:
//  - The loop looks at one cell, does nothing else, and is left by what it found alone.
//  - Updates of the cell that the thread need not know yet are either additions, of which no part
//    short of all ends the loop, or come one after the other; then those up to the first that ends
//    it are needed. Whatever comes later does not go on with the loop.
//  - Before the first wait of a round is over nothing of that round has happened, so the updates
//    that it saw are those of the rounds before; who comes later sees no less.
// What the needed updates release (PTX ISA, "Release and Acquire Patterns") comes before what the
// thread does behind its acquire; every access is compared with those of other CTAs in earlier
// rounds, and grid_facts compares those of one round.
#include <algorithm>
#include <bit>

#include "exec/cta.h"
#include "term/substitute.h"
#include "term/traverse.h"

namespace coequal::exec {

using isa::Op;
using ptx::Operand;
using tensor::FlagPass;
using tensor::FlagUpdate;
using term::Kind;
using Accessed = coequal::Access;

namespace {

constexpr size_t kMostValues = 1 << 16;  // that a cell may hold while it is waited for

bool acquires(isa::Semantics s) {
  return s == isa::Semantics::Acquire || s == isa::Semantics::AcqRel || s == isa::Semantics::SeqCst;
}

bool releases(isa::Semantics s) {
  return s == isa::Semantics::Release || s == isa::Semantics::AcqRel || s == isa::Semantics::SeqCst;
}

// A load with an order of its own, or an atomic that leaves the cell as it is.
bool looks_at_flag(const isa::Decoded& d) {
  if (!d.row) return false;
  if (d.op == Op::Ld)
    return d.semantics != isa::Semantics::Weak &&
           d.text->operands[0].kind == Operand::Kind::Register;
  const auto op = static_cast<isa::AtomOp>(d.mode);
  return d.op == Op::Atom && (op == isa::AtomOp::Add || op == isa::AtomOp::Or) &&
         d.text->operands[2].kind == Operand::Kind::Immediate && d.text->operands[2].bits == 0;
}

uint64_t low(uint64_t bits, int bytes) {
  return bytes >= 8 ? bits : bits & ((uint64_t{1} << (8 * bytes)) - 1);
}

}  // namespace

uint32_t cta_number(const tensor::Cta& cta, const std::array<uint32_t, 3>& grid) {
  return (cta[2] * grid[1] + cta[1]) * grid[0] + cta[0];
}

Round make_round(ProgramState after, std::shared_ptr<const tensor::LaunchPieces> pieces,
                 const term::TermStore& store) {
  constexpr size_t kMostReaders = 1 << 21;
  Round round{std::move(after), std::move(pieces), {}, {}, false, {}};
  const tensor::LaunchPieces& launch = *round.pieces;
  round.members.resize(size_t{launch.grid[0]} * launch.grid[1] * launch.grid[2]);
  size_t readers = 0;
  for (const tensor::ClassPieces& cls : launch.classes)
    for (uint32_t i = 0; i < cls.motions->size(); ++i) {
      if (!cls.motions->alive(i)) continue;
      const uint32_t cta = cta_number(cls.motions->ctas()[i], launch.grid);
      round.members[cta] = {&cls, i};
      for (const FlagUpdate& u : cls.updates)
        round.updates[{u.tensor, u.cell + cls.motions->value(u.motion, i)}].push_back(
            {&u, cta, tensor::at_cta(u.value, *cls.motions, i, store)});
      if (round.too_many_readers) continue;
      for (const tensor::GlobalRead& r : cls.reads)
        for (int64_t c = r.cell; c < r.cell + r.cells; ++c, ++readers)
          round.readers[{r.tensor, c + cls.motions->value(r.motion, i)}].push_back({cta, &r});
      if (readers > kMostReaders) {
        round.too_many_readers = true;
        round.readers.clear();
      }
    }
  // In the order of CTAs and of what each does, whatever classes they are in.
  for (auto& [cell, list] : round.updates)
    std::sort(list.begin(), list.end(), [](const Round::Update& a, const Round::Update& b) {
      return std::pair(a.cta, a.update->order) < std::pair(b.cta, b.update->order);
    });
  return round;
}

const CtaExecutor::WaitLoop* CtaExecutor::wait_loop(uint32_t pc) {
  if (!waits_) return nullptr;
  const auto known = flag_loops_.find(pc);
  if (known != flag_loops_.end()) return &known->second;
  const auto& body = kernel_.decoded.body;
  if (!looks_at_flag(body[pc]) || !only_waits(pc)) return nullptr;
  WaitLoop loop;
  loop.blocks = innermost_loop(kernel_.cfg->block_of(pc));
  for (const uint32_t b : loop.blocks)
    for (uint32_t i = kernel_.cfg->blocks()[b].begin; i < kernel_.cfg->blocks()[b].end; ++i)
      if (const auto& operands = body[i].text->operands; !operands.empty() && body[i].op != Op::Bra)
        if (operands[0].kind == Operand::Kind::Register) loop.written.insert(operands[0].reg);
  return &flag_loops_.emplace(pc, std::move(loop)).first->second;
}

bool CtaExecutor::find_waits() {
  const auto& body = kernel_.decoded.body;
  for (uint32_t pc = 0; pc < body.size(); ++pc)
    if (looks_at_flag(body[pc]) && only_waits(pc)) return true;
  return false;
}

CtaExecutor::Step CtaExecutor::wait_for_flag(Warp& warp, Fragment& fragment, uint32_t mask) {
  const uint32_t pc = fragment.pc, rest = fragment.mask & ~mask;
  if (fragment.fork) return abort(pc, "a wait in a branch that depends on data");
  fragment.mask = mask;
  fragment.wait = Wait::Flag;
  looked_at_ = ~uint64_t{0};
  if (rest) warp.fragments.push_back({.mask = rest, .pc = pc + 1, .fork = nullptr});
  return Step::Parked;
}

bool CtaExecutor::waits_for_flag() const {
  return std::any_of(warps_.begin(), warps_.end(), [](const Warp& w) {
    return std::any_of(w.fragments.begin(), w.fragments.end(),
                       [](const Fragment& f) { return f.wait == Wait::Flag; });
  });
}

bool CtaExecutor::release_flag_waits() {
  const uint64_t now = uint64_t{round_} << 32 | own_update_count_;
  if (looked_at_ == now || !waits_for_flag()) return false;
  looked_at_ = now;
  bool any = false;
  for (Warp& warp : warps_) {
    std::vector<Fragment> released;
    for (Fragment& f : warp.fragments) {
      if (f.wait != Wait::Flag) continue;
      std::map<uint32_t, uint32_t> lanes;  // by where they go on
      for (uint32_t m = f.mask; m; m &= m - 1) {
        const int lane = std::countr_zero(m);
        const std::optional<uint32_t> exit = try_pass(warp, lane, f.pc);
        if (out_.aborted) return true;
        if (exit) lanes[*exit] |= 1u << lane;
      }
      for (const auto& [pc, mask] : lanes) {
        f.mask &= ~mask;
        released.push_back({.mask = mask, .pc = pc, .fork = nullptr});
      }
    }
    std::erase_if(warp.fragments, [](const Fragment& f) { return f.mask == 0; });
    any |= !released.empty();
    warp.fragments.insert(warp.fragments.end(), released.begin(), released.end());
  }
  return any;
}

bool CtaExecutor::next_round() {
  if (round_ < rounds_.size()) {
    ++round_;
    // What this CTA did is part of the contents now, and was looked at in the round before.
    for (GlobalTensor& t : tensors_) {
      t.stores.clear();
      t.atomics.clear();
      t.atomic_moments.clear();
      t.atomics_of.clear();
      t.overwritten.clear();
      t.reads.clear();
    }
    out_.defects.clear();
    out_.suspicions.clear();
    return true;
  }
  for (const Warp& warp : warps_)
    for (const Fragment& f : warp.fragments)
      if (f.wait == Wait::Flag)
        out_.waiting.push_back(
            access(Accessed::Kind::Read,
                   warp.index * kWarpSize + static_cast<uint32_t>(std::countr_zero(f.mask)), f.pc));
  return false;
}

std::optional<bool> CtaExecutor::truth(const Warp& warp, int lane, const Operand& guard) {
  const Word w = operand(warp, lane, guard, 1);
  if (w.tag == Tag::Concrete) return (concretize(w, 1) & 1) != guard.negated;
  if (w.tag != Tag::Bool) return std::nullopt;
  if (const auto known = store_.as_bool(w.term)) return *known != guard.negated;
  if (const auto it = flag_answers_.find(w.term); it != flag_answers_.end())
    return it->second != guard.negated;
  // The same for all that an addition may have returned.
  std::optional<Term> leaf;
  bool only = true;
  term::Postorder(store_).walk(
      w.term, [&](const Term& t) { return store_.has_poison(t); },
      [&](const Term& t) {
        if (store_.kind(t) != Kind::Poison) return;
        only &= old_numbers_.contains(t) && (!leaf || *leaf == t);
        leaf = t;
      });
  if (!leaf || !only) return std::nullopt;
  const OldNumber& number = old_numbers_.at(*leaf);
  const auto values = old_values(number);
  if (!values) return std::nullopt;
  std::optional<bool> answer;
  for (const uint64_t v : *values) {
    const Term value = store_.bits(v, 8 * number.width);
    term::Substitution with(
        store_, [&](const Term& t) { return t == *leaf ? std::optional(value) : std::nullopt; },
        [&](const Term& t) { return store_.has_poison(t); });
    const std::optional<bool> one = store_.as_bool(with(w.term));
    if (!one || (answer && *answer != *one)) return std::nullopt;
    answer = one;
  }
  if (!answer) return std::nullopt;
  flag_answers_[w.term] = *answer;
  return *answer != guard.negated;
}

std::optional<uint32_t> CtaExecutor::turn(Warp& warp, int lane, uint32_t pc, const Word& value,
                                          bool keep) {
  const WaitLoop& loop = flag_loops_.at(pc);
  const auto& body = kernel_.decoded.body;
  std::vector<std::pair<uint32_t, Word>> before;
  for (const uint32_t r : loop.written) before.emplace_back(r, warp.registers[r].get(lane));
  const Operand& target = body[pc].text->operands[0];
  const int width = ptx::bits_of(body[pc].type);
  const bool is_signed = body[pc].type == ptx::ScalarType::S8 ||
                         body[pc].type == ptx::ScalarType::S16 ||
                         body[pc].type == ptx::ScalarType::S32;
  write(
      warp, lane, target,
      widened(value, width, ptx::bits_of(kernel_.function->registers[target.reg].type), is_signed));
  std::optional<uint32_t> left;
  constexpr int kMostSteps = 4096;
  uint32_t at = pc + 1;
  for (int steps = 0; steps < kMostSteps; ++steps) {
    if (at == pc || at >= body.size() || !loop.blocks.contains(kernel_.cfg->block_of(at))) {
      left = at;
      break;
    }
    const isa::Decoded& d = body[at];
    bool runs = true;
    if (d.text->guard) {
      const std::optional<bool> holds = truth(warp, lane, *d.text->guard);
      if (!holds) break;
      runs = *holds;
    }
    if (d.op == Op::Bra) {
      at = runs ? d.text->operands[0].target : at + 1;
      continue;
    }
    if (runs && d.op == Op::Pure) execute_pure(warp, 1u << lane, d, at);
    if (runs && (d.op == Op::Mov || d.op == Op::Cvta)) execute_mov(warp, 1u << lane, d);
    ++at;
  }
  if (!keep)
    for (const auto& [r, word] : before) warp.registers[r].set(lane, word);
  return left;
}

std::vector<CtaExecutor::Seen> CtaExecutor::seen_updates(const Location& at, MotionId motion,
                                                         size_t ordinal, uint32_t from,
                                                         uint32_t to) const {
  std::vector<Seen> seen;
  if (at.place == Place::Tensor) {
    const uint32_t own = cta_number(motions_->ctas()[ordinal], launch_.grid);
    const int64_t cell =
        at.offset / (*state_.tensors)[at.object].element_size() + motions_->value(motion, ordinal);
    for (uint32_t k = from; k < to; ++k) {
      const auto it = rounds_[k].updates.find({at.object, cell});
      if (it == rounds_[k].updates.end()) continue;
      for (const Round::Update& u : it->second)
        if (u.cta != own)
          seen.push_back({u.update->kind, u.value, u.cta, k, u.update->order,
                          u.update->origin.thread, u.update->scope_cta, nullptr});
    }
  }
  return seen;
}

std::optional<std::vector<uint64_t>> CtaExecutor::sums(const std::vector<uint64_t>& numbers,
                                                       bool partial) {
  std::map<uint64_t, uint64_t> counts;
  for (const uint64_t n : numbers) ++counts[n];
  std::vector<uint64_t> all{0};
  uint64_t whole = 0;
  for (const auto& [n, count] : counts) {
    if (all.size() * (count + 1) > kMostValues) return std::nullopt;
    std::vector<uint64_t> next;
    for (const uint64_t have : all)
      for (uint64_t k = 0; k <= count; ++k) next.push_back(have + k * n);
    all = std::move(next);
    whole += count * n;
  }
  std::sort(all.begin(), all.end());
  if (partial) all.erase(std::find(all.begin(), all.end(), whole));
  return all;
}

bool CtaExecutor::is_base(const Seen& s, const Location& at, uint32_t thread) const {
  if (s.mine) return is_before(s.mine->when, thread);
  return std::any_of(passes_.begin(), passes_.end(), [&](const Pass& p) {
    return p.at.object == at.object && p.at.offset == at.offset && is_before(p.when, thread) &&
           std::pair(s.round, s.order) <= std::pair(p.what.round, p.what.last);
  });
}

std::optional<std::vector<uint64_t>> CtaExecutor::old_values(const OldNumber& number) {
  if (number.round >= rounds_.size()) return std::nullopt;  // others may still add
  // Of what was done up to its round only its own and what was known before is certain.
  uint64_t total = number.step;
  const auto& own = own_updates_.at({number.at.place, number.at.object, number.at.offset});
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i].round > number.round || i == number.own) continue;
    const std::optional<uint64_t> n = store_.as_bits(own[i].value);
    if (own[i].kind != FlagUpdate::Kind::Add || !n ||
        own[i].when.thread != own[number.own].when.thread)
      return std::nullopt;
    if (i > number.own) total += *n;
  }
  std::vector<uint64_t> others;
  for (const Seen& s : seen_updates(number.at, number.motion, 0, 0, number.round + 1)) {
    const std::optional<uint64_t> n = store_.as_bits(s.value);
    if (s.kind != FlagUpdate::Kind::Add || !n) return std::nullopt;
    if (std::pair(int64_t{s.round}, s.order) <= number.base) continue;
    others.push_back(*n);
    total += *n;
  }
  contents_ = &contents_in(number.round + 1);
  const int64_t cell = number.at.offset / number.width;
  const Word after = older_content(number.at.object, cell, number.motion);
  if (!after.is_number()) return std::nullopt;
  auto all = sums(others, false);
  if (!all) return std::nullopt;
  for (uint64_t& v : *all) v = low(after.bits - total + v, number.width);
  return all;
}

std::optional<uint32_t> CtaExecutor::try_pass(Warp& warp, int lane, uint32_t pc) {
  const isa::Decoded& d = kernel_.decoded.body[pc];
  const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
  const int width = ptx::bits_of(d.type) / 8;
  const auto refuse = [&](const char* reason) {
    abort(pc, reason);
    return std::nullopt;
  };
  constexpr const char* kDepends =
      "whether this wait ends, or what it has waited for, depends on how threads are scheduled";
  pc_ = pc;
  fork_ = nullptr;
  const Addresses places = addresses(warp, lane, d.text->operands[1], d.space, pc, false);
  if (out_.aborted) return std::nullopt;
  const bool right = places.size() == 1 && check(places[0], width, width, false, thread, pc);
  if (!right) return refuse("a wait at an address that is not known");
  const Location at = places[0].location;
  const bool global = at.place == Place::Tensor;
  if (!global && at.place != Place::Shared)
    return refuse("a wait outside global and shared memory");

  // What the cell holds now.
  Word content;
  MotionId motion = 0;
  if (global) {
    if (width != (*state_.tensors)[at.object].element_size())
      return refuse("a wait for a part of a cell or for several");
    motion = cell_motion(places[0].motion, width);
    if (round_ && !waits_for_strong(at, motion, thread, pc)) return std::nullopt;
  }
  if (const auto weak = weak_stores_.find({at.place, at.object, at.offset});
      weak != weak_stores_.end() && !is_before(weak->second.first, thread)) {
    AccessEvent store = event(weak->second.first.thread, weak->second.second, Role::Write);
    report(global ? DefectKind::GlobalRace : DefectKind::SharedRace,
           "a flag that is set by a store without an order of its own",
           race_between(at.place, at.object, at.offset, width, store, event(thread, pc, Role::Read))
               .accesses);
    out_.aborted = true;
    return std::nullopt;
  }
  content = content_at(places[0], width);
  if (content.is_number() && content.motion)
    content = Word::concrete(concretize(content, 8 * width));

  const auto ends = [&](const Word& value) -> std::optional<bool> {
    const auto left = turn(warp, lane, pc, value, false);
    return left ? std::optional(*left != pc) : std::nullopt;
  };
  const isa::OperandType bits{
      isa::OperandType::Class::Bits, static_cast<uint8_t>(8 * width), false, {}};
  const auto word = [&](const Term& t) { return word_of(t, bits); };

  // What has been done to it that the thread need not know.
  std::vector<Seen> rest;
  const auto split = [&](size_t ordinal, std::vector<Seen>& into) {
    for (Seen& s : seen_updates(at, motion, ordinal, 0, round_))
      if (!is_base(s, at, thread)) into.push_back(std::move(s));
  };
  split(0, rest);
  if (global)
    motions_->narrow([&](size_t i) {
      if (i == 0) return true;
      std::vector<Seen> other;
      split(i, other);
      return std::equal(
          rest.begin(), rest.end(), other.begin(), other.end(), [&](const Seen& a, const Seen& b) {
            return a.kind == b.kind && a.round == b.round && (!motion || a.order == b.order) &&
                   a.value.shape() == b.value.shape();
          });
    });
  const size_t foreign = rest.size();
  if (const auto own = own_updates_.find({at.place, at.object, at.offset});
      own != own_updates_.end())
    for (const OwnUpdate& u : own->second) {
      const Seen s{u.kind, u.value, 0, u.round, 0, u.when.thread, false, &u};
      if (!is_base(s, at, thread)) rest.push_back(s);
    }
  const bool known_kinds = std::none_of(
      rest.begin(), rest.end(), [](const Seen& s) { return s.kind == FlagUpdate::Kind::Other; });
  if (!known_kinds) return refuse(kDepends);

  const std::optional<bool> now = ends(content);
  if (!now) {
    const bool later =
        std::any_of(old_numbers_.begin(), old_numbers_.end(),
                    [&](const auto& entry) { return entry.second.round >= rounds_.size(); });
    if (later) return std::nullopt;
    return refuse(kDepends);
  }

  // The values that it went through, one after the other; or all that it may have held before.
  size_t needed = rest.size();
  bool several = false;  // values with which the wait may end
  const bool adds = std::all_of(rest.begin(), rest.end(),
                                [](const Seen& s) { return s.kind == FlagUpdate::Kind::Add; });
  bool in_order = foreign == 0 || foreign == rest.size();
  for (size_t i = 1; i < rest.size(); ++i)
    in_order &= rest[i - 1].mine
                    ? rest[i - 1].thread == rest[i].thread
                    : rest[i - 1].round < rest[i].round ||
                          (rest[i - 1].round == rest[i].round && rest[i - 1].cta == rest[i].cta &&
                           rest[i - 1].thread == rest[i].thread);
  if (!rest.empty() && in_order) {
    std::vector<Word> values;
    if (rest[0].mine) {
      values.push_back(rest[0].mine->before);
      for (const Seen& s : rest) values.push_back(s.mine->after);
    } else {
      contents_ = &contents_in(rest[0].round);
      values.push_back(older_content(at.object, at.offset / width, motion));
      // Its own updates in between are not told apart.
      const auto own = own_updates_.find({at.place, at.object, at.offset});
      if (own != own_updates_.end() &&
          std::any_of(own->second.begin(), own->second.end(),
                      [&](const OwnUpdate& u) { return u.round >= rest[0].round; }) &&
          !adds)
        return refuse(kDepends);
      if (adds) {
        uint64_t total = 0;
        for (const Seen& s : rest) total += store_.as_bits(s.value).value_or(0);
        values[0] = Word::concrete(low(content.bits - total, width));
      }
      for (const Seen& s : rest)
        values.push_back(
            s.kind == FlagUpdate::Kind::Store
                ? word(s.value)
                : Word::concrete(
                      low(values.back().bits + store_.as_bits(s.value).value_or(0), width)));
    }
    values.back() = content;
    needed = values.size();
    for (size_t i = 0; i < values.size(); ++i) {
      const std::optional<bool> ended = ends(values[i]);
      if (!ended || (needed < i && !*ended)) return refuse(kDepends);
      if (*ended) needed = std::min(needed, i);
    }
    if (!*now) return std::nullopt;
    several = needed + 1 < values.size();
  } else if (!rest.empty()) {
    if (!adds || !content.is_number()) return refuse(kDepends);
    std::vector<uint64_t> numbers;
    uint64_t total = 0;
    for (const Seen& s : rest) {
      const std::optional<uint64_t> n = store_.as_bits(s.value);
      if (!n) return refuse(kDepends);
      numbers.push_back(*n);
      total += *n;
    }
    const auto partial = sums(numbers, true);
    if (!partial) return refuse("a wait for more blocks than are followed");
    for (const uint64_t s : *partial)
      if (ends(Word::concrete(low(content.bits - total + s, width))) != std::optional(false))
        return refuse(kDepends);
    if (!*now) return std::nullopt;
  } else if (!*now) {
    return std::nullopt;
  }

  // What comes later must not go on with the loop.
  if (global && round_ < rounds_.size()) {
    std::vector<uint64_t> numbers;
    for (const Seen& s : later_updates(at, motion)) {
      several = true;
      const std::optional<uint64_t> n =
          s.kind == FlagUpdate::Kind::Add ? store_.as_bits(s.value) : std::nullopt;
      if (s.kind == FlagUpdate::Kind::Store
              ? ends(word(s.value)) != std::optional(true)
              : s.kind != FlagUpdate::Kind::Add || !n || !content.is_number())
        return refuse(kDepends);
      if (s.kind == FlagUpdate::Kind::Add) numbers.push_back(*n);
    }
    const auto all = sums(numbers, false);
    if (!all) return refuse("a wait for more blocks than are followed");
    for (const uint64_t s : *all)
      if (!numbers.empty() &&
          ends(Word::concrete(low(content.bits + s, width))) != std::optional(true))
        return refuse(kDepends);
  }

  // The wait is over.
  const std::optional<uint32_t> exit = turn(warp, lane, pc, content, true);
  if (!exit) return refuse(kDepends);
  if (several)
    for (const uint32_t r : flag_loops_.at(pc).written) {
      const ptx::ScalarType type = kernel_.function->registers[r].type;
      const int size = type == ptx::ScalarType::Pred ? 32 : ptx::bits_of(type);
      const Word any =
          extract(refused_at(pc, "the value with which a wait ends is used"), 8, 0, size / 8);
      warp.registers[r].set(
          lane, type == ptx::ScalarType::Pred
                    ? Word::boolean(store_.make(Kind::BvEq, {any.term, store_.bits(0, size)}))
                    : any);
    }
  const bool acquired = acquires(d.semantics);
  HappensBefore::Clock clock;
  Pass pass;
  bool others = false;
  for (size_t i = 0; i < needed && i < rest.size(); ++i) {
    const Seen& s = rest[i];
    if (s.mine) {
      HappensBefore::join(clock, s.mine->clock);
      continue;
    }
    if (s.scope_cta || d.scope == isa::Scope::Cta) {
      report_scope(at, motion, s, thread, pc);
      out_.aborted = true;
      return std::nullopt;
    }
    others = true;
    pass.what.round = s.round;
    pass.what.last = s.order;
  }
  if (!clock.empty()) {
    const uint32_t threads[] = {thread};
    if (acquired)
      order_.depart(threads, clock);
    else
      HappensBefore::join(thread_states_[thread].seen, clock);
  }
  if (others) {
    if (!in_order) pass.what.round = round_ - 1, pass.what.last = ~0u;
    pass.at = at;
    pass.what.tensor = at.object;
    pass.what.cell = at.offset / width;
    pass.what.motion = motion;
    pass.when = moment(thread);
    if (!motion && needed >= rest.size()) pass.through = known_through(pass.what);
    passes_.push_back(pass);
    if (acquired) acquire(passes_.back(), thread);
  }
  return exit;
}

std::vector<CtaExecutor::Seen> CtaExecutor::later_updates(const Location& at,
                                                          MotionId motion) const {
  std::vector<Seen> later;
  const auto last = static_cast<uint32_t>(rounds_.size());
  for (size_t i = 0; i < motions_->size(); ++i) {
    if (!motions_->alive(i)) continue;
    const uint32_t own = cta_number(motions_->ctas()[i], launch_.grid);
    const Round::Cell cell{at.object, at.offset / (*state_.tensors)[at.object].element_size() +
                                          motions_->value(motion, i)};
    // Who has waited for something that this CTA does to the cell later comes later, too.
    const auto waited = [&](const Seen& s) {
      for (uint32_t k = round_; k <= s.round; ++k) {
        const auto& [cls, ordinal] = rounds_[k].members[s.cta];
        if (!cls) continue;
        for (const FlagPass& p : cls->passes) {
          if (Round::Cell{p.tensor, p.cell + cls->motions->value(p.motion, ordinal)} != cell)
            continue;
          for (uint32_t r = round_; r <= p.round && r < last; ++r)
            if (const auto it = rounds_[r].updates.find(cell); it != rounds_[r].updates.end())
              if (std::any_of(it->second.begin(), it->second.end(),
                              [&](const Round::Update& u) { return u.cta == own; }))
                return true;
        }
      }
      return false;
    };
    std::vector<Seen> all = seen_updates(at, motion, i, round_, last);
    // A store of no order of its own is one, too.
    for (uint32_t k = round_; k < last; ++k) {
      const tensor::TensorVersion& after = rounds_[k].after.versions[at.object]->as_written();
      if (&after == &contents_in(k).versions[at.object]->as_written()) continue;
      const auto w = after.own_writer(cell.second);
      if (!w) continue;
      const uint32_t cta = cta_number(w->cta(), launch_.grid);
      const bool known = std::any_of(all.begin(), all.end(), [&](const Seen& s) {
        return s.cta == cta && s.round == k && s.kind == FlagUpdate::Kind::Store;
      });
      if (cta != own && !known)
        all.push_back({FlagUpdate::Kind::Other,
                       {},
                       cta,
                       k,
                       w->cell_store().order,
                       w->origin().thread,
                       false,
                       nullptr});
    }
    for (Seen& s : all)
      if (!waited(s)) later.push_back(std::move(s));
    // One stands for all: sums of the same numbers, but for its own.
    if (!motion) break;
  }
  return later;
}

int64_t CtaExecutor::known_through(const FlagPass& pass) const {
  const Round::Cell cell{pass.tensor, pass.cell};
  std::map<uint32_t, std::pair<uint32_t, const FlagUpdate*>> latest;  // by CTA
  for (uint32_t k = 0; k < round_; ++k)
    if (const auto it = rounds_[k].updates.find(cell); it != rounds_[k].updates.end())
      for (const Round::Update& u : it->second) latest[u.cta] = {k, u.update};
  const auto ctas = static_cast<uint32_t>(rounds_[0].members.size());
  if (latest.size() < ctas) return -1;
  int64_t through = static_cast<int64_t>(round_) - 1;
  for (const auto& [cta, at] : latest) {
    if (!at.second->unreleased->empty() || at.second->scope_cta) return -1;
    const Round::Member& m = rounds_[at.first].members[cta];
    const bool more = m.pieces->last_order > at.second->order;
    through = std::min(through, static_cast<int64_t>(at.first) - more);
  }
  return through;
}

void CtaExecutor::acquire(Pass& pass, uint32_t thread) {
  pass.acquired = moment(thread);
  pass.what.order = note_access(thread);
  if (round_ == rounds_.size()) out_.pieces.passes.push_back(pass.what);
}

uint32_t CtaExecutor::note_access(uint32_t thread) {
  if (waits_) effects_.push_back({accesses_, moment(thread), std::nullopt});
  return accesses_++;
}

void CtaExecutor::note_weak_store(const Location& at, uint32_t thread, uint32_t pc) {
  if (at.place == Place::Tensor || at.place == Place::Shared)
    weak_stores_[{at.place, at.object, at.offset}] = {moment(thread), pc};
}

Word CtaExecutor::content_at(const Address& at, int width) {
  if (at.location.place == Place::Tensor) {
    contents_ = &contents_in(round_);
    return load_cell(at.location.object, at.location.offset / width, cell_motion(at.motion, width),
                     std::nullopt);
  }
  return load_variable(at.location, shared_[at.location.object].memory, width);
}

Word CtaExecutor::old_number(const Address& at, const Word& step, int width, uint32_t thread,
                             uint32_t pc) {
  if (at.location.place != Place::Tensor || !step.is_number()) return old_value(pc);
  OldNumber number{
      at.location, cell_motion(at.motion, width), width, concretize(step, 8 * width), round_, 0,
      {-1, 0}};
  number.own =
      own_updates_.at({at.location.place, at.location.object, at.location.offset}).size() - 1;
  for (const Pass& p : passes_)
    if (p.at.object == at.location.object && p.at.offset == at.location.offset &&
        is_before(p.when, thread))
      number.base = std::max(number.base, std::pair(int64_t{p.what.round}, p.what.last));
  const Term leaf = poison_term(
      fmt::format("{} {} old number", kernel_.function->name, pc), term::bv(8 * width),
      static_cast<int64_t>(old_numbers_.size()),
      {PoisonSource::Kind::Refused,
       "",
       {kernel_.function->body[pc].spelling(), span(pc), "the old value of an atomic is used"},
       {}});
  old_numbers_.emplace(leaf, number);
  return Word::symbolic(leaf);
}

// A store that is an atomic too; nothing uses what it returns.
CtaExecutor::Step CtaExecutor::execute_exchange(Warp& warp, uint32_t mask, const isa::Decoded& d,
                                                uint32_t pc) {
  const int width = ptx::bits_of(d.type) / 8;
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(lane);
    const Addresses places = addresses(warp, lane, d.text->operands[1], d.space, pc, true);
    if (out_.aborted) return Step::Aborted;
    if (places.size() != 1) return abort(pc, "an exchange at an address that depends on data");
    if (!check(places[0], width, width, true, thread, pc)) continue;
    const Word value = operand(warp, lane, d.text->operands[2], 8 * width);
    const Word before = content_at(places[0], width);
    store_at(places[0], width, value, thread, pc);
    if (out_.aborted) return Step::Aborted;
    note_update(places[0].location, cell_motion(places[0].motion, width), FlagUpdate::Kind::Store,
                before, value, value, width, thread, d, pc);
    write(warp, lane, d.text->operands[0], old_value(pc));
  }
  return Step::Next;
}

void CtaExecutor::fence_flags(uint32_t thread, bool between_ctas) {
  ThreadState& state = thread_states_[thread];
  const uint32_t threads[] = {thread};
  state.fenced.clear();
  order_.arrive(threads, state.fenced);
  if (!state.seen.empty()) order_.depart(threads, state.seen);
  state.seen.clear();
  if (!between_ctas) return;
  for (Pass& p : passes_)
    if (!p.acquired && is_before(p.when, thread)) acquire(p, thread);
  for (Effect& e : effects_)
    if (!e.fence && is_before(e.when, thread)) e.fence = moment(thread);
}

void CtaExecutor::note_update(const Location& at, MotionId motion, FlagUpdate::Kind kind,
                              const Word& before, const Word& value, const Word& after, int width,
                              uint32_t thread, const isa::Decoded& d, uint32_t pc) {
  const bool release = releases(d.semantics);
  OwnUpdate own{kind, {}, before, after, moment(thread), {}, round_};
  const isa::OperandType bits{
      isa::OperandType::Class::Bits, static_cast<uint8_t>(8 * width), false, {}};
  own.value = term_of(value, bits);
  FlagUpdate u;
  if (at.place == Place::Tensor && round_ == rounds_.size()) {
    auto unreleased = std::make_shared<std::vector<uint32_t>>();
    u.order = accesses_ - 1;  // the access that it is itself
    for (const Effect& e : effects_) {
      const bool done =
          release ? is_before(e.when, thread) : e.fence && is_before(*e.fence, thread);
      if (!done && e.order != u.order) unreleased->push_back(e.order);
    }
    u.kind = kind;
    u.tensor = at.object;
    u.cell = at.offset / width;
    u.motion = motion;
    u.value = own.value;
    u.origin = {thread, pc};
    u.scope_cta = d.scope == isa::Scope::Cta;
    u.unreleased = std::move(unreleased);
    out_.pieces.updates.push_back(std::move(u));
  }
  if (release) {
    const uint32_t threads[] = {thread};
    order_.arrive(threads, own.clock);
  } else {
    // A fence holds for the threads that come after it.
    for (uint32_t t = 0; t < threads_; ++t)
      if (const HappensBefore::Clock& fenced = thread_states_[t].fenced;
          !fenced.empty() && (t == thread || order_.sees(thread, t, fenced[t])))
        HappensBefore::join(own.clock, fenced);
  }
  own_updates_[{at.place, at.object, at.offset}].push_back(std::move(own));
  ++own_update_count_;
}

bool CtaExecutor::knows(const Round::Cell& cell, uint32_t round, uint32_t last, uint32_t cta,
                        uint32_t at, uint32_t order,
                        std::set<std::tuple<Round::Cell, uint32_t, uint32_t>>& asked) const {
  if (!asked.insert({cell, round, last}).second) return false;
  for (uint32_t k = 0; k <= round && k < rounds_.size(); ++k) {
    const auto it = rounds_[k].updates.find(cell);
    if (it == rounds_[k].updates.end()) continue;
    for (const Round::Update& u : it->second) {
      if ((k == round && u.update->order > last) || u.update->scope_cta) continue;
      const auto released = [&](uint32_t what) {
        return !std::binary_search(u.update->unreleased->begin(), u.update->unreleased->end(),
                                   what);
      };
      if (u.cta == cta) {
        if (std::pair(k, u.update->order) >= std::pair(at, order) && released(order)) return true;
        continue;
      }
      // What the other one knew when it made the update.
      for (uint32_t r = 0; r <= k; ++r) {
        const auto& [cls, ordinal] = rounds_[r].members[u.cta];
        if (!cls) continue;
        for (const FlagPass& p : cls->passes)
          if (p.order < u.update->order && released(p.order) &&
              knows({p.tensor, p.cell + cls->motions->value(p.motion, ordinal)}, p.round, p.last,
                    cta, at, order, asked))
            return true;
      }
    }
  }
  return false;
}

bool CtaExecutor::ordered_with_rounds(TensorId id, int64_t cell, MotionId motion, bool writes,
                                      uint32_t thread, uint32_t pc) {
  int64_t through = -1;
  std::vector<const Pass*> behind;
  for (const Pass& p : passes_)
    if (p.acquired && is_before(*p.acquired, thread)) {
      through = std::max(through, p.through);
      behind.push_back(&p);
    }
  for (auto k = static_cast<uint32_t>(through + 1); k < round_; ++k) {
    const tensor::TensorVersion* after = &rounds_[k].after.versions[id]->as_written();
    const bool written = after != &contents_in(k).versions[id]->as_written();
    for (size_t i = 0; i < motions_->size(); ++i) {
      if (!motions_->alive(i)) continue;
      const uint32_t own = cta_number(motions_->ctas()[i], launch_.grid);
      const int64_t at = cell + motions_->value(motion, i);
      const auto known = [&](uint32_t cta, uint32_t order) {
        return std::any_of(behind.begin(), behind.end(), [&](const Pass* p) {
          std::set<std::tuple<Round::Cell, uint32_t, uint32_t>> asked;
          return knows({p->what.tensor, p->what.cell + motions_->value(p->what.motion, i)},
                       p->what.round, p->what.last, cta, k, order, asked);
        });
      };
      const auto race = [&](Accessed::Kind kind, const tensor::Cta& cta,
                            const tensor::Origin& origin) {
        Accessed a = access(kind, origin.thread, origin.instruction);
        a.block = {cta[0], cta[1], cta[2]};
        Accessed b = access(writes ? Accessed::Kind::Write : Accessed::Kind::Read, thread, pc);
        const tensor::Cta& mine = motions_->ctas()[i];
        b.block = {mine[0], mine[1], mine[2]};
        a.where = b.where = (*state_.tensors)[id].name;
        a.index = b.index = (*state_.tensors)[id].index_text(at);
        a.bytes = b.bytes = (*state_.tensors)[id].element_size();
        report(DefectKind::GlobalRace,
               "two accesses of blocks that wait for each other, which no fence orders", {a, b});
        return false;
      };
      if (written) {
        std::vector<tensor::Writer> writers = after->own_atomics(at);
        if (const auto w = after->own_writer(at)) writers.push_back(*w);
        for (const tensor::Writer& w : writers) {
          const uint32_t cta = cta_number(w.cta(), launch_.grid);
          const uint32_t order = w.atomic ? w.update().order : w.cell_store().order;
          if (cta != own && !known(cta, order))
            return race(w.atomic ? Accessed::Kind::Atomic : Accessed::Kind::Write, w.cta(),
                        w.origin());
        }
      }
      if (!writes) continue;
      if (rounds_[k].too_many_readers) {
        abort(pc, "more loads of blocks that wait for each other than are followed");
        return false;
      }
      if (const auto it = rounds_[k].readers.find({id, at}); it != rounds_[k].readers.end())
        for (const Round::Reader& r : it->second)
          if (r.cta != own && !known(r.cta, r.read->order)) {
            const auto& [cls, ordinal] = rounds_[k].members[r.cta];
            return race(Accessed::Kind::Read, cls->motions->ctas()[ordinal], r.read->origin);
          }
    }
  }
  return true;
}

bool CtaExecutor::waits_for_strong(const Location& at, MotionId motion, uint32_t thread,
                                   uint32_t pc) {
  const int64_t cell = at.offset / (*state_.tensors)[at.object].element_size();
  for (uint32_t k = 0; k < round_; ++k) {
    const tensor::TensorVersion& after = rounds_[k].after.versions[at.object]->as_written();
    if (&after == &contents_in(k).versions[at.object]->as_written()) continue;
    for (size_t i = 0; i < motions_->size(); ++i) {
      if (!motions_->alive(i)) continue;
      const int64_t there = cell + motions_->value(motion, i);
      const auto w = after.own_writer(there);
      if (!w || w->cta() == motions_->ctas()[i]) continue;
      const uint32_t cta = cta_number(w->cta(), launch_.grid);
      const auto it = rounds_[k].updates.find({at.object, there});
      if (it != rounds_[k].updates.end() &&
          std::any_of(it->second.begin(), it->second.end(), [&](const Round::Update& u) {
            return u.cta == cta && u.update->kind == FlagUpdate::Kind::Store;
          }))
        continue;
      Accessed a = access(Accessed::Kind::Write, w->origin().thread, w->origin().instruction);
      a.block = {w->cta()[0], w->cta()[1], w->cta()[2]};
      Accessed b = access(Accessed::Kind::Read, thread, pc);
      a.where = b.where = (*state_.tensors)[at.object].name;
      a.index = b.index = (*state_.tensors)[at.object].index_text(there);
      report(DefectKind::GlobalRace, "a flag that is set by a store without an order of its own",
             {a, b});
      out_.aborted = true;
      return false;
    }
  }
  return true;
}

void CtaExecutor::report_scope(const Location& at, MotionId motion, const Seen& s, uint32_t thread,
                               uint32_t pc) {
  const int64_t cell =
      at.offset / (*state_.tensors)[at.object].element_size() + motions_->value(motion, 0);
  const auto& list = rounds_[s.round].updates.at({at.object, cell});
  const auto u = std::find_if(list.begin(), list.end(), [&](const Round::Update& one) {
    return one.cta == s.cta && one.update->order == s.order;
  });
  const auto& [cls, ordinal] = rounds_[s.round].members[s.cta];
  Accessed a =
      access(s.kind == FlagUpdate::Kind::Store ? Accessed::Kind::Write : Accessed::Kind::Atomic,
             u->update->origin.thread, u->update->origin.instruction);
  const tensor::Cta& cta = cls->motions->ctas()[ordinal];
  a.block = {cta[0], cta[1], cta[2]};
  Accessed b = access(Accessed::Kind::Read, thread, pc);
  a.where = b.where = (*state_.tensors)[at.object].name;
  a.index = b.index = (*state_.tensors)[at.object].index_text(cell);
  report(DefectKind::GlobalRace, "blocks meet at a cell with a scope that is one block", {a, b});
}

}  // namespace coequal::exec
