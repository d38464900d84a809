#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cost/track/bisect.h"
#include "cost/track/stage.h"
#include "gym/app/track_outputs.h"

namespace msc::gym {

/// What a reader has to know if the samples are random.
inline constexpr const char* kRandomNote =
    "The inputs are random: they show whether compiled models compute the same, but say little of "
    "decisions in real use.";

/// Results of `mscgym track`.
struct TrackReport {
  std::string model;
  double tolerance = 0;
  std::vector<cost::StageComparison> stages;
  /// Whether the first stage is that of the strategy, whose values differ by design.
  bool strategy = false;
  OutputsReport outputs;
  bool random = false;  ///< whether the samples are random numbers
  std::vector<std::pair<std::string, cost::BisectResult>> bisections;  ///< by stage
  std::int64_t left_out = 0;  ///< values that did not fit into the store
};

/// Returns what is wrong with the result in a few words, the gravest thing alone: "wrong outputs",
/// "limit missed", "suspicious" or "values depart". Empty if nothing is; otherwise the exit code is
/// kExitInfeasible.
[[nodiscard]] std::string TrackComplaint(const TrackReport& report);

/// Returns the result in sentences, one a line. First what is wrong with the outputs of stages,
/// then of each other stage whether its decisions change and its limits are kept, then which inner
/// value departs first, or that none does and how large the largest error is, and what a bisection
/// blames.
[[nodiscard]] std::string TrackVerdict(const TrackReport& report);

}  // namespace msc::gym
