// Matrix instructions against the definition of the product, fragments laid out as the PTX manual
// has them (9.7.14.5).
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "unit/exec/launch_text.h"

namespace coequal::exec::testing {
namespace {

struct Cell {
  int row, column;
};

// The manual's formulas for the first element of each register of a lane; the others of a register
// follow along k (A, B).
struct Form {
  std::string name, spelling;
  DType dtype;  // of A and B
  int m, n, k;
  int per;  // elements a register
  std::vector<std::function<Cell(int group, int thread)>> a, b;
  bool integers = false;
};

std::vector<Form> forms() {
  const auto at = [](int row, int column, int step) {
    return [=](int g, int t) { return Cell{g + row, step * t + column}; };
  };
  const auto deep = [](int row, int step) {
    return [=](int g, int t) { return Cell{step * t + row, g}; };
  };
  return {
      {"m16n8k16_f16",
       "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
       DType::F16,
       16,
       8,
       16,
       2,
       {at(0, 0, 2), at(8, 0, 2), at(0, 8, 2), at(8, 8, 2)},
       {deep(0, 2), deep(8, 2)}},
      {"m16n8k8_f16",
       "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
       DType::F16,
       16,
       8,
       8,
       2,
       {at(0, 0, 2), at(8, 0, 2)},
       {deep(0, 2)}},
      {"m16n8k16_bf16",
       "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
       DType::BF16,
       16,
       8,
       16,
       2,
       {at(0, 0, 2), at(8, 0, 2), at(0, 8, 2), at(8, 8, 2)},
       {deep(0, 2), deep(8, 2)}},
      {"m16n8k8_tf32",
       "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
       DType::F32,
       16,
       8,
       8,
       1,
       {at(0, 0, 1), at(8, 0, 1), at(0, 4, 1), at(8, 4, 1)},
       {deep(0, 1), deep(4, 1)}},
      {"m16n8k4_tf32",
       "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32",
       DType::F32,
       16,
       8,
       4,
       1,
       {at(0, 0, 1), at(8, 0, 1)},
       {deep(0, 1)}},
      {"m16n8k16_s8",
       "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32",
       DType::I8,
       16,
       8,
       16,
       4,
       {at(0, 0, 4), at(8, 0, 4)},
       {deep(0, 4)},
       true},
      {"m16n8k32_s8",
       "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
       DType::I8,
       16,
       8,
       32,
       4,
       {at(0, 0, 4), at(8, 0, 4), at(0, 16, 4), at(8, 16, 4)},
       {deep(0, 4), deep(16, 4)},
       true},
      {"m16n8k32_u8",
       "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32",
       DType::U8,
       16,
       8,
       32,
       4,
       {at(0, 0, 4), at(8, 0, 4), at(0, 16, 4), at(8, 16, 4)},
       {deep(0, 4), deep(16, 4)},
       true},
  };
}

std::vector<int64_t> random_values(std::mt19937& random, int64_t count, int low, int high) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(low + static_cast<int64_t>(random() % static_cast<unsigned>(high - low + 1)));
  return out;
}

class MmaTest : public ::testing::TestWithParam<Form> {};

TEST_P(MmaTest, EveryElementIsTheSumOfProducts) {
  const Form& f = GetParam();
  // A by rows, B by columns; where each lane finds its registers is known data.
  const int bytes = dtype_size(f.dtype);
  std::vector<int64_t> where;
  for (int lane = 0; lane < 32; ++lane) {
    for (const auto& place : f.a) {
      const Cell c = place(lane / 4, lane % 4);
      where.push_back((c.row * f.k + c.column) * bytes);
    }
    for (const auto& place : f.b) {
      const Cell c = place(lane / 4, lane % 4);
      where.push_back((c.column * f.k + c.row) * bytes);
    }
  }
  const size_t each = f.a.size() + f.b.size();
  const DType result = f.integers ? DType::I32 : DType::F32;
  TensorSpec known{"where",      DType::I32,   static_cast<int64_t>(where.size()),
                   Init::Values, Access::Read, where};
  Bench bench({input("a", f.m * f.k, f.dtype), input("b", f.k * f.n, f.dtype),
               input("c", f.m * f.n, result), output("d", f.m * f.n, result), known});
  std::string body =
      fmt::format("mul.wide.u32 %rd10, %r0, {};\nadd.u64 %rd10, %rd4, %rd10;\n", 4 * each);
  for (size_t i = 0; i < each; ++i)
    body += fmt::format(
        "ld.global.u32 %r1, [%rd10+{}];\ncvt.u64.u32 %rd11, %r1;\nadd.u64 %rd11, %rd11, "
        "%rd{};\nld.global.b32 %r{}, [%rd11];\n",
        4 * i, i < f.a.size() ? 0 : 1, 10 + i);
  // C and D: c0, c1 in row group, c2, c3 in row group + 8, columns 2 * thread and the next.
  body += fmt::format(
      "shr.u32 %r2, %r0, 2;\nand.b32 %r3, %r0, 3;\nmul.lo.u32 %r2, %r2, {0};\nshl.b32 %r3, %r3, "
      "1;\nadd.u32 %r2, %r2, %r3;\n"
      "mul.wide.u32 %rd12, %r2, 4;\nadd.u64 %rd13, %rd2, %rd12;\nadd.u64 %rd14, %rd3, %rd12;\n"
      "ld.global.b32 %r40, [%rd13];\nld.global.b32 %r41, [%rd13+4];\nld.global.b32 %r42, "
      "[%rd13+{1}];\nld.global.b32 %r43, [%rd13+{2}];\n",
      f.n, 32 * f.n, 32 * f.n + 4);
  std::string ta, tb;
  for (size_t i = 0; i < each; ++i) (i < f.a.size() ? ta : tb) += fmt::format("%r{},", 10 + i);
  ta.pop_back();
  tb.pop_back();
  const std::string reg = f.integers ? "%r" : "%f";
  if (!f.integers)
    body += "mov.b32 %f0, %r40;\nmov.b32 %f1, %r41;\nmov.b32 %f2, %r42;\nmov.b32 %f3, %r43;\n";
  const int first = f.integers ? 40 : 0;
  const std::string tc =
      fmt::format("{0}{1},{0}{2},{0}{3},{0}{4}", reg, first, first + 1, first + 2, first + 3);
  body += fmt::format("{} {{{}}}, {{{}}}, {{{}}}, {{{}}};\n", f.spelling, tc, ta, tb, tc);
  const std::string type = f.integers ? "s32" : "f32";
  body += fmt::format(
      "st.global.{0} [%rd14], {1}{2};\nst.global.{0} [%rd14+4], {1}{3};\nst.global.{0} "
      "[%rd14+{6}], {1}{4};\n"
      "st.global.{0} [%rd14+{7}], {1}{5};\nret;",
      type, reg, first, first + 1, first + 2, first + 3, 32 * f.n, 32 * f.n + 4);
  expect_clean(bench.run(kernel_text(5, body), 1, 32));

  std::mt19937 random(7);
  const int low = f.dtype == DType::U8 ? 0
                  : f.integers         ? -128
                                       : -9,
            high = f.dtype == DType::U8 ? 255
                   : f.integers         ? 127
                                        : 9;
  const auto a = random_values(random, f.m * f.k, low, high),
             b = random_values(random, f.k * f.n, low, high),
             c = random_values(random, f.m * f.n, 0, 99);
  for (int row = 0; row < f.m; ++row)
    for (int column = 0; column < f.n; ++column) {
      int64_t sum = c[static_cast<size_t>(row * f.n + column)];
      for (int i = 0; i < f.k; ++i)
        sum += a[static_cast<size_t>(row * f.k + i)] * b[static_cast<size_t>(column * f.k + i)];
      EXPECT_EQ(bench.number(3, row * f.n + column, {a, b, c}), sum) << row << "," << column;
    }
}

INSTANTIATE_TEST_SUITE_P(Forms, MmaTest, ::testing::ValuesIn(forms()),
                         [](const auto& form) { return form.param.name; });

// x holds 8 matrices of 8 x 8 halves, one after the other, row by row.
std::string fill_shared(int cells) {
  std::string text;
  for (int i = 0; i < cells / 32; ++i)
    text += fmt::format(
        "mul.wide.u32 %rd10, %r0, 2;\nadd.u64 %rd11, %rd0, %rd10;\nld.global.b16 %h0, "
        "[%rd11+{0}];\n"
        "mov.u32 %r5, buffer;\nshl.b32 %r6, %r0, 1;\nadd.u32 %r5, %r5, %r6;\nst.shared.b16 "
        "[%r5+{0}], %h0;\n",
        64 * i);
  return text + "bar.sync 0;\n";
}
const char* const kBuffer = ".shared .align 16 .b8 buffer[1024];\n";

TEST(MatrixMove, LoadFourMatrices) {
  // Lane l gives row l % 8 of matrix l / 8; register i of lane l holds elements 2 * (l % 4) and the
  // next of row l / 4 of matrix i.
  for (const bool transposed : {false, true}) {
    Bench bench({input("x", 256, DType::F16), output("y", 256, DType::F16)});
    const std::string body =
        fill_shared(256) +
        fmt::format(
            "mov.u32 %r5, buffer;\nshl.b32 %r6, %r0, 4;\nadd.u32 %r5, %r5, %r6;\n"
            "ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {{%r10,%r11,%r12,%r13}}, [%r5];\n"
            "mul.wide.u32 %rd12, %r0, 16;\nadd.u64 %rd12, %rd1, %rd12;\nst.global.v4.b32 [%rd12], "
            "{{%r10,%r11,%r12,%r13}};\nret;",
            transposed ? ".trans" : "");
    expect_clean(bench.run(kernel_text(2, body, kBuffer), 1, 32));
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i)
        for (int e = 0; e < 2; ++e) {
          const int row = transposed ? 2 * (lane % 4) + e : lane / 4,
                    column = transposed ? lane / 4 : 2 * (lane % 4) + e;
          EXPECT_EQ(bench.text(1, lane * 8 + 2 * i + e),
                    fmt::format("x[{}]", 64 * i + 8 * row + column));
        }
  }
}

TEST(MatrixMove, StoreIsTheInverseOfLoad) {
  for (const bool transposed : {false, true}) {
    Bench bench({input("x", 128, DType::F16), output("y", 128, DType::F16)});
    const std::string trans = transposed ? ".trans" : "";
    const std::string body = fill_shared(128) +
                             "mov.u32 %r5, buffer;\nand.b32 %r6, %r0, 15;\nshl.b32 %r6, %r6, "
                             "4;\nadd.u32 %r5, %r5, %r6;\n"
                             "ldmatrix.sync.aligned.m8n8.x2" +
                             trans +
                             ".shared.b16 {%r10,%r11}, [%r5];\n"
                             "add.u32 %r7, %r5, 512;\nstmatrix.sync.aligned.m8n8.x2" +
                             trans +
                             ".shared.b16 [%r7], {%r10,%r11};\nbar.sync 0;\n"
                             "mov.u32 %r5, buffer;\nshl.b32 %r6, %r0, 3;\nadd.u32 %r5, %r5, "
                             "%r6;\nld.shared.v2.b32 {%r12,%r13}, [%r5+512];\n"
                             "mul.wide.u32 %rd12, %r0, 8;\nadd.u64 %rd12, %rd1, "
                             "%rd12;\nst.global.v2.b32 [%rd12], {%r12,%r13};\nret;";
    expect_clean(bench.run(kernel_text(2, body, kBuffer), 1, 32));
    for (int i = 0; i < 128; ++i) EXPECT_EQ(bench.text(1, i), fmt::format("x[{}]", i));
  }
}

TEST(MatrixMove, MovmatrixTransposes) {
  Bench bench({input("x", 64, DType::F16), output("y", 64, DType::F16)});
  const std::string body =
      "mul.wide.u32 %rd10, %r0, 4;\nadd.u64 %rd11, %rd0, %rd10;\nadd.u64 %rd12, %rd1, "
      "%rd10;\nld.global.b32 %r5, [%rd11];\n"
      "movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r5;\nst.global.b32 [%rd12], %r6;\nret;";
  expect_clean(bench.run(kernel_text(2, body), 1, 32));
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 8; ++column)
      EXPECT_EQ(bench.text(1, row * 8 + column), fmt::format("x[{}]", column * 8 + row));
}

TEST(MatrixMove, RowsOfOtherLanesNeedAnOrder) {
  // Each lane stores a row and loads at once: nothing orders the stores before the loads of other
  // lanes.
  Bench bench({input("x", 8), output("y", 32, DType::U32)});
  const std::string body =
      "mov.u32 %r5, buffer;\nshl.b32 %r6, %r0, 4;\nadd.u32 %r5, %r5, %r6;\nst.shared.v4.b32 [%r5], "
      "{%r0,%r0,%r0,%r0};\n"
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10,%r11,%r12,%r13}, [%r5];\n"
      "mul.wide.u32 %rd12, %r0, 4;\nadd.u64 %rd12, %rd1, %rd12;\nst.global.u32 [%rd12], "
      "%r10;\nret;";
  EXPECT_EQ(kinds_of(bench.run(kernel_text(2, body, kBuffer), 1, 32)),
            std::vector<std::string>{"shared-race"});
}

TEST(MatrixMove, MisalignedRow) {
  Bench bench({input("x", 8), output("y", 32, DType::U32)});
  const std::string body =
      "mov.u32 %r5, buffer;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r5+8];\n"
      "mul.wide.u32 %rd12, %r0, 4;\nadd.u64 %rd12, %rd1, %rd12;\nst.global.u32 [%rd12], "
      "%r10;\nret;";
  EXPECT_EQ(kinds_of(bench.run(kernel_text(2, body, kBuffer), 1, 32)),
            std::vector<std::string>{"misaligned-access"});
}

TEST(MatrixMove, PartOfAWarpIsNotEnough) {
  Bench bench({input("x", 64, DType::F16), output("y", 64, DType::F16)});
  const std::string body =
      "setp.gt.u32 %p0, %r0, 15;\n@%p0 bra END;\nmovmatrix.sync.aligned.m8n8.trans.b16 %r6, "
      "%r0;\nEND:\nbar.sync 0;\nret;";
  EXPECT_EQ(kinds_of(bench.run(kernel_text(2, body), 1, 32)),
            std::vector<std::string>{"inactive-lane"});
}

// Fragments of wmma are loaded, multiplied and stored; every layout of the operands.
struct WmmaForm {
  std::string shape, a_layout, b_layout, types;
  DType dtype;
  int m, n, k, a_registers, b_registers, c_registers;
};

class WmmaTest : public ::testing::TestWithParam<WmmaForm> {};

TEST_P(WmmaTest, EveryElementIsTheSumOfProducts) {
  const WmmaForm& f = GetParam();
  const bool integers = f.dtype == DType::I8, halves = f.types == "f16.f16";
  const DType result = integers ? DType::I32 : halves ? DType::F16 : DType::F32;
  const std::string element = integers                 ? "s8"
                              : f.dtype == DType::BF16 ? "bf16"
                              : f.dtype == DType::F32  ? "tf32"
                                                       : "f16";
  const std::string sum = integers ? "s32" : halves ? "f16" : "f32";
  Bench bench({input("a", f.m * f.k, f.dtype), input("b", f.k * f.n, f.dtype),
               input("c", f.m * f.n, result), output("d", f.m * f.n, result)});
  const auto list = [](const std::string& reg, int first, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += fmt::format("{}{}{}", i ? "," : "", reg, first + i);
    return "{" + out + "}";
  };
  const std::string creg = integers || halves ? "%r" : "%f", a = list("%r", 10, f.a_registers),
                    b = list("%r", 20, f.b_registers), c = list(creg, 30, f.c_registers);
  const bool a_rows = f.a_layout == "row", b_rows = f.b_layout == "row";
  const std::string body =
      fmt::format("mov.u32 %r2, {};\nmov.u32 %r3, {};\nmov.u32 %r4, {};\n", a_rows ? f.k : f.m,
                  b_rows ? f.n : f.k, f.n) +
      fmt::format("wmma.load.a.sync.aligned.{}.{}.global.{} {}, [%rd0], %r2;\n", f.a_layout,
                  f.shape, element, a) +
      fmt::format("wmma.load.b.sync.aligned.{}.{}.global.{} {}, [%rd1], %r3;\n", f.b_layout,
                  f.shape, element, b) +
      fmt::format("wmma.load.c.sync.aligned.row.{}.global.{} {}, [%rd2], %r4;\n", f.shape, sum, c) +
      fmt::format("wmma.mma.sync.aligned.{}.{}.{}.{} {}, {}, {}, {};\n", f.a_layout, f.b_layout,
                  f.shape, f.types, c, a, b, c) +
      fmt::format("wmma.store.d.sync.aligned.row.{}.global.{} [%rd3], {}, %r4;\nret;", f.shape, sum,
                  c);
  expect_clean(bench.run(kernel_text(4, body), 1, 32));
  std::mt19937 random(11);
  const auto va = random_values(random, f.m * f.k, -9, 9),
             vb = random_values(random, f.k * f.n, -9, 9),
             vc = random_values(random, f.m * f.n, -9, 9);
  for (int row = 0; row < f.m; ++row)
    for (int column = 0; column < f.n; ++column) {
      int64_t want = vc[static_cast<size_t>(row * f.n + column)];
      for (int i = 0; i < f.k; ++i)
        want += va[static_cast<size_t>(a_rows ? row * f.k + i : i * f.m + row)] *
                vb[static_cast<size_t>(b_rows ? i * f.n + column : column * f.k + i)];
      EXPECT_EQ(bench.number(3, row * f.n + column, {va, vb, vc}), want) << row << "," << column;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, WmmaTest,
    ::testing::Values(
        WmmaForm{"m16n16k16", "row", "row", "f32.f32", DType::F16, 16, 16, 16, 8, 8, 8},
        WmmaForm{"m16n16k16", "row", "col", "f32.f32", DType::F16, 16, 16, 16, 8, 8, 8},
        WmmaForm{"m16n16k16", "col", "row", "f16.f16", DType::F16, 16, 16, 16, 8, 8, 4},
        WmmaForm{"m8n32k16", "row", "col", "f32.f32", DType::F16, 8, 32, 16, 8, 8, 8},
        WmmaForm{"m32n8k16", "col", "col", "f32.f32", DType::F16, 32, 8, 16, 8, 8, 8},
        WmmaForm{"m16n16k16", "row", "col", "f32.bf16.bf16.f32", DType::BF16, 16, 16, 16, 4, 4, 8},
        WmmaForm{"m16n16k8", "row", "col", "f32.tf32.tf32.f32", DType::F32, 16, 16, 8, 4, 4, 8},
        WmmaForm{"m16n16k16", "row", "col", "s32.s8.s8.s32", DType::I8, 16, 16, 16, 2, 2, 8}),
    [](const auto& form) {
      std::string name = form.param.shape + "_" + form.param.a_layout + "_" + form.param.b_layout +
                         "_" + form.param.types;
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

}  // namespace
}  // namespace coequal::exec::testing
