// What a replay says of witnesses, races and uninitialised reads.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "check/replay_findings.h"
#include "instance/toml.h"

namespace coequal::check {
namespace {

// y[i] = x[i] + n for the threads of one block; `store` stands before the store of %f1.
std::string kernel_text(const std::string& middle) {
  return ".version 7.0\n.target sm_80\n.address_size 64\n"
         ".visible .entry f(.param .u64 px, .param .u64 py, .param .f32 pn)\n{\n"
         ".reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %d<5>; .shared .f32 s[64]; .reg .b32 %s<4>;\n"
         "ld.param.u64 %d0, [px]; ld.param.u64 %d1, [py]; ld.param.f32 %f0, [pn];\n"
         "mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4; add.u64 %d3, %d0, %d2;\n"
         "add.u64 %d4, %d1, %d2; ld.global.f32 %f1, [%d3]; mov.u32 %s0, s;\n"
         "shl.b32 %s1, %r0, 2; add.u32 %s1, %s0, %s1;\n" +
         middle + "\nst.global.f32 [%d4], %f1;\nret;\n}\n";
}

class Findings : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Tensors x and y and a scalar n; programs of one launch of `threads` threads.
  instance::Instance make(const std::string& tensors, const std::string& a,
                          const std::string& b = "", int threads = 8) {
    std::string text = "[tensors]\n" + tensors + "[scalars]\nn = { dtype = \"f32\" }\n";
    for (const auto& [name, body] : {std::pair{"a", a}, std::pair{"b", b}}) {
      if (body.empty()) continue;
      std::ofstream(folder_ + "/" + name + ".ptx") << kernel_text(body);
      text += fmt::format(
          "[program_{0}]\nsource = \"{0}.ptx\"\n[[program_{0}.launch]]\nkernel = \"f\"\ngrid = "
          "[1]\n"
          "block = [{1}]\nargs = [{{ read = \"x\" }}, {{ write = \"y\" }}, {{ scalar = \"n\" }}]\n",
          name, threads);
    }
    auto read = instance::read_toml_text(text, folder_ + "/i.toml");
    if (!read) throw std::runtime_error(read.error().message);
    return *std::move(read);
  }

  report::InstanceResult replayed(const instance::Instance& instance,
                                  report::InstanceResult result) {
    KernelCache kernels;
    replay_findings(instance, kernels, Options(), Budget(60), result);
    return result;
  }

  static report::InstanceResult witness(const std::string& a, const std::string& b,
                                        std::vector<report::WitnessInput> inputs) {
    report::InstanceResult result;
    result.verdict = report::Verdict::Inequivalent;
    result.cells = {8, 0, 0, 8, 0};
    result.witness.emplace();
    result.witness->cell = "y[2]";
    result.witness->value_a.exact = a;
    result.witness->value_b.exact = b;
    result.witness->inputs = std::move(inputs);
    return result;
  }

  std::string folder_;
};

const std::string kTensors =
    "x = { dtype = \"f32\", shape = [8] }\ny = { dtype = \"f32\", shape = [8], init = \"empty\" "
    "}\n";

TEST_F(Findings, AWitnessShowsItsDifferenceInFloats) {
  const instance::Instance i = make(kTensors, "add.f32 %f1, %f1, %f0;", "sub.f32 %f1, %f1, %f0;");
  const auto result = replayed(i, witness("3", "1", {{"x", "2", "2"}, {"n", "", "1"}}));
  EXPECT_EQ(result.verdict, report::Verdict::Inequivalent);
  EXPECT_EQ(result.witness->replay, "A 3, B 1 (difference 2)");
}

TEST_F(Findings, AWitnessThatTheProgramsContradictIsAnInternalError) {
  const instance::Instance i = make(kTensors, "add.f32 %f1, %f1, %f0;", "add.f32 %f1, %f0, %f1;");
  const auto result = replayed(i, witness("3", "1", {{"x", "2", "2"}, {"n", "", "1"}}));
  EXPECT_EQ(result.verdict, report::Verdict::Internal);
  EXPECT_FALSE(result.witness);
  ASSERT_EQ(result.problems.size(), 1u);
  EXPECT_EQ(result.cells.refuted, 0);
}

TEST_F(Findings, WhatRoundingHidesIsSaid) {
  // 2^24 + 1 is no float: A rounds to 2^24.
  const instance::Instance i = make(kTensors, "add.f32 %f1, %f1, %f0;", "mov.f32 %f1, %f1;");
  const auto rounded =
      replayed(i, witness("16777217", "16777216", {{"x", "2", "16777216"}, {"n", "", "1"}}));
  EXPECT_EQ(rounded.verdict, report::Verdict::Inequivalent);
  EXPECT_EQ(rounded.witness->replay,
            "A 16777216, B 16777216; the difference is below f32 rounding at this input");
  // 10^20 squared is beyond f32.
  const instance::Instance j = make(kTensors, "mul.f32 %f1, %f1, %f1;",
                                    "mul.f32 %f1, %f1, %f1; mul.f32 %f1, %f1, 0f40000000;");
  const auto overflow = replayed(j, witness("10000000000000000000000000000000000000000",
                                            "20000000000000000000000000000000000000000",
                                            {{"x", "2", "100000002004087734272"}}));
  EXPECT_EQ(overflow.witness->replay, "A inf, B inf; an intermediate value overflows");
}

TEST_F(Findings, RacesAreRunInSeveralOrders) {
  // Every thread stores to cell 0; the last one wins.
  const instance::Instance i = make(
      kTensors, "cvt.rn.f32.u32 %f2, %r0; st.global.f32 [%d1], %f2; ld.global.f32 %f1, [%d1];");
  report::InstanceResult result;
  result.verdict = report::Verdict::Defect;
  result.defects.resize(1);
  result.defects[0].kind = DefectKind::GlobalRace;
  result = replayed(i, result);
  ASSERT_EQ(result.defects[0].also.size(), 1u);
  EXPECT_TRUE(result.defects[0].also[0].starts_with("in a replay, y["))
      << result.defects[0].also[0];
}

TEST_F(Findings, UninitialisedReadsAreRunOverSeveralContents) {
  const instance::Instance i = make(kTensors, "ld.shared.f32 %f1, [%s1];");
  report::InstanceResult result;
  result.verdict = report::Verdict::Defect;
  result.defects.resize(1);
  result.defects[0].kind = DefectKind::UninitializedRead;
  result = replayed(i, result);
  ASSERT_EQ(result.defects[0].also.size(), 1u);
  EXPECT_EQ(result.defects[0].also[0],
            "in a replay, y[0] is 0 over zeros and 3.0039215 over bytes of 64");
}

}  // namespace
}  // namespace coequal::check
