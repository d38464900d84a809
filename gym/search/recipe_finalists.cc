#include "gym/search/recipe_finalists.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "compiler/base/duration_text.h"
#include "compiler/base/formatted.h"
#include "envs/common/evaluation.h"
#include "envs/distill/distill_env.h"
#include "gym/search/winner.h"

namespace msc::gym {
namespace {

using Clock = std::chrono::steady_clock;

/// Values of a metric over trainings, each with the standard error due to the finite sample.
struct Draws {
  std::vector<double> values;
  std::vector<double> errors;
  void Add(double value, double error) {
    values.push_back(value);
    errors.push_back(error);
  }
};

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Returns half the width of a 95 % interval of the mean; nothing for a single value, which has no
/// spread.
std::optional<double> Margin(const Draws& draws) {
  const std::size_t count = draws.values.size();
  // Two-sided 95 % quantiles of Student's t for 1 and 2 degrees of freedom.
  constexpr auto kStudent = std::to_array({12.706, 4.303});
  static_assert(kStudent.size() + 1 == kRecipeRepeats);
  if (count < 2) return std::nullopt;
  const double mean = Mean(draws.values);
  double squares = 0;
  for (const double value : draws.values) squares += (value - mean) * (value - mean);
  const auto n = static_cast<double>(count);
  const double of_seeds = kStudent.at(count - 2) * std::sqrt(squares / (n - 1) / n);
  // All trainings are judged on the same samples, so averaging does not reduce the sampling error.
  const double of_samples = 1.96 * Mean(draws.errors);
  // Independent errors add up as squares.
  return std::hypot(of_seeds, of_samples);
}

using Numbers = std::map<std::string, double>;
using DrawsOf = std::map<std::string, Draws>;  // by metric

void Add(const cost::Quality& quality, DrawsOf& draws) {
  for (const auto& [name, loss] : quality.Losses()) draws[name].Add(loss.value, loss.error);
}

void Summarize(const DrawsOf& draws, Numbers& means, Numbers& margins) {
  means.clear();
  margins.clear();
  for (const auto& [metric, drawn] : draws) {
    means[metric] = Mean(drawn.values);
    if (const auto margin = Margin(drawn)) margins[metric] = *margin;
  }
}

void Summarize(double steps, RecipeFinalist& recipe) {
  DrawsOf draws;
  DrawsOf held_out;
  for (const RecipeRepeat& repeat : recipe.repeats) {
    if (!repeat.result.ok()) continue;
    const cost::Outcome& outcome = repeat.result.value();
    Add(outcome.quality, draws);
    if (outcome.held_out) Add(*outcome.held_out, held_out);
  }
  Summarize(draws, recipe.metrics, recipe.margins);
  Summarize(held_out, recipe.held_out_metrics, recipe.held_out_margins);
  if (!draws.empty()) recipe.metrics[std::string(envs::kTrainSteps)] = steps;
}

double StepsOf(const Trial& trial) {
  const auto steps = trial.evaluation.metrics.find(std::string(envs::kTrainSteps));
  return steps == trial.evaluation.metrics.end() ? 0 : steps->second;
}

/// Returns the recipe with the best objectives among those with the smallest violation; nothing if
/// all failed.
std::optional<std::uint64_t> NearestRecipe(const Objective& objective,
                                           const std::vector<RecipeFinalist>& recipes) {
  std::vector<std::optional<Evaluation>> evaluations;
  for (const RecipeFinalist& recipe : recipes) {
    // One without repeats was not trained, as time ran out.
    evaluations.push_back(recipe.repeats.empty() ? std::nullopt
                                                 : std::optional(EvaluationOf(recipe)));
  }
  return NearestToLimits(objective, evaluations);
}

/// Estimates the time left from the time per training step: of the trials at first, then of the
/// finalists, which are judged on more samples.
class Estimate {
 public:
  explicit Estimate(const std::vector<Trial>& trials) {
    double seconds = 0;
    double steps = 0;
    for (const Trial& trial : trials) {
      if (trial.repeated || trial.evaluation.failure) continue;
      seconds += trial.seconds;
      steps += StepsOf(trial);
    }
    if (steps > 0) a_step_ = seconds / steps;
  }
  /// Returns the time of a training; 0 if unknown.
  [[nodiscard]] double Seconds(double steps) const { return a_step_ * steps; }
  void AddLeft(double steps) { left_ += steps; }
  void Finish(double steps) {
    left_ -= steps;
    done_ += steps;
    const std::chrono::duration<double> passed = Clock::now() - began_;
    if (done_ > 0) a_step_ = passed.count() / done_;
  }
  /// Returns the time left after `steps` of the current training.
  [[nodiscard]] std::string Text(double steps) const {
    return "eta " + FormatDuration(std::chrono::duration<double>(a_step_ * (left_ - steps)));
  }

 private:
  Clock::time_point began_ = Clock::now();
  double a_step_ = 0;  // seconds per step
  double left_ = 0;
  double done_ = 0;
};

/// Returns the finalists, with the trainings that an interrupted run finished.
std::vector<RecipeFinalist> Chosen(const std::vector<const Trial*>& trials, const Retraining& how,
                                   const std::vector<RecipeFinalist>& before) {
  std::vector<RecipeFinalist> recipes;
  for (const Trial* trial : trials) {
    RecipeFinalist& recipe = recipes.emplace_back();
    recipe.trial = trial->number;
    recipe.recipe = how.recipe_of(trial->assignment);
    const auto known = std::find_if(before.begin(), before.end(), [&](const RecipeFinalist& other) {
      return other.recipe == recipe.recipe;
    });
    if (known != before.end()) recipe.repeats = known->repeats;
    Summarize(StepsOf(*trial), recipe);
  }
  return recipes;
}

std::string RepeatsText(const Findings& findings) {
  std::size_t repeats = 0;
  for (const RecipeFinalist& recipe : findings.recipes) repeats += recipe.repeats.size();
  return "finalists: " + std::to_string(repeats) + " of " +
         std::to_string(kRecipeRepeats * findings.recipes.size()) + " trainings were made";
}

}  // namespace

bool TrainFinalists(const Objective& objective, const std::vector<Trial>& trials, std::size_t count,
                    const Retraining& how, Findings& findings) {
  std::vector<const Trial*> chosen;
  for (const std::size_t index : RankTrials(objective, trials)) {
    if (chosen.size() < count && IsFeasible(objective, trials[index])) {
      chosen.push_back(&trials[index]);
    }
  }
  findings.best.reset();
  findings.nearest.reset();
  findings.recipes = Chosen(chosen, how, findings.recipes);
  how.keep(findings);
  Estimate estimate(trials);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::size_t left = kRecipeRepeats - findings.recipes[i].repeats.size();
    estimate.AddLeft(static_cast<double>(left) * StepsOf(*chosen[i]));
  }
  bool late = false;
  // Every finalist is trained once before any is trained again, so that an early end leaves all
  // comparable.
  for (std::size_t repeat = 0; repeat < kRecipeRepeats && !late; ++repeat) {
    for (std::size_t i = 0; i < chosen.size() && !late; ++i) {
      RecipeFinalist& recipe = findings.recipes[i];
      if (recipe.repeats.size() > repeat) continue;
      const double steps = StepsOf(*chosen[i]);
      late = how.late && how.late(estimate.Seconds(steps));
      if (late) break;
      const std::string at =
          "[finalists] recipe " + std::to_string(i + 1) + "/" + std::to_string(chosen.size()) +
          ", repeat " + std::to_string(repeat + 1) + "/" + std::to_string(kRecipeRepeats) + " | ";
      how.say(at + estimate.Text(0));
      TrainSettings settings = recipe.recipe;
      // Trials used the recipe's own seed, so the seeds after it favour no recipe.
      settings.seed += repeat + 1;
      const auto outcome =
          how.train(settings, [&](double share) { how.say(at + estimate.Text(share * steps)); });
      late = !outcome && how.late && how.late(0);
      if (late) break;
      if (!outcome) return false;
      recipe.repeats.push_back({.seed = settings.seed, .result = *outcome});
      Summarize(steps, recipe);
      estimate.Finish(steps);
      how.keep(findings);
    }
  }
  if (late) findings.shortened.push_back(RepeatsText(findings));
  const auto nearest = NearestRecipe(objective, findings.recipes);
  if (!nearest) return true;
  const bool keeps = Violation(objective, EvaluationOf(findings.recipes[*nearest])) <= 0;
  (keeps ? findings.best : findings.nearest) = nearest;
  return true;
}

bool AllTrained(const Findings& findings) {
  return std::all_of(
      findings.recipes.begin(), findings.recipes.end(),
      [](const RecipeFinalist& recipe) { return recipe.repeats.size() >= kRecipeRepeats; });
}

std::size_t FailuresOf(const RecipeFinalist& recipe) {
  return static_cast<std::size_t>(
      std::count_if(recipe.repeats.begin(), recipe.repeats.end(),
                    [](const RecipeRepeat& repeat) { return !repeat.result.ok(); }));
}

Evaluation EvaluationOf(const RecipeFinalist& recipe) {
  Evaluation evaluation;
  for (const RecipeRepeat& repeat : recipe.repeats) {
    if (repeat.result.ok()) continue;
    const Failure& failure = repeat.result.failure();
    evaluation.failure = Failure{failure.kind, std::to_string(FailuresOf(recipe)) + " of " +
                                                   std::to_string(recipe.repeats.size()) +
                                                   " trainings failed: " + failure.detail};
    return evaluation;
  }
  evaluation.metrics = recipe.metrics;
  return evaluation;
}

namespace {

std::string MeanText(const Numbers& means, const Numbers& margins, const std::string& metric) {
  const auto mean = means.find(metric);
  if (mean == means.end()) return "-";
  const auto margin = margins.find(metric);
  if (margin == margins.end()) return Formatted("%.6g", mean->second);
  return Formatted("%.4g \xC2\xB1 %.2g", mean->second, margin->second);
}

}  // namespace

std::string MeanText(const RecipeFinalist& recipe, const std::string& metric) {
  return MeanText(recipe.metrics, recipe.margins, metric);
}

std::string HeldOutText(const Objective& objective, const RecipeFinalist& recipe) {
  std::string text;
  for (const auto& [metric, mean] : recipe.held_out_metrics) {
    text += (text.empty() ? "on samples that no trial saw: " : ", ") + metric + " " +
            MeanText(recipe.held_out_metrics, recipe.held_out_margins, metric);
  }
  for (const Constraint& limit : objective.subject_to) {
    const auto mean = recipe.held_out_metrics.find(limit.metric);
    const auto margin = recipe.held_out_margins.find(limit.metric);
    if (mean == recipe.held_out_metrics.end() || margin == recipe.held_out_margins.end()) continue;
    if (mean->second - margin->second > limit.limit) {
      text += "; there " + limit.metric + " misses its limit by more than this interval";
    }
  }
  return text;
}

}  // namespace msc::gym
