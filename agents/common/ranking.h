#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gym/core/agent.h"

namespace msc::agents {

/// Feasibility first: whether `a` is better than `b` for a search of one best answer. A trial with
/// full results beats one that a race dropped, and that one beats one that failed; then the lesser
/// violation; then the lesser objectives, the first deciding. Source: K. Deb, "An efficient
/// constraint handling method for genetic algorithms", 2000, section 3; ties by further objectives
/// are ours.
[[nodiscard]] bool Better(const gym::Told& a, const gym::Told& b);

/// Whether `a` beats `b` in search of a front: as above, but by domination among the feasible.
/// Source: K. Deb et al., "A fast and elitist multiobjective genetic algorithm: NSGA-II", 2002,
/// definition 1.
[[nodiscard]] bool ConstrainedDominates(const gym::Told& a, const gym::Told& b);

/// Front number of each trial, 0 for those that none beats (ConstrainedDominates). O(n^2).
[[nodiscard]] std::vector<std::uint32_t> FrontNumbers(std::span<const gym::Told* const> trials);

/// Crowding distance of each point within its own set of points (one front): infinity at the ends
/// of any objective. Source: as above, section III-B.
[[nodiscard]] std::vector<double> CrowdingDistances(std::span<const std::vector<double>> points);

/// Indices in the order in which NSGA-II keeps trials: by front, then by crowding, then as given.
[[nodiscard]] std::vector<std::size_t> SurvivalOrder(std::span<const gym::Told* const> trials);

/// How many no other beats, of trials in that order: they are its first.
[[nodiscard]] std::size_t FrontSize(std::span<const gym::Told* const> survivors);

}  // namespace msc::agents
