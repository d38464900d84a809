#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "agents/gp/gaussian_process.h"

namespace msc::agents {

/// Returns the logarithm of the probability that a standard normal value is below `x`, also if that
/// probability underflows a double.
[[nodiscard]] double LogNormalProbability(double x);

/// Returns the expected value of max(least - y, 0), where y has the predicted distribution.
/// Source: D. R. Jones et al., "Efficient global optimization", 1998; for a lognormal value it is
/// the price of a put option without interest, F. Black and M. Scholes, "The pricing of options and
/// corporate liabilities", 1973.
[[nodiscard]] double ExpectedImprovement(const Prediction& expected, double least);
/// Returns the logarithm of ExpectedImprovement for a normal value, so that candidates far from any
/// improvement can still be ranked.
[[nodiscard]] double LogExpectedImprovement(const Prediction& expected, double least);

/// Expected hypervolume improvement of points with independent coordinates over a known front.
///
/// The region below the reference that no member of the front dominates is cut into boxes along the
/// coordinates of the members. The gain in a box is the product over objectives of the expected
/// improvement on its upper end minus that on its lower end. Source: M. Emmerich, A. Deutz and J.
/// Klinkenberg, "Hypervolume-based expected improvement: monotonicity properties and exact
/// computation", 2011; the slices are those of Hypervolume (gym/core/pareto.h).
class HypervolumeGain {
 public:
  /// Cuts the region into boxes. `front` may be empty; its points have as many values as
  /// `reference`. Members that are not below the reference are ignored. Number of boxes: n + 1 for
  /// two objectives, a factor O(n) more for each further one.
  HypervolumeGain(std::vector<std::vector<double>> front, std::vector<double> reference);
  /// Returns the expected gain of one point, given a prediction for each objective.
  [[nodiscard]] double Expect(std::span<const Prediction> point) const;
  [[nodiscard]] std::size_t boxes() const noexcept { return bounds_.size() / 2 / ends_.size(); }

 private:
  using Place = std::uint32_t;
  /// Adds the boxes that `points` leave in the first `objectives` coordinates; `box` holds the
  /// bounds in the other coordinates.
  void Cut(const std::vector<std::vector<double>>& points, std::size_t objectives,
           std::vector<Place>& box);
  [[nodiscard]] Place PlaceOf(std::size_t objective, double value) const;

  /// By objective, ends of boxes, ascending from -infinity.
  std::vector<std::vector<double>> ends_;
  /// For each box and objective, the indices of its lower and upper end in ends_.
  std::vector<Place> bounds_;
};

/// Returns a subset of `front` for which HypervolumeGain has at most some thousand boxes: all of
/// it, or the members with the largest crowding distance.
[[nodiscard]] std::vector<std::vector<double>> SparseFront(std::vector<std::vector<double>> front);

}  // namespace msc::agents
