#include "envs/compress/compress_env.h"

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

class NoEvaluator final : public cost::Evaluator {
  void DoEvaluate(std::span<const cost::Candidate> /*batch*/, const Done& /*done*/,
                  const std::function<bool()>& /*stop*/) override {}
};

constexpr const char* kResidual = R"(graph net {
  input %x : f32[n,4,6,6]
  const %w1 : f32[16,4,3,3] = random 1
  const %w2 : f32[16,16,3,3] = random 2
  const %w3 : f32[5,16,1,1] = random 3
  %c1 = Conv(%x, %w1) @conv1 {pads = [1, 1, 1, 1]}
  %r1 = Relu(%c1) @relu1
  %c2 = Conv(%r1, %w2) @conv2 {pads = [1, 1, 1, 1]}
  %s = Add(%c2, %r1) @sum
  %y = Conv(%s, %w3) @last
  output %y
})";

EnvContext Context(const char* text = kResidual) {
  static NoEvaluator evaluator;
  Graph graph = ParseGraph(text);
  InferTypes(graph);
  EnvContext context;
  context.graph = std::make_shared<const Graph>(std::move(graph));
  context.evaluator = &evaluator;
  context.target = "native";
  for (const char* tensor : {"x", "r1", "s", "y"}) context.scales[tensor] = {.scale = 0.5};
  context.fit_hash = std::string(64, 'a');
  context.align = 8;
  return context;
}

Strategy StrategyOf(gym::Env& env, const gym::Assignment& assignment) {
  return StrategyFromJson(env.problem()->Describe(assignment), "it");
}

TEST(CompressEnv, DecidesTheAlignmentLast) {
  EnvContext context = Context();
  const std::size_t said = MakeCompressEnv(context)->problem()->decisions().size();
  context.align = 0;
  const auto env = MakeCompressEnv(context);
  const auto& decisions = env->problem()->decisions();
  ASSERT_EQ(decisions.size(), said + 1);
  EXPECT_EQ(decisions.back(), (gym::Decision{"align", {"x8", "x16", "x1"}}));
  gym::Assignment assignment(decisions.size(), 0);
  assignment[0] = 3;  // 0.625 of conv1's 16 channels
  EXPECT_EQ(StrategyOf(*env, assignment).prune.groups.at("conv1").keep.size(), 8U);
  assignment.back() = 2;
  EXPECT_EQ(StrategyOf(*env, assignment).prune.groups.at("conv1").keep.size(), 10U);
}

TEST(CompressEnv, DecidesChannelsOfGroupsAndPrecisionsOfLayers) {
  const auto env = MakeCompressEnv(Context());
  const std::vector<std::string> precisions = {"f32", "bf16", "int8"};
  // conv1 and conv2 are tied by the sum: one group. Of 16 units, 8 and 16 are multiples of 8.
  EXPECT_EQ(env->problem()->decisions(),
            (std::vector<gym::Decision>{{"conv1 channels", {"1", "0.5"}},
                                        {"conv1", precisions},
                                        {"conv2", precisions},
                                        {"last", precisions}}));
  const Strategy strategy = StrategyOf(*env, {1, 0, 2, 1});
  EXPECT_EQ(strategy.prune.groups.at("conv1").keep.size(), 8U);
  const std::map<std::string, std::string> layers = {
      {"conv1", "f32"}, {"conv2", "int8"}, {"last", "bf16"}};
  EXPECT_EQ(strategy.quantize.layers, layers);
  EXPECT_EQ(strategy.target, "native");
}

TEST(CompressEnv, LeavesLayersBehindTheFirstAsTheyAre) {
  EnvContext context = Context();
  context.quantize.first_layers = 2;
  const auto env = MakeCompressEnv(context);
  const std::vector<std::string> precisions = {"f32", "bf16", "int8"};
  EXPECT_EQ(env->problem()->decisions(),
            (std::vector<gym::Decision>{
                {"conv1 channels", {"1", "0.5"}}, {"conv1", precisions}, {"conv2", precisions}}));
  const std::map<std::string, std::string> layers = {
      {"conv1", "bf16"}, {"conv2", "int8"}, {"last", "f32"}};
  EXPECT_EQ(StrategyOf(*env, {1, 1, 2}).quantize.layers, layers);
  EXPECT_EQ(env->problem()->Anchors()[3].second, (gym::Assignment{1, 2, 2}));
}

TEST(CompressEnv, LeavesTheScalesOfPrunedModelsToTheSamples) {
  const EnvContext context = Context();
  const auto env = MakeCompressEnv(context);
  const Strategy pruned = StrategyOf(*env, {1, 2, 2, 2});
  EXPECT_EQ(pruned.fit.samples, context.fit_hash);
  EXPECT_TRUE(pruned.fit.weights.empty());
  EXPECT_TRUE(pruned.quantize.activations.empty());
  // A whole model needs no fit: the strategy is that of Quantize-v0, and so are cached outcomes.
  const Strategy whole = StrategyOf(*env, {0, 2, 0, 0});
  EXPECT_TRUE(whole.fit.samples.empty());
  EXPECT_EQ(whole.quantize.activations.size(), 2U);
  // Without samples the scales of the whole model have to do.
  EnvContext without = Context();
  without.fit_hash.clear();
  EXPECT_FALSE(StrategyOf(*MakeCompressEnv(without), {1, 2, 2, 2}).quantize.activations.empty());
}

TEST(CompressEnv, DecidesAboutInt8LayersWhatQuantizeDoes) {
  EnvContext context = Context();
  context.align = 0;
  context.quantize = {.bits = {8, 2}, .rounding = {"nearest", "reconstruct"}};
  const auto env = MakeCompressEnv(context);
  const auto& decisions = env->problem()->decisions();
  ASSERT_EQ(decisions.size(), 6U);
  EXPECT_EQ(decisions[1].choices, (std::vector<std::string>{"f32", "bf16", "int8", "w2a8"}));
  EXPECT_EQ(decisions[4], (gym::Decision{"rounding", {"nearest", "reconstruct"}}));
  EXPECT_EQ(decisions[5].name, "align");
  const Strategy both = StrategyOf(*env, {3, 3, 2, 0, 1, 0});
  EXPECT_EQ(both.quantize.weights.at("conv1").bits, 2);
  EXPECT_EQ(both.quantize.rounding, "reconstruct");
  EXPECT_EQ(both.prune.groups.at("conv1").keep.size(), 8U);
  EXPECT_EQ(both.fit.samples, context.fit_hash);
  // Rounding alone is fitted, too; without integers there is nothing to round.
  EXPECT_EQ(StrategyOf(*env, {0, 0, 0, 2, 1, 0}).fit.samples, context.fit_hash);
  EXPECT_TRUE(StrategyOf(*env, {0, 0, 0, 1, 1, 0}).fit.samples.empty());
  std::vector<std::string> anchors;
  for (const auto& [name, assignment] : env->problem()->Anchors()) anchors.push_back(name);
  EXPECT_EQ(anchors, (std::vector<std::string>{"f32", "int8", "0.75 int8", "0.5 int8", "w2a8",
                                               "0.75 w2a8", "0.5 w2a8"}));
}

TEST(CompressEnv, HasUniformBaselines) {
  const auto env = MakeCompressEnv(Context());
  const std::vector<std::pair<std::string, gym::Assignment>> anchors = {{"f32", {0, 0, 0, 0}},
                                                                        {"int8", {0, 2, 2, 2}},
                                                                        {"0.75 int8", {0, 2, 2, 2}},
                                                                        {"0.5 int8", {1, 2, 2, 2}}};
  EXPECT_EQ(env->problem()->Anchors(), anchors);
}

TEST(CompressEnv, KnowsThatNothingIsSmallerThanAllChoicesTogether) {
  const auto bounds = MakeCompressEnv(Context())->problem()->LowerBounds();
  EXPECT_EQ(bounds.at("weight_bytes"), 8 * 4 * 9 + 8 * 8 * 9 + 5 * 8);
  for (const char* metric :
       {"latency", "latency_ms", "distill_loss", "disagreement", "peak_bytes"}) {
    EXPECT_EQ(bounds.at(metric), 0) << metric;
  }
  EXPECT_FALSE(bounds.contains("accuracy_drop")) << "compression may add to accuracy";
}

TEST(CompressEnv, HasAnotherHashForAllThatChangesTheMeaningOfAChoice) {
  const auto hash = [](const EnvContext& context) {
    return MakeCompressEnv(context)->problem()->Hash();
  };
  const std::string before = hash(Context());
  EXPECT_EQ(hash(Context()), before);
  EnvContext other = Context();
  other.fit_hash = std::string(64, 'b');
  EXPECT_NE(hash(other), before) << "samples";
  other = Context();
  other.scales["x"].scale = 0.25;
  EXPECT_NE(hash(other), before) << "scales";
  other = Context();
  other.unit_scores.assign(16, 1.0);
  EXPECT_NE(hash(other), before) << "scores of channels";
  other = Context();
  other.align = 4;
  EXPECT_NE(hash(other), before) << "alignment";
}

TEST(CompressEnv, RefusesWhatHasOnlyOneKindOfDecision) {
  const auto refusal = [](const EnvContext& context) -> std::string {
    try {
      (void)MakeCompressEnv(context);
    } catch (const UserError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(Context("graph g { input %x : f32[n,4]\n const %w : f32[2,4] = random 1\n"
                            "%y = Gemm(%x, %w) @fc {transB = 1}\n output %y }")),
            "the model has no channels to prune; search with the env quantize or prune alone");
  EXPECT_EQ(refusal(Context("graph g { input %x : f32[n,4]\n %y = Relu(%x)\n output %y }")),
            "the model has no layer to quantize; search with the env quantize or prune alone");
  EnvContext context = Context();
  context.unit_scores = {1, 2};
  EXPECT_EQ(refusal(context), "there are 2 scores for a model with 16 units to prune");
}

}  // namespace
}  // namespace msc::envs
