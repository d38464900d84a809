#include <algorithm>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gym/report/comparison_page.h"

namespace msc::gym {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

ComparisonView Two() {
  ComparisonView view{.model = "net.onnx",
                      .created = "2026-11-23 10:00 UTC",
                      .tool = "mscgym 0.1.0",
                      .metric = "latency_ratio",
                      .constraint = "accuracy_drop <= 0.5"};
  view.runs = {{.name = "first",
                .agent = "tpe",
                .env = "Quantize-v0",
                .seed = 7,
                .failed = 1,
                .trials = {{1, 1.0}, {2, {}}, {4, 0.5}, {7, 0.75}, {9, 0.25}},
                .volume = 0.125,
                .speed_up = Measured{3.5, 3.25, 3.75}},
               {.name = "second", .agent = "random", .env = "Quantize-v0", .trials = {{3, 0.875}}}};
  return view;
}

TEST(Comparison, SaysWhatEachSearchFoundWhen) {
  const std::string page = RenderComparison(Two());
  // Best, speed-up, hypervolume, at trial, at second; trials, seconds, feasible, failed.
  EXPECT_THAT(page, HasSubstr("<td class='num'>0.2500</td>"
                              "<td class='num' data-value='3.5'>3.50 [3.25, 3.75]</td>"
                              "<td class='num'>0.125</td><td class='num'>4</td>"
                              "<td class='num'>9</td><td class='num'>5</td><td class='num'>9</td>"
                              "<td class='num'>4</td><td class='num'>1</td>"));
  EXPECT_THAT(page, HasSubstr("<td class='num'>0.8750</td><td class='num' data-value=''>–</td>"
                              "<td class='num' data-value=''>–</td><td class='num'>0</td>"
                              "<td class='num'>3</td><td class='num'>1</td>"));
  EXPECT_THAT(page, HasSubstr("feasible where accuracy_drop &lt;= 0.5"));
}

TEST(Comparison, DrawsTheBestSoFarOfEach) {
  const std::string page = RenderComparison(Two());
  std::size_t lines = 0;
  for (std::size_t at = page.find("<path class='line'"); at != std::string::npos;
       at = page.find("<path class='line'", at + 1)) {
    ++lines;
  }
  EXPECT_EQ(lines, 4U) << "two searches, by trials and by time";
  // Two steps down and on to the end: what is worse than the best is not drawn.
  const std::size_t begin = page.find(" d='M", page.find("<path class='line'"));
  const std::string path = page.substr(begin, page.find('>', begin) - begin);
  EXPECT_EQ(std::count(path.begin(), path.end(), 'V'), 2);
  EXPECT_THAT(page, HasSubstr("data-trial='0:2' data-tip='first \xC2\xB7 trial 2\nafter 4 s\n"
                              "latency_ratio: 0.5000'"));
}

TEST(Comparison, TakesAnything) {
  ComparisonView view;
  EXPECT_THAT(RenderComparison(view), HasSubstr("0 searches"));
  view.runs.resize(9);
  view.runs[0].name = "<script>alert(1)</script>";
  view.runs[0].trials = {{kNan, kNan}, {1e300, -1e300}, {-1, 5}};
  view.runs[8].trials = {{0, 1.0}};
  const std::string page = RenderComparison(view);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page.substr(0, page.find("<script>")), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace msc::gym
