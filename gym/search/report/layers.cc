#include "gym/search/report/layers.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "compiler/strategy/strategy.h"
#include "envs/quantize/quantize_config.h"
#include "gym/search/report/layer_time.h"

namespace msc::gym {
namespace {

/// Returns the target of a node.
std::string RunnerOf(const Strategy& strategy, const std::string& node) {
  for (const PartitionRegion& region : strategy.partition) {
    if (std::find(region.nodes.begin(), region.nodes.end(), node) != region.nodes.end()) {
      return region.target;
    }
  }
  return strategy.target;
}

/// Returns "range by mse, rounded by gptq": decisions on an int8 layer besides its precision.
std::string HowQuantized(const QuantizePlan& plan, const std::string& layer) {
  const auto precision = plan.layers.find(layer);
  if (precision == plan.layers.end() || precision->second != Precision::kInt8) return "";
  std::string text;
  if (const auto range = plan.ranges.find(layer); range != plan.ranges.end()) {
    text = "range by " + range->second;
  }
  if (plan.rounding.empty()) return text;
  return text + (text.empty() ? "rounded by " : ", rounded by ") + plan.rounding;
}

}  // namespace

std::vector<ReportLayer> MakeLayers(const SearchRun& run) {
  std::vector<ReportLayer> layers;
  const std::map<std::string, double>& kept = run.findings.kept;
  for (const LayerEntry& layer : run.setup.layers) {
    ReportLayer row{.name = layer.name,
                    .op = layer.op,
                    .shape = layer.shape,
                    .latency_share = TimeOf(run.findings.profiles, 0, layer.name).share,
                    .achieved = TimeOf(run.findings.profiles, 1, layer.name).precision};
    if (run.findings.best) {
      const Strategy& strategy = run.findings.finalists.at(*run.findings.best).strategy;
      const auto& chosen = strategy.quantize.layers;
      const auto it = chosen.find(layer.name);
      const Precision precision = it == chosen.end() ? Precision::kF32 : it->second;
      row.chosen = Name(precision);
      row.how = HowQuantized(strategy.quantize, layer.name);
      const auto grid = strategy.quantize.weights.find(layer.name);
      if (precision == Precision::kInt8 && grid != strategy.quantize.weights.end()) {
        row.chosen = envs::Int8Word(grid->second.bits);
      }
      if (!run.task->OtherTargets(run.setup.config).empty()) {
        row.how = "on " + RunnerOf(strategy, layer.name) + (row.how.empty() ? "" : ", ") + row.how;
      }
    }
    if (const auto share = kept.find(layer.name); share != kept.end()) row.kept = share->second;
    for (const LayerSensitivity& sensitivity : run.findings.sensitivities) {
      if (sensitivity.layer == layer.name && sensitivity.failure.empty()) {
        row.sensitivity = LossOf(run, sensitivity);
      }
    }
    row.before_ms = TimeOf(run.findings.profiles, 0, layer.name).ms;
    row.after_ms = TimeOf(run.findings.profiles, 1, layer.name).ms;
    layers.push_back(std::move(row));
  }
  return layers;
}

std::vector<ReportStep> MakeSteps(std::span<const cost::Profile> profiles, std::size_t index) {
  std::vector<ReportStep> steps;
  if (index >= profiles.size()) return steps;
  for (const cost::StepProfile& profile : profiles[index].steps) {
    ReportStep& step = steps.emplace_back();
    step.name = profile.name;
    step.target = profile.target;
    step.precision = profile.precision;
    for (const std::string& node : profile.nodes) {
      step.nodes += (step.nodes.empty() ? "" : ", ") + node;
    }
    step.ms = profile.median_ns * 1e-6;
  }
  return steps;
}

}  // namespace msc::gym
