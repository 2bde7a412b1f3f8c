// Sizes, strides, exact order of decimals, and whose settings win.
#include <gtest/gtest.h>

#include "instance/instance.h"

namespace coequal::instance {
namespace {

TEST(Sizes, OfShapesFarLargerThanMemory) {
  EXPECT_EQ(checked_numel({1000000, 1000000, 1000}), 1000000000000000);
  EXPECT_EQ(checked_numel({}), 1);
  EXPECT_EQ(checked_numel({3, 0, 5}), 0);
}

TEST(Sizes, OverflowIsNoNumber) {
  EXPECT_EQ(checked_numel({int64_t{1} << 32, int64_t{1} << 31}), std::nullopt);
  EXPECT_EQ(checked_numel({int64_t{1} << 31, int64_t{1} << 31, 2}), std::nullopt);
  EXPECT_EQ(checked_numel({int64_t{1} << 31, int64_t{1} << 31}), int64_t{1} << 62);
  // Nothing is multiplied once a dimension has no cells.
  EXPECT_EQ(checked_numel({INT64_MAX, INT64_MAX, 0}), 0);
}

TEST(Sizes, StorageReachesFromFirstToLastCell) {
  EXPECT_EQ(checked_storage_elements({4, 3}, {3, 1}), 12);
  EXPECT_EQ(checked_storage_elements({4, 3}, {5, 1}), 18);  // 3 * 5 + 2 * 1 + 1
  EXPECT_EQ(checked_storage_elements({4, 3}, {0, 1}), 3);   // the rows share their storage
  EXPECT_EQ(checked_storage_elements({4, 0}, {3, 1}), 0);
  EXPECT_EQ(checked_storage_elements({}, {}), 1);
  EXPECT_EQ(checked_storage_elements({2, 2}, {INT64_MAX, 1}), std::nullopt);
}

TEST(Sizes, ContiguousStridesAreRowMajor) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(contiguous_strides({2, 0, 4}), (std::vector<int64_t>{4, 4, 1}));
  EXPECT_TRUE(contiguous_strides({}).empty());
}

TEST(Sizes, ContiguityIgnoresDimensionsOfOneCell) {
  Tensor tensor;
  tensor.shape = {1, 8};
  tensor.strides = {999, 1};
  EXPECT_TRUE(tensor.is_contiguous());
  tensor.shape = {2, 8};
  EXPECT_FALSE(tensor.is_contiguous());
}

Number decimal(const char* text) { return {text, std::strtod(text, nullptr), 0, false}; }

TEST(Numbers, AreComparedWithoutRounding) {
  // These pairs round to the same double.
  EXPECT_LT(compare(decimal("0.1"), decimal("0.10000000000000000001")), 0);
  EXPECT_GT(compare(decimal("-0.1"), decimal("-0.10000000000000000001")), 0);
  EXPECT_LT(compare(Number::of(9007199254740992), Number::of(9007199254740993)), 0);
  EXPECT_EQ(compare(decimal("1e-05"), decimal("0.00001")), 0);
  EXPECT_EQ(compare(decimal("1.50E+2"), Number::of(150)), 0);
  EXPECT_EQ(compare(decimal("-0.0"), Number::of(0)), 0);
  EXPECT_LT(compare(decimal("-2"), decimal("1e-300")), 0);
  EXPECT_LT(compare(decimal("9.99e2"), decimal("1e3")), 0);
  EXPECT_LT(compare(decimal("-inf"), decimal("-1e308")), 0);
  EXPECT_EQ(compare(decimal("inf"), decimal("inf")), 0);
}

TEST(Settings, InstanceFillsInWhatTheCallerLeftOpen) {
  Instance instance;
  instance.budget = {5.0, 100, true};
  instance.assume_on = {"warp-lockstep"};
  instance.assume_off = {"constant-snap"};
  Options options = options_for(instance, Options{});
  EXPECT_EQ(options.budget_seconds, 5.0);
  EXPECT_EQ(options.cells, 100);
  EXPECT_TRUE(options.exact_only);
  EXPECT_TRUE(options.assumes("warp-lockstep"));
  EXPECT_FALSE(options.assumes("constant-snap"));
}

TEST(Settings, TheCallersWordIsLast) {
  Instance instance;
  instance.budget = {5.0, 100, true};
  instance.assume_on = {"warp-lockstep"};
  instance.assume_off = {"constant-snap"};
  Options asked;
  asked.budget_seconds = 7;
  asked.given = {"budget_seconds", "cells", "exact_only"};
  asked.assume = {"constant-snap"};
  asked.no_assume = {"warp-lockstep"};
  Options options = options_for(instance, asked);
  EXPECT_EQ(options.budget_seconds, 7);
  EXPECT_EQ(options.cells, -1);
  EXPECT_FALSE(options.exact_only);
  EXPECT_FALSE(options.assumes("warp-lockstep"));
  EXPECT_TRUE(options.assumes("constant-snap"));
}

TEST(Programs, ReadAndWriteByDeclaration) {
  Program program;
  Launch launch;
  Argument read, write;
  read.kind = write.kind = Argument::Kind::Tensor;
  read.access = Access::Read;
  read.name = "x";
  write.access = Access::Write;
  write.name = "y";
  launch.args = {read, write};
  program.launches = {launch};
  EXPECT_TRUE(may_read(program, "x"));
  EXPECT_FALSE(may_write(program, "x"));
  EXPECT_TRUE(may_write(program, "y"));
  EXPECT_FALSE(may_read(program, "y"));
  EXPECT_FALSE(may_read(program, "z"));
}

}  // namespace
}  // namespace coequal::instance
