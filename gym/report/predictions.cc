#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/report/expected_ranges.h"
#include "gym/report/plot.h"
#include "gym/report/sections.h"

namespace msc::gym {
namespace {

/// A trial with its estimate and its result on one axis, in the order of the trials.
struct Predicted {
  const ReportMark* mark = nullptr;
  double estimated = 0;
  double measured = 0;
};

/// Returns the trials that have both numbers.
std::vector<Predicted> PredictedOf(const std::vector<std::optional<double>>& estimates,
                                   std::span<const ReportMark> marks,
                                   std::optional<double> ReportMark::*result) {
  std::vector<Predicted> all;
  for (std::size_t i = 0; i < std::min(estimates.size(), marks.size()); ++i) {
    const ReportMark& mark = marks[i];
    const auto estimate = IfFinite(estimates[i]);
    if (!estimate || !(mark.*result) || mark.failed || mark.dropped || mark.repeated) continue;
    all.push_back({.mark = &mark, .estimated = *estimate, .measured = *(mark.*result)});
  }
  return all;
}

/// Returns the share of the pairs of trials with different results that estimates put in their
/// order; nothing without such pairs.
std::optional<double> InOrder(std::vector<Predicted> all) {
  constexpr std::size_t kMost = 2000;  // later trials would take long, and change nothing
  if (all.size() > kMost) all.resize(kMost);
  std::int64_t pairs = 0;
  std::int64_t right = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (all[i].measured == all[j].measured) continue;
      ++pairs;
      const bool rises = all[i].measured > all[j].measured;
      right += rises ? all[i].estimated > all[j].estimated : all[i].estimated < all[j].estimated;
    }
  }
  if (pairs == 0) return std::nullopt;
  return static_cast<double>(right) / static_cast<double>(pairs);
}

/// Returns an axis for estimates and results alike.
PlotAxis AxisFor(const std::vector<Predicted>& all) {
  std::vector<double> values;
  for (const Predicted& each : all) {
    values.push_back(each.estimated);
    values.push_back(each.measured);
  }
  // What is as good as 0, such as the loss of the uncompressed model, must not stretch an axis.
  constexpr double kNothing = 1e-6;
  const double largest = *std::max_element(values.begin(), values.end());
  for (double& value : values) {
    if (std::abs(value) < kNothing * largest) value = 0;
  }
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (NeedsLogAxis(values, *most)) {
    constexpr double kMargin = 1.3;
    const bool zero = std::find(values.begin(), values.end(), 0.0) != values.end();
    return MakeLogAxis(LeastPositive(values) / kMargin, kMargin * *most, zero);
  }
  const double margin = (*most - *least) * 0.04;
  return MakeAxis(*least - margin, *most + margin, 6);
}

std::vector<std::optional<ExpectedRange>> RangesOf(const std::vector<Predicted>& all) {
  std::vector<EstimatedResult> results;
  results.reserve(all.size());
  for (const Predicted& each : all) results.push_back({each.estimated, each.measured});
  return RangesFromEarlier(results);
}

/// Returns how many results were in their ranges and how wide these are; empty without ranges.
Html CoverageText(const std::vector<Predicted>& all,
                  const std::vector<std::optional<ExpectedRange>>& ranges) {
  std::size_t inside = 0;
  std::vector<double> widths;  // the upper end over the lower
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!ranges[i]) continue;
    inside += ranges[i]->low <= all[i].measured && all[i].measured <= ranges[i]->high;
    widths.push_back(ranges[i]->high / ranges[i]->low);
  }
  if (widths.empty()) return {};
  const auto middle = widths.begin() + std::ssize(widths) / 2;
  std::ranges::nth_element(widths, middle);
  return Markup("<p class='muted'>A line shows where a result was expected with ",
                FormatPercent(kRangeCoverage, 0),
                " probability, by the errors of the trials before it: ", inside, " of ",
                widths.size(),
                " results were there. Half of the ranges are wider than a factor of ",
                FormatSignificant(*middle, 3), ".</p>");
}

Html Chart(const ReportAxis& axis, const std::string& id, const std::vector<Predicted>& all) {
  constexpr std::size_t kFewest = 3;
  if (all.size() < kFewest) return {};
  const PlotFrame frame;
  PlotAxis x = AxisFor(all);
  PlotAxis y = x;
  x.from = frame.left;
  x.to = frame.right;
  y.from = frame.bottom;
  y.to = frame.top;
  const std::string unit = axis.unit.empty() ? "" : " (" + axis.unit + ")";
  Html svg = OpenPlot(frame,
                      {.id = id,
                       .description = axis.title + " of each trial, estimated and measured",
                       .x = "estimated " + axis.title + unit,
                       .y = "measured " + axis.title + unit,
                       .zooms = true},
                      x, y);
  svg += Markup("<g clip-path='url(#", id, "-clip)'><path class='line baseline' d='M", frame.left,
                " ", frame.bottom, "L", frame.right, " ", frame.top, "'/></g>");
  const std::vector<std::optional<ExpectedRange>> ranges = RangesOf(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!ranges[i]) continue;
    const double across = x.Clamped(all[i].estimated);
    svg += Markup("<path class='expected' d='M", across, " ", y.Clamped(ranges[i]->low), "L",
                  across, " ", y.Clamped(ranges[i]->high), "'/>");
  }
  for (const Predicted& each : all) {
    svg += Markup("<circle cx='", x.Clamped(each.estimated), "' cy='", y.Clamped(each.measured),
                  "' r='", each.mark->best ? 5.0 : 3.5, "' class='mark ", StateOf(*each.mark),
                  "' data-trial='", each.mark->number, "' data-tip='", each.mark->tip,
                  "\nestimated: ", FormatSignificant(each.estimated, 3), "'/>");
  }
  Html order;
  if (const auto share = InOrder(all)) {
    order = Markup("<p class='muted'>Of the pairs of trials, estimates put ",
                   FormatPercent(*share, 0), " in their order.</p>");
  }
  return Markup("<figure><h2>Estimated and measured ", axis.title, "</h2><div class='scroll'>", svg,
                "</svg></div>", order, CoverageText(all, ranges), "</figure>");
}

}  // namespace

Html PredictionSection(const ReportInput& input, std::span<const ReportMark> marks) {
  const Html charts =
      Markup(Chart(input.latency, "predicted-latency",
                   PredictedOf(input.estimated_latency, marks, &ReportMark::latency)),
             Chart(input.quality, "predicted-quality",
                   PredictedOf(input.estimated_quality, marks, &ReportMark::quality)));
  if (charts.text.empty()) return {};
  return Markup(
      "<section id='predictions' class='charts'><p class='muted'>Before the trials, single "
      "decisions were tried alone and whole models timed by layer. The sum of these effects "
      "estimates each trial; on the line, estimate and result are equal. The agent starts from "
      "these estimates and corrects them by the results.</p><div class='pair'>",
      charts, "</div></section>");
}

}  // namespace msc::gym
