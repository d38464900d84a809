#pragma once

#include <string>

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

}  // namespace msc::gym
