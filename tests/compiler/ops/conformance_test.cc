// The node tests of ONNX: one operator a model, with inputs and expected outputs.
// Source: Debian package libonnx-testdata (ONNX 1.12, onnx/backend/test/data/node).

#include "compiler/pipeline/conformance.h"

#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

namespace fs = std::filesystem;

/// Tests of supported operators that are known to fail, and why.
const std::map<std::string, std::string>& ExpectedFailures() {
  static const std::map<std::string, std::string> kFailures = {
      {"test_batchnorm_epsilon_training_mode",
       "training is not supported: models are exported for inference"},
      {"test_batchnorm_example_training_mode",
       "training is not supported: models are exported for inference"},
      {"test_cast_FLOAT_to_BFLOAT16", "the data cut bits off; we round to nearest, ties to even"},
      {"test_cast_FLOAT_to_STRING", "casts of strings are not supported"},
      {"test_cast_STRING_to_FLOAT", "casts of strings are not supported"},
      {"test_castlike_BFLOAT16_to_FLOAT_expanded",
       "the data do not have the shape that the model declares"},
      {"test_castlike_FLOAT_to_BFLOAT16_expanded",
       "the data do not have the shape that the model declares"},
      {"test_castlike_FLOAT_to_STRING_expanded", "casts of strings are not supported"},
      {"test_castlike_STRING_to_FLOAT_expanded", "casts of strings are not supported"},
      {"test_castlike_BFLOAT16_to_FLOAT", "the data do not have the shape that the model declares"},
      {"test_castlike_FLOAT_to_BFLOAT16", "the data do not have the shape that the model declares"},
      {"test_castlike_FLOAT_to_STRING", "casts of strings are not supported"},
      {"test_castlike_STRING_to_FLOAT", "casts of strings are not supported"},
      {"test_dropout_default_mask", "import refuses a mask that is read: only training reads it"},
      {"test_dropout_default_mask_ratio",
       "import refuses a mask that is read: only training reads it"},
      {"test_identity_opt", "values other than tensors are not interpreted"},
      {"test_identity_sequence", "values other than tensors are not interpreted"},
      {"test_lstm_batchwise", "batch-first tensors (layout 1) are not supported"},
      {"test_maxpool_with_argmax_2d_precomputed_strides",
       "column major indices (storage_order 1) are not supported"},
      {"test_resize_downsample_scales_cubic_align_corners",
       "the data divide by the size before it was rounded down, not by the size of the output"},
      {"test_resize_downsample_scales_linear_align_corners",
       "the data divide by the size before it was rounded down, not by the size of the output"},
      {"test_resize_downsample_sizes_nearest_tf_half_pixel_for_nn",
       "set 13 has taken this mode back"},
      {"test_training_dropout", "training is not supported: models are exported for inference"},
      {"test_training_dropout_default",
       "training is not supported: models are exported for inference"},
      {"test_training_dropout_default_mask",
       "training is not supported: models are exported for inference"},
      {"test_training_dropout_mask",
       "training is not supported: models are exported for inference"},
      {"test_training_dropout_zero_ratio",
       "training is not supported: models are exported for inference"},
      {"test_training_dropout_zero_ratio_mask",
       "training is not supported: models are exported for inference"},
  };
  return kFailures;
}

/// Tests that pass, by operator. "several" are models of more than one node.
const std::map<std::string, int>& ExpectedPasses() {
  static const std::map<std::string, int> kPasses = {
      {"Abs", 1},
      {"Acos", 2},
      {"Acosh", 2},
      {"Add", 3},
      {"And", 8},
      {"ArgMax", 16},
      {"ArgMin", 16},
      {"Asin", 2},
      {"Asinh", 2},
      {"Atan", 2},
      {"Atanh", 2},
      {"AveragePool", 13},
      {"BatchNormalization", 2},
      {"BitShift", 8},
      {"Cast", 13},
      {"CastLike", 6},
      {"Ceil", 2},
      {"Celu", 1},
      {"Clip", 11},
      {"Concat", 12},
      {"Constant", 1},
      {"ConstantOfShape", 3},
      {"Conv", 6},
      {"ConvInteger", 3},
      {"ConvTranspose", 10},
      {"Cos", 2},
      {"Cosh", 2},
      {"CumSum", 7},
      {"DepthToSpace", 4},
      {"DequantizeLinear", 2},
      {"Div", 4},
      {"Dropout", 4},
      {"DynamicQuantizeLinear", 3},
      {"Elu", 3},
      {"Equal", 2},
      {"Erf", 1},
      {"Exp", 2},
      {"Expand", 2},
      {"EyeLike", 3},
      {"Flatten", 9},
      {"Floor", 2},
      {"Gather", 4},
      {"GatherElements", 3},
      {"GatherND", 3},
      {"Gemm", 11},
      {"GlobalAveragePool", 2},
      {"GlobalMaxPool", 2},
      {"Greater", 2},
      {"GreaterOrEqual", 2},
      {"HardSigmoid", 3},
      {"HardSwish", 1},
      {"Hardmax", 7},
      {"Identity", 1},
      {"InstanceNormalization", 2},
      {"IsInf", 3},
      {"IsNaN", 1},
      {"LRN", 2},
      {"LSTM", 3},
      {"LayerNormalization", 19},
      {"LeakyRelu", 3},
      {"Less", 2},
      {"LessOrEqual", 2},
      {"Log", 2},
      {"LogSoftmax", 7},
      {"MatMul", 3},
      {"MatMulInteger", 1},
      {"Max", 14},
      {"MaxPool", 14},
      {"Mean", 3},
      {"Min", 14},
      {"Mod", 13},
      {"Mul", 4},
      {"Neg", 2},
      {"NegativeLogLikelihoodLoss", 18},
      {"Not", 3},
      {"OneHot", 4},
      {"Or", 8},
      {"PRelu", 2},
      {"Pad", 3},
      {"Pow", 14},
      {"QLinearConv", 1},
      {"QLinearMatMul", 2},
      {"QuantizeLinear", 2},
      {"Range", 2},
      {"Reciprocal", 2},
      {"ReduceL1", 8},
      {"ReduceL2", 8},
      {"ReduceLogSum", 5},
      {"ReduceLogSumExp", 8},
      {"ReduceMax", 8},
      {"ReduceMean", 8},
      {"ReduceMin", 8},
      {"ReduceProd", 8},
      {"ReduceSum", 10},
      {"ReduceSumSquare", 8},
      {"Relu", 1},
      {"Reshape", 10},
      {"Resize", 20},
      {"Round", 1},
      {"ScatterElements", 4},
      {"ScatterND", 3},
      {"Selu", 3},
      {"Shape", 10},
      {"Sigmoid", 2},
      {"Sign", 1},
      {"Sin", 2},
      {"Sinh", 2},
      {"Size", 2},
      {"Slice", 8},
      {"Softmax", 7},
      {"SoftmaxCrossEntropyLoss", 34},
      {"Softplus", 2},
      {"Softsign", 2},
      {"SpaceToDepth", 2},
      {"Split", 7},
      {"Sqrt", 2},
      {"Squeeze", 2},
      {"Sub", 4},
      {"Sum", 3},
      {"Tan", 2},
      {"Tanh", 2},
      {"ThresholdedRelu", 3},
      {"Tile", 2},
      {"TopK", 3},
      {"Transpose", 7},
      {"Trilu", 18},
      {"Unsqueeze", 8},
      {"Where", 2},
      {"Xor", 8},
      {"several", 101},
  };
  return kPasses;
}

onnx::ModelProto ReadModel(const fs::path& path) {
  onnx::ModelProto model;
  if (!model.ParseFromString(ReadFile(path.string()))) {
    throw UserError(path.string() + " is no ONNX model");
  }
  return model;
}

/// The operator a model tests; nullopt if it uses one that is not registered.
std::optional<std::string> OperatorOf(const onnx::ModelProto& model) {
  for (const onnx::NodeProto& node : model.graph().node()) {
    const bool imported = node.op_type() == "Constant";
    const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    if (!imported && Ops().Find(domain, node.op_type()) == nullptr) return std::nullopt;
  }
  return model.graph().node_size() == 1 ? model.graph().node(0).op_type() : "several";
}

TEST(Conformance, PassesTheOnnxNodeTestsOfEveryOperatorItHas) {
  const fs::path root = MSC_ONNX_TEST_DATA;
  if (!fs::exists(root / "node")) GTEST_SKIP() << "libonnx-testdata is not installed";
  std::map<std::string, int> passes;
  std::size_t failures = 0;
  for (const ConformanceTest& one : FindConformanceTests((root / "node").string())) {
    const auto op = OperatorOf(ReadModel(fs::path(one.folder) / "model.onnx"));
    if (!op) continue;
    const std::string& test = one.name;
    const std::string wrong = RunConformanceTest(one, nullptr, {}).reason;
    const bool expected = ExpectedFailures().contains(test);
    if (wrong.empty()) ++passes[*op];
    failures += wrong.empty() ? 0 : 1;
    if (expected) {
      EXPECT_FALSE(wrong.empty()) << test << " passes now: take it off the list of failures";
    } else {
      EXPECT_TRUE(wrong.empty()) << test << ": " << wrong;
    }
  }
  int total = 0;
  for (const auto& [op, count] : passes) {
    std::cout << op << ": " << count << " passed\n";
    total += count;
  }
  std::cout << total << " passed, " << failures << " failed as expected or not\n";
  EXPECT_EQ(passes, ExpectedPasses());
}

}  // namespace
}  // namespace msc
