#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/peers/ort_session.h"
#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/codegen/onnx/export.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "tests/compiler/import/onnx_text.h"

namespace msc {
namespace {

/// The graph without metadata, which an exported model replaces by its own.
Graph Bare(const Graph& graph) {
  Graph bare(graph.name());
  std::map<ValueId, ValueId> ids;
  const auto map = [&](const std::vector<ValueId>& list) {
    std::vector<ValueId> mapped;
    for (const ValueId id : list) mapped.push_back(id == kNoValue ? id : ids.at(id));
    return mapped;
  };
  for (const ValueId id : graph.inputs()) {
    ids[id] = bare.AddInput(graph.value(id).name, graph.type(id));
  }
  for (const ValueId id : graph.constants()) {
    ids[id] = bare.AddConstant(graph.value(id).name, graph.constant(id));
  }
  for (const NodeId id : graph.order()) {
    Node node = graph.node(id);
    for (const ValueId made : node.outputs) {
      if (made != kNoValue) ids[made] = bare.AddValue(graph.value(made).name, graph.type(made));
    }
    node.inputs = map(node.inputs);
    node.outputs = map(node.outputs);
    bare.AddNode(std::move(node));
  }
  bare.SetOutputs(map(graph.outputs()));
  return bare;
}

Tensor RandomTensor(const Dims& dims) {
  Tensor tensor(DType::kF32, dims);
  Rng rng(5);
  for (float& value : tensor.MutableValues<float>()) value = static_cast<float>(3 * rng.Normal());
  return tensor;
}

double LargestDifference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.dims(), b.dims());
  double largest = 0;
  for (std::size_t i = 0; i < a.Values<float>().size(); ++i) {
    largest = std::max<double>(largest, std::abs(a.Values<float>()[i] - b.Values<float>()[i]));
  }
  return largest;
}

std::string ErrorOf(const Graph& graph, const ExportOptions& options = {}) {
  try {
    static_cast<void>(ExportOnnxBytes(graph, options));
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

Graph FromText(const std::string& text, std::int64_t opset = 17) {
  return ImportOnnxBytes(ModelBytes(text, opset));
}

// --- round trips ---------------------------------------------------------------------------------

TEST(OnnxExport, OfTheShippedModelReadsBackTheSame) {
  const Graph graph = ImportOnnx("experiments/models/fashion_resnet.onnx");
  const Graph back = ImportOnnxBytes(ExportOnnxBytes(graph));
  EXPECT_TRUE(SameGraph(Bare(graph), Bare(back)));
}

TEST(OnnxExport, OfTheSameGraphIsTheSameBytes) {
  const Graph graph = ImportOnnx("experiments/models/fashion_resnet.onnx");
  EXPECT_EQ(ExportOnnxBytes(graph), ExportOnnxBytes(graph));
}

/// A random chain of elementwise nodes with skips, several types of constants, absent inputs.
Graph RandomGraph(std::uint64_t seed) {
  Rng rng(seed);
  Graph graph("random");
  std::vector<ValueId> values = {
      graph.AddInput("x", {.dtype = DType::kF32, .shape = Shape{Dim::Symbol("n"), 3}})};
  const std::array<std::string, 5> unary = {"Relu", "Sigmoid", "Neg", "Identity", "HardSwish"};
  for (std::uint64_t i = 0; i < 3 + rng.Below(20); ++i) {
    Node node;
    node.name = "node/" + std::to_string(i);
    const ValueId a = values[rng.Below(values.size())];
    const std::string made = "value:" + std::to_string(i);
    switch (rng.Below(3)) {
      case 0:
        node.op = unary[rng.Below(unary.size())];
        node.inputs = {a};
        break;
      case 1:
        node.op = rng.Below(2) == 0 ? "Add" : "Mul";
        node.inputs = {a, values[rng.Below(values.size())]};
        break;
      default: {
        const std::array<float, 1> bound = {static_cast<float>(rng.Normal())};
        node.op = "Clip";
        node.inputs = {a, kNoValue,
                       graph.AddConstant("bound" + std::to_string(i),
                                         Tensor::From<float>(DType::kF32, {}, bound))};
      }
    }
    values.push_back(graph.AddValue(made, graph.type(a)));
    node.outputs = {values.back()};
    graph.AddNode(std::move(node));
  }
  graph.AddOutput(values.back());
  InferTypes(graph);
  return graph;
}

TEST(OnnxExport, OfRandomGraphsReadsBackTheSame) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = RandomGraph(seed);
    const Graph back = ImportOnnxBytes(ExportOnnxBytes(graph));
    ASSERT_TRUE(SameGraph(graph, Bare(back))) << "seed " << seed;
  }
}

TEST(OnnxExport, KeepsPropertiesAndNamesTheProducer) {
  Graph graph = FromText("(float[2] x) => (float[2] y) { y = Relu(x) }");
  graph.SetMetadata("author", "somebody");
  const Graph back = ImportOnnxBytes(ExportOnnxBytes(graph));
  EXPECT_EQ(back.metadata().at("author"), "somebody");
  EXPECT_EQ(back.metadata().at("onnx.producer_name"), "mscgym");
}

// --- older operator sets -------------------------------------------------------------------------

struct Lowering {
  std::string label;
  std::string graph;
  std::int64_t opset;
  Dims input;
};

void PrintTo(const Lowering& one, std::ostream* out) {
  *out << one.label;
}

class OnnxLowering : public testing::TestWithParam<Lowering> {};

TEST_P(OnnxLowering, KeepsTheNumbers) {
  const Graph graph = FromText(GetParam().graph);
  const std::string bytes = ExportOnnxBytes(graph, {.opset = GetParam().opset});
  const Graph back = ImportOnnxBytes(bytes);
  EXPECT_EQ(back.metadata().at("onnx.opset"), std::to_string(GetParam().opset));
  const std::vector<Tensor> inputs = {RandomTensor(GetParam().input)};
  const auto expected = Interpret(graph, inputs);
  EXPECT_EQ(Interpret(back, inputs), expected);
}

TEST_P(OnnxLowering, RunsInOnnxRuntime) {
  if (const std::string absence = OrtAbsence(); !absence.empty()) GTEST_SKIP() << absence;
  const Graph graph = FromText(GetParam().graph);
  const std::vector<Tensor> inputs = {RandomTensor(GetParam().input)};
  OrtSession session(ExportOnnxBytes(graph, {.opset = GetParam().opset}), 1);
  EXPECT_LT(LargestDifference(session.Run(inputs)[0], Interpret(graph, inputs)[0]), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, OnnxLowering,
    testing::Values(
        Lowering{"Clip7",
                 "(float[2,3] x) => (float[2,3] y) { a = Constant<value = float {-1.0}>() b = "
                 "Constant<value = float {2.0}>() y = Clip(x, a, b) }",
                 7,
                 {2, 3}},
        Lowering{"ClipWithoutMin9",
                 "(float[2,3] x) => (float[2,3] y) { b = Constant<value = float {0.5}>() y = "
                 "Clip(x, , b) }",
                 9,
                 {2, 3}},
        Lowering{"Unsqueeze11",
                 "(float[2,3] x) => (float[2,1,3] y) { a = Constant<value = int64[1] {1}>() y = "
                 "Unsqueeze(x, a) }",
                 11,
                 {2, 3}},
        Lowering{"UnsqueezeFromTheEnd9",
                 "(float[2,3] x) => (float[2,3,1] y) { a = Constant<value = int64[1] {-1}>() y = "
                 "Unsqueeze(x, a) }",
                 9,
                 {2, 3}},
        Lowering{"Squeeze7",
                 "(float[2,1,3] x) => (float[2,3] y) { a = Constant<value = int64[1] {1}>() y = "
                 "Squeeze(x, a) }",
                 7,
                 {2, 1, 3}},
        Lowering{
            "BatchNormalization8",
            "(float[2,2] x) => (float[2,2] y) { s = Constant<value = float[2] {1.0, 2.0}>() b "
            "= Constant<value = float[2] {0.5, 0.25}>() y = BatchNormalization(x, s, b, b, s) }",
            8,
            {2, 2}},
        Lowering{"Flatten9",
                 "(float[2,3,4] x) => (float[6,4] y) { y = Flatten<axis=-1>(x) }",
                 9,
                 {2, 3, 4}}),
    [](const auto& param) { return param.param.label; });

TEST(OnnxExport, AtAnOlderSetDropsConstantsThatBecameAttributes) {
  const Graph graph = FromText(
      "(float[2] x) => (float[2] y) { b = Constant<value = float {0.5}>() y = Clip(x, b) }");
  const Graph back = ImportOnnxBytes(ExportOnnxBytes(graph, {.opset = 9}));
  EXPECT_EQ(back.FindValue("b"), kNoValue);
}

TEST(OnnxExport, RefusesAnOperatorThatAnOlderSetLacks) {
  EXPECT_EQ(
      ErrorOf(FromText("(float[2] x) => (float[2] y) { y = HardSwish(x) }"), {.opset = 13}),
      "node 'HardSwish_0' (HardSwish) cannot be exported at operator set 13: the operator does "
      "not exist there");
}

TEST(OnnxExport, RefusesAComputedBoundThatWasAnAttribute) {
  EXPECT_EQ(
      ErrorOf(FromText("(float[2] x, float b) => (float[2] y) { y = Clip(x, b) }"), {.opset = 10}),
      "node 'Clip_0' (Clip) cannot be exported at operator set 10: input 1 must be a constant "
      "before it can be written");
}

TEST(OnnxExport, RefusesWhatOnlySet28Has) {
  EXPECT_EQ(ErrorOf(FromText("(float[2] x, float[2] z) => (float[2] y) { y = Mod(x, z) }", 28),
                    {.opset = 27}),
            "node 'Mod_0' (Mod) cannot be exported at operator set 27: the remainder of floats "
            "that has the sign of the divisor came with set 28");
}

TEST(OnnxExport, RefusesAnOperatorSetItDoesNotKnow) {
  EXPECT_EQ(ErrorOf(Graph(), {.opset = 28}),
            "cannot export operator set 28; sets 7 to 27 are written");
}

TEST(OnnxExport, RefusesFusedOperators) {
  Graph graph;
  const ValueId x = graph.AddInput("x", {.dtype = DType::kF32, .shape = Shape{2}});
  const ValueId y = graph.AddValue("y", graph.type(x));
  Node node;
  node.name = "fused";
  node.op = "Binary";
  node.domain = "msc";
  node.inputs = {x, x};
  node.outputs = {y};
  graph.AddNode(std::move(node));
  graph.AddOutput(y);
  EXPECT_EQ(
      ErrorOf(graph),
      "node 'fused' (Binary) cannot be exported at operator set 17: operators of domain 'msc' "
      "are not ONNX; export the graph from before fusion");
}

// --- reduced precision ---------------------------------------------------------------------------

/// Conv between QuantizeLinear / DequantizeLinear pairs with per-channel i8 weights.
constexpr const char* kQdq = R"((float[1,1,4,4] x) => (float[1,2,2,2] y) {
  s = Constant<value = float {0.05}>()
  z = Constant<value = int8 {0}>()
  w = Constant<value = int8[2,1,3,3] {1,2,3,4,5,6,7,8,9,-1,-2,-3,-4,-5,-6,-7,-8,-9}>()
  ws = Constant<value = float[2] {0.01, 0.02}>()
  wz = Constant<value = int8[2] {0, 0}>()
  q = QuantizeLinear(x, s, z)
  d = DequantizeLinear(q, s, z)
  wd = DequantizeLinear<axis=0>(w, ws, wz)
  y = Conv(d, wd)
})";

TEST(OnnxExport, OfQuantizedGraphsAgreesWithOnnxRuntime) {
  if (const std::string absence = OrtAbsence(); !absence.empty()) GTEST_SKIP() << absence;
  const Graph graph = FromText(kQdq);
  const std::vector<Tensor> inputs = {RandomTensor({1, 1, 4, 4})};
  OrtSession session(ExportOnnxBytes(graph), 1);
  EXPECT_LT(LargestDifference(session.Run(inputs)[0], Interpret(graph, inputs)[0]), 1e-5);
}

TEST(OnnxExport, KeepsQuantizedWeightsAsIntegers) {
  const Graph back = ImportOnnxBytes(ExportOnnxBytes(FromText(kQdq)));
  EXPECT_EQ(back.constant(back.FindValue("w"))->dtype(), DType::kI8);
}

TEST(OnnxExport, RefusesPerChannelScalesBeforeSet13) {
  EXPECT_EQ(ErrorOf(FromText(kQdq), {.opset = 12}),
            "node 'DequantizeLinear_7' (DequantizeLinear) cannot be exported at operator set 12: "
            "attribute 'axis' does not exist there");
}

/// x -> Cast bf16 -> Cast f32 -> Mul with bf16 weights {1, 1, 2, 2} -> y
Graph Bf16Graph() {
  Graph graph = FromText(R"((float[4] x) => (float[4] y) {
    w = Constant<value = float[4] {0, 0, 0, 0}>()
    n = Cast<to=16>(x)
    a = Cast<to=1>(n)
    b = Cast<to=1>(w)
    y = Mul(a, b)
  })");
  const std::array<std::uint16_t, 4> bits = {0x3F80, 0x3F80, 0x4000, 0x4000};
  graph.SetConstant(
      graph.FindValue("w"),
      std::make_shared<const Tensor>(Tensor::From<std::uint16_t>(DType::kBF16, {4}, bits)));
  return graph;
}

TEST(OnnxExport, WritesBf16LayersInF32AndNamesThem) {
  const Graph back = ImportOnnxBytes(ExportOnnxBytes(Bf16Graph()));
  EXPECT_EQ(CountContents(back).nodes, (std::map<std::string, std::int64_t>{{"Mul", 1}}));
  EXPECT_EQ(back.metadata().at("msc.bf16_layers"), "[\"Mul_4\"]");
  const std::array<float, 4> x = {1, 2, 3, 4};
  const std::vector<Tensor> inputs = {Tensor::From<float>(DType::kF32, {4}, x)};
  const auto y = Interpret(back, inputs)[0];
  EXPECT_EQ(std::vector<float>(y.Values<float>().begin(), y.Values<float>().end()),
            (std::vector<float>{1, 2, 6, 8}));
}

TEST(OnnxExport, KeepsBf16WhenAsked) {
  const Graph graph = Bf16Graph();
  const Graph back = ImportOnnxBytes(ExportOnnxBytes(graph, {.bf16 = Bf16Export::kKeep}));
  EXPECT_TRUE(SameGraph(Bare(graph), Bare(back)));
}

/// Element types of the inputs and outputs of an ONNX file.
std::vector<std::int32_t> EndTypes(const std::string& bytes) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  std::vector<std::int32_t> types;
  for (const auto* list : {&model.graph().input(), &model.graph().output()}) {
    for (const auto& end : *list) types.push_back(end.type().tensor_type().elem_type());
  }
  return types;
}

TEST(OnnxExport, KeepsBf16InputsAndOutputs) {
  const Graph graph = FromText(R"((bfloat16[4] x) => (bfloat16[4] y, bfloat16[4] z) {
    a = Cast<to=1>(x)
    b = Relu(a)
    y = Cast<to=16>(b)
    z = Neg(x)
  })");
  const std::string bytes = ExportOnnxBytes(graph);
  EXPECT_EQ(EndTypes(bytes), (std::vector<std::int32_t>{16, 16, 16}));
  const Graph back = ImportOnnxBytes(bytes);
  EXPECT_EQ(CountContents(back).nodes,
            (std::map<std::string, std::int64_t>{{"Cast", 3}, {"Neg", 1}, {"Relu", 1}}));
  const std::array<std::uint16_t, 4> x = {ToBF16(-1), ToBF16(0), ToBF16(1), ToBF16(2.5)};
  const std::vector<Tensor> inputs = {Tensor::From<std::uint16_t>(DType::kBF16, {4}, x)};
  EXPECT_EQ(Interpret(back, inputs), Interpret(graph, inputs));
}

/// A model whose inputs and outputs named "n..." have the element type `code`.
Graph WithNarrowEnds(const std::string& text, std::int32_t code) {
  onnx::ModelProto model = ModelFromText(text, 21);
  for (auto* list :
       {model.mutable_graph()->mutable_input(), model.mutable_graph()->mutable_output()}) {
    for (auto& end : *list) {
      if (end.name().starts_with("n")) {
        end.mutable_type()->mutable_tensor_type()->set_elem_type(code);
      }
    }
  }
  return ImportOnnxBytes(BytesOf(model));
}

TEST(OnnxExport, KeepsNarrowTypesOfInputsAndOutputsWhenAsked) {
  constexpr std::int32_t kInt4 = 22;
  // Of the outputs, one is a Cast, one is moved and read besides, and one is an input.
  const Graph graph =
      WithNarrowEnds(R"((int8[4] n, float[4] x) => (int8[4] na, int8[2,2] nb, float[2,2] y) {
    na = Cast<to=22>(x)
    s = Constant<value = int64[2] {2, 2}>()
    nb = Reshape(n, s)
    y = Cast<to=1>(nb)
  })",
                     kInt4);
  EXPECT_EQ(graph.metadata().at("onnx.type.n"), "int4");
  EXPECT_EQ(EndTypes(ExportOnnxBytes(graph, {.opset = 21})),
            (std::vector<std::int32_t>{3, 1, 3, 3, 1}));
  const std::string bytes = ExportOnnxBytes(graph, {.opset = 21, .narrow_ends = true});
  EXPECT_EQ(EndTypes(bytes), (std::vector<std::int32_t>{kInt4, 1, kInt4, kInt4, 1}));
  const Graph back = ImportOnnxBytes(bytes);
  EXPECT_EQ(back.metadata().at("onnx.type.nb"), "int4");
  const std::vector<Tensor> inputs = {
      Tensor::From<std::int8_t>(DType::kI8, {4}, std::vector<std::int8_t>{-8, -1, 0, 7}),
      Tensor::From<float>(DType::kF32, {4}, std::vector<float>{-8, -1.5F, 0, 7})};
  EXPECT_EQ(Interpret(back, inputs), Interpret(graph, inputs));
  EXPECT_EQ(EndTypes(ExportOnnxBytes(back, {.opset = 21, .narrow_ends = true})),
            (std::vector<std::int32_t>{kInt4, 1, kInt4, kInt4, 1}));
}

TEST(OnnxExport, RefusesNarrowInputsAtSetsWithoutTheirType) {
  const Graph graph = WithNarrowEnds("(int8[4] n) => (float[4] y) { y = Cast<to=1>(n) }", 22);
  EXPECT_EQ(ErrorOf(graph, {.opset = 20, .narrow_ends = true}),
            "the type int4 of 'n' cannot be exported at operator set 20: it exists from set 21 on");
  EXPECT_EQ(ExportAtOldestSet(graph, {.narrow_ends = true}).opset, 21);
}

// Batch-first tensors came with set 14, and runtimes ask for the hidden size in any.
TEST(OnnxExport, WritesAnLstmOfEverySet) {
  Graph graph = ParseGraph(R"(graph g {
    input %x : f32[4,2,3]
    const %w : f32[1,20,3] = random 1
    const %r : f32[1,20,5] = random 2
    const %h0 : f32[1,2,5] = random 3
    %y, _, %c = LSTM(%x, %w, %r, _, _, %h0) @lstm {layout = 0, direction = "reverse"}
    output %y
    output %c
  })");
  InferTypes(graph);
  for (const std::int64_t opset : {7, 13, 17}) {
    const Graph back = ImportOnnxBytes(ExportOnnxBytes(graph, {.opset = opset}));
    const Node& node = back.node(back.order()[0]);
    EXPECT_EQ(AttrOr(node, "hidden_size", std::int64_t{0}), 5);
    EXPECT_EQ(node.attrs.contains("layout"), opset >= 14);
    EXPECT_EQ(node.inputs[3], kNoValue);
    EXPECT_EQ(node.outputs[1], kNoValue);
    const std::vector<Tensor> inputs = {RandomTensor({4, 2, 3})};
    EXPECT_EQ(Interpret(back, inputs), Interpret(graph, inputs));
  }
}

// --- nested graphs -------------------------------------------------------------------------------

// Names in nested graphs repeat those around them, which ONNX forbids; bodies return inputs, values
// of outer graphs and constants as they are, and one value twice, which ONNX Runtime forbids. %two
// is read by nested graphs alone, and the Clip needs a constant at each place.
constexpr const char* kNested = R"(graph main {
  input %x : f32[2,3]
  const %count : i64[] = [3]
  const %go : bool[] = [true]
  const %two : f32[] = [2]
  const %low : f32[] = [-1]
  %w = Neg(%x)
  %last, %each, %same = Loop(%count, %go, %x) @loop {body = graph b {
    input %i : i64[]
    input %go : bool[]
    input %v : f32[2,3]
    captured %w : f32[2,3]
    captured %two : f32[]
    captured %low : f32[]
    const %one : i64[] = [1]
    %first = Less(%i, %one)
    %h = Mul(%v, %two)
    %t = If(%first) @pick {
      then_branch = graph t {
        captured %low : f32[]
        captured %h : f32[2,3]
        %x = Clip(%h, %low) @clip
        output %x
      },
      else_branch = graph e { captured %w : f32[2,3] output %w }
    }
    %x = Add(%t, %h)
    output %go
    output %x
    output %x
    output %one
  }}
  %c = Clip(%last, %low) @clip
  %picked = If(%go) @outer {
    then_branch = graph t { captured %x : f32[2,3] output %x },
    else_branch = graph e { captured %c : f32[2,3] output %c }
  }
  output %c
  output %each
  output %same
  output %picked
})";

Graph NestedGraph() {
  Graph graph = ParseGraph(kNested);
  InferTypes(graph);
  return graph;
}

TEST(OnnxExport, WritesNestedGraphs) {
  const Graph graph = NestedGraph();
  const std::vector<Tensor> inputs = {RandomTensor({2, 3})};
  const std::vector<Tensor> expected = Interpret(graph, inputs);
  for (const std::int64_t opset : {11, 13, 17, 21, 27}) {
    const Graph back = ImportOnnxBytes(ExportOnnxBytes(graph, {.opset = opset}));
    EXPECT_NE(back.FindNode("loop"), kNoNode);
    EXPECT_EQ(Interpret(back, inputs), expected) << "set " << opset;
  }
}

TEST(OnnxExport, WritesNestedGraphsAsOnnxRuntimeReadsThem) {
  if (const std::string absence = OrtAbsence(); !absence.empty()) GTEST_SKIP() << absence;
  const Graph graph = NestedGraph();
  const std::vector<Tensor> inputs = {RandomTensor({2, 3})};
  const std::vector<Tensor> expected = Interpret(graph, inputs);
  for (const std::int64_t opset : {11, 13, 17, 21}) {
    OrtSession session(ExportOnnxBytes(graph, {.opset = opset}), 1);
    const std::vector<Tensor> outputs = session.Run(inputs);
    ASSERT_EQ(outputs.size(), expected.size());
    for (const std::size_t i : {0, 1, 3}) {
      EXPECT_LT(LargestDifference(outputs[i], expected[i]), 1e-6) << "set " << opset;
    }
    EXPECT_EQ(outputs[2], expected[2]) << "set " << opset;
  }
}

TEST(OnnxExport, NamesANodeOfANestedGraphThatASetLacks) {
  const Graph graph = ParseGraph(R"(graph g {
    input %c : bool[]
    input %x : f32[2]
    %y = If(%c) {
      then_branch = graph t { captured %x : f32[2] %a = HardSwish(%x) @swish output %a },
      else_branch = graph e { captured %x : f32[2] %a = Relu(%x) output %a }
    }
    output %y
  })");
  EXPECT_EQ(ErrorOf(graph, {.opset = 13}),
            "node 'swish' (HardSwish) cannot be exported at operator set 13: the operator does not "
            "exist there");
  EXPECT_EQ(ErrorOf(graph, {.opset = 14}), "no error");
}

TEST(OnnxExport, RefusesOptionalsOfControlFlowBeforeSet16) {
  const Graph graph = ParseGraph(R"(graph g {
    input %c : bool[]
    input %x : opt(f32[2])
    %y = If(%c) @if {
      then_branch = graph t { captured %x : opt(f32[2]) %a = Identity(%x) output %a },
      else_branch = graph e { captured %x : opt(f32[2]) %b = Identity(%x) output %b }
    } : opt(f32[2])
    output %y
  })");
  EXPECT_EQ(ErrorOf(graph, {.opset = 15}),
            "node 'if' (If) cannot be exported at operator set 15: 'y' cannot be optional there");
  EXPECT_EQ(ErrorOf(graph, {.opset = 16}), "no error");
}

// --- files ---------------------------------------------------------------------------------------

TEST(OnnxExport, LeavesNoFileWhereItCannotWrite) {
  const std::string folder =
      testing::TempDir() + "/onnx_export_" + std::to_string(getpid()) + "/missing";
  EXPECT_THROW(ExportOnnx(Bf16Graph(), folder + "/model.onnx"), SystemError);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(OnnxExport, WritesAFileThatReadsBack) {
  const std::string path =
      testing::TempDir() + "/onnx_export_" + std::to_string(getpid()) + ".onnx";
  ExportOnnx(FromText(kQdq), path);
  EXPECT_TRUE(SameGraph(Bare(FromText(kQdq)), Bare(ImportOnnx(path))));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace msc
