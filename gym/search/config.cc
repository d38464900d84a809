#include "gym/search/config.h"

#include <filesystem>
#include <string_view>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "gym/study/study.h"

namespace msc::gym {
namespace {

void Resolve(const std::filesystem::path& folder, std::string& path) {
  if (!path.empty() && path != cost::kLabelFolders && std::filesystem::path(path).is_relative()) {
    path = std::filesystem::absolute(folder / path).lexically_normal().string();
  }
}

}  // namespace

SearchConfig ParseSearchConfig(std::string_view text, const std::string& folder,
                               const std::string& what) {
  SearchConfig config;
  try {
    config = FromJsonText<SearchConfig>(text, "the config");
    if (!config.objective.minimize.empty()) CheckObjective(ToObjective(config.objective));
  } catch (const UserError& error) {
    throw UserError(what + ": " + error.what());
  }
  if (config.model.empty()) throw UserError(what + ": 'model' is missing");
  if (config.objective.minimize.empty()) {
    throw UserError(what + ": 'objective.minimize' must name a metric, such as latency");
  }
  for (std::string* file :
       {&config.model, &config.strategy, &config.from, &config.section<PartitionConfig>().rules,
        &config.calibration.data.images, &config.calibration.data.alphabet,
        &config.quality.data.images, &config.quality.data.alphabet}) {
    Resolve(folder, *file);
  }
  for (cost::DataConfig* data : {&config.calibration.data, &config.quality.data}) {
    for (auto& [output, file] : data->labels.files) Resolve(folder, file);
  }
  for (auto& [name, metric] : config.quality.metrics) cost::ResolveFiles(folder, metric);
  return config;
}

std::string ToJson(const SearchConfig& config) {
  return ToJsonText(config, 2) + "\n";
}

Objective ToObjective(const ObjectiveConfig& config) {
  Objective objective{.minimize = config.minimize};
  for (const auto& [metric, limit] : config.subject_to) {
    objective.subject_to.push_back({.metric = metric, .limit = limit});
  }
  return objective;
}

StopRules ToStopRules(const StopConfig& config) {
  StopRules rules{.plateau = config.plateau};
  for (const auto& [metric, limit] : config.goal) {
    rules.goal.push_back({.metric = metric, .limit = limit});
  }
  return rules;
}

}  // namespace msc::gym
