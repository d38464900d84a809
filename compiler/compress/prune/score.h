#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compress/prune/prune.h"

namespace msc {

/// How much each unit matters; all of them larger for what should stay.
enum class ScoreMethod : std::uint8_t {
  kL1,      ///< sum of |w| of the weights that make the unit's channels
  kL2,      ///< root of the sum of w^2
  kFpgm,    ///< distance to the other units' weights: near the geometric median is redundant
  kRandom,  ///< the control
  kEnergy,  ///< output energy that later layers lose, from calibration data
  kObs,  ///< error of later layers once their other weights make up for it, from calibration data
  kTaylor,  ///< what the loss changes by to first order, from calibration data and gradients
};
[[nodiscard]] std::string_view Name(ScoreMethod method);  ///< "l1", "l2", "fpgm", "random", ...
/// UserError listing the words if `name` is none of them.
[[nodiscard]] ScoreMethod ParseScoreMethod(std::string_view name);
[[nodiscard]] bool NeedsCalibration(ScoreMethod method);

struct UnitScores {
  std::vector<double> of_unit;  ///< by unit number; finite, >= 0
  /// Whether they are errors that add up over groups, so that what a unit saves may be weighed
  /// against them. The others are relative to the mean of their group.
  bool are_errors = false;
};

/// Scores from weights alone: kL1, kL2, kFpgm and kRandom. Each layer's are divided by their mean,
/// and a unit's are averaged over the layers of its group. UserError if weights are not finite.
/// Sources: Li et al. 2017 (arXiv 1608.08710); He et al. 2019 (FPGM, arXiv 1811.00250) section 3.
[[nodiscard]] UnitScores ScoreWeights(const Graph& graph, const PruneSpace& space,
                                      ScoreMethod method, std::uint64_t seed);

/// How many units stay where.
struct PruneRequest {
  double density = 1.0;                          ///< share of units that stay, in (0, 1]
  std::map<std::string, double> densities = {};  ///< the same by group
  std::optional<double> macs = {};               ///< instead of densities: share of multiply-adds
  std::optional<double> bytes = {};              ///< likewise of the constants' bytes
  double least = 0.1;      ///< share of every group that a budget leaves, in (0, 1]
  std::int64_t align = 1;  ///< channels a layer keeps are a multiple of it where it has as many
  std::map<std::string, std::int64_t> alignments = {};  ///< the same by group
};

/// The plan that keeps the best units of every group. Counts are rounded to the nearest multiple of
/// `align`, ties to the even one, so that densities are met on average. A budget is met by one
/// threshold over the scores of all groups, found by bisection; scores that are errors are divided
/// by what a unit of that group saves. UserError where a number is out of range, a group is
/// unknown, densities and a budget are given, or the budget cannot be reached (saying what can).
[[nodiscard]] PrunePlan ChoosePlan(const Graph& graph, const PruneSpace& space,
                                   const UnitScores& scores, const PruneRequest& request);

/// Multiply-adds of the whole graph as KeptMacs counts them.
[[nodiscard]] double TotalMacs(const Graph& graph, const PruneSpace& space,
                               const std::vector<bool>& kept);

}  // namespace msc
