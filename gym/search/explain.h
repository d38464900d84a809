#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cost/measure/local_evaluator.h"
#include "envs/common/strategy_problem.h"
#include "gym/search/findings.h"
#include "gym/search/search_result.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// Returns the decisions of `winner` for which no trial with full results, or with a failure,
/// differs in that decision alone.
[[nodiscard]] std::vector<std::size_t> UntriedDecisions(const Assignment& winner,
                                                        std::span<const Trial> trials);

/// Returns the other choices of a decision, the most informative first: int8 if the chosen one is
/// wider, the uncompressed choice if the chosen one is the narrowest, otherwise the next one. The
/// rest follow by distance.
[[nodiscard]] std::vector<std::int32_t> OtherChoices(const Decision& decision, std::int32_t chosen);

/// Measures neighbours of the winner, which differ in one UntriedDecisions decision each: their
/// loss on the samples of a trial, then their time, interleaved with the winner. Stops when
/// `seconds` are used up or `stop` returns true; the results so far are in
/// result.findings.neighbours. Does nothing without a winner. `after` is the time of later phases,
/// for the displayed eta.
void ExplainWinner(double seconds, double after, const envs::StrategyProblem& problem,
                   cost::LocalEvaluator& evaluator,
                   const std::function<void(const std::string&)>& say,
                   const std::function<bool()>& stop, SearchResult& result);

/// Returns "int8 instead would be 1.02x as fast and lose 0.60 points more: misses accuracy_drop <=
/// 0.5".
[[nodiscard]] std::string NeighbourText(const ObjectiveConfig& objective,
                                        const Neighbour& neighbour);

}  // namespace msc::gym
