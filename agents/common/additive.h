#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gym/core/problem.h"

namespace msc::agents {

/// offset + sum of the effects of the choices.
[[nodiscard]] double ValueOf(const gym::AdditiveCost& cost, const gym::Assignment& assignment);

/// By decision, how far the effects of its choices are apart.
[[nodiscard]] std::vector<double> RangesOf(const gym::AdditiveCost& cost);

/// A sum over decisions that comes near `values[k]` at `*at[k]`: weighted least squares, with a
/// small pull of each effect towards that of the choice `base` has there, which is 0. `weights` >=
/// 0, one for each value. At least one value. Time in proportion to values times decisions.
[[nodiscard]] gym::AdditiveCost FitAdditive(std::span<const gym::Decision> decisions,
                                            const gym::Assignment& base,
                                            std::span<const gym::Assignment* const> at,
                                            std::span<const double> values,
                                            std::span<const double> weights);

/// The Pareto set of several sums over the same decisions.
struct AdditiveFront {
  std::vector<gym::Assignment> assignments;
  std::vector<std::vector<double>> values;  ///< of each, one for each sum; ascending in the first
  bool exact = true;  ///< false if partial sums had to be dropped: then members are near the front
};

/// Dynamic programming over the decisions, keeping partial sums that no other dominates: of two
/// sums, the solutions of the multiple-choice knapsack for every budget at once. Of equal values
/// one assignment is kept. Beyond `most` partial sums it keeps some that are evenly spread.
/// Source: G. L. Nemhauser and Z. Ullmann, "Discrete dynamic programming and capital allocation",
/// 1969. `costs` is not empty and fits one list of decisions; `most` >= 2.
[[nodiscard]] AdditiveFront SolveAdditive(std::span<const gym::AdditiveCost> costs,
                                          std::size_t most);

}  // namespace msc::agents
