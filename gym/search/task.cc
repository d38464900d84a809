#include "gym/search/task.h"

#include "compiler/base/error.h"
#include "compiler/pipeline/fit.h"
#include "gym/search/search.h"
#include "gym/study/objective.h"

namespace msc::gym {

std::optional<FitOptions> SearchTask::FitOf(const SearchConfig& /*config*/) const {
  return std::nullopt;
}

void SearchTask::ClearDecided(Strategy& /*start*/) const {
  throw UserError("'strategy' is the start of a search of partitions, schedules or recipes; '" +
                  name_ + "' decides precisions or channels itself: leave out 'strategy'");
}

Objective SearchTask::ForReward(const Objective& objective) const {
  return objective;
}

SearchOutcome SearchTask::Run(const SearchConfig& config, const SearchOptions& options,
                              const SearchHost& host) const {
  return RunMeasured(*this, config, options, host);
}

}  // namespace msc::gym
