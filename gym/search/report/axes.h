#pragma once

#include <string>

#include "gym/report/report.h"
#include "gym/search/record.h"

namespace msc::gym {

/// Returns the axis of a metric: its title, unit, baseline of the uncompressed model, and limit.
[[nodiscard]] ReportAxis AxisOf(const std::string& metric, const SearchSetup& setup);

/// Sets the axes of a search of compressed models: the first two objectives. A single objective is
/// paired with a constrained metric, else with the loss, or with latency if the objective is the
/// loss. The other axes are all further objectives and constrained metrics, latency, and energy if
/// measured. `input` already holds the trials.
void TellAxes(const SearchSetup& setup, ReportInput& input);

}  // namespace msc::gym
