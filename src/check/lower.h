// Turns an instance into what the engine executes: kernels, tensors with their leaves, launches
// with their arguments.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/budget.h"
#include "base/options.h"
#include "base/result.h"
#include "exec/launch.h"
#include "instance/instance.h"
#include "toolchain/compile.h"

namespace coequal::check {

// Modules and kernels of one instance; addresses stay valid while it lives.
class KernelCache {
 public:
  // The parsed module of a source, compiled if it is CUDA C++. The same source and flags are
  // compiled once.
  Result<const ptx::Module*> module(const std::string& source,
                                    const std::vector<std::string>& flags, const Options& options,
                                    const Budget& budget);
  Result<const exec::Kernel*> kernel(const ptx::Module& module, const std::string& name);

  const std::string& compiler_version() const { return compiler_version_; }
  double compile_seconds() const { return compile_seconds_; }

 private:
  std::map<std::string, std::unique_ptr<ptx::Module>> modules_;
  std::map<std::pair<const ptx::Module*, std::string>, std::unique_ptr<exec::Kernel>> kernels_;
  std::string compiler_version_;
  double compile_seconds_ = 0;
};

// Tensors and scalars that both programs share, as leaves of the store.
struct SharedInputs {
  std::vector<tensor::TensorInfo> tensors;  // in the instance's order
  std::map<std::string, tensor::TensorId> tensor_ids;
  std::map<std::string, uint32_t> free_scalars;  // names to scalars of the store
};
SharedInputs lower_inputs(const instance::Instance& instance, term::TermStore& store);

// The initial state of one program: its own poison for uninitialised cells.
exec::ProgramState initial_state(char program, const SharedInputs& inputs, exec::Session& session);

// The launches of one program, arguments matched against the kernels' parameters.
Result<std::vector<exec::Launch>> lower_program(const instance::Instance& instance,
                                                const instance::Program& program,
                                                const SharedInputs& inputs, KernelCache& kernels,
                                                const Options& options, const Budget& budget);

}  // namespace coequal::check
