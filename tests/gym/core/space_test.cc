#include "gym/core/space.h"

#include <cmath>
#include <limits>
#include <ostream>

#include <gtest/gtest.h>

#include "compiler/base/error.h"

namespace msc::gym {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

using Ints = std::vector<std::int64_t>;
using Reals = std::vector<double>;

Point Parts(PointMap parts) {
  return Point{std::make_shared<const PointMap>(std::move(parts))};
}

struct SpaceCase {
  std::string label;
  Space space;
  std::string text;
  std::vector<Point> inside;
  std::vector<Point> outside;
};
void PrintTo(const SpaceCase& item, std::ostream* out) {
  *out << item.label;
}

class Spaces : public testing::TestWithParam<SpaceCase> {};

TEST_P(Spaces, ContainItsPoints) {
  for (const Point& point : GetParam().inside) {
    EXPECT_TRUE(GetParam().space.Contains(point)) << ToString(point);
  }
}

TEST_P(Spaces, DoNotContainOtherPoints) {
  for (const Point& point : GetParam().outside) {
    EXPECT_FALSE(GetParam().space.Contains(point)) << ToString(point);
  }
}

TEST_P(Spaces, ContainWhatIsSampled) {
  Rng rng(7);
  for (int i = 0; i < 200; ++i) {
    const Point point = GetParam().space.Sample(rng);
    ASSERT_TRUE(GetParam().space.Contains(point)) << ToString(point);
  }
}

TEST_P(Spaces, SampleTheSameFromTheSameSeed) {
  Rng a(3);
  Rng b(3);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(GetParam().space.Sample(a), GetParam().space.Sample(b));
  }
}

TEST_P(Spaces, PrintThemselves) {
  EXPECT_EQ(GetParam().space.ToString(), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    All, Spaces,
    testing::Values(
        SpaceCase{"Discrete",
                  Discrete{3},
                  "Discrete(3)",
                  {Point{0}, Point{2}},
                  {Point{-1}, Point{3}, Point{Ints{0}}, Point{Reals{0}}, Point{"0"}, Parts({})}},
        SpaceCase{"DiscreteFromStart",
                  Discrete{2, -1},
                  "Discrete(2, start=-1)",
                  {Point{-1}, Point{0}},
                  {Point{-2}, Point{1}}},
        SpaceCase{"DiscreteToTheEndOfIntegers",
                  Discrete{2, kMost - 1},
                  "Discrete(2, start=9223372036854775806)",
                  {Point{kMost}},
                  {Point{kMost - 2}}},
        SpaceCase{"MultiDiscrete",
                  MultiDiscrete{{2, 3}},
                  "MultiDiscrete([2, 3])",
                  {Point{Ints{1, 2}}},
                  {Point{Ints{2, 0}}, Point{Ints{0, 3}}, Point{Ints{0}}, Point{Ints{0, 0, 0}},
                   Point{Ints{-1, 0}}, Point{1}}},
        SpaceCase{"MultiBinary",
                  MultiBinary{3},
                  "MultiBinary(3)",
                  {Point{Ints{0, 1, 1}}},
                  {Point{Ints{0, 2, 0}}, Point{Ints{0, 1}}}},
        SpaceCase{"Box",
                  Box{{0, 0}, {1, 1}, {2}},
                  "Box([0, 1], shape=[2])",
                  {Point{Reals{0, 1}}, Point{Reals{0.5, 0.25}}},
                  {Point{Reals{-0.1, 0}}, Point{Reals{0, 1.1}}, Point{Reals{kNan, 0}},
                   Point{Reals{0}}, Point{Ints{0, 1}}}},
        SpaceCase{"BoxWithoutBounds",
                  Box{{-kInfinity, 0, -kInfinity}, {kInfinity, kInfinity, -1}, {3, 1}},
                  "Box([-inf, 0, -inf], [inf, inf, -1], shape=[3, 1])",
                  {Point{Reals{9e99, 0, -1}}},
                  {Point{Reals{kInfinity, 0, -1}}, Point{Reals{0, -1, -1}}, Point{Reals{0, 0, 0}}}},
        SpaceCase{"BoxAsWideAsDoubles",
                  Box{{-1.7e308}, {1.7e308}, {}},
                  "Box([-1.7e+308, 1.7e+308], shape=[])",
                  {Point{Reals{0}}},
                  {}},
        SpaceCase{"Text",
                  Text{3},
                  "Text(3)",
                  {Point{""}, Point{"a ~"}},
                  {Point{"abcd"}, Point{"\n"}, Point{"\x7f"}, Point{"\xc3\xa9"}, Point{0}}},
        SpaceCase{"Dict",
                  Space::Dict({{"a", Discrete{2}}, {"b", Text{1}}}),
                  "Dict(a: Discrete(2), b: Text(1))",
                  {Parts({{"a", Point{1}}, {"b", Point{"x"}}})},
                  {Parts({{"a", Point{1}}}), Parts({{"a", Point{2}}, {"b", Point{"x"}}}),
                   Parts({{"a", Point{1}}, {"c", Point{"x"}}}),
                   Parts({{"a", Point{1}}, {"b", Point{"x"}}, {"c", Point{0}}}), Point{1},
                   Point{std::shared_ptr<const PointMap>()}}}),
    [](const auto& test) { return test.param.label; });

struct BadSpace {
  std::string label;
  Space::Kind kind;
  std::string message;
};
void PrintTo(const BadSpace& item, std::ostream* out) {
  *out << item.label;
}

class ImpossibleSpaces : public testing::TestWithParam<BadSpace> {};

TEST_P(ImpossibleSpaces, AreRefused) {
  try {
    const Space space(GetParam().kind);
    FAIL() << space.ToString();
  } catch (const UserError& error) {
    EXPECT_EQ(error.what(), GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ImpossibleSpaces,
    testing::Values(
        BadSpace{"DiscreteOfNone", Discrete{0}, "a Discrete space needs n >= 1, not 0"},
        BadSpace{"DiscretePastTheEnd", Discrete{3, kMost - 1},
                 "a Discrete space must end below 2^63"},
        BadSpace{"NoPositions", MultiDiscrete{{}},
                 "a MultiDiscrete space needs at least one position"},
        BadSpace{"APositionOfNone", MultiDiscrete{{2, 0}},
                 "a MultiDiscrete space needs every n >= 1, not [2, 0]"},
        BadSpace{"NoBits", MultiBinary{-1}, "a MultiBinary space needs n >= 1, not -1"},
        BadSpace{"LowAboveHigh", Box{{1}, {0}, {1}}, "a Box space has no value between 1 and 0"},
        BadSpace{"NanBound", Box{{kNan}, {0}, {1}}, "a Box space has no value between nan and 0"},
        BadSpace{"LowIsInfinity", Box{{kInfinity}, {kInfinity}, {1}},
                 "a Box space has no value between inf and inf"},
        BadSpace{"BoundsOfOtherSizes", Box{{0, 0}, {1}, {2}},
                 "a Box space has 2 low and 1 high bounds for shape [2]"},
        BadSpace{"OtherShape", Box{{0}, {1}, {2}},
                 "a Box space has 1 low and 1 high bounds for shape [2]"},
        BadSpace{"ShapeThatOverflows", Box{{0}, {1}, {kMost, 2}},
                 "a Box space has 1 low and 1 high bounds for shape [9223372036854775807, 2]"},
        BadSpace{"NegativeLength", Text{-1}, "a Text space needs max_length >= 0, not -1"},
        BadSpace{"NoParts", std::shared_ptr<const Space::Parts>(), "a Dict space needs its parts"}),
    [](const auto& test) { return test.param.label; });

TEST(Space, SamplesEveryValueOfADiscreteAboutEquallyOften) {
  const Space space = Discrete{4, 10};
  Rng rng(1);
  std::map<std::int64_t, int> counts;
  for (int i = 0; i < 4000; ++i) ++counts[std::get<std::int64_t>(space.Sample(rng).value)];
  ASSERT_EQ(counts.size(), 4U);
  // 5 deviations of a binomial(4000, 1/4) are 137.
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, 1000, 137) << value;
}

TEST(Space, IsEqualByValueThroughDicts) {
  const Space a = Space::Dict({{"x", Discrete{2}}});
  EXPECT_EQ(a, Space::Dict({{"x", Discrete{2}}}));
  EXPECT_FALSE(a == Space::Dict({{"x", Discrete{3}}}));
  EXPECT_FALSE(a == Space(Discrete{2}));
}

TEST(Point, IsEqualByValueThroughDicts) {
  EXPECT_EQ(Parts({{"x", Point{1}}}), Parts({{"x", Point{1}}}));
  EXPECT_FALSE(Parts({{"x", Point{1}}}) == Parts({{"x", Point{2}}}));
  EXPECT_FALSE(Parts({}) == Point{std::shared_ptr<const PointMap>()});
  EXPECT_FALSE(Point{1} == Point{Ints{1}});
}

TEST(Point, PrintsNumbersThatReadBackTheSame) {
  EXPECT_EQ(ToString(Parts({{"a", Point{Reals{0.1, -2}}}, {"b", Point{"t"}}})),
            "{a: [0.1, -2], b: \"t\"}");
}

}  // namespace
}  // namespace msc::gym
