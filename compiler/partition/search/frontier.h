#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/partition/problem.h"
#include "compiler/partition/search/table.h"

namespace msc::detail {

/// Input of RunFrontier.
struct FrontierConfig {
  /// Nodes to cover: [begin, end). No piece has nodes on both sides of either end, and no labelled
  /// tensor crosses it.
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<Cut> cuts = {};  ///< sorted by the first node of their first pieces
  /// Number of states kept for each first uncovered node (beam width); 0 keeps all.
  std::size_t width = 0;
  /// Only covers that cost less than this are searched for.
  Picoseconds below = kNever;
  /// Limits of SearchOptions; 0 if there is none.
  std::int64_t max_bytes = 0;
  std::int64_t max_states = 0;
};

/// Result of RunFrontier.
struct FrontierResult {
  std::vector<std::uint32_t> pieces;  ///< the cover found; empty if there is none
  Picoseconds cost = kNever;
  /// Every cover that respects the cuts and costs less than FrontierConfig::below costs at least
  /// this.
  Picoseconds lower_bound = 0;
  bool complete = false;  ///< whether no state was dropped for width or limits
  /// The farthest node at which a state ended because no piece could cover it without covering
  /// others twice.
  std::size_t stuck = 0;
  CoverStatistics statistics;
};

/// Covers nodes in order. Only three things about a partial cover matter for the rest: its first
/// uncovered node, the covered nodes beyond it, and the labels of the tensors between covered and
/// uncovered nodes. Partial covers that agree in these are one state. Each cover is one path of
/// states, and all steps go forward. A state is dropped if its cost plus the dual prices of its
/// uncovered nodes reaches `below`, or if another state can be turned into it for no more than the
/// difference of their costs. Covers whose regions wait for each other are not excluded; callers
/// add cuts for them.
/// Source: dynamic programming over down-sets as in Tarnawski et al., "Efficient Algorithms for
/// Device Placement of DNN Graph Operators" (NeurIPS 2020), section 4, in the order of the first
/// uncovered node as in TVM RFC 0062.
[[nodiscard]] FrontierResult RunFrontier(const Table& table, const FrontierConfig& config);

}  // namespace msc::detail
