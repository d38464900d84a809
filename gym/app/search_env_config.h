#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/within.h"

namespace msc::gym {

// Sections of a search's config that belong to one env each. Sections that envs/ takes as they are
// (envs::QuantizeOffer, envs::CompressOffer) are defined there.

/// Settings for candidates that prune channels.
struct PruneConfig {
  std::string score = "l2";
  std::int64_t align = 8;
  std::vector<double> densities = {0.875, 0.75, 0.625, 0.5, 0.25};
  std::int64_t first_groups = 0;
  bool reconstruct = true;
  double ridge = 1e-3;
  std::int64_t positions = 16;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("score", self.score,
          "which channels stay: weights' norms, or errors on the calibration samples (energy, obs, "
          "and with gradients taylor)",
          Within::OneOf({"l1", "l2", "fpgm", "random", "energy", "obs", "taylor"}));
    visit("align", self.align,
          "layers keep multiples of so many channels; 0 = 8, 16 or 1, a decision of the search",
          Within{0, 4096});
    visit(
        "densities", self.densities,
        "shares of a group's channels that may stay, beside all; those that leave as many are one "
        "choice",
        Within{1e-3, 1});
    visit("first_groups", self.first_groups,
          "so many groups of channels are decided, the first in the order of the network; those "
          "behind stay whole; 0 = all",
          Within{0, 1e6});
    visit("reconstruct", self.reconstruct,
          "refit every candidate's weights to the calibration samples");
    visit("ridge", self.ridge, "how firmly the fit holds on to the weights", Within{1e-9, 1e9});
    visit("positions", self.positions, "output positions a sample that the fit looks at",
          Within{1, 1e6});
  }
};

/// Settings for searches that assign parts of the model to targets.
struct PartitionConfig {
  std::vector<std::string> targets = {"onednn", "native", "xnnpack", "blas"};
  std::string images = "both";
  std::string rules;
  std::map<std::string, std::string> pin;
  bool learned = false;
  std::vector<double> prices = {1, 3, 10, 30, 100, 1000, 1e6};
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("targets", self.targets, "with their options, as in `mscgym partition --targets`");
    visit("learned", self.learned,
          "leave out regions that another target is likely to compute faster, by what regions of "
          "other models took");
    visit("images", self.images, "how regions exchange images: as in `mscgym partition --images`",
          Within::OneOf({"dense", "both"}));
    visit(
        "rules", self.rules,
        "file of rules whose sub-graphs are tried, too, as `mscgym partition --rules`; relative to "
        "the config file");
    visit("pin", self.pin, "who must compute a node: target by node name");
    visit("prices", self.prices,
          "microseconds that a boundary between regions may be taken to cost, beside 0: the search "
          "decides, as sums of regions do not tell",
          Within{0, 1e9});
  }
};

/// Settings for a search of schedules.
struct ScheduleConfig {
  std::int64_t choices = 16;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("choices", self.choices, "schedules of a kernel, the likeliest first", Within{2, 10000});
  }
};

/// The student of the env distill.
struct DistillConfig {
  std::int64_t weight_bits = 0;
  std::optional<std::int64_t> samples;
  std::int64_t batch = 128;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("weight_bits", self.weight_bits,
          "2 to 8: every layer in integers, with weights of so many bits; 0: as `strategy` says",
          Within{0, 8});
    visit("samples", self.samples,
          "calibration samples that it learns from; null = 2560, or all where there are fewer",
          Within{1, 1e7});
    visit("batch", self.batch, "samples a step of training", Within{1, 65536});
  }
  /// Returns the maximal number of training samples.
  [[nodiscard]] std::int64_t most() const { return samples.value_or(2560); }
};

}  // namespace msc::gym
