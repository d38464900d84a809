// The forms of readers: which integers they are in, and that the numbers stay those of the plan.
#include "compiler/compress/quantize/reader.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/peers/ort_session.h"
#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/codegen/onnx/export.h"
#include "compiler/ir/verifier.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "tests/compiler/compress/quantize/support.h"
#include "tests/support/error_of.h"

namespace msc {
namespace {

using testing::Calibrate;
using testing::Difference;
using testing::Everything;
using testing::ExpectSameNumbers;
using testing::Parse;
using testing::RandomInputs;

struct Case {
  std::string name;
  std::string graph;
  /// Whether ONNX Runtime's form rounds nothing that the plan does not.
  bool exact = true;
};

std::ostream& operator<<(std::ostream& out, const Case& each) {
  return out << each.name;
}

/// A Conv, `between` from %c to %r, and a Conv that reads %r.
std::string Two(const std::string& between) {
  return R"(graph main {
    input %x : f32[1,4,8,8]
    const %w : f32[6,4,3,3] = random 1
    const %b : f32[6] = random 2
    const %v : f32[6,6,1,1] = random 3
    const %u : f32[6,6,1,1] = random 4
    const %low : f32[] = [0]
    const %high : f32[] = [3]
    %c = Conv(%x, %w, %b) @first {pads = [1, 1, 1, 1]}
    )" + between +
         R"(
    %y = Conv(%r, %v) @last
    output %y
  })";
}

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"relu", Two("%r = Relu(%c)")},
      {"clip", Two("%r = Clip(%c, %low, %high)")},
      {"hard_swish", Two("%r = HardSwish(%c)"), false},
      {"hard_sigmoid", Two("%r = HardSigmoid(%c)"), false},
      {"sigmoid", Two("%r = Sigmoid(%c)"), false},
      {"swish", Two("%s = Sigmoid(%c)\n    %r = Mul(%c, %s)"), false},
      {"leaky", Two("%r = LeakyRelu(%c)"), false},
      // The Relu's values share a scale with signed ones.
      {"relu_beside_signed",
       R"(graph main {
         input %x : f32[1,4,8,8]
         const %w : f32[6,4,3,3] = random 1
         const %v : f32[5,12,1,1] = random 3
         %c = Conv(%x, %w) @one {pads = [1, 1, 1, 1]}
         %r = Relu(%c)
         %d = Conv(%x, %w) @two {pads = [1, 1, 1, 1]}
         %k = Concat(%r, %d) {axis = 1}
         %y = Conv(%k, %v) @last
         output %y
       })",
       false},
      // The sum is stored, not what the convolution makes.
      {"added_constant", Two("%h = HardSwish(%c)\n    %r = Add(%h, %high)"), false},
      {"split",
       R"(graph main {
         input %x : f32[1,4,8,8]
         const %w : f32[6,4,3,3] = random 1
         const %v : f32[3,3,1,1] = random 3
         const %u : f32[4,6,1,1] = random 4
         %c = Conv(%x, %w) @one {pads = [1, 1, 1, 1]}
         %p, %q = Split(%c) {axis = 1}
         %d = Conv(%q, %v) @two
         %k = Concat(%p, %d) {axis = 1}
         %y = Conv(%k, %u) @last
         output %y
       })",
       false},
      {"residual",
       Two("%t = Relu(%c)\n    %d = Conv(%t, %u) @middle\n    %a = Add(%d, %t)\n"
           "    %r = Relu(%a)"),
       false},
      {"pool", Two("%t = Relu(%c)\n    %r = MaxPool(%t) {kernel_shape = [2, 2]}")},
      {"output_is_read", R"(graph main {
         input %x : f32[1,4,8,8]
         const %w : f32[4,4,1,1] = random 1
         %m = Conv(%x, %w) @first
         %y = Conv(%m, %w) @last
         output %m
         output %y
       })",
       false},
      {"gemm", R"(graph main {
         input %x : f32[2,8]
         const %w : f32[8,8] = random 1
         const %b : f32[8] = random 2
         %h = Gemm(%x, %w, %b) @first {transB = 1}
         %r = Relu(%h)
         %y = Gemm(%r, %w, %b) @last {transB = 1}
         output %y
       })"},
      {"matmul", R"(graph main {
         input %x : f32[1,3,8]
         const %w : f32[8,8] = random 1
         const %b : f32[8] = random 2
         %m = MatMul(%x, %w) @first
         %h = Add(%m, %b)
         %r = Relu(%h)
         %n = MatMul(%r, %w) @last
         %y = Add(%n, %b)
         output %y
       })"},
  };
  return cases;
}

struct Fitted {
  Graph applied;
  Graph graph;
  ReaderFit fit;
};

Fitted FitTo(const std::string& reader, const std::string& text,
             const CalibrationOptions& options = {.method = "minmax"}) {
  Graph graph = Parse(text);
  Canonicalize(graph);
  QuantizePlan plan = Everything(graph, Precision::kInt8);
  plan.activations = Calibrate(graph, options);
  // No sum of two products with weights of 7 bits overflows where a CPU adds them in 16 bits.
  for (const auto& [layer, precision] : plan.layers) plan.weights[layer] = {.bits = 7};
  ApplyQuantizePlan(plan, graph);
  Fitted fitted{.applied = graph, .graph = graph, .fit = {}};
  fitted.fit = FitToReader(FindReader(reader), plan.activations, fitted.graph);
  return fitted;
}

std::vector<NodeId> Nodes(const Graph& graph, const std::string& op) {
  std::vector<NodeId> nodes;
  for (const NodeId id : graph.order()) {
    if (graph.node(id).Is(op)) nodes.push_back(id);
  }
  return nodes;
}

std::int64_t ZeroPoint(const Graph& graph, NodeId id) {
  const Tensor& zero = *graph.constant(graph.node(id).inputs.at(2));
  return zero.dtype() == DType::kU8 ? std::int64_t{zero.Values<std::uint8_t>()[0]}
                                    : std::int64_t{zero.Values<std::int8_t>()[0]};
}

bool ReadsI32(const Graph& graph, NodeId id) {
  return graph.type(graph.node(id).inputs.at(0)).dtype == DType::kI32;
}

TEST(Readers, AreNamed) {
  std::vector<std::string> names;
  for (const ReaderRules& reader : AllReaders()) names.emplace_back(reader.name);
  EXPECT_EQ(names, (std::vector<std::string>{"any", "onnxruntime", "openvino", "tensorrt"}));
  EXPECT_EQ(FindReader("openvino").runtime, "OpenVINO");
  EXPECT_EQ(ErrorOf([] { (void)FindReader("ort"); }),
            "no reader is called 'ort'; known: any, onnxruntime, openvino, tensorrt");
}

/// Compares on samples of the calibration: other samples may saturate where only a reader rounds.
void ExpectNear(const Graph& wanted, const Graph& found, double tolerance) {
  for (const std::uint64_t seed : {10U, 11U}) {
    const std::vector<Tensor> inputs = RandomInputs(wanted, seed);
    const std::vector<Tensor> expected = Interpret(wanted, inputs);
    const std::vector<Tensor> got = Interpret(found, inputs);
    ASSERT_EQ(expected.size(), got.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_LE(Difference(expected[i], got[i]), tolerance) << "output " << i;
    }
  }
}

class ReaderForms : public ::testing::TestWithParam<Case> {};

TEST_P(ReaderForms, OfAnyAndOpenVinoComputeTheSame) {
  for (const char* reader : {"any", "openvino"}) {
    const Fitted fitted = FitTo(reader, GetParam().graph);
    ASSERT_NO_THROW(Verify(fitted.graph));
    ExpectSameNumbers(fitted.applied, fitted.graph, 0);
    EXPECT_EQ(fitted.fit.rounded, 0);
    EXPECT_EQ(fitted.fit.coarser, 0);
    EXPECT_TRUE(fitted.fit.float_layers.empty());
    for (const NodeId id : Nodes(fitted.graph, "DequantizeLinear")) {
      EXPECT_FALSE(ReadsI32(fitted.graph, id)) << reader << ": an i32 bias";
    }
  }
}

TEST_P(ReaderForms, OfOnnxRuntimeRoundBehindEveryConvolution) {
  const Fitted fitted = FitTo("onnxruntime", GetParam().graph);
  const Graph& graph = fitted.graph;
  ASSERT_NO_THROW(Verify(graph));
  for (const NodeId id : Nodes(graph, "Conv")) {
    const auto reader = OnlyReader(graph, graph.node(id).outputs[0]);
    ASSERT_TRUE(reader) << graph.node(id).name;
    EXPECT_TRUE(graph.node(reader->node).Is("QuantizeLinear")) << graph.node(id).name;
  }
  for (const NodeId id : Nodes(graph, "QuantizeLinear")) {
    EXPECT_EQ(graph.type(graph.node(id).outputs[0]).dtype, DType::kU8);
  }
  EXPECT_TRUE(fitted.fit.float_layers.empty());
  std::vector<std::string> outputs;
  for (const ValueId id : graph.outputs()) outputs.push_back(graph.value(id).name);
  for (const ValueId id : fitted.applied.outputs()) {
    EXPECT_NE(std::find(outputs.begin(), outputs.end(), fitted.applied.value(id).name),
              outputs.end());
  }
}

TEST_P(ReaderForms, OfOnnxRuntimeAreNearThePlan) {
  const Fitted fitted = FitTo("onnxruntime", GetParam().graph);
  // The output of the model is rounded, too: half a step of 255, and what rounding inside adds.
  ExpectNear(fitted.applied, fitted.graph, GetParam().exact ? 0.008 : 0.03);
}

TEST_P(ReaderForms, RunInOnnxRuntimeAsInTheReference) {
  if (const std::string absence = OrtAbsence(); !absence.empty()) GTEST_SKIP() << absence;
  for (const ReaderRules& reader : AllReaders()) {
    const Fitted fitted = FitTo(std::string(reader.name), GetParam().graph);
    const std::vector<Tensor> inputs = RandomInputs(fitted.graph, 1);
    const std::vector<Tensor> wanted = Interpret(fitted.graph, inputs);
    const std::vector<Tensor> found = OrtSession(ExportOnnxBytes(fitted.graph), 1).Run(inputs);
    ASSERT_EQ(wanted.size(), found.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      // A value near the middle of two integers may get the other one.
      EXPECT_LT(Difference(wanted[i], found[i]), 0.03) << reader.name;
    }
  }
}

TEST_P(ReaderForms, OfTensorRtAreSymmetric) {
  for (const bool affine : {false, true}) {
    const Fitted fitted =
        FitTo("tensorrt", GetParam().graph, {.method = "minmax", .affine = affine});
    const Graph& graph = fitted.graph;
    ASSERT_NO_THROW(Verify(graph));
    for (const char* op : {"QuantizeLinear", "DequantizeLinear"}) {
      for (const NodeId id : Nodes(graph, op)) {
        EXPECT_FALSE(ReadsI32(graph, id));
        EXPECT_EQ(ZeroPoint(graph, id), 0);
        EXPECT_EQ(graph.constant(graph.node(id).inputs[2])->dtype(), DType::kI8);
      }
    }
    // Half the levels at most: a step of 127 in place of 255.
    ExpectNear(fitted.applied, graph, 0.08);
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, ReaderForms, ::testing::ValuesIn(Cases()),
                         [](const auto& each) { return each.param.name; });

TEST(FitToReader, RemovesBoundsThatIntegersSaturateAt) {
  EXPECT_TRUE(Nodes(FitTo("onnxruntime", Cases()[0].graph).graph, "Relu").empty());
  EXPECT_TRUE(Nodes(FitTo("onnxruntime", Cases()[1].graph).graph, "Clip").empty());
  // Integers that also hold negative numbers do not end where Relu does.
  EXPECT_EQ(Nodes(FitTo("onnxruntime", Cases()[7].graph).graph, "Relu").size(), 1U);
  EXPECT_EQ(Nodes(FitTo("any", Cases()[0].graph).graph, "Relu").size(), 1U);
}

TEST(FitToReader, GivesOpenVinoUnsignedIntegersAtConcat) {
  for (const char* reader : {"any", "openvino"}) {
    const Graph graph = FitTo(reader, Cases()[7].graph).graph;
    for (const NodeId id : Nodes(graph, "QuantizeLinear")) {
      const bool input = graph.IsInput(graph.node(id).inputs[0]);
      EXPECT_EQ(graph.type(graph.node(id).outputs[0]).dtype, input ? DType::kI8 : DType::kU8);
      EXPECT_EQ(ZeroPoint(graph, id), input ? 0 : 128);
    }
  }
}

TEST(FitToReader, LeavesIntegersThatAreReadByOtherParameters) {
  for (const char* const parameters : {"const %t : f32[] = [0.25]\n const %o : i8[] = [0]",
                                       "const %t : f32[] = [0.125]\n const %o : i8[] = [3]"}) {
    Graph graph = Parse(std::string(R"(graph main {
      input %x : f32[1,2,4,4]
      const %s : f32[] = [0.125]
      const %z : i8[] = [0]
      )") + parameters + R"(
      %q = QuantizeLinear(%x, %s, %z)
      %d = DequantizeLinear(%q, %t, %o)
      %e = DequantizeLinear(%q, %s, %z)
      %k = Concat(%d, %x) {axis = 1}
      %r = Relu(%e)
      output %k
      output %r
    })");
    for (const char* const name : {"any", "onnxruntime", "openvino"}) {
      SCOPED_TRACE(name);
      Graph fitted = graph;
      (void)FitToReader(FindReader(name), {}, fitted);
      ExpectNear(graph, fitted, 1e-6);
    }
  }
}

TEST(FitToReader, KeepsLevelsForWhatAnActivationDoesNotCutOff) {
  const Fitted fitted = FitTo("onnxruntime", Cases()[2].graph);
  const Graph& graph = fitted.graph;
  const NodeId conv = graph.FindNode("first");
  const auto reader = OnlyReader(graph, graph.node(conv).outputs[0]);
  ASSERT_TRUE(reader);
  const double step =
      static_cast<double>(graph.constant(graph.node(reader->node).inputs[1])->Values<float>()[0]);
  // HardSwish is 0 below -3.
  EXPECT_NEAR(step * static_cast<double>(ZeroPoint(graph, reader->node)), 3.0, step);
}

TEST(FitToReader, NamesAConvolutionWithoutScale) {
  Graph graph = Parse(Cases()[2].graph);
  Canonicalize(graph);
  QuantizePlan plan = Everything(graph, Precision::kInt8);
  plan.activations = Calibrate(graph);
  plan.activations.erase("c");  // as in a strategy of an earlier version
  ApplyQuantizePlan(plan, graph);
  Graph fitted = graph;
  const ReaderFit fit = FitToReader(FindReader("onnxruntime"), plan.activations, fitted);
  EXPECT_EQ(fit.float_layers,
            (std::vector<std::string>{"first: the strategy has no scale for 'c'"}));
  // Its weights are constants then: ONNX Runtime would dequantize them in every run.
  const Node& conv = fitted.node(fitted.FindNode("first"));
  ASSERT_NE(fitted.constant(conv.inputs[1]), nullptr);
  EXPECT_EQ(fitted.constant(conv.inputs[1])->dtype(), DType::kF32);
  ExpectNear(graph, fitted, 0.008);
}

TEST(FitToReader, ShapesTheBiasBehindAnIntegerMatMul) {
  const Fitted fitted = FitTo("onnxruntime", Cases().back().graph);
  const std::vector<NodeId> adds = Nodes(fitted.graph, "Add");
  ASSERT_EQ(adds.size(), 2U);
  for (const NodeId id : adds) {
    EXPECT_EQ(fitted.graph.constant(fitted.graph.node(id).inputs[1])->dims(), (Dims{1, 8}));
  }
}

TEST(FitToReader, LimitsAnActivationOfFewBits) {
  const Fitted fitted = FitTo("onnxruntime", Cases()[0].graph, {.method = "minmax", .bits = 4});
  ExpectNear(fitted.applied, fitted.graph, 0.008);
}

TEST(FitToReader, WidensWeightsWithZeroPointsForTensorRt) {
  Graph graph = Parse(Cases()[0].graph);
  Canonicalize(graph);
  QuantizePlan plan = Everything(graph, Precision::kInt8);
  plan.activations = Calibrate(graph);
  plan.weights["first"] = {.bits = 8,
                           .scales = std::vector<double>(6, 0.03125),
                           .zero_points = std::vector<std::int64_t>(6, 5)};
  ApplyQuantizePlan(plan, graph);
  Graph fitted = graph;
  const ReaderFit fit = FitToReader(FindReader("tensorrt"), plan.activations, fitted);
  EXPECT_EQ(fit.float_layers, (std::vector<std::string>{"first: its weights have a zero point"}));
  EXPECT_NE(fitted.constant(fitted.node(fitted.FindNode("first")).inputs[1]), nullptr);
}

TEST(FitToReader, LeavesAModelWithoutIntegersAlone) {
  for (const ReaderRules& reader : AllReaders()) {
    for (const Case& each : Cases()) {
      Graph graph = Parse(each.graph);
      Canonicalize(graph);
      Graph fitted = graph;
      (void)FitToReader(reader, {}, fitted);
      EXPECT_TRUE(SameGraph(graph, fitted)) << reader.name << ", " << each.name;
    }
  }
}

}  // namespace
}  // namespace msc
