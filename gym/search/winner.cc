#include "gym/search/winner.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "envs/common/evaluation.h"

namespace msc::gym {

std::vector<std::size_t> RankTrials(const Objective& objective, std::span<const Trial> trials) {
  std::vector<std::size_t> ranked;
  std::set<Assignment> seen;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].evaluation.Complete() && seen.insert(trials[i].assignment).second) {
      ranked.push_back(i);
    }
  }
  const auto key = [&](std::size_t i) {
    return std::pair(Violation(objective, trials[i].evaluation),
                     ObjectiveValues(objective, trials[i].evaluation));
  };
  // Pairs compare the violation first, so no gain in an objective makes up for a missed limit.
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return ranked;
}

std::string BaselineOf(const Trial& trial) {
  constexpr std::string_view kPrefix = "anchor:";
  return trial.source.starts_with(kPrefix) ? trial.source.substr(kPrefix.size()) : "";
}

void RankBaseline(const Objective& objective, std::span<const Trial> trials, std::size_t most,
                  std::vector<std::size_t>& ranked) {
  const auto is_baseline = [&](std::size_t index) {
    const Trial& trial = trials[index];
    const bool changes = std::ranges::any_of(trial.assignment, [](auto choice) { return choice; });
    return changes && !BaselineOf(trial).empty() && !trial.evaluation.failure &&
           Violation(objective, trial.evaluation) <= 0;
  };
  const auto best = std::ranges::find_if(ranked, is_baseline);
  if (most < 2 || best == ranked.end() || best - ranked.begin() < static_cast<std::ptrdiff_t>(most))
    return;
  std::rotate(ranked.begin() + static_cast<std::ptrdiff_t>(most) - 1, best, best + 1);
}

std::optional<std::size_t> NearestToLimits(const Objective& objective,
                                           std::span<const std::optional<Evaluation>> evaluations) {
  std::optional<std::size_t> nearest;
  std::pair<double, std::vector<double>> least;
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    if (!evaluations[i] || evaluations[i]->failure) continue;
    std::pair key(Violation(objective, *evaluations[i]),
                  ObjectiveValues(objective, *evaluations[i]));
    if (nearest && least <= key) continue;
    nearest = i;
    least = std::move(key);
  }
  return nearest;
}

bool IsSlower(const cost::Outcome& outcome) {
  // Then even the fast end of the interval is slower.
  return outcome.latency && outcome.latency->ratio_low > 1;
}

std::optional<std::size_t> FindUncompressedTrial(const Objective& objective,
                                                 std::span<const Trial> trials) {
  const std::string& first = objective.minimize.at(0);
  if (first != envs::kLatency && first != envs::kLatencyMs) return std::nullopt;
  const auto it = std::find_if(trials.begin(), trials.end(), [&](const Trial& trial) {
    return std::all_of(trial.assignment.begin(), trial.assignment.end(),
                       [](std::int32_t choice) { return choice == 0; }) &&
           IsFeasible(objective, trial);
  });
  if (it == trials.end()) return std::nullopt;
  return static_cast<std::size_t>(it - trials.begin());
}

}  // namespace msc::gym
