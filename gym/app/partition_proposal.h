#pragma once

#include <cstddef>

#include "compiler/partition/problem.h"
#include "cost/partition/region_costs.h"

namespace msc::gym {

/// Prints each candidate with its target, its rules, its nodes, and its cost, or the estimated time
/// to measure it if the cost is unknown; candidates that share a cost are measured once. Then
/// prints the number of candidates by rule and target, and the number of measurements for unknown
/// costs and for `turns`, the image transposes with unknown costs.
void PrintProposal(const CoverProblem& problem, cost::RegionCosts& costs, std::size_t turns,
                   bool json);

}  // namespace msc::gym
