#pragma once

#include <map>
#include <string>
#include <vector>

#include "gym/core/problem.h"
#include "gym/study/objective.h"

namespace msc::gym {

/// Inputs of DescribeSpace besides the problem and its objective.
struct DescribeOptions {
  std::vector<Constraint> goal = {};          ///< StopRules::goal
  std::map<std::string, double> bounds = {};  ///< by metric, besides PriorKnowledge::LowerBounds
};

/// Describes a search as text, without evaluating anything: the number of decisions and assignments
/// (after masking, where those can be counted), the decisions grouped by their choices, the
/// baselines and the objective. For each limit and each goal that ends the search early, it says
/// whether lower bounds already rule it out. The last line gives the least value of each metric
/// that estimates predict.
[[nodiscard]] std::string DescribeSpace(const SearchProblem& problem, const Objective& objective,
                                        const DescribeOptions& options = {});

}  // namespace msc::gym
