#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/partition/dataflow.h"

namespace msc {

/// Nodes that a target computes in one call: a fused operator or a single node; or a node that it
/// does not support.
struct Unit {
  IndexSet nodes;
  bool taken = true;  ///< whether the target supports it
};

/// Which regions MakeRegions builds.
struct RegionOptions {
  /// Runs of up to this many neighbouring units start at every unit. Longer runs double in length,
  /// and start at every half of their length.
  std::size_t max_run = 4;
  /// Whether to build runs at all; without them there are only units and the largest regions.
  bool runs = true;
};

/// The nodes of a candidate, and the rule that generated it.
struct RegionNodes {
  IndexSet nodes;
  std::string rule;
};

/// Returns `units`, which must be disjoint, in an order in which they can run: depth-first
/// post-order. Splits units that wait for each other or are not convex into single nodes. Nodes
/// that are in no unit become units that are not taken.
[[nodiscard]] std::vector<Unit> OrderUnits(const DataflowGraph& flow, std::vector<Unit> units);

/// Returns the regions of a target, each once, from `units` in the order of OrderUnits:
/// - "unit": each unit by itself;
/// - "run": neighbours in this order, see RegionOptions;
/// - "greedy": the largest regions: maximal runs of taken neighbours, and connected taken units
///   with the same maximal number of changes between taken and not taken on a path to them;
/// - "whole": all units, if all are taken.
///
/// All regions are convex. There are O(units * max_run) of them.
[[nodiscard]] std::vector<RegionNodes> MakeRegions(const DataflowGraph& flow,
                                                   const std::vector<Unit>& units,
                                                   const RegionOptions& options = {});

}  // namespace msc
