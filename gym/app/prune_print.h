#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/pipeline/prune.h"
#include "compiler/pipeline/prune_budget.h"
#include "gym/app/summary.h"

namespace msc::gym {

/// A layer with weights, before and after pruning.
struct PrunedLayer {
  std::string name;
  std::string group;  ///< empty if it cannot be pruned
  std::string fixed_because;
  std::int64_t channels = 0;
  std::int64_t channels_kept = 0;
  double macs = 0;
  double macs_kept = 0;
  std::optional<double> score_kept;  ///< fraction of the group's scores that is kept
  std::optional<ReconstructedLayer> reconstructed;
};

/// Results of `mscgym prune`.
struct PruneReport {
  std::string model;
  /// Score method; "plan" for a replayed plan, "rules" if rules decided, or "none".
  std::string score;
  std::vector<PrunedLayer> layers;
  /// Why multiply-adds are not counted: sizes that the model leaves open. Those of layers and of
  /// the whole are then meaningless. Empty if they are counted.
  std::string open_sizes;
  double macs = 0;
  double macs_kept = 0;
  double bytes = 0;
  double bytes_kept = 0;
  std::string sparsity;               ///< as given on the command line, or empty
  std::vector<TimedPrunePlan> tried;  ///< for a latency budget
  Summary summary;
};

void PrintPruneTable(const PruneReport& report);
void PrintPruneJson(const PruneReport& report);

}  // namespace msc::gym
