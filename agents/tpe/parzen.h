#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/base/rng.h"
#include "gym/core/problem.h"

namespace msc::agents {

/// A density over assignments: a weighted mixture of one kernel per centre and a uniform density of
/// weight 1. A kernel keeps each decision at its centre with probability 1 - bandwidth and draws it
/// uniformly otherwise, all decisions independently.
class Parzen {
 public:
  /// A centre, which outlives the density, and its weight > 0.
  struct Centre {
    const gym::Assignment* at = nullptr;
    double weight = 1;
  };

  /// Creates the density. `decisions` outlive it. `bandwidth` is in (0, 1].
  Parzen(std::span<const gym::Decision> decisions, std::span<const Centre> centres,
         double bandwidth);
  void Add(const Centre& centre);
  [[nodiscard]] gym::Assignment Draw(Rng& rng) const;
  [[nodiscard]] double LogDensity(const gym::Assignment& at) const;

 private:
  std::span<const gym::Decision> decisions_;
  std::vector<Centre> centres_;
  std::vector<double> log_weights_;
  double total_ = 1;  ///< sum of all weights, that of the uniform part included
  double bandwidth_;
  double uniform_ = 0;         ///< log density of the uniform part
  double differing_ = 0;       ///< log density of a kernel if every decision differs
  std::vector<double> gains_;  ///< what each decision that agrees adds to differing_
};

}  // namespace msc::agents
