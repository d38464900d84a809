#include "cost/measure/latency.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "cost/measure/statistics.h"
#include "tests/support/seeds.h"

namespace msc::cost {
namespace {

using std::chrono::nanoseconds;

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoMiddleOnes) {
  EXPECT_EQ(Median(std::vector<double>{3}), 3);
  EXPECT_EQ(Median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(Median(std::vector<double>{4, 1, 3, 2}), 2.5);
}

TEST(MedianPercentageError, IgnoresOneOutlier) {
  EXPECT_EQ(MedianPercentageError(std::vector<double>{10, 10, 10, 10, 1000}), 0);
  EXPECT_DOUBLE_EQ(MedianPercentageError(std::vector<double>{8, 9, 10, 11, 12}), 0.1);
}

TEST(BootstrapMedian, GivesTheSameIntervalForTheSameSeed) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7};
  const Interval a = BootstrapMedian(values, 5);
  const Interval b = BootstrapMedian(values, 5);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_LE(a.low, 4);
  EXPECT_GE(a.high, 4);
}

TEST(BootstrapMedian, CoversTheTrueMedianNineteenTimesOutOfTwenty) {
  // Samples of an exponential distribution, whose median is log 2. The bounds of the share
  // covered are 4 deviations around 95 %.
  const auto kRepeats = static_cast<int>(Seeds(400));
  const double deviation = std::sqrt(0.95 * 0.05 / kRepeats);
  Rng rng(11);
  int covered = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    std::vector<double> values(31);
    for (double& value : values) value = -std::log(1 - rng.Uniform());
    const Interval interval = BootstrapMedian(values, static_cast<std::uint64_t>(repeat));
    covered += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high ? 1 : 0;
  }
  EXPECT_GE(covered, kRepeats * (0.95 - 4 * deviation));
  EXPECT_LE(covered, kRepeats * (0.95 + 4 * deviation));
}

/// A machine that exists in numbers only.
struct FakeMachine {
  double now_ns = 0;
  double speed = 1;  ///< time that a nanosecond of work takes
  double waited_ns = 0;
  double stolen_ns = 0;
  Rng rng{7};
  std::function<void(FakeMachine&)> each_call = [](FakeMachine&) {};

  [[nodiscard]] Call Work(double ns, double noise = 0) {
    return [this, ns, noise] {
      each_call(*this);
      now_ns += ns * speed * std::max(0.1, 1 + noise * rng.Normal());
    };
  }
  [[nodiscard]] Probe MakeProbe() {
    return {[this] { return nanoseconds(static_cast<std::int64_t>(now_ns)); },
            [this] { return nanoseconds(static_cast<std::int64_t>(waited_ns)); },
            [this] { return nanoseconds(static_cast<std::int64_t>(stolen_ns)); },
            [this] { now_ns += 10'000 * speed; }};
  }
  Latency Compare(double reference_ns, double candidate_ns, double noise,
                  const LatencyOptions& options = {}) {
    const Call candidate = Work(candidate_ns, noise);
    return MeasureTogether(Work(reference_ns, noise), {&candidate, 1}, options, MakeProbe())[0];
  }
};

TEST(MeasureTogether, FindsTwiceSlowerSignificant) {
  FakeMachine machine;
  const Latency latency = machine.Compare(300'000, 600'000, 0.02);
  EXPECT_TRUE(latency.significant());
  EXPECT_NEAR(latency.ratio, 2, 0.05);
  EXPECT_NEAR(latency.median_ns, 600'000, 15'000);
  EXPECT_NEAR(latency.reference_median_ns, 300'000, 8'000);
  EXPECT_FALSE(latency.noisy);
}

TEST(MeasureTogether, CallsADifferenceOfNothingInsignificant) {
  // A thing is compared with itself 150 times. A 95 % interval misses 1 in 5 % of them, stopping by
  // the interval adds 2 to 4 %: 10 to 13 are expected, with a deviation below 4.
  const std::uint64_t kTimes = Seeds(150);
  int significant = 0;
  LatencyOptions options;
  options.max_rounds = 31;
  for (std::uint64_t seed = 0; seed < kTimes; ++seed) {
    FakeMachine machine;
    machine.rng = Rng(seed);
    significant += machine.Compare(2'000'000, 2'000'000, 0.01, options).significant() ? 1 : 0;
  }
  EXPECT_LE(significant, static_cast<int>(kTimes / 6));
}

TEST(MeasureTogether, CancelsADriftOfTheMachine) {
  FakeMachine machine;
  // Every call is 0.1 % slower than the one before: at the end the machine has a fraction of its
  // speed, and one after the other would be far apart.
  machine.each_call = [](FakeMachine& m) { m.speed *= 1.001; };
  const Latency latency = machine.Compare(2'000'000, 2'000'000, 0.001);
  EXPECT_NEAR(latency.ratio, 1, 0.002);
  EXPECT_FALSE(latency.significant());
}

TEST(MeasureTogether, LetsTheSidesSettleBeforeTheyAreTimed) {
  // Each side finds the caches full of the other's: its first call in a row takes twice as long.
  FakeMachine machine;
  int last = -1;
  const auto side = [&](int number, double ns) {
    return [&machine, &last, number, ns] {
      machine.now_ns += last == number ? ns : 2 * ns;
      last = number;
    };
  };
  const Call candidate = side(1, 3'000'000);
  LatencyOptions options;
  const auto measure = [&] {
    return MeasureTogether(side(0, 3'000'000), {&candidate, 1}, options, machine.MakeProbe())[0];
  };
  EXPECT_EQ(measure().median_ns, 6'000'000);
  options.settle_calls = 1;
  EXPECT_EQ(measure().median_ns, 3'000'000);
}

TEST(MeasureTogether, RepeatsCallsUntilAnEpochIsLongEnough) {
  FakeMachine machine;
  std::int64_t calls = 0;
  machine.each_call = [&calls](FakeMachine&) { ++calls; };
  LatencyOptions options;
  options.max_warmup_ms = 0;
  options.min_rounds = options.max_rounds = 3;
  const Latency latency = machine.Compare(1'000, 1'000, 0, options);
  EXPECT_EQ(latency.median_ns, 1'000);
  EXPECT_EQ(latency.rounds, 3);
  EXPECT_GE(calls, 2 * 3 * 1000);
}

TEST(MeasureTogether, WarmsUpUntilCallsGetNoFasterEvenWhereNoTwoAgree) {
  // Twice as slow at first, faster call by call until the 40th; then never twice the same.
  FakeMachine machine;
  std::int64_t calls = 0;
  machine.each_call = [&calls](FakeMachine& m) {
    ++calls;
    m.now_ns += calls < 40 ? 100'000.0 * static_cast<double>(40 - calls)
                           : 100'000.0 * static_cast<double>(calls % 7);
  };
  LatencyOptions options;
  options.min_rounds = options.max_rounds = 3;
  options.max_warmup_ms = 1'000'000;
  (void)machine.Compare(2'000'000, 2'000'000, 0, options);
  EXPECT_GE(calls, 40);
  EXPECT_LE(calls, 80);
}

TEST(MeasureTogether, StopsAsSoonAsTheIntervalIsNarrow) {
  FakeMachine machine;
  LatencyOptions options;
  options.target_width = 0.05;
  EXPECT_EQ(machine.Compare(2'000'000, 1'000'000, 0.001, options).rounds, options.min_rounds + 5);
  options.target_width = 0;
  EXPECT_EQ(machine.Compare(2'000'000, 1'000'000, 0.001, options).rounds, options.max_rounds);
}

TEST(MeasureTogether, KeepsToItsBudgetOfTime) {
  FakeMachine machine;
  LatencyOptions options;
  options.max_ms = 1000;
  options.max_warmup_ms = 0;
  const Latency latency = machine.Compare(50'000'000, 50'000'000, 0.1, options);
  EXPECT_GE(latency.rounds, 3);
  EXPECT_LE(machine.now_ns, 1.5e9);
}

TEST(MeasureTogether, MeasuresADisturbedRoundAgain) {
  FakeMachine machine;
  std::int64_t calls = 0;
  machine.each_call = [&calls](FakeMachine& m) {
    if (++calls % 17 != 0) return;
    m.waited_ns += 30'000'000;
    m.now_ns += 30'000'000;
  };
  const Latency latency = machine.Compare(2'000'000, 2'000'000, 0.001);
  EXPECT_NEAR(latency.ratio, 1, 0.005);
  EXPECT_FALSE(latency.noisy);
}

TEST(MeasureTogether, SaysThatAMachineWhichNeverRestsIsNoisy) {
  FakeMachine machine;
  machine.each_call = [](FakeMachine& m) { m.waited_ns += 1'000'000; };
  const Latency latency = machine.Compare(2'000'000, 2'000'000, 0.001);
  EXPECT_TRUE(latency.noisy);
  EXPECT_EQ(latency.rounds, LatencyOptions().max_rounds) << "no better ones are waited for";
}

TEST(MeasureTogether, SaysThatAWideSpreadIsNoisy) {
  FakeMachine machine;
  EXPECT_TRUE(machine.Compare(2'000'000, 2'000'000, 0.2).noisy);
}

TEST(MeasureTogether, SaysThatAMachineWhoseTimeIsStolenIsNoisy) {
  FakeMachine machine;
  machine.each_call = [](FakeMachine& m) { m.stolen_ns += 100'000; };
  EXPECT_TRUE(machine.Compare(2'000'000, 2'000'000, 0.001).noisy);
}

TEST(MeasureTogether, ComparesSeveralCandidatesUnderTheSameDrift) {
  FakeMachine machine;
  machine.each_call = [](FakeMachine& m) { m.speed *= 1.0005; };
  const std::vector<Call> candidates = {machine.Work(1'000'000), machine.Work(2'000'000),
                                        machine.Work(4'000'000)};
  const auto latencies =
      MeasureTogether(machine.Work(2'000'000), candidates, {}, machine.MakeProbe());
  ASSERT_EQ(latencies.size(), 3U);
  EXPECT_NEAR(latencies[0].ratio, 0.5, 0.005);
  EXPECT_NEAR(latencies[1].ratio, 1.0, 0.005);
  EXPECT_NEAR(latencies[2].ratio, 2.0, 0.01);
}

TEST(MeasureRivals, GiveUpTheSlowOnes) {
  FakeMachine machine;
  std::vector<int> calls(4);
  std::vector<Call> rivals;
  for (const double ns : {4e6, 2e6, 5e6, 20e6}) {
    rivals.emplace_back([&calls, i = rivals.size(), work = machine.Work(ns, 0.01)] {
      ++calls[i];
      work();
    });
  }
  RivalOptions options;
  options.latency.target_width = 0;
  for (const bool gives_up : {false, true}) {
    options.give_up = gives_up ? 2.2 : 0;
    calls.assign(4, 0);
    const auto latencies = MeasureRivals(rivals, options, machine.MakeProbe());
    ASSERT_EQ(latencies.size(), 4U);
    EXPECT_EQ(latencies[0].ratio, 1);
    EXPECT_EQ(latencies[0].rounds, options.latency.max_rounds) << "ratios are to the first";
    EXPECT_NEAR(latencies[1].ratio, 0.5, 0.01);
    EXPECT_EQ(latencies[1].rounds, options.latency.max_rounds);
    EXPECT_NEAR(latencies[2].ratio, 1.25, 0.03);
    EXPECT_EQ(latencies[2].rounds, gives_up ? 3 : options.latency.max_rounds);
    EXPECT_FALSE(latencies[2].noisy);
    EXPECT_NEAR(latencies[3].ratio, 5, 0.15);
    EXPECT_NEAR(latencies[3].median_ns, 20e6, 1e6);
    EXPECT_EQ(latencies[3].rounds, gives_up ? 0 : options.latency.max_rounds);
    EXPECT_EQ(latencies[3].noisy, gives_up) << "known from the warm-up alone";
    EXPECT_LE(calls[3], gives_up ? 25 : 1000);
  }
  const Latency alone = MeasureRivals({rivals.data() + 3, 1}, options, machine.MakeProbe())[0];
  EXPECT_EQ(alone.rounds, options.latency.min_rounds + 5) << "two looks, at no interval";
  EXPECT_NEAR(alone.median_ns, 20e6, 1e6);
}

TEST(MeasureRivals, TimeSingleCallsAfterWhatIsToComeBefore) {
  // A call is cheap while what it needs is in the cache, where a call leaves it.
  FakeMachine machine;
  bool cached = false;
  std::vector<std::size_t> told;
  const Call call = [&] {
    machine.now_ns += cached ? 10'000 : 50'000;
    cached = true;
  };
  RivalOptions options;
  options.before_round = [&] {
    machine.now_ns += 1e6;
    cached = false;
  };
  options.before_call = [&](std::size_t rival) { told.push_back(rival); };
  const std::vector<Call> rivals = {call, call};
  const auto latencies = MeasureRivals(rivals, options, machine.MakeProbe());
  ASSERT_GE(told.size(), 4U);
  EXPECT_EQ(std::vector<std::size_t>(told.begin(), told.begin() + 4),
            (std::vector<std::size_t>{0, 1, 1, 0}))
      << "once a call, in the order of the rounds";
  EXPECT_EQ(latencies[0].rounds, static_cast<std::int64_t>(told.size() / 2));
  EXPECT_EQ(latencies[0].median_ns, 50'000 + 10'000 - latencies[1].median_ns)
      << "one call an epoch, and the time before is nobody's";
  options.before_round = {};
  options.before_call = [&](std::size_t /*rival*/) { cached = false; };
  EXPECT_EQ(MeasureRivals(rivals, options, machine.MakeProbe())[1].median_ns, 50'000);
}

TEST(MeasureLatency, RunsOnTheRealMachine) {
  volatile double sink = 1;
  const Call work = [&sink] {
    for (int i = 0; i < 1000; ++i) sink = sink * 1.0000001;
  };
  LatencyOptions options;
  options.min_rounds = options.max_rounds = 3;
  options.min_epoch_us = 100;
  options.max_warmup_ms = 5;
  const Latency latency = MeasureLatency(work, work, options);
  EXPECT_GT(latency.median_ns, 0);
  EXPECT_GT(latency.ratio, 0);
  EXPECT_GE(latency.rounds, 3);
}

TEST(Combine, TakesMediansAndTheHullOfIntervals) {
  const std::vector<Latency> repeats = {{10, 20, 0.5, 0.45, 0.55, 11, false},
                                        {12, 20, 0.6, 0.58, 0.62, 11, true},
                                        {11, 22, 0.5, 0.40, 0.51, 31, false}};
  EXPECT_EQ(CombineLatencies(repeats), (Latency{11, 20, 0.5, 0.40, 0.62, 53, true}));
}

}  // namespace
}  // namespace msc::cost
