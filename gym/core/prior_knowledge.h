#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gym/core/decision.h"

namespace msc::gym {

/// A metric that is a sum over the decisions: metric(a) = offset + sum over i of effects[i][a[i]].
struct AdditiveCost {
  double offset = 0;
  std::vector<std::vector<double>> effects = {};  ///< by decision and choice
  bool operator==(const AdditiveCost&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("offset", self.offset, "cost of all first choices together");
    visit("effects", self.effects, "by decision and choice");
  }
};

/// An assignment that splits the decisions into groups (regions), with the known sum of the costs
/// of the groups. The cost of the whole is near `cost` plus a price for each boundary between
/// groups.
struct CoverPoint {
  Assignment assignment;
  double cost = 0;
  double boundaries = 0;  ///< number of groups - 1
  bool operator==(const CoverPoint&) const = default;
};

/// What a problem knows about its metrics before any trial. A problem leaves empty what it does not
/// know.
struct PriorKnowledge {
  /// The metrics that are exact sums over the decisions; exact methods need them.
  std::map<std::string, AdditiveCost> costs = {};
  /// Estimates of metrics as sums over the decisions: the effect of each decision alone, a
  /// finite-difference gradient of a proxy. Agents start from them and correct them by results; the
  /// scale of one may be wrong.
  std::map<std::string, AdditiveCost> estimates = {};
  /// A feature vector for each decision: all of the same length, finite.
  std::vector<std::vector<double>> features = {};
  /// The expected influence of each decision on the metrics: one number >= 0 each, in any unit,
  /// such as the multiply-adds of its layers. A guess that agents correct by results.
  std::vector<double> relevance = {};
  /// The best assignment for each of several prices per boundary, from price 0 on, found by an
  /// exact method: cost rises and boundaries fall along the list.
  std::vector<CoverPoint> cover_front = {};
  /// Computes LowerBounds. A function because it may take a second to measure the peak performance
  /// of the machine.
  std::function<std::map<std::string, double>()> compute_bounds = {};

  /// Returns finite lower bounds of metrics over all assignments; a metric without a known bound is
  /// missing.
  [[nodiscard]] std::map<std::string, double> LowerBounds() const {
    return compute_bounds ? compute_bounds() : std::map<std::string, double>();
  }
};

/// Checks everything but the lower bounds. Throws InternalError if something does not fit the
/// decisions or is malformed, UserError if a cover is not legal.
void CheckPrior(const PriorKnowledge& prior, std::span<const Decision> decisions,
                const ChoiceMask& mask);
/// Throws InternalError if a bound is not finite or belongs to none of `metrics`.
void CheckLowerBounds(const std::map<std::string, double>& bounds,
                      std::span<const std::string> metrics);

}  // namespace msc::gym
