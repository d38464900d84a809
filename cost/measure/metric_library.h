#pragma once

#include <string>
#include <vector>

namespace msc::cost {

/// Main function of a process that computes a metric by a shared object, `mscgym metric-child --
/// LIBRARY ARGUMENT...`. Reads the folder that it runs in (metric_folder.h), calls MscMetric
/// (metric_abi.h) and prints what a command would print. What the shared object prints goes to
/// stderr. Returns the exit status: 0, or 1 with a line on stderr.
[[nodiscard]] int MetricChildMain(const std::vector<std::string>& words);

}  // namespace msc::cost
