// What is exported as QDQ must be what we measured: ONNX Runtime and our target agree on it.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/peers/ort_session.h"
#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/codegen/onnx/export.h"
#include "compiler/compress/quantize/grid.h"
#include "compiler/import/onnx/import.h"
#include "compiler/passes/chain.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/calibrate.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/samples.h"
#include "compiler/targets/register.h"
#include "cost/samples/dataset.h"
#include "tests/support/exact_int8.h"

namespace msc {
namespace {

constexpr std::int64_t kBatch = 50;
constexpr std::int64_t kTestImages = 1000;
constexpr std::int64_t kCalibrationImages = 256;

std::string DataFile(const std::string& name) {
  return "/usr/share/datasets/fashion-mnist/" + name + "-ubyte.gz";
}

cost::Dataset Images(const std::string& part, std::int64_t count, const Graph& graph) {
  cost::DataConfig config;
  config.images = DataFile(part + "-images-idx3");
  config.labels = DataFile(part + "-labels-idx1");
  config.mean = {0.286};
  config.std = {0.353};
  config.count = count;
  return cost::LoadDataset(config, graph.type(graph.inputs()[0]).shape.value());
}

/// Everything in 8 bits that can be.
Strategy AllInt8(const Graph& graph, const TargetRegistry& targets,
                 const CalibrationOptions& options = {}) {
  const std::vector<Tensor> samples = {Images("train", kCalibrationImages, graph).inputs};
  const Calibrator calibrator = ObserveActivations(graph, TensorSamples(samples),
                                                   {.target = "onednn", .batch = kBatch}, targets);
  Strategy strategy;
  strategy.quantize.activations = calibrator.Scales(options);
  for (const QuantizableLayer& layer : FindQuantizableLayers(graph)) {
    const bool can = std::find(layer.allowed.begin(), layer.allowed.end(), Precision::kInt8) !=
                     layer.allowed.end();
    strategy.quantize.layers[layer.name] = can ? Precision::kInt8 : Precision::kF32;
  }
  return strategy;
}

struct Logits {
  std::vector<float> ours;
  std::vector<float> theirs;  ///< ONNX Runtime's
};

Logits Predict(const Graph& graph, const Strategy& strategy, const TargetRegistry& targets,
               const Tensor& images) {
  OrtSession session(ExportOnnxBytes(ApplyStrategy(graph, strategy)), 1);
  Result<Executable> compiled =
      Compile(graph, strategy, targets, {.threads = 1, .bindings = BatchBindings(graph, kBatch)});
  if (!compiled.ok()) throw UserError(compiled.failure().detail);
  Executable executable = std::move(compiled).value();
  Logits logits;
  const auto append = [](std::vector<float>& all, const Tensor& part) {
    const auto values = part.Values<float>();
    all.insert(all.end(), values.begin(), values.end());
  };
  for (std::int64_t first = 0; first < kTestImages; first += kBatch) {
    const std::vector<Tensor> inputs = {Rows(images, first, kBatch)};
    append(logits.ours, executable.Run(inputs).at(0));
    append(logits.theirs, session.Run(inputs).at(0));
  }
  return logits;
}

std::vector<std::int32_t> Classes(const std::vector<float>& logits) {
  constexpr std::ptrdiff_t kClasses = 10;
  std::vector<std::int32_t> classes;
  for (auto row = logits.begin(); row != logits.end(); row += kClasses) {
    classes.push_back(static_cast<std::int32_t>(std::max_element(row, row + kClasses) - row));
  }
  return classes;
}

/// In percent.
double Agreement(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  std::size_t equal = 0;
  for (std::size_t i = 0; i < a.size(); ++i) equal += a[i] == b.at(i) ? 1 : 0;
  return 100.0 * static_cast<double>(equal) / static_cast<double>(a.size());
}

class QdqAgreement : public testing::Test {
 protected:
  void SetUp() override {
    const std::string absence = OrtAbsence();
    if (!absence.empty()) GTEST_SKIP() << absence;
    if (!IsExactInInt8("onnxruntime")) {
      GTEST_SKIP() << "without VNNI, ONNX Runtime's 8-bit products are not exact";
    }
    if (!std::filesystem::exists(DataFile("t10k-images-idx3"))) {
      GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
    }
    RegisterAllTargets(targets_);
    graph_ = ImportOnnx("experiments/models/fashion_resnet.onnx");
    Canonicalize(graph_);
    test_ = Images("t10k", kTestImages, graph_);
  }
  TargetRegistry targets_;
  Graph graph_;
  cost::Dataset test_;
};

TEST_F(QdqAgreement, Int8DecidesAsOnnxRuntimeDoes) {
  const Logits logits = Predict(graph_, AllInt8(graph_, targets_), targets_, test_.inputs);
  const std::vector<std::int32_t> ours = Classes(logits.ours);
  const std::vector<std::int32_t> theirs = Classes(logits.theirs);
  ASSERT_EQ(ours.size(), test_.labels.size());
  EXPECT_GE(Agreement(ours, theirs), 99.0);
  EXPECT_NEAR(Agreement(ours, test_.labels), Agreement(theirs, test_.labels), 0.2 + 1e-9);
  // Two that are wrong together would agree as well.
  EXPECT_GE(Agreement(ours, test_.labels), 90.0);
  RecordProperty("agreement", std::to_string(Agreement(ours, theirs)));
}

TEST_F(QdqAgreement, Int8WithZeroPointsDecidesAsOnnxRuntimeDoes) {
  const Strategy strategy = AllInt8(graph_, targets_, {.method = "minmax", .affine = true});
  const auto& scales = strategy.quantize.activations;
  EXPECT_TRUE(std::any_of(scales.begin(), scales.end(), [](const auto& each) {
    return each.second.dtype == "u8" && each.second.zero_point > 0;
  }));
  const Logits logits = Predict(graph_, strategy, targets_, test_.inputs);
  const std::vector<std::int32_t> ours = Classes(logits.ours);
  EXPECT_GE(Agreement(ours, Classes(logits.theirs)), 99.0);
  EXPECT_GE(Agreement(ours, test_.labels), 90.0);
}

TEST_F(QdqAgreement, FewBitsAndZeroPointsOfWeightsDecideAsOnnxRuntimeDoes) {
  Strategy strategy = AllInt8(graph_, targets_, {.method = "mse", .affine = true, .bits = 5});
  for (const auto& [layer, precision] : strategy.quantize.layers) {
    // One zero point a layer: what int8 kernels may have.
    const Node& node = graph_.node(graph_.FindNode(layer));
    const Tensor& weights = *graph_.constant(node.inputs.at(1));
    const WeightStep step = AffineStep(weights.Values<float>(), 6);
    const std::size_t channels = WeightScales(weights, ChannelAxis(node)).size();
    strategy.quantize.weights[layer] = {
        .bits = 6,
        .scales = std::vector<double>(channels, static_cast<double>(step.scale)),
        .zero_points = std::vector<std::int64_t>(channels, ZeroPointOf(step, 6))};
  }
  const Logits logits = Predict(graph_, strategy, targets_, test_.inputs);
  const std::vector<std::int32_t> ours = Classes(logits.ours);
  EXPECT_GE(Agreement(ours, Classes(logits.theirs)), 98.5);
  EXPECT_GE(Agreement(ours, test_.labels), 85.0);
}

TEST_F(QdqAgreement, F32GivesTheNumbersOfOnnxRuntime) {
  const Logits logits = Predict(graph_, Strategy{}, targets_, test_.inputs);
  ASSERT_EQ(logits.ours.size(), logits.theirs.size());
  const auto [least, most] = std::minmax_element(logits.theirs.begin(), logits.theirs.end());
  double error = 0;
  for (std::size_t i = 0; i < logits.ours.size(); ++i) {
    error = std::max(error, std::abs(static_cast<double>(logits.ours[i] - logits.theirs[i])));
  }
  EXPECT_LE(error, 1e-4 * static_cast<double>(*most - *least));
}

}  // namespace
}  // namespace msc
