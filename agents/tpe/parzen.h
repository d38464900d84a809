#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/base/rng.h"
#include "gym/core/problem.h"

namespace msc::agents {

/// A density over assignments: a mixture of one kernel for each centre and one uniform. A kernel
/// keeps each decision at its centre with probability 1 - bandwidth and draws it uniformly
/// otherwise, all decisions independently.
class Parzen {
 public:
  /// `decisions` and the centres outlive it. `bandwidth` in (0, 1].
  Parzen(std::span<const gym::Decision> decisions, std::vector<const gym::Assignment*> centres,
         double bandwidth);
  void Add(const gym::Assignment* centre) { centres_.push_back(centre); }
  [[nodiscard]] gym::Assignment Draw(Rng& rng) const;
  [[nodiscard]] double LogDensity(const gym::Assignment& at) const;

 private:
  std::span<const gym::Decision> decisions_;
  std::vector<const gym::Assignment*> centres_;
  double bandwidth_;
  double uniform_ = 0;         ///< log density of the uniform part
  double differing_ = 0;       ///< log of a kernel where every decision differs from the centre
  std::vector<double> gains_;  ///< what each decision that agrees adds to that
};

}  // namespace msc::agents
