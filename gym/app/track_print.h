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

void PrintTrackTable(const TrackReport& report);
void PrintTrackJson(const TrackReport& report);

}  // namespace msc::gym
