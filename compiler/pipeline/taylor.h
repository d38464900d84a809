#pragma once

#include <functional>
#include <span>

#include "compiler/pipeline/prune.h"

namespace msc {

/// Scores units by ScoreMethod::kTaylor, the part of ScoreByCalibration that takes gradients: the
/// mean over batches of (sum w * dL/dw)^2, summed over the weights w by which layers read a unit.
/// These are the weights that MaskPrunePlan sets to 0 for the unit, so the sum is the first-order
/// change of the loss L when the unit is removed. L is the loss of Gradients (trainer.h): of
/// decisions the cross entropy with `options.labels` or with the model's own; of numbers their sum
/// with random signs, other ones for each batch.
/// Source: Molchanov et al. 2019 (arXiv 1906.10771), equations 5 and 8.
[[nodiscard]] UnitScores ScoreByGradients(const Graph& canonical, const PruneSpace& space,
                                          const SampleSource& samples,
                                          const PruneCalibration& options,
                                          const std::function<void(double)>& progress);

}  // namespace msc
