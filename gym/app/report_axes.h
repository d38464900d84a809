#pragma once

#include <string>

#include "gym/app/search_record.h"
#include "gym/report/report.h"

namespace msc::gym {

/// A metric in words, with its unit, what the uncompressed model has, and the limit it is under.
[[nodiscard]] ReportAxis AxisOf(const std::string& metric, const SearchSetup& setup);

/// Gives `input` the axes of a search of compressed models: the first two metrics that are sought;
/// beside one alone what is limited, else the loss, or the latency where it is the loss that is
/// sought. All else that is sought or limited, latency, and energy where it was measured, are the
/// others. `input` has its trials.
void TellAxes(const SearchSetup& setup, ReportInput& input);

}  // namespace msc::gym
