#include "gym/search/report/recipe.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/model/loss.h"
#include "envs/common/evaluation.h"
#include "envs/distill/distill_env.h"
#include "gym/search/recipe.h"
#include "gym/search/recipe_finalists.h"
#include "gym/search/report/axes.h"
#include "gym/search/report/recipe_words.h"

namespace msc::gym {
namespace {

/// Returns an axis without a baseline: recipes have no uncompressed model to compare with.
ReportAxis RecipeAxis(const std::string& metric, const SearchSetup& setup) {
  ReportAxis axis = AxisOf(metric, setup);
  axis.baseline.reset();
  return axis;
}

/// Returns "8 epochs, rate 0.001"; `decisions` must be in words.
std::string ChoicesOf(const std::vector<Decision>& decisions, const Assignment& assignment) {
  std::string text;
  for (std::size_t i = 0; i < std::min(decisions.size(), assignment.size()); ++i) {
    const auto choice = static_cast<std::size_t>(assignment[i]);
    if (choice >= decisions[i].choices.size()) continue;
    text += (text.empty() ? "" : ", ") + decisions[i].choices[choice];
  }
  return text;
}

std::optional<Measured> MeanOf(const RecipeFinalist& recipe, const std::string& metric) {
  const auto mean = recipe.metrics.find(metric);
  if (mean == recipe.metrics.end()) return std::nullopt;
  const auto found = recipe.margins.find(metric);
  const double margin = found == recipe.margins.end() ? 0 : found->second;
  Measured measured{
      .value = mean->second, .low = mean->second - margin, .high = mean->second + margin};
  // Margins are symmetric, but a loss cannot be negative.
  if (metric == cost::kDistillLoss) measured.low = std::max(measured.low, 0.0);
  return measured;
}

/// Adds the retrained finalists, with the objectives as the first axes.
void TellFinalists(const SearchSetup& setup, const Findings& findings, ReportInput& input) {
  const Objective objective = ToObjective(setup.config.objective);
  input.final_axes = {input.latency, input.quality};
  for (const cost::LossInfo& info : cost::kLosses) {
    const std::string name(info.name);
    const bool shown = name == input.latency.metric || name == input.quality.metric;
    const bool measured = std::ranges::any_of(findings.recipes, [&](const RecipeFinalist& recipe) {
      return recipe.metrics.contains(name);
    });
    if (cost::IsAgainstLabels(name) && measured && !shown) {
      input.final_axes.push_back(RecipeAxis(name, setup));
    }
  }
  for (const RecipeFinalist& recipe : findings.recipes) {
    if (recipe.repeats.empty()) continue;
    ReportFinalist& row = input.finalists.emplace_back();
    row.trial = recipe.trial;
    row.label = "trial " + std::to_string(recipe.trial);
    const auto trial =
        std::find_if(input.study.trials.begin(), input.study.trials.end(),
                     [&](const Trial& other) { return other.number == recipe.trial; });
    if (trial != input.study.trials.end()) {
      row.note = ChoicesOf(input.decisions, trial->assignment);
    }
    for (const ReportAxis& axis : input.final_axes) {
      row.means.push_back(MeanOf(recipe, axis.metric));
    }
    const Evaluation evaluation = EvaluationOf(recipe);
    row.feasible = !evaluation.failure && Violation(objective, evaluation) <= 0;
    const std::string held_out = HeldOutText(objective, recipe);
    if (!held_out.empty()) row.note += "; " + held_out;
    if (evaluation.failure) row.note += "; " + evaluation.failure->detail;
  }
}

}  // namespace

void TellRecipes(const SearchSetup& setup, const Findings& findings, const RunPaths& paths,
                 ReportInput& input) {
  const SearchConfig& config = setup.config;
  const std::vector<std::string>& minimize = config.objective.minimize;
  const std::string_view other =
      minimize.front() == envs::kTrainSteps ? cost::kDistillLoss : envs::kTrainSteps;
  input.subject = ReportSubject::kRecipe;
  input.latency = RecipeAxis(minimize.front(), setup);
  input.quality = RecipeAxis(minimize.size() > 1 ? minimize[1] : std::string(other), setup);
  for (Decision& decision : input.decisions) {
    decision = InWords(decision, envs::RecipeWords::kBare);
  }
  input.headline.constraint = ConstraintText(config.objective);
  TellFinalists(setup, findings, input);
  // After retraining, trials that were best by chance may violate the limits.
  if (!findings.recipes.empty() && !findings.best && !input.headline.unfinished) {
    input.study.best.reset();
  }
  if (!input.study.best) return;
  const Trial& tried = input.study.trials[*input.study.best];
  const bool chosen = findings.best && !input.headline.unfinished;
  const RecipeFinalist* const best = chosen ? &findings.recipes.at(*findings.best) : nullptr;
  input.winner = best != nullptr ? best->trial : tried.number;
  input.headline.configuration = "trial " + std::to_string(*input.winner);
  input.headline.constraint_met = true;
  input.headline.suspicions = SuspicionsOfBest(config, findings);
  const std::string drop(cost::kAccuracyDrop);
  const auto& metrics = best != nullptr ? best->metrics : tried.evaluation.metrics;
  const auto lost = metrics.find(drop);
  const bool on_axis = input.latency.metric == drop || input.quality.metric == drop;
  if (lost != metrics.end() && !on_axis) input.headline.accuracy_drop = lost->second;
  input.commands.push_back(
      {"train with the best recipe; add the options for the format of the samples",
       TrainCommand(config, paths)});
}

}  // namespace msc::gym
