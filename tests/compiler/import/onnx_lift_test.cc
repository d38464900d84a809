// Old forms of operators: what they become, and that ONNX Runtime sees no difference. Operators
// that compiler/ops does not have yet are declared here, without kernels, so that their rules are
// tested too.
#include <map>
#include <string>
#include <vector>

#include "benchmarks/peers/ort_session.h"
#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/codegen/onnx/export.h"
#include "compiler/import/onnx/graph_reader.h"
#include "compiler/import/onnx/import.h"
#include "compiler/import/onnx/lift.h"
#include "compiler/ops/op.h"
#include "compiler/ops/register.h"
#include "tests/compiler/import/imported.h"
#include "tests/compiler/import/onnx_text.h"

namespace msc {
namespace {

/// An operator whose outputs have the type of its first input and no known shape.
OpDef Declared(std::string name, std::vector<AttrSpec> attrs, std::size_t outputs = 1) {
  OpDef op;
  op.name = std::move(name);
  op.inputs = {1, OpDef::kVariadic};
  op.max_outputs = outputs;
  op.attrs = std::move(attrs);
  op.infer = [](const InferInput& in) {
    const ValueType type{.dtype = in.types[0].dtype, .shape = std::nullopt};
    return std::vector<ValueType>(in.node->outputs.size(), type);
  };
  op.eval = [](const Node&, std::span<const Tensor* const>) { return std::vector<Tensor>(); };
  return op;
}

OpDef Sizes() {
  OpDef op = Declared("Shape", {});
  op.infer = [](const InferInput&) {
    return std::vector<ValueType>{{.dtype = DType::kI64, .shape = std::nullopt}};
  };
  return op;
}

OpRegistry WiderOps() {
  OpRegistry ops;
  RegisterAllOps(ops);
  const auto integer = Attr(std::int64_t{0});
  const auto text = Attr(std::string());
  const std::vector<OpDef> more = {
      Declared("Hardmax", {{"axis", integer}}),
      Declared("LogSoftmax", {{"axis", integer}}),
      Declared("Pad", {{"mode", text}}),
      Declared("ReduceSum", {{"keepdims", integer}, {"noop_with_empty_axes", integer}}),
      Declared("Resize",
               {{"mode", text}, {"coordinate_transformation_mode", text}, {"nearest_mode", text}}),
      Declared("ScatterElements", {{"axis", integer}}),
      Sizes(),
      Declared("Slice", {}),
      Declared("Softmax", {{"axis", integer}}),
      Declared("Split", {{"axis", integer}}, 8),
      Declared("TopK", {{"axis", integer}, {"largest", integer}, {"sorted", integer}}, 2),
  };
  for (const OpDef& op : more) {
    if (ops.Find("", op.name) == nullptr) ops.Add(op);
  }
  return ops;
}

Graph Lifted(const std::string& text, std::int64_t opset) {
  const onnx::ModelProto model = ModelFromText(text, opset);
  return detail::ReadGraphProto(model.graph(), {.opset = opset, .options = {}}, WiderOps());
}

struct Case {
  std::string label;
  std::string graph;
  std::int64_t opset;
  Dims input;
  std::string ops;                  ///< after the import, in order
  std::string not_in_runtime = "";  ///< why ONNX Runtime cannot tell what it means
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.label;
}

Tensor RandomTensor(const Dims& dims) {
  Tensor tensor(DType::kF32, dims);
  Rng rng(9);
  for (float& value : tensor.MutableValues<float>()) value = static_cast<float>(4 * rng.Normal());
  return tensor;
}

class OnnxLift : public testing::TestWithParam<Case> {};

TEST_P(OnnxLift, GivesTheFormOfSet17) {
  EXPECT_EQ(OpsOf(Lifted(GetParam().graph, GetParam().opset)), GetParam().ops);
}

TEST_P(OnnxLift, MeansTheSameToOnnxRuntime) {
  if (const std::string absence = OrtAbsence(); !absence.empty()) GTEST_SKIP() << absence;
  if (!GetParam().not_in_runtime.empty()) GTEST_SKIP() << GetParam().not_in_runtime;
  const std::vector<Tensor> inputs = {RandomTensor(GetParam().input)};
  const auto expected = OrtSession(ModelBytes(GetParam().graph, GetParam().opset), 1).Run(inputs);
  const std::string lifted = ExportOnnxBytes(Lifted(GetParam().graph, GetParam().opset));
  const auto found = OrtSession(lifted, 1).Run(inputs);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) ExpectNear(found[i], expected[i], 1e-6F);
}

std::vector<Case> Cases() {
  return {
      {"ReduceMean18",
       R"((float[2,3,4] x) => (float[2,1,4] y) {
            a = Constant<value = int64[1] {1}>() y = ReduceMean(x, a) })",
       18,
       {2, 3, 4},
       "ReduceMean"},
      {"Split18",
       R"((float[2,7] x) => (float[2,3] y, float[2,3] z, float[2,1] u) {
            y, z, u = Split<axis = 1, num_outputs = 3>(x) })",
       18,
       {2, 7},
       "Split"},
      {"Pad18",
       R"((float[2,3] x) => (float[2,6] y) {
            p = Constant<value = int64[2] {1, 2}>() v = Constant<value = float {7.0}>()
            a = Constant<value = int64[1] {-1}>() y = Pad(x, p, v, a) })",
       18,
       {2, 3},
       "Pad"},
      {"Gelu20",
       "(float[2,3] x) => (float[2,3] y) { y = Gelu(x) }",
       20,
       {2, 3},
       "Div Erf Add Mul Mul"},
      {"GeluTanh20",
       R"((float[2,3] x) => (float[2,3] y) { y = Gelu<approximate = "tanh">(x) })",
       20,
       {2, 3},
       "Pow Mul Add Mul Tanh Add Mul Mul"},
      {"Swish24", "(float[2,3] x) => (float[2,3] y) { y = Swish(x) }", 24, {2, 3}, "Sigmoid Mul"},
      {"SwishAlpha24",
       "(float[2,3] x) => (float[2,3] y) { y = Swish<alpha = 1.5>(x) }",
       24,
       {2, 3},
       "Mul Sigmoid Mul"},
      {"SwiGlu28",
       "(float[2,3] x) => (float[2,3] y) { y = SwiGLU(x, x) }",
       28,
       {2, 3},
       "Sigmoid Mul Mul",
       "1.31 does not read set 28"},
      {"CausalConv27",
       R"((float[1,2,4] x) => (float[1,2,4] y, float[1,2,1] s) {
            w = Constant<value = float[2,1,2] {1.0, 2.0, 3.0, 4.0}>()
            y, s = CausalConvWithState<activation = "silu">(x, w) })",
       27,
       {1, 2, 4},
       "Pad Slice Conv Sigmoid Mul",
       "set 27 is under development"},
      {"CastToInt4",
       "(float[3] x) => (float[3] y) { a = Cast<to = 22>(x) y = Cast<to = 1>(a) }",
       21,
       {3},
       "CastNarrow Cast",
       "CastNarrow is not written"},
      {"QuantizeToInt4",
       R"((float[3] x) => (float[3] y) { s = Constant<value = float {0.5}>()
            q = QuantizeLinear<output_dtype = 22>(x, s) y = DequantizeLinear(q, s) })",
       21,
       {3},
       "QuantizeLinear Clip DequantizeLinear"},
      {"QuantizeBlocks",
       R"((float[2,4] x) => (uint8[2,4] y) { s = Constant<value = float[2,2] {0.5, 1.0, 2.0, 4.0}>()
            y = QuantizeLinear<axis = 1, block_size = 2>(x, s) })",
       21,
       {2, 4},
       "Unsqueeze Expand Reshape Div Round Clip Cast"},
      {"DequantizeBlocks",
       R"((float[2,4] x) => (float[2,4] y) { s = Constant<value = float[1,4] {0.5, 1.0, 2.0, 4.0}>()
            q = Cast<to = 3>(x) y = DequantizeLinear<axis = 0, block_size = 2>(q, s) })",
       21,
       {2, 4},
       "Cast Cast Unsqueeze Expand Reshape Cast Mul"},
      {"QuantizeBlocksOfWhichTheLastIsShort",
       R"((float[3,2] x) => (uint8[3,2] y) { s = Constant<value = float[2,2] {0.5, 1.0, 2.0, 4.0}>()
            y = QuantizeLinear<axis = -2, block_size = 2>(x, s) })",
       21,
       {3, 2},
       "Unsqueeze Expand Reshape Slice Div Round Clip Cast"},
      {"Binarizer",
       "(float[2,3] x) => (float[2,3] y) { y = ai.onnx.ml.Binarizer<threshold = 0.5>(x) }",
       17,
       {2, 3},
       "Greater CastLike"},
      {"DftDefaultAxis20",
       "(float[2,3,4,1] x) => (float[2,3,4,2] y) { y = DFT(x) }",
       20,
       {2, 3, 4, 1},
       "DFT"},
      {"DftAxis20",
       R"((float[2,3,4,1] x) => (float[2,2,4,2] y) {
            a = Constant<value = int64 {1}>() y = DFT<onesided = 1>(x, , a) })",
       20,
       {2, 3, 4, 1},
       "DFT"},
      {"Mish18",
       "(float[2,3] x) => (float[2,3] y) { y = Mish(x) }",
       18,
       {2, 3},
       "Softplus Tanh Mul"},
      {"GroupNormalization18",
       R"((float[2,4,3] x) => (float[2,4,3] y) {
            s = Constant<value = float[2] {0.5, 2.0}>() b = Constant<value = float[2] {1.0, -1.0}>()
            y = GroupNormalization<num_groups = 2>(x, s, b) })",
       18,
       {2, 4, 3},
       "Reshape Shape InstanceNormalization Reshape"},
      {"GroupNormalization21",
       R"((float[2,4,3] x) => (float[2,4,3] y) {
            s = Constant<value = float[4] {0.5, 2.0, 1.0, 3.0}>()
            b = Constant<value = float[4] {1.0, -1.0, 0.0, 0.5}>()
            y = GroupNormalization<num_groups = 2, epsilon = 0.1>(x, s, b) })",
       21,
       {2, 4, 3},
       "Reshape Shape Expand Expand InstanceNormalization Reshape Unsqueeze Unsqueeze Mul Add"},
      {"RmsNormalization23",
       R"((float[2,2,2] x) => (float[2,2,2] y) {
            s = Constant<value = float[2,2] {0.5, 2.0, 1.0, 3.0}>()
            y = RMSNormalization<axis = 1, epsilon = 0.1>(x, s) })",
       23,
       {2, 2, 2},
       "Mul ReduceMean Add Sqrt Div Mul"},
      {"RotaryEmbedding23",
       R"((float[1,2,3,4] x) => (float[1,2,3,4] y) {
            c = Constant<value = float[1,3,2] {1.0, 0.5, 0.25, 0.0, -0.5, 0.75}>()
            s = Constant<value = float[1,3,2] {0.0, 0.25, 0.5, 1.0, 0.125, -0.5}>()
            y = RotaryEmbedding(x, c, s) })",
       23,
       {1, 2, 3, 4},
       "Unsqueeze Unsqueeze Split Mul Mul Sub Mul Mul Add Concat Identity"},
      {"RotaryEmbeddingOfPairs23",
       R"((float[1,3,12] x) => (float[1,3,12] y) {
            c = Constant<value = float[3,2] {1.0, 0.5, 0.25, 0.0, -0.5, 0.75}>()
            s = Constant<value = float[3,2] {0.0, 0.25, 0.5, 1.0, 0.125, -0.5}>()
            p = Constant<value = int64[1,3] {2, 0, 1}>()
            y = RotaryEmbedding<num_heads = 2, interleaved = 1, rotary_embedding_dim = 4>(x, c, s, p) })",
       23,
       {1, 3, 12},
       "Reshape Gather Unsqueeze Gather Unsqueeze Slice Slice Slice Slice Mul Mul Sub Mul Mul Add "
       "Unsqueeze Unsqueeze Concat Reshape Concat Reshape"},
      {"Attention23",
       "(float[1,2,3,4] x) => (float[1,2,3,4] y) { y = Attention(x, x, x) }",
       23,
       {1, 2, 3, 4},
       "Transpose MatMul Mul Softmax MatMul Identity"},
      {"AttentionCausal23",
       R"((float[1,3,8] x) => (float[1,3,8] y) {
            y = Attention<q_num_heads = 2, kv_num_heads = 2, is_causal = 1, softcap = 2.0>(x, x, x) })",
       23,
       {1, 3, 8},
       "Reshape Transpose Reshape Transpose Reshape Transpose Transpose MatMul Mul Div Tanh Mul "
       "Shape "
       "Gather Range Shape Gather Range Unsqueeze LessOrEqual Where Add Softmax MatMul Transpose "
       "Reshape"},
      {"AttentionOfGroupsWithMaskAndPast23",
       R"((float[1,4,2,3] x) => (float[1,4,2,3] y, float[1,2,3,3] k, float[1,2,3,3] v) {
            h, i = Split<axis = 1, num_outputs = 2>(x)
            p = Constant<value = float[1,2,1,3] {1.0, 0.5, 0.25, 0.0, -0.5, 0.75}>()
            m = Constant<value = bool[2,3] {1, 0, 1, 1, 1, 0}>()
            y, k, v = Attention<scale = 0.5>(x, h, i, m, p, p) })",
       23,
       {1, 4, 2, 3},
       "Split Concat Identity Concat Identity Unsqueeze Concat Reshape Unsqueeze Concat Reshape "
       "Transpose "
       "MatMul "
       "Mul Where Add Softmax Where MatMul Identity"},
      {"ReductionOfNoAxes18",
       "(float[2,3] x) => (float[2,3] y) { y = ReduceSumSquare<noop_with_empty_axes = 1>(x) }",
       18,
       {2, 3},
       "Mul"},
      {"QuantizeToAType21",
       R"((float[2,3] x) => (int8[2,3] y) {
            s = Constant<value = float {0.5}>() y = QuantizeLinear<output_dtype = 3>(x, s) })",
       21,
       {2, 3},
       "QuantizeLinear"},
      {"DropoutWithMask",
       "(float[2,3] x) => (float[2,3] y, bool[2,3] m) { y, m = Dropout(x) }",
       13,
       {2, 3},
       "Shape ConstantOfShape Identity"},
      {"TrainingBatchNormalization14",
       R"((float[2,2,3] x) => (float[2,2,3] y, float[2] m, float[2] v) {
            s = Constant<value = float[2] {1.0, 2.0}>() b = Constant<value = float[2] {0.5, -1.0}>()
            y, m, v = BatchNormalization<training_mode = 1, momentum = 0.75>(x, s, b, b, s) })",
       14,
       {2, 2, 3},
       "ReduceMean Sub ReduceMean Mul ReduceMean Mul Mul Add Mul Mul Add BatchNormalization"},
      {"PRelu6",
       R"((float[2,2,3] x) => (float[2,2,3] y) {
            s = Constant<value = float[2] {0.25, -1.0}>() y = PRelu(x, s) })",
       6,
       {2, 2, 3},
       "Unsqueeze PRelu",
       "ONNX Runtime has no kernel of this set; the node tests of ONNX have the numbers"},
      {"Einsum12",
       R"((float[2,3,4] x) => (float[3,2,2] y) { y = Einsum<equation = "aib,cib->iac">(x, x) })",
       12,
       {2, 3, 4},
       "Transpose Transpose MatMul Identity"},
      {"EinsumOfManyAxes12",
       R"((float[2,3,4,5] x) => (float[5,2] y) {
            w = Constant<value = float[3] {1.0, -1.0, 0.5}>()
            y = Einsum<equation = "abfc, b, dbec -> ca">(x, w, x) })",
       12,
       {2, 3, 4, 5},
       "ReduceSum Transpose Unsqueeze Unsqueeze MatMul Squeeze ReduceSum Transpose Transpose "
       "Unsqueeze MatMul Squeeze Identity"},
      {"EinsumWithEllipses12",
       R"((float[2,3,4,5] x) => (float[2,3,5,4] y) {
            w = Constant<value = float[4] {1.0, -1.0, 0.5, 2.0}>()
            y = Einsum<equation = "...ij, i -> ...ji">(x, w) })",
       12,
       {2, 3, 4, 5},
       "Transpose Unsqueeze Unsqueeze MatMul Squeeze Transpose Identity"},
      {"MeanVarianceNormalization13",
       "(float[2,3,2,2] x) => (float[2,3,2,2] y) { y = MeanVarianceNormalization(x) }",
       13,
       {2, 3, 2, 2},
       "ReduceMean Sub Mul ReduceMean Sqrt Add Div"},
      {"Shrink9",
       "(float[2,3] x) => (float[2,3] y) { y = Shrink<lambd = 1.5, bias = 0.5>(x) }",
       9,
       {2, 3},
       "Greater Less Sub Where Add Where"},
      {"LpPool18",
       R"((float[1,2,5,5] x) => (float[1,2,3,3] y) {
            y = LpPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(x) })",
       18,
       {1, 2, 5, 5},
       "Abs Pow AveragePool Mul Pow"},
      {"GlobalLpPool2",
       "(float[1,2,5,5] x) => (float[1,2,1,1] y) { y = GlobalLpPool<p = 3>(x) }",
       7,
       {1, 2, 5, 5},
       "Abs Pow ReduceSum Pow"},
      {"GruBatchFirst14",
       R"((float[2,3,1] x) => (float[2,3,1,1] y, float[2,1,1] h) {
            w = Constant<value = float[1,3,1] {0.5, -1.0, 2.0}>()
            y, h = GRU<hidden_size = 1, layout = 1>(x, w, w) })",
       14,
       {2, 3, 1},
       "Transpose GRU Transpose Transpose",
       "ONNX Runtime has no batch-first kernel; the node tests of ONNX have the numbers"},
      {"Lstm7",
       R"((float[3,2,1] x) => (float[3,1,2,1] y, float[1,2,1] c) {
            w = Constant<value = float[1,4,1] {0.5, -1.0, 2.0, 1.0}>()
            y, h, c = LSTM<hidden_size = 1, direction = "reverse">(x, w, w) })",
       7,
       {3, 2, 1},
       "LSTM"},
      {"Clip6",
       "(float[2,3] x) => (float[2,3] y) { y = Clip<min=-1.0, max=2.0>(x) }",
       7,
       {2, 3},
       "Clip"},
      {"Clip6WithoutMax",
       "(float[2,3] x) => (float[2,3] y) { y = Clip<min=-1.0>(x) }",
       10,
       {2, 3},
       "Clip"},
      {"Dropout7",
       "(float[2,3] x) => (float[2,3] y) { y = Dropout<ratio=0.5>(x) }",
       7,
       {2, 3},
       "Identity"},
      {"Dropout12",
       "(float[2,3] x) => (float[2,3] y) { r = Constant<value = float {0.5}>() y = Dropout(x, r) }",
       12,
       {2, 3},
       "Identity"},
      {"BatchNormalization7",
       "(float[2,2] x) => (float[2,2] y) { s = Constant<value = float[2] {1.0, 2.0}>() "
       "y = BatchNormalization<epsilon=0.01>(x, s, s, s, s) }",
       7,
       {2, 2},
       "BatchNormalization"},
      {"SoftmaxOfTheLastAxis",
       "(float[2,3] x) => (float[2,3] y) { y = Softmax(x) }",
       9,
       {2, 3},
       "Softmax"},
      {"SoftmaxOfSeveralAxes",
       "(float[2,3,4] x) => (float[2,3,4] y) { y = Softmax(x) }",
       9,
       {2, 3, 4},
       "Shape Flatten Softmax Reshape"},
      {"LogSoftmaxOfAllAxes",
       "(float[2,3] x) => (float[2,3] y) { y = LogSoftmax<axis=0>(x) }",
       11,
       {2, 3},
       "Shape Flatten LogSoftmax Reshape"},
      {"Hardmax1",
       "(float[2,3] x) => (float[2,3] y) { y = Hardmax<axis=1>(x) }",
       9,
       {2, 3},
       "Hardmax"},
      {"Squeeze1",
       "(float[2,1,3] x) => (float[2,3] y) { y = Squeeze<axes=[1]>(x) }",
       9,
       {2, 1, 3},
       "Squeeze"},
      {"SqueezeAll",
       "(float[2,1,3] x) => (float[2,3] y) { y = Squeeze(x) }",
       11,
       {2, 1, 3},
       "Squeeze"},
      {"Unsqueeze1",
       "(float[2,3] x) => (float[1,2,3] y) { y = Unsqueeze<axes=[0]>(x) }",
       9,
       {2, 3},
       "Unsqueeze"},
      {"ReduceSum1",
       "(float[2,3] x) => (float[2] y) { y = ReduceSum<axes=[1], keepdims=0>(x) }",
       11,
       {2, 3},
       "ReduceSum"},
      {"Slice1",
       "(float[4,5] x) => (float[2,4] y) { y = Slice<starts=[1,1], ends=[3,5]>(x) }",
       9,
       {4, 5},
       "Slice"},
      {"SliceAxis1",
       "(float[4,5] x) => (float[4,2] y) { y = Slice<starts=[-3], ends=[-1], axes=[1]>(x) }",
       9,
       {4, 5},
       "Slice"},
      {"Split2",
       "(float[4,5] x) => (float[1,5] y, float[3,5] z) { y, z = Split<axis=0, split=[1,3]>(x) }",
       11,
       {4, 5},
       "Split"},
      {"Pad2",
       "(float[2,2] x) => (float[4,3] y) { y = Pad<mode=\"constant\", pads=[1,0,1,1], "
       "value=2.5>(x) "
       "}",
       9,
       {2, 2},
       "Pad"},
      {"PadReflect2",
       "(float[3,3] x) => (float[5,3] y) { y = Pad<mode=\"reflect\", pads=[1,0,1,0]>(x) }",
       9,
       {3, 3},
       "Pad"},
      {"TopK1",
       "(float[2,5] x) => (float[2,2] y, int64[2,2] i) { y, i = TopK<k=2>(x) }",
       9,
       {2, 5},
       "TopK"},
      {"Upsample7",
       "(float[1,1,2,3] x) => (float[1,1,4,9] y) { y = Upsample<mode=\"nearest\", "
       "scales=[1.0,1.0,2.0,3.0]>(x) }",
       7,
       {1, 1, 2, 3},
       "Resize"},
      {"UpsampleLinear9",
       "(float[1,1,2,3] x) => (float[1,1,4,6] y) { s = Constant<value = float[4] "
       "{1.0,1.0,2.0,2.0}>() y = Upsample<mode=\"linear\">(x, s) }",
       9,
       {1, 1, 2, 3},
       "Resize"},
      {"Resize10",
       "(float[1,1,2,3] x) => (float[1,1,5,7] y) { s = Constant<value = float[4] "
       "{1.0,1.0,2.5,2.34}>() y = Resize(x, s) }",
       10,
       {1, 1, 2, 3},
       "Resize"},
      {"ResizeAxes18",
       "(float[1,1,2,3] x) => (float[1,1,4,9] y) { s = Constant<value = float[2] {3.0,2.0}>() "
       "y = Resize<mode=\"linear\", axes=[3,2]>(x, , s) }",
       18,
       {1, 1, 2, 3},
       "Resize"},
      {"ResizeAxesSizes18",
       "(float[1,1,2,3] x) => (float[1,1,5,9] y) { s = Constant<value = int64[2] {5,9}>() "
       "y = Resize<mode=\"linear\", axes=[2,3]>(x, , , s) }",
       18,
       {1, 1, 2, 3},
       "Resize"},
      {"RoiAlign10",
       "(float[1,1,4,5] x) => (float[1,1,2,2] y) { r = Constant<value = float[1,4] "
       "{0.5,1.0,3.0,4.0}>() b = Constant<value = int64[1] {0}>() "
       "y = RoiAlign<output_height=2, output_width=2>(x, r, b) }",
       10,
       {1, 1, 4, 5},
       "RoiAlign"},
  };
}

INSTANTIATE_TEST_SUITE_P(Forms, OnnxLift, testing::ValuesIn(Cases()),
                         [](const auto& param) { return param.param.label; });

// --- what cannot be lifted -----------------------------------------------------------------------

TEST(OnnxLiftOldest, PlacesTheSecondOperandOfABinary) {
  const Graph graph = Lifted(
      "(float[2,3,4] x, float[3] b) => (float[2,3,4] y) { y = Add<broadcast = 1, axis = 1>(x, b) }",
      6);
  EXPECT_EQ(OpsOf(graph), "Unsqueeze Add");
  Tensor b(DType::kF32, {3});
  for (std::size_t i = 0; i < 3; ++i) b.MutableValues<float>()[i] = static_cast<float>(i);
  const std::vector<Tensor> inputs = {Tensor(DType::kF32, {2, 3, 4}), std::move(b)};
  const std::vector<Tensor> outputs = Interpret(graph, inputs);
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(outputs[0].Values<float>()[i], static_cast<float>(i / 4 % 3));
  }
}

TEST(OnnxLiftOldest, TakesAnLstmThatSaidWhetherItMakesY) {
  const Graph graph = Lifted(
      "(float[4,2,3] x, float[1,20,3] w, float[1,20,5] r) => (float[4,1,2,5] y) { y = "
      "LSTM<hidden_size = 5, output_sequence = 1>(x, w, r) }",
      5);
  EXPECT_FALSE(graph.node(graph.order()[0]).attrs.contains("output_sequence"));
  EXPECT_EQ(ToString(graph.type(graph.outputs()[0])), "f32[4,1,2,5]");
}

struct Refusal {
  std::string label;
  std::string graph;
  std::int64_t opset;
  std::string message;
};

void PrintTo(const Refusal& one, std::ostream* out) {
  *out << one.label;
}

class OnnxLiftRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(OnnxLiftRefuses, WithAClearMessage) {
  try {
    static_cast<void>(Lifted(GetParam().graph, GetParam().opset));
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()), GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, OnnxLiftRefuses,
    testing::Values(
        Refusal{"TrainingBatchNormalization",
                "(float x) => (float y) { s = Constant<value = float[2] {1.0, 2.0}>() "
                "y = BatchNormalization<training_mode=1>(x, s, s, s, s) }",
                14,
                "node 1 'BatchNormalization_1' (BatchNormalization, operator set 14): in training "
                "mode needs five inputs, the first [N, C, ...]"},
        Refusal{
            "ReadRunningMean",
            "(float[2,2] x) => (float[2,2] y, float[2] m) { s = Constant<value = float[2] {1.0, "
            "2.0}>() y, m = BatchNormalization(x, s, s, s, s) }",
            9,
            "node 1 'BatchNormalization_1' (BatchNormalization, operator set 9): more than one "
            "output is used, which only training does"},
        Refusal{
            "SpatialBatchNormalization",
            "(float[2,2] x) => (float[2,2] y) { s = Constant<value = float[2] {1.0, 2.0}>() "
            "y = BatchNormalization<spatial=0>(x, s, s, s, s) }",
            7,
            "node 1 'BatchNormalization_1' (BatchNormalization, operator set 7): spatial = 0 is "
            "not supported"},
        Refusal{"TrainingDropout",
                "(float[2] x) => (float[2] y) { r = Constant<value = float {0.5}>() t = "
                "Constant<value = bool {1}>() y = Dropout(x, r, t) }",
                13,
                "node 2 'Dropout_2' (Dropout, operator set 13): training_mode must be absent or a "
                "constant false, or the ratio a constant 0"},
        Refusal{"PadWithoutPads", "(float[2] x) => (float[2] y) { y = Pad(x) }", 9,
                "node 0 'Pad_0' (Pad, operator set 9): needs attribute 'pads'"},
        Refusal{
            "TooFewBlocksOfScales",
            "(float[2,5] x) => (uint8[2,5] y) { s = Constant<value = float[2,2] {1.0, 1.0, 1.0, "
            "1.0}>() y = QuantizeLinear<axis = 1, block_size = 2>(x, s) }",
            21,
            "node 1 'QuantizeLinear_1' (QuantizeLinear, operator set 21): has not one scale for "
            "each block of 2 along an axis of 5"},
        Refusal{"ProductOfTwoShapes",
                "(float[2] x, float[1] z) => (float[2] y) { y = SwiGLU(x, z) }", 28,
                "node 0 'SwiGLU_0' (SwiGLU, operator set 28): needs inputs of one shape, not [2] "
                "and [1]"},
        Refusal{
            "NoListOfKeys",
            "(int64[2] x) => (int64[2] y) { y = ai.onnx.ml.LabelEncoder<values_int64s = [1]>(x) }",
            17,
            "node 0 'LabelEncoder_0' (ai.onnx.ml.LabelEncoder, operator set 17): needs one "
            "list of keys"},
        Refusal{"ShrinkingResize",
                "(float[1,1,4,4] x) => (float[1,1,2,2] y) { s = Constant<value = float[4] "
                "{1.0,1.0,0.5,0.5}>() y = Resize(x, s) }",
                10,
                "node 1 'Resize_1' (Resize, operator set 10): shrinks its input, for which set 10 "
                "does not say which pixel is read"}),
    [](const auto& param) { return param.param.label; });

}  // namespace
}  // namespace msc
