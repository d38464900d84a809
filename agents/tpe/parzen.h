#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/base/rng.h"
#include "gym/core/problem.h"

namespace msc::agents {

/// A density over assignments: a mixture of one kernel for each centre, by weight, and one uniform
/// of weight 1. A kernel keeps each decision at its centre with probability 1 - bandwidth and draws
/// it uniformly otherwise, all decisions independently.
class Parzen {
 public:
  /// A centre, which outlives the density, and its weight > 0.
  struct Centre {
    const gym::Assignment* at = nullptr;
    double weight = 1;
  };

  /// `decisions` outlive it. `bandwidth` in (0, 1].
  Parzen(std::span<const gym::Decision> decisions, std::span<const Centre> centres,
         double bandwidth);
  void Add(const Centre& centre);
  [[nodiscard]] gym::Assignment Draw(Rng& rng) const;
  [[nodiscard]] double LogDensity(const gym::Assignment& at) const;

 private:
  std::span<const gym::Decision> decisions_;
  std::vector<Centre> centres_;
  std::vector<double> log_weights_;
  double total_ = 1;  ///< of all weights, that of the uniform part included
  double bandwidth_;
  double uniform_ = 0;         ///< log density of the uniform part
  double differing_ = 0;       ///< log of a kernel where every decision differs from the centre
  std::vector<double> gains_;  ///< what each decision that agrees adds to that
};

}  // namespace msc::agents
