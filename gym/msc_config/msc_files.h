#pragma once

#include <span>
#include <string>
#include <vector>

#include "gym/core/problem.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// Files that a config of the original MSC wants written at the end of its search. Paths are
/// absolute, or relative to the run directory, which takes the place of MSC's workspace.
struct MscFiles {
  std::vector<std::string> strategies;  ///< `strategy_file` and `plan_file` of tools
  std::vector<std::string> records;     ///< `record` of gyms
};

/// Checks that the files can be written. UserError if an existing file is not a strategy or record
/// of this program; SystemError if a file cannot be written. Relative paths are checked if `run`
/// exists.
void CheckMscFiles(const MscFiles& files, const std::string& run);

/// Returns the trials with their choices and results as one JSON document (docs/msc_config.md).
[[nodiscard]] std::string MscRecord(std::span<const Decision> decisions,
                                    std::span<const Trial> trials);

/// Writes `record` to the record files, and the strategy at `best` with its weights to the strategy
/// files; an empty `best` means there is none. Leaves files of other programs alone. Returns a line
/// per file.
[[nodiscard]] std::vector<std::string> WriteMscFiles(const MscFiles& files, const std::string& run,
                                                     const std::string& best,
                                                     const std::string& record);

}  // namespace msc::gym
