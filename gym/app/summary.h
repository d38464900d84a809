#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"
#include "gym/app/command.h"
#include "gym/app/limits.h"
#include "gym/app/samples.h"
#include "gym/app/speed.h"
#include "gym/app/written_model.h"

namespace msc::gym {

/// How `mscgym quantize`, `prune` and `distill` end: what they made and wrote, whether that may be
/// used, and what to do next.
struct Summary {
  std::optional<WrittenModel> written = {};
  std::string plan = {};  ///< strategy file that was written; empty = none
  std::int64_t weight_bytes = 0;
  std::int64_t f32_weight_bytes = 0;
  Speed speed = {};
  std::optional<cost::Quality> quality = {};  ///< on test samples, if there are any
  std::vector<LimitVerdict> limits = {};
  /// Why the exit code is 3, one sentence each: "suspicious: ...", "limit: ..." or "slower: ...".
  std::vector<std::string> problems = {};
  std::string next = {};  ///< command to run next
};

/// What a tool made. All members outlive the call.
struct SummaryInput {
  std::string model;                ///< file that the strategy belongs to
  std::vector<std::string> shapes;  ///< as in --shape
  const Graph* f32 = nullptr;
  const Graph* compressed = nullptr;  ///< may hold Q/DQ and Cast nodes
  const Strategy* strategy = nullptr;
  const SampleSource* samples = nullptr;  ///< gives the inputs to time; nullptr: random ones
  CalibrationRun run;
  const TargetRegistry* targets = nullptr;
  std::optional<WrittenModel> written = {};
  std::string plan = {};
  SpeedOptions speed = {};
  std::optional<cost::Quality> quality = {};
  const JudgeOptions* judged = nullptr;
};

/// Times the model and judges it.
[[nodiscard]] Summary Summarize(const SummaryInput& input, const AppContext& context);
/// Judges a model that took this time. Being slower than f32 is a problem only if the strategy
/// removes channels or computes layers in fewer bits: quantizing weights alone saves memory, and
/// zeros among weights save nothing.
[[nodiscard]] Summary Summarize(const SummaryInput& input, Speed speed, const AppContext& context);

/// Prints the summary as the last lines of a table.
void PrintSummary(const Summary& summary);
/// Adds the summary's keys to the JSON of a tool.
void AddSummaryJson(const Summary& summary, nlohmann::json& json);
/// Prints the problems on stderr, and sets the exit code if there are any.
void ReportProblems(const Summary& summary, AppContext& context);

}  // namespace msc::gym
