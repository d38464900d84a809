#include "gym/search/tasks/prune.h"

#include "envs/prune/prune_env.h"
#include "gym/report/report.h"
#include "gym/search/calibration.h"
#include "gym/search/config.h"
#include "gym/search/findings.h"
#include "gym/search/layers.h"
#include "gym/search/prepare.h"

namespace msc::gym {

PruneTask::PruneTask()
    : SearchTask(
          {.id = "Prune-v0",
           .summary = "channels to keep of every group of channels that belong together; measured",
           .nondeterministic = true},
          "prune") {}

envs::ChannelContext PrepareChannels(const Preparation& preparation) {
  const auto& prune = preparation.config.section<PruneConfig>();
  return {.unit_scores = ScoreUnits(preparation),
          .align = prune.align,
          .densities = prune.densities,
          .first_groups = prune.first_groups};
}

std::optional<FitOptions> PruneTask::FitOf(const SearchConfig& config) const {
  return FitOptionsOf(config);
}

ProblemFactory PruneTask::Prepare(const Preparation& preparation) const {
  // Precisions are not decided, but the run directory and the report say what is supported.
  const CalibratedScales calibrated = Calibrate(preparation);
  preparation.prepared.unsupported = FindUnsupported(preparation, calibrated.scales, {}).own;
  return [channels = PrepareChannels(preparation)](const envs::ModelContext& model) {
    return envs::MakePruneProblem({model, channels});
  };
}

void PruneTask::AddFindings(const Graph& graph, const Strategy& best, Findings& findings) const {
  findings.kept = KeptShares(graph, best.prune);
}

void PruneTask::AddToReport(const SearchSetup& /*setup*/, const Findings& /*findings*/,
                            const RunPaths& /*paths*/, ReportInput& input) const {
  input.sensitivity = "KL in nats with this group of channels alone cut to about half";
}

}  // namespace msc::gym
