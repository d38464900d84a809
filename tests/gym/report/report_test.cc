#include "gym/report/report.h"

#include <array>
#include <cmath>
#include <limits>
#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "gym/report/assets.h"
#include "gym/report/html.h"
#include "gym/report/marks.h"
#include "gym/report/plot.h"
#include "gym/study/importance.h"
#include "tests/gym/report/hard_pages.h"
#include "tests/gym/report/sample_report.h"

namespace msc::gym {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::string_view kDash = "\xE2\x80\x93";

std::size_t Count(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

struct TextCase {
  std::string label;
  std::string text;
  std::string escaped;
};
void PrintTo(const TextCase& item, std::ostream* out) {
  *out << item.label;
}

class EscapedText : public testing::TestWithParam<TextCase> {};

TEST_P(EscapedText, CannotDoHarm) {
  EXPECT_EQ(EscapeHtml(GetParam().text), GetParam().escaped);
}

INSTANTIATE_TEST_SUITE_P(
    All, EscapedText,
    testing::Values(
        TextCase{"Plain", "conv1 \xC3\xA9 \xF0\x9F\x98\x80\n\t",
                 "conv1 \xC3\xA9 \xF0\x9F\x98\x80\n\t"},
        TextCase{"Tag", "</script><b>", "&lt;/script&gt;&lt;b&gt;"},
        TextCase{"Quotes", "\"a' & b", "&quot;a&#39; &amp; b"},
        TextCase{"OverrideOfDirection", "a\xE2\x80\xAE z", "a[U+202E] z"},
        TextCase{"IsolateOfDirection", "\xE2\x81\xA7", "[U+2067]"},
        TextCase{"ArabicLetterMark", "\xD8\x9C", "[U+061C]"},
        TextCase{"ZeroWidthSpace", "a\xE2\x80\x8B", "a[U+200B]"},
        TextCase{"InvisibleTag", "\xF3\xA0\x81\x81", "[U+E0041]"},
        TextCase{"Control", std::string("a\0\x1B\x7F", 4), "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        TextCase{"ControlOfLatin1", "\xC2\x85", "\xEF\xBF\xBD"},
        TextCase{"LoneContinuation", "\x80", "\xEF\xBF\xBD"},
        TextCase{"CutShort", "\xE2\x82", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        TextCase{"Overlong", "\xC0\xBC", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        TextCase{"OverlongOfThree", "\xE0\x80\xBC", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        TextCase{"Surrogate", "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        TextCase{"BeyondUnicode", "\xF4\x90\x80\x80",
                 "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}),
    [](const auto& test) { return test.param.label; });

TEST(Numbers, AreShownForPeople) {
  EXPECT_EQ(FormatFixed(1.005, 1), "1.0");
  EXPECT_EQ(FormatFixed(-0.001, 2), "0.00");
  EXPECT_EQ(FormatSignificant(0.0123, 3), "0.0123");
  EXPECT_EQ(FormatSignificant(1234.5, 3), "1234");
  EXPECT_EQ(FormatSignificant(0.0000123, 2), "1.2e-5");
  EXPECT_EQ(FormatSignificant(0, 3), "0");
  EXPECT_EQ(FormatPercent(0.1234, 1), "12.3 %");
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1430000), "1.4 MB");
  EXPECT_EQ(FormatBytes(123456), "123 kB");
  EXPECT_EQ(FormatExact(0.1), "0.1");
}

TEST(Numbers, KeepTheirSignificantDigitsWhereRoundingAddsOne) {
  EXPECT_EQ(FormatSignificant(9.999, 3), "10.0");
  EXPECT_EQ(FormatSignificant(0.099999, 2), "0.10");
  EXPECT_EQ(FormatSignificant(9999999.6, 3), "1.00e+07");
}

TEST(Texts, AreCutBetweenCharacters) {
  const std::string word = "caf\xC3\xA9 au lait";  // bytes 3 and 4 are one character
  EXPECT_EQ(WithoutEnd(word, word.size()), word);
  EXPECT_EQ(WithoutEnd(word, 8), "caf\xC3\xA9\xE2\x80\xA6");
  EXPECT_EQ(WithoutEnd(word, 7), "caf\xE2\x80\xA6");
  EXPECT_EQ(WithoutStart(word, 12), "\xE2\x80\xA6 au lait");
}

class NoNumber : public testing::TestWithParam<std::optional<double>> {};

TEST_P(NoNumber, IsADashForPeopleAndNothingForScripts) {
  const auto none = GetParam();
  const std::vector<std::string> shown = {FormatFixed(none, 2), FormatSignificant(none, 3),
                                          FormatPercent(none, 1), FormatBytes(none)};
  EXPECT_EQ(shown, std::vector<std::string>(4, std::string(kDash)));
  EXPECT_EQ(FormatExact(none), "");
}

INSTANTIATE_TEST_SUITE_P(All, NoNumber,
                         testing::Values(std::optional<double>(), std::optional(kNan),
                                         std::optional(kInfinity), std::optional(-kInfinity)));

TEST(Markup, EscapesAllButLiteralsAndMarkup) {
  const std::string text = "<i>";
  EXPECT_EQ(Markup("<b>", text, Html{"<u>"}, 3, " ", 0.5).text, "<b>&lt;i&gt;<u>3 0.50");
}

TEST(PlotAxis, HasTicksAtRoundNumbersInside) {
  const PlotAxis axis = MakeAxis(0.37, 1.04, 6);
  EXPECT_EQ(axis.digits, 1);
  ASSERT_EQ(axis.ticks.size(), 4U);
  EXPECT_DOUBLE_EQ(axis.ticks.front(), 0.4);
  EXPECT_DOUBLE_EQ(axis.ticks.back(), 1.0);
}

struct Range {
  double low;
  double high;
};
void PrintTo(const Range& range, std::ostream* out) {
  *out << range.low << " to " << range.high;
}

class AxisOfAnyRange : public testing::TestWithParam<Range> {};

TEST_P(AxisOfAnyRange, HoldsItBetweenItsPixels) {
  const auto [low, high] = GetParam();
  PlotAxis axis = MakeAxis(low, high, 6);
  axis.from = 10;
  axis.to = 500;
  EXPECT_TRUE(axis.Holds(low) && axis.Holds(high));
  // Not NaN, too.
  EXPECT_TRUE(axis.PixelOf(low) >= 10 && axis.PixelOf(low) <= axis.PixelOf(high) &&
              axis.PixelOf(high) <= 500);
}

TEST_P(AxisOfAnyRange, HasFewTicks) {
  const PlotAxis axis = MakeAxis(GetParam().low, GetParam().high, 6);
  EXPECT_LT(axis.low, axis.high);
  EXPECT_LE(axis.ticks.size(), 13U);
  for (const double tick : axis.ticks) EXPECT_TRUE(std::isfinite(tick));
}

INSTANTIATE_TEST_SUITE_P(All, AxisOfAnyRange,
                         testing::Values(Range{0, 1}, Range{0, 0}, Range{5, 5}, Range{-3, -3},
                                         Range{-1e100, 1e100}, Range{0, 1e-300},
                                         Range{1, 1 + 1e-15}, Range{-2, 1e9}, Range{1e100, 1e100}));

TEST(RobustHigh, LeavesOutWhatLiesFarBeyond) {
  std::vector<double> values(99, 1.0);
  values.push_back(1000);
  EXPECT_EQ(RobustHigh(values, 1.5), 1.5);
  EXPECT_EQ(RobustHigh({1, 2, 3}, 0), 3);
  EXPECT_EQ(RobustHigh({}, 2), 2);
}

TEST(PlotLabels, DoNotCoverEachOther) {
  PlotLabels labels{PlotFrame{}};
  std::size_t placed = 0;
  for (int i = 0; i < 60; ++i) placed += labels.Place(300, 200, "label").text.empty() ? 0 : 1;
  EXPECT_GE(placed, 5U);
  EXPECT_LT(placed, 60U);
}

TEST(Report, ShowsEverySection) {
  const std::string html = RenderReport(SampleReport());
  for (const char* part :
       {"<title>fashion_resnet.onnx", "id='history'", "id='scatter'", "id='finalists'",
        "id='layers'", "id='breakdown'", "id='decisions'", "id='importance'", "id='predictions'",
        "id='parallel'", "id='front'", "id='failures'", "id='reproduce'", "id='machine'",
        "id='config'", "id='trials'"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
}

TEST(Report, MarksEachTrialOnceInTheHistory) {
  const ReportInput input = SampleReport();
  const std::string html = RenderReport(input);
  const std::size_t from = html.find("id='history'");
  const std::string chart = html.substr(from, html.find("</svg>", from) - from);
  EXPECT_EQ(Count(chart, "data-trial="), input.study.trials.size());
  EXPECT_EQ(Count(chart, "class='mark best'"), 1U);
  EXPECT_EQ(Count(chart, "line baseline"), 1U);
}

TEST(Marks, StarTheWinnerOfTheFinalistsAndWhereNoneIsKnownTheBestTrial) {
  ReportInput input = SampleReport();
  const std::size_t best = input.study.best.value();
  const std::size_t winner = best == 0 ? 1 : 0;
  input.winner = winner;
  EXPECT_TRUE(ReportMarks(input)[winner].best);
  EXPECT_FALSE(ReportMarks(input)[best].best);
  input.winner.reset();
  EXPECT_FALSE(ReportMarks(input)[winner].best);
  EXPECT_TRUE(ReportMarks(input)[best].best);
}

TEST(Report, DrawsTheParetoSetInTheScatter) {
  const ReportInput input = SampleReport();
  const std::string html = RenderReport(input);
  const std::size_t from = html.find("id='scatter'");
  const std::string chart = html.substr(from, html.find("</svg>", from) - from);
  EXPECT_EQ(Count(chart, "front-line"), 1U);
  EXPECT_EQ(Count(chart, "class='line limit'"), 1U);
  EXPECT_THAT(chart, HasSubstr(">bf16</text>"));
}

/// The part of a page from `from` to the next `to`.
std::string Part(const std::string& html, const std::string& from, const std::string& to) {
  const std::size_t at = html.find(from);
  return at == std::string::npos ? "" : html.substr(at, html.find(to, at) - at);
}

TEST(Report, GreysTrialsThatMissALimitAndSaysWhich) {
  ReportInput input = SampleReport(30);
  input.missed.assign(30, "");
  input.missed[2] = "accuracy_drop <= 0.3";
  ASSERT_FALSE(input.feasible[2]);
  const std::string html = RenderReport(input);
  EXPECT_THAT(Part(html, "<section id='trials'", "</section>"),
              HasSubstr("<tr data-trial='2' class='infeasible'><td class='num'>2</td>"
                        "<td class='long'>anchor:int8</td><td class='long'>misses accuracy_drop "
                        "&lt;= 0.3</td>"));
  EXPECT_EQ(Count(Part(html, "<section id='front'", "</section>"), "class='infeasible'"), 0U);
  EXPECT_THAT(html, HasSubstr("\nmisses accuracy_drop &lt;= 0.3'")) << "under the pointer, too";
  EXPECT_EQ(Count(Part(html, "<section id='finalists'", "</section>"), "<tr class='infeasible'>"),
            1U);
}

TEST(Report, SaysThatTheParetoSetKeepsNoLimit) {
  ReportInput input = SampleReport(30);
  EXPECT_THAT(RenderReport(input), Not(HasSubstr("No trial keeps the limits")));
  input.feasible.assign(30, false);
  input.study.pareto = {1, 2};
  const std::string front = Part(RenderReport(input), "<section id='front'", "</section>");
  EXPECT_THAT(front, HasSubstr("No trial keeps the limits"));
  EXPECT_EQ(Count(front, "class='infeasible"), 2U);
}

TEST(Report, SaysThatATrialWasDroppedAfterARoughMeasurement) {
  ReportInput input = SampleReport(30);
  input.study.trials[9].evaluation.dropped = true;
  input.feasible[9] = false;
  const std::string row =
      Part(RenderReport(input), "<tr data-trial='9' class='infeasible'><td class='num'>9", "</tr>");
  EXPECT_THAT(row, HasSubstr("<td class='long'>dropped after a rough measurement</td>"));
}

TEST(Report, DrawsTheFrontOfTheTwoAxesThatAreShown) {
  ReportInput input;
  input.latency = {.metric = "a", .title = "first"};
  input.quality = {.metric = "b", .title = "second"};
  input.others = {{.metric = "c", .title = "third", .unit = "kB", .scale = 1000}};
  // None beats another in all three; of the two that are shown trials 1 and 3 are beaten.
  const std::vector<std::array<double, 3>> values = {
      {1, 5, 9000}, {2, 6, 8000}, {3, 3, 7000}, {4, 4, 2000}, {5, 1, 6000}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    Trial& trial = input.study.trials.emplace_back();
    trial.number = i;
    trial.evaluation.metrics = {{"a", values[i][0]}, {"b", values[i][1]}, {"c", values[i][2]}};
    input.feasible.push_back(true);
    input.study.pareto.push_back(i);
  }
  const std::string html = RenderReport(input);
  const std::string line = Part(Part(html, "id='scatter'", "</svg>"), "front-line' d='", "'/>");
  EXPECT_EQ(Count(line, "V"), 4U) << "down to the first of three, and along each of them: " << line;
  double last = -1e9;
  for (std::size_t at = line.find('V'); at != std::string::npos; at = line.find('V', at + 1)) {
    const double y = std::stod(line.substr(at + 1));
    EXPECT_GE(y, last) << "never back up: " << line;
    last = y;
  }
  EXPECT_THAT(Part(html, "<section id='trials'", "</section>"), HasSubstr("third</th>"));
  EXPECT_THAT(html, HasSubstr("\nthird: 9.00 kB")) << "in its unit";
}

TEST(Report, ShowsLimitsOfBothAxes) {
  ReportInput input = SampleReport(30);
  input.latency.limit = 0.8;
  const std::string html = RenderReport(input);
  EXPECT_EQ(Count(Part(html, "id='scatter'", "</svg>"), "class='line limit'"), 2U);
  EXPECT_EQ(Count(Part(html, "id='history'", "</svg>"), "class='line limit'"), 1U);
}

TEST(Report, ComparesWhoProposed) {
  ReportInput input = SampleReport(30);
  input.sources = {{.source = "anchor",
                    .trials = 3,
                    .feasible = 2,
                    .last = 2,
                    .best = 1,
                    .better = 2,
                    .last_better = 1,
                    .gained = 0.25},
                   {.source = "<agent>", .trials = 27, .first = 3, .last = 29, .gained = 0.75}};
  const std::string section = Part(RenderReport(input), "<section id='sources'", "</section>");
  EXPECT_THAT(section, HasSubstr("<td class='name'>baselines</td><td class='num'>3</td>"
                                 "<td class='num' data-value='0'>0 to 2</td>"));
  EXPECT_THAT(section, HasSubstr("67 %"));
  EXPECT_THAT(section, HasSubstr("data-trial='1'>1</td>"));
  EXPECT_THAT(section, HasSubstr("<td class='name'>&lt;agent&gt;</td>"));
  EXPECT_THAT(section, HasSubstr("75.0 %"));
  for (SourceShare& share : input.sources) share.gained = 0;
  EXPECT_THAT(Part(RenderReport(input), "<section id='sources'", "</section>"),
              Not(HasSubstr("gained")));
  input.sources.clear();
  EXPECT_THAT(RenderReport(input), Not(HasSubstr("id='sources'")));
}

TEST(Report, ShowsEnergyWhereItIsKnown) {
  ReportInput input = SampleReport(30);
  EXPECT_THAT(RenderReport(input), Not(HasSubstr("<dt>Energy</dt>")));
  input.headline.joules = 0.0012;
  input.headline.reference_joules = 0.002;
  const std::string html = RenderReport(input);
  EXPECT_THAT(html, HasSubstr("<dt>Energy</dt><dd><strong>\xE2\x88\x92"
                              "40 "));
  EXPECT_THAT(html, HasSubstr("1.20 mJ per call, was 2.00 mJ"));
}

TEST(Report, DrawsALineThroughEachTrialThatSucceeded) {
  ReportInput input = SampleReport(60);
  std::size_t succeeded = 0;
  for (const Trial& trial : input.study.trials) succeeded += trial.evaluation.Complete() ? 1 : 0;
  const std::string html = RenderReport(input);
  const std::size_t from = html.find("id='parallel'");
  const std::string chart = html.substr(from, html.find("</svg>", from) - from);
  EXPECT_EQ(Count(chart, "<path class='thread "), succeeded);
  EXPECT_EQ(Count(chart, " best' tabindex='0'"), 1U);
  // Eight decisions and two metrics, and a way from each to the next.
  EXPECT_EQ(Count(chart, "<line class='grid'"), 10U);
  EXPECT_EQ(Count(chart, "L"), 9 * succeeded);
  input.study.trials[0].repeated = true;
  EXPECT_EQ(Count(RenderReport(input), "<path class='thread "), succeeded - 1);
}

std::string SectionOf(const std::string& html, const std::string& id) {
  const std::size_t from = html.find("<section id='" + id + "'");
  return from == std::string::npos ? "" : html.substr(from, html.find("</section>", from) - from);
}

TEST(Breakdown, TellsComputingFromConvertingAndMoving) {
  ReportInput input = SampleReport(10);
  input.steps_before = {{"conv", "onednn", "f32", "conv1, relu1", 3}, {"t", "onednn", "", "t1", 1}};
  input.steps_after = {{"reorder", "onednn", "", "", 0.25},
                       {"conv", "native", "int8", "conv<1>", 0.75},
                       {"broken", "native", "f32", "x", kNan}};
  const std::string section = SectionOf(RenderReport(input), "breakdown");
  EXPECT_THAT(section, HasSubstr("uncompressed model: 4.000 ms in 2 steps"));
  EXPECT_THAT(section, HasSubstr("best configuration: 1.000 ms in 2 steps"));
  EXPECT_THAT(section, HasSubstr("style='width:100.00%'"));
  EXPECT_THAT(section, HasSubstr("style='width:25.00%'"));
  EXPECT_THAT(section,
              HasSubstr("data-tip='conv&lt;1&gt;\nnative, int8\n0.750 ms, 75.0 % of best"));
  EXPECT_THAT(section,
              HasSubstr("data-tip='reorder\nonednn, converting\n0.250 ms, 25.0 % of best"));
  EXPECT_THAT(section, HasSubstr("data-tip='t1\nonednn, moving data\n1.00 ms, 25.0 % of uncompr"));
  // A row a kind, with what both models spend on it.
  EXPECT_EQ(Count(section, "<tr><td><span class='chip "), 4U);
  EXPECT_THAT(section, HasSubstr("converting</span></td><td class='num bar' data-value='0'>"));
}

TEST(Breakdown, IsLeftOutWithoutStepsAndShowsOneModelAlone) {
  ReportInput input = SampleReport(10);
  input.steps_after.clear();
  const std::string one = SectionOf(RenderReport(input), "breakdown");
  EXPECT_EQ(Count(one, "class='strip'"), 1U);
  EXPECT_THAT(one, HasSubstr("<td class='num' data-value=''>" + std::string(kDash)));
  input.steps_before = {{"a", "b", "f32", "c", kInfinity}, {"a", "b", "f32", "c", -1}};
  EXPECT_EQ(SectionOf(RenderReport(input), "breakdown"), "");
}

TEST(Layers, HaveTheirTimesWhereTheseAreKnown) {
  ReportInput input = SampleReport(10);
  EXPECT_THAT(SectionOf(RenderReport(input), "layers"), Not(HasSubstr("after (ms)")));
  input.layers[0].before_ms = 2;
  input.layers[0].after_ms = 0.5;
  input.layers[1].before_ms = 1;
  const std::string section = SectionOf(RenderReport(input), "layers");
  EXPECT_THAT(section, HasSubstr("before (ms)</th><th class='num'>after (ms)"));
  EXPECT_THAT(section, HasSubstr("data-value='0.5'><span class='fill' style='--part:25.00'>"));
}

TEST(Importance, FindsWhatAValueIsMadeOf) {
  const std::vector<Decision> decisions = {
      {"much", {"0", "1", "2"}}, {"none", {"0", "1"}}, {"little", {"0", "1", "2"}}};
  std::vector<Assignment> assignments;
  std::vector<double> sums;
  std::vector<double> products;
  std::vector<double> noise;
  Rng rng(3);
  for (int i = 0; i < 200; ++i) {
    const auto a = static_cast<std::int32_t>(rng.Below(3));
    const auto b = static_cast<std::int32_t>(rng.Below(2));
    const auto c = static_cast<std::int32_t>(rng.Below(3));
    assignments.push_back({a, b, c});
    sums.push_back(3 * a + c);
    products.push_back((a - 1) * (c - 1));
    noise.push_back(rng.Normal());
  }
  const auto sum = DecisionImportance(decisions, assignments, sums);
  ASSERT_TRUE(sum);
  // Variances of 3 a and c, which ranks keep: all sums differ in order as in value.
  EXPECT_NEAR(sum->shares[0], 0.9, 0.03);
  EXPECT_NEAR(sum->shares[1], 0.0, 0.005);
  EXPECT_NEAR(sum->shares[0] + sum->shares[1] + sum->shares[2], 1, 1e-12);
  EXPECT_GT(sum->predicted, 0.98);
  // Neither says anything of it alone, and chance nothing at all.
  EXPECT_LT(DecisionImportance(decisions, assignments, products)->predicted, 0.15);
  EXPECT_LT(DecisionImportance(decisions, assignments, noise)->predicted, 0.1);
  EXPECT_FALSE(DecisionImportance(decisions, assignments, std::vector<double>(200, 1.0)));
  EXPECT_FALSE(DecisionImportance(decisions, std::span(assignments).first(9),
                                  std::span<const double>(sums).first(9)));
  std::vector<double> wild = sums;  // by ranks: far off is no more than last
  for (double& value : wild) value = std::exp(10 * value);
  EXPECT_EQ(DecisionImportance(decisions, assignments, wild)->shares, sum->shares);
}

TEST(Report, SaysWhatWasFound) {
  const std::string html = RenderReport(SampleReport());
  EXPECT_THAT(html, HasSubstr("\xC3\x97 as fast as the uncompressed model."));
  EXPECT_THAT(html,
              HasSubstr("\xE2\x9C\x93 constraint met: accuracy_drop \xE2\x89\xA4 0.3 points"));
}

TEST(Report, SaysWhatChangedWithItsSign) {
  constexpr const char* kMinus = "\xE2\x88\x92";
  const std::string html = RenderReport(SampleReport());
  EXPECT_THAT(html, HasSubstr(std::string(kMinus) + "0.19 <span class='unit'>points</span>"));
  EXPECT_THAT(html, HasSubstr(std::string(kMinus) + "73 <span class='unit'>%</span>"));
}

TEST(Report, SaysThatADifferenceIsNotSignificant) {
  ReportInput input = SampleReport();
  input.headline.speed_up = Measured{1.01, 0.98, 1.04};
  EXPECT_THAT(RenderReport(input),
              HasSubstr("No significant difference in speed to the uncompressed model."));
}

TEST(Report, SaysInItsVerdictHowFastOnnxRuntimeIs) {
  ReportInput input = SampleReport();
  input.headline.speed_up = Measured{3.5, 3.25, 3.75};
  input.headline.rival = "1.31\xC3\x97 as fast as it in ONNX Runtime 1.23.2";
  EXPECT_THAT(
      RenderReport(input),
      HasSubstr("3.50\xC3\x97 as fast as the uncompressed model; 1.31\xC3\x97 as fast as it "
                "in ONNX Runtime 1.23.2."));
}

TEST(Report, SaysThatItIsSlower) {
  ReportInput input = SampleReport();
  input.headline.speed_up = Measured{0.8, 0.78, 0.82};
  EXPECT_THAT(RenderReport(input),
              HasSubstr("0.80\xC3\x97 as fast as the uncompressed model: slower."));
}

TEST(Report, GivesTheHypervolumeBesideTheParetoSet) {
  ReportInput input = SampleReport();
  EXPECT_THAT(RenderReport(input), Not(HasSubstr("Of the trials that keep the limits")));
  input.volume = "hypervolume 0.2 below cost 1 & more";
  EXPECT_THAT(RenderReport(input), HasSubstr("hypervolume 0.2 below cost 1 &amp; more."));
}

TEST(Report, SaysThatTheSearchWasNotFinished) {
  ReportInput input = SampleReport();
  input.headline = {.constraint = "accuracy_drop <= 0.3", .unfinished = true};
  const std::string html = RenderReport(input);
  EXPECT_THAT(html, HasSubstr("The search was not finished."));
  EXPECT_THAT(html, Not(HasSubstr("No configuration was found.")));
  EXPECT_THAT(html, Not(HasSubstr("constraint not met")));
}

TEST(Report, SaysThatNothingWasFound) {
  ReportInput input = SampleReport();
  input.headline = {.configuration = "", .constraint = "accuracy_drop <= 0.3"};
  input.study.best.reset();
  const std::string html = RenderReport(input);
  EXPECT_THAT(html, HasSubstr("No configuration was found."));
  EXPECT_THAT(html, HasSubstr("\xE2\x9C\x97 constraint not met: accuracy_drop &lt;= 0.3"));
}

TEST(Report, PointsOutALayerThatRanInAnotherPrecision) {
  ReportInput input = SampleReport();
  EXPECT_EQ(Count(RenderReport(input), "class='differs'"), 1U);
}

TEST(Report, ShowsEstimatesAgainstResults) {
  ReportInput input = SampleReport(30);
  std::vector<std::optional<double>>& estimates = input.estimated_latency;
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    if (estimates[i]) estimates[i] = 2 * input.study.trials[i].evaluation.metrics["latency_ratio"];
  }
  const auto chart = [&](const char* id) {
    return Part(RenderReport(input), std::string("id='") + id, "</figure>");
  };
  const auto known = std::count_if(estimates.begin(), estimates.end(),
                                   [](const auto& estimate) { return estimate.has_value(); });
  EXPECT_EQ(Count(chart("predicted-latency"), "<circle"), static_cast<std::size_t>(known));
  EXPECT_THAT(chart("predicted-latency"), HasSubstr("estimates put 100 % in their order"));
  EXPECT_THAT(chart("predicted-quality"), HasSubstr("in their order"));
  // Each result is half of its estimate, so the ranges from the tenth trial on are points.
  EXPECT_EQ(Count(chart("predicted-latency"), "class='expected'"),
            static_cast<std::size_t>(known) - 9);
  const std::string count = std::to_string(known - 9);
  EXPECT_THAT(chart("predicted-latency"),
              HasSubstr(count + " of " + count + " results were there"));
  for (auto& estimate : estimates) {
    if (estimate) estimate = -*estimate;
  }
  EXPECT_THAT(chart("predicted-latency"), HasSubstr("estimates put 0 % in their order"));
  input.estimated_quality.clear();
  EXPECT_THAT(RenderReport(input), Not(HasSubstr("predicted-quality")));
  estimates.clear();
  EXPECT_THAT(RenderReport(input), Not(HasSubstr("id='predictions'")));
}

TEST(Report, FillsLayersByTheChannelsThatStay) {
  ReportInput input = SampleReport(30);
  EXPECT_THAT(RenderReport(input), Not(HasSubstr("channels kept")));
  for (ReportLayer& layer : input.layers) layer.kept = 0.75;
  input.decisions[0].choices = {"1", "0.5", "0.25"};
  const std::string html = RenderReport(input);
  EXPECT_EQ(Count(html, "class='cell part p"), input.layers.size());
  EXPECT_THAT(html, HasSubstr("style='--kept:75.00;flex-grow:"));
  EXPECT_THAT(html, HasSubstr("75.0 % of its channels kept"));
  EXPECT_THAT(html, HasSubstr(">channels kept</th>"));
  EXPECT_THAT(html, HasSubstr("class='cell part density' style='--kept:")) << "in the Pareto set";
  EXPECT_THAT(html, Not(HasSubstr(">0.5</span></li>"))) << "shares are no colours";
}

TEST(Report, SaysWhyADecisionWasTaken) {
  ReportInput input = SampleReport();
  ASSERT_GT(input.winner.value(), 20U) << "trials below are made anew";
  const Trial winner = input.study.trials[*input.winner];
  input.alone.assign(input.decisions.size(), 0.5);
  for (Trial& trial : input.study.trials) {
    if (trial.number != winner.number) trial.assignment.assign(winner.assignment.size(), 0);
  }
  const auto differ = [&](std::size_t trial, std::size_t decision) -> Trial& {
    Trial& other = input.study.trials[trial];
    other = winner;
    other.number = trial;
    other.assignment[decision] = (winner.assignment[decision] + 1) % 3;
    input.feasible[trial] = true;
    return other;
  };
  const double latency = winner.evaluation.metrics.at("latency_ratio");
  differ(10, 2).evaluation.metrics["latency_ratio"] = latency + 0.25;
  differ(11, 2).assignment[2] = (winner.assignment[2] + 2) % 3;
  differ(12, 3);
  input.feasible[12] = false;
  differ(13, 4).evaluation = {{}, Failure{FailureKind::kTimeout, "too slow"}, ""};
  differ(14, 5).assignment[6] = (winner.assignment[6] + 1) % 3;  // two decisions: says nothing
  input.alone.assign(input.decisions.size(), std::nullopt);
  input.alone[7] = 0.5;
  input.instead.assign(7, "");
  input.instead[6] = "int8 instead would <lose> 0.60 points more";
  input.unsupported = {"not offered: bf16"};
  const std::string html = RenderReport(input);
  const std::size_t from = html.find("id='decisions'");
  const std::string log = html.substr(from, html.find("</section>", from) - from);
  EXPECT_EQ(Count(log, "<tr>"), input.decisions.size() + 1);
  EXPECT_EQ(Count(log, "<li data-trial="), 4U);
  EXPECT_THAT(log,
              HasSubstr("(trial 10) slower: latency relative to f32 " +
                        FormatFixed(latency + 0.25, 3) + " against " + FormatFixed(latency, 3)));
  EXPECT_THAT(log, HasSubstr("(trial 11) as fast: "));
  EXPECT_THAT(log, HasSubstr("(trial 12) misses the constraint: "));
  EXPECT_THAT(log, HasSubstr("(trial 13) failed, timeout</li>"));
  EXPECT_EQ(Count(log, "unknown: no trial differs in this decision alone"),
            input.decisions.size() - 4);
  EXPECT_THAT(log, HasSubstr("<li>int8 instead would &lt;lose&gt; 0.60 points more (measured after "
                             "the search)</li>"));
  EXPECT_EQ(Count(log, "differs in this decision alone; compressed alone it loses 0.500 (" +
                           input.sensitivity),
            1U);
  EXPECT_EQ(Count(log, "<div class='note'>not offered: bf16</div>"), 1U);

  // A first axis that is no time.
  input.latency = input.quality;
  for (Trial& trial : input.study.trials) trial.evaluation.metrics[input.quality.metric] = 1;
  input.study.trials[10].evaluation.metrics[input.quality.metric] = 2;
  EXPECT_THAT(RenderReport(input), HasSubstr("(trial 10) worse: " + input.quality.title));
}

TEST(Report, CountsReasonsOfFailure) {
  ReportInput input = SampleReport(10);
  input.study = {};
  for (std::uint64_t i = 0; i < 5; ++i) {
    Trial& trial = input.study.trials.emplace_back();
    trial.number = i;
    trial.evaluation.failure =
        Failure{i < 3 ? FailureKind::kTimeout : FailureKind::kCrash, "detail " + std::to_string(i)};
  }
  const std::string html = RenderReport(input);
  EXPECT_THAT(html, HasSubstr("<td class='name'>timeout</td><td class='num bar' "
                              "data-value='3'>"));
  EXPECT_THAT(html, HasSubstr("<td class='name'>crash</td><td class='num bar' "
                              "data-value='2'>"));
  EXPECT_THAT(html, HasSubstr("trial 3: detail 3"));
}

TEST(Report, ShowsWhichWorkerMeasuredWhatWhen) {
  ReportInput input = SampleReport(30);
  EXPECT_THAT(RenderReport(input), Not(HasSubstr("id='timeline'")));
  input.tasks = {{.worker = 1, .trial = 0, .from = 700, .to = 820, .end = "result"},
                 {.worker = 7, .trial = 5, .from = 700, .to = 1000, .end = "lost"},
                 {.worker = 1, .trial = 5, .from = 820, .to = 1300, .end = "result"},
                 {.worker = 1, .trial = {}, .from = 1300, .to = 1400, .end = "result"},
                 {.worker = 1, .trial = 9000, .from = 1400, .to = 1400, .end = "nothing"},
                 {.worker = 2, .trial = 1, .from = kNan, .to = 3, .end = "result"},
                 {.worker = 3, .trial = 1, .from = 5, .to = 4, .end = "result"},
                 {.worker = 4, .trial = 1, .from = -kInfinity, .to = kInfinity, .end = "lost"}};
  const std::string html = RenderReport(input);
  const std::size_t from = html.find("id='timeline'");
  const std::string section = html.substr(from, html.find("</section>", from) - from);
  EXPECT_EQ(Count(section, "data-tip='worker "), 5U);
  EXPECT_EQ(Count(section, "data-trial='5'"), 2U);
  EXPECT_THAT(section, HasSubstr("minutes since the start"));
  EXPECT_THAT(section, HasSubstr("worker 7 \xC2\xB7 300.00 s\nlost with the worker\ntrial 5"));
  // 700 of 700 seconds, and 300.
  EXPECT_THAT(section, HasSubstr("<td class='num'>1</td><td class='num'>3</td><td class='num'>1"));
  EXPECT_THAT(section, HasSubstr("100.0 %"));
  EXPECT_THAT(section, HasSubstr("42.9 %"));
  input.tasks.clear();
  for (int i = 0; i < 100; ++i) {
    input.tasks.push_back(
        {.worker = 1'000'000'007LL * i, .trial = {}, .from = 1, .to = 2, .end = "result"});
  }
  EXPECT_THAT(RenderReport(input), HasSubstr("the first 64 of 100 workers"));
}

TEST(Report, NeedsNothingFromOutside) {
  std::string html = RenderReport(SampleReport());
  // D3 names itself and the namespace of SVG; that a browser asks for nothing is tested in one.
  const std::string library(ChartLibrary());
  if (!library.empty()) html.erase(html.find(library), library.size());
  for (const char* part : {"http:", "https:", "src=", "@import", "url(http"}) {
    EXPECT_THAT(html, Not(HasSubstr(part))) << part;
  }
  EXPECT_EQ(Count(html, "href="), Count(html, "href='#")) << "links lead within the page";
}

TEST(Report, ListsItsSections) {
  const std::string html = RenderReport(HardReport());
  const std::string contents = Part(html, "<nav class='contents'", "</nav>");
  EXPECT_EQ(Count(contents, "<a href='#"), 16U);
  for (const char* id :
       {"charts", "finalists", "changed", "ship", "layers", "failures", "trials"}) {
    EXPECT_THAT(contents, HasSubstr("<a href='#" + std::string(id) + "'>"));
    EXPECT_EQ(Count(html, "<section id='" + std::string(id) + "'"), 1U) << id;
  }
  EXPECT_THAT(Part(RenderReport({}), "<nav class='contents'", "</nav>"),
              Not(HasSubstr("#finalists")))
      << "only those that are there";
}

TEST(Report, ShowsTilesForLimitsGuardMemoryAndThroughput) {
  ReportInput input = HardReport();
  std::string tiles = Part(RenderReport(input), "<dl class='tiles'>", "</dl>");
  EXPECT_THAT(tiles, HasSubstr("<div class='tile bad'><dt>Guard</dt><dd><strong>suspicious"));
  EXPECT_THAT(tiles, HasSubstr("limit 2.5 ms"));
  EXPECT_THAT(tiles, HasSubstr("<dt>Memory for activations</dt><dd><strong>12.3 MB"));
  EXPECT_THAT(tiles, HasSubstr("<dt>Against f32 on onnxruntime:threads=2</dt>"));
  input.headline.latency_ms = 2;
  input.headline.reference_ms = 400;
  input.headline.suspicions = {};
  tiles = Part(RenderReport(input), "<dl class='tiles'>", "</dl>");
  EXPECT_THAT(tiles, HasSubstr("<dt>Throughput</dt><dd><strong>500 <span class='unit'>calls/s"));
  EXPECT_THAT(tiles, HasSubstr("was 2.50 calls/s"));
  EXPECT_THAT(tiles, HasSubstr("<div class='tile'><dt>Guard</dt><dd><strong>passed"));
}

TEST(Report, ShowsPicturesThatAreOnlyPictures) {
  ReportInput input = SampleReport(5);
  input.changed = {{.name = "Sample 1",
                    .change = "0.5 nats",
                    .before = "<3>",
                    .after = "4",
                    .label = "",
                    .picture = "iVBORw0KGgo=",
                    .tokens = ""},
                   {.name = "Sample 2",
                    .change = "",
                    .before = "",
                    .after = "",
                    .label = "",
                    .picture = "x' onerror='alert(1)",
                    .tokens = ""}};
  const std::string part = Part(RenderReport(input), "<section id='changed'", "</section>");
  EXPECT_THAT(part, HasSubstr("<img alt='Sample 1' src='data:image/png;base64,iVBORw0KGgo='>"));
  EXPECT_THAT(part, HasSubstr("<dt>before</dt><dd>&lt;3&gt;</dd>"));
  EXPECT_THAT(part, Not(HasSubstr("onerror")));
  EXPECT_EQ(Count(part, "<img"), 1U);
}

TEST(LogAxis, IsUsedWhereALinearOneFlattensMost) {
  EXPECT_TRUE(NeedsLogAxis({0, 1e-5, 2e-5, 1e-4, 1e-3, 1}, 1));
  EXPECT_FALSE(NeedsLogAxis({0.1, 0.4, 0.6, 1}, 1));
  EXPECT_FALSE(NeedsLogAxis({-1e-3, 1e-5, 1e-4, 1}, 1)) << "gains have no logarithm";
  EXPECT_FALSE(NeedsLogAxis({0, 0, 0, 1}, 1)) << "zeros alone span no decades";
}

TEST(LogAxis, PlacesDecadesEvenlyAndZeroAtItsEnd) {
  PlotAxis axis = MakeLogAxis(1e-4, 1, true);
  axis.from = 0;
  axis.to = 100;
  const double step = axis.PixelOf(1e-1) - axis.PixelOf(1e-2);
  EXPECT_NEAR(axis.PixelOf(1e-2) - axis.PixelOf(1e-3), step, 1e-9);
  EXPECT_GT(axis.PixelOf(1e-4), 5) << "above 0";
  EXPECT_EQ(axis.PixelOf(0), 0);
  EXPECT_TRUE(axis.Holds(0));
  EXPECT_FALSE(axis.Holds(2));
  EXPECT_EQ(axis.TickText(axis.ticks.front()), "0");
  EXPECT_EQ(axis.TickText(axis.ticks.back()), "1");
  EXPECT_EQ(axis.ticks.size(), 6U);
}

TEST(LogAxis, TakesAnyRange) {
  for (const double low : {0.0, 1e-300, 1e-6, 1.0}) {
    for (const double high : {1e-300, 1.0, 1e100}) {
      const PlotAxis axis = MakeLogAxis(low, high, true);
      EXPECT_GT(axis.low, 0);
      EXPECT_LT(axis.low, axis.high);
      EXPECT_LT(axis.ticks.size(), 20U);
    }
  }
}

TEST(Report, GrowsLittleByItsLibrary) {
  EXPECT_LT(ChartLibrary().size() + ChartScript().size(), 150'000U);
  const std::string html = RenderReport(SampleReport(10));
  const char* const told = "built without D3";
  if (ChartLibrary().empty()) {
    EXPECT_THAT(html, HasSubstr(told));
  } else {
    EXPECT_THAT(html, Not(HasSubstr(told)));
    EXPECT_THAT(html, HasSubstr("Mike Bostock")) << "its licence goes with it";
  }
}

TEST(Report, IsTheSameForTheSameInput) {
  EXPECT_EQ(RenderReport(SampleReport()), RenderReport(SampleReport()));
}

TEST(Report, IsMadeOfAnEmptyInput) {
  const std::string html = RenderReport({});
  EXPECT_THAT(html, HasSubstr("No trial has finished."));
  EXPECT_THAT(html, HasSubstr("</html>"));
}

/// Every text of the input becomes `text`.
ReportInput AllTextsAre(const std::string& text) {
  ReportInput input = SampleReport(30);
  for (std::string* field :
       {&input.model, &input.created, &input.tool, &input.headline.configuration,
        &input.headline.constraint, &input.latency.title, &input.latency.unit, &input.quality.title,
        &input.quality.unit, &input.sensitivity, &input.config}) {
    *field = text;
  }
  for (Decision& decision : input.decisions) {
    decision.name = text;
    for (std::string& choice : decision.choices) choice = text;
  }
  for (Trial& trial : input.study.trials) {
    trial.source = trial.number == 1 ? "anchor:" + text : text;
    if (trial.evaluation.failure) trial.evaluation.failure->detail = text;
  }
  for (ReportLayer& layer : input.layers) layer = {text, text, text, 0.1, text, text, 0.1, 0.1};
  for (ReportFinalist& finalist : input.finalists) finalist.label = finalist.note = text;
  input.left_out = text;
  for (ReportFact& fact : input.machine) fact = {text, text};
  for (ReportCommand& command : input.commands) command = {text, text};
  return input;
}

class HostileText : public testing::TestWithParam<TextCase> {};

TEST_P(HostileText, NeverReachesThePageUnescaped) {
  const std::string page = RenderReport(AllTextsAre(GetParam().text));
  EXPECT_THAT(page, Not(HasSubstr(GetParam().text)));
  EXPECT_GE(Count(page, GetParam().escaped), 100U);
  const std::string harmless = RenderReport(SampleReport(30));
  EXPECT_EQ(Count(page, "<script"), Count(harmless, "<script"));
  EXPECT_EQ(Count(page, "</script"), Count(harmless, "</script"));
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileText,
    testing::Values(TextCase{"Script", "</script><script>x()", "&lt;/script&gt;&lt;script&gt;x()"},
                    TextCase{"Attribute", "\" onmouseover=\"x()", "&quot; onmouseover=&quot;x()"},
                    TextCase{"SingleQuote", "' onload='x()", "&#39; onload=&#39;x()"},
                    TextCase{"Comment", "<!--", "&lt;!--"},
                    TextCase{"Bidi", "\xE2\x80\xAEgnp", "[U+202E]gnp"}),
    [](const auto& test) { return test.param.label; });

TEST(Report, ShowsNoNumberThatIsNone) {
  for (const double none : {kNan, kInfinity, -kInfinity}) {
    ReportInput input = SampleReport(30);
    input.headline.speed_up = Measured{none, none, none};
    for (auto* field : {&input.headline.latency_ms, &input.headline.reference_ms,
                        &input.headline.accuracy, &input.headline.reference_accuracy,
                        &input.headline.weight_bytes, &input.headline.reference_weight_bytes,
                        &input.latency.baseline, &input.quality.baseline, &input.quality.limit}) {
      *field = none;
    }
    for (Trial& trial : input.study.trials) {
      trial.seconds = none;
      for (auto& [name, value] : trial.evaluation.metrics) value = none;
    }
    for (ReportLayer& layer : input.layers)
      layer.latency_share = layer.sensitivity = layer.kept = none;
    for (auto& alone : input.alone) alone = none;
    for (auto& estimate : input.estimated_latency) estimate = none;
    for (auto& estimate : input.estimated_quality) estimate = none;
    for (ReportFinalist& finalist : input.finalists) {
      finalist.speed_up = Measured{1, none, 2};
      finalist.latency_ms = finalist.weight_bytes = none;
      finalist.means = {Measured{none, none, none}};
    }
    std::string html = RenderReport(input);
    html = html.substr(0, html.find("<script>"));
    for (const char* word : {"nan", "inf'", "inf<", ">inf", "-inf"}) {
      EXPECT_THAT(html, Not(HasSubstr(word))) << word;
    }
  }
}

TEST(Report, StandsNumbersOfAnySize) {
  ReportInput input = SampleReport(20);
  double value = 1e-320;
  for (Trial& trial : input.study.trials) {
    for (auto& [name, metric] : trial.evaluation.metrics) metric = value;
    value *= -1e32;
    trial.number *= 900'000'000'000'000'000U;
  }
  EXPECT_THAT(RenderReport(input), HasSubstr("</html>"));
}

TEST(Report, LeavesOutIndicesThatPointNowhere) {
  ReportInput input = SampleReport(10);
  input.study.best = 1000;
  input.study.pareto = {5000, 1};
  input.feasible.clear();
  input.decisions.resize(3);
  input.alone.resize(1);
  input.study.trials[1].assignment = {-1, 99};
  EXPECT_THAT(RenderReport(input), HasSubstr("</html>"));
}

}  // namespace
}  // namespace msc::gym
