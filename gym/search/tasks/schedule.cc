#include "gym/search/tasks/schedule.h"

#include "envs/schedule/schedule_env.h"
#include "gym/search/config.h"
#include "gym/search/kernels.h"
#include "gym/search/run_paths.h"

namespace msc::gym {

ScheduleTask::ScheduleTask()
    : SearchTask(
          {.id = "Schedule-v0",
           .summary = "how every kernel is written: tiles, loop orders, algorithms; measured",
           .nondeterministic = true},
          "schedule") {}

void ScheduleTask::ClearDecided(Strategy& start) const {
  start.schedules.clear();
}

ProblemFactory ScheduleTask::Prepare(const Preparation& preparation) const {
  return [kernels = FindStartKernels(preparation.config, preparation.prepared,
                                     preparation.paths.At("kernels.json"))](
             const envs::ModelContext& model) {
    return envs::MakeScheduleProblem({model, kernels});
  };
}

}  // namespace msc::gym
