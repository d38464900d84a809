#pragma once

#include <span>
#include <vector>

namespace msc::agents {

/// The point below which hypervolume is counted in search of a front: of each objective what 19 in
/// 20 assignments are expected to lie below.
///
/// Points that are said to be far from a front gain much at its ends: that is where proposals would
/// go, for answers that are bad in one objective and barely better in another. Near points do not
/// gain by what most of the space has to offer.
///
/// `expected` has for each objective what is expected of assignments of the space, at least one, in
/// any order. Where even the least value of `front` is above most of them, the bound is that of
/// `worst`, the largest values seen. All values are finite.
[[nodiscard]] std::vector<double> ReferencePoint(std::span<const std::vector<double>> front,
                                                 std::span<const double> worst,
                                                 std::vector<std::vector<double>> expected);

}  // namespace msc::agents
