#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compress/prune/score.h"

namespace msc {

/// How many units stay in each group.
struct PruneRequest {
  double density = 1.0;                          ///< share of units that stay, in (0, 1]
  std::map<std::string, double> densities = {};  ///< densities of single groups
  std::optional<double> macs = {};   ///< share of multiply-adds that stays, instead of densities
  std::optional<double> bytes = {};  ///< share of the constants' bytes, likewise
  double least = 0.1;                ///< share of every group that stays under a budget, in (0, 1]
  std::int64_t align = 1;  ///< a layer keeps a multiple of it, if it has that many channels
  std::map<std::string, std::int64_t> alignments = {};  ///< alignments of single groups
};

/// Returns the plan that keeps the best units of every group. Rounds counts to the nearest multiple
/// of `align`, ties to the even one, so that densities are met on average. Meets a budget by one
/// threshold over the scores of all groups, found by bisection; divides scores that are errors by
/// what a unit of that group saves. UserError if a number is out of range, a group is unknown, both
/// densities and a budget are given, or the budget cannot be reached (the message says what can).
[[nodiscard]] PrunePlan ChoosePlan(const Graph& graph, const PruneSpace& space,
                                   const UnitScores& scores, const PruneRequest& request);

/// Returns the multiply-adds of the whole graph, as KeptMacs counts them.
[[nodiscard]] double TotalMacs(const Graph& graph, const PruneSpace& space,
                               const std::vector<bool>& kept);

}  // namespace msc
