#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/strategy/schedule.h"
#include "compiler/strategy/strategy.h"
#include "envs/common/bounds.h"
#include "envs/common/evaluation.h"
#include "envs/compress/offer.h"
#include "envs/quantize/offer.h"
#include "gym/core/env_registry.h"

namespace msc {
class Graph;
struct CoverProblem;
namespace cost {
class Evaluator;
}  // namespace cost
}  // namespace msc

namespace msc::envs {

struct DistillTask;

/// What an env over a model is made from. An env takes what it needs and refuses (UserError) a
/// context without it; toys need nothing.
struct EnvContext {
  std::shared_ptr<const Graph> graph;  ///< canonical form of the model to compress
  /// What candidates begin with, for envs that decide who runs what and how; none: nothing.
  std::shared_ptr<const Strategy> base = {};
  cost::Evaluator* evaluator = nullptr;  ///< tries candidates; outlives the env
  /// What an evaluation earns and how far it is above limits; none: LatencyAndLossReward, no
  /// limits.
  std::function<double(const gym::Evaluation&)> reward = {};
  std::function<double(const gym::Evaluation&)> violation = {};
  std::string target;                         ///< who runs the model
  std::map<std::string, TensorScale> scales;  ///< of every tensor an 8-bit layer may touch
  Labels labels = Labels::kAbsent;            ///< whether candidates are judged on labelled samples
  EnergyMetric energy = EnergyMetric::kAbsent;  ///< whether the evaluator measures it
  /// What targets could compute of it, with costs.
  std::shared_ptr<const CoverProblem> cover = {};
  /// That a boundary between regions may be taken to have, in microseconds, beside 0.
  std::vector<double> boundary_prices = {1, 3, 10, 30, 100, 1000, 1e6};
  /// FitHash of the calibration samples that the evaluator fits candidates to that prune, or round
  /// by samples; empty = it does not: weights stay as they are, and scales are those above.
  std::string fit_hash = {};
  std::vector<double> unit_scores =
      {};  ///< of PruneSpace's units; empty = L2 norm of their weights
  /// Pruned layers keep multiples of so many channels; 0 = that is decided too.
  std::int64_t align = 1;
  std::vector<double> densities = {0.875, 0.75, 0.625, 0.5, 0.25};  ///< of a group, beside 1
  std::int64_t first_groups = 0;  ///< whose channels are decided; the others stay whole; 0 = all
  /// How kernels of the model as it is may be written.
  std::shared_ptr<const std::vector<ScheduledKernel>> kernels = {};
  /// By layer, precisions that the target does not compute itself: not offered.
  std::map<std::string, std::vector<Precision>> lacked = {};
  std::shared_ptr<const DistillTask> distill = {};  ///< what recipes train
  QuantizeOffer quantize = {};                      ///< what is decided about int8 layers
  /// `scales` by each of quantize.ranges.
  std::map<std::string, std::map<std::string, TensorScale>> scales_by_range = {};
  CompressOffer compress = {};  ///< what a joint search decides besides channels and precisions
  /// `lacked` of compress.targets, by spec.
  std::map<std::string, std::map<std::string, std::vector<Precision>>> lacked_on = {};
  /// Of some metrics, what the env's decisions are expected to do, found by trying them one by one.
  std::map<std::string, gym::AdditiveCost> estimates = {};
  /// What the machine that measures computes at most, for lower bounds; may take a second when it
  /// is asked first.
  std::function<ComputeRoof()> roof = {};
  /// How the kernels of a strategy, whose scales are known, may be written; for envs that decide
  /// that beside the rest of it.
  std::function<std::vector<ScheduledKernel>(const Strategy&)> kernels_of = {};
};

using EnvRegistry = gym::EnvRegistry<const EnvContext&>;

/// Adds every env of this folder: a few lines each in register.cc.
void RegisterAll(EnvRegistry& registry);

}  // namespace msc::envs
