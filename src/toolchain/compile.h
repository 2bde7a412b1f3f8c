// Finds a CUDA compiler and turns CUDA C++ into PTX, from the cache where nothing has changed.
#pragma once

#include <string>
#include <vector>

#include "base/budget.h"
#include "base/result.h"

namespace coequal::toolchain {

// `explicit_path` (--nvcc; a path or a name in PATH) alone if it is not empty; else
// $CUDA_HOME/bin/nvcc, nvcc in PATH, the PyPI package nvidia-cuda-nvcc of $VIRTUAL_ENV or of
// python3.
Result<std::string> find_compiler(const std::string& explicit_path);

struct CompileRequest {
  std::string source;              // path of a .cu file
  std::vector<std::string> flags;  // of the instance
  std::string arch;                // "sm_80"; empty: the compiler's own default
  std::string compiler;            // from find_compiler
};

struct CompiledSource {
  std::string ptx;
  std::string compiler_version;  // "Cuda compilation tools, release 13.0, V13.0.88"
  double seconds = 0;            // of this call
  bool from_cache = false;
};

// Runs `compiler -ptx -lineinfo -arch=ARCH flags source`. Errors of the compiler are one
// CompileFailed at the place of the first, the other lines as notes. An empty `cache_dir` means no
// cache. A spent budget kills the compiler and is a CompileFailed, too.
Result<CompiledSource> compile_to_ptx(const CompileRequest& request, const std::string& cache_dir,
                                      const Budget& budget);

}  // namespace coequal::toolchain
