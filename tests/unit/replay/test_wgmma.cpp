// wgmma on numbers: small integers, of which every sum is exact, in every order of warps.
#include <bit>

#include "base/float_bits.h"
#include "unit/replay/kernel_run.h"
#include "unit/wgmma_kernel.h"

namespace coequal::replay {
namespace {

using coequal::testing::wgmma_forms;
using coequal::testing::WgmmaForm;
using coequal::testing::WgmmaKernel;

std::vector<uint8_t> bytes_of(const std::vector<int>& values, FloatSpec spec, int size,
                              bool integers) {
  std::vector<uint8_t> out;
  for (const int v : values) {
    const uint64_t bits = integers ? static_cast<uint64_t>(int64_t{v}) : float_from_double(spec, v);
    for (int i = 0; i < size; ++i) out.push_back(static_cast<uint8_t>(bits >> (8 * i)));
  }
  return out;
}

class WgmmaRun : public ::testing::TestWithParam<WgmmaForm> {};

TEST_P(WgmmaRun, EveryElementIsTheSumOfProducts) {
  const WgmmaKernel kernel{GetParam()};
  const WgmmaForm& f = kernel.form;
  const bool bf16 = f.types.find("bf16") != std::string::npos;
  const FloatSpec spec_a = f.size == 4   ? kF32
                           : f.size == 1 ? kE4M3
                           : bf16        ? kBF16
                                         : kF16,
                  spec_b = f.size == 1 ? kE5M2 : spec_a, spec_d = f.half ? kF16 : kF32;
  const int size_d = f.half ? 2 : 4;
  std::vector<int> a, b, d, where(kernel.where.begin(), kernel.where.end()), want;
  for (int i = 0; i < 64 * f.k; ++i) a.push_back(i * 7 % 5 - 2);
  for (int i = 0; i < f.n * f.k; ++i) b.push_back(i * 5 % 4 - (f.integers ? 0 : 1));
  for (int i = 0; i < 64 * f.n; ++i) d.push_back(i % 31);
  for (int i = 0; i < 64 * f.n; ++i) {
    int sum = 0;
    for (int k = 0; k < f.k; ++k)
      sum += a[static_cast<size_t>(i / f.n * f.k + k)] * b[static_cast<size_t>(i % f.n * f.k + k)];
    want.push_back(d[static_cast<size_t>(i)] + f.sign_a * f.sign_b * sum);
  }
  const auto module = ptx::parse(kernel.text, "kernel.ptx");
  ASSERT_TRUE(module) << module.error().message << " line " << module.error().span.line;
  for (const RunOptions& options : all_options()) {
    Memory memory;
    const uint64_t tensors[] = {memory.allocate("a", bytes_of(a, spec_a, f.size, f.integers)),
                                memory.allocate("b", bytes_of(b, spec_b, f.size, f.integers)),
                                memory.allocate("d", bytes_of(d, spec_d, size_d, f.integers)),
                                memory.allocate("where", bytes_of(where, kF32, 4, true))};
    LaunchConfig config;
    config.block = {128};
    config.params.resize(sizeof tensors);
    std::memcpy(config.params.data(), tensors, sizeof tensors);
    LoadedModule loaded(*module, memory);
    const Outcome outcome = loaded.launch(**module->find_kernel("k"), config, options);
    ASSERT_TRUE(outcome.ok()) << describe(options) << ": " << outcome.fault->message << " line "
                              << outcome.fault->span.line;
    EXPECT_EQ(memory.bytes(tensors[2]), bytes_of(want, spec_d, size_d, f.integers))
        << describe(options);
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, WgmmaRun, ::testing::ValuesIn(wgmma_forms()),
                         [](const auto& form) { return form.param.name; });

}  // namespace
}  // namespace coequal::replay
