#include "envs/schedule/schedule_env.h"

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

using Kernels = std::vector<ScheduledKernel>;

const KernelSchedule kDefault{.columns = 6, .vectors = 2};
const KernelSchedule kOther{.columns = 4, .vectors = 3, .unroll = 2, .order = "channels"};

ScheduleContext Context() {
  static NoEvaluator evaluator;
  Graph graph = ParseGraph("graph g { input %x : f32[4]\n %y = Relu(%x)\n output %y }");
  InferTypes(graph);
  ScheduleContext context;
  context.graph = std::make_shared<const Graph>(std::move(graph));
  context.evaluator = &evaluator;
  context.target = "native";
  context.kernels = std::make_shared<const Kernels>(Kernels{
      {"conv 3x3", {"a", "b"}, 30, {kDefault, kOther}}, {"product", {"c"}, 10, {kDefault}}});
  return context;
}

TEST(ScheduleEnv, DecidesOnceForLayersOfEqualKernels) {
  const auto made = MakeScheduleProblem(Context());
  EXPECT_EQ(
      made->decisions(),
      (std::vector<gym::Decision>{{"conv 3x3", {"direct 6x2 rows", "direct 4x3 channels unroll 2"}},
                                  {"product", {"direct 6x2 rows"}}}));
  const Strategy other = made->StrategyOf({1, 0});
  EXPECT_EQ(other.target, "native");
  EXPECT_EQ(other.schedules, (std::map<std::string, KernelSchedule>{{"a", kOther}, {"b", kOther}}));
}

TEST(ScheduleEnv, LeavesTheStrategyEmptyWhereNothingIsChosen) {
  const auto made = MakeScheduleProblem(Context());
  const std::string text = made->Describe({0, 0});
  EXPECT_EQ(text.find("schedules"), std::string::npos) << text;
  ASSERT_EQ(made->Anchors().size(), 1U);
  EXPECT_EQ(made->Anchors()[0].second, (gym::Assignment{0, 0}));
}

TEST(ScheduleEnv, KeepsWhatItBeginsWith) {
  ScheduleContext context = Context();
  const std::string plain = MakeScheduleProblem(context)->Hash();
  Strategy base;
  base.target = "native";
  base.quantize.layers["a"] = Precision::kBF16;
  base.partition = {{.nodes = {"c"}, .target = "onednn"}};
  context.base = std::make_shared<const Strategy>(base);
  const auto made = MakeScheduleProblem(context);
  EXPECT_NE(made->Hash(), plain);
  EXPECT_EQ(made->StrategyOf({0, 0}), base);
  base.schedules = {{"a", kOther}, {"b", kOther}};
  EXPECT_EQ(made->StrategyOf({1, 0}), base);
}

TEST(ScheduleEnv, ShowsWhatKernelsDoOfTheModel) {
  ScheduleContext context = Context();
  Graph graph = ParseGraph(R"(graph g {
    input %x : f32[1,5]
    const %w : f32[10,5] = random 1
    %y = Gemm(%x, %w) @a {transB = 1}
    output %y
  })");
  InferTypes(graph);
  context.graph = std::make_shared<const Graph>(std::move(graph));  // 2 * 5 * 10 operations
  const std::vector<std::vector<double>> rows = MakeScheduleProblem(context)->Prior().features;
  EXPECT_EQ(rows,
            (std::vector<std::vector<double>>{{0, 0.3, 2.0 / 3, 0, 1}, {0.5, 0.1, 1.0 / 3, 0, 0}}))
      << "the second has nothing to choose";
  context.estimates["latency"] = {.offset = 1, .effects = {{0, 0}, {0}}};
  EXPECT_EQ(MakeScheduleProblem(context)->Prior().features[0].back(), 0) << "as is estimated";
}

TEST(ScheduleEnv, KnowsTheBytesOfWhatItBeginsWith) {
  ScheduleContext context = Context();
  Graph graph = ParseGraph(R"(graph g {
    input %x : f32[1,8]
    const %w : f32[6,8] = random 1
    const %v : f32[4,6] = random 2
    %h = Gemm(%x, %w) @a {transB = 1}
    %y = Gemm(%h, %v) @c {transB = 1}
    output %y
  })");
  InferTypes(graph);
  context.graph = std::make_shared<const Graph>(std::move(graph));
  const auto bytes = [&] {
    return MakeScheduleProblem(context)->Prior().LowerBounds().at("weight_bytes");
  };
  EXPECT_EQ(bytes(), 4 * (6 * 8 + 4 * 6));
  Strategy base;
  base.target = "native";
  base.quantize.layers["a"] = Precision::kBF16;
  base.quantize.weights["c"] = {.bits = 4, .scales = {}};  // weights alone: f32 layers
  context.base = std::make_shared<const Strategy>(base);
  EXPECT_EQ(bytes(), 2 * 6 * 8 + 1 * 4 * 6);
  base.target = "native:precision=bf16";
  base.quantize = {};
  context.base = std::make_shared<const Strategy>(base);
  EXPECT_EQ(bytes(), 2 * (6 * 8 + 4 * 6));
  base.target = "native";
  base.partition = {{.nodes = {"a"}, .target = "onednn:precision=bf16"}};
  context.base = std::make_shared<const Strategy>(base);
  EXPECT_EQ(bytes(), 2 * (6 * 8 + 4 * 6)) << "as narrow as any region asks for";
}

TEST(ScheduleEnv, HasAnotherHashWhereADecisionSpeaksForOtherLayers) {
  ScheduleContext context = Context();
  const std::string before = MakeScheduleProblem(context)->Hash();
  Kernels kernels = *context.kernels;
  kernels[1].layers.push_back("d");
  context.kernels = std::make_shared<const Kernels>(std::move(kernels));
  EXPECT_NE(MakeScheduleProblem(context)->Hash(), before);
}

TEST(ScheduleEnv, SaysSoWhereThereIsNothingToChoose) {
  ScheduleContext context = Context();
  context.target = "onednn";
  context.kernels = nullptr;
  try {
    [[maybe_unused]] const auto made = MakeScheduleProblem(context);
    FAIL() << "accepted";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()),
              "target 'onednn' has no choice of schedules for this model's kernels; native has");
  }
}

}  // namespace
}  // namespace msc::envs
