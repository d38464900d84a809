#include "gym/search/settle_target.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/pipeline/choose_target.h"
#include "compiler/targets/spec.h"
#include "envs/quantize/quantize_config.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

/// Returns the config of the run that is resumed; nothing if there is none.
std::optional<SearchConfig> ConfigBefore(const RunPaths* resumed) {
  const std::string before = resumed == nullptr ? "" : resumed->At("config.json");
  if (before.empty() || !std::filesystem::exists(before)) return std::nullopt;
  return FromJsonText<SearchConfig>(ReadFile(before), "'config.json'");
}

}  // namespace

void SettleTarget(const RunPaths* resumed, SearchListener& listener, SearchConfig& config) {
  if (config.target != kAutoTarget) return;
  const std::optional<SearchConfig> before = ConfigBefore(resumed);
  config.target = before ? before->target : ChooseTarget(MakeTargets());
  listener.AddNote("target: " + config.target + " (auto)");
}

void SettleBits(const RunPaths* resumed, SearchConfig& config) {
  std::vector<std::int64_t>& bits = config.section<envs::QuantizeConfig>().bits;
  if (!bits.empty()) return;
  if (const std::optional<SearchConfig> before = ConfigBefore(resumed)) {
    bits = before->section<envs::QuantizeConfig>().bits;
    if (!bits.empty()) return;
  }
  try {
    bits = {MakeTargets().Get(config.target).facts().weight_bits};
  } catch (const UserError&) {
    return;
  }
}

void SettleBatch(SearchConfig& config) {
  constexpr std::int64_t kUsual = 50;
  if (config.quality.batch != 0) return;
  // By the name alone: whether there is such a target is checked where the search is loaded.
  config.quality.batch = ParseTargetSpec(config.target).name == "native" ? 1 : kUsual;
}

}  // namespace msc::gym
