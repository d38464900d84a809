#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "gym/core/problem.h"

namespace msc::gym {

/// How strongly each decision influences one metric.
struct Importance {
  /// By decision: its share of the variance that all decisions explain. In [0, 1], sum 1.
  std::vector<double> shares;
  /// Cross-validated R^2: share of the variance predicted for trials that were left out of the fit,
  /// at most 1. A value near or below 0 means interactions between decisions, noise, or too little
  /// data.
  double predicted = 0;
};

/// Fits an additive model, one effect per choice, to the ranks of `values` (one value per
/// assignment). Ranks keep a few outliers from dominating the fit. The shares are the variances of
/// each decision's effects over the assignments, that is the first-order terms of an analysis of
/// variance; `predicted` comes from 5-fold cross-validation. Returns nothing for fewer than 10
/// values or if all are equal. Requires assignments that fit the decisions, and finite values.
[[nodiscard]] std::optional<Importance> DecisionImportance(std::span<const Decision> decisions,
                                                           std::span<const Assignment> assignments,
                                                           std::span<const double> values);

}  // namespace msc::gym
