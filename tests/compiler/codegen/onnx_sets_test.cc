// Every operator at every set that is written: what is written is an ONNX model to libonnx and to
// ONNX Runtime, and means the same; or the node that cannot be written is named.

#include <cmath>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <set>
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
#include "tests/compiler/codegen/set_cases.h"

namespace msc {
namespace {

/// The newest set of which the libonnx here has schemas.
constexpr std::int64_t kNewestOfLibonnx = kGraphOpset;

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

TEST(OnnxSets, AreWrittenAsLibonnxWantsThem) {
  std::size_t written = 0;
  for (const SetCase& one : AllSetCases()) {
    const std::vector<Tensor> wanted = Interpret(one.graph, one.inputs);
    for (std::int64_t opset = kOldestWrittenOpset; opset <= kNewestOpset; ++opset) {
      const std::string where = one.label + " at set " + std::to_string(opset);
      const std::string bytes = Written(one.graph, opset);
      if (bytes.empty()) continue;
      ++written;
      if (opset <= kNewestOfLibonnx) {
        EXPECT_EQ(ProblemOf(bytes), "") << where;
      }
      ExpectSame(Interpret(ImportOnnxBytes(bytes), one.inputs), wanted, 1e-6, where);
    }
  }
  EXPECT_GT(written, 3000U);
}

/// The graph as text, without metadata and what nobody reads.
std::string Essence(const Graph& graph) {
  Graph read(graph.name());
  std::map<ValueId, ValueId> ids;
  const auto map = [&](std::vector<ValueId>& list) {
    for (ValueId& id : list) id = id == kNoValue ? id : ids.at(id);
  };
  for (const ValueId id : graph.inputs()) {
    ids[id] = read.AddInput(graph.value(id).name, graph.type(id));
  }
  for (const ValueId id : graph.constants()) {
    if (graph.uses(id).empty()) continue;
    ids[id] = read.AddConstant(graph.value(id).name, graph.constant(id));
  }
  for (const NodeId id : graph.order()) {
    Node node = graph.node(id);
    for (const ValueId made : node.outputs) {
      if (made != kNoValue) ids[made] = read.AddValue(graph.value(made).name, graph.type(made));
    }
    map(node.inputs);
    map(node.outputs);
    read.AddNode(std::move(node));
  }
  std::vector<ValueId> outputs = graph.outputs();
  map(outputs);
  read.SetOutputs(outputs);
  return Print(read);
}

// What the importer makes of a file; other graphs may leave out defaults that it fills in.
TEST(OnnxSets, GraphsThatWereReadAreReadBackTheSame) {
  for (const SetCase& one : AllSetCases()) {
    const std::string newest = Written(one.graph, kNewestOpset);
    if (newest.empty()) continue;
    const Graph graph = ImportOnnxBytes(newest);
    const std::string wanted = Essence(graph);
    // Older sets have operators of their own for some.
    for (std::int64_t opset = 13; opset <= kNewestOpset; ++opset) {
      const std::string bytes = Written(graph, opset);
      if (bytes.empty()) continue;
      EXPECT_EQ(Essence(ImportOnnxBytes(bytes)), wanted)
          << one.label << " at set " << std::to_string(opset);
    }
  }
}

TEST(OnnxSets, RunInOnnxRuntime) {
  if (const std::string absence = OrtAbsence(); !absence.empty()) GTEST_SKIP() << absence;
  for (const SetCase& one : AllSetCases()) {
    if (!one.odd_in_ort.empty()) continue;
    const std::vector<Tensor> wanted = Interpret(one.graph, one.inputs);
    for (std::int64_t opset = kOldestWrittenOpset; opset <= kNewestOpset; ++opset) {
      std::string bytes = Written(one.graph, opset);
      if (bytes.empty()) continue;
      const std::string where = one.label + " at set " + std::to_string(opset);
      try {
        ExpectSame(OrtSession(bytes, 1).Run(one.inputs), wanted, one.tolerance, where);
      } catch (const UserError& error) {
        // It has not every operator for every type, and refuses sets newer than its onnx's newest
        // release.
        const std::string message = error.what();
        const bool lacks = message.find("Could not find an implementation") != std::string::npos ||
                           message.find("Current official support") != std::string::npos;
        EXPECT_TRUE(lacks) << where << ": " << message;
      }
    }
  }
}

/// From which set on each is written.
TEST(OnnxSets, OtherFormsAreWrittenFromTheSetThatCanSayThem) {
  std::string first;
  for (const SetCase& one : OtherForms()) {
    std::int64_t opset = kOldestWrittenOpset;
    while (opset <= kNewestOpset && Written(one.graph, opset).empty()) ++opset;
    first += one.label + " " + std::to_string(opset) + "\n";
  }
  EXPECT_EQ(first,
            "ResizeByScales 11\nResizeToSizes 11\nGemmWithoutC 7\nOneHotOnTheLastAxis 9\n"
            "SliceFromTheLastAxis 7\nScalesOfTheSecondAxis 13\nOneScaleInAList 10\n"
            "PowersOfAnotherType 12\n"
            "SumOfSeveralShapes 7\nSumOfOneShape 7\nSumOfOne 7\n"
            "MeanOfSeveralShapes 7\nMeanOfOneShape 7\nMeanOfOne 7\n"
            "MaxOfSeveralShapes 8\nMaxOfOneShape 7\nMaxOfOne 7\n"
            "MinOfSeveralShapes 8\nMinOfOneShape 7\nMinOfOne 7\n"
            "AxesOfARun 18\nEqualParts 7\nDropoutInInference 7\nScatterGreatest 18\n"
            "ScatterRowsLeast 18\nSamplesOfAVolume 20\nTransformOfAnAxisOfARun 20\n"
            "NarrowFloat 19\nNarrowInteger 21\nNarrowerFloat 23\nNarrowPower 24\n"
            "NarrowerInteger 25\nNarrowAndCast 21\n"
            "QuantizedConv 13\nConvOfHalves 7\nProductOfHalves 7\n"
            "BranchesOfOneSize 7\nLoopWithRows 7\nScanWithABranchInside 9\n");
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
