#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/core/problem.h"
#include "gym/search/findings.h"
#include "gym/search/record.h"
#include "gym/search/run_paths.h"
#include "gym/search/task_registry.h"
#include "gym/study/study.h"
#include "gym/study/timeline.h"

namespace msc::gym {

/// Content of the journal of a search, for its report.
struct SearchRun {
  const SearchTask* task = nullptr;
  SearchSetup setup;
  StudyResult study;
  Findings findings;
  bool finished = false;  // there are findings
  std::string loss;
  std::vector<TaskSpan> tasks;
};

/// Reads the journal of a run directory. UserError if it lacks required records, or its env is none
/// of `tasks`; `task` of the result points into these.
[[nodiscard]] SearchRun ReadRun(const RunPaths& paths, const TaskRegistry& tasks);

/// Returns a metric, or nothing if it was not measured.
[[nodiscard]] std::optional<double> Metric(const Evaluation& evaluation, std::string_view name);

/// Returns the loss of a decision tried alone by which the report compares.
[[nodiscard]] std::optional<double> LossOf(const SearchRun& run, const LayerSensitivity& row);

}  // namespace msc::gym
