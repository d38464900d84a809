#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"
#include "cost/measure/machine.h"
#include "envs/common/model_context.h"
#include "gym/search/config.h"
#include "gym/search/estimate_table.h"
#include "gym/search/host.h"
#include "gym/search/run_paths.h"
#include "gym/search/task.h"
#include "gym/study/time_budget.h"

namespace msc::gym {

/// State of a search before its first trial.
struct Prepared {
  TargetRegistry targets;
  std::vector<std::string> runners;    ///< specs of all targets that may run a candidate
  std::shared_ptr<const Graph> graph;  ///< canonical
  /// The start strategy with its weights read; nullptr if the search starts from the model.
  std::shared_ptr<const Strategy> base;
  std::string fit_hash;  ///< hash of the samples that candidates are fitted to; empty = none
  /// Seconds to read and run a sample of those that judge, and for the user's metrics; 0 if an
  /// earlier run did.
  double sample_s = 0;
  /// Precisions by layer that the target does not support, for tasks that decide precisions.
  envs::UnsupportedPrecisions unsupported;
  EstimateTable estimates;             ///< without costs if no decisions were tried alone
  std::vector<std::string> losses;     ///< names of those that samples give
  std::vector<std::string> warnings;   ///< about the samples that judge finalists
  std::vector<std::string> shortened;  ///< what time_budget_s left no time for
  cost::MachineFacts machine;
};

/// Returns the strategy that all candidates share before decisions: the start strategy, or the
/// uncompressed model on the config's target.
[[nodiscard]] Strategy StartOf(const SearchConfig& config, const Prepared& prepared);

/// Imports and canonicalizes the model and resolves all names in the config except the data. Writes
/// nothing, so an invalid config leaves no run directory behind. UserError naming what is unknown.
[[nodiscard]] Prepared LoadSearch(const SearchTask& task, const SearchConfig& config);

/// Likewise for a task that is not measured: loads only the graph and the targets.
[[nodiscard]] Prepared LoadUnmeasured(const SearchConfig& config);

/// Prepares the task, computes the outputs of the uncompressed model, and writes the files for
/// measuring children into the run directory. A resumed run reads existing files back, so that
/// scales, and with them the search space, stay the same.
[[nodiscard]] ProblemFactory PrepareSearch(const SearchTask& task, const SearchHost& host,
                                           const SearchConfig& config, const RunPaths& paths,
                                           const TimeBudget& time, Prepared& prepared);

}  // namespace msc::gym
