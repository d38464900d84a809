#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/partition/problem.h"
#include "compiler/partition/search/search.h"
#include "cost/model/outcome.h"
#include "cost/partition/region_costs.h"

namespace msc::cost {

/// The problem of covering the bound canonical graph `plain` with what `targets` could compute of
/// it; `source` is the same graph with a strategy's precisions. Costs are unknown. UserError where
/// `targets` is empty or has one that is not there.
[[nodiscard]] CoverProblem ProposeRegions(const Graph& plain, const RegionSource& source,
                                          std::span<const std::string> targets,
                                          const TargetRegistry& registry);

/// Names of the nodes of a candidate, in the problem's order.
[[nodiscard]] std::vector<std::string> NodeNames(const CoverProblem& problem,
                                                 const Candidate& candidate);

/// One way to run the model that is timed as a whole.
struct TimedPlan {
  std::string name;          ///< "onednn", "greedy", "plan 1"
  RegionRunner runner = {};  ///< what is compiled
  /// Candidates; empty where one target gets the whole graph.
  std::vector<std::uint32_t> chosen = {};
  /// Sum of the costs of `chosen`, as measured one by one; absent where there is none.
  std::optional<double> predicted_micros = {};
  std::optional<double> measured_micros = {};  ///< whole; absent where it failed
  /// Time by that of the fastest single target (where pins exclude those, of the fastest first
  /// plan), measured in turn with it.
  double ratio = 0;
  double ratio_low = 0;
  double ratio_high = 0;
  std::string failure = {};  ///< why it was not measured
};

/// What a boundary between regions costs besides the regions: fitted to whole plans.
struct BoundaryCost {
  double micros_per_region = 0;
  double micros_per_byte = 0;  ///< of what regions hand over
};
/// Least squares of (measured - sum of regions) over regions beyond the first and bytes handed
/// over, both at least 0, relative to the measured time.
[[nodiscard]] BoundaryCost FitBoundary(const CoverProblem& problem,
                                       const std::vector<TimedPlan>& plans);

struct StudyOptions {
  std::vector<std::string> targets;  ///< first ones first, for greedy
  std::string search = "exact";      ///< see FindSearch
  bool lazy = false;                 ///< measure candidates of the best cover alone: exact
  std::size_t plans = 3;             ///< best covers that are timed whole
  std::size_t rounds = 3;            ///< of fitting boundaries and solving again
  LatencyOptions latency;            ///< of whole plans
  double tolerance = 1e-3;           ///< of their outputs, against the first that runs
};

struct StudyResult {
  std::vector<TimedPlan> plans;
  std::optional<std::size_t> best;  ///< among plans; none where nothing ran
  BoundaryCost boundary;
  CoverStatistics statistics;  ///< of the first search
  double gap = 0;              ///< of the first search's cover
  double search_seconds = 0;   ///< of the searches, measuring excluded
  bool stopped = false;
};

/// Measures what the candidates of `problem` cost, finds covers, and times the best few, those that
/// greedy and every single target give, as whole models in turn. Then fits what boundaries cost,
/// searches again and times what is new, until nothing is. The best is the fastest measured one; a
/// plan that is not faster than the fastest single target beyond the 95 % interval gives way to it.
/// Leaves costs in problem.candidates. `progress` hears a line now and then, `stop` ends it all
/// with what there is. UserError where no cover exists.
[[nodiscard]] StudyResult StudyPartitions(CoverProblem& problem, RegionCosts& costs,
                                          RegionMeter& meter, const StudyOptions& options,
                                          const std::function<void(const std::string&)>& progress,
                                          const std::function<bool()>& stop);

/// The chosen candidates as a plan: what Strategy::partition holds.
[[nodiscard]] std::vector<PartitionRegion> PlanOf(const CoverProblem& problem,
                                                  const std::vector<std::uint32_t>& chosen);

}  // namespace msc::cost
