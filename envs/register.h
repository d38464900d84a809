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

/// The parameters of envs over a model. An env uses those that it needs and throws UserError if one
/// is missing; toy envs need none.
struct EnvContext {
  std::shared_ptr<const Graph> graph;  ///< canonical graph of the model to compress
  /// Strategy that candidates start from, for envs that decide targets or schedules; nullptr: an
  /// empty one.
  std::shared_ptr<const Strategy> base = {};
  cost::Evaluator* evaluator = nullptr;  ///< measures candidates; outlives the env
  /// Reward of an evaluation, and by how much it exceeds its limits. Empty: LatencyAndLossReward,
  /// and no limits.
  std::function<double(const gym::Evaluation&)> reward = {};
  std::function<double(const gym::Evaluation&)> violation = {};
  std::string target;  ///< spec of the target that runs the model
  /// Scales of every tensor that an int8 layer may read or write.
  std::map<std::string, TensorScale> scales;
  Labels labels = Labels::kAbsent;  ///< whether candidates are evaluated on labelled samples
  EnergyMetric energy = EnergyMetric::kAbsent;  ///< whether the evaluator measures energy
  /// Candidate regions of targets, with costs; for Partition-v0.
  std::shared_ptr<const CoverProblem> cover = {};
  /// Prices of a boundary between regions to choose from besides 0, in microseconds.
  std::vector<double> boundary_prices = {1, 3, 10, 30, 100, 1000, 1e6};
  /// FitHash of the calibration samples to which the evaluator fits candidates that prune, or that
  /// round weights by samples. Empty: it does not fit; weights stay as they are, and `scales`
  /// apply.
  std::string fit_hash = {};
  std::vector<double> unit_scores =
      {};  ///< scores of PruneSpace's units; empty: L2 norm of their weights
  /// Pruned layers keep a multiple of this many channels; 0: the multiple is a decision.
  std::int64_t align = 1;
  /// Densities of a group besides 1.
  std::vector<double> densities = {0.875, 0.75, 0.625, 0.5, 0.25};
  /// Number of groups whose channels are decided; the others stay whole. 0 = all.
  std::int64_t first_groups = 0;
  /// Kernels with the schedules available for each: of `base` for Schedule-v0, of the uncompressed
  /// model for Compress-v0.
  std::shared_ptr<const std::vector<ScheduledKernel>> kernels = {};
  /// Precisions by layer that the target does not support itself; they are not among the choices.
  std::map<std::string, std::vector<Precision>> lacked = {};
  std::shared_ptr<const DistillTask> distill = {};  ///< the training task of Distill-v0
  QuantizeOffer quantize = {};                      ///< options of the decisions about int8 layers
  /// `scales` for each method in quantize.ranges.
  std::map<std::string, std::map<std::string, TensorScale>> scales_by_range = {};
  CompressOffer compress = {};  ///< options of a joint search
  /// `lacked` for each of compress.targets, by spec.
  std::map<std::string, std::map<std::string, std::vector<Precision>>> lacked_on = {};
  /// Estimated effects of the env's decisions on some metrics, found by trying the decisions one by
  /// one.
  std::map<std::string, gym::AdditiveCost> estimates = {};
  /// Returns the peak performance of the measuring machine, for lower bounds. The first call may
  /// take a second.
  std::function<ComputeRoof()> roof = {};
  /// Returns the kernels of a strategy with known scales, with the schedules available for each;
  /// for envs that decide schedules together with other things.
  std::function<std::vector<ScheduledKernel>(const Strategy&)> kernels_of = {};
};

using EnvRegistry = gym::EnvRegistry<const EnvContext&>;

/// Adds every env of this folder, a few lines each in register.cc.
void RegisterAll(EnvRegistry& registry);

}  // namespace msc::envs
