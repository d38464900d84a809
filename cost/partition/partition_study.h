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

struct PartitionStudyOptions {
  std::vector<std::string> targets;  ///< in order of priority, for greedy
  std::string search = "exact";      ///< see FindSearch
  /// Measure only regions that a better cover may contain, according to the model of costs, if it
  /// knows at least one target; see LearnedMeasuring. With side conditions, with other searches
  /// than `exact`, and if searches are compared, everything is measured.
  bool learned = false;
  /// Measure only regions that a better cover may contain under these bounds; see MeasureLazily.
  std::optional<LazyBounds> lazy = {};
  std::size_t plans = 3;   ///< best covers that are timed as whole plans
  std::size_t rounds = 3;  ///< most rounds of fitting boundaries and searching again
  /// Time limit for measuring; 0 = none. Regions get the first two thirds, in the order of
  /// MeasureInTime. Then plans of known regions are timed, at least once.
  double seconds = 0;
  /// Further searches whose covers under the same costs are timed as whole plans, besides greedy.
  std::vector<std::string> compare = {};
};

/// How the time of a study was spent, in seconds.
struct StudySeconds {
  double kernels = 0;        ///< compiling generated code for regions, on all cores
  double build_regions = 0;  ///< compiling regions and running them once
  double time_regions = 0;
  double build_plans = 0;
  double time_plans = 0;
  double waiting = 0;  ///< for cores on which other processes measured
  double search = 0;   ///< all searches
  double solve = 0;    ///< the first search only, under the costs of regions
  /// The whole study, including the time to find cached costs, which is in none of the others.
  double all = 0;
};

/// A requested search that found no plan.
struct NoPlan {
  std::string search;
  std::string why;
};

struct PartitionStudyResult {
  std::vector<TimedPartition> plans;
  std::vector<NoPlan> without_plan;  ///< of the compared searches, including greedy
  std::optional<std::size_t> best;   ///< index of a plan; missing if nothing ran
  /// The fastest single target and the fastest combination of targets, if both ran. The ratio of
  /// the combination is from the last measurement, against this target only.
  std::optional<std::size_t> single;
  std::optional<std::size_t> mixed;
  BoundaryCost boundary;
  CoverStatistics statistics;  ///< of the first search
  LearnedUse learned;          ///< of learned measuring
  CoverStatistics lazy;        ///< of lazy measuring: asked, checked and violated are set
  std::size_t distinct = 0;    ///< number of different costs; candidates of equal cost count once
  /// Lower bound on the cost of any cover in microseconds, and the gap of the found cover to it,
  /// relative to its cost. Both are for free boundaries and come from the first search. With lazy
  /// measuring they come from its cover and hold under its bounds, which costs that were not
  /// requested may violate.
  double lower_bound = 0;
  double gap = 0;
  /// Whether bound and gap do not depend on bounds of costs that were not requested.
  bool bound_proven = true;
  StudySeconds seconds;
  /// When the oldest of the plans' times was measured, if one was cached from another study.
  std::string taken;
  bool stopped = false;
  /// If time was up, candidates of unknown cost. No plan contains them, and bound and gap ignore
  /// them. 0 if time was not up.
  std::size_t unmeasured = 0;
};

/// Measures the candidates of `problem`, stores their costs there, and times whole plans.
///
/// First it times the best cover, that of greedy and every single target, interleaved. Then it fits
/// the price of boundaries, searches again and times the best few covers, until there are no new
/// ones. Last it times the fastest combination of targets against the fastest single target alone.
/// The combination is the result only if it is faster beyond the 95 % interval. `progress`
/// occasionally receives a line of text; `stop` ends the study with the results so far. UserError
/// if no cover exists.
[[nodiscard]] PartitionStudyResult StudyPartitions(
    CoverProblem& problem, RegionCosts& costs, PlanTimes& times,
    const PartitionStudyOptions& options, const std::function<void(const std::string&)>& progress,
    const std::function<bool()>& stop);

}  // namespace msc::cost
