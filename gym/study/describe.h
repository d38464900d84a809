#pragma once

#include <string>

#include "gym/core/problem.h"
#include "gym/study/objective.h"

namespace msc::gym {

/// What a search would be about, as lines for a person: how many decisions and assignments there
/// are, which decisions have which choices, the baselines, the goal, and of each constraint whether
/// lower bounds already say that nothing can keep it; last, how far estimates say metrics come
/// down. Tries nothing.
[[nodiscard]] std::string DescribeSpace(const SearchProblem& problem, const Objective& objective);

}  // namespace msc::gym
