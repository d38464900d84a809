#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/partition/problem.h"
#include "compiler/partition/search/search.h"
#include "cost/partition/boundary.h"
#include "cost/partition/forecast.h"
#include "cost/partition/region_costs.h"

namespace msc::cost {

/// What learned costs saved a study, and what they are worth.
struct LearnedUse {
  std::map<std::string, LearnedError> errors;  ///< by target with its version
  ForecastError here;                          ///< on the regions that were measured after all
  std::size_t skipped = 0;                     ///< costs that were not measured, in the end
  std::size_t audited = 0;                     ///< of those ruled out, drawn and measured after all
  std::size_t wrong = 0;  ///< of those, cheaper than what ruled them out: than their bounds, or
                          ///< than another candidate of the same nodes
  /// More than one was wrong: all was measured.
  bool given_up = false;
};

/// Measures candidates by their numbers: their costs, in that order.
using CandidateMeter = std::function<std::vector<Cost>(std::span<const std::uint32_t>)>;

/// Measures what may be on a cover of least cost by what the model of `costs` predicts: see
/// FindCoverLazily. Costs that nobody asked for count as half a deviation below their Forecast:
/// that a dozen of them are as low on one cover is rare.
class LearnedMeasuring {
 public:
  /// All outlive this; `costs` has a model. `alike` as in LazyOptions.
  /// `stop` may be empty: where it says true, no more is asked for.
  LearnedMeasuring(CoverProblem& problem, RegionCosts& costs, std::span<const std::uint32_t> alike,
                   CandidateMeter measure, std::function<bool()> stop = {});

  /// Leaves in the problem what its candidates cost, as far as that is asked for; the rest stays
  /// unknown. At first that are those of targets that the model does not know, what was measured
  /// before, the largest regions, which plans are compared with, and those on best covers under
  /// costs drawn as they are forecast, the most likely cover before the others, so that little time
  /// suffices for a plan; then what is unknown on the best cover, until a cover of known costs is
  /// within 2 % of the bound; then, if anything was measured that was not known, eight drawn at
  /// random, again and again while more than four of them are below their bounds. `boundary`: what
  /// boundaries cost besides. A Failure where no cover exists, or it was stopped.
  [[nodiscard]] Result<Cover> Ask(const SearchOptions& options, const BoundaryCost& boundary = {});

  [[nodiscard]] LearnedUse Use();

 private:
  /// Candidates on the best covers under costs that are drawn as they are forecast, a few times.
  [[nodiscard]] std::vector<std::uint32_t> LikelyInPlans(const SearchOptions& options) const;
  /// Candidates on the best cover where unknown costs are so many deviations above what is likely,
  /// by their number; none where there is no cover.
  [[nodiscard]] std::vector<std::uint32_t> BestAt(
      const std::function<double(std::uint32_t)>& deviations, const SearchOptions& options) const;

  CoverProblem& problem_;
  RegionCosts& costs_;
  std::vector<std::uint32_t> alike_;
  CandidateMeter measure_;
  std::function<bool()> stop_;
  Forecast forecast_;
};

/// Leaves in `problem` what its candidates cost, but for those that are likely to cost more than
/// another one of the same nodes that was measured, together with what turning images between them
/// may take: these stay unknown. Of the candidates of each set of nodes the one that is likely to
/// be the fastest is measured first. A cover with one that is left out costs no less with the other
/// one in its place, whatever boundaries cost. Eight of those left out are drawn at random; where
/// more than one is faster than what ruled it out, all are measured. Nothing is ruled out where
/// there are side conditions, nor the largest regions, which other plans are compared with. `costs`
/// has a model.
[[nodiscard]] LearnedUse MeasureFastest(CoverProblem& problem, RegionCosts& costs,
                                        std::span<const std::uint32_t> alike,
                                        const CandidateMeter& measure);

/// What it may cost more, at most, that `other` is on a cover instead of `candidate`, besides their
/// costs: images that it exchanges in another form are turned. Infinite where they cannot be. Both
/// have the same nodes.
[[nodiscard]] double Detour(const CoverProblem& problem, const Candidate& candidate,
                            const Candidate& other);

}  // namespace msc::cost
