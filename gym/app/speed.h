#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "compiler/ir/graph.h"
#include "compiler/ir/sample_source.h"
#include "compiler/pipeline/observe.h"
#include "compiler/targets/target.h"
#include "cost/model/outcome.h"

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
}  // namespace CLI

namespace msc::gym {

/// How a tool times what it made.
struct SpeedOptions {
  bool skip = false;
  std::int64_t max_ms = 2000;
};
/// Adds --no-speed and --max-ms.
void AddSpeedOptions(CLI::App& command, SpeedOptions& options);

/// Time of a compressed model, or why it is not known.
struct Speed {
  std::string target;
  int threads = 1;
  std::optional<cost::Latency> latency = {};  ///< relative to the f32 model
  std::string why = {};                       ///< why there is no latency
  /// Returns whether the 95 % interval of the ratio lies above 1.
  [[nodiscard]] bool slower() const { return latency && latency->ratio_low > 1; }
};

/// What is timed. All members outlive the call.
struct SpeedInput {
  const Graph* f32 = nullptr;
  const Graph* compressed = nullptr;      ///< may hold Q/DQ and Cast nodes
  const SampleSource* samples = nullptr;  ///< gives the inputs; nullptr: random ones
  CalibrationRun run;                     ///< target and threads
  const TargetRegistry* targets = nullptr;
};
/// Times both models interleaved (cost/measure/latency.h), one call with the first sample each. Any
/// reason why that is impossible goes into the result. Pins the process to as many cores as it uses
/// threads.
[[nodiscard]] Speed MeasureSpeed(const SpeedInput& input, const SpeedOptions& options);

/// Returns "on native, 1 thread: 0.712 of the time of f32 (95 % interval 0.705 to 0.720), 0.123 ms
/// instead of 0.173", or why the time is not known.
[[nodiscard]] std::string SpeedText(const Speed& speed);
/// Adds the keys target, threads and latency, or no_latency with the reason.
void AddSpeedJson(const Speed& speed, nlohmann::json& json);

}  // namespace msc::gym
