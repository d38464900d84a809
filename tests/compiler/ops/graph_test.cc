#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/ir/text.h"
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
  return {.dtype = DType::kF32, .shape = std::move(shape)};
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
  const ValueId shape = graph.AddInput("shape", {.dtype = DType::kI64, .shape = Shape{2}});
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

/// What InferTypes says of a graph of this node on x and y of f32[2,3], and on constants.
std::string Inferred(const std::string& node) {
  Graph graph =
      ParseGraph("graph g {\n  input %x : f32[2,3]\n  input %y : f32[2,3]\n  %z = " + node +
                 "\n  output %z\n}");
  try {
    InferTypes(graph);
  } catch (const UserError& error) {
    return error.what();
  }
  return ToString(graph.type(graph.FindValue("z")));
}

TEST(InferTypes, RefusesAnAbsentInputAmongAnyNumberOfThem) {
  EXPECT_EQ(Inferred("Concat(%x, %y) @n {axis = 0}"), "f32[4,3]");
  EXPECT_EQ(Inferred("Concat(%x, _, %y) @n {axis = 0}"),
            "node 'n' (Concat): input 1 must be given");
  EXPECT_EQ(Inferred("Max(%x, _, %y) @n"), "node 'n' (Max): input 1 must be given");
  EXPECT_EQ(Inferred("Sum(%x, %y, _) @n"), "node 'n' (Sum): input 2 must be given");
}

// Kernels and passes read perm as it is written.
TEST(InferTypes, RefusesAPermThatCountsFromTheEnd) {
  EXPECT_EQ(Inferred("Transpose(%x) @n {perm = [1, 0]}"), "f32[3,2]");
  EXPECT_EQ(Inferred("Transpose(%x) @n {perm = [-1, 0]}"),
            "node 'n' (Transpose): attribute 'perm' must name every axis once, from 0 on");
  EXPECT_EQ(Inferred("Transpose(%x) @n {perm = [0, 0]}"),
            "node 'n' (Transpose): names an axis twice");
}

/// What inference says of an LSTM of these operands on f32[5,n,3], and of its outputs.
std::string LstmTypes(const std::string& constants, const std::string& inputs,
                      const std::string& attrs) {
  Graph graph =
      ParseGraph("graph g {\n  input %x : f32[5,n,3]\n" + constants + "  %y, %h, %c = LSTM(" +
                 inputs + ") @lstm {" + attrs + "}\n  output %y\n  output %h\n}");
  try {
    InferTypes(graph);
  } catch (const UserError& error) {
    return error.what();
  }
  return ToString(graph.type(graph.FindValue("y"))) + " " +
         ToString(graph.type(graph.FindValue("h")));
}

TEST(InferTypes, SaysWhatDoesNotFitAnLstm) {
  const std::string wr = "  const %w : f32[1,8,3] = splat 0\n  const %r : f32[1,8,2] = splat 0\n";
  const std::string both = "  const %w : f32[2,8,3] = splat 0\n  const %r : f32[2,8,2] = splat 0\n";
  const std::string node = "node 'lstm' (LSTM): ";
  struct Row {
    std::string constants, inputs, attrs, says;
  };
  for (const Row& row : {
           Row{wr, "%x, %w, %r", "hidden_size = 2", "f32[5,1,n,2] f32[1,n,2]"},
           Row{both, "%x, %w, %r", "direction = \"bidirectional\"", "f32[5,2,n,2] f32[2,n,2]"},
           Row{wr + "  const %h0 : f32[1,4,2] = splat 0\n", "%x, %w, %r, _, _, %h0",
               "activations = [\"Sigmoid\", \"Tanh\", \"Tanh\"]", "f32[5,1,4,2] f32[1,4,2]"},
           Row{wr, "%x, %w, %r", "direction = \"bidirectional\"",
               node + "dimensions 2 and 1 must be equal"},
           Row{wr, "%x, %w, %r", "direction = \"both\"",
               node + "direction must be forward, reverse or bidirectional, not 'both'"},
           Row{wr, "%x, %w, %r", "hidden_size = 3", node + "dimensions 3 and 2 must be equal"},
           Row{wr, "%x, %w, %r", "hidden_size = -3", node + "hidden_size must not be negative"},
           Row{wr, "%x, %w, %r", "layout = 1",
               node + "batch-first tensors (layout 1) are not supported: transpose them"},
           Row{wr, "%x, %w, %r", "clip = 1.0", node + "clip is not supported"},
           Row{wr, "%x, %w, %r", "input_forget = 1",
               node + "coupled gates (input_forget 1) are not supported"},
           Row{wr, "%x, %w, %r", "activations = [\"Sigmoid\", \"Relu\", \"Tanh\"]",
               node + "activations other than Sigmoid, Tanh and Tanh are not supported"},
           Row{wr + "  const %b : f32[1,8] = splat 0\n", "%x, %w, %r, %b", "hidden_size = 2",
               node + "axis 1 of input 3 must be 8 times the hidden size 2, not 8"},
           Row{wr + "  const %b : f32[16] = splat 0\n", "%x, %w, %r, %b", "hidden_size = 2",
               node + "input 3 of shape [16] must have 2 dimensions"},
           Row{"  const %w : f32[1,8,4] = splat 0\n  const %r : f32[1,8,2] = splat 0\n",
               "%x, %w, %r", "hidden_size = 2", node + "dimensions 3 and 4 must be equal"},
           Row{wr + "  const %l : i64[4] = splat 5\n", "%x, %w, %r, _, %l", "hidden_size = 2",
               node + "input 4 cannot be of type i64"},
       }) {
    EXPECT_EQ(LstmTypes(row.constants, row.inputs, row.attrs), row.says);
  }
}

TEST(Interpret, RefusesASequenceThatIsLongerThanItsTensor) {
  Graph graph = ParseGraph(R"(graph g {
    input %x : f32[2,1,3]
    const %w : f32[1,8,3] = splat 0
    const %r : f32[1,8,2] = splat 0
    const %l : i32[1] = [3]
    %y = LSTM(%x, %w, %r, _, %l) @lstm
    output %y
  })");
  InferTypes(graph);
  const std::vector<Tensor> inputs{Tensor(DType::kF32, {2, 1, 3})};
  try {
    (void)Interpret(graph, inputs);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "node 'lstm' (LSTM): sequence length 3 must be between 0 and 2");
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

TEST(CostOf, CountsTheProductsOfEveryStep) {
  Graph graph = ParseGraph(R"(graph g {
    input %x : f32[5,2,3]
    const %w : f32[2,16,3] = splat 0
    const %r : f32[2,16,4] = splat 0
    %y = LSTM(%x, %w, %r) {direction = "bidirectional"}
    output %y
  })");
  InferTypes(graph);
  EXPECT_EQ(CostOf(graph, graph.order()[0]).flops, 5 * 2 * (2 * 2 * 16 * (3 + 4) + 64 * 2 * 4));
}

}  // namespace
}  // namespace msc
