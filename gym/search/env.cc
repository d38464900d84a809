#include "gym/search/env.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cost/analytic/roof.h"
#include "envs/common/evaluation.h"
#include "gym/core/decision_env.h"
#include "gym/search/config.h"
#include "gym/search/prepare.h"

namespace msc::gym {
namespace {

std::function<envs::ComputeRoof()> RoofFinder(const SearchConfig& config,
                                              const Prepared& prepared) {
  int threads = config.threads;
  for (const std::string& spec : prepared.runners) {
    const Target& target = prepared.targets.Get(spec);
    threads = std::max(threads, target.OptionsFor({.threads = config.threads}).threads);
  }
  // The roof is measured once, and only if bounds are asked for.
  return [threads, known = std::make_shared<std::optional<cost::Roof>>()] {
    if (!*known) *known = cost::MeasureRoof(1);
    return envs::ComputeRoof{**known, threads};
  };
}

}  // namespace

bool NamesEnergy(const SearchConfig& config) {
  const std::string name(envs::kEnergy);
  const auto& minimize = config.objective.minimize;
  return std::find(minimize.begin(), minimize.end(), name) != minimize.end() ||
         config.objective.subject_to.contains(name) || config.stop.goal.contains(name);
}

envs::ModelContext ContextOf(const SearchConfig& config, const Prepared& prepared,
                             cost::Evaluator* evaluator) {
  return {
      .graph = prepared.graph,
      .base = prepared.base,
      .evaluator = evaluator,
      .target = config.target,
      .other_targets = prepared.runners,
      .losses = prepared.losses,
      .energy = NamesEnergy(config) ? envs::EnergyMetric::kPresent : envs::EnergyMetric::kAbsent,
      .fit_hash = prepared.fit_hash,
      .estimates = prepared.estimates.costs,
      .roof = RoofFinder(config, prepared)};
}

std::unique_ptr<Env> MakeTaskEnv(const SearchTask& task, const SearchConfig& config,
                                 std::unique_ptr<SearchProblem> problem) {
  const Objective objective = task.ForReward(ToObjective(config.objective));
  return MakeDecisionEnv(
      std::move(problem),
      {.facts = {.id = task.spec().id, .nondeterministic = task.spec().nondeterministic},
       .reward = [objective](const Evaluation& result) { return RewardOf(objective, result); },
       .violation =
           [objective](const Evaluation& result) { return Violation(objective, result); }});
}

}  // namespace msc::gym
