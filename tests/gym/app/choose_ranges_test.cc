#include "gym/app/choose_ranges.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cost/model/loss.h"

namespace msc::gym {
namespace {

Judged Losing(double loss) {
  Judged judged;
  judged.quality.outputs.push_back({.name = "y",
                                    .kind = OutputKind::kLogits,
                                    .losses = {{std::string(cost::kDistillLoss), {loss, 0}}}});
  return judged;
}

ChosenRanges Choose(const std::map<std::string, Judged>& by_method) {
  return ChooseRanges([&](const std::string& method) { return by_method.at(method); }, 50);
}

TEST(ChooseRanges, PrefersMseUnlessAnotherLosesATenthLess) {
  EXPECT_EQ(
      Choose({{"mse", Losing(1)}, {"minmax", Losing(0.95)}, {"percentile", Losing(2)}}).method,
      "mse");
  EXPECT_EQ(
      Choose({{"mse", Losing(1)}, {"minmax", Losing(0.85)}, {"percentile", Losing(2)}}).method,
      "minmax");
  EXPECT_EQ(
      Choose({{"mse", Losing(1)}, {"minmax", Losing(0.85)}, {"percentile", Losing(0.5)}}).method,
      "percentile");
  EXPECT_EQ(Choose({{"mse", Losing(0)}, {"minmax", Losing(0)}, {"percentile", Losing(0)}}).method,
            "mse");
}

TEST(ChooseRanges, TakesNoMethodWithWhichTheModelFails) {
  const Judged failed{.failure = "output 'y' is not finite"};
  const ChosenRanges ranges =
      Choose({{"mse", failed}, {"minmax", Losing(9)}, {"percentile", failed}});
  EXPECT_EQ(ranges.method, "minmax");
  EXPECT_EQ(Choose({{"mse", failed}, {"minmax", failed}, {"percentile", failed}}).method, "mse");
  EXPECT_EQ(RangesText(ranges),
            "ranges by minmax: on 50 calibration samples, distillation loss 9 nats; by mse "
            "failed: output 'y' is not finite; by percentile failed: output 'y' is not finite");
}

}  // namespace
}  // namespace msc::gym
