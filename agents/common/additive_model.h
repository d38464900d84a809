#pragma once

#include <span>
#include <vector>

#include "agents/common/additive.h"
#include "agents/common/method.h"

namespace msc::agents {

/// A model of the results as if the effects of decisions added up: one sum per objective and
/// constraint, fitted to all trials with full results, or the costs that the problem declares. If
/// the problem has estimates, each is scaled to the results, and only the residual is fitted. What
/// exceeds a limit many times counts little for it: losses that are large do not grow as sums do.
/// Of a constraint with estimates a power may add up instead of the excess itself
/// (ScaledNearLimit).
class AdditiveModel {
 public:
  /// Fits the model. Trials near the best one weigh most, as the model is used there. `history` has
  /// a trial with full results, unless costs are declared.
  AdditiveModel(const gym::AgentSetup& setup, const History& history);

  /// Returns the costs of the objectives, then of the constraints: of these AsSum.
  [[nodiscard]] const std::vector<gym::AdditiveCost>& costs() const noexcept { return costs_; }
  /// Returns what adds up for an excess of a constraint; it has the same sign.
  [[nodiscard]] double AsSum(std::size_t constraint, double excess) const;
  /// Returns the problem's estimates scaled to the results, in the same order; empty if it has none
  /// or declares costs.
  [[nodiscard]] const std::vector<gym::AdditiveCost>& estimates() const noexcept {
    return estimates_;
  }
  /// Returns the predicted result of `assignment`, never a failure.
  [[nodiscard]] gym::TrialResult Expect(const gym::Assignment& assignment) const;
  struct ExpectedFront {
    std::vector<gym::Assignment> assignments;
    bool exact = true;  ///< false if members are only near the front, as in AdditiveFront
  };
  /// Returns the front of all objectives and constraints and, with several objectives under
  /// constraints, also that of the first objective and the constraints; the best predicted member
  /// (IsBetterTrial) first. Members beyond a limit by more than a quarter of it are left out if
  /// others are not. SolveAdditive keeps `most` partial sums, but at most 32 for more than two
  /// sums.
  [[nodiscard]] ExpectedFront Front(std::size_t most) const;
  /// Returns the range of the effects of each decision in sum `k`: how much it matters.
  [[nodiscard]] std::vector<double> Ranges(std::size_t k) const;

 private:
  std::size_t objectives_;
  std::vector<gym::AdditiveCost> costs_;
  std::vector<gym::AdditiveCost> estimates_;
  std::vector<double> powers_;  ///< by constraint
};

/// Returns `estimate` with its effects multiplied by a factor, between 1/5 and 5, for each quantity
/// that decisions have, which together fit `values` best: what precisions save may be overestimated
/// where what channels save is not. Few values leave the factors near 1. At least one value.
[[nodiscard]] gym::AdditiveCost ScaledToResults(std::span<const gym::Decision> decisions,
                                                const gym::AdditiveCost& estimate,
                                                std::span<const gym::Assignment* const> at,
                                                std::span<const double> values);

/// The estimate of a constraint: (1 + excess) is the `power` of 1 + `cost`.
struct LimitEstimate {
  gym::AdditiveCost cost;
  double power = 1;
  bool operator==(const LimitEstimate&) const = default;
};

/// As ScaledToResults, of a constraint: by the ratios of results to estimates, which count most
/// near the limit. Factors, of 1 + excess, are between 1/20 and 20. The errors of layers add up by
/// their squares, so that a loss may be as their root, or an even smaller power: of some powers
/// from 1 down, the one that fits best; few results leave it at 1.
[[nodiscard]] LimitEstimate ScaledNearLimit(std::span<const gym::Decision> decisions,
                                            const gym::AdditiveCost& estimate,
                                            std::span<const gym::Assignment* const> at,
                                            std::span<const double> values);

/// Returns the single changes of `base`, a legal assignment: for every decision in order the choice
/// with the most distant index, then for every decision the second most distant, and so on.
/// MakeLegal completes an illegal change, which is left out if that reverts it.
[[nodiscard]] std::vector<gym::Assignment> SingleChanges(const gym::AgentSetup& setup,
                                                         const gym::Assignment& base);

}  // namespace msc::agents
