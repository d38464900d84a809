#pragma once

#include <span>
#include <vector>

// Armadillo's own threads would gain nothing at these sizes; see OneThread.
#define ARMA_DONT_USE_OPENMP
#include <armadillo>

#include "gym/core/decision.h"

namespace msc::agents {

/// Squared distances of the choices of each decision, one matrix [choice, choice] a decision.
using ChoiceDistances = std::vector<arma::mat>;

/// Returns the squared distances, 0 to 1. Names are all 1 apart. Amounts are as far apart as their
/// places (PlacesOf), but the share `named` counts as for names: what happens at some amounts, such
/// as multiples of a vector's width, is not between that of their neighbours.
[[nodiscard]] ChoiceDistances DistancesOf(std::span<const gym::Decision> decisions, double named);

/// Choices by decision, then point.
using ChoiceColumns = std::vector<arma::uvec>;
[[nodiscard]] ChoiceColumns ColumnsOf(std::span<const gym::Assignment* const> points,
                                      std::size_t decisions);

/// A kernel over names and amounts, with a rate for each decision (automatic relevance
/// determination):
///
///   a * sum_i w_i exp(-3 d_i) + (1 - a) * Matern(sqrt(sum_i r_i d_i))
///
/// d_i is the squared distance of two choices of decision i, r_i the rate of the decision, i.e. 1 /
/// length scale^2, w_i the share of the root of r_i. The first part holds effects that add up, the
/// second, a Matern kernel of smoothness 5/2, what decisions do together.
///
/// Rates, a and the noise are those of the largest posterior density. Log rates have normal priors
/// around the expected relevance; the more decisions, the smaller rates are, so that all together
/// assignments are about as far apart. The scale is the best one for a weak prior around the
/// deviation of the values. Sources: C. E. Rasmussen and C. K. I. Williams, "Gaussian processes for
/// machine learning", 2006, equations 4.17 and 5.9; distances as in E. Hellsten et al., "BaCO: A
/// fast and portable Bayesian compiler optimization framework", 2024; priors as in C.
/// Hvarfner et al., "Vanilla Bayesian optimization performs great in high dimensions", 2024.
struct MixedKernel {
  ChoiceDistances distances;
  arma::vec rates;   ///< one a decision
  arma::vec shares;  ///< one a decision, they sum to 1
  double additive = 0;
  double noise = 0;  ///< variance, relative to that of the process
  /// Log posterior density of the kernel given the values, up to a constant.
  double log_posterior = 0;

  /// Returns the covariances of the points of `a` (rows) and those of `b`; each has variance 1.
  [[nodiscard]] arma::mat Between(const ChoiceColumns& a, const ChoiceColumns& b) const;
};

/// Returns the variance of a process with `count` values, where `squares` is the squared norm of
/// its values by the inverse of their covariance: a mean with the prior variance of 1.
[[nodiscard]] double PosteriorScale(double squares, std::size_t count);
/// Returns the log density of such values for the best scale, up to a constant that depends only on
/// their number. `lower` is the Cholesky factor of their covariance.
[[nodiscard]] double LogDensity(double squares, const arma::mat& lower);

/// Fits a kernel to values of mean 0 and deviation 1 at the points of `columns`. `relevance` has a
/// number >= 0 for each decision, not all 0. O(n^3 + n^2 decisions) a step, some tens of steps.
[[nodiscard]] MixedKernel FitMixedKernel(std::span<const gym::Decision> decisions,
                                         const ChoiceColumns& columns, const arma::vec& values,
                                         std::span<const double> relevance);

}  // namespace msc::agents
