#include "report/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace coequal::report {
namespace {

// Keeps keys in the order in which they are written.
using Json = nlohmann::ordered_json;

std::string letter(char program) { return std::string(1, program); }

// `file` and `line`: null where they are not known.
void add_place(Json& object, const SourceSpan& span) {
  object["file"] = span.file.empty() ? Json(nullptr) : Json(span.file);
  object["line"] = span.line ? Json(span.line) : Json(nullptr);
}

std::string_view access_kind(coequal::Access::Kind kind) {
  switch (kind) {
    case coequal::Access::Kind::Read:
      return "read";
    case coequal::Access::Kind::Write:
      return "write";
    case coequal::Access::Kind::Atomic:
      return "atomic";
    case coequal::Access::Kind::Copy:
      return "copy";
    case coequal::Access::Kind::Barrier:
      return "barrier";
    case coequal::Access::Kind::Other:
      return "other";
  }
  return "other";
}

Json to_json(const coequal::Access& access) {
  Json object;
  object["kind"] = access_kind(access.kind);
  object["thread"] = access.thread;
  object["block"] = access.block;
  object["launch"] = access.launch;
  object["tensor"] = access.where;
  object["index"] = access.index;
  object["bytes"] = access.bytes;
  add_place(object, access.span);
  return object;
}

Json to_json(const coequal::Defect& defect) {
  Json object;
  object["kind"] = coequal::defect_name(defect.kind);
  object["program"] = letter(defect.program);
  object["message"] = defect.message;
  object["accesses"] = Json::array();
  for (const coequal::Access& access : defect.accesses)
    object["accesses"].push_back(to_json(access));
  object["inputs"] = defect.inputs;
  object["also"] = defect.also;
  object["count"] = defect.count;
  return object;
}

Json to_json(const Witness& witness) {
  Json object;
  object["cell"] = witness.cell;
  const std::pair<const char*, std::pair<const WitnessValue*, const SourceSpan*>> sides[] = {
      {"a", {&witness.value_a, &witness.store_a}}, {"b", {&witness.value_b, &witness.store_b}}};
  for (const auto& [name, side] : sides) {
    Json value;
    value["exact"] = side.first->exact;
    value["decimal"] = side.first->decimal;
    add_place(value, *side.second);
    object[name] = value;
  }
  object["inputs"] = Json::array();
  for (const WitnessInput& input : witness.inputs) {
    Json value;
    value["name"] = input.name;
    value["index"] = input.index;
    value["value"] = input.value;
    object["inputs"].push_back(value);
  }
  object["others"] = witness.others;
  object["replay"] = witness.replay ? Json(*witness.replay) : Json(nullptr);
  object["overflow_only"] = witness.overflow_only;
  return object;
}

Json to_json(const Refusal& refusal) {
  Json object;
  object["instruction"] = refusal.instruction;
  object["program"] = refusal.program ? Json(letter(refusal.program)) : Json(nullptr);
  add_place(object, refusal.span);
  object["reason"] = refusal.reason;
  object["cells"] = refusal.cells;
  object["which"] = refusal.which;
  return object;
}

Json to_json(const Undecided& undecided) {
  Json object;
  object["reason"] = undecided.reason;
  add_place(object, undecided.span);
  object["cells"] = undecided.cells;
  object["which"] = undecided.which;
  object["detail"] = undecided.detail;
  return object;
}

Json to_json(const Exclusion& exclusion) {
  Json object;
  object["condition"] = exclusion.condition;
  object["side"] = exclusion.side;
  object["sample"] = exclusion.sample;
  add_place(object, exclusion.span);
  object["cells"] = exclusion.cells;
  return object;
}

Json to_json(const Diagnostic& problem) {
  Json object;
  object["code"] = code_name(problem.code);
  object["message"] = problem.message;
  add_place(object, problem.span);
  object["notes"] = problem.notes;
  return object;
}

Json to_json(const instance::Expectation& expected) {
  Json object;
  object["verdict"] = instance::expected_verdict_name(expected.verdict);
  if (expected.defect) object["defect"] = coequal::defect_name(*expected.defect);
  if (expected.program) object["program"] = letter(expected.program);
  return object;
}

Json to_json(const InstanceResult& result);

template <class T>
Json list(const std::vector<T>& items) {
  Json array = Json::array();
  for (const T& item : items) array.push_back(to_json(item));
  return array;
}

Json to_json(const InstanceResult& result) {
  Json object;
  object["name"] = result.name;
  object["title"] = result.title;
  object["file"] = result.file;
  object["verdict"] = verdict_name(result.verdict);
  object["defects_only"] = result.defects_only;
  object["expected"] = result.expected ? to_json(*result.expected) : Json(nullptr);
  std::optional<bool> matches = as_expected(result);
  object["as_expected"] = matches ? Json(*matches) : Json(nullptr);
  object["defects"] = list(result.defects);
  Json cells;
  cells["total"] = result.cells.total;
  cells["proved_exact"] = result.cells.proved_exact;
  cells["proved_probabilistic"] = result.cells.proved_probabilistic;
  cells["refuted"] = result.cells.refuted;
  cells["undecided"] = result.cells.undecided;
  object["cells"] = cells;
  object["witness"] = result.witness ? to_json(*result.witness) : Json(nullptr);
  object["refusals"] = list(result.refusals);
  object["undecided"] = list(result.undecided);
  object["exclusions"] = list(result.exclusions);
  Json proof;
  proof["tier"] = tier_name(result.proof.tier);
  proof["bound"] = std::isfinite(result.proof.bound) ? result.proof.bound : 1.0;
  proof["seed"] = result.proof.seed;
  object["proof"] = proof;
  object["vacuous"] = Json::array();
  for (char side : result.vacuous) object["vacuous"].push_back(letter(side));
  object["assumptions"] = Json::array();
  for (const Assumption& assumption : result.assumptions) {
    Json entry;
    entry["name"] = assumption.name;
    entry["detail"] = assumption.detail;
    object["assumptions"].push_back(entry);
  }
  object["notes"] = result.notes;
  object["problems"] = list(result.problems);
  object["seconds"] = Json::object();
  for (const auto& [stage, seconds] : result.statistics.seconds) object["seconds"][stage] = seconds;
  object["counters"] = Json::object();
  for (const auto& [name, count] : result.statistics.counters) object["counters"][name] = count;
  return object;
}

}  // namespace

std::string write_json(const RunResult& run) {
  Json root;
  Json tool;
  tool["name"] = run.tool.name;
  tool["version"] = run.tool.version;
  tool["compiler"] = run.tool.compiler;
  tool["solver"] = run.tool.solver;
  root["tool"] = tool;
  root["verdict"] = verdict_name(run.worst_verdict());
  root["interrupted"] = run.interrupted;
  root["instances"] = list(run.instances);
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace coequal::report
