#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cost/track/bisect.h"
#include "cost/track/stage.h"

namespace msc::gym {

/// Results of `mscgym track`.
struct TrackReport {
  std::string model;
  double tolerance = 0;
  std::vector<cost::StageComparison> stages;
  std::vector<std::pair<std::string, cost::BisectResult>> bisections;  ///< by stage
  std::int64_t left_out = 0;  ///< values that did not fit into the store
};

/// Returns the result in sentences, one a line: which value of which stage departs first, or that
/// none does and how large the largest error is; and what a bisection blames.
[[nodiscard]] std::string TrackVerdict(const TrackReport& report);

void PrintTrackTable(const TrackReport& report);
void PrintTrackJson(const TrackReport& report);

}  // namespace msc::gym
