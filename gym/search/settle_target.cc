#include "gym/search/settle_target.h"

#include <cstdint>
#include <filesystem>

#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/pipeline/choose_target.h"
#include "compiler/targets/spec.h"
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

void SettleBatch(SearchConfig& config) {
  constexpr std::int64_t kUsual = 50;
  if (config.quality.batch != 0) return;
  // By the name alone: whether there is such a target is checked where the search is loaded.
  config.quality.batch = ParseTargetSpec(config.target).name == "native" ? 1 : kUsual;
}

}  // namespace msc::gym
