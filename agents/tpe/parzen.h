#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/base/rng.h"
#include "gym/core/problem.h"

namespace msc::agents {

/// A density over assignments: a weighted mixture of one kernel per centre and a uniform density of
/// weight 1. A kernel draws each decision uniformly with probability `bandwidth` and near its
/// centre otherwise, all decisions independently. Near is the choice of the centre itself for
/// names, and for amounts a normal density over their places whose deviation is one step.
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
  double uniform_ = 0;  ///< log density of the uniform part
  /// For a centre of each choice, the density near it of all choices, by decision; empty for names.
  std::vector<std::vector<std::vector<double>>> near_;
  /// For a centre of each choice, the log density of its kernel at all choices, by decision.
  std::vector<std::vector<std::vector<double>>> logs_;
};

}  // namespace msc::agents
