#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/pipeline/distill.h"
#include "compiler/pipeline/observe.h"

namespace msc::gym {

/// How far what a layer computes is from what the teacher has there: the mean square of the
/// difference over that of the teacher's values, of the channels that both have.
struct LearnedLayer {
  std::string layer;
  double before = 0;
  double after = 0;
};

/// What is compared, and on what. `before` and `after` are the student as it is deployed.
struct LayerComparison {
  const Graph& teacher;
  const Graph& base;  ///< the student without its strategy
  const Student& student;
  const Graph& before;
  const Graph& after;
};

/// Of every layer of the student whose output the teacher has too, on the first of the samples
/// [N, ...], at most 64. UserError as ObserveValues.
[[nodiscard]] std::vector<LearnedLayer> CompareLayers(const LayerComparison& comparison,
                                                      const Tensor& samples,
                                                      const CalibrationRun& run,
                                                      const TargetRegistry& targets);

}  // namespace msc::gym
