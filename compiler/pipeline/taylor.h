#pragma once

#include <functional>
#include <span>

#include "compiler/pipeline/prune.h"

namespace msc {

/// ScoreMethod::kTaylor, the part of ScoreByCalibration that takes gradients: the mean over batches
/// of (sum w * dL/dw)^2, over the weights by which layers read a unit. These are what MaskPrunePlan
/// sets to 0 for it, so the sum is what the loss L changes by, to first order, when the unit goes.
/// L is the cross entropy with `options.labels`, or with the classes that the model finds most
/// likely. Source: Molchanov et al. 2019 (arXiv 1906.10771), equations 5 and 8.
[[nodiscard]] UnitScores ScoreByGradients(const Graph& canonical, const PruneSpace& space,
                                          const SampleSource& samples,
                                          const PruneCalibration& options,
                                          const std::function<void(double)>& progress);

}  // namespace msc
