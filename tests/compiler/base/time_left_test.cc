#include "compiler/base/time_left.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"

namespace msc {
namespace {

using Parts = std::vector<std::pair<std::string, double>>;  // kind and seconds of each

/// From when a tenth of the time is over, estimates that are off by more than a factor of two.
std::size_t CountWrong(const Parts& parts, std::size_t at_once = 1) {
  TimeLeft left(at_once);
  double total = 0;
  for (const auto& [kind, seconds] : parts) {
    left.Expect(kind, 1);
    total += seconds;
  }
  double passed = 0;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    left.Done(parts[i].first, parts[i].second);
    passed += parts[i].second;
    if (passed < total / 10) continue;
    const auto said = left.Seconds();
    if (!said) {
      wrong += i > 0 ? 1 : 0;  // one part tells nothing
      continue;
    }
    const double actual = total - passed;
    // What is left of the last part or two is no sequence any more.
    if (actual < total / 20) continue;
    wrong += *said > 2 * actual || *said < actual / 2 ? 1 : 0;
  }
  return wrong;
}

Parts Repeated(const std::string& kind, std::size_t count, double seconds) {
  return Parts(count, {kind, seconds});
}

TEST(TimeLeft, KnowsNothingBeforeTwoPartsAreDone) {
  TimeLeft left;
  left.Expect("a", 10);
  EXPECT_FALSE(left.Seconds());
  left.Done("a", 50);
  EXPECT_FALSE(left.Seconds());
  left.Done("a", 2);
  EXPECT_DOUBLE_EQ(*left.Seconds(), 16);
  left.Skip("a");
  EXPECT_DOUBLE_EQ(*left.Seconds(), 14);
}

TEST(TimeLeft, TakesAGuessUntilThen) {
  TimeLeft left;
  left.Expect("a", 10, 0.5);
  EXPECT_DOUBLE_EQ(*left.Seconds(), 5);
  left.Done("a", 2);
  EXPECT_DOUBLE_EQ(*left.Seconds(), 4.5);
  left.Done("a", 2);
  EXPECT_DOUBLE_EQ(*left.Seconds(), 16);
}

TEST(TimeLeft, IsNothingWhenAllIsDone) {
  TimeLeft left;
  EXPECT_EQ(left.Seconds(), 0);
  left.Expect("a", 1);
  left.Done("a", 2);
  left.Done("a", 2);  // one that nobody expected
  EXPECT_EQ(left.Seconds(), 0);
}

TEST(TimeLeft, IsRightOfPartsThatAreAlike) {
  EXPECT_EQ(CountWrong(Repeated("a", 100, 0.2)), 0U);
}

TEST(TimeLeft, IsRightWhereTheFirstPartFindsNothingInACache) {
  Parts parts = Repeated("a", 100, 0.2);
  parts[0].second = 4;
  EXPECT_EQ(CountWrong(parts), 0U);
}

TEST(TimeLeft, IsRightWhereTheFirstPartTakesAHundredTimesAsLong) {
  for (const double seconds : {0.2, 0.001}) {
    Parts parts = Repeated("a", 200, seconds);
    parts[0].second = 500 * seconds;
    TimeLeft left;
    left.Expect("a", parts.size());
    for (std::size_t i = 0; i < 20; ++i) left.Done("a", parts[i].second);
    EXPECT_NEAR(*left.Seconds(), 180 * seconds, 1e-9);
  }
}

TEST(TimeLeft, IsRightWhereMostIsKnownAlready) {
  TimeLeft left;
  left.Expect("known", 9000);
  left.Expect("measured", 50, 0.1);
  for (int i = 0; i < 4000; ++i) left.Done("known", 0.0001);
  for (int i = 0; i < 5; ++i) left.Done("measured", 0.3);
  EXPECT_NEAR(*left.Seconds(), 45 * 0.3 + 5000 * 0.0001, 1e-6);
}

TEST(TimeLeft, IsRightOfPartsThatAreWorkedOnTogether) {
  Parts parts;
  for (int round = 0; round < 25; ++round) {
    for (int worker = 0; worker < 4; ++worker) {
      parts.emplace_back("a", worker == 0 ? (round == 0 ? 9.0 : 1.0) : 0.0);
    }
  }
  std::size_t wrong = 0;
  TimeLeft left(4);
  left.Expect("a", parts.size());
  double actual = 9 + 24;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    left.Done("a", parts[i].second);
    actual -= parts[i].second;
    if (i % 4 != 3 || i < 12 || actual == 0) continue;  // rounds are whole, a tenth is over
    wrong += *left.Seconds() > 2 * actual || *left.Seconds() < actual / 2 ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0U);
}

TEST(TimeLeft, IsMostlyRightOfPartsThatVary) {
  // As trials do: some fail at once, some take twice as long as others.
  std::size_t wrong = 0;
  std::size_t all = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    Parts parts;
    for (int i = 0; i < 60; ++i) {
      const double seconds = rng.Uniform() < 0.2 ? 0.05 : 1 + rng.Uniform();
      parts.emplace_back("a", i == 0 ? 5 : seconds);
    }
    wrong += CountWrong(parts);
    all += parts.size();
  }
  EXPECT_LE(wrong, all / 100);
}

TEST(TimeLeft, FollowsPartsThatGrow) {
  Parts parts;
  for (int i = 0; i < 100; ++i) parts.emplace_back("a", 1 + 0.02 * i);
  EXPECT_EQ(CountWrong(parts), 0U);
}

}  // namespace
}  // namespace msc
