#pragma once

#include <string>
#include <vector>

#include "cost/partition/learned_study.h"

namespace msc::gym {

/// What learned costs are worth and what they saved, a line each; nothing where there are none.
[[nodiscard]] std::vector<std::string> LearnedFacts(const cost::LearnedUse& use);

}  // namespace msc::gym
