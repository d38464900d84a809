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
#include "gym/core/problem.h"

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
    outcome.quality.kl = 0.25;
    outcome.quality.agreement = 0.97;
    outcome.quality.accuracy = 0.9;
    outcome.quality.reference_accuracy = 0.92;
    evaluator_.answer = outcome;
  }

  RecordingEvaluator evaluator_;
  EnvContext context_;
};

TEST_F(QuantizeEnv, OffersEveryLayerThreePrecisions) {
  const auto env = MakeQuantizeEnv(context_);
  const std::vector<gym::Decision> wanted = {{"first", {"f32", "bf16", "int8"}},
                                             {"second", {"f32", "bf16", "int8"}}};
  EXPECT_EQ(env->problem()->decisions(), wanted);
}

TEST_F(QuantizeEnv, OffersNothingThatTheTargetLacks) {
  context_.lacked = {{"first", {Precision::kBF16, Precision::kInt8}},
                     {"second", {Precision::kBF16, Precision::kF32}}};
  const auto env = MakeQuantizeEnv(context_);
  const std::vector<gym::Decision> wanted = {{"first", {"f32"}}, {"second", {"f32", "int8"}}};
  EXPECT_EQ(env->problem()->decisions(), wanted);
  std::vector<std::string> anchors;
  for (const auto& [name, assignment] : env->problem()->Anchors()) anchors.push_back(name);
  EXPECT_EQ(anchors, (std::vector<std::string>{"int8", "f32"}));
  const std::vector<gym::Assignment> batch = {{0, 1}};
  env->problem()->Evaluate(batch, [](std::size_t, const gym::Evaluation&) {});
  EXPECT_EQ(evaluator_.asked.at(0).strategy.quantize.layers.at("second"), "int8");
}

TEST_F(QuantizeEnv, AsksForTheStrategyThatTheChoicesStandFor) {
  const auto env = MakeQuantizeEnv(context_);
  const std::vector<gym::Assignment> batch = {{2, 0}};
  env->problem()->Evaluate(batch, [](std::size_t, const gym::Evaluation&) {});
  ASSERT_EQ(evaluator_.asked.size(), 1U);
  const Strategy& strategy = evaluator_.asked[0].strategy;
  EXPECT_EQ(strategy.target, "onednn");
  const std::map<std::string, std::string> layers = {{"first", "int8"}, {"second", "f32"}};
  EXPECT_EQ(strategy.quantize.layers, layers);
  EXPECT_TRUE(strategy.quantize.activations.contains("x"));
  EXPECT_FALSE(strategy.quantize.activations.contains("y")) << "no int8 layer touches it";
}

TEST_F(QuantizeEnv, TurnsAnOutcomeIntoMetrics) {
  context_.labels = Labels::kPresent;
  const auto env = MakeQuantizeEnv(context_);
  const std::vector<gym::Assignment> batch = {{0, 0}};
  gym::Evaluation heard;
  env->problem()->Evaluate(batch, [&](std::size_t, const gym::Evaluation& got) { heard = got; });
  EXPECT_EQ(heard.metrics.at("latency"), 0.5);
  EXPECT_EQ(heard.metrics.at("latency_ms"), 2.0);
  EXPECT_EQ(heard.metrics.at("distill_loss"), 0.25);
  EXPECT_NEAR(heard.metrics.at("accuracy_drop"), 2.0, 1e-9);
  EXPECT_NEAR(heard.metrics.at("disagreement"), 3.0, 1e-9);
}

TEST_F(QuantizeEnv, RewardsSpeedAndClosenessAtTheEndOnly) {
  const auto env = MakeQuantizeEnv(context_);
  env->Reset(1);
  EXPECT_EQ(env->Step(gym::Point{std::int64_t{2}}).reward, 0.0);
  const gym::StepResult last = env->Step(gym::Point{std::int64_t{1}});
  EXPECT_TRUE(last.terminated);
  EXPECT_EQ(last.reward, -0.75);
}

TEST_F(QuantizeEnv, ReportsAFailureWithItsReason) {
  evaluator_.answer = Failure{FailureKind::kCrash, "signal 11"};
  const auto env = MakeQuantizeEnv(context_);
  const std::vector<gym::Assignment> batch = {{0, 0}};
  gym::Evaluation heard;
  env->problem()->Evaluate(batch, [&](std::size_t, const gym::Evaluation& got) { heard = got; });
  ASSERT_TRUE(heard.failure);
  EXPECT_EQ(heard.failure->kind, FailureKind::kCrash);
  EXPECT_TRUE(heard.metrics.empty());
}

TEST_F(QuantizeEnv, HasAnotherHashForOtherScales) {
  const std::string before = MakeQuantizeEnv(context_)->problem()->Hash();
  context_.scales["x"].scale = 0.25;
  EXPECT_NE(MakeQuantizeEnv(context_)->problem()->Hash(), before);
}

TEST_F(QuantizeEnv, RefusesAModelWithoutLayers) {
  Graph graph = ParseGraph("graph g { input %x : f32[4]\n %y = Relu(%x)\n output %y }");
  context_.graph = std::make_shared<const Graph>(std::move(graph));
  try {
    [[maybe_unused]] const auto env = MakeQuantizeEnv(context_);
    FAIL() << "accepted";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()),
              "the model has no Conv, Gemm or MatMul with constant weights to quantize");
  }
}

TEST(QuantizeEnvWithoutModel, IsRefused) {
  EXPECT_THROW(static_cast<void>(MakeQuantizeEnv(EnvContext{})), UserError);
}

}  // namespace
}  // namespace msc::envs
