#pragma once

#include <optional>
#include <span>
#include <vector>

#include "agents/gp/gaussian_process.h"

namespace msc::agents {

/// Predicts the probability that a constraint is kept, by a few Gaussian processes.
///
/// The agent receives a constraint as the excess over its limit, relative to the limit. Excesses
/// span orders of magnitude, but only the region around 0 matters, so each process models asinh(k *
/// excess): about the excess itself for a small k, about its logarithm for a large one. The right k
/// depends on the metric and cannot be found from few values, so there is one process for each of a
/// few k, and probabilities are averaged over them by their marginal likelihoods (Bayesian model
/// averaging, C. E. Rasmussen and C. K. I. Williams, "Gaussian processes for machine learning",
/// 2006, section 5.2). If excesses are expected, the processes are of what differs from these.
class LimitProcess {
 public:
  /// Fits three processes; parameters as for GaussianProcess. `expected`: the excess as a sum of
  /// effects, or null.
  LimitProcess(std::span<const gym::Decision> decisions, std::span<const gym::Assignment* const> at,
               std::span<const double> excesses, std::span<const double> relevance,
               const gym::AdditiveCost* expected = nullptr);

  /// Adds the prediction at `assignment` as an observation, as GaussianProcess::Believe.
  void Believe(const gym::Assignment& assignment);
  /// Returns the logarithm of the probability that the constraint is kept, at each point.
  [[nodiscard]] std::vector<double> LogChances(
      std::span<const gym::Assignment* const> points) const;

 private:
  /// Returns what is expected at a point; 0 if nothing is.
  [[nodiscard]] double ExpectedAt(const gym::Assignment& point) const;

  struct Part {
    double scale = 1;  ///< of the excesses
    double log_weight = 0;
    GaussianProcess process;
  };
  std::optional<gym::AdditiveCost> expected_;
  std::vector<Part> parts_;
};

}  // namespace msc::agents
