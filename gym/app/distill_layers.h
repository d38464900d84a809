#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/pipeline/distill.h"
#include "compiler/pipeline/observe.h"

namespace msc::gym {

/// Relative error of a layer against the teacher: the mean squared difference divided by the mean
/// square of the teacher's values, over the channels that both have.
struct LearnedLayer {
  std::string layer;
  double before = 0;
  double after = 0;
};

/// The networks to compare. `before` and `after` are the student as deployed, before and after the
/// training.
struct LayerComparison {
  const Graph& teacher;
  const Graph& base;  ///< the student without its strategy
  const Student& student;
  const Graph& before;
  const Graph& after;
};

/// Compares every layer of the student whose output the teacher has too, on the first samples of
/// [N, ...], at most 64. UserError as ObserveValues.
[[nodiscard]] std::vector<LearnedLayer> CompareLayers(const LayerComparison& comparison,
                                                      const Tensor& samples,
                                                      const CalibrationRun& run,
                                                      const TargetRegistry& targets);

}  // namespace msc::gym
