#include "gym/search/explain.h"

#include <gtest/gtest.h>

namespace msc::gym {
namespace {

Trial Tried(const Assignment& assignment) {
  Trial trial;
  trial.assignment = assignment;
  trial.evaluation.metrics = {{"latency", 1}};
  return trial;
}

TEST(UntriedDecisions, AreDecisionsThatNoTrialTakesOtherwiseAlone) {
  std::vector<Trial> trials = {Tried({0, 0, 0, 0}), Tried({1, 0, 0, 0}), Tried({0, 1, 1, 0}),
                               Tried({0, 0, 0, 1}), Tried({0, 0, 1, 0})};
  trials[3].evaluation.dropped = true;
  trials[4].evaluation = {{}, Failure{FailureKind::kTimeout, ""}, ""};
  EXPECT_EQ(UntriedDecisions({0, 0, 0, 0}, trials), (std::vector<std::size_t>{1, 3}));
}

TEST(OtherChoices, BeginWithTheOneThatTellsMost) {
  using Order = std::vector<std::int32_t>;
  const Decision layer{.name = "conv",
                       .choices = {"f32", "bf16", "int8"},
                       .quantity = "bits",
                       .values = {32, 16, 8}};
  EXPECT_EQ(OtherChoices(layer, 0), (Order{2, 1}));
  EXPECT_EQ(OtherChoices(layer, 1), (Order{2, 0}));
  EXPECT_EQ(OtherChoices(layer, 2), (Order{0, 1}));
  const Decision density{.name = "group",
                         .choices = {"1", "0.75", "0.5", "0.25"},
                         .quantity = "density",
                         .values = {1, 0.75, 0.5, 0.25}};
  EXPECT_EQ(OtherChoices(density, 0), (Order{1, 2, 3}));
  EXPECT_EQ(OtherChoices(density, 2), (Order{3, 1, 0}));
  EXPECT_EQ(OtherChoices(density, 3), (Order{2, 1, 0}));
  EXPECT_TRUE(OtherChoices({.name = "one", .choices = {"f32"}}, 0).empty());
}

Result<cost::Outcome> Measured(double ratio, double width, double accuracy) {
  cost::Outcome outcome;
  outcome.quality.samples = 100;
  outcome.quality.reference_accuracy = 0.9;
  outcome.quality.accuracy = accuracy;
  outcome.latency =
      cost::Latency{.ratio = ratio, .ratio_low = ratio - width, .ratio_high = ratio + width};
  return outcome;
}

TEST(NeighbourText, ComparesWithTheWinner) {
  ObjectiveConfig objective;
  objective.subject_to = {{"accuracy_drop", 0.5}, {"energy", 0.1}};
  Neighbour neighbour{.decision = "conv",
                      .choice = "int8",
                      .result = Measured(0.5, 0.001, 0.891),
                      .winner = Measured(0.51, 0.001, 0.897)};
  EXPECT_EQ(
      NeighbourText(objective, neighbour),
      "int8 instead would be 1.02x as fast and lose 0.60 points more: misses accuracy_drop <= "
      "0.5");
  neighbour.result = Measured(0.5, 0.02, 0.899);
  EXPECT_EQ(NeighbourText(objective, neighbour),
            "int8 instead would be 1.02x as fast (difference not significant) and lose 0.20 points "
            "less");
  neighbour.result = Failure{FailureKind::kTimeout, "too slow"};
  EXPECT_EQ(NeighbourText(objective, neighbour), "int8 instead fails: too slow");
}

}  // namespace
}  // namespace msc::gym
