#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gym/core/problem.h"

namespace msc::agents {

/// Returns cost.offset plus the effects of the choices.
[[nodiscard]] double ValueOf(const gym::AdditiveCost& cost, const gym::Assignment& assignment);

/// Returns for each decision the difference between its largest and its smallest effect.
[[nodiscard]] std::vector<double> RangesOf(const gym::AdditiveCost& cost);

/// Fits a sum over decisions to values[k] at *at[k] by weighted least squares. A small ridge
/// penalty pulls each effect towards 0, the effect of the choice in `base`. `weights` >= 0, one for
/// each value. At least one value. Takes time in proportion to values times decisions.
[[nodiscard]] gym::AdditiveCost FitAdditive(std::span<const gym::Decision> decisions,
                                            const gym::Assignment& base,
                                            std::span<const gym::Assignment* const> at,
                                            std::span<const double> values,
                                            std::span<const double> weights);

/// The Pareto set of several sums over the same decisions.
struct AdditiveFront {
  std::vector<gym::Assignment> assignments;
  std::vector<std::vector<double>> values;  ///< the sums of each member, ascending in the first
  /// False if partial sums were dropped: members are then only near the front.
  bool exact = true;
};

/// Computes the Pareto set by dynamic programming over the decisions, keeping the non-dominated
/// partial sums; for two sums these are the solutions of the multiple-choice knapsack for every
/// budget at once. Of equal values one assignment is kept. If there are more than `most` partial
/// sums, an evenly spaced subset is kept. `bounds`: of each sum the largest total of interest;
/// empty if all are. Partial sums that cannot end within the bounds are dropped, so that those kept
/// lie closer to each other; if none can, all are of interest. `costs` is not empty and fits one
/// list of decisions; `most` >= 2.
///
/// Source: G. L. Nemhauser and Z. Ullmann, "Discrete dynamic programming and capital allocation",
/// 1969.
[[nodiscard]] AdditiveFront SolveAdditive(std::span<const gym::AdditiveCost> costs,
                                          std::size_t most, std::span<const double> bounds = {});

}  // namespace msc::agents
