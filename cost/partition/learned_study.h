#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/partition/problem.h"
#include "cost/partition/region_costs.h"

namespace msc::cost {

/// Between what a cost lies; known where both are the same.
struct CostRange {
  double low = 0;
  double high = 0;
};

/// For each candidate another one of the same nodes and labels that costs less, if the ranges hold:
/// the one whose cost is least at most. Such a candidate is on no cover of least cost. Nothing
/// where there is none, or nothing is known of its cost. Nobody who rules others out is ruled out.
[[nodiscard]] std::vector<std::optional<std::uint32_t>> RuledOut(
    const CoverProblem& problem, std::span<const std::optional<CostRange>> costs);

/// What learned costs saved a study, and what they are worth.
struct LearnedUse {
  std::map<std::string, LearnedError> errors;  ///< by target with its version
  std::size_t skipped = 0;                     ///< costs that were not measured, in the end
  std::size_t audited = 0;                     ///< of those ruled out, drawn and measured after all
  std::size_t wrong = 0;                       ///< of those, cheaper than what ruled them out
  /// More than one was wrong: all was measured.
  bool given_up = false;
};

/// Measures candidates by their numbers: their costs, in that order.
using CandidateMeter = std::function<std::vector<Cost>(std::span<const std::uint32_t>)>;

/// Leaves in `problem` what its candidates cost, but for those that others rule out by what the
/// model of `costs` predicts: these stay unknown. Candidates whose rival turns out not to run are
/// measured after all, and eight others drawn at random, to see whether the model is to be
/// believed. Nothing is ruled out where there are side conditions, nor the largest regions, which
/// other plans are compared with. `costs` has a model.
[[nodiscard]] LearnedUse MeasureLearned(CoverProblem& problem, RegionCosts& costs,
                                        const CandidateMeter& measure);

}  // namespace msc::cost
