#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/base/within.h"
#include "envs/distill/offer.h"

namespace msc::envs {

/// Options of a joint search: what it decides besides channels and precisions. By default nothing.
struct CompressOffer {
  /// Specs of targets besides the context's; if there is any, the target is a decision.
  std::vector<std::string> targets = {};
  /// Number of pieces of the model, each on one target; 0 = each layer is a piece.
  std::int64_t pieces = 1;
  std::int64_t schedules = 0;  ///< number of most expensive kernels to schedule
  RecipeOffer distill = {};
  bool operator==(const CompressOffer&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("targets", self.targets,
          "who may run the model, or pieces of it, beside `target`; none = `target` alone");
    visit("pieces", self.pieces,
          "runs of neighbouring layers of about equal work, each with a target of its own; 1 = all "
          "of the model on one, 0 = a target for every layer",
          Within{0, 1e6});
    visit("schedules", self.schedules,
          "of so many kernels, those with most work, it is decided how they are written, where "
          "their target can (`schedule.choices` in number); a layer that cannot be written so once "
          "it is compressed is written as by default",
          Within{0, 1e6});
    visit("distill", self.distill, "recipes by which candidates may be trained");
  }
};

}  // namespace msc::envs
