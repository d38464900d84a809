#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "gym/core/problem.h"

namespace msc::agents {

/// What a process expects at a point: a value that is normal or, above a floor, lognormal.
struct Prediction {
  double mean = 0;
  double deviation = 0;
  /// Where it is finite, mean and deviation are those of the logarithm of the value less this.
  double floor = -std::numeric_limits<double>::infinity();
};

/// What the value is as likely to lie below as above.
[[nodiscard]] double Median(const Prediction& expected);

/// Gaussian-process regression over assignments.
///
/// Kernel: s * (m * ((1 - p) * (1 - d) + p * g) + (1 - m) * exp(-l * d)) with d the weighted share
/// of decisions that differ, weights being the relevance, scaled to sum 1: the first part is a
/// linear model of effects, the second its deviations. Of an effect, p is what all decisions with
/// the same choices share, as layers do that gain from the same precision: g is the sum, over pairs
/// of such decisions that take the same choice, of the product of their weights. Two choices of one
/// decision differ by the same whatever they are, or, where choices turn out to be ordered, mostly
/// by how far they are apart. Which, m, p, l and the noise are those of a small grid with the
/// largest marginal likelihood, s the largest for these. Source: C. E. Rasmussen and C. K. I.
/// Williams, "Gaussian processes for machine learning", 2006, sections 2.3 and 5.4.
class GaussianProcess {
 public:
  /// One value for each assignment, at least one; one relevance >= 0 for each decision, not all 0.
  /// The assignments are copied. O(n^3) in the number of values.
  GaussianProcess(std::span<const gym::Decision> decisions,
                  std::span<const gym::Assignment* const> at, std::span<const double> values,
                  std::span<const double> relevance);
  GaussianProcess(GaussianProcess&&) noexcept;
  GaussianProcess& operator=(GaussianProcess&&) noexcept;
  ~GaussianProcess();

  /// Takes the expected value at `assignment` as observed: deviations near it fall, means stay.
  void Believe(const gym::Assignment& assignment);
  /// Of the values without noise, at each point.
  [[nodiscard]] std::vector<Prediction> Predict(
      std::span<const gym::Assignment* const> points) const;
  /// Of the values it was made of, up to what is the same for all kernels of as many values.
  [[nodiscard]] double log_likelihood() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace msc::agents
