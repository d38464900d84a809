#pragma once

#include <cstdint>
#include <span>

#include "compiler/base/result.h"
#include "compiler/partition/search/search.h"
#include "cost/partition/learned_study.h"

namespace msc::cost {

/// What lazy measuring takes for granted of costs that nobody asked for.
enum class LazyBounds : std::uint8_t {
  kLearned,  ///< what LearnBounds learns from the others; and what they come with
  kGiven,    ///< only what they come with (see BoundByRoof)
};

/// Leaves in `problem` what its candidates cost as far as FindCoverLazily asks for it. Under
/// learned bounds: first units and whole graphs, then an eighth of the best cover at a time, until
/// all of it is known; then four drawn at random, of which one may be below its bound. Under given
/// bounds: an eighth of the best cover at a time; these are lowered where an answer is below its
/// own (LowerGivenBounds), and as far as they are true then, that cover is optimal whatever the
/// rest costs. The rest stays unknown, with the last bounds. `alike` and `stop` as in LazyOptions.
[[nodiscard]] Result<Cover> MeasureLazily(CoverProblem& problem,
                                          std::span<const std::uint32_t> alike, LazyBounds bounds,
                                          const SearchOptions& options,
                                          const CandidateMeter& measure,
                                          const std::function<bool()>& stop = {});

}  // namespace msc::cost
