#include "gym/app/search_text.h"

#include <gtest/gtest.h>

namespace msc::gym {
namespace {

TEST(SignedPoints, HaveASignUnlessTheyRoundToNothing) {
  EXPECT_EQ(SignedPoints(0.12), "+0.12");
  EXPECT_EQ(SignedPoints(-1.005), "-1.00");
  EXPECT_EQ(SignedPoints(-0.0), "0.00");
  EXPECT_EQ(SignedPoints(-0.004), "0.00");
  EXPECT_EQ(SignedPoints(0.004), "0.00");
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
            "the last 20 were no improvement (stop.plateau)");
  EXPECT_EQ(EndText(StopReason::kGoal, {}), "the goal was reached (stop.goal)");
}

}  // namespace
}  // namespace msc::gym
