#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "cost/model/outcome.h"
#include "gym/core/problem.h"

namespace msc::envs {

// Names of the metrics that measured candidates have; all "smaller is better".
inline constexpr std::string_view kLatency = "latency";       ///< ratio to the uncompressed model
inline constexpr std::string_view kLatencyMs = "latency_ms";  ///< milliseconds a call
inline constexpr std::string_view kEnergy = "energy";         ///< ratio to the uncompressed model
inline constexpr std::string_view kDistillLoss = "distill_loss";  ///< mean KL divergence, nats
inline constexpr std::string_view kDisagreement =
    "disagreement";  ///< percent of another class than the uncompressed model's
inline constexpr std::string_view kAccuracyDrop =
    "accuracy_drop";  ///< percentage points; may be < 0
inline constexpr std::string_view kWeightBytes = "weight_bytes";
inline constexpr std::string_view kPeakBytes = "peak_bytes";  ///< arena of the executable

/// Whether the samples that candidates are judged on have labels.
enum class Labels : unsigned char { kAbsent, kPresent };

/// Whether energy is measured beside time.
enum class EnergyMetric : unsigned char { kAbsent, kPresent };

/// The names above, without accuracy_drop where there are no labels, and energy where it is not
/// measured.
[[nodiscard]] std::vector<std::string> MetricNames(Labels labels, EnergyMetric energy);

/// What a study hears of an outcome. `record` becomes {"strategy_hash": ..., "outcome": ...}.
[[nodiscard]] gym::Evaluation ToEvaluation(const Result<cost::Outcome>& result,
                                           const std::string& strategy_hash);

}  // namespace msc::envs
