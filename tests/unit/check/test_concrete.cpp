// Concrete inputs within their bounds, layouts of storage, and programs run on numbers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "check/concrete.h"
#include "instance/toml.h"

namespace coequal::check {
namespace {

// y[i] = x[i] * s + x[i + shift] for i below 4, one thread a cell.
constexpr const char* kKernel = R"(.version 8.3
.target sm_80
.address_size 64
.visible .entry f(.param .u64 px, .param .u64 py, .param .f32 ps, .param .u32 pshift)
{
  .reg .b32 %r<4>;
  .reg .f32 %f<6>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [px];
  ld.param.u64 %rd2, [py];
  ld.param.f32 %f1, [ps];
  ld.param.u32 %r1, [pshift];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd1, %rd3;
  mul.wide.u32 %rd5, %r1, 4;
  add.s64 %rd6, %rd4, %rd5;
  add.s64 %rd7, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4];
  ld.global.f32 %f3, [%rd6];
  fma.rn.f32 %f4, %f2, %f1, %f3;
  st.global.f32 [%rd7], %f4;
  ret;
}
)";

class Concrete : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("coequal-concrete-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "k.ptx") << kKernel;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  instance::Instance read(const std::string& tensors, const std::string& shift = "0") {
    const std::string text =
        "outputs = [\"y\"]\n[tensors]\n" + tensors +
        "\n[scalars]\ns = { dtype = \"f32\", min = 2.0 }\n[program_a]\nsource = \"k.ptx\"\n"
        "[[program_a.launch]]\nkernel = \"f\"\ngrid = [1]\nblock = [4]\nargs = [{ read = \"x\" }, "
        "{ write "
        "= \"y\" }, { scalar = \"s\" }, { u32 = " +
        shift + " }]\n";
    Result<instance::Instance> read =
        instance::read_toml_text(text, (folder_ / "case.toml").string());
    if (!read) ADD_FAILURE() << read.error().message;
    return *read;
  }

  ConcreteRun run(const instance::Instance& instance, const ConcreteInputs& inputs,
                  const replay::RunOptions& how = {}) {
    KernelCache kernels;
    Result<ConcreteRun> run =
        run_concrete(instance, instance.program_a, inputs, kernels, how, Options{}, Budget{});
    if (!run) ADD_FAILURE() << run.error().message;
    return *std::move(run);
  }

  std::filesystem::path folder_;
};

std::vector<float> floats(const Bytes& bytes) {
  std::vector<float> out(bytes.size() / 4);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

Bytes bytes_of(const std::vector<float>& values) {
  Bytes out(values.size() * 4);
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

constexpr const char* kPlain =
    "x = { dtype = \"f32\", shape = [4] }\ny = { dtype = \"f32\", shape = [4], init = \"empty\" }";

TEST_F(Concrete, RunsOnGivenInputs) {
  const instance::Instance instance = read(kPlain);
  ConcreteInputs inputs;
  inputs.tensors["x"] = bytes_of({1, 2, -3, 0.5f});
  inputs.scalars["s"] = bytes_of({4});
  const ConcreteRun done = run(instance, inputs);
  EXPECT_FALSE(done.fault);
  EXPECT_EQ(floats(done.tensors.at("y")), (std::vector<float>{5, 10, -15, 2.5f}));
  EXPECT_EQ(done.tensors.at("x"), inputs.tensors["x"]);
}

TEST_F(Concrete, WhatIsNotGivenIsNearestToZero) {
  // s >= 2, x in (1, 8]: 1 itself is excluded.
  const instance::Instance instance = read(
      "x = { dtype = \"f32\", shape = [4], above = 1.0, max = 8.0 }\n"
      "y = { dtype = \"f32\", shape = [4], init = \"empty\" }");
  const ConcreteInputs inputs = nearest_inputs(instance);
  EXPECT_EQ(floats(inputs.scalars.at("s")), (std::vector<float>{2}));
  for (const float x : floats(inputs.tensors.at("x"))) {
    EXPECT_GT(x, 1);
    EXPECT_LT(x, 1.001f);
  }
  EXPECT_FALSE(inputs.tensors.contains("y"));
}

TEST_F(Concrete, StridedTensorsLieInTheirStorage) {
  // Rows of two cells at a pitch of three: row-major elements 0 1 2 3 are cells 0 1 3 4. The kernel
  // reads cells 0..3, of which cell 2 is a gap.
  const instance::Instance instance = read(
      "x = { dtype = \"f32\", shape = [2, 2], strides = [3, 1] }\n"
      "y = { dtype = \"f32\", shape = [4], init = \"empty\" }");
  ConcreteInputs inputs;
  inputs.tensors["x"] = bytes_of({1, 2, 3, 4});
  inputs.scalars["s"] = bytes_of({1});
  replay::RunOptions how;
  how.fill = 0;
  EXPECT_EQ(floats(run(instance, inputs, how).tensors.at("y")), (std::vector<float>{2, 4, 0, 6}));
  EXPECT_EQ(storage_cell(*instance.find_tensor("x"), 2), 3);
}

TEST_F(Concrete, FaultsAreValuesWithTheirPlace) {
  const instance::Instance instance = read(kPlain, "2");
  const ConcreteRun done = run(instance, nearest_inputs(instance));
  ASSERT_TRUE(done.fault);
  EXPECT_EQ(done.fault->kind, replay::FaultKind::OutOfBounds);
  EXPECT_EQ(done.fault->tid.x, 2u);
  EXPECT_EQ(done.fault->span.line, 20u);
}

TEST_F(Concrete, StepLimitsEndARun) {
  const instance::Instance instance = read(kPlain);
  replay::RunOptions how;
  how.step_limit = 8;
  const ConcreteRun done = run(instance, nearest_inputs(instance), how);
  ASSERT_TRUE(done.fault);
  EXPECT_EQ(done.fault->kind, replay::FaultKind::StepLimit);
}

TEST_F(Concrete, KnownAndUninitialisedContents) {
  const instance::Instance instance = read(
      "x = { dtype = \"f32\", shape = [4], values = [1, 2, 3, 4] }\n"
      "y = { dtype = \"f32\", shape = [5], init = \"empty\" }");
  replay::RunOptions how;
  how.fill = 0x40;  // 0x40404040 is 3.0039215
  const ConcreteRun done = run(instance, nearest_inputs(instance), how);
  const std::vector<float> y = floats(done.tensors.at("y"));
  EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 4), (std::vector<float>{3, 6, 9, 12}));
  EXPECT_FLOAT_EQ(y[4], 3.0039215f);
}

TEST_F(Concrete, RandomInputsKeepTheirBounds) {
  const instance::Instance instance = read(
      "x = { dtype = \"f32\", shape = [200], min = -0.25, below = 0.5 }\n"
      "y = { dtype = \"f32\", shape = [200], init = \"empty\" }\n"
      "far = { dtype = \"f32\", shape = [50], min = 100.0 }\n"
      "i = { dtype = \"i64\", shape = [200], min = 3, max = 7 }\n"
      "o = { dtype = \"i32\", shape = [50], min = 0, max = 90, sorted = true }\n"
      "b = { dtype = \"bool\", shape = [50] }");
  for (const RandomValues values : {RandomValues::Reals, RandomValues::Integers}) {
    const ConcreteInputs inputs = random_inputs(instance, 5, values);
    for (const float x : floats(inputs.tensors.at("x"))) {
      EXPECT_GE(x, -0.25f);
      EXPECT_LT(x, 0.5f);
    }
    for (const float x : floats(inputs.tensors.at("far"))) EXPECT_GE(x, 100);
    std::set<double> labels;
    for (size_t k = 0; k < 200; ++k)
      labels.insert(element_value(inputs.tensors.at("i").data() + 8 * k, DType::I64));
    EXPECT_EQ(labels, (std::set<double>{3, 4, 5, 6, 7}));
    double before = 0;
    for (size_t k = 0; k < 50; ++k) {
      const double o = element_value(inputs.tensors.at("o").data() + 4 * k, DType::I32);
      EXPECT_GE(o, before);
      EXPECT_LE(o, 90);
      before = o;
      EXPECT_LE(inputs.tensors.at("b")[k], 1);
    }
    EXPECT_EQ(random_inputs(instance, 5, values).tensors, inputs.tensors);
    EXPECT_NE(random_inputs(instance, 6, values).tensors, inputs.tensors);
  }
  for (const float x :
       floats(random_inputs(read(kPlain), 1, RandomValues::Integers).tensors.at("x")))
    EXPECT_EQ(x, std::round(x));
}

TEST(Elements, Texts) {
  const auto value = [](std::string_view text, DType dtype) {
    const auto bytes = element_from_text(text, dtype);
    return bytes ? element_value(bytes->data(), dtype) : NAN;
  };
  EXPECT_EQ(value("3/4", DType::F16), 0.75);
  EXPECT_EQ(value("-2", DType::BF16), -2);
  EXPECT_EQ(value("0.5", DType::TF32), 0.5);
  EXPECT_EQ(value("448", DType::F8E4M3), 448);
  EXPECT_EQ(value("-128", DType::I8), -128);
  EXPECT_EQ(value("18446744073709551615", DType::U64), 18446744073709551615.0);
  EXPECT_FALSE(element_from_text("one", DType::F32));
  const auto text = [](std::string_view number, DType dtype) {
    return element_text(element_from_text(number, dtype)->data(), dtype);
  };
  EXPECT_EQ(text("18446744073709551615", DType::U64), "18446744073709551615");
  EXPECT_EQ(text("-9223372036854775808", DType::I64), "-9223372036854775808");
  EXPECT_EQ(text("0.1", DType::F32), "0.1");
}

TEST(Elements, Indices) {
  instance::Tensor tensor;
  tensor.shape = {3, 5};
  EXPECT_EQ(element_of_index(tensor, "2,4"), 14);
  EXPECT_EQ(element_of_index(tensor, "0,5"), std::nullopt);
  EXPECT_EQ(element_of_index(tensor, "1"), std::nullopt);
  EXPECT_EQ(element_of_index(tensor, "1,2,3"), std::nullopt);
  EXPECT_EQ(element_of_index(tensor, "1,2x"), std::nullopt);
  tensor.shape = {};
  EXPECT_EQ(element_of_index(tensor, ""), 0);
}

}  // namespace
}  // namespace coequal::check
