#include "gym/search/winner.h"

#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace msc::gym {
namespace {

TEST(IsSlower, NeedsTheWholeInterval) {
  cost::Outcome outcome;
  EXPECT_FALSE(IsSlower(outcome)) << "not timed";
  outcome.latency = cost::Latency{.ratio = 1.1, .ratio_low = 0.99, .ratio_high = 1.2};
  EXPECT_FALSE(IsSlower(outcome));
  outcome.latency->ratio_low = 1.01;
  EXPECT_TRUE(IsSlower(outcome));
}

TEST(NearestToLimits, IsTheLeastViolationThenTheBestObjective) {
  const Objective objective{{"latency"}, {{"accuracy_drop", 1}}};
  const auto of = [](double latency, double drop) {
    return Evaluation{.metrics = {{"latency", latency}, {"accuracy_drop", drop}},
                      .failure = std::nullopt,
                      .record = ""};
  };
  Evaluation failed;
  failed.failure = Failure{FailureKind::kTimeout, ""};
  const std::vector<std::optional<Evaluation>> evaluations = {failed,     std::nullopt, of(0.1, 3),
                                                              of(0.5, 2), of(0.4, 2),   of(0.4, 2)};
  EXPECT_EQ(NearestToLimits(objective, evaluations), 4U);
  EXPECT_EQ(NearestToLimits(objective, std::span(evaluations).first(2)), std::nullopt);
}

TEST(Uncompressed, IsTheFeasibleTrialOfAllFirstChoicesWhereSpeedIsSought) {
  std::vector<Trial> trials(3);
  trials[0].assignment = {0, 1};
  trials[1].assignment = {0, 0};
  trials[2].assignment = {1, 0};
  for (Trial& trial : trials) trial.evaluation.metrics = {{"latency", 1}, {"weight_bytes", 9}};
  EXPECT_EQ(FindUncompressedTrial({{"latency"}, {}}, trials), 1U);
  EXPECT_EQ(FindUncompressedTrial({{"weight_bytes"}, {}}, trials), std::nullopt);
  EXPECT_EQ(FindUncompressedTrial({{"latency"}, {{"weight_bytes", 8}}}, trials), std::nullopt);
  trials[1].evaluation.failure = Failure{FailureKind::kTimeout, ""};
  EXPECT_EQ(FindUncompressedTrial({{"latency"}, {}}, trials), std::nullopt);
  EXPECT_EQ(FindUncompressedTrial({{"latency"}, {}}, {}), std::nullopt);
}

}  // namespace
}  // namespace msc::gym
