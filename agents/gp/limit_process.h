#pragma once

#include <span>
#include <vector>

#include "agents/gp/gaussian_process.h"

namespace msc::agents {

/// How likely a constraint is kept, as a few Gaussian processes see it.
///
/// What is told of a constraint is the excess over its limit, relative to it. Excesses span orders
/// of magnitude where only the region around 0 matters, so a process is of asinh(k * excess): about
/// the excess itself for a small k, about its logarithm for a large one. Which is right depends on
/// the metric and cannot be told from few values, so there is one process for each of a few k, and
/// chances are means over them, weighted by how likely each makes what was seen (Bayesian model
/// averaging, C. E. Rasmussen and C. K. I. Williams, "Gaussian processes for machine learning",
/// 2006, section 5.2).
class LimitProcess {
 public:
  /// As GaussianProcess, of which it makes three.
  LimitProcess(std::span<const gym::Decision> decisions, std::span<const gym::Assignment* const> at,
               std::span<const double> excesses, std::span<const double> relevance);

  /// Takes what is expected at `assignment` as observed.
  void Believe(const gym::Assignment& assignment);
  /// Logarithm of the chance that the constraint is kept, at each point.
  [[nodiscard]] std::vector<double> LogChances(
      std::span<const gym::Assignment* const> points) const;

 private:
  struct Part {
    double log_weight = 0;
    GaussianProcess process;
  };
  std::vector<Part> parts_;
};

}  // namespace msc::agents
