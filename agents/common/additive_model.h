#pragma once

#include <span>
#include <vector>

#include "agents/common/additive.h"
#include "agents/common/method.h"

namespace msc::agents {

/// What the results so far would be if effects of decisions added up: one sum an objective and one
/// a constraint, fitted to all trials with full results, or as the problem declares them. Where the
/// problem has estimates, each is scaled to the results, and only what it leaves is fitted.
class AdditiveModel {
 public:
  /// Fits. Trials near the best count most: what holds there is what matters. `history` has a trial
  /// with full results, unless costs are declared.
  AdditiveModel(const gym::AgentSetup& setup, const History& history);

  /// Objectives, then constraints.
  [[nodiscard]] const std::vector<gym::AdditiveCost>& costs() const noexcept { return costs_; }
  /// Result that the model expects, not failed.
  [[nodiscard]] gym::Told Expect(const gym::Assignment& assignment) const;
  struct ExpectedFront {
    std::vector<gym::Assignment> assignments;
    bool exact = true;  ///< as in AdditiveFront: false where members are only near to the front
  };
  /// The front of the sums: of all objectives and constraints, and, with several objectives under
  /// constraints, that of the first objective and the constraints too. Best expected first
  /// (Better). SolveAdditive keeps `most` partial sums, of more than two sums at most 32.
  [[nodiscard]] ExpectedFront Front(std::size_t most) const;
  /// How much each decision matters for sum `k`: the range of its effects.
  [[nodiscard]] std::vector<double> Ranges(std::size_t k) const;

 private:
  std::size_t objectives_;
  std::vector<gym::AdditiveCost> costs_;
};

/// `estimate` with its effects times the factor by which `values`, at least one, come nearest to
/// it, between a fifth and five. Few values leave it near to 1.
[[nodiscard]] gym::AdditiveCost ScaledToResults(const gym::AdditiveCost& estimate,
                                                std::span<const gym::Assignment* const> at,
                                                std::span<const double> values);

/// Single changes of `base`, a legal assignment, in the order of decisions, the furthest choice of
/// each first. One that is ruled out brings with it what makes it legal (MakeLegal), and is left
/// out where that takes it back.
[[nodiscard]] std::vector<gym::Assignment> SingleChanges(const gym::AgentSetup& setup,
                                                         const gym::Assignment& base);

}  // namespace msc::agents
