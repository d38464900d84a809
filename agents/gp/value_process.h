#pragma once

#include <span>
#include <vector>

#include "agents/gp/gaussian_process.h"

namespace msc::agents {

/// Which values a process may be of.
enum class Shape { kAsTheyAre, kMaybeLogarithms };

/// A Gaussian process of values or of the logarithms of what they are above a floor, whichever
/// makes what was seen more likely: losses of compressed layers span orders of magnitude, and
/// effects on them multiply. Source: E. Snelson, C. E. Rasmussen and Z. Ghahramani, "Warped
/// Gaussian processes", 2003, section 3.
class ValueProcess {
 public:
  /// As GaussianProcess, of which it makes up to two.
  ValueProcess(Shape shape, std::span<const gym::Decision> decisions,
               std::span<const gym::Assignment* const> at, std::span<const double> values,
               std::span<const double> relevance);

  /// Takes the median at `assignment` as observed: deviations near it fall, medians stay.
  void Believe(const gym::Assignment& assignment) { process_.Believe(assignment); }
  [[nodiscard]] std::vector<Prediction> Predict(
      std::span<const gym::Assignment* const> points) const;
  /// What the value is as likely to lie below as above.
  [[nodiscard]] double Median(const gym::Assignment& at) const;
  [[nodiscard]] bool is_of_logarithms() const noexcept;

 private:
  GaussianProcess process_;
  double floor_;  ///< -infinity where the process is of values as they are
};

}  // namespace msc::agents
