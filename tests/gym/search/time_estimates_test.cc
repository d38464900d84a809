#include "gym/search/time_estimates.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace msc::gym {
namespace {

const Decision kLayer = {"conv", {"f32", "bf16", "int8"}, "bits", {32, 16, 8}};
const Decision kGroup = {"conv channels", {"1", "0.75", "0.5"}, "density", {1, 0.75, 0.5}};

/// A model of 1000 ns with one layer of 400 ns, which takes 300 in bf16 and 100 in int8, and then
/// 60 with half of its channels.
UniformTimes Times() {
  return {.whole = 1000,
          .f32 = {{"conv", 400}},
          .by_bits = {{16, {{"conv", 300}}}, {8, {{"conv", 100}}}},
          .pruned_bits = 8,
          .by_density = {{0.5, {{"conv", 60}}}}};
}

TEST(TimesByLayer, AddUpToTheWholeWithStepsThatComputeNoLayer) {
  cost::Profile profile;
  for (const auto& [nodes, ns] :
       std::vector<std::pair<std::vector<std::string>, double>>{{{"quantize"}, 1},
                                                                {{"a"}, 10},
                                                                {{"activation"}, 2},
                                                                {{"b", "add", "c"}, 20},
                                                                {{"end"}, 4}}) {
    cost::StepProfile& step = profile.steps.emplace_back();
    step.nodes = nodes;
    step.median_ns = ns;
  }
  EXPECT_EQ(TimesByLayer(profile, {"a", "b", "c", "gone"}),
            (LayerTimes{{"a", 13}, {"b", 10}, {"c", 14}}));
}

TEST(TimeEffects, OfPrecisionsAreDifferencesToF32) {
  const AdditiveCost cost = TimeEffects({kLayer}, {{"conv"}}, Times());
  EXPECT_EQ(cost.offset, 1);
  EXPECT_EQ(cost.effects, (std::vector<std::vector<double>>{{0, -0.1, -0.3}}));
}

TEST(TimeEffects, OfChannelsAreSavedInThePrecisionOfThePrunedModels) {
  const AdditiveCost cost = TimeEffects({kGroup}, {{"conv"}}, Times());
  EXPECT_EQ(cost.effects, (std::vector<std::vector<double>>{{0, -0.02, -0.04}}));
}

TEST(TimeEffects, OfChannelsFollowTheStepsOfTheKernels) {
  const Decision group = {"conv channels",
                          {"1", "0.9", "0.75", "0.6", "0.5", "0.25"},
                          "density",
                          {1, 0.9, 0.75, 0.6, 0.5, 0.25}};
  UniformTimes times = Times();
  // A quarter of the channels removed saves nothing; 0.9 and 0.6 were not timed.
  times.by_density = {{0.75, {{"conv", 100}}}, {0.5, {{"conv", 50}}}};
  const AdditiveCost cost = TimeEffects({group}, {{"conv"}}, times);
  const std::vector<double> saved = {0, 0, 0, 0.03, 0.05, 0.075};
  for (std::size_t c = 0; c < saved.size(); ++c) {
    EXPECT_NEAR(cost.effects[0][c], -saved[c], 1e-12) << group.choices[c];
  }
}

TEST(TimeEffects, OfChannelsMayBeLosses) {
  UniformTimes times = Times();
  times.by_density = {{0.75, {{"conv", 110}}}, {0.5, {{"conv", 80}}}};
  EXPECT_NEAR(TimeEffects({kGroup}, {{"conv"}}, times).effects[0][1], 0.01, 1e-12);
}

TEST(TimeEffects, OfChannelsAreNoneIfNoPrunedModelWasTimed) {
  UniformTimes times = Times();
  times.by_density.clear();
  EXPECT_EQ(TimeEffects({kGroup}, {{"conv"}}, times).effects,
            (std::vector<std::vector<double>>{{0, 0, 0}}));
}

TEST(TimeEffects, AddUpOverTheLayersOfADecision) {
  UniformTimes times = Times();
  times.f32["tied"] = 100;
  times.by_bits[8]["tied"] = 50;
  const AdditiveCost cost = TimeEffects({kLayer}, {{"conv", "tied"}}, times);
  EXPECT_DOUBLE_EQ(cost.effects[0][2], -0.35);
  EXPECT_DOUBLE_EQ(cost.effects[0][1], -0.1) << "not timed in bf16: as in f32";
}

TEST(TimeEffects, AreNoneOfALayerThatNoStepComputes) {
  const AdditiveCost cost = TimeEffects({kLayer, kGroup}, {{"gone"}, {"gone"}}, Times());
  EXPECT_EQ(cost.effects, (std::vector<std::vector<double>>{{0, 0, 0}, {0, 0, 0}}));
}

TEST(TimeEffects, AreNoneOfADecisionThatChangesNoLayer) {
  const AdditiveCost cost = TimeEffects({{"target", {"native", "onednn"}}}, {{}}, Times());
  EXPECT_EQ(cost.effects, (std::vector<std::vector<double>>{{0, 0}}));
}

TEST(TimeEffects, OfAPrecisionThatWasNotTimedAreNone) {
  UniformTimes times = Times();
  times.by_bits.erase(8);
  EXPECT_EQ(TimeEffects({kLayer}, {{"conv"}}, times).effects[0][2], 0);
}

}  // namespace
}  // namespace msc::gym
