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
  /// Groups that no layer reads that could be judged by samples: they have the kL2 scores of their
  /// weights, which do not compare with those of other groups.
  std::vector<std::string> by_weights = {};
};

/// Returns scores from weights alone: kL1, kL2, kFpgm and kRandom. Divides the scores of each layer
/// by their mean, and averages a unit's over the layers of its group. UserError if weights are not
/// finite.
/// Source: Li et al. 2017 (arXiv 1608.08710); He et al. 2019 (FPGM, arXiv 1811.00250) section 3.
[[nodiscard]] UnitScores ScoreWeights(const Graph& graph, const PruneSpace& space,
                                      ScoreMethod method, std::uint64_t seed);

}  // namespace msc
