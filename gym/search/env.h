#pragma once

#include <memory>
#include <string>
#include <vector>

#include "envs/register.h"
#include "gym/core/env.h"
#include "gym/search/config.h"
#include "gym/search/prepare.h"

namespace msc::cost {
class Evaluator;
}  // namespace msc::cost

namespace msc::gym {

/// Returns whether candidates may have fewer channels.
[[nodiscard]] bool Prunes(const SearchConfig& config);
/// Returns whether candidates may be fitted to calibration samples, by pruning or rounding.
[[nodiscard]] bool FitsCandidates(const SearchConfig& config);
/// Returns whether the search assigns regions of the model to targets.
[[nodiscard]] bool Places(const SearchConfig& config);
/// Returns the targets, besides the config's own, that may run candidates or parts of them in the
/// config's env.
[[nodiscard]] std::vector<std::string> OfferedTargets(const SearchConfig& config);
/// Returns whether candidates may also be trained.
[[nodiscard]] bool TrainsCandidates(const SearchConfig& config);
/// Returns whether schedules may be decided along with other decisions.
[[nodiscard]] bool WishesSchedules(const SearchConfig& config);
/// Returns whether energy is an objective or constraint, and therefore measured.
[[nodiscard]] bool NamesEnergy(const SearchConfig& config);
/// Returns whether the search decides how a compressed model is trained (recipe.h).
[[nodiscard]] bool Trains(const SearchConfig& config);
/// Returns whether the search decides schedules only: all candidates are the same model.
[[nodiscard]] bool Schedules(const SearchConfig& config);
/// Returns the context of the search's env. The evaluator outlives it.
[[nodiscard]] envs::EnvContext SearchContext(const SearchConfig& config, const Prepared& prepared,
                                             cost::Evaluator& evaluator);
/// Makes the env that the config names; it has a problem(). UserError if the model has no
/// decisions.
[[nodiscard]] std::unique_ptr<Env> MakeSearchEnv(const SearchConfig& config,
                                                 const envs::EnvContext& context);

}  // namespace msc::gym
