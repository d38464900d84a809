#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "gym/core/problem.h"

namespace msc::agents {

/// Prediction of a value at a point: normal or, above a floor, lognormal.
struct Prediction {
  double mean = 0;
  double deviation = 0;
  /// If finite, `mean` and `deviation` are those of log(value - floor).
  double floor = -std::numeric_limits<double>::infinity();
};

/// Returns the median of the predicted value.
[[nodiscard]] double Median(const Prediction& expected);

/// Gaussian-process regression over assignments.
///
/// Kernel: s * (m * ((1 - p) * (1 - d) + p * g) + (1 - m) * exp(-l * d)). The first part is a
/// linear model of the effects of decisions; the second models deviations from it.
///
/// d is the weighted share of decisions that differ, the weights being the relevances scaled to sum
/// 1. Any two choices of a decision are equally distant or, if choices turn out to be ordered,
/// mostly by the distance of their amounts (PlacesOf) or, for names, of their indices. g is what
/// decisions with the same list of choices share, such as layers that gain from the same precision:
/// the sum, over pairs of such decisions that take the same choice, of the product of their
/// weights.
///
/// The kind of distance, m, p, l and the noise variance are the point of a small grid with the
/// largest marginal likelihood; s is the maximum-likelihood scale for them. Source: C. E. Rasmussen
/// and C. K. I. Williams, "Gaussian processes for machine learning", 2006, sections 2.3 and 5.4.
class GaussianProcess {
 public:
  /// Fits the process: one value for each assignment, at least one; one relevance >= 0 for each
  /// decision, not all 0. Copies the assignments. O(n^3) in the number of values.
  GaussianProcess(std::span<const gym::Decision> decisions,
                  std::span<const gym::Assignment* const> at, std::span<const double> values,
                  std::span<const double> relevance);
  GaussianProcess(GaussianProcess&&) noexcept;
  GaussianProcess& operator=(GaussianProcess&&) noexcept;
  ~GaussianProcess();

  /// Adds the predicted mean at `assignment` as an observation: deviations near it fall, means stay
  /// (kriging believer).
  void Believe(const gym::Assignment& assignment);
  /// Returns the predictions of the noise-free values at `points`.
  [[nodiscard]] std::vector<Prediction> Predict(
      std::span<const gym::Assignment* const> points) const;
  /// Returns the log marginal likelihood of the values passed to the constructor, up to a constant
  /// that depends only on their number.
  [[nodiscard]] double log_likelihood() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace msc::agents
