#include "compiler/base/error.h"
#include "cost/measure/folder.h"
#include "cost/model/evaluator.h"
#include "envs/distill/distill_env.h"
#include "gym/app/search_run.h"

namespace msc::gym {
namespace {

/// For whoever wants to know a problem and not to try it.
class NoEvaluator final : public cost::Evaluator {
  void DoEvaluate(std::span<const cost::Candidate> /*batch*/, const Done& /*done*/,
                  const std::function<bool()>& /*stop*/) override {
    Check(false, "a problem that is only looked at is not tried");
  }
};

}  // namespace

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

bool Schedules(const SearchConfig& config) {
  return EnvId(config.env) == "Schedule-v0";
}

bool Trains(const SearchConfig& config) {
  return EnvId(config.env) == "Distill-v0";
}

envs::EnvContext SearchContext(const SearchConfig& config, const Prepared& prepared,
                               cost::Evaluator& evaluator) {
  return {.graph = prepared.graph,
          .base = prepared.base,
          .evaluator = &evaluator,
          .target = config.target,
          .scales = prepared.scales,
          .labels = prepared.labelled ? envs::Labels::kPresent : envs::Labels::kAbsent,
          .cover = prepared.cover,
          .fit_hash = prepared.fit_hash,
          .unit_scores = prepared.unit_scores,
          .align = config.prune.align,
          .kernels = prepared.kernels,
          .lacked = prepared.lacked,
          .quantize = config.quantize,
          .scales_by_range = prepared.scales_by_range};
}

std::unique_ptr<Env> MakeSearchEnv(const SearchConfig& config, const envs::EnvContext& context) {
  envs::EnvRegistry envs;
  envs::RegisterAll(envs);
  std::unique_ptr<Env> env = envs.Make(EnvId(config.env), context);
  if (env->problem() == nullptr) throw UserError("'" + config.env + "' is no search problem");
  return env;
}

std::vector<Decision> DecisionsOf(const SearchConfig& config, const Prepared& prepared) {
  NoEvaluator nobody;
  return MakeSearchEnv(config, SearchContext(config, prepared, nobody))->problem()->decisions();
}

std::vector<Decision> DecisionsOf(const SearchConfig& config, const RunPaths& paths) {
  if (Places(config)) return KeptDecisions(paths);
  if (Trains(config)) {
    return envs::RecipeDecisions(config.calibration.data.labels.empty() ? envs::Labels::kAbsent
                                                                        : envs::Labels::kPresent);
  }
  Prepared prepared;
  prepared.graph =
      std::make_shared<const Graph>(cost::LoadCanonical(cost::OpenFolder(paths.prepared())));
  if (Schedules(config)) prepared.kernels = ReadKernels(paths, *prepared.graph);
  prepared.lacked = ReadLacked(paths);
  return DecisionsOf(config, prepared);
}

}  // namespace msc::gym
