#include "envs/prune/prune_env.h"

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

/// Remembers what it was asked; answers with a failure for all.
class RecordingEvaluator final : public cost::Evaluator {
 public:
  std::vector<cost::Candidate> asked;

 private:
  void DoEvaluate(std::span<const cost::Candidate> batch, const Done& done,
                  const std::function<bool()>& /*stop*/) override {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      asked.push_back(batch[i]);
      done(i, Failure{FailureKind::kTimeout, "not measured"});
    }
  }
};

std::shared_ptr<const Graph> Net(const std::string& middle) {
  Graph graph = ParseGraph("graph net {\n  input %x : f32[batch,4]\n" + middle +
                           "  %y = Gemm(%b, %v) @last {transB = 1}\n  output %y\n}");
  InferTypes(graph);
  return std::make_shared<const Graph>(std::move(graph));
}

constexpr const char* kTwoGroups =
    "  const %w : f32[8,4] = random 1\n  const %u : f32[16,8] = random 2\n"
    "  const %v : f32[2,16] = random 3\n"
    "  %a = Gemm(%x, %w) @first {transB = 1}\n  %b = Gemm(%a, %u) @second {transB = 1}\n";

TEST(PruneEnv, OffersADensityForEveryGroup) {
  RecordingEvaluator evaluator;
  PruneContext context;
  context.graph = Net(kTwoGroups);
  context.evaluator = &evaluator;
  context.target = "native";
  const auto made = MakePruneProblem(context);
  const std::vector<std::string> words = {"1", "0.875", "0.75", "0.625", "0.5", "0.25"};
  const std::vector<double> densities = {1, 0.875, 0.75, 0.625, 0.5, 0.25};
  EXPECT_EQ(made->decisions(),
            (std::vector<gym::Decision>{{"first", words, "density", densities},
                                        {"second", words, "density", densities}}));
  const std::vector<gym::Assignment> batch = {{4, 0}, {1, 5}, {0, 0}};
  int failed = 0;
  made->Evaluate(batch, [&](std::size_t, const gym::Evaluation& evaluation) {
    failed += evaluation.failure ? 1 : 0;
  });
  EXPECT_EQ(failed, 3);
  ASSERT_EQ(evaluator.asked.size(), 3U);
  const auto kept = [&](std::size_t i, const char* group) {
    const auto& groups = evaluator.asked[i].strategy.prune.groups;
    const auto it = groups.find(group);
    return it == groups.end() ? -1 : static_cast<std::int64_t>(it->second.keep.size());
  };
  EXPECT_EQ(kept(0, "first"), 4);
  EXPECT_EQ(kept(0, "second"), -1);  // whole groups are not in a plan
  EXPECT_EQ(kept(1, "first"), 7);
  EXPECT_EQ(kept(1, "second"), 4);
  EXPECT_TRUE(evaluator.asked[2].strategy.prune.groups.empty());
  EXPECT_EQ(evaluator.asked[0].strategy.target, "native");
  EXPECT_EQ(StrategyFromJson(made->Describe(batch[1]), "it"), evaluator.asked[1].strategy);
}

TEST(PruneEnv, OffersOnlyDensitiesThatMakeADifference) {
  RecordingEvaluator evaluator;
  PruneContext context;
  context.graph = Net(kTwoGroups);
  context.evaluator = &evaluator;
  context.target = "native";
  context.align = 4;
  context.fit_hash = std::string(64, 'f');
  const auto made = MakePruneProblem(context);
  // Of 8 units 8 or 4 can stay, of 16 also 12; each goes by the density nearest to it.
  EXPECT_EQ(made->decisions(),
            (std::vector<gym::Decision>{
                {"first", {"1", "0.5"}, "density", {1, 0.5}},
                {"second", {"1", "0.75", "0.5", "0.25"}, "density", {1, 0.75, 0.5, 0.25}}}));
  const Strategy pruned = made->StrategyOf({1, 1});
  EXPECT_EQ(pruned.prune.groups.at("first").keep.size(), 4U);
  EXPECT_EQ(pruned.prune.groups.at("second").keep.size(), 12U);
  EXPECT_EQ(pruned.fit.samples, context.fit_hash);
  EXPECT_TRUE(made->StrategyOf({0, 0}).fit.samples.empty());
  EXPECT_EQ(made->Anchors()[1].second, (gym::Assignment{0, 1}));
}

TEST(PruneEnv, OffersTheDensitiesThatTheContextLists) {
  RecordingEvaluator evaluator;
  PruneContext context;
  context.graph = Net(kTwoGroups);
  context.evaluator = &evaluator;
  context.densities = {0.25, 0.5};
  EXPECT_EQ(MakePruneProblem(context)->decisions()[0],
            (gym::Decision{"first", {"1", "0.5", "0.25"}, "density", {1, 0.5, 0.25}}))
      << "beside 1, which comes first";
  for (const std::vector<double>& wrong :
       {std::vector<double>{0.5, 0.5}, std::vector<double>{0}, std::vector<double>{1.5}}) {
    context.densities = wrong;
    try {
      (void)MakePruneProblem(context);
      ADD_FAILURE() << "accepted";
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()),
                "'prune.densities' must be distinct shares above 0 and at most 1");
    }
  }
}

TEST(PruneEnv, DecidesTheAlignmentWhereItIsLeftOpen) {
  RecordingEvaluator evaluator;
  PruneContext context;
  context.graph = Net(kTwoGroups);
  context.evaluator = &evaluator;
  context.target = "native";
  context.align = 0;
  const auto made = MakePruneProblem(context);
  const auto& decisions = made->decisions();
  ASSERT_EQ(decisions.size(), 3U);
  EXPECT_EQ(decisions[1].choices,
            (std::vector<std::string>{"1", "0.875", "0.75", "0.625", "0.5", "0.25"}));
  EXPECT_EQ(decisions[2], (gym::Decision{"align", {"x8", "x16", "x1"}, "align", {8, 16, 1}}));
  // 0.625 of 16 units.
  const auto kept = [&](std::int32_t align) {
    const Strategy strategy = made->StrategyOf({0, 3, align});
    const auto it = strategy.prune.groups.find("second");
    return it == strategy.prune.groups.end() ? 16U : it->second.keep.size();
  };
  EXPECT_EQ(kept(0), 8U);
  EXPECT_EQ(kept(1), 16U);
  EXPECT_EQ(kept(2), 10U);
  EXPECT_TRUE(made->StrategyOf({0, 0, 2}).prune.groups.empty());
  EXPECT_EQ(made->Anchors()[2].second.size(), 3U);
  // 32, 128 and, of a layer that keeps its outputs, 32 multiply-adds.
  EXPECT_EQ(made->Prior().relevance, (std::vector<double>{32.0 / 192, 128.0 / 192, 0}));
  // 0.25 of 8 units are 2 by the last alignment, none of which is wider; 0.25 of 16 are 4.
  EXPECT_EQ(made->Prior().LowerBounds().at("weight_bytes"), 4 * (2 * 4 + 4 * 2 + 2 * 4));
}

TEST(PruneEnv, DecidesTheFirstGroupsAloneWhereTheContextSaysHowMany) {
  RecordingEvaluator evaluator;
  PruneContext context;
  context.graph = Net(kTwoGroups);
  context.evaluator = &evaluator;
  context.target = "native";
  context.first_groups = 1;
  const auto made = MakePruneProblem(context);
  const auto& decisions = made->decisions();
  ASSERT_EQ(decisions.size(), 1U);
  EXPECT_EQ(decisions[0].name, "first");
  const Strategy strategy = made->StrategyOf({4});
  EXPECT_EQ(strategy.prune.groups.at("first").keep.size(), 4U);
  EXPECT_FALSE(strategy.prune.groups.contains("second")) << "whole groups are not in a plan";
  // One in which no density makes a difference does not count.
  context.align = 8;
  EXPECT_EQ(MakePruneProblem(context)->decisions().at(0).name, "second");
  context.first_groups = 5;
  context.align = 1;
  EXPECT_EQ(MakePruneProblem(context)->decisions().size(), 2U);
}

TEST(PruneEnv, RefusesAModelWithNothingToPrune) {
  RecordingEvaluator evaluator;
  PruneContext context;
  context.graph = Net("  const %v : f32[2,4] = random 3\n  %b = Relu(%x) @act\n");
  context.evaluator = &evaluator;
  try {
    (void)MakePruneProblem(context);
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()),
              "nothing in the model can be pruned; `mscgym prune` says why");
  }
  EXPECT_THROW((void)MakePruneProblem({}), UserError);
}

}  // namespace
}  // namespace msc::envs
