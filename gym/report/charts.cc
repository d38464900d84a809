#include "gym/report/charts.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gym/report/assets.h"
#include "gym/report/plot.h"

namespace msc::gym {

namespace {

/// Returns the attributes that all marks share: hovering shows the tip and highlights the same
/// trial in the other charts.
Html Attributes(const ReportMark& mark, std::string_view classes) {
  return Markup(" class='mark ", classes, "' data-trial='", mark.number, "' data-tip='", mark.tip,
                "'");
}

Html Diamond(double x, double y, double r) {
  return Markup(x, ",", y - r, " ", x + r, ",", y, " ", x, ",", y + r, " ", x - r, ",", y);
}

Html Star(double x, double y) {
  // A five-pointed star: precomputed sines of multiples of 36 degrees, radii 9 and 4.
  return Markup(x, ",", y - 9, " ", x + 2.35, ",", y - 3.24, " ", x + 8.56, ",", y - 2.78, " ",
                x + 3.8, ",", y + 1.24, " ", x + 5.29, ",", y + 7.28, " ", x, ",", y + 4, " ",
                x - 5.29, ",", y + 7.28, " ", x - 3.8, ",", y + 1.24, " ", x - 8.56, ",", y - 2.78,
                " ", x - 2.35, ",", y - 3.24);
}

/// Draws a trial at (x, y) in the shape of its kind. `beyond` means that its true place is off the
/// plot.
Html Shape(const ReportMark& mark, double x, double y, bool beyond) {
  if (mark.best) {
    return Markup("<polygon points='", Star(x, y), "' tabindex='0'", Attributes(mark, "best"),
                  "/>");
  }
  if (!mark.anchor.empty()) {
    return Markup("<polygon points='", Diamond(x, y, 6), "' tabindex='0'",
                  Attributes(mark, mark.feasible ? "anchor" : "anchor infeasible"), "/>");
  }
  if (beyond) {
    return Markup("<path d='M", x - 4, " ", y + 4, "h8l-4 -7z'", Attributes(mark, StateOf(mark)),
                  "/>");
  }
  const std::string classes = StateOf(mark) + (mark.pareto ? " pareto" : "");
  return Markup("<circle cx='", x, "' cy='", y, "' r='", mark.pareto ? 4.5 : 3.5, "'",
                Attributes(mark, classes), "/>");
}

/// Returns the drawing order. Ordinary marks come first, so that the important ones lie on top.
int Rank(const ReportMark& mark) {
  return mark.best ? 4 : !mark.anchor.empty() ? 3 : mark.pareto ? 2 : mark.feasible ? 1 : 0;
}

std::vector<const ReportMark*> ByRank(std::span<const ReportMark> marks) {
  std::vector<const ReportMark*> order;
  for (const ReportMark& mark : marks) {
    if (!mark.failed) order.push_back(&mark);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return Rank(*a) < Rank(*b); });
  return order;
}

using Field = std::optional<double> ReportMark::*;

/// Returns a logarithmic axis that shows all values, none of them negative and one above 0.
PlotAxis LogAxis(const std::vector<double>& values) {
  const bool zero = std::find(values.begin(), values.end(), 0) != values.end();
  // The margin keeps the outermost marks off the frame.
  constexpr double kMargin = 1.3;
  return MakeLogAxis(LeastPositive(values) / kMargin,
                     kMargin * *std::max_element(values.begin(), values.end()), zero);
}

/// Returns an axis from the smallest value to the largest that must be visible: the baseline, a
/// margin beyond the limit, and the marks of MustShow. It is logarithmic if a linear one would
/// flatten the values.
PlotAxis MetricAxis(const ReportInput& input, const ReportAxis& axis,
                    std::span<const ReportMark> marks, Field field) {
  std::vector<double> all;
  std::optional<double> inside;
  const auto reach = [&](double value) { inside = std::max(inside.value_or(value), value); };
  for (const ReportMark& mark : marks) {
    if (mark.failed || !(mark.*field)) continue;
    all.push_back(*(mark.*field));
    if (MustShow(input, mark)) reach(all.back());
  }
  const auto baseline = IfFinite(axis.baseline);
  if (baseline) {
    all.push_back(*baseline);
    reach(*baseline);
  }
  const auto limit = IfFinite(axis.limit);
  // Some of the area beyond the limit shows the trials that narrowly miss it.
  if (limit) reach(baseline ? *limit + 0.6 * std::max(0.0, *limit - *baseline) : *limit);
  if (all.empty()) return MakeAxis(0, 1, 5);
  const double least = *std::min_element(all.begin(), all.end());
  const double high = RobustHigh(all, inside.value_or(least));
  if (NeedsLogAxis(all, high)) return LogAxis(all);
  // The margin keeps the outermost marks off the frame.
  const double margin = (high - least) * 0.04;
  return MakeAxis(least - margin, high + margin, 6);
}

std::string AxisTitle(const ReportAxis& axis) {
  return axis.title + (axis.unit.empty() ? "" : " (" + axis.unit + ")");
}

std::string LimitLabel(const ReportAxis& axis) {
  return "limit " + FormatExact(axis.limit) + (axis.unit.empty() ? "" : " ") + axis.unit;
}

/// Draws the smallest feasible value of the first axis so far, as a staircase over trial numbers.
Html BestSoFar(std::span<const ReportMark> marks, const PlotAxis& x, const PlotAxis& y) {
  Html path;
  std::optional<double> best;
  for (const ReportMark& mark : marks) {
    if (!mark.feasible || (best && *mark.latency >= *best)) continue;
    const double at = x.PixelOf(static_cast<double>(mark.number));
    path += best ? Markup("H", at, "V", y.Clamped(*mark.latency))
                 : Markup("M", at, " ", y.Clamped(*mark.latency));
    best = mark.latency;
  }
  if (!best) return {};
  return Markup("<path class='line best-line' d='", path, "H", x.to, "'/>");
}

Html FailedLane(std::span<const ReportMark> marks, const PlotAxis& x, double y) {
  Html lane;
  for (const ReportMark& mark : marks) {
    if (!mark.failed) continue;
    const double at = x.PixelOf(static_cast<double>(mark.number));
    lane += Markup("<path d='M", at - 3, " ", y - 3, "l6 6m0 -6l-6 6'", Attributes(mark, "failed"),
                   "/>");
  }
  if (lane.text.empty()) return lane;
  return Markup("<text class='tick' x='", x.from - 8, "' y='", y + 4,
                "' text-anchor='end'>failed</text>", lane);
}

Html HorizontalLine(const PlotFrame& frame, double y, std::string_view kind,
                    const std::string& label) {
  return Markup("<line class='line ", kind, "' x1='", frame.left, "' x2='", frame.right, "' y1='",
                y, "' y2='", y, "'/><text class='label muted' x='", frame.right - 4, "' y='", y - 6,
                "' text-anchor='end'>", label, "</text>");
}

/// Draws the Pareto staircase of the two axes over feasible trials, or over all trials if none is
/// feasible. With more than two objectives the Pareto set is larger than this front.
Html Front(std::span<const ReportMark> marks, const PlotAxis& x, const PlotAxis& y) {
  const bool any_feasible =
      std::any_of(marks.begin(), marks.end(), [](const auto& mark) { return mark.feasible; });
  std::vector<const ReportMark*> front;
  for (const ReportMark& mark : marks) {
    if (mark.failed || mark.dropped || !mark.quality || (any_feasible && !mark.feasible)) continue;
    front.push_back(&mark);
  }
  if (front.empty()) return {};
  // In this order a trial is on the front exactly if its second value is below those of all before
  // it.
  std::sort(front.begin(), front.end(), [](const auto* a, const auto* b) {
    return std::pair(*a->latency, *a->quality) < std::pair(*b->latency, *b->quality);
  });
  std::optional<double> least;
  std::erase_if(front, [&](const ReportMark* mark) {
    const bool beaten = least && *mark->quality >= *least;
    if (!beaten) least = mark->quality;
    return beaten;
  });
  // The clip path hides lines above the plot; the bound keeps SVG coordinates small.
  const auto above = [&](double quality) { return std::max(y.PixelOf(quality), y.to - 1000); };
  Html path = Markup("M", x.Clamped(*front.front()->latency), " ", y.to - 1000, "V",
                     above(*front.front()->quality));
  for (const ReportMark* mark : front) {
    path += Markup("H", x.Clamped(*mark->latency), "V", above(*mark->quality));
  }
  return Markup("<path class='line front-line' d='", path, "H", x.to, "'/>");
}

}  // namespace

Html HistoryChart(const ReportInput& input, std::span<const ReportMark> marks) {
  const PlotFrame frame;
  const double lane = frame.bottom - 10;
  PlotAxis y = MetricAxis(input, input.latency, marks, &ReportMark::latency);
  // Below the values, failed trials have a lane of their own.
  y.from = frame.bottom - 22;
  y.to = frame.top;
  double last = 1;
  for (const ReportMark& mark : marks) last = std::max(last, static_cast<double>(mark.number));
  PlotAxis x = MakeAxis(0, last, 8);
  x.from = frame.left + 8;
  x.to = frame.right - 8;
  // Trial numbers are integers.
  std::erase_if(x.ticks, [](double tick) { return tick != std::floor(tick); });
  x.digits = 0;

  Html svg = OpenPlot(frame,
                      {.id = "history",
                       .description = input.latency.title + " of each trial and the best so far",
                       .x = "trial",
                       .y = AxisTitle(input.latency),
                       .zooms = true,
                       .counts = true},
                      x, y);
  if (const auto baseline = IfFinite(input.latency.baseline)) {
    svg += HorizontalLine(frame, y.Clamped(*baseline), "baseline", "uncompressed");
  }
  if (const auto limit = IfFinite(input.latency.limit)) {
    svg += HorizontalLine(frame, y.Clamped(*limit), "limit", LimitLabel(input.latency));
  }
  svg += BestSoFar(marks, x, y);
  svg += FailedLane(marks, x, lane);
  // A label avoids all marks, so they are drawn before the first label is placed.
  PlotLabels labels(frame);
  Html names;
  for (const ReportMark* mark : ByRank(marks)) {
    const double at = x.PixelOf(static_cast<double>(mark->number));
    const double height = y.Clamped(*mark->latency);
    svg += Shape(*mark, at, height, !y.Holds(*mark->latency));
    labels.Avoid(at, height);
  }
  for (const ReportMark& mark : marks) {
    if (!mark.best) continue;
    names += labels.Place(x.PixelOf(static_cast<double>(mark.number)), y.Clamped(*mark.latency),
                          "best: " + FormatSignificant(mark.latency, 3));
  }
  return Markup(svg, names, "</svg>");
}

Html ScatterChart(const ReportInput& input, std::span<const ReportMark> marks) {
  const PlotFrame frame;
  PlotAxis x = MetricAxis(input, input.latency, marks, &ReportMark::latency);
  x.from = frame.left;
  x.to = frame.right;
  PlotAxis y = MetricAxis(input, input.quality, marks, &ReportMark::quality);
  y.from = frame.bottom;
  y.to = frame.top;

  Html svg = OpenPlot(
      frame,
      {.id = "scatter",
       .description = input.latency.title + " and " + input.quality.title + " of each trial",
       .x = AxisTitle(input.latency),
       .y = AxisTitle(input.quality),
       .zooms = true},
      x, y);
  if (const auto limit = IfFinite(input.quality.limit)) {
    const double at = y.Clamped(*limit);
    svg += Markup("<rect class='forbidden' x='", frame.left, "' y='", frame.top, "' width='",
                  frame.right - frame.left, "' height='", std::max(0.0, at - frame.top), "'/>");
    svg += HorizontalLine(frame, at, "limit", LimitLabel(input.quality));
  }
  if (const auto limit = IfFinite(input.latency.limit)) {
    const double at = x.Clamped(*limit);
    svg += Markup("<rect class='forbidden' x='", at, "' y='", frame.top, "' width='",
                  std::max(0.0, frame.right - at), "' height='", frame.bottom - frame.top,
                  "'/><line class='line limit' x1='", at, "' x2='", at, "' y1='", frame.top,
                  "' y2='", frame.bottom, "'/>");
  }
  svg += Markup("<g clip-path='url(#scatter-clip)'>", Front(marks, x, y), "</g>");
  PlotLabels labels(frame);
  for (const ReportMark* mark : ByRank(marks)) {
    if (!mark->quality) continue;
    const bool beyond = !y.Holds(*mark->quality) || !x.Holds(*mark->latency);
    const double at = x.Clamped(*mark->latency);
    const double height = y.Clamped(*mark->quality);
    svg += Shape(*mark, at, height, beyond);
    labels.Avoid(at, height);
  }
  auto order = ByRank(marks);
  std::reverse(order.begin(), order.end());
  for (const ReportMark* mark : order) {
    if (!mark->quality || (mark->anchor.empty() && !mark->best)) continue;
    std::string name = mark->best ? "best: trial " + std::to_string(mark->number) : mark->anchor;
    // The arrow says that the true place is above the plot.
    if (*mark->quality > y.high) name += " \xE2\x86\x91";
    svg += labels.Place(x.Clamped(*mark->latency), y.Clamped(*mark->quality), name);
  }
  return Markup(svg, "</svg>");
}

Html ChartLegend() {
  return Markup(
      "<ul class='legend' aria-label='Legend'>"
      "<li><svg viewBox='0 0 18 18'><polygon class='mark best' points='",
      Star(9, 9),
      "'/></svg>best</li>"
      "<li><svg viewBox='0 0 18 18'><circle class='mark feasible pareto' cx='9' cy='9' "
      "r='4.5'/></svg>Pareto set</li>"
      "<li><svg viewBox='0 0 18 18'><circle class='mark feasible' cx='9' cy='9' "
      "r='3.5'/></svg>keeps the constraint</li>"
      "<li><svg viewBox='0 0 18 18'><circle class='mark infeasible' cx='9' cy='9' "
      "r='3.5'/></svg>misses the constraint</li>"
      "<li><svg viewBox='0 0 18 18'><polygon class='mark anchor' points='",
      Diamond(9, 9, 6),
      "'/></svg>baseline</li>"
      "<li><svg viewBox='0 0 18 18'><path class='mark failed' d='M6 6l6 6m0 -6l-6 6'/></svg>"
      "failed</li>"
      "<li><svg viewBox='0 0 18 18'><path class='mark infeasible' d='M5 13h8l-4 -7z'/></svg>"
      "outside the chart</li></ul><p class='muted hint'>Press Tab to reach a chart, the arrow keys "
      "to go from point to point, and Escape to close the description of a point. ",
      ChartLibrary().empty() ? Html{"The program was built without D3, so charts cannot be zoomed."}
                             : Html{"In a chart, + and \xE2\x88\x92 zoom, 0 shows the whole chart, "
                                    "and Shift with the arrow keys moves it. With a pointer, drag "
                                    "the chart to move it, and turn the wheel while holding Ctrl "
                                    "to zoom."},
      "</p>");
}

}  // namespace msc::gym
