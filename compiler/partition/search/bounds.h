#pragma once

#include <cstdint>
#include <vector>

#include "compiler/partition/search/search.h"

namespace msc {

struct BoundOptions {
  double start = 0.9;      ///< factors of which nothing is known yet
  double quantile = 0.05;  ///< of the ratios seen: that part of them lies below the factor
  double rate_part = 0.9;  ///< of the rate at which a target's light nodes were seen to run
};

/// Lower bounds of candidates by what the units of their target cost, to be used with
/// FindCoverLazily, which asks for `units` first: candidates, each made in one go, that overlap
/// little and reach all nodes that their target takes (UnitCandidates of generate.h).
///
/// What is taken for granted, for each target by itself:
/// - a region costs at least f times what is predicted: what its units cost one by one, less what
///   each two neighbours save by being together. At first that is so much a pair and so much a byte
///   that is not handed over, both fitted as soon as four regions are known; then, of each pair,
///   what known regions that have it say;
/// - a region that has the convolutions and matrix products (kAnchor) of a unit, but not all of it,
///   costs at least g times that unit: the rest of it is light;
/// - nodes of no such unit write at most r bytes a microsecond.
/// f and g are options.start at first. Then f is a quantile of the answers in parts of what was
/// predicted before they came, g of the ratios of known costs, both 1 at most. r comes from the
/// known regions that have no anchor; without two of them such nodes count as free. So these are no
/// proofs, but statements about the target that each further answer puts to the test; answers below
/// their bounds lower the factors. Bounds that costs come with hold besides.
[[nodiscard]] BoundSource LearnBounds(const CoverProblem& problem,
                                      const std::vector<std::uint32_t>& units,
                                      const BoundOptions& options = {});

/// The lower bounds that unknown costs of `problem` come with, all of them lowered by one factor:
/// the least part of its bound that an answer was, 1 at most. For bounds with a common cause, such
/// as a peak of the machine that was measured while it was busy: where one is too high, so may the
/// others be. True bounds stay as they are.
[[nodiscard]] BoundSource LowerGivenBounds(const CoverProblem& problem);

}  // namespace msc
