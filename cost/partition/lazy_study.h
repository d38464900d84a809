#pragma once

#include <cstdint>
#include <span>

#include "compiler/base/result.h"
#include "compiler/partition/search/search.h"
#include "cost/partition/learned_study.h"

namespace msc::cost {

/// Leaves in `problem` what its candidates cost as far as FindCoverLazily asks for it under bounds
/// that LearnBounds learns: first units and whole graphs, then an eighth of the best cover at a
/// time, until all of it is known; then four drawn at random, of which one may be below its bound.
/// The rest stays unknown, with the last bounds. `alike` as in LazyOptions.
[[nodiscard]] Result<Cover> MeasureLazily(CoverProblem& problem,
                                          std::span<const std::uint32_t> alike,
                                          const SearchOptions& options,
                                          const CandidateMeter& measure);

}  // namespace msc::cost
