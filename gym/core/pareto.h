#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace msc::gym {

/// Whether a is at least as small everywhere and smaller somewhere.
[[nodiscard]] bool Dominates(std::span<const double> a, std::span<const double> b);
/// Indices of the points that no other dominates, ascending; of equal points the first.
[[nodiscard]] std::vector<std::size_t> ParetoFront(std::span<const std::vector<double>> points);

/// Volume that `points` dominate below `reference`, exactly, for any number of objectives.
/// O(n log n) for one and two objectives, O(n^2 log n) for three, then a factor n for each more
/// (slicing by the last). Points that do not lie below the reference add nothing.
[[nodiscard]] double Hypervolume(std::span<const std::vector<double>> points,
                                 std::span<const double> reference);
/// What the hypervolume would lack without each point, as many times slower as there are points.
[[nodiscard]] std::vector<double> HypervolumeContributions(
    std::span<const std::vector<double>> points, std::span<const double> reference);

}  // namespace msc::gym
