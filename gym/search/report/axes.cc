#include "gym/search/report/axes.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "cost/model/loss.h"
#include "envs/common/evaluation.h"
#include "envs/distill/distill_env.h"
#include "gym/search/losses.h"

namespace msc::gym {
namespace {

/// Sets the unit of a byte count to suit the size of the model.
void TellBytes(double model_bytes, ReportAxis& axis) {
  const bool large = model_bytes >= 1e6;
  axis.scale = large ? 1e6 : 1e3;
  axis.unit = large ? "MB" : "kB";
}

}  // namespace

ReportAxis AxisOf(const std::string& metric, const SearchSetup& setup) {
  ReportAxis axis{.metric = metric, .title = metric};
  const auto model_bytes = static_cast<double>(setup.weight_bytes);
  if (metric == envs::kLatency) {
    axis.title = "latency relative to the uncompressed model";
    axis.baseline = 1;
    axis.inverse = "speed";
  } else if (metric == envs::kEnergy) {
    axis.title = "energy relative to the uncompressed model";
    axis.baseline = 1;
    axis.inverse = "less energy";
  } else if (metric == envs::kLatencyMs) {
    axis.title = "latency";
    axis.unit = "ms";
  } else if (IsLoss(setup.config, metric)) {
    const cost::LossInfo* loss = cost::FindLoss(metric);
    axis.title = loss == nullptr ? "loss of " + metric : cost::TitleOf(metric);
    axis.unit = loss == nullptr ? "" : loss->unit;
    axis.baseline = 0;
  } else if (metric == envs::kWeightBytes) {
    axis.title = "weights";
    TellBytes(model_bytes, axis);
    axis.baseline = model_bytes / axis.scale;
  } else if (metric == envs::kPeakBytes) {
    axis.title = "memory for activations";
    TellBytes(model_bytes, axis);
  } else if (metric == envs::kTrainSteps) {
    axis.title = "training steps";
    axis.counts = true;
  }
  const auto& limits = setup.config.objective.subject_to;
  const auto limit = limits.find(metric);
  if (limit != limits.end()) axis.limit = limit->second / axis.scale;
  return axis;
}

void TellAxes(const SearchSetup& setup, ReportInput& input) {
  const ObjectiveConfig& objective = setup.config.objective;
  std::vector<std::string> metrics;
  const auto add = [&](std::string_view metric) {
    if (std::find(metrics.begin(), metrics.end(), metric) == metrics.end()) {
      metrics.emplace_back(metric);
    }
  };
  for (const std::string& metric : objective.minimize) add(metric);
  for (const auto& [metric, limit] : objective.subject_to) add(metric);
  if (metrics.size() == 1) add(cost::kDistillLoss);
  add(envs::kLatency);
  const bool energy =
      std::any_of(input.study.trials.begin(), input.study.trials.end(), [](const Trial& trial) {
        return trial.evaluation.metrics.contains(std::string(envs::kEnergy));
      });
  if (energy) add(envs::kEnergy);
  input.latency = AxisOf(metrics[0], setup);
  input.quality = AxisOf(metrics[1], setup);
  for (std::size_t i = 2; i < metrics.size(); ++i) {
    input.others.push_back(AxisOf(metrics[i], setup));
  }
}

}  // namespace msc::gym
