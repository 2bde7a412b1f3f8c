// A kernel in PTX text, executed by the engine on small tensors, and what it left in them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "exec/launch.h"
#include "term/evaluate.h"
#include "term/print.h"
#include "term/substitute.h"
#include "term/traverse.h"

namespace coequal::exec::testing {

using Init = tensor::TensorInfo::Init;

struct TensorSpec {
  std::string name;
  DType dtype = DType::F32;
  int64_t cells = 0;
  Init init = Init::Input;
  Access access = Access::Read;
  std::vector<int64_t> values = {};  // Values
  std::optional<int64_t> min = {}, max = {};
};

inline TensorSpec input(std::string name, int64_t cells, DType dtype = DType::F32) {
  return {std::move(name), dtype, cells, Init::Input, Access::Read};
}
inline TensorSpec index_input(std::string name, int64_t cells, int64_t min, int64_t max) {
  return {std::move(name), DType::I32, cells, Init::Input, Access::Read, {}, min, max};
}
inline TensorSpec output(std::string name, int64_t cells, DType dtype = DType::F32) {
  return {std::move(name), dtype, cells, Init::Empty, Access::Write};
}

// The kernel "k" takes the tensors as %rd0, %rd1, ... (already loaded) and %r0 = tid.x, %r1 =
// ctaid.x.
inline std::string kernel_text(size_t tensors, const std::string& body,
                               const std::string& before = "") {
  std::string params, loads;
  for (size_t i = 0; i < tensors; ++i) {
    params += (i ? ", " : "") + fmt::format(".param .u64 p{}", i);
    loads += fmt::format("ld.param.u64 %rd{}, [p{}];\n", i, i);
  }
  return ".version 8.3\n.target sm_90\n.address_size 64\n" + before + ".visible .entry k(" +
         params +
         ")\n{\n.reg .pred %p<20>;\n.reg .b16 %h<40>;\n.reg .b32 %r<60>;\n.reg .b64 %rd<40>;\n.reg "
         ".f32 %f<40>;\n"
         ".reg .f64 %fd<20>;\n" +
         loads + "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\n" + body + "\n}\n";
}

class Bench {
 public:
  explicit Bench(std::vector<TensorSpec> specs)
      : session{store, options, budget, statistics, {}}, specs_(std::move(specs)) {
    tensors_.reserve(specs_.size());
    state_.tensors = &tensors_;
    for (const TensorSpec& s : specs_) {
      tensor::TensorInfo info;
      info.name = s.name;
      info.dtype = s.dtype;
      info.shape = {s.cells};
      info.strides = {1};
      info.storage_cells = s.cells;
      info.init = s.init;
      term::Group group;
      group.name = s.name;
      group.dtype = s.dtype;
      group.type = tensor::leaf_type(s.dtype);
      if (s.min) group.bounds.min = term::Rational(*s.min);
      if (s.max) group.bounds.max = term::Rational(*s.max);
      if (s.init == Init::Input) info.input_group = store.add_group(group);
      if (s.init == Init::Values) {
        auto values = std::make_shared<std::vector<term::Rational>>();
        for (const int64_t v : s.values) values->emplace_back(v);
        info.values = values;
        group.kind = term::Group::Kind::Known;
        group.values = values;
        info.known_group = store.add_group(group);
      }
      tensors_.push_back(std::move(info));
    }
    for (const tensor::TensorInfo& info : tensors_) {
      term::Group group;
      group.kind = term::Group::Kind::Poison;
      group.name = info.name;
      group.dtype = info.dtype;
      group.type = tensor::leaf_type(info.dtype);
      const term::GroupId id = store.add_group(std::move(group));
      session.poison[id] = {PoisonSource::Kind::Uninitialized, info.name, {}, {}};
      state_.versions.push_back(std::make_shared<tensor::TensorVersion>(info, id));
    }
  }

  LaunchResult run(const std::string& text, uint32_t grid, uint32_t block, uint32_t shared = 0,
                   uint32_t cluster = 1) {
    auto module = ptx::parse(text, "k.ptx");
    if (!module) {
      ADD_FAILURE() << module.error().message << " line " << module.error().span.line;
      return {};
    }
    modules_.push_back(std::make_unique<ptx::Module>(std::move(*module)));
    kernels_.push_back(
        std::make_unique<Kernel>(*modules_.back(), **modules_.back()->find_kernel("k")));
    Launch launch;
    launch.kernel = kernels_.back().get();
    launch.grid = {grid, 1, 1};
    launch.block = {block, 1, 1};
    launch.cluster = {cluster, 1, 1};
    launch.dynamic_shared = shared;
    for (uint32_t t = 0; t < specs_.size(); ++t) {
      Argument a;
      a.kind = Argument::Kind::Tensor;
      a.tensor = t;
      a.access = specs_[t].access;
      launch.args.push_back(a);
    }
    const ProgramState before = state_;
    std::vector<Round> rounds;
    std::vector<Defect> found;  // in earlier rounds
    std::optional<ProgramState> after;
    std::optional<LastPhase> last;
    std::shared_ptr<tensor::LaunchPieces> first;
    while (true) {
      LaunchResult result = run_launch(session, before, launch, last ? &*last : nullptr, rounds);
      for (uint32_t t = 0; t < specs_.size(); ++t) {
        std::vector<tensor::TensorVersion::Overlap> overlaps;
        state_.versions[t] =
            tensor::TensorVersion::after(state_.versions[t], result.pieces, t, store, overlaps);
        EXPECT_TRUE(overlaps.empty());
      }
      add_stored_races(result);
      for (Defect& d : found) add_defect(result.defects, std::move(d));
      if (result.has_next) {
        rounds.push_back(make_round(state_, result.pieces, store));
        found = result.defects;
      } else if (result.has_last) {
        // The last CTA of a counter works on what the others left.
        after = state_;
        first = result.pieces;
        last.emplace(LastPhase{*after, *first});
      } else {
        return result;
      }
    }
  }

  // Races whose value a store brought to memory: there they matter.
  void add_stored_races(LaunchResult& result) const {
    for (const tensor::ClassPieces& cls : result.pieces->classes)
      for (const tensor::TensorPiece& piece : cls.tensors)
        for (const tensor::CellStore& s : piece.stores)
          term::Postorder(store).walk(
              s.value, [&](const term::Term& t) { return store.has_poison(t); },
              [&](const term::Term& t) {
                if (store.kind(t) != term::Kind::Poison) return;
                const PoisonSource& source = session.poison.at(store.groups(t)[0]);
                const DefectKind kind = source.defect.kind;
                if (source.kind == PoisonSource::Kind::Defective &&
                    (kind == DefectKind::SharedRace || kind == DefectKind::GlobalRace))
                  add_defect(result.defects, source.defect);
              });
  }

  term::Term value(uint32_t tensor, int64_t cell) {
    return state_.versions[tensor]->value(cell, store);
  }
  // With known values in their places.
  std::string text(uint32_t tensor, int64_t cell) {
    return term::print(store, term::substitute_known(store)(value(tensor, cell)));
  }

  // The value of a cell where input cell i of tensor t holds inputs[t][i] (0 where nothing is
  // given): a whole number.
  int64_t number(uint32_t tensor, int64_t cell,
                 const std::vector<std::vector<int64_t>>& inputs = {}) {
    term::MapAssignment assignment;
    for (size_t t = 0; t < inputs.size(); ++t)
      for (size_t i = 0; i < inputs[t].size(); ++i)
        assignment.set_leaf(tensors_[t].input_group, static_cast<int64_t>(i),
                            term::Rational(inputs[t][i]));
    const auto v = term::evaluate_exact(store, value(tensor, cell), assignment);
    constexpr int64_t kNone = INT64_MIN;
    if (!v) return kNone;
    if (v->kind == term::Value::Kind::Bits) {
      const int width = 8 * dtype_size(tensors_[tensor].dtype);
      return static_cast<int64_t>(v->bits << (64 - width)) >> (64 - width);
    }
    return v->exact ? v->exact->as_int64().value_or(kNone) : kNone;
  }
  bool is_poison(uint32_t tensor, int64_t cell) { return store.has_poison(value(tensor, cell)); }

  Options options;
  Budget budget;
  Statistics statistics;
  term::TermStore store;
  Session session;

 private:
  std::vector<TensorSpec> specs_;
  std::vector<tensor::TensorInfo> tensors_;
  ProgramState state_;
  std::vector<std::unique_ptr<ptx::Module>> modules_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

inline void expect_clean(const LaunchResult& r) {
  for (const Defect& d : r.defects) ADD_FAILURE() << defect_name(d.kind) << ": " << d.message;
  for (const Refusal& f : r.refusals)
    ADD_FAILURE() << "refused " << f.instruction << ": " << f.reason << " line " << f.span.line;
  EXPECT_EQ(r.suspicions.size(), 0u);
  EXPECT_EQ(r.aborted_ctas, 0);
}

inline std::vector<std::string> kinds_of(const LaunchResult& r) {
  std::vector<std::string> out;
  for (const Defect& d : r.defects) out.emplace_back(defect_name(d.kind));
  return out;
}

}  // namespace coequal::exec::testing
