#pragma once

#include <cstdint>
#include <vector>

#include "compiler/partition/search/lazy.h"

namespace msc {

/// Options of LearnBounds.
struct BoundOptions {
  double start = 0.9;      ///< initial factors f and g
  double quantile = 0.05;  ///< a factor is this quantile of the observed ratios
  double rate_part = 0.9;  ///< fraction of the observed microseconds per byte of light nodes
};

/// Returns a source of lower bounds that it learns from the costs of each target's units, for
/// FindCoverLazily, which measures `units` first. Units are candidates that a target computes in
/// one call, overlap little, and together contain all nodes that the target supports
/// (UnitCandidates of generate.h).
///
/// The bounds rest on three assumptions about each target:
/// - a region costs at least f times its prediction, the sum of its units' costs less a saving for
///   each pair of neighbouring units. Initially the saving is a constant plus an amount per byte
///   that need not be exchanged, both fitted once four regions are known; then the saving of each
///   pair is fitted to the known regions that contain the pair;
/// - a region that contains the convolutions and matrix products (kAnchor) of a unit, but not all
///   of its nodes, costs at least g times that unit, since the missing nodes are light;
/// - all other nodes write at most r bytes per microsecond.
///
/// f and g begin at options.start. Later f is a quantile of the ratios of answers to the
/// predictions made before them, and g a quantile of the ratios of known costs; both are at most 1.
/// r comes from the known regions without anchors; with fewer than two of them other nodes count as
/// free. The bounds are therefore not proven: every further answer tests them, and answers below
/// their bounds lower the factors. Bounds that unknown costs of `problem` already have stay in
/// force.
[[nodiscard]] BoundSource LearnBounds(const CoverProblem& problem,
                                      const std::vector<std::uint32_t>& units,
                                      const BoundOptions& options = {});

/// Returns a source of the lower bounds that unknown costs of `problem` have now, all multiplied by
/// one factor: the least ratio of an answer to its bound, at most 1. For bounds with a common cause
/// of error, such as a machine's peak that was measured while the machine was busy: if one bound is
/// too high, the others may be, too. While all answers meet their bounds, the factor is 1.
[[nodiscard]] BoundSource LowerGivenBounds(const CoverProblem& problem);

}  // namespace msc
