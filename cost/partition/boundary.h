#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/partition/problem.h"
#include "cost/partition/region_protocol.h"

namespace msc::cost {

/// One way to run the model that is timed as a whole.
struct TimedPlan {
  std::string name;  ///< "onednn", "greedy", "plan 1"
  /// Searches that found the same: "greedy", "collage".
  std::vector<std::string> also = {};
  RegionRunner runner = {};  ///< what is compiled
  /// Candidates; empty where one target gets the whole graph.
  std::vector<std::uint32_t> chosen = {};
  /// Sum of the costs of `chosen` and of the conversions between them, as measured one by one;
  /// absent where there is none.
  std::optional<double> predicted_micros = {};
  std::optional<double> measured_micros = {};  ///< whole; absent where it failed
  /// Time by that of the fastest single target (where pins exclude those, of the fastest first
  /// plan), measured in turn with it.
  double ratio = 0;
  double ratio_low = 0;
  double ratio_high = 0;
  std::string failure = {};  ///< why it was not measured
};

/// What a boundary between regions costs besides the regions: fitted to whole plans.
struct BoundaryCost {
  /// What the fastest single target took as a whole by what it cost as a region: how far costs of
  /// regions are off where there is no boundary. Between 0.8 and 1.25.
  double scale = 1;
  double micros_per_region = 0;
  double micros_per_byte = 0;  ///< of what regions hand over
};

/// Least squares of (measured / scale - sum of regions) over regions beyond the first and bytes
/// handed over, both at least 0, relative to the measured time.
[[nodiscard]] BoundaryCost FitBoundary(const CoverProblem& problem,
                                       const std::vector<TimedPlan>& plans);

/// The same problem with boundaries priced into the candidates, into the lower bounds of those
/// whose costs are unknown, too: whatever a region makes that others read crosses one.
[[nodiscard]] CoverProblem WithBoundaries(const CoverProblem& problem,
                                          const BoundaryCost& boundary);

}  // namespace msc::cost
