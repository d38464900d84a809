#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cost/model/outcome.h"
#include "gym/study/objective.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// Returns the indices of trials worth measuring again, best first: by violation, then by
/// objectives in order; each assignment once.
[[nodiscard]] std::vector<std::size_t> RankTrials(const Objective& objective,
                                                  std::span<const Trial> trials);

/// Returns the name of the baseline that a trial tried, such as "int8"; empty if an agent or an
/// earlier search proposed it.
[[nodiscard]] std::string BaselineOf(const Trial& trial);

/// Moves the best baseline that keeps the limits and compresses something to place `most` - 1 of
/// the ranked trials, if it is not among so many already: what needs no search is measured beside
/// what the search found. Does nothing if `most` < 2.
void RankBaseline(const Objective& objective, std::span<const Trial> trials, std::size_t most,
                  std::vector<std::size_t>& ranked);

/// Returns the index of the evaluation that exceeds the limits least, of several the one with the
/// best objectives, the first of equal ones. Absent and failed evaluations do not count.
[[nodiscard]] std::optional<std::size_t> NearestToLimits(
    const Objective& objective, std::span<const std::optional<Evaluation>> evaluations);

/// Returns whether the whole 95 % interval is slower than the uncompressed model.
[[nodiscard]] bool IsSlower(const cost::Outcome& outcome);

/// Returns the index of the trial to choose if the best is slower than the uncompressed model: the
/// first one with all first choices, which compresses nothing. Returns nothing if it is not among
/// the trials, is infeasible, or if latency is not the first objective.
[[nodiscard]] std::optional<std::size_t> FindUncompressedTrial(const Objective& objective,
                                                               std::span<const Trial> trials);

}  // namespace msc::gym
