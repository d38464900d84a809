#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/compress/prune/prune.h"
#include "compiler/compress/prune/score.h"
#include "envs/common/model_context.h"
#include "envs/common/strategy_problem.h"

namespace msc::envs {

/// Which channels may be removed, and how many.
struct ChannelContext {
  /// Scores of PruneSpace's units; empty: the L2 norm of their weights.
  std::vector<double> unit_scores = {};
  /// Pruned layers keep a multiple of this many channels; 0: the multiple is a decision.
  std::int64_t align = 1;
  /// Densities of a group besides 1.
  std::vector<double> densities = {0.875, 0.75, 0.625, 0.5, 0.25};
  /// Number of groups whose channels are decided; the others stay whole. 0 = all.
  std::int64_t first_groups = 0;
};

/// The model of a problem with decisions about channels.
struct PruneContext : ModelContext, ChannelContext {};

/// Choices of the decision "align", if the context leaves it open: layers keep a multiple of this
/// many channels. The first one fits the blocks of most kernels.
inline constexpr std::array<std::int64_t, 3> kAlignments = {8, 16, 1};

/// Makes the problem of "Prune-v0": how many channels stay in every group that
/// compiler/compress/prune/prune.h finds.
///
/// One decision per group, out of the density 1 and the context's densities (kDensity), as far as
/// they keep different numbers of units. If the context's align is 0, "align" ("x8", "x16", "x1")
/// is the last decision, and the densities are those that differ in single channels. Groups after
/// the context's first_groups stay whole and have no decision. Which units stay follows from the
/// context's scores, or from the L2 norm of their weights. The remaining weights are fitted to the
/// context's calibration samples, if there are any (FitPlan). Anchors: all groups as near as
/// possible to 1, to 0.75 and to 0.5.
///
/// Features of a group, each in [0, 1]: position in the network, share of its layers in the
/// multiply-adds and in the bytes, units / 4096, layers it cuts / 16. Throws UserError if the
/// context lacks a model or an evaluator, or nothing in the model can be pruned.
[[nodiscard]] std::unique_ptr<StrategyProblem> MakePruneProblem(const PruneContext& context);

/// The decisions of that env, shared by all envs that decide about channels.
class PruneChoices {
 public:
  /// Finds the groups of a canonical graph, and their densities. Throws UserError if its scores do
  /// not match the model's units, or a density is not in (0, 1] or is listed twice.
  PruneChoices(std::shared_ptr<const Graph> graph, const ChannelContext& context);

  /// Returns one decision per group, with the densities that make a difference there. Groups with
  /// only one such density are left out, and do not count towards the context's first_groups.
  [[nodiscard]] const std::vector<gym::Decision>& decisions() const { return decisions_; }
  /// Returns the choice of decision `index` that is nearest to a density.
  [[nodiscard]] std::int32_t Nearest(std::size_t index, double density) const;
  /// Returns the decision "align", or nothing if the context fixes the alignment.
  [[nodiscard]] std::optional<gym::Decision> AlignDecision() const;
  /// Returns the plan for one choice per decision, and one of AlignDecision() if it exists.
  [[nodiscard]] PrunePlan PlanOf(std::span<const std::int32_t> choices,
                                 std::int32_t alignment = 0) const;
  /// Returns a plan that keeps, in every group, the fewest units that any assignment keeps.
  [[nodiscard]] PrunePlan LeastPlan() const;
  /// Returns a row of features for each decision; see MakePruneProblem.
  [[nodiscard]] std::vector<std::vector<double>> Features() const;
  /// Returns text for the hash: what the meaning of choices depends on besides the model and
  /// themselves.
  [[nodiscard]] std::string Meaning() const;

 private:
  [[nodiscard]] PrunePlan Uniform(double density) const;

  std::shared_ptr<const Graph> graph_;
  PruneSpace space_;
  UnitScores scores_;
  std::int64_t align_;             ///< 0 = the decision "align"
  std::vector<double> available_;  ///< densities, descending from 1
  std::vector<gym::Decision> decisions_;
  std::vector<std::vector<double>> densities_;  ///< by decision and choice
};

/// Marks a strategy that prunes for fitting to the context's calibration samples, if there are any:
/// weights are then fitted, and scales found, after pruning.
void FitToSamples(const ModelContext& context, Strategy& strategy);

}  // namespace msc::envs
