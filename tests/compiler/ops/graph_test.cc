#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

Tensor Floats(Dims dims, const std::vector<float>& values) {
  return Tensor::From<float>(DType::kF32, std::move(dims), values);
}

Tensor Ints(const std::vector<std::int64_t>& values) {
  return Tensor::From<std::int64_t>(DType::kI64, {static_cast<std::int64_t>(values.size())},
                                    values);
}

ValueType F32(Shape shape) {
  return {.dtype = DType::kF32, .shape = std::move(shape), .layout = ""};
}

struct NodeSpec {
  std::string name;
  std::string op;
  std::vector<ValueId> inputs = {};
  AttrMap attrs = {};
};

/// Appends a node with one output, NAME_out.
ValueId Append(Graph& graph, NodeSpec spec) {
  const ValueId out = graph.AddValue(spec.name + "_out", {});
  Node node;
  node.name = std::move(spec.name);
  node.op = std::move(spec.op);
  node.inputs = std::move(spec.inputs);
  node.outputs = {out};
  node.attrs = std::move(spec.attrs);
  graph.AddNode(std::move(node));
  return out;
}

/// x [batch,1,4,4] -> Conv (2 channels, 3x3, stride 2, pad 1) -> Relu -> Flatten -> y
Graph SmallNet() {
  Graph graph;
  const ValueId x = graph.AddInput("x", F32({Dim::Symbol("batch"), 1, 4, 4}));
  std::vector<float> weights(18, 1.0F);
  for (std::size_t i = 9; i < 18; ++i) weights[i] = -1.0F;
  const ValueId w = graph.AddConstant("w", Floats({2, 1, 3, 3}, weights));
  const ValueId conv = Append(graph, {.name = "conv",
                                      .op = "Conv",
                                      .inputs = {x, w},
                                      .attrs = {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}},
                                                {"strides", std::vector<std::int64_t>{2, 2}}}});
  const ValueId relu = Append(graph, {.name = "relu", .op = "Relu", .inputs = {conv}});
  graph.AddOutput(Append(graph, {.name = "flat", .op = "Flatten", .inputs = {relu}}));
  return graph;
}

TEST(InferTypes, CarriesSymbolsThroughTheGraph) {
  Graph graph = SmallNet();
  InferTypes(graph);
  EXPECT_EQ(ToString(graph.type(graph.FindValue("conv_out"))), "f32[batch,2,2,2]");
  EXPECT_EQ(ToString(graph.type(graph.FindValue("flat_out"))), "f32[batch,8]");
}

TEST(InferTypes, ReplacesBoundSymbolsEverywhere) {
  Graph graph = SmallNet();
  InferTypes(graph);
  InferTypes(graph, {{"batch", 3}});
  EXPECT_EQ(ToString(graph.type(graph.FindValue("x"))), "f32[3,1,4,4]");
  EXPECT_EQ(ToString(graph.type(graph.FindValue("flat_out"))), "f32[3,8]");
}

TEST(InferTypes, KeepsWhatWasKnownWhereInferenceKnowsLess) {
  Graph graph;
  const ValueId x = graph.AddInput("x", F32({2, 6}));
  const ValueId shape =
      graph.AddInput("shape", {.dtype = DType::kI64, .shape = Shape{2}, .layout = ""});
  const ValueId y = Append(graph, {.name = "reshape", .op = "Reshape", .inputs = {x, shape}});
  graph.SetType(y, F32({4, 3}));
  graph.AddOutput(y);
  InferTypes(graph);
  EXPECT_EQ(ToString(graph.type(y)), "f32[4,3]");
}

TEST(InferTypes, NamesTheNodeWhoseShapesDoNotFit) {
  Graph graph;
  const ValueId x = graph.AddInput("x", F32({2, 6}));
  const ValueId w = graph.AddConstant("w", Floats({5, 3}, std::vector<float>(15)));
  graph.AddOutput(Append(graph, {.name = "fc", .op = "MatMul", .inputs = {x, w}}));
  try {
    InferTypes(graph);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "node 'fc' (MatMul): cannot multiply [2,6] by [5,3]: the inner dimensions differ");
  }
}

TEST(Interpret, RunsAGraph) {
  const Graph graph = SmallNet();
  const std::vector<Tensor> inputs{Floats({1, 1, 4, 4}, std::vector<float>(16, 1.0F))};
  const std::vector<Tensor> outputs = Interpret(graph, inputs);
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0], Floats({1, 8}, {4, 6, 6, 9, 0, 0, 0, 0}));
}

TEST(Interpret, ShowsEveryValueToTheTap) {
  const Graph graph = SmallNet();
  std::vector<std::string> seen;
  const std::vector<Tensor> inputs{Floats({1, 1, 4, 4}, std::vector<float>(16, 1.0F))};
  (void)Interpret(graph, inputs,
                  [&](ValueId id, const Tensor&) { seen.push_back(graph.value(id).name); });
  EXPECT_EQ(seen, (std::vector<std::string>{"x", "conv_out", "relu_out", "flat_out"}));
}

TEST(Interpret, RefusesAnInputOfAnotherShape) {
  const Graph graph = SmallNet();
  const std::vector<Tensor> inputs{Floats({1, 1, 4, 5}, std::vector<float>(20))};
  try {
    (void)Interpret(graph, inputs);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "input 'x' must be f32[batch,1,4,4], not f32[1,1,4,5]");
  }
}

TEST(Interpret, RefusesAnUnknownOperator) {
  Graph graph;
  const ValueId x = graph.AddInput("x", F32({2}));
  graph.AddOutput(Append(graph, {.name = "odd", .op = "Frobnicate", .inputs = {x}}));
  const std::vector<Tensor> inputs{Floats({2}, {1, 2})};
  try {
    (void)Interpret(graph, inputs);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "node 'odd': operator 'Frobnicate' of domain 'ai.onnx' is not supported");
  }
}

TEST(Interpret, ReshapesByAConstant) {
  Graph graph;
  const ValueId x = graph.AddInput("x", F32({Dim::Symbol("n"), 6}));
  const ValueId shape = graph.AddConstant("shape", Ints({0, 2, -1}));
  graph.AddOutput(Append(graph, {.name = "reshape", .op = "Reshape", .inputs = {x, shape}}));
  InferTypes(graph);
  EXPECT_EQ(ToString(graph.type(graph.outputs()[0])), "f32[n,2,3]");
}

TEST(CostOf, CountsMultiplyAndAddApart) {
  Graph graph = SmallNet();
  InferTypes(graph, {{"batch", 1}});
  const OpCost cost = CostOf(graph, graph.FindNode("conv"));
  EXPECT_EQ(cost.flops, 8 * 9 * 2);
  EXPECT_EQ(cost.bytes, 4 * (16 + 18 + 8));
}

}  // namespace
}  // namespace msc
