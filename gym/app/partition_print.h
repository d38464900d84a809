#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cost/partition/partition_study.h"
#include "gym/report/partition_page.h"

namespace msc::gym {

/// Results of `mscgym partition`.
struct PartitionOutcome {
  std::string model;
  std::string machine;
  std::map<std::string, std::string> versions;  ///< by target
  int threads = 1;
  const CoverProblem* problem = nullptr;               ///< with costs
  const cost::PartitionStudyResult* result = nullptr;  ///< has a best plan
  cost::RegionCosts::Counts costs = {};
  cost::RegionCosts::Counts turns = {};  ///< of image transposes between dense and channels last
  double seconds = 0;                    ///< since the start
  /// Peak memory of this program and of the largest process that it started. Such a process starts
  /// as a copy of this one.
  std::int64_t peak_bytes = 0;
  std::int64_t child_peak_bytes = 0;
};

[[nodiscard]] PartitionView ViewOf(const PartitionOutcome& outcome);
void PrintPartition(const PartitionView& view);
void PrintPartitionJson(const PartitionOutcome& outcome, const PartitionView& view);

}  // namespace msc::gym
