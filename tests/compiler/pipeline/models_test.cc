// Whole networks in the form that targets which take every fused operator are given: what was
// recognised, and the same numbers as ONNX Runtime.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "benchmarks/peers/ort_session.h"
#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/shapes.h"

namespace msc {
namespace {

struct Network {
  std::string name;
  std::string shape;  ///< as in SetInputShapes
  Dims input;
  std::map<std::string, std::int64_t>
      nodes;  ///< some operators, and how many there are after fusion
};

void PrintTo(const Network& network, std::ostream* out) {
  *out << network.name;
}

std::string PathOf(const std::string& name) {
  const char* folder = std::getenv("MSC_MODELS_DIR");
  return std::string(folder != nullptr ? folder : "third_party/models") + "/" + name + ".onnx";
}

Tensor RandomInput(const Dims& dims) {
  Tensor tensor(DType::kF32, dims);
  Rng rng(5);
  for (float& value : tensor.MutableValues<float>()) value = static_cast<float>(rng.Normal());
  return tensor;
}

/// Largest difference, relative to the range of the expected values.
double RelativeError(const Tensor& found, const Tensor& expected) {
  const auto a = found.Values<float>();
  const auto b = expected.Values<float>();
  const auto [least, most] = std::minmax_element(b.begin(), b.end());
  double error = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    error = std::max(error, static_cast<double>(std::abs(a[i] - b[i])));
  }
  return error / std::max(1e-30, static_cast<double>(*most) - static_cast<double>(*least));
}

class FusedNetwork : public testing::TestWithParam<Network> {};

TEST_P(FusedNetwork, IsRecognisedAndGivesTheNumbersOfOnnxRuntime) {
  const std::string path = PathOf(GetParam().name);
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "no model " << path << ": see scripts/setup and scripts/export_torchvision.py";
  }
  Graph graph = ImportOnnx(path);
  const std::vector<std::string> shapes = {GetParam().shape};
  SetInputShapes(graph, shapes);
  Canonicalize(graph);
  FuseOps(graph);
  GraphCounts counts = CountContents(graph);
  for (const auto& [op, count] : GetParam().nodes) EXPECT_EQ(counts.nodes[op], count) << op;
  for (const NodeId id : graph.order()) {
    for (const ValueId made : graph.node(id).outputs) {
      EXPECT_TRUE(made == kNoValue || StaticDims(*graph.type(made).shape))
          << graph.node(id).name << " has an open shape";
    }
  }
  if (const std::string absence = OrtAbsence(); !absence.empty()) GTEST_SKIP() << absence;
  const std::vector<Tensor> inputs = {RandomInput(GetParam().input)};
  const auto expected = OrtSession::FromFile(path, 1).Run(inputs);
  const auto found = Interpret(graph, inputs);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].dims(), expected[i].dims());
    EXPECT_LE(RelativeError(found[i], expected[i]), 1e-4) << "output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, FusedNetwork,
    testing::Values(
        Network{"vit_b_16",
                "1x3x224x224",
                {1, 3, 224, 224},
                {{"LayerNormalization", 25},
                 {"msc.Attention", 12},
                 {"msc.Conv", 1},
                 {"msc.Gemm", 49},
                 {"Shape", 0},
                 {"Erf", 0}}},
        Network{"encoder",
                "tokens=1x128x768",
                {1, 128, 768},
                {{"LayerNormalization", 24},
                 {"msc.Attention", 12},
                 {"msc.Gemm", 48},
                 {"Shape", 0},
                 {"Erf", 0},
                 {"Transpose", 0}}},
        Network{"ppocr_det",
                "x=1x3x160x192",
                {1, 3, 160, 192},
                {{"msc.Conv", 62}, {"ConvTranspose", 2}, {"Resize", 6}, {"Clip", 0}, {"Div", 0}}},
        Network{"ppocr_rec",
                "x=1x3x48x320",
                {1, 3, 48, 320},
                {{"LayerNormalization", 5},
                 {"msc.Attention", 2},
                 {"msc.Conv", 38},
                 {"msc.Gemm", 9},
                 {"Shape", 0},
                 {"Clip", 0},
                 {"Div", 0}}},
        Network{"mobilenet_v3_small",
                "image=1x3x224x224",
                {1, 3, 224, 224},
                {{"GlobalAveragePool", 10},
                 {"msc.Conv", 52},
                 {"msc.Gemm", 2},
                 {"HardSwish", 0},
                 {"HardSigmoid", 0}}},
        Network{"shufflenet_v2_x1_0",
                "image=2x3x224x224",
                {2, 3, 224, 224},
                {{"GlobalAveragePool", 1},
                 {"msc.Conv", 56},
                 {"Shape", 0},
                 {"Reshape", 32},
                 {"Transpose", 16}}},
        Network{"fr_pose",
                "1x3x224x224",
                {1, 3, 224, 224},
                {{"GlobalAveragePool", 1}, {"msc.Conv", 56}, {"msc.Gemm", 3}, {"ReduceMean", 0}}},
        Network{"fr_detect",
                "1x3x240x320",
                {1, 3, 240, 320},
                {{"msc.Conv", 52}, {"Shape", 0}, {"Gather", 0}}},
        Network{"fr_expression",
                "1x3x224x224",
                {1, 3, 224, 224},
                {{"msc.Conv", 120}, {"BatchNormalization", 62}, {"msc.Gemm", 1}, {"Pad", 0}}}),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace msc
