// Whole-grid facts of one launch: what CTAs do to each other's cells, from cells and motions alone.
//
// CTAs of one launch are never ordered, so any two accesses of different CTAs to one cell conflict
// if one of them writes and they are not both atomic. Conflicts are found on the concrete cells of
// concrete CTAs: nothing here is an estimate.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/budget.h"
#include "base/defect.h"
#include "exec/launch.h"
#include "tensor/writer_map.h"

namespace coequal::program {

// One tensor that the launch stored to or updated.
struct TensorStep {
  tensor::TensorId tensor = 0;
  std::shared_ptr<const tensor::TensorVersion> after;
  std::vector<tensor::TensorVersion::Overlap> overlaps;
};

struct GridFacts {
  std::vector<Defect> defects;  // one root a tensor, the rest of its conflicts folded under it
  std::vector<std::string> notes;
  exec::Assumptions assumptions;
  std::vector<exec::Refusal> refusals;
  // Cells whose content is no function of the inputs or is not modelled, because of a defect or
  // refusal above: what raced stores left, and everything that a CTA stored which read a raced
  // cell. Ascending cells, a list a tensor.
  std::vector<std::pair<tensor::TensorId, std::vector<int64_t>>> tainted;
  bool complete =
      true;  // false: the budget ended first; nothing may be concluded from what is missing

  bool is_tainted(tensor::TensorId tensor, int64_t cell) const;
};

// Asked about a conflict that happens only where `guard`, a condition on data, holds: true if no
// input makes it hold. Else whoever is asked has reported the defect or the open question; what
// depends on the conflict is tainted.
using RefuteConflict = std::function<bool(const Defect& defect, const term::Term& guard)>;

// Without `refute`, conflicts under conditions are refused.
GridFacts grid_facts(char program, const tensor::LaunchPieces& launch,
                     const std::vector<tensor::TensorInfo>& tensors, std::vector<TensorStep> steps,
                     term::TermStore& store, const Budget& budget,
                     const RefuteConflict& refute = {});

// The versions after a launch, from its pieces.
std::vector<TensorStep> next_versions(exec::Session& session, const exec::ProgramState& state,
                                      const std::shared_ptr<const tensor::LaunchPieces>& launch);
// Whether the launch has to be executed with histories: CTAs store one value to a cell, and whether
// it is the same bits depends on how it came about.
bool asks_for_histories(const std::vector<TensorStep>& steps,
                        const std::vector<tensor::TensorInfo>& tensors, term::TermStore& store);

// Takes over the versions after a launch, finds its facts, and replaces the contents of tainted
// cells by poison whose source (Session::poison) is the race or the refusal.
GridFacts apply_launch(exec::Session& session, exec::ProgramState& state,
                       std::shared_ptr<const tensor::LaunchPieces> launch,
                       std::vector<TensorStep> steps, const RefuteConflict& refute = {});
inline GridFacts apply_launch(exec::Session& session, exec::ProgramState& state,
                              const std::shared_ptr<const tensor::LaunchPieces>& launch) {
  return apply_launch(session, state, launch, next_versions(session, state, launch));
}

// The defect of an output that some element of an `empty` tensor keeps: it was never written.
// `output` names it in messages.
std::optional<Defect> unwritten_cells(char program, const tensor::TensorVersion& version,
                                      const std::string& output);

}  // namespace coequal::program
