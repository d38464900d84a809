#pragma once

#include <string>
#include <vector>

#include "cost/partition/learned_study.h"

namespace msc::gym {

/// Returns lines on the accuracy of learned costs and the measurements that they saved; empty
/// without learned costs.
[[nodiscard]] std::vector<std::string> LearnedFacts(const cost::LearnedUse& use);

}  // namespace msc::gym
