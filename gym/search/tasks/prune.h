#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/within.h"
#include "gym/search/task.h"

namespace msc::envs {
struct ChannelContext;
}  // namespace msc::envs

namespace msc::gym {

/// Settings for candidates that prune channels.
struct PruneConfig {
  static constexpr std::string_view kSection = "prune";
  static constexpr std::string_view kSectionHelp = "how channels are pruned";
  std::string score = "auto";
  std::int64_t align = 8;
  std::vector<double> densities = {0.875, 0.75, 0.625, 0.5, 0.25};
  std::int64_t first_groups = 0;
  bool reconstruct = true;
  double ridge = 1e-3;
  std::int64_t positions = 16;
  static void Fields(auto& self, auto& visit) {
    visit("score", self.score,
          "score that chooses which channels stay: a norm or distance of weights (l1, l2, fpgm), "
          "random, or the error on the calibration samples (energy, obs, and taylor, which uses "
          "gradients); auto: obs, for models of wide layers energy, and l2 without samples",
          Within::OneOf({"auto", "l1", "l2", "fpgm", "random", "energy", "obs", "taylor"}));
    visit("align", self.align,
          "layers keep a multiple of this number of channels; 0 = the search chooses 8, 16 or 1",
          Within{0, 4096});
    visit("densities", self.densities,
          "shares of a group's channels that may stay, besides all of them; shares that leave the "
          "same number of channels are one choice",
          Within{1e-3, 1});
    visit("first_groups", self.first_groups,
          "number of channel groups to decide, in the order of the network; later groups keep all "
          "channels; 0 = all",
          Within{0, 1e6});
    visit("reconstruct", self.reconstruct,
          "refit the weights of every candidate to the calibration samples");
    visit("ridge", self.ridge,
          "strength with which the fit holds weights near their original values",
          Within{1e-9, 1e9});
    visit("positions", self.positions, "output positions per sample that the fit uses",
          Within{1, 1e6});
  }
};

/// Returns the decisions about channels that the config asks for, with scores of the channels.
[[nodiscard]] envs::ChannelContext PrepareChannels(const Preparation& preparation);

/// Searches for the channels of every group (envs/prune).
class PruneTask final : public SearchTask {
 public:
  using Section = PruneConfig;
  PruneTask();
  [[nodiscard]] std::optional<FitOptions> FitOf(const SearchConfig& config) const override;
  [[nodiscard]] ProblemFactory Prepare(const Preparation& preparation) const override;
  void AddFindings(const Graph& graph, const Strategy& best, Findings& findings) const override;
  void AddToReport(const SearchSetup& setup, const Findings& findings, const RunPaths& paths,
                   ReportInput& input) const override;
};

}  // namespace msc::gym
