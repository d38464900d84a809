#include "gym/app/search_winner.h"

#include <algorithm>

#include "envs/common/evaluation.h"

namespace msc::gym {

bool IsSlower(const cost::Outcome& outcome) {
  return outcome.latency && outcome.latency->ratio_low > 1;
}

std::optional<std::size_t> Uncompressed(const Objective& objective, std::span<const Trial> trials) {
  const std::string& first = objective.minimize.at(0);
  if (first != envs::kLatency && first != envs::kLatencyMs) return std::nullopt;
  const auto it = std::find_if(trials.begin(), trials.end(), [&](const Trial& trial) {
    return std::all_of(trial.assignment.begin(), trial.assignment.end(),
                       [](std::int32_t choice) { return choice == 0; }) &&
           Feasible(objective, trial);
  });
  if (it == trials.end()) return std::nullopt;
  return static_cast<std::size_t>(it - trials.begin());
}

}  // namespace msc::gym
