#pragma once

#include <cstdint>
#include <span>

#include "compiler/base/result.h"
#include "compiler/partition/search/search.h"
#include "cost/partition/learned_study.h"

namespace msc::cost {

/// Bounds that lazy measuring uses for costs that were not requested.
enum class LazyBounds : std::uint8_t {
  kLearned,  ///< bounds that LearnBounds learns from known costs, and the given ones
  kGiven,    ///< only given bounds, see BoundByRoof
};

/// Measures the costs that FindCoverLazily requests and stores them in `problem`. Other costs
/// remain unknown, with their last bounds.
///
/// With learned bounds it first requests units and whole graphs. Then it requests an eighth of the
/// best cover at a time, until all of it is known. At last it requests four candidates drawn at
/// random, of which one may be below its bound. With given bounds it requests an eighth of the best
/// cover at a time, and lowers the bounds if an answer is below its own (LowerGivenBounds). As far
/// as the bounds then are true, the cover is optimal whatever the other costs are. `alike` and
/// `stop` are those of LazyOptions.
[[nodiscard]] Result<Cover> MeasureLazily(CoverProblem& problem,
                                          std::span<const std::uint32_t> alike, LazyBounds bounds,
                                          const SearchOptions& options,
                                          const CandidateMeter& measure,
                                          const std::function<bool()>& stop = {});

}  // namespace msc::cost
