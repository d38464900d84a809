#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/model/evaluator.h"
#include "gym/app/search_run.h"
#include "gym/core/problem.h"

namespace msc::gym {

/// What a choice counts, if its decision counts `quantity` (envs/common/quantity.h).
[[nodiscard]] std::optional<double> AmountOf(const Decision& decision, std::string_view quantity,
                                             std::int32_t choice);
/// Whether weights have 8 bits or less.
[[nodiscard]] bool IsInt8(const Decision& decision, std::int32_t choice);
/// What a decision is probed with: int8, its weights with as many bits as may be, or the density
/// nearest to a half; nothing where it has neither.
[[nodiscard]] std::optional<std::int32_t> ProbeOf(const Decision& decision);
/// The decision with that choice, all others as in the uncompressed model.
[[nodiscard]] Assignment Alone(const std::vector<Decision>& decisions, std::size_t decision,
                               std::int32_t choice);

/// What a decision does alone, judged on the samples of a trial.
struct ProbeRun {
  std::size_t probes = 0;                               ///< decisions that can be probed
  std::map<std::size_t, Result<cost::Outcome>> result;  ///< by decision; without latency
};
struct ProbeLimits {
  std::size_t probes = std::numeric_limits<std::size_t>::max();  ///< the first so many
  double seconds = 0;  ///< at most; what is not done by then is left out
  double after = 0;    ///< seconds that come after this, for who waits
};
/// Probes decisions, the first ones spread over the whole model, until a limit is met or `stop`
/// says true. `say` hears how far it is.
[[nodiscard]] ProbeRun ProbeQuality(const SearchProblem& problem, cost::Evaluator& evaluator,
                                    const ProbeLimits& limits,
                                    const std::function<void(const std::string&)>& say,
                                    const std::function<bool()>& stop);

/// How many decisions can be probed.
[[nodiscard]] std::size_t CountProbes(const SearchProblem& problem);
/// Seconds of a probe: the mean of ProbeQuality's first ones, made one after another, so that the
/// number of workers does not matter. Nothing where there are none, or `stop` said true before.
[[nodiscard]] std::optional<double> TimeProbe(const SearchProblem& problem,
                                              cost::Evaluator& evaluator,
                                              const std::function<bool()>& stop);
/// How many of `probes` to make in `seconds`, one after another, where one takes `each`: all, or a
/// power of two, at least 2. In steps so coarse that times which differ a little mostly give the
/// same.
[[nodiscard]] std::size_t PlannedProbes(std::size_t probes, double seconds, double each);

/// ProbeQuality, for at most `seconds`, as findings: fills `sensitivities` and `probed`. `after`:
/// seconds that come after this, for who waits.
void MeasureSensitivity(const SearchProblem& problem, cost::Evaluator& evaluator, double seconds,
                        double after, const std::function<void(const std::string&)>& say,
                        const std::function<bool()>& stop, Findings& findings);

}  // namespace msc::gym
