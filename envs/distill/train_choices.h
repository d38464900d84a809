#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/strategy/strategy.h"
#include "envs/distill/recipe_choices.h"
#include "envs/register.h"
#include "gym/core/problem.h"

namespace msc::envs {

/// Whether and how candidates are trained after the whole model, for all who decide that beside
/// their compression: "distill epochs", 0 of them first, then of the offer's other lists what has
/// several choices. Where no epochs are offered there is no decision.
class TrainChoices {
 public:
  /// UserError where the context's offer has epochs and there are no calibration samples, or a list
  /// has a thing twice or nothing.
  explicit TrainChoices(const EnvContext& context);

  [[nodiscard]] const std::vector<gym::Decision>& decisions() const { return recipe_.decisions(); }
  /// Whether choices beside those for the number of epochs mean nothing where that is 0.
  [[nodiscard]] bool Masks() const { return decisions().size() > 1; }
  /// Rules out all but the first choice of decision `index` where there are no epochs.
  void Mask(std::size_t index, std::int32_t epochs, std::vector<bool>& mask) const;
  /// Has the strategy trained as is chosen. Nothing where it neither prunes nor has integers: the
  /// student would be the teacher.
  void Train(std::span<const std::int32_t> choices, Strategy& strategy) const;
  /// What the choices mean besides the model and themselves.
  [[nodiscard]] std::string Meaning() const;

 private:
  [[nodiscard]] TrainPlan PlanOf(std::span<const std::int32_t> choices) const;

  RecipeChoices recipe_;
  std::int64_t batch_;
  std::string samples_;
};

}  // namespace msc::envs
