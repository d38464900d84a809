#include "gym/search/settle_target.h"

#include <cstdint>
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

void SettleBatch(SearchConfig& config) {
  constexpr std::int64_t kUsual = 50;
  if (config.quality.batch != 0) return;
  config.quality.batch = MakeTargets().Get(config.target).facts().name == "native" ? 1 : kUsual;
}

}  // namespace msc::gym
