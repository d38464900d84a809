#include "compiler/pipeline/fit.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/base/hash.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/artefact.h"
#include "compiler/pipeline/calibrate.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/samples.h"
#include "tests/support/pipeline.h"

namespace msc {
namespace {

Graph Net() {
  Graph graph = ParseGraph(R"(graph net {
    input %x : f32[n,4,6,6]
    const %w1 : f32[8,4,3,3] = random 1
    const %b1 : f32[8] = random 2
    const %w2 : f32[4,8,3,3] = random 3
    const %b2 : f32[4] = random 4
    const %w3 : f32[5,4,1,1] = random 5
    const %b3 : f32[5] = random 6
    %c1 = Conv(%x, %w1, %b1) @conv1 {pads = [1, 1, 1, 1]}
    %r1 = Relu(%c1) @relu1
    %c2 = Conv(%r1, %w2, %b2) @conv2 {pads = [1, 1, 1, 1]}
    %r2 = Relu(%c2) @relu2
    %y = Conv(%r2, %w3, %b3) @conv3
    output %y
  })");
  InferTypes(graph);
  return graph;
}

FitOptions Options() {
  FitOptions options;
  options.target = "reference";
  options.batch = 8;
  options.positions = 12;
  return options;
}

class Fit : public testing::Test {
 protected:
  Fit() : graph_(Net()), samples_({RandomTensor({24, 4, 6, 6}, 7)}), targets_(Targets()) {
    asked_.target = "reference";
    asked_.model_hash = GraphHash(graph_);
    asked_.prune = {{{"conv1", {.units = 8, .keep = {0, 2, 5, 7}}}}};
    asked_.quantize.layers = {
        {"conv1", Precision::kF32}, {"conv2", Precision::kInt8}, {"conv3", Precision::kInt8}};
    asked_.fit.samples = FitHash(TensorSamples(samples_), Options());
  }
  [[nodiscard]] Strategy Fitted() const {
    Result<Strategy> fitted =
        FitStrategy(graph_, asked_, TensorSamples(samples_), Options(), targets_);
    EXPECT_TRUE(fitted.ok()) << (fitted.ok() ? "" : fitted.failure().detail);
    return std::move(fitted).value();
  }
  [[nodiscard]] Tensor Output(const Strategy& strategy) const {
    Result<Executable> built =
        Compile(graph_, strategy, targets_, {.threads = 1, .bindings = {{"n", 24}}});
    EXPECT_TRUE(built.ok());
    return std::move(built.value().Run(samples_)[0]);
  }
  static std::string Folder() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    std::string folder = testing::TempDir() + "pipeline_fit_" + info->name();
    std::filesystem::remove_all(folder);
    MakeFolders(folder);
    return folder;
  }

  Graph graph_;
  std::vector<Tensor> samples_;
  TargetRegistry targets_;
  Strategy asked_;
};

TEST_F(Fit, MakesUpForWhatPruningTookAway) {
  Strategy f32 = asked_;
  f32.quantize = {};
  asked_ = f32;
  Strategy bare = f32;
  bare.fit = {};
  Strategy whole = bare;
  whole.prune = {};
  const Tensor wanted = Output(whole);
  const auto lost = [&](const Strategy& strategy) {
    const Tensor got = Output(strategy);
    double sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got.size()); ++i) {
      const double difference = got.Values<float>()[i] - wanted.Values<float>()[i];
      sum += difference * difference;
    }
    return sum;
  };
  const Strategy fitted = Fitted();
  EXPECT_LT(lost(fitted), 0.7 * lost(bare));
  EXPECT_TRUE(fitted.quantize.activations.empty());
  // Without refitting only the scales are made anew.
  FitOptions options = Options();
  options.reconstruct = false;
  f32.fit.samples = FitHash(TensorSamples(samples_), options);
  const Result<Strategy> kept =
      FitStrategy(graph_, f32, TensorSamples(samples_), options, targets_);
  ASSERT_TRUE(kept.ok());
  EXPECT_TRUE(kept.value().fit.values->weights.empty());
  EXPECT_EQ(Output(kept.value()), Output(bare));
}

TEST_F(Fit, TakesScalesFromTheGraphThatIsLeft) {
  const Strategy fitted = Fitted();
  const auto& scales = fitted.quantize.activations;
  std::vector<std::string> names;
  for (const auto& [name, scale] : scales) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"r1", "r2", "y"}));
  // What an f32 run of the fitted model shows, by the same rule.
  Strategy f32 = fitted;
  f32.quantize = {};
  const Graph graph = ApplyStrategy(graph_, f32);
  const CalibrationRun run{.target = "reference", .threads = 1, .batch = 8};
  const auto want =
      ObserveActivations(graph, TensorSamples(samples_), run, targets_).Scales(Options().scales);
  for (const auto& [name, scale] : scales) EXPECT_EQ(scale, want.at(name)) << name;
  const auto whole =
      ObserveActivations(graph_, TensorSamples(samples_), run, targets_).Scales(Options().scales);
  EXPECT_NE(scales.at("r2"), whole.at("r2"));
}

TEST_F(Fit, RoundsWeightsByTheSamplesWhereTheStrategySaysSo) {
  asked_.prune = {};
  asked_.quantize.layers["conv1"] = Precision::kInt8;
  for (const char* layer : {"conv1", "conv2", "conv3"}) {
    asked_.quantize.weights[layer] = {.bits = 3, .scales = {}};
  }
  Strategy f32;
  f32.target = "reference";
  const Tensor wanted = Output(f32);
  const auto lost = [&](const std::string& rounding) {
    asked_.quantize.rounding = rounding;
    const Strategy fitted = Fitted();
    EXPECT_EQ(fitted.quantize.rounding, rounding);
    EXPECT_EQ(fitted.quantize.weights.at("conv2").bits, 3);
    EXPECT_EQ(fitted.quantize.weights.at("conv2").scales.empty(), rounding.empty());
    EXPECT_EQ(fitted.fit.values->weights.empty(), rounding.empty());
    EXPECT_EQ(StrategyFromJson(ToJson(fitted), "it"), fitted);
    const Tensor got = Output(fitted);
    double sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got.size()); ++i) {
      const double difference = got.Values<float>()[i] - wanted.Values<float>()[i];
      sum += difference * difference;
    }
    return sum;
  };
  const double nearest = lost("");
  const double gptq = lost("gptq");
  const double descent = lost("descent");
  EXPECT_LT(gptq, 0.8 * nearest);
  EXPECT_LT(descent, 0.8 * nearest);
  EXPECT_LT(lost("reconstruct"), 0.8 * nearest);
}

TEST_F(Fit, KeepsTheScalesThatTheStrategyHasIfAllChannelsStay) {
  asked_.prune = {};
  asked_.quantize.rounding = "gptq";
  const Strategy measured = Fitted();
  asked_.quantize.activations = measured.quantize.activations;
  EXPECT_EQ(Fitted(), measured);
  const std::string value = asked_.quantize.activations.begin()->first;
  asked_.quantize.activations.at(value).scale *= 2;
  EXPECT_EQ(Fitted().quantize.activations, asked_.quantize.activations);
}

TEST_F(Fit, ChoosesRangesAsTheStrategySays) {
  asked_.quantize.ranges = {{"conv2", "mse"}};
  const Strategy by_mse = Fitted();
  const auto& scales = by_mse.quantize.activations;
  asked_.quantize.ranges = {};
  const Strategy by_options = Fitted();
  const auto& otherwise = by_options.quantize.activations;
  FitOptions mse = Options();
  mse.scales.method = "mse";
  asked_.fit.samples = FitHash(TensorSamples(samples_), mse);
  const Result<Strategy> all = FitStrategy(graph_, asked_, TensorSamples(samples_), mse, targets_);
  ASSERT_TRUE(all.ok());
  // conv2 reads r1; r2 is read by conv3, and so of no account to it.
  EXPECT_EQ(scales.at("r1"), all.value().quantize.activations.at("r1"));
  EXPECT_NE(scales.at("r1"), otherwise.at("r1"));
  EXPECT_EQ(scales.at("y"), otherwise.at("y"));
}

TEST_F(Fit, GivesEqualBitsEveryTime) {
  const Strategy first = Fitted();
  const Strategy second = Fitted();
  EXPECT_EQ(first, second);
  EXPECT_EQ(ToJson(first), ToJson(second));
  EXPECT_EQ(first.fit.values->weights, second.fit.values->weights);
  EXPECT_FALSE(first.fit.values->weights.empty());
  EXPECT_NE(StrategyHash(first), StrategyHash(asked_));
}

TEST_F(Fit, IsReplayedFromFilesToTheSameArtefact) {
  const std::string folder = Folder();
  const Strategy fitted = Fitted();
  SaveStrategy(fitted, folder + "/strategy.json");
  const Strategy read = LoadStrategy(folder + "/strategy.json");
  EXPECT_EQ(read, fitted);
  EXPECT_EQ(read.fit.values->weights, fitted.fit.values->weights);
  (void)WriteArtefact(folder + "/a", graph_, fitted, targets_, {});
  (void)WriteArtefact(folder + "/b", graph_, read, targets_, {});
  for (const char* file : {"graph.json", "graph.weights", "strategy.json", "manifest.json"}) {
    EXPECT_EQ(ReadFile(folder + "/a/" + file), ReadFile(folder + "/b/" + file)) << file;
  }
}

TEST_F(Fit, RefusesWeightsThatDoNotBelongToTheStrategy) {
  const std::string folder = Folder();
  const std::string file = folder + "/strategy.json";
  const std::string weights = folder + "/strategy.weights";
  const auto load = [&] { (void)LoadStrategy(file); };
  SaveStrategy(Fitted(), file);
  std::string bytes = ReadFile(weights);
  ++bytes.back();
  WriteFileAtomic(weights, bytes);
  EXPECT_EQ(Refusal(load),
            "'" + weights + "' does not hold the fitted weights that the strategy names");
  std::filesystem::remove(weights);
  EXPECT_NE(Refusal(load).find(weights), std::string::npos);
  Strategy read = StrategyFromJson(ReadFile(file), "it");
  const auto apply = [&] { (void)ApplyStrategy(graph_, read); };
  EXPECT_EQ(Refusal(apply),
            "the strategy's fitted weights were not read; they lie beside its file");
  read.fit.weights.clear();
  EXPECT_NE(Refusal(apply).find("are still to be fitted to samples"), std::string::npos);
  read = Fitted();
  read.prune = {};
  EXPECT_EQ(Refusal(apply),
            "the fitted weights do not belong to this graph: node 'conv2' has a constant of "
            "another shape");
  EXPECT_EQ(Refusal([&] {
              FitOptions other = Options();
              other.ridge = 0.5;
              (void)FitStrategy(graph_, asked_, TensorSamples(samples_), other, targets_);
            }),
            "the strategy is to be fitted to other samples, or in another way");
  EXPECT_EQ(
      Refusal([&] { (void)StrategyFromJson(R"({"fit":{"weights":"../../etc/passwd"}})", "it"); }),
      "it: fit.weights must be empty or 64 hexadecimal digits");
}

TEST_F(Fit, FailsWhereTheTargetDoesNotTakeThePrunedModel) {
  TargetRegistry none;  // not even the fallback
  FitOptions options = Options();
  EXPECT_NE(
      Refusal([&] { (void)FitStrategy(graph_, asked_, TensorSamples(samples_), options, none); }),
      "accepted");
}

TEST(FittedFile, SurvivesAnything) {
  FittedWeights fitted;
  fitted.weights.push_back({"a", 1, RandomTensor({2, 3}, 1)});
  fitted.weights.push_back({"b", 2, Tensor(DType::kF32, {0})});
  const std::string bytes = ToBytes(fitted);
  EXPECT_EQ(FittedFromBytes(bytes, "it").weights, fitted.weights);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(Refusal([&] { (void)FittedFromBytes(bytes.substr(0, size), "it"); }), "accepted")
        << size;
  }
  const auto refusal = [](const std::string& text) {
    return Refusal([&] { (void)FittedFromBytes(text, "it"); });
  };
  EXPECT_EQ(refusal(bytes + "x"), "it holds more than the weights that it lists");
  EXPECT_EQ(refusal("anything"), "it holds no fitted weights");
  const std::string huge =
      "msc-weights-1\n{\"weights\":[{\"node\":\"a\",\"input\":1,\"dims\":"
      "[1000000000000,1000000000000]}]}\n";
  EXPECT_EQ(refusal(huge), "it ends before the weights of 'a'");
  std::string nan = bytes;
  std::fill(nan.end() - 4, nan.end(), '\xFF');
  EXPECT_EQ(refusal(nan), "it: a weight of 'a' is not finite");
}

TEST(FitHash, IsThatOfTheWholeTensorsOneAfterAnother) {
  const std::vector<Tensor> inputs = {RandomTensor({70, 3}, 1), RandomTensor({70}, 2)};
  const FitOptions options;
  Sha256 hash;
  std::string json = ToJsonText(options);
  // Hashes are older than the bits of activations and the forms of outputs.
  for (const std::string later : {R"("bits":8,)", R"("forms":[],)"}) {
    const std::size_t at = json.find(later);
    ASSERT_NE(at, std::string::npos) << json;
    json.erase(at, later.size());
  }
  hash.Add("msc-fit-1\n" + json + "\nf32[70,3]\n");
  hash.Add(inputs[0].Raw());
  hash.Add("f32[70]\n");
  hash.Add(inputs[1].Raw());
  EXPECT_EQ(FitHash(TensorSamples(inputs), options), hash.Hex());
  EXPECT_EQ(
      Refusal([] {
        const std::vector<Tensor> other = {Tensor(DType::kF32, {3}), Tensor(DType::kF32, {2})};
        (void)TensorSamples(other);
      }),
      "calibration inputs differ in their number of samples");
}

}  // namespace
}  // namespace msc
