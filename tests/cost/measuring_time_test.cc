#include "cost/partition/measuring_time.h"

#include <string>

#include <gtest/gtest.h>

namespace msc::cost {
namespace {

using Progress = RegionMeter::Progress;

TEST(MeasuringTime, SaysHowFarItIs) {
  MeasuringTime time(0.25);
  EXPECT_EQ(time.Text({.groups = 20, .runners = 40}, 0), "compiling code for 40 regions");
  EXPECT_EQ(time.Text({.groups = 20, .compiled = 10, .runners = 40}, 5),
            "compiling code for 40 regions, about 15 s left for this");
  EXPECT_EQ(time.Text({.groups = 20, .compiled = 20, .runners = 40}, 10),
            "measured 0 of 40 regions, about 10 s left for this");
  EXPECT_EQ(time.Text({.groups = 20, .compiled = 20, .runners = 40, .measured = 4}, 12),
            "measured 4 of 40 regions, about 18 s left for this");
  EXPECT_EQ(time.Text({.groups = 20, .compiled = 20, .runners = 40, .measured = 40}, 30),
            "measured 40 of 40 regions, about 0 s left for this");
}

TEST(MeasuringTime, IsWithinAFactorOfTwoAfterATenth) {
  // Code of 120 groups is compiled 8 at a time, 4 s each time; then groups of 3 runners are built
  // and timed in 0.9 s, the first in 8 s: it finds nothing in any cache.
  constexpr std::size_t kGroups = 120;
  constexpr double kTotal = kGroups / 8 * 4.0 + 8 + (kGroups - 1) * 0.9;
  MeasuringTime time(0.25);
  Progress now{.groups = kGroups, .runners = 3 * kGroups};
  double at = 0;
  const auto check = [&] {
    (void)time.Text(now, at);
    const double actual = kTotal - at;
    if (at < kTotal / 10 || actual < 2) return;
    EXPECT_LE(time.Left(), 2 * actual) << at;
    EXPECT_GE(time.Left(), actual / 2) << at;
  };
  check();
  while (now.compiled < kGroups) {
    at += 4;
    now.compiled += 8;
    check();
  }
  for (std::size_t group = 0; group < kGroups; ++group) {
    at += group == 0 ? 8 : 0.9;
    // What is timed together is told together: only the last text stays on a terminal.
    for (int runner = 0; runner < 2; ++runner) {
      ++now.measured;
      (void)time.Text(now, at);
    }
    ++now.measured;
    check();
  }
}

}  // namespace
}  // namespace msc::cost
