// Every operator at every set that is written: what is written is an ONNX model to libonnx and to
// ONNX Runtime, and means the same; or the node that cannot be written is named.

#include <cmath>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/peers/ort_session.h"
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/codegen/onnx/export.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "tests/contract/op_cases.h"

namespace msc {
namespace {

constexpr std::int64_t kOldest = 7;
constexpr std::int64_t kNewest = 17;

Graph Parsed(const std::string& text) {
  Graph graph = ParseGraph(text);
  InferTypes(graph);
  return graph;
}

/// "" where it was refused by the name of a node.
std::string Written(const Graph& graph, std::int64_t opset) {
  try {
    return ExportOnnxBytes(graph, {.opset = opset, .bf16 = Bf16Export::kKeep});
  } catch (const UserError& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with("node '")) << message;
    return "";
  }
}

/// What libonnx has against the model; empty where it has nothing.
std::string ProblemOf(const std::string& bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return "no model";
  try {
    onnx::checker::check_model(model);
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                       {/*check_type=*/true, /*strict_mode=*/1,
                                        /*data_prop=*/false});
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// A graph and what it is run on.
struct SetCase {
  std::string label;
  Graph graph;
  std::vector<Tensor> inputs;
};

SetCase FromText(const std::string& label, const std::string& text) {
  SetCase one{label, Parsed(text), {}};
  Rng rng(11);
  for (const ValueId id : one.graph.inputs()) {
    Tensor input(one.graph.type(id).dtype, *StaticDims(*one.graph.type(id).shape));
    if (input.dtype() == DType::kF32) {
      for (float& x : input.MutableValues<float>()) x = static_cast<float>(rng.Normal());
    }
    one.inputs.push_back(std::move(input));
  }
  return one;
}

/// The first operand is an input, as most have it, the others are constants, as older sets want
/// parameters.
SetCase FromOpCase(const OpCase& op_case) {
  SetCase one{op_case.label, Graph("g"), {}};
  Node node;
  node.name = "node";
  node.op = op_case.op;
  node.attrs = op_case.attrs;
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    const std::optional<Tensor>& tensor = op_case.inputs[i];
    const std::string name = "in" + std::to_string(i);
    if (!tensor) {
      node.inputs.push_back(kNoValue);
    } else if (one.inputs.empty()) {
      node.inputs.push_back(
          one.graph.AddInput(name, {.dtype = tensor->dtype(), .shape = ToShape(tensor->dims())}));
      one.inputs.push_back(*tensor);
    } else {
      node.inputs.push_back(one.graph.AddConstant(name, *tensor));
    }
  }
  std::vector<ValueId> outputs;
  for (std::size_t i = 0; i < op_case.outputs; ++i) {
    outputs.push_back(one.graph.AddValue("out" + std::to_string(i), {}));
  }
  node.outputs = outputs;
  one.graph.AddNode(std::move(node));
  one.graph.SetOutputs(outputs);
  InferTypes(one.graph);
  return one;
}

void ExpectSame(const std::vector<Tensor>& found, const std::vector<Tensor>& wanted,
                double tolerance, const std::string& where) {
  ASSERT_EQ(found.size(), wanted.size()) << where;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].dims(), wanted[i].dims()) << where;
    if (found[i].dtype() == DType::kF64) {
      for (std::size_t k = 0; k < found[i].Values<double>().size(); ++k) {
        EXPECT_NEAR(found[i].Values<double>()[k], wanted[i].Values<double>()[k], 1e-12) << where;
      }
      continue;
    }
    if (found[i].dtype() != DType::kF32) {
      EXPECT_EQ(found[i], wanted[i]) << where;
      continue;
    }
    for (std::size_t k = 0; k < found[i].Values<float>().size(); ++k) {
      const float expected = wanted[i].Values<float>()[k];
      if (std::isnan(expected) && std::isnan(found[i].Values<float>()[k])) continue;
      ASSERT_NEAR(found[i].Values<float>()[k], expected, tolerance * (1 + std::abs(expected)))
          << where;
    }
  }
}

/// Operators whose older forms want what set 17 does not, one a graph.
std::vector<SetCase> OlderForms() {
  const std::string two = "graph g {\n input %x : f32[2,1,3]\n input %z : f32[4,1]\n %y = ";
  const std::string image = "graph g {\n input %x : f32[1,2,4,4]\n";
  const std::string matrix = "graph g {\n input %x : f32[2,3]\n const %w : f32[3,4] = random 1\n";
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"ResizeByScales", image + " const %s : f32[4] = [1, 1, 2, 2]\n %y = Resize(%x, _, %s)\n "
                                 "output %y\n}"},
      {"ResizeToSizes", image + " const %s : i64[4] = [1, 2, 8, 6]\n %y = Resize(%x, _, _, %s) "
                                "{mode = \"linear\"}\n output %y\n}"},
      {"GemmWithoutC", matrix + " %y = Gemm(%x, %w)\n output %y\n}"},
      {"OneHotOnTheLastAxis",
       "graph g {\n input %x : i64[2,3]\n const %d : i64[] = [4]\n const %v : f32[2] = [0, 1]\n %y "
       "= OneHot(%x, %d, %v) {axis = -1}\n output %y\n}"},
      {"SliceFromTheLastAxis",
       "graph g {\n input %x : f32[3,4]\n const %b : i64[1] = [1]\n const %e : i64[1] = [3]\n "
       "const "
       "%a : i64[1] = [-1]\n %y = Slice(%x, %b, %e, %a)\n output %y\n}"},
      {"ScalesOfTheSecondAxis",
       "graph g {\n input %x : f32[3,4]\n const %q : i8[3,4] = random 1\n const %s : f32[4] = "
       "[0.1, "
       "0.2, 0.3, 0.4]\n const %z : i8[4] = [0, 0, 0, 0]\n %w = DequantizeLinear(%q, %s, %z) {axis "
       "= 1}\n %y = Add(%x, %w)\n output %y\n}"},
      {"OneScaleInAList",
       "graph g {\n input %x : f32[2,3]\n const %s : f32[1] = [0.1]\n const %z : i8[1] = [0]\n %q "
       "= "
       "QuantizeLinear(%x, %s, %z) {axis = 1}\n %y = DequantizeLinear(%q, %s, %z) {axis = 1}\n "
       "output %y\n}"},
      {"PowersOfAnotherType",
       "graph g {\n input %x : f32[2,3]\n const %p : i64[] = [2]\n %y = Pow(%x, %p)\n output "
       "%y\n}"},
  };
  std::vector<SetCase> cases;
  for (const auto& [label, text] : texts) cases.push_back(FromText(label, text));
  for (const std::string op : {"Sum", "Mean", "Max", "Min"}) {
    cases.push_back(FromText(op + "OfSeveralShapes", two + op + "(%x, %z, %x)\n output %y\n}"));
    cases.push_back(FromText(op + "OfOneShape", two + op + "(%x, %x)\n output %y\n}"));
    cases.push_back(FromText(op + "OfOne", two + op + "(%x)\n output %y\n}"));
  }
  return cases;
}

/// Those, and at least one of every operator of ONNX but Dropout, whose mask, which the case reads,
/// is of other values in other sets.
std::vector<SetCase> AllCases() {
  std::vector<SetCase> cases = OlderForms();
  for (const OpCase& op_case : OpCases()) {
    if (op_case.domain.empty() && op_case.op != "Dropout") cases.push_back(FromOpCase(op_case));
  }
  return cases;
}

TEST(OnnxSets, AreWrittenAsLibonnxWantsThem) {
  std::size_t written = 0;
  for (const SetCase& one : AllCases()) {
    const std::vector<Tensor> wanted = Interpret(one.graph, one.inputs);
    for (std::int64_t opset = kOldest; opset <= kNewest; ++opset) {
      const std::string where = one.label + " at set " + std::to_string(opset);
      const std::string bytes = Written(one.graph, opset);
      if (bytes.empty()) continue;
      ++written;
      EXPECT_EQ(ProblemOf(bytes), "") << where;
      ExpectSame(Interpret(ImportOnnxBytes(bytes), one.inputs), wanted, 1e-6, where);
    }
  }
  EXPECT_GT(written, 1000U);
}

TEST(OnnxSets, RunInOnnxRuntime) {
  if (const std::string absence = OrtAbsence(); !absence.empty()) GTEST_SKIP() << absence;
  for (const SetCase& one : AllCases()) {
    // ONNX Runtime does not clamp a position to the border before it takes the cubic window there;
    // ONNX's reference does.
    if (one.label == "GridSamplebicubicborder") continue;
    const std::vector<Tensor> wanted = Interpret(one.graph, one.inputs);
    for (std::int64_t opset = kOldest; opset <= kNewest; ++opset) {
      std::string bytes = Written(one.graph, opset);
      if (bytes.empty()) continue;
      const std::string where = one.label + " at set " + std::to_string(opset);
      try {
        ExpectSame(OrtSession(bytes, 1).Run(one.inputs), wanted, 1e-3, where);
      } catch (const UserError& error) {
        // It has not every operator for every type, and LRN for images alone.
        const std::string message = error.what();
        const bool lacks = message.find("Could not find an implementation") != std::string::npos ||
                           (one.label == "Lrn" && message.find("lrn.cc") != std::string::npos);
        EXPECT_TRUE(lacks) << where << ": " << message;
      }
    }
  }
}

/// From which set on each is written.
TEST(OnnxSets, OlderFormsAreWrittenFromTheSetThatCanSayThem) {
  std::string first;
  for (const SetCase& one : OlderForms()) {
    std::int64_t opset = kOldest;
    while (opset <= kNewest && Written(one.graph, opset).empty()) ++opset;
    first += one.label + " " + std::to_string(opset) + "\n";
  }
  EXPECT_EQ(first,
            "ResizeByScales 11\nResizeToSizes 11\nGemmWithoutC 7\nOneHotOnTheLastAxis 9\n"
            "SliceFromTheLastAxis 7\nScalesOfTheSecondAxis 13\nOneScaleInAList 10\n"
            "PowersOfAnotherType 12\n"
            "SumOfSeveralShapes 7\nSumOfOneShape 7\nSumOfOne 7\n"
            "MeanOfSeveralShapes 7\nMeanOfOneShape 7\nMeanOfOne 7\n"
            "MaxOfSeveralShapes 8\nMaxOfOneShape 7\nMaxOfOne 7\n"
            "MinOfSeveralShapes 8\nMinOfOneShape 7\nMinOfOne 7\n");
}

TEST(OnnxSets, NamesTheNodeWhoseInputsCannotStretch) {
  const Graph graph = Parsed(
      "graph g {\n input %x : f32[2,3]\n input %z : f32[3]\n %y = Max(%x, %z) @most\n output "
      "%y\n}");
  try {
    (void)ExportOnnxBytes(graph, {.opset = 7});
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "node 'most' (Max) cannot be exported at operator set 7: inputs of several shapes "
                 "came with set 8");
  }
}

}  // namespace
}  // namespace msc
