#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/partition/dataflow.h"

namespace msc {

/// What a target takes as one: a fused operator, a single node, or nodes that it cannot compute.
struct Unit {
  IndexSet nodes;
  bool taken = true;  ///< the target can compute it
};

struct RegionOptions {
  /// Regions of so many neighbouring units and fewer are made at every place; longer ones, of twice
  /// the length each time, at every half of their length.
  std::size_t max_run = 4;
  /// Whether runs are made at all; without them, only units and the largest regions.
  bool runs = true;
};

/// Nodes for a candidate, and which rule made it.
struct RegionNodes {
  IndexSet nodes;
  std::string rule;
};

/// `units`, which are disjoint, in an order in which they can run: depth-first post-order. Those
/// that wait for each other, or are not convex, fall apart into nodes; nodes in no unit become
/// units that are not taken.
[[nodiscard]] std::vector<Unit> OrderUnits(const DataflowGraph& flow, std::vector<Unit> units);

/// Regions of a target, each once, of `units` as OrderUnits gives them:
/// - "unit": each by itself;
/// - "run": neighbours in the order, see RegionOptions;
/// - "greedy": the largest ones: neighbours in the order as far as they reach, and connected units
/// with
///   equally many changes of who computes on the longest way to them;
/// - "whole": all, where all are taken.
/// All are convex. O(units * max_run) of them.
[[nodiscard]] std::vector<RegionNodes> MakeRegions(const DataflowGraph& flow,
                                                   const std::vector<Unit>& units,
                                                   const RegionOptions& options = {});

}  // namespace msc
