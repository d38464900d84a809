#include "gym/app/search_config.h"

#include <filesystem>
#include <optional>
#include <string_view>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "gym/app/msc_config.h"
#include "gym/app/registries.h"
#include "gym/study/study.h"

namespace msc::gym {
namespace {

void Resolve(const std::filesystem::path& folder, std::string& path) {
  // Value of DataConfig's labels that is not a file.
  constexpr std::string_view kNoFile = "folders";
  if (!path.empty() && path != kNoFile && std::filesystem::path(path).is_relative()) {
    path = std::filesystem::absolute(folder / path).lexically_normal().string();
  }
}

/// Returns all target names of this build, including those that this machine cannot run.
std::vector<std::string> TargetNames() {
  std::vector<std::string> names;
  const TargetRegistry targets = MakeTargets();
  for (const auto& [name, kind] : targets.kinds()) names.push_back(name);
  for (const auto& [name, why] : targets.absent()) names.push_back(name);
  return names;
}

}  // namespace

SearchConfig ParseSearchConfig(std::string_view text, const std::string& folder,
                               const std::string& what, std::vector<std::string>* notes,
                               MscFiles* files) {
  SearchConfig config;
  try {
    std::optional<MscConfig> translated = TranslateMscConfig(text, TargetNames());
    if (translated && notes != nullptr) *notes = std::move(translated->notes);
    if (translated && files != nullptr) *files = std::move(translated->files);
    config = FromJsonText<SearchConfig>(translated ? translated->text : text, "the config");
    if (!config.objective.minimize.empty()) CheckObjective(ToObjective(config.objective));
  } catch (const UserError& error) {
    throw UserError(what + ": " + error.what());
  }
  if (config.model.empty()) throw UserError(what + ": 'model' is missing");
  if (config.objective.minimize.empty()) {
    throw UserError(what + ": 'objective.minimize' must name a metric, such as latency");
  }
  for (std::string* file : {&config.model, &config.strategy, &config.from, &config.partition.rules,
                            &config.calibration.data.images, &config.calibration.data.labels,
                            &config.quality.data.images, &config.quality.data.labels}) {
    Resolve(folder, *file);
  }
  return config;
}

SearchConfig LoadSearchConfig(const std::string& path, std::vector<std::string>* notes,
                              MscFiles* files) {
  return ParseSearchConfig(ReadFile(path, std::uint64_t{16} << 20U),
                           std::filesystem::path(path).parent_path().string(), "'" + path + "'",
                           notes, files);
}

std::string ToJson(const SearchConfig& config) {
  return ToJsonText(config, 2) + "\n";
}

std::string EnvId(const std::string& name) {
  if (name == "quantize") return "Quantize-v0";
  if (name == "prune") return "Prune-v0";
  if (name == "compress") return "Compress-v0";
  if (name == "partition") return "Partition-v0";
  if (name == "schedule") return "Schedule-v0";
  if (name == "distill") return "Distill-v0";
  return name;
}

Objective ToObjective(const ObjectiveConfig& config) {
  Objective objective{.minimize = config.minimize, .subject_to = {}};
  for (const auto& [metric, limit] : config.subject_to) {
    objective.subject_to.push_back({.metric = metric, .limit = limit});
  }
  return objective;
}

StopRules ToStopRules(const StopConfig& config) {
  StopRules rules{.plateau = config.plateau, .goal = {}};
  for (const auto& [metric, limit] : config.goal) {
    rules.goal.push_back({.metric = metric, .limit = limit});
  }
  return rules;
}

}  // namespace msc::gym
