#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/base/within.h"

namespace msc::envs {

/// Options of recipes for training candidates after the uncompressed model. A recipe takes one
/// value from each list; a list with one value makes no decision. Without epochs nothing is
/// trained.
struct RecipeConfig {
  std::vector<std::int64_t> epochs = {};  ///< besides 0
  std::vector<double> rate = {1e-3};
  std::vector<double> temperature = {4};
  std::vector<double> lp = {0};
  std::vector<std::string> schedule = {"cosine"};
  std::int64_t batch = 32;  ///< samples per step, for all recipes
  bool operator==(const RecipeConfig&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("epochs", self.epochs,
          "numbers of epochs to choose from, besides 0, for training a candidate on the "
          "calibration samples to imitate the uncompressed model; empty = no training",
          Within{0, 100000});
    visit("rate", self.rate, "learning rates to choose from", Within{0, 1e6});
    visit("temperature", self.temperature, "temperatures of the outputs to choose from",
          Within{1e-3, 1e3});
    visit("lp", self.lp, "weights of the squared distance of outputs to choose from",
          Within{0, 1e9});
    visit("schedule", self.schedule, "schedules of the learning rate to choose from",
          Within::OneOf({"constant", "cosine"}));
    visit("batch", self.batch, "samples per training step", Within{1, 65536});
  }
};

}  // namespace msc::envs
