#include "gym/search/loss_estimates.h"

#include <gtest/gtest.h>

#include "cost/model/outcome.h"
#include "tests/support/quality.h"

namespace msc::gym {
namespace {

const Decision kLayer = {"layer", {"f32", "bf16", "int8", "w4a8"}, "bits", {32, 16, 8, 4}};
const Decision kOtherLayer = {"other", {"f32", "int8"}, "bits", {32, 8}};
const Decision kGroup = {"group", {"1", "0.75", "0.5"}, "density", {1, 0.75, 0.5}};
const Decision kTarget = {"target", {"native", "onednn"}};

cost::Outcome Lost(double kl, std::int64_t bytes) {
  cost::Outcome outcome;
  outcome.quality = cost::QualityOf({{"distill_loss", {kl, 0}}});
  outcome.weight_bytes = bytes;
  return outcome;
}

AdditiveCost LossOf(const std::vector<Decision>& decisions, const ProbeRun& run) {
  std::map<std::string, AdditiveCost> costs;
  AddLossEstimates(decisions, run, std::nullopt, costs);
  return costs.at("distill_loss");
}

TEST(LossEstimates, GrowWithTheNoiseOfAChoice) {
  const AdditiveCost loss = LossOf({kLayer}, {.probes = 1, .result = {{0, Lost(0.8, 0)}}});
  EXPECT_EQ(loss.offset, 0);
  // Of the probe in int8: bf16 has a sixteenth of its noise, 4 bits have steps 16 times as large.
  EXPECT_EQ(loss.effects, (std::vector<std::vector<double>>{{0, 0.05, 0.8, 12.8}}));
}

TEST(LossEstimates, GrowWithTheSquareOfTheChannelsThatAreRemoved) {
  const AdditiveCost loss = LossOf({kGroup}, {.probes = 1, .result = {{0, Lost(0.4, 0)}}});
  EXPECT_EQ(loss.effects, (std::vector<std::vector<double>>{{0, 0.1, 0.4}}));
}

TEST(LossEstimates, GrowFasterBeyondHalfOfTheChannels) {
  const Decision group = {"group", {"1", "0.5", "0.25"}, "density", {1, 0.5, 0.25}};
  const AdditiveCost loss = LossOf({group}, {.probes = 1, .result = {{0, Lost(0.4, 0)}}});
  EXPECT_DOUBLE_EQ(loss.effects[0][2], 9 * 0.4);
}

TEST(LossEstimates, BeyondHalfOfTheChannelsAreAtLeastTheUsualOnes) {
  const Decision group = {"group", {"1", "0.75", "0.5", "0.25"}, "density", {1, 0.75, 0.5, 0.25}};
  const AdditiveCost loss =
      LossOf({group, group, group},
             {.probes = 3, .result = {{0, Lost(0, 0)}, {1, Lost(0.4, 0)}, {2, Lost(0.8, 0)}}});
  // Half of the first group's channels do nothing; of the other half nothing is known.
  EXPECT_EQ(loss.effects[0][2], 0);
  EXPECT_DOUBLE_EQ(loss.effects[0][3], 8 * 0.4);
  EXPECT_DOUBLE_EQ(loss.effects[2][3], 9 * 0.8);
}

TEST(LossEstimates, OfADecisionWithoutAProbeAreTheLargestOfItsKind) {
  const AdditiveCost loss = LossOf({kOtherLayer, kOtherLayer, kOtherLayer, kGroup},
                                   {.probes = 4, .result = {{0, Lost(0.2, 0)}, {1, Lost(0.4, 0)}}});
  EXPECT_DOUBLE_EQ(loss.effects[2][1], 0.4);
  EXPECT_EQ(loss.effects[3], (std::vector<double>{0, 0, 0})) << "no group was tried";
}

TEST(LossEstimates, ShareCoarseLossesInProportionToTheDistillationLoss) {
  const auto lost = [](double kl, double changed) {
    cost::Outcome outcome;
    outcome.quality = cost::QualityOf({{"distill_loss", {kl, 0}}, {"disagreement", {changed, 0}}});
    return outcome;
  };
  std::map<std::string, AdditiveCost> costs;
  AddLossEstimates({kOtherLayer, kOtherLayer},
                   {.probes = 2, .result = {{0, lost(0.3, 0)}, {1, lost(0.1, 4)}}}, std::nullopt,
                   costs);
  EXPECT_DOUBLE_EQ(costs.at("disagreement").effects[0][1], 3) << "of 4 in all";
  EXPECT_DOUBLE_EQ(costs.at("disagreement").effects[1][1], 1);
  EXPECT_DOUBLE_EQ(costs.at("distill_loss").effects[0][1], 0.3);
}

TEST(LossEstimates, LeaveOutProbesThatFailed) {
  const AdditiveCost loss = LossOf(
      {kOtherLayer, kOtherLayer},
      {.probes = 2, .result = {{0, Failure{FailureKind::kCrash, "signal 11"}}, {1, Lost(0.4, 0)}}});
  EXPECT_EQ(loss.effects[0][1], 0.4);
}

TEST(LossEstimates, SayNothingAboutOtherDecisions) {
  const AdditiveCost loss =
      LossOf({kTarget, kOtherLayer}, {.probes = 1, .result = {{1, Lost(0.4, 0)}}});
  EXPECT_EQ(loss.effects[0], (std::vector<double>{0, 0}));
}

TEST(LossEstimates, HaveBytesOfWeightsInProportionToWhatAChoiceSaves) {
  std::map<std::string, AdditiveCost> costs;
  AddLossEstimates({kLayer}, {.probes = 1, .result = {{0, Lost(0, 400)}}}, 1000, costs);
  const AdditiveCost& bytes = costs.at("weight_bytes");
  EXPECT_EQ(bytes.offset, 1000);
  // Weights of 4 bits are stored with 8.
  EXPECT_EQ(bytes.effects, (std::vector<std::vector<double>>{{0, -400, -600, -600}}));
}

}  // namespace
}  // namespace msc::gym
