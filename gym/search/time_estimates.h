#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "cost/measure/local_evaluator.h"
#include "envs/common/strategy_problem.h"

namespace msc::gym {

/// Nanoseconds by layer.
using LayerTimes = std::map<std::string, double>;

/// Times of models whose decisions of one kind all have the same value.
struct UniformTimes {
  double whole = 0;                      ///< of the uncompressed model
  LayerTimes f32;                        ///< of its layers
  std::map<double, LayerTimes> by_bits;  ///< of the layers, by the bits of all
  /// Bits of the models below, 32 or one of by_bits.
  double pruned_bits = 32;
  /// Of the layers of models with these bits, by the density of all groups.
  std::map<double, LayerTimes> by_density;
};

/// Returns the time of each of `layers` in a profile, whose steps are in the order of their runs.
/// One that computes several layers is shared equally. One that computes none, such as an
/// activation or a conversion between types, counts to the layer of the step before it, or else to
/// the first: its time changes with the layers around it, and the times of the layers add up to the
/// whole.
[[nodiscard]] LayerTimes TimesByLayer(const cost::Profile& profile,
                                      const std::set<std::string>& layers);

/// Returns the effect of every choice on the time, as a fraction of that of the uncompressed model.
/// `layers` has the layers that each decision changes; one that changes none has no effect. A layer
/// that was not timed at a number of bits counts as in f32. What a density saves is counted at
/// pruned_bits, since a pruned layer rarely stays in f32. Kernels compute blocks of channels, so
/// that time falls in steps: a density that was timed has its own time, and others are interpolated
/// between the nearest timed ones.
[[nodiscard]] AdditiveCost TimeEffects(const std::vector<Decision>& decisions,
                                       const std::vector<std::vector<std::string>>& layers,
                                       const UniformTimes& times);

/// Times a few whole models, in which all layers have the same precision, or all groups the same
/// density, step by step, and adds estimates of latency and latency_ms. Pruned models have the
/// precision that is the fastest; one of about half of the channels comes first, and the others
/// are timed if that takes about `seconds`. Adds nothing if there is nothing to time, or if timing
/// fails or is stopped. Returns whether the result is final, i.e. no other process ended a
/// measurement.
[[nodiscard]] bool AddTimeEstimates(const envs::StrategyProblem& problem, const Graph& graph,
                                    cost::LocalEvaluator& evaluator, double seconds,
                                    const std::function<bool()>& stop,
                                    std::map<std::string, AdditiveCost>& costs);

}  // namespace msc::gym
