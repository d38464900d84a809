#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "compiler/base/within.h"
#include "gym/core/problem.h"

namespace msc::gym {

/// Measured effects of single decisions. Agents start from them, so they determine a search like
/// its seed does. Stored in a file of the run directory and in the journal's setup.
struct EstimateTable {
  std::string format = "msc-estimates-2";
  std::string problem_hash;
  std::string key;           ///< equal for searches that may start from this table
  std::int64_t planned = 0;  ///< decisions to be tried alone
  std::int64_t tried = 0;    ///< of these; fewer if they took far longer than planned
  std::map<std::string, AdditiveCost> costs = {};  ///< by metric; empty if there was nothing to try
  static void Fields(auto& self, auto& visit) {
    visit("format", self.format, "version of this form; 1 had no key and no plan",
          Within::OneOf({"msc-estimates-1", "msc-estimates-2"}));
    visit("problem_hash", self.problem_hash, "hash of the search space");
    visit("key", self.key, "hash of everything that the estimates depend on");
    visit("planned", self.planned, "number of decisions to try alone", Within{.least = 0});
    visit("tried", self.tried, "number of decisions tried alone", Within{.least = 0});
    visit("costs", self.costs, "sums of effects by metric");
  }
};

}  // namespace msc::gym
