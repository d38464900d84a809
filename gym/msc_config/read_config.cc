#include "gym/msc_config/read_config.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "gym/msc_config/msc_config.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

/// Returns all target names of this build, including those that this machine cannot run.
std::vector<std::string> TargetNames() {
  std::vector<std::string> names;
  const TargetRegistry targets = MakeTargets();
  for (const auto& [name, kind] : targets.kinds()) names.push_back(name);
  for (const auto& [name, why] : targets.absent()) names.push_back(name);
  return names;
}

std::optional<MscConfig> Translated(std::string_view text, const std::string& what) {
  try {
    return TranslateMscConfig(text, TargetNames());
  } catch (const UserError& error) {
    throw UserError(what + ": " + error.what());
  }
}

}  // namespace

ReadConfig ParseConfig(std::string_view text, const std::string& folder, const std::string& what) {
  std::optional<MscConfig> translated = Translated(text, what);
  if (!translated) {
    return {.config = ParseSearchConfig(text, folder, what)};
  }
  return {.config = ParseSearchConfig(translated->text, folder, what),
          .notes = std::move(translated->notes),
          .files = std::move(translated->files)};
}

ReadConfig ReadConfigFile(const std::string& path) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{16} << 20U;
  return ParseConfig(ReadFile(path, kMaxBytes), std::filesystem::path(path).parent_path().string(),
                     "'" + path + "'");
}

}  // namespace msc::gym
