#pragma once

#include <functional>
#include <map>
#include <string>

#include "cost/model/evaluator.h"
#include "gym/app/search_run.h"
#include "gym/core/problem.h"

namespace msc::gym {

/// What trying decisions one by one gave, kept in the run directory: agents begin with it.
struct EstimatesFile {
  std::string format = "msc-estimates-1";
  std::string problem_hash;
  std::int64_t tried = 0;                     ///< decisions whose loss was measured
  std::map<std::string, AdditiveCost> costs;  ///< by metric; empty where there was nothing to try
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-estimates-1"}));
    visit("problem_hash", self.problem_hash, "hash of the search space");
    visit("tried", self.tried, "decisions tried alone", Within{.least = 0});
    visit("costs", self.costs, "sums of effects by metric");
  }
};

/// Fills prepared.estimates: losses by trying decisions one by one, each in int8 or at about half
/// its channels, on the samples of a trial (ProbeQuality), for at most config.estimate_s seconds
/// and a quarter of config.time_budget_s; times by the steps of a few whole models, in which all
/// layers have the same precision, or all groups half their channels. Other choices are
/// interpolated; a decision that nothing is known of is taken for the average of its kind. Leaves
/// them empty where there is no such decision, where config.estimate_s is 0 or `stop` says true.
/// What a run that is resumed has already is read back. UserError where that is another config's.
void PrepareEstimates(const AppContext& context, const SearchConfig& config, const RunPaths& paths,
                      const SearchProblem& problem, cost::Evaluator& evaluator,
                      const std::function<void(const std::string&)>& say,
                      const std::function<bool()>& stop, Prepared& prepared);

}  // namespace msc::gym
