#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace msc::gym {

/// Returns whether `a` Pareto-dominates `b`: at most as large in every value and smaller in at
/// least one. Both have the same size.
[[nodiscard]] bool Dominates(std::span<const double> a, std::span<const double> b);
/// Returns the indices of the non-dominated points, ascending; of equal points only the first.
[[nodiscard]] std::vector<std::size_t> ParetoFront(std::span<const std::vector<double>> points);

/// Returns the exact volume that `points` dominate and `reference` bounds, for any number of
/// objectives. O(n log n) for one and two objectives, O(n^2 log n) for three, and another factor n
/// for each further one (slicing along the last objective). Points that are not below the reference
/// in every objective add nothing.
[[nodiscard]] double Hypervolume(std::span<const std::vector<double>> points,
                                 std::span<const double> reference);
/// Returns by how much the hypervolume shrinks without each point. Computes one hypervolume per
/// point and one of them all.
[[nodiscard]] std::vector<double> HypervolumeContributions(
    std::span<const std::vector<double>> points, std::span<const double> reference);

}  // namespace msc::gym
