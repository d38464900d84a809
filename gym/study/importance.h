#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "gym/core/problem.h"

namespace msc::gym {

/// How far each decision decides a metric.
struct Importance {
  /// By decision: what its choices move, as a share of what all move. In [0, 1], together 1.
  std::vector<double> shares;
  /// Share of the variance that is predicted for trials that were left out, at most 1. Near 0 or
  /// below: decisions act on each other, or there is too much noise or too little data.
  double predicted = 0;
};

/// Fits a sum of one effect a choice to the ranks of `values`, one an assignment: by ranks, so that
/// a few that are far off do not drown the rest. The shares are the variances of the effects over
/// the assignments, first-order terms of an analysis of variance; `predicted` is by leaving out
/// every fifth in turn. Nothing with fewer than 10 values, or where all are equal. Assignments fit
/// the decisions, values are finite.
[[nodiscard]] std::optional<Importance> DecisionImportance(std::span<const Decision> decisions,
                                                           std::span<const Assignment> assignments,
                                                           std::span<const double> values);

}  // namespace msc::gym
