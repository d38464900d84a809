#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compress/prune/prune.h"

namespace msc {

/// How the importance of units is scored. All scores are larger for units that should stay.
enum class ScoreMethod : std::uint8_t {
  kL1,      ///< sum of |w| of the weights that compute the unit's channels
  kL2,      ///< root of the sum of w^2
  kFpgm,    ///< distance to the other units' weights; those near the geometric median are redundant
  kRandom,  ///< random scores, as a control
  kEnergy,  ///< output energy that later layers lose; from calibration data
  kObs,     ///< error of later layers after their other weights compensate; from calibration data
  kTaylor,  ///< first-order change of the loss; from calibration data and gradients
};
[[nodiscard]] std::string_view Name(ScoreMethod method);  ///< "l1", "l2", "fpgm", "random", ...
/// UserError that lists the names if `name` is none of them.
[[nodiscard]] ScoreMethod ParseScoreMethod(std::string_view name);
[[nodiscard]] bool NeedsCalibration(ScoreMethod method);

/// Scores of all units.
struct UnitScores {
  std::vector<double> of_unit;  ///< by unit number; finite, >= 0
  /// Whether scores are errors that add up over groups, so that they may be weighed against what a
  /// unit saves. Other scores are relative to the mean of their group.
  bool are_errors = false;
};

/// Returns scores from weights alone: kL1, kL2, kFpgm and kRandom. Divides the scores of each layer
/// by their mean, and averages a unit's over the layers of its group. UserError if weights are not
/// finite.
/// Source: Li et al. 2017 (arXiv 1608.08710); He et al. 2019 (FPGM, arXiv 1811.00250) section 3.
[[nodiscard]] UnitScores ScoreWeights(const Graph& graph, const PruneSpace& space,
                                      ScoreMethod method, std::uint64_t seed);

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
