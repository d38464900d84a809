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
#include "envs/register.h"
#include "gym/core/env.h"
#include "gym/core/problem.h"

namespace msc::envs {

/// What the decision "align" is between, where the context leaves it open: layers keep multiples of
/// so many channels. First what the blocks of most kernels take.
inline constexpr std::array<std::int64_t, 3> kAlignments = {8, 16, 1};

/// "Prune-v0": how many channels stay of every group that compiler/compress/prune/prune.h finds.
///
/// One decision a group, out of 1 and the context's densities as words (kDensity), as far as they
/// leave different numbers of units, and "align" as the last one where the context's align is 0
/// ("x8", "x16", "x1"): densities are then those that make a difference to single channels. Groups
/// behind the context's first_groups stay whole, undecided. Which units stay is by the context's
/// scores, or the L2 norm of their weights. The weights that are left are fitted to the context's
/// calibration samples where it has some (FitPlan). Anchors: all as near as can be to 1, to 0.75
/// and to 0.5. Features of a group, each in [0, 1]: place in the network, share of the
/// multiply-adds and of the bytes that its layers have, units / 4096, layers it cuts / 16. The
/// reward of the last step is -(latency ratio) - distill_loss. UserError if the context lacks a
/// model or an evaluator, or nothing in the model can be pruned.
[[nodiscard]] std::unique_ptr<gym::Env> MakePruneEnv(const EnvContext& context);

/// The decisions of that env, for all who decide about channels.
class PruneChoices {
 public:
  /// `context` has a model. UserError if its scores are not those of the model's units, or its
  /// densities are not in (0, 1], or twice there.
  explicit PruneChoices(const EnvContext& context);

  /// A group with the densities that make a difference there; groups with only one are left out,
  /// and do not count among the context's first_groups.
  [[nodiscard]] const std::vector<gym::Decision>& decisions() const { return decisions_; }
  /// The choice of decision `index` that is nearest to a density.
  [[nodiscard]] std::int32_t Nearest(std::size_t index, double density) const;
  /// The decision "align"; nothing where the context says it.
  [[nodiscard]] std::optional<gym::Decision> AlignDecision() const;
  /// What one choice for each decision keeps, and one of AlignDecision() where there is that.
  [[nodiscard]] PrunePlan PlanOf(std::span<const std::int32_t> choices,
                                 std::int32_t alignment = 0) const;
  /// Of every group as few units as any choice of all keeps.
  [[nodiscard]] PrunePlan LeastPlan() const;
  /// A row for each decision; see above.
  [[nodiscard]] std::vector<std::vector<double>> Features() const;
  /// What the choices mean besides the model and themselves.
  [[nodiscard]] std::string Meaning() const;

 private:
  [[nodiscard]] PrunePlan Uniform(double density) const;

  std::shared_ptr<const Graph> graph_;
  PruneSpace space_;
  UnitScores scores_;
  std::int64_t align_;           ///< 0 = one of kAlignments
  std::vector<double> offered_;  ///< densities, from 1 down
  std::vector<gym::Decision> decisions_;
  std::vector<std::vector<double>> densities_;  ///< by decision and choice
};

/// Leaves weights, and scales where there are some, to the context's calibration samples if the
/// strategy prunes and there are samples.
void FitToSamples(const EnvContext& context, Strategy& strategy);

}  // namespace msc::envs
