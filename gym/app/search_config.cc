#include "gym/app/search_config.h"

#include <filesystem>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"

namespace msc::gym {
namespace {

void Resolve(const std::filesystem::path& folder, std::string& path) {
  if (!path.empty() && std::filesystem::path(path).is_relative()) {
    path = std::filesystem::absolute(folder / path).lexically_normal().string();
  }
}

}  // namespace

SearchConfig LoadSearchConfig(const std::string& path) {
  const std::string text = ReadFile(path, std::uint64_t{16} << 20U);
  SearchConfig config;
  try {
    config = FromJsonText<SearchConfig>(text, "the config");
  } catch (const UserError& error) {
    throw UserError("'" + path + "': " + error.what());
  }
  if (config.model.empty()) throw UserError("'" + path + "': 'model' is missing");
  if (config.objective.minimize.empty()) {
    throw UserError("'" + path + "': 'objective.minimize' must name a metric, such as latency");
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (std::string* file :
       {&config.model, &config.calibration.data.images, &config.calibration.data.labels,
        &config.quality.data.images, &config.quality.data.labels}) {
    Resolve(folder, *file);
  }
  return config;
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
  return name;
}

Objective ToObjective(const ObjectiveConfig& config) {
  Objective objective{.minimize = config.minimize, .subject_to = {}};
  for (const auto& [metric, limit] : config.subject_to) {
    objective.subject_to.push_back({.metric = metric, .limit = limit});
  }
  return objective;
}

}  // namespace msc::gym
