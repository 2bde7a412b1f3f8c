// Joins the executions of a class on several paths, a pair of them at a time.
#include "exec/paths.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <iterator>

namespace coequal::exec {

using tensor::AtomicUpdate;
using tensor::CellStore;
using tensor::GlobalRead;
using tensor::TensorPiece;
using term::Kind;

namespace {

// A branch inside a loop doubles the paths a turn: beyond these it is refused.
constexpr size_t kMostConditions = 12;
constexpr int kMostExecutions = 64;

class Paths : private term::MotionReconciler {
 public:
  Paths(Session& session, const ProgramState& state, const ClassRuns& runs)
      : session_(session), store_(session.store), state_(state), runs_(runs) {}

  CtaOutcome follow(const Path& path, const Raced& raced) {
    CtaOutcome outcome = runs_.execute(path, raced);
    const bool splits = outcome.split.valid() && !outcome.out_of_budget &&
                        ++executions_ <= kMostExecutions &&
                        path.conditions.size() < kMostConditions;
    if (!splits) {
      if (!path.conditions.empty()) finish(path, outcome);
      return outcome;
    }
    Path way = path;
    way.motions = outcome.pieces.motions;
    way.conditions.emplace_back(outcome.split, true);
    CtaOutcome with = follow(way, {});
    with.thread_instructions += outcome.thread_instructions;
    if (with.aborted) return with;
    way.conditions.back().second = false;
    CtaOutcome without = follow(way, {});
    if (with.pieces.ticket || without.pieces.ticket) return outcome;
    return join(outcome.split, std::move(with), std::move(without));
  }

 private:
  // What happens on a path happens under its conditions.
  void finish(const Path& path, CtaOutcome& outcome) {
    Raced raced;
    runs_.settle(path, raced, outcome);
    outcome.raced = {};
    motions_ = path.motions.get();
    store_.set_reconciler(this);
    Term all;
    for (const auto& [condition, holds] : path.conditions) {
      const Term c = holds ? condition : store_.make(Kind::Not, {condition});
      all = all.valid() ? both(all, c) : c;
    }
    for (Suspicion& s : outcome.suspicions)
      s.value = store_.make(Kind::Select, {all, s.value, nothing(store_.type(s.value))});
    for (Defect& d : outcome.defects) {
      const bool race = d.kind == DefectKind::SharedRace || d.kind == DefectKind::GlobalRace;
      outcome.suspicions.push_back({std::move(d), value_where(session_, all), race});
    }
    outcome.defects.clear();
    store_.set_reconciler(nullptr);
  }

  Term nothing(term::Type type) {
    return type == term::kReal ? store_.real(0) : store_.bits(0, type.width);
  }

  CtaOutcome join(const Term& condition, CtaOutcome a, CtaOutcome b) {
    motions_ = a.pieces.motions.get();
    store_.set_reconciler(this);
    const Term other = store_.make(Kind::Not, {condition});
    const auto append = [](auto& to, auto& from) {
      to.insert(to.end(), std::make_move_iterator(from.begin()),
                std::make_move_iterator(from.end()));
    };
    append(a.defects, b.defects);
    append(a.suspicions, b.suspicions);
    append(a.refusals, b.refusals);
    a.notes.insert(b.notes.begin(), b.notes.end());
    a.assumptions.insert(b.assumptions.begin(), b.assumptions.end());
    a.written_unexpectedly.insert(b.written_unexpectedly.begin(), b.written_unexpectedly.end());
    a.aborted |= b.aborted;
    a.out_of_budget |= b.out_of_budget;
    a.thread_instructions += b.thread_instructions;
    // Those of two executions are not comparable.
    a.pieces.histories = nullptr;
    if (!a.aborted) {
      join_reads(condition, other, a.pieces.reads, b.pieces.reads);
      for (TensorPiece& piece : b.pieces.tensors) {
        auto same = std::find_if(a.pieces.tensors.begin(), a.pieces.tensors.end(),
                                 [&](const TensorPiece& p) { return p.tensor == piece.tensor; });
        if (same == a.pieces.tensors.end()) {
          a.pieces.tensors.push_back({.tensor = piece.tensor, .stores = {}, .atomics = {}});
          same = std::prev(a.pieces.tensors.end());
        }
        join_stores(condition, other, *same, piece.stores);
        join_atomics(condition, other, same->atomics, piece.atomics);
        joined_.push_back(piece.tensor);
      }
      for (TensorPiece& piece : a.pieces.tensors) {
        if (std::find(joined_.begin(), joined_.end(), piece.tensor) != joined_.end()) continue;
        join_stores(condition, other, piece, {});
        join_atomics(condition, other, piece.atomics, {});
      }
      joined_.clear();
      std::sort(a.pieces.tensors.begin(), a.pieces.tensors.end(),
                [](const TensorPiece& p, const TensorPiece& q) { return p.tensor < q.tensor; });
    }
    store_.set_reconciler(nullptr);
    return a;
  }

  Term both(const Term& condition, const Term& guard) {
    return guard.valid() ? store_.make(Kind::And, {condition, guard}) : condition;
  }

  void join_stores(const Term& condition, const Term& other, TensorPiece& piece,
                   std::vector<CellStore> more) {
    std::vector<CellStore> out;
    const auto key = [](const CellStore& s) { return std::pair(s.motion, s.cell); };
    auto a = piece.stores.begin();
    auto b = more.begin();
    while (a != piece.stores.end() || b != more.end()) {
      const bool first = b == more.end() || (a != piece.stores.end() && key(*a) <= key(*b));
      const bool second = a == piece.stores.end() || (b != more.end() && key(*b) <= key(*a));
      if (first && second)
        out.push_back(one_of(condition, other, *a++, *b++));
      else
        out.push_back(first ? under(condition, piece.tensor, *a++)
                            : under(other, piece.tensor, *b++));
    }
    piece.stores = std::move(out);
  }

  // Both executions store to the cell.
  CellStore one_of(const Term& condition, const Term& other, const CellStore& a,
                   const CellStore& b) {
    CellStore out = a;
    out.value =
        a.value == b.value ? a.value : store_.make(Kind::Select, {condition, a.value, b.value});
    out.guarded = a.guarded || b.guarded;
    out.before_atomics = a.before_atomics && b.before_atomics;
    out.released = a.released && b.released;
    out.other_writes = a.other_writes || b.other_writes;
    out.known_bits = a.known_bits && b.known_bits;
    out.history = out.stored_history = 0;
    out.guard = {};
    out.stored = {};
    if (out.guarded && (!a.guarded || a.guard.valid()) && (!b.guarded || b.guard.valid()))
      out.guard = store_.make(Kind::Or, {both(condition, a.guard), both(other, b.guard)});
    return out;
  }

  // Only the execution under the condition stores to the cell; in the other it stays as it was.
  CellStore under(const Term& condition, TensorId tensor, const CellStore& s) {
    CellStore out = s;
    const Term old = state_.versions[tensor]->value_moving(s.cell, s.motion, *motions_, store_);
    out.value = store_.make(Kind::Select, {condition, s.value, old});
    out.guard = !s.guarded || s.guard.valid() ? both(condition, s.guard) : Term{};
    if (!s.guarded) out.stored = s.value;
    out.guarded = true;
    out.known_bits = false;
    out.history = out.stored_history = 0;
    return out;
  }

  void join_reads(const Term& condition, const Term& other, std::vector<GlobalRead>& a,
                  std::vector<GlobalRead>& b) {
    const auto key = [](const GlobalRead& r) {
      return std::tuple(r.tensor, r.cell, r.cells, r.motion, r.origin.thread, r.origin.instruction,
                        r.non_coherent, r.guard);
    };
    join_alike(condition, other, a, b, key);
  }

  void join_atomics(const Term& condition, const Term& other, std::vector<AtomicUpdate>& a,
                    std::vector<AtomicUpdate> b) {
    const auto key = [](const AtomicUpdate& u) {
      return std::tuple(u.cell, u.motion, static_cast<int>(u.kind), u.value, u.origin.thread,
                        u.origin.instruction, u.scope_cta, u.released, u.guard);
    };
    join_alike(condition, other, a, b, key);
  }

  // What both executions do alike stays as it is, all else gets its condition.
  template <class T, class Key>
  void join_alike(const Term& condition, const Term& other, std::vector<T>& a, std::vector<T>& b,
                  Key key) {
    absl::flat_hash_map<decltype(key(a[0])), std::pair<int, int>> counts;
    for (const T& x : a) ++counts[key(x)].first;
    for (const T& x : b) ++counts[key(x)].second;
    for (auto& [k, count] : counts) {
      const int alike = std::min(count.first, count.second);
      count = {alike, alike};
    }
    for (T& x : a)
      if (int& left = counts.at(key(x)).first; left > 0)
        --left;
      else
        x.guard = both(condition, x.guard);
    for (T& x : b)
      if (int& left = counts.at(key(x)).second; left > 0) {
        --left;
      } else {
        x.guard = both(other, x.guard);
        a.push_back(std::move(x));
      }
  }

  void equalize(term::MotionId a, term::MotionId b) override { motions_->equalize(a, b); }

  Session& session_;
  term::TermStore& store_;
  const ProgramState& state_;
  const ClassRuns& runs_;
  tensor::MotionTable* motions_ = nullptr;
  std::vector<TensorId> joined_;
  int executions_ = 0;
};

}  // namespace

CtaOutcome follow_paths(Session& session, const ProgramState& state, const Raced& raced,
                        const ClassRuns& runs) {
  return Paths(session, state, runs).follow({}, raced);
}

}  // namespace coequal::exec
