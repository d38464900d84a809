#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/within.h"
#include "gym/search/task.h"

namespace msc::gym {

/// Settings for searches that assign parts of the model to targets.
struct PartitionConfig {
  static constexpr std::string_view kSection = "partition";
  static constexpr std::string_view kSectionHelp =
      "targets that may run parts of the model, and their costs";
  std::vector<std::string> targets = {"onednn", "native", "xnnpack", "blas"};
  std::string images = "both";
  std::string rules;
  std::map<std::string, std::string> pin;
  bool learned = false;
  std::vector<double> prices = {1, 3, 10, 30, 100, 1000, 1e6};
  static void Fields(auto& self, auto& visit) {
    visit("targets", self.targets,
          "targets with their options, as in `mscgym partition --targets`");
    visit("learned", self.learned,
          "skip measuring regions that another target probably computes faster, according to "
          "measured regions of other models");
    visit("images", self.images, "how regions exchange images, as in `mscgym partition --images`",
          Within::OneOf({"dense", "both"}));
    visit("rules", self.rules,
          "file of rules that propose additional regions, as in `mscgym partition --rules`; "
          "relative to the config file");
    visit("pin", self.pin, "target that must run a node, by node name");
    visit("prices", self.prices,
          "costs of a boundary between regions, in microseconds and besides 0, among which the "
          "search chooses; costs of regions do not contain boundaries",
          Within{0, 1e9});
  }
};

/// Searches for the target of every node (envs/partition).
class PartitionTask final : public SearchTask {
 public:
  using Section = PartitionConfig;
  PartitionTask();
  [[nodiscard]] std::vector<std::string> OtherTargets(const SearchConfig& config) const override;
  void ClearDecided(Strategy& start) const override;
  [[nodiscard]] bool starts_uncompressed() const override { return false; }
  [[nodiscard]] ProblemFactory Prepare(const Preparation& preparation) const override;
};

}  // namespace msc::gym
