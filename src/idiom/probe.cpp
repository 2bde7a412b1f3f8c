#include "idiom/probe.h"

#include "exec/launch.h"
#include "tensor/tensor.h"
#include "term/traverse.h"

namespace coequal::idiom {
namespace {

constexpr double kSeconds = 20;

Diagnostic no_probe(const std::string& kernel, const std::string& why) {
  return make_diagnostic(DiagnosticCode::Refused, {},
                         fmt::format("probe '{}' gives no term: {}", kernel, why));
}

}  // namespace

Result<ProbedTerm> run_probe(term::TermStore& store, const ptx::Module& module,
                             const std::string& kernel_name, const std::vector<DType>& inputs,
                             DType output) {
  Result<const ptx::Function*> function = module.find_kernel(kernel_name);
  if (!function) return function.error();
  const exec::Kernel kernel(module, **function);

  const Options options;
  const Budget budget(kSeconds);
  Statistics statistics;
  exec::Session session{store, options, budget, statistics, {}};
  std::vector<tensor::TensorInfo> tensors;
  exec::Launch launch;
  launch.kernel = &kernel;
  for (size_t i = 0; i <= inputs.size(); ++i) {
    const bool is_output = i == inputs.size();
    tensor::TensorInfo info;
    info.name = is_output ? "out" : fmt::format("in{}", i);
    info.dtype = is_output ? output : inputs[i];
    info.shape = {1};
    info.strides = {1};
    info.storage_cells = 1;
    info.init = is_output ? tensor::TensorInfo::Init::Empty : tensor::TensorInfo::Init::Input;
    if (!is_output) {
      term::Group group;
      group.name = info.name;
      group.dtype = info.dtype;
      group.type = tensor::leaf_type(info.dtype);
      group.tensor = static_cast<int>(i);
      info.input_group = store.add_group(std::move(group));
    }
    exec::Argument argument;
    argument.kind = exec::Argument::Kind::Tensor;
    argument.tensor = static_cast<tensor::TensorId>(i);
    argument.access = is_output ? exec::Access::Write : exec::Access::Read;
    launch.args.push_back(argument);
    tensors.push_back(std::move(info));
  }
  // Triton's kernels have parameters of their own behind these, which probes do not use.
  const auto& params = kernel.function->params;
  if (params.size() < tensors.size()) return no_probe(kernel_name, "its parameters are others");
  for (size_t i = tensors.size(); i < params.size(); ++i) {
    exec::Argument unused;
    unused.bytes.resize(params[i].size);
    launch.args.push_back(std::move(unused));
  }
  for (size_t d = 0; d < kernel.function->reqntid.size() && d < 3; ++d)
    launch.block[d] = kernel.function->reqntid[d];

  exec::ProgramState state;
  state.tensors = &tensors;
  for (const tensor::TensorInfo& info : tensors) {
    term::Group group;
    group.kind = term::Group::Kind::Poison;
    group.name = info.name;
    group.dtype = info.dtype;
    group.type = tensor::leaf_type(info.dtype);
    const term::GroupId id = store.add_group(std::move(group));
    session.poison[id] = {exec::PoisonSource::Kind::Uninitialized, info.name, {}, {}};
    state.versions.push_back(std::make_shared<tensor::TensorVersion>(info, id));
  }

  const exec::LaunchResult result = exec::run_launch(session, state, launch);
  if (!result.refusals.empty()) {
    const exec::Refusal& r = result.refusals.front();
    return no_probe(kernel_name, fmt::format("'{}': {}", r.instruction, r.reason));
  }
  if (result.aborted_ctas > 0) return no_probe(kernel_name, "it does not end");
  if (!result.defects.empty()) return no_probe(kernel_name, result.defects.front().message);
  std::vector<tensor::TensorVersion::Overlap> overlaps;
  const auto out = static_cast<tensor::TensorId>(inputs.size());
  const auto version =
      tensor::TensorVersion::after(state.versions[out], result.pieces, out, store, overlaps);
  ProbedTerm probed;
  probed.value = version->value(0, store);
  for (const tensor::TensorInfo& info : tensors)
    if (info.init == tensor::TensorInfo::Init::Input)
      probed.holes.push_back(store.leaf(info.input_group, {0, 0}));

  std::string why;
  term::Postorder(store).walk(probed.value, [&](const term::Term& t) {
    if (store.kind(t) != term::Kind::Poison) return;
    const auto source = session.poison.find(store.groups(t)[0]);
    if (source == session.poison.end()) return;
    const exec::PoisonSource& s = source->second;
    why = s.kind == exec::PoisonSource::Kind::Refused
              ? fmt::format("'{}': {}", s.refusal.instruction, s.refusal.reason)
              : "it depends on something uninitialised: " + s.what;
  });
  if (!why.empty()) return no_probe(kernel_name, why);
  return probed;
}

}  // namespace coequal::idiom
