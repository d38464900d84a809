#pragma once

#include <cstddef>

#include "compiler/partition/problem.h"
#include "cost/partition/region_costs.h"

namespace msc::gym {

/// Each candidate with its target, the rules that offer it, its nodes, and what it costs where that
/// is known or how long measuring it may take; those of one cost are measured once. Then how many
/// there are by rule and target, and how many measurements they and `turns` of images that are not
/// known would take.
void PrintProposal(const CoverProblem& problem, cost::RegionCosts& costs, std::size_t turns,
                   bool json);

}  // namespace msc::gym
