#include "gym/search/training_task.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "compiler/compress/distill/trainer.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "cost/samples/array_file.h"
#include "gym/search/registries.h"
#include "tests/gym/core/fake_env.h"

namespace msc::gym {
namespace {

constexpr std::int64_t kSamples = 48;

/// A network, and a config whose samples are those of a file.
class Training : public testing::Test {
 protected:
  Training() : targets_(MakeTargets()) {
    InferTypes(graph_);
    const std::string folder = testing::TempDir() + "training_task/";
    MakeFolders(folder);
    Tensor samples(DType::kF32, {kSamples, 4});
    Rng rng(3);
    for (float& value : samples.MutableValues<float>()) value = static_cast<float>(rng.Normal());
    cost::WriteNpy(folder + "samples.npy", samples);
    config_.target = "reference";
    config_.section<DistillConfig>() = {.weight_bits = 4, .samples = {}, .batch = 4};
    for (cost::DataConfig* data : {&config_.calibration.data, &config_.quality.data}) {
      data->format = "npy";
      data->images = folder + "samples.npy";
    }
    config_.quality.samples = 8;
    config_.quality.batch = 3;
  }
  [[nodiscard]] std::shared_ptr<const envs::TrainingTask> Make() const {
    return MakeTrainingTask(config_, graph_, targets_);
  }
  /// The student as it is before any training.
  [[nodiscard]] static TrainResult Untrained(const envs::TrainingTask& task) {
    TrainResult result;
    for (const auto& parameter : task.student.parameters) {
      result.values.push_back(task.student.constants.at(parameter.constant).values);
    }
    return result;
  }

  Graph graph_ = ParseGraph(R"(graph net {
    input %x : f32[n,4]
    const %w : f32[6,4] = random 1
    const %v : f32[3,6] = random 2
    %a = Gemm(%x, %w) @first {transB = 1}
    %b = Relu(%a) @relu
    %y = Gemm(%b, %v) @second {transB = 1}
    output %y
  })");
  TargetRegistry targets_;
  SearchConfig config_;
};

/// Skips where there is no trainer.
class TrainingTask : public Training {
 protected:
  void SetUp() override {
    if (!TrainerProblem().empty()) GTEST_SKIP() << TrainerProblem();
  }
};

TEST_F(Training, NeedsAStudentThatDiffersFromTheModel) {
  config_.section<DistillConfig>().weight_bits = 0;
  EXPECT_EQ(MessageOf<UserError>([&] { (void)Make(); }),
            "the student is the same as the model: give 'strategy' or 'distill.weight_bits'");
}

TEST_F(TrainingTask, NeedsSamplesToTrainOn) {
  config_.calibration.data.images.clear();
  EXPECT_EQ(MessageOf<UserError>([&] { (void)Make(); }),
            "the config names no 'calibration.data.images'");
}

TEST_F(TrainingTask, NeedsSamplesToBeJudgedOn) {
  config_.quality.data.images.clear();
  EXPECT_EQ(MessageOf<UserError>([&] { (void)Make(); }),
            "the config names no 'quality.data.images'");
}

TEST_F(TrainingTask, JudgesAsWellInBatchesAsAtOnce) {
  const auto in_batches = Make();
  config_.quality.batch = kSamples;
  const auto at_once = Make();
  const auto never = [] { return false; };
  const auto a = in_batches->judge(Untrained(*in_batches), never);
  const auto b = at_once->judge(Untrained(*at_once), never);
  ASSERT_TRUE(a && b);
  EXPECT_GT(a->Loss("distill_loss")->value, 0);
  EXPECT_NEAR(a->Loss("distill_loss")->value, b->Loss("distill_loss")->value, 1e-12);
}

TEST_F(TrainingTask, HasAnotherHashForOtherSamplesToBeJudgedOn) {
  const std::string before = Make()->hash;
  EXPECT_EQ(Make()->hash, before);
  config_.quality.samples = 7;
  EXPECT_NE(Make()->hash, before);
}

TEST_F(TrainingTask, StopsWhileItJudges) {
  const auto task = Make();
  EXPECT_FALSE(task->judge(Untrained(*task), [] { return true; }));
}

TEST_F(TrainingTask, JudgesFinalistsOnSamplesThatNoTrialSawAsWell) {
  config_.calibration.samples = 4;
  config_.section<DistillConfig>().samples = 4;
  const auto task = Make();
  const FinalSamples finals = MakeFinalSamples(config_, graph_, *task);
  const auto all = finals.judge(Untrained(*task), [] { return false; });
  ASSERT_TRUE(all);
  EXPECT_EQ(finals.count, kSamples);
  EXPECT_EQ(finals.held_out_from, config_.quality.samples);
  ASSERT_TRUE(finals.held_out());
  EXPECT_NE(finals.held_out()->Loss("distill_loss"), all->Loss("distill_loss"));
}

TEST_F(TrainingTask, JudgesFinalistsByTheLabelsOfTheirOwnSamples) {
  // Labels that the teacher hits exactly, on every sample.
  const Tensor samples = cost::ReadNpy(config_.quality.data.images);
  const std::string labels = testing::TempDir() + "training_task/values.npy";
  cost::WriteNpy(labels, RunProgram(Make()->teacher, {&samples, 1}).at(0));
  config_.quality.data.labels = labels;
  config_.quality.outputs["y"] = {.kind = OutputKind::kRegression};
  config_.quality.finalists = "others";
  config_.calibration.samples = 4;
  config_.section<DistillConfig>().samples = 4;
  const auto task = Make();
  EXPECT_EQ(task->notes,
            (std::vector<std::string>{"labels '" + labels + "' of output 'y': values"}));
  EXPECT_NE(std::ranges::find(task->losses, "relative_error_rise"), task->losses.end());
  const FinalSamples finals = MakeFinalSamples(config_, graph_, *task);
  EXPECT_GT(finals.from, 0);
  const auto never = [] { return false; };
  for (const auto& quality :
       {task->judge(Untrained(*task), never), finals.judge(Untrained(*task), never)}) {
    ASSERT_TRUE(quality);
    const cost::LabelScore* const score = quality->Score("relative_error_rise");
    ASSERT_NE(score, nullptr);
    EXPECT_NEAR(score->reference, 0, 1e-6);
    EXPECT_GT(score->value, 0.001);
  }
}

}  // namespace
}  // namespace msc::gym
