// Small kernels in PTX text, executed over tensors made by hand.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exec/launch.h"

namespace coequal::exec::testing {

using Init = tensor::TensorInfo::Init;
using term::Kind;

class Machine {
 public:
  tensor::TensorId tensor(const std::string& name, DType dtype, int64_t cells, Init init = Init::Input) {
    tensor::TensorInfo t;
    t.name = name;
    t.dtype = dtype;
    t.shape = {cells};
    t.strides = {1};
    t.storage_cells = cells;
    t.init = init;
    if (init == Init::Input) t.input_group = group(name, dtype, term::Group::Kind::Input);
    tensors.push_back(std::move(t));
    return static_cast<tensor::TensorId>(tensors.size() - 1);
  }
  // Bounds of an integer tensor.
  void bound(tensor::TensorId id, int64_t low, int64_t high) {
    tensors[id].input_group = group(tensors[id].name, tensors[id].dtype, term::Group::Kind::Input, low, high);
  }

  // Runs a kernel `k`: one pointer parameter a tensor, loaded into a register of its name; %t is the thread, %c the CTA, %i
  // the index over the grid, and %a = 4 * %i. `before`: text of module scope.
  const LaunchResult& run(const std::string& body, uint32_t grid, uint32_t block, const std::string& before = "") {
    std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n" + before + "\n.visible .entry k(";
    for (size_t i = 0; i < tensors.size(); ++i) text += (i ? ", " : "") + (".param .u64 p" + std::to_string(i));
    text += ") {\n.reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<32>; .reg .f32 %f<32>; .reg .b64 %d<32>;\n";
    text += ".reg .b32 %t, %c, %n, %i; .reg .b64 %a;\n";
    for (size_t i = 0; i < tensors.size(); ++i)
      text += ".reg .b64 %" + tensors[i].name + ";\nld.param.u64 %" + tensors[i].name + ", [p" + std::to_string(i) + "];\n";
    text += "mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.s32 %i, %c, %n, %t;\n";
    text += "mul.wide.s32 %a, %i, 4;\n" + body + "\nret;\n}\n";
    auto parsed = ptx::parse(text, "k.ptx");
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message) << "\n" << text;
    modules.push_back(std::make_unique<ptx::Module>(std::move(*parsed)));
    kernels.push_back(std::make_unique<Kernel>(*modules.back(), **modules.back()->find_kernel("k")));
    if (state.versions.empty()) {
      state.tensors = &tensors;
      for (const tensor::TensorInfo& t : tensors) {
        const term::GroupId poison = group(t.name, t.dtype, term::Group::Kind::Poison);
        session.poison[poison] = {PoisonSource::Kind::Uninitialized, t.name, {}, {}};
        state.versions.push_back(std::make_shared<tensor::TensorVersion>(t, poison));
      }
    }
    Launch launch;
    launch.index = static_cast<int>(modules.size()) - 1;
    launch.kernel = kernels.back().get();
    launch.grid = {grid, 1, 1};
    launch.block = {block, 1, 1};
    launch.dynamic_shared = 1024;
    for (tensor::TensorId t = 0; t < tensors.size(); ++t) {
      Argument a;
      a.kind = Argument::Kind::Tensor;
      a.tensor = t;
      a.access = Access::ReadWrite;
      launch.args.push_back(a);
    }
    result = run_launch(session, state, launch);
    for (tensor::TensorId t = 0; t < tensors.size(); ++t)
      state.versions[t] = tensor::TensorVersion::after(state.versions[t], result.pieces, t, store, overlaps);
    return result;
  }

  Term leaf(tensor::TensorId t, int64_t cell) { return store.leaf(tensors[t].input_group, {cell, 0}); }
  Term value(tensor::TensorId t, int64_t cell) { return state.versions[t]->value(cell, store); }
  Term real(int64_t v) { return store.real(term::Rational(v)); }
  Term add(Term a, Term b) { return store.make(Kind::Add, {a, b}); }
  Term mul(Term a, Term b) { return store.make(Kind::Mul, {a, b}); }
  Term less(Term a, Term b) { return store.make(Kind::Less, {a, b}); }
  Term select(Term c, Term a, Term b) { return store.make(Kind::Select, {c, a, b}); }

  std::vector<DefectKind> defects() const {
    std::vector<DefectKind> kinds;
    for (const Defect& d : result.defects) kinds.push_back(d.kind);
    return kinds;
  }
  bool clean() const {
    return result.defects.empty() && result.suspicions.empty() && result.refusals.empty() && result.aborted_ctas == 0;
  }
  std::string why() const {
    std::string text;
    for (const Defect& d : result.defects) text += d.message + "; ";
    for (const Suspicion& s : result.suspicions) text += "perhaps " + s.defect.message + "; ";
    for (const Refusal& r : result.refusals) text += r.instruction + ": " + r.reason + "; ";
    return text;
  }

  term::TermStore store;
  Options options;
  Budget budget{60};
  Statistics statistics;
  Session session{store, options, budget, statistics, {}};
  std::vector<tensor::TensorInfo> tensors;
  ProgramState state;
  LaunchResult result;
  std::vector<tensor::TensorVersion::Overlap> overlaps;
  std::vector<std::unique_ptr<ptx::Module>> modules;
  std::vector<std::unique_ptr<Kernel>> kernels;

 private:
  term::GroupId group(const std::string& name, DType dtype, term::Group::Kind kind, std::optional<int64_t> low = {},
                      std::optional<int64_t> high = {}) {
    term::Group g;
    g.kind = kind;
    g.name = name;
    g.dtype = dtype;
    g.type = tensor::leaf_type(dtype);
    if (low) g.bounds.min = term::Rational(*low);
    if (high) g.bounds.max = term::Rational(*high);
    return store.add_group(std::move(g));
  }
};

}  // namespace coequal::exec::testing
