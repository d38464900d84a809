#pragma once

#include <map>
#include <string>

#include "cost/partition/partition_study.h"
#include "gym/report/partition_page.h"

namespace msc::gym {

/// What `mscgym partition` tells of.
struct PartitionOutcome {
  std::string model;
  std::string machine;
  std::map<std::string, std::string> versions;  ///< by target
  int threads = 1;
  const CoverProblem* problem = nullptr;      ///< with costs
  const cost::StudyResult* result = nullptr;  ///< has a best plan
  cost::RegionCosts::Counts costs;
  cost::RegionCosts::Counts turns;  ///< of images between dense and channels last
  double seconds = 0;               ///< since the start
};

[[nodiscard]] PartitionView ViewOf(const PartitionOutcome& outcome);
void PrintPartition(const PartitionView& view);
void PrintPartitionJson(const PartitionOutcome& outcome, const PartitionView& view);

}  // namespace msc::gym
