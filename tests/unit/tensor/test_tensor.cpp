// Layout of tensors: elements, storage cells and the indices that messages print.
#include <gtest/gtest.h>

#include "tensor/tensor.h"

namespace coequal::tensor {
namespace {

TensorInfo contiguous(std::vector<int64_t> shape) {
  TensorInfo t;
  t.shape = shape;
  t.strides.assign(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) t.strides[d - 1] = t.strides[d] * shape[d];
  t.storage_cells = t.elements();
  return t;
}

TEST(Tensor, ContiguousCellsAreElements) {
  TensorInfo t = contiguous({3, 4});
  EXPECT_EQ(t.elements(), 12);
  EXPECT_EQ(t.cell_of_element(7), 7);
  EXPECT_EQ(t.index_text(7), "1,3");
  EXPECT_TRUE(t.is_element(11));
  EXPECT_FALSE(t.is_element(12));
  EXPECT_FALSE(t.is_element(-1));
}

TEST(Tensor, IndicesOutsideGoOnInTheFirstDimension) {
  TensorInfo t = contiguous({3, 4});
  EXPECT_EQ(t.index_text(13), "3,1");
  EXPECT_EQ(t.index_text(-1), "-1,3");
  EXPECT_EQ(contiguous({8}).index_text(8), "8");
  EXPECT_EQ(contiguous({}).index_text(0), "");
}

TEST(Tensor, GapsOfAStridedTensorAreNoElements) {
  TensorInfo t = contiguous({2, 3});
  t.strides = {5, 1};
  t.strided = true;
  t.storage_cells = 8;
  for (int64_t cell : {0, 1, 2, 5, 6, 7}) EXPECT_TRUE(t.is_element(cell)) << cell;
  for (int64_t cell : {3, 4, 8}) EXPECT_FALSE(t.is_element(cell)) << cell;
  EXPECT_EQ(t.cell_of_element(4), 6);
  EXPECT_EQ(t.index_text(6), "1,1");
  EXPECT_EQ(t.element_of_cell(4), -1);
}

TEST(Tensor, OverlappingStridesNeedASearch) {
  TensorInfo t = contiguous({3, 3});
  t.strides = {3, 2};  // 0 2 4, 3 5 7, 6 8 10
  t.strided = true;
  t.storage_cells = 11;
  for (int64_t cell : {0, 2, 3, 4, 5, 6, 7, 8, 10}) EXPECT_TRUE(t.is_element(cell)) << cell;
  for (int64_t cell : {1, 9}) EXPECT_FALSE(t.is_element(cell)) << cell;
  for (int64_t e = 0; e < 9; ++e) EXPECT_TRUE(t.is_element(t.cell_of_element(e)));
}

TEST(Tensor, TransposedAndBroadcastTensorsFindTheirElement) {
  TensorInfo t = contiguous({2, 3});
  t.strides = {1, 2};
  t.strided = true;
  t.storage_cells = 6;
  for (int64_t e = 0; e < 6; ++e) EXPECT_EQ(t.element_of_cell(t.cell_of_element(e)), e);
  t.strides = {0, 1};
  t.storage_cells = 3;
  EXPECT_EQ(t.element_of_cell(2), 2);
}

TEST(Tensor, LeafTypesFollowTheDtype) {
  EXPECT_EQ(leaf_type(DType::F16), term::kReal);
  EXPECT_EQ(leaf_type(DType::I64), term::bv(64));
  EXPECT_EQ(leaf_type(DType::Bool), term::bv(8));
  EXPECT_EQ(float_format(DType::F8E5M2), term::FloatFormat::E5M2);
}

}  // namespace
}  // namespace coequal::tensor
