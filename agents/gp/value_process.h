#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "agents/gp/gaussian_process.h"
#include "agents/gp/mixed_process.h"

namespace msc::agents {

/// The process and the transformations of values that it may use.
enum class Shape {
  kAsTheyAre,
  kMaybeLogarithms,
  /// A MixedProcess of values or logarithms.
  kMixed,
};

/// A Gaussian process of values or of the logarithms of their distances from a floor, whichever has
/// the larger likelihood: losses of compressed layers span orders of magnitude, times of kernels
/// have heavy tails, and effects on both multiply. The floor is below the least value or, for a
/// mixed process of positive values, may be 0. Source: E. Snelson, C. E. Rasmussen and Z.
/// Ghahramani, "Warped Gaussian processes", 2003, section 3.
class ValueProcess {
 public:
  /// Fits one to three processes; parameters as for GaussianProcess. `expected`: the value as a sum
  /// of effects, from which the process models the difference (Shape::kAsTheyAre alone), or null.
  ValueProcess(Shape shape, std::span<const gym::Decision> decisions,
               std::span<const gym::Assignment* const> at, std::span<const double> values,
               std::span<const double> relevance, const gym::AdditiveCost* expected = nullptr);

  /// Adds the predicted median at `assignment` as an observation: deviations near it fall, medians
  /// stay.
  void Believe(const gym::Assignment& assignment);
  [[nodiscard]] std::vector<Prediction> Predict(
      std::span<const gym::Assignment* const> points) const;
  /// Returns the median of the predicted value.
  [[nodiscard]] double Median(const gym::Assignment& at) const;
  [[nodiscard]] bool is_of_logarithms() const noexcept;

 private:
  std::optional<gym::AdditiveCost> expected_;
  std::variant<GaussianProcess, MixedProcess> process_;
  double floor_;  ///< -infinity if the process models the values themselves
};

}  // namespace msc::agents
