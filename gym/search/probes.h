#pragma once

#include <array>
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
#include "envs/common/strategy_problem.h"
#include "gym/core/problem.h"
#include "gym/search/findings.h"

namespace msc::gym {

/// Returns the value of a choice if its decision has `quantity` (envs/common/quantity.h).
[[nodiscard]] std::optional<double> AmountOf(const Decision& decision, std::string_view quantity,
                                             std::int32_t choice);
/// Returns whether the choice gives weights 8 bits or fewer.
[[nodiscard]] bool IsInt8(const Decision& decision, std::int32_t choice);
/// Returns the choice by which a decision is probed: the first choice with 8 bits or fewer, or the
/// density nearest to 0.5; nothing if the decision has neither.
[[nodiscard]] std::optional<std::int32_t> ProbeOf(const Decision& decision);
/// Returns the assignment with that choice, and all other decisions as in the uncompressed model.
[[nodiscard]] Assignment ChangeOneDecision(const std::vector<Decision>& decisions,
                                           std::size_t decision, std::int32_t choice);

/// Effects of single decisions. Weights of int8 layers are rounded to the nearest: which layers are
/// sensitive hardly depends on it, and other roundings need a fit to the calibration samples.
struct ProbeRun {
  std::size_t probes = 0;                                    ///< decisions that can be probed
  std::map<std::size_t, Result<cost::Outcome>> result = {};  ///< by decision; without latency
};
/// Precisions are probed first: that takes a fraction of the time of channels, which need a fit.
enum class ProbeKind : std::uint8_t { kPrecisions, kChannels };
inline constexpr std::array kProbeKinds = {ProbeKind::kPrecisions, ProbeKind::kChannels};

struct ProbeLimits {
  static constexpr auto kAll = std::numeric_limits<std::size_t>::max();
  cost::Measure measure = cost::Measure::kQuality;  ///< or kProbe, for fewer samples
  std::array<std::size_t, kProbeKinds.size()> probes = {kAll, kAll};  ///< number of each kind
  double seconds = 0;  ///< time limit; later probes are skipped
  double after = 0;    ///< time of later phases, for the displayed eta
};
/// Probes decisions, those of each kind in an order that is spread over the model, until a limit is
/// reached or `stop` returns true. `say` receives progress texts.
[[nodiscard]] ProbeRun ProbeQuality(const envs::StrategyProblem& problem,
                                    cost::Evaluator& evaluator, const ProbeLimits& limits,
                                    const std::function<void(const std::string&)>& say,
                                    const std::function<bool()>& stop);

/// Returns the strategy with weights rounded to the nearest instead of fitted to the calibration
/// samples, if the fit has nothing else to do.
[[nodiscard]] Strategy WithoutRounding(Strategy strategy);

/// Returns the number of decisions that can be probed: of one kind, or of all.
[[nodiscard]] std::size_t CountProbes(const SearchProblem& problem, ProbeKind kind);
[[nodiscard]] std::size_t CountProbes(const SearchProblem& problem);
/// Returns the seconds of a probe of a kind: the mean of ProbeQuality's first ones, run one after
/// another, so that the number of workers does not matter. Returns nothing without probes or if
/// `stop` returned true.
[[nodiscard]] std::optional<double> TimeProbe(const envs::StrategyProblem& problem,
                                              cost::Evaluator& evaluator, ProbeKind kind,
                                              cost::Measure measure,
                                              const std::function<bool()>& stop);
/// Returns how many of `probes` to run in `seconds`, one after another, if one takes `each`: all,
/// or a power of two, at least 2. The coarse steps make the result insensitive to small differences
/// in time.
[[nodiscard]] std::size_t PlannedProbes(std::size_t probes, double seconds, double each);

/// Runs ProbeQuality and fills `sensitivities` and `probed` of the findings.
void MeasureSensitivity(const envs::StrategyProblem& problem, cost::Evaluator& evaluator,
                        const ProbeLimits& limits,
                        const std::function<void(const std::string&)>& say,
                        const std::function<bool()>& stop, Findings& findings);

}  // namespace msc::gym
