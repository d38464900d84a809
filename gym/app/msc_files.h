#pragma once

#include <span>
#include <string>
#include <vector>

#include "gym/core/problem.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// What a config of the original MSC wants written at the end of its search, by name: absolute, or
/// relative to the run directory, which is here what the original's workspace was.
struct MscFiles {
  std::vector<std::string> strategies;  ///< `strategy_file` and `plan_file` of tools
  std::vector<std::string> records;     ///< `record` of gyms
};

/// UserError where a file is there already that is no strategy, or record, of this program; and
/// SystemError where one could not be written. Relative ones are looked at where `run` exists.
void CheckMscFiles(const MscFiles& files, const std::string& run);

/// The trials with what each chose and how it did, as one JSON document (docs/msc_config.md).
[[nodiscard]] std::string MscRecord(std::span<const Decision> decisions,
                                    std::span<const Trial> trials);

/// Writes `record` to the records, and the strategy at `best`, with the weights beside it, to the
/// strategies; an empty `best` is none. What is not ours is left as it is. A line on each of them.
[[nodiscard]] std::vector<std::string> WriteMscFiles(const MscFiles& files, const std::string& run,
                                                     const std::string& best,
                                                     const std::string& record);

}  // namespace msc::gym
