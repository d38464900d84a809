#include "gym/report/layer_page.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace msc::gym {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

/// A chart of layers whose numbers are 1, 2, ..., in this order.
LayerChart Layers(int count) {
  LayerChart chart{.title = "Chart", .after = "numbers", .columns = {"cell"}};
  for (int i = 1; i <= count; ++i) {
    chart.rows.push_back({.name = "layer" + std::to_string(i),
                          .after = static_cast<double>(i),
                          .cells = {std::to_string(i)}});
  }
  return chart;
}

std::string PageOf(LayerChart chart) {
  LayerView view{.tool = "tool", .model = "net.onnx", .summary = "Done."};
  view.charts.push_back(std::move(chart));
  return RenderLayers(view);
}

TEST(LayerPage, DrawsAllOfFewLayersInTheirOrder) {
  const std::string page = PageOf(Layers(13));
  EXPECT_EQ(Count(page, "<th scope='row'"), 13U);
  EXPECT_LT(page.find(">layer1</th>"), page.find(">layer13</th>"));
  EXPECT_THAT(page, Not(HasSubstr("the other")));
}

TEST(LayerPage, DrawsTheLargestOfManyAndTheLargestOfTheRest) {
  const std::string page = PageOf(Layers(40));
  EXPECT_EQ(Count(page, "<th scope='row'"), 13U);
  EXPECT_THAT(page, HasSubstr("The largest is 40.0, of layer40; half of the 40 are at most 20.0"));
  EXPECT_LT(page.find(">layer40</th>"), page.find(">layer29</th>"));
  EXPECT_THAT(page, Not(HasSubstr(">layer28</th>")));
  EXPECT_THAT(page, HasSubstr("the other 28, at most</th>"));
  EXPECT_THAT(page, HasSubstr(">28.0</td>"));
  EXPECT_EQ(Count(page, "<td class='name'>"), 40U) << "the table has them all";
}

TEST(LayerPage, AddsUpTheRestOfAWhole) {
  LayerChart chart = Layers(40);
  chart.adds = true;
  const std::string page = PageOf(std::move(chart));
  // 29 + ... + 40 = 414 of 820.
  EXPECT_THAT(page, HasSubstr("layer40 has 5 % of the whole; the 12 largest of 40 have 50 %."));
  EXPECT_THAT(page, HasSubstr("the other 28 together</th>"));
  EXPECT_THAT(page, HasSubstr(">406</td>"));
}

TEST(LayerPage, ShowsWhatIsMarkedHoweverSmallAndWhatIsNotFinite) {
  LayerChart chart = Layers(40);
  chart.rows[2].marked = true;
  chart.rows[4].after = std::numeric_limits<double>::infinity();
  const std::string page = PageOf(std::move(chart));
  EXPECT_THAT(page, HasSubstr(">layer3</th>"));
  EXPECT_THAT(page, HasSubstr(">layer5</th>"));
  EXPECT_THAT(page, Not(HasSubstr(">inf")));
}

TEST(LayerPage, HasALogarithmicScaleWhereALinearOneFlattens) {
  LayerChart chart = Layers(8);
  EXPECT_THAT(PageOf(chart), Not(HasSubstr("logarithmic")));
  double value = 1;
  for (LayerRow& row : chart.rows) row.after = value /= 10;
  const std::string page = PageOf(chart);
  EXPECT_THAT(page, HasSubstr("Bars: numbers (logarithmic scale)."));
  EXPECT_THAT(page, HasSubstr("width:100.00%"));
  EXPECT_THAT(page, Not(HasSubstr("width:0.00%"))) << "the least has a bar, too";
}

TEST(LayerPage, DrawsNoBarsThatWouldBeEqualOrAbsent) {
  LayerChart chart = Layers(8);
  for (LayerRow& row : chart.rows) row.after = 8;
  EXPECT_THAT(PageOf(chart), HasSubstr("<p>The same for all 8; numbers: 8.00.</p>"));
  for (LayerRow& row : chart.rows) row.after.reset();
  const std::string page = PageOf(chart);
  EXPECT_THAT(page, Not(HasSubstr("The same")));
  EXPECT_EQ(Count(page, "<td class='name'>"), 8U);
}

TEST(LayerPage, HasNoTableWithoutColumns) {
  LayerChart chart = Layers(3);
  chart.columns.clear();
  EXPECT_EQ(Count(PageOf(std::move(chart)), "<td class='name'>"), 0U);
}

}  // namespace
}  // namespace msc::gym
