#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace msc::gym {

/// Whether a is at least as small everywhere and smaller somewhere.
[[nodiscard]] bool Dominates(std::span<const double> a, std::span<const double> b);
/// Indices of the points that no other dominates, ascending; of equal points the first.
[[nodiscard]] std::vector<std::size_t> ParetoFront(std::span<const std::vector<double>> points);

}  // namespace msc::gym
