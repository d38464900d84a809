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
          "score that chooses which channels stay: a norm or distance of weights (l1, l2, fpgm), "
          "random, or the error on the calibration samples (energy, obs, and taylor, which uses "
          "gradients)",
          Within::OneOf({"l1", "l2", "fpgm", "random", "energy", "obs", "taylor"}));
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

/// Settings for a search of schedules.
struct ScheduleConfig {
  std::int64_t choices = 16;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("choices", self.choices,
          "number of schedules to choose from for each kernel, the most promising first",
          Within{2, 10000});
  }
};

/// The student of the env distill.
struct DistillConfig {
  std::int64_t weight_bits = 0;
  std::optional<std::int64_t> samples;
  std::int64_t batch = 128;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
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

}  // namespace msc::gym
