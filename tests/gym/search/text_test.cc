#include "gym/search/text.h"

#include <gtest/gtest.h>

#include "tests/support/quality.h"

namespace msc::gym {
namespace {

TEST(SignedPoints, HaveASignUnlessTheyRoundToNothing) {
  EXPECT_EQ(SignedPoints(0.12), "+0.12");
  EXPECT_EQ(SignedPoints(-1.005), "-1.00");
  EXPECT_EQ(SignedPoints(-0.0), "0.00");
  EXPECT_EQ(SignedPoints(-0.004), "0.00");
  EXPECT_EQ(SignedPoints(0.004), "0.00");
}

TEST(IntervalsText, SaysWhatNumbersMayBeOffBy) {
  cost::Outcome outcome;
  outcome.quality = cost::QualityOf({{"distill_loss", {0.01234, 0.0002}},
                                     {"disagreement", {1, 0.5}},
                                     {"relative_error", {0.05, 0.001}}});
  outcome.quality.accuracy = 0.9;
  outcome.quality.reference_accuracy = 0.9021;
  outcome.quality.accuracy_error = 0.001;
  outcome.quality.samples = 100;
  const std::string quality =
      "accuracy drop 0.21 \xC2\xB1 0.20 points, distillation loss 0.0123 \xC2\xB1 0.00039 nats, "
      "relative error 0.05 \xC2\xB1 0.002";
  EXPECT_EQ(IntervalsText(outcome), quality);
  outcome.latency = cost::Latency{.ratio = 0.5, .ratio_low = 0.4, .ratio_high = 0.625};
  EXPECT_EQ(IntervalsText(outcome), "2.000x (1.600 to 2.500), " + quality);
  EXPECT_EQ(EnergyText(outcome), "");
  outcome.latency->energy = cost::Energy{.joules = 0.00321,
                                         .reference_joules = 0.0045,
                                         .ratio = 0.714,
                                         .ratio_low = 0.7,
                                         .ratio_high = 0.75};
  EXPECT_EQ(IntervalsText(outcome),
            "2.000x (1.600 to 2.500), energy 0.714 (0.700 to 0.750), " + quality);
  EXPECT_EQ(EnergyText(outcome), "energy 0.71 (3.21 mJ)");
  outcome.quality.accuracy.reset();
  EXPECT_EQ(IntervalsText(outcome.quality),
            "disagreement 1.00 \xC2\xB1 0.98 %, distillation loss 0.0123 \xC2\xB1 0.00039 nats, "
            "relative error 0.05 \xC2\xB1 0.002");
}

TEST(ProgressText, SaysWhatIsKnown) {
  Progress progress;
  progress.done = 3;
  progress.total = 50;
  progress.failed = 1;
  progress.left = std::chrono::seconds(61);
  EXPECT_EQ(ProgressText(progress), "[trial 3/50] | eta 00:01:01 | 1 failed");
  Trial best;
  best.evaluation.metrics = {{"distill_loss", 0.25}};
  progress.best = &best;
  EXPECT_EQ(ProgressText(progress), "[trial 3/50] best loss 0.25000 | eta 00:01:01 | 1 failed");
  best.evaluation.metrics = {{"latency", 0.5}, {"latency_ms", 2}, {"accuracy_drop", 1e-9}};
  progress.hypervolume = 0.125;
  EXPECT_EQ(ProgressText(progress),
            "[trial 3/50] best 2.000 ms (2.00x) acc 0.00 hv 0.125 | eta 00:01:01 | 1 failed");
}

TEST(ProgressText, LeavesOutANumberThatIsNone) {
  const Progress progress{.done = 3, .total = kAnyTrials};
  EXPECT_EQ(ProgressText(progress), "[trial 3] | eta unknown | 0 failed");
}

TEST(CountsText, CountsReasonsOfFailure) {
  StudyResult study;
  study.trials.resize(5);
  EXPECT_EQ(CountsText(study), "5 trials, 0 failed");
  study.trials[0].evaluation.failure = Failure{FailureKind::kCrash, "signal 11"};
  study.trials[1].evaluation.failure = Failure{FailureKind::kTimeout, "after 20 s"};
  study.trials[2].evaluation.failure = Failure{FailureKind::kTimeout, "after 30 s"};
  study.trials[3].evaluation.dropped = true;
  EXPECT_EQ(CountsText(study),
            "5 trials, 3 failed (2 timeout, 1 crash), 1 dropped after a rough measurement");
}

TEST(EndText, NamesTheRuleThatEndedTheTrials) {
  EXPECT_EQ(EndText(StopReason::kPlateau, {.plateau = 20, .goal = {}}),
            "the last 20 brought no improvement (stop.plateau)");
  EXPECT_EQ(EndText(StopReason::kGoal, {}), "the goal was reached (stop.goal)");
}

}  // namespace
}  // namespace msc::gym
