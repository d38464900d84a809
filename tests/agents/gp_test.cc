#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "agents/common/additive.h"
#include "agents/gp/gaussian_process.h"
#include "agents/gp/improvement.h"
#include "agents/gp/limit_process.h"
#include "agents/gp/reference_point.h"
#include "agents/gp/relevance.h"
#include "agents/gp/value_process.h"
#include "compiler/base/rng.h"
#include "gym/core/pareto.h"
#include "tests/agents/small_space.h"

namespace msc::agents {
namespace {

using gym::AdditiveCost;
using gym::Assignment;
using gym::Decision;
using gym::Hypervolume;

TEST(GaussianProcess, ComesBackToWhatItWasShown) {
  Rng rng(2);
  const AdditiveCost truth = RandomCost(rng);
  const auto all = All(kDecisions);
  std::vector<const Assignment*> shown;
  std::vector<double> values;
  for (std::size_t i = 0; i < all.size(); i += 2) {
    shown.push_back(&all[i]);
    values.push_back(ValueOf(truth, all[i]));
  }
  const GaussianProcess process(kDecisions, shown, values,
                                std::vector<double>(kDecisions.size(), 1.0));
  const auto predictions = process.Predict(shown);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    EXPECT_NEAR(predictions[i].mean, values[i], 0.3);
  }
  // A sum over decisions is in reach of the linear part, so the rest follows from half.
  for (std::size_t i = 1; i < all.size(); i += 2) {
    const Assignment* point = &all[i];
    const Prediction unseen = process.Predict({&point, 1})[0];
    EXPECT_NEAR(unseen.mean, ValueOf(truth, all[i]), std::max(0.5, 5 * unseen.deviation));
  }
}

TEST(GaussianProcess, IsSurerOfWhatItSawThanOfWhatItDidNot) {
  const auto all = All(kDecisions);
  const std::vector<const Assignment*> shown = {&all[0], &all[1], &all[2]};
  GaussianProcess process(kDecisions, shown, std::vector<double>{1, 2, 4},
                          std::vector<double>(4, 1.0));
  const Assignment* far = &all[23];
  const double before = process.Predict({&far, 1})[0].deviation;
  EXPECT_GT(before, process.Predict(shown)[0].deviation);
  const double mean = process.Predict({&far, 1})[0].mean;
  process.Believe(*far);
  EXPECT_LT(process.Predict({&far, 1})[0].deviation, before);
  EXPECT_NEAR(process.Predict({&far, 1})[0].mean, mean, 0.2);
}

TEST(GaussianProcess, BearsValuesThatAreAllEqual) {
  const auto all = All(kDecisions);
  const std::vector<const Assignment*> shown = {&all[0], &all[1], &all[0]};
  const GaussianProcess process(kDecisions, shown, std::vector<double>{2, 2, 2},
                                std::vector<double>(4, 1.0));
  EXPECT_NEAR(process.Predict(shown)[0].mean, 2, 1e-6);
}

TEST(ExpectedRelevance, GoesHalfByEstimatesElseByWhatIsKnownOfDecisions) {
  gym::AgentSetup setup;
  setup.decisions = {{"a", {"x", "y"}}, {"b", {"x", "y"}}};
  setup.constraints = 1;
  using Shares = std::vector<std::vector<double>>;
  EXPECT_EQ(ExpectedRelevance(setup), (Shares{{0.5, 0.5}, {0.5, 0.5}}));
  setup.prior.relevance = {30, 10};
  EXPECT_EQ(ExpectedRelevance(setup), (Shares{{0.625, 0.375}, {0.625, 0.375}}));
  setup.prior.relevance = {0, 0};
  EXPECT_EQ(ExpectedRelevance(setup), (Shares{{0.5, 0.5}, {0.5, 0.5}}));
  // Of the objective nothing is estimated.
  setup.prior.relevance = {30, 10};
  setup.estimates = {{.offset = 1, .effects = {{0, 0}, {0, 0}}},
                     {.offset = 0, .effects = {{0, 0}, {-3, 1}}}};
  EXPECT_EQ(ExpectedRelevance(setup), (Shares{{0.625, 0.375}, {0.25, 0.75}}));
}

TEST(UpdatedRelevance, GoesByResultsTheMoreThereAre) {
  const std::vector<Decision> decisions = {{"a", {"x", "y", "z"}}, {"b", {"x", "y", "z"}}};
  const std::vector<double> expected = {0.75, 0.25};
  const std::vector<double> fitted = {0, 7};
  EXPECT_EQ(UpdatedRelevance(decisions, expected, fitted, 0), expected);
  double before = 0.25;
  for (const std::size_t seen : {1U, 4U, 100U, 10000U}) {
    const std::vector<double> now = UpdatedRelevance(decisions, expected, fitted, seen);
    EXPECT_NEAR(now[0] + now[1], 1, 1e-12);
    EXPECT_GT(now[1], before) << seen;
    before = now[1];
  }
  EXPECT_NEAR(before, 0.8 + 0.2 * 0.25, 1e-3);
  // Results that tell nothing apart make all alike.
  const std::vector<double> equal =
      UpdatedRelevance(decisions, expected, std::vector<double>{0, 0}, 100);
  EXPECT_LT(equal[0], 0.6);
}

TEST(GaussianProcess, LearnsOfADecisionFromOthersWithItsChoices) {
  // Six decisions of one kind and one of another; changing any of the first five takes as much off.
  std::vector<Decision> decisions(7, {"layer", {"f32", "int8"}});
  decisions[6] = {"calibration", {"minmax", "mse"}};
  std::vector<Assignment> seen = {Assignment(7, 0)};
  for (std::size_t d = 0; d < 5; ++d) {
    seen.emplace_back(7, 0);
    seen.back()[d] = 1;
    seen.push_back(seen.back());
    seen.back()[(d + 1) % 5] = 1;
  }
  std::vector<const Assignment*> shown;
  std::vector<double> values;
  for (const Assignment& assignment : seen) {
    shown.push_back(&assignment);
    values.push_back(10.0 -
                     static_cast<double>(std::count(assignment.begin(), assignment.end(), 1)));
  }
  const GaussianProcess process(decisions, shown, values, std::vector<double>(7, 1.0));
  const Assignment base(7, 0);
  const auto effect = [&](std::size_t decision) {
    Assignment changed = base;
    changed[decision] = 1;
    const std::vector<const Assignment*> points = {&base, &changed};
    const auto predictions = process.Predict(points);
    return predictions[1].mean - predictions[0].mean;
  };
  EXPECT_NEAR(effect(5), -1, 0.3);
  EXPECT_NEAR(effect(6), 0, 0.3);
}

TEST(GaussianProcess, ReadsTheMiddleOfOrderedChoicesFromTheirEnds) {
  // Choices that go up evenly, the ends of each decision and some middles seen.
  const std::vector<Decision> decisions(4, {"d", {"u", "v", "w", "x", "y"}});
  std::vector<Assignment> seen;
  for (std::int32_t n = 0; n < 16; ++n) {
    seen.push_back({4 * (n & 1), 2 * (n & 2), n & 4, (n & 8) / 2});
  }
  for (std::int32_t d = 0; d < 3; ++d) seen.push_back(Assignment(4, d));
  const auto truth = [](const Assignment& at) {
    return static_cast<double>(at[0] + 2 * at[1] + 3 * at[2] + at[3]);
  };
  std::vector<const Assignment*> shown;
  std::vector<double> values;
  for (const Assignment& assignment : seen) {
    shown.push_back(&assignment);
    values.push_back(truth(assignment));
  }
  const GaussianProcess process(decisions, shown, values, std::vector<double>(4, 1.0));
  for (const Assignment& middle : {Assignment{2, 4, 0, 4}, Assignment{0, 2, 4, 0}}) {
    const Assignment* const at = &middle;
    EXPECT_NEAR(process.Predict({&at, 1})[0].mean, truth(middle), 1.5);
  }
}

// --- Expected gains ------------------------------------------------------------------------------

double Normal(Rng& rng) {
  return std::sqrt(-2 * std::log(1 - rng.Uniform())) * std::cos(6.283185307179586 * rng.Uniform());
}

/// So many deviations above the median.
double ValueAt(const Prediction& expected, double deviations) {
  const double value = expected.mean + deviations * expected.deviation;
  return std::isfinite(expected.floor) ? expected.floor + std::exp(value) : value;
}

TEST(ExpectedImprovement, IsTheMeanOverDraws) {
  Rng rng(4);
  for (const double least : {-1.0, 0.5, 2.0}) {
    const Prediction expected{.mean = 0.7, .deviation = 0.6};
    double sum = 0;
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) {
      sum += std::max(least - expected.mean - expected.deviation * Normal(rng), 0.0);
    }
    EXPECT_NEAR(ExpectedImprovement(expected, least), sum / kDraws, 0.02);
    EXPECT_NEAR(std::exp(LogExpectedImprovement(expected, least)),
                ExpectedImprovement(expected, least), 1e-12);
  }
}

TEST(ExpectedImprovement, OfLogarithmsIsTheMeanOverDraws) {
  Rng rng(5);
  for (const double least : {-2.0, -1.0, 0.0, 1.5, 8.0}) {
    const Prediction expected{.mean = 0.4, .deviation = 0.7, .floor = -1};
    double sum = 0;
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) {
      sum += std::max(least - ValueAt(expected, Normal(rng)), 0.0);
    }
    EXPECT_NEAR(ExpectedImprovement(expected, least), sum / kDraws, 0.03) << least;
  }
}

TEST(ExpectedImprovement, OfLogarithmsIsANumberForAnyDoubt) {
  for (const double deviation : {1e-9, 1.0, 40.0, 500.0}) {
    for (const double mean : {-700.0, -5.0, 0.0, 5.0, 700.0}) {
      const double gain =
          ExpectedImprovement({.mean = mean, .deviation = deviation, .floor = 0}, 2);
      EXPECT_GE(gain, 0) << mean << " " << deviation;
      EXPECT_LE(gain, 2) << mean << " " << deviation;
    }
  }
}

TEST(LimitProcess, TellsWhatKeepsALimitFromWhatDoesNot) {
  Rng rng(4);
  const AdditiveCost truth = RandomCost(rng);
  const auto all = All(kDecisions);
  for (const bool multiplies : {false, true}) {  // sums, or what spans orders of magnitude
    std::vector<double> sorted;
    for (const Assignment& each : all) sorted.push_back(ValueOf(truth, each));
    std::sort(sorted.begin(), sorted.end());
    const double limit = sorted[sorted.size() / 3];
    const auto excess = [&](const Assignment& at) {
      const double above = ValueOf(truth, at) - limit;
      return multiplies ? std::exp(3 * above) - 1 : above;
    };
    std::vector<const Assignment*> shown;
    std::vector<double> excesses;
    for (std::size_t i = 0; i < all.size(); i += 2) {
      shown.push_back(&all[i]);
      excesses.push_back(excess(all[i]));
    }
    const LimitProcess process(kDecisions, shown, excesses,
                               std::vector<double>(kDecisions.size(), 1.0));
    // Who is nearer to the limit than a quarter of the range may go either way.
    const double margin = (sorted.back() - sorted.front()) / 4;
    int clear = 0;
    for (std::size_t i = 1; i < all.size(); i += 2) {
      const Assignment* const point = &all[i];
      const double chance = process.LogChances({&point, 1})[0];
      EXPECT_LE(chance, 1e-12);
      if (std::abs(ValueOf(truth, all[i]) - limit) < margin) continue;
      ++clear;
      EXPECT_EQ(chance >= std::log(0.5), excess(all[i]) <= 0) << i << " " << multiplies;
    }
    EXPECT_GT(clear, 0);
  }
}

TEST(LimitProcess, IsSurerOfWhatItIsToBelieve) {
  const auto all = All(kDecisions);
  const std::vector<const Assignment*> shown = {&all[0], &all[1], &all[2]};
  LimitProcess process(kDecisions, shown, std::vector<double>{-0.9, -0.5, 40},
                       std::vector<double>(4, 1.0));
  const Assignment* const near = &all[3];
  const bool kept = process.LogChances({&near, 1})[0] >= std::log(0.5);
  process.Believe(*near);
  EXPECT_EQ(process.LogChances({&near, 1})[0] >= std::log(0.5), kept);
}

TEST(LimitProcess, GoesByWhatIsExpectedFarFromAllResults) {
  Rng rng(11);
  const AdditiveCost truth = RandomCost(rng);
  const auto all = All(kDecisions);
  std::vector<double> sorted;
  for (const Assignment& each : all) sorted.push_back(ValueOf(truth, each));
  std::sort(sorted.begin(), sorted.end());
  AdditiveCost expected = truth;
  expected.offset -= sorted[sorted.size() / 2];
  const std::vector<const Assignment*> shown = {&all[0], &all[7], &all[20]};
  std::vector<double> excesses;
  for (const Assignment* each : shown) excesses.push_back(ValueOf(expected, *each));
  const LimitProcess process(kDecisions, shown, excesses,
                             std::vector<double>(kDecisions.size(), 1.0), &expected);
  for (const Assignment& each : all) {
    const double excess = ValueOf(expected, each);
    if (std::abs(excess) < 1e-6) continue;
    const Assignment* const point = &each;
    EXPECT_EQ(process.LogChances({&point, 1})[0] >= std::log(0.5), excess < 0) << excess;
  }
}

TEST(ValueProcess, GoesByWhatIsExpectedFarFromAllResults) {
  Rng rng(12);
  const AdditiveCost expected = RandomCost(rng);
  const auto all = All(kDecisions);
  const std::vector<const Assignment*> shown = {&all[0], &all[7], &all[20]};
  std::vector<double> values;
  for (const Assignment* each : shown) values.push_back(ValueOf(expected, *each));
  const ValueProcess process(Shape::kAsTheyAre, kDecisions, shown, values,
                             std::vector<double>(kDecisions.size(), 1.0), &expected);
  for (const Assignment& each : all) {
    EXPECT_NEAR(process.Median(each), ValueOf(expected, each), 1e-6);
  }
}

TEST(ValueProcess, TakesLogarithmsWhereEffectsMultiplyAndValuesWhereTheyAdd) {
  const std::vector<Decision> decisions(5, Decision{"layer", {"x", "y", "z"}});
  const auto all = All(decisions);
  const std::vector<double> relevance(decisions.size(), 1.0);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Rng rng(seed);
    AdditiveCost effects{.offset = 0, .effects = {}};
    for (std::size_t d = 0; d < decisions.size(); ++d) {
      effects.effects.push_back({0, 2 * rng.Uniform(), 2 * rng.Uniform()});
    }
    std::vector<const Assignment*> shown;
    std::vector<double> sums;
    std::vector<double> products;
    for (const Assignment& assignment : all) {
      if (rng.Below(4) > 0) continue;
      shown.push_back(&assignment);
      sums.push_back(ValueOf(effects, assignment));
      products.push_back(std::exp(sums.back()));
    }
    const ValueProcess added(Shape::kMaybeLogarithms, decisions, shown, sums, relevance);
    EXPECT_FALSE(added.is_of_logarithms()) << seed;
    const ValueProcess multiplied(Shape::kMaybeLogarithms, decisions, shown, products, relevance);
    EXPECT_TRUE(multiplied.is_of_logarithms()) << seed;
    const ValueProcess kept(Shape::kAsTheyAre, decisions, shown, products, relevance);
    EXPECT_FALSE(kept.is_of_logarithms()) << seed;
    double wrong = 0;
    double wrong_kept = 0;
    for (const Assignment& assignment : all) {
      const double value = std::exp(ValueOf(effects, assignment));
      wrong += std::abs(multiplied.Median(assignment) - value);
      wrong_kept += std::abs(kept.Median(assignment) - value);
    }
    EXPECT_LT(wrong, 0.5 * wrong_kept) << seed;
  }
}

TEST(ValueProcess, BearsValuesThatAreAllEqual) {
  const auto all = All(kDecisions);
  const std::vector<const Assignment*> shown = {&all[0], &all[1], &all[2]};
  const ValueProcess process(Shape::kMaybeLogarithms, kDecisions, shown,
                             std::vector<double>{2, 2, 2}, std::vector<double>(4, 1.0));
  EXPECT_FALSE(process.is_of_logarithms());
  EXPECT_NEAR(process.Median(all[5]), 2, 1e-6);
}

TEST(ExpectedImprovement, TellsFarCandidatesApartByItsLogarithm) {
  double before = 1;
  for (double z = -1; z > -200; z -= 0.25) {
    const double now = LogExpectedImprovement({.mean = -z, .deviation = 1}, 0);
    EXPECT_LT(now, before) << z;
    before = now;
    EXPECT_LT(LogNormalProbability(z - 0.25), LogNormalProbability(z));
  }
}

TEST(ReferencePoint, LeavesOutTheWorstTwentiethOfASpace) {
  const std::vector<std::vector<double>> front = {{1, 20}, {3, 10}};
  const std::vector<double> worst = {9, 90};
  std::vector<std::vector<double>> expected(2);
  for (int i = 100; i >= 0; --i) {
    expected[0].push_back(i * 0.025);  // 95 % lie below 2.375
    expected[1].push_back(i);
  }
  EXPECT_EQ(ReferencePoint(front, worst, expected), (std::vector<double>{2.375, 95}));
  // Where it lies below the whole front, nothing would be gained.
  for (double& value : expected[0]) value -= 2;
  EXPECT_EQ(ReferencePoint(front, worst, expected), (std::vector<double>{9, 95}));
  EXPECT_EQ(ReferencePoint(front, worst, {{5}, {0}}), (std::vector<double>{5, 90}));
}

TEST(HypervolumeGain, IsTheMeanGainOfHypervolumeOverDraws) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Rng rng(seed);
    const std::size_t objectives = 1 + seed % 4;
    const std::vector<double> reference(objectives, 1.0);
    std::vector<std::vector<double>> front;
    for (std::uint64_t i = 0; i < seed; ++i) {  // some dominated, some beyond the reference
      auto& point = front.emplace_back();
      for (std::size_t k = 0; k < objectives; ++k) point.push_back(1.2 * rng.Uniform());
    }
    std::vector<Prediction> expected;
    for (std::size_t k = 0; k < objectives; ++k) {
      expected.push_back({.mean = rng.Uniform(), .deviation = 0.1 + 0.3 * rng.Uniform()});
      if ((seed + k) % 3 == 0) expected.back().floor = -1;
    }
    const double volume = Hypervolume(front, reference);
    auto more = front;
    more.emplace_back(objectives);
    double sum = 0;
    constexpr int kDraws = 4000;
    for (int i = 0; i < kDraws; ++i) {
      for (std::size_t k = 0; k < objectives; ++k) {
        more.back()[k] = ValueAt(expected[k], Normal(rng));
      }
      sum += Hypervolume(more, reference) - volume;
    }
    const double gain = HypervolumeGain(front, reference).Expect(expected);
    EXPECT_NEAR(gain, sum / kDraws, 0.01 + 0.1 * gain) << seed;
    // Without doubt it is what the point itself gains.
    for (Prediction& prediction : expected) prediction.deviation = 1e-9;
    for (std::size_t k = 0; k < objectives; ++k) more.back()[k] = ValueAt(expected[k], 0);
    EXPECT_NEAR(HypervolumeGain(front, reference).Expect(expected),
                Hypervolume(more, reference) - volume, 1e-6);
  }
}

TEST(HypervolumeGain, HasSomeThousandBoxesAtMostOfASparseFront) {
  Rng rng(1);
  for (const std::size_t objectives : {2, 3, 5}) {
    std::vector<std::vector<double>> front(300, std::vector<double>(objectives));
    for (auto& point : front) {
      for (double& value : point) value = rng.Uniform();
    }
    const HypervolumeGain gain(SparseFront(front), std::vector<double>(objectives, 1.0));
    EXPECT_GE(gain.boxes(), 20U);
    EXPECT_LE(gain.boxes(), 4000U);
  }
}

}  // namespace
}  // namespace msc::agents
