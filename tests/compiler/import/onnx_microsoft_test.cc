// Operators of the domain com.microsoft: what they become, that ONNX Runtime sees no difference,
// and what is refused. tests/e2e/microsoft_test.py compares many more of their forms.
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "benchmarks/peers/ort_session.h"
#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ops/op.h"
#include "tests/compiler/import/imported.h"
#include "tests/compiler/import/onnx_text.h"

namespace msc {
namespace {

std::string MicrosoftModel(const std::string& graph, std::int64_t opset = 17) {
  onnx::ModelProto model = ModelFromText(graph, opset);
  auto* microsoft = model.add_opset_import();
  microsoft->set_domain("com.microsoft");
  microsoft->set_version(1);
  return BytesOf(model);
}

/// A graph of f32 inputs.
struct Case {
  std::string label;
  std::string graph;
  std::string ops;  ///< after the import, in order
  /// What ONNX Runtime runs in its place where it has only a CUDA kernel.
  std::string instead = "";
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.label;
}

class OnnxMicrosoft : public testing::TestWithParam<Case> {};

TEST_P(OnnxMicrosoft, BecomesOperatorsOfOnnx) {
  const Graph graph = ImportOnnxBytes(MicrosoftModel(GetParam().graph));
  EXPECT_EQ(OpsOf(graph), GetParam().ops);
  for (const NodeId id : graph.order()) EXPECT_EQ(graph.node(id).domain, "");
}

TEST_P(OnnxMicrosoft, MeansTheSameToOnnxRuntime) {
  if (const std::string absence = OrtAbsence(); !absence.empty()) GTEST_SKIP() << absence;
  const std::string bytes = MicrosoftModel(GetParam().graph);
  const Graph graph = ImportOnnxBytes(bytes);
  std::vector<Tensor> inputs;
  Rng rng(9);
  for (const ValueId input : graph.inputs()) {
    inputs.emplace_back(DType::kF32, *StaticDims(*graph.type(input).shape));
    for (float& value : inputs.back().MutableValues<float>()) {
      value = static_cast<float>(rng.Normal());
    }
  }
  const std::string& instead = GetParam().instead;
  const std::string known = instead.empty() ? bytes : MicrosoftModel(instead);
  const std::vector<Tensor> expected = OrtSession(known, 1).Run(inputs);
  const std::vector<Tensor> found = Interpret(graph, inputs);
  ASSERT_EQ(found.size(), expected.size());
  // ONNX Runtime adds integers where we add floats, and rounds ties otherwise.
  for (std::size_t i = 0; i < found.size(); ++i) ExpectNear(found[i], expected[i], 1e-5F, 1);
}

std::vector<Case> Cases() {
  const std::string attention =
      "(float[2,3,4] x, float[4,12] w, float[12] b) => (float[2,3,4] y) { ";
  return {
      {"FusedConv",
       R"((float[1,2,4,4] x, float[3,2,3,3] w, float[3] b) => (float[1,3,2,2] y) {
            y = com.microsoft.FusedConv<activation = "HardSigmoid", activation_params = [0.1, 0.4]>
                (x, w, b) })",
       "Conv HardSigmoid"},
      {"FusedConvOfASum",
       R"((float[1,2,4,4] x, float[3,2,3,3] w, float[1,3,2,2] z) => (float[1,3,2,2] y) {
            y = com.microsoft.FusedConv<activation = "Clip", activation_params = [-1.0, 1.0]>
                (x, w, , z) })",
       "Conv Add Clip"},
      {"FusedConvAlone",
       R"((float[1,2,4,4] x, float[3,2,3,3] w) => (float[1,3,2,2] y) {
            y = com.microsoft.FusedConv(x, w) })",
       "Conv"},
      {"FusedGemm",
       R"((float[3,2] a, float[3,4] b, float[4] c) => (float[2,4] y) {
            y = com.microsoft.FusedGemm<activation = "LeakyRelu", activation_alpha = 0.3, transA = 1>
                (a, b, c) })",
       "Gemm LeakyRelu"},
      {"FusedMatMul",
       R"((float[2,5,3] a, float[4,2,5] b) => (float[2,3,4] y) {
            y = com.microsoft.FusedMatMul<alpha = 0.5, transA = 1, transB = 1, transBatchB = 1>
                (a, b) })",
       "Transpose Transpose MatMul Mul"},
      {"Gelu", "(float[2,3] x) => (float[2,3] y) { y = com.microsoft.Gelu(x) }",
       "Div Erf Add Mul Mul"},
      {"BiasGelu",
       "(float[2,3] x, float[3] b) => (float[2,3] y) { y = com.microsoft.BiasGelu(x, b) }",
       "Add Div Erf Add Mul Mul"},
      {"FastGelu", "(float[2,3] x) => (float[2,3] y) { y = com.microsoft.FastGelu(x) }",
       "Pow Mul Add Mul Tanh Add Mul Mul"},
      {"QuickGelu", "(float[2,3] x) => (float[2,3] y) { y = com.microsoft.QuickGelu(x) }",
       "Mul Sigmoid Mul"},
      {"BiasSplitGelu",
       "(float[1,2,6] x, float[6] b) => (float[1,2,3] y) { y = com.microsoft.BiasSplitGelu(x, b) }",
       "Add Split Div Erf Add Mul Mul Mul",
       R"((float[1,2,6] x, float[6] b) => (float[1,2,3] y) {
            s = Add(x, b) l, r = Split<axis = 2>(s) g = com.microsoft.Gelu(r) y = Mul(l, g) })"},
      {"BiasAdd",
       "(float[1,2,6] x, float[6] b, float[1,2,6] s) => (float[1,2,6] y) "
       "{ y = com.microsoft.BiasAdd(x, b, s) }",
       "Add Add",
       "(float[1,2,6] x, float[6] b, float[1,2,6] s) => (float[1,2,6] y) { y = Sum(x, b, s) }"},
      {"SkipLayerNormalization",
       R"((float[1,2,4] x, float[1,2,4] s, float[4] g, float[4] b, float[4] c) =>
            (float[1,2,4] y, float[1,2,4] sum) {
            y, m, v, sum = com.microsoft.SkipLayerNormalization<epsilon = 0.001>(x, s, g, b, c) })",
       "Add Add LayerNormalization"},
      {"SkipSimplifiedLayerNormalization",
       R"((float[1,2,4] x, float[1,2,4] s, float[4] g) => (float[1,2,4] y) {
            y = com.microsoft.SkipSimplifiedLayerNormalization<epsilon = 0.001>(x, s, g) })",
       "Add Mul ReduceMean Add Sqrt Div Mul"},
      {"SimplifiedLayerNormalization",
       R"((float[1,2,4] x, float[4] g) => (float[1,2,4] y, float[1,2,1] i) {
            y, i = SimplifiedLayerNormalization(x, g) })",
       "Mul ReduceMean Add Sqrt Reciprocal Div Mul"},
      {"Attention", attention + "y = com.microsoft.Attention<num_heads = 2>(x, w, b) }",
       "MatMul Add Split Reshape Transpose Reshape Transpose Reshape Transpose Transpose MatMul "
       "Mul Softmax MatMul Transpose Reshape"},
      {"AttentionWithAMask", attention + R"(m = Constant<value = int32[2,3] {1, 1, 0, 1, 1, 1}>()
            y = com.microsoft.Attention<num_heads = 2, unidirectional = 1>(x, w, b, m) })",
       "MatMul Add Split Reshape Transpose Reshape Transpose Reshape Transpose Unsqueeze Greater "
       "Where Shape Gather Range Unsqueeze Shape Gather Range LessOrEqual Where Transpose MatMul "
       "Mul Add Softmax MatMul Transpose Reshape"},
      {"MultiHeadAttention",
       R"((float[1,2,4] q, float[1,3,4] k, float[1,3,6] v, float[14] b) => (float[1,2,6] y) {
            y = com.microsoft.MultiHeadAttention<num_heads = 2>(q, k, v, b) })",
       "Split Add Reshape Transpose Add Reshape Transpose Add Reshape Transpose Transpose MatMul "
       "Mul Softmax MatMul Transpose Reshape"},
      {"DynamicQuantizeMatMul",
       R"((float[3,2] x, float[3] b) => (float[3,3] y) {
            w = Constant<value = int8[2,3] {1, 2, 3, -4, 5, 6}>()
            s = Constant<value = float {0.1}>()
            y = com.microsoft.DynamicQuantizeMatMul(x, w, s, , b) })",
       "DynamicQuantizeLinear DequantizeLinear DequantizeLinear MatMul Add"},
      {"QLinearAdd",
       R"((float[2,3] x) => (uint8[2,3] y) {
            s = Constant<value = float {0.1}>() z = Constant<value = uint8 {9}>()
            a = com.microsoft.QuantizeLinear(x, s, z)
            y = com.microsoft.QLinearAdd(a, s, z, a, s, z, s, z) })",
       "QuantizeLinear DequantizeLinear DequantizeLinear Add QuantizeLinear"},
      {"QLinearConcat",
       R"((float[2,3] x) => (uint8[2,6] y) {
            s = Constant<value = float {0.1}>() z = Constant<value = uint8 {9}>()
            a = QuantizeLinear(x, s, z)
            y = com.microsoft.QLinearConcat<axis = 1>(s, z, a, s, z, a, s, z) })",
       "QuantizeLinear DequantizeLinear DequantizeLinear Concat QuantizeLinear"},
      {"QLinearSoftmaxOfAnOlderSet",
       R"((float[2,3,2] x) => (uint8[2,3,2] y) {
            s = Constant<value = float {0.1}>() t = Constant<value = float {0.004}>()
            z = Constant<value = uint8 {128}>() n = Constant<value = uint8 {0}>()
            a = QuantizeLinear(x, s, z)
            y = com.microsoft.QLinearSoftmax<axis = 1, opset = 12>(a, s, z, t, n) })",
       "QuantizeLinear DequantizeLinear Shape Flatten Softmax Reshape QuantizeLinear"},
      {"QLinearAveragePoolOfChannelsLast",
       R"((float[1,4,4,3] x) => (uint8[1,2,2,3] y) {
            s = Constant<value = float {0.1}>() z = Constant<value = uint8 {128}>()
            a = QuantizeLinear(x, s, z)
            y = com.microsoft.QLinearAveragePool<channels_last = 1, kernel_shape = [2, 2],
                strides = [2, 2]>(a, s, z, s, z) })",
       "QuantizeLinear DequantizeLinear Transpose AveragePool Transpose QuantizeLinear"},
      {"NhwcMaxPool",
       R"((float[1,4,4,3] x) => (uint8[1,2,2,3] y) {
            s = Constant<value = float {0.1}>() z = Constant<value = uint8 {128}>()
            a = QuantizeLinear(x, s, z)
            y = com.microsoft.NhwcMaxPool<kernel_shape = [2, 2], strides = [2, 2]>(a) })",
       "QuantizeLinear Transpose MaxPool Transpose"},
      {"QGemm",
       R"((float[3,2] x) => (float[3,3] y) {
            s = Constant<value = float {0.1}>() z = Constant<value = uint8 {128}>()
            a = QuantizeLinear(x, s, z)
            w = Constant<value = int8[2,3] {1, 2, 3, -4, 5, 6}>()
            t = Constant<value = float[3] {0.1, 0.2, 0.3}>()
            n = Constant<value = int8[3] {0, 0, 0}>()
            c = Constant<value = int32[3] {10, 20, 30}>()
            y = com.microsoft.QGemm(a, s, z, w, t, n, c) })",
       "QuantizeLinear DequantizeLinear DequantizeLinear Mul DequantizeLinear Gemm"},
  };
}

INSTANTIATE_TEST_SUITE_P(Operators, OnnxMicrosoft, testing::ValuesIn(Cases()),
                         [](const auto& param) { return param.param.label; });

// The sets of rules are those of ai.onnx; the domain has one version with all of them.
TEST(OnnxMicrosoftSets, DoNotMatter) {
  const std::string graph = "(float[2,3] x) => (float[2,3] y) { y = com.microsoft.Gelu(x) }";
  for (const std::int64_t opset : {7, 13, 20, 27}) {
    EXPECT_EQ(OpsOf(ImportOnnxBytes(MicrosoftModel(graph, opset))), "Div Erf Add Mul Mul");
  }
}

TEST(OnnxMicrosoftOutputs, ThatNobodyReadsAreAbsent) {
  const Graph graph = ImportOnnxBytes(MicrosoftModel(
      "(int32[1,2] i, float[9,4] w, float[9,4] p, float[4] g) => (float[1,2,4] y) "
      "{ y, index, sum = com.microsoft.EmbedLayerNormalization(i, , w, p, , g, g) }"));
  EXPECT_EQ(OpsOf(graph), "Gather Shape Gather Slice Add LayerNormalization");
  EXPECT_EQ(graph.FindValue("index"), kNoValue);
  EXPECT_EQ(graph.FindValue("sum"), kNoValue);
}

TEST(OnnxMicrosoftOutputs, KeepTheirNames) {
  const Graph graph = ImportOnnxBytes(MicrosoftModel(
      "(int32[B,2] i, float[9,4] w, float[9,4] p, float[4] g, int32[B,2] m) => (float[B,2,4] y, "
      "int32[B] index, float[B,2,4] sum) "
      "{ y, index, sum = com.microsoft.EmbedLayerNormalization(i, , w, p, , g, g, m) }"));
  EXPECT_EQ(ToString(graph.type(graph.FindValue("index"))), "i32[B]");
  EXPECT_EQ(ToString(graph.type(graph.FindValue("sum"))), "f32[B,2,4]");
}

struct Refusal {
  std::string label;
  std::string graph;
  std::string message;
};

void PrintTo(const Refusal& one, std::ostream* out) {
  *out << one.label;
}

class OnnxMicrosoftRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(OnnxMicrosoftRefuses, WithAClearMessage) {
  try {
    static_cast<void>(ImportOnnxBytes(MicrosoftModel(GetParam().graph)));
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()), "model: " + GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, OnnxMicrosoftRefuses,
    testing::Values(
        Refusal{"UnknownOperator", "(float[2] x) => (float[2] y) { y = com.microsoft.CDist(x, x) }",
                "node 0 'CDist_0': operator 'CDist' of domain 'com.microsoft' (operator set 17) is "
                "not supported"},
        Refusal{"OperatorOfOnnxAlone", "(float[2] x) => (float[2] y) { y = com.microsoft.Relu(x) }",
                "node 0 'Relu_0': operator 'Relu' of domain 'com.microsoft' (operator set 17) is "
                "not supported"},
        Refusal{"OperatorOfThisDomainInOnnx", "(float[2] x) => (float[2] y) { y = QuickGelu(x) }",
                "node 0 'QuickGelu_0': operator 'QuickGelu' of domain 'ai.onnx' (operator set 17) "
                "is not supported"},
        Refusal{"BlocksOfChannels",
                "(float[2] x) => (float[2] y) { y = com.microsoft.nchwc.ReorderInput(x) }",
                "node 0 'ReorderInput_0': operator 'ReorderInput' of domain 'com.microsoft.nchwc' "
                "(operator set 17) is not supported"},
        Refusal{"Activation",
                "(float[1,1,2,2] x, float[1,1,1,1] w) => (float[1,1,2,2] y) "
                R"({ y = com.microsoft.FusedConv<activation = "Mish">(x, w) })",
                "node 0 'FusedConv_0' (com.microsoft.FusedConv, operator set 17): activation "
                "'Mish' is not supported"},
        Refusal{"ReadMean",
                "(float[1,2,4] x, float[4] g) => (float[1,2,4] y, float m) "
                "{ y, m = com.microsoft.SkipLayerNormalization(x, x, g) }",
                "node 0 'SkipLayerNormalization_0' (com.microsoft.SkipLayerNormalization, operator "
                "set 17): output 1 is not supported"},
        Refusal{"Rotary",
                "(float[1,2,4] x, float[4,12] w) => (float[1,2,4] y) "
                "{ y = com.microsoft.Attention<num_heads = 2, do_rotary = 1>(x, w) }",
                "node 0 'Attention_0' (com.microsoft.Attention, operator set 17): do_rotary is not "
                "supported"},
        Refusal{"PackedQueries",
                "(float[1,2,2,3,4] x) => (float[1,2,8] y) "
                "{ y = com.microsoft.MultiHeadAttention<num_heads = 2>(x) }",
                "node 0 'MultiHeadAttention_0' (com.microsoft.MultiHeadAttention, operator set "
                "17): queries, keys and values in one tensor are not supported"},
        Refusal{"MaskOfAnotherBatch",
                "(float[N,2,4] x, float[4,12] w, int32[M] m) => (float[N,2,4] y) "
                "{ y = com.microsoft.Attention<num_heads = 2>(x, w, , m) }",
                "node 0 'Attention_0' (com.microsoft.Attention, operator set 17): a mask with one "
                "axis must have an end for each sequence of the batch, or an end and a start"},
        Refusal{"NewerAttribute",
                "(float[2] x) => (float[2] y) { y = com.microsoft.QuickGelu<beta = 1.0>(x) }",
                "node 0 'QuickGelu_0' (com.microsoft.QuickGelu, operator set 17): attribute 'beta' "
                "is not supported"},
        Refusal{"UnknownRank",
                "(float x, float y) => (float z) "
                "{ a = Relu(x) z = com.microsoft.NhwcMaxPool<kernel_shape = [2, 2]>(a) }",
                "node 1 'NhwcMaxPool_1' (com.microsoft.NhwcMaxPool, operator set 17): needs an "
                "input with a known number of axes, 3 or more"}),
    [](const auto& param) { return param.param.label; });

}  // namespace
}  // namespace msc
