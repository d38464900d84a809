#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gym/report/assets.h"
#include "gym/report/plot.h"
#include "gym/report/sections.h"
#include "gym/study/importance.h"

namespace msc::gym {

namespace {

/// Returns whether the assignment has a valid choice for every decision.
bool Fits(const ReportInput& input, const Assignment& assignment) {
  if (assignment.size() != input.decisions.size()) return false;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    const bool known =
        assignment[i] >= 0 && std::cmp_less(assignment[i], input.decisions[i].choices.size());
    if (!known) return false;
  }
  return true;
}

using Field = std::optional<double> ReportMark::*;

std::optional<Importance> Of(const ReportInput& input, std::span<const ReportMark> marks,
                             Field field) {
  std::vector<Assignment> assignments;
  std::vector<double> values;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const Assignment& assignment = input.study.trials[i].assignment;
    // Failed trials have no value, and repeated ones would count a result twice.
    if (marks[i].failed || marks[i].repeated || !(marks[i].*field)) continue;
    if (!Fits(input, assignment)) continue;
    assignments.push_back(assignment);
    values.push_back(*(marks[i].*field));
  }
  return DecisionImportance(input.decisions, assignments, values);
}

Html Predicted(const std::string& title, const std::optional<Importance>& importance) {
  if (!importance) return {};
  // A negative share means that the model predicts worse than the mean does.
  const double share = std::max(0.0, importance->predicted);
  return Markup(" ", title, ": ", FormatPercent(share, 0), ".");
}

std::optional<double> ShareOf(const std::optional<Importance>& importance, std::size_t decision) {
  if (!importance) return std::nullopt;
  return importance->shares[decision];
}

// --- parallel coordinates ------------------------------------------------------------------------

constexpr std::size_t kMaxDecisions = 8;
constexpr std::size_t kMaxLines = 400;
constexpr std::size_t kMaxLabel = 17;  // bytes; a longer label keeps its end

/// A vertical axis with the value of each trial on it.
struct Pole {
  std::string title;
  PlotAxis axis;
  std::vector<std::string> labels;             ///< of choices 0, 1, ...; empty for a metric
  std::vector<std::optional<double>> heights;  ///< by trial
};

Pole OfDecision(const ReportInput& input, std::size_t index) {
  const Decision& decision = input.decisions[index];
  Pole pole;
  pole.title = decision.name;
  pole.labels = decision.choices;
  pole.axis = MakeAxis(0, std::max(1.0, static_cast<double>(decision.choices.size()) - 1), 1);
  for (const Trial& trial : input.study.trials) {
    pole.heights.push_back(Fits(input, trial.assignment)
                               ? std::optional<double>(trial.assignment[index])
                               : std::nullopt);
  }
  return pole;
}

Pole OfMetric(const ReportInput& input, const ReportAxis& axis, std::span<const ReportMark> marks,
              Field field) {
  Pole pole;
  pole.title = axis.title;
  std::vector<double> values;
  double usual = 0;
  for (const ReportMark& mark : marks) {
    pole.heights.push_back(mark.failed ? std::nullopt : mark.*field);
    if (!pole.heights.back()) continue;
    values.push_back(*pole.heights.back());
    if (MustShow(input, mark)) usual = std::max(usual, values.back());
  }
  const double low = values.empty() ? 0 : *std::min_element(values.begin(), values.end());
  const double most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  // Outliers lie at the end of the axis, except those that must be visible.
  const double high = RobustHigh(values, std::max(usual, low));
  pole.axis = NeedsLogAxis(values, high) ? MakeLogAxis(LeastPositive(values), most, low == 0)
                                         : MakeAxis(low, high, 4);
  return pole;
}

/// Returns the most important decisions in network order, then the metrics.
std::vector<Pole> Poles(const ReportInput& input, std::span<const ReportMark> marks) {
  std::vector<std::size_t> order(input.decisions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (const auto importance = Of(input, marks, &ReportMark::latency)) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return importance->shares[a] > importance->shares[b];
    });
  }
  order.resize(std::min(order.size(), kMaxDecisions));
  std::sort(order.begin(), order.end());
  std::vector<Pole> poles;
  for (const std::size_t index : order) poles.push_back(OfDecision(input, index));
  poles.push_back(OfMetric(input, input.latency, marks, &ReportMark::latency));
  if (!input.quality.metric.empty()) {
    poles.push_back(OfMetric(input, input.quality, marks, &ReportMark::quality));
  }
  return poles;
}

/// Returns the names of the choices of a pole at `x`, or its ticks.
Html PoleTicks(const Pole& pole, double x) {
  Html ticks;
  const auto add = [&](double value, const std::string& text) {
    ticks += Markup("<text class='tick above' x='", x - 5, "' y='", pole.axis.PixelOf(value) + 4,
                    "' text-anchor='end'>", text, "</text>");
  };
  for (std::size_t k = 0; k < pole.labels.size(); ++k) {
    add(static_cast<double>(k), WithoutStart(pole.labels[k], kMaxLabel));
  }
  if (!pole.labels.empty()) return ticks;
  for (const double tick : pole.axis.ticks) add(tick, pole.axis.TickText(tick));
  return ticks;
}

int Rank(const ReportMark& mark) {
  return mark.best ? 3 : mark.pareto ? 2 : mark.feasible ? 1 : 0;
}

/// Returns the trials to draw, important ones last. Beyond kMaxLines it drops the oldest of the
/// least important.
std::vector<std::size_t> Drawn(std::span<const ReportMark> marks) {
  std::vector<std::size_t> drawn;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (!marks[i].failed && !marks[i].repeated) drawn.push_back(i);
  }
  std::stable_sort(drawn.begin(), drawn.end(),
                   [&](std::size_t a, std::size_t b) { return Rank(marks[a]) < Rank(marks[b]); });
  if (drawn.size() > kMaxLines) drawn.erase(drawn.begin(), drawn.end() - kMaxLines);
  return drawn;
}

}  // namespace

Html ImportanceSection(const ReportInput& input, std::span<const ReportMark> marks) {
  if (input.decisions.empty()) return {};
  const std::optional<Importance> latency = Of(input, marks, &ReportMark::latency);
  const std::optional<Importance> quality =
      input.quality.metric.empty() ? std::nullopt : Of(input, marks, &ReportMark::quality);
  if (!latency && !quality) return {};
  const auto largest = [](const std::optional<Importance>& importance) {
    return importance ? *std::max_element(importance->shares.begin(), importance->shares.end()) : 0;
  };
  Html rows;
  for (std::size_t i = 0; i < input.decisions.size(); ++i) {
    const auto fast = ShareOf(latency, i);
    const auto close = ShareOf(quality, i);
    rows += Markup("<tr><td class='name'>", input.decisions[i].name, "</td>",
                   BarCell(fast, largest(latency), FormatPercent(fast, 1)),
                   BarCell(close, largest(quality), FormatPercent(close, 1)), "</tr>");
  }
  return Markup(
      "<section id='importance'><h2>Which decisions matter</h2><p class='muted'>The effect of each "
      "decision, as a share of the effects of all decisions, in an additive model fitted to the "
      "ranks of the trials. The higher the share of variance that this model predicts for trials "
      "left out of the fit, the more reliable are the shares.",
      Predicted(input.latency.title, latency), Predicted(input.quality.title, quality),
      "</p><div class='scroll'><table class='sortable'><thead><tr><th>decision</th><th "
      "class='num'>",
      input.latency.title, "</th><th class='num'>", input.quality.title,
      "</th></tr></thead><tbody>", rows, "</tbody></table></div></section>");
}

Html ParallelSection(const ReportInput& input, std::span<const ReportMark> marks) {
  const std::vector<std::size_t> drawn = Drawn(marks);
  if (drawn.empty() || input.decisions.empty()) return {};
  std::vector<Pole> poles = Poles(input, marks);
  const PlotFrame frame{
      .width = 1240, .height = 340, .left = 125, .right = 1180, .top = 40, .bottom = 300};
  const double step =
      (frame.right - frame.left) / std::max(1.0, static_cast<double>(poles.size()) - 1);
  Html svg = Markup("<svg class='plot broad' id='parallel' viewBox='0 0 ", frame.width, " ",
                    frame.height, "' data-brush='", frame.top, " ", frame.bottom,
                    "' role='group' aria-label='Choices and results, one line for each trial'>");
  // The axes, with the names of choices or with ticks; these lie above the lines of trials.
  Html ticks;
  for (std::size_t i = 0; i < poles.size(); ++i) {
    Pole& pole = poles[i];
    pole.axis.from = frame.bottom;
    pole.axis.to = frame.top;
    const double x = frame.left + step * static_cast<double>(i);
    svg += Markup(
        "<line class='grid' x1='", x, "' x2='", x, "' y1='", frame.top, "' y2='", frame.bottom,
        "'/><text class='title' x='", x, "' y='20' text-anchor='middle' data-pole='",
        pole.labels.size() < 2 ? 0.0 : std::abs(pole.axis.PixelOf(1) - pole.axis.PixelOf(0)),
        "' data-tip='", pole.title, "'>", WithoutStart(pole.title, kMaxLabel), "</text>");
    ticks += PoleTicks(pole, x);
  }
  // A line of each trial, broken where a value is absent.
  for (const std::size_t index : drawn) {
    Html path;
    bool pen = false;  // whether the line continues
    for (std::size_t i = 0; i < poles.size(); ++i) {
      const std::optional<double> height = poles[i].heights[index];
      if (height) {
        path += Markup(pen ? Html{"L"} : Html{"M"}, frame.left + step * static_cast<double>(i), " ",
                       poles[i].axis.Clamped(*height));
      }
      pen = height.has_value();
    }
    const ReportMark& mark = marks[index];
    svg += Markup("<path class='thread ", StateOf(mark), mark.pareto ? Html{" pareto"} : Html{},
                  mark.best ? Html{" best' tabindex='0"} : Html{}, "' d='", path, "' data-trial='",
                  mark.number, "' data-tip='", mark.tip, "'/>");
  }
  svg += ticks;
  return Markup(
      "<section id='threads'><h2>Choices and results</h2><p class='muted'>One line for each "
      "trial, through its choices and results",
      input.subject == ReportSubject::kRecipe
          ? Html{}
          : Html{": the decisions that matter most, in the order of the network"},
      ". ",
      ChartLibrary().empty() ? Html{}
                             : Html{"Drag along an axis, or focus its name and press the up and "
                                    "down keys, to select a range. This chart and the table of "
                                    "trials then show only the trials in that range. + and "
                                    "\xE2\x88\x92 widen and narrow the range; Escape shows all "
                                    "trials again."},
      "</p><div class='scroll'>", svg, "</svg></div></section>");
}

}  // namespace msc::gym
