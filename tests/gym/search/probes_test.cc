#include "gym/search/probes.h"

#include <gtest/gtest.h>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"

namespace msc::gym {
namespace {

envs::ModelContext ContextOf(cost::Evaluator& evaluator) {
  return {.graph = std::make_shared<const Graph>(), .evaluator = &evaluator, .target = "native"};
}

/// Groups of channels, and layers that can be f32 or int8.
class Layers final : public envs::StrategyProblem {
 public:
  Layers(std::size_t count, cost::Evaluator& evaluator, std::size_t groups = 0)
      : StrategyProblem("Layers-v0", ContextOf(evaluator)) {
    for (std::size_t i = 0; i < groups; ++i) {
      decisions_.push_back({"group" + std::to_string(i), {"1", "0.5"}, "density", {1, 0.5}});
    }
    for (std::size_t i = 0; i < count; ++i) {
      decisions_.push_back({"layer" + std::to_string(i), {"f32", "int8"}, "bits", {32, 8}});
    }
  }

 private:
  const std::vector<Decision>& DoDecisions() const override { return decisions_; }
  Strategy DoStrategyOf(const Assignment& assignment) const override {
    Strategy strategy;
    for (std::size_t i = 0; i < decisions_.size(); ++i) {
      if (assignment[i] == 1) strategy.quantize.layers[decisions_[i].name] = Precision::kInt8;
    }
    return strategy;
  }

  std::vector<Decision> decisions_;
};

/// As fast as it is asked; remembers how much it was asked for at a time.
class Batches final : public cost::Evaluator {
 public:
  std::vector<std::size_t> sizes;

 private:
  void DoEvaluate(std::span<const cost::Candidate> batch, const Done& done,
                  const std::function<bool()>& stop) override {
    sizes.push_back(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (stop && stop()) return;
      done(i, cost::Outcome());
    }
  }
};

const auto kSilent = [](const std::string&) {};
const auto kNever = [] { return false; };

TEST(ProbeOf, IsMostBitsOfIntegersOrTheDensityNearestToAHalf) {
  const Decision bits{"conv", {"plain", "half", "whole", "narrow"}, "bits", {32, 16, 8, 4}};
  EXPECT_EQ(ProbeOf(bits), 2);
  EXPECT_EQ(ProbeOf({"group", {"all", "most", "some"}, "density", {1, 0.7, 0.4}}), 2);
  EXPECT_EQ(ProbeOf({"conv", {"f32", "bf16"}, "bits", {32, 16}}), std::nullopt);
}

TEST(ProbeOf, GoesByWhatChoicesCountAndNotByTheirWords) {
  EXPECT_EQ(ProbeOf({"rate", {"0.5", "0.1"}, "rate", {0.5, 0.1}}), std::nullopt);
  EXPECT_EQ(ProbeOf({"kernel", {"0.5", "int8"}}), std::nullopt);
}

TEST(ProbeQuality, MakesAsManyAsArePlannedSpreadOverTheModel) {
  Batches evaluator;
  const ProbeRun run = ProbeQuality(Layers(16, evaluator), evaluator,
                                    {.probes = {4, 0}, .seconds = 1e9}, kSilent, kNever);
  EXPECT_EQ(run.probes, 16U);
  std::vector<std::size_t> decisions;
  for (const auto& [decision, result] : run.result) decisions.push_back(decision);
  EXPECT_EQ(decisions, (std::vector<std::size_t>{0, 4, 8, 12}));
}

TEST(ProbeQuality, TriesPrecisionsBeforeChannels) {
  Batches evaluator;
  const Layers problem(3, evaluator, 2);
  EXPECT_EQ(CountProbes(problem, ProbeKind::kPrecisions), 3U);
  EXPECT_EQ(CountProbes(problem, ProbeKind::kChannels), 2U);
  const auto tried = [&](const ProbeLimits& limits) {
    std::vector<std::size_t> decisions;
    for (const auto& [decision, result] :
         ProbeQuality(problem, evaluator, limits, kSilent, kNever).result) {
      decisions.push_back(decision);
    }
    return decisions;
  };
  // Decisions about channels come first in this problem.
  EXPECT_EQ(tried({.probes = {2, 1}, .seconds = 1e9}), (std::vector<std::size_t>{0, 2, 4}));
  EXPECT_EQ(tried({.seconds = 1e9}), (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST(TimeProbe, MakesTwoOneAfterAnother) {
  Batches evaluator;
  EXPECT_TRUE(TimeProbe(Layers(5, evaluator), evaluator, ProbeKind::kPrecisions,
                        cost::Measure::kQuality, kNever));
  EXPECT_EQ(evaluator.sizes, (std::vector<std::size_t>{1, 1}));
  EXPECT_TRUE(TimeProbe(Layers(1, evaluator), evaluator, ProbeKind::kPrecisions,
                        cost::Measure::kQuality, kNever));
  EXPECT_FALSE(TimeProbe(Layers(5, evaluator), evaluator, ProbeKind::kPrecisions,
                         cost::Measure::kQuality, [] { return true; }));
}

TEST(WithoutRounding, LeavesNothingToFitUnlessChannelsAreGone) {
  Strategy strategy;
  strategy.quantize.rounding = "gptq";
  strategy.fit.samples = "digest";
  Strategy pruned = strategy;
  pruned.prune.groups["conv"] = {.units = 8, .keep = {0, 1}};
  const Strategy nearest = WithoutRounding(strategy);
  EXPECT_EQ(nearest.quantize.rounding, "");
  EXPECT_EQ(nearest.fit.samples, "");
  EXPECT_EQ(WithoutRounding(pruned), pruned);
}

TEST(PlannedProbes, AreAllOrAPowerOfTwo) {
  EXPECT_EQ(PlannedProbes(100, 60, 0.6), 100U);
  EXPECT_EQ(PlannedProbes(100, 60, 0), 100U);
  EXPECT_EQ(PlannedProbes(100, 59, 0.6), 64U);
  // Noise of a third changes nothing here.
  for (const double each : {1.0, 1.2, 1.33, 1.5, 1.8}) EXPECT_EQ(PlannedProbes(100, 60, each), 32U);
  EXPECT_EQ(PlannedProbes(100, 0.1, 5), 2U);
  EXPECT_EQ(PlannedProbes(1, 0.1, 5), 1U);
  EXPECT_EQ(PlannedProbes(0, 0.1, 5), 0U);
}

}  // namespace
}  // namespace msc::gym
