#pragma once

#include <map>
#include <string>
#include <vector>

#include "gym/core/problem.h"
#include "gym/study/objective.h"

namespace msc::gym {

/// What is asked of a search, and known of it, besides its objective.
struct DescribeOptions {
  std::vector<Constraint> goal = {};          ///< StopRules::goal
  std::map<std::string, double> bounds = {};  ///< of metrics, besides the problem's LowerBounds
};

/// What a search would be about, as lines for a person: how many decisions and assignments there
/// are (those that masks leave, where that can be counted), which decisions have which choices, the
/// baselines, the goal, and of each limit, and of what ends the search early, whether lower bounds
/// already say that nothing can keep it; last, how far estimates say metrics come down. Tries
/// nothing.
[[nodiscard]] std::string DescribeSpace(const SearchProblem& problem, const Objective& objective,
                                        const DescribeOptions& options = {});

}  // namespace msc::gym
