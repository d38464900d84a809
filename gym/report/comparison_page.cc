#include "gym/report/comparison_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>

#include "gym/report/html.h"
#include "gym/report/plot.h"
#include "gym/report/static_page.h"

namespace msc::gym {
namespace {

/// Strokes that differ in colour and in dashes, so that neither alone tells them apart.
struct Stroke {
  std::string_view colour;
  std::string_view dashes;
};
constexpr std::array<Stroke, 8> kStrokes = {{{"var(--p6)", "none"},
                                             {"var(--p5)", "7 3"},
                                             {"var(--p2)", "2 3"},
                                             {"var(--p4)", "10 3 2 3"},
                                             {"var(--p1)", "none"},
                                             {"var(--p3)", "7 3"},
                                             {"var(--p0)", "2 3"},
                                             {"var(--ink)", "10 3 2 3"}}};

Html StrokeOf(std::size_t run) {
  const Stroke& stroke = kStrokes.at(run % kStrokes.size());
  return Html{" stroke='" + std::string(stroke.colour) + "' stroke-dasharray='" +
              std::string(stroke.dashes) + "' stroke-width='2' fill='none'"};
}

/// Where a search was when it found something better.
struct Step {
  std::size_t trial = 0;
  double seconds = 0;
  double value = 0;
};

std::vector<Step> StepsOf(const ComparedRun& run) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < run.trials.size(); ++i) {
    const auto value = Finite(run.trials[i].value);
    if (!value || (!steps.empty() && *value >= steps.back().value)) continue;
    steps.push_back({.trial = i, .seconds = run.trials[i].seconds, .value = *value});
  }
  return steps;
}

double SecondsOf(const ComparedRun& run) {
  return run.trials.empty() ? 0 : Finite(run.trials.back().seconds).value_or(0);
}

/// What both charts are drawn with.
struct Chart {
  PlotTitles titles;
  std::function<double(const Step&)> at;          ///< where a step lies along x
  std::function<double(const ComparedRun&)> end;  ///< and the end of a search
  bool whole = false;                             ///< x is whole numbers
};

PlotAxis ValueAxis(const ComparisonView& view) {
  std::vector<double> values;
  double least = 0;
  double worst_best = 0;
  for (const ComparedRun& run : view.runs) {
    const std::vector<Step> steps = StepsOf(run);
    if (steps.empty()) continue;
    least = values.empty() ? steps.back().value : std::min(least, steps.back().value);
    worst_best = values.empty() ? steps.back().value : std::max(worst_best, steps.back().value);
    for (const Step& step : steps) values.push_back(step.value);
  }
  if (values.empty()) return MakeAxis(0, 1, 5);
  const double high = RobustHigh(values, worst_best);
  const double margin = (high - least) * 0.04;
  return MakeAxis(least - margin, high + margin, 6);
}

Html Draw(const ComparisonView& view, const Chart& chart) {
  const PlotFrame frame;
  PlotAxis y = ValueAxis(view);
  y.from = frame.bottom;
  y.to = frame.top;
  double last = chart.whole ? 1 : 0;
  for (const ComparedRun& run : view.runs) last = std::max(last, chart.end(run));
  PlotAxis x = MakeAxis(0, last, 8);
  x.from = frame.left;
  x.to = frame.right;
  if (chart.whole) {
    std::erase_if(x.ticks, [](double tick) { return tick != std::floor(tick); });
    x.digits = 0;
  }
  Html svg = OpenPlot(frame, chart.titles, x, y);
  PlotLabels labels(frame);
  Html names;
  for (std::size_t i = 0; i < view.runs.size(); ++i) {
    const std::vector<Step> steps = StepsOf(view.runs[i]);
    if (steps.empty()) continue;
    Html path;
    for (const Step& step : steps) {
      const double at = x.At(chart.at(step));
      path += path.text.empty() ? Markup("M", at, " ", y.Clamped(step.value))
                                : Markup("H", at, "V", y.Clamped(step.value));
    }
    const double end = x.At(chart.end(view.runs[i]));
    svg += Markup("<path class='line'", StrokeOf(i), " d='", path, "H", end, "'><title>",
                  view.runs[i].name, "</title></path>");
    names += labels.Place(end, y.Clamped(steps.back().value), view.runs[i].name);
  }
  return Markup("<div class='scroll'>", svg, names, "</svg></div>");
}

Html Row(const ComparedRun& run, std::size_t index) {
  const std::vector<Step> steps = StepsOf(run);
  const auto feasible = std::count_if(run.trials.begin(), run.trials.end(),
                                      [](const auto& trial) { return trial.value.has_value(); });
  const auto number = [](const std::string& text) {
    return Markup("<td class='num'>", text, "</td>");
  };
  const auto counted = [&](std::uint64_t count) { return number(std::to_string(count)); };
  const bool found = !steps.empty();
  std::string speed_up = "–";
  if (run.speed_up) {
    speed_up = Fixed(run.speed_up->value, 2) + " [" + Fixed(run.speed_up->low, 2) + ", " +
               Fixed(run.speed_up->high, 2) + "]";
  }
  return Markup("<tr><td><svg width='34' height='10' aria-hidden='true'><path", StrokeOf(index),
                " d='M0 5H34'/></svg> ", run.name, "</td><td>", run.agent, "</td><td>", run.env,
                "</td>", counted(run.seed), counted(run.trials.size()), counted(run.failed),
                counted(run.repeated), counted(static_cast<std::uint64_t>(feasible)),
                number(found ? Significant(steps.back().value, 4) : "–"),
                number(found ? std::to_string(steps.back().trial) : "–"),
                number(found ? Fixed(steps.back().seconds, 0) : "–"),
                number(Fixed(SecondsOf(run), 0)), number(Significant(run.volume, 3)),
                number(speed_up), "</tr>");
}

}  // namespace

std::string RenderComparison(const ComparisonView& view) {
  Html rows;
  for (std::size_t i = 0; i < view.runs.size(); ++i) rows += Row(view.runs[i], i);
  const Chart by_trial{.titles = {.id = "by-trial",
                                  .description = "Best feasible trial so far, by trials",
                                  .x = "trial",
                                  .y = view.metric},
                       .at = [](const Step& step) { return static_cast<double>(step.trial); },
                       .end =
                           [](const ComparedRun& run) {
                             return run.trials.empty() ? 0.0
                                                       : static_cast<double>(run.trials.size() - 1);
                           },
                       .whole = true};
  const Chart by_time{.titles = {.id = "by-time",
                                 .description = "Best feasible trial so far, by time",
                                 .x = "seconds",
                                 .y = view.metric},
                      .at = [](const Step& step) { return step.seconds; },
                      .end = SecondsOf};
  const std::string limits =
      view.constraint.empty() ? "no limit to keep" : "feasible where " + view.constraint;
  const Html body = Markup(
      "<section><h1>", view.model, "</h1><p>", view.runs.size(),
      " searches: the best feasible trial so far of each; ", limits,
      ".</p><p class='muted'>One search of an agent is one draw: which agent is better takes "
      "several "
      "seeds of each.</p>"
      "</section><section class='charts'><div class='pair'><figure><h2>By trials</h2>",
      Draw(view, by_trial), "</figure><figure><h2>By time</h2>", Draw(view, by_time),
      "</figure></div></section><section><h2>Searches</h2><div class='scroll'><table><thead><tr>"
      "<th>search</th><th>agent</th><th>decides</th><th>seed</th><th>trials</th><th>failed</th>"
      "<th>repeated</th><th>feasible</th><th>best</th><th>at trial</th><th>at second</th>"
      "<th>seconds</th><th>hypervolume</th><th>winner, times as fast, 95 "
      "%</th></tr></thead><tbody>",
      rows,
      "</tbody></table></div><p class='muted'>Trials that were tried before are copied and take no "
      "time. The winner is what was measured again at the end. ",
      view.tool, ", ", view.created, ".</p></section>");
  return StaticPage("Searches of " + view.model, body);
}

}  // namespace msc::gym
