#include "gym/app/step_work.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace msc::gym {
namespace {

StepTime Step(const char* name, std::vector<std::string> nodes, int ns) {
  StepTime step;
  step.name = name;
  step.nodes = std::move(nodes);
  step.time = std::chrono::nanoseconds(ns);
  return step;
}

std::vector<double> Flops(const std::vector<StepTime>& steps) {
  std::vector<double> flops;
  for (const OpCost& cost : WorkOf(steps, {{"a", {10, 0}}, {"b", {5, 0}}})) {
    flops.push_back(cost.flops);
  }
  return flops;
}

TEST(WorkOf, IsOfTheLayersOwnStepHoweverLongAPReluBehindItTakes) {
  EXPECT_EQ(Flops({Step("a", {"a"}, 3), Step("a prelu", {"a"}, 9), Step("reorder", {}, 20)}),
            (std::vector<double>{10, 0, 0}));
}

TEST(WorkOf, IsOfTheLongestOfThePartsOfALayer) {
  EXPECT_EQ(Flops({Step("a", {"a"}, 2), Step("a", {"a"}, 9), Step("a", {"a"}, 3)}),
            (std::vector<double>{0, 10, 0}));
}

TEST(WorkOf, IsOfAllNodesOfAStep) {
  EXPECT_EQ(Flops({Step("a+b", {"a", "b"}, 2), Step("c", {"c"}, 1)}), (std::vector<double>{15, 0}));
}

}  // namespace
}  // namespace msc::gym
