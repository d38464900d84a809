#pragma once

#include <functional>
#include <string>

#include "gym/app/search_measuring.h"
#include "gym/app/search_run.h"
#include "gym/core/problem.h"

namespace msc::gym {

/// Fills prepared.estimates: losses by trying decisions one by one, each in int8 or at about half
/// its channels, on the samples of a trial (ProbeQuality); times by the steps of a few whole
/// models, in which all layers have the same precision, or all groups half their channels. Other
/// choices are interpolated; a decision that nothing is known of is taken for the average of its
/// kind. Leaves them empty where there is no such decision, where config.estimate_s is 0 or `stop`
/// says true.
///
/// So many decisions are tried as take config.estimate_s seconds, and a sixth of
/// config.time_budget_s, one after another (PlannedProbes): the number of workers does not matter.
/// Where that takes far longer than planned, or all of this more than a quarter of
/// config.time_budget_s, the rest is left out, and the table says so.
///
/// A table that is there is taken instead: the run directory's; where trials were made already,
/// what they began with; what a search kept in the same folder of outcomes, or the one that
/// config.from names had, on the same terms. UserError where the run directory's is another
/// config's.
void PrepareEstimates(const AppContext& context, const SearchConfig& config, const RunPaths& paths,
                      const TimeBudget& time, const SearchProblem& problem, Measuring& measuring,
                      const std::function<void(const std::string&)>& say,
                      const std::function<bool()>& stop, Prepared& prepared);

}  // namespace msc::gym
