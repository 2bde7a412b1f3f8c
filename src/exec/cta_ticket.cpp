// "The last block done": each CTA takes a number from a counter, and the one with the last number
// works on what all of them left.
//
// Which CTA is last depends on the schedule, so nothing may depend on it. The launch is executed
// twice: first with every CTA as one that is not last, for all numbers that it can then have; then,
// over the contents that this leaves, with each CTA as the last. Of the second execution only what
// is ordered behind the counter counts, it reads what the first left in place of its own stores,
// and it must do the same whichever CTA of those that share a counter does it (classes.cpp compares
// them). (PTX ISA, "Release and Acquire Patterns": a fence before the atomic releases what is
// ordered before the fence.)
#include <algorithm>
#include <bit>

#include "exec/cta.h"
#include "term/substitute.h"
#include "term/traverse.h"

namespace coequal::exec {

using term::Kind;
using Accessed = coequal::Access;

CtaExecutor::Moment CtaExecutor::moment(uint32_t thread) const {
  return {thread, order_.epoch(), order_.clock(thread)};
}

bool CtaExecutor::is_before(const Moment& m, uint32_t thread) const {
  return m.thread == thread || order_.is_over(m.thread, m.epoch, m.clock) ||
         order_.sees(thread, m.thread, m.clock);
}

bool CtaExecutor::behind_ticket(uint32_t thread) const {
  return last_ && ticket_ && is_before(ticket_->when, thread);
}

bool CtaExecutor::has_acquired(uint32_t thread) const {
  return std::any_of(acquired_.begin(), acquired_.end(),
                     [&](const Moment& m) { return is_before(m, thread); });
}

void CtaExecutor::note_effect(uint32_t thread, uint32_t pc) {
  if (!last_ && ticket_ && pc != ticket_->instruction && is_before(ticket_->when, thread))
    ticket_->effect_behind = pc;
}

void CtaExecutor::check_ticket() {
  if (!ticket_ || (!ticket_->place.decides && !ticket_->slot) || out_.aborted) return;
  // The numbers are the counter's only if each CTA adds to it once and nobody sets it.
  const GlobalTensor& t = tensors_[ticket_->place.tensor];
  const bool stored = std::any_of(t.stores.begin(), t.stores.end(),
                                  [](const auto& entry) { return !entry.second.behind; });
  size_t updates = t.atomics.size();
  if (waits_) {  // those of earlier rounds as well
    updates = 0;
    for (const auto& [at, list] : own_updates_)
      if (std::get<0>(at) == Place::Tensor && std::get<1>(at) == ticket_->place.tensor)
        updates += list.size();
  }
  if (stored || updates != 1)
    abort(ticket_->instruction, "a block does more with its counter than take a number");
  // All CTAs but one do it, and which one is left out depends on the schedule.
  else if (ticket_->effect_behind && !ticket_->slot)
    abort(*ticket_->effect_behind, "a block that is not the last stores after it took its number");
}

bool CtaExecutor::reads_ctaid() const {
  const auto names = [](const ptx::Operand& op, auto&& self) -> bool {
    return (op.kind == ptx::Operand::Kind::Special &&
            (op.text.starts_with("%ctaid") || op.text.starts_with("%cluster"))) ||
           std::any_of(op.elements.begin(), op.elements.end(),
                       [&](const ptx::Operand& e) { return self(e, self); });
  };
  return std::any_of(kernel_.function->body.begin(), kernel_.function->body.end(),
                     [&](const ptx::Instruction& i) {
                       return std::any_of(i.operands.begin(), i.operands.end(),
                                          [&](const ptx::Operand& op) { return names(op, names); });
                     });
}

void CtaExecutor::execute_fence(const Warp& warp, uint32_t mask, const isa::Decoded& d) {
  const bool between_ctas = d.scope == isa::Scope::Gpu || d.scope == isa::Scope::Sys;
  if (d.text->has("mbarrier_init") && order_.crosses_warps())
    for (uint32_t m = mask; m; m &= m - 1) {
      const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(std::countr_zero(m));
      HappensBefore::Clock& made = made_released_[thread];
      made.assign(threads_, 0);
      made[thread] = order_.clock(thread);
      // What it makes from here on is not among them.
      HappensBefore::Clock ignored;
      const uint32_t threads[] = {thread};
      order_.arrive(threads, ignored);
    }
  if (waits_)
    for (uint32_t m = mask; m; m &= m - 1)
      fence_flags(warp.index * kWarpSize + static_cast<uint32_t>(std::countr_zero(m)),
                  between_ctas);
  if (!takes_tickets_ || waits_ || !between_ctas) return;
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint32_t thread = warp.index * kWarpSize + static_cast<uint32_t>(std::countr_zero(m));
    if (behind_ticket(thread) && !has_acquired(thread)) acquired_.push_back(moment(thread));
    const auto note = [&](const Moment& when, std::optional<Moment>& fence) {
      if (!fence && is_before(when, thread)) fence = moment(thread);
    };
    for (GlobalTensor& t : tensors_) {
      for (auto& [cell, entry] : t.stores) note(entry.when, entry.fence);
      for (auto& [when, fence] : t.atomic_moments) note(when, fence);
    }
  }
}

std::optional<Word> CtaExecutor::take_ticket(const Address& at, uint64_t step, uint32_t thread,
                                             const isa::Decoded& d, uint32_t pc) {
  if (ticket_ || at.location.place != Place::Tensor || fork_ || predicated_ || when_.valid())
    return std::nullopt;
  const TensorId id = at.location.object;
  const tensor::TensorInfo& info = (*state_.tensors)[id];
  const int width = ptx::bits_of(d.type) / 8;
  if (info.is_float() || width != info.element_size() || at.location.offset % width)
    return std::nullopt;
  const MotionId motion = cell_motion(at.motion, width);
  const int64_t cell = at.location.offset / width;
  GlobalTensor& t = tensors_[id];
  if (t.stores.contains(cell) || t.atomics_of.contains(cell)) return std::nullopt;
  const Word start = older_content(id, cell, motion);
  if (!start.is_number() || start.motion) return std::nullopt;

  // CTAs that take numbers from this counter; of the class those with as many stay.
  absl::flat_hash_map<int64_t, int64_t> sharing;
  if (!known_tickets_)
    for (size_t i = 0; i < motions_->size(); ++i) ++sharing[cell + motions_->value(motion, i)];
  for (const auto& [key, count] : known_tickets_ ? *known_tickets_ : tickets_)
    if (key.first == id) sharing[key.second] += count;
  const int64_t total = sharing[cell];
  motions_->narrow([&](size_t i) { return sharing[cell + motions_->value(motion, i)] == total; });
  constexpr int64_t kMost = 1 << 16;
  if (total > kMost) return std::nullopt;
  Ticket ticket;
  ticket.place = {id, cell, motion, total, false};
  ticket.when = moment(thread);
  ticket.instruction = pc;
  ticket.start = start.bits;
  ticket.step = step;
  ticket.width = 8 * width;
  for (GlobalTensor& g : tensors_) {
    const auto released = [&](const std::optional<Moment>& fence) {
      return fence && is_before(*fence, thread);
    };
    for (auto& [c, entry] : g.stores) entry.released = released(entry.fence);
    for (size_t i = 0; i < g.atomics.size(); ++i)
      g.atomics[i].released = released(g.atomic_moments[i].second);
  }
  const auto number = [&](int64_t i) {
    return Word::concrete((start.bits + step * static_cast<uint64_t>(i)) &
                          (width == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * width)) - 1));
  };
  Word mine;
  const uint64_t ctas = uint64_t{launch_.grid[0]} * launch_.grid[1] * launch_.grid[2];
  if (!last_ && !motion && static_cast<uint64_t>(total) == ctas && !reads_ctaid()) {
    // Each CTA gets another of these numbers, and CTAs differ in nothing else: whichever gets
    // which, the launch does the same.
    ticket.slot = true;
    std::vector<int64_t> numbers(motions_->size());
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<int64_t>(step) * cta_number(motions_->ctas()[i], launch_.grid);
    const int64_t first = numbers[0];
    for (int64_t& n : numbers) n -= first;
    mine = number(first / static_cast<int64_t>(step));
    mine.motion = motions_->from_values(std::move(numbers));
  } else if (last_ || total == 1) {
    ticket.place.decides = last_ != nullptr;
    mine = number(total - 1);
  } else {
    const Term leaf = poison_term(
        fmt::format("{} {} ticket", kernel_.function->name, pc), term::bv(8 * width), ++opaques_,
        {PoisonSource::Kind::Refused,
         "",
         {kernel_.function->body[pc].spelling(), span(pc), "the old value of an atomic is used"},
         {}});
    ticket.number = leaf;
    mine = Word::symbolic(leaf);
  }
  ticket_ = ticket;
  return mine;
}

void CtaExecutor::decide_by_ticket(Warp& warp, uint32_t mask, const isa::Decoded& d) {
  if (!ticket_ || !ticket_->number.valid()) return;
  const ptx::Operand& target = d.text->operands[0];
  for (uint32_t m = mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const Word word = warp.registers[target.reg].get(lane);
    if (word.tag != Tag::Bool || !store_.has_poison(word.term)) continue;
    auto [it, fresh] = ticket_answers_.try_emplace(word.term);
    if (fresh) {
      // One answer for all numbers but the last.
      for (int64_t i = 0; i + 1 < ticket_->place.sharing; ++i) {
        const Term value =
            store_.bits(ticket_->start + ticket_->step * static_cast<uint64_t>(i), ticket_->width);
        term::Substitution with(
            store_,
            [&](const Term& t) {
              return t == ticket_->number ? std::optional(value) : std::nullopt;
            },
            [&](const Term& t) { return store_.has_poison(t); });
        const std::optional<bool> known = store_.as_bool(with(word.term));
        if (!known || (i > 0 && known != it->second)) {
          it->second.reset();
          break;
        }
        it->second = known;
      }
    }
    if (!it->second) continue;
    ticket_->place.decides = true;
    write(warp, lane, target, Word::concrete(*it->second));
  }
}

bool CtaExecutor::reads_released(TensorId id, int64_t cell, MotionId motion, bool weak,
                                 uint32_t thread, uint32_t pc) {
  const tensor::TensorVersion& after = *last_->after.versions[id];
  if (&after == state_.versions[id].get()) return true;
  const auto key = [&](const tensor::ClassPieces& cls, size_t ordinal) {
    return std::pair(cls.ticket->tensor,
                     cls.ticket->cell + cls.motions->value(cls.ticket->motion, ordinal));
  };
  const tensor::Ticket& own = ticket_->place;
  const bool one = !motion && !own.motion;
  for (size_t i = 0; i < motions_->size(); ++i) {
    if (!motions_->alive(i)) continue;
    const int64_t at = cell + motions_->value(motion, i);
    std::vector<tensor::Writer> writers = after.own_atomics(at);
    if (const auto w = after.own_writer(at)) writers.push_back(*w);
    for (const tensor::Writer& w : writers) {
      if (w.cta() == motions_->ctas()[i] || (id == own.tensor && at == own.cell)) continue;
      const bool released = w.atomic ? w.update().released : w.cell_store().released;
      const bool shares = key(w.class_pieces(), w.ordinal) ==
                          std::pair(own.tensor, own.cell + motions_->value(own.motion, i));
      if (released && shares) {
        if (has_acquired(thread)) continue;
        if (weak || !session_.options.assumes("volatile-order")) {
          abort(pc, "what other blocks wrote is read behind their counter without a fence");
          return false;
        }
        out_.assumptions.insert({"volatile-order",
                                 "a volatile load behind a counter sees what its other blocks "
                                 "released before they counted, without a fence"});
        continue;
      }
      Accessed a = access(w.atomic ? Accessed::Kind::Atomic : Accessed::Kind::Write,
                          w.origin().thread, w.origin().instruction);
      a.block = {w.cta()[0], w.cta()[1], w.cta()[2]};
      Accessed b = access(Accessed::Kind::Read, thread, pc);
      a.where = b.where = (*state_.tensors)[id].name;
      a.index = b.index = (*state_.tensors)[id].index_text(at);
      report(DefectKind::GlobalRace,
             shares ? "no fence orders the write before the counter that the reader goes by"
                    : "two accesses that nothing orders, at least one a write",
             {a, b});
      return false;
    }
    if (one) break;
  }
  return true;
}

}  // namespace coequal::exec
