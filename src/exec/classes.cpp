// Covers a grid by classes of CTAs: one execution each, until every CTA belongs to one.
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <random>

#include "base/check.h"
#include "exec/class_run.h"
#include "exec/class_workers.h"

namespace coequal::exec {

namespace {

// The CTAs of a grid; of clusters the first one of each.
std::vector<tensor::Cta> all_ctas(const Launch& launch) {
  const auto &grid = launch.grid, &step = launch.cluster;
  std::vector<tensor::Cta> ctas;
  ctas.reserve(static_cast<size_t>(grid[0]) * grid[1] * grid[2] / launch.ranks());
  for (uint32_t z = 0; z < grid[2]; z += step[2])
    for (uint32_t y = 0; y < grid[1]; y += step[1])
      for (uint32_t x = 0; x < grid[0]; x += step[0]) ctas.push_back({x, y, z});
  return ctas;
}

// CTAs that belong to no class yet, in groups: those that left a class at one point with one value
// did the same up to there, so no class has CTAs of two groups. A launch whose CTAs all differ then
// costs what it has of differences, not the square of it.
class Waiting {
 public:
  Waiting(std::vector<tensor::Cta> ctas, const Options& options) {
    if (options.order == "backward") std::reverse(ctas.begin(), ctas.end());
    if (options.order == "random")
      std::shuffle(ctas.begin(), ctas.end(), std::mt19937_64(options.seed));
    for (const tensor::Cta& cta : ctas) {
      extent_[0] = std::max(extent_[0], cta[0] + 1), extent_[1] = std::max(extent_[1], cta[1] + 1);
    }
    size_t numbers = 0;
    for (const tensor::Cta& cta : ctas) numbers = std::max(numbers, number(cta) + 1);
    place_.resize(numbers);
    for (size_t i = 0; i < ctas.size(); ++i) place_[number(ctas[i])] = static_cast<uint32_t>(i);
    put(std::move(ctas));
  }

  bool empty() const { return groups_.empty(); }
  int64_t size() const {
    int64_t total = 0;
    for (const auto& [first, group] : groups_) total += static_cast<int64_t>(group.size());
    return total;
  }
  size_t groups() const { return groups_.size(); }
  uint32_t place(const tensor::Cta& cta) const { return place_[number(cta)]; }
  // The group with the CTA that comes first; that CTA is its first.
  std::vector<tensor::Cta> take() { return std::move(groups_.extract(groups_.begin()).mapped()); }
  void put(std::vector<tensor::Cta> group) {
    if (group.empty()) return;
    const uint32_t first = place(group.front());
    groups_.emplace(first, std::move(group));
  }
  void put_departed(const tensor::MotionTable& motions) {
    std::map<tensor::MotionTable::Departure, std::vector<tensor::Cta>> groups;
    for (size_t i = 0; i < motions.size(); ++i)
      if (!motions.alive(i)) groups[motions.departure(i)].push_back(motions.ctas()[i]);
    for (auto& [departure, group] : groups) put(std::move(group));
  }

 private:
  size_t number(const tensor::Cta& cta) const {
    return (static_cast<size_t>(cta[2]) * extent_[1] + cta[1]) * extent_[0] + cta[0];
  }

  std::array<uint32_t, 2> extent_{};
  std::vector<uint32_t> place_;                          // in the order of execution, by number
  std::map<uint32_t, std::vector<tensor::Cta>> groups_;  // by the place of the first CTA
};

std::pair<TensorId, int64_t> counter_of(const tensor::ClassPieces& cls, size_t ordinal) {
  return {cls.ticket->tensor, cls.ticket->cell + cls.motions->value(cls.ticket->motion, ordinal)};
}

// How many CTAs took numbers from each counter; whether each class was executed with that.
std::pair<TicketCounts, bool> count_tickets(const std::vector<tensor::ClassPieces>& classes) {
  TicketCounts counts;
  bool right = true;
  for (const tensor::ClassPieces& cls : classes)
    for (size_t i = 0; cls.ticket && i < cls.motions->size(); ++i)
      if (cls.motions->alive(i)) ++counts[counter_of(cls, i)];
  for (const tensor::ClassPieces& cls : classes)
    for (size_t i = 0; cls.ticket && i < cls.motions->size(); ++i)
      if (cls.motions->alive(i)) right &= counts.at(counter_of(cls, i)) == cls.ticket->sharing;
  return {std::move(counts), right};
}

// Whichever CTA of those that share a counter is the last must do the same. One of them stays.
std::optional<std::string> keep_one_last(std::vector<tensor::ClassPieces>& classes,
                                         const tensor::LaunchPieces& first,
                                         term::TermStore& store) {
  constexpr int64_t kMost = 1 << 22;
  using Stores = std::map<std::pair<TensorId, int64_t>, Term>;
  std::map<std::pair<TensorId, int64_t>, Stores> chosen;
  // By CTAs that are not last: with no fence before their counter, or before several; before one.
  // The counters are left out: who has the last number comes after all others there.
  std::set<std::pair<TensorId, int64_t>> touched;
  std::map<std::pair<TensorId, int64_t>, std::pair<TensorId, int64_t>> released;
  for (const tensor::ClassPieces& cls : first.classes) {
    for (size_t i = 0; i < cls.motions->size(); ++i) {
      if (!cls.motions->alive(i)) continue;
      for (const tensor::GlobalRead& r : cls.reads)
        for (int64_t c = r.cell; c < r.cell + r.cells; ++c)
          touched.insert({r.tensor, c + cls.motions->value(r.motion, i)});
      CHECK(cls.ticket.has_value());
      const std::pair<TensorId, int64_t> counter = counter_of(cls, i);
      const auto note = [&](const std::pair<TensorId, int64_t>& at, bool by_fence) {
        if (!by_fence || released.try_emplace(at, counter).first->second != counter)
          touched.insert(at);
      };
      for (const tensor::TensorPiece& piece : cls.tensors) {
        for (const tensor::CellStore& s : piece.stores)
          note({piece.tensor, s.cell + cls.motions->value(s.motion, i)}, s.released);
        for (const tensor::AtomicUpdate& u : piece.atomics) {
          const std::pair at{piece.tensor, u.cell + cls.motions->value(u.motion, i)};
          if (at != counter) note(at, u.released);
        }
      }
      if (touched.size() + released.size() > kMost)
        return "too many accesses beside those of the last block";
    }
  }
  int64_t seen = 0;
  for (tensor::ClassPieces& cls : classes) {
    std::vector<bool> kept(cls.motions->size());
    for (size_t i = 0; i < cls.motions->size(); ++i) {
      if (!cls.motions->alive(i)) continue;
      Stores mine;
      for (const tensor::TensorPiece& piece : cls.tensors)
        for (const tensor::CellStore& s : piece.stores) {
          const int64_t cell = s.cell + cls.motions->value(s.motion, i);
          const auto before = released.find({piece.tensor, cell});
          if (touched.contains({piece.tensor, cell}) ||
              (before != released.end() && (!s.released || before->second != counter_of(cls, i))))
            return "the last block stores where other blocks read or store in no order with it";
          mine[{piece.tensor, cell}] = tensor::at_cta(s.value, *cls.motions, i, store);
          if (++seen > kMost) return "too many stores of last blocks";
        }
      const auto [it, fresh] = chosen.try_emplace(counter_of(cls, i), mine);
      if (!fresh && it->second != mine) return "what is stored depends on which block is the last";
      kept[i] = fresh;
    }
    // The representative of a class cannot leave it; a class none of whose CTAs is kept stores
    // nothing.
    if (std::find(kept.begin(), kept.end(), true) == kept.end()) cls.tensors.clear();
    kept[0] = true;
    cls.motions->narrow([&](size_t i) { return kept[i]; });
    cls.reads.clear();
  }
  return std::nullopt;
}

void refuse_all(LaunchResult& result, const Launch& launch, std::string reason) {
  result.refusals.push_back({launch.kernel->function->name, {}, std::move(reason)});
  result.aborted_ctas = static_cast<int64_t>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
}

// Takes what a class left into the launch's result.
void absorb(CtaOutcome outcome, Setting& setting, LaunchResult& result,
            std::vector<coequal::Access>& stuck) {
  ++result.classes;
  result.thread_instructions += outcome.thread_instructions;
  const tensor::MotionTable& motions = *outcome.pieces.motions;
  const auto members = static_cast<int64_t>(motions.alive_count());
  result.notes.insert(outcome.notes.begin(), outcome.notes.end());
  result.assumptions.insert(outcome.assumptions.begin(), outcome.assumptions.end());
  for (Defect& d : outcome.defects) {
    d.count *= members;
    add_defect(result.defects, std::move(d));
  }
  std::move(outcome.suspicions.begin(), outcome.suspicions.end(),
            std::back_inserter(result.suspicions));
  for (Refusal& r : outcome.refusals)
    if (std::find(result.refusals.begin(), result.refusals.end(), r) == result.refusals.end())
      result.refusals.push_back(std::move(r));
  if (outcome.pieces.ticket)
    for (size_t i = 0; i < motions.size(); ++i)
      if (motions.alive(i)) ++setting.tickets[counter_of(outcome.pieces, i)];
  if (outcome.aborted) result.aborted_ctas += members * setting.launch.ranks();
  stuck.insert(stuck.end(), outcome.waiting.begin(), outcome.waiting.end());
  result.out_of_budget |= outcome.out_of_budget;
  result.pieces->classes.push_back(std::move(outcome.pieces));
}

// Threads for the groups that wait, where that is worth a copy of the store a thread. None where
// a class depends on those before it: by the numbers that they took, by what they did in a round.
std::optional<ClassWorkers> workers_for(const Waiting& waiting, Session& session,
                                        const Setting& setting, const LaunchResult& result) {
  constexpr int64_t kLeastWork = 1'000'000, kInstructionsANode = 8;
  if (!session.workers || setting.alone || session.options.whole_grid || setting.last ||
      setting.sharing || !setting.rounds.empty() || waiting.groups() < 2 || result.classes == 0)
    return std::nullopt;
  const int64_t work =
      result.thread_instructions / result.classes * static_cast<int64_t>(waiting.groups());
  const auto nodes = static_cast<int64_t>(session.store.node_count());
  if (work < kLeastWork + kInstructionsANode * nodes) return std::nullopt;
  return ClassWorkers::claim(session, setting, waiting.groups());
}

// Executes class after class until every CTA belongs to one or the budget ends. False: all has to
// be done again with what the setting says now.
bool run_all(Session& session, Setting& setting, LaunchResult& result,
             std::vector<coequal::Access>& stuck) {
  Waiting waiting(all_ctas(setting.launch), session.options);
  const auto as_expected = [&](const CtaOutcome& outcome) {
    if (!setting.has_to_track_more(outcome)) return true;
    setting.tracked.insert(outcome.written_unexpectedly.begin(),
                           outcome.written_unexpectedly.end());
    return false;
  };
  while (!waiting.empty()) {
    if (std::optional<ClassWorkers> workers = workers_for(waiting, session, setting, result)) {
      std::map<uint32_t, ClassWorkers::Left> left;  // as one thread would have met them
      bool enough = true;                           // time and memory
      while (!waiting.empty() && enough) {
        std::vector<std::vector<tensor::Cta>> groups;
        while (!waiting.empty()) groups.push_back(waiting.take());
        std::vector<ClassWorkers::Left> done = workers->run(groups);
        for (size_t i = 0; i < groups.size(); ++i) {
          if (!done[i].outcome) {
            enough = false;
            waiting.put(std::move(groups[i]));
            continue;
          }
          const CtaOutcome& outcome = *done[i].outcome;
          if (!as_expected(outcome)) return false;
          setting.alone |= outcome.pieces.ticket.has_value();
          waiting.put_departed(*outcome.pieces.motions);
          left.emplace(waiting.place(groups[i].front()), std::move(done[i]));
        }
        if (setting.alone) return false;
      }
      for (auto& [place, one] : left)
        absorb(workers->bring(std::move(one)), setting, result, stuck);
      setting.alone = !enough;
    } else {
      const std::vector<tensor::Cta> group = waiting.take();
      CtaOutcome outcome = run_class(session, setting, group);
      if (!as_expected(outcome)) return false;
      if (session.options.whole_grid)
        waiting.put({group.begin() + 1, group.end()});
      else
        waiting.put_departed(*outcome.pieces.motions);
      absorb(std::move(outcome), setting, result, stuck);
    }
    if (result.out_of_budget || session.budget.spent()) {
      result.out_of_budget = true;
      result.aborted_ctas += waiting.size() * setting.launch.ranks();
      break;
    }
  }
  return true;
}

LaunchResult run_classes(Session& session, const ProgramState& state, const Launch& launch,
                         const LastPhase* last, const std::vector<Round>& rounds,
                         const TicketCounts* sharing, std::vector<coequal::Access>& stuck,
                         bool histories) {
  LaunchResult result;
  result.pieces = std::make_shared<tensor::LaunchPieces>();
  result.pieces->launch = launch.index;
  result.pieces->kernel = launch.kernel->function->name;
  result.pieces->grid = launch.grid;
  result.pieces->block = launch.block;
  result.pieces->cluster = launch.cluster;
  if (launch.ranks() > 1) result.pieces->rank_stride = launch.rank_stride();
  for (const ptx::Instruction& i : launch.kernel->function->body)
    result.pieces->spans.push_back(launch.kernel->module->span_of(i));

  constexpr uint64_t kMostCtas = uint64_t{1} << 24;
  const uint64_t total = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  if (total > kMostCtas) {
    result.refusals.push_back(
        {launch.kernel->function->name,
         {},
         fmt::format("a grid of {} CTAs; at most {} are followed", total, kMostCtas)});
    result.aborted_ctas = static_cast<int64_t>(total);
    return result;
  }

  const bool too_large =
      std::any_of(state.tensors->begin(), state.tensors->end(),
                  [](const tensor::TensorInfo& t) { return t.storage_bytes() > kLargestTensor; });
  if (too_large || state.tensors->size() > kMostTensors) {
    result.refusals.push_back({launch.kernel->function->name,
                               {},
                               fmt::format("more than {} tensors, or one of more than {} bytes",
                                           kMostTensors, kLargestTensor)});
    result.aborted_ctas = static_cast<int64_t>(total);
    return result;
  }

  Setting setting{state, launch, last, rounds, sharing, histories};
  while (!run_all(session, setting, result, stuck)) {
    LaunchResult empty;
    empty.pieces = std::move(result.pieces);
    empty.pieces->classes.clear();
    result = std::move(empty);
    setting.tickets.clear();
    stuck.clear();
  }
  return result;
}

// Whether another round has to follow: some CTA waits, or what was done in this one has not been
// held against the waits of the rounds before.
void follow_waits(const Session& session, char program, const Launch& launch, LaunchResult& result,
                  std::vector<coequal::Access> stuck, size_t rounds) {
  const std::vector<tensor::ClassPieces>& classes = result.pieces->classes;
  const bool done = std::none_of(classes.begin(), classes.end(), [](const auto& cls) {
    return cls.updates.size() > 0 || cls.passes.size() > 0 || cls.tensors.size() > 0;
  });
  if (result.aborted_ctas > 0 || (stuck.empty() && (rounds == 0 || done))) return;
  const auto place = [](const coequal::Access& a) {
    return std::tuple(a.span.line, a.block, a.thread);
  };
  std::sort(stuck.begin(), stuck.end(),
            [&](const auto& a, const auto& b) { return place(a) < place(b); });
  if (done && rounds > 0) {
    Defect defect;
    defect.kind = DefectKind::BarrierDivergence;
    defect.program = program;
    defect.message = "a wait that nothing ends";
    defect.count = static_cast<int64_t>(stuck.size());
    defect.accesses = {stuck.front()};
    add_defect(result.defects, std::move(defect));
    result.aborted_ctas = static_cast<int64_t>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
    return;
  }
  if (!stuck.empty() && !launch.cooperative) {
    if (!session.options.assumes("resident-blocks")) {
      result.pieces->classes.clear();
      refuse_all(result, launch, "blocks wait for each other in a launch that is not cooperative");
      return;
    }
    result.assumptions.insert(
        {"resident-blocks", "all blocks of a launch run at once where they wait for each other"});
  }
  result.has_next = true;
}

}  // namespace

LaunchResult run_launch(Session& session, const ProgramState& state, const Launch& launch,
                        const LastPhase* last, const std::vector<Round>& rounds, bool histories) {
  std::vector<coequal::Access> stuck;
  // Only when all CTAs have run is it known how many share a counter.
  LaunchResult result =
      run_classes(session, state, launch, last, rounds, nullptr, stuck, histories);
  if (auto [counts, right] = count_tickets(result.pieces->classes); !right) {
    stuck.clear();
    result = run_classes(session, state, launch, last, rounds, &counts, stuck, histories);
    if (!count_tickets(result.pieces->classes).second)
      refuse_all(result, launch, "how many blocks take numbers from one counter is not known");
  }
  follow_waits(session, state.name, launch, result, std::move(stuck), rounds.size());
  std::vector<tensor::ClassPieces>& classes = result.pieces->classes;
  const auto decides = [](const auto& cls) { return cls.ticket && cls.ticket->decides; };
  if (result.aborted_ctas > 0 || std::none_of(classes.begin(), classes.end(), decides))
    return result;
  std::optional<std::string> wrong;
  if (!std::all_of(classes.begin(), classes.end(), decides))
    wrong = "some blocks go by a number from a counter and others do not";
  else if (result.has_next || !rounds.empty())
    wrong = "blocks that wait for each other go by a number from a counter";
  else if (last)
    wrong = keep_one_last(classes, last->first, session.store);
  if (wrong) {
    classes.clear();
    refuse_all(result, launch, *wrong);
    result.has_next = false;
  }
  result.has_last = !last;
  return result;
}

}  // namespace coequal::exec
