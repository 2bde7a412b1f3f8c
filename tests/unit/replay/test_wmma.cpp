// wmma: matrices through fragments, and nothing that depends on where their elements lie.
#include <bit>

#include "base/float_bits.h"
#include "unit/replay/kernel_run.h"

namespace coequal::replay {
namespace {

// Small integers, so that every sum is exact.
int entry_a(int row, int column) { return (row + 2 * column) % 5 - 2; }
int entry_b(int row, int column) { return (3 * row + column) % 4 - 1; }

std::string list(const std::string& prefix, int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i ? ", " : "") + prefix + std::to_string(first + i);
  return text + "}";
}

TEST(Wmma, ProductOfHalfMatrices) {
  // A by rows, B by columns, both with 16 elements a line: 256 halves, then 256 halves.
  std::vector<uint32_t> in(256);
  const auto set = [&](size_t at, int value) {
    in[at / 2] |= static_cast<uint32_t>(float_from_double(kF16, value)) << (16 * (at % 2));
  };
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      set(static_cast<size_t>(16 * i + j), entry_a(i, j));
      set(static_cast<size_t>(256 + 16 * j + i), entry_b(i, j));
    }
  // D = A * B + 1, stored by columns at a distance of 17 elements.
  std::string body = "add.u64 %rd6, %rd2, 512;\nmov.u32 %r3, 16;\nmov.u32 %r4, 17;\n";
  const std::string a = list("%r", 8, 8), b = list("%r", 16, 8), c = list("%f", 0, 8),
                    d = list("%f", 8, 8);
  for (int i = 0; i < 8; ++i) body += "mov.f32 %f" + std::to_string(i) + ", 0f3F800000;\n";
  body += "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " + a + ", [%rd2], %r3;\n" +
          "wmma.load.b.sync.aligned.col.m16n16k16.global.f16 " + b + ", [%rd6];\n" +
          "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 " + d + ", " + a + ", " + b + ", " + c +
          ";\nwmma.store.d.sync.aligned.col.m16n16k16.global.f32 [%rd1], " + d + ", %r4;\nret;";
  std::vector<uint32_t> want(16 * 17, 0);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      int sum = 1;
      for (int k = 0; k < 16; ++k) sum += entry_a(i, k) * entry_b(k, j);
      want[static_cast<size_t>(17 * j + i)] = std::bit_cast<uint32_t>(static_cast<float>(sum));
    }
  expect_output(kernel_text(body), {.block = {32}, .in = in}, want);
}

TEST(Wmma, ProductOfBytes) {
  // The same with signed bytes of 16 a line and 32-bit sums, C from memory: A, then B, then C = 5.
  std::vector<uint32_t> in(128 + 256);
  const auto set = [&](size_t at, int value) {
    in[at / 4] |= static_cast<uint32_t>(static_cast<uint8_t>(value)) << (8 * (at % 4));
  };
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      set(static_cast<size_t>(16 * i + j), 30 * entry_a(i, j));
      set(static_cast<size_t>(256 + 16 * i + j), -20 * entry_b(i, j));
      in[static_cast<size_t>(128 + 16 * i + j)] = 5;
    }
  const std::string a = list("%r", 4, 2), b = list("%r", 6, 2), c = list("%r", 8, 8),
                    d = list("%r", 16, 8);
  const std::string body =
      "add.u64 %rd6, %rd2, 256;\nadd.u64 %rd7, %rd2, 512;\n"
      "wmma.load.a.sync.aligned.row.m16n16k16.global.s8 " +
      a + ", [%rd2];\nwmma.load.b.sync.aligned.row.m16n16k16.global.s8 " + b +
      ", [%rd6];\nwmma.load.c.sync.aligned.row.m16n16k16.global.s32 " + c + ", [%rd7];\n" +
      "wmma.mma.sync.aligned.row.row.m16n16k16.s32.s8.s8.s32 " + d + ", " + a + ", " + b + ", " +
      c + ";\nwmma.store.d.sync.aligned.row.m16n16k16.global.s32 [%rd1], " + d + ";\nret;";
  std::vector<uint32_t> want(256);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      int sum = 5;
      for (int k = 0; k < 16; ++k) sum += 30 * entry_a(i, k) * (-20 * entry_b(k, j));
      want[static_cast<size_t>(16 * i + j)] = static_cast<uint32_t>(sum);
    }
  expect_output(kernel_text(body), {.block = {32}, .in = in}, want);
}

TEST(Wmma, FragmentsReachNoFurtherThanTheirTensor) {
  const std::string body =
      "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " + list("%r", 8, 8) + ", [%rd2];\nret;";
  KernelSetup setup{.block = {32}, .in = std::vector<uint32_t>(127)};
  const KernelRun run = run_kernel(kernel_text(body), setup);
  ASSERT_TRUE(run.outcome.fault);
  EXPECT_EQ(run.outcome.fault->kind, FaultKind::OutOfBounds);
}

}  // namespace
}  // namespace coequal::replay
