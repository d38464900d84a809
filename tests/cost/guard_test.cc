#include "cost/quality/guard.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/quality.h"

namespace msc::cost {
namespace {

using Sentences = std::vector<std::string>;

Quality Lost(double disagreement, double relative_error) {
  Quality quality =
      QualityOf({{"disagreement", {disagreement, 0}}, {"relative_error", {relative_error, 0}}});
  quality.outputs[0].name = "y";
  return quality;
}

TEST(FindSuspicions, AreThereAboveTwoPercentOrATenthOfTheDeviation) {
  EXPECT_EQ(FindSuspicions(Lost(2, 0.1), {}, {}), Sentences{});
  EXPECT_EQ(FindSuspicions(Lost(2.5, 0.1), {}, {}),
            Sentences{"output 'y' changes its decisions by 2.5 %, more than 2 %"});
  EXPECT_EQ(FindSuspicions(Lost(0, 0.25), {}, {}),
            Sentences{"output 'y' has the relative error 0.25, more than 0.1"});
}

TEST(FindSuspicions, AllowThreeTimesALimitInPercent) {
  EXPECT_EQ(FindSuspicions(Lost(2.9, 0), {{"accuracy_drop", 1}}, {}), Sentences{});
  EXPECT_EQ(FindSuspicions(Lost(3.1, 0), {{"accuracy_drop", 1}}, {}).size(), 1U);
  // A strict limit, and one in nats, leave the bound where it is.
  EXPECT_EQ(FindSuspicions(Lost(1.9, 0), {{"accuracy_drop", 0.1}}, {}), Sentences{});
  EXPECT_EQ(FindSuspicions(Lost(2.5, 0), {{"distill_loss", 10}}, {}).size(), 1U);
}

TEST(FindSuspicions, FollowTheGuard) {
  EXPECT_EQ(FindSuspicions(Lost(4, 0), {{"disagreement", 0.5}}, {.disagreement = 5}), Sentences{});
  EXPECT_EQ(FindSuspicions(Lost(0.5, 0), {}, {.disagreement = 0}).size(), 1U);
  EXPECT_EQ(FindSuspicions(Lost(0, 9), {}, {.relative_error = 0}), Sentences{});
}

TEST(FindSuspicions, NameEveryOutput) {
  Quality quality = Lost(0, 0);
  quality.outputs.push_back({.name = "mask", .losses = {{"iou_loss", {12, 0}}}});
  EXPECT_EQ(FindSuspicions(quality, {}, {}),
            Sentences{"output 'mask' loses IoU: 12 %, more than 10 %"});
}

TEST(LargestShare, IsThatOfTheLossClosestToItsBound) {
  EXPECT_DOUBLE_EQ(LargestShare(Lost(1, 0.02), {}), 0.5);
  EXPECT_DOUBLE_EQ(LargestShare(Lost(1, 0.3), {}), 3);
  EXPECT_EQ(LargestShare(Lost(0, 0), {.disagreement = 0}), 0);
  EXPECT_EQ(LargestShare(Lost(1, 0), {.disagreement = 0}), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace msc::cost
