#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/within.h"
#include "envs/distill/recipe_config.h"

namespace msc::envs {

/// Options of a joint search: what it decides besides channels and precisions. By default nothing.
struct CompressConfig {
  static constexpr std::string_view kSection = "compress";
  static constexpr std::string_view kSectionHelp =
      "decisions of the env compress besides channels and precisions";
  /// Specs of targets besides the context's; if there is any, the target is a decision.
  std::vector<std::string> targets = {};
  /// Number of pieces of the model, each on one target; 0 = each layer is a piece.
  std::int64_t pieces = 1;
  std::int64_t schedules = 0;  ///< number of most expensive kernels to schedule
  RecipeConfig distill = {};
  /// Largest part of the trials' time in which the best are trained; 0 = every trial decides.
  double train_share = 0;
  bool operator==(const CompressConfig&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit(
        "targets", self.targets,
        "targets that may run the model, or pieces of it, besides `target`; empty = only `target`");
    visit("pieces", self.pieces,
          "number of pieces of the model, each with its own target; a piece is a run of "
          "neighbouring layers, and all have about equal work; 1 = one target for the whole model, "
          "0 = one for every layer",
          Within{0, 1e6});
    visit("schedules", self.schedules,
          "number of kernels, those with the most work, whose schedules the search decides if "
          "their target supports it (`schedule.choices` for each); a compressed layer for which "
          "the chosen schedule is impossible gets the default",
          Within{0, 1e6});
    visit("distill", self.distill, "training recipes to choose from");
    visit("train_share", self.train_share,
          "largest part of the trials' time for training: the search then trains only trials that "
          "may become the best, by the first choices of `distill` with the most epochs; 0 = "
          "training is decided for every trial, like all else",
          Within{0, 0.9});
  }
};

}  // namespace msc::envs
