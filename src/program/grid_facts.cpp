// Conflicts between the CTAs of a launch, atomics that do not commute, and cells that stay
// unwritten.
#include "program/grid_facts.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/container/inlined_vector.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/check.h"
#include "exec/unrounded.h"

namespace coequal::program {
namespace {

using tensor::AtomicKind;
using tensor::CellStore;
using tensor::ClassPieces;
using tensor::Cta;
using tensor::GlobalRead;
using tensor::LaunchPieces;
using tensor::MotionTable;
using tensor::Origin;
using tensor::TensorId;
using tensor::TensorInfo;
using tensor::TensorPiece;
using tensor::TensorVersion;
using tensor::Writer;
using term::Term;
using term::TermStore;

std::string block_text(const Cta& c) { return fmt::format("({},{},{})", c[0], c[1], c[2]); }

std::string_view kind_word(AtomicKind kind) {
  switch (kind) {
    case AtomicKind::Add:
      return "add";
    case AtomicKind::Mul:
      return "mul";
    case AtomicKind::Min:
    case AtomicKind::MinSigned:
      return "min";
    case AtomicKind::Max:
    case AtomicKind::MaxSigned:
      return "max";
    case AtomicKind::And:
      return "and";
    case AtomicKind::Or:
      return "or";
    case AtomicKind::Xor:
      return "xor";
  }
  return "atomic";
}

// One side of a conflict.
struct Side {
  Access::Kind kind;
  uint32_t cls, ordinal;
  Origin origin;
  Term guard{};                // the condition on data under which it happens; invalid: always
  bool guard_unknown = false;  // under some condition that is not given
};

// Whether stores of two CTAs leave the same bits.
class SameBits {
 public:
  // Perhaps: where the values are equal. Unknown: the values are equal. Ask: neither is known
  // without histories.
  enum class Answer : uint8_t { No, Yes, Perhaps, Unknown, Ask };

  explicit SameBits(TermStore& store) : store_(store) {}

  // Of what the cells hold (`value`), or of what was stored under guards that may hold both
  // (`stored`).
  Answer of_values(const TensorInfo& info, const Writer& a, const Writer& b) {
    const CellStore &s = a.cell_store(), &t = b.cell_store();
    return ask(info, a, b, s.value, t.value, s.history, t.history);
  }
  Answer of_stored(const TensorInfo& info, const Writer& a, const Writer& b) {
    const CellStore &s = a.cell_store(), &t = b.cell_store();
    return ask(info, a, b, s.stored, t.stored, s.stored_history, t.stored_history);
  }

 private:
  Answer ask(const TensorInfo& info, const Writer& a, const Writer& b, const Term& first,
             const Term& second, tensor::Histories::Id x, tensor::Histories::Id y) {
    const CellStore &s = a.cell_store(), &t = b.cell_store();
    if (info.is_float() && s.origin.instruction != t.origin.instruction) return Answer::No;
    if (!first.valid() || !second.valid() || s.other_writes || t.other_writes) return Answer::No;
    const Term value = tensor::at_cta(first, *a.class_pieces().motions, a.ordinal, store_);
    const Term other = tensor::at_cta(second, *b.class_pieces().motions, b.ordinal, store_);
    if (store_.has_poison(value) || store_.has_poison(other)) return Answer::No;
    const bool equal = value == other;
    // Of values that differ only those may agree that were chosen among several.
    if (!equal &&
        (s.origin.instruction != t.origin.instruction || !is_chosen(value) || !is_chosen(other)))
      return Answer::No;
    const Answer exactly = equal ? Answer::Yes : Answer::Perhaps;
    if (equal && s.known_bits && t.known_bits) return Answer::Yes;
    if (is_integral(value) && is_integral(other)) return exactly;
    const tensor::Histories *p = a.class_pieces().histories.get(),
                            *q = b.class_pieces().histories.get();
    if (!p || !q) return equal ? Answer::Unknown : Answer::Ask;
    if (!x || !y) return equal ? Answer::Unknown : Answer::No;
    if (p->is_exact(x) && q->is_exact(y)) return exactly;
    if (!equal) return Answer::No;
    if (!p->is_known(x) || !q->is_known(y)) return Answer::Unknown;
    return p->at_cta(x, *a.class_pieces().motions, a.ordinal) ==
                   q->at_cta(y, *b.class_pieces().motions, b.ordinal)
               ? Answer::Yes
           : p->steps(x) == q->steps(y) ? Answer::Unknown
                                        : Answer::No;
  }
  bool is_integral(const Term& value) {
    const auto [it, fresh] = integral_.try_emplace(value.shape());
    if (fresh) it->second = exec::is_integral(store_, value);
    return it->second;
  }
  // The largest of some, say.
  bool is_chosen(const Term& value) {
    const auto [it, fresh] = chosen_.try_emplace(value.shape());
    if (fresh) it->second = store_.arity(value) > 0 && exec::is_unrounded(store_, value);
    return it->second;
  }

  TermStore& store_;
  absl::flat_hash_map<term::ShapeId, bool> integral_, chosen_;
};

class Finder {
 public:
  Finder(char program, const LaunchPieces& launch, const std::vector<TensorInfo>& tensors,
         TermStore& store, const Budget& budget, const RefuteConflict& refute)
      : program_(program),
        launch_(launch),
        tensors_(tensors),
        store_(store),
        budget_(budget),
        same_bits_(store),
        refute_(refute) {}

  GridFacts run(std::vector<TensorStep> steps) {
    for (TensorStep& step : steps) examine(step);
    taint_readers();
    for (auto& [tensor, cells] : tainted_) {
      std::vector<int64_t> list(cells.begin(), cells.end());
      std::sort(list.begin(), list.end());
      out_.tainted.emplace_back(tensor, std::move(list));
    }
    return std::move(out_);
  }

 private:
  // Conflicts of one tensor between two instructions, told once.
  struct Pair {
    int64_t cell = 0;
    Side first, second;
    std::string message;
    int64_t count = 0;
  };
  using Writers = absl::InlinedVector<Writer, 2>;
  using PairKey = std::tuple<Access::Kind, uint32_t, Access::Kind, uint32_t, bool>;

  bool out_of_budget() {
    if (++ticks_ % 65536 == 0 && budget_.spent()) out_.complete = false;
    return !out_.complete;
  }

  void examine(const TensorStep& step) {
    step_ = &step;
    info_ = &tensors_[step.tensor];
    pairs_.clear();
    disputed_.clear();
    for (size_t i = 0; i < step.overlaps.size(); ++i) disputed_[step.overlaps[i].cell].push_back(i);
    write_write();
    atomics();
    for (uint32_t c = 0; c < launch_.classes.size(); ++c) reads(c);
    report();
  }

  Side side_of(const Writer& w) {
    Side s{w.atomic ? Access::Kind::Atomic : Access::Kind::Write, w.cls, w.ordinal, w.origin()};
    const Term& guard = w.atomic ? w.update().guard : w.cell_store().guard;
    if (guard.valid())
      s.guard = tensor::at_cta(guard, *w.class_pieces().motions, w.ordinal, store_);
    else
      s.guard_unknown = !w.atomic && w.cell_store().guarded;
    return s;
  }

  std::string message_of(int64_t cell, const Side& first, const Side& second,
                         bool non_coherent) const {
    const std::string where = fmt::format("{}[{}]", info_->name, info_->index_text(cell));
    const std::string one = block_text(cta(first)), two = block_text(cta(second));
    if (non_coherent)
      return fmt::format("a read-only load of {}, which the same launch writes", where);
    if (first.kind == Access::Kind::Read)
      return fmt::format("block {} reads {}, which block {} {} in the same launch", one, where, two,
                         second.kind == Access::Kind::Atomic ? "updates" : "writes");
    if (first.kind == Access::Kind::Write && second.kind == Access::Kind::Write)
      return fmt::format("blocks {} and {} write {} in no order", one, two, where);
    if (first.kind == Access::Kind::Write)
      return fmt::format("block {} writes {}, which block {} updates atomically in the same launch",
                         one, where, two);
    return fmt::format("blocks {} and {} update {} by atomics whose scope is one block", one, two,
                       where);
  }

  // Records a conflict; false if no input makes both sides happen.
  bool conflict(int64_t cell, const Side& first, const Side& second, bool non_coherent = false) {
    if (first.guard_unknown || second.guard_unknown) {
      refuse("st.global", first.guard_unknown ? first.origin : second.origin,
             message_of(cell, first, second, non_coherent) +
                 ", under conditions on data that are not followed");
      return true;
    }
    Term guard = first.guard;
    if (second.guard.valid())
      guard = guard.valid() ? store_.make(term::Kind::And, {guard, second.guard}) : second.guard;
    if (guard.valid()) {
      const std::optional<bool> known = store_.as_bool(guard);
      if (known && !*known) return false;
      if (!known) return possible(cell, first, second, non_coherent, guard);
    }
    auto [it, fresh] = pairs_.try_emplace(PairKey{first.kind, first.origin.instruction, second.kind,
                                                  second.origin.instruction, non_coherent});
    Pair& pair = it->second;
    ++pair.count;
    // The pair that is shown does not depend on the order of classes.
    auto order = [&](const Side& a, const Side& b, int64_t at) {
      return std::tuple(at, cta(a), a.origin.thread, cta(b), b.origin.thread);
    };
    if (!fresh && order(first, second, cell) >= order(pair.first, pair.second, pair.cell))
      return true;
    pair.cell = cell;
    pair.first = first;
    pair.second = second;
    pair.message = message_of(cell, first, second, non_coherent);
    return true;
  }

  // Whether a conflict under `guard` may happen. Translates of one condition have one answer, but
  // where they mention known values.
  bool possible(int64_t cell, const Side& first, const Side& second, bool non_coherent,
                const Term& guard) {
    const bool movable = !store_.has_pseudo(guard);
    if (movable) {
      auto it = answers_.find(guard.shape());
      if (it != answers_.end()) return it->second;
    }
    bool may_happen = true;
    if (refute_) {
      Defect defect;
      defect.kind = DefectKind::GlobalRace;
      defect.program = program_;
      defect.message = message_of(cell, first, second, non_coherent);
      defect.accesses = {access(first, cell), access(second, cell)};
      may_happen = !refute_(defect, guard);
    } else {
      refuse(first.kind == Access::Kind::Read ? "ld.global" : "st.global", first.origin,
             message_of(cell, first, second, non_coherent) + ", under conditions on data");
    }
    if (movable) answers_[guard.shape()] = may_happen;
    return may_happen;
  }

  const Cta& cta(const Side& s) const { return launch_.classes[s.cls].motions->ctas()[s.ordinal]; }

  void write_write() {
    std::map<uint32_t, std::pair<int64_t, int64_t>> same;  // instruction -> first cell, count
    std::set<int64_t> guarded_cells;
    absl::flat_hash_set<int64_t> seen_cells;
    for (const TensorVersion::Overlap& o : step_->overlaps) {
      if (out_of_budget()) return;
      if (!seen_cells.insert(o.cell).second) continue;
      // Each is compared with that of the first block: which pairs are shown depends on no order.
      const Writers writers = by_block(plain_writers(o.cell));
      for (size_t k = 1; k < writers.size(); ++k) {
        const Writer &first = writers[0], &other = writers[k];
        const CellStore &a = first.cell_store(), &b = other.cell_store();
        const SameBits::Answer alike = same_bits_.of_values(*info_, first, other);
        const bool guarded = a.guarded || b.guarded;
        if (alike == SameBits::Answer::Perhaps && !guarded) {
          if (differ(o.cell, first, other)) taint(o.cell);
          continue;
        }
        if (alike == SameBits::Answer::Yes || (alike == SameBits::Answer::Unknown && !guarded)) {
          auto [it, fresh] = same.try_emplace(a.origin.instruction, o.cell, 0);
          it->second.first = std::min(it->second.first, o.cell);
          ++it->second.second;
          if (alike == SameBits::Answer::Unknown) assume_same_rounding(o.cell, first, other);
          continue;
        }
        if (guarded) {
          guarded_cells.insert(o.cell);
          continue;
        }
        taint(o.cell);
        write_conflict(o.cell, first, other);
      }
    }
    for (int64_t cell : guarded_cells) guarded_writes(cell);
    for (const auto& [instruction, seen] : same)
      out_.notes.push_back(
          fmt::format("{}: several blocks write the same bits to {}[{}]{}", span_text(instruction),
                      info_->name, info_->index_text(seen.first),
                      seen.second > 1 ? fmt::format(" ({} times in all)", seen.second) : ""));
  }

  // Two blocks store values that are equal or not: whether some input makes them differ.
  bool differ(int64_t cell, const Writer& one, const Writer& two) {
    constexpr int kMostAsked = 4096;
    const auto value = [&](const Writer& w) {
      return tensor::at_cta(w.cell_store().value, *w.class_pieces().motions, w.ordinal, store_);
    };
    Side first = side_of(one), second = side_of(two);
    if (std::tuple(cta(second), second.origin.thread) < std::tuple(cta(first), first.origin.thread))
      std::swap(first, second);
    const Term a = value(one), b = value(two);
    const bool reals = store_.type(a).cls == term::TypeClass::Real;
    if (reals)
      out_.assumptions.insert({"signed-zero", "a zero is positive where blocks store one value"});
    if (++asked_ > kMostAsked) {
      refuse("st.global", first.origin,
             fmt::format("more values that several blocks store to {} than are compared",
                         info_->name));
      return true;
    }
    const Term unequal = store_.make(
        term::Kind::Not, {store_.make(reals ? term::Kind::Equal : term::Kind::BvEq, {a, b})});
    if (const auto known = store_.as_bool(unequal)) return *known && conflict(cell, first, second);
    first.guard = unequal;
    return conflict(cell, first, second);
  }

  // Of two executions of a class that were joined it is not even known what they did.
  void assume_same_rounding(int64_t cell, const Writer& a, const Writer& b) {
    const Origin& at = a.cell_store().origin;
    if (!a.class_pieces().histories || !b.class_pieces().histories) {
      refuse("st.global", at,
             fmt::format("several blocks store equal floats to {}[{}], and how they came about is "
                         "not followed beside branches on data around barriers",
                         info_->name, info_->index_text(cell)));
      taint(cell);
      return;
    }
    out_.assumptions.insert(
        {"same-rounding", fmt::format("equal floats that blocks store at {} are the same bits",
                                      span_text(at.instruction))});
  }

  static Writers by_block(Writers writers) {
    std::sort(writers.begin(), writers.end(), [](const Writer& a, const Writer& b) {
      const tensor::Cta &x = a.cta(), &y = b.cta();
      return std::tuple(x[2], x[1], x[0]) < std::tuple(y[2], y[1], y[0]);
    });
    return writers;
  }

  bool write_conflict(int64_t cell, const Writer& a, const Writer& b) {
    Side first = side_of(a), second = side_of(b);
    if (std::tuple(cta(second), second.origin.thread) < std::tuple(cta(first), first.origin.thread))
      std::swap(first, second);
    return conflict(cell, first, second);
  }

  // Several CTAs store to the cell, some under conditions on data: it has a value if no two of them
  // happen together, and the version knows it (TensorVersion joins stores by their guards).
  void guarded_writes(int64_t cell) {
    constexpr size_t kMost = 32;
    const Writers writers = by_block(plain_writers(cell));
    bool joined = true;
    for (const Writer& w : writers) joined &= w.cell_store().guard.valid();
    bool clash = !joined || writers.size() > kMost;
    if (clash) {
      refuse("st.global", writers[0].origin(),
             fmt::format(
                 "several blocks store to {}[{}] under conditions on data that are not followed",
                 info_->name, info_->index_text(cell)));
    } else {
      for (size_t i = 0; i < writers.size(); ++i)
        for (size_t k = i + 1; k < writers.size(); ++k) {
          const SameBits::Answer held = same_bits_.of_values(*info_, writers[i], writers[k]),
                                 put = same_bits_.of_stored(*info_, writers[i], writers[k]);
          if (held == SameBits::Answer::Yes || put == SameBits::Answer::Yes) continue;
          // What was stored says more than what the cells hold where nothing is stored.
          const bool both =
              writers[i].cell_store().stored.valid() && writers[k].cell_store().stored.valid();
          if ((both ? put : held) == SameBits::Answer::Unknown)
            assume_same_rounding(cell, writers[i], writers[k]);
          else
            clash |= write_conflict(cell, writers[i], writers[k]);
        }
    }
    if (clash) taint(cell);
  }

  void atomics() {
    // Without plain stores, with one kind and wide scopes, updates of all cells commute and nothing
    // need be expanded.
    std::set<AtomicKind> kinds;
    bool narrow = false, plain = false, odd = false;
    for (const ClassPieces& cls : launch_.classes)
      for (const TensorPiece& piece : cls.tensors) {
        if (piece.tensor != step_->tensor) continue;
        plain |= !piece.stores.empty();
        for (const tensor::AtomicUpdate& u : piece.atomics) {
          kinds.insert(u.kind);
          narrow |= u.scope_cta;
          odd |= !representable(u);
        }
      }
    has_atomics_ = !kinds.empty();
    if (!has_atomics_ || (kinds.size() == 1 && !narrow && !plain && !odd)) return;
    for (int64_t cell : step_->after->own_atomic_cells()) {
      if (out_of_budget()) return;
      std::vector<Writer> updates = step_->after->own_atomics(cell);
      const Writer& first = updates.front();
      const Writer* other_kind = nullptr;
      const Writer* other_cta = nullptr;
      const Writer* scoped = nullptr;
      for (const Writer& w : updates) {
        if (w.update().kind != first.update().kind) other_kind = &w;
        if (!w.same_cta(first)) other_cta = &w;
        if (w.update().scope_cta && !scoped) scoped = &w;
        if (!representable(w.update())) {
          taint(cell);
          refuse(fmt::format("atom.{}", kind_word(w.update().kind)), w.origin(),
                 fmt::format("an atomic {} on bits of {} is not modelled",
                             kind_word(w.update().kind), info_->name));
        }
      }
      if (other_kind) {
        taint(cell);
        refuse(fmt::format("atom.{} and atom.{}", kind_word(first.update().kind),
                           kind_word(other_kind->update().kind)),
               other_kind->origin(),
               fmt::format("atomics of different kinds update {}[{}] in no order", info_->name,
                           info_->index_text(cell)));
      }
      if (scoped && other_cta) {
        for (const Writer& w : updates) {
          if (w.same_cta(*scoped) || !conflict(cell, side_of(*scoped), side_of(w))) continue;
          taint(cell);
          break;
        }
      }
      for (const Writer& w : plain_writers(cell)) {
        bool met = false, others = false;
        for (const Writer& u : updates) {
          if (u.same_cta(w)) continue;
          others = true;
          if (!met) met = conflict(cell, side_of(w), side_of(u));
        }
        if (!others && w.cell_store().before_atomics) continue;
        // Even if conditions keep them apart: the gathered value knows no stores of other CTAs.
        taint(cell);
        if (!met)
          refuse("st.global", w.origin(),
                 fmt::format("a plain store and atomics meet at {}[{}]", info_->name,
                             info_->index_text(cell)));
      }
    }
  }

  bool representable(const tensor::AtomicUpdate& u) const {
    if (!(store_.type(u.value) == tensor::leaf_type(info_->dtype))) return false;
    if (!info_->is_float()) return u.kind != AtomicKind::Mul;
    return u.kind == AtomicKind::Add || u.kind == AtomicKind::Mul || u.kind == AtomicKind::Min ||
           u.kind == AtomicKind::Max;
  }

  Writers plain_writers(int64_t cell) const {
    Writers out;
    if (std::optional<Writer> w = step_->after->own_writer(cell)) out.push_back(*w);
    if (auto it = disputed_.find(cell); it != disputed_.end())
      for (size_t i : it->second) out.push_back(step_->overlaps[i].second);
    return out;
  }

  void reads(uint32_t c) {
    const ClassPieces& cls = launch_.classes[c];
    const MotionTable& motions = *cls.motions;
    auto [low, high] = step_->after->own_range();
    absl::flat_hash_set<std::pair<int64_t, uint32_t>>
        own;  // cells that the class itself stores to, with their motion
    for (const TensorPiece& piece : cls.tensors)
      if (piece.tensor == step_->tensor)
        for (const CellStore& s : piece.stores) own.insert({s.cell, s.motion});
    absl::flat_hash_set<std::tuple<int64_t, uint32_t, uint32_t>> seen;
    for (const GlobalRead& read : cls.reads) {
      if (read.tensor != step_->tensor) continue;
      MotionTable::Range range = motions.range(read.motion);
      for (int64_t cell = read.cell; cell < read.cell + read.cells; ++cell) {
        if (cell + range.max < low || cell + range.min > high) continue;
        if (!read.guard.valid() &&
            !seen.insert({cell, read.motion, read.origin.instruction}).second)
          continue;
        // Each CTA reads a cell that it writes itself and nobody else does.
        bool private_cell = !read.non_coherent && !has_atomics_ && disputed_.empty() &&
                            own.contains({cell, read.motion});
        if (!private_cell) expand(c, read, cell);
        if (!out_.complete) return;
      }
    }
  }

  // Looks at the cell that each CTA reads.
  void expand(uint32_t c, const GlobalRead& read, int64_t cell) {
    const MotionTable& motions = *launch_.classes[c].motions;
    for (uint32_t i = 0; i < motions.size(); ++i) {
      if (!motions.alive(i)) continue;
      if (out_of_budget()) return;
      const int64_t at = cell + motions.value(read.motion, i);
      const Writers writers = plain_writers(at);
      if (writers.empty() && !has_atomics_) continue;
      Side reader{Access::Kind::Read, c, i, read.origin};
      if (read.guard.valid()) reader.guard = tensor::at_cta(read.guard, motions, i, store_);
      auto meets = [&](const Writer& w) {
        if (!conflict(at, reader, side_of(w), read.non_coherent)) return false;
        raced_readers_.insert({c, i});
        return true;
      };
      // The executor orders accesses that meet at the representative; a store to another cell there
      // that meets the read at this CTA alone has no known order with it.
      bool met = false, hidden = false;
      for (const Writer& w : writers) {
        if (w.cls != c || w.ordinal != i || read.non_coherent)
          met = met || meets(w);
        else
          hidden |= w.cell_store().cell != cell;
      }
      if (hidden && !met) {
        raced_readers_.insert({c, i});
        refuse("ld.global", read.origin,
               fmt::format("block {} reads {}[{}] and stores to it through another address: their "
                           "order is not known",
                           block_text(motions.ctas()[i]), info_->name, info_->index_text(at)));
      }
      if (met || !has_atomics_) continue;
      for (const Writer& w : step_->after->own_atomics(at)) {
        if (w.cls != c || w.ordinal != i || read.non_coherent) {
          if (meets(w)) break;
        } else if (w.update().cell != cell) {
          // As above: the executor orders the two where they meet at the representative.
          raced_readers_.insert({c, i});
          refuse("ld.global", read.origin,
                 fmt::format("a block reads {}[{}] and updates it through another address: their "
                             "order is not known",
                             info_->name, info_->index_text(at)));
        }
      }
    }
  }

  void taint(int64_t cell) { tainted_[step_->tensor].insert(cell); }

  // What a CTA stored after reading a raced cell is one interleaving's.
  void taint_readers() {
    for (auto [c, ordinal] : raced_readers_) {
      const ClassPieces& cls = launch_.classes[c];
      for (const TensorPiece& piece : cls.tensors) {
        auto& cells = tainted_[piece.tensor];
        for (const CellStore& s : piece.stores)
          cells.insert(s.cell + cls.motions->value(s.motion, ordinal));
        for (const tensor::AtomicUpdate& u : piece.atomics)
          cells.insert(u.cell + cls.motions->value(u.motion, ordinal));
      }
    }
    std::erase_if(tainted_, [](const auto& entry) { return entry.second.empty(); });
  }

  void refuse(std::string instruction, const Origin& origin, std::string reason) {
    if (!refused_.insert({step_->tensor, origin.instruction, instruction}).second) return;
    out_.refusals.push_back({std::move(instruction), span(origin.instruction), std::move(reason)});
  }

  SourceSpan span(uint32_t instruction) const {
    return instruction < launch_.spans.size() ? launch_.spans[instruction] : SourceSpan{};
  }
  std::string span_text(uint32_t instruction) const { return to_string(span(instruction)); }

  Access access(const Side& s, int64_t cell) const {
    Access a;
    a.kind = s.kind;
    const std::array<uint32_t, 3> thread = launch_.thread_index(s.origin.thread);
    const std::array<uint32_t, 3> block = launch_.block_index(cta(s), s.origin.thread);
    for (int d = 0; d < 3; ++d) {
      a.thread[d] = thread[d];
      a.block[d] = block[d];
    }
    a.launch = launch_.launch;
    a.where = info_->name;
    a.index = info_->index_text(cell);
    a.bytes = info_->element_size();
    a.span = span(s.origin.instruction);
    return a;
  }

  void report() {
    if (pairs_.empty()) return;
    std::vector<const Pair*> list;
    for (const auto& [key, pair] : pairs_) list.push_back(&pair);
    std::stable_sort(list.begin(), list.end(),
                     [](const Pair* a, const Pair* b) { return a->cell < b->cell; });
    Defect defect;
    defect.kind = DefectKind::GlobalRace;
    defect.program = program_;
    defect.message = list[0]->message;
    defect.accesses = {access(list[0]->first, list[0]->cell),
                       access(list[0]->second, list[0]->cell)};
    defect.count = list[0]->count;
    for (size_t i = 1; i < list.size(); ++i) {
      const Pair& p = *list[i];
      defect.also.push_back(fmt::format("{} ({} and {}{})", p.message,
                                        span_text(p.first.origin.instruction),
                                        span_text(p.second.origin.instruction),
                                        p.count > 1 ? fmt::format(", {} times", p.count) : ""));
    }
    out_.defects.push_back(std::move(defect));
  }

  char program_;
  const LaunchPieces& launch_;
  const std::vector<TensorInfo>& tensors_;
  TermStore& store_;
  const Budget& budget_;
  SameBits same_bits_;
  GridFacts out_;
  uint64_t ticks_ = 0;
  int asked_ = 0;

  const TensorStep* step_ = nullptr;
  const TensorInfo* info_ = nullptr;
  bool has_atomics_ = false;
  std::map<PairKey, Pair> pairs_;
  absl::flat_hash_map<int64_t, std::vector<size_t>> disputed_;  // cell -> overlaps

  std::map<TensorId, absl::flat_hash_set<int64_t>> tainted_;
  std::set<std::pair<uint32_t, uint32_t>> raced_readers_;  // class, CTA
  std::set<std::tuple<TensorId, uint32_t, std::string>> refused_;
  const RefuteConflict& refute_;
  absl::flat_hash_map<term::ShapeId, bool>
      answers_;  // whether conflicts under such a guard may happen
};

}  // namespace

bool GridFacts::is_tainted(TensorId tensor, int64_t cell) const {
  for (const auto& [id, cells] : tainted)
    if (id == tensor) return std::binary_search(cells.begin(), cells.end(), cell);
  return false;
}

GridFacts grid_facts(char program, const LaunchPieces& launch,
                     const std::vector<TensorInfo>& tensors, std::vector<TensorStep> steps,
                     TermStore& store, const Budget& budget, const RefuteConflict& refute) {
  return Finder(program, launch, tensors, store, budget, refute).run(std::move(steps));
}

std::vector<TensorStep> next_versions(exec::Session& session, const exec::ProgramState& state,
                                      const std::shared_ptr<const LaunchPieces>& launch) {
  std::set<TensorId> written;
  for (const ClassPieces& cls : launch->classes)
    for (const TensorPiece& piece : cls.tensors)
      if (!piece.stores.empty() || !piece.atomics.empty()) written.insert(piece.tensor);
  std::vector<TensorStep> steps;
  for (TensorId id : written) {
    TensorStep step;
    step.tensor = id;
    // Two programs, and what is decided from them, share the memory.
    const uint64_t part = (static_cast<uint64_t>(session.options.memory_mib) << 20) / 4;
    step.after =
        TensorVersion::after(state.versions[id], launch, id, session.store, step.overlaps, part);
    steps.push_back(std::move(step));
  }
  return steps;
}

bool asks_for_histories(const std::vector<TensorStep>& steps,
                        const std::vector<TensorInfo>& tensors, TermStore& store) {
  SameBits same(store);
  const auto unknown = [](SameBits::Answer a) {
    return a == SameBits::Answer::Unknown || a == SameBits::Answer::Ask;
  };
  for (const TensorStep& step : steps)
    for (const TensorVersion::Overlap& o : step.overlaps)
      if ((!o.first.class_pieces().histories || !o.second.class_pieces().histories) &&
          (unknown(same.of_values(tensors[step.tensor], o.first, o.second)) ||
           unknown(same.of_stored(tensors[step.tensor], o.first, o.second))))
        return true;
  return false;
}

GridFacts apply_launch(exec::Session& session, exec::ProgramState& state,
                       std::shared_ptr<const LaunchPieces> launch, std::vector<TensorStep> steps,
                       const RefuteConflict& refute) {
  const std::vector<TensorInfo>& tensors = *state.tensors;
  for (const TensorStep& step : steps) state.versions[step.tensor] = step.after;
  GridFacts facts = grid_facts(state.name, *launch, tensors, std::move(steps), session.store,
                               session.budget, refute);
  for (const auto& [id, cells] : facts.tainted) {
    const TensorInfo& info = tensors[id];
    term::Group group;
    group.kind = term::Group::Kind::Poison;
    group.name = info.name;
    group.dtype = info.dtype;
    group.type = tensor::leaf_type(info.dtype);
    exec::PoisonSource source;
    source.what =
        fmt::format("tensor '{}' after launch {} ({})", info.name, launch->launch, launch->kernel);
    if (facts.defects.empty() && !facts.refusals.empty()) {
      source.kind = exec::PoisonSource::Kind::Refused;
      source.refusal = facts.refusals.front();
      group.kind = term::Group::Kind::Refused;
    } else {
      source.kind = exec::PoisonSource::Kind::Tainted;
      if (!facts.defects.empty()) source.defect = facts.defects.front();
    }
    term::GroupId leaves = session.store.add_group(std::move(group));
    session.poison[leaves] = std::move(source);
    state.versions[id] = TensorVersion::with_poison(state.versions[id], cells, leaves);
  }
  return facts;
}

std::optional<Defect> unwritten_cells(char program, const TensorVersion& version,
                                      const std::string& output) {
  const TensorInfo& info = version.info();
  if (info.init != TensorInfo::Init::Empty) return std::nullopt;
  int64_t count = 0, first = -1;
  auto found = [&](int64_t cell, int64_t n) {
    if (count == 0) first = cell;
    count += n;
  };
  if (!info.strided) {
    for (int64_t cell = 0; cell < info.storage_cells;) {
      TensorVersion::Run run = version.run(cell, info.storage_cells - cell);
      if (run.kind == TensorVersion::Run::Kind::Initial) found(cell, run.length);
      cell += run.length;
    }
  } else {
    const int64_t elements = info.elements();
    for (int64_t e = 0; e < elements; ++e) {
      int64_t cell = info.cell_of_element(e);
      if (version.run(cell, 1).kind == TensorVersion::Run::Kind::Initial) found(cell, 1);
    }
  }
  if (count == 0) return std::nullopt;
  Defect defect;
  defect.kind = DefectKind::UninitializedRead;
  defect.program = program;
  const std::string index = info.index_text(first);
  const std::string where = index.empty() ? output : fmt::format("{}[{}]", output, index);
  defect.message =
      count == 1 ? fmt::format("output cell {} is never written", where)
                 : fmt::format("{} output cells are never written, the first is {}", count, where);
  Access access;
  access.where = info.name;
  access.index = index;
  access.bytes = info.element_size();
  defect.accesses = {access};
  defect.count = count;
  return defect;
}

}  // namespace coequal::program
