#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gym/core/agent.h"

namespace msc::agents {

/// Returns whether `a` is better than `b` in a search for one best answer: a trial with full
/// results before one that a race dropped, and that before a failed one; then by smaller violation;
/// then by smaller objectives in order. Source: K. Deb, "An efficient constraint handling method
/// for genetic algorithms", 2000, section 3; breaking ties by further objectives is ours.
[[nodiscard]] bool IsBetterTrial(const gym::TrialResult& a, const gym::TrialResult& b);

/// Returns whether `a` constrained-dominates `b` in a search for a front: ordered as IsBetterTrial,
/// but by Pareto dominance among feasible trials. Source: K. Deb et al., "A fast and elitist
/// multiobjective genetic algorithm: NSGA-II", 2002, definition 1.
[[nodiscard]] bool ConstrainedDominates(const gym::TrialResult& a, const gym::TrialResult& b);

/// Returns the front number of each trial, 0 for non-dominated ones (ConstrainedDominates). O(n^2).
[[nodiscard]] std::vector<std::uint32_t> FrontNumbers(
    std::span<const gym::TrialResult* const> trials);

/// Returns the crowding distance of each point within the given set (one front): infinity at the
/// ends of any objective. Source: as above, section III-B.
[[nodiscard]] std::vector<double> CrowdingDistances(std::span<const std::vector<double>> points);

/// Returns the indices in the order in which NSGA-II keeps trials: by front, then by larger
/// crowding distance, then as given.
[[nodiscard]] std::vector<std::size_t> SurvivalOrder(
    std::span<const gym::TrialResult* const> trials);

/// Returns the size of the first front of trials in survival order.
[[nodiscard]] std::size_t FrontSize(std::span<const gym::TrialResult* const> survivors);

}  // namespace msc::agents
