#pragma once

#include <string>
#include <vector>

#include "gym/search/run_paths.h"
#include "gym/search/task_registry.h"

namespace msc::gym {

struct WrittenReport {
  bool finished = false;  ///< the search had results; otherwise the page shows its trials only
  std::string loss;       ///< damaged records that are missing (JournalText)
};
/// Renders report.html from the journal of a run directory; needs no other file. UserError if the
/// journal lacks required records, or its env is none of `tasks`.
WrittenReport WriteReport(const RunPaths& paths, const TaskRegistry& tasks = BuiltInTasks());

/// Writes a page that compares the searches of `folders` by their journals. Returns the damage in
/// these journals. UserError if the searches are of different models or objectives.
[[nodiscard]] std::vector<std::string> WriteComparison(const std::vector<std::string>& folders,
                                                       const std::string& file);

}  // namespace msc::gym
