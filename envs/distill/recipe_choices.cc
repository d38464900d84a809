#include "envs/distill/recipe_choices.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <type_traits>

#include "compiler/base/error.h"
#include "compiler/base/formatted.h"

namespace msc::envs {
namespace {

std::string Word(double value) {
  return Formatted("%g", value);
}

std::string Word(std::int64_t value) {
  return std::to_string(value);
}

std::string Word(const std::string& value) {
  return value;
}

template <class T>
double Decades(const std::vector<T>& values) {
  double least = 0;
  double most = 0;
  if constexpr (std::is_arithmetic_v<T>) {
    for (const T& listed : values) {
      const auto value = static_cast<double>(listed);
      // 0 switches an ingredient off and has no logarithm.
      if (value > 0 && (least == 0 || value < least)) least = value;
      most = std::max(most, value);
    }
  }
  return least > 0 ? std::log10(most / least) : 0;
}

}  // namespace

template <class T, class Field>
void RecipeChoices::Add(const std::string& name, const std::vector<T>& values,
                        Field TrainSettings::*field, RecipeWords words) {
  if (values.empty()) return;
  if (std::set<T>(values.begin(), values.end()).size() != values.size()) {
    throw UserError("a recipe's '" + name + "' lists a value twice");
  }
  const Setter set = [values, field](TrainSettings& settings, std::size_t choice) {
    settings.*field = static_cast<Field>(values.at(choice));
  };
  // A single value leaves nothing to decide.
  if (values.size() == 1) {
    fixed_.push_back(set);
    return;
  }
  const bool named = words == RecipeWords::kNamed;
  gym::Decision decision{.name = named ? "distill " + name : name};
  if constexpr (std::is_arithmetic_v<T>) {
    decision.quantity = name;
    decision.values.assign(values.begin(), values.end());
  }
  for (const T& value : values) {
    decision.choices.push_back((named ? name + " " : "") + Word(value));
  }
  decisions_.push_back(std::move(decision));
  decades_.push_back(Decades(values));
  setters_.push_back(set);
}

RecipeChoices::RecipeChoices(const RecipeLists& lists, RecipeWords words) {
  Add("epochs", lists.epochs, &TrainSettings::epochs, words);
  Add("rate", lists.rate, &TrainSettings::rate, words);
  Add("temperature", lists.temperature, &TrainSettings::temperature, words);
  Add("lp", lists.lp, &TrainSettings::lp, words);
  Add("schedule", lists.schedule, &TrainSettings::schedule, words);
  Add("hard", lists.hard, &TrainSettings::hard, words);
}

void RecipeChoices::Set(std::span<const std::int32_t> choices, TrainSettings& settings) const {
  Check(choices.size() == decisions_.size(), "one choice an ingredient");
  for (const Setter& set : fixed_) set(settings, 0);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    setters_[i](settings, static_cast<std::size_t>(choices[i]));
  }
}

}  // namespace msc::envs
