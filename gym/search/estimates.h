#pragma once

#include <functional>
#include <string>

#include "envs/common/strategy_problem.h"
#include "gym/search/config.h"
#include "gym/search/host.h"
#include "gym/search/measuring.h"
#include "gym/search/prepare.h"
#include "gym/search/run_paths.h"

namespace msc::gym {

/// Fills prepared.estimates. Losses come from trying single decisions, each in int8 or at about
/// half its channels (ProbeQuality). Times come from the steps of a few whole models, in which all
/// layers have the same precision, or all groups the same density. Other choices are interpolated,
/// and decisions that were not tried get the largest effect of their kind.
/// The table stays empty if no decision can be tried, if config.estimate_s is 0, or if `stop`
/// returns true.
///
/// The number of decisions is planned to take config.estimate_s, or a sixth of config.time_budget_s
/// if that is less, one after another (PlannedProbes), so it does not depend on the number of
/// workers. If they take far longer than planned, or everything longer than a quarter of
/// config.time_budget_s, the rest is skipped and the table says so.
///
/// An existing table is reused: that of the run directory; the one that existing trials started
/// from; one cached in the same folder of outcomes, or that of the run config.from, if made under
/// the same conditions. UserError if the run directory's table belongs to another config.
void PrepareEstimates(const SearchHost& host, const SearchConfig& config, const RunPaths& paths,
                      const TimeBudget& time, const envs::StrategyProblem& problem,
                      Measuring& measuring, const std::function<void(const std::string&)>& say,
                      const std::function<bool()>& stop, Prepared& prepared);

}  // namespace msc::gym
