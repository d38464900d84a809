#include "gym/search/phase_time.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "envs/common/evaluation.h"
#include "tests/gym/study/fake_problem.h"

namespace msc::gym {
namespace {

using testing::FakeProblem;

SearchConfig Config(double budget) {
  SearchConfig config;
  config.time_budget_s = budget;
  config.latency.max_ms = 1000;
  config.latency.max_warmup_ms = 100;
  config.quality.samples = 100;
  config.quality.finalists = "all";
  return config;
}

Trial Took(double seconds, bool repeated = false) {
  Trial trial;
  trial.seconds = seconds;
  trial.repeated = repeated;
  return trial;
}

TEST(SecondsOfTrial, LeavesTheFirstOnesAsideWhereThereAreMore) {
  EXPECT_EQ(SecondsOfTrial({}), 0);
  EXPECT_EQ(SecondsOfTrial(std::vector{Took(8), Took(2)}), 5);
  EXPECT_EQ(SecondsOfTrial(std::vector{Took(8), Took(0, true), Took(8), Took(2), Took(2), Took(2)}),
            2);
}

TEST(TimingSeconds, IsTheMostThatTheConfigAllows) {
  EXPECT_DOUBLE_EQ(TimingSeconds(Config(0).latency, 2, 3), 3 * (2 * 1.0 + 3 * 0.1));
}

TEST(SecondsOfTiming, AreThoseOfTheLongestOne) {
  const cost::LatencyOptions latency = Config(0).latency;
  EXPECT_EQ(SecondsOfTiming(latency, std::vector{Took(8)}), 0);
  const auto timed = [](std::int64_t rounds, double ms) {
    cost::Outcome outcome;
    outcome.latency = cost::Latency{
        .median_ns = ms * 1e6, .reference_median_ns = 20e6, .ratio = ms / 20, .rounds = rounds};
    Trial trial = Took(8);
    trial.evaluation = envs::ToEvaluation(outcome, "");
    return trial;
  };
  // Building, rounds, and at most 0.1 s of warming up on each side.
  const double once = 0.5 + 30 * (0.005 + 0.020) + 0.050 + 0.1;
  EXPECT_NEAR(SecondsOfTiming(latency, std::vector{timed(30, 5), timed(10, 5)}), once, 1e-9);
  EXPECT_NEAR(SecondsOfTiming(latency, std::vector{timed(30, 0.1)}),
              0.5 + 30 * (0.001 + 0.020) + 0.010 + 0.1, 1e-9)
      << "an epoch takes a millisecond at least";
}

TEST(ExpectedTail, CountsTimingsAsTheyWere) {
  const FakeProblem problem;
  const auto tail = [&](double timing_s) {
    return ExpectedTail(Config(0), problem,
                        {.trial_s = 4, .timing_s = timing_s, .samples = 200, .fits_kept = true});
  };
  EXPECT_DOUBLE_EQ(tail(0.4).timing, 0.4);
  EXPECT_DOUBLE_EQ(tail(3).timing, 1.2) << "never more than the config allows";
  EXPECT_DOUBLE_EQ(tail(0.4).answer, 1 + 3) << "what was fitted is not fitted again";
  EXPECT_DOUBLE_EQ(tail(3).answer, 1 + 2.8);
}

TEST(ExpectedTail, GoesByWhatTrialsTook) {
  const FakeProblem problem;
  const SearchConfig config = Config(0);
  // A trial of 4 s: at most 1.2 s of it is timing, the rest judges 100 samples; finalists have 200.
  const TailTime tail = ExpectedTail(config, problem, {.trial_s = 4, .samples = 200});
  EXPECT_DOUBLE_EQ(tail.timing, 1.2);
  EXPECT_DOUBLE_EQ(tail.judging, 2 * 2.8);
  // ONNX Runtime is timed like a finalist, and once more with the exported best.
  EXPECT_DOUBLE_EQ(tail.finalists, 4 * 5.6 + 3 * (4 + 1) * 1.2 + 1.2 + 2.8);
  EXPECT_DOUBLE_EQ(tail.explanation, 3 * 4.0) << "three decisions";
  EXPECT_EQ(tail.sensitivities, 0) << "none can be tried alone";
}

TEST(ExpectedTail, CountsTheSamplesThatTrialsDidNotSee) {
  const FakeProblem problem;
  const auto judging = [&](double sample_s) {
    return ExpectedTail(Config(0), problem, {.trial_s = 4, .samples = 200, .sample_s = sample_s})
        .judging;
  };
  EXPECT_DOUBLE_EQ(judging(0.01), 2.8 + 100 * 0.01) << "the rest of a trial is its fit";
  EXPECT_DOUBLE_EQ(judging(1), 2 * 2.8) << "never more than by the time of a trial";
}

TEST(ExpectedTail, CountsNoFitThatIsKept) {
  const FakeProblem problem;
  const auto judging = [&](double trial_s) {
    return ExpectedTail(Config(0), problem,
                        {.trial_s = trial_s, .samples = 200, .sample_s = 0.01, .fits_kept = true})
        .judging;
  };
  EXPECT_DOUBLE_EQ(judging(20), 3 + 200 * 0.01) << "building and judging";
  EXPECT_DOUBLE_EQ(judging(4), 2.8 + 100 * 0.01) << "never more than with the fit";
}

TEST(ExpectedTail, IsNoMoreThanItsPartsOfTheBudget) {
  const FakeProblem problem;
  for (const double budget : {1.0, 20.0, 150.0}) {
    const TailTime tail =
        ExpectedTail(Config(budget), problem, {.trial_s = 1000, .samples = 10000});
    EXPECT_LE(tail.All(), budget / 2 + 1e-9);
    EXPECT_LE(tail.finalists, budget / 4);
  }
}

TEST(ShrunkTo, ShortensEachPhaseAlike) {
  const TailTime tail{
      .judging = 3, .sensitivities = 4, .finalists = 20, .explanation = 10, .answer = 6};
  EXPECT_EQ(ShrunkTo(tail, 40).finalists, 20);
  const TailTime half = ShrunkTo(tail, 20);
  EXPECT_EQ(half.sensitivities, 2);
  EXPECT_EQ(half.finalists, 10);
  EXPECT_EQ(half.explanation, 5);
  EXPECT_EQ(half.answer, 3);
  EXPECT_EQ(half.judging, 3) << "that takes as long as it takes";
}

TEST(FinalTimeOf, LeavesWhatComesAfterFinalists) {
  double now = 0;
  TimeBudget time(100, [&] { return now; });
  const TailTime tail{.finalists = 25, .explanation = 10, .answer = 5};
  const FinalTime limited = FinalTimeOf(time, tail);
  EXPECT_EQ(limited.until, 85);
  EXPECT_EQ(limited.end, 95);
  const TimeBudget none;
  EXPECT_TRUE(std::isinf(FinalTimeOf(none, tail).until));
  EXPECT_TRUE(std::isinf(FinalTimeOf(none, tail).end));
}

TEST(PartEnd, LeavesWhatFollowsTheTrials) {
  double now = 0;
  TimeBudget time(100, [&] { return now; });
  EXPECT_EQ(PartEnd(time, 0.25), 25);
  time.AddEarlier(45);
  EXPECT_EQ(PartEnd(time, 0.25), 50);
}

TEST(UsedText, NamesTheBudgetWhereThereIsOne) {
  EXPECT_EQ(UsedText(12.34, 60), "12.3 s used of time_budget_s 60");
  EXPECT_EQ(UsedText(12.34, 0), "12.3 s used");
}

}  // namespace
}  // namespace msc::gym
