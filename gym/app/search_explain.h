#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gym/app/search_run.h"
#include "gym/core/problem.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// Decisions of `winner` that no trial with full results, or a failure, differs from in that alone.
[[nodiscard]] std::vector<std::size_t> Untold(const Assignment& winner,
                                              std::span<const Trial> trials);

/// The other choices of a decision, those first that say most about the chosen one: int8 where
/// nothing is that narrow, the uncompressed for the narrowest, else the next one; then by distance.
[[nodiscard]] std::vector<std::int32_t> OtherChoices(const Decision& decision, std::int32_t chosen);

/// Measures the winner with one decision taken otherwise, for those that are Untold: what that
/// would lose on the samples of a trial, then times it interleaved with the winner. Goes on until
/// `seconds` are used up or `stop` says true, and keeps what there is until then in
/// result.findings.neighbours. Nothing where there is no winner. `after`: seconds that come after
/// this, for who waits.
void ExplainWinner(double seconds, double after, const SearchProblem& problem,
                   cost::LocalEvaluator& evaluator,
                   const std::function<void(const std::string&)>& say,
                   const std::function<bool()>& stop, SearchResult& result);

/// "int8 instead would be 1.02x as fast and lose 0.60 points more: misses accuracy_drop <= 0.5".
[[nodiscard]] std::string NeighbourText(const ObjectiveConfig& objective,
                                        const Neighbour& neighbour);

}  // namespace msc::gym
