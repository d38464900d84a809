#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/partition/problem.h"
#include "compiler/partition/search/table.h"

namespace msc::detail {

/// Pieces that may not all be chosen, by first node.
using Cut = std::vector<std::uint32_t>;

struct FrontierConfig {
  /// Nodes to cover: begin .. end - 1. No piece has nodes on both sides of either, and no labelled
  /// tensor crosses them.
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<Cut> cuts = {};  ///< by their first piece
  /// States kept for each first uncovered node; 0 for all.
  std::size_t width = 0;
  /// Only covers that cost less are looked for.
  Picoseconds below = kNever;
  std::int64_t max_bytes = 0;
  std::int64_t max_states = 0;
};

struct FrontierResult {
  std::vector<std::uint32_t> pieces;  ///< the cover found; empty if there is none
  Picoseconds cost = kNever;
  /// No cover that keeps the cuts and costs less than FrontierConfig::below costs less than this.
  Picoseconds lower_bound = 0;
  bool complete = false;  ///< nothing was left out for width or limits
  /// Of the states reached, the first node that no piece could cover without covering others twice.
  std::size_t stuck = 0;
  CoverStatistics statistics;
};

/// Covers nodes in order: of a partial cover only its first uncovered node, what is covered beyond
/// it, and the labels of the tensors in between matter, so partial covers that agree in these are
/// one state. Each cover is one path, whose steps all go forward; a state is dropped where its cost
/// and the prices of what it leaves uncovered reach `below`, or where another one can be turned
/// into it for no more than the difference of their costs. Covers whose regions wait for each other
/// are not excluded: that takes cuts. Source: dynamic programming over down-sets as in Tarnawski et
/// al., "Efficient Algorithms for Device Placement of DNN Graph Operators" (NeurIPS 2020), section
/// 4, in the order of the first uncovered node as in TVM RFC 0062.
[[nodiscard]] FrontierResult RunFrontier(const Table& table, const FrontierConfig& config);

}  // namespace msc::detail
