#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "agents/gp/gaussian_process.h"

namespace msc::agents {

/// Logarithm of the chance that a standard normal value lies below `x`, also where that chance is
/// less than a double can be.
[[nodiscard]] double LogNormalProbability(double x);

/// Mean of max(least - y, 0), y being as expected.
/// Source: D. R. Jones et al., "Efficient global optimization", 1998; of a lognormal value it is
/// the price of a put option, F. Black and M. Scholes, "The pricing of options and corporate
/// liabilities", 1973, without interest.
[[nodiscard]] double ExpectedImprovement(const Prediction& expected, double least);
/// Its logarithm for a normal value, so that candidates far from any improvement can be told apart.
[[nodiscard]] double LogExpectedImprovement(const Prediction& expected, double least);

/// Expected gain of hypervolume of points whose coordinates are independent, over a front that is
/// known.
///
/// What no member of the front dominates, below the reference, is cut into boxes along the
/// coordinates of the members; the gain in a box is the product over objectives of the expected
/// improvement on its upper end less that on its lower one. Source: M. Emmerich, A. Deutz and J.
/// Klinkenberg, "Hypervolume-based expected improvement: monotonicity properties and exact
/// computation", 2011; the slices are those of Hypervolume (gym/core/pareto.h).
class HypervolumeGain {
 public:
  /// `front`, maybe empty, has points of as many values as `reference`. Members that do not lie
  /// below the reference count for nothing. Boxes: n + 1 for two objectives, O(n) times more for
  /// each further one.
  HypervolumeGain(std::vector<std::vector<double>> front, std::vector<double> reference);
  /// Of one point, a prediction for each objective.
  [[nodiscard]] double Expect(std::span<const Prediction> point) const;
  [[nodiscard]] std::size_t boxes() const noexcept { return bounds_.size() / 2 / ends_.size(); }

 private:
  using Place = std::uint32_t;
  /// Boxes of what the points leave, in the first `objectives` of them; `box` has the bounds in
  /// those after them.
  void Cut(const std::vector<std::vector<double>>& points, std::size_t objectives,
           std::vector<Place>& box);
  [[nodiscard]] Place PlaceOf(std::size_t objective, double value) const;

  std::vector<std::vector<double>> ends_;  ///< by objective, ascending from -infinity
  std::vector<Place> bounds_;              ///< of each box, for each objective: two of its ends_
};

/// Members of a front that HypervolumeGain can take without having more than some thousand boxes:
/// all, or those with the largest crowding distance.
[[nodiscard]] std::vector<std::vector<double>> Sparse(std::vector<std::vector<double>> front);

}  // namespace msc::agents
