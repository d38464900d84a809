#include "gym/search/settle_target.h"

#include <filesystem>

#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/pipeline/choose_target.h"
#include "gym/search/registries.h"

namespace msc::gym {

void SettleTarget(const RunPaths* resumed, SearchListener& listener, SearchConfig& config) {
  if (config.target != kAutoTarget) return;
  const std::string before = resumed == nullptr ? "" : resumed->At("config.json");
  if (!before.empty() && std::filesystem::exists(before)) {
    config.target = FromJsonText<SearchConfig>(ReadFile(before), "'config.json'").target;
  } else {
    config.target = ChooseTarget(MakeTargets());
  }
  listener.AddNote("target: " + config.target + " (auto)");
}

}  // namespace msc::gym
