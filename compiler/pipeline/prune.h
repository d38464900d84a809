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
#include "compiler/ir/output_form.h"
#include "compiler/pipeline/observe.h"
#include "compiler/targets/target.h"

namespace msc {

/// How pruning uses calibration samples.
struct PruneCalibration {
  CalibrationRun run = {};
  std::int64_t positions = 16;  ///< output positions per sample that a layer is fitted to
  double ridge = 1e-3;          ///< weight of the old weights in Reconstruct's regression
  std::uint64_t seed = 0;       ///< selects the positions
  /// Class numbers of the samples, for kTaylor; if empty, the model's own decisions.
  std::span<const std::int32_t> labels = {};
  OutputForms forms = {};  ///< what outputs mean, for kTaylor; empty: logits along the last axis
  std::optional<SparsityPattern> sparsity = {};  ///< pattern of zeros for Reconstruct
};

/// Returns scores from calibration samples. kEnergy and kObs: the loss in the layers that read each
/// unit (UnitElimination), from the second moments of their inputs over `samples`. kTaylor: the
/// change of the model's loss (taylor.h), which needs libtorch; SystemError as Gradients without
/// it. A unit that only changes layers whose outputs never vary scores 0. A group that no layer
/// reads that can be judged so is one of `by_weights`. UserError if the moments would take more
/// than 4 GiB, and as ObserveValues.
[[nodiscard]] UnitScores ScoreByCalibration(const Graph& canonical, const PruneSpace& space,
                                            ScoreMethod method, const SampleSource& samples,
                                            const PruneCalibration& options,
                                            const TargetRegistry& registry,
                                            const std::function<void(double)>& progress = {});

/// Returns about how many multiply-adds kObs needs after its run over the samples.
[[nodiscard]] double WorkOfObs(const Graph& canonical, const PruneSpace& space);

/// A layer that Reconstruct fitted.
struct ReconstructedLayer {
  std::string layer;
  double error_before = 0;  ///< remaining share of the variance of the layer's outputs
  double error_after = 0;
  std::optional<double> zeros = {};  ///< share of zero weights, if options.sparsity is set
};

/// Fits the remaining weights to what the layers computed before pruning. `pruned` must be
/// `canonical` after ApplyPrunePlan(plan). In graph order, each Conv, Gemm and MatMul that reads
/// something changed gets the weights and bias that bring its output in `pruned` (as changed so
/// far) closest, over the samples, to its output in `canonical`. If a residual is added to the
/// output, the sum is fitted, so that one branch compensates for what the other one lost. Each
/// layer takes one linear regression without gradients. Layers of other forms do not change. With
/// `options.sparsity` all layers that it fits are processed, and get zeros after being fitted
/// (SparsifyRows); the bias then corrects the error of the mean.
/// Source: He et al. 2017 (arXiv 1707.06168) section 3.1 and 3.2.
[[nodiscard]] std::vector<ReconstructedLayer> Reconstruct(
    const Graph& canonical, const PrunePlan& plan, const SampleSource& samples,
    const PruneCalibration& options, const TargetRegistry& registry, Graph& pruned,
    const std::function<void(double)>& progress = {});

}  // namespace msc
