#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/strategy/strategy.h"
#include "envs/distill/recipe_choices.h"
#include "envs/distill/recipe_config.h"
#include "gym/core/problem.h"

namespace msc::envs {

/// The decisions whether and how candidates are trained after the uncompressed model, for envs that
/// also decide their compression: "distill epochs", with 0 as the first choice, then each other
/// setting of the RecipeConfig with several values. There are no decisions if the config has no
/// epochs.
class TrainChoices {
 public:
  /// `samples` is the hash of the calibration samples to train on; empty = there are none. Throws
  /// UserError if the config has epochs but there are no samples, or a list is empty or has a value
  /// twice.
  TrainChoices(const RecipeConfig& config, std::string samples);

  [[nodiscard]] const std::vector<gym::Decision>& decisions() const { return recipe_.decisions(); }
  /// Returns whether other decisions exist that are meaningless with 0 epochs.
  [[nodiscard]] bool Masks() const { return decisions().size() > 1; }
  /// Masks all but the first choice of decision `index` > 0 if `epochs`, the choice of the epochs
  /// decision, is 0.
  void Mask(std::size_t index, std::int32_t epochs, std::vector<bool>& mask) const;
  /// Adds the training to the strategy as chosen. Does nothing if the strategy neither prunes nor
  /// has int8 layers: the student would be the teacher.
  void Train(std::span<const std::int32_t> choices, Strategy& strategy) const;
  /// Returns text for the hash: what the meaning of choices depends on besides the model and
  /// themselves.
  [[nodiscard]] std::string Meaning() const;

 private:
  [[nodiscard]] TrainPlan PlanOf(std::span<const std::int32_t> choices) const;

  RecipeChoices recipe_;
  std::int64_t batch_;
  std::string samples_;
};

}  // namespace msc::envs
