// Turns an instance into what the engine executes: kernels, tensors with their leaves, launches
// with their arguments.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/budget.h"
#include "base/options.h"
#include "base/result.h"
#include "exec/launch.h"
#include "idiom/toolchain.h"
#include "instance/instance.h"
#include "toolchain/compile.h"

namespace coequal::check {

// A parsed module and its kernels, ready to run. Kernels are made when first asked for and live as
// long as the module. Thread-safe.
class SharedModule {
 public:
  explicit SharedModule(ptx::Module module) : module_(std::move(module)) {}

  Result<const exec::Kernel*> kernel(const std::string& name);

 private:
  const ptx::Module module_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<exec::Kernel>> kernels_;
};

// Modules that the checks of one process share, by path and text: those used last are kept.
// Thread-safe.
class ModuleCache {
 public:
  // `path` is for messages.
  Result<std::shared_ptr<SharedModule>> load(const std::string& path, std::string_view text);

 private:
  struct Entry {
    std::shared_ptr<SharedModule> module;
    uint64_t used = 0;
  };
  static constexpr size_t kKept = 512;

  std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
  uint64_t clock_ = 0;
};

// Modules and kernels of one instance; addresses stay valid while it lives.
class KernelCache {
 public:
  explicit KernelCache(std::shared_ptr<ModuleCache> modules = std::make_shared<ModuleCache>())
      : modules_(std::move(modules)) {}

  // The module that a launch names, compiled if it is CUDA C++. The same source and flags are
  // compiled once.
  Result<SharedModule*> module(const instance::Instance& instance, const instance::Launch& launch,
                               const Options& options, const Budget& budget);

  const std::string& compiler_version() const { return compiler_version_; }
  // What sources were compiled with, where the templates that ship are not made for it.
  const std::set<idiom::Toolchain>& other_toolchains() const { return other_toolchains_; }
  double compile_seconds() const { return compile_seconds_; }

 private:
  std::shared_ptr<ModuleCache> modules_;
  std::map<std::string, std::shared_ptr<SharedModule>> loaded_;
  std::string compiler_version_;
  std::set<idiom::Toolchain> other_toolchains_;
  double compile_seconds_ = 0;
};

// Tensors and scalars that both programs share, as leaves of the store.
struct SharedInputs {
  std::vector<tensor::TensorInfo> tensors;  // in the instance's order
  std::map<std::string, tensor::TensorId> tensor_ids;
  std::map<std::string, uint32_t> free_scalars;  // names to scalars of the store
  std::optional<tensor::TensorId> workspace;     // of cooperative launches
  // Of variables of module scope; nullopt: they are none (module_variables.h).
  std::map<const ptx::Variable*, std::optional<tensor::TensorId>> variables;
};
SharedInputs lower_inputs(const instance::Instance& instance, term::TermStore& store);

// The initial state of one program: its own poison for uninitialised cells.
exec::ProgramState initial_state(char program, const SharedInputs& inputs, exec::Session& session);

// The launches of one program, arguments matched against the kernels' parameters. Adds the tensors
// of variables of module scope.
Result<std::vector<exec::Launch>> lower_program(const instance::Instance& instance,
                                                const instance::Program& program,
                                                SharedInputs& inputs, term::TermStore& store,
                                                KernelCache& kernels, const Options& options,
                                                const Budget& budget);

}  // namespace coequal::check
