#include "gym/report/comparison_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>

#include "gym/report/html.h"
#include "gym/report/page_frame.h"
#include "gym/report/plot.h"

namespace msc::gym {
namespace {

/// Line styles that differ in colour and dashes, so that readers who cannot tell colours apart
/// still tell lines apart.
struct Stroke {
  std::string_view colour;
  std::string_view dashes;
};
constexpr std::array<Stroke, 8> kStrokes = {{{"var(--l0)", "none"},
                                             {"var(--l1)", "7 3"},
                                             {"var(--l2)", "2 3"},
                                             {"var(--l3)", "10 3 2 3"},
                                             {"var(--l4)", "none"},
                                             {"var(--l5)", "7 3"},
                                             {"var(--l6)", "2 3"},
                                             {"var(--ink)", "10 3 2 3"}}};

std::string_view ColourOf(std::size_t run) {
  return kStrokes.at(run % kStrokes.size()).colour;
}

Html StrokeOf(std::size_t run) {
  return Markup(" stroke='", ColourOf(run), "' stroke-dasharray='",
                kStrokes.at(run % kStrokes.size()).dashes, "' stroke-width='2' fill='none'");
}

/// The point at which a search improved its best value.
struct Step {
  std::size_t trial = 0;
  double seconds = 0;
  double value = 0;
};

std::vector<Step> StepsOf(const ComparedRun& run) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < run.trials.size(); ++i) {
    const auto value = IfFinite(run.trials[i].value);
    if (!value || (!steps.empty() && *value >= steps.back().value)) continue;
    steps.push_back(
        {.trial = i, .seconds = IfFinite(run.trials[i].seconds).value_or(0), .value = *value});
  }
  return steps;
}

double SecondsOf(const ComparedRun& run) {
  return run.trials.empty() ? 0 : IfFinite(run.trials.back().seconds).value_or(0);
}

/// Settings that differ between the two charts.
struct Chart {
  PlotTitles titles;
  std::function<double(const Step&)> at;          ///< x value of a step
  std::function<double(const ComparedRun&)> end;  ///< x value of the end of a search
  bool whole = false;                             ///< x holds whole numbers
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
  // The best value of every search stays visible; poor first values may lie beyond the axis.
  const double high = RobustHigh(values, worst_best);
  const double margin = (high - least) * 0.04;
  return MakeAxis(least - margin, high + margin, 6);
}

std::string TipOf(const ComparisonView& view, std::size_t run, const Step& step) {
  return view.runs[run].name + " \xC2\xB7 trial " + std::to_string(step.trial) + "\nafter " +
         FormatFixed(step.seconds, 0) + " s\n" + view.metric + ": " +
         FormatSignificant(step.value, 4);
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
  PlotTitles titles = chart.titles;
  titles.zooms = true;
  titles.counts = chart.whole;
  Html svg = OpenPlot(frame, titles, x, y);
  Html points;
  PlotLabels labels(frame);
  Html names;
  for (std::size_t i = 0; i < view.runs.size(); ++i) {
    const std::vector<Step> steps = StepsOf(view.runs[i]);
    if (steps.empty()) continue;
    Html path;
    for (const Step& step : steps) {
      const double at = x.PixelOf(chart.at(step));
      path += path.text.empty() ? Markup("M", at, " ", y.Clamped(step.value))
                                : Markup("H", at, "V", y.Clamped(step.value));
      points += Markup("<circle class='mark' cx='", at, "' cy='", y.Clamped(step.value),
                       "' r='3.5' fill='", ColourOf(i), "' data-trial='", i, ":", step.trial,
                       "' data-tip='", TipOf(view, i, step), "'/>");
    }
    const double end = x.PixelOf(chart.end(view.runs[i]));
    svg += Markup("<path class='line'", StrokeOf(i), " d='", path, "H", end, "'/>");
    names += labels.Place(end, y.Clamped(steps.back().value), view.runs[i].name);
  }
  return Markup("<div class='scroll'>", svg, points, names, "</svg></div>");
}

Html Number(const std::string& text) {
  return Markup("<td class='num'>", text, "</td>");
}

Html Count(std::uint64_t count) {
  return Number(std::to_string(count));
}

/// Returns a cell that sorts behind all numbers.
Html Nothing() {
  return Html{"<td class='num' data-value=''>–</td>"};
}

Html SpeedUpCell(const ComparedRun& run) {
  if (!run.speed_up) return Nothing();
  return Markup("<td class='num' data-value='", FormatExact(run.speed_up->value), "'>",
                FormatFixed(run.speed_up->value, 2), " [", FormatFixed(run.speed_up->low, 2), ", ",
                FormatFixed(run.speed_up->high, 2), "]</td>");
}

Html Row(const ComparedRun& run, std::size_t index) {
  const std::vector<Step> steps = StepsOf(run);
  const auto feasible = std::count_if(run.trials.begin(), run.trials.end(),
                                      [](const auto& trial) { return trial.value.has_value(); });
  const bool found = !steps.empty();
  return Markup(
      "<tr><td class='name'><span class='keyed'><svg aria-hidden='true'><path", StrokeOf(index),
      " d='M0 5H34'/></svg><span>", run.name, "</span></span></td><td>", run.agent, "</td><td>",
      run.env, "</td>", found ? Number(FormatSignificant(steps.back().value, 4)) : Nothing(),
      SpeedUpCell(run), IfFinite(run.volume) ? Number(FormatSignificant(run.volume, 3)) : Nothing(),
      found ? Count(steps.back().trial) : Nothing(),
      found ? Number(FormatFixed(steps.back().seconds, 0)) : Nothing(), Count(run.trials.size()),
      Number(FormatFixed(SecondsOf(run), 0)), Count(static_cast<std::uint64_t>(feasible)),
      Count(run.failed), Count(run.repeated), Count(run.seed), "</tr>");
}

Html Table(const ComparisonView& view) {
  Html rows;
  for (std::size_t i = 0; i < view.runs.size(); ++i) rows += Row(view.runs[i], i);
  return Markup(
      "<section id='searches'><h2>Searches</h2><div class='scroll'><table class='sortable'><thead>"
      "<tr><th>search</th><th>agent</th><th>env</th><th class='num'>best</th>"
      "<th class='num'>speed-up</th><th class='num'>hypervolume</th><th class='num'>at trial</th>"
      "<th class='num'>at second</th><th class='num'>trials</th><th class='num'>seconds</th>"
      "<th class='num'>feasible</th><th class='num'>failed</th><th class='num'>repeated</th>"
      "<th class='num'>seed</th></tr></thead><tbody>",
      rows,
      "</tbody></table></div><p class='muted hint'>Repeated trials are copied from the first one "
      "and take no time. The speed-up is that of the winner, measured again at the end, with its "
      "95 % interval. ",
      view.tool, ", ", view.created, ".</p></section>");
}

Html Heading(const ComparisonView& view) {
  return Markup(
      "<section><h1>", view.model, "</h1><p>", view.runs.size(),
      " searches: the best feasible trial so far of each; ",
      view.constraint.empty() ? "without constraints" : "feasible where " + view.constraint,
      ".</p><p class='muted'>One search with an agent is one random sample. To find out which "
      "agent is better, compare several seeds of each.</p></section>");
}

}  // namespace

std::string RenderComparison(const ComparisonView& view) {
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
  return ScriptedPage(
      "Searches of " + view.model,
      Markup(Heading(view), "<section class='charts'><div class='pair'><figure><h2>By trials</h2>",
             Draw(view, by_trial), "</figure><figure><h2>By time</h2>", Draw(view, by_time),
             "</figure></div><p class='muted hint'>Each point is a trial that was better than all "
             "before it. Press Tab to reach a chart, the arrow keys to go from point to point, and "
             "Escape to close the description of a point.</p></section>",
             Table(view)));
}

}  // namespace msc::gym
