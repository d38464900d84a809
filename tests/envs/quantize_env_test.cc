#include "envs/quantize/quantize_env.h"

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "cost/model/evaluator.h"
#include "envs/common/evaluation.h"
#include "gym/core/problem.h"
#include "tests/support/quality.h"

namespace msc::envs {
namespace {

/// Remembers what it was asked; answers with one outcome for all.
class RecordingEvaluator final : public cost::Evaluator {
 public:
  std::vector<cost::Candidate> asked;
  Result<cost::Outcome> answer = cost::Outcome{};

 private:
  void DoEvaluate(std::span<const cost::Candidate> batch, const Done& done,
                  const std::function<bool()>& /*stop*/) override {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      asked.push_back(batch[i]);
      done(i, answer);
    }
  }
};

std::shared_ptr<const Graph> TwoLayers() {
  Graph graph = ParseGraph(R"(graph net {
    input %x : f32[batch,4]
    const %w : f32[3,4] = random 1
    const %v : f32[2,3] = random 2
    %a = Gemm(%x, %w) @first {transB = 1}
    %b = Relu(%a) @relu
    %y = Gemm(%b, %v) @second {transB = 1}
    output %y
  })");
  InferTypes(graph);
  return std::make_shared<const Graph>(std::move(graph));
}

class QuantizeEnv : public testing::Test {
 protected:
  QuantizeEnv() {
    context_.graph = TwoLayers();
    context_.evaluator = &evaluator_;
    context_.target = "onednn";
    for (const char* tensor : {"x", "b", "y"}) context_.scales[tensor] = {.scale = 0.5};
    cost::Outcome outcome;
    outcome.latency = cost::Latency{.median_ns = 2e6, .ratio = 0.5};
    outcome.quality = cost::QualityOf({{"distill_loss", {0.25, 0}}, {"disagreement", {3, 0}}});
    outcome.quality.accuracy = 0.9;
    outcome.quality.reference_accuracy = 0.92;
    evaluator_.answer = outcome;
  }

  RecordingEvaluator evaluator_;
  QuantizeContext context_;
};

TEST_F(QuantizeEnv, OffersEveryLayerThreePrecisions) {
  const auto made = MakeQuantizeProblem(context_);
  const std::vector<gym::Decision> wanted = {
      {"first", {"f32", "bf16", "int8"}, "bits", {32, 16, 8}},
      {"second", {"f32", "bf16", "int8"}, "bits", {32, 16, 8}}};
  EXPECT_EQ(made->decisions(), wanted);
}

TEST_F(QuantizeEnv, OffersNothingThatTheTargetLacks) {
  context_.unsupported = {{"first", {Precision::kBF16, Precision::kInt8}},
                          {"second", {Precision::kBF16, Precision::kF32}}};
  const auto made = MakeQuantizeProblem(context_);
  const std::vector<gym::Decision> wanted = {{"first", {"f32"}, "bits", {32}},
                                             {"second", {"f32", "int8"}, "bits", {32, 8}}};
  EXPECT_EQ(made->decisions(), wanted);
  std::vector<std::string> anchors;
  for (const auto& [name, assignment] : made->Anchors()) anchors.push_back(name);
  EXPECT_EQ(anchors, (std::vector<std::string>{"f32", "int8"}));
  const std::vector<gym::Assignment> batch = {{0, 1}};
  made->Evaluate(batch, [](std::size_t, const gym::Evaluation&) {});
  EXPECT_EQ(evaluator_.asked.at(0).strategy.quantize.layers.at("second"), Precision::kInt8);
}

TEST_F(QuantizeEnv, AsksForTheStrategyThatTheChoicesStandFor) {
  const auto made = MakeQuantizeProblem(context_);
  const std::vector<gym::Assignment> batch = {{2, 0}};
  made->Evaluate(batch, [](std::size_t, const gym::Evaluation&) {});
  ASSERT_EQ(evaluator_.asked.size(), 1U);
  const Strategy& strategy = evaluator_.asked[0].strategy;
  EXPECT_EQ(strategy.target, "onednn");
  const PrecisionByLayer layers = {{"first", Precision::kInt8}, {"second", Precision::kF32}};
  EXPECT_EQ(strategy.quantize.layers, layers);
  EXPECT_TRUE(strategy.quantize.activations.contains("x"));
  EXPECT_FALSE(strategy.quantize.activations.contains("y")) << "no int8 layer touches it";
}

TEST_F(QuantizeEnv, TurnsAnOutcomeIntoMetrics) {
  context_.losses = {"distill_loss", "disagreement", "accuracy_drop"};
  const auto made = MakeQuantizeProblem(context_);
  const std::vector<gym::Assignment> batch = {{0, 0}};
  gym::Evaluation heard;
  made->Evaluate(batch, [&](std::size_t, const gym::Evaluation& got) { heard = got; });
  EXPECT_EQ(heard.metrics.at("latency"), 0.5);
  EXPECT_EQ(heard.metrics.at("latency_ms"), 2.0);
  EXPECT_EQ(heard.metrics.at("distill_loss"), 0.25);
  EXPECT_NEAR(heard.metrics.at("accuracy_drop"), 2.0, 1e-9);
  EXPECT_NEAR(heard.metrics.at("disagreement"), 3.0, 1e-9);
}

TEST_F(QuantizeEnv, RecordsTheOutcomeAndTheStrategy) {
  const auto made = MakeQuantizeProblem(context_);
  const std::vector<gym::Assignment> batch = {{0, 0}};
  gym::Evaluation heard;
  made->Evaluate(batch, [&](std::size_t, const gym::Evaluation& got) { heard = got; });
  const auto outcome = RecordedOutcome(heard);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->value(), evaluator_.answer.value());
  EXPECT_EQ(RecordedStrategyHash(heard), StrategyHash(evaluator_.asked[0].strategy));
}

TEST(Records, OfOtherProblemsHoldNoOutcome) {
  const gym::Evaluation other{.metrics = {}, .failure = {}, .record = R"({"a":"b"})"};
  EXPECT_FALSE(RecordedOutcome(other));
  EXPECT_FALSE(RecordedOutcome({}));
  EXPECT_EQ(RecordedStrategyHash(other), "");
}

TEST_F(QuantizeEnv, ReportsAFailureWithItsReason) {
  evaluator_.answer = Failure{FailureKind::kCrash, "signal 11"};
  const auto made = MakeQuantizeProblem(context_);
  const std::vector<gym::Assignment> batch = {{0, 0}};
  gym::Evaluation heard;
  made->Evaluate(batch, [&](std::size_t, const gym::Evaluation& got) { heard = got; });
  ASSERT_TRUE(heard.failure);
  EXPECT_EQ(heard.failure->kind, FailureKind::kCrash);
  EXPECT_TRUE(heard.metrics.empty());
}

TEST_F(QuantizeEnv, HasAnotherHashForOtherScales) {
  const std::string before = MakeQuantizeProblem(context_)->Hash();
  context_.scales["x"].scale = 0.25;
  EXPECT_NE(MakeQuantizeProblem(context_)->Hash(), before);
}

TEST_F(QuantizeEnv, DecidesBitsRangesAndRoundingWhereTheyAreOffered) {
  context_.quantize = {
      .bits = {4, 8}, .ranges = {"minmax", "mse"}, .rounding = {"nearest", "gptq"}};
  context_.scales_by_range = {{"minmax", context_.scales}, {"mse", context_.scales}};
  for (auto& [tensor, scale] : context_.scales_by_range["mse"]) scale.scale = 0.25;
  context_.fit_hash = std::string(64, 'c');
  const std::vector<std::string> precisions = {"f32", "bf16", "int8", "w4a8"};
  auto made = MakeQuantizeProblem(context_);
  EXPECT_EQ(made->decisions(),
            (std::vector<gym::Decision>{{"first", precisions, "bits", {32, 16, 8, 4}},
                                        {"second", precisions, "bits", {32, 16, 8, 4}},
                                        {"range", {"minmax", "mse"}},
                                        {"rounding", {"nearest", "gptq"}}}));
  std::vector<std::string> anchors;
  for (const auto& [name, assignment] : made->Anchors()) anchors.push_back(name);
  EXPECT_EQ(anchors, (std::vector<std::string>{"f32", "int8", "w4a8", "bf16"}));
  const auto strategy_of = [&](const gym::Assignment& assignment) {
    return made->StrategyOf(assignment);
  };
  const Strategy nearest = strategy_of({0, 3, 1, 0});
  EXPECT_EQ(nearest.quantize.layers.at("second"), Precision::kInt8);
  EXPECT_EQ(nearest.quantize.weights.at("second"), (WeightGrid{.bits = 4, .scales = {}}));
  EXPECT_EQ(nearest.quantize.ranges, (std::map<std::string, std::string>{{"second", "mse"}}));
  EXPECT_EQ(nearest.quantize.activations.at("b").scale, 0.25);
  EXPECT_EQ(nearest.quantize.rounding, "");
  EXPECT_TRUE(nearest.fit.samples.empty());
  const Strategy rounded = strategy_of({2, 3, 0, 1});
  EXPECT_EQ(rounded.quantize.rounding, "gptq");
  EXPECT_EQ(rounded.fit.samples, context_.fit_hash);
  EXPECT_EQ(rounded.quantize.activations.at("b").scale, 0.5) << "only weights are left to samples";
  EXPECT_FALSE(rounded.quantize.weights.contains("first")) << "8 bits";
  // What says nothing of a model without integers is no strategy of its own.
  EXPECT_EQ(strategy_of({0, 1, 1, 1}), strategy_of({0, 1, 0, 0}));

  context_.quantize.range_of = "layer";
  const std::string before = made->Hash();
  made = MakeQuantizeProblem(context_);
  EXPECT_NE(made->Hash(), before);
  std::vector<std::string> names;
  for (const gym::Decision& decision : made->decisions()) names.push_back(decision.name);
  EXPECT_EQ(names, (std::vector<std::string>{"first", "first range", "second", "second range",
                                             "rounding"}));
  const std::vector<double> work = made->Prior().relevance;
  EXPECT_NEAR(work[0] + work[2], 1, 1e-9);
  EXPECT_EQ(work[1] + work[3] + work[4], 0) << "takes the same time, however values are scaled";
  // A value is scaled once: as the layer that reads it says, else as the one that makes it.
  const Strategy mixed = strategy_of({2, 0, 2, 1, 0});
  EXPECT_EQ(mixed.quantize.activations.at("x").scale, 0.5);
  EXPECT_EQ(mixed.quantize.activations.at("b").scale, 0.25);
  EXPECT_EQ(mixed.quantize.activations.at("y").scale, 0.25);
}

TEST_F(QuantizeEnv, DecidesTheFirstLayersAloneWhereTheOfferSaysHowMany) {
  const std::string all = MakeQuantizeProblem(context_)->Hash();
  context_.quantize = {.ranges = {"minmax", "mse"}, .range_of = "layer", .first_layers = 1};
  context_.scales_by_range = {{"minmax", context_.scales}, {"mse", context_.scales}};
  const auto made = MakeQuantizeProblem(context_);
  const StrategyProblem& problem = *made;
  EXPECT_EQ(problem.decisions(),
            (std::vector<gym::Decision>{{"first", {"f32", "bf16", "int8"}, "bits", {32, 16, 8}},
                                        {"first range", {"minmax", "mse"}}}));
  const Strategy strategy = problem.StrategyOf({2, 0});
  const PrecisionByLayer layers = {{"first", Precision::kInt8}, {"second", Precision::kF32}};
  EXPECT_EQ(strategy.quantize.layers, layers);
  EXPECT_EQ(problem.Anchors()[1],
            (std::pair<std::string, gym::Assignment>("int8", gym::Assignment{2, 0})));
  EXPECT_EQ(problem.Prior().LowerBounds().at("weight_bytes"), 3 * 4 * 1 + 2 * 3 * 4);
  EXPECT_NE(problem.Hash(), all);
  // More than there are is all of them.
  context_.scales_by_range.clear();
  context_.quantize = {.first_layers = 3};
  EXPECT_EQ(MakeQuantizeProblem(context_)->Hash(), all);
}

std::shared_ptr<const Graph> SharedWeights() {
  Graph graph = ParseGraph(R"(graph net {
    input %x : f32[batch,4]
    const %w : f32[4,4] = random 1
    const %v : f32[8,4] = random 2
    const %u : f32[2,8] = random 3
    %a = Gemm(%x, %w) @once {transB = 1}
    %b = Gemm(%a, %w) @again {transB = 1}
    %c = Gemm(%b, %v) @stage1.a {transB = 1}
    %y = Gemm(%c, %u) @stage1.b {transB = 1}
    output %y
  })");
  InferTypes(graph);
  return std::make_shared<const Graph>(std::move(graph));
}

TEST_F(QuantizeEnv, DecidesOnceForLayersOfTheSameWeights) {
  context_.graph = SharedWeights();
  for (const char* tensor : {"a", "c"}) context_.scales[tensor] = {.scale = 0.5};
  context_.unsupported["again"] = {Precision::kBF16};
  auto made = MakeQuantizeProblem(context_);
  const auto& decisions = made->decisions();
  ASSERT_EQ(decisions.size(), 3U);
  EXPECT_EQ(decisions[0], (gym::Decision{"once", {"f32", "int8"}, "bits", {32, 8}}))
      << "what both can be";
  EXPECT_EQ(decisions[1].name, "stage1.a");
  const Strategy strategy = made->StrategyOf({1, 0, 1});
  EXPECT_EQ(strategy.quantize.layers, (PrecisionByLayer{{"once", Precision::kInt8},
                                                        {"again", Precision::kInt8},
                                                        {"stage1.a", Precision::kF32},
                                                        {"stage1.b", Precision::kBF16}}));
  EXPECT_EQ(made->Prior().LowerBounds().at("weight_bytes"), 16 + 32 + 16) << "once, in int8";
  // 16, 16, 32 and 16 multiply-adds and weights.
  EXPECT_DOUBLE_EQ(made->Prior().features[0][1], 0.4);
  EXPECT_DOUBLE_EQ(made->Prior().features[1][1], 0.4);
  EXPECT_DOUBLE_EQ(made->Prior().relevance[2], 0.2);
  // The first layer's choice is that of what is tied to it behind those that are decided.
  context_.quantize.first_layers = 1;
  made = MakeQuantizeProblem(context_);
  ASSERT_EQ(made->decisions().size(), 1U);
  EXPECT_EQ(made->StrategyOf({1}).quantize.layers.at("again"), Precision::kInt8);
}

TEST_F(QuantizeEnv, TiesTheLayersThatTheOfferDoes) {
  context_.graph = SharedWeights();
  for (const char* tensor : {"a", "c"}) context_.scales[tensor] = {.scale = 0.5};
  const std::string before = MakeQuantizeProblem(context_)->Hash();
  context_.quantize.tie = {{"stage1*"}};
  auto made = MakeQuantizeProblem(context_);
  EXPECT_NE(made->Hash(), before);
  ASSERT_EQ(made->decisions().size(), 2U);
  EXPECT_EQ(made->StrategyOf({0, 2}).quantize.layers,
            (PrecisionByLayer{{"once", Precision::kF32},
                              {"again", Precision::kF32},
                              {"stage1.a", Precision::kInt8},
                              {"stage1.b", Precision::kInt8}}));
  context_.quantize.tie = {{"stage1.b", "again"}};
  made = MakeQuantizeProblem(context_);
  ASSERT_EQ(made->decisions().size(), 2U) << "with what is tied already";
  EXPECT_EQ(made->StrategyOf({2, 0}).quantize.layers,
            (PrecisionByLayer{{"once", Precision::kInt8},
                              {"again", Precision::kInt8},
                              {"stage1.a", Precision::kF32},
                              {"stage1.b", Precision::kInt8}}));
}

TEST_F(QuantizeEnv, RefusesOffersThatAreNone) {
  const auto refusal = [&](const QuantizeConfig& offer) -> std::string {
    context_.quantize = offer;
    try {
      const auto made = MakeQuantizeProblem(context_);
      (void)made->Describe({2, 2});
    } catch (const UserError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal({}), "accepted");
  EXPECT_EQ(refusal({.rounding = {}}), "'quantize.rounding' is empty");
  EXPECT_EQ(refusal({.ranges = {"mse", "mse"}}), "'quantize.ranges' lists a value twice");
  EXPECT_EQ(refusal({.rounding = {"descent"}}),
            "weights rounded by 'descent' need calibration samples");
  EXPECT_EQ(refusal({.tie = {{"first", "third*"}}}),
            "'quantize.tie' names 'third*', which is not a layer that can be quantized");
  EXPECT_EQ(refusal({.tie = {{"first", "fir*"}}}),
            "a list of 'quantize.tie' needs two layers or more");
}

TEST_F(QuantizeEnv, RefusesAModelWithoutLayers) {
  Graph graph = ParseGraph("graph g { input %x : f32[4]\n %y = Relu(%x)\n output %y }");
  context_.graph = std::make_shared<const Graph>(std::move(graph));
  try {
    [[maybe_unused]] const auto made = MakeQuantizeProblem(context_);
    FAIL() << "accepted";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()),
              "the model has no Conv, Gemm or MatMul with constant weights to quantize");
  }
}

TEST(QuantizeEnvWithoutModel, IsRefused) {
  EXPECT_THROW(static_cast<void>(MakeQuantizeProblem(QuantizeContext{})), UserError);
}

}  // namespace
}  // namespace msc::envs
