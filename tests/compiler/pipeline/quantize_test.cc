#include "compiler/pipeline/quantize.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/compress/quantize/rescale.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/passes/rewrite.h"
#include "compiler/pipeline/artefact.h"
#include "compiler/pipeline/calibrate.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/pairs.h"
#include "compiler/pipeline/samples.h"
#include "tests/support/counting_samples.h"
#include "tests/support/exact_int8.h"
#include "tests/support/pipeline.h"

namespace msc {
namespace {

// A residual sum, a depthwise layer, a MatMul with its bias apart, one without any.
constexpr const char* kNet = R"(graph net {
  input %x : f32[n,4,6,6]
  const %w1 : f32[8,4,3,3] = random 1
  const %b1 : f32[8] = random 2
  const %w2 : f32[8,8,3,3] = random 3
  const %b2 : f32[8] = random 4
  const %w3 : f32[8,1,3,3] = random 5
  const %b3 : f32[8] = random 6
  const %w4 : f32[8,6] = random 7
  const %b4 : f32[6] = random 8
  const %w5 : f32[6,3] = random 9
  %c1 = Conv(%x, %w1, %b1) @conv1 {pads = [1, 1, 1, 1]}
  %r1 = Relu(%c1) @relu1
  %c2 = Conv(%r1, %w2, %b2) @conv2 {pads = [1, 1, 1, 1]}
  %s = Add(%c2, %r1) @sum
  %r2 = Relu(%s) @relu2
  %c3 = Conv(%r2, %w3, %b3) @depth {group = 8, pads = [1, 1, 1, 1]}
  %r3 = Relu(%c3) @relu3
  %p = GlobalAveragePool(%r3) @pool
  %f = Flatten(%p) @flat
  %m0 = MatMul(%f, %w4) @fc1
  %m1 = Add(%m0, %b4) @fc1_bias
  %m2 = Relu(%m1) @act
  %y = MatMul(%m2, %w5) @fc2
  output %y
})";

class Quantize : public testing::Test {
 protected:
  Quantize()
      : graph_(ParseGraph(kNet)),
        samples_({RandomTensor({96, 4, 6, 6}, 7)}),
        test_({RandomTensor({64, 4, 6, 6}, 8)}),
        targets_(Targets()) {
    InferTypes(graph_);
  }

  [[nodiscard]] QuantizedModel Run(const QuantizeOptions& options) const {
    return QuantizeModel(graph_, Base(), TensorSamples(samples_), options, kRun, targets_);
  }
  [[nodiscard]] static Strategy Base() {
    Strategy base;
    base.target = "reference";
    return base;
  }
  [[nodiscard]] Executable Built(const Strategy& strategy) const {
    Result<Executable> built =
        Compile(graph_, strategy, targets_, {.threads = 1, .bindings = {{"n", 64}}});
    EXPECT_TRUE(built.ok()) << (built.ok() ? "" : built.failure().detail);
    return std::move(built).value();
  }
  [[nodiscard]] Tensor Output(const Strategy& strategy) const {
    return std::move(Built(strategy).Run(test_)[0]);
  }
  /// Mean square of what the strategy loses, as a share of the mean square of the f32 outputs.
  [[nodiscard]] double Lost(const Strategy& strategy) const {
    const Tensor wanted = Output(Base());
    const Tensor got = Output(strategy);
    double sum = 0;
    double whole = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got.size()); ++i) {
      const double want = wanted.Values<float>()[i];
      sum += (got.Values<float>()[i] - want) * (got.Values<float>()[i] - want);
      whole += want * want;
    }
    return sum / whole;
  }

  static inline const CalibrationRun kRun{.target = "reference", .threads = 1, .batch = 16};
  Graph graph_;
  std::vector<Tensor> samples_;
  std::vector<Tensor> test_;
  TargetRegistry targets_;
};

QuantizeOptions FourBits() {
  QuantizeOptions options;
  options.bits = 4;
  options.scales.method = "mse";
  options.positions = 12;
  return options;
}

TEST_F(Quantize, WithoutOptionsIsThePlanOfTheSearch) {
  const QuantizedModel model = Run({});
  EXPECT_TRUE(model.strategy.quantize.weights.empty());
  EXPECT_EQ(model.strategy.fit, FitPlan{});
  EXPECT_EQ(model.strategy.quantize.activations.size(), 8U);
  EXPECT_EQ(ToJson(model.strategy).find("weights"), std::string::npos);
  EXPECT_LT(Lost(model.strategy), 1e-3);
  ASSERT_EQ(model.layers.size(), 5U);
  for (const QuantizedLayer& layer : model.layers) {
    EXPECT_EQ(layer.precision, Precision::kInt8);
    EXPECT_EQ(layer.bits, 8);
    EXPECT_FALSE(layer.error_before);
    ASSERT_TRUE(layer.pairs) << layer.name;
    EXPECT_EQ(layer.pairs->can_saturate > 0, layer.name != "depth") << layer.name;
  }
  const Executable built = Built(model.strategy);
  // The reference kernels compute what the integers stand for.
  EXPECT_EQ(AchievedPrecision(built, "reference", "conv2"), "f32");
  EXPECT_EQ(AchievedPrecision(built, "onednn", "conv2"), "f32 on reference");
  EXPECT_EQ(AchievedPrecision(built, "reference", "no"), "");
}

TEST(Pairs, SaysWhatTheWorstLayerLoses) {
  EXPECT_FALSE(FindWorstPairs({{"a", {0.5, 0}}}));
  const auto worst = FindWorstPairs({{"a", {0.5, 0.001}}, {"b", {0.1, 0.0234}}, {"c", {0.9, 0}}});
  ASSERT_TRUE(worst);
  EXPECT_EQ(PairsText(*worst, false),
            "warning: kernels that add 8-bit products in 16 bits, as libraries do on CPUs without "
            "VNNI, would be wrong in up to 2.34 % of a layer's outputs ('b'); weights of 7 bits "
            "rule that out, and with AVX2 native is faster with them");
  EXPECT_EQ(PairsText(*worst, true),
            "note: kernels that add 8-bit products in 16 bits, as libraries do on CPUs without "
            "VNNI, would be wrong in up to 2.34 % of a layer's outputs ('b'); weights of 7 bits "
            "rule that out. This CPU has VNNI");
}

TEST_F(Quantize, KnowsWhichPrecisionsATargetLacks) {
  const std::vector<QuantizableLayer> layers = FindQuantizableLayers(graph_);
  const auto scales =
      ObserveActivations(graph_, TensorSamples(samples_), kRun, targets_).Scales({});
  EXPECT_TRUE(FindUnsupportedPrecisions(graph_, scales, "reference", targets_).empty());
  for (const char* target : {"onednn", "xnnpack", "blas"}) {
    if (targets_.Find(target) == nullptr) continue;
    const auto unsupported = FindUnsupportedPrecisions(graph_, scales, target, targets_);
    for (const Precision precision : {Precision::kBF16, Precision::kInt8}) {
      Strategy all;
      all.target = target;
      for (const auto& layer : layers) all.quantize.layers[layer.name] = precision;
      all.quantize.activations = ScalesNeeded(layers, all.quantize.layers, scales);
      const Executable built = Built(all);
      for (const auto& layer : layers) {
        const auto it = unsupported.find(layer.name);
        const bool lacks =
            it != unsupported.end() &&
            std::find(it->second.begin(), it->second.end(), precision) != it->second.end();
        const std::string achieved = AchievedPrecision(built, target, layer.name);
        EXPECT_EQ(achieved != Name(precision), lacks) << target << " " << layer.name << achieved;
      }
    }
  }
}

TEST_F(Quantize, LosesLessTheMoreItIsAllowedToDo) {
  QuantizeOptions options = FourBits();
  const double nearest = Lost(Run(options).strategy);
  options.grid = "mse";
  options.rounding = "gptq";
  options.correct_bias = true;
  const double gptq = Lost(Run(options).strategy);
  options.rounding = "descent";
  options.reconstruct = true;
  const QuantizedModel best = Run(options);
  EXPECT_LT(gptq, 0.9 * nearest);
  EXPECT_LT(Lost(best.strategy), 0.75 * nearest);
  for (const QuantizedLayer& layer : best.layers) {
    ASSERT_TRUE(layer.error_before && layer.error_after) << layer.name;
    EXPECT_LE(*layer.error_after, *layer.error_before) << layer.name;
  }
  // Seven bits and fewer cannot overflow 16-bit sums of pairs.
  for (const QuantizedLayer& layer : best.layers) EXPECT_EQ(layer.pairs->can_saturate, 0);
  // What runs are 8-bit integers on the 4-bit grid.
  const Graph applied = ApplyStrategy(graph_, best.strategy);
  for (const QuantizedLayer& layer : best.layers) {
    const Node& node = applied.node(applied.FindNode(layer.name));
    const NodeId widening = applied.producer(node.inputs[1]);
    ASSERT_NE(widening, kNoNode) << layer.name;
    for (const std::int8_t level :
         applied.constant(applied.node(widening).inputs[0])->Values<std::int8_t>()) {
      ASSERT_LE(std::abs(level), 7) << layer.name;
    }
  }
}

TEST_F(Quantize, TakesMeanErrorsOutByTheBias) {
  QuantizeOptions options = FourBits();
  options.positions = 36;
  options.activations = Precision::kF32;  // else the bias is an integer too, and half a step off
  // The layer's own output, in front of Relu, over the samples it was corrected on.
  const auto mean_error = [&](bool correct) {
    options.correct_bias = correct;
    options.layers = {{"conv2", Precision::kF32},
                      {"depth", Precision::kF32},
                      {"fc1", Precision::kF32},
                      {"fc2", Precision::kF32}};
    const Strategy strategy = Run(options).strategy;
    Graph wanted = graph_;
    Graph got = ApplyStrategy(graph_, strategy);
    std::vector<double> sums(8, 0.0);
    for (Graph* graph : {&wanted, &got}) {
      graph->SetOutputs({graph->FindValue("c1")});
      InferTypes(*graph, {{"n", 96}});
      const Tensor c1 = std::move(Interpret(*graph, samples_)[0]);
      for (std::size_t i = 0; i < static_cast<std::size_t>(c1.size()); ++i) {
        sums[i / 36 % 8] += (graph == &got ? 1 : -1) * c1.Values<float>()[i] / (96.0 * 36);
      }
    }
    double most = 0;
    for (const double sum : sums) most = std::max(most, std::abs(sum));
    return most;
  };
  EXPECT_LT(mean_error(true), 0.01 * mean_error(false));
}

TEST_F(Quantize, ChangesNoF32OutputByEqualizingAndSmoothing) {
  QuantizeOptions options = FourBits();
  options.equalize = true;
  options.smooth = true;
  const QuantizedModel model = Run(options);
  EXPECT_FALSE(model.strategy.fit.values->weights.empty());
  ASSERT_FALSE(model.smoothed.empty());
  for (const SmoothedValue& value : model.smoothed) {
    EXPECT_EQ(value.alpha.has_value(), value.error_after < value.error_before) << value.value;
  }
  Strategy f32 = model.strategy;
  f32.quantize = {};
  EXPECT_EQ(Output(f32), Output(Base()));
}

TEST_F(Quantize, SmoothsWhatALayerNormMakesUneven) {
  // One channel of the norm is a hundred times the others, as transformers have it.
  graph_ = ParseGraph(R"(graph net {
    input %x : f32[n,4,16]
    const %g : f32[16] = [1, 1, 1, 100, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    const %w : f32[16,8] = random 2
    const %b : f32[8] = random 3
    %l = LayerNormalization(%x, %g) @norm
    %m = MatMul(%l, %w) @fc
    %y = Add(%m, %b)
    output %y
  })");
  const ValueId w = graph_.FindValue("w");
  Tensor weights = *graph_.constant(w);
  for (std::size_t i = 3 * 8; i < 4 * 8; ++i) weights.MutableValues<float>()[i] *= 0.01F;
  graph_.SetConstant(w, std::make_shared<const Tensor>(std::move(weights)));
  InferTypes(graph_);
  samples_ = {RandomTensor({64, 4, 16}, 1)};
  test_ = {RandomTensor({64, 4, 16}, 2)};
  const double plain = Lost(Run({}).strategy);
  QuantizeOptions options;
  options.smooth = true;
  const QuantizedModel smoothed = Run(options);
  ASSERT_EQ(smoothed.smoothed.size(), 1U);
  EXPECT_EQ(smoothed.smoothed[0].value, "l");
  EXPECT_TRUE(smoothed.smoothed[0].alpha);
  EXPECT_LT(Lost(smoothed.strategy), 0.05 * plain);
}

TEST_F(Quantize, QuantizesWeightsAlone) {
  QuantizeOptions options = FourBits();
  options.activations = Precision::kF32;
  options.rounding = "descent";
  options.grid = "mse";
  options.correct_bias = true;
  options.layer_bits = {{"fc2", 8}};
  const QuantizedModel model = Run(options);
  const Strategy& best = model.strategy;
  double before = 0;
  double after = 0;
  for (const QuantizedLayer& layer : model.layers) {
    before += layer.error_before.value();
    after += layer.error_after.value();
    EXPECT_FALSE(layer.pairs) << layer.name;
  }
  EXPECT_LT(after, 0.85 * before);
  EXPECT_LT(Lost(best), 0.02);
  EXPECT_TRUE(best.quantize.activations.empty());
  EXPECT_EQ(best.quantize.weights.at("fc2").bits, 8);
  EXPECT_EQ(best.quantize.weights.at("fc1").bits, 4);
  const Executable built = Built(best);
  for (const auto& [layer, grid] : best.quantize.weights) {
    EXPECT_EQ(AchievedPrecision(built, "reference", layer), "f32") << layer;
  }
}

TEST_F(Quantize, GivesALayerOneScale) {
  QuantizeOptions options = FourBits();
  const double by_channel = Lost(Run(options).strategy);
  options.per = "tensor";
  for (const bool fitted : {false, true}) {
    options.correct_bias = fitted;
    const Strategy strategy = Run(options).strategy;
    EXPECT_GT(Lost(strategy), by_channel);
    ASSERT_EQ(strategy.quantize.weights.size(), 5U);
    for (const auto& [layer, grid] : strategy.quantize.weights) {
      for (const double scale : grid.scales) EXPECT_EQ(scale, grid.scales[0]) << layer;
    }
  }
  options.grid = "mse";
  EXPECT_THROW((void)Run(options), UserError);
}

TEST_F(Quantize, IsReplayedFromFilesAndStartsFromWhatThereIs) {
  QuantizeOptions options = FourBits();
  options.rounding = "descent";
  options.reconstruct = true;
  Strategy base = Base();
  base.prune = {{{"conv1", {.units = 8, .keep = {0, 2, 3, 4, 5, 7}}}}};
  const QuantizedModel model =
      QuantizeModel(graph_, base, TensorSamples(samples_), options, kRun, targets_);
  EXPECT_EQ(model.strategy.prune, base.prune);
  const QuantizedModel again =
      QuantizeModel(graph_, base, TensorSamples(samples_), options, kRun, targets_);
  EXPECT_EQ(again.strategy, model.strategy);
  EXPECT_EQ(again.strategy.fit.values->weights, model.strategy.fit.values->weights);
  const std::string folder = testing::TempDir() + "pipeline_quantize";
  std::filesystem::remove_all(folder);
  MakeFolders(folder);
  SaveStrategy(model.strategy, folder + "/strategy.json");
  const Strategy read = LoadStrategy(folder + "/strategy.json");
  EXPECT_EQ(read, model.strategy);
  EXPECT_EQ(Output(read), Output(model.strategy));
  const ArtefactManifest manifest = WriteArtefact(folder + "/artefact", graph_, read, targets_, {});
  EXPECT_EQ(manifest.precisions.at("conv2"), "f32");
  EXPECT_EQ(manifest.precisions.size(), 5U);
  // From there, with other options: the fitted weights are the start.
  const QuantizedModel further =
      QuantizeModel(graph_, read, TensorSamples(samples_), {}, kRun, targets_);
  EXPECT_FALSE(further.strategy.fit.values->weights.empty());
}

TEST_F(Quantize, QuantizesInSeveralWaysAfterObservingOnce) {
  QuantizeOptions options;
  options.equalize = true;
  const Strategy base = Base();
  const TensorSamples samples(samples_);
  const Quantizer quantizer(graph_, base, samples, options, kRun, targets_);
  std::set<double> scales;
  for (const std::string method : {"minmax", "percentile", "mse"}) {
    options.scales.method = method;
    const Strategy plan = quantizer.Plan(options);
    EXPECT_EQ(plan, Run(options).strategy) << method;
    EXPECT_EQ(plan, quantizer.Quantize(options).strategy) << method;
    scales.insert(plan.quantize.activations.at("x").scale);
  }
  EXPECT_GE(scales.size(), 2U);
  options.rounding = "gptq";
  const QuantizedModel fitted = quantizer.Quantize(options);
  EXPECT_EQ(fitted.strategy, Run(options).strategy);
  EXPECT_TRUE(fitted.layers.at(0).error_after);
  options.equalize = false;
  EXPECT_THROW((void)quantizer.Plan(options), InternalError);
}

TEST_F(Quantize, RefusesWhatDoesNotFit) {
  const auto refusal = [&](const std::vector<Tensor>& samples, const QuantizeOptions& options) {
    return Refusal([&] {
      (void)QuantizeModel(graph_, Base(), TensorSamples(samples), options, kRun, targets_);
    });
  };
  std::vector<Tensor> bad = samples_;
  bad[0].MutableValues<float>()[5 * 144 + 3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(refusal(bad, {}), "calibration sample 5 of input 'x' holds a value that is not finite");
  EXPECT_NE(refusal({RandomTensor({8, 4, 6, 5}, 1)}, {}).find("[8,4,6,5]"), std::string::npos)
      << refusal({RandomTensor({8, 4, 6, 5}, 1)}, {});
  EXPECT_EQ(refusal({}, {}), "the model has 1 inputs but calibration data has 0");
  QuantizeOptions options;
  options.layers = {{"conv9", Precision::kF32}};
  EXPECT_EQ(refusal(samples_, options), "the model has no layer 'conv9' to quantize");
  options.layers = {};
  options.layer_bits = {{"conv1", 1}};
  EXPECT_EQ(refusal(samples_, options), "weights have 2 to 8 bits, not 1");
  Strategy other = Base();
  other.model_hash = std::string(64, '0');
  EXPECT_NE(Refusal([&] {
              (void)QuantizeModel(graph_, other, TensorSamples(samples_), {}, kRun, targets_);
            }).find("made for another model"),
            std::string::npos);
  EXPECT_EQ(
      Refusal([] {
        (void)StrategyFromJson(R"({"quantize":{"weights":{"a":{"bits":4,"scales":[0.1]}}}})", "it");
      }),
      "it: quantize.weights.a.scales must be positive numbers that 32-bit floats hold exactly");
}

TEST_F(Quantize, GivesWeightsZeroPoints) {
  // Weights that are all on one side of 0.
  for (const char* layer : {"conv1", "conv2", "depth", "fc1", "fc2"}) {
    const NodeId id = graph_.FindNode(layer);
    Tensor weights = *graph_.constant(graph_.node(id).inputs.at(1));
    for (float& weight : weights.MutableValues<float>()) weight *= weight;
    ReplaceConstant(graph_, id, 1, std::move(weights));
  }
  QuantizeOptions options;
  options.activations = Precision::kF32;
  options.bits = 4;
  const double symmetric = Lost(Run(options).strategy);
  options.affine_weights = true;
  for (const char* rounding : {"nearest", "descent"}) {
    options.rounding = rounding;
    const Strategy strategy = Run(options).strategy;
    const WeightGrid& grid = strategy.quantize.weights.at("conv2");
    EXPECT_EQ(grid.zero_points.size(), 8U);
    EXPECT_LT(Lost(strategy), 0.6 * symmetric) << rounding;
    EXPECT_EQ(StrategyFromJson(ToJson(strategy), "it").quantize, strategy.quantize);
  }
  options = {};
  options.affine_weights = true;
  EXPECT_EQ(Refusal([&] { (void)Run(options); }),
            "weights of int8 layers have one zero point a layer ('per' tensor); one a channel is "
            "for layers whose weights alone are quantized ('activations' f32)");
  // Our kernels multiply symmetric weights alone: others are widened, and that is what is said.
  options.per = "tensor";
  Strategy strategy = Run(options).strategy;
  EXPECT_LT(Lost(strategy), 1e-2);
  for (const char* target : {"reference", "native", "onednn"}) {
    if (targets_.Find(target) == nullptr) continue;
    strategy.target = target;
    EXPECT_EQ(AchievedPrecision(Built(strategy), target, "conv2"), "f32") << target;
  }
  if (targets_.Find("onnxruntime") == nullptr) return;
  // One zero point a layer is what its kernels for integers take.
  const Tensor wanted = Interpret(ApplyStrategy(graph_, strategy), test_)[0];
  strategy.target = "onnxruntime";
  const Executable built = Built(strategy);
  EXPECT_EQ(AchievedPrecision(built, "onnxruntime", "conv1"), "int8");
  if (!IsExactInInt8("onnxruntime")) return;
  EXPECT_LT(Error(built.Run(test_)[0], wanted), 2e-2);
}

TEST_F(Quantize, CutsActivationsToFewerBits) {
  QuantizeOptions options;
  double before = 0;
  for (const std::int64_t bits : {8, 6, 4, 2}) {
    for (const bool affine : {false, true}) {
      options.scales = {.method = "minmax", .affine = affine, .bits = bits};
      const Strategy strategy = Run(options).strategy;
      const Graph graph = ApplyStrategy(graph_, strategy);
      const std::vector<std::string> names = {"r1_dequantized", "x_dequantized"};
      const std::vector<Tensor> outputs = Interpret(WithOutputs(graph, names), samples_);
      for (std::size_t i = 1; i < outputs.size(); ++i) {
        const auto values = outputs[i].Values<float>();
        const std::set<float> distinct(values.begin(), values.end());
        EXPECT_LE(distinct.size(), std::size_t{1} << static_cast<unsigned>(bits));
        EXPECT_GE(distinct.size(), std::size_t{1} << static_cast<unsigned>(bits - 1));
      }
      if (affine) continue;
      const double lost = Lost(strategy);
      EXPECT_GT(lost, 2 * before) << bits;
      before = lost;
    }
  }
}

TEST_F(Quantize, GivesGroupsOfInputsScalesOfTheirOwn) {
  QuantizeOptions options;
  options.activations = Precision::kF32;
  options.bits = 3;
  const QuantizedModel whole = Run(options);
  options.group = 4;
  for (const char* rounding : {"nearest", "descent"}) {
    options.rounding = rounding;
    options.grid = std::string(rounding) == "descent" ? "mse" : "max";
    const QuantizedModel grouped = Run(options);
    const auto& grids = grouped.strategy.quantize.weights;
    // conv2 has 72 inputs a channel, fc1 8; depth 9 and fc2 6, which four does not divide.
    EXPECT_EQ(grids.at("conv2").group, 4);
    EXPECT_EQ(grids.at("conv2").scales.size(), 8U * 18);
    EXPECT_EQ(grids.at("fc1").scales.size(), 6U * 2);
    EXPECT_EQ(grids.at("fc2").group, 0);
    EXPECT_EQ(grids.at("depth").scales.size(), 8U);
    // What the reference kernels make of the Q/DQ graph is what the targets run, in f32.
    const Graph applied = ApplyStrategy(graph_, grouped.strategy);
    std::size_t turned = 0;
    for (const NodeId id : applied.order()) turned += applied.node(id).Is("Transpose") ? 1 : 0;
    EXPECT_EQ(turned, 1U);  // fc1's channels are the last axis
    const Tensor wanted = Interpret(applied, test_)[0];
    for (const char* target : {"reference", "onednn"}) {
      if (targets_.Find(target) == nullptr) continue;
      Strategy strategy = grouped.strategy;
      strategy.target = target;
      Executable built = Built(strategy);
      EXPECT_LT(Error(built.Run(test_)[0], wanted), 1e-5) << target;
      EXPECT_EQ(AchievedPrecision(built, target, "fc1"), "f32") << target;
      for (const Step& step : built.steps()) {
        for (const std::string& name : step.nodes) {
          EXPECT_FALSE(name.ends_with("_rows") || name.ends_with("_turned"))
              << "widened while running: " << name;
        }
      }
    }
    if (options.rounding == "descent") {  // the weights are there, each a level times its scale
      const auto& scales = grids.at("fc1").scales;
      Strategy plain = grouped.strategy;
      plain.quantize = {};
      const Graph f32 = ApplyStrategy(graph_, plain);
      const TensorPtr rounded = f32.constant(f32.node(f32.FindNode("fc1")).inputs.at(1));
      for (std::size_t i = 0; i < 48; ++i) {  // [8, 6]
        const double level = rounded->Values<float>()[i] / scales[i % 6 * 2 + i / 24];
        EXPECT_NEAR(level, std::nearbyint(level), 1e-5);
        EXPECT_LE(std::abs(level), 3.001);
      }
    }
    const Tensor f32_outputs = Interpret(graph_, test_)[0];
    EXPECT_LT(Error(wanted, f32_outputs),
              Error(Interpret(ApplyStrategy(graph_, whole.strategy), test_)[0], f32_outputs));
    EXPECT_EQ(StrategyFromJson(ToJson(grouped.strategy), "it").quantize, grouped.strategy.quantize);
  }
  EXPECT_EQ(ToJson(whole.strategy).find("group\""), std::string::npos);
  const auto applied = [&](const std::function<void(QuantizePlan&)>& change) {
    QuantizePlan plan = Run(options).strategy.quantize;
    change(plan);
    Graph graph = graph_;
    return Refusal([&] { ApplyQuantizePlan(plan, graph); });
  };
  EXPECT_EQ(applied([](QuantizePlan& plan) { plan.weights.at("fc1").group = 3; }),
            "quantize plan: the weight grid of layer 'fc1' has groups of 3 for 8 inputs a channel");
  EXPECT_EQ(
      applied([](QuantizePlan& plan) { plan.weights.at("fc1").group = 2; }),
      "quantize plan: the weight grid of layer 'fc1' has 12 scales for 6 output channels of 4 "
      "groups");
  EXPECT_EQ(
      applied([](QuantizePlan& plan) { plan.layers.at("fc1") = Precision::kInt8; }),
      "quantize plan: layer 'fc1' is int8, whose weights have one scale a channel, not groups");
  options.activations = Precision::kInt8;
  EXPECT_EQ(Refusal([&] { (void)Run(options); }),
            "groups of 4 inputs are for layers whose weights alone are quantized ('activations' "
            "f32)");
}

TEST_F(Quantize, TakesAsMuchMemoryForManySamplesAsForFew) {
  QuantizeOptions plain;
  plain.smooth = true;
  QuantizeOptions fitted;
  fitted.rounding = "gptq";
  fitted.reconstruct = true;
  fitted.bits = 4;
  CalibrationRun run = kRun;
  run.calls = 1;
  run.cached_bytes = 0;
  for (const QuantizeOptions& options : {plain, fitted}) {
    const CountingSamples first(48, {4, 6, 6});
    const CountingSamples few(48, {4, 6, 6});
    const CountingSamples many(768, {4, 6, 6});
    for (const CountingSamples* samples : {&first, &few, &many}) {  // the first run fills caches
      (void)QuantizeModel(graph_, Base(), *samples, options, run, targets_);
      EXPECT_EQ(samples->most(), 32);  // for the hash; batches have 16
    }
    constexpr double kPlaces = 16384;  // where rows of each batch are kept: 16 bytes a layer
    EXPECT_LE(static_cast<double>(many.grown()), 1.1 * static_cast<double>(few.grown()) + kPlaces);
  }
}

}  // namespace
}  // namespace msc
