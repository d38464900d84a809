#pragma once

#include <cstdint>
#include <vector>

#include "agents/common/additive.h"
#include "agents/common/mixed_radix.h"
#include "compiler/base/rng.h"
#include "gym/core/problem.h"

namespace msc::agents {

/// A space of which all is looked at.
const std::vector<gym::Decision> kDecisions = {
    {"a", {"x", "y"}}, {"b", {"x", "y", "z"}}, {"c", {"x"}}, {"d", {"x", "y", "z", "w"}}};

inline std::vector<gym::Assignment> All(const std::vector<gym::Decision>& decisions) {
  std::vector<gym::Assignment> all;
  for (std::uint64_t n = 0; const auto assignment = NthAssignment(decisions, n); ++n) {
    all.push_back(*assignment);
  }
  return all;
}

inline gym::AdditiveCost RandomCost(Rng& rng) {
  gym::AdditiveCost cost{.offset = 1, .effects = {}};
  for (const gym::Decision& decision : kDecisions) {
    auto& effects = cost.effects.emplace_back();
    for (std::size_t i = 0; i < decision.choices.size(); ++i) {
      effects.push_back(static_cast<double>(rng.Below(10)));
    }
  }
  return cost;
}

}  // namespace msc::agents
