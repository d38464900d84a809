#pragma once

#include <span>

#include "gym/report/html.h"
#include "gym/report/marks.h"
#include "gym/report/report.h"

namespace msc::gym {

/// Draws the first axis of every trial by number, with the best feasible trial so far and the
/// baseline. Failed trials lie in a lane below the plot.
[[nodiscard]] Html HistoryChart(const ReportInput& input, std::span<const ReportMark> marks);

/// Draws the first axis against the second, with the front of these two, limits, anchors and the
/// best trial.
[[nodiscard]] Html ScatterChart(const ReportInput& input, std::span<const ReportMark> marks);

/// Explains the marks of both charts.
[[nodiscard]] Html ChartLegend();

}  // namespace msc::gym
