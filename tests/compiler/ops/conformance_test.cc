// The node tests of ONNX: one operator a model, with inputs and expected outputs.
// Source: Debian package libonnx-testdata (ONNX 1.12, onnx/backend/test/data/node).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/import/onnx/import.h"
#include "compiler/import/onnx/tensor_proto.h"
#include "compiler/ops/eval.h"
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
      {"test_dropout_default_mask", "import refuses a mask that is read: only training reads it"},
      {"test_dropout_default_mask_ratio",
       "import refuses a mask that is read: only training reads it"},
      {"test_identity_opt", "values other than tensors are not interpreted"},
      {"test_identity_sequence", "values other than tensors are not interpreted"},
      {"test_maxpool_with_argmax_2d_precomputed_strides",
       "column major indices (storage_order 1) are not supported"},
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
      {"Add", 3},
      {"And", 8},
      {"AveragePool", 13},
      {"BatchNormalization", 2},
      {"Cast", 13},
      {"Ceil", 2},
      {"Clip", 11},
      {"Concat", 12},
      {"Constant", 1},
      {"ConstantOfShape", 3},
      {"Conv", 6},
      {"DequantizeLinear", 2},
      {"Div", 4},
      {"Dropout", 4},
      {"Elu", 3},
      {"Equal", 2},
      {"Erf", 1},
      {"Exp", 2},
      {"Expand", 2},
      {"Flatten", 9},
      {"Floor", 2},
      {"Gather", 4},
      {"Gemm", 11},
      {"GlobalAveragePool", 2},
      {"GlobalMaxPool", 2},
      {"Greater", 2},
      {"GreaterOrEqual", 2},
      {"HardSigmoid", 3},
      {"HardSwish", 1},
      {"Identity", 1},
      {"LeakyRelu", 3},
      {"Less", 2},
      {"LessOrEqual", 2},
      {"Log", 2},
      {"LogSoftmax", 7},
      {"MatMul", 3},
      {"Max", 14},
      {"MaxPool", 14},
      {"Min", 14},
      {"Mul", 4},
      {"Neg", 2},
      {"Not", 3},
      {"Or", 8},
      {"PRelu", 2},
      {"Pad", 3},
      {"Pow", 14},
      {"QuantizeLinear", 2},
      {"Range", 2},
      {"Reciprocal", 2},
      {"ReduceMax", 8},
      {"ReduceMean", 8},
      {"ReduceMin", 8},
      {"ReduceProd", 8},
      {"ReduceSum", 10},
      {"Relu", 1},
      {"Reshape", 10},
      {"Round", 1},
      {"Shape", 10},
      {"Sigmoid", 2},
      {"Size", 2},
      {"Slice", 8},
      {"Softmax", 7},
      {"Softplus", 2},
      {"Softsign", 2},
      {"Split", 7},
      {"Sqrt", 2},
      {"Squeeze", 2},
      {"Sub", 4},
      {"Sum", 3},
      {"Tanh", 2},
      {"Tile", 2},
      {"Transpose", 7},
      {"Unsqueeze", 8},
      {"Where", 2},
      {"Xor", 8},
      {"several", 43},
  };
  return kPasses;
}

constexpr double kRelative = 1e-3;
constexpr double kAbsolute = 1e-7;

/// A model whose operator set is at least 7, the oldest that import reads: the forms of the tested
/// operators have not changed since 1 and 6 (Elu, GlobalAveragePool, Not, Softplus ...).
onnx::ModelProto ReadModel(const fs::path& path) {
  onnx::ModelProto model;
  if (!model.ParseFromString(ReadFile(path.string()))) {
    throw UserError(path.string() + " is no ONNX model");
  }
  for (onnx::OperatorSetIdProto& set : *model.mutable_opset_import()) {
    if (set.domain().empty()) set.set_version(std::max<std::int64_t>(set.version(), 7));
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

/// The files hold bf16 as u16 of the same bits.
Tensor AsTyped(Tensor tensor, DType wanted) {
  if (tensor.dtype() != DType::kU16 || wanted != DType::kBF16) return tensor;
  return Tensor::From<std::uint16_t>(wanted, tensor.dims(), tensor.Values<std::uint16_t>());
}

/// The tensors STEM_0.pb, STEM_1.pb ... that belong to `values`.
std::vector<Tensor> ReadTensors(const fs::path& folder, const std::string& stem, const Graph& graph,
                                const std::vector<ValueId>& values) {
  std::vector<Tensor> tensors;
  for (const ValueId value : values) {
    const fs::path path = folder / (stem + "_" + std::to_string(tensors.size()) + ".pb");
    onnx::TensorProto proto;
    if (!proto.ParseFromString(ReadFile(path.string()))) {
      throw UserError(path.string() + " is no tensor");
    }
    tensors.push_back(AsTyped(detail::ReadTensorProto(proto, path.filename().string(), {}),
                              graph.type(value).dtype));
  }
  return tensors;
}

/// What is wrong with `got`, or nothing.
std::string Difference(const Tensor& got, const Tensor& want) {
  if (got.dtype() != want.dtype() || got.dims() != want.dims()) {
    return std::string(Name(got.dtype())) + ToString(got.dims()) + " instead of " +
           std::string(Name(want.dtype())) + ToString(want.dims());
  }
  if (want.dtype() == DType::kString) {
    return got.strings() == want.strings() ? "" : "other strings";
  }
  for (std::int64_t i = 0; i < want.size(); ++i) {
    const double a = NumberAt(got, i);
    const double b = NumberAt(want, i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (IsFloat(want.dtype()) && std::abs(a - b) <= kAbsolute + kRelative * std::abs(b)) {
      continue;
    }
    return "element " + std::to_string(i) + " is " + std::to_string(a) + " instead of " +
           std::to_string(b);
  }
  return "";
}

/// Runs every data set of one test. Returns the first thing that is wrong, or nothing.
std::string RunTest(const fs::path& folder) {
  try {
    const Graph graph = ImportOnnxBytes(ReadModel(folder / "model.onnx").SerializeAsString());
    int sets = 0;
    for (; fs::exists(folder / ("test_data_set_" + std::to_string(sets))); ++sets) {
      const fs::path data = folder / ("test_data_set_" + std::to_string(sets));
      const std::vector<Tensor> got =
          Interpret(graph, ReadTensors(data, "input", graph, graph.inputs()));
      const std::vector<Tensor> want = ReadTensors(data, "output", graph, graph.outputs());
      if (got.size() != want.size()) return "another number of outputs";
      for (std::size_t i = 0; i < got.size(); ++i) {
        const std::string wrong = Difference(got[i], want[i]);
        if (!wrong.empty()) return "output " + std::to_string(i) + ": " + wrong;
      }
    }
    return sets == 0 ? "no data" : "";
  } catch (const UserError& error) {
    return error.what();
  }
}

TEST(Conformance, PassesTheOnnxNodeTestsOfEveryOperatorItHas) {
  const fs::path root = MSC_ONNX_TEST_DATA;
  if (!fs::exists(root / "node")) GTEST_SKIP() << "libonnx-testdata is not installed";
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(root / "node")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());

  std::map<std::string, int> passes;
  std::size_t failures = 0;
  for (const fs::path& folder : folders) {
    if (!fs::exists(folder / "model.onnx")) continue;
    const auto op = OperatorOf(ReadModel(folder / "model.onnx"));
    if (!op) continue;
    const std::string test = folder.filename().string();
    const std::string wrong = RunTest(folder);
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
