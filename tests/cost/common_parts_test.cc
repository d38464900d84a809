#include "cost/measure/common_parts.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace msc::cost {
namespace {

using Names = std::vector<std::string>;

StepTime Step(Names nodes, int micros) {
  return {.name = "",
          .target = "",
          .precision = "",
          .nodes = std::move(nodes),
          .time = std::chrono::microseconds(micros)};
}

TEST(CommonParts, AreTheFinestThatNoStepCrosses) {
  // The first fuses a+b, the second b+c: the three belong together. d is alone in both.
  const std::vector<std::vector<StepTime>> profiles = {
      {Step({"a", "b"}, 10), Step({}, 7), Step({"c"}, 5), Step({"d"}, 20)},
      {Step({"a"}, 4), Step({"b", "c"}, 8), Step({"d"}, 30), Step({}, 1)}};
  const CommonParts common = FindCommonParts(profiles);
  ASSERT_EQ(common.parts.size(), 2U);
  EXPECT_EQ(common.parts[0].nodes, (Names{"a", "b", "c"}));
  EXPECT_EQ(common.parts[0].micros, (std::vector<double>{15, 12}));
  EXPECT_EQ(common.parts[0].fastest, 1U);
  EXPECT_EQ(common.parts[1].nodes, Names{"d"});
  EXPECT_EQ(common.parts[1].micros, (std::vector<double>{20, 30}));
  EXPECT_EQ(common.parts[1].fastest, 0U);
  EXPECT_EQ(common.conversions, (std::vector<double>{7, 1}));
  EXPECT_EQ(common.Ideal(), 32);
}

TEST(CommonParts, ANodeOfSeveralStepsIsOnePart) {
  const std::vector<std::vector<StepTime>> profiles = {{Step({"a"}, 1), Step({"a"}, 2)},
                                                       {Step({"a"}, 4)}};
  const CommonParts common = FindCommonParts(profiles);
  ASSERT_EQ(common.parts.size(), 1U);
  EXPECT_EQ(common.parts[0].micros, (std::vector<double>{3, 4}));
}

}  // namespace
}  // namespace msc::cost
