#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/base/within.h"
#include "gym/search/task.h"

namespace msc::gym {

/// Settings for a search of schedules.
struct ScheduleConfig {
  static constexpr std::string_view kSection = "schedule";
  static constexpr std::string_view kSectionHelp = "how kernels are written";
  std::int64_t choices = 16;
  static void Fields(auto& self, auto& visit) {
    visit("choices", self.choices,
          "number of schedules to choose from for each kernel, the most promising first",
          Within{2, 10000});
  }
};

/// Searches for the schedules of kernels (envs/schedule).
class ScheduleTask final : public SearchTask {
 public:
  using Section = ScheduleConfig;
  ScheduleTask();
  void ClearDecided(Strategy& start) const override;
  [[nodiscard]] ProblemFactory Prepare(const Preparation& preparation) const override;
};

}  // namespace msc::gym
