#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "cost/model/outcome.h"
#include "gym/core/problem.h"

namespace msc::envs {

// Names of the metrics of measured candidates beside their losses (cost/model/loss.h); smaller is
// better for all.
inline constexpr std::string_view kLatency = "latency";       ///< ratio to the uncompressed model
inline constexpr std::string_view kLatencyMs = "latency_ms";  ///< milliseconds per call
inline constexpr std::string_view kEnergy = "energy";         ///< ratio to the uncompressed model
inline constexpr std::string_view kWeightBytes = "weight_bytes";
inline constexpr std::string_view kPeakBytes = "peak_bytes";  ///< arena of the executable

/// Whether energy is measured in addition to time.
enum class EnergyMetric : unsigned char { kAbsent, kPresent };

/// Returns the names above and those of `losses`, without energy if it is not measured.
[[nodiscard]] std::vector<std::string> MetricNames(std::span<const std::string> losses,
                                                   EnergyMetric energy);

/// Converts an outcome for a study. `record` becomes {"strategy_hash": ..., "result": ...}.
[[nodiscard]] gym::Evaluation ToEvaluation(const Result<cost::Outcome>& result,
                                           const std::string& strategy_hash);

/// Return parts of a record that ToEvaluation wrote: the result, or nothing if the evaluation has
/// none; and the hash, or an empty text.
[[nodiscard]] std::optional<Result<cost::Outcome>> RecordedOutcome(
    const gym::Evaluation& evaluation);
[[nodiscard]] std::string RecordedStrategyHash(const gym::Evaluation& evaluation);

}  // namespace msc::envs
