#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/partition/problem.h"
#include "cost/partition/region_protocol.h"

namespace msc::cost {

/// A way to run the model that is timed as a whole.
struct TimedPartition {
  std::string name;  ///< "onednn", "greedy", "plan 1"
  /// Searches that found the same plan, such as "greedy" and "collage".
  std::vector<std::string> also = {};
  RegionRunner runner = {};  ///< target or plan to compile
  /// Chosen candidates; empty if one target runs the whole graph.
  std::vector<std::uint32_t> chosen = {};
  /// Sum of the separately measured costs of `chosen` and of the layout conversions between them;
  /// missing if unknown.
  std::optional<double> predicted_micros = {};
  std::optional<double> measured_micros = {};  ///< time of the whole plan; missing if it failed
  /// Time relative to the fastest single target (if pins exclude those, to the fastest of the first
  /// plans), measured interleaved with it; with a 95 % interval.
  double ratio = 0;
  double ratio_low = 0;
  double ratio_high = 0;
  std::string failure = {};  ///< why it was not measured
};

/// Cost of a boundary between regions beyond the costs of the regions, fitted to whole plans.
struct BoundaryCost {
  /// Time of the fastest single target as a whole / its cost as a region: how far region costs are
  /// off without boundaries. Between 0.8 and 1.25.
  double scale = 1;
  double micros_per_region = 0;
  double micros_per_byte = 0;  ///< of values that regions hand over
};

/// Fits (measured / scale - sum of regions) by least squares, relative to the measured times. The
/// variables are regions beyond the first and bytes handed over, with factors of at least 0.
[[nodiscard]] BoundaryCost FitBoundary(const CoverProblem& problem,
                                       const std::vector<TimedPartition>& plans);

/// Returns the problem with the price of boundaries added to the costs of its candidates, and to
/// the lower bounds of unknown costs: once per region, and per byte of the values that leave it.
[[nodiscard]] CoverProblem WithBoundaries(const CoverProblem& problem,
                                          const BoundaryCost& boundary);

}  // namespace msc::cost
