#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cost/model/evaluator.h"
#include "gym/app/search_run.h"
#include "gym/core/problem.h"

namespace msc::gym {

/// "int8", "w4a8".
[[nodiscard]] bool IsInt8(const std::string& choice);
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
/// Probes decisions for at most `seconds`: the first ones are spread over the whole model, those
/// that time does not suffice for are left out, and where `stop` says true. `say` hears how far it
/// is.
[[nodiscard]] ProbeRun ProbeQuality(const SearchProblem& problem, cost::Evaluator& evaluator,
                                    double seconds,
                                    const std::function<void(const std::string&)>& say,
                                    const std::function<bool()>& stop);

/// ProbeQuality as findings: fills `sensitivities` and `probed`.
void MeasureSensitivity(const SearchProblem& problem, cost::Evaluator& evaluator, double seconds,
                        const std::function<void(const std::string&)>& say,
                        const std::function<bool()>& stop, Findings& findings);

}  // namespace msc::gym
