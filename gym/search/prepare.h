#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/partition/problem.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"
#include "cost/measure/machine.h"
#include "gym/search/config.h"
#include "gym/search/estimate_table.h"
#include "gym/search/host.h"
#include "gym/search/run_paths.h"
#include "gym/study/time_budget.h"

namespace msc::gym {

/// State of a search before its first trial.
struct Prepared {
  TargetRegistry targets;
  std::vector<std::string> runners;    ///< specs of all targets that may run a candidate
  std::shared_ptr<const Graph> graph;  ///< canonical
  /// The start strategy with its weights read; nullptr if the search starts from the model.
  std::shared_ptr<const Strategy> base;
  std::map<std::string, TensorScale> scales;  ///< of activations
  /// Scales by each method of the config's quantize.ranges.
  std::map<std::string, std::map<std::string, TensorScale>> scales_by_range;
  std::vector<double> unit_scores;  ///< of channels; empty if none are pruned
  std::string fit_hash;  ///< hash of the samples that candidates are fitted to; empty = none
  /// Kernels with schedules to choose from; nullptr if schedules are not searched.
  std::shared_ptr<const std::vector<ScheduledKernel>> kernels;
  /// Precisions that the target does not support, by layer.
  std::map<std::string, std::vector<Precision>> lacked;
  /// Likewise for the config's compress.targets, by spec.
  std::map<std::string, std::map<std::string, std::vector<Precision>>> lacked_on;
  EstimateTable estimates;  ///< without costs if no decisions were tried alone
  bool labelled = false;
  std::vector<std::string> warnings;          ///< about the samples that judge finalists
  std::vector<std::string> shortened;         ///< what time_budget_s left no time for
  std::shared_ptr<const CoverProblem> cover;  ///< of Partition-v0, with measured costs
  cost::MachineFacts machine;
};

/// Returns the strategy that all candidates share before decisions: the start strategy, or the
/// uncompressed model on the config's target.
[[nodiscard]] Strategy StartOf(const SearchConfig& config, const Prepared& prepared);

/// Imports and canonicalizes the model and resolves all names in the config except the data. Writes
/// nothing, so an invalid config leaves no run directory behind. UserError naming what is unknown.
[[nodiscard]] Prepared LoadSearch(const SearchConfig& config);

/// Loads the data, calibrates, computes the outputs of the uncompressed model, and writes the files
/// for measuring children into the run directory. A resumed run reads existing files back, so that
/// scales, and with them the search space, stay the same.
void PrepareSearch(const SearchHost& host, const SearchConfig& config, const RunPaths& paths,
                   const TimeBudget& time, Prepared& prepared);

}  // namespace msc::gym
