#include "envs/distill/train_choices.h"

#include <algorithm>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"

namespace msc::envs {
namespace {

template <class T>
const std::vector<T>& Listed(const std::vector<T>& list, const char* what) {
  if (list.empty()) throw UserError("'compress.distill." + std::string(what) + "' is empty");
  return list;
}

RecipeLists ListsOf(const RecipeConfig& config) {
  // No training is always a choice, and the first one: an assignment of first choices compresses
  // nothing.
  RecipeLists lists{.epochs = {0}};
  for (const std::int64_t epochs : config.epochs) {
    if (epochs != 0) lists.epochs.push_back(epochs);
  }
  if (lists.epochs.size() == 1) return lists;
  std::sort(lists.epochs.begin(), lists.epochs.end());
  lists.rate = Listed(config.rate, "rate");
  lists.temperature = Listed(config.temperature, "temperature");
  lists.lp = Listed(config.lp, "lp");
  lists.schedule = Listed(config.schedule, "schedule");
  return lists;
}

bool HasInt8(const Strategy& strategy) {
  const auto& layers = strategy.quantize.layers;
  return std::any_of(layers.begin(), layers.end(),
                     [](const auto& layer) { return layer.second == Precision::kInt8; });
}

}  // namespace

TrainChoices::TrainChoices(const RecipeConfig& config, std::string samples)
    : recipe_(ListsOf(config), RecipeWords::kNamed),
      batch_(config.batch),
      samples_(std::move(samples)) {
  if (!decisions().empty() && samples_.empty()) {
    throw UserError("'compress.distill' needs calibration samples to train on");
  }
}

void TrainChoices::Mask(std::size_t index, std::int32_t epochs, std::vector<bool>& mask) const {
  // Without training the rest of the recipe has no effect, so only its first choices remain.
  if (index > 0 && epochs == 0) std::fill(mask.begin() + 1, mask.end(), false);
}

TrainPlan TrainChoices::PlanOf(std::span<const std::int32_t> choices) const {
  TrainSettings settings;
  settings.epochs = 0;
  recipe_.Set(choices, settings);
  return {.epochs = settings.epochs,
          .batch = batch_,
          .rate = settings.rate,
          .temperature = settings.temperature,
          .lp = settings.lp,
          .schedule = settings.schedule};
}

void TrainChoices::Train(std::span<const std::int32_t> choices, Strategy& strategy) const {
  TrainPlan plan = PlanOf(choices);
  // A model that is not compressed is its own teacher, so it has nothing to learn.
  if (plan.epochs == 0 || (strategy.prune.groups.empty() && !HasInt8(strategy))) return;
  strategy.fit.samples = samples_;
  strategy.fit.train = std::move(plan);
  strategy.quantize.activations.clear();  // found before the training, so no longer valid
}

std::string TrainChoices::Meaning() const {
  if (decisions().empty()) return "";
  // Includes the settings that are not decided.
  const std::vector<std::int32_t> first(decisions().size(), 0);
  return ToJsonText(PlanOf(first)) + "\n";
}

}  // namespace msc::envs
