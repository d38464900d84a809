#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/compress/distill/trainer.h"
#include "gym/core/problem.h"

namespace msc::envs {

/// What a recipe is chosen from. Lists of one are no decision, and empty ones leave a setting as it
/// is.
struct RecipeLists {
  std::vector<std::int64_t> epochs;
  std::vector<double> rate;
  std::vector<double> temperature;
  std::vector<double> lp;
  std::vector<std::string> schedule;
  std::vector<double> hard;
};

/// How choices are called: "0.001", or "rate 0.001" where decisions of other kinds stand beside
/// them, whose choices are numbers.
enum class RecipeWords : unsigned char { kBare, kNamed };

/// The decisions of a recipe, for all who take them: epochs, rate, temperature, lp, schedule, hard.
/// All but the schedule count the quantity of that name.
class RecipeChoices {
 public:
  /// UserError where a list has a thing twice.
  RecipeChoices(const RecipeLists& lists, RecipeWords words);

  [[nodiscard]] const std::vector<gym::Decision>& decisions() const { return decisions_; }
  /// By decision: log10 of its largest value over its least one above 0; 0 for names.
  [[nodiscard]] const std::vector<double>& decades() const { return decades_; }
  /// Sets what lists of one say, and one choice for each decision.
  void Set(std::span<const std::int32_t> choices, TrainSettings& settings) const;

 private:
  /// Sets a setting to one of the values that were listed for it, by their index.
  using Setter = std::function<void(TrainSettings& settings, std::size_t choice)>;

  template <class T, class Field>
  void Add(const std::string& name, const std::vector<T>& values, Field TrainSettings::*field,
           RecipeWords words);

  std::vector<gym::Decision> decisions_;
  std::vector<double> decades_;
  std::vector<Setter> setters_;  ///< by decision
  std::vector<Setter> fixed_;    ///< of lists of one
};

}  // namespace msc::envs
