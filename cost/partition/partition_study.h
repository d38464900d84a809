#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/partition/problem.h"
#include "compiler/partition/search/search.h"
#include "cost/partition/boundary.h"
#include "cost/partition/lazy_study.h"
#include "cost/partition/learned_study.h"
#include "cost/partition/plan_times.h"
#include "cost/partition/region_costs.h"

namespace msc::cost {

struct StudyOptions {
  std::vector<std::string> targets;  ///< first ones first, for greedy
  std::string search = "exact";      ///< see FindSearch
  /// Measure only what may be on a better cover by the model of costs, which has learned, where it
  /// knows enough of one target: see LearnedMeasuring. Under side conditions, for other searches
  /// than `exact` and where searches are compared all is measured.
  bool learned = false;
  /// Measure only what may be on a better cover, under these bounds: see MeasureLazily.
  std::optional<LazyBounds> lazy = {};
  std::size_t plans = 3;   ///< best covers that are timed whole
  std::size_t rounds = 3;  ///< of fitting boundaries and solving again
  /// For measuring; 0: as long as it takes. Regions get the first two thirds, those first without
  /// which no cover is likely; then plans of what is known are timed, at least once.
  double seconds = 0;
  /// Searches, besides greedy, whose covers under the same costs are timed whole, for comparison.
  std::vector<std::string> compare = {};
};

/// Where the time of a study went, in seconds.
struct StudySeconds {
  double kernels = 0;        ///< compiling generated code for regions, on all cores
  double build_regions = 0;  ///< compiling and first running them
  double time_regions = 0;
  double build_plans = 0;
  double time_plans = 0;
  double waiting = 0;  ///< for cores on which others measured
  double search = 0;   ///< all searches
  double solve = 0;    ///< of those the first: one solution under the costs of regions
  double all = 0;      ///< of the study, with what is none of these: finding costs that are kept
};

/// A search that was asked for and gave no plan.
struct NoPlan {
  std::string search;
  std::string why;
};

struct StudyResult {
  std::vector<TimedPlan> plans;
  std::vector<NoPlan> without_plan;  ///< searches compared with, greedy among them
  std::optional<std::size_t> best;   ///< among plans; none where nothing ran
  /// The fastest single target and the fastest mix, where both ran: the mix has the ratio at which
  /// it was timed against the target alone, after everything else.
  std::optional<std::size_t> single;
  std::optional<std::size_t> mixed;
  BoundaryCost boundary;
  CoverStatistics statistics;  ///< of the first search
  LearnedUse learned;          ///< of learned measuring
  CoverStatistics lazy;        ///< of lazy measuring: asked, checked and violated count
  std::size_t distinct = 0;    ///< costs that candidates have: those that are alike have one
  /// Of the first search's cover, where boundaries are free: what no cover can cost less than, in
  /// microseconds, and the part that the cover may be above the optimum. Of lazy measuring's where
  /// that is used: then under the bounds it had, which the costs that nobody asked for may break.
  double lower_bound = 0;
  double gap = 0;
  /// Whether that depends on no bound of costs that nobody asked for.
  bool bound_proven = true;
  StudySeconds seconds;
  /// When the oldest of the whole plans' times was taken, where one was kept from another study.
  std::string taken;
  bool stopped = false;
  /// Where time was up, candidates of which nobody knows what they cost: they are in no plan, and
  /// bound and gap are those of the others. 0 where it was not.
  std::size_t unmeasured = 0;
};

/// Why a candidate that measuring did not come to has no cost.
inline constexpr const char* kNotReached = "was not measured: stopped";

/// Measures what the candidates of `problem` cost, or finds it kept, and leaves it there: Invalid
/// where one cannot run, or was not reached when `stop` said true. `progress` hears a line now and
/// then; both may be empty.
void MeasureCandidates(CoverProblem& problem, RegionCosts& costs,
                       const std::function<void(const std::string&)>& progress,
                       const std::function<bool()>& stop);
/// Likewise, where time is short: whole graphs first, which `stop` alone ends, then those regions
/// without which no other cover is likely, then the others, which `late` ends, too.
void MeasureInTime(CoverProblem& problem, RegionCosts& costs,
                   const std::function<void(const std::string&)>& progress,
                   const std::function<bool()>& stop, const std::function<bool()>& late);

/// Likewise, but candidates that the model of `costs` rules out are not measured, see
/// MeasureFastest: they are Invalid, with that as the reason.
LearnedUse MeasureLearnedCandidates(CoverProblem& problem, RegionCosts& costs,
                                    const std::function<void(const std::string&)>& progress,
                                    const std::function<bool()>& stop);

/// Measures what the candidates of `problem` cost, and times the best cover, that of greedy and
/// every single target as whole models in turn. Then fits what boundaries cost, searches again and
/// times the best few covers, until nothing is new. Last, the fastest mix is timed against the
/// fastest single target alone: it is the answer only if it is faster beyond the 95 % interval.
/// Leaves costs in problem.candidates. `progress` hears a line now and then, `stop` ends it all
/// with what there is. UserError where no cover exists.
[[nodiscard]] StudyResult StudyPartitions(CoverProblem& problem, RegionCosts& costs,
                                          PlanTimes& times, const StudyOptions& options,
                                          const std::function<void(const std::string&)>& progress,
                                          const std::function<bool()>& stop);

}  // namespace msc::cost
