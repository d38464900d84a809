#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/compress/distill/trainer.h"
#include "gym/core/problem.h"

namespace msc::envs {

/// The values that a recipe may take. A list with one value makes no decision; an empty list leaves
/// the setting as it is.
struct RecipeLists {
  std::vector<std::int64_t> epochs;
  std::vector<double> rate = {};
  std::vector<double> temperature = {};
  std::vector<double> lp = {};
  std::vector<std::string> schedule = {};
  std::vector<double> hard = {};
};

/// Name of the decision about epochs with RecipeWords::kNamed.
inline constexpr std::string_view kDistillEpochs = "distill epochs";

/// Names of choices: "0.001", or "rate 0.001" beside decisions of other kinds whose choices are
/// numbers.
enum class RecipeWords : unsigned char { kBare, kNamed };

/// The decisions of a recipe, shared by all envs that have them: epochs, rate, temperature, lp,
/// schedule, hard. Each except the schedule has the quantity of its name.
class RecipeChoices {
 public:
  /// Throws UserError if a list has a value twice.
  RecipeChoices(const RecipeLists& lists, RecipeWords words);

  [[nodiscard]] const std::vector<gym::Decision>& decisions() const { return decisions_; }
  /// Returns for each decision log10 of its largest value over its smallest one above 0; 0 for
  /// names.
  [[nodiscard]] const std::vector<double>& decades() const { return decades_; }
  /// Sets the settings with one listed value, and those decided by `choices`, one for each
  /// decision.
  void Set(std::span<const std::int32_t> choices, TrainSettings& settings) const;

 private:
  /// Sets a setting to one of its listed values, by index.
  using Setter = std::function<void(TrainSettings& settings, std::size_t choice)>;

  template <class T, class Field>
  void Add(const std::string& name, const std::vector<T>& values, Field TrainSettings::*field,
           RecipeWords words);

  std::vector<gym::Decision> decisions_;
  std::vector<double> decades_;
  std::vector<Setter> setters_;  ///< by decision
  std::vector<Setter> fixed_;    ///< settings with one listed value
};

}  // namespace msc::envs
