// Loading of modules and the life of a launch.
#include "replay/interpreter.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <numeric>

#include "base/check.h"
#include "replay/machine.h"

namespace coequal::replay {

std::string_view fault_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::OutOfBounds:
      return "out-of-bounds";
    case FaultKind::Misaligned:
      return "misaligned";
    case FaultKind::Deadlock:
      return "deadlock";
    case FaultKind::Trap:
      return "trap";
    case FaultKind::StepLimit:
      return "step-limit";
    case FaultKind::BudgetSpent:
      return "budget-spent";
    case FaultKind::Refused:
      return "refused";
    case FaultKind::Invalid:
      return "invalid";
  }
  return "";
}

struct LoadedModule::Impl {
  const ptx::Module& module;
  Memory& memory;
  std::map<std::string, uint64_t> globals;
  std::map<const ptx::Function*, Image> images;

  void load() {
    for (const ptx::Variable& v : module.variables) {
      if (v.space != ptx::StateSpace::Global && v.space != ptx::StateSpace::Const) continue;
      std::vector<uint8_t> bytes = v.initial;
      bytes.resize(v.size, 0);
      globals[v.name] = memory.allocate(v.name, std::move(bytes), v.alignment);
    }
    for (const ptx::Variable& v : module.variables) {
      if (!globals.contains(v.name)) continue;
      for (const ptx::Variable::Relocation& r : v.relocations) {
        const uint64_t value = (target(r.symbol) + static_cast<uint64_t>(r.addend)) >> r.shift;
        std::memcpy(memory.bytes(globals[v.name]).data() + r.at, &value, r.bytes);
      }
    }
  }

  uint64_t target(const std::string& symbol) const {
    if (const auto found = globals.find(symbol); found != globals.end()) return found->second;
    if (const ptx::Function* function = module.find_function(symbol))
      return kCodeWindow + 16 * static_cast<uint64_t>(function - module.functions.data());
    return 0;
  }
};

LoadedModule::LoadedModule(const ptx::Module& module, Memory& memory)
    : impl_(new Impl{module, memory, {}, {}}) {
  impl_->load();
}
LoadedModule::~LoadedModule() = default;
LoadedModule::LoadedModule(LoadedModule&&) noexcept = default;

std::optional<uint64_t> LoadedModule::address_of(std::string_view variable) const {
  const auto found = impl_->globals.find(std::string(variable));
  if (found == impl_->globals.end()) return std::nullopt;
  return found->second;
}

namespace {

std::optional<std::string> invalid_launch(const ptx::Function& kernel, const LaunchConfig& config) {
  if (!kernel.is_entry || kernel.is_declaration)
    return fmt::format("'{}' is not a kernel", kernel.name);
  const uint64_t threads = config.block.count();
  if (threads == 0 || threads > 1024) return fmt::format("a block of {} threads", threads);
  const uint64_t params = param_offsets(kernel).back();
  if (config.params.size() < params)
    return fmt::format("{} bytes of parameters where '{}' takes {}", config.params.size(),
                       kernel.name, params);
  const Dim3 &grid = config.grid, &cluster = config.cluster;
  constexpr uint64_t kMostCtas = 16;
  if (cluster.count() == 0 || cluster.count() > kMostCtas || grid.x % cluster.x ||
      grid.y % cluster.y || grid.z % cluster.z)
    return fmt::format("clusters of {} by {} by {} CTAs in a grid of {} by {} by {}", cluster.x,
                       cluster.y, cluster.z, grid.x, grid.y, grid.z);
  return std::nullopt;
}

}  // namespace

Outcome LoadedModule::launch(const ptx::Function& kernel, const LaunchConfig& config,
                             const RunOptions& options, const Budget& budget) {
  const ptx::Module& module = impl_->module;
  if (const auto wrong = invalid_launch(kernel, config))
    return {Fault{FaultKind::Invalid, *wrong, {module.path, kernel.ptx_line, 0}, {}, {}}, 0};
  auto [entry, is_new] = impl_->images.try_emplace(&kernel);
  if (is_new) entry->second = compile(module, kernel, impl_->globals);
  LaunchState state{module, entry->second, impl_->memory, config, options, budget};
  state.random = options.seed * 2 + 1;
  FloatWatch watch;
  if (options.watch_floats) state.watch = &watch;
  for (const FunctionCode& function : entry->second.functions)
    state.max_registers = std::max(state.max_registers, function.register_count);

  // A cluster that does not end within its turn waits until others have had theirs: they may be
  // what it waits for.
  constexpr uint64_t kTurn = uint64_t{1} << 24;
  const uint64_t count = config.grid.count() / config.cluster.count();
  uint64_t started = 0;
  std::deque<std::unique_ptr<Cluster>> paused;
  const auto number = [&](uint64_t i) {
    return options.order == Order::Backward ? count - 1 - i : i;
  };
  // A random walk through all CTAs: steps of a length without common factor.
  uint64_t stride = 1, at = 0;
  if (options.order == Order::Random && count > 1) {
    at = state.next_random() % count;
    do stride = 1 + state.next_random() % count;
    while (std::gcd(stride, count) != 1);
  }
  while (!state.fault && (started < count || !paused.empty())) {
    std::unique_ptr<Cluster> cluster;
    if (started < count) {
      cluster =
          std::make_unique<Cluster>(state, options.order == Order::Random ? at : number(started));
      at = (at + stride) % count;
      ++started;
    } else {
      cluster = std::move(paused.front());
      paused.pop_front();
    }
    if (cluster->run(kTurn) == Cta::Status::Paused) paused.push_back(std::move(cluster));
  }
  return {std::move(state.fault), state.steps, watch.events()};
}

}  // namespace coequal::replay
