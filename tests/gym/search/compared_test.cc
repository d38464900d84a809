#include "gym/search/compared.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "cost/measure/statistics.h"

namespace msc::gym {
namespace {

cost::Latency Ratio(double ratio, double low, double high) {
  cost::Latency latency;
  latency.median_ns = 1e6 * ratio;
  latency.reference_median_ns = 1e6;
  latency.ratio = ratio;
  latency.ratio_low = low;
  latency.ratio_high = high;
  return latency;
}

cost::Outcome Timed(double ratio) {
  cost::Outcome outcome;
  outcome.latency = Ratio(ratio, ratio, ratio);
  return outcome;
}

Compared On(const std::string& target, const std::string& version, bool exported = false) {
  Compared compared;
  compared.target = target;
  compared.version = version;
  compared.exported = exported;
  return compared;
}

TEST(SpeedAgainst, HasTheIntervalOfTheOneThatIsNotExact) {
  const SpeedRatio slow = SpeedAgainst(Ratio(0.5, 0.5, 0.5), Ratio(1, 0.9, 1.2));
  EXPECT_NEAR(slow.value, 2, 1e-12);
  EXPECT_NEAR(slow.low, 1.8, 1e-12);
  EXPECT_NEAR(slow.high, 2.4, 1e-12);
  EXPECT_TRUE(slow.significant());
  // A slower candidate makes the ratio smaller.
  const SpeedRatio fast = SpeedAgainst(Ratio(1, 0.9, 1.2), Ratio(1, 1, 1));
  EXPECT_NEAR(fast.low, 1 / 1.2, 1e-12);
  EXPECT_NEAR(fast.high, 1 / 0.9, 1e-12);
  EXPECT_FALSE(fast.significant());
}

TEST(SpeedAgainst, HoldsTheTruthInAtLeast95OfAHundredIndependentPairs) {
  Rng rng(7);
  constexpr int kTimes = 400;
  int held = 0;
  const auto measure = [&](double truth) {
    std::vector<double> ratios;
    for (int round = 0; round < 31; ++round) {
      ratios.push_back(truth * std::exp(0.05 * static_cast<double>(rng.Normal())));
    }
    const cost::Interval interval = cost::BootstrapMedian(ratios, rng.Below(1000000));
    return Ratio(cost::Median(ratios), interval.low, interval.high);
  };
  for (int time = 0; time < kTimes; ++time) {
    const cost::Latency fast = measure(0.4);
    const SpeedRatio speed = SpeedAgainst(fast, measure(0.6));
    held += speed.low <= 1.5 && 1.5 <= speed.high ? 1 : 0;
  }
  EXPECT_GE(held, kTimes * 92 / 100);
}

TEST(Compared, AreNamedByTheProductsThatTheyRun) {
  EXPECT_EQ(WhatOf(On("onnxruntime", "1.23.2 AVX2")), "f32 on ONNX Runtime 1.23.2");
  EXPECT_EQ(WhatOf(On("onnxruntime:threads=2", "1.23.2 AVX2", true)),
            "the exported model on ONNX Runtime 1.23.2");
  EXPECT_EQ(WhatOf(On("native:threads=2", "1")), "f32 on native:threads=2");
}

TEST(Compared, SayWhyATargetIsUnavailable) {
  SearchConfig config;
  config.compare = {"native", "no_such_target"};
  const ComparedPlan plan = PlanCompared(config);
  ASSERT_EQ(plan.rows.size(), 2U);
  EXPECT_EQ(plan.timed, std::vector<std::size_t>{0});
  ASSERT_EQ(plan.strategies.size(), 1U);
  EXPECT_EQ(plan.strategies[0].target, "native");
  EXPECT_FALSE(plan.rows[0].version.empty());
  EXPECT_TRUE(plan.rows[1].version.empty());
  EXPECT_NE(plan.rows[1].result.failure().detail.find("no_such_target"), std::string::npos);
}

TEST(Compared, ComparesWithOnnxRuntimeUnlessTold) {
  EXPECT_EQ(SearchConfig().compare, std::vector<std::string>{"onnxruntime"});
}

TEST(IsExported, OnlyWhatChangesTheModelAndFitsIntoAFile) {
  Strategy strategy;
  strategy.quantize.layers["fc"] = Precision::kF32;
  EXPECT_FALSE(IsExported(strategy));
  strategy.quantize.layers["fc"] = Precision::kInt8;
  EXPECT_TRUE(IsExported(strategy));
  strategy.partition.push_back({.nodes = {"fc"}, .target = "native"});
  EXPECT_FALSE(IsExported(strategy));
}

TEST(BestAgainst, NeedsABestThatWasTimed) {
  Findings findings;
  Compared compared = On("onnxruntime", "1.23.2");
  compared.result = Timed(0.9);
  EXPECT_FALSE(BestAgainst(findings, compared));
  Finalist best;
  best.result = cost::Outcome{};
  findings.finalists = {best};
  findings.best = 0;
  EXPECT_FALSE(BestAgainst(findings, compared));
  findings.finalists[0].result = Timed(0.3);
  EXPECT_NEAR(BestAgainst(findings, compared)->value, 3, 1e-12);
  compared.result = Failure{FailureKind::kCompile, "no kernel"};
  EXPECT_FALSE(BestAgainst(findings, compared));
}

}  // namespace
}  // namespace msc::gym
