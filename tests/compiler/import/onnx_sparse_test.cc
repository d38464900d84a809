#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"
#include "compiler/import/onnx/import.h"
#include "tests/compiler/import/onnx_text.h"

namespace msc {
namespace {

/// Fills a sparse tensor of 32-bit floats; `rank` is the number of indices of each value, 0 for
/// positions in the whole tensor.
void Fill(onnx::SparseTensorProto& sparse, const std::vector<std::int64_t>& dims,
          const std::vector<float>& values, const std::vector<std::int64_t>& indices,
          std::int64_t rank = 0) {
  for (const std::int64_t dim : dims) sparse.add_dims(dim);
  sparse.mutable_values()->set_name("s");
  sparse.mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  sparse.mutable_values()->add_dims(static_cast<std::int64_t>(values.size()));
  for (const float value : values) sparse.mutable_values()->add_float_data(value);
  onnx::TensorProto& places = *sparse.mutable_indices();
  places.set_data_type(onnx::TensorProto::INT64);
  places.add_dims(static_cast<std::int64_t>(indices.size()) / (rank > 0 ? rank : 1));
  if (rank > 0) places.add_dims(rank);
  for (const std::int64_t index : indices) places.add_int64_data(index);
}

std::string BytesWith(const std::vector<std::int64_t>& dims, const std::vector<float>& values,
                      const std::vector<std::int64_t>& indices, std::int64_t rank = 0) {
  auto model = ModelFromText("(float[2,3] x) => (float[2,3] y) { y = Add(x, s) }", 13);
  Fill(*model.mutable_graph()->add_sparse_initializer(), dims, values, indices, rank);
  return BytesOf(model);
}

std::string ErrorOf(const std::string& bytes) {
  try {
    static_cast<void>(ImportOnnxBytes(bytes));
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<float> ConstantOf(const Graph& graph, std::string_view name) {
  const auto values = graph.constant(graph.FindValue(name))->Values<float>();
  return {values.begin(), values.end()};
}

TEST(OnnxSparse, InitializersBecomeConstantsWithTheirZeros) {
  const std::vector<float> wanted = {0, 5, 0, 0, 0, -1};
  EXPECT_EQ(ConstantOf(ImportOnnxBytes(BytesWith({2, 3}, {5, -1}, {1, 5})), "s"), wanted);
  EXPECT_EQ(ConstantOf(ImportOnnxBytes(BytesWith({2, 3}, {5, -1}, {0, 1, 1, 2}, 2)), "s"), wanted);
  EXPECT_EQ(ConstantOf(ImportOnnxBytes(BytesWith({2, 3}, {}, {})), "s"), std::vector<float>(6));
}

TEST(OnnxSparse, ConstantNodesHaveSparseValues) {
  auto model = ModelFromText("(float[3] x) => (float[3] y) { c = Constant() y = Add(x, c) }", 13);
  auto& attribute = *model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute.set_name("sparse_value");
  attribute.set_type(onnx::AttributeProto::SPARSE_TENSOR);
  Fill(*attribute.mutable_sparse_tensor(), {3}, {2}, {1});
  EXPECT_EQ(ConstantOf(ImportOnnxBytes(BytesOf(model)), "c"), (std::vector<float>{0, 2, 0}));
}

TEST(OnnxSparse, InitializersOfNestedGraphsAreTheirOwn) {
  auto model = ModelFromText(R"((float[2] x, bool c) => (float[n] y) {
    y = If (c) <
      then_branch = yes () => (float[2] t) { t = Add(x, s) },
      else_branch = no () => (float[4] t) { t = Concat <axis = 0> (x, x) }
    > })",
                             13);
  for (auto& attribute : *model.mutable_graph()->mutable_node(0)->mutable_attribute()) {
    if (attribute.name() != "then_branch") continue;
    Fill(*attribute.mutable_g()->add_sparse_initializer(), {2}, {2}, {1});
  }
  EXPECT_EQ(ErrorOf(BytesOf(model)), "no error");
}

TEST(OnnxSparse, RefusesWhatIsNoSparseTensor) {
  const std::string of = "model: initializer 's' ";
  EXPECT_EQ(ErrorOf(BytesWith({2, 3}, {5}, {})),
            of + "needs indices of type i64 and shape [1] or [1,2]");
  EXPECT_EQ(ErrorOf(BytesWith({2, 3}, {5}, {6})), of + "has index 6 where there are 6");
  EXPECT_EQ(ErrorOf(BytesWith({2, 3}, {5}, {0, 3}, 2)), of + "has index 3 where there are 3");
  EXPECT_EQ(ErrorOf(BytesWith({2, 3}, {5}, {-1})), of + "has index -1 where there are 6");
  EXPECT_EQ(ErrorOf(BytesWith({2, 3}, {5, 6}, {2, 2})), of + "has indices that do not increase");
  EXPECT_EQ(ErrorOf(BytesWith({2, -3}, {5}, {0})), of + "has a negative size -3");
  EXPECT_EQ(ErrorOf(BytesWith({1 << 30, 1 << 30}, {5}, {0})), of + "is too large: size 1073741824");
}

TEST(OnnxSparse, CountsZerosAmongTheMemoryThatAFileMayTake) {
  const std::string error = ErrorOf(BytesWith({1 << 14, 1 << 11}, {5}, {0}));
  EXPECT_TRUE(error.starts_with("model: the tensors take more than ")) << error;
}

}  // namespace
}  // namespace msc
