#pragma once

#include <functional>
#include <string>

#include "cost/measure/local_evaluator.h"
#include "envs/common/strategy_problem.h"
#include "gym/search/config.h"
#include "gym/search/phase_time.h"
#include "gym/search/search_result.h"
#include "gym/search/task.h"

namespace msc::gym {

/// Judges the best trials again on the samples of PlanFinals (held_out.h), until enough of
/// them (config.finalists) satisfy the limits or eight times as many were judged; the best baseline
/// is one of them (RankBaseline). Times those that
/// do, together with the config's targets to compare with, and the exported best on these. If none
/// satisfies the limits, times the nearest. Continues with more trials while none satisfies the
/// constraints on time. If the best is slower than the uncompressed model, chooses the latter,
/// provided it satisfies the limits (winner.h). Fills the findings from judged_from to timing_part;
/// leaves them unchanged when stopped. `say` receives progress texts.
///
/// If time is short, judges fewer trials and times them once, for a part of the time. Results that
/// it has no time for are taken from the trials, so that there is always a result. `shortened` of
/// the findings says so.
void MeasureFinalists(const SearchTask& task, const SearchConfig& config,
                      const envs::StrategyProblem& problem, cost::LocalEvaluator& evaluator,
                      const FinalTime& time, const std::function<void(const std::string&)>& say,
                      const std::function<bool()>& stop, SearchResult& result);

}  // namespace msc::gym
