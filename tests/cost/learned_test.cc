#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "cost/learned/boosted_trees.h"
#include "cost/learned/region_features.h"
#include "cost/learned/region_model.h"
#include "cost/learned/sum_fit.h"

namespace msc::cost {
namespace {

using Rows = std::vector<std::vector<double>>;

double Truth(const std::vector<double>& row) {
  return (row[0] > 0.5 ? 3 : 0) + row[1] * row[1] + (row[0] > 0.3 && row[2] > 0.5 ? 2 : 0);
}

Rows Uniform(std::size_t count, std::size_t width, std::uint64_t seed) {
  Rng rng(seed);
  Rows rows(count, std::vector<double>(width));
  for (auto& row : rows) {
    for (double& x : row) x = rng.Uniform();
  }
  return rows;
}

TEST(BoostedTrees, LearnAFunctionWithStepsAndProducts) {
  const Rows rows = Uniform(600, 4, 1);
  std::vector<double> targets;
  for (const auto& row : rows) targets.push_back(Truth(row));
  const BoostedTrees trees(rows, targets);
  const BoostedTrees again(rows, targets);
  double squared = 0;
  for (const auto& row : Uniform(300, 4, 2)) {
    squared += std::pow(trees.Predict(row) - Truth(row), 2);
    EXPECT_EQ(trees.Predict(row), again.Predict(row));
  }
  EXPECT_LT(std::sqrt(squared / 300), 0.6) << "of a deviation of 1.9";
}

TEST(BoostedTrees, SayTheMeanWhereNothingTellsSamplesApart) {
  const Rows same(8, {1, 2});
  const std::vector<double> targets = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_NEAR(BoostedTrees(same, targets, {.share = 1}).Predict(same[0]), 4.5, 1e-12);
  const BoostedTrees one(Rows{{1, 2}}, std::vector<double>{7});
  EXPECT_EQ(one.Predict(same[0]), 7);
  EXPECT_EQ(BoostedTrees().Predict(same[0]), 0);
  const Rows apart = {{0}, {0}, {1}, {1}};
  const BoostedTrees two(apart, std::vector<double>{1, 1, 5, 5}, {.least = 1, .share = 1});
  EXPECT_NEAR(two.Predict(apart[0]), 1, 1e-6);
  EXPECT_NEAR(two.Predict(apart[2]), 5, 1e-6);
}

TEST(BoostedTrees, RefuseWhatIsNoSample) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(BoostedTrees(Rows{}, std::vector<double>{}), InternalError);
  EXPECT_THROW(BoostedTrees(Rows{{1}, {1, 2}}, std::vector<double>{1, 2}), InternalError);
  EXPECT_THROW(BoostedTrees(Rows{{nan}}, std::vector<double>{1}), InternalError);
  EXPECT_THROW(BoostedTrees(Rows{{1}}, std::vector<double>{nan}), InternalError);
  EXPECT_THROW(BoostedTrees(Rows{{1}}, std::vector<double>{1, 2}), InternalError);
}

std::vector<double> FeaturesOf(const std::string& channels, const std::string& seed,
                               const std::string& name) {
  Graph graph =
      ParseGraph("graph g {\n  input %x : f32[1," + channels + ",8,8]\n  const %w : f32[8," +
                 channels + ",3,3] = random " + seed + "\n  %c = Conv(%x, %w) @" + name +
                 " {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}\n"
                 "  %y = Relu(%c) @relu\n  output %y\n}");
  InferTypes(graph);
  return RegionFeatures(graph, 1 << 20);
}

TEST(RegionFeatures, AreOfTheShapeAndNotOfNamesAndWeights) {
  const std::vector<double> small = FeaturesOf("4", "1", "conv");
  EXPECT_EQ(small.size(), RegionFeatureCount());
  EXPECT_EQ(small, FeaturesOf("4", "2", "other"));
  const std::vector<double> large = FeaturesOf("16", "1", "conv");
  const std::vector<double> few = WorkTerms(small);
  const std::vector<double> many = WorkTerms(large);
  ASSERT_EQ(few.size(), many.size());
  EXPECT_EQ(few.back(), 1);
  std::size_t fourfold = 0;
  std::size_t same = 0;
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_GE(many[i], few[i] * (1 - 1e-9)) << i;
    fourfold += few[i] > 0 && std::abs(many[i] / few[i] - 4) < 1e-6 ? 1 : 0;
    same += few[i] > 0 && std::abs(many[i] / few[i] - 1) < 1e-6 ? 1 : 0;
  }
  EXPECT_EQ(fourfold, 3U) << "multiplications, weights, and the image that is read";
  EXPECT_EQ(same, 6U) << "filled vectors, what is made, the activation, two nodes, and 1";
  EXPECT_TRUE(HasLayer(small));
  Graph open = ParseGraph("graph g {\n  input %x : f32[n]\n  %y = Relu(%x) @r\n  output %y\n}");
  InferTypes(open);
  const std::vector<double> alone = RegionFeatures(open, 0);
  for (const double x : alone) EXPECT_TRUE(std::isfinite(x));
  EXPECT_FALSE(HasLayer(alone));
}

TEST(FitSum, FindsTheFactorsAndLeavesOutWhatIsFarOff) {
  const std::vector<double> truth = {2, 0, 0.5, 0};
  Rows rows = Uniform(300, 4, 1);
  std::vector<double> targets;
  for (auto& row : rows) {
    row[0] *= 1000;
    row[3] = 0;
    targets.push_back(SumOf(row, truth));
  }
  for (std::size_t i = 0; i < targets.size(); i += 20) targets[i] *= 50;  // the machine was busy
  const std::vector<double> found = FitSum(rows, targets);
  EXPECT_NEAR(found[0], 2, 0.05);
  EXPECT_GE(found[1], 0);
  EXPECT_EQ(found[3], 0) << "of nothing";
  EXPECT_NEAR(SumOf(std::vector<double>{1e6, 1, 1, 0}, found), 2e6, 5e4)
      << "far beyond what was seen";
  EXPECT_THROW((void)FitSum(Rows{}, std::vector<double>{}), InternalError);
  EXPECT_THROW((void)FitSum(Rows{{1}}, std::vector<double>{0}), InternalError);
  EXPECT_THROW((void)FitSum(Rows{{-1}}, std::vector<double>{1}), InternalError);
  EXPECT_THROW((void)FitSum(Rows{{1}, {1, 2}}, std::vector<double>{1, 2}), InternalError);
}

/// Regions of made-up models, whose time follows a rule with 5 % of noise; or nothing at all.
std::vector<CostSample> Regions(int models, int each, std::uint64_t seed, bool lawless = false) {
  Rng rng(seed);
  std::vector<CostSample> samples;
  for (int i = 0; i < models * each; ++i) {
    CostSample& sample = samples.emplace_back();
    sample.target = lawless ? "dice" : "machine";
    sample.model = std::to_string(seed) + "." + std::to_string(i % models);
    sample.features.assign(RegionFeatureCount(), 0);
    for (std::size_t k = 0; k < 3; ++k) sample.features[k] = 10 * rng.Uniform();
    const double log = 0.4 * sample.features[0] + (sample.features[1] > 5 ? 1 : 0);
    sample.micros = std::exp(lawless ? 4 * rng.Uniform() : log + 0.05 * rng.Normal());
  }
  return samples;
}

TEST(RegionModel, SaysHowFarItIsOffAndHoldsToThat) {
  const std::vector<CostSample> samples = Regions(4, 80, 1);
  const RegionModel model(samples);
  const LearnedError& error = model.errors().at("machine");
  EXPECT_EQ(error.samples, 320U);
  EXPECT_EQ(error.models, 4U);
  EXPECT_TRUE(error.trusted);
  EXPECT_GT(error.correlation, 0.97);
  EXPECT_LT(error.error, 0.2);
  EXPECT_LT(error.typical, 0.1);
  EXPECT_LT(error.factor, 1.6);
  int inside = 0;
  const std::vector<CostSample> others = Regions(1, 200, 9);
  for (const CostSample& other : others) {
    const auto predicted = model.Predict("machine", other.features);
    ASSERT_TRUE(predicted);
    const double off = std::log(other.micros / predicted->micros);
    inside += std::abs(off) <= predicted->spread ? 1 : 0;
  }
  EXPECT_GE(inside, 110) << "68 % of 200, give or take";
}

TEST(RegionModel, PredictsNothingThatItCannotProve) {
  std::vector<CostSample> samples = Regions(4, 80, 1, true);
  for (const CostSample& sample : Regions(2, 80, 2)) {
    samples.push_back(sample);  // of two models only
  }
  for (CostSample& few : Regions(5, 2, 3)) {
    few.target = "few";
    samples.push_back(few);
  }
  std::vector<CostSample> broken(7, samples.front());
  broken[0].features.pop_back();
  broken[1].features[0] = std::numeric_limits<double>::infinity();
  broken[2].micros = 0;
  broken[3].features[0] = 1e30;  // of a logarithm
  broken[4].features.back() = -1e30;
  broken[5].micros = 1e-300;
  broken[6].micros = std::numeric_limits<double>::quiet_NaN();
  for (CostSample& sample : broken) sample.target = "broken";
  samples.insert(samples.end(), broken.begin(), broken.end());
  const RegionModel model(samples);
  EXPECT_EQ(model.errors().size(), 3U);
  EXPECT_LT(model.errors().at("dice").correlation, 0.5);
  for (const char* target : {"dice", "machine", "few", "broken", "unheard of"}) {
    EXPECT_FALSE(model.Predict(target, samples.front().features)) << target;
  }
  EXPECT_TRUE(RegionModel().errors().empty());
}

}  // namespace
}  // namespace msc::cost
