#include "gym/search/tasks/partition.h"

#include "envs/partition/partition_env.h"
#include "gym/search/config.h"
#include "gym/search/cover.h"

namespace msc::gym {

PartitionTask::PartitionTask()
    : SearchTask({.id = "Partition-v0",
                  .summary = "which target runs which node, in regions with known costs; measured",
                  .nondeterministic = true},
                 "partition") {}

std::vector<std::string> PartitionTask::OtherTargets(const SearchConfig& config) const {
  return config.section<PartitionConfig>().targets;
}

void PartitionTask::ClearDecided(Strategy& start) const {
  start.partition.clear();
  start.schedules.clear();  // they belong to the kernels of other regions
}

ProblemFactory PartitionTask::Prepare(const Preparation& preparation) const {
  return [cover = MeasureCover(preparation),
          prices = preparation.config.section<PartitionConfig>().prices](
             const envs::ModelContext& model) {
    return envs::MakePartitionProblem({model, cover, prices});
  };
}

}  // namespace msc::gym
