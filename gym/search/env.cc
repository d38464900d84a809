#include "gym/search/env.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "cost/analytic/roof.h"
#include "gym/search/config.h"
#include "gym/search/kernels.h"
#include "gym/search/prepare.h"

namespace msc::gym {

bool Prunes(const SearchConfig& config) {
  const std::string env = EnvId(config.env);
  return env == "Prune-v0" || env == "Compress-v0";
}

bool FitsCandidates(const SearchConfig& config) {
  const std::string env = EnvId(config.env);
  const bool quantizes = env == "Quantize-v0" || env == "Compress-v0";
  return Prunes(config) || (quantizes && envs::FitsWeights(config.quantize));
}

bool Places(const SearchConfig& config) {
  return EnvId(config.env) == "Partition-v0";
}

std::vector<std::string> OfferedTargets(const SearchConfig& config) {
  if (Places(config)) return config.partition.targets;
  if (EnvId(config.env) == "Compress-v0") return config.compress.targets;
  return {};
}

bool TrainsCandidates(const SearchConfig& config) {
  const std::vector<std::int64_t>& epochs = config.compress.distill.epochs;
  return EnvId(config.env) == "Compress-v0" &&
         std::any_of(epochs.begin(), epochs.end(), [](std::int64_t count) { return count > 0; });
}

bool WishesSchedules(const SearchConfig& config) {
  return EnvId(config.env) == "Compress-v0" && config.compress.schedules > 0;
}

bool Schedules(const SearchConfig& config) {
  return EnvId(config.env) == "Schedule-v0";
}

bool NamesEnergy(const SearchConfig& config) {
  const std::string name(envs::kEnergy);
  const auto& minimize = config.objective.minimize;
  return std::find(minimize.begin(), minimize.end(), name) != minimize.end() ||
         config.objective.subject_to.contains(name) || config.stop.goal.contains(name);
}

bool Trains(const SearchConfig& config) {
  return EnvId(config.env) == "Distill-v0";
}

static std::function<envs::ComputeRoof()> RoofFinder(const SearchConfig& config,
                                                     const Prepared& prepared) {
  int threads = config.threads;
  for (const std::string& spec : prepared.runners) {
    const Target& target = prepared.targets.Get(spec);
    threads = std::max(threads, target.OptionsFor({.threads = config.threads}).threads);
  }
  return [threads, known = std::make_shared<std::optional<cost::Roof>>()] {
    if (!*known) *known = cost::MeasureRoof(1);
    return envs::ComputeRoof{**known, threads};
  };
}

envs::EnvContext SearchContext(const SearchConfig& config, const Prepared& prepared,
                               cost::Evaluator& evaluator) {
  const Objective objective = ToObjective(config.objective);
  std::function<envs::ComputeRoof()> roof = RoofFinder(config, prepared);
  return {
      .graph = prepared.graph,
      .base = prepared.base,
      .evaluator = &evaluator,
      .reward = [objective](const Evaluation& result) { return RewardOf(objective, result); },
      .violation = [objective](const Evaluation& result) { return Violation(objective, result); },
      .target = config.target,
      .scales = prepared.scales,
      .labels = prepared.labelled ? envs::Labels::kPresent : envs::Labels::kAbsent,
      .energy = NamesEnergy(config) ? envs::EnergyMetric::kPresent : envs::EnergyMetric::kAbsent,
      .cover = prepared.cover,
      .boundary_prices = config.partition.prices,
      .fit_hash = prepared.fit_hash,
      .unit_scores = prepared.unit_scores,
      .align = config.prune.align,
      .densities = config.prune.densities,
      .first_groups = config.prune.first_groups,
      .kernels = prepared.kernels,
      .lacked = prepared.lacked,
      .quantize = config.quantize,
      .scales_by_range = prepared.scales_by_range,
      .compress = config.compress,
      .lacked_on = prepared.lacked_on,
      .estimates = prepared.estimates.costs,
      .roof = std::move(roof),
      .kernels_of = KernelFinder(config, prepared)};
}

std::unique_ptr<Env> MakeSearchEnv(const SearchConfig& config, const envs::EnvContext& context) {
  envs::EnvRegistry envs;
  envs::RegisterAll(envs);
  std::unique_ptr<Env> env = envs.Make(EnvId(config.env), context);
  if (env->problem() == nullptr) throw UserError("'" + config.env + "' is not a search problem");
  return env;
}

}  // namespace msc::gym
