#include "cost/partition/given_study.h"

#include <chrono>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "cost/partition/propose.h"

namespace msc::cost {

PartitionStudyResult CoverWithGivenCosts(const CoverProblem& problem,
                                         const PartitionStudyOptions& options) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  CoverProblem known = problem;
  for (CandidateRegion& candidate : known.candidates) {
    if (candidate.cost.unknown()) candidate.cost = Cost::Invalid("no cost was given");
  }
  SearchOptions search;
  search.priority = options.targets;
  Result<Cover> found = FindCover(known, options.search, search);
  if (!found.ok()) throw UserError(found.failure().detail);
  const Cover& cover = found.value();

  PartitionStudyResult result;
  result.statistics = cover.statistics;
  result.lower_bound = cover.lower_bound;
  result.gap = cover.gap();
  result.seconds.search = result.seconds.solve = seconds();
  TimedPartition best{.name = "plan 1"};
  best.chosen = cover.chosen;
  best.predicted_micros = cover.micros;
  best.runner.partition = PlanOf(problem, cover.chosen);
  if (!best.runner.partition.empty()) best.runner.target = best.runner.partition.front().target;
  result.plans.push_back(std::move(best));
  result.best = 0;
  std::set<std::string> there;
  for (const CandidateRegion& candidate : problem.candidates) {
    if (!candidate.cost.known() || candidate.nodes.Count() != problem.flow.size()) continue;
    if (!there.insert(candidate.target).second) continue;
    TimedPartition single{.name = candidate.target};
    single.runner.target = candidate.target;
    single.predicted_micros = candidate.cost.micros();
    result.plans.push_back(std::move(single));
  }
  result.seconds.all = seconds();
  return result;
}

}  // namespace msc::cost
