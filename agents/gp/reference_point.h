#pragma once

#include <span>
#include <vector>

namespace msc::agents {

/// Returns the reference point for the hypervolume in a search for a front: for each objective the
/// value below which 95 % of assignments are predicted to lie.
///
/// With a distant reference point, the ends of the front gain most hypervolume, and proposals go to
/// answers that are bad in one objective and barely better in another. A near one counts nothing
/// for values that are worse than most of the space.
///
/// `expected` has for each objective the predictions for a sample of assignments, at least one, in
/// any order. If the least value of `front` is not below that bound, `worst`, the largest value
/// seen, is used instead. All values are finite.
[[nodiscard]] std::vector<double> ReferencePoint(std::span<const std::vector<double>> front,
                                                 std::span<const double> worst,
                                                 std::vector<std::vector<double>> expected);

}  // namespace msc::agents
