#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/pipeline/prune.h"
#include "cost/model/outcome.h"

namespace msc::gym {

/// One layer with weights, before and after.
struct PrunedLayer {
  std::string name;
  std::string group;  ///< empty where it cannot be pruned
  std::string fixed_because;
  std::int64_t channels = 0;
  std::int64_t channels_kept = 0;
  double macs = 0;
  double macs_kept = 0;
  std::optional<double> score_kept;  ///< share of the group's scores that stays
  std::optional<ReconstructedLayer> reconstructed;
};

/// All that `mscgym prune` has to say.
struct PruneReport {
  std::string model;
  std::string score;  ///< "plan" where one was replayed, "rules" where these decided, or "none"
  std::vector<PrunedLayer> layers;
  double macs = 0;
  double macs_kept = 0;
  double bytes = 0;
  double bytes_kept = 0;
  std::optional<cost::Quality> quality;  ///< where samples to test on were given
  std::string sparsity;                  ///< as it was asked for; empty where it was not
  std::vector<TimedPlan> tried;          ///< for a latency budget
  std::string target;                    ///< that was timed
  std::optional<cost::Latency> latency;  ///< of the pruned model against the whole one
};

void PrintPruneTable(const PruneReport& report);
void PrintPruneJson(const PruneReport& report);

}  // namespace msc::gym
