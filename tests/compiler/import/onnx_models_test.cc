// Whole networks: structure, and the same numbers as ONNX Runtime through the reference kernels.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/peers/ort_session.h"
#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

struct Network {
  std::string name;
  Dims input;
  std::int64_t nodes;  ///< as imported
  std::int64_t convolutions;
  std::int64_t parameters;  ///< constants of all kinds
};

void PrintTo(const Network& network, std::ostream* out) {
  *out << network.name;
}

std::string PathOf(const Network& network) {
  if (network.name == "fashion_resnet") return "experiments/models/fashion_resnet.onnx";
  const char* folder = std::getenv("MSC_MODELS_DIR");
  return std::string(folder != nullptr ? folder : "third_party/models") + "/" + network.name +
         ".onnx";
}

Tensor RandomImage(const Dims& dims) {
  Tensor tensor(DType::kF32, dims);
  Rng rng(3);
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

class OnnxNetwork : public testing::TestWithParam<Network> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(PathOf(GetParam()))) {
      GTEST_SKIP() << "no model " << PathOf(GetParam())
                   << ": see scripts/setup and scripts/export_torchvision.py";
    }
  }
};

TEST_P(OnnxNetwork, HasTheNodesAndWeightsOfItsArchitecture) {
  GraphCounts counts = CountContents(ImportOnnx(PathOf(GetParam())));
  EXPECT_EQ(counts.total_nodes, GetParam().nodes);
  EXPECT_EQ(counts.nodes["Conv"], GetParam().convolutions);
  EXPECT_EQ(counts.parameters, GetParam().parameters);
}

TEST_P(OnnxNetwork, GivesTheNumbersOfOnnxRuntime) {
  if (const std::string absence = OrtAbsence(); !absence.empty()) GTEST_SKIP() << absence;
  const std::vector<Tensor> inputs = {RandomImage(GetParam().input)};
  const auto expected = OrtSession::FromFile(PathOf(GetParam()), 1).Run(inputs);
  Graph graph = ImportOnnx(PathOf(GetParam()));
  const auto found = Interpret(graph, inputs);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].dims(), expected[i].dims());
    EXPECT_LE(RelativeError(found[i], expected[i]), 1e-4) << "output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, OnnxNetwork,
    testing::Values(Network{"fashion_resnet", {2, 1, 28, 28}, 44, 13, 736778},
                    Network{"fr_feature", {1, 3, 112, 112}, 96, 50, 1190338},
                    Network{"resnet18", {1, 3, 224, 224}, 69, 20, 11699112},
                    Network{"resnet50", {1, 3, 224, 224}, 175, 53, 25610152},
                    Network{"mobilenet_v2", {1, 3, 224, 224}, 152, 52, 3539054},
                    Network{"efficientnet_b0", {1, 3, 224, 224}, 306, 81, 5324164},
                    Network{"vit_b_16", {2, 3, 224, 224}, 1270, 1, 86495927},
                    Network{"encoder", {2, 128, 768}, 1152, 0, 85054908},
                    Network{"densenet121", {1, 3, 224, 224}, 434, 120, 8062528},
                    Network{"mobilenet_v3_small", {1, 3, 224, 224}, 161, 52, 2553800},
                    Network{"shufflenet_v2_x1_0", {1, 3, 224, 224}, 672, 56, 2295088},
                    Network{"squeezenet1_1", {1, 3, 224, 224}, 83, 26, 1233288},
                    Network{"fr_expression", {1, 3, 224, 224}, 375, 120, 7022239},
                    Network{"fr_pose", {1, 3, 224, 224}, 175, 56, 1448634},
                    Network{"fr_detect", {1, 3, 240, 320}, 161, 52, 300463},
                    Network{"ppocr_det", {1, 3, 224, 320}, 330, 62, 1171841},
                    Network{"ppocr_rec", {1, 3, 48, 320}, 440, 38, 2690405},
                    Network{"ppocr_cls", {1, 3, 48, 192}, 221, 53, 133704}),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace msc
