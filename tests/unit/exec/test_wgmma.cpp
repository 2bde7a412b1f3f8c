// Products of warpgroups against the definition of the product, and the order that they need.
#include <gtest/gtest.h>

#include "unit/exec/launch_text.h"
#include "unit/wgmma_kernel.h"

namespace coequal::exec::testing {
namespace {

using coequal::testing::wgmma_forms;
using coequal::testing::WgmmaForm;
using coequal::testing::WgmmaKernel;

DType dtype_of(const WgmmaForm& f, bool is_b) {
  if (f.integers) return is_b ? DType::U8 : DType::I8;
  if (f.size == 1) return is_b ? DType::F8E5M2 : DType::F8E4M3;
  if (f.size == 4) return DType::F32;
  return f.types.find("bf16") == std::string::npos ? DType::F16 : DType::BF16;
}

struct Product {
  WgmmaForm form;
  Bench bench;
  LaunchResult result;

  explicit Product(const WgmmaKernel& kernel)
      : form(kernel.form),
        bench({input("a", 64 * form.k, dtype_of(form, false)),
               input("b", form.n * form.k, dtype_of(form, true)),
               {"d",
                form.integers ? DType::I32
                : form.half   ? DType::F16
                              : DType::F32,
                64 * form.n, Init::Input, Access::ReadWrite},
               {"where", DType::I32, static_cast<int64_t>(kernel.where.size()), Init::Values,
                Access::Read, kernel.where}}),
        result(bench.run(kernel.text, 1, 128)) {}
};

class WgmmaTest : public ::testing::TestWithParam<WgmmaForm> {};

TEST_P(WgmmaTest, EveryElementIsTheSumOfProducts) {
  Product p{WgmmaKernel(GetParam())};
  expect_clean(p.result);
  const WgmmaForm& f = p.form;
  std::vector<int64_t> a, b, d;
  for (int i = 0; i < 64 * f.k; ++i) a.push_back(i * 7 % 23 - 11);
  for (int i = 0; i < f.n * f.k; ++i) b.push_back(f.integers ? i * 5 % 19 : i * 5 % 19 - 9);
  for (int i = 0; i < 64 * f.n; ++i) d.push_back(i % 31);
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < f.n; ++column) {
      int64_t sum = 0;
      for (int k = 0; k < f.k; ++k)
        sum += a[static_cast<size_t>(row * f.k + k)] * b[static_cast<size_t>(column * f.k + k)];
      const int64_t want = d[static_cast<size_t>(row * f.n + column)] + f.sign_a * f.sign_b * sum;
      EXPECT_EQ(p.bench.number(2, row * f.n + column, {a, b, d}), want) << row << "," << column;
    }
}

INSTANTIATE_TEST_SUITE_P(Forms, WgmmaTest, ::testing::ValuesIn(wgmma_forms()),
                         [](const auto& form) { return form.param.name; });

const WgmmaForm kPlain{"plain", ".f32.f16.f16"};
constexpr const char* kProxy = "fence.proxy.async;\n";
constexpr const char* kFence = "wgmma.fence.sync.aligned;\n";
constexpr const char* kWait = "wgmma.wait_group.sync.aligned 0;\n";

// One defect an instruction, all of one kind.
void expect_only(const LaunchResult& result, const std::string& kind) {
  EXPECT_FALSE(result.defects.empty());
  for (const std::string& found : kinds_of(result)) EXPECT_EQ(found, kind);
}

TEST(Wgmma, WhatItReadsInSharedMemoryNeedsAProxyFence) {
  expect_only(Product{WgmmaKernel(kPlain, "")}.result, "shared-race");
}

TEST(Wgmma, AFenceOfTheOtherSpaceIsNone) {
  const WgmmaKernel kernel(kPlain, "fence.proxy.async.global;\n");
  expect_only(Product{kernel}.result, "shared-race");
}

TEST(Wgmma, AProxyFenceBehindTheBarrierWillDo) {
  const Product p{WgmmaKernel(kPlain, "bar.sync 0;\nfence.proxy.async.shared::cta;\n")};
  expect_clean(p.result);
}

TEST(Wgmma, AccumulatorsThatChangedNeedAFence) {
  Product p{WgmmaKernel(kPlain, kProxy, "")};
  EXPECT_TRUE(p.bench.is_poison(2, 0));
}

TEST(Wgmma, AFenceBeforeTheLastChangeIsNone) {
  Product p{WgmmaKernel(kPlain, kProxy, std::string(kFence) + "mov.b32 %d0, %r0;\n")};
  EXPECT_TRUE(p.bench.is_poison(2, 0));
}

TEST(Wgmma, ResultsAreThereAfterTheWait) {
  Product p{WgmmaKernel(kPlain, kProxy, kFence, "")};
  EXPECT_TRUE(p.bench.is_poison(2, 0));
  // One group may be pending: it is the only one.
  Product q{WgmmaKernel(kPlain, kProxy, kFence, "wgmma.wait_group.sync.aligned 1;\n")};
  EXPECT_TRUE(q.bench.is_poison(2, 0));
}

TEST(Wgmma, TargetsThatAreWrittenInFlightAreLost) {
  Product p{WgmmaKernel(kPlain, kProxy, kFence, std::string("mov.b32 %d0, %r0;\n") + kWait)};
  EXPECT_TRUE(p.bench.is_poison(2, 0));
  EXPECT_FALSE(p.bench.is_poison(2, 1));
}

TEST(Wgmma, FactorsInRegistersStayUntilTheWait) {
  WgmmaForm f = kPlain;
  f.registers = true;
  const Product p{WgmmaKernel(f, kProxy, kFence, std::string("mov.b32 %a0, %r0;\n") + kWait)};
  EXPECT_EQ(kinds_of(p.result), std::vector<std::string>{"unwaited-copy"});
}

TEST(Wgmma, SharedMemoryStaysUntilTheWait) {
  const std::string store = "bar.sync 0;\nmov.u32 %r6, sb;\nst.shared.b32 [%r6], %r0;\n";
  // All threads store there, each its own number: a race as well.
  const Product bad{WgmmaKernel(kPlain, kProxy, kFence, store + kWait)};
  const auto kinds = kinds_of(bad.result);
  EXPECT_NE(std::find(kinds.begin(), kinds.end(), "unwaited-copy"), kinds.end());
  const Product good{WgmmaKernel(kPlain, kProxy, kFence, kWait + store)};
  for (const std::string& kind : kinds_of(good.result)) EXPECT_EQ(kind, "shared-race");
}

TEST(Wgmma, OneWarpsWaitEndsTheWholeRead) {
  // A thread of warp 1 writes what the other warps' parts of the product read: its own wait and
  // warp 0's word are enough.
  const std::string hand =
      "wgmma.wait_group.sync.aligned 0;\nsetp.lt.u32 %p2, %r0, 32;\n@%p2 bar.arrive 1, 64;\n"
      "setp.ge.u32 %p3, %r0, 64;\n@%p3 bra REST;\n@!%p2 bar.sync 1, 64;\n"
      "setp.eq.u32 %p3, %r0, 32;\nmov.u32 %r6, sb;\n@%p3 st.shared.b32 [%r6], %r0;\nREST:\n";
  expect_clean(Product{WgmmaKernel(kPlain, kProxy, kFence, hand)}.result);
}

TEST(Wgmma, AllWarpsOfAGroupExecuteIt) {
  const std::string skip =
      "setp.lt.u32 %p2, %r0, 96;\n@!%p2 bra SKIP;\nwgmma.fence.sync.aligned;\nSKIP:\n";
  const Product p{WgmmaKernel(kPlain, kProxy, kFence, kWait + skip)};
  EXPECT_EQ(kinds_of(p.result), std::vector<std::string>{"barrier-divergence"});
}

}  // namespace
}  // namespace coequal::exec::testing
