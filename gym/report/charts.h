#pragma once

#include <span>

#include "gym/report/html.h"
#include "gym/report/marks.h"
#include "gym/report/report.h"

namespace msc::gym {

/// The first axis: what every trial has, by number, with the best feasible one so far and the
/// baseline. Failed trials lie in a lane below the plot.
[[nodiscard]] Html HistoryChart(const ReportInput& input, std::span<const ReportMark> marks);

/// The first axis against the second, with the front of these two, limits, anchors and the best.
[[nodiscard]] Html ScatterChart(const ReportInput& input, std::span<const ReportMark> marks);

/// What the marks of both charts mean.
[[nodiscard]] Html ChartLegend();

}  // namespace msc::gym
