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

/// What learned costs saved in a study, and how reliable they were.
struct LearnedUse {
  std::map<std::string, LearnedError> errors;  ///< by target with its version
  ForecastError here;                          ///< on regions that were measured after all
  std::size_t skipped = 0;                     ///< costs that were not measured in the end
  std::size_t audited = 0;  ///< costs that were ruled out, then drawn and measured
  /// Audited costs below the value that ruled them out: their bounds, or the cost of another
  /// candidate of the same nodes.
  std::size_t wrong = 0;
  /// More than one was wrong, so everything was measured.
  bool given_up = false;
};

/// Measures the candidates of these indices and returns their costs in the same order.
using CandidateMeter = std::function<std::vector<Cost>(std::span<const std::uint32_t>)>;

/// Measures the candidates that may be on a cover of least cost, according to the model of `costs`;
/// see FindCoverLazily. An unknown cost counts as half a standard deviation below its Forecast: it
/// is rare that a dozen costs on one cover are all that low.
class LearnedMeasuring {
 public:
  /// All arguments must outlive this object; `costs` must have a model. `alike` is that of
  /// LazyOptions. Once `stop` (optional) returns true, nothing more is requested.
  LearnedMeasuring(CoverProblem& problem, RegionCosts& costs, std::span<const std::uint32_t> alike,
                   CandidateMeter measure, std::function<bool()> stop = {});

  /// Requests costs and stores them in the problem; all others remain unknown. Returns the best
  /// cover, or a Failure if no cover exists or it was stopped. `boundary` is the price of
  /// boundaries.
  ///
  /// 1. Measures the most likely cover first, so that a plan exists even if time is short.
  /// 2. Requests the candidates of targets that the model does not know, those measured before, the
  ///    largest regions, with which plans are compared, and those on best covers under costs drawn
  ///    from the forecast.
  /// 3. Requests unknown costs on the best cover, until a cover of known costs is within 2 % of the
  ///    bound.
  /// 4. If anything was measured that was not cached, draws eight candidates at random and requests
  ///    them. While more than four of them are below their bounds, it continues and draws again.
  [[nodiscard]] Result<Cover> Ask(const SearchOptions& options, const BoundaryCost& boundary = {});

  /// Returns what the model saved and how reliable it was.
  [[nodiscard]] LearnedUse Use();

 private:
  /// Returns the candidates on best covers under costs drawn from the forecast, several times.
  [[nodiscard]] std::vector<std::uint32_t> LikelyInPlans(const SearchOptions& options) const;
  /// Returns the candidates on the best cover under the forecast for unknown costs. `deviations`
  /// maps a number of `alike` to standard deviations above the likely cost. Returns no candidates
  /// if there is no cover.
  [[nodiscard]] std::vector<std::uint32_t> BestAt(
      const std::function<double(std::uint32_t)>& deviations, const SearchOptions& options) const;

  CoverProblem& problem_;
  RegionCosts& costs_;
  std::vector<std::uint32_t> alike_;
  CandidateMeter measure_;
  std::function<bool()> stop_;
  Forecast forecast_;
};

/// Measures candidates and stores their costs in `problem`. Skips those that likely cost more than
/// a measured candidate of the same nodes plus the layout conversions of replacing one by the other
/// (Detour). These remain unknown.
///
/// For each set of nodes, the candidate that is likely the fastest is measured first. A cover with
/// a skipped candidate costs no less than with its rival, whatever boundaries cost. Eight skipped
/// candidates are drawn at random and measured; if more than one is faster than the rival that
/// ruled it out, all are measured. Nothing is skipped if there are side conditions, and the largest
/// regions are never skipped, because other plans are compared with them. `costs` must have a
/// model.
[[nodiscard]] LearnedUse MeasureFastest(CoverProblem& problem, RegionCosts& costs,
                                        std::span<const std::uint32_t> alike,
                                        const CandidateMeter& measure);

/// Returns an upper bound on the additional cost of layout conversions if `other` replaces
/// `candidate` on a cover, apart from the costs of the two. Infinite if the conversions are
/// impossible. Both must have the same nodes.
[[nodiscard]] double DetourBound(const CoverProblem& problem, const CandidateRegion& candidate,
                                 const CandidateRegion& other);

}  // namespace msc::cost
