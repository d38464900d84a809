#pragma once

#include <optional>
#include <span>
#include <vector>

namespace msc::gym {

/// An estimate and the result that followed.
struct EstimatedResult {
  double estimated = 0;
  double measured = 0;
};

/// Where a result was expected before it was measured.
struct ExpectedRange {
  double low = 0;
  double high = 0;
};

/// Share of the results that lie within their ranges, if the errors of estimates do not change.
inline constexpr double kRangeCoverage = 0.8;

/// Returns for each result, in the order of time, the range in which it was expected with
/// probability kRangeCoverage: its estimate, times the ratios of results to estimates seen until
/// then, without a tenth of these at either end. Nothing for the first nine, and where an estimate
/// or result is not positive; these say nothing about others either.
///
/// Source: V. Vovk, A. Gammerman and G. Shafer, "Algorithmic learning in a random world", 2005,
/// conformal prediction with the ratio as nonconformity measure.
[[nodiscard]] std::vector<std::optional<ExpectedRange>> RangesFromEarlier(
    std::span<const EstimatedResult> results);

}  // namespace msc::gym
