#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "gym/report/plot.h"
#include "gym/report/sections.h"

namespace msc::gym {

namespace {

constexpr std::size_t kMaxRows = 64;
constexpr double kRow = 24;

/// Results of one worker's tasks.
struct Load {
  double busy = 0;  ///< seconds
  int results = 0;
  int nothing = 0;
  int lost = 0;
};

/// The time from the first task to the end of the last.
struct Stretch {
  double from = 0;
  double to = 0;
  [[nodiscard]] double seconds() const { return to - from; }
};

std::vector<ReportTask> Usable(const std::vector<ReportTask>& tasks) {
  std::vector<ReportTask> usable;
  for (const ReportTask& task : tasks) {
    // Comparisons with NaN are false, so this drops such tasks too.
    const bool sane = task.from >= 0 && task.to >= task.from && task.to < 1e12;
    if (sane) usable.push_back(task);
  }
  return usable;
}

const ReportMark* MarkOf(const ReportTask& task, std::span<const ReportMark> marks) {
  if (!task.trial) return nullptr;
  // Marks are in order of trial numbers.
  const auto it = std::lower_bound(
      marks.begin(), marks.end(), *task.trial,
      [](const ReportMark& mark, std::uint64_t number) { return mark.number < number; });
  return it != marks.end() && it->number == *task.trial ? &*it : nullptr;
}

Html Bar(const ReportTask& task, const ReportMark* mark, const PlotAxis& x, double unit, double y) {
  std::string tip = "worker " + std::to_string(task.worker) + " \xC2\xB7 " +
                    FormatFixed(task.to - task.from, 2) + " s\n";
  std::string state = "other";
  if (task.end == "lost") {
    state = "lost";
    tip += "lost with the worker\n";
  } else if (task.end == "nothing") {
    state = "nothing";
    tip += "cancelled or retried\n";
  } else if (mark != nullptr) {
    state = mark->best ? "best" : StateOf(*mark);
  }
  tip += mark != nullptr ? mark->tip : "no trial: a measurement of one decision alone";
  const double left = x.PixelOf(task.from / unit);
  const Html trial = mark != nullptr ? Markup(" data-trial='", mark->number, "'") : Html{};
  // Even a very short task stays visible.
  return Markup("<rect class='mark ", state, "' x='", left, "' y='", y + 3, "' width='",
                std::max(1.0, x.PixelOf(task.to / unit) - left), "' height='", kRow - 6, "'", trial,
                " data-tip='", tip, "'/>");
}

Html Swatch(std::string_view state, std::string_view meaning) {
  return Markup("<li><svg viewBox='0 0 18 18'><rect class='mark ", state,
                "' x='2' y='4' width='14' height='10'/></svg>", meaning, "</li>");
}

Html Table(const std::map<std::int64_t, Load>& loads, double seconds) {
  Html rows;
  for (const auto& [worker, load] : loads) {
    const double share = seconds > 0 ? load.busy / seconds : 1;
    rows += Markup("<tr><td class='num'>", worker, "</td><td class='num'>", load.results,
                   "</td><td class='num'>", load.nothing, "</td><td class='num'>", load.lost,
                   "</td>", BarCell(share, 1, FormatPercent(share, 1)), "</tr>");
  }
  return Markup(
      "<div class='scroll'><table class='sortable'><thead><tr><th class='num'>worker</th><th "
      "class='num'>results</th><th class='num'>without result</th><th class='num'>lost</th><th "
      "class='num'>busy</th></tr></thead><tbody>",
      rows, "</tbody></table></div>");
}

}  // namespace

Html TimelineSection(const ReportInput& input, std::span<const ReportMark> marks) {
  const std::vector<ReportTask> tasks = Usable(input.tasks);
  if (tasks.empty()) return {};
  // Time and results of each worker.
  Stretch all{tasks.front().from, tasks.front().to};
  std::map<std::int64_t, Load> loads;
  for (const ReportTask& task : tasks) {
    all.from = std::min(all.from, task.from);
    all.to = std::max(all.to, task.to);
    Load& load = loads[task.worker];
    load.busy += task.to - task.from;
    ++(task.end == "lost" ? load.lost : task.end == "nothing" ? load.nothing : load.results);
  }
  // The table has all workers, the chart only the first ones.
  std::map<std::int64_t, std::size_t> rows;
  for (const auto& [worker, load] : loads) {
    if (rows.size() < kMaxRows) rows.emplace(worker, rows.size());
  }
  const bool minutes = all.seconds() > 600;
  const double unit = minutes ? 60 : 1;
  PlotFrame frame;
  frame.width = 1240;
  frame.right = 1222;
  frame.top = 22;
  frame.bottom = frame.top + kRow * static_cast<double>(rows.size());
  frame.height = frame.bottom + 46;
  PlotAxis x = MakeAxis(all.from / unit, all.to / unit, 12);
  x.from = frame.left;
  x.to = frame.right;
  PlotAxis y;
  y.from = frame.top;
  y.to = frame.bottom;
  Html plot = OpenPlot(frame,
                       {.id = "timeline-plot",
                        .description = "Trials of each worker over time",
                        .x = minutes ? "minutes since the start" : "seconds since the start",
                        .y = "worker"},
                       x, y);
  for (const auto& [worker, row] : rows) {
    plot += Markup("<text class='tick' x='", frame.left - 8, "' y='",
                   frame.top + kRow * (static_cast<double>(row) + 0.5) + 4, "' text-anchor='end'>",
                   worker, "</text>");
  }
  for (const ReportTask& task : tasks) {
    const auto row = rows.find(task.worker);
    if (row == rows.end()) continue;
    plot += Bar(task, MarkOf(task, marks), x, unit,
                frame.top + kRow * static_cast<double>(row->second));
  }
  Html first;
  if (rows.size() < loads.size()) {
    first = Markup("<p class='muted'>The chart shows the first ", rows.size(), " of ", loads.size(),
                   " workers.</p>");
  }
  return Markup("<section id='timeline'><h2>Workers over time</h2>", first, "<div class='scroll'>",
                plot, "</svg></div><ul class='legend'>", Swatch("feasible", "feasible"),
                Swatch("infeasible", "infeasible"), Swatch("failed", "failed"),
                Swatch("best", "best"), Swatch("other", "one decision alone"),
                Swatch("nothing", "cancelled or retried"), Swatch("lost", "lost with its worker"),
                "</ul>", Table(loads, all.seconds()), "</section>");
}

}  // namespace msc::gym
