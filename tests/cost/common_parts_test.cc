#include "cost/measure/common_parts.h"

#include <chrono>
#include <map>
#include <optional>
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

/// Nodes that stand for themselves.
std::map<std::string, Names> Themselves(const Names& nodes) {
  std::map<std::string, Names> origins;
  for (const std::string& node : nodes) origins[node] = {node};
  return origins;
}

using Micros = std::vector<std::optional<double>>;

TEST(CommonParts, AreTheFinestThatNoStepCrosses) {
  // The first fuses a+b, the second b+c: the three belong together. d is alone in both.
  const std::vector<NodeProfile> profiles = {
      {{Step({"a", "b"}, 10), Step({}, 7), Step({"c"}, 5), Step({"d"}, 20)},
       Themselves({"a", "b", "c", "d"})},
      {{Step({"a"}, 4), Step({"b", "c"}, 8), Step({"d"}, 30), Step({}, 1)},
       Themselves({"a", "b", "c", "d"})}};
  const CommonParts common = FindCommonParts(profiles);
  ASSERT_EQ(common.parts.size(), 2U);
  EXPECT_EQ(common.parts[0].nodes, (Names{"a", "b", "c"}));
  EXPECT_EQ(common.parts[0].micros, (Micros{15, 12}));
  EXPECT_EQ(common.parts[0].fastest, 1U);
  EXPECT_EQ(common.parts[1].nodes, Names{"d"});
  EXPECT_EQ(common.parts[1].micros, (Micros{20, 30}));
  EXPECT_EQ(common.parts[1].fastest, 0U);
  EXPECT_EQ(common.conversions, (std::vector<double>{7, 1}));
  EXPECT_EQ(common.Ideal(), 32);
}

TEST(CommonParts, ANodeOfSeveralStepsIsOnePart) {
  const std::vector<NodeProfile> profiles = {{{Step({"a"}, 1), Step({"a"}, 2)}, Themselves({"a"})},
                                             {{Step({"a"}, 4)}, Themselves({"a"})}};
  const CommonParts common = FindCommonParts(profiles);
  ASSERT_EQ(common.parts.size(), 1U);
  EXPECT_EQ(common.parts[0].micros, (Micros{3, 4}));
}

TEST(CommonParts, AViewIsFreeAndWhatWasFusedAwayIsUnknown) {
  // For the second, b is a view; the third has no b at all: it may be what makes a dearer.
  const std::vector<NodeProfile> profiles = {
      {{Step({"a"}, 1), Step({"b"}, 2)}, Themselves({"a", "b"})},
      {{Step({"a"}, 4)}, Themselves({"a", "b"})},
      {{Step({"a"}, 2)}, Themselves({"a"})}};
  const CommonParts all = FindCommonParts(profiles);
  ASSERT_EQ(all.parts.size(), 2U);
  EXPECT_EQ(all.parts[1].micros, (Micros{2, 0, std::nullopt}));
  EXPECT_EQ(all.parts[1].fastest, 1U);
  EXPECT_EQ(all.Ideal(), std::nullopt);
  EXPECT_EQ(FindCommonParts({profiles.data(), 2}).Ideal(), 1);
}

TEST(CommonParts, AreOfTheModelWhateverEachTargetFuses) {
  // The first fuses b and c into a, and d into nothing; the second computes them one by one.
  const std::vector<NodeProfile> profiles = {
      {{Step({"a"}, 10), Step({"d"}, 5)}, {{"a", {"a", "b", "c"}}, {"d", {"d"}}}},
      {{Step({"a"}, 4), Step({"c"}, 8), Step({"d"}, 3)}, Themselves({"a", "b", "c", "d"})}};
  const CommonParts common = FindCommonParts(profiles);
  ASSERT_EQ(common.parts.size(), 2U);
  EXPECT_EQ(common.parts[0].nodes, (Names{"a", "b", "c"}));
  EXPECT_EQ(common.parts[0].micros, (Micros{10, 12}));
  EXPECT_EQ(common.parts[1].micros, (Micros{5, 3}));
  EXPECT_EQ(common.Ideal(), 13);
}

}  // namespace
}  // namespace msc::cost
