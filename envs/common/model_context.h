#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/strategy/strategy.h"
#include "envs/common/bounds.h"
#include "envs/common/evaluation.h"
#include "gym/core/problem.h"

namespace msc {
class Graph;
namespace cost {
class Evaluator;
}  // namespace cost
}  // namespace msc

namespace msc::envs {

/// Precisions by layer that a target does not support itself.
using UnsupportedPrecisions = std::map<std::string, std::vector<Precision>>;

/// The model of a problem and how its candidates are measured.
struct ModelContext {
  std::shared_ptr<const Graph> graph;  ///< canonical graph of the model to compress
  /// Strategy that candidates start from; nullptr: the uncompressed model on `target`.
  std::shared_ptr<const Strategy> base = {};
  cost::Evaluator* evaluator = nullptr;  ///< measures candidates; outlives the problem
  std::string target;                    ///< spec of the target that runs the model
  /// Specs of further targets that may run a candidate or a part of it.
  std::vector<std::string> other_targets = {};
  std::vector<std::string> losses = {};         ///< names of the losses that the evaluator measures
  EnergyMetric energy = EnergyMetric::kAbsent;  ///< whether the evaluator measures energy
  /// FitHash of the calibration samples to which the evaluator fits candidates that prune, or that
  /// round weights by samples. Empty: it does not fit them.
  std::string fit_hash = {};
  /// Estimated effects of the decisions on some metrics, found by trying the decisions one by one.
  std::map<std::string, gym::AdditiveCost> estimates = {};
  /// Returns the peak performance of the measuring machine, for lower bounds. The first call may
  /// take a second. Empty: latency has no bound.
  std::function<ComputeRoof()> roof = {};
};

}  // namespace msc::envs
