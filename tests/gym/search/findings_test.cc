#include "gym/search/findings.h"

#include <gtest/gtest.h>

#include "gym/search/losses.h"
#include "tests/support/quality.h"

namespace msc::gym {
namespace {

/// A result with this percentage of changed decisions and this relative error.
Result<cost::Outcome> Changed(double disagreement, double error) {
  cost::Outcome outcome;
  outcome.quality =
      cost::QualityOf({{"disagreement", {disagreement, 0}}, {"relative_error", {error, 0}}});
  outcome.quality.outputs[0].name = "y";
  outcome.quality.samples = 100;
  return outcome;
}

TEST(SuspicionsOfBest, AreThoseOfTheBestFinalist) {
  Findings findings;
  findings.finalists = {{.trial = 1, .strategy = {}, .result = Changed(50, 0)},
                        {.trial = 2, .strategy = {}, .result = Changed(0, 0)}};
  EXPECT_TRUE(SuspicionsOfBest({}, findings).empty()) << "there is no best";
  findings.best = 1;
  EXPECT_TRUE(SuspicionsOfBest({}, findings).empty());
  findings.best = 0;
  EXPECT_EQ(SuspicionsOfBest({}, findings),
            std::vector<std::string>{"output 'y' changes its decisions by 50 %, more than 2 %"});
}

TEST(SuspicionsOfBest, AreThoseOfTheWorstTrainingOfARecipe) {
  Findings findings;
  RecipeFinalist& recipe = findings.recipes.emplace_back();
  recipe.repeats = {{.seed = 7, .result = Changed(0, 0)},
                    {.seed = 8, .result = Changed(5, 0.5)},
                    {.seed = 9, .result = Changed(6, 0)},
                    {.seed = 10, .result = Failure{}}};
  findings.best = 0;
  EXPECT_EQ(SuspicionsOfBest({}, findings),
            (std::vector<std::string>{
                "trained with seed 8, output 'y' changes its decisions by 5 %, more than 2 %",
                "trained with seed 8, output 'y' has the relative error 0.5, more than 0.1"}));
  SearchConfig config;
  config.quality.guard = {.disagreement = 100, .relative_error = 0};
  EXPECT_TRUE(SuspicionsOfBest(config, findings).empty());
}

TEST(MetricsOfTheUser, AreLossesLikeOthers) {
  SearchConfig config;
  config.quality.metrics["wer"] = {.command = {"wer"}, .better = "lower"};
  config.objective = {.minimize = {"latency", "wer"},
                      .subject_to = {{"wer", 1}, {"latency", 0.5}, {"disagreement", 3}}};
  EXPECT_TRUE(IsLoss(config, "wer"));
  EXPECT_FALSE(IsLoss(config, "latency"));
  EXPECT_FALSE(IsLoss(config, "mAP"));
  EXPECT_EQ(LimitsOf(config), (cost::QualityLimits{{"wer", 1}, {"disagreement", 3}}));
  EXPECT_EQ(MainLossOf(config), "wer");
  config.objective = {};
  EXPECT_EQ(ShownLosses(config, {"disagreement", "distill_loss", "wer"}),
            (std::vector<std::string>{"distill_loss", "wer", "disagreement"}));
}

TEST(MetricsOfTheUser, HaveAnIntervalUnlessTheyAreOneNumber) {
  cost::Quality quality;
  quality.metrics = {
      {.name = "wer", .loss = {0.25, 0.1}, .value = 8.25, .reference = 8, .range = 100},
      {.name = "mAP", .loss = {-0.5, 0}, .value = 81, .reference = 80.5, .whole = true}};
  EXPECT_EQ(IntervalText(quality, "wer"), "0.25 \xC2\xB1 0.2");
  EXPECT_EQ(IntervalText(quality, "mAP"), "-0.5 (one number for all samples: no interval)");
  EXPECT_EQ(IntervalText(quality, "iou_loss"), "-");
  EXPECT_EQ(QualityText(quality), "wer 8.25 (before 8), mAP 81 (before 80.5)");
}

TEST(ScoresWithLabels, AreShownWithThatBefore) {
  cost::Quality quality;
  quality.outputs = {
      {.name = "mask", .losses = {{"iou_drop", {2, 0.5}}}, .scores = {{"iou_drop", {80.5, 82.5}}}},
      {.name = "depth",
       .losses = {{"relative_error_rise", {-0.1, 0.02}}},
       .scores = {{"relative_error_rise", {0.4, 0.5}}}}};
  EXPECT_EQ(ScoreText(quality, "iou_drop"), "80.50 % (before 82.50 %)");
  EXPECT_EQ(ScoreText(quality, "relative_error_rise:depth"), "0.4 (before 0.5)");
  EXPECT_EQ(ScoreText(quality, "relative_error_rise:mask"), "");
  EXPECT_EQ(ScoreText(quality, "disagreement"), "");
  EXPECT_EQ(QualityText(quality),
            "mean IoU with labels 80.50 % (before 82.50 %), relative error against labels 0.4 "
            "(before 0.5)");
  EXPECT_EQ(OutputLines(quality)[0],
            "output 'mask' (regression): mean IoU with labels 80.50 % (before 82.50 %)");
  EXPECT_EQ(IntervalText(quality, "iou_drop"), "2.00 \xC2\xB1 0.98 points");
  SearchConfig config;
  EXPECT_EQ(ShownLosses(config, {"distill_loss", "iou_drop"}),
            (std::vector<std::string>{"distill_loss", "iou_drop"}));
}

}  // namespace
}  // namespace msc::gym
