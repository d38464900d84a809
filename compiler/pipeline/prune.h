#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/compress/prune/prune.h"
#include "compiler/compress/prune/score.h"
#include "compiler/compress/prune/sparsity.h"
#include "compiler/ir/graph.h"
#include "compiler/pipeline/observe.h"
#include "compiler/targets/target.h"

namespace msc {

struct PruneCalibration {
  CalibrationRun run = {};
  std::int64_t positions = 16;  ///< output positions a sample that a layer is judged at
  double ridge = 1e-3;          ///< how firmly Reconstruct holds on to the old weights
  std::uint64_t seed = 0;       ///< which positions
  /// Class numbers of the samples, for kTaylor; none: what the model finds most likely.
  std::span<const std::int32_t> labels = {};
  std::optional<SparsityPattern> sparsity = {};  ///< of what Reconstruct fits
};

/// kEnergy and kObs: what the layers that read each unit lose (UnitElimination), from the second
/// moments of their inputs over `samples`. kTaylor: what the loss does (taylor.h); it needs
/// libtorch, SystemError as Gradients without it. UserError where a group is read by nothing that
/// can be judged so, where the moments would take more than 4 GiB, and as ObserveValues.
[[nodiscard]] UnitScores ScoreByCalibration(const Graph& canonical, const PruneSpace& space,
                                            ScoreMethod method, const SampleSource& samples,
                                            const PruneCalibration& options,
                                            const TargetRegistry& registry,
                                            const std::function<void(double)>& progress = {});

struct ReconstructedLayer {
  std::string layer;
  double error_before = 0;  ///< share of the variance of the layer's outputs that is missed
  double error_after = 0;
  std::optional<double> zeros = {};  ///< share of the weights, where zeros were asked for
};

/// Fits the weights that are left to what the layers computed before pruning. In graph order, each
/// Conv, Gemm and MatMul that reads something changed gets the weights and bias with which, over
/// the samples, its output in `pruned` (as changed so far) comes closest to its output in
/// `canonical`; where a residual is added to it, the sum does, so that it makes up for what the
/// other branch lost. `pruned` is `canonical` after ApplyPrunePlan(plan). Nothing is trained: one
/// linear regression a layer, with no gradients. Layers of other forms stay as they are. With
/// `options.sparsity` all layers that it fits are gone through, and get zeros once they are fitted
/// (SparsifyRows), after which the bias takes what the means are off by. Source: He et al. 2017
/// (arXiv 1707.06168) section 3.1 and 3.2.
[[nodiscard]] std::vector<ReconstructedLayer> Reconstruct(
    const Graph& canonical, const PrunePlan& plan, const SampleSource& samples,
    const PruneCalibration& options, const TargetRegistry& registry, Graph& pruned,
    const std::function<void(double)>& progress = {});

/// A plan that was timed for a latency budget.
struct TimedPlan {
  double macs = 1;  ///< share of the multiply-adds that was asked for
  double time = 1;  ///< what `measure` said
};
/// The plan that keeps most multiply-adds among those found to take at most `share` of the whole
/// model's time, by bisection over the share of multiply-adds that ChoosePlan is asked for
/// (`request.macs` is not read). `measure` is the time of a plan as a share of the whole model's;
/// it is asked up to `most` times, never twice for one plan. `tried` gets all that was measured, in
/// order. UserError where `share` is not in (0, 1), or not even the smallest plan meets it.
[[nodiscard]] PrunePlan ChoosePlanByTime(const Graph& graph, const PruneSpace& space,
                                         const UnitScores& scores, const PruneRequest& request,
                                         double share,
                                         const std::function<double(const PrunePlan&)>& measure,
                                         int most, std::vector<TimedPlan>& tried);

}  // namespace msc
