#include "gym/search/held_out.h"

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "tests/gym/core/fake_env.h"

namespace msc::gym {
namespace {

SearchConfig Judged(const std::string& finalists) {
  SearchConfig config;
  config.quality.finalists = finalists;
  config.quality.samples = 100;
  config.quality.data.images = "test";
  config.calibration.data.images = "train";
  return config;
}

FinalPlan PlanOf(const SearchConfig& config, std::int64_t all) {
  return PlanFinals(config, 64, CountsOf(config, all));
}

constexpr const char* kOverlap =
    "finalists are judged on samples of 'test' that are used for calibration, so they may look "
    "better than they are: move 'calibration.data.first' or 'quality.data.first'";

TEST(PlanFinals, KeepsHalfForFinalistsAndJudgesThemOnAll) {
  EXPECT_EQ(SearchConfig().quality.finalists, "both");
  EXPECT_EQ(PlanOf(Judged("both"), 400), (FinalPlan{.trials = 200, .from = 0, .held_out = 200}));
  EXPECT_EQ(PlanOf(Judged("others"), 400), (FinalPlan{.trials = 200, .from = 200, .held_out = 0}));
  EXPECT_EQ(PlanOf(Judged("all"), 400), FinalPlan{});
  SearchConfig config = Judged("both");
  config.quality.most_samples = 250;
  EXPECT_EQ(PlanOf(config, 400), (FinalPlan{.trials = 250, .from = 0, .held_out = 250}));
  // Every trial sees more than half.
  EXPECT_EQ(PlanOf(Judged("both"), 150), (FinalPlan{.trials = 100, .from = 0, .held_out = 100}));
}

TEST(PlanFinals, TellsNoneApartWhereTooFewAreLeft) {
  EXPECT_EQ(PlanOf(Judged("both"), 130).held_out, 100);
  const FinalPlan few = PlanOf(Judged("both"), 129);
  EXPECT_EQ(few.trials, 0);
  EXPECT_EQ(few.held_out, 0);
  ASSERT_EQ(few.warnings.size(), 1U);
  EXPECT_EQ(
      few.warnings[0],
      "finalists are judged on samples that trials saw: trials may use 100 of 129 samples, which "
      "leaves fewer than 30; lower 'quality.samples' or 'quality.most_samples', or give "
      "more samples");
  EXPECT_EQ(MessageOf<UserError>([] { (void)PlanOf(Judged("others"), 100); }),
            "'quality.finalists' is \"others\", but trials may use 100 samples and there are only "
            "100: lower 'quality.samples' or 'quality.most_samples'");
}

TEST(PlanFinals, WarnsOfSamplesThatCalibrationUses) {
  for (const std::string finalists : {"all", "both"}) {
    SearchConfig config = Judged(finalists);
    config.calibration.data.images = "test";
    config.calibration.data.first = 136;  // up to 199: what trials see
    const FinalPlan seen = PlanOf(config, 400);
    EXPECT_EQ(seen.warnings, std::vector<std::string>{kOverlap});
    EXPECT_EQ(seen.held_out, finalists == "both" ? 200 : 0);
    config.calibration.data.first = 137;  // one that no trial sees
    const FinalPlan held_out = PlanOf(config, 400);
    EXPECT_EQ(held_out.warnings, std::vector<std::string>{kOverlap});
    EXPECT_EQ(held_out.held_out, 0);
    EXPECT_EQ(held_out.trials, 0);
    config.calibration.data.first = 400;
    EXPECT_TRUE(PlanOf(config, 400).warnings.empty());
    config.calibration.data.first = 0;
    config.calibration.data.shuffle = config.quality.data.shuffle + 1;
    EXPECT_TRUE(PlanOf(config, 400).warnings.empty());
  }
}

TEST(PlanFinals, RefusesOthersThatCalibrationUses) {
  SearchConfig config = Judged("others");
  config.calibration.data.images = "test";
  config.calibration.data.first = 136;
  EXPECT_TRUE(PlanOf(config, 400).warnings.empty());
  config.calibration.data.first = 137;
  EXPECT_EQ(MessageOf<UserError>([&] { (void)PlanOf(config, 400); }),
            "finalists would be judged on samples of 'test' that are used for calibration: move "
            "'calibration.data.first' or 'quality.data.first'");
}

TEST(ContradictionText, SpeaksWhereALimitIsMissedByMoreThanTheInterval) {
  SearchConfig config;
  config.objective.subject_to = {{"accuracy_drop", 0.5}, {"latency", 0.1}};
  cost::Outcome outcome;
  EXPECT_EQ(ContradictionText(config, outcome), "");
  outcome.held_out = cost::Quality{
      .accuracy = 0.88, .reference_accuracy = 0.9, .accuracy_error = 0.008, .samples = 5000};
  EXPECT_EQ(ContradictionText(config, outcome), "") << "2 points lost, 1.6 off at most";
  outcome.held_out->accuracy_error = 0.007;
  EXPECT_EQ(ContradictionText(config, outcome),
            "on the samples that no trial saw, accuracy_drop <= 0.5 is missed by more than the 95 "
            "% interval");
}

}  // namespace
}  // namespace msc::gym
