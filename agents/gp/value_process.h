#pragma once

#include <span>
#include <vector>

#include "agents/gp/gaussian_process.h"

namespace msc::agents {

/// The transformations of values that a process may use.
enum class Shape { kAsTheyAre, kMaybeLogarithms };

/// A Gaussian process of values or of the logarithms of their distances from a floor, whichever has
/// the larger likelihood: losses of compressed layers span orders of magnitude, and effects on them
/// multiply. Source: E. Snelson, C. E. Rasmussen and Z. Ghahramani, "Warped Gaussian processes",
/// 2003, section 3.
class ValueProcess {
 public:
  /// Fits one or two processes; parameters as for GaussianProcess.
  ValueProcess(Shape shape, std::span<const gym::Decision> decisions,
               std::span<const gym::Assignment* const> at, std::span<const double> values,
               std::span<const double> relevance);

  /// Adds the predicted median at `assignment` as an observation: deviations near it fall, medians
  /// stay.
  void Believe(const gym::Assignment& assignment) { process_.Believe(assignment); }
  [[nodiscard]] std::vector<Prediction> Predict(
      std::span<const gym::Assignment* const> points) const;
  /// Returns the median of the predicted value.
  [[nodiscard]] double Median(const gym::Assignment& at) const;
  [[nodiscard]] bool is_of_logarithms() const noexcept;

 private:
  GaussianProcess process_;
  double floor_;  ///< -infinity if the process models the values themselves
};

}  // namespace msc::agents
