#include "gym/app/optimize_config.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/base/temporary_folder.h"
#include "cost/samples/array_file.h"
#include "envs/quantize/quantize_config.h"

namespace msc::gym {
namespace {

TEST(Split, GivesAQuarterToCalibration) {
  EXPECT_EQ(Split(8).calibrate, 2);
  EXPECT_EQ(Split(8).judge, 6);
  EXPECT_EQ(Split(1000).calibrate, 250);
  EXPECT_EQ(Split(1000).judge, 750);
}

TEST(Split, CalibratesOnSoManyAtMost) {
  EXPECT_EQ(Split(100000).calibrate, 256);
  EXPECT_EQ(Split(100000).judge, 99744);
}

TEST(Split, RefusesTooFew) {
  EXPECT_THROW((void)Split(7), UserError);
  EXPECT_THROW((void)Split(0), UserError);
}

class PlanOptimizeTest : public testing::Test {
 protected:
  PlanOptimizeTest() {
    Tensor images(DType::kF32, {40, 1, 28, 28});
    Rng rng(1);
    for (float& x : images.MutableValues<float>()) x = static_cast<float>(rng.Normal());
    request_.model = "experiments/models/fashion_resnet.onnx";
    request_.samples.test_images = folder_.path() + "/images.npy";
    request_.target = "onednn";
    cost::WriteNpy(request_.samples.test_images, images);
  }
  [[nodiscard]] SearchConfig Config() const {
    return PlanOptimize(request_, std::chrono::steady_clock::now()).config;
  }

  TemporaryFolder folder_{testing::TempDir(), "msc_optimize_"};
  OptimizeRequest request_;
};

TEST_F(PlanOptimizeTest, HasTheLimitsOfTheGuardUnlessSomeAreGiven) {
  using Limits = std::map<std::string, double>;
  EXPECT_EQ(Config().objective.subject_to, (Limits{{"disagreement", 2}, {"relative_error", 0.1}}));
  request_.samples.judged.limits = {{"distill_loss", 0.01}};
  EXPECT_EQ(Config().objective.subject_to, (Limits{{"distill_loss", 0.01}}));
  request_.samples.judged.limits = {{"cosine_distance", 0.01}};
  EXPECT_THROW((void)Config(), UserError);
}

TEST_F(PlanOptimizeTest, KeepsHalfOfTheSamplesFromTrials) {
  EXPECT_EQ(Config().quality.samples, 30) << "all, as half would be too few";
  Tensor images(DType::kF32, {400, 1, 28, 28});
  cost::WriteNpy(request_.samples.test_images, images);
  EXPECT_EQ(Config().quality.samples, 150) << "of the 300 that judge";
}

TEST_F(PlanOptimizeTest, RoundsAsQuantizeMostlyDoes) {
  const SearchConfig config = Config();
  EXPECT_EQ(config.calibration.options.method, "mse");
  EXPECT_EQ(config.section<envs::QuantizeConfig>().rounding, std::vector<std::string>{"gptq"});
}

TEST_F(PlanOptimizeTest, LosesLeastAtAWantedSpeed) {
  EXPECT_EQ(Config().objective.minimize, (std::vector<std::string>{"latency"}));
  request_.faster = 4;
  const ObjectiveConfig objective = Config().objective;
  EXPECT_EQ(objective.minimize, (std::vector<std::string>{"distill_loss", "latency"}));
  EXPECT_EQ(objective.subject_to.at("latency"), 0.25);
}

TEST_F(PlanOptimizeTest, JudgesOtherSamplesThanThoseThatCalibrate) {
  const SearchConfig config = Config();
  EXPECT_EQ(config.calibration.samples, 10);
  EXPECT_EQ(config.calibration.data.first, 0);
  EXPECT_EQ(config.quality.data.first, 10);
  EXPECT_EQ(config.calibration.data.shuffle, config.quality.data.shuffle);
  EXPECT_NE(config.quality.data.shuffle, 0U);
  request_.samples.images = request_.samples.test_images;
  EXPECT_EQ(Config().quality.data.first, 0);
}

TEST_F(PlanOptimizeTest, TakesWhatIsLeftOfTheTime) {
  request_.seconds = 100;
  const auto before = std::chrono::steady_clock::now() - std::chrono::seconds(50);
  const double left = PlanOptimize(request_, before).config.time_budget_s;
  EXPECT_LE(left, 50);
  EXPECT_GT(left, 20);
  request_.seconds = 51;
  EXPECT_THROW((void)PlanOptimize(request_, before), UserError);
}

}  // namespace
}  // namespace msc::gym
