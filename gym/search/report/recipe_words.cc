#include "gym/search/report/recipe_words.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "compiler/base/formatted.h"

namespace msc::gym {
namespace {

/// Text around the value of a setting.
struct Setting {
  std::string_view name;
  std::string_view title;
  std::string_view before = {};
  std::string_view behind = {};
};
constexpr auto kSettings = std::to_array<Setting>({
    {"epochs", "training epochs"},
    {"rate", "learning rate", "rate "},
    {"temperature", "temperature", "temperature "},
    {"lp", "output distance", "distance "},
    {"schedule", "rate schedule", "", " schedule"},
    {"hard", "label weight", "labels "},
});

std::string Epochs(const std::string& count) {
  return count == "0" ? std::string(kNotTrained) : count + (count == "1" ? " epoch" : " epochs");
}

}  // namespace

Decision InWords(const Decision& decision, envs::RecipeWords words) {
  const std::string prefix = words == envs::RecipeWords::kNamed ? "distill " : "";
  const auto* const setting = std::find_if(
      kSettings.begin(), kSettings.end(),
      [&](const Setting& one) { return decision.name == prefix + std::string(one.name); });
  if (setting == kSettings.end()) return decision;
  const std::string named =
      words == envs::RecipeWords::kNamed ? std::string(setting->name) + " " : "";
  Decision told{.name = std::string(setting->title)};
  for (const std::string& choice : decision.choices) {
    // Another decision with that name, such as a layer.
    if (!choice.starts_with(named)) return decision;
    const std::string value = choice.substr(named.size());
    told.choices.push_back(setting->name == "epochs" ? Epochs(value)
                                                     : std::string(setting->before) + value +
                                                           std::string(setting->behind));
  }
  return told;
}

std::string TrainText(const TrainPlan& plan) {
  if (plan.epochs == 0) return "";
  return "trained for " + Epochs(std::to_string(plan.epochs)) + Formatted(" at rate %g", plan.rate);
}

void TellTraining(const Strategy* best, ReportInput& input) {
  const auto winner = std::find_if(
      input.study.trials.begin(), input.study.trials.end(),
      [&](const Trial& trial) { return best != nullptr && input.winner == trial.number; });
  input.moot.assign(input.decisions.size(), "");
  for (std::size_t i = 0; i < input.decisions.size(); ++i) {
    Decision told = InWords(input.decisions[i], envs::RecipeWords::kNamed);
    const bool of_recipe = told != input.decisions[i];
    input.decisions[i] = std::move(told);
    if (!of_recipe || winner == input.study.trials.end() || best->fit.train.epochs > 0) continue;
    // "Not trained" may be the choice itself, or the only option for an uncompressed f32 model.
    const std::vector<std::string>& choices = input.decisions[i].choices;
    const auto choice =
        i < winner->assignment.size() ? static_cast<std::size_t>(winner->assignment[i]) : 0;
    const bool chosen = choice < choices.size() && choices[choice] == kNotTrained;
    if (!chosen) input.moot[i] = "nothing is trained";
  }
}

}  // namespace msc::gym
