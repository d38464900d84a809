#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/base/within.h"
#include "gym/search/task.h"

namespace msc::gym {

/// The student of the env distill.
struct DistillConfig {
  static constexpr std::string_view kSection = "distill";
  static constexpr std::string_view kSectionHelp = "training of a compressed model";
  std::int64_t weight_bits = 0;
  std::optional<std::int64_t> samples;
  std::int64_t batch = 128;
  static void Fields(auto& self, auto& visit) {
    visit(
        "weight_bits", self.weight_bits,
        "2 to 8 = all layers in int8, with weights of this many bits; 0 = precisions of `strategy`",
        Within{0, 8});
    visit("samples", self.samples,
          "number of calibration samples to train on; null = 2560, or all if there are fewer",
          Within{1, 1e7});
    visit("batch", self.batch, "samples per training step", Within{1, 65536});
  }
  /// Returns the maximal number of training samples.
  [[nodiscard]] std::int64_t most() const { return samples.value_or(2560); }
};

/// Searches for the recipe of a training (envs/distill).
class DistillTask final : public SearchTask {
 public:
  using Section = DistillConfig;
  DistillTask();
  [[nodiscard]] bool measured() const override { return false; }
  void SetDefaults(SearchConfig& config) const override;
  [[nodiscard]] ProblemFactory Prepare(const Preparation& preparation) const override;
  [[nodiscard]] Objective ForReward(const Objective& objective) const override;
  [[nodiscard]] SearchOutcome Run(const SearchConfig& config, const SearchOptions& options,
                                  const SearchHost& host) const override;
  void AddToReport(const SearchSetup& setup, const Findings& findings, const RunPaths& paths,
                   ReportInput& input) const override;
};

}  // namespace msc::gym
