#include "gym/app/track_outputs.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/samples.h"
#include "tests/support/pipeline.h"

namespace msc::gym {
namespace {

constexpr std::int64_t kSamples = 32;

Graph Net() {
  Graph graph = ParseGraph(
      "graph net {\n input %x : f32[n,16]\n const %w : f32[16,8] = random 1\n"
      " const %v : f32[8,4] = random 2\n %h = MatMul(%x, %w) @first\n %r = Relu(%h) @relu\n"
      " %y = MatMul(%r, %v) @second\n output %y\n}");
  InferTypes(graph);
  return graph;
}

class TrackOutputs : public testing::Test {
 protected:
  /// Judges the model compiled for the reference target, whose weights `v` are replaced if a seed
  /// is given, in calls of `batch` samples.
  OutputsReport Judge(std::int64_t batch, std::uint64_t seed, StagesToJudge in) {
    CompileOptions compile;
    compile.bindings = {{"n", batch}};
    baseline_ = cost::BaselineStage(graph_, compile);
    Strategy strategy;
    strategy.target = "reference";
    compiled_ = cost::CompiledStage(graph_, strategy, targets_, compile);
    if (seed > 0) {
      Graph& graph = compiled_.model.graph;
      graph.SetConstant(graph.FindValue("v"),
                        std::make_shared<const Tensor>(RandomTensor({8, 4}, seed)));
    }
    in.stages = {&compiled_};
    ProgressLine line([this](std::string_view text) { said_ += text; }, true);
    return JudgeStages(in, targets_, line);
  }
  StagesToJudge In() {
    StagesToJudge in{.samples = samples_, .baseline = baseline_};
    in.judged.outputs["y"] = {.kind = OutputKind::kLogits};
    return in;
  }

  Graph graph_ = Net();
  TargetRegistry targets_ = Targets();
  std::vector<Tensor> rows_ = {RandomTensor({kSamples, 16}, 3)};
  std::shared_ptr<const SampleSource> samples_ = std::make_shared<TensorSamples>(rows_);
  cost::TrackStage baseline_;
  cost::TrackStage compiled_;
  std::string said_;
};

TEST_F(TrackOutputs, HoldIfAStageComputesTheSame) {
  const OutputsReport report = Judge(4, 0, In());
  ASSERT_EQ(report.stages.size(), 1U);
  EXPECT_EQ(report.stages[0].stage, "reference");
  EXPECT_EQ(report.stages[0].judged.quality.samples, kSamples);
  EXPECT_EQ(report.stages[0].judged.quality.Loss("disagreement").value().value, 0);
  EXPECT_TRUE(report.stages[0].hold());
  EXPECT_NE(said_.find("[track] outputs of reference: 4 of 32 samples, 00:00:00 left"),
            std::string::npos)
      << said_;
}

TEST_F(TrackOutputs, LoseTheSameInCallsOfAnySize) {
  const cost::Quality one = Judge(1, 5, In()).stages.at(0).judged.quality;
  const cost::Quality all = Judge(kSamples, 5, In()).stages.at(0).judged.quality;
  EXPECT_GT(one.Loss("disagreement").value().value, 20);
  for (const auto& [name, loss] : all.Losses()) {
    EXPECT_NEAR(one.Loss(name).value().value, loss.value, 1e-5 * loss.value) << name;
    EXPECT_NEAR(one.Loss(name).value().error, loss.error, 1e-5 * loss.error) << name;
  }
}

TEST_F(TrackOutputs, DoNotHoldIfDecisionsChangeOrALimitIsMissed) {
  StagesToJudge in = In();
  in.judged.guard = {.disagreement = 100, .relative_error = 0};
  EXPECT_TRUE(Judge(4, 5, in).stages.at(0).hold());
  in.judged.limits = {{"disagreement", 1}, {"distill_loss", 1e9}};
  const StageOutputs limited = Judge(4, 5, in).stages.at(0);
  EXPECT_FALSE(limited.hold());
  ASSERT_EQ(limited.limits.size(), 2U);
  EXPECT_FALSE(limited.limits[0].kept());
  EXPECT_TRUE(limited.limits[1].kept());
  const StageOutputs guarded = Judge(4, 5, In()).stages.at(0);
  EXPECT_FALSE(guarded.hold());
  EXPECT_EQ(guarded.suspicions.size(), 2U);
  in.judged.limits = {{"iou_loss", 1}};
  EXPECT_EQ(Refusal([&] { (void)Judge(4, 5, in); }),
            "--limit: the outputs have no loss 'iou_loss'; known: disagreement, distill_loss, "
            "relative_error");
}

TEST_F(TrackOutputs, AreNotJudgedWhereTheyCannotBe) {
  StagesToJudge in = In();
  in.samples = nullptr;
  EXPECT_EQ(Refusal([&] { (void)Judge(4, 0, in); }),
            "the arrays of --input do not have the same number of samples")
      << "a form of an output was given";
  in.judged.outputs.clear();
  const OutputsReport report = Judge(4, 0, in);
  EXPECT_TRUE(report.stages.empty());
  EXPECT_EQ(report.not_judged, "the arrays of --input do not have the same number of samples");
}

}  // namespace
}  // namespace msc::gym
